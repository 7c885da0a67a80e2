#!/usr/bin/env bats
# Notes about what the counts do not show: further images of an input, and 16-bit samples that fill few bins.

# shellcheck disable=SC2016 # $IMGHIST is for the inner shell

load helpers

MORE="only the first of several images was counted"

# on_stream FILE...: the files after each other on a pipe.
on_stream() {
  cat "$@" >joined
  run --separate-stderr sh -c 'cat joined | "$IMGHIST" - --ndjson'
  assert_status 0
}

# gray16 FILE VALUE...: a PNM with a maxval of 65535.
gray16() {
  local file=$1 value
  shift
  {
    printf 'P5\n%d 1\n65535\n' $#
    for value; do printf "\\x$(printf %02x $((value / 256)))\\x$(printf %02x $((value % 256)))"; done
  } >"$file"
}

# pages FILE N: a TIFF of N gray pages of one pixel.
pages() {
  python3 - "$1" "$2" <<'END'
import struct, sys
n, bytes_ = int(sys.argv[2]), bytearray(b"II*\0")
bytes_ += struct.pack("<I", 8)
for page in range(n):
    at = len(bytes_)
    tags = [(256, 4, 1), (257, 4, 1), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, at + 2 + 8 * 12 + 4), (278, 4, 1), (279, 4, 1)]
    bytes_ += struct.pack("<H", len(tags))
    for tag, kind, value in tags:
        bytes_ += struct.pack("<HHII", tag, kind, 1, value)
    after = len(bytes_) + 4 + 2
    bytes_ += struct.pack("<I", after if page + 1 < n else 0) + b"\x80\0"
open(sys.argv[1], "wb").write(bytes_)
END
}

# samples FILE N PHOTOMETRIC [KIND]: a TIFF of one pixel with N samples 10, 20, ...; KIND of the last one: 2 is alpha.
samples() {
  python3 - "$@" <<'END'
import struct, sys
n, photometric, kind = int(sys.argv[2]), int(sys.argv[3]), int((sys.argv + [0])[4])
bits = n - (1 if photometric < 2 else 3 if photometric == 2 else 4)
tags = [(256, 4, 1, 1), (257, 4, 1, 1), (258, 3, n, 200), (259, 3, 1, 1), (262, 3, 1, photometric), (273, 4, 1, 300),
        (277, 3, 1, n), (278, 4, 1, 1), (279, 4, 1, n), (284, 3, 1, 1), (338, 3, bits, 240 if bits > 2 else kind << 16 * (bits - 1))]
file = b"II*\0" + struct.pack("<LH", 8, len(tags)) + b"".join(struct.pack("<HHLL", *tag) for tag in tags) + bytes(4)
file = file.ljust(200, b"\0") + struct.pack("<%dH" % n, *[8] * n)
file = file.ljust(240, b"\0") + struct.pack("<%dH" % bits, *[0] * (bits - 1) + [kind])
open(sys.argv[1], "wb").write(file.ljust(300, b"\0") + bytes(10 * (i + 1) for i in range(n)))
END
}

# geo FILE FORM NODATA [SUBFILE...]: a TIFF of the pixels 10 20 255 255, with GDAL's nodata tag if NODATA is not "", and a bilevel page
# for each NewSubfileType that is named. FORM: < or > (the byte order), p for a palette of grays, and 8 for BigTIFF.
geo() {
  python3 - "$@" <<'END'
import struct, sys
name, form, nodata, subfiles = sys.argv[1], sys.argv[2], sys.argv[3].encode(), [int(s) for s in sys.argv[4:]]
order, big, palette = form[0], "8" in form, "p" in form
word, size = ("Q", 8) if big else ("I", 4)
out = bytearray(struct.pack(order + "2sH", b"II" if order == "<" else b"MM", 43 if big else 42))
out += struct.pack(order + "HHQ", 8, 0, 16) if big else struct.pack(order + "I", 8)
for i, subfile in enumerate([0] + subfiles):
    data = bytes([10, 20, 255, 255]) if i == 0 else b"\xC0"
    tags = [(254, 4, subfile), (256, 4, 4), (257, 4, 1), (258, 3, 8 if i == 0 else 1), (259, 3, 1), (262, 3, 4 if subfile & 4 else 3 if palette and i == 0 else 1),
            (273, 4, None), (277, 3, 1), (278, 4, 1), (279, 4, len(data))]
    if palette and i == 0:
        tags.append((320, 3, struct.pack(order + "768H", *[257 * v for v in range(256)] * 3)))
    if nodata and i == 0:
        tags.append((42113, 2, nodata + b"\0"))
    at = len(out) + (8 if big else 2) + len(tags) * (20 if big else 12) + size  # the data, then texts
    more = bytearray(data)
    out += struct.pack(order + ("Q" if big else "H"), len(tags))
    for tag, kind, value in tags:
        out += struct.pack(order + "HH" + word, tag, kind, len(value) // (kind - 1 or 1) if isinstance(value, bytes) else 1)
        if isinstance(value, bytes):
            out += value.ljust(size, b"\0") if len(value) <= size else struct.pack(order + word, at + len(more))
            more += value if len(value) > size else b""
        else:
            value = at if tag == 273 else value
            out += struct.pack(order + ("H" if kind == 3 else "I"), value).ljust(size, b"\0")
    more += bytes(len(more) % 2)
    out += struct.pack(order + word, at + len(more) if i < len(subfiles) else 0) + more
open(name, "wb").write(out)
END
}

# animated FILE PNG N: the same PNG with the chunk of an animation of N frames.
animated() {
  python3 - "$1" "$2" "$3" <<'END'
import struct, sys, zlib
png = open(sys.argv[2], "rb").read()
def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
front = chunk(b"acTL", struct.pack(">II", int(sys.argv[3]), 0)) + chunk(b"fcTL", bytes(26))
open(sys.argv[1], "wb").write(png[:33] + front + png[33:])
END
}

# noted FILE N: a note about N images.
noted() {
  imghist_ok "$1" --csv=stats
  [ "$stderr" = "imghist: $1: note: only the first of $2 images was counted" ] || fail "no note"
  imghist_quiet "$1" --csv=stats -q
  imghist_quiet --check "$1"
  imghist_output_has "\"warnings\":[\"$MORE\"]" "$1" --ndjson
}

# reads FORMAT: this build decodes it.
reads() { "$IMGHIST" --list | grep "^  $1 " | grep -qv 'not in this build'; }

@test "notes: samples that are not counted" {
  needs python3
  reads tiff || skip "no TIFF in this build"
  samples a.tif 5 5
  samples b.tif 6 5 2
  samples c.tif 7 5
  while IFS='|' read -r file n channels text; do
    imghist_ok $file --ndjson
    [ "$stderr" = "imghist: $file: note: only $text" ] || fail "$file: $stderr"
    [ "$(jq -r '"\(.not_counted.samples)|\(.channels[:-1] | map(.name, .mean + 0) | join(","))"' <<<"$output")" = "$n|$channels" ] ||
      fail "$file: $(jq -c 'del(.channels)' <<<"$output")"
    [ "$(jq -r '.warnings | join(",")' <<<"$output")" = "extra samples of each pixel were not counted" ]
    echo "$output" >$file.ndjson
    "$IMGHIST" $file.ndjson --ndjson -q | cmp - $file.ndjson
  done <<'END'
a.tif|1|red,207,green,198,blue,190|red, green and blue were counted; 1 further sample of each pixel was not
b.tif|1|red,207,green,198,blue,190,alpha,60|red, green, blue and alpha were counted; 1 further sample of each pixel was not
c.tif|3|red,207,green,198,blue,190|red, green and blue were counted; 3 further samples of each pixel were not
END
  imghist_ok a.tif b.tif c.tif --csv=stats
  [ "$(grep -c 'further sample' <<<"$stderr")" -eq 1 ] || fail "$stderr"
  assert_stderr_has "3 inputs have extra samples, which were not counted"
}

MASKED="pixels under the transparency mask count like all others"
NODATA="pixels of the nodata value (GDAL_NODATA) count like all others"

@test "notes: pixels that a mask or a nodata value excludes" {
  needs python3
  reads tiff || skip "no TIFF in this build"
  while IFS='|' read -r nodata subfiles mean expected; do
    for form in '<' '>' '<8' '>8'; do
      # shellcheck disable=SC2086 # words
      geo a.tif "$form" "$nodata" $subfiles
      imghist_ok a.tif --csv=images
      [ "$(sed 's/^imghist: a.tif: note: //' <<<"$stderr" | paste -sd';' | sed 's/;/; /g')" = "$expected" ] ||
        fail "$form $nodata $subfiles: $stderr"
      [ "${lines[1]##*,}" = "$expected" ] || fail "$form $nodata $subfiles: ${lines[1]}"
      [[ ${lines[1]} == a.tif,ok,,tiff,4,1,4,8,,,$mean,* ]] || fail "$form $nodata: ${lines[1]}"
    done
  done <<END
||135.000000|
255||15.000000|
10||176.666667|
 255.0 ||15.000000|
1e1||176.666667|
+2.550000e+02||15.000000|
256||135.000000|
-9999||135.000000|
254.5||135.000000|
nan||135.000000|
-3.4028234663852886e+38||135.000000|
none||135.000000|
|4|135.000000|$MASKED
|1 4|135.000000|$MASKED
|5|135.000000|
|1 1 5 5|135.000000|
255|4 1 5|15.000000|$MASKED
END
  geo a.tif '<p' 255 4 1 5
  geo b.tif '<p' 255 4
  imghist_ok a.tif b.tif --csv=stats
  [ "$stderr" = "imghist: a.tif: note: $MASKED
imghist: a.tif: note: $NODATA
imghist: 2 inputs have a transparency mask, whose pixels count; 2 inputs have a nodata value, whose pixels count" ] || fail "$stderr"
  imghist_quiet a.tif --csv=stats -q
  imghist_output_has "\"warnings\":[\"$MASKED\",\"$NODATA\"]" a.tif --ndjson
  refute_output_has not_counted
}

@test "notes: --csv=images and conditions tell each kind of loss, and result files keep it" {
  needs python3
  reads tiff || skip "no TIFF in this build"
  animated three.png "$SAMPLES/scene.png" 3
  { cat "$SAMPLES/scene.png" "$SAMPLES/palette.png"; } >joined.png
  pages pages.tif 5
  samples samples.tif 7 5
  geo all.tif '<8p' 0 4 0 # an image after the mask
  pgm none.pgm 1 1 '\x00'
  local extra="extra samples of each pixel were not counted"
  imghist_ok all.tif joined.png none.pgm pages.tif samples.tif three.png --csv=images --total
  "$IMGHIST" ./*.tif ./*.png none.pgm -q --ndjson -o r.ndjson
  while IFS='|' read -r file warnings not_counted; do
    row=$(grep "^$file," <<<"$output")
    [[ $row == *",$warnings" ]] || fail "$row"
    [ "$(jq -c "select(.file | endswith(\"$file\")) | .not_counted" r.ndjson)" = "$not_counted" ] || fail "$file: $(cut -c-400 r.ndjson)"
  done <<END
all.tif|$MORE; $MASKED; $NODATA|{"images":1}
joined.png|$MORE|{"images":null}
none.pgm||null
pages.tif|$MORE|{"images":4}
samples.tif|$extra|{"samples":3}
three.png|$MORE|{"images":2}
END
  [[ ${lines[0]} == *,warnings && ${lines[-1]} == "(total),"*, ]] || fail "the last column"
  imghist_ok r.ndjson -q --ndjson
  cmp - r.ndjson <<<"$output" || fail "read back"
  imghist_quiet none.pgm samples.tif --where 'warnings ~ "*extra samples*"' --csv=images -q
  [ "$(cut -d, -f1 <<<"$output" | paste -sd' ')" = "file samples.tif" ] || fail "$output"
  imghist_status 4 samples.tif none.pgm -q --fail-if 'warnings ~ "*not counted*"' --csv=images
  imghist_ok none.pgm --fail-if 'warnings ~ "*"' --csv=images # it has none
  sed 's/"not_counted":{"samples":3}/"not_counted":{"samples":0}/' r.ndjson >bad.ndjson
  imghist_fails 1 "damaged record: samples is impossible" bad.ndjson --csv=stats
}

@test "notes: further frames and pages of a file" {
  needs python3
  animated three.png "$SAMPLES/scene.png" 3
  noted three.png 3
  animated one.png "$SAMPLES/scene.png" 1
  imghist_quiet one.png --csv=stats
  cp "$TESTS"/formats/files/{gif,webp}-animated.* "$TESTS"/formats/files/gif.gif "$TESTS"/formats/files/webp-lossy.webp .
  ! reads gif || noted gif-animated.gif several
  ! reads webp || noted webp-animated.webp 2
  if reads tiff; then
    pages five.tif 5
    noted five.tif 5
    pages one.tif 1
    imghist_quiet one.tif --csv=stats
  fi
  for file in gif.gif webp-lossy.webp; do
    reads ${file##*.} || continue
    imghist_quiet $file --csv=stats
  done
  mkdir d
  cp three.png d/a.png
  cp three.png d/b.png
  imghist_ok d --csv=stats # one note, and the number
  [ "$stderr" = "imghist: d/a.png: note: only the first of 3 images was counted
imghist: 2 inputs have more images than the first, which was counted" ] || fail "other messages"
}

@test "notes: 12-bit data in 16-bit samples" {
  while read -r bits values; do
    # shellcheck disable=SC2086 # the values are words
    gray16 a.pgm $values
    imghist_ok a.pgm --csv=stats
    [ "$stderr" = "imghist: a.pgm: note: its 16-bit samples fill only the lowest bins, like $bits-bit data that was not scaled (--depth=$bits scales it)" ] ||
      fail "$values: not $bits"
  done <<'END'
12 0 100 4095
10 1023 5
14 16383
8 0 255
END
  gray16 full.pgm 0 100 65535
  gray16 most.pgm 40000
  gray16 black.pgm 0 0 0
  pgm dark.pgm 2 1 '\x00\x0A' # 8 bits
  for file in full most black dark; do
    imghist_quiet $file.pgm --csv=stats
  done
  cp a.pgm b.pgm
  imghist_ok a.pgm b.pgm full.pgm --csv=stats
  assert_stderr_has "imghist: 2 inputs have 16-bit samples in few bins"
  [ "$(grep -c note: <<<"$stderr")" -eq 1 ]
  imghist_ok a.pgm b.pgm --csv=stats -v
  [ "$(grep -c note: <<<"$stderr")" -eq 2 ]
}

@test "notes: data of more bits than --depth" {
  gray16 a.pgm 4095 1024 1023 0
  cp a.pgm b.pgm
  imghist_ok a.pgm b.pgm --csv=stats --depth=10
  [ "$stderr" = "imghist: a.pgm: note: its samples go up to 4095, and those above 1023 count as 255; --depth is too small" ] ||
    fail "no note"
  imghist_ok a.pgm b.pgm --csv=stats --depth=10 -v
  [ "$(grep -c 'is too small$' <<<"$stderr")" -eq 2 ] || fail "-v names each"
  for arguments in --depth=12 "--range=0,1023" "--depth=10 -q"; do
    # shellcheck disable=SC2086 # words
    imghist_quiet a.pgm --csv=stats $arguments
  done
  gray16 c.pgm 1023 4
  imghist_quiet c.pgm --csv=stats --depth=10
}

@test "notes: images that come twice, whatever the way" {
  needs tar
  dot d/a.pgm
  dot d/b.pgm 10
  dot d/c.pgm 20
  "$IMGHIST" d --ndjson -o r.ndjson
  "$IMGHIST" d --json -o r.json
  "$IMGHIST" d --total-only --ndjson -o total.ndjson
  cat r.ndjson r.ndjson >rr.ndjson
  printf '%s\n' d/a.pgm d/b.pgm ./d//a.pgm >list
  tar -cf a.tar d/a.pgm d/b.pgm
  tar -rf a.tar d/a.pgm
  cp d/a.pgm 'd#1'
  cat d/a.pgm d/b.pgm >d.pgm
  cp d/a.pgm 'd.pgm#1'
  while IFS='|' read -r n name arguments; do
    # shellcheck disable=SC2086 # words
    imghist_ok $arguments --csv=stats
    expected="imghist: $name: note: an earlier input has this name; both count"
    [ "$n" -eq 1 ] || expected+=$'\n'"imghist: $n inputs have the name of an earlier one, and count too"
    [ "$stderr" = "$expected" ] || fail "$arguments"
    # shellcheck disable=SC2086 # words
    imghist_quiet $arguments --csv=stats -q
  done <<'END'
1|./d//a.pgm|--files-from=list
1|d/b.pgm|d d/b.pgm
1|d/a.pgm|d/a.pgm d/b.pgm d/a.pgm
3|d/a.pgm|d d
3|./d/a.pgm|d ./d/
3|d/a.pgm|r.ndjson r.json
3|d/a.pgm|d r.ndjson
3|d/a.pgm|rr.ndjson
1|a.tar/d/a.pgm|a.tar
1|d.pgm#1|--frames d.pgm d.pgm#1
END
  imghist_ok r.ndjson r.json --csv=stats -v
  [ "$(grep -c 'note: an earlier input has this name' <<<"$stderr")" -eq 3 ] || fail "-v names each"
  imghist_ok d a.tar r.ndjson d/a.pgm --where 'mean_luma > 100' --csv=stats # only records that are written
  [[ ${stderr_lines[-1]} == "imghist: "*" match --where; 3 inputs have the name of an earlier one, and count too" ]] || fail "not selected"
  imghist_quiet --diff d/a.pgm d/a.pgm --csv # shows that nothing differs
  imghist_ok --diff d r.ndjson --csv
  refute_stderr_has "this name"
  imghist_ok total.ndjson r.ndjson --total-only --csv
  [ "$stderr" = "imghist: note: a total of a result file and single images are added up; an image that is in both counts twice" ] ||
    fail "a total beside its records"
  imghist_quiet total.ndjson --csv
  imghist_ok --diff total.ndjson d --csv
  refute_stderr_has "added up"
}

@test "notes: of thousands of names, three come twice" {
  mkdir d
  for i in {1..3000}; do echo d/$i.pgm; done >list
  while read -r name; do printf 'P5 1 1 255 x' >"$name"; done <list
  imghist_quiet --files-from=list --csv=stats -o out.csv
  sed -n '3000p;1p;1700p' list >>list
  imghist_ok --files-from=list --csv=stats -o out.csv
  [ "$stderr" = "imghist: d/1.pgm: note: an earlier input has this name; both count
imghist: 3 inputs have the name of an earlier one, and count too" ] || fail "other messages"
}

@test "notes: a chart is counted once, if a later image of the name replaces it" {
  dots a.pgm b.pgm
  mkdir d
  cat a.pgm b.pgm >d/x.pgm
  cp a.pgm 'd/x.pgm#1'
  imghist_ok --frames d/x.pgm 'd/x.pgm#1' --chart=charts
  assert_stderr_has "imghist: 2 charts written: charts"
  assert_stderr_has "d/x.pgm#1: note: an earlier input has this name; both count, and this one's chart replaces that one's"
  [ "$(tree charts | wc -l)" -eq 2 ]
  imghist_ok a.pgm ./a.pgm --total --chart=charts2
  assert_stderr_has "imghist: 2 charts written: charts2"
  [ "$(tree charts2)" = $'./(total).hist.png\n./a.pgm.hist.png' ]
}

@test "notes: a condition that no record matches leaves no chart" {
  dots d/a.pgm d/b.pgm
  for arguments in "--total-only --chart=c.png" "--total --chart=c.png --csv -o c.csv" "--chart=charts"; do
    # shellcheck disable=SC2086 # words
    imghist_ok d --where 'width > 5' $arguments
    [ "$stderr" = "imghist: 0 of 2 images match --where" ] || fail "$arguments"
    [ ! -e c.png ] || fail "$arguments: a chart"
    # shellcheck disable=SC2086 # words
    imghist_quiet d --where 'width > 5' -q $arguments
  done
}

@test "notes: a chart among the images" {
  mkdir -p d/sub
  dots d/a.pgm b.pgm
  ln -s d link
  for chart in d/all.png d/sub/all.jpg ./d/../d/all.bmp link/all.tga "$PWD/d/all.PNG"; do
    imghist_ok b.pgm d --total-only "--chart=$chart"
    [ "${stderr_lines[0]}" = "imghist: $chart: note: lies among the images, and a next run counts it; draw it elsewhere, or \
name it .hist.png" ] || fail "$chart"
    rm "$chart"
  done
  for chart in all.png d/all.svg d/all.hist.png d.png; do
    imghist_ok b.pgm d --total-only "--chart=$chart"
    refute_stderr_has note
  done
  imghist_ok d --total-only --csv=images
  [ "$(tail -n 1 <<<"$output" | cut -d, -f7)" = 1 ] # pixels: no chart was counted
}

@test "notes: parts of a run whose outputs do not merge" {
  dots a.pgm b.pgm
  for arguments in --csv --json "--text --json -o x.json"; do
    # shellcheck disable=SC2086 # words
    imghist_ok a.pgm b.pgm --shard=1/2 $arguments
    [ "$stderr" = "imghist: note: only files of --ndjson can be merged, and this run writes none" ] || fail "$arguments"
  done
  for arguments in "--total --csv=stats" "--total-only --text" "--total --json" "--total --chart=c.png"; do
    # shellcheck disable=SC2086 # words
    imghist_ok a.pgm b.pgm --shard=1/2 $arguments
    assert_stderr_has "imghist: note: the total is that of this part; only files of --ndjson can be merged, and this run writes none"
  done
  for arguments in --ndjson "--csv -o x.csv --ndjson -o x.ndjson" "--json --total-only" --check --print0 "--csv -q"; do
    # shellcheck disable=SC2086 # words
    imghist_quiet a.pgm b.pgm --shard=1/2 $arguments
  done
  for arguments in "--total --ndjson" "--csv --total --ndjson -o x.ndjson" "--total --resume -o y.ndjson"; do
    # shellcheck disable=SC2086 # words
    imghist_ok a.pgm b.pgm --shard=1/2 $arguments
    [ "$stderr" = "imghist: note: parts with a total beside their records are not merged; leave out --total, which the merge takes" ] ||
      fail "$arguments"
  done
  for part in 1 2; do imghist_ok a.pgm b.pgm --shard=$part/2 --json -q -o $part.json; done
  imghist 1.json 2.json --csv
  assert_refused 2 "1.json: shards are merged from NDJSON: run each with --ndjson instead of --json"
}

@test "notes: a second image in a file of a format that ends with its last byte" {
  pgm a.pgm 2 1 '\x01\x02'
  cat a.pgm a.pgm >two.pgm
  cat "$SAMPLES/palette.png" "$SAMPLES/scene.png" >two.png
  cat a.pgm "$SAMPLES/scene.jpg" >other.pgm
  printf 'qoif\0\0\0\1\0\0\0\1\3\0\300\0\0\0\0\0\0\0\1' >one.qoi
  cat one.qoi one.qoi >two.qoi
  cp "$TESTS/formats/files/npy-bool.npy" one.npy
  cat one.npy "$TESTS/formats/files/npy-fortran.npy" one.npy >two.npy # as numpy.save appends
  for file in two.pgm two.png other.pgm two.qoi two.npy; do
    for how in '' --isolate; do
      # shellcheck disable=SC2086 # a word or none
      imghist_ok $file --csv=stats $how
      [ "$stderr" = "imghist: $file: note: only the first of several images was counted" ] || fail "$file $how: $stderr"
    done
    run --separate-stderr "$IMGHIST" - --csv=stats <$file
    assert_stderr_has "only the first of several images was counted"
  done
  { cat a.pgm; printf '\n'; } >padded.pgm
  { cat "$SAMPLES/scene.jpg"; echo a trailer; } >tail.jpg
  cp "$SAMPLES/palette.png" one.png
  imghist_quiet a.pgm padded.pgm tail.jpg one.png one.qoi one.npy --csv=stats
}
