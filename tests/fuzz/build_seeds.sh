#!/usr/bin/env bash
# build_seeds.sh PROGRAM: compiles make_seeds.c, with the formats whose libraries are installed.
set -eu
program=${1:?usage: build_seeds.sh PROGRAM}
flags=$(pkg-config --cflags --libs libpng libjpeg || echo "-lpng -ljpeg")
for library in tiff:libtiff-4 heif:libheif jxl:libjxl jp2:libopenjp2; do
  pkg-config --exists "${library#*:}" || continue
  format=${library%:*}
  flags+=" -DWITH_${format^^} $(pkg-config --cflags --libs "${library#*:}")"
done
# shellcheck disable=SC2086 # flags are words
${CC:-cc} -O1 -Wall -Wextra -o "$program" "$(dirname "$0")/make_seeds.c" $flags
