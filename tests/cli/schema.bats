#!/usr/bin/env bats
# docs/imghist.schema.json: records of every kind are as it says.

load helpers
load images

SCHEMA=$TESTS/../docs/imghist.schema.json

@test "schema: every kind of record is valid, has no other keys, and wrong records are refused" {
  needs python3
  mkdir set set/more
  cp "$TESTS"/formats/files/{pnm-p7-rgba.pam,pnm-p6-16.ppm,tga-gray-alpha.tga,bmp-8-short.bmp} "$SAMPLES"/scene.jpg set
  cat set/pnm-p6-16.ppm set/pnm-p6-16.ppm >set/two.ppm
  cp "$SAMPLES/palette.png" set/more
  damaged set/bad.png
  printf 'P5\n2 2\n255\n\377\377\0\0' >mask.pgm
  printf 'P5\n2 2\n65535\n\1\1\2\2\3\3\4\4' >set/more/deep.pgm
  "$IMGHIST" set --ndjson -v -o images.ndjson 2>/dev/null || : # one file is damaged
  "$IMGHIST" -q set --by=folder --total --percentiles=0.1,99.9 --ndjson -o groups.ndjson || :
  "$IMGHIST" -q set --by=folder --total --json -o document.json || :
  "$IMGHIST" -q set/bad.png --total --json -o failed.json || :
  "$IMGHIST" -q set --bins=native --luma=none --ndjson -o native.ndjson || :
  "$IMGHIST" -q set --shard=1/2 --ndjson -o shard.ndjson || :
  "$IMGHIST" -q set --shard=2/2 --total-only --ndjson -o shard_total.ndjson || :
  "$IMGHIST" -q set --ndjson --resume -o resumed.ndjson || :
  "$IMGHIST" -q set --alpha=skip-transparent --against=total --ndjson -o against.ndjson || :
  "$IMGHIST" -q set/more/deep.pgm --mask=mask.pgm --region=1x2+0+0 --ndjson -o masked.ndjson
  "$IMGHIST" -q --diff set set/more/palette.png --json -o diff.json || :
  status=0
  python3 "$TESTS/cli/check_schema.py" "$SCHEMA" ./*.ndjson ./*.json >kinds 2>errors || status=$?
  [ $status -ne 77 ] || skip "python3-jsonschema is missing"
  [ $status -eq 0 ] || fail "$(tail -20 errors)"
  for kind in image failure total group end document comparison bins region mask_hash warnings not_counted kernel resume ks; do
    grep -qw "$kind" kinds || fail "no $kind among $(cat kinds)"
  done
}

@test "schema: it has every key of imghist-formats(5), and the page names the file" {
  sed -e 's/\\-/-/g' "$TESTS/../src/cli/imghist-formats.5" >page
  grep -q "imghist.schema.json" page
  sed -n '/^The keys of a record/,/^\.SS Totals/p' page | sed -n '/^\.TP$/{n;s/^\.BR* //;s/ ", " /\n/g;p;}' >keys
  [ "$(wc -l <keys)" -gt 30 ]
  while read -r key; do
    grep -q "^ *\"$key\": " "$SCHEMA" || fail "no $key"
  done <keys
}
