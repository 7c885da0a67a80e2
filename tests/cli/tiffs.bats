#!/usr/bin/env bats
# TIFF with samples of every type, from random files whose bins tiffs.py computes.

load helpers

@test "tiffs: unsigned, signed and float samples of strips, tiles and planes" {
  "$IMGHIST" --list | grep '^  tiff ' | grep -qv 'not in this build' || skip "no TIFF in this build"
  python3 "$TESTS/cli/tiffs.py" make 150 52
  imghist_ok ./*.tif --bins=native --ndjson -o a.ndjson
  [ "$(python3 "$TESTS/cli/tiffs.py" check a.ndjson)" = 150 ]
}
