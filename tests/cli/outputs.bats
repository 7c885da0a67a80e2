#!/usr/bin/env bats
# Several outputs in one run: the format of each -o, and places that cannot be written.

load helpers

# refused TEXT ARG...: a usage error with TEXT in its message; nothing is written.
refused() {
  local text=$1
  shift
  imghist_refused 2 "$text" a.pgm "$@"
  [ -z "$(find . -mindepth 1 ! -name a.pgm ! -name 'separate-stderr-*')" ] || fail "a file was made: $(ls -A)"
}

@test "outputs: each -o belongs to the format before it" {
  dot d/a.pgm 10
  dot d/b.pgm F0
  imghist_ok d --csv=stats -o a.csv --ndjson -o b.ndjson --json -o c.json --csv=bins -o d.csv --text=lines -o e.txt \
    --chart=charts/ --csv=long
  long=$output
  "$IMGHIST" d --csv=stats | cmp - a.csv
  "$IMGHIST" d --ndjson | cmp - b.ndjson
  "$IMGHIST" d --json | cmp - c.json
  "$IMGHIST" d --csv=bins | cmp - d.csv
  "$IMGHIST" d --text=lines | cmp - e.txt
  [ "$("$IMGHIST" d --csv=long)" = "$long" ]
  [ "$(tree charts)" = $'./d/a.pgm.hist.png\n./d/b.pgm.hist.png' ]
}

# Workers render in any order, and inputs that fail or are left out come between the others.
@test "outputs: many workers write what one writes" {
  local i
  mkdir -p d/b
  for ((i = 0; i < 200; i++)); do
    dot "d/$i.pgm" "$(printf '%02X' $((i * 7 % 256)))"
    ((i % 10)) || printf 'P5 1 1 255\n' >"d/b/$i.pgm"
    ((i % 50)) || cp "$SAMPLES/scene.jpg" "d/$i.jpg"
  done
  for i in 1 16; do
    mkdir "out$i"
    (cd "out$i" && imghist_status 1 -q -j "$i" ../d --csv=channels -o a.csv --csv=images -o b.csv --ndjson -o c.ndjson \
      --json -o d.json --html=e.html --text=lines -o f.txt --print0 -o g --total --where 'mean_luma > 60' \
      --fail-if 'mean_luma > 120' --against="$SAMPLES" --chart=charts --chart-size=320x200 && printf '%s\n' "$stderr" >messages)
    (cd "out$i" && imghist_status 1 -q -j "$i" ../d --by=folder --csv=stats -o h.csv --ndjson -o i.ndjson --total)
  done
  diff -r out1 out16
  [ "$(grep -c 'matches --fail-if' out16/messages)" -gt 90 ]
  [ "$(tree out16/charts | wc -l)" -gt 140 ]
}

@test "outputs: the total goes to every output" {
  dot a.pgm
  imghist_output_has "(total)" a.pgm a.pgm --total --csv=stats -o a.csv --ndjson -o b.ndjson --text
  grep -q '^(total),,,gray,2,' a.csv
  grep -q '"file":"(total)"' b.ndjson
}

@test "outputs: the ending of -o chooses the format if none is named" {
  dot a.pgm
  while read -r name options; do
    imghist_output "" a.pgm -o "$name"
    # shellcheck disable=SC2086 # the options are words
    "$IMGHIST" a.pgm $options | cmp - "$name" || fail "$name"
  done <<'END'
a.csv --csv
a.CSV --csv
a.json --json
a.ndjson --ndjson
a.jsonl --ndjson
a.txt --text
a --text
END
  imghist_ok a.pgm -o b.csv -o b.json
  cmp a.csv b.csv
  cmp a.json b.json
  imghist_ok a.pgm -o c.csv --csv=stats # the format may come after its -o
  "$IMGHIST" a.pgm --csv=stats | cmp - c.csv
  imghist_ok a.pgm --json -o d.txt --csv -o d # any text
  cmp a.json d.txt
  cmp a.csv d
  imghist_ok a.pgm --csv -o d.csv -o e.csv --csv=stats -o f.csv
  cmp a.csv d.csv
  cmp a.csv e.csv
  cmp c.csv f.csv
  imghist_ok a.pgm --chart=c.png -o e.csv
  cmp a.csv e.csv
  is_png c.png
}

@test "outputs: a name that tells no format is refused" {
  dot a.pgm
  for name in a.tsv out/a.csv.new a.out; do
    refused "-o: '$name' does not tell the format: name it .csv, .json, .ndjson, .html or .txt, or write" -o $name
  done
  for name in a.xlsx A.XLSX a.ods out/a.csv.db a.pdf a.parquet; do
    refused "-o: '$name' has the name of a format that imghist does not write: name it .csv, .json" -o $name
    refused "--csv: '$name' has the name of a format that imghist does not write; name it .csv" --csv=stats -o $name
    refused "--text: '$name' has the name of a format that imghist does not write; name it .txt" --text -o $name
    refused "--html: '$name' has the name of a format that imghist does not write; name it .html" --html=$name
  done
  imghist_ok a.pgm --csv -o a.tsv
}

@test "outputs: two formats for one place are wrong usage" {
  dot a.pgm
  refused "--csv and --ndjson: both go to standard output; give each its own -o FILE" --csv --ndjson
  refused "--csv and --json: both go to standard output" --csv --json -o -
  refused "./x: two formats for one file: give each its own -o FILE" --csv -o x --json -o ./x
  mkdir sub
  ln -s ../x sub/y
  imghist_fails 2 "sub/y: two formats for one file" a.pgm --csv -o x --json -o sub/y
  ln -s sub link
  for path in sub/new/deep/x ./sub/new/deep/x sub//new/./deep//x "$PWD/link/new/deep/x" sub/../link/new//deep/./x; do
    imghist_fails 2 "$path: two formats for one file" a.pgm --csv -o link/new/deep/x --json -o "$path"
    [ ! -e sub/new ] || fail "$path"
  done
  # shellcheck disable=SC2016 # the inner shell expands it
  run --separate-stderr sh -c '"$IMGHIST" a.pgm --csv --json -o same >same'
  assert_fails 2 "same: two formats for one file"
  imghist_ok a.pgm --csv -o /dev/null --json -o /dev/null
}

@test "outputs: at most eight" {
  dot a.pgm
  eight=()
  for i in 1 2 3 4 5 6 7 8; do eight+=(--csv -o "$i.csv"); done
  refused "more than 8 outputs" "${eight[@]}" --json
  imghist_ok a.pgm "${eight[@]}"
  cmp 1.csv 8.csv
}

@test "outputs: -o and --chart make missing folders" {
  dot a.pgm
  imghist_ok a.pgm --csv=stats -o new/deep/a.csv --chart=pictures/c.png
  "$IMGHIST" a.pgm --csv=stats | cmp - new/deep/a.csv
  is_png pictures/c.png
}

@test "outputs: if one cannot be written, none is made" {
  dot a.pgm
  mkdir out
  : >file
  imghist_fails 1 "imghist: file/b.json: cannot " a.pgm --csv -o out/a.csv --json -o file/b.json
  [ -z "$(ls -A out)" ] || fail "$(ls -A out)"
  imghist a.pgm --csv -o out/a.csv --json -o /dev/full
  assert_fails 1 "imghist: /dev/full: cannot write: No space left on device"
  [ -z "$(ls -A out)" ] || fail "$(ls -A out)"
}

@test "outputs: no output is an input" {
  dot a.pgm
  cp a.pgm in
  for outputs in "--csv -o x --json -o in" "--json -o in --csv -o x"; do
    # shellcheck disable=SC2086 # the options are words
    imghist in $outputs
    assert_fails 2 "in: is both an input and the output file"
    cmp a.pgm in
    [ ! -e x ]
  done
}

@test "outputs: a path that leaves a folder that is still to be made is no way around the checks" {
  dot in.csv
  tee before own.png <in.csv >own.html
  mkdir old
  ln -s new/../in.csv link.csv # to nothing, until the folder is made
  for outputs in --chart=new/../own.png --chart=./new/./../own.png --html=new/../own.html "--csv -o new/deep/../../in.csv" \
    "--json -o new/a.json --csv -o link.csv"; do
    # shellcheck disable=SC2086 # the options are words
    imghist in.csv $outputs
    assert_fails 2 "has '..' after a folder that does not exist"
    for file in in.csv own.png own.html; do cmp before $file; done
    [ ! -e new ]
  done
  imghist_ok in.csv --csv=stats -o old/../out..csv --chart=old/new..d/c.png
  imghist_fails 2 "in.csv: is both an input and the output file" in.csv --csv -o old/../in.csv
}

@test "outputs: if all inputs fail, only files that record failures are made" {
  imghist_status 1 missing --csv -o a.csv --ndjson -o b.ndjson --check -o c.txt --text -o d.txt
  [ "$(echo ?.*)" = "b.ndjson c.txt" ] || fail "$(ls)"
}

@test "outputs: a file that is open is written where it stands" {
  dot a.pgm
  for format in --csv=stats --json; do
    "$IMGHIST" a.pgm $format >expected
    ln -sf /dev/stdout link
    for path in /dev/stdout /dev/fd/1 /proc/self/fd/1 link; do
      echo kept >log
      "$IMGHIST" a.pgm $format -o $path >>log
      { echo kept && cat expected; } | cmp - log || fail "$format -o $path: a log"
      "$IMGHIST" a.pgm $format -o $path | cmp - expected || fail "$format -o $path: a pipe"
    done
    for path in /dev/stderr /dev/fd/2; do
      echo kept >log
      "$IMGHIST" a.pgm $format -o $path 2>>log
      { echo kept && cat expected; } | cmp - log || fail "$format -o $path"
    done
    for path in /dev/fd/7 /proc/self/fd/7; do
      { "$IMGHIST" a.pgm $format -o $path 7>&1 >/dev/null | cmp - expected; } || fail "$format -o $path"
      { "$IMGHIST" a.pgm $format -o $path && echo more; } 7>log >&7
      { cat expected && echo more; } | cmp - log || fail "$format -o $path: the place in the file"
    done
  done
  echo kept >log # the file of another process
  "$IMGHIST" a.pgm --csv=stats >expected
  { "$IMGHIST" a.pgm --csv=stats -o /proc/$BASHPID/fd/7; } 7>>log
  { echo kept && cat expected; } | cmp - log || fail "/proc/PID/fd/7"
  "$IMGHIST" a.pgm --html=/dev/stdout | cmp - <("$IMGHIST" a.pgm --html)
  imghist_ok a.pgm --csv --json -o >(cat >sub.json)
  "$IMGHIST" a.pgm --json >expected
  soon cmp sub.json expected
  [ -z "$(find . -name '.imghist*')" ] || fail "temporary files"
}

@test "outputs: a file that is not open, or is standard output twice" {
  dot a.pgm
  imghist_refused 1 "/dev/fd/99: cannot write: Bad file descriptor" a.pgm --csv -o /dev/fd/99
  refused "--csv and --json: both go to standard output" --csv --json -o /dev/stdout
  refused "--csv and --json: both go to standard output" --csv -o /dev/fd/1 --json -o -
  refused "--chart=- and --csv: both go to standard output" --csv --chart=-
  refused "--chart=- and --csv: both go to standard output" --csv --chart=/dev/stdout
}

@test "outputs: --html=FILE does not take the -o of the format before it" {
  dot a.pgm
  while IFS='|' read -r arguments file format; do
    # shellcheck disable=SC2086 # words
    imghist_output "" a.pgm $arguments
    # shellcheck disable=SC2086 # words
    "$IMGHIST" a.pgm $format | cmp - "$file" || fail "$arguments: $file"
    "$IMGHIST" a.pgm --html | cmp - page.html || fail "$arguments: the page"
    rm "$file" page.html
  done <<'END'
--csv=stats --html=page.html -o a.csv|a.csv|--csv=stats
--json --html=page.html -o a.json|a.json|--json
--csv=bins -o b.csv --html=page.html -o a.csv|a.csv|--csv
--html=page.html --html=page2.html --csv=long -o a.csv|a.csv|--csv=long
--html=page.html -o a.csv|a.csv|--csv
--csv=stats --html=page2.html --html=page.html --chart=c.svg -o a.csv|a.csv|--csv=stats
END
}
