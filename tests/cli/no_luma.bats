#!/usr/bin/env bats
# --luma=none: every output is that of other weights without what comes from luma.

load helpers

# both ARG...: the files with and without, from runs with and without luma.
both() {
  "$IMGHIST" "$@" >with || fail "exit status $?"
  "$IMGHIST" "$@" --luma=none >without || fail "exit status $?"
}

@test "no luma: CSV has no rows, bins and fields of luma" {
  for layout in channels stats long; do
    both "$SAMPLES" -q --total --csv=$layout
    grep -v ',luma,' with | diff - without
    grep -q ',luma,' with
  done
  both "$SAMPLES" -q --csv=bins
  sed '1!s/,[0-9]*$/,/' with | diff - without
  both "$SAMPLES" -q --csv=images
  python3 - <<'EOF'
import csv

with_luma, without = (list(csv.DictReader(open(name))) for name in ("with", "without"))
assert len(without) == 6
for a, b in zip(with_luma, without):
    for key in "mean_luma", "median", "stddev", "p01", "p99", "entropy":
        assert a[key] != "" and b[key] == "", key
        a[key] = ""
    assert a == b
EOF
}

@test "no luma: JSON has neither the channel nor mean_luma, and is read again" {
  both "$SAMPLES" -q --total --json
  python3 - <<'EOF'
import json

a, b = (json.load(open(name)) for name in ("with", "without"))
for record in [*a["images"], a["total"]]:
    assert record["channels"].pop()["name"] == "luma"
    del record["mean_luma"]
    record["luma_weights"] = "none"
assert a == b
EOF
  "$IMGHIST" "$SAMPLES" -q --luma=none --ndjson >one.ndjson
  "$IMGHIST" one.ndjson -q --ndjson | diff one.ndjson -
  diff <("$IMGHIST" one.ndjson -q --total-only --csv) <("$IMGHIST" "$SAMPLES" -q --luma=none --total-only --csv)
  sed 's/"luma_weights":"none"/"luma_weights":"bt709"/' one.ndjson >wrong.ndjson
  imghist_fails 1 "channels is impossible" wrong.ndjson
  sed 's/"mean_luminance"/"mean_luma":1.0,"mean_luminance"/' one.ndjson >wrong.ndjson
  imghist_fails 1 "mean_luma is impossible" wrong.ndjson
}

@test "no luma: results with another luma are refused" {
  "$IMGHIST" "$SAMPLES/scene.png" --ndjson >with.ndjson
  "$IMGHIST" "$SAMPLES/scene.png" --luma=none --ndjson >without.ndjson
  imghist_fails 2 "counted with luma weights none; the others have bt709" with.ndjson without.ndjson --total
  imghist_fails 2 "counted with luma weights none; this run asks for bt601" without.ndjson --luma=bt601
  imghist_fails 2 "counted with luma weights none; the others have bt709" --diff with.ndjson without.ndjson
}

@test "no luma: conditions on luma are refused" {
  imghist_fails 2 "--where: column 1: a field of luma, which --luma=none does not count" \
    --where 'mean_luma < 40' --luma=none "$SAMPLES"
  imghist_fails 2 "--fail-if: column 20: a field of luma" "$SAMPLES" --luma=none --fail-if 'blown_any > 5% and p99 < 9'
  "$IMGHIST" "$SAMPLES" -q --luma=none --where 'blown_any > 5%' --csv=images >blown
  [ "$(wc -l <blown)" -eq 4 ]
}

@test "no luma: comparison, text and charts" {
  both --diff "$SAMPLES/scene.png" "$SAMPLES/testcard.png" --csv
  grep -v ',luma,' with | diff - without
  both --diff "$SAMPLES/scene.png" "$SAMPLES/testcard.png"
  sed '/^  luma /,+1d' with | diff - without
  both "$SAMPLES/scene.png" --text=full
  grep -v '^  luma ' with | sed '1,/^  0 .*255/d' | diff - <(sed '1,/^  0 .*255/d' without)
  grep -q '255  green$' without
  both "$SAMPLES" -q --text=lines
  ! grep -q nan without || fail "nan"
  "$IMGHIST" "$SAMPLES/scene.png" -q --luma=none --chart=chart.svg
  ! grep -q luma\ 1 chart.svg || fail "luma in the chart"
  grep -q 'mean luminance 0.2220' chart.svg
  "$IMGHIST" "$SAMPLES" -q --luma=none --html=page.html
  grep -q '"luma":"none"' page.html
}
