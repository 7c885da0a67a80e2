#!/usr/bin/env bats
# Decoder processes, from the command line. tests/unit/test_decoder_process.c has decoders that crash,
# hang or try forbidden calls.

load helpers

# A PSD of 2 x 1 pixels: the one isolated format of every build.
psd_2x1() {
  printf '8BPS\0\1\0\0\0\0\0\0\0\3\0\0\0\1\0\0\0\2\0\10\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\2\3\4\5\6' >"$1"
}

@test "isolate: the output is the same" {
  psd_2x1 a.psd
  imghist_ok --json "$SAMPLES" a.psd
  plain=$output
  assert_output_has '"format":"psd"'
  imghist_output "$plain" --json --isolate "$SAMPLES" a.psd
}

@test "isolate: damaged files fail with the same messages" {
  mkdir bad
  for image in "$SAMPLES"/*.png "$SAMPLES"/*.jpg; do
    head -c 300 "$image" >"bad/${image##*/}"
  done
  psd_2x1 sound.psd
  head -c 40 sound.psd >bad/cut.psd
  imghist_status 1 --csv bad/*
  plain=$stderr
  imghist_status 1 --csv --isolate bad/*
  [ "$stderr" = "$plain" ] || fail "expected on stderr: $plain"
}

@test "isolate: --memory bounds decoder processes too" {
  psd_2x1 a.psd
  imghist_fails 1 "a.psd: needs" --csv --isolate --memory=10 a.psd
}

# child_of PID: the process that it has started, if any.
child_of() { grep -lsE "^[0-9]+ \([^)]*\) [A-Z] $1 " /proc/[0-9]*/stat | cut -d/ -f3; }

# is_isolated FILE COMMAND ARG...: whether imghist ARG... has a decoder process while FILE comes through a
# pipe. COMMAND gets its id. It checks after 64 bytes, which are enough to tell the format.
is_isolated() {
  local file=$1 command=$2 pid child=
  shift 2
  mkfifo pipe
  "$IMGHIST" pipe --csv=stats -j 1 "$@" >out.csv 3>&- &
  pid=$!
  exec 9>pipe
  head -c 64 "$file" >&9
  for _ in {1..40}; do
    child=$(child_of $pid)
    [ -z "$child" ] || break
    sleep 0.05
  done
  [ -z "$child" ] || "$command" "$child"
  tail -c +65 "$file" >&9
  exec 9>&-
  wait $pid
  rm pipe
  [ -n "$child" ]
}

@test "isolate: rare formats have a decoder process, the others with --isolate" {
  [ -e /proc/self/stat ] || skip "no /proc"
  printf '8BPS\0\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\100\0\10\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0%064d' 0 >a.psd
  printf 'P5\n64 1\n255\n%064d' 0 >b.pgm
  is_isolated a.psd : || fail "psd is decoded in the process itself"
  is_isolated b.pgm : --isolate || fail "pnm is, despite --isolate"
  ! is_isolated b.pgm : || fail "pnm has a decoder process without --isolate"
  [ "$(names out.csv)" = pipe ]
}

# end PID: kills a decoder process that has had time to start.
end() { sleep 1 && kill -KILL "$1"; }

@test "isolate: how a decoder process ended, also if the parent ignores SIGCHLD" {
  [ -e /proc/self/stat ] || skip "no /proc"
  env --ignore-signal=CHLD true 2>/dev/null || skip "env cannot ignore signals"
  printf '8BPS\0\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\100\0\10\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0%064d' 0 >a.psd
  printf '#!/bin/sh\nexec env --ignore-signal=CHLD "%s" "$@"\n' "$IMGHIST" >ignoring
  chmod +x ignoring
  for program in "$IMGHIST" "$PWD/ignoring"; do
    IMGHIST=$program is_isolated a.psd end 2>errors || : # it fails
    grep -q 'signal 9 (killed' errors || fail "$program: $(cat errors)"
  done
}

@test "isolate: without seccomp, one warning; with --isolate, an error" {
  imghist --list
  [[ $output == *seccomp* ]] || skip "built without seccomp"
  ! grep -aq __asan_init "$IMGHIST" || skip "a preloaded library comes before the sanitizer's"
  [[ $output != *"linked in:"*libseccomp* ]] || skip "libseccomp cannot be replaced in this program"
  no_seccomp
  psd_2x1 a.psd
  psd_2x1 b.psd
  LD_PRELOAD=$PWD/no_seccomp.so imghist --csv=stats -j 2 a.psd b.psd
  assert_status 0
  [ "$stderr" = "imghist: files are decoded without a sandbox: cannot load the seccomp filter: Invalid argument" ] ||
    fail "$stderr"
  LD_PRELOAD=$PWD/no_seccomp.so imghist --csv=stats --isolate a.psd
  assert_fails 3 "cannot load the seccomp filter: Invalid argument"
}

@test "isolate: without /proc, a program imghist on PATH is not started" {
  ! grep -aq __asan_init "$IMGHIST" || skip "the leak sanitizer needs /proc"
  # shellcheck disable=SC2016 # expanded by the inner shell
  local without_proc=(unshare --mount sh -c 'mount -t tmpfs tmpfs /proc && exec "$@"' sh)
  "${without_proc[@]}" true 2>/dev/null || skip "this machine allows no new namespaces"
  psd_2x1 a.psd
  mkdir bin
  printf '#!/bin/sh\ntouch started\n' >bin/imghist
  chmod +x bin/imghist
  PATH=$PWD/bin:$PATH run --separate-stderr "${without_proc[@]}" "$IMGHIST" --csv=stats a.psd
  [ ! -e started ] || fail "another program was started"
  assert_fails 3 "mount /proc"
}

@test "isolate: too few file descriptors fail that file, not the batch" {
  psd_2x1 a.psd
  printf 'P5 1 1 255\n\1' >b.pgm
  local status=0
  (
    for fd in {3..20}; do eval "exec $fd>&-"; done # what bats has open
    ulimit -n 6
    exec "$IMGHIST" --csv=stats -j 1 a.psd b.pgm >out.csv 2>err
  ) || status=$?
  [ "$status" -eq 1 ]
  grep -q "a.psd: cannot start a decoder process: .*Too many open files" err
  grep -q "^b.pgm,1,1,gray" out.csv
}

@test "isolate: a limit on the size of files, and so of shared memory, fails that file, not the batch" {
  printf 'P5 1 1 255\n\1' >b.pgm
  { # 2000 x 2000 gray
    printf '8BPS\0\1\0\0\0\0\0\0\0\1\0\0\7\320\0\0\7\320\0\10\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
    head -c 4000000 /dev/zero
  } >large.psd
  imghist_ok large.psd --csv=stats
  run --separate-stderr bash -c 'ulimit -f 1000; exec "$IMGHIST" large.psd b.pgm --csv=stats'
  assert_fails 1 "large.psd: cannot start a decoder process: no shared memory: File too large"
  assert_output_has $'\n'b.pgm,1,1,gray
}

@test "isolate: a decoder process gets no other variables than it needs" {
  [ -e /proc/self/environ ] || skip "no /proc"
  printf '8BPS\0\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\100\0\10\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0%064d' 0 >a.psd
  export SECRET_TOKEN=1 GLIBC_TUNABLES=glibc.malloc.perturb=0
  variables_of() { tr '\0' '\n' <"/proc/$1/environ" >variables; }
  is_isolated a.psd variables_of
  grep -qx GLIBC_TUNABLES=glibc.malloc.perturb=0 variables
  ! grep -q '^SECRET_TOKEN\|^HOME\|^PATH' variables
}
