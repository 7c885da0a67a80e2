#!/bin/sh
# The counting speed of float32 samples on one core.
#
#   tests/bench/cpu_float.sh [REPEATS] >tests/bench/results/cpu_float.txt
#
# Builds into a temporary directory with CC (cc) and the release build's optimization.
set -eu
cd "$(dirname "$0")/../.."
cc=${CC:-cc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
$cc -std=c11 -O2 -D_XOPEN_SOURCE=700 -I. -Isrc -o "$dir/cpu_float" tests/bench/cpu_float.c src/count/count_float.c \
  src/histogram/band_names.c src/histogram/float_sums.c src/histogram/histogram.c src/histogram/pixels.c src/histogram/sample_type.c src/base/status.c src/base/text.c src/base/threads.c -lm
echo "command   tests/bench/cpu_float.sh ${1:-21}"
echo "date      $(date -u +%Y-%m-%d)"
echo "cpu       $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)"
echo "compiler  $($cc --version | head -n 1), -O2"
echo
"$dir/cpu_float" "${1:-21}"
