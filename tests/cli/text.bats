#!/usr/bin/env bats
# The text summary: views, widths, characters, colours, and the list of failed inputs.

load helpers

ESC=$'\e'

# terminal COLUMNS ARG...: runs imghist on a terminal of that width; `screen` is its output, with LF.
terminal() {
  local columns=$1
  shift
  command -v script >/dev/null || skip "script(1) is missing"
  printf '%q ' "$IMGHIST" "$@" >run.sh
  status=0
  script -qefc "stty cols $columns; . ./run.sh" /dev/null </dev/null >typescript || status=$?
  screen=$(tr -d '\r' <typescript)
}

# unicode: sets a UTF-8 locale.
unicode() {
  export LC_ALL=C.UTF-8
  [ "$(locale charmap 2>/dev/null)" = UTF-8 ] || skip "there is no UTF-8 locale"
}

# no_wider COLUMNS: no line of standard input is wider, without its escape sequences.
no_wider() {
  sed "s/$ESC\[[0-9;]*m//g" >lines
  [ -s lines ]
  [ "$(LC_ALL=C.UTF-8 wc -L <lines)" -le "$1" ] || fail "wider than $1: $(cat lines)"
}

# Copies of a sample that state other colours than sRGB, or sRGB.
make_other_colours() {
  python3 - "$SAMPLES/palette.png" <<'END'
import struct, sys, zlib
plain = open(sys.argv[1], "rb").read()
def with_chunk(name, kind, data):
    chunk = struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    open(name, "wb").write(plain[:33] + chunk + plain[33:])
with_chunk("linear.png", b"gAMA", struct.pack(">I", 100000))
with_chunk("icc.png", b"iCCP", b"p\0\0" + zlib.compress(bytes(128)))
with_chunk("srgb.png", b"sRGB", b"\0")
END
}

@test "text: one image is shown in full, several in a line each" {
  cd "$SAMPLES"
  imghist_quiet scene.png
  assert_output_has "scene.png  480 x 320 png, 8 bits, red green blue"
  assert_output_has "  red    141.24   66.05    0   28     136  255  255     7.66    0.72%   5.63%"
  assert_output_has "  luma   110.83   55.40    0   31     100  222  255     7.63    0.20%   0.79%"
  assert_output_has "  blown: any channel 6.04 %, all 0.43 %; crushed: any 4.04 %, all 0.10 %"
  assert_output_has "  mean luminance 0.2220"
  imghist_ok scene.png scene.png
  [ "${#lines[@]}" -eq 4 ]
  [[ ${lines[0]} == *pixels*luma*mean*crushed*blown*name ]] || fail "no heading"
  [[ ${lines[1]} == *480x320*110.8*4.04%*6.04%*scene.png ]] || fail "no line"
  [ "${lines[1]}" = "${lines[2]}" ]
}

@test "text: a gray image has one share each, blown and crushed" {
  pgm a.pgm 4 2 '\x00\x00\x00\xFF\x01\x02\x03\x04'
  imghist a.pgm
  assert_output_has "  blown: 12.50 %; crushed: 37.50 %"
}

@test "text: a title too long for one line takes two" {
  name=$(printf 'n%.0s' {1..40})
  dot "$name"
  COLUMNS=65 imghist "$name"
  [ "${lines[0]}" = "$name  1 x 1 pnm, 8 bits, gray" ] || fail "65 columns"
  COLUMNS=64 imghist "$name"
  [ "${lines[0]}" = "$name" ] || fail "64 columns"
  [ "${lines[1]}" = "  1 x 1 pnm, 8 bits, gray" ] || fail "64 columns"
}

# Five bands of 2 pixels, two of them with a value that would be clipped, and a colour.
@test "text: a line without luma says which channel it shows, and has no clip counts of bands" {
  npy() { python3 -c 'import sys; h = b"{\"descr\": \"|u1\", \"fortran_order\": False, \"shape\": (1, 2, 5)}"; sys.stdout.buffer.write(b"\x93NUMPY\1\0" + bytes([len(h) + 1, 0]) + h + b"\n" + bytes([0, 9, 9, 9, 9, 200, 255, 9, 9, 9]))'; }
  needs python3
  npy >five.npy
  ppm green.ppm 1 1 '\x00\x08\x00'
  imghist_ok five.npy green.ppm --axes=HWC --text=lines -q
  [[ ${lines[0]} == "     pixels  channel  "*"mean  crushed   blown  name" ]] || fail "heading"
  [[ ${lines[1]} == *"  100.0                   five.npy (band1)" ]] || fail "bands: ${lines[1]}"
  [[ ${lines[2]} == *" 100%   0.00%  green.ppm" ]] || fail "colours: ${lines[2]}"
  imghist_ok green.ppm five.npy --axes=HWC --text=lines --luma=none -q
  [[ ${lines[1]} == *"    8.0     100%   0.00%  green.ppm (green)" ]] || fail "without luma: ${lines[1]}"
  imghist_ok five.npy --axes=HWC --by=band -q
  [[ ${lines[2]} == *"  132.0                   band2" ]] || fail "a group has one band: ${lines[2]}"
  imghist_ok green.ppm five.npy --axes=HWC --text=lines -q
  [[ ${lines[0]} == "     pixels  luma  "* && ${lines[2]} == *" (band1)" ]] || fail "luma first"
  [ "${lines[3]}" = "2 images, 0 blown, 1 crushed (from 1 % of the pixels)" ] || fail "the last line"
}

@test "text: directories and lists are shown in lines" {
  dot d/a.pgm
  imghist d
  [ "${#lines[@]}" -eq 2 ]
  echo d/a.pgm >list
  imghist --files-from=list
  [ "${#lines[@]}" -eq 2 ]
}

@test "text: --text=full and --text=lines" {
  dot a.pgm
  "$IMGHIST" a.pgm >full
  "$IMGHIST" a.pgm --text | cmp - full
  "$IMGHIST" a.pgm --text=full | cmp - full
  "$IMGHIST" a.pgm a.pgm --text=full | grep -c "mean luminance" | grep -qx 2
  [ "$("$IMGHIST" a.pgm --text=lines | wc -l)" -eq 2 ]
  imghist_fails 2 "--text: 'wide' is none of full, lines" a.pgm --text=wide
  imghist_fails 2 "--text: ''" a.pgm --text=
}

@test "text: gray has one curve; alpha has a row" {
  dot gray.pgm
  pam ga.pam 1 1 2 '\x10\x20'
  imghist gray.pgm
  assert_output_has "255  gray"
  refute_output_has luma
  assert_output_has "blown: 0.00 %; crushed: 0.00 %"
  imghist ga.pam
  assert_output_has "  alpha"
  refute_output_has luma
}

@test "text: the mean luminance says if the file's colours are not those of sRGB" {
  needs python3
  make_other_colours
  luminance=$("$IMGHIST" "$SAMPLES/palette.png" | grep 'mean luminance')
  [[ $luminance =~ ^"  mean luminance 0."[0-9]{4}$ ]]
  [ "$("$IMGHIST" srgb.png | grep 'mean luminance')" = "$luminance" ]
  [ "$("$IMGHIST" linear.png | grep 'mean luminance')" = "$luminance (taken as sRGB, but the file states other colours)" ]
  [ "$("$IMGHIST" icc.png | grep 'mean luminance')" = "$luminance (taken as sRGB; the ICC profile is not read)" ]
}

@test "text: --total is a line, and what is blown, crushed and failed the last; --total-only is shown in full" {
  imghist_ok "$SAMPLES" --total
  [ "${#lines[@]}" -eq 9 ]
  [ "${lines[8]}" = "6 images, 4 blown, 4 crushed (from 1 % of the pixels)" ] || fail "${lines[8]}" # as NumPy counts samples/
  [[ ${lines[7]} == *"  6 images  "*"  (total)" ]] || fail "no total"
  imghist "$SAMPLES" --total-only
  [[ ${lines[0]} == "(total)  6 images, "*" megapixels" ]] || fail "no total"
  assert_output_has "mean luminance"
}

@test "text: one image with --total is shown in a line" {
  dot a.pgm
  imghist a.pgm --total
  [ "${#lines[@]}" -eq 3 ] || fail "not a heading and two lines"
  [[ ${lines[1]} == *"  a.pgm" && ${lines[2]} == *"1 image "*"  (total)" ]] || fail "wrong lines"
}

@test "text: -v names the decoder, device and kernel in the full view" {
  imghist "$SAMPLES/scene.jpg" --device=cpu -v
  [[ ${lines[-2]} == "  decoded by libjpeg"* ]] || fail "no decoder"
  [[ ${lines[-1]} == "  counted by cpu, kernel "* ]] || fail "no device and kernel"
  imghist "$SAMPLES/scene.jpg" --device=cpu
  refute_output_has "decoded by"
}

@test "text: failures are reported once, on standard error, and counted at the end" {
  dots a.pgm b.pgm
  damaged bad.png
  imghist_status 1 bad.png a.pgm missing b.pgm
  [ "${#lines[@]}" -eq 4 ] || fail "not a heading, two lines and the last one"
  [ "${lines[3]}" = "2 images, 0 blown, 0 crushed (from 1 % of the pixels), 2 failed" ] || fail "${lines[3]}"
  [[ $stderr == "imghist: bad.png: damaged PNG"*$'\nimghist: missing: cannot open'*$'\nimghist: 2 of 4 inputs failed' ]] ||
    fail "other messages"
  [ "$(wc -l <<<"$stderr")" -eq 3 ]
}

@test "text: nothing is written if all inputs fail" {
  imghist_refused 1 "2 of 2 inputs failed" missing1 missing2
}

@test "text: block elements in a UTF-8 locale, else ASCII" {
  imghist "$SAMPLES/scene.png" "$SAMPLES/testcard.png" --text=full
  [ -z "$(tr -d '\n -~' <<<"$output")" ] || fail "not ASCII"
  [[ $output == *'####'* ]] || fail "no histogram"
  unicode
  imghist "$SAMPLES/scene.png"
  assert_output_has '▁'
  assert_output_has '████'
  refute_output_has '##'
}

@test "text: colour on a terminal, except with NO_COLOR, TERM=dumb or an empty TERM" {
  export TERM=xterm
  terminal 80 "$SAMPLES/scene.png"
  [ $status -eq 0 ] || fail "$screen"
  [[ $screen == *"${ESC}[38;5;131mred"* ]] || fail "no colour: $screen"
  [[ $screen == *"${ESC}[0;38;5;"*m* ]] || fail "no colour in the histogram: $screen"
  terminal 80 "$SAMPLES/scene.png" "$SAMPLES/scene.jpg"
  [[ $screen == *"${ESC}[1m"* ]] || fail "no bold heading"
  for setting in NO_COLOR=1 TERM=dumb TERM=; do
    (
      export "${setting?}"
      terminal 80 "$SAMPLES/scene.png"
      [[ $screen == *stddev* && $screen != *"$ESC"* ]] || fail "$setting: $screen"
    )
  done
  NO_COLOR='' terminal 80 "$SAMPLES/scene.png"
  [[ $screen == *"${ESC}[38;5;131mred"* ]] || fail "an empty NO_COLOR turns colour off: $screen"
}

@test "text: lines fit into 80 columns and into the terminal" {
  unicode
  needs python3
  export TERM=xterm
  cp -R "$SAMPLES" samples
  (cd samples && make_other_colours)
  for view in full lines; do
    "$IMGHIST" samples --text=$view -q | no_wider 80
    for columns in 60 80 100 132 200 240; do
      terminal $columns samples --text=$view -q
      no_wider $columns <<<"$screen"
    done
  done
}

@test "text: the folder of all inputs is written once, in the heading" {
  mkdir -p p/q/r p/s
  for name in p/q/a p/q/r/b p/s/c; do dot $name.pgm; done
  while read -r heading first inputs; do
    # shellcheck disable=SC2086 # the inputs are words
    imghist_ok $inputs --text=lines --total
    [[ ${lines[0]} == *"  $heading" ]] || fail "$inputs: not $heading"
    [[ ${lines[1]} == *"  $first" ]] || fail "$inputs: not $first"
    grep -q "  (total)\$" <<<"$output" || fail "no total"
  done <<'END'
p/ q/a.pgm p
p/q/ a.pgm p/q/
p/q/ a.pgm p/q/a.pgm
p/q/ a.pgm p/q/a.pgm p/q/r
p/ q/a.pgm p/q p/s
p/ s/c.pgm p/s/c.pgm p/q
./p/ q/a.pgm ./p
name p/q/a.pgm p/q ./p/s
END
  imghist_ok p/q p/s "$PWD/p/s" --text=lines
  [[ ${lines[0]} == *"  name" && ${lines[1]} == *"  p/q/a.pgm" ]] || fail "no common folder"
  echo p/q/a.pgm >list
  imghist_ok p/q --files-from=list --text=lines
  [[ ${lines[0]} == *"  name" && ${lines[1]} == *"  p/q/a.pgm" ]] || fail "a list has no common folder"
  imghist_output_has p/q/r/b.pgm p --csv=stats # other outputs have the whole name
  imghist_ok p/q --ndjson -o p/s/r.ndjson # result files: their images may lie anywhere
  for inputs in p/s/r.ndjson "p/s/c.pgm p/s/r.ndjson" "p/s/r.ndjson p/s/c.pgm"; do
    # shellcheck disable=SC2086 # the inputs are words
    imghist_ok $inputs --text=lines
    [[ ${lines[0]} == *"  name" && ${lines[1]} == *"  p/"[qs]/[ac].pgm ]] || fail "$inputs: $output"
  done
}

@test "text: clipped highlights are red and clipped shadows blue" {
  pgm clipped.pgm 4 1 '\x00\x80\x90\xFF'
  dot fine.pgm
  imghist_ok clipped.pgm fine.pgm --color=always
  [[ ${lines[1]} == *"${ESC}[1m${ESC}[38;5;63m   25.00%${ESC}[0m${ESC}[1m${ESC}[38;5;131m  25.00%${ESC}[0m  clipped.pgm" ]] || fail "not coloured"
  [[ ${lines[2]} == *"  128.0    0.00%   0.00%  fine.pgm" ]] || fail "coloured"
  imghist_ok clipped.pgm --color=always
  assert_output_has "blown: ${ESC}[1m${ESC}[38;5;131m25.00 %${ESC}[0m; crushed: ${ESC}[1m${ESC}[38;5;63m25.00 %${ESC}[0m"
  assert_output_has "(in colour: from 1 % of the pixels)"
}

@test "text: the colours of text have a contrast of 4.5 on black and on white, those of areas one of 3.3" {
  needs python3
  imghist_ok "$SAMPLES/scene.png" --color=always
  python3 - "$output" <<'END' || fail "a colour is hard to read"
import re, sys
steps = [0, 95, 135, 175, 215, 255]  # of xterm's cube
def contrasts(number):
    rgb = [8 + 10 * (number - 232)] * 3 if number > 231 else [steps[(number - 16) // k % 6] for k in (36, 6, 1)]
    light = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in rgb)]
    y = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] + 0.05
    return min(y / 0.05, 1.05 / y)
text = set(map(int, re.findall(r"\[38;5;(\d+)m", sys.argv[1])))
areas = set(map(int, re.findall(r"[34]8;5;(\d+)", sys.argv[1])))
assert len(text) == 3 and len(areas) > 7
assert all(contrasts(n) >= 4.5 for n in text) and all(contrasts(n) >= 3.3 for n in areas)
END
}

@test "text: --color=always and never; a pipe has the same view without colours" {
  imghist_ok "$SAMPLES/scene.png" --csv --color=never # an alias may always pass it
  export TERM=xterm
  for view in full lines; do
    "$IMGHIST" "$SAMPLES/gray16.png" --text=$view --color=always >coloured
    grep -q "$ESC" coloured || fail "no colours"
    for option in '' --color=never --color=auto; do
      # shellcheck disable=SC2086 # none or one option
      "$IMGHIST" "$SAMPLES/gray16.png" --text=$view $option >plain
      sed "s/$ESC\[[0-9;]*m//g" coloured | diff - plain
    done
    terminal 80 "$SAMPLES/scene.png" --text=$view --color=never
    [[ $screen == *110.8* && $screen != *"$ESC"* ]] || fail "colours"
  done
  NO_COLOR=1 imghist "$SAMPLES/scene.png" --color=always
  assert_output_has "$ESC"
  imghist_refused 2 "--color: 'red' is none of auto, always, never" --color=red "$SAMPLES/scene.png"
}

@test "text: the widths at which more columns appear" {
  cp "$SAMPLES/scene.png" a.png # a long name would be shortened differently at each width
  while read -r view below columns; do
    for width in $below $columns; do
      COLUMNS=$width "$IMGHIST" a.png --text=$view >$width.$view
    done
    ! cmp -s "$below.$view" "$columns.$view" || fail "--text=$view is the same at $below and $columns columns"
    COLUMNS=$((columns + 1)) "$IMGHIST" a.png --text=$view | cmp - "$columns.$view"
  done <<<$'full 79 80\nlines 79 80'
}

@test "text: COLUMNS sets the width if it is a positive number" {
  COLUMNS=70 imghist "$SAMPLES/scene.png"
  refute_output_has p05
  for columns in 0 -5 x 70x ''; do
    COLUMNS=$columns imghist "$SAMPLES/scene.png"
    assert_output_has p05
  done
}

@test "text: control characters in names do not reach the terminal" {
  name=$'\e[31mred\x01\n'
  dot "$name"
  for view in full lines; do
    imghist "$name" --text=$view
    assert_output_has '\x1B[31mred\x01\n'
    refute_output_has "$ESC"
  done
}

@test "text: the terminal picture of README.md is up to date" {
  unicode
  command -v script >/dev/null || skip "script(1) is missing"
  command -v python3 >/dev/null || skip "python3 is missing"
  "$TESTS/gallery/terminal.sh" "$IMGHIST" drawn.svg
  cmp drawn.svg "$TESTS/gallery/terminal.svg" || fail "run make gallery"
}
