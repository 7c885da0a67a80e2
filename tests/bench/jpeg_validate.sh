#!/bin/sh
# Measures how fast one core validates JPEG files for hardware JPEG decoders, and how fast it decodes
# them with libjpeg-turbo.
#
#   tests/bench/jpeg_validate.sh RUNS FILE|DIRECTORY... >tests/bench/results/jpeg_validate.txt
#
# Builds into a temporary directory with CC (cc), optimized like the release build.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 2 ] || { echo "usage: jpeg_validate.sh RUNS FILE|DIRECTORY..." >&2; exit 2; }
runs=$1
shift
cc=${CC:-cc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Builds the decoder of baseline JPEG only: the table of decoders has that one, and the all-scans way of
# progressive files is left out.
mkdir -p "$dir/decode"
printf 'DECODER(jpeg)\n#undef DECODER\n#undef DECODER_MISSING\n' >"$dir/decode/decoders.def"
sources="tests/bench/jpeg_validate.c src/base/*.c src/histogram/*.c src/decode/decode.c src/decode/recognise.c src/decode/metadata.c src/decode/read_bytes.c
         src/decode/dec_raw.c src/decode/dec_jpeg.c src/decode/samples.c src/decode/jpeg/*.c
         src/jpeg_gpu/validate*.c"
# shellcheck disable=SC2046,SC2086 # lists of words
$cc -std=c11 -D_XOPEN_SOURCE=700 -O2 -pthread -I"$dir" -Isrc -o "$dir/jpeg_validate" $sources \
  $(pkg-config --cflags --libs libjpeg) -lm

echo "command   tests/bench/jpeg_validate.sh $runs ..."
echo "date      $(date -u +%Y-%m-%d)"
echo "cpu       $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)"
echo "compiler  $($cc --version | head -n 1), -O2"
echo "library   libjpeg-turbo $(pkg-config --modversion libjpeg)"
echo "figures   CPU time of one core, file in memory; medians of $runs, summed"
echo
find "$@" -type f \( -name '*.jpg' -o -name '*.jpeg' \) -print | LC_ALL=C sort >"$dir/files"
xargs -d '\n' "$dir/jpeg_validate" "$runs" <"$dir/files"
