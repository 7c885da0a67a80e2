#!/usr/bin/env bats
# --bins=native: samples of 9 to 16 bits keep their values. tests/unit/test_native.c has the counts of every file.

load helpers

# stats OPTION...: the statistics of all inputs, without the names of the files.
stats() { "$IMGHIST" --device=cpu --bins=native --csv=stats "$@" | sed 's/^[^,]*,//'; }

# picture: makes a.pgm of 12 bits: 0, 1, 256, 4095 in the first row, 5, 5, 5, 300 in the second.
picture() { printf 'P5 4 2 4095\n\0\0\0\1\1\0\17\377\0\5\0\5\0\5\1\54' >a.pgm; }

@test "native: values, the default limits, and those of --clip" {
  picture
  imghist_ok a.pgm --bins=native --csv=stats
  for row in 1 2; do
    [[ ${lines[row]} == a.pgm,4,2,*,8,4667,583.375000,1332.386293,0,4095,0,0,1,5,256,4095,4095,2.405639,1,1,* ]] || fail "$row"
  done
  imghist_ok a.pgm --bins=native --clip=4,300 --csv=stats
  [ "$(cut -d, -f19,20 <<<"${lines[1]}")" = 2,2 ] || fail "other limits"
  imghist a.pgm --bins=native --clip=4,4096 --csv=stats
  assert_fails 1 "its largest value is 4095, but the clip limits are 4 and 4096"
}

@test "native: raw samples in both byte orders, a region, a mask and an archive" {
  picture
  tail -c 16 a.pgm >be.raw
  dd if=be.raw of=le.raw conv=swab status=none
  for order in be le; do
    stats "$order.raw" --raw=1 "--raw-depth=16$order" --size=4x2 >"$order"
  done
  stats a.pgm >pgm
  cmp le be
  diff <(cut -d, -f1-18 pgm) <(cut -d, -f1-18 be) # up to the clipped pixels: white is 65535
  [[ $(stats a.pgm --region=2x2+1+0 | sed -n 2p) == *gray,4,267,* ]] || fail "another region"
  printf 'P5 4 2 1\n\0\0\0\1\0\0\0\1' >m.pgm
  [[ $(stats a.pgm --mask=m.pgm | sed -n 2p) == *gray,2,4395,* ]] || fail "another mask"
  tar cf a.tar a.pgm
  diff pgm <(stats a.tar)
}

@test "native: decoder processes give the same" {
  stats "$TESTS"/formats/files/*.{psd,tif} >here
  stats "$TESTS"/formats/files/*.{psd,tif} --isolate >isolated
  diff here isolated
}

@test "native: different bins are not added or compared, and the message names two files" {
  picture
  printf 'P5 1 1 255\n\1' >b.pgm
  imghist a.pgm b.pgm --bins=native --total --csv=stats
  assert_fails 1 "(total): a.pgm has 4096 bins, b.pgm has 256"
  imghist --diff a.pgm b.pgm --bins=native
  assert_fails 1 "a.pgm has 4096 bins, b.pgm has 256: counts of different bins are not compared"
  imghist_ok a.pgm b.pgm --bins=native --csv=stats # side by side
  imghist_ok a.pgm a.pgm --bins=native --total-only --csv=stats
  [[ ${lines[1]} == *,16,9334,* ]] || fail "another total"
}

@test "native: refusals" {
  picture
  imghist_refused 2 "--bins: 'all'" a.pgm --bins=all
  imghist_refused 2 "--clip: '0,256': values above 255 are for --bins=native" a.pgm --clip=0,256
  imghist_refused 2 "--raw-depth: only for --raw" a.pgm --raw-depth=16le
}

@test "native: 12 bits in samples of 16 bits keep their note" {
  printf 'P5 2 1 65535\n\x0f\xff\x01\x00' >twelve.pgm
  imghist_ok twelve.pgm --bins=native --csv=stats
  assert_stderr_has "like 12-bit data that was not scaled (--depth=12 scales it)"
  imghist_quiet twelve.pgm --bins=native --depth=12 --csv=stats
  printf 'P5 2 1 65535\n\xff\xff\x01\x00' >sixteen.pgm
  imghist_quiet sixteen.pgm --bins=native --csv=stats
}
