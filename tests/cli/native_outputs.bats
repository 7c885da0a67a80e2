#!/usr/bin/env bats
# --bins=native in every output, and result files of native bins. Numbers are computed by hand or with NumPy.

load helpers

# deep.pgm: 0, 5, 5, 9, 2000, 4095 of 12 bits. sum 6114; deviation and entropy: numpy.std, and
# 4 * 1/6 * log2(6) + 1/3 * log2(3).
deep() { printf 'P5\n3 2\n4095\n\x00\x00\x00\x05\x00\x05\x00\x09\x07\xD0\x0F\xFF' >"${1:-deep.pgm}"; }

# wide.ppm: pure red, and 10 20 30, of 10 bits. luma: (13933 * 1023 + 32768) >> 16 = 217, and 19 as in csv.bats.
wide() { printf 'P6\n1 2\n1023\n\x03\xFF\x00\x00\x00\x00\x00\x0A\x00\x14\x00\x1E' >wide.ppm; }

expect() {
  cat >expected
  "$IMGHIST" --bins=native "$@" >actual || fail "exit status $?"
  diff expected actual
}

@test "native: CSV has the values that occur" {
  deep
  wide
  expect deep.pgm --csv=long <<END
file,channel,bin,count
deep.pgm,gray,0,1
deep.pgm,gray,5,2
deep.pgm,gray,9,1
deep.pgm,gray,2000,1
deep.pgm,gray,4095,1
deep.pgm,luma,0,1
deep.pgm,luma,5,2
deep.pgm,luma,9,1
deep.pgm,luma,2000,1
deep.pgm,luma,4095,1
END
  expect wide.ppm --csv=bins <<END
file,bin,gray,red,green,blue,alpha,luma
wide.ppm,0,,0,1,1,,0
wide.ppm,10,,1,0,0,,0
wide.ppm,19,,0,0,0,,1
wide.ppm,20,,0,1,0,,0
wide.ppm,30,,0,0,1,,0
wide.ppm,217,,0,0,0,,1
wide.ppm,1023,,1,0,0,,0
END
  imghist_ok deep.pgm --bins=native --csv=stats
  assert_output_has "deep.pgm,3,2,gray,6,6114,1019.000000,1556.651856,0,4095,0,0,5,5,2000,4095,4095,2.251629,1,1"
}

@test "native: the layout of CSV with a column for each bin is refused, and empty for records" {
  deep
  for layout in --csv --csv=channels; do
    imghist deep.pgm --bins=native $layout
    assert_status 2
    assert_stderr_has "with --bins=native use --csv=long, bins, stats or images"
  done
  "$IMGHIST" deep.pgm --bins=native --ndjson >r.ndjson
  imghist_ok r.ndjson --csv
  [ "$(tail -1 <<<"$output" | tr -cd , | wc -c)" = "$(head -1 <<<"$output" | tr -cd , | wc -c)" ] || fail "columns"
  [[ $(tail -1 <<<"$output") =~ [0-9],{256}$ ]] || fail "not empty"
}

@test "native: JSON has ranges, and is read again" {
  deep
  wide
  "$IMGHIST" deep.pgm wide.ppm --bins=native --ndjson >r.ndjson
  grep -q '"bins":4096,"reduction":"none"' r.ndjson
  grep -q '"clip_limits":{"low":0,"high":4095}' r.ndjson
  grep -q '"ranges":\[\[0,1,0,0,0,0,2,0,0,0,1\],\[2000,1\],\[4095,1\]\]' r.ndjson
  grep -q '"name":"luma",.*"ranges":\[\[19,1\],\[217,1\]\]' r.ndjson
  for format in ndjson json; do
    "$IMGHIST" deep.pgm wide.ppm --bins=native --$format >a
    "$IMGHIST" r.ndjson --$format >b
    cmp a b
  done
}

@test "native: 8-bit files beside others have 256 bins, and a total of different bins is refused" {
  deep
  dot low.pgm
  "$IMGHIST" deep.pgm low.pgm --bins=native --ndjson >r.ndjson
  grep -q '"histogram"' r.ndjson
  "$IMGHIST" r.ndjson --ndjson | cmp - r.ndjson
  imghist r.ndjson --total --csv=stats
  assert_status 1
  assert_stderr_has "deep.pgm has 4096 bins, low.pgm has 256"
}

@test "native: totals, shards and resumed runs are the bytes of the single run" {
  mkdir d
  for i in 1 2 3 4 5; do deep "d/$i.pgm"; done
  "$IMGHIST" d --bins=native --total --ndjson >all.ndjson
  tail -1 all.ndjson | grep -q '"ranges":\[\[0,5,0,0,0,0,10,0,0,0,5\],\[2000,5\],\[4095,5\]\]'
  "$IMGHIST" d --bins=native --ndjson -o images.ndjson
  "$IMGHIST" images.ndjson --total --ndjson | cmp - all.ndjson
  for i in 1 2; do "$IMGHIST" d --bins=native --shard=$i/2 --ndjson -o "$i.ndjson"; done
  "$IMGHIST" 2.ndjson 1.ndjson --total --ndjson | cmp - all.ndjson
  "$IMGHIST" d --bins=native --resume --ndjson -o part.ndjson
  head -2 part.ndjson >cut.ndjson
  mv cut.ndjson part.ndjson
  "$IMGHIST" d --bins=native --resume --ndjson -o part.ndjson
  "$IMGHIST" part.ndjson --total --ndjson | cmp - all.ndjson
}

# F is 0, 1/2 from 0 on, and 0, 1/2 from 1000 on: ks 1/2, emd 1000 * 1/2.
@test "native: distances are in native values" {
  printf 'P5\n2 1\n4095\n\x00\x00\x0F\xFF' >a.pgm
  printf 'P5\n2 1\n4095\n\x03\xE8\x0F\xFF' >b.pgm
  imghist_ok --diff a.pgm b.pgm --bins=native --csv
  assert_output_has "a.pgm,b.pgm,gray,0.500000,500.000000,"
  imghist_ok --diff a.pgm b.pgm --bins=native --fail-if 'emd > 500' --chart=d.svg
  for value in 0 1024 2048 3072 4095; do grep -q ">$value<" d.svg || fail "no $value"; done
  imghist --diff a.pgm b.pgm --bins=native --fail-if 'emd >= 500'
  assert_status 4
  deep
  wide
  dot low.pgm
  imghist a.pgm low.pgm --against=b.pgm --bins=native --csv=images
  assert_status 1
  assert_stderr_has "low.pgm: has 256 bins, the reference 4096: counts of different bins are not compared"
  imghist --diff deep.pgm wide.ppm --bins=native --csv
  assert_status 1
  assert_stderr_has "4096 bins"
}

@test "native: conditions have the range of native values" {
  deep
  imghist_ok deep.pgm --bins=native --where 'median > 4 and p99 == 4095 and mean_luma > 1000' --csv=images
  assert_output_has "deep.pgm,ok"
  imghist deep.pgm --where 'p99 == 4095'
  assert_status 2
  assert_stderr_has "p99 goes from 0 to 255: the comparison decides nothing (without --bins=native)"
}

@test "native: the summary has native values on its axis and in its table" {
  deep
  imghist_ok deep.pgm --bins=native --text=full
  assert_output_has "0               1024            2048            3072        4095  gray"
  assert_output_has "gray    1019.00   1556.65      0         5   4095"
  imghist_ok deep.pgm --bins=native --text=lines
  assert_output_has "  1019   16.67%"
}

@test "native: a chart labels native values, and says how many a bar has" {
  deep
  imghist_ok deep.pgm --bins=native --chart=c.svg
  for value in 0 1024 2048 3072 4095; do grep -q ">$value<" c.svg || fail "no $value"; done
  grep -q "4096 values, 16 in a bar" c.svg
  { printf 'P5 3 1 65535\n'; printf '\x00\x05\x0F\xFF\x00\x05'; } >twelve.pgm # 12 bits in 16
  imghist_ok twelve.pgm --bins=native --chart=d.svg
  for value in 0 1024 2048 3072 4095; do grep -q ">$value<" d.svg || fail "no $value"; done
  grep -q "values 0 to 4095 of 65535, 16 in a bar" d.svg
  grep -q ">shadows<" c.svg
  ! grep -q ">shadows<" d.svg || fail "zones of a part of the values"
  wide
  imghist_ok deep.pgm wide.ppm --bins=native --sheet --chart=s.svg
  for value in 3072 4095 768 1023; do grep -q ">$value<" s.svg || fail "no $value"; done
  "$IMGHIST" deep.pgm wide.ppm --bins=native --ndjson >texts.ndjson # they end with their record
  imghist_ok -q texts.ndjson --sheet --chart=r.svg
}

@test "native: the page folds the total to 256 bars, and has none of different bins" {
  deep
  dot low.pgm
  imghist_ok deep.pgm --bins=native --html=p.html
  sed -n 's/.*"shown":4096,"bins":{"gray":\[\([0-9,]*\)\].*/\1/p' p.html | tr , '\n' >bars
  [ "$(wc -l <bars)" = 256 ] || fail "$(wc -l <bars) bars"
  [ "$(sed -n '1p;126p;256p' bars | tr '\n' ' ')" = "4 1 1 " ] || fail "bars" # 0, 5, 5, 9; 2000; 4095
  imghist_ok deep.pgm low.pgm --bins=native --html=q.html
  grep -q '"images":2,.*"mixed":true' q.html
}
