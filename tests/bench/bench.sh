#!/bin/sh
# make bench: the CPU's counting code and the GPU kernels that the program uses, each compared with a plain count before it
# is timed, and then with code that only reads the same bytes. GB are 10^9 bytes.
#
#   CUDA=1     also the kernels, on the first GPU
#   REPEATS=N  runs of the CPU's code; the median counts (21)
set -eu
cd "$(dirname "$0")"
echo "CPU: $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)"
if [ "${CUDA:-0}" = 1 ]; then
  echo "GPU: $(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)"
else
  echo "GPU: not measured: CUDA=1 needs nvcc and a GPU"
fi
echo
printf '%-7s %-11s %-12s %-11s %8s %8s\n' device code pixels data GB/s 'of read'
./cpu_count.sh "${REPEATS:-21}" --rows
[ "${CUDA:-0}" = 1 ] || exit 0
for program in gpu_histogram gpu_wide gpu_ycc; do
  "./$program.sh" --rows
done
