#!/usr/bin/env bats
# Samples that are signed or floats.

load helpers

# raw: makes s.raw, the signed samples -3, 0, 2, 2 of 16 bits; f.raw, the floats 0.1, -2, NaN, infinity; u.raw, unsigned ones.
raw() {
  printf '\375\377\0\0\2\0\2\0' >s.raw
  printf '\146\056\0\300\1\176\0\174' >f.raw
  printf '\1\0\2\0' >u.raw
}

@test "samples: statistics, counts and records of random samples are exact" {
  run /usr/bin/python3 "$TESTS/cli/samples.py" "$IMGHIST"
  [ "$status" -eq 0 ] || fail "$output"
  [[ $output == *" comparisons" ]]
}

@test "samples: values in the units of the samples" {
  raw
  imghist_ok s.raw --raw=1 --raw-depth=16sle --csv=stats --percentiles=50
  [[ ${lines[1]} == s.raw,4,1,gray,4,1,0.250000,2.046338,-3,2,-3,-3,-3,0,2,2,2,1.500000,,,*,0,,,,0 ]] || fail "${lines[1]}"
  imghist_ok f.raw --raw=1 --raw-depth=f16le --csv=stats
  [[ ${lines[1]} == f.raw,4,1,gray,2,,-0.950012207,1.04998779,-2,0.099975586,-2,-2,-2,-2,0.099975586,*,0,1,1,0 ]] || fail "${lines[1]}"
  [[ ${lines[0]} == *,nodata,nan,positive_infinity,negative_infinity ]]
  imghist_ok f.raw --raw=1 --raw-depth=f16le --text
  assert_output_has "counted apart: 1 NaN, 1 +infinity"
  imghist_ok s.raw --raw=1 --raw-depth=16sle --text=lines # no value is crushed or blown
  imghist_ok s.raw s.raw --raw=1 --raw-depth=16sle --text=lines
  [ "$(tail -n 1 <<<"$output")" = "2 images" ] || fail "$output"
  [[ ${lines[1]} == *" 0.2                   s.raw" ]] || fail "${lines[1]}"
  imghist_ok s.raw --raw=1 --raw-depth=16sle --csv=long
  [[ ${lines[1]} == s.raw,gray,-3,1 ]] || fail "${lines[1]}"
  imghist_ok s.raw --raw=1 --raw-depth=16sle --where 'gray.min < -2 and gray.max == 2' --csv=images
  assert_output_has "s.raw,ok"
  imghist_ok s.raw --raw=1 --raw-depth=16sle --where 'gray.min < -3' --csv=images
  refute_output_has "s.raw,ok"
}

@test "samples: different samples are not added or compared, and the message names two files" {
  raw
  "$IMGHIST" s.raw --raw=1 --raw-depth=16sle --ndjson >s.ndjson
  "$IMGHIST" f.raw --raw=1 --raw-depth=f16le --ndjson >f.ndjson
  "$IMGHIST" u.raw --raw=1 --raw-depth=16le --bins=native --ndjson >u.ndjson
  imghist s.ndjson f.ndjson --total --csv=stats
  assert_fails 1 "s.raw has samples of int16, f.raw of float16: counts of different samples are not added"
  assert_output_has "s.raw,4,1,gray,4,1," # what was counted before is written
  imghist u.ndjson s.ndjson --total --csv=stats
  assert_fails 1 "u.raw has samples of uint16, s.raw of int16"
  imghist --diff s.ndjson f.ndjson
  assert_fails 1 "s.raw has samples of int16, f.raw of float16: counts of different samples are not compared"
  pgm eight.pgm 1 1 '\x07' # no advice to count with 256 bins, which signed samples cannot have
  imghist --diff s.ndjson eight.pgm
  assert_fails 1 "s.raw has samples of int16, eight.pgm of uint8: counts of different samples are not compared"
  imghist_ok s.ndjson f.ndjson u.ndjson --csv=stats # side by side
}

@test "samples: refusals" {
  raw
  for option in --clip=1,200 --range=0,100 --depth=12 --bins=256; do
    local name why="it is for unsigned samples"
    [ "$option" != --bins=256 ] || why="signed and float samples keep their values"
    for depth in 8s 16s{l,b}e {f16,bf16,f32}{l,b}e; do
      name=${option%%=[0-9]*}
      [ "$option" != --bins=256 ] || name=$option
      imghist_refused 2 "$name: cannot be used with --raw-depth=$depth: $why" s.raw --raw=1 "--raw-depth=$depth" "$option" --csv=stats
    done
  done
  "$IMGHIST" s.raw --raw=1 --raw-depth=16sle --ndjson >s.ndjson
  for wrong in 's/"samples":"int16"/"samples":"int17"/' 's/"samples":"int16"/"samples":"int8"/' 's/"bins":65536/"bins":4096/' \
    's/"samples":"int16",//' 's/"alpha"/"clip_limits":{"low":0,"high":65535},"alpha"/'; do
    sed "$wrong" s.ndjson >wrong.ndjson
    imghist wrong.ndjson --csv=stats
    [ "$status" -eq 1 ] || fail "$wrong"
  done
}

@test "samples: signed and float samples have no thumbnail in a page" {
  raw
  for depth in 8s 16sle f16le; do
    imghist_ok s.raw --raw=1 "--raw-depth=$depth" --html --thumbnails -o page.html
    grep -q '"thumbnails":true' page.html
    refute_stderr_has error
  done
}

@test "samples: charts have an axis of values, and say as text does if it is the middle 99.8 %" {
  raw
  imghist_ok s.raw --raw=1 --raw-depth=16sle --chart=s.svg --text
  [[ ${lines[0]} == *", int16, gray" && $output != *middle* ]] || fail "$output"
  grep -q '>-3<' s.svg || grep -q -- '-3' s.svg
  ! grep -q 'middle 99.8 %' s.svg || fail "all values are shown"
  python3 -c 'import sys; sys.stdout.buffer.write(b"\1\0\2\0" * 1500 + b"\0\177")' >outlier.raw # 1 and 2, and 32512 once
  imghist_ok outlier.raw --raw=1 --raw-depth=16sle --chart=o.svg --text
  grep -q 'middle 99.8 %' o.svg
  assert_output_has "the middle 99.8 % of the values"
  printf 'Pf\n2 1\n-1\n\x00\x00\x87\x43\x00\x00\x89\x43' >far.pfm # 270 and 274: of the 24 bits of 256 to 512, a bin has 8
  imghist_ok far.pfm --chart=f.svg --text
  [[ ${lines[0]} == *", float32 in bins up to 2 wide, gray" ]] || fail "${lines[0]}"
  grep -q 'counted in bins up to 2 wide' f.svg
}

@test "samples: distances are in the units of the samples" {
  raw
  printf '\0\074\0\300' >g.raw # 1, -2: of 0.1 and -2 one value of two is 0.9 away
  imghist_ok --diff f.raw g.raw --raw=1 --raw-depth=f16le --json
  assert_output_has '"ks":0.500000,"emd":0.450012'
  printf '\375\377\0\0\2\0\12\0' >t.raw
  imghist_ok --diff s.raw t.raw --raw=1 --raw-depth=16sle --json
  assert_output_has '"ks":0.250000,"emd":2.000000'
}

@test "samples: text has all digits of float samples, and fills the histogram between their bins" {
  python3 -c "import array, sys
array.array('f', [0.1, 1 / 3, -2.5e-7, 16777216]).tofile(open('d.raw', 'wb'))
array.array('f', [100 + i / 1000 for i in range(1001)]).tofile(open('r.raw', 'wb'))" # bins are 0.5 wide there
  imghist_ok d.raw --raw=1 --raw-depth=f32le --text=full
  [[ "$(grep '^  gray ' <<<"$output")" =~ \ -2.5e-07\ .*\ 16777216$ ]] || fail "$output"
  COLUMNS=100 imghist_ok r.raw --raw=1 --raw-depth=f32le --text=full
  [ "$(grep -m1 -B1 -E '^  [0-9.]+ .*gray$' <<<"$output" | head -1 | tr -d ' \n' | wc -m)" -ge 63 ] || fail "$output"
}

@test "samples: large files, whose bins get their keys at the end, equal their parts" {
  python3 -c "import random, sys
r = random.Random(7)
open('large.raw', 'wb').write(r.randbytes(12 << 18))" # 1,572,864 samples
  mkdir parts
  split -b 480000 large.raw parts/p
  for depth in 16sle 16sbe f16le f16be bf16le; do
    for channels in 1 2 3; do
      [ $channels -lt 3 ] || [[ $depth != 16s* ]] || continue # luma
      "$IMGHIST" large.raw --raw=$channels --raw-depth=$depth --size=1024x$((1536 / channels)) --total-only --ndjson -q | jq -c .channels >whole
      "$IMGHIST" parts/p* --raw=$channels --raw-depth=$depth --total-only --ndjson -q | jq -c .channels >sum || fail "$depth"
      cmp whole sum || fail "$depth of $channels channels"
    done
  done
}
