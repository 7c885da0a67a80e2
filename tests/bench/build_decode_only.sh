#!/bin/sh
# build_decode_only.sh PROGRAM: compiles decode_only.c with CC (cc). With DEPS, headers and libraries under
# that folder come first, as in the Makefile.
set -eu
source=$(dirname "$0")/decode_only.c
# shellcheck disable=SC2086 # word splitting is intended
${CC:-cc} -std=c11 -O2 ${DEPS:+-I$DEPS/include} -o "$1" "$source" \
  ${DEPS:+-L$DEPS/lib -Wl,-rpath,$(realpath "$DEPS")/lib} -lpng -ljpeg
