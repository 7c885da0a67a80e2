#!/usr/bin/env bats
# Helper processes, from the command line. What becomes of a decoder that crashes, hangs or tries
# what it may not is in tests/unit/test_decoder_process.c.

load helpers
load images

# a PSD of 2 x 1 pixels, the one isolated format of every build
psd_2x1() {
  printf '8BPS\0\1\0\0\0\0\0\0\0\3\0\0\0\1\0\0\0\2\0\10\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\2\3\4\5\6' >"$1"
}

@test "isolated or not, the same bytes" {
  psd_2x1 a.psd
  imghist --json "$SAMPLES" a.psd
  assert_status 0
  plain=$output
  assert_output_has '"format":"psd"'
  imghist --json --isolate "$SAMPLES" a.psd
  assert_status 0
  assert_output "$plain"
}

@test "isolated, damaged files fail with the same messages" {
  mkdir bad
  for image in "$SAMPLES"/*.png "$SAMPLES"/*.jpg; do
    head -c 300 "$image" >"bad/${image##*/}"
  done
  psd_2x1 whole.psd
  head -c 40 whole.psd >bad/cut.psd
  imghist --csv bad/*
  assert_status 1
  plain=$stderr
  imghist --csv --isolate bad/*
  assert_status 1
  [ "$stderr" = "$plain" ] || fail "expected on stderr: $plain"
}

@test "isolated, an image from a pipe" {
  psd_2x1 a.psd
  cat a.psd | "$IMGHIST" --csv=stats --isolate - >out.csv
  [ "$(sed -n 2p out.csv | cut -d, -f2-4)" = 2,1,red ]
}

@test "isolated, --memory still bounds what helpers hold" {
  psd_2x1 a.psd
  imghist --csv --isolate --memory=10 a.psd
  assert_fails 1 "a.psd: needs"
}

@test "--list says what is isolated, and how" {
  imghist --list
  assert_output_has "isolated:"
  assert_output_has "psd"
}

# helper_of PID: the process that it has started, if there is one.
helper_of() { grep -lsE "^[0-9]+ \([^)]*\) [A-Z] $1 " /proc/[0-9]*/stat | cut -d/ -f3; }

# helps FILE ARG...: imghist ARG... has a helper while it waits for what follows the first 64 bytes of
# FILE, which comes through a pipe. So many tell the format.
helps() {
  local file=$1 pid helper=
  shift
  mkfifo pipe
  "$IMGHIST" pipe --csv=stats -j 1 "$@" >out.csv 3>&- &
  pid=$!
  exec 9>pipe
  head -c 64 "$file" >&9
  for _ in {1..40}; do
    helper=$(helper_of $pid)
    [ -z "$helper" ] || break
    sleep 0.05
  done
  tail -c +65 "$file" >&9
  exec 9>&-
  wait $pid
  rm pipe
  [ -n "$helper" ]
}

@test "the rare formats have a helper process, the others with --isolate" {
  [ -e /proc/self/stat ] || skip "no /proc"
  printf '8BPS\0\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\100\0\10\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0%064d' 0 >a.psd
  printf 'P5\n64 1\n255\n%064d' 0 >b.pgm
  helps a.psd || fail "psd is decoded in the process itself"
  helps b.pgm --isolate || fail "pnm is, with --isolate"
  ! helps b.pgm || fail "pnm has a helper without --isolate"
  [ "$(names out.csv)" = pipe ]
}
