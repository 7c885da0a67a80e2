#!/usr/bin/env bats
# Failures: bad inputs, outputs that cannot be written or would replace an input, and signals.

# shellcheck disable=SC2016,SC2154 # $IMGHIST is for the inner shell; run sets stderr_lines

load helpers

# Background processes must not hold bats' descriptor 3: `3>&-`.

is_gone() { ! kill -0 "$1" 2>/dev/null; }

# unchanged FILE: it has the same bytes as when `remember FILE` was called.
remember() { cp "$1" remembered; }
unchanged() { cmp "$1" remembered || fail "$1 was changed"; }

@test "failures: a damaged image is an error with its name and the reason, and has no records" {
  for image in "$SAMPLES"/*.png "$SAMPLES"/*.jpg; do
    for part in 20 200 $(($(wc -c <"$image") / 2)) $(($(wc -c <"$image") - 1)); do
      head -c "$part" "$image" >cut.image
      for layout in channels bins long stats; do
        imghist_refused 1 "imghist: cut.image: damaged " cut.image --csv=$layout
      done
      imghist_status 1 cut.image
      assert_output ""
    done
  done
}

@test "failures: one bad file among good files" {
  dot a.pgm
  damaged b.png
  dot c.pgm
  for j in 1 2 8; do
    "$IMGHIST" a.pgm c.pgm --csv=stats >expected.csv
    imghist_fails 1 "imghist: b.png: damaged PNG" a.pgm b.png c.pgm --csv=stats -j $j
    assert_stderr_has "1 of 3 inputs failed"
    assert_output "$(cat expected.csv)"
  done
}

@test "failures: if all files are bad, no output file is made and an old one is kept" {
  damaged b.png
  mkdir out
  imghist_status 1 b.png missing --csv -o out/new.csv
  echo old >out/old.csv
  imghist_status 1 b.png --csv -o out/old.csv
  [ "$(ls -A out)" = old.csv ]
  [ "$(cat out/old.csv)" = old ]
}

@test "failures: --max-pixels" {
  pgm a.pgm 10 10 "$(printf '\\x00%.0s' {1..100})"
  imghist_ok a.pgm --csv=stats --max-pixels=100
  imghist a.pgm --csv=stats --max-pixels=99
  assert_refused 1 "imghist: a.pgm: image too large: 10 x 10 pixels, the limit is 99 (--max-pixels raises it)"
  head -c 1001 /dev/zero >raw
  imghist raw --csv --raw=1 --max-pixels=1000
  assert_refused 1 "raw: image too large: 1001 pixels, the limit is 1000 (--max-pixels raises it)"
  run --separate-stderr sh -c 'cat raw | "$IMGHIST" - --csv --raw=1 --max-pixels=1000'
  assert_refused 1 "more than 1000 pixels (--max-pixels raises it)"
  truncate -s 1T sparse # refused before it is read
  SECONDS=0
  imghist_refused 1 "sparse: image too large: 1099511627776 pixels" sparse --csv --raw=1
  [ "$SECONDS" -le 20 ]
  imghist a.pgm --ndjson --max-pixels=99
  [[ $output == *'the limit is 99 (--max-pixels raises it)"}' ]] || fail "JSON has another message"
}

@test "failures: the default of --max-pixels is 4G" {
  printf 'P5\n65536 65536\n255\n' >within.pgm
  printf 'P5\n65536 65537\n255\n' >beyond.pgm
  imghist_fails 1 "within.pgm: damaged PNM: the file ends before the image does" within.pgm --csv
  imghist beyond.pgm --csv
  assert_fails 1 "beyond.pgm: image too large: 65536 x 65537 pixels, the limit is 4294967296 (--max-pixels raises it)"
}

@test "failures: a header with a huge size allocates no memory" {
  sh -c 'ulimit -v 4000000; "$IMGHIST" --version' >/dev/null 2>&1 || skip "the program takes more by itself"
  printf 'P5\n60000 60000\n255\n' >claims.pgm
  printf '\0\0\2\0\0\0\0\0\0\0\0\0\377\377\377\377\30\0' >claims.tga
  printf 'P5\n1000000000 1\n255\n' >wide.pgm
  for image in claims.pgm claims.tga wide.pgm; do
    run --separate-stderr sh -c 'ulimit -v 4000000; "$IMGHIST" "$1" --csv --device=cpu -j 1' - $image
    assert_fails 1 "imghist: $image: "
    refute_stderr_has memory
  done
}

# scans FILE N: a gray progressive JPEG of 8 x 8 pixels, all coefficients 0, in N scans: the DC values, then one AC value
# each, then again with one more bit.
scans() {
  local i value bits n=$2
  {
    printf '\xFF\xD8\xFF\xDB\x00\x43\x00'
    printf '\x01%.0s' {1..64}
    printf '\xFF\xC2\x00\x0B\x08\x00\x08\x00\x08\x01\x01\x11\x00'
    for table in 00 10; do
      printf "\\xFF\\xC4\\x00\\x14\\x$table\\x01"
      head -c 16 /dev/zero
    done
    printf '\xFF\xDA\x00\x08\x01\x01\x00\x00\x00\x00\x7F'
    for ((i = 0; i < n - 1; i++)); do
      value=$(printf %02x $((i % 63 + 1)))
      bits=$((i < 63 ? 1 : 10)) # successive approximation: first all but the last bit, then the last
      printf "\\xFF\\xDA\\x00\\x08\\x01\\x01\\x00\\x$value\\x$value\\x$bits\\x7F"
    done
    printf '\xFF\xD9'
  } >"$1"
}

@test "failures: a progressive JPEG has at most 100 scans" {
  scans 100.jpg 100
  scans 101.jpg 101
  imghist_output_has "100.jpg,8,8,gray,64,8192,128.000000," 100.jpg --csv=stats --lenient # the last bits are missing
  imghist_fails 1 "imghist: 101.jpg: " 101.jpg --csv=stats
  assert_stderr_has "more than 100 scans"
  assert_output ""
}

@test "failures: -o appears complete, with the permissions of a new file" {
  dot a.pgm
  mkdir out
  umask 027
  imghist_output "" a.pgm --csv -o out/a.csv
  [ "$(ls -A out)" = a.csv ]
  [ "$(stat -c %a out/a.csv)" = 640 ]
  chmod 604 out/a.csv
  imghist a.pgm --csv -o out/a.csv
  [ "$(stat -c %a out/a.csv)" = 604 ]
}

@test "failures: the umask applies to each of many files and to folders" {
  mkdir d
  for i in 1 2 3; do dot "d/$i.pgm"; done
  umask 027
  imghist_ok d --chart=charts --csv -o a.csv
  [ "$(stat -c %a charts charts/d charts/d/*.png a.csv | tr '\n' ' ')" = "750 750 640 640 640 640 " ]
}

@test "failures: a write that fails at the end replaces nothing" {
  dot a.pgm
  mkdir out
  echo old >out/a.csv
  run --separate-stderr sh -c 'ulimit -f 1; "$IMGHIST" a.pgm --csv -o out/a.csv'
  assert_fails 1 "imghist: out/a.csv: cannot write: File too large"
  [ "$(ls -A out)" = a.csv ]
  [ "$(cat out/a.csv)" = old ]
}

@test "failures: -o does not replace a read-only file" {
  dot a.pgm
  mkdir out
  echo old >out/a.csv
  chmod 444 out/a.csv a.pgm
  chmod 777 out
  imghist_as_user a.pgm --csv -o out/a.csv
  assert_fails 1 "imghist: out/a.csv: cannot write: Permission denied"
  [ "$(ls -A out)" = a.csv ]
  [ "$(cat out/a.csv)" = old ]
}

@test "failures: -o through links makes a missing target, and a loop is an error" {
  dot a.pgm
  mkdir real
  ln -s "$PWD/real/next" link.csv
  ln -s a.csv real/next # relative to real
  "$IMGHIST" a.pgm --csv=stats >expected
  for _ in new old; do
    imghist_ok a.pgm --csv=stats -o link.csv
    cmp expected real/a.csv
  done
  [ -L link.csv ]
  [ -L real/next ]
  [ ! -e a.csv ]
  ln -s nowhere/a.csv lost.csv
  imghist_fails 1 "imghist: lost.csv: cannot write: No such file or directory" a.pgm --csv=stats -o lost.csv
  ln -s two one
  ln -s one two
  imghist_fails 1 "imghist: one: cannot write: Too many levels of symbolic links" a.pgm --csv=stats -o one
  for link in one two lost.csv; do [ -L $link ]; done
}

@test "failures: -o never replaces an input" {
  cp "$SAMPLES/palette.png" in
  remember in
  dot b.pgm
  ln -s in soft
  ln in hard
  mkdir d
  for target in in ./in d/../in soft hard; do
    for inputs in in "b.pgm in" "in b.pgm" soft "hard b.pgm" .; do
      # shellcheck disable=SC2086 # the inputs are words
      imghist_fails 2 "is both an input and the output file" $inputs --csv -o "$target"
      unchanged in
    done
  done
}

@test "failures: -o never replaces an input that is damaged, unknown or too large" {
  head -c 20 "$SAMPLES/palette.png" >in.png
  dot b.pgm
  for image in in.png "$TESTS/cli/helpers.bash" "$SAMPLES/palette.png"; do
    cp "$image" input
    remember input
    imghist b.pgm input --csv --max-pixels=10 -o input
    [ "$status" -ne 0 ]
    unchanged input
  done
}

@test "failures: an earlier output in a walked directory is replaced" {
  dot d/a.pgm
  imghist_ok d --csv=stats -o d/out.csv
  imghist_ok d --csv=stats -o d/out.csv
  [ "$(names d/out.csv)" = d/a.pgm ]
}

@test "failures: the output being written is not an input" {
  dot d/a.pgm
  imghist_ok d --csv=stats --raw=1 -o d/out.csv
  [ "$(names d/out.csv)" = d/a.pgm ] || fail "$(names d/out.csv)"
  dot e/a.pgm
  imghist e --csv=stats -v -o e/out.csv
  assert_stderr_has "1 done, 0 failed, 0 skipped"
}

@test "failures: a device may be both input and output" {
  run --separate-stderr sh -c '"$IMGHIST" - --csv=stats </dev/null >/dev/null'
  assert_fails 1 "imghist: -: cannot decode: the file is empty"
  run --separate-stderr sh -c '"$IMGHIST" --files-from=- --csv=stats -o /dev/null </dev/null'
  assert_refused 1 "imghist: no images found"
}

@test "failures: the name of an output file is escaped, and not cut" {
  dot a.pgm
  : >$'no\e[31m'
  imghist_fails 1 'imghist: no\x1B[31m/out.csv: cannot write' a.pgm --csv -o $'no\e[31m/out.csv'
  long=$(printf 'x%.0s' {1..100})
  imghist_fails 1 "$long: cannot write" a.pgm --csv -o "a.pgm/$long"
}

@test "failures: a full disk, also when only a header is written" {
  run --separate-stderr sh -c '"$IMGHIST" --files-from=/dev/null --csv=stats >/dev/full'
  assert_fails 1 "imghist: standard output: cannot write: No space left on device"
  dot a.pgm
  imghist_fails 1 "imghist: /dev/full: cannot write: No space left on device" a.pgm --csv -o /dev/full
  for arguments in --csv --csv=long --json --ndjson -v; do
    run --separate-stderr sh -c '"$IMGHIST" a.pgm "$1" >/dev/full' - $arguments
    assert_fails 1 "imghist: standard output: cannot write: No space left on device"
  done
}

@test "failures: a closed standard output" {
  dot a.pgm
  run --separate-stderr sh -c '"$IMGHIST" a.pgm --csv >&-'
  assert_fails 1 "imghist: standard output: cannot write: "
}

@test "failures: with standard error closed, messages do not reach the output file" {
  dot a.pgm
  "$IMGHIST" a.pgm --csv -o expected.csv
  sh -c '"$IMGHIST" missing a.pgm --csv -o out.csv 2>&-' || [ $? -eq 1 ]
  cmp expected.csv out.csv
}

@test "failures: a closed pipe ends the run without a message, like cat" {
  mkdir d out
  for i in {1..100}; do dot "d/$i"; done
  mkfifo pipe
  for options in "--csv=long" "--text" "--ndjson -o out/x.ndjson --csv=long -o -" "--chart=out/c.png --total --csv=bins"; do
    (: <pipe) & # ends before imghist starts, which could otherwise write a short text into the pipe
    exec 9>pipe
    wait $!
    # shellcheck disable=SC2086 # the options are words
    run --separate-stderr bash -c 'exec "$IMGHIST" d "$@" -j 2 >&9 9>&-' - $options
    exec 9>&-
    assert_status 141
    assert_no_stderr
    [ -z "$(ls -A out)" ] || fail "$(ls -A out)"
  done
  for option in --help --list; do
    run --separate-stderr bash -c '"$IMGHIST" "$1" | :; exit "${PIPESTATUS[0]}"' - $option
    [ "$status" -eq 141 ] || [ "$status" -eq 0 ] # a short text fits into the pipe
    assert_no_stderr
  done
}

@test "failures: a failed write does not wait for an input that never ends" {
  dot a.pgm
  mkfifo endless
  exec 9<>endless # read and write: opening does not wait
  "$IMGHIST" a.pgm endless --csv -j 2 >/dev/full 2>stderr 3>&- 9>&- &
  pid=$!
  soon is_gone $pid || {
    exec 9>&-
    fail "still there"
  }
  exec 9>&-
  grep -q "cannot write" stderr
}

# under_way ARG...: starts imghist on a.pgm and an endless pipe, and waits until it opens the pipe. Sets $pid.
under_way() {
  dot a.pgm
  [ -p endless ] || mkfifo endless
  # nohup, and a shell without job control, let processes ignore these signals.
  env --default-signal=HUP,INT,QUIT "$IMGHIST" a.pgm endless "$@" >stdout 2>stderr 3>&- &
  pid=$!
  exec 9>endless
}

# Sets $signals: all whose default action ends a process. The address sanitizer and qemu-user handle faults themselves.
# qemu-user turns RTMIN and RTMIN+1 into signals that the C library keeps for its threads.
ending_signals() {
  local other name
  signals=()
  for name in $(kill -l | grep -oE '[A-Z]+[A-Z0-9+-]*' | sed 's/^SIG//'); do
    for other in KILL PIPE XFSZ CHLD CONT STOP TSTP TTIN TTOU URG WINCH; do
      [ "$name" != $other ] || continue 2
    done
    [[ $name != @(SEGV|BUS|FPE|ILL|ABRT|TRAP|SYS|RTMIN|RTMIN+1) ]] || ! { is_emulated || grep -aqE '__(asan|tsan)_init' "$IMGHIST"; } || continue
    signals+=("$name")
  done
  [ ${#signals[@]} -ge 10 ]
}

@test "failures: signals end the run: written records are complete, and no temporary file is left" {
  mkdir out
  ulimit -c 0
  ending_signals
  for signal in "${signals[@]}"; do
    under_way --csv=stats -o - --json -o out/a.json
    soon grep -q a.pgm,1,1,luma stdout
    kill -s $signal $pid
    status=0
    wait $pid || status=$?
    exec 9>&-
    [ $status -eq $((128 + $(kill -l $signal))) ] || fail "$signal"
    "$IMGHIST" a.pgm --csv=stats | cmp - stdout
    [ -z "$(ls -A out)" ] || fail "$(ls -A out)"
    [ -z "$(grep -v '^qemu: uncaught target signal' stderr)" ]
  done
}

@test "failures: two signals at once, as timeout sends them, leave no temporary files and complete records" {
  mkdir out
  for ((i = 0; i < 5; i++)); do
    under_way --csv=stats -o out/a.csv --ndjson
    soon compgen -G 'out/.imghist-*' >/dev/null
    kill -s STOP $pid
    kill -s HUP $pid
    kill -s TERM $pid # both wait until the process goes on
    kill -s CONT $pid
    status=0
    wait $pid || status=$?
    exec 9>&-
    [ $status -eq 143 ] || [ $status -eq 129 ] || fail "ended"
    [ -z "$(ls -A out)" ] || fail "$(ls -A out)"
    [ ! -s stdout ] || [ "$(tail -c 1 stdout)" = "" ] || fail "a part of a record"
  done
}

@test "failures: a signal removes a chart that waits for the end of the run" {
  mkdir out
  under_way --chart=out/c.png
  soon compgen -G 'out/.imghist-*' >/dev/null # drawn, and waiting for a second image
  kill -s TERM $pid
  wait $pid || :
  exec 9>&-
  [ -z "$(ls -A out)" ] || fail "$(ls -A out)"
}

@test "failures: a signal ends a run that waits for a full pipe" {
  mkdir d
  for i in {1..20}; do dot "d/$i"; done
  mkfifo unread
  exec 8<>unread
  "$IMGHIST" d --csv=long >&8 2>stderr 3>&- 8>&- &
  pid=$!
  sleep 0.5 # until the pipe is full
  kill -s TERM $pid
  soon is_gone $pid || {
    kill -s KILL $pid
    exec 8>&-
    fail "still there"
  }
  exec 8>&-
}

@test "failures: a signal that the caller ignores is ignored, as by nohup" {
  dot a.pgm
  mkfifo slow
  (
    trap '' HUP
    exec "$IMGHIST" slow --csv=stats >stdout 2>stderr 3>&-
  ) &
  pid=$!
  exec 9>slow
  sleep 0.2
  kill -s HUP $pid
  sleep 0.2
  cat a.pgm >&9 || true
  exec 9>&-
  status=0
  wait $pid || status=$?
  [ $status -eq 0 ] || fail "ended"
  grep -q slow,1,1,gray stdout
}

@test "failures: a signal at any time leaves complete records, complete files and no temporary files" {
  mkdir d out
  for i in {10..40}; do dot "d/$i.pgm"; done
  yes d/10.pgm | head -n 20000 >long.list
  formats=(--json --ndjson --csv=stats)
  for i in {0..59}; do
    after=$(printf '0.0%02d' $((i % 30 + 1))) format=${formats[i % 3]}
    # timeout sends the signal: our own could reach the shell before it has started imghist
    timeout --foreground --preserve-status "$after" "$IMGHIST" d $format -j 2 --total >stdout 2>stderr 3>&- &
    pids=($!)
    timeout --foreground --preserve-status "$after" "$IMGHIST" d --json -j 2 -o out/x.json 2>stderr 3>&- &
    pids+=($!)
    timeout --foreground --preserve-status "0.$((i + 10))" "$IMGHIST" --files-from=long.list $format -q -j 2 >long 3>&- &
    pids+=($!)
    for pid in "${pids[@]}"; do
      status=0
      wait "$pid" || status=$?
      [ $status -eq 0 ] || [ $status -eq 143 ] || fail "exit status"
    done
    [ "$(ls -A out)" = "" ] || [ "$(ls -A out)" = x.json ] || fail "$(ls -A out)"
    [ ! -e out/x.json ] || [ "$(grep -c '"status":"ok"' out/x.json)" -eq 31 ] || fail "a part"
    for file in stdout long; do # whole records; JSON may lack its end
      [ "$(tail -c 1 $file)" = "" ] || [ $format = --json ] || fail "$format: a part of a record in $file"
      [ $format != --json ] || [ ! -s $file ] || [[ $(tail -n 1 $file) =~ [[}]$ ]] || fail "$(tail -c 99 $file)"
    done
    rm -f out/x.json
  done
}

@test "failures: without memory for one allocation, the run fails by name or its bytes are right" {
  ! grep -aq -e __asan_init -e __tsan_init "$IMGHIST" || skip "a preloaded library comes before the sanitizer's"
  "$IMGHIST" --list | grep -q '^  cuda  *not in this build' || skip "the CUDA runtime needs memory before main"
  cat >fail.c <<'C'
#include <stdlib.h>
extern void *__libc_malloc(size_t n), *__libc_calloc(size_t m, size_t n), *__libc_realloc(void *p, size_t n);
int *__errno_location(void);
static long n_calls;
static int fails(void)
{
    const char *which = getenv("FAILS_AT");
    if (!which || __sync_fetch_and_add(&n_calls, 1) != atol(which))
        return 0;
    *__errno_location() = 12; /* ENOMEM */
    return 1;
}
void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t m, size_t n) { return fails() ? NULL : __libc_calloc(m, n); }
void *realloc(void *p, size_t n) { return fails() ? NULL : __libc_realloc(p, n); }
C
  "${CC:-cc}" -shared -fPIC -o fail.so fail.c
  LD_PRELOAD=$PWD/fail.so "$IMGHIST" --version >/dev/null 2>&1 || skip "this C library has no second name for malloc"
  printf 'P5\n2 1\n65535\n\x00\x05\xFF\xFF' >a.pgm
  printf 'P6\n1 1\n65535\n\x00\x05\x10\x00\xFF\xFF' >b.ppm
  "$IMGHIST" a.pgm b.ppm --bins=native --ndjson -o both.ndjson
  "$IMGHIST" both.ndjson --csv=images --html=expected.html >expected.csv
  for i in {0..160}; do
    status=0
    LD_PRELOAD=$PWD/fail.so FAILS_AT=$i "$IMGHIST" both.ndjson --csv=images --html=page.html >out.csv 2>err || status=$?
    case $status in
      0) cmp page.html expected.html && cmp out.csv expected.csv || fail "allocation $i: bytes are lost" ;;
      1 | 3) [ -s err ] || fail "allocation $i: no message" ;;
      *) fail "allocation $i: status $status" ;;
    esac
  done
}
