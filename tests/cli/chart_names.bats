#!/usr/bin/env bats
# Charts of many images in one directory: whose chart is called what, and what is never replaced.

load helpers
load images

is_png() { [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "$1 is no PNG"; }

# tree DIRECTORY: its files, sorted.
tree() { (cd "$1" && find . -type f | LC_ALL=C sort); }

# ---- names that meet

@test "chart: same names below different folders do not meet" {
  mkdir -p one/x two/x in
  for d in one/x two/x in; do dot $d/a.pgm; done
  cd in
  imghist ../one/x/a.pgm ../two/x/a.pgm a.pgm "$PWD/../one/x/a.pgm" --chart=charts
  assert_status 0
  [ "$(tree charts | wc -l)" -eq 4 ] || fail "$(tree charts)"
}

@test "chart: one input under several names has one chart" {
  mkdir -p d
  dot d/a.pgm
  imghist d ./d/ d//a.pgm ././d/./a.pgm --chart=charts
  assert_status 0
  [ "$(tree charts)" = ./d/a.pgm.hist.png ]
  imghist ./d --chart=charts
  assert_status 0
}

@test "chart: what is called as a chart is passed over in a walk, whatever the letters" {
  mkdir d
  dot d/a.pgm
  dot d/b.pgm.hist.png
  dot d/C.PGM.HIST.PNG
  imghist d --chart=charts
  assert_status 0
  [ "$(tree charts)" = ./d/a.pgm.hist.png ] || fail "$(tree charts)"
}

@test "chart: two inputs that lead to one file are refused, the first one's chart stays" {
  mkdir -p __ here
  dot a.pgm
  dot here/unused.pgm
  mkdir here/__
  dot here/__/a.pgm 20
  cd here
  imghist ../a.pgm __/a.pgm --chart=charts
  assert_fails 1 "charts/__/a.pgm.hist.png: exists and is not the chart of this input"
  "$IMGHIST" ../a.pgm --chart=expected
  cmp charts/__/a.pgm.hist.png expected/__/a.pgm.hist.png
}

@test "chart: an absolute path and a relative one that lead to one file are refused" {
  dot a.pgm
  mkdir -p ".$PWD"
  dot ".$PWD/a.pgm" 20
  imghist "$PWD/a.pgm" "${PWD#/}/a.pgm" --chart=charts
  assert_fails 1 "/a.pgm.hist.png: exists and is not the chart of this input"
  "$IMGHIST" "$PWD/a.pgm" --chart=expected
  cmp "charts$PWD/a.pgm.hist.png" "expected$PWD/a.pgm.hist.png"
}

@test "chart: a file called stdin and standard input do not share one" {
  dot stdin
  "$IMGHIST" stdin --chart=charts
  cp charts/stdin.hist.png remembered
  run --separate-stderr "$IMGHIST" - --chart=charts <stdin
  assert_fails 1 "not the chart of this input"
  cmp charts/stdin.hist.png remembered
}

@test "chart: the chart of an input is replaced, that of another with the same name is not" {
  dot a.pgm 10
  "$IMGHIST" a.pgm --chart=charts
  dot a.pgm 90
  imghist a.pgm --chart=charts
  assert_status 0
  cp charts/a.pgm.hist.png remembered
  mkdir elsewhere
  cp remembered elsewhere/b.pgm.hist.png
  dot b.pgm
  imghist b.pgm --chart=elsewhere
  assert_fails 1 "elsewhere/b.pgm.hist.png: exists and is not the chart of this input"
  cmp elsewhere/b.pgm.hist.png remembered
}

@test "chart: in a directory a link that leads to no file is not written through" {
  dot a.pgm
  mkdir charts
  ln -s ../b.png charts/a.pgm.hist.png
  imghist a.pgm --chart=charts
  assert_fails 1 "charts/a.pgm.hist.png: exists and is not the chart of this input"
  [ ! -e b.png ]
  [ -L charts/a.pgm.hist.png ]
  imghist a.pgm --chart=charts/a.pgm.hist.png # named: as the shell's > does
  assert_status 0
  [ -f b.png ]
  [ -L charts/a.pgm.hist.png ]
}

@test "chart: a name that leads to the chart of another input, as small and capital letters may, is refused" {
  dot a.pgm
  dot A.PGM 20
  "$IMGHIST" a.pgm --chart=charts
  cp charts/a.pgm.hist.png remembered
  ln -s a.pgm.hist.png charts/A.PGM.hist.png || skip "one file"
  imghist A.PGM --chart=charts
  assert_fails 1 "charts/A.PGM.hist.png: exists and is not the chart of this input"
  cmp charts/a.pgm.hist.png remembered
}

@test "chart: an input with the name of a chart is refused before anything is written" {
  dot a.pgm
  "$IMGHIST" a.pgm --chart
  cp a.pgm.hist.png remembered
  for inputs in "a.pgm a.pgm.hist.png" "a.pgm.hist.png a.pgm" "a.pgm.hist.png"; do
    for where in --chart --chart=charts; do
      # shellcheck disable=SC2086 # the inputs are words
      imghist $inputs $where
      assert_fails 2 "a.pgm.hist.png: has the name of a chart"
      cmp a.pgm.hist.png remembered
      [ ! -e charts ]
    done
  done
  printf 'a.pgm.hist.png\n' >list
  imghist --files-from=list --chart=charts
  assert_fails 1 "has the name of a chart"
  imghist a.pgm.hist.png --chart=of-a-chart.png
  assert_status 0
}

# ---- totals

@test "chart: --total has one chart of the whole set in a file" {
  imghist "$SAMPLES" --total --chart=c.svg
  assert_status 0
  grep -q '<title>Histogram of [1-9][0-9]* images together</title>' c.svg
  grep -q ' megapixels' c.svg
  imghist "$SAMPLES" --total-only --chart=d.png
  assert_status 0
  is_png d.png
}

@test "chart: --total has a chart beside those of its images in a directory" {
  mkdir d
  dot d/a.pgm
  dot d/b.pgm
  for _ in 1 2; do
    imghist d --total --chart=charts
    assert_status 0
  done
  tree charts | diff - <(printf '%s\n' './(total).hist.png' ./d/a.pgm.hist.png ./d/b.pgm.hist.png)
  dot '(total)'
  imghist '(total)' d --chart=charts
  assert_fails 1 "charts/(total).hist.png: exists and is not the chart of this input"
}

@test "a chart that cannot have its name costs nothing but itself" {
  mkdir in charts
  for name in a b c; do cp "$SAMPLES/palette.png" "in/$name.png"; done
  long=$(printf 'n%.0s' {1..248}).png # 252 bytes: a name, but none for its chart
  cp "$SAMPLES/palette.png" "in/$long"
  mkdir -p charts/in
  echo "not a chart" >charts/in/b.png.hist.png
  imghist in -j1 --chart=charts --csv=stats -o out.csv
  assert_status 1
  assert_stderr_has "charts/in/b.png.hist.png: exists and is not the chart of this input"
  assert_stderr_has "the name of the chart is too long"
  [ "$(grep -c ',luma,' out.csv)" -eq 4 ]
  [ "$(cat charts/in/b.png.hist.png)" = "not a chart" ]
  [ "$(find charts -name '*.hist.png' | wc -l)" -eq 3 ]
  [ -z "$(find . -name '.imghist-*')" ]
}
