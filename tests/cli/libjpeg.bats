#!/usr/bin/env bats
# Distributions build libjpeg-turbo with the interface of libjpeg 6b, 7 or 8. Their messages and fields
# differ. The other tests run with the installed one; the sources must compile with all three.
# tests/other_systems.sh sid runs all tests with libjpeg-turbo 3.

@test "libjpeg: its environment variable for memory changes nothing" {
  command -v cjpeg >/dev/null && command -v djpeg >/dev/null || skip "no cjpeg or no djpeg"
  djpeg -ppm "$BATS_TEST_DIRNAME/../../samples/scene.jpg" | cjpeg -arithmetic -progressive >"$BATS_TEST_TMPDIR/a.jpg"
  "$IMGHIST" "$BATS_TEST_TMPDIR/a.jpg" --csv >"$BATS_TEST_TMPDIR/a.csv"
  JPEGMEM=1 "$IMGHIST" "$BATS_TEST_TMPDIR/a.jpg" --csv | cmp - "$BATS_TEST_TMPDIR/a.csv"
}

@test "libjpeg: the sources compile with the interfaces of libjpeg 6b, 7 and 8" {
  cd "$BATS_TEST_DIRNAME/../.." || return 1
  local cc=${CC:-cc} version source
  printf '%s\n' '#include_next <jconfig.h>' '#undef JPEG_LIB_VERSION' \
    '#define JPEG_LIB_VERSION WANTED_VERSION' >"$BATS_TEST_TMPDIR/jconfig.h"
  printf '%s\n' '#include <stdio.h>' '#include <jpeglib.h>' '#if JPEG_LIB_VERSION != WANTED_VERSION' \
    '#error another jconfig.h was included' '#endif' >"$BATS_TEST_TMPDIR/probe.c"
  local flags=(-std=c11 -D_GNU_SOURCE -DIH_WITH_PROGRESSIVE -Isrc -I. "-I$BATS_TEST_TMPDIR" -fsyntax-only)
  local headers
  read -ra headers <<<"$(${PKG_CONFIG:-pkg-config} --cflags libjpeg 2>/dev/null)"
  "$cc" "${flags[@]}" "${headers[@]}" -DWANTED_VERSION=80 "$BATS_TEST_TMPDIR/probe.c" 2>/dev/null ||
    skip "jpeglib.h includes the jconfig.h beside it"
  local sources
  mapfile -t sources < <(grep -rlE --include='*.c' '<jpeglib.h>|"decode/(jpeg|progressive)/[a-z]*.h"' src)
  [ "${#sources[@]}" -ge 6 ]
  for version in 62 70 80; do
    for source in "${sources[@]}"; do
      "$cc" "${flags[@]}" "${headers[@]}" -DWANTED_VERSION="$version" "$source"
    done
  done
}
