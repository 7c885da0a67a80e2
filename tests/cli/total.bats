#!/usr/bin/env bats
# --total and --total-only: one record for all inputs, in every output.

# shellcheck disable=SC2016,SC2153,SC2154 # $7 belongs to awk; helpers set SAMPLES, run sets lines

load helpers

# mixed: gray, gray with alpha, colour, colour with alpha; 2, 1, 1 and 2 pixels. In red, green and blue:
# 0 0 0, 255 255 255, 100 100 100, 255 0 128, 10 20 30, 40 50 60.
mixed() {
  mkdir -p set
  pgm set/a.pgm 2 1 '\x00\xFF'
  pam set/b.pam 1 1 2 '\x64\x07'
  ppm set/c.ppm 1 1 '\xFF\x00\x80'
  pam set/d.pam 2 1 4 '\x0A\x14\x1E\xFF\x28\x32\x3C\x00'
}

# in_python FILE...: "channel count sum mean stddev" of red, green and blue of all pixels of PNM files with
# maxval 255, computed with exact fractions.
in_python() {
  python3 - "$@" <<'END'
import sys
from fractions import Fraction
from math import sqrt
values = [[], [], []]
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    fields = data.split(None, 4)
    assert fields[3] == b"255"
    pixels = data[len(data) - int(fields[1]) * int(fields[2]) * (1 if fields[0] == b"P5" else 3):]
    for c in range(3):
        values[c] += pixels if fields[0] == b"P5" else pixels[c::3]
for name, v in zip(("red", "green", "blue"), values):
    mean = Fraction(sum(v), len(v))
    stddev = sqrt(sum(Fraction(x) ** 2 for x in v) / len(v) - mean ** 2)
    print(name, len(v), sum(v), "%.6f" % mean, "%.6f" % stddev)
END
}

# total FILE: the rows of the total in CSV.
total() { grep '^(total),' "$1"; }

# red 0 255 100 255 10 40: sum 660, mean 110, squares of the distances 12100 + 2 * 21025 + 100 + 10000 + 4900,
# a sixth of their sum 11525; green sum of squares 77925, blue 95909; alpha 7 255 0; luma 0 255 100 63 19 49
@test "total: gray and colour images give red, green and blue of all, alpha of those with alpha, by hand" {
  mixed
  imghist_ok set --total --csv=stats
  [ "${#lines[@]}" -eq $((1 + 2 + 3 + 4 + 5 + 5)) ] || fail "rows"
  [[ ${lines[15]} == '(total),,,red,6,660,110.000000,107.354553,0,255,0,0,10,40,255,255,255,2.251629,1,2,'* ]] || fail red
  [[ ${lines[16]} == '(total),,,green,6,425,70.833333,89.275634,0,255,0,0,0,20,100,255,255,2.251629,2,1,'* ]] || fail green
  [[ ${lines[17]} == '(total),,,blue,6,573,95.500000,82.852781,0,255,0,0,30,60,128,255,255,2.584963,1,1,'* ]] || fail blue
  [[ ${lines[18]} == '(total),,,alpha,3,262,87.333333,118.592674,0,255,0,0,0,7,255,255,255,1.584963,1,1,'* ]] || fail alpha
  [[ ${lines[19]} == '(total),,,luma,6,486,81.000000,'* ]] || fail luma
}

@test "total: gray images give gray" {
  mixed
  imghist set/a.pgm set/a.pgm --total-only --csv=stats
  [ "${#lines[@]}" -eq 3 ]
  [[ ${lines[1]} == '(total),,,gray,4,510,127.500000,127.500000,0,255,'* ]] || fail gray
  imghist set/a.pgm set/b.pam --total-only --csv=stats
  [ "$(printf '%s\n' "${lines[@]}" | cut -d, -f4,5 | paste -sd' ')" = "channel,count gray,3 alpha,1 luma,3" ] ||
    fail "planes"
}

@test "total: same numbers as Python, for images of many sizes" {
  needs python3
  for i in {1..12}; do
    size=$((i * i + 1))
    samples=$(head -c $((size * 3)) /dev/urandom | od -An -v -tx1 | tr -d '\n' | sed 's/ /\\x/g')
    ppm "$i.ppm" $size 1 "$samples"
  done
  pgm gray.pgm 4 2 '\x01\x02\x03\x04\x05\x06\x07\xF0'
  in_python ./*.p?m >expected
  for j in 1 2 7; do
    "$IMGHIST" ./*.p?m --total-only --csv=stats -j $j | awk -F, '$4 ~ /red|green|blue|gray/ {print $4, $5, $6, $7, $8}' >actual
    diff expected actual
  done
}

@test "total: same bytes for any order, thread count and kernel" {
  mixed
  "$IMGHIST" set/a.pgm set/b.pam set/c.ppm set/d.pam --total-only --csv >expected
  "$IMGHIST" set/d.pam set/c.ppm set/b.pam set/a.pgm --total-only --csv -j 3 --kernel=reference --device=cpu |
    cmp - expected
}

@test "total: comes last, after the same records as without it" {
  mixed
  for layout in channels stats bins long; do
    "$IMGHIST" set --csv=$layout >without
    "$IMGHIST" set --csv=$layout --total -j 2 >with
    "$IMGHIST" set --csv=$layout --total-only -j 2 >only
    head -n "$(wc -l <without)" with | cmp - without
    { head -1 only && tail -n +$(($(wc -l <without) + 1)) with; } | cmp - only || fail $layout
    [ "$(total only | wc -l)" -eq $(($(wc -l <only) - 1)) ] || fail $layout
    [ "$(sed 's/[^,]//g' only | sort -u | wc -l)" -eq 1 ] || fail "$layout: columns"
  done
  [ "$(total only | wc -l)" -eq $((5 * 256)) ]
}

@test "total: JSON has it next to images, NDJSON as the last line, with the same content" {
  needs jq
  mixed
  damaged set/z.png
  "$IMGHIST" set --json >without 2>/dev/null || [ $? -eq 1 ]
  "$IMGHIST" set --json --total >with.json 2>/dev/null || [ $? -eq 1 ]
  "$IMGHIST" set --ndjson --total >with.ndjson 2>/dev/null || [ $? -eq 1 ]
  jq -e '.total | .file == "(total)" and .total == true and .status == "ok" and .n_images == 4 and
    .n_failed == 1 and .pixels == 6 and .format == null and .width == null and .height == null and
    .source_depth == null and (.channels | map(.name)) == ["red", "green", "blue", "alpha", "luma"] and
    .channels[3].count == 3 and .mean_luma == 81' with.json
  jq 'del(.total)' with.json | cmp - <(jq . without)
  [ "$(wc -l <with.ndjson)" -eq 6 ]
  tail -1 with.ndjson | jq . | cmp - <(jq .total with.json)
  head -1 with.ndjson | jq -e 'has("total") or has("n_images") | not'
}

@test "total: --total-only in JSON" {
  needs jq
  mixed
  "$IMGHIST" set --json --total-only >out.json
  jq -e '.images == [] and .total.n_images == 4' out.json
  "$IMGHIST" set --ndjson --total-only >out.ndjson
  [ "$(wc -l <out.ndjson)" -eq 1 ]
  jq . out.ndjson | cmp - <(jq .total out.json)
  "$IMGHIST" set --json --total-only -v 2>/dev/null | cmp - out.json # a total has no device
}

@test "total: the text summary has no row for a channel without pixels" {
  pam a.pam 1 1 4 '\x01\x02\x03\x00'
  ppm b.ppm 1 1 '\x0A\x14\x1E'
  imghist_output_has "  red     10.00 " a.pam b.ppm --alpha=skip-transparent --total-only
  refute_output_has "  alpha"
  refute_output_has 'nan '
}

@test "total: a file named (total) is not confused with it" {
  dot '(total)'
  "$IMGHIST" '(total)' --total --csv=stats >out.csv
  [ "$(sed 1d out.csv | grep -c '^(total),,,')" -eq 2 ]
  [ "$(wc -l <out.csv)" -eq 5 ]
  "$IMGHIST" '(total)' --total --ndjson >out.json
  [ "$(grep -c '"total":true' out.json)" -eq 1 ]
  [ "$(grep -c '"file":"(total)"' out.json)" -eq 2 ]
}

@test "total: does not count failed inputs, and the run fails" {
  mixed
  "$IMGHIST" set --total-only --csv >expected
  damaged bad.png
  for j in 1 4; do
    imghist_fails 1 "2 of 6 inputs failed" bad.png set missing --total-only --csv -j $j
    assert_stderr_has "imghist: bad.png: damaged PNG"
    assert_output "$(cat expected)"
  done
}

@test "total: only failed inputs give no total, except in JSON" {
  damaged bad.png
  mkdir out
  for option in --total --total-only; do
    for format in --csv --csv=long --text; do
      imghist_status 1 bad.png missing $option $format
      [[ $output != *'(total)'* ]] || fail "$format"
      imghist_status 1 bad.png $option $format -o out/x
      [ -z "$(ls -A out)" ] || fail "$format"
    done
    imghist_status 1 bad.png $option --chart=c.png
    [ ! -e c.png ]
  done
  imghist_status 1 bad.png missing --total-only --ndjson
  assert_output_has '"n_images":0,"n_failed":2,"format":null,"library":null,"width":null,"height":null,"pixels":0,'
  assert_output_has '"mean_luma":null'
}

@test "total: no images give luma without pixels" {
  imghist_status 1 --files-from=/dev/null --total --csv=stats
  [ "${lines[1]}" = "(total),,,luma,0,0,,,,,,,,,,,,,0,0,,,,,,0,,0,,," ] || fail "row"
  [ "${#lines[@]}" -eq 2 ]
  imghist --files-from=/dev/null --total --json
  assert_output_has '"images":[],"total":{'
  assert_output_has '"channels":[{"name":"luma","count":0,"sum":0,"mean":null,'
  imghist --files-from=/dev/null --total --chart=c.png
  [ ! -e c.png ]
}

@test "total: --fail-fast writes the total of the inputs before the failure" {
  mixed
  "$IMGHIST" set/a.pgm --total --csv >expected
  imghist_status 1 set/a.pgm missing set/c.ppm --total --csv --fail-fast -j 3
  assert_output "$(cat expected)"
}

@test "total: an interrupted run has none" {
  interrupt --json --total
  [ "$(grep -c total out.json)" -eq 0 ]
}
