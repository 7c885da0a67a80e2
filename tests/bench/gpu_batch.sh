#!/bin/sh
# Builds and runs the benchmark of batches, for the GPU of this machine; then what PyTorch and CuPy do, if they are here.
#
#   tests/bench/gpu_batch.sh [--check] [--plans] [--side=N] [--mib=N] [PHOTO.ppm]
#
# Needs nvcc 12 or later, with its CUB. Nothing is installed. The photo has at least 2049 pixels each way.
set -eu
cd "$(dirname "$0")/../.."
NVCC=${NVCC:-$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")}
mkdir -p build
"$NVCC" -O3 -std=c++17 -lineinfo -arch=native --threads 0 -Xcompiler -Wno-deprecated-declarations \
    ${CCCL:+-I"$CCCL"} -I. -o build/gpu_batch tests/bench/gpu_batch.cu kernels/histogram_batch.cu \
    kernels/histogram_bins.cu kernels/histogram_labels.cu
echo "command: tests/bench/gpu_batch.sh $*"
build/gpu_batch "$@"
[ "${1:-}" != --check ] || exit 0
if python3 -c 'import torch, cupy' 2>/dev/null; then
    echo
    python3 tests/bench/peers/gpu_batch.py
else
    echo "PyTorch or CuPy is missing: not compared"
fi
