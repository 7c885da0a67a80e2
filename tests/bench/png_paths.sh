#!/bin/sh
# Speed of one core at decoding PNG: libpng, libspng if installed, and the fast path with libdeflate.
#
#   tests/bench/png_paths.sh RUNS FILE|DIRECTORY... >tests/bench/results/png_paths.txt
#
# Builds in a temporary directory with CC (cc) and -O2. SPNG_CFLAGS and SPNG_LIBS name a libspng that
# pkg-config does not know.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 2 ] || { echo "usage: png_paths.sh RUNS FILE|DIRECTORY..." >&2; exit 2; }
runs=$1
shift
cc=${CC:-cc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

spng_cflags=${SPNG_CFLAGS:-} spng_libs=${SPNG_LIBS:-}
if pkg-config --exists spng 2>/dev/null; then
  spng_cflags=$(pkg-config --cflags spng) spng_libs=$(pkg-config --libs spng)
fi
[ -z "$spng_libs" ] || spng_cflags="$spng_cflags -DWITH_SPNG"

# Only the PNG decoder is built, so the list of decoders is replaced.
mkdir -p "$dir/decode"
printf 'DECODER(png)\n#undef DECODER\n#undef DECODER_MISSING\n' >"$dir/decode/decoders.def"
sources="tests/bench/png_paths.c src/base/*.c src/histogram/*.c src/decode/decode.c src/decode/read_bytes.c
         src/decode/recognise.c src/decode/metadata.c src/decode/samples.c src/decode/composed.c src/decode/held.c
         src/decode/dec_raw.c src/decode/dec_png.c src/decode/png/*.c"
# shellcheck disable=SC2046,SC2086 # word splitting is intended
$cc -std=c11 -D_XOPEN_SOURCE=700 -O2 -pthread -DIH_WITH_LIBDEFLATE -I"$dir" -Isrc $spng_cflags -o "$dir/png_paths" $sources \
  $(pkg-config --cflags --libs libpng libjpeg libdeflate) $spng_libs -lm

echo "command   tests/bench/png_paths.sh $runs ..."
echo "date      $(date -u +%Y-%m-%d)"
echo "cpu       $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)"
echo "compiler  $($cc --version | head -n 1), -O2"
echo "libraries libpng $(pkg-config --modversion libpng), libdeflate $(pkg-config --modversion libdeflate)"
echo "figures   megapixels per second of CPU time on one core, file in memory; sums of medians of $runs runs"
echo
find "$@" -type f -name '*.png' -print | LC_ALL=C sort >"$dir/files"
xargs -d '\n' "$dir/png_paths" "$runs" <"$dir/files"
