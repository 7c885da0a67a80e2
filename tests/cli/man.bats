#!/usr/bin/env bats
# The man pages and README.md: they describe all options, values, columns, keys and formats, and their examples run.

# shellcheck disable=SC2016 # $ is for awk and sed

load helpers

MAN=$TESTS/../src/cli/imghist.1
FORMATS=$TESTS/../src/cli/imghist-formats.5
README=$TESTS/../README.md

# plain: imghist(1) without formatting, with `-` for `\-`.
plain() { sed -e 's/\\-/-/g' -e 's/\\f[BIRP]//g' -e 's/\\&//g' "$MAN"; }

@test "man: the endings of charts, in imghist(1) and imghist.h" {
  endings=$("$IMGHIST" --help | sed -n 's/.*--chart\[=PATH\] *a \(.*\), or a directory/\1/p')
  [ "$(wc -w <<<"$endings")" -eq 5 ]
  for ending in $endings; do
    plain | grep -qF "$ending" || fail "no $ending in imghist(1)"
    grep -A4 'ending tells the format' "$TESTS/../src/imghist.h" | grep -qF "$ending" || fail "no $ending in imghist.h"
  done
}

# photos: makes the files that the examples use, and puts the program into PATH.
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

# can_run FILE: the optional programs that a command uses are installed.
can_run() {
  local program
  for program in jq sqlite3 djpeg convert ffmpeg; do
    ! grep -qw "$program" "$1" || command -v "$program" >/dev/null || return 1
  done
}

# extract_man DIR: writes each example of the man page to DIR/NN.command, and the output it shows to DIR/NN.shown.
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

# run_examples [OPTION...]: runs examples/*.command with these options of bash. Sets n_run, the number that ran. Compares
# the output if there is a .shown.
run_examples() {
  local command
  n_run=0
  for command in examples/*.command; do
    can_run "$command" || continue
    status=0
    timeout 60 bash "$@" "$command" >shown 2>errors || status=$?
    [ $status -eq 0 ] || fail "$(cat "$command")" "exit status $status: $(cat errors)"
    if [ -e "${command%.command}.shown" ]; then
      ! grep -v -e ' written: ' -e ' --where' -e ' other files skipped ' errors || fail "$(cat "$command")" "$(cat errors)"
      diff "${command%.command}.shown" shown || fail "$(cat "$command")"
    fi
    n_run=$((n_run + 1))
  done
}

@test "man: every example runs and has the output that the page shows" {
  photos
  mkdir examples
  extract_man "$PWD/examples"
  run_examples
  [ $n_run -eq 6 ] || fail "$n_run examples ran"
}

# extract_readme DIR: writes the commands of README.md, indented by four spaces and with ./imghist, to
# DIR/NN.command, and the output that follows one with a prompt to DIR/NN.shown.
extract_readme() {
  awk '
    !/^    / { is_more = is_shown = 0; next }
    { line = substr($0, 5) }
    line ~ /^\$ / { n++; is_shown = 1; print substr(line, 3) >sprintf("%s/%02d.command", out, n); next }
    is_shown { print line >sprintf("%s/%02d.shown", out, n); next }
    !is_more && !/\.\/imghist/ { next }
    !is_more { n++ }
    { sub(/ +# .*/, "", line); print line >sprintf("%s/%02d.command", out, n)
      is_more = line ~ /[|\\]$/ }' out="$1" "$README"
}

@test "man: README.md names files and targets that are there, in at most 1,300 words" {
  [ "$(wc -w <"$README")" -le 1300 ]
  cd "$TESTS/.."
  for file in $(grep -oE '\]\([a-zA-Z][a-zA-Z0-9_/.-]*\)|cc docs/[a-z_.]+|\./src/[a-z.0-9/-]+' "$README" | sed -E 's/^(\]\(|cc )//; s/\)$//'); do
    [ -f "$file" ] || fail "no $file"
  done
  tests/library/extract.sh src/imghist.h "$BATS_TEST_TMPDIR/from_header"
  diff docs/count_file.c "$BATS_TEST_TMPDIR/from_header/count_file.c"
}

@test "man: the bar chart of README.md has the figures of the benchmarks' results" {
  needs python3
  python3 "$TESTS/gallery/speed.py" "$TESTS/bench/results" .
  for theme in light dark; do
    cmp speed-$theme.svg "$TESTS/../docs/speed-$theme.svg" || fail "run tests/gallery/speed.py"
  done
  grep -oE '>[0-9.,]+</text>' speed-light.svg | tr -d '></a-z' >figures
  [ "$(wc -l <figures)" -eq 10 ]
  while read -r figure; do
    grep -qE "alt=.*[ ]${figure}[ ,.]" "$README" || fail "no $figure in the alternative text"
  done <figures
}

@test "man: every command of README.md runs" {
  export LC_ALL=C.UTF-8
  [ "$(locale charmap 2>/dev/null)" = UTF-8 ] || skip "there is no UTF-8 locale"
  photos
  cp -R "$SAMPLES" samples
  mkdir examples
  extract_readme "$PWD/examples"
  run_examples -o pipefail
  [ $n_run -eq 3 ] || fail "$n_run commands ran"
}

@test "man: the page has the options of --help=all, in its order and under its headings" {
  "$IMGHIST" --help=all | sed -n '/^Input:/,/^Examples:/p' |
    sed -nE 's/^([A-Z][a-z]+):$/\1/p; s/^  (-., )?(--[a-z0-9-]+).*/\2/p' | grep -v Examples >help
  plain | sed -n '/^\.SH OPTIONS/,/^\.SH ISOLATION/p' |
    sed -nE 's/^\.SS //p; /^\.TP/{n; s/^(-., )?(--[a-z0-9-]+).*/\2/p;}' >page
  diff help page
}

@test "man: the page has every value of an option" {
  plain >page
  "$IMGHIST" --help=all | grep -oE '^  [^ ]+( --[^ ]+)?' | grep -oE -e '--[a-z-]+\[?=[a-z0-9|-]*\|[a-z0-9|-]*' >values
  [ "$(wc -l <values)" -ge 8 ]
  while IFS='=' read -r option words; do
    for word in ${words//|/ }; do
      grep -qE "(^|[ \"=(,|.])$word($|[ \",.);|:])" page || fail "no $word of ${option%[}"
    done
  done <values
}

@test "man: the examples of fields in imghist-formats(5) are conditions" {
  photos
  sed -e 's/\\(ti/~/g' -e 's/\\-/-/g' "$FORMATS" | sed -n '/^\.SH CONDITIONS/,/^\.TE/p' |
    awk -F'\t' 'NF == 4 && $1 != "field" { print $4 }' >conditions
  [ "$(wc -l <conditions)" -eq 31 ]
  while read -r condition; do
    imghist photo.png --against=photo.jpg --where "$condition"
    assert_status 0
  done <conditions
}

@test "man: the page has every environment variable and exit code" {
  plain >page
  sed -n '/^\.SH ENVIRONMENT/,/^\.SH BUGS/p' page >environment
  grep -rhoE 'getenv\("[A-Z_]+"\)' "$TESTS/../src" | grep -oE '[A-Z_]{2,}' | sort -u >variables
  [ "$(wc -l <variables)" -ge 3 ]
  while read -r variable; do
    grep -qw "$variable" environment || fail "no $variable"
  done <variables
  [ "$(sed -n '/^\.SH EXIT STATUS/,/^\.SH ENV/p' page | grep -cE '^\.B [0-4]$')" -eq 5 ]
}

@test "man: imghist-formats(5) has every format, and README.md too" {
  sed -n '/^\.SH FORMATS/,/^\.SH ARCHIVES/p' "$FORMATS" | tr '[:upper:]' '[:lower:]' >page
  tr '[:upper:]' '[:lower:]' <"$README" >readme
  for format in $("$IMGHIST" --list | sed -n '/^formats:/,/^outputs:/s/^  \([a-z0-9]*\) .*/\1/p'); do
    grep -qw "$format" page || fail "no $format in the man page"
    grep -qw "$format" readme || fail "no $format in README.md"
  done
}

@test "man: the page is short" {
  command -v man >/dev/null && LC_ALL=C.UTF-8 MANWIDTH=100 man -l "$MAN" >page 2>/dev/null || skip "no man here"
  n_words=$(wc -w <page)
  [ "$n_words" -le 4000 ] || fail "$n_words words"
  [ "$(wc -l <"$MAN")" -le 450 ] || fail "$(wc -l <"$MAN") lines"
  # paragraphs have at most six lines; examples and tables do not count
  sed '/^EXAMPLES/,/^OPTIONS/d' page |
    awk 'NF { n++; if (n > 6) { print; exit 1 } } !NF { n = 0 }' || fail "a paragraph has more than six lines"
}

@test "man: no warnings" {
  n_tools=0
  if command -v groff >/dev/null; then
    n_tools=$((n_tools + 1))
    for page in "$MAN" "$FORMATS"; do
      groff -ww -t -man -Tutf8 -rLL=100n "$page" >/dev/null 2>warnings
      [ ! -s warnings ] || fail "groff: $(cat warnings)"
    done
  fi
  if command -v man >/dev/null && man --version >/dev/null 2>&1; then
    n_tools=$((n_tools + 1))
    for width in 80 120; do
      for page in "$MAN" "$FORMATS"; do
        LC_ALL=C.UTF-8 MANWIDTH=$width man --warnings -l "$page" >page 2>warnings
        [ ! -s warnings ] || fail "man, $width columns: $(cat warnings)"
        ! grep -E '[a-z]{22}' page || fail "a macro joined these words"
      done
    done
    grep -q 'SEE ALSO' page
  fi
  if command -v mandoc >/dev/null; then
    n_tools=$((n_tools + 1))
    mandoc -Tlint -W warning "$MAN" "$FORMATS" >warnings || fail "mandoc: $(cat warnings)"
  fi
  [ $n_tools -gt 0 ] || skip "no groff, man or mandoc here"
}
