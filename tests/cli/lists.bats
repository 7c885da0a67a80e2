#!/usr/bin/env bats
# Lists of paths, and --fail-fast.

load helpers

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  unset IMGHIST_DEVICE
  printf 'P5\n1 1\n255\nA' >a.pgm
  printf 'P5\n1 1\n255\nB' >b.pgm
  printf 'P5\n2 1\n255\nC' >cut.pgm
  mkdir d
  printf 'P5\n1 1\n255\nD' >d/d.pgm
  printf 'no image' >d/text
}

# files CSV: the files of the records, in order.
files() { tail -n +2 "$1" | grep ',gray,' | cut -d, -f1; }

@test "lists: one path a line, after the paths of the command line" {
  printf 'b.pgm\n\nd\n' >list
  "$IMGHIST" --csv=stats --files-from=list a.pgm >out
  [ "$(files out)" = $'a.pgm\nb.pgm\nd/d.pgm' ]
}

@test "lists: the last line may lack its newline, and - is standard input" {
  printf 'b.pgm\na.pgm' | "$IMGHIST" --csv=stats --files-from=- >out
  [ "$(files out)" = $'b.pgm\na.pgm' ]
}

@test "lists: - in a list is a file, written as ./- in results" {
  cp a.pgm ./-
  printf -- '-\n' >list
  "$IMGHIST" --csv=stats --files-from=list - <b.pgm --chart=charts >out
  grep -qx -- '-,1,1,gray,1,66,.*' out
  grep -qx -- './-,1,1,gray,1,65,.*' out
  [ "$(ls charts)" = $'-.hist.png\nstdin.hist.png' ]
  rm ./-
  run --separate-stderr "$IMGHIST" --csv=stats --files-from=list <b.pgm
  [ "$status" -eq 1 ]
  [[ $stderr == "imghist: ./-: cannot open: No such file or directory"* ]]
}

@test "lists: with --files0-from names may contain newlines" {
  cp a.pgm $'new\nline.pgm'
  printf 'new\nline.pgm\0b.pgm\0' | "$IMGHIST" --csv=stats --files0-from - >out
  grep -q '^"new$' out
  grep -q '^line.pgm",1,1,gray,1,65,' out
  grep -q '^b.pgm,' out
}

@test "lists: the first NUL byte is an error and ends the list" {
  printf 'a.pgm\0d\0b.pgm\0' >nuls
  printf 'a.pgm\n\0\nb.pgm\n' >nul
  for list in nuls nul "$IMGHIST"; do
    imghist --csv=stats --files-from="$list"
    assert_fails 1 "$list: is not a list of lines: it contains a NUL byte; on the command line --files0-from"
    [ "$(grep -c 'NUL byte' <<<"$stderr")" -eq 1 ] || fail "more than one message"
    refute_output_has b.pgm
  done
  imghist --csv=stats --files-from=nul
  assert_output_has a.pgm,1,1,gray
}

@test "lists: what is no list, and names in quotes, get one line that says so" {
  printf 'a.pgm\nb.pgm\n' | iconv -t UTF-16LE >16le
  { printf '\xff\xfe'; cat 16le; } >16le_marked
  printf 'a.pgm\r\n' | iconv -t UTF-16 >16any # with a mark
  { printf '\xfe\xff'; printf 'a.pgm\n' | iconv -t UTF-16BE; } >16be
  for list in 16le 16le_marked 16any 16be; do
    imghist --files-from=$list --csv
    assert_fails 1 "imghist: $list: is a list in UTF-16, which Windows programs write; save it as UTF-8"
    [ "${#stderr_lines[@]}" -eq 1 ] || fail $list
    cat $list | "$IMGHIST" --files-from=- --csv 2>&1 | grep -q 'a list in UTF-16' || fail "$list, a pipe"
  done
  for image in scene.png scene.jpg palette.png; do
    for option in --files-from --files0-from; do
      imghist_refused 2 "$image: an image is no list; name it without an option" "$option=$SAMPLES/$image" --csv
      imghist_refused 2 "an image is no list" "$option=-" --csv <"$SAMPLES/$image"
    done
  done
  for quote in '"' "'"; do
    echo "${quote}a.pgm${quote}" >quoted
    imghist --files-from=quoted --csv
    assert_fails 1 "cannot open: No such file or directory (the quotes are part of the name; a list has names without quotes)"
  done
  cp a.pgm '"a.pgm"' # such a file may exist
  echo '"a.pgm"' >quoted
  imghist_ok --files-from=quoted --csv
}

@test "lists: lines may end in CR LF, and a list may begin with a byte order mark" {
  printf '\xEF\xBB\xBFb.pgm\r\n\r\nd\r\na.pgm\r' >list
  "$IMGHIST" --csv=stats --files-from=list >out
  [ "$(files out)" = $'b.pgm\nd/d.pgm\na.pgm' ]
  cp a.pgm $'cr\r'
  printf 'cr\r\0' >list # of such a list every byte counts
  "$IMGHIST" --ndjson --files0-from=list | grep -qF '"file":"cr\u000d"'
}

@test "lists: an endless line is an error and is not read into memory" {
  [ -c /dev/zero ] || skip "no /dev/zero"
  for option in --files-from --files0-from; do
    status=0
    (ulimit -v 4000000 && "$IMGHIST" --version) >/dev/null 2>&1 && ulimit -v 4000000
    timeout 60 "$IMGHIST" --device=cpu --csv=stats a.pgm $option=/dev/zero >out 2>err || status=$?
    [ "$status" -eq 1 ]
    [ "$(files out)" = a.pgm ]
    grep -q '^imghist: /dev/zero: is not a list of files: it has a line of more than 65536 bytes, or' err
  done
}

@test "lists: the longest line, and one byte more" {
  for n in 65535 65536; do
    { echo b.pgm; head -c $n /dev/zero | tr '\0' x; echo; echo a.pgm; } >list
    run "$IMGHIST" --csv=stats --files-from=list
    [ "$status" -eq 1 ]
    [[ $output == *b.pgm,1,1,gray* ]]
    if [ $n -eq 65535 ]; then
      [[ $output == *"cannot open: File name too long"* && $output == *a.pgm,1,1,gray* ]]
    else
      [[ $output == *"imghist: list: is not a list of files"* && $output != *a.pgm,1,1,gray* ]]
    fi
  done
}

@test "lists: empty lines are skipped, up to a limit" {
  { head -c 60000 /dev/zero | tr '\0' '\n'; echo a.pgm; head -c 60000 /dev/zero | tr '\0' '\n'; echo b.pgm; } >list
  "$IMGHIST" --csv=stats --files-from=list >out
  [ "$(files out)" = $'a.pgm\nb.pgm' ]
  { head -c 70000 /dev/zero | tr '\0' '\n'; echo a.pgm; } >list
  run "$IMGHIST" --csv=stats --files-from=list
  [ "$status" -eq 1 ]
  [[ $output == *"imghist: list: is not a list of files"* ]]
}

@test "lists: a list without images is an error, as a folder without images is" {
  printf '\n\n' >blank
  for list in /dev/null blank; do
    for arguments in --csv=stats --check "--text -q" "--ndjson -v" --total-only; do
      # shellcheck disable=SC2086 # words
      imghist --files-from=$list $arguments
      assert_fails 1 "no images found: the list $list is empty" || fail "$arguments"
      [ "$(grep -c 'no images found' <<<"$stderr")" -eq 1 ]
    done
  done
  imghist --files-from=/dev/null --csv=stats
  [ "${#lines[@]}" -eq 1 ]
  for name in out.csv out.json out.ndjson out.html out.txt; do
    echo earlier >$name
    imghist_fails 1 "no images found" --files-from=/dev/null --total -o $name
    [ "$(cat $name)" = earlier ] || fail "$name was replaced"
  done
  imghist_ok --files-from=/dev/null --shard=1/2 --csv=stats # the other part may have some
}

@test "lists: --fail-fast does not wait for other inputs" {
  mkfifo endless
  exec 9<>endless
  for where in "missing endless" "a.pgm missing endless endless"; do
    # shellcheck disable=SC2086 # the inputs are words
    run timeout 20 "$IMGHIST" $where --csv=stats --fail-fast -j 4 9>&-
    [ "$status" -eq 1 ]
  done
  exec 9>&-
  [[ $output == *a.pgm,1,1,gray* ]]
}

@test "lists: a list is never the output" {
  echo "$SAMPLES/palette.png" >list
  for option in --files-from --files0-from; do
    imghist_fails 2 "list: is both an input and the output file" $option=list --csv -o list
    [ "$(cat list)" = "$SAMPLES/palette.png" ]
  done
}

@test "lists: a note says that a folder in the list counts with all its files" {
  mkdir d/e
  cp a.pgm d/e
  rm d/text
  find d | sort >list
  run --separate-stderr "$IMGHIST" --csv=stats --files-from=list
  [ "$status" -eq 0 ]
  [ "${stderr_lines[0]}" = "imghist: d: note: is a directory in the list: all its files are counted" ]
  tr '\n' '\0' <list >list0
  run --separate-stderr "$IMGHIST" --csv=stats --files0-from=list0
  [ "${stderr_lines[0]}" = "imghist: d: note: is a directory in the list: all its files are counted" ]
  find d -type f >list
  run --separate-stderr "$IMGHIST" --csv=stats d --files-from=list
  refute_stderr_has "is a directory in the list"
  for arguments in --files-from=list "--check --files0-from=list0" "-q --files0-from=list0"; do
    # shellcheck disable=SC2086 # words
    run --separate-stderr "$IMGHIST" $arguments
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
  done
}
