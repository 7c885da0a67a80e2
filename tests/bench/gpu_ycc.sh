#!/bin/sh
# Builds and runs the benchmark of the kernel that counts a JPEG's planes, for the GPU of this machine.
#
#   tests/bench/gpu_ycc.sh [--rows] [--mib=N]
#
# Needs nvcc 12 or later. Nothing is installed.
set -eu
cd "$(dirname "$0")/../.."
NVCC=${NVCC:-$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")}
mkdir -p build
"$NVCC" -O3 -std=c++17 -lineinfo -arch="${ARCH:-native}" --threads 0 -I. -o build/gpu_ycc \
    tests/bench/gpu_ycc.cu kernels/histogram_ycc.cu kernels/histogram_replicated.cu
[ "${1:-}" = --rows ] || echo "command: tests/bench/gpu_ycc.sh $*"
exec build/gpu_ycc "$@"
