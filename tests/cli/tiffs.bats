#!/usr/bin/env bats
# TIFF with samples of every type, from random files whose bins tiffs.py computes.

load helpers

@test "tiffs: unsigned, signed and float samples of strips, tiles and planes" {
  "$IMGHIST" --list | grep '^  tiff ' | grep -qv 'not in this build' || skip "no TIFF in this build"
  python3 "$TESTS/cli/tiffs.py" make 150 52
  for options in --bins=native --bins=256 "--bins=native --threads=1 --nodata=none"; do
    # shellcheck disable=SC2086 # words
    imghist_ok ./*.tif $options --ndjson -o a.ndjson
    [[ $options != *nodata* ]] || break
    [ "$(python3 "$TESTS/cli/tiffs.py" check a.ndjson)" = 150 ]
    "$IMGHIST" a.ndjson -q --ndjson | cmp - a.ndjson || fail "$options: read back"
  done
  [ "$(jq -s '[.[].channels[].nodata // 0] | add' a.ndjson)" = 0 ] || fail "nodata is counted apart"
  [ "$(jq -r .nodata a.ndjson | sort -u)" = none ]
}
