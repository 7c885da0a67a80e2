#!/usr/bin/env bats
# --raw-sensor: the values of DNG files that sensor.py writes, their levels, what is not supported, and damage.

load helpers

setup() {
  unset IMGHIST_DEVICE NO_COLOR COLUMNS CUDA_VISIBLE_DEVICES
  export LC_ALL=C TERM=dumb
  cd "$BATS_TEST_TMPDIR" || return 1
  needs python3
  "$IMGHIST" --list | grep -q '^  sensor .*LibRaw [0-9]' || skip "no LibRaw in this build"
}

sensor() { python3 "$TESTS/cli/sensor.py" "$@"; }

# counted: a.dng has the expected record.
counted() {
  imghist_ok a.dng --raw-sensor --ndjson -o a.ndjson
  sensor check a.ndjson || fail "not what was written"
}

@test "sensor: every depth and phase of the filters" {
  for depth in 8 10 12 14 16; do
    for phase in RGGB BGGR GRBG GBRG; do
      sensor $depth $phase
      counted
    done
  done
}

@test "sensor: lossless JPEG, and a sensor without filters" {
  for kind in lossless mono; do
    sensor $kind
    counted
  done
}

@test "sensor: a row that fills no cell is named" {
  sensor odd
  counted
  imghist_output_has '"warnings":["a row or column of the sensor that fills no cell was not counted"]' a.dng --raw-sensor --ndjson
}

@test "sensor: levels survive result files, --clip replaces them, and a total needs the same" {
  sensor 12 GRBG
  counted
  imghist_ok a.ndjson --ndjson -o b.ndjson
  cmp a.ndjson b.ndjson
  imghist_ok a.dng --raw-sensor --clip=100,4000 --ndjson -o a.ndjson
  sensor check a.ndjson 100 4000
  mkdir d
  cp a.dng d/1.dng
  sensor 12 BGGR
  cp a.dng d/2.dng
  imghist_ok d --raw-sensor --ndjson
  [ "${#lines[@]}" -eq 2 ]
  imghist_status 1 d --raw-sensor --ndjson --total
  assert_stderr_has "gives all the same limits"
  imghist_ok d --raw-sensor --ndjson --total --clip=100,4000
  [[ ${lines[2]} == *'"n_images":2,'*'"name_in_file":"G2"'* ]] || fail "${lines[2]}"
  [[ ${lines[2]} != *'"black"'* ]] || fail "levels of one image"
  cp d/1.dng d/2.dng
  imghist_ok d --raw-sensor --ndjson --total -o total.ndjson
  python3 - <<'END'
import json
levels = [[(c["name"], c["black"], c["white"]) for c in json.loads(line)["channels"]] for line in open("total.ndjson")]
assert len(levels) == 3 and levels[0] == levels[1] == levels[2], levels
END
  imghist_ok d --raw-sensor --ndjson --total-only -o a.ndjson
  imghist_ok a.ndjson --ndjson -o b.ndjson
  cmp a.ndjson b.ndjson
}

@test "sensor: a result file without one white level is damaged" {
  sensor 12 GRBG
  imghist_ok a.dng --raw-sensor --ndjson -o a.ndjson
  for edit in '3s/"white":[0-9]*/"white":9/' '2s/"white":[0-9]*,//' '2s/"black":[0-9]*,//' 's/"white":[0-9]*/"white":0/'; do
    sed 's/{"name":"band/\n&/g' a.ndjson | sed "$edit" | tr -d '\n' >b.ndjson
    echo >>b.ndjson
    imghist_refused 1 "b.ndjson" b.ndjson --csv=stats
    assert_stderr_has "damaged record"
  done
}

@test "sensor: levels that are no clip limits, and files that are no camera raw, are named" {
  sensor levels
  counted
  imghist_ok a.dng --raw-sensor --csv=images
  assert_stderr_has "a.dng: note: the black level of the sensor is not below the white level: neither is a clip limit"
  imghist_output_has '"warnings":["the black level of the sensor is not below' a.dng --raw-sensor --clip=5,9 --ndjson
  dot b.pgm
  dot c.pgm
  for option in --raw-sensor --raw-preview --axes=HWC; do
    imghist_ok b.pgm c.pgm "$option" --csv
    assert_stderr_has "b.pgm: note: is pnm, which ${option%=*} does not change; it is for "
    assert_stderr_has "2 inputs have another format than an option is for"
  done
}

@test "sensor: native bins next to other images, and nodata" {
  sensor 14 RGGB
  dot b.pgm
  imghist_ok a.dng b.pgm --raw-sensor --ndjson -o a.ndjson
  [ "$(grep -c '"bins":16384' a.ndjson)" -eq 1 ]
  imghist_ok a.dng --raw-sensor --nodata=77 --ndjson
  [[ $output == *'"bins":16384'* ]] || fail "$output"
  imghist_ok a.dng --raw-sensor
  [[ $output == *"named in the file: band1 R, band2 G1, band3 G2, band4 B"* ]] || fail "$output"
}

@test "sensor: what is not supported has a name" {
  sensor xtrans
  imghist_refused 1 "a.dng: camera raw with X-Trans filters is not supported" a.dng --raw-sensor --csv
  sensor cyan
  imghist_refused 1 "a.dng: camera raw with filters of another pattern is not supported" a.dng --raw-sensor --csv
  sensor linear
  imghist_refused 1 "a.dng: camera raw with several values a pixel" a.dng --raw-sensor --csv
  sensor wide
  imghist_refused 1 "a.dng: camera raw with tiles of 73 pixels, wider than its 64, is not supported" a.dng --raw-sensor --csv
  sensor 8 RGGB
  imghist_refused 1 "--raw-sensor its values)" a.dng --csv
  imghist_refused 2 "--raw-sensor: cannot be used with --raw-preview: a camera raw file is counted in one way" a.dng --raw-sensor --raw-preview
  imghist_refused 1 "image too large" a.dng --raw-sensor --csv --max-pixels=100
  imghist_status 1 a.dng --raw-sensor --csv --memory=1k
}

@test "sensor: damage is an error, also where LibRaw leaves values undefined" {
  for kind in "12 RGGB" lossless; do
    # shellcheck disable=SC2086 # two arguments
    sensor $kind
    size=$(stat -c %s a.dng)
    for cut in 3 50 500 1200 2000; do
      head -c $((size - cut)) a.dng >cut.dng
      imghist_status 1 cut.dng --raw-sensor --csv
    done
  done
  sensor lossless
  python3 - <<'END'
data = bytearray(open("a.dng", "rb").read())
at = data.rindex(b"\xff\xd8\xff\xc3")
data[at + 3] = 0xC9  # the second tile: no kind of frame that LibRaw knows
open("cut.dng", "wb").write(data)
END
  grep -aq __asan_init "$IMGHIST" && return 0 # it ignores mallopt
  imghist_refused 1 "cut.dng: damaged camera raw: a part of its data is missing" cut.dng --raw-sensor --csv
}
