#!/usr/bin/env bats
# What is written about the program is so: the man page and README.md say everything it can do, and
# every example in them runs and shows what they show.

# shellcheck disable=SC2016 # awk's and sed's are not the shell's

load helpers
load images

MAN=$TESTS/../src/cli/imghist.1
README=$TESTS/../README.md

# plain: the man page as text without formatting, `\-` as `-`.
plain() { sed -e 's/\\-/-/g' -e 's/\\f[BIRP]//g' -e 's/\\&//g' "$MAN"; }

# photos: what the examples work on. The program is in PATH, as if it were installed.
photos() {
  mkdir -p bin photos/summer train uploads
  ln -s "$IMGHIST" bin/imghist
  ln -s "$IMGHIST" imghist
  PATH=$PWD/bin:$PATH
  cp "$SAMPLES/scene.png" photo.png
  cp "$SAMPLES/scene.jpg" photo.jpg
  cp "$SAMPLES/scene.jpg" photos/summer/balloon.jpg
  cp "$SAMPLES/testcard.png" 'photos/test card.png'
  cp "$SAMPLES/gray16.png" photos/moon.png
  cp "$SAMPLES/palette.png" train/a.png
  cp "$SAMPLES/scene.jpg" train/b.jpg
  cp "$SAMPLES/scene.jpg" uploads/a.jpg
  damaged uploads/b.png
}

# can_run FILE: all programs of a command are here that not every system has.
can_run() {
  local program
  for program in jq sqlite3 djpeg convert ffmpeg; do
    ! grep -qw "$program" "$1" || command -v "$program" >/dev/null || return 1
  done
}

# ---- examples

# The examples of the man page, each command and what it shows in files of their own: NN.command,
# NN.shown.
extract_man() {
  awk '
    /^\.SH / { is_here = /EXAMPLES/ }
    /^\.EE/ { is_example = 0 }
    is_here && is_example && /^\$ / { n++; command = sprintf("%s/%02d.command", out, n)
                                      shown = sprintf("%s/%02d.shown", out, n); printf "" >shown }
    is_here && is_example { print substr($0, /^[$>] / ? 3 : 1) >(/^[$>] / ? command : shown) }
    /^\.EX/ { is_example = 1 }' out="$1" <(sed -e "s/\\\\(aq/'/g" -e 's/\\(dq/"/g' -e 's/\\(ti/~/g' \
    -e 's/\\(ha/^/g' -e 's/\\(ga/`/g' -e 's/\\-/-/g' -e 's/\\&//g' -e 's/\\e/\\/g' "$MAN")
}

@test "man: every example runs and shows what it says" {
  photos
  mkdir examples
  extract_man "$PWD/examples"
  n=0
  for command in examples/*.command; do
    n=$((n + 1))
    can_run "$command" || continue
    status=0
    timeout 60 bash "$command" >shown 2>errors || status=$?
    [ $status -eq 0 ] || fail "$(cat "$command")" "exit status $status: $(cat errors)"
    [ ! -s errors ] || fail "$(cat "$command")" "$(cat errors)"
    diff "${command%.command}.shown" shown || fail "$(cat "$command")"
  done
  [ $n -ge 10 ] || fail "only $n examples"
}

# The commands of README.md: what is indented by four and runs ./imghist, up to a line that ends it. The
# recipes build on each other and have tests of their own.
extract_readme() {
  awk '
    /^## / { is_recipe = /^## Recipes/ }
    is_recipe || !/^    / { is_more = 0; next }
    !is_more && !/\.\/imghist/ { next }
    !is_more { n++ }
    { line = substr($0, 5); sub(/ +# .*/, "", line); print line >sprintf("%s/%02d.command", out, n)
      is_more = line ~ /[|\\]$/ }' out="$1" "$README"
}

@test "man: every command of README.md runs" {
  photos
  mkdir examples
  extract_readme "$PWD/examples"
  n=0
  for command in examples/*.command; do
    n=$((n + 1))
    can_run "$command" || continue
    status=0
    timeout 60 bash -o pipefail "$command" >shown 2>errors || status=$?
    [ $status -eq 0 ] || fail "$(cat "$command")" "exit status $status: $(cat errors)"
  done
  [ $n -ge 6 ] || fail "only $n commands"
}

# ---- completeness

@test "man: the page has every option, and --help every option of the page" {
  "$IMGHIST" --help | grep -oE '^  (-., )?--[a-z0-9-]+' | grep -oE -e '--.*' | LC_ALL=C sort >help
  plain | sed -n '/^\.SH OPTIONS/,/^\.SH FORMATS/p' | sed -n '/^\.TP/{n;p;}' | grep -oE -e '--[a-z0-9-]{2,}' |
    LC_ALL=C sort -u >page
  diff help page
}

@test "man: the page has every value of an option" {
  plain >page
  "$IMGHIST" --help | grep -oE '^  [^ ]+( --[^ ]+)?' | grep -oE -e '--[a-z-]+\[?=[a-z0-9|-]*\|[a-z0-9|-]*' >values
  [ "$(wc -l <values)" -ge 8 ]
  while IFS='=' read -r option words; do
    for word in ${words//|/ }; do
      grep -qE "(^|[ \"=(,|.])$word($|[ \",.);|:])" page || fail "no $word of ${option%[}"
    done
  done <values
}

@test "man: the page has every column and key" {
  plain >page
  dot a.pgm
  for layout in channels bins long stats; do
    "$IMGHIST" a.pgm --csv=$layout | head -1 | tr , '\n'
  done | grep -vE '^bin_[0-9]+$' | LC_ALL=C sort -u >words
  "$IMGHIST" a.pgm missing --json -v 2>/dev/null | grep -oE '"[a-z0-9_]+":' | tr -d '":' | LC_ALL=C sort -u >>words
  "$IMGHIST" a.pgm --total --json | grep -oE '"[a-z0-9_]+":' | tr -d '":' | LC_ALL=C sort -u >>words
  "$IMGHIST" --bench=1k --device=cpu --csv | head -1 | tr , '\n' | sed 's/^copy_.*/copy_/' >>words
  [ "$(wc -l <words)" -gt 60 ]
  while read -r word; do
    grep -qE "(^|[^a-z0-9_])$word($|[^a-z0-9_])" page || fail "no $word"
  done <words
}

@test "man: the page has every environment variable that is read, and every exit code" {
  plain >page
  sed -n '/^\.SH ENVIRONMENT/,/^\.SH EXAMPLES/p' page >environment
  grep -rhoE 'getenv\("[A-Z_]+"\)' "$TESTS/../src" | grep -oE '[A-Z_]{2,}' | sort -u >variables
  [ "$(wc -l <variables)" -ge 3 ]
  while read -r variable; do
    grep -qw "$variable" environment || fail "no $variable"
  done <variables
  [ "$(sed -n '/^\.SH EXIT STATUS/,/^\.SH ENV/p' page | grep -cE '^\.B [0-3]$')" -eq 4 ]
}

@test "man: the page has every format, and README.md too" {
  plain | tr '[:upper:]' '[:lower:]' >page
  tr '[:upper:]' '[:lower:]' <"$README" >readme
  for format in $("$IMGHIST" --list | sed -n '/^formats:/,/^outputs:/s/^  \([a-z0-9]*\) .*/\1/p'); do
    grep -qw "$format" page || fail "no $format in the man page"
    grep -qw "$format" readme || fail "no $format in README.md"
  done
}

# ---- form

@test "man: no warnings" {
  n_tools=0
  if command -v groff >/dev/null; then
    n_tools=$((n_tools + 1))
    groff -ww -t -man -Tutf8 -rLL=100n "$MAN" >/dev/null 2>warnings
    [ ! -s warnings ] || fail "groff: $(cat warnings)"
  fi
  if command -v man >/dev/null && man --version >/dev/null 2>&1; then
    n_tools=$((n_tools + 1))
    for width in 80 120; do
      LC_ALL=C.UTF-8 MANWIDTH=$width man --warnings -l "$MAN" >page 2>warnings
      [ ! -s warnings ] || fail "man, $width columns: $(cat warnings)"
    done
    grep -q 'EXIT STATUS' page
  fi
  if command -v mandoc >/dev/null; then
    n_tools=$((n_tools + 1))
    mandoc -Tlint -W warning "$MAN" >warnings || fail "mandoc: $(cat warnings)"
  fi
  [ $n_tools -gt 0 ] || skip "neither groff nor man nor mandoc here"
}
