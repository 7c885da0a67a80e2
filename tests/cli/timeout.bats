#!/usr/bin/env bats
# --timeout. What counts, and where decoders check the clock: tests/unit/test_timeout.c.

# shellcheck disable=SC2016,SC2059 # $IMGHIST is for the inner shell; $table is part of the format

load helpers
load images

# flat_jpeg FILE: 65,496 x 65,496 pixels of three components, two bits for each block. Takes several seconds on
# any machine: the CPU time of a decoder process is limited in whole seconds, so one second may become two.
flat_jpeg() {
  {
    printf '\xFF\xD8\xFF\xDB\x00\x43\x00'
    printf '\x01%.0s' {1..64}
    printf '\xFF\xC0\x00\x11\x08\xFF\xD8\xFF\xD8\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00'
    for table in 00 10; do
      printf "\\xFF\\xC4\\x00\\x14\\x$table\\x01"
      head -c 16 /dev/zero
    done
    printf '\xFF\xDA\x00\x0C\x03\x01\x00\x02\x00\x03\x00\x00\x3F\x00'
    head -c $((8187 * 8187 * 3 / 4 + 1)) /dev/zero
    printf '\xFF\xD9'
  } >"$1"
}

@test "timeout: a file over the limit fails and names the option; the others are counted" {
  flat_jpeg slow.jpg
  dot a.pgm
  for option in -j1 -j2 --isolate; do
    imghist a.pgm slow.jpg "$SAMPLES/scene.jpg" --csv=stats --device=cpu --timeout=1 $option
    assert_fails 1 "imghist: slow.jpg: decoding takes more than 1 s (--timeout raises it)"
    assert_stderr_has "1 of 3 inputs failed"
    assert_output_has a.pgm,1,1,gray
    assert_output_has scene.jpg,
    refute_output_has slow.jpg
  done
  imghist_status 1 slow.jpg --ndjson --timeout=1
  assert_output_has 'decoding takes more than 1 s (--timeout raises it)'
}

@test "timeout: also through a pipe" {
  flat_jpeg slow.jpg
  for option in -j1 --isolate; do
    run --separate-stderr sh -c 'cat slow.jpg | "$IMGHIST" - --csv --device=cpu --timeout=1 "$1"' - $option
    assert_fails 1 "imghist: -: decoding takes more than 1 s (--timeout raises it)"
  done
}

@test "timeout: the writer of a pipe may take its time" {
  for option in -j1 --isolate; do
    run --separate-stderr sh -c '(head -c 5000; sleep 1.5; cat) <"$SAMPLES/scene.jpg" |
      "$IMGHIST" - --csv=stats --device=cpu --timeout=1 "$1"' - $option
    assert_status 0
    assert_output_has -,
  done
}
