#!/bin/sh
# race.sh [BUILD]: shows that racecheck finds a missing __syncthreads.
#
# Compiles the sum in shared memory of kernels/ladder/sum.cu twice, as it is and without its barriers. Under
# compute-sanitizer's racecheck the first must have no hazards and the second at least one. So a
# clean racecheck of the other kernels means something. Needs a GPU, nvcc and compute-sanitizer;
# exits with 77 if one is missing.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/gpu}/race
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin

for tool in nvcc compute-sanitizer; do
  command -v "$tool" >/dev/null || { echo "race: skipped, $tool is not on PATH"; exit 77; }
done
nvidia-smi -L >/dev/null 2>&1 || { echo "race: skipped, no NVIDIA GPU"; exit 77; }
mkdir -p "$build"

# hazards NAME NVCC-OPTION...: builds race.cu, runs it under racecheck, prints the summary line.
hazards() {
  name=$1
  shift
  nvcc -O3 -std=c++17 -lineinfo -arch=native -I. "$@" -o "$build/$name" tests/gpu/race.cu
  compute-sanitizer --tool racecheck --racecheck-report all "$build/$name" >"$build/$name.log" 2>&1 || :
  sed -n 's/.*RACECHECK SUMMARY: *//p' "$build/$name.log"
}

with=$(hazards with_barriers)
without=$(hazards without_barriers -DWITHOUT_BARRIERS)
echo "race: with __syncthreads: ${with:-no summary}; without: ${without:-no summary}"
grep -q '^sum ' "$build/with_barriers.log" || { echo "race: the program did not run; see $build" >&2; exit 1; }
case $with in
"0 hazards"*) ;;
*) echo "race: racecheck is not clean with the barriers; see $build/with_barriers.log" >&2; exit 1 ;;
esac
case $without in
"" | "0 hazards"*) echo "race: racecheck finds nothing without them; see $build/without_barriers.log" >&2; exit 1 ;;
esac
