#!/usr/bin/env bats
# CSV: the four layouts byte for byte, numbers computed by hand, and the same bytes from every run.

load helpers

STATS=file,width,height,channel,count,sum,mean,stddev,min,max,p01,p05,p25,median,p75,p95,p99,entropy,crushed,blown,skewness,kurtosis,mode,mode_share,otsu,distinct,step,nodata,nan,positive_infinity,negative_infinity

# expect ARG...: the output of imghist equals standard input.
expect() {
  cat >expected
  "$IMGHIST" "$@" >actual || fail "exit status $?"
  diff expected actual
}

# counts FILE CHANNEL: the lines of layout `long` with a count above 0, as "bin,count".
counts() { sed -n "s/^[^,]*,$2,\(.*[1-9].*,[1-9].*\|0,[1-9].*\)\$/\1/p" "$1"; }

# four.pgm: 0, 10, 10, 255.
four() { pgm four.pgm 2 2 '\x00\x0A\x0A\xFF'; }

# two.ppm: pure red, and 10 20 30.
two() { ppm two.ppm 1 2 '\xFF\x00\x00\x0A\x14\x1E'; }

# sum 275, mean 68.75; squares of the distances 4726.5625 + 2 * 3451.5625 + 34689.0625, a quarter of
# their sum 11579.6875; entropy 1/4 * 2 + 1/2 * 1 + 1/4 * 2
@test "csv: a name that is not valid UTF-8 is written as it is" {
  dot $'gr\xFC\xDF.pgm'
  imghist_ok $'gr\xFC\xDF.pgm' --csv=images
  [ "$(LC_ALL=C cut -d, -f1,2 <<<"$output" | tail -1)" = $'gr\xFC\xDF.pgm,ok' ]
}

@test "csv: statistics of a gray image, by hand" {
  four
  expect four.pgm --csv=stats <<END
$STATS
four.pgm,2,2,gray,4,275,68.750000,107.608956,0,255,0,0,0,10,10,255,255,1.500000,1,1,1.149673,-0.670397,10,0.500000,10,3,5,0,,,
four.pgm,2,2,luma,4,275,68.750000,107.608956,0,255,0,0,0,10,10,255,255,1.500000,1,1,1.149673,-0.670397,10,0.500000,10,3,5,0,,,
END
}

# luma: (13933 * 255 + 32768) >> 16 = 54; (139330 + 937420 + 141960 + 32768) >> 16 = 19
@test "csv: statistics of a colour image, by hand" {
  two
  expect two.ppm --csv=stats <<END
$STATS
two.ppm,1,2,red,2,265,132.500000,122.500000,10,255,10,10,10,10,255,255,255,1.000000,0,1,0.000000,-2.000000,10,0.500000,10,2,245,0,,,
two.ppm,1,2,green,2,20,10.000000,10.000000,0,20,0,0,0,0,20,20,20,1.000000,1,0,0.000000,-2.000000,0,0.500000,0,2,20,0,,,
two.ppm,1,2,blue,2,30,15.000000,15.000000,0,30,0,0,0,0,30,30,30,1.000000,1,0,0.000000,-2.000000,0,0.500000,0,2,30,0,,,
two.ppm,1,2,luma,2,73,36.500000,17.500000,19,54,19,19,19,19,54,54,54,1.000000,0,0,0.000000,-2.000000,19,0.500000,19,2,35,0,,,
END
}

# (19595 * 255 + 32768) >> 16 = 76; (195950 + 769400 + 224130 + 32768) >> 16 = 18
@test "csv: --luma=bt601" {
  two
  imghist two.ppm --csv=stats --luma=bt601
  [[ ${lines[4]} == two.ppm,1,2,luma,2,94,47.000000,29.000000,18,76,* ]] || fail "bt601"
}

@test "csv: --clip" {
  four
  while read -r clip low high; do
    imghist four.pgm --csv=stats --clip="$clip"
    [ "$(cut -d, -f19,20 <<<"${lines[1]}")" = "$low,$high" ] || fail "--clip=$clip"
  done <<END
0,255 1 1
9,255 1 1
10,255 3 1
10,11 3 1
0,10 1 3
0,1 1 3
254,255 3 1
END
}

@test "csv: layout channels has the columns of stats and 256 bins, and is the default" {
  four
  two
  "$IMGHIST" four.pgm two.ppm --csv >default.csv
  "$IMGHIST" four.pgm two.ppm --csv=channels >channels.csv
  "$IMGHIST" four.pgm two.ppm --csv=stats >stats.csv
  cmp default.csv channels.csv
  cut -d, -f1-27 stats.csv | cmp - <(cut -d, -f1-27 channels.csv)
  [ "$(wc -l <channels.csv)" -eq 7 ]
  [ "$(sed 's/[^,]//g' channels.csv | sort -u | tr -d '\n' | wc -c)" -eq 282 ] # commas in every line
  head -1 channels.csv | cut -d, -f28- | cmp - <(printf 'bin_%d\n' {0..255} | paste -sd,)
  sed -n 2p channels.csv | cut -d, -f28,37-39,283 | grep -qx 1,0,2,0,1
}

@test "csv: layout bins" {
  four
  two
  "$IMGHIST" four.pgm two.ppm --csv=bins >bins.csv
  [ "$(wc -l <bins.csv)" -eq 513 ]
  head -1 bins.csv | grep -qx file,bin,gray,red,green,blue,alpha,luma
  sed -n 2p bins.csv | grep -qx four.pgm,0,1,,,,,1
  sed -n 12p bins.csv | grep -qx four.pgm,10,2,,,,,2
  sed -n 258p bins.csv | grep -qx two.ppm,0,,0,1,1,,0
  sed -n 277p bins.csv | grep -qx two.ppm,19,,0,0,0,,1
  sed -n 513p bins.csv | grep -qx two.ppm,255,,1,0,0,,0
}

@test "csv: layout long" {
  four
  two
  "$IMGHIST" four.pgm two.ppm --csv=long >long.csv
  [ "$(wc -l <long.csv)" -eq $((1 + 256 * 6)) ]
  head -1 long.csv | grep -qx file,channel,bin,count
  cut -d, -f1,2 long.csv | sed 1d | uniq >order
  diff order - <<END
four.pgm,gray
four.pgm,luma
two.ppm,red
two.ppm,green
two.ppm,blue
two.ppm,luma
END
  grep '^four.pgm,gray' long.csv | cut -d, -f3 | cmp - <(seq 0 255)
  [ "$(counts long.csv gray | paste -sd' ')" = "0,1 10,2 255,1" ]
}

@test "csv: channels of gray, gray and alpha, colour, colour and alpha" {
  dot g.pgm
  pam ga.pam 1 1 2 '\x10\x20'
  ppm rgb.ppm 1 1 '\x10\x20\x30'
  pam rgba.pam 1 1 4 '\x10\x20\x30\x40'
  "$IMGHIST" g.pgm ga.pam rgb.ppm rgba.pam --csv=stats | cut -d, -f1,4,6 >actual
  diff actual - <<END
file,channel,sum
g.pgm,gray,128
g.pgm,luma,128
ga.pam,gray,16
ga.pam,alpha,32
ga.pam,luma,16
rgb.ppm,red,16
rgb.ppm,green,32
rgb.ppm,blue,48
rgb.ppm,luma,30
rgba.pam,red,16
rgba.pam,green,32
rgba.pam,blue,48
rgba.pam,alpha,64
rgba.pam,luma,30
END
}

@test "csv: one header, without images and with many" {
  imghist_fails 1 "no images found" --files-from=/dev/null --csv=stats
  assert_output "$STATS"
  four
  "$IMGHIST" four.pgm four.pgm four.pgm --csv | grep -c ^file, | grep -qx 1
}

@test "csv: names are quoted if necessary" {
  names=('plain-ä.pgm' 'com,ma' 'quo"te' $'new\nline' $'re\rturn' ' leading' 'trailing ' "it's")
  quoted=('plain-ä.pgm' '"com,ma"' '"quo""te"' $'"new\nline"' $'"re\rturn"' '" leading"' '"trailing "'
    "it's")
  rest=1,1,1.000000,0.000000,1,1,1,1,1,1,1,1,1,0.000000,0,0,,,1,1.000000,1,1,0,0,,,
  for name in "${names[@]}"; do dot "$name" 01; done
  {
    echo "$STATS"
    for name in "${quoted[@]}"; do printf '%s,1,1,%s,%s\n' "$name" gray $rest "$name" luma $rest; done
  } | expect "${names[@]}" --csv=stats
}

@test "csv: real numbers have a point in every locale" {
  four
  "$IMGHIST" four.pgm --csv=stats >expected.csv
  LC_ALL=de_DE.UTF-8 "$IMGHIST" four.pgm --csv=stats | cmp - expected.csv
  localedef -i de_DE -f UTF-8 ./de_DE.UTF-8 2>/dev/null ||
    skip "cannot make a locale with a decimal comma"
  here=(env "LOCPATH=$PWD" LC_ALL=de_DE.UTF-8)
  [ "$("${here[@]}" printf %.1f 1)" = 1,0 ] || skip "the locale has no effect"
  "${here[@]}" "$IMGHIST" four.pgm --csv=stats | cmp - expected.csv
}

@test "csv: --raw counts 1 to 4 channels of a file" {
  printf '\001\002\003\004\005\006\007\010\011\012\013\014' >raw
  while read -r channels pixels sums; do
    "$IMGHIST" raw --csv=stats "--raw=$channels" >out.csv
    [ "$(sed 1d out.csv | cut -d, -f2,3,5 | uniq)" = "$pixels,1,$pixels" ]
    [ "$(grep -v luma out.csv | sed 1d | cut -d, -f6 | paste -sd,)" = "$sums" ]
  done <<END
1 12 78
2 6 36,42
3 4 22,26,30
4 3 15,18,21,24
END
}

@test "csv: --raw reads pipes and devices" {
  printf '\001\002\003' | "$IMGHIST" - --csv=stats --raw=3 | cut -d, -f1,2,4,6 >actual
  diff actual - <<END
file,width,channel,sum
-,1,red,1
-,1,green,2
-,1,blue,3
-,1,luma,2
END
  head -c 1000000 /dev/zero | "$IMGHIST" - --csv=long --raw=1 >out.csv
  [ "$(counts out.csv gray)" = 0,1000000 ]
}

@test "csv: --raw of an empty file is a failure: the program before the pipe has failed" {
  : >nothing
  mkdir walked
  : >walked/nothing
  for input in nothing walked /dev/null -; do
    run --separate-stderr "$IMGHIST" $input --csv=stats --raw=3 </dev/null
    assert_fails 1 "the file is empty: it has no samples"
  done
}

# tests/expected/make_expected.py computes the expected counts with other decoders.
@test "csv: the samples have the expected counts, together and each alone" {
  cd "$SAMPLES/.."
  [ "$(wc -l <"$TESTS/expected/samples.sha256")" -eq 7 ]
  while read -r digest path; do
    actual=$("$IMGHIST" "$path" --csv=long | sha256sum)
    [ "${actual%% *}" = "$digest" ] || fail "$path has other counts"
  done <"$TESTS/expected/samples.sha256"
}

@test "csv: the longest possible path, all quotes" {
  command -v python3 >/dev/null || skip "no python3 here"
  part=$(printf '"%.0s' {1..250})
  for _ in {1..15}; do mkdir "$part" && cd "$part"; done
  dot '".pgm'
  cd "$BATS_TEST_TMPDIR"
  path=$part
  for _ in {2..15}; do path+=/$part; done
  for layout in channels stats bins long; do
    "$IMGHIST" "$path/\".pgm" --csv=$layout >out.csv
    python3 -c '
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
assert rows and all(row["file"] == sys.argv[2] and None not in row for row in rows)' out.csv "$path/\".pgm"
  done
}

@test "csv: gamma, profiles and EXIF rotation do not change the counts" {
  command -v python3 >/dev/null || skip "no python3 here"
  python3 - "$SAMPLES" <<'END'
import struct, sys, zlib
exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"  # orientation 6
samples = sys.argv[1]

def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

png = open(samples + "/scene.png", "rb").read()
profile = chunk(b"iCCP", b"p\0\0" + zlib.compress(bytes(128)))
for name, extra in ("linear", chunk(b"gAMA", struct.pack(">I", 100000))), ("icc", profile), ("turned", chunk(b"eXIf", exif)):
    open(name + ".png", "wb").write(png[:33] + extra + png[33:])

def segment(marker, data):
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data

jpeg = open(samples + "/scene.jpg", "rb").read()
for name, extra in ("icc", segment(0xE2, b"ICC_PROFILE\0\x01\x01" + bytes(128))), ("turned", segment(0xE1, b"Exif\0\0" + exif)):
    open(name + ".jpg", "wb").write(jpeg[:2] + extra + jpeg[2:])
END
  for format in png jpg; do
    "$IMGHIST" - --csv <"$SAMPLES/scene.$format" >expected.csv
    for file in *."$format"; do
      "$IMGHIST" - --csv <"$file" | cmp - expected.csv || fail "$file"
      rm "$file"
    done
  done
  [ ! -e turned.jpg ] || fail "a file was not compared"
}
