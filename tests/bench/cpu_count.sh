#!/bin/sh
# The counting speed of one core, compared with OpenCV and numpy if they are installed.
#
#   tests/bench/cpu_count.sh [REPEATS [--rows]] >tests/bench/results/cpu_count.txt
#
# --rows: only lines of `make bench`, with reading as the limit.
# Builds into a temporary directory with CC (cc) and the release build's optimization.
set -eu
cd "$(dirname "$0")/../.."
cc=${CC:-cc}
repeats=${1:-21}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sources="tests/bench/cpu_count.c src/count/count_tables.c src/count/count_fast.c
         src/count/count_vectors.c src/count/count_planes.c src/count/count_reference.c src/histogram/histogram.c src/histogram/pixels.c
         src/histogram/sample_type.c src/histogram/float_sums.c src/histogram/band_names.c
         src/base/status.c src/base/text.c src/base/threads.c"

case $($cc -dumpmachine) in
x86_64* | i?86*) avx2=-mavx2 ;;
*) avx2= ;;
esac
# shellcheck disable=SC2086 # one option or none
$cc -std=c11 -O2 -D_XOPEN_SOURCE=700 -fPIC $avx2 -I. -Isrc -c -o "$dir/avx2.o" src/count/count_vectors_avx2.c
# shellcheck disable=SC2086 # a list of files
$cc -std=c11 -O2 -D_XOPEN_SOURCE=700 -I. -Isrc -o "$dir/cpu_count" $sources "$dir/avx2.o" -lm
if [ "${2:-}" = --rows ]; then
  "$dir/cpu_count" "$repeats" --rows
  exit
fi
# shellcheck disable=SC2086
$cc -std=c11 -O2 -D_XOPEN_SOURCE=700 -fPIC -shared -I. -Isrc -o "$dir/cpu_count.so" $sources "$dir/avx2.o" -lm

echo "command   tests/bench/cpu_count.sh $repeats"
echo "date      $(date -u +%Y-%m-%d)"
echo "cpu       $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)"
echo "compiler  $($cc --version | head -n 1), -O2"
echo
"$dir/cpu_count" "$repeats"
echo
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3 || true)
if [ -n "$python" ]; then
  "$python" tests/bench/cpu_count.py "$dir/cpu_count.so" "$repeats"
else
  echo "python3 is not installed here: no comparison with OpenCV and numpy"
fi
