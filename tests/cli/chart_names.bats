#!/usr/bin/env bats
# Charts of many images in one directory: their names, and files that are never replaced.

load helpers

@test "chart: equal names in different folders get charts of their own" {
  mkdir -p one/x two/x in
  for d in one/x two/x in; do dot $d/a.pgm; done
  cd in
  imghist_ok ../one/x/a.pgm ../two/x/a.pgm a.pgm "$PWD/../one/x/a.pgm" --chart=charts
  [ "$(tree charts | wc -l)" -eq 4 ] || fail "$(tree charts)"
}

@test "chart: one input under several paths gets one chart" {
  mkdir -p d
  dot d/a.pgm
  imghist_ok d ./d/ d//a.pgm ././d/./a.pgm --chart=charts
  [ "$(tree charts)" = ./d/a.pgm.hist.png ]
  imghist_ok ./d --chart=charts
}

@test "chart: a directory walk skips files with the name of a chart, in any case" {
  dots d/a.pgm d/b.pgm.hist.png d/C.PGM.HIST.PNG
  imghist_ok d --chart=charts
  [ "$(tree charts)" = ./d/a.pgm.hist.png ] || fail "$(tree charts)"
}

@test "chart: images that follow another on standard input" {
  dot a.pgm
  cat a.pgm a.pgm | "$IMGHIST" - --frames --chart=charts
  [ "$(ls charts | paste -sd' ')" = "stdin#1.hist.png stdin#2.hist.png" ] || fail "$(ls charts)"
}

@test "chart: a folder whose name begins like that of standard input's images" {
  mkdir -- '-#sub'
  dot '-#sub/a_long_name_that_is_kept_1'
  dot '-#sub/a_long_name_that_is_kept_2'
  "$IMGHIST" --chart=charts -- '-#sub'
  [ "$(cd charts && find . -name '*.png' | sort | paste -sd' ')" = \
    "./-#sub/a_long_name_that_is_kept_1.hist.png ./-#sub/a_long_name_that_is_kept_2.hist.png" ] || fail "$(find charts)"
}

@test "chart: a file of its name is replaced" {
  dot a.pgm 10
  mkdir charts
  for before in "$SAMPLES/palette.png" a.pgm; do
    cp "$before" charts/a.pgm.hist.png
    imghist_ok a.pgm --chart=charts
    "$IMGHIST" a.pgm --chart=expected
    cmp charts/a.pgm.hist.png expected/a.pgm.hist.png
  done
}

@test "chart: a link in the chart directory is not followed, to an input least of all" {
  dots a.pgm b.pgm
  cp b.pgm remembered
  mkdir charts
  for target in ../b.pgm ../missing.png; do
    ln -sf $target charts/a.pgm.hist.png
    imghist_fails 1 "charts/a.pgm.hist.png: exists and is no regular file: not replaced" a.pgm b.pgm --chart=charts
    [ -L charts/a.pgm.hist.png ] && [ ! -e missing.png ]
    cmp b.pgm remembered
  done
  imghist_ok a.pgm --chart=charts/a.pgm.hist.png # a named file is followed, as by the shell's >
  [ -f missing.png ]
  [ -L charts/a.pgm.hist.png ]
}

@test "chart: an input with the name of a chart is refused before anything is written" {
  dot a.pgm
  "$IMGHIST" a.pgm --chart
  cp a.pgm.hist.png remembered
  for inputs in "a.pgm a.pgm.hist.png" "a.pgm.hist.png a.pgm" "a.pgm.hist.png"; do
    for where in --chart --chart=charts; do
      # shellcheck disable=SC2086 # inputs are separate words
      imghist_fails 2 "a.pgm.hist.png: has the name of a chart" $inputs $where
      cmp a.pgm.hist.png remembered
      [ ! -e charts ]
    done
  done
  printf 'a.pgm.hist.png\n' >list
  imghist_fails 1 "has the name of a chart" --files-from=list --chart=charts
  imghist_ok a.pgm.hist.png --chart=of-a-chart.png
}

@test "chart: --total writes one chart of all images to a file" {
  imghist_ok "$SAMPLES" --total --chart=c.svg
  grep -q '<title>Histogram of samples: [1-9][0-9]* images together</title>' c.svg
  grep -q ' megapixels' c.svg
  imghist_ok "$SAMPLES" --total-only --chart=d.png
  is_png d.png
}

@test "chart: --total adds a chart to those of the images in a directory" {
  dots d/a.pgm d/b.pgm
  for _ in 1 2; do
    imghist_ok d --total --chart=charts
  done
  tree charts | diff - <(printf '%s\n' './(total).hist.png' ./d/a.pgm.hist.png ./d/b.pgm.hist.png)
}

@test "chart: an input is counted even if its chart cannot be named" {
  mkdir in charts
  for name in a b c; do cp "$SAMPLES/palette.png" "in/$name.png"; done
  long=$(printf 'n%.0s' {1..248}).png # 252 bytes: valid, but too long with the ending of a chart
  cp "$SAMPLES/palette.png" "in/$long"
  mkdir -p charts/in
  mkdir charts/in/b.png.hist.png
  imghist_status 1 in -j1 --chart=charts --csv=stats -o out.csv
  assert_stderr_has "charts/in/b.png.hist.png: exists and is no regular file: not replaced"
  assert_stderr_has "the name of the chart is too long"
  [ "$(grep -c ',luma,' out.csv)" -eq 4 ]
  [ "$(find charts -type f -name '*.hist.png' | wc -l)" -eq 2 ]
  [ -z "$(find . -name '.imghist-*')" ]
}
