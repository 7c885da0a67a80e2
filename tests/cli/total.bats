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

@test "total: one image gives the counts of that image" {
  for image in "$SAMPLES"/*.*g; do
    "$IMGHIST" "$image" --csv >one
    "$IMGHIST" "$image" --csv --total-only >total
    cut -d, -f4- one | cmp - <(cut -d, -f4- total) || fail "$image"
  done
}

@test "total: bins and clip counts are the sums of those of the images" {
  needs jq
  "$IMGHIST" "$SAMPLES/scene.png" "$SAMPLES/cutout.png" "$SAMPLES/palette.png" --json --total --clip=9,240 >out.json
  [ "$(jq -c '[.images[].clip.crushed_any] | add' out.json)" -gt 0 ]
  jq -e '.total as $t | .images as $i |
    all(("crushed_any", "blown_any", "crushed_all", "blown_all"); . as $k | ([$i[].clip[$k]] | add) == $t.clip[$k]) and
    all(("red", "green", "blue", "luma"); . as $name |
      ([$i[].channels[] | select(.name == $name).histogram] | transpose | map(add)) ==
      ($t.channels[] | select(.name == $name).histogram)) and
    ([$i[] | .width * .height] | add) == $t.pixels' out.json
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

@test "total: the mean is weighted by pixels" {
  pgm large.pgm 9 1 "$(printf '\\x00%.0s' {1..9})"
  pgm small.pgm 1 1 '\x64'
  imghist large.pgm small.pgm --total-only --csv=stats
  [[ ${lines[1]} == '(total),,,gray,10,100,10.000000,30.000000,'* ]] || fail "not 10"
}

# The recipe of docs/recipes.md: 0 255 255, 0 255 0 and 0 255 128, divided by 255.
@test "total: mean and standard deviation divided by 255 normalize a training set" {
  mkdir train
  pgm train/a.pgm 2 1 '\x00\xFF'
  ppm train/b.ppm 1 1 '\xFF\x00\x80'
  "$IMGHIST" train --total-only --csv=stats |
    awk -F, '$4 ~ /red|green|blue|gray/ {printf "%s mean %.4f std %.4f\n", $4, $7 / 255, $8 / 255}' >actual
  diff - actual <<END
red mean 0.6667 std 0.4714
green mean 0.3333 std 0.4714
blue mean 0.5007 std 0.4082
END
  grep -qF "awk -F, '\$4 ~ /red|green|blue|gray/ {printf \"%s mean %.4f std %.4f\\n\", \$4, \$7 / 255, \$8 / 255}'" \
    "$TESTS/../docs/recipes.md" || fail "docs/recipes.md has another recipe"
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

@test "total: in the text summary" {
  mixed
  imghist_ok set --total-only
  [[ ${lines[0]} == *'(total)'*'4 images'* ]] || fail "title"
  assert_output_has " alpha "
  refute_output_has a.pgm
  imghist set/a.pgm --total
  [[ $output == *a.pgm*'(total)'* ]] || fail "not last"
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

@test "total: to a file" {
  mixed
  "$IMGHIST" set --total --csv >expected
  imghist_output "" set --total --csv -o out.csv
  cmp expected out.csv
}

@test "total: one chart of all images" {
  mixed
  imghist_ok set --total --chart=all.png
  imghist_ok set --total-only --chart=only.png
  cmp all.png only.png
  imghist_status 2 set --chart=each.png
  [ ! -e each.png ]
}

@test "total: charts of each image and of all" {
  mixed
  imghist_ok set --total --chart=charts
  [ "$(find charts -type f | wc -l)" -eq 5 ] || fail "$(find charts)"
  imghist_ok set --total-only --chart=only
  [ "$(find only -type f | wc -l)" -eq 1 ] || fail "$(find only)"
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
  [ "${lines[1]}" = "(total),,,luma,0,0,,,,,,,,,,,,,0,0,,,,,,0," ] || fail "row"
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

@test "total: a full disk is an error" {
  dot a.pgm
  run --separate-stderr sh -c '"$IMGHIST" a.pgm --total-only --csv >/dev/full'
  assert_fails 1 "standard output: cannot write"
}

@test "total: --total-only with only failed inputs writes nothing, not even a header" {
  for layout in channels stats bins long; do
    imghist_status 1 nope.png --total-only --csv=$layout
    assert_output ""
  done
}
