#!/usr/bin/env bats
# Helper processes, from the command line. What becomes of a decoder that crashes, hangs or tries
# what it may not is in tests/unit/test_helper.c.

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
