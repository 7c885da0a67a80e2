#!/bin/sh
# What one core takes to walk JPEG files for the GPU's engines, and to decode them with libjpeg-turbo.
#
#   tests/bench/jpeg_walk.sh RUNS FILE|DIRECTORY... >tests/bench/results/jpeg_walk.txt
#
# Builds into a temporary directory with CC (cc) and the release build's optimization.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 2 ] || { echo "usage: jpeg_walk.sh RUNS FILE|DIRECTORY..." >&2; exit 2; }
runs=$1
shift
cc=${CC:-cc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Only JPEG is wanted of the decoders, so the table of all of them is made here with that one.
mkdir -p "$dir/decode"
echo 'DECODER(jpeg)' >"$dir/decode/decoders.def"
sources="tests/bench/jpeg_walk.c src/base/*.c src/counts/*.c src/isolate/*.c src/decode/decode.c src/decode/read_bytes.c
         src/decode/dec_raw.c src/decode/dec_jpeg.c src/decode/samples.c src/decode/jpeg/*.c src/decode/progressive/*.c"
# shellcheck disable=SC2046,SC2086 # lists of words
$cc -std=c11 -O2 -pthread -DIH_WITH_PROGRESSIVE -I"$dir" -Isrc -o "$dir/jpeg_walk" $sources \
  $(pkg-config --cflags --libs libjpeg) -lm

echo "command   tests/bench/jpeg_walk.sh $runs ..."
echo "date      $(date -u +%Y-%m-%d)"
echo "cpu       $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)"
echo "compiler  $($cc --version | head -n 1), -O2"
echo "library   libjpeg-turbo $(pkg-config --modversion libjpeg)"
echo "figures   of one core's processor time, file in memory; medians of $runs, summed"
echo
find "$@" -type f \( -name '*.jpg' -o -name '*.jpeg' \) -print | LC_ALL=C sort >"$dir/files"
xargs -d '\n' "$dir/jpeg_walk" "$runs" <"$dir/files"
