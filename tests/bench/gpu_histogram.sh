#!/bin/sh
# Builds and runs the histogram benchmark, for the GPU of this machine.
#
#   tests/bench/gpu_histogram.sh [--check] [--rows] [--mib=N] [PHOTO.ppm]
#
# CCCL=DIR: the headers of another CUB than that of nvcc, as in the wheel nvidia-cuda-cccl.
#
# Needs nvcc 12 or later, with its CUB. Nothing is installed.
set -eu
cd "$(dirname "$0")/../.."
NVCC=${NVCC:-$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")}
mkdir -p build
"$NVCC" -O3 -std=c++17 -lineinfo -arch=native --threads 0 -Xcompiler -Wno-deprecated-declarations \
    ${CCCL:+-I"$CCCL"} -I. -o build/gpu_histogram tests/bench/gpu_histogram.cu kernels/histogram_*.cu
[ "${1:-}" = --rows ] || echo "command: tests/bench/gpu_histogram.sh $*"
exec build/gpu_histogram "$@"
