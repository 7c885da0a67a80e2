#!/bin/sh
# build_decode_only.sh PROGRAM: compiles decode_only.c, with CC (cc) and, where DEPS is set, with the headers
# and libraries under it first, as the Makefile does.
set -eu
source=$(dirname "$0")/decode_only.c
# shellcheck disable=SC2086 # DEPS makes two or three words
${CC:-cc} -std=c11 -O2 ${DEPS:+-I$DEPS/include} -o "$1" "$source" \
  ${DEPS:+-L$DEPS/lib -Wl,-rpath,$(realpath "$DEPS")/lib} -lpng -ljpeg
