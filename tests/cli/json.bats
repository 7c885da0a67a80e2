#!/usr/bin/env bats
# JSON: other parsers read it, every input has a record, and the counts are those of CSV.

# shellcheck disable=SC2154 # run sets lines

load helpers

# valid FILE...: every installed JSON parser reads each FILE, and each is valid UTF-8.
valid() {
  local file n_parsers=0
  for file in "$@"; do
    iconv -f UTF-8 -t UTF-8 "$file" >/dev/null || fail "$file is not valid UTF-8"
    [ "$(grep -ciE '[:[,] *-?(nan|inf)' "$file")" -eq 0 ] || fail "$file has nan or inf"
    if command -v python3 >/dev/null; then
      python3 -m json.tool "$file" >/dev/null || fail "python3 does not read $file: $(cat "$file")"
      n_parsers=$((n_parsers + 1))
    fi
    if command -v jq >/dev/null; then
      jq empty "$file" || fail "jq does not read $file: $(cat "$file")"
      n_parsers=$((n_parsers + 1))
    fi
  done
  [ $n_parsers -gt 0 ] || skip "python3 and jq are missing"
}

# mixed: writes sound and damaged inputs; the array `mixed` lists them.
mixed() {
  dot good.pgm
  damaged bad.png
  ppm colour.ppm 1 2 '\xFF\x00\x00\x0A\x14\x1E'
  printf 'no image' >text
  mixed=(good.pgm bad.png missing colour.ppm text good.pgm)
}

# files FILE: prints the names of its records, in order.
files() { grep -o '"file":"[^"]*"' "$1" | cut -d'"' -f4; }

@test "json: the counts are those of CSV" {
  needs jq
  cd "$SAMPLES/.."
  expected=$(sed -n 's/  samples$//p' tests/expected/samples.sha256)
  for format in --json --ndjson; do
    {
      echo file,channel,bin,count
      "$IMGHIST" samples $format | jq -r '(.images // [.])[] | .file as $file | .channels[] |
        .name as $channel | .histogram | to_entries[] | "\($file),\($channel),\(.key),\(.value)"'
    } >"$BATS_TEST_TMPDIR/actual"
    [ "$(sha256sum <"$BATS_TEST_TMPDIR/actual")" = "$expected  -" ] || fail $format
  done
}

@test "json: the statistics are those of CSV, digit by digit" {
  mixed
  "$IMGHIST" "$SAMPLES" good.pgm colour.ppm --csv=stats --clip=10,200 | sed 1d | cut -d, -f4-27 >expected
  "$IMGHIST" "$SAMPLES" good.pgm colour.ppm --json --clip=10,200 >out.json
  grep -o '{"name":[^[]*' out.json |
    sed -e 's/,"histogram":$//' -e 's/{*"[a-z0-9_]*"://g' -e "s/null//g" -e 's/"//g' >actual
  diff expected actual
}

@test "json: one record for each input, in input order, failed ones too" {
  mixed
  for j in 1 2 8; do
    for format in --json --ndjson; do
      imghist "${mixed[@]}" $format -j $j -o out.${format#--}
      assert_fails 1 "3 of 6 inputs failed"
      [ "$(files out.${format#--} | paste -sd' ')" = "${mixed[*]}" ] || fail "$format -j $j: $(files out.${format#--})"
      [ "$(grep -o '"status":"[a-z]*"' out.${format#--} | cut -d'"' -f4 | paste -sd' ')" = \
        "ok error error ok error ok" ] || fail "$format -j $j"
    done
  done
}

@test "json: an error has the message of standard error" {
  damaged bad.png
  imghist_status 1 bad.png --ndjson
  [[ $stderr == "imghist: bad.png: damaged PNG"* ]] || fail "no message"
  version=$("$IMGHIST" --version | head -1 | cut -d' ' -f2)
  imghist bad.png --ndjson
  [ "$output" = "{\"schema\":\"imghist/2\",\"version\":\"$version\",\"file\":\"bad.png\",\"status\":\"error\",\"error\":\"${stderr#imghist: bad.png: }\"}" ] ||
    fail "another message"
}

@test "json: no images" {
  imghist_fails 1 "no images found" --files-from=/dev/null --json
  assert_output '{"schema":"imghist/2","images":[]}'
  imghist_refused 1 "no images found" --files-from=/dev/null --ndjson
  mkdir d
  echo text >d/readme # files that a directory walk skips have no record
  imghist_status 1 d --ndjson
  assert_output '{"schema":"imghist/2","version":"'"$("$IMGHIST" --version | awk '{print $2}')"'","file":"d","status":"error","error":"no images in this folder"}'
}

@test "json: --fail-fast completes the document" {
  mixed
  for format in --json --ndjson; do
    "$IMGHIST" "${mixed[@]}" $format --fail-fast -j 4 >out.json 2>/dev/null || [ $? -eq 1 ]
    [ "$(files out.json | paste -sd' ')" = "good.pgm bad.png" ] || fail "$format: $(files out.json)"
  done
  "$IMGHIST" "${mixed[@]}" --json --fail-fast >out.json 2>/dev/null || [ $? -eq 1 ]
  valid out.json
}

@test "json: after a signal the document reads as cut short" {
  for arguments in --json "--json -o /dev/stdout" "--json --total" "--csv -o a.csv --json -o -"; do
    # shellcheck disable=SC2086 # words
    interrupt $arguments
    [ "$(grep -c '"file":"a.pgm","status":"ok"' out.json)" -eq 1 ] || fail "$arguments: no complete record"
    imghist_refused 1 "imghist: out.json: line 2: cut short" out.json --total-only --csv=stats
    rm endless
  done
}

@test "json: a run that cannot start writes nothing" {
  dot a.pgm
  imghist_status 3 a.pgm --json --device=cuda:1000
  assert_output ""
  imghist_refused 1 "nope: the list cannot be opened" a.pgm --json --files-from=nope
}

@test "json: jq and Python read the same bytes of every name" {
  needs jq
  command -v python3 >/dev/null || skip "python3 is missing"
  names=('quo"te' 'back\slash' $'new\nline' $'\x01\x02\x1f\x7f' $'\u0085\u2028\u2029' 'ä€😀' $'e\u0301' '<script>'
    $'caf\xe9' $'\xff\xfe' $'\xed\xa0\x80' $'\xf0\x9f\x98' $'\xc0\x80' '\u0041' '%s%n')
  for name in "${names[@]}"; do dot "$name" || skip "the file system refuses this name"; done
  printf '%s\0' "${names[@]}" >list
  for format in --json --ndjson; do
    "$IMGHIST" --files0-from=list $format >out.json
    # jq cannot print invalid UTF-8, so names pass through base64
    jq -r '(.images // [.])[] | .file_b64 // (.file | @base64)' out.json |
      while read -r line; do
        base64 -d <<<"$line"
        printf '\0'
      done | cmp - list || fail "jq $format"
    python3 - out.json <<'END' | cmp - list || fail "python3 $format"
import base64, json, sys
text = open(sys.argv[1], encoding="utf-8").read()
try:
    images = json.loads(text)["images"]
except (ValueError, KeyError):
    images = [json.loads(line) for line in text.split("\n") if line]
for image in images:
    assert not any("\ud800" <= c <= "\udfff" for c in image["file"])
    name = base64.b64decode(image["file_b64"]) if "file_b64" in image else image["file"].encode()
    sys.stdout.buffer.write(name + b"\0")
END
  done
}

@test "json: device, kernel and threads change no byte; -v adds their names" {
  "$IMGHIST" "$SAMPLES" --json --device=cpu --kernel=reference -j 1 >expected
  "$IMGHIST" "$SAMPLES" --json -j 7 | cmp - expected
  [ "$(grep -cE '"(decoder|device|kernel)":' expected)" -eq 0 ]
  imghist_ok "$SAMPLES/scene.png" --ndjson -v --device=cpu --kernel=reference
  [[ $output == *'},"decoder":"'*'libpng '*'","device":"cpu'*'","kernel":"reference"}' ]] ||
    fail "wrong decoder, device or kernel"
  printf '%s' "$output" >out.json
  valid out.json
}
