#!/usr/bin/env bats
# Decoder processes, from the command line. tests/unit/test_decoder_process.c has decoders that crash,
# hang or try forbidden calls.

load helpers
load images

# A PSD of 2 x 1 pixels: the one isolated format of every build.
psd_2x1() {
  printf '8BPS\0\1\0\0\0\0\0\0\0\3\0\0\0\1\0\0\0\2\0\10\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\2\3\4\5\6' >"$1"
}

@test "isolate: the output is the same" {
  psd_2x1 a.psd
  imghist --json "$SAMPLES" a.psd
  assert_status 0
  plain=$output
  assert_output_has '"format":"psd"'
  imghist --json --isolate "$SAMPLES" a.psd
  assert_status 0
  assert_output "$plain"
}

@test "isolate: damaged files fail with the same messages" {
  mkdir bad
  for image in "$SAMPLES"/*.png "$SAMPLES"/*.jpg; do
    head -c 300 "$image" >"bad/${image##*/}"
  done
  psd_2x1 sound.psd
  head -c 40 sound.psd >bad/cut.psd
  imghist --csv bad/*
  assert_status 1
  plain=$stderr
  imghist --csv --isolate bad/*
  assert_status 1
  [ "$stderr" = "$plain" ] || fail "expected on stderr: $plain"
}

@test "isolate: an image from a pipe" {
  psd_2x1 a.psd
  cat a.psd | "$IMGHIST" --csv=stats --isolate - >out.csv
  [ "$(sed -n 2p out.csv | cut -d, -f2-4)" = 2,1,red ]
}

@test "isolate: --memory bounds decoder processes too" {
  psd_2x1 a.psd
  imghist --csv --isolate --memory=10 a.psd
  assert_fails 1 "a.psd: needs"
}

@test "isolate: --list shows isolated formats and the method" {
  imghist --list
  assert_output_has "isolated:"
  assert_output_has "psd"
}

# child_of PID: the process that it has started, if any.
child_of() { grep -lsE "^[0-9]+ \([^)]*\) [A-Z] $1 " /proc/[0-9]*/stat | cut -d/ -f3; }

# is_isolated FILE ARG...: whether imghist ARG... has a decoder process while FILE comes through a pipe.
# It checks after 64 bytes, which are enough to tell the format.
is_isolated() {
  local file=$1 pid child=
  shift
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
  is_isolated a.psd || fail "psd is decoded in the process itself"
  is_isolated b.pgm --isolate || fail "pnm is, despite --isolate"
  ! is_isolated b.pgm || fail "pnm has a decoder process without --isolate"
  [ "$(names out.csv)" = pipe ]
}
