#!/usr/bin/env bats
# --diff: two images, folders, totals or result files. tests/unit/test_compare.c has the distances.

# shellcheck disable=SC2154 # run sets lines

load helpers

# a has the values 0 and 10, b twice 10: F is 1/2 and 0 below 10.
pair() {
  pgm a.pgm 2 1 '\x00\x0A'
  pgm b.pgm 2 1 '\x0A\x0A'
}

# folders: two folders of nested images. counts FILE: a CSV of --diff without its names.
folders() {
  mkdir -p old/x new/y/z
  for i in 1 2 3 4 5 6 7 8 9; do
    dot old/$i.pgm "0$i"
    ppm old/x/$i.ppm 1 1 "\\x1$i\\x2$i\\x3$i"
    dot new/y/$i.pgm "1$i"
    pgm new/y/z/$i.pgm 2 1 "\\x0$i\\xFF"
  done
}
counts() { cut -d, -f3- "$1"; }

STATISTICS="count sum mean stddev min max p01 p05 p25 median p75 p95 p99 entropy crushed blown skewness kurtosis mode mode_share otsu distinct step"

@test "diff: CSV by hand" {
  pair
  imghist_quiet --diff a.pgm b.pgm --csv
  local header=file_a,file_b,channel,ks,emd
  for s in $STATISTICS; do header+=,${s}_a,${s}_b; done
  [ "${lines[0]}" = "$header" ] || fail "header"
  local row=0.500000,5.000000,2,2,10,20,5.000000,10.000000,5.000000,0.000000,0,10,10,10,0,10,0,10,0,10,0,10,10,10,10,10,10,10,1.000000,0.000000,1,0,0,0,0.000000,,-2.000000,,0,10,0.500000,1.000000,0,10,2,1,10,0
  [ "${lines[1]}" = "a.pgm,b.pgm,gray,$row" ] || fail "gray"
  [ "${lines[2]}" = "a.pgm,b.pgm,luma,$row" ] || fail "luma"
  [ ${#lines[@]} -eq 3 ]
}

@test "diff: text by hand, wide and narrow" {
  pair
  imghist_ok --diff a.pgm b.pgm
  assert_output "A  a.pgm  1 image, 0.0 megapixels
B  b.pgm  1 image, 0.0 megapixels

             ks     emd       mean  stddev  p01  p05  p25  median  p75  p95  p99
  gray   0.5000    5.00  A    5.00    5.00    0    0    0       0   10   10   10
                         B   10.00    0.00   10   10   10      10   10   10   10

  largest: ks 0.500000, emd 5.000000"
  COLUMNS=60 imghist_ok --diff a.pgm b.pgm
  [ "${lines[2]}" = "             ks     emd       mean  stddev  median" ] || fail "heading"
  [ "${lines[4]}" = "                         B   10.00    0.00      10" ] || fail "row"
  mkdir "$(printf 'a\tb')"
  dot "$(printf 'a\tb')/c.pgm"
  imghist_ok --diff "$(printf 'a\tb')" b.pgm
  [[ ${lines[0]} == 'A  a\tb  1 image'* ]] || fail "an escaped name"
}

@test "diff: JSON by hand" {
  pair
  imghist_ok --diff a.pgm b.pgm --json
  jq -e '.schema == "imghist-diff/1" and .ks == 0.5 and .emd == 5 and .a.file == "a.pgm" and .b.file == "b.pgm" and
    .a.n_images == 1 and .b.n_failed == 0 and .b.pixels == 2 and .luma_weights == "bt709" and .alpha == "count" and
    .clip_limits.high == 255 and (.channels | length) == 2 and .channels[0].name == "gray" and
    .channels[0].a.mean == 5 and .channels[0].b.median == 10' <<<"$output" >/dev/null || fail "JSON"
  cp a.pgm $'\xE9.pgm'
  imghist_output_has '"file_b64":"6S5wZ20="' --diff $'\xE9.pgm' b.pgm --json
  "$IMGHIST" --diff a.pgm b.pgm --json -o d.json
  imghist_refused 1 "d.json: line 1: a comparison is no input" d.json
}

@test "diff: distances of random images are those of exact fractions" {
  needs python3
  run python3 "$TESTS/cli/check_diff.py" "$IMGHIST" 20
  [ "$output" = "20 pairs" ] || fail "$output"
}

@test "diff: distances, means and deviations of 200 images are those of SciPy and NumPy" {
  local python
  for python in python3 /usr/bin/python3 ''; do
    [ -n "$python" ] || skip "no SciPy here"
    ! "$python" -c 'import scipy.stats' 2>/dev/null || break
  done
  run "$python" "$TESTS/cli/check_diff.py" "$IMGHIST" 100 scipy
  [ "$output" = "100 pairs" ] || fail "$output"
}

@test "diff: folders, totals, result files and archives give the same comparison" {
  folders
  imghist_ok --diff old new --csv -o folders.csv
  "$IMGHIST" old --ndjson -o old.ndjson
  "$IMGHIST" new --json -o new.json
  "$IMGHIST" old --total-only --json -o old-total.json
  "$IMGHIST" new --total-only --ndjson -o new-total.ndjson
  for sides in "old.ndjson new.json" "old-total.json new-total.ndjson" "old new.json" "old-total.json new"; do
    # shellcheck disable=SC2086 # two words
    imghist_ok --diff $sides --csv -o other.csv
    diff <(counts folders.csv) <(counts other.csv) || fail "$sides"
  done
  imghist_ok old --total-only --csv=stats -o old.csv
  imghist_ok new --total-only --csv=stats -o new.csv
  # of a gray total: as red, green and blue
  for column in 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ "$(cut -d, -f$((2 * column - 4)) folders.csv | sed 1d)" = "$(cut -d, -f$column old.csv | sed 1d)" ] || fail "a $column"
    [ "$(cut -d, -f$((2 * column - 3)) folders.csv | sed -n 2p)" = "$(cut -d, -f$column new.csv | sed -n 2p)" ] || fail "b $column"
  done
}

@test "diff: an archive is one side, with many workers too" {
  folders
  tar cf new.tar -C new .
  imghist_ok --diff old new --csv -o folders.csv
  imghist --diff new.tar old --csv -o probe.csv -j 1
  [[ $stderr != *libarchive* ]] || skip "no libarchive here"
  for n in 1 2 8 8 8; do
    imghist_ok --diff old new.tar --csv -o other.csv -j $n
    diff <(counts folders.csv) <(counts other.csv) || fail "$n workers"
    imghist_ok --diff old new --csv -o other.csv -j $n
    diff folders.csv other.csv || fail "$n workers"
  done
}

@test "diff: standard input is a side" {
  pair
  "$IMGHIST" --diff a.pgm - --csv <b.pgm >actual
  [ "$(cut -d, -f2,4,5 actual | sed -n 2p)" = "-,0.500000,5.000000" ]
  "$IMGHIST" --diff - a.pgm --name=b.pgm --csv <b.pgm >actual
  [ "$(cut -d, -f1,4,5 actual | sed -n 2p)" = "b.pgm,0.500000,5.000000" ]
}

@test "diff: another measurement is refused by name" {
  ppm a.ppm 1 1 '\x01\x02\x03'
  "$IMGHIST" a.ppm --luma=bt601 --ndjson -o luma.ndjson
  "$IMGHIST" a.ppm --clip=5,250 --ndjson -o clip.ndjson
  "$IMGHIST" a.ppm --alpha=skip-transparent --ndjson -o alpha.ndjson
  "$IMGHIST" a.ppm --region=1x1+0+0 --ndjson -o region.ndjson
  for side in luma clip alpha region; do
    for sides in "a.ppm $side.ndjson" "$side.ndjson a.ppm"; do
      # shellcheck disable=SC2086 # two words
      imghist_fails 2 "counted with $side" --diff $sides --csv -o out.csv
      [ ! -e out.csv ] || fail "$sides"
    done
  done
  imghist_ok --diff luma.ndjson a.ppm --luma=bt601
}

@test "diff: wrong usage" {
  pair
  for arguments in '' 'a.pgm' 'a.pgm b.pgm a.pgm'; do
    # shellcheck disable=SC2086 # words
    imghist_refused 2 "imghist: " --diff $arguments
  done
  assert_stderr_has "--diff: compares two inputs: name two images, folders or result files"
  for option in --total --total-only --shard=1/2 --files-from=/dev/null --files0-from=/dev/null; do
    imghist_refused 2 "--diff: cannot be used with ${option%%=*}" --diff a.pgm b.pgm $option
  done
  for option in --ndjson --html --check --print0; do
    imghist_refused 2 "--diff: writes text, CSV or JSON, not $option" --diff a.pgm b.pgm $option
  done
  imghist_refused 2 "--diff: --csv has no layouts here" --diff a.pgm b.pgm --csv=bins
  imghist_refused 2 "--diff: --chart needs a .png .svg" --diff a.pgm b.pgm --chart=charts
  [ ! -e charts ]
}

@test "diff: --fail-if is a gate; its fields are those of a comparison alone" {
  pair
  imghist_quiet --diff a.pgm b.pgm --csv --fail-if 'emd > 5 or ks > 50%'
  imghist --diff a.pgm b.pgm --csv --fail-if 'emd >= 5'
  assert_fails 4 "imghist: the comparison matches --fail-if: ks 0.500000, emd 5.000000"
  assert_output_has "b.pgm,gray,0.500000,5.000000"
  imghist_status 4 --fail-if 'ks == 0.5 and ks == 50% and emd == 5' --diff a.pgm b.pgm -q -o d.json
  [ "$stderr" = "imghist: the comparison matches --fail-if: ks 0.500000, emd 5.000000" ] || fail "-q"
  [ -e d.json ]
  # a shift of two values in images of different sizes is exactly 2
  pgm c.pgm 3 1 '\x01\x02\x03'
  pgm d.pgm 6 1 '\x03\x04\x05\x03\x04\x05'
  imghist_ok --diff c.pgm d.pgm --fail-if 'emd > 2'
  imghist --diff a.pgm b.pgm --fail-if 'width > 2'
  assert_refused 2 "--fail-if: column 1: no field 'width'; fields of --diff are ks and emd"
  imghist a.pgm --fail-if 'emd > 2'
  assert_refused 2 "--fail-if: column 1: 'emd' is a distance: --against=REF gives it, or --diff for --fail-if"
  imghist --diff a.pgm b.pgm --where 'emd > 2'
  assert_refused 2 "--where: column 1: 'emd' is a distance: --against=REF gives it, or --diff for --fail-if"
}

@test "diff: --where chooses the images of both sides" {
  folders
  imghist_ok --diff old new --where 'width == 1' --json
  [ "$(jq '.a.n_images, .b.n_images' <<<"$output" | paste -sd' ')" = "18 9" ] || fail "numbers"
  mkdir chosen
  cp new/y/?.pgm chosen
  imghist_ok --diff old chosen --csv -o chosen.csv
  imghist_ok --diff old new --where 'width == 1' --csv -o where.csv
  diff <(counts chosen.csv) <(counts where.csv)
  imghist_refused 1 "imghist: old: no image of it matches --where" --diff old new --where 'width == 2' -o none.csv
  [ "${#stderr_lines[@]}" -eq 1 ]
  [ ! -e none.csv ]
}

@test "diff: failures are left out, and a side of failures alone has no comparison" {
  folders
  damaged old/broken.png
  imghist_fails 1 "imghist: old/broken.png: " --diff old new --json
  [ "$(jq '.a.n_images, .a.n_failed, .b.n_failed' <<<"$output" | paste -sd' ')" = "18 1 0" ] || fail "counts"
  imghist_status 1 --diff old new --fail-if 'emd > 0'
  mkdir empty
  for side in empty gone.png old/broken.png; do
    imghist_refused 1 "imghist: $side: " --diff old "$side" -o none.csv --chart=none.png
    refute_stderr_has "no pixels"
    [ ! -e none.csv ] && [ ! -e none.png ] || fail "$side"
  done
  pam clear.pam 1 1 4 '\x01\x02\x03\x00'
  imghist_refused 1 "imghist: clear.pam: no pixels to compare" --diff old/1.pgm clear.pam --alpha=skip-transparent
}

@test "diff: a run that --fail-fast has stopped compares nothing" {
  mkdir d
  dot d/a.pgm
  damaged d/b.png
  dot good.pgm
  for sides in "d good.pgm" "good.pgm d"; do
    for output in "" --csv "--json --fail-if=emd>=0"; do
      # shellcheck disable=SC2086 # words
      imghist_status 1 --diff $sides $output --fail-fast -j 1
      [ -z "$output" ] || fail "a comparison"
      assert_stderr_has "d/b.png: "
      refute_stderr_has good.pgm
    done
  done
}

@test "diff: alpha of one side has no distance" {
  dot a.pgm
  pam b.pam 1 1 2 '\x82\x07'
  imghist_ok --diff a.pgm b.pam --csv
  [ "$(grep -c '^a.pgm,b.pam,alpha,,,0,1,0,7,,7.000000,' <<<"$output")" -eq 1 ] || fail "alpha"
  imghist_ok --diff a.pgm b.pam --json
  [ "$(jq -c '.emd + 0, (.channels[] | select(.name == "alpha") | .ks, .emd, .a.mean)' <<<"$output" | paste -sd' ')" = "2 null null null" ]
  imghist_output_has "A  none" --diff a.pgm b.pam
}

@test "diff: a chart of both" {
  folders
  imghist_ok --diff old new --chart=c.png --csv -o c.csv
  assert_stderr_has "1 chart written: c.png"
  is_png c.png
  imghist_output "" --diff "$SAMPLES/scene.png" "$SAMPLES/gray16.png" --chart=c.svg -q
  for text in '>scene.png (areas), gray16.png (lines)<' '>Histogram of scene.png (areas), gray16.png (lines)<' \
    'areas: 1 image' 'mean 141.2 → 78.2'; do
    grep -qF "$text" c.svg || fail "no $text"
  done
  for name in crushed blown; do # shares of clipped pixels, as the text summary of each has them
    shares=$(for image in scene.png gray16.png; do
      "$IMGHIST" "$SAMPLES/$image" --text | sed -n "s/.*$name: \(any \(channel \)*\)*\([0-9.]*\) %.*/\3 %/p"
    done | paste -sd/ | sed 's,/, → ,')
    sed $'s/\xE2\x80\xAF/ /g' c.svg | grep -qF "$name $shares" || fail "no $name $shares"
  done
  imghist_ok --diff "$SAMPLES/scene.png" "$SAMPLES/gray16.png" --chart=c.svg --title=Ours -q
  grep -qF '>Ours<' c.svg
  cp c.png d.png
  imghist_fails 2 "c.png" --diff d.png c.png --chart=c.png
  cmp c.png d.png
  imghist_ok --diff "$SAMPLES/scene.jpg" "$SAMPLES/cutout.png" --chart=c.svg -q # of different sizes
  grep -qF 'lines: 1 image, 0.03 megapixels, scaled to 0.15 megapixels' c.svg || fail "$(grep megapixels c.svg)"
  imghist_ok --diff "$SAMPLES/scene.jpg" "$SAMPLES/cutout.png" --chart=c.svg -q --scale-y=percent
  ! grep -qE 'scaled to|>pixels<' c.svg || fail "counts on an axis of percent"
}

# raw FILE FORMAT VALUE...: samples of struct's format.
raw() { python3 -c 'import struct,sys; open(sys.argv[1], "wb").write(b"".join(struct.pack("<" + sys.argv[2], (int if sys.argv[2] == "h" else float)(v)) for v in sys.argv[3:]))' "$@"; }

@test "diff: a chart of signed and float samples, and of none" {
  needs python3
  raw a.raw h -300 -100
  raw b.raw h -200 100
  imghist_ok --diff a.raw b.raw --raw=1 --raw-depth=16sle --size=2x1 --chart=c.svg -q
  for text in 'mean -200 → -50  EMD 150  KS 0.5' 'values -300 to 100' '>-300<' '>-50<' '>value<'; do
    grep -qF "$text" c.svg || fail "no $text: $(grep text c.svg)"
  done
  raw a.raw f 0.25 0.5
  raw b.raw f nan nan
  imghist_ok --diff a.raw a.raw --raw=1 --raw-depth=f32le --size=2x1 --chart=c.svg -q
  grep -qF 'mean 0.375 → 0.375  EMD 0  KS 0.000' c.svg || fail "$(grep text c.svg)"
  imghist_ok --diff a.raw b.raw --raw=1 --raw-depth=f32le --size=2x1 --chart=c.svg -q
  grep -qF '>mean 0.375 → none<' c.svg || fail "$(grep text c.svg)"
  grep -qF 'not in the lines: 2 NaN' c.svg || fail "$(grep text c.svg)"
  imghist_ok --diff a.raw b.raw --raw=1 --raw-depth=f32le --size=2x1 --text
  assert_output_has "largest: none"
  [ "${lines[2]}" = "  samples counted apart: 2 NaN" ] || fail "of the second side"
  imghist_ok --diff a.raw a.raw --raw=1 --raw-depth=f32le --size=2x1 --text
  refute_output_has none
}

@test "diff: the title of a chart shortens each name, and says which is which" {
  local long a b
  long=$(printf 'long_%.0s' {1..40})
  a=first_${long}a.pgm b=second_${long}b.pgm
  dot "$a"
  dot "$b"
  dot c.pgm
  title() { sed -n 's/<text.*>\([^<]*(lines)\)<.*/\1/p' t.svg; }
  imghist_ok --diff "$a" "$b" --chart=t.svg -q
  [[ $(title) == first_long_*…*long_a.pgm' (areas), 'second_long_*…*long_b.pgm' (lines)' ]] || fail "$(title)"
  grep -qF ">Histogram of $a (areas), $b (lines)<" t.svg || fail "the description"
  imghist_ok --diff "$a" "$b" --chart=t.svg -q --chart-size=320x200
  [[ $(title) == f*…*m' (areas), 's*…*m' (lines)' ]] || fail "$(title)"
  imghist_ok --diff c.pgm "$b" --chart=t.svg -q
  [[ $(title) == 'c.pgm (areas), '*long_long_*…*long_long_b.pgm' (lines)' ]] || fail "$(title)"
  imghist_ok --diff "$b" c.pgm --chart=t.svg -q
  [[ $(title) == *long_long_*…*long_long_b.pgm' (areas), c.pgm (lines)' ]] || fail "$(title)"
}

@test "diff: gray images are one line over those of colours" {
  ppm rgb.ppm 1 1 '\x10\x20\x30'
  dot gray.pgm 40
  imghist_ok --diff rgb.ppm gray.pgm --chart=c.svg -q
  grep -q 'fill="#ffffff" d=' c.svg && ! grep -q 'fill="#6ea0ff"' c.svg || fail "the line is blue"
  legend() { grep -oE '>(red|green|blue|gray)( .[a-z]*.)?<|>mean [0-9.]*<' c.svg | tr -d '<>' | paste -sd,; }
  [ "$(legend)" = "red,green,blue,gray (lines),mean 64.0" ] || fail "$(legend)"
  imghist_ok --diff gray.pgm rgb.ppm --chart=c.svg -q
  [ "$(legend)" = "red,green,blue,gray (areas),mean 64.0" ] || fail "$(legend)"
  imghist_ok --diff rgb.ppm rgb.ppm --chart=c.svg -q
  [ "$(legend)" = "red,green,blue" ] || fail "$(legend)"
  imghist_ok --diff gray.pgm gray.pgm --chart=c.svg -q
  [ "$(legend)" = gray ] || fail "$(legend)"
}

@test "diff: the pages have every column, key and field" {
  pair
  sed -e 's/\\-/-/g' "$TESTS/../src/cli/imghist.1" "$TESTS/../src/cli/imghist-formats.5" >page
  "$IMGHIST" --diff a.pgm b.pgm --csv | head -1 | tr , '\n' | sed 's/_[ab]$//' >words
  "$IMGHIST" --diff a.pgm b.pgm --json | grep -oE '"[a-z0-9_]+":' | tr -d '":' >>words
  echo imghist-diff/1 >>words
  while read -r word; do
    grep -qE "(^|[^a-z0-9_])$word($|[^a-z0-9_])" page || fail "no $word"
  done <words
}
