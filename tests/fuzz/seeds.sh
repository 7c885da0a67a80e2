#!/usr/bin/env bash
# seeds.sh DIR: fills DIR with tiny images of every kind: those of make_seeds.c and of tests/formats/files, FITS and OpenEXR, and with
# tiffcp of libtiff also TIFF in the compressions that tests/formats/files lacks.
set -eu
into=${1:?usage: seeds.sh DIR}
tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC2046 # flags are words
${CC:-cc} -O1 -Wall -Wextra -o "$into/make_seeds" "$tests/fuzz/make_seeds.c" \
  $(pkg-config --cflags --libs libpng libjpeg || echo "-lpng -ljpeg")
"$into/make_seeds" "$into"
rm "$into/make_seeds"
cp "$tests"/formats/files/* "$into"
for kind in fits exr; do
  (cd "$into" && python3 "$tests/cli/science.py" "$kind" 20 1 && rm expected.json)
done
! command -v tiffcp >/dev/null || for kind in lzw:2 zip:2 lzma:2 zstd:2 webp lerc; do
  tiffcp -c $kind "$into/tiff-rgb.tif" "$into/tiff-$kind.tif" 2>/dev/null || rm -f "$into/tiff-$kind.tif"
done
