#!/usr/bin/env bats
# Camera raw files: refused by name, skipped in a directory walk, and counted by their largest preview on request.

load helpers

has_libraw() {
  needs python3
  "$IMGHIST" --list | grep -q '^  preview .*LibRaw [0-9]' || skip "no LibRaw in this build"
}

# dng FILE PREVIEW...
dng() { python3 "$TESTS/cli/make_dng.py" "$@"; }

# previews: makes small.jpg and large.jpg, of different sizes and counts.
previews() {
  dot a.pgm
  "$IMGHIST" a.pgm --chart=large.jpg --chart-size=900x600 --device=cpu
  cp "$SAMPLES/scene.jpg" small.jpg # 480 x 320
}

counts() { "$IMGHIST" "$@" --csv=long --device=cpu | cut -d, -f2-; }

# assert_preview FILE JPEG: the file has the counts of the JPEG.
assert_preview() {
  counts "$1" --raw-preview >actual
  counts "$2" >expected
  [ "$(wc -l <expected)" -gt 500 ]
  diff -q expected actual || fail "$1: not the counts of $2"
}

@test "raw: --raw-preview counts the largest JPEG, wherever it is" {
  has_libraw
  previews
  dng one.dng small.jpg
  assert_preview one.dng small.jpg
  dng first.dng large.jpg small.jpg
  assert_preview first.dng large.jpg
  dng last.dng small.jpg large.jpg
  assert_preview last.dng large.jpg
  dng three.dng small.jpg large.jpg small.jpg
  assert_preview three.dng large.jpg
  "$IMGHIST" - --raw-preview --csv=long --device=cpu <one.dng | cut -d, -f2- >actual
  counts small.jpg | diff -q - actual
  imghist_output_has '"format":"preview"' one.dng --raw-preview --json -v
}

@test "raw: without the option an error names it, and a walk skips the file" {
  needs python3
  dot d/a.pgm
  dng d/b.dng "$SAMPLES/scene.jpg"
  imghist_refused 1 "cannot decode: camera raw (DNG) is not supported: " d/b.dng --csv
  assert_stderr_has "(--raw-preview counts its preview, --raw-sensor its values)"
  imghist_ok d --csv=stats -v
  assert_stderr_has "1 done, 0 failed, 1 skipped"
  "$IMGHIST" --list | grep -q '^  preview .*LibRaw [0-9]' || return 0
  imghist_ok d --csv=stats -v --raw-preview
  assert_stderr_has "2 done, 0 failed, 0 skipped"
}

@test "raw: damage, and files without a preview, are errors" {
  has_libraw
  dng none.dng
  imghist_refused 1 "camera raw without a JPEG preview" none.dng --raw-preview --csv
  dng sound.dng "$SAMPLES/scene.jpg"
  size=$(wc -c <"$SAMPLES/scene.jpg")
  # the preview ends the file
  { head -c -$((size / 2)) sound.dng; head -c $((size / 2)) /dev/zero; } >zeros.dng
  imghist_refused 1 "damaged JPEG" zeros.dng --raw-preview --csv
  # LibRaw 0.20 leaves the rest of a cut preview undefined
  for cut in 1 2 50 $((size / 2)); do
    head -c -"$cut" sound.dng >cut.dng
    imghist cut.dng --raw-preview --csv
    assert_refused 1 "camera raw" # LibRaw 0.22 finds no preview then
  done
  # a directory whose offset is past the end
  { printf 'II*\0\xF0\xFF\xFF\0'; tail -c +9 sound.dng; } >far.dng
  imghist_status 1 far.dng --raw-preview --csv
  assert_output ""
  # other options hold for the preview too
  imghist_refused 1 "image too large" sound.dng --raw-preview --csv --max-pixels=1000
  imghist_status 1 sound.dng --raw-preview --csv --memory=10k
  assert_output ""
}

@test "raw: without LibRaw the error names it" {
  needs python3
  "$IMGHIST" --list | grep -q '^  preview .*not in this build' || skip "LibRaw is in this build"
  dng a.dng "$SAMPLES/scene.jpg"
  imghist_refused 1 "cannot decode previews of camera raw: not in this build (LibRaw)" a.dng --raw-preview --csv
}
