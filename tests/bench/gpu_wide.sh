#!/bin/sh
# Builds and runs the benchmark of histograms of 16-bit samples, for the GPU of this machine.
#
#   tests/bench/gpu_wide.sh [--check] [--rows] [--keys] [--mib=N]
#
# CCCL=DIR: the headers of another CUB than that of nvcc, as in the wheel nvidia-cuda-cccl.
#
# Needs nvcc 12 or later, with its CUB. Nothing is installed.
set -eu
cd "$(dirname "$0")/../.."
NVCC=${NVCC:-$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")}
mkdir -p build
"$NVCC" -O3 -std=c++17 -lineinfo -arch=native --threads 0 -Xcompiler -Wno-deprecated-declarations \
    ${CCCL:+-I"$CCCL"} -I. -o build/gpu_wide tests/bench/gpu_wide.cu kernels/histogram_wide.cu
[ "${1:-}" = --rows ] || echo "command: tests/bench/gpu_wide.sh $*"
exec build/gpu_wide "$@"
