#!/usr/bin/env bats
# --progress, -q and -v: standard error during a run and at its end.

# shellcheck disable=SC2016,SC2089,SC2090,SC2154 # the inner shell expands; run sets lines and stderr_lines

load helpers

LINE='imghist: [0-9]+(/[0-9]+)? files?, [0-9.]+ files/s, [0-9.]+ MP/s(, [0-9]+ failed)?, [0-9]+:[0-9][0-9] elapsed(, [0-9]+:[0-9][0-9] left)?'

needs_terminal() {
  script -qec true /dev/null </dev/null >/dev/null 2>&1 || skip "no script(1) of util-linux here"
}

# on_terminal COMMAND: writes the output on a terminal of COLUMNS_WANTED (80) columns to the file `terminal`.
on_terminal() {
  TERM=xterm timeout 60 script -qefc "stty cols ${COLUMNS_WANTED:-80}; $1" /dev/null </dev/null >terminal
}

# wiped: the progress line was drawn, and redrawn or wiped before any other text.
wiped() {
  grep -qE "$LINE" terminal || fail "no line was drawn: $(cat -v terminal)"
  grep -qE $'[^\r]\e\\[K([^\r]|$)' terminal && fail "not wiped: $(cat -v terminal)"
  return 0
}

# Two inputs; the second takes long enough for the line to be drawn, also if imghist starts a second late.
START='(sleep 2.5; printf x) | "$IMGHIST" --raw=1 a.raw -'

setup_file() { export LINE START; }

@test "progress: on a terminal a line is redrawn in place and wiped at the end" {
  needs_terminal
  printf abc >a.raw
  on_terminal "$START --csv=stats -o out.csv"
  grep -qE $'\r'"$LINE"$'\e\\[K' terminal || fail "no line: $(cat -v terminal)"
  wiped
  grep -qF 'imghist: 1/2 files' terminal || fail "not 1 of 2: $(cat -v terminal)"
  local closing=$'\e\\[K''imghist: 2 images counted in [0-9]+\.[0-9] s$'
  tail -1 terminal | tr -d '\r' | grep -qE "$closing" || fail "not wiped: $(cat -v terminal)"
  [ "$(grep -c '' terminal)" -eq 1 ] || fail "more than one closing line: $(cat -v terminal)"
  [ "$(wc -l <out.csv)" -eq 5 ]
}

@test "progress: the line never wraps" {
  needs_terminal
  printf abc >a.raw
  for columns in 20 40 60; do
    COLUMNS_WANTED=$columns on_terminal "$START --csv=stats -o out.csv"
    tr '\r' '\n' <terminal | sed $'s/\e\\[K//g' >drawn
    grep -q 'imghist: 1/2' drawn || fail "nothing at $columns"
    [ "$(grep -v counted drawn | wc -L)" -lt $columns ] || fail "too wide for $columns: $(cat -v terminal)"
  done
}

@test "progress: the line is wiped before messages and records on the same terminal" {
  needs_terminal
  printf abc >a.raw
  on_terminal '(sleep 2.5; printf x) | "$IMGHIST" --raw=1 a.raw - missing --csv=stats' || [ $? -eq 1 ]
  tr -d '\r' <terminal | sed $'s/.*\e\\[K//' >seen # the visible part of each line
  grep -qx 'imghist: missing: cannot open: No such file or directory' seen || fail "$(cat -v terminal)"
  [ "$(grep -cE '^(a.raw|-),[0-9]+,1,(gray|luma),' seen)" -eq 4 ] || fail "$(cat -v terminal)"
  wiped
  [ "$(tail -1 seen | sed 's/[0-9.]* s;/T s;/')" = "imghist: 2 images counted in T s; 1 of 3 inputs failed" ] || fail "$(cat -v terminal)"
  [ "$(grep -c 'files/s' seen)" -eq 0 ] || fail "$(cat -v terminal)"
  on_terminal '(sleep 2.5; printf x) | "$IMGHIST" --raw=1 a.raw - missing --csv=stats -o out.csv' || [ $? -eq 1 ]
  wiped
  grep -qE $'\r\e\\[Kimghist: missing: ' terminal || fail "$(cat -v terminal)"
}

@test "progress: the line is wiped by a signal" {
  needs_terminal
  printf abc >a.raw
  on_terminal '(sleep 4; printf x) | timeout --foreground -s INT 2.5 "$IMGHIST" --raw=1 a.raw - --csv -o out.csv; echo ended' ||
    true
  wiped
  tr -d '\r' <terminal | sed $'s/.*\e\\[K//' >seen
  [ "$(cat seen)" = ended ] || fail "$(cat -v terminal)"
  [ ! -e out.csv ]
}

@test "progress: a short run and a run without progress draw nothing" {
  needs_terminal
  printf abc >a.raw
  for command in '"$IMGHIST" --raw=1 a.raw --csv -o out.csv' "$START --csv -o out.csv --progress=never" \
    "$START --csv -o out.csv -q" "TERM=dumb; $START --csv -o out.csv" "unset TERM; $START --csv -o out.csv" \
    "($START --csv) | cat >out.csv"; do
    on_terminal "$command"
    [ ! -s terminal ] || fail "$command: $(cat -v terminal)"
  done
}

@test "progress: --progress=always without a terminal prints a last line" {
  dots a.pgm b.pgm
  damaged bad.png
  imghist_status 1 a.pgm bad.png b.pgm --csv --progress=always
  [[ ${stderr_lines[0]} == "imghist: bad.png: "* ]] || fail "message"
  [[ ${stderr_lines[1]} =~ ^$LINE$ ]] || fail "line"
  [[ ${stderr_lines[1]} == "imghist: 3/3 files, "*" MP/s, 1 failed, 0:0"[0-9]" elapsed" ]] || fail "line"
  [ "${stderr_lines[2]}" = "imghist: 1 of 3 inputs failed" ]
  [ "${#stderr_lines[@]}" -eq 3 ]
  [[ $stderr != *$'\e'* && $stderr != *$'\r'* ]] || fail "control characters"
}

@test "progress: for directories and lists, the inputs done so far without skipped files" {
  mkdir d
  for i in {1..5}; do dot "d/$i.pgm"; done
  echo text >d/readme
  echo d/1.pgm >list
  imghist d --csv --progress=always
  [[ $stderr == "imghist: 5 files, "* ]] || fail "directory"
  imghist --files-from=list --csv --progress always
  [[ $stderr == "imghist: 1 file, "* ]] || fail "list"
}

@test "progress: a directory or a list shows its total once the walk has ended" {
  needs_terminal
  mkdir d
  for i in {1..5}; do dot "d/$i.pgm"; done
  echo text >d/0.readme
  mkfifo d/slow # a skipped file
  printf 'd\nd/1.pgm\n' >list
  while read -r n_done inputs; do
    on_terminal "(sleep 2.5; cat d/1.pgm) | \"\$IMGHIST\" $inputs --csv=stats -o out.csv"
    tr '\r' '\n' <terminal | sed $'s/\e\\[K//g' >drawn
    grep -q "^imghist: $n_done files, .* elapsed" drawn || fail "$inputs: $(cat drawn)"
  done <<<$'5/6 d -\n0/9 --files-from=list -' # standard input comes first; two of nine will be skipped
}

@test "progress: a line every five seconds" {
  ! is_emulated || skip "qemu-user is too slow to start"
  (sleep 8; printf x) | "$IMGHIST" --raw=1 - --csv --progress=always >/dev/null 2>stderr
  [ "$(wc -l <stderr)" -eq 2 ] || fail "$(cat stderr)"
  [[ $(head -1 stderr) =~ ^'imghist: 0/1 files, 0.0 files/s, 0.0 MP/s, 0:0'[56]' elapsed'$ ]] || fail "$(cat stderr)"
}

@test "progress: -q prints only errors, and progress on request" {
  dot a.pgm
  imghist a.pgm --csv -q --progress=always
  [[ $stderr =~ ^$LINE$ ]] || fail "line"
  imghist_status 1 a.pgm missing a.pgm -q --csv
  [ "${stderr_lines[*]}" = "imghist: missing: cannot open: No such file or directory" ]
  imghist_status 1 --files-from=/dev/null -q --csv
  [ "$stderr" = "imghist: no images found: the list /dev/null is empty" ]
}

@test "progress: -v reports inputs, times and kernels" {
  mkdir d
  { printf 'P6\n1000 1000\n255\n' && head -c 3000000 /dev/zero; } >d/a.ppm
  for i in {1..3}; do dot "d/$i.pgm"; done
  imghist_status 1 d missing --csv=stats -v --device=cpu
  number=' +[0-9]+\.[0-9]{3} s'
  expected=("imghist: missing: cannot open: No such file or directory" "imghist: 4 done, 1 failed, 0 skipped"
    "  in        $number, [0-9]+\.[0-9] files a second" "  megapixels +1\.0, [0-9.]+ a second"
    "  reading   $number .*" "  decoding  $number .*" "  counting  $number .*" "  writing   $number"
    "  memory     +[0-9]+\.[0-9] MB at most" "  counted by cpu.*, kernel tables")
  for i in "${!expected[@]}"; do
    [[ ${stderr_lines[i]} =~ ^${expected[i]}$ ]] || fail "line $i, expected ${expected[i]}"
  done
  [ "${#stderr_lines[@]}" -eq ${#expected[@]} ]
}

@test "progress: -v counts waiting for a pipe as reading" {
  ! is_emulated || skip "qemu-user is too slow to start"
  mkfifo pipe
  (exec 8>pipe && sleep 1.2 && printf x >&8) 3>&- & # the pipe is open once imghist opens it
  "$IMGHIST" --raw=1 pipe --csv -v >/dev/null 2>stderr
  [ "$(awk '$1 == "in" || $1 == "reading" {print ($2 >= 1)}' stderr | paste -sd' ')" = "1 1" ] ||
    fail "$(cat stderr)"
  [ "$(awk '$1 == "decoding" || $1 == "counting" || $1 == "writing" {print int($2)}' stderr | paste -sd' ')" = "0 0 0" ] ||
    fail "$(cat stderr)"
}
