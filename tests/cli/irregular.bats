#!/usr/bin/env bats
# Irregular JPEG files, as phones and drones write them. djpeg, which shares only libjpeg with imghist, decodes the
# accepted ones to the same counts. tests/unit/test_jpeg_irregular.c has more kinds and looks at every pixel.

# shellcheck disable=SC2154 # run sets lines

load helpers

setup_file() {
  if command -v python3 >/dev/null && command -v cjpeg >/dev/null && command -v djpeg >/dev/null; then
    python3 "$BATS_TEST_DIRNAME/make_irregular.py" "$BATS_FILE_TMPDIR/files"
  fi
}

# irregular: shows the made files as the directory files.
irregular() {
  [ -d "$BATS_FILE_TMPDIR/files" ] || skip "python3, cjpeg or djpeg is missing"
  ln -s "$BATS_FILE_TMPDIR/files" files
}

# counts OPTION... FILE...: the counts of each file, named without its directory and suffix.
counts() { "$IMGHIST" --csv=bins --device=cpu "$@" | sed -e 's,^[^,]*/,,' -e 's/\.p[gp]m,/,/' -e 's/\.jpg,/,/'; }

# without_verdict: the same with the name of the sound file.
without_verdict() { sed -E 's/^(accepted|lenient)-[a-z]+-/sound-/'; }

@test "irregular: accepted files have djpeg's counts and those of the sound files" {
  irregular
  mkdir pixels
  local file pixels
  for file in files/sound-* files/accepted-* files/lenient-* files/smoothed-*; do
    pixels=${file#files/}
    djpeg -outfile "pixels/${pixels%.jpg}.ppm" "$file" 2>/dev/null || [ $? -eq 2 ] # warnings
  done
  local accepted=(files/accepted-*) lenient=(files/lenient-*)
  [ ${#accepted[@]} -ge 60 ]
  [ ${#lenient[@]} -ge 20 ]
  counts "${accepted[@]}" >actual
  counts pixels/accepted-* >expected
  cmp actual expected
  counts --lenient "${lenient[@]}" >actual
  counts pixels/lenient-* >expected
  cmp actual expected
  counts --lenient files/smoothed-* >actual
  counts pixels/smoothed-* >expected
  cmp actual expected

  counts --lenient "${accepted[@]}" "${lenient[@]}" | without_verdict | sort -u >actual
  counts files/sound-* | sort -u >expected
  grep -Fxvf expected actual && return 1
  [ "$(wc -l <actual)" -ge 5000 ]
}

@test "irregular: the others are refused" {
  irregular
  local file files=(files/lenient-* files/smoothed-*)
  imghist_status 1 --csv=stats "${files[@]}"
  [ "$(grep -c 'damaged JPEG: .*(--lenient accepts it)' <<<"$stderr")" -eq ${#files[@]} ] || fail "a message is missing"
  [ "$(wc -l <<<"$output")" -eq 1 ] || fail "a file was counted"
  files=(files/refused-*)
  imghist_status 1 --csv=stats --lenient "${files[@]}"
  [ "$(grep -c 'damaged JPEG: ' <<<"$stderr")" -eq ${#files[@]} ] || fail "a message is missing"
  [ "$(wc -l <<<"$output")" -eq 1 ] || fail "a file was counted"
}

@test "irregular: pipes and decoder processes give the same" {
  irregular
  local file
  local option
  for option in --lenient --device=cpu; do
    "$IMGHIST" --json --device=cpu $option files/ >expected 2>expected.err || [ $? -eq 1 ]
    "$IMGHIST" --json --device=cpu $option --isolate files/ >actual 2>actual.err || [ $? -eq 1 ]
    cmp actual.err expected.err
    cmp actual expected
  done
  for file in files/accepted-*-420-* files/lenient-*-420-*; do
    "$IMGHIST" --ndjson --lenient "$file" 2>/dev/null | sed 's/"file":"[^"]*"/"file":"-"/' >expected
    "$IMGHIST" --ndjson --lenient - < <(cat "$file") >actual 2>/dev/null
    cmp actual expected
  done
}

@test "irregular: warnings are in JSON and in the lines of -v, only for such files" {
  irregular
  local name=420-baseline-61x47.jpg
  imghist_quiet --ndjson "files/sound-$name" "files/accepted-samsung-$name"
  refute_output_has '"warnings"'
  imghist_quiet --ndjson "files/accepted-end-$name" "files/accepted-header-$name"
  [[ ${lines[0]} == *'"warnings":["extra bytes before the end marker"]}' ]] || fail "first line"
  [[ ${lines[1]} == *'"warnings":["extra bytes between header segments"]}' ]] || fail "second line"
  imghist_ok --json --total --lenient "files/lenient-scan-444-progressive-61x47.jpg"
  assert_output_has '"warnings":["extra bytes before a marker in the image data"]}'
  [ "$(grep -o '"warnings"' <<<"$output" | wc -l)" -eq 1 ] || fail "the total has warnings"
  if command -v python3 >/dev/null; then python3 -m json.tool <<<"$output" >/dev/null; fi
  imghist_ok --csv=stats -v "files/accepted-end-$name" "files/sound-$name"
  assert_stderr_has "imghist: files/accepted-end-$name: warning: extra bytes before the end marker"
  [ "$(grep -c warning <<<"$stderr")" -eq 1 ] || fail "not one warning"
}
