#!/usr/bin/env bats
# tests/bench/batch.sh on a few samples and without other programs: it runs to its end, and reports wrong
# counts, bytes and runs. Figures are not tested.

load helpers

# batch SECTION...: runs batch.sh; standard error goes to the test's log.
batch() {
  run --separate-stderr env PROGRAM="${PROGRAM:-$IMGHIST}" PHOTOS="${PHOTOS:-$SAMPLES}" PEERS= MIN_PIXELS=1 ROUNDS=1 \
    LOOPS=1 SMALL_FILES=1000 BENCH_BUILD="$BATS_FILE_TMPDIR/bench" "$TESTS/bench/batch.sh" "$@"
}

# Makes an imghist that runs $2 first if $1 is among its arguments.
make_liar() {
  cat >liar <<END
#!/bin/bash
for argument; do
  if [ "\$argument" = $1 ]; then $2; fi
done
exec "$IMGHIST" "\$@"
END
  chmod +x liar
  PROGRAM=$PWD/liar
}

@test "bench_batch: every section runs on the samples and reports its files" {
  batch
  assert_status 0
  assert_output_has "JPEG 1 files"
  assert_output_has "PNG 5 files"
  for title in "## JPEG" "## baseline JPEG alone" "## PNG" "## One photo" "## Scaling" "## Peak memory" "## The bytes"; do
    assert_output_has "$title"
  done
  assert_output_has "decode only"
  assert_output_has "1000 small files"
  for n in 1 16; do assert_output_has "met      png, -j$n: the same"; done
}

@test "bench_batch: a different byte is reported" {
  make_liar -j16 "echo surplus"
  batch bytes
  assert_status 0
  assert_output_has "NOT MET  jpeg, -j16: other bytes"
  assert_output_has "met      jpeg, -j1: the same"
}

@test "bench_batch: a run that fails gives no figures" {
  make_liar -j16 "exit 1"
  batch bytes
  assert_fails 1 "a run failed"
}

@test "bench_batch: the name of a damaged photo is reported" {
  mkdir photos
  head -c 20000 "$SAMPLES/scene.jpg" >photos/cut.jpg
  PHOTOS=$PWD/photos
  batch baseline
  assert_fails 1 cut.jpg
  assert_stderr_has "a run failed"
}

@test "bench_batch: missing photos and unknown sections are errors" {
  PHOTOS=$PWD/nowhere
  batch baseline
  assert_fails 1 "nowhere: no such directory"
  PHOTOS=$PWD
  batch baseline
  assert_fails 1 "no JPEG or PNG file"
  PHOTOS=''
  batch speed
  assert_fails 1 "no section speed"
}

@test "bench_batch: counts are compared bin by bin and channel by channel" {
  # shellcheck source=tests/bench/batch_ways.sh
  . "$TESTS/bench/batch_ways.sh"
  # shellcheck disable=SC2034 # compare_counts uses both
  work=$PWD set=png
  cp "$SAMPLES/scene.png" "$SAMPLES/cutout.png" .
  ls ./*.png >png.list
  "$IMGHIST" --device=cpu --csv --files-from=png.list >ours.csv
  awk -F, 'NR > 1 && $4 != "luma" { row = $1 "," $4; for (i = NF - 255; i <= NF; i++) row = row "," $i; print row }' ours.csv >same
  [ "$(compare_counts same)" = "2 of 2" ]
  sed '/scene.png,blue/s/[0-9]*$/1000/' same >other_bin
  compare_counts other_bin | grep -F "other counts: scene.png"
  [ "$(compare_counts other_bin | head -n 1)" = "1 of 2" ]
  grep -v alpha same >no_alpha
  compare_counts no_alpha | grep -F "other channels: cutout.png"
  : >nothing
  [ "$(compare_counts nothing | head -n 1)" = "0 of 2" ]
}
