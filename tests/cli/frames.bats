#!/usr/bin/env bats
# --frames: all images of an input, each a record NAME#k. Expected counts come from make_frames.py, which composes frames
# itself, from Pillow, or from the same images as single files.

# shellcheck disable=SC2016 # $IMGHIST is for the inner shell

load helpers

UNCOUNTED="note: further images were not counted: frames of a PNG, HEIC or AVIF animation, or a file of another format"

# reads FORMAT: this build decodes it.
reads() { "$IMGHIST" --list | grep "^  $1 " | grep -qv 'not in this build'; }

# filled FILE ARG...: the bins that are not empty, without luma.
filled() { "$IMGHIST" "$@" --frames --csv=long --device=cpu | grep -v -e ',luma,' -e ',0$' -e '^file,'; }

# counts_of FILE ARG...: the counts, without names.
counts_of() { "$IMGHIST" "$@" --csv=long --device=cpu | cut -d, -f2- | grep -v ^channel; }

@test "frames: GIF is composed as the format defines; pages and slices of TIFF, without smaller copies and masks" {
  needs python3
  for kind in gif tiff stack; do
    reads "${kind/stack/tiff}" || continue
    for seed in {1..12}; do
      python3 "$TESTS/cli/make_frames.py" $kind a.$kind a.$kind "$seed" >expected
      filled a.$kind >actual
      cmp expected actual || fail "$kind $seed"
      "$IMGHIST" a.$kind --csv=long --device=cpu >first # without --frames
      "$IMGHIST" a.$kind --frames --csv=long --device=cpu | grep -e ^file, -e '#1,' | sed 's/#1,/,/' | cmp - first ||
        fail "$kind $seed: the first frame"
    done
  done
}

@test "frames: a stack in one directory that is cut, and descriptions of a stack where none is" {
  needs python3
  reads tiff || skip "no TIFF in this build"
  for seed in 1 2 3; do
    python3 "$TESTS/cli/make_frames.py" stack a.tif a.tif $seed >expected
    n=$(tail -n 1 expected | cut -d'#' -f2 | cut -d, -f1)
    imghist_output_has "\"frames\":$n," a.tif --ndjson
    assert_stderr_has "a.tif: note: only the first of $n images was counted"
    for how in '' --isolate; do
      head -c -1 a.tif >cut.tif
      # shellcheck disable=SC2086 # a word or none
      imghist_status 1 cut.tif --frames --csv=images $how
      [ "$stderr" = "imghist: cut.tif#$n: damaged TIFF: the file ends before the image does
imghist: 1 of $n inputs failed" ] || fail "$seed: $stderr"
      [ "$(grep -c ,ok, <<<"$output")" -eq $((n - 1)) ] || fail "$seed: $output"
    done
    filled cut.tif >actual
    grep -v "^a.tif#$n," expected | sed s/^a/cut/ | cmp - actual || fail "$seed: the slices before"
  done
  cp a.tif large.tif
  truncate -s 4500000000 large.tif # only --memory limits it
  [ "$(getconf LONG_BIT)" = 32 ] ||
    imghist_fails 1 "large.tif: needs 4500.0 MB of memory at once, the limit is 1.0 MB (--memory raises it)" large.tif --frames --csv --memory=1M
  rm large.tif
  # The description of a stack of 3: of 2 x 2 pixels alone, compressed, in front of the directory, with another page, and as other text.
  python3 - <<'END'
import struct, zlib
text = b"ImageJ=1.54f\nimages=3\nslices=3\n\0\0"
def write(name, data, text=text, compression=1, directory_last=False, more=b"", link=0):
    tags = lambda strip, at: [(256, 1, 2), (257, 1, 2), (258, 1, 8), (259, 1, compression), (262, 1, 1), (270, len(text), at), (273, 1, strip),
                              (277, 1, 1), (278, 1, 2), (279, 1, 4 if compression == 1 else len(data))]
    size = 2 + 12 * 10 + 4
    first = 8 + len(text) + len(data) if directory_last else 8
    strip, at = (8 + len(text), 8) if directory_last else (8 + size + len(text), 8 + size)
    directory = struct.pack("<H", 10) + b"".join(struct.pack("<HHII", t, 2 if t == 270 else 4, n, v) for t, n, v in tags(strip, at))
    directory += struct.pack("<I", link and strip + len(data))
    if link:
        more = struct.pack("<H", 9) + b"".join(struct.pack("<HHII", t, 4, n, v) for t, n, v in tags(strip, at) if t != 270) + bytes(4)
    body = text + data + directory if directory_last else directory + text + data
    open(name, "wb").write(b"II*\0" + struct.pack("<I", first) + body + more)
slices = bytes(range(12))
write("stack.tif", slices)
write("one.tif", slices[:4])
write("short.tif", slices[:6])
write("padded.tif", slices[:5])
write("packed.tif", zlib.compress(slices[:4]) + slices, compression=8)
write("behind.tif", slices[:4], directory_last=True, more=bytes(999))
write("two.tif", slices, link=1)
write("other.tif", slices, b"images=3\nimages=3\n\0")
write("number.tif", slices, b"ImageJ=1\nimages=1\n\0")
write("large.tif", slices, b"ImageJ=1\nimages=99999999999999999999\n\0")

# The first of two slices begins in the directory, or holds a thumbnail's; the second has one at its place that leads back to itself.
def looped(name, in_thumbnail):
    first, size = 8 + len(text), 2 + 12 * 11 + 4
    strip, n = first + (size if in_thumbnail else 1), size + 20
    def directory(link, is_reduced):
        values = [(254, is_reduced), (256, n), (257, 1), (258, 8), (259, 1), (262, 1), (270, 8), (273, strip), (277, 1), (278, 1), (279, n)]
        return struct.pack("<H", 11) + b"".join(
            struct.pack("<HHII", t, 2 if t == 270 else 4, len(text) if t == 270 else 1, v) for t, v in values) + struct.pack("<I", link)
    if in_thumbnail:
        slices = directory(0, 1).ljust(n, b"x") + directory(strip, 1).ljust(n, b"y")
        body = directory(strip, 0) + slices
    else:
        body = directory(0, 0).ljust(n + 1, b"x") + directory(first, 0)[1:].ljust(n, b"y")
    open(name, "wb").write(b"II*\0" + struct.pack("<I", first) + text + body + bytes(99))
looped("within.tif", False)
looped("thumbnail.tif", True)
END
  filled stack.tif >actual
  [ "$(cat actual)" = "$(for v in {0..11}; do echo "stack.tif#$((v / 4 + 1)),gray,$v,1"; done)" ] || fail "$(cat actual)"
  imghist_ok short.tif --csv=images
  assert_stderr_has "only the first of 3 images was counted"
  imghist_fails 1 "short.tif#2: damaged TIFF: the file ends before the image does" short.tif --csv=images --frames
  for file in one padded packed behind other number large within thumbnail; do
    imghist_quiet $file.tif --csv=images
    imghist_quiet $file.tif --csv=images --frames --timeout=9
    [ "$(wc -l <<<"$output")" -eq 2 ] || fail "$file: $output"
  done
  imghist_quiet two.tif --csv=images --frames # pages are images, whatever the description says
  [ "$(cut -d, -f1,11 <<<"$output" | paste -sd' ')" = "file,mean_luma two.tif#1,1.500000 two.tif#2,1.500000" ] || fail "$output"
}

@test "frames: what Pillow shows of GIF and WebP" {
  /usr/bin/python3 -c 'from PIL import features; assert features.check("webp_anim")' 2>/dev/null ||
    skip "no Pillow with animated WebP"
  if reads gif; then
    for seed in 1 3 5 7 9 11; do
      python3 "$TESTS/cli/make_frames.py" gif a.gif a.gif $seed >/dev/null
      /usr/bin/python3 "$TESTS/cli/make_frames.py" pillow a.gif a.gif >expected
      filled a.gif >actual
      cmp expected actual || fail "gif $seed"
    done
  fi
  reads webp || return 0
  for lossless in False True; do
    /usr/bin/python3 - $lossless <<'END'
import random, sys
from PIL import Image
r = random.Random(3)
frames = []
for k in range(6):
    f = Image.new("RGBA", (23, 17), (0, 0, 0, 0) if k % 3 == 2 else (40 * k, 90, 200, 255))
    for _ in range(60):
        f.putpixel((r.randrange(4 + 3 * k), r.randrange(17)), tuple(r.randrange(256) for _ in range(3)) + (255,))
    frames.append(f)
frames[0].save("a.webp", save_all=True, append_images=frames[1:], lossless=sys.argv[1] == "True", method=0)
END
    /usr/bin/python3 "$TESTS/cli/make_frames.py" pillow a.webp a.webp >expected
    grep -q '^a.webp#6,alpha,0,' expected || grep -q '^a.webp#3,alpha,0,' expected # some are transparent
    filled a.webp >actual
    cmp expected actual || fail "webp, lossless $lossless"
  done
}

@test "frames: JPEG XL, as djxl and Pillow show it" {
  reads jxl || skip "no JPEG XL in this build"
  needs cjxl djxl
  /usr/bin/python3 -c 'from PIL import Image' 2>/dev/null || skip "no Pillow"
  for seed in 1 3 5 7; do
    python3 "$TESTS/cli/make_frames.py" gif a.gif a.gif $seed >/dev/null
    cjxl -d 0 a.gif a.jxl 2>/dev/null
    djxl a.jxl a.apng 2>/dev/null
    /usr/bin/python3 "$TESTS/cli/make_frames.py" pillow a.apng a.jxl >expected
    filled a.jxl >actual
    cmp expected actual || fail "$seed"
    grep -q '^a.jxl#8,' actual || fail "$seed: frames are missing"
    "$IMGHIST" a.jxl --csv=long --device=cpu -q >first # without --frames
    "$IMGHIST" a.jxl --frames --csv=long --device=cpu | grep -e ^file, -e '#1,' | sed 's/#1,/,/' | cmp - first ||
      fail "$seed: the first frame"
  done
  imghist_ok a.jxl --csv
  assert_stderr_has "note: only the first of several images was counted"
  imghist_quiet a.jxl --csv --frames
  head -c "$(($(wc -c <a.jxl) - 20))" a.jxl >cut.jxl
  imghist_status 1 cut.jxl --frames --csv=images
  assert_stderr_has "cut.jxl#8: damaged JPEG XL"
  cjxl -d 0 "$SAMPLES/palette.png" one.jxl 2>/dev/null
  counts_of "$SAMPLES/palette.png" >expected
  counts_of one.jxl --frames | cmp - expected
}

@test "frames: all images of HEIC and AVIF files, and what is said of sequences" {
  reads heif || skip "no HEIC in this build"
  needs heif-enc ffmpeg
  ffmpeg -v error -i "$SAMPLES/palette.png" -vf scale=60:44 -pix_fmt rgb24 -frames:v 1 colour.png </dev/null
  ffmpeg -v error -i "$SAMPLES/palette.png" -vf scale=32:36 -pix_fmt gray -frames:v 1 gray.png </dev/null
  ffmpeg -v error -i "$SAMPLES/cutout.png" -vf scale=40:50 -pix_fmt rgba -frames:v 1 alpha.png </dev/null
  for kind in heic avif; do
    option=""
    [ $kind = heic ] || option=-A
    # shellcheck disable=SC2086 # a word or none
    {
      heif-enc $option gray.png colour.png alpha.png gray.png -o all.$kind >/dev/null 2>&1 || skip "no encoder of $kind"
      for name in gray colour alpha; do heif-enc $option $name.png -o $name.$kind >/dev/null 2>&1; done
    }
    for file in gray colour alpha gray; do counts_of $file.$kind; done >expected
    counts_of all.$kind --frames >actual
    cmp expected actual || fail $kind
    counts_of all.$kind >first
    counts_of gray.$kind | cmp - first
    "$IMGHIST" all.$kind --frames --csv=images | cut -d, -f1 | tail -n +2 | tr '\n' ' ' >names
    [ "$(cat names)" = "all.$kind#1 all.$kind#2 all.$kind#3 all.$kind#4 " ]
    imghist_output_has '"frames":4' all.$kind --ndjson
    assert_stderr_has "only the first of 4 images was counted"
  done
  ffmpeg -v error -f lavfi -i testsrc2=size=64x48:rate=5 -frames:v 3 -c:v libaom-av1 -cpu-used 8 moving.avif </dev/null ||
    skip "no ffmpeg that writes AVIF"
  for how in '' --frames --isolate; do
    imghist_output_has '"file":"moving.avif"' moving.avif --ndjson ${how:+"$how"}
    assert_output_has '"warnings":["only the first of several images was counted"]'
    if [ "$how" = --frames ]; then assert_stderr_has "$UNCOUNTED"; else assert_stderr_has "only the first of several images was counted"; fi
  done
  LC_ALL=C sed 's/avisavifmsf1iso8mif1/avismsf1msf1iso8msf1/' moving.avif >track.avif # no brand tells of a still image
  imghist_fails 1 "track.avif: cannot decode: an image sequence (AVIF) is not supported: extract frames first" track.avif --csv
  needs avifenc
  ffmpeg -v error -i colour.png -vf hue=h=90 -pix_fmt rgb24 second.png </dev/null
  avifenc --lossless colour.png second.png -y 444 sequence.avif >/dev/null
  counts_of sequence.avif -q | grep -v ^alpha | cmp - <(counts_of colour.png)
}

@test "frames: of an animated PNG the first image counts, and a note says so" {
  needs python3
  for seed in {1..12}; do
    python3 "$TESTS/cli/make_frames.py" png a.png a.png "$seed" | sed 's/#1,/,/' >expected
    for how in '' --isolate -q; do
      "$IMGHIST" a.png --csv=long --device=cpu ${how:+"$how"} 2>messages | grep -v -e ',luma,' -e ',0$' -e '^file,' | cmp expected -
      [ "$how" = -q ] || grep -q '^imghist: a.png: note: only the first of [89] images was counted$' messages || fail "$seed $how"
      filled a.png ${how:+"$how"} 2>messages | cmp expected - || fail "$seed --frames $how"
      [ "$how" = -q ] || grep -q "$UNCOUNTED" messages ||
        fail "$seed --frames $how: no note"
    done
  done
  imghist_output_has '"frames":' a.png --ndjson
  assert_output_has '"warnings":["only the first of several images was counted"]'
  cp "$SAMPLES/palette.png" b.png # other files may follow
  { counts_of a.png -q; counts_of b.png; counts_of a.png -q; } >expected
  for how in '' --isolate; do
    # shellcheck disable=SC2002,SC2086 # a pipe; a word or none
    cat a.png b.png a.png | counts_of - --frames $how 2>messages | cmp - expected || fail "a stream $how"
    grep -q "$UNCOUNTED" messages || fail "a stream $how: no note"
  done
  python3 - <<'END'
import struct
data = open("a.png", "rb").read()
at = data.index(b"acTL") - 4
animation, rest = data[at:at + 20], data[:at] + data[at + 20:]
end = rest.index(b"IEND") - 4
open("late.png", "wb").write(rest[:end] + animation + rest[end:])
open("crc.png", "wb").write(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
open("cut.png", "wb").write(data[:-30])
END
  imghist_quiet late.png --csv=images # an animation must be announced before the image
  for file in crc cut; do imghist_fails 1 "$file.png: damaged PNG: " $file.png --csv=images --frames; done
}

@test "frames: files that follow each other, on a stream, in a file, in a decoder process" {
  dot a.pgm 07
  dot b.pgm 80
  printf 'P6\n2 1\n65535\n\xf1\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c' >c.ppm
  printf 'P2\n2 1\n9\n1 2\n' >d.pgm
  cp "$SAMPLES/scene.png" e.png
  cp "$SAMPLES/palette.png" f.png
  cp "$SAMPLES/scene.jpg" g.jpg
  if command -v jpegtran >/dev/null; then jpegtran -progressive "$SAMPLES/scene.jpg" >h.jpg; else cp g.jpg h.jpg; fi
  for set in 'a.pgm b.pgm c.ppm d.pgm a.pgm' 'e.png f.png e.png' 'g.jpg h.jpg g.jpg'; do
    # shellcheck disable=SC2086 # words
    set -- $set
    for file; do counts_of "$file"; done >expected
    cat "$@" >joined
    for how in '' --isolate; do
      # shellcheck disable=SC2086 # words
      counts_of joined --frames $how | cmp - expected || fail "$set $how: a file"
      # shellcheck disable=SC2086,SC2002 # words; a pipe
      cat joined | counts_of - --frames $how | cmp - expected || fail "$set $how: a stream"
    done
    imghist_quiet joined --frames --csv=images
    for ((k = 1; k <= $#; k++)); do assert_output_has "joined#$k,"; done
    [ "$(wc -l <<<"$output")" -eq $(($# + 1)) ]
    counts_of "$@" --total-only >expected
    counts_of joined --frames --total-only | cmp - expected || fail "$set: another total"
  done
  cat a.pgm e.png g.jpg >joined # other formats may follow, too
  for file in a.pgm e.png g.jpg; do counts_of $file; done >expected
  counts_of joined --frames | cmp - expected
}

@test "frames: of files that follow each other on a stream, none is left out without a note" {
  cp "$SAMPLES"/{scene,palette}.png "$SAMPLES/scene.jpg" .
  local -a files=(scene.png palette.png scene.jpg)
  if reads gif; then
    needs python3
    python3 "$TESTS/cli/make_frames.py" gif moving.gif moving.gif 4 >expected
    python3 "$TESTS/cli/make_frames.py" gif still.gif still.gif 4 >/dev/null
    files+=(moving.gif)
    cat moving.gif moving.gif scene.png >joined
    filled joined >actual
    n=$(cut -d'#' -f2 expected | cut -d, -f1 | sort -n | tail -n 1)
    [ "$n" -ge 2 ]
    counts_of moving.gif --frames >frames
    counts_of joined --frames | head -n $((2 * $(wc -l <frames))) >actual
    cat frames frames | cmp - actual || fail "the second GIF"
    # shellcheck disable=SC2002 # a pipe
    cat joined | counts_of - --frames | head -n $((2 * $(wc -l <frames))) | cmp - actual || fail "the second GIF of a pipe"
    imghist joined --frames --ndjson # another decoder process would be needed
    assert_stderr_has "$UNCOUNTED"
  fi
  for first in "${files[@]}"; do
    for second in "${files[@]}"; do
      for how in '' --isolate; do
        # shellcheck disable=SC2086 # a word or none
        cat "$first" "$second" | "$IMGHIST" - $how --csv=stats >out 2>messages
        grep -q "note: only the first of [a-z0-9]* images was counted" messages || fail "$first $second $how"
        grep -q ',luma,' out
      done
    done
    cat "$first" | "$IMGHIST" - --csv=stats >out 2>messages
    [ "$first" = moving.gif ] || [ ! -s messages ] || fail "$first"
  done
}

@test "frames: gain maps and thumbnails in a JPEG file are told of, and are no frames" {
  needs python3 djpeg cjpeg
  cp "$SAMPLES/scene.jpg" first.jpg
  djpeg -scale 1/4 first.jpg | cjpeg -quality 70 >second.jpg
  counts_of first.jpg >first
  counts_of second.jpg >second
  for kind in stereo thumbnail adobe iso apple; do
    python3 "$TESTS/cli/make_frames.py" jpeg first.jpg second.jpg $kind $kind.jpg
    if [ $kind = stereo ]; then cat first second; else cat first; fi >expected
    for how in '' --isolate; do
      # shellcheck disable=SC2086 # a word or none
      {
        counts_of $kind.jpg $how 2>messages | cmp - first || fail "$kind $how"
        [ "$(cat messages)" = "imghist: $kind.jpg: note: only the first of several images was counted" ] || fail "$kind $how"
        counts_of $kind.jpg --frames $how 2>messages | cmp - expected || fail "$kind $how: frames"
        [ ! -s messages ] || fail "$kind $how: a note"
        cat $kind.jpg $kind.jpg second.jpg | counts_of - --frames $how | cmp - <(cat expected expected second) ||
          fail "$kind $how: a stream"
      }
    done
    head -c -2000 $kind.jpg >cut.jpg # the second picture is cut
    [ $kind = stereo ] || counts_of cut.jpg --frames | cmp - first || fail "$kind: cut"
  done
  imghist_output_has '"warnings":["only the first of several images was counted"]' adobe.jpg --ndjson
  { cat first.jpg; head -c 1000 /dev/zero; cat second.jpg; } >preview.jpg # a preview after the end marker
  imghist_ok preview.jpg --csv=stats
  assert_stderr_has "only the first of several images was counted"
  { cat first.jpg; printf 'SEFT other data'; } >trailer.jpg
  imghist_quiet trailer.jpg --csv=stats
}

@test "frames: --region applies to each image" {
  printf 'P5\n3 1\n255\n\x01\x02\x03P5\n2 2\n255\n\x04\x05\x06\x07' >joined
  for how in '' --isolate; do
    # shellcheck disable=SC2086 # words
    filled joined --region=1x1+1+0 $how >actual
    [ "$(cat actual)" = 'joined#1,gray,2,1
joined#2,gray,5,1' ] || fail "other pixels"
  done
  needs python3
  for kind in gif tiff; do
    reads $kind || continue
    for seed in {1..12}; do
      python3 "$TESTS/cli/make_frames.py" $kind a.$kind a.$kind "$seed" part >expected
      filled a.$kind --region=50%x67%+50%+33% >actual
      cmp expected actual || fail "$kind $seed"
    done
  done
}

@test "frames: --mask is that of the input, and must have the size of every image" {
  pgm a.pgm 2 1 '\x01\x02'
  pgm b.pgm 2 1 '\x03\x04'
  pgm c.pgm 1 2 '\x05\x06'
  mkdir masks
  pgm masks/joined 2 1 '\x00\x09'
  cat a.pgm b.pgm c.pgm a.pgm >joined
  for how in --mask=masks --mask=masks/joined '--mask=masks --isolate'; do
    # shellcheck disable=SC2086 # words
    imghist_fails 1 "joined#3: the mask has 2 x 1 pixels, and the image 1 x 2" joined --frames $how --csv=stats
    [ "$(grep ,gray, <<<"$output" | cut -d, -f1,4-6)" = "joined#1,gray,1,2
joined#2,gray,1,4" ] || fail "$how: $output"
  done
}

@test "frames: an input with one image keeps its record" {
  cp "$SAMPLES"/*.{png,jpg} .
  dot a.pgm
  for file in *; do
    "$IMGHIST" "$file" --ndjson --device=cpu >expected
    "$IMGHIST" "$file" --ndjson --device=cpu --frames >actual 2>messages
    cmp expected actual || fail "$file"
    [ ! -s messages ] || fail "$file: messages"
  done
}

@test "frames: raw video with --size" {
  printf '\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c' >video
  imghist_ok video --raw=3 --size=2x1 --frames --csv=long
  [ "$(grep -v -e luma -e ',0$' <<<"$output")" = "file,channel,bin,count
video#1,red,1,1
video#1,red,4,1
video#1,green,2,1
video#1,green,5,1
video#1,blue,3,1
video#1,blue,6,1
video#2,red,7,1
video#2,red,10,1
video#2,green,8,1
video#2,green,11,1
video#2,blue,9,1
video#2,blue,12,1" ] || fail "other counts"
  imghist_output_has '"width":2,"height":1' video --raw=3 --size=2x1 --ndjson
  assert_output_has '"frames":2'
  assert_stderr_has "video: note: only the first of 2 images was counted"
  run --separate-stderr sh -c 'cat video | "$IMGHIST" - --raw=3 --size=2x1 --ndjson'
  assert_stderr_has "note: only the first of several images was counted"
  imghist_quiet video --raw=3 --size=2x2 --ndjson
  imghist_fails 1 "video#2: the file ends after 1 of 3 pixels" video --raw=3 --size=3x1 --frames --csv=images
  assert_output_has "video#1,"
  imghist video --raw=3 --size=3x1 # the size is wrong, or the channels
  assert_refused 1 "video: holds 1.333333333 images of 3 x 1 pixels of 3 channels, which is no whole number"
  imghist_refused 1 "video: holds 1.2 images of 5 x 2 pixels of 1 channels" video --raw=1 --size=5x2
  { cat video; printf 'xx'; } >longer
  imghist_refused 1 "longer: holds 2.333333333 images" longer --raw=3 --size=2x1
  imghist_refused 2 "--size: '0x1' is not a size from 1x1 to" video --raw=3 --size=0x1
  imghist_refused 2 "--size: only for --raw" video --size=2x2
}

@test "frames: a failure ends its input, with its number" {
  dot a.pgm
  { cat a.pgm a.pgm; printf 'P5\n2 1\n255\n\x01'; } >joined
  for how in '' --isolate; do
    # shellcheck disable=SC2086 # words
    imghist joined a.pgm --frames --csv=images --total $how
    assert_fails 1 "joined#3: damaged PNM: the file ends before the image does"
    assert_output_has "joined#1,"
    assert_output_has "joined#2,"
    assert_output_has "joined#3,error,damaged PNM"
    assert_output_has "a.pgm,"
    assert_stderr_has "1 of 4 inputs failed"
  done
  { cat a.pgm; printf 'P5\n200 100\n255\n'; } >large
  imghist_fails 1 "large#2: image too large: 200 x 100 pixels" large --frames --max-pixels=100 --csv=images
  needs python3
  if reads gif; then
    python3 "$TESTS/cli/make_frames.py" gif a.gif a.gif 1 >/dev/null
    size=$(wc -c <a.gif)
    head -c $((size - 1)) a.gif >cut.gif
    imghist_fails 1 "cut.gif#9: damaged GIF: the file ends before the image does" cut.gif --frames --csv=images
    assert_output_has "cut.gif#8,"
  fi
  reads tiff || return 0
  python3 "$TESTS/cli/make_frames.py" tiff a.tif a.tif 2 >/dev/null
  python3 -c '
import struct
b = bytearray(open("a.tif", "rb").read())
struct.pack_into("<I", b, len(b) - 4, struct.unpack_from("<I", b, 4)[0]) # the last page leads to the first
open("loop.tif", "wb").write(b)'
  imghist_fails 1 "loop.tif#2: damaged TIFF: the list of its pages" loop.tif --frames --csv=images
}

@test "frames: what follows an image and is none is a failure, except padding and what a file may end with" {
  dot a.pgm
  printf 'P2\n1 1\n9\n5\n' >b.pgm
  printf 'X5\n1 1\n255\n\x07' >bad
  cp "$SAMPLES/palette.png" c.png
  cp "$SAMPLES/scene.jpg" d.jpg
  for set in 'a.pgm a.pgm bad a.pgm' 'c.png c.png bad c.png' 'd.jpg d.jpg bad d.jpg' 'a.pgm b.pgm bad'; do
    # shellcheck disable=SC2086 # words
    cat $set >joined
    for how in '' --isolate; do
      # shellcheck disable=SC2086 # words
      imghist joined --frames --csv=images $how
      assert_fails 1 "joined#3: what follows the image before is not an image of a known format"
      [ "$(cut -d, -f1,2 <<<"$output" | paste -sd' ')" = "file,status joined#1,ok joined#2,ok joined#3,error" ] || fail "$set $how"
      run --separate-stderr sh -c 'cat joined | "$IMGHIST" - --frames --csv=images "$@"' sh $how
      assert_fails 1 "imghist: -#3: what follows"
    done
  done
  { cat a.pgm; printf X; } >tail.pgm # formats that end with their last byte
  { cat c.png; printf X; } >tail.png
  for file in tail.pgm tail.png; do
    imghist_fails 1 "$file#2: what follows" $file --frames --csv=images
    imghist_ok $file --csv=images
  done
  { cat d.jpg; printf 'a trailer'; } >tail.jpg # cameras write some
  "$IMGHIST" c.png --chart=chart.tga 2>/dev/null # ends with a footer
  for file in tail.jpg chart.tga; do
    for how in '' --isolate; do
      # shellcheck disable=SC2086 # a word or none
      imghist_quiet $file --frames --csv=images $how
      [ "$(cut -d, -f1,2 <<<"$output" | paste -sd' ')" = "file,status $file,ok" ] || fail "$file $how"
    done
  done
  run --separate-stderr sh -c 'cat tail.jpg | "$IMGHIST" - --frames --csv=images'
  assert_fails 1 "-#2: what follows"
  { cat a.pgm; echo; cat b.pgm; printf ' \r\n\t'; cat a.pgm; printf '\0\0'; cat c.png; echo; cat c.png; printf '\0\n'; } >joined
  for how in '' --isolate; do
    # shellcheck disable=SC2086 # words
    run --separate-stderr sh -c 'cat joined | "$IMGHIST" - --frames --csv=images "$@"' sh $how
    assert_status 0
  done
  "$IMGHIST" joined --frames --csv=images >out
  [ "$(wc -l <out)" -eq 6 ]
  { cat a.pgm; head -c 70000 /dev/zero; cat a.pgm; } >joined
  imghist_fails 1 "joined#2: what follows" joined --frames --csv=images
}

@test "frames: many images of several inputs keep their order" {
  needs python3
  python3 -c '
for name, n in (("a", 3000), ("b", 40), ("c", 2), ("d", 700)):
    open(name + ".pnm", "wb").write(b"".join(b"P5\n1 1\n255\n" + bytes([k % 256]) for k in range(n)))'
  "$IMGHIST" -j4 --frames --csv=images {a,b,c,d}.pnm --device=cpu | cut -d, -f1 | tail -n +2 >actual
  for input in 'a 3000' 'b 40' 'c 2' 'd 700'; do
    read -r name n <<<"$input"
    seq -f "$name.pnm#%.0f" "$n"
  done | cmp - actual
  "$IMGHIST" --list | grep -q 'archives:.*libarchive' || return 0
  needs tar
  tar cf all.tar ./?.pnm
  "$IMGHIST" -j4 --frames --csv=images all.tar --device=cpu | cut -d, -f1 | tail -n +2 | sed 's|.*/||' | cmp - actual
}

@test "frames: a reader that stops ends the run, and so does --fail-fast" {
  dot a.pgm
  timeout 60 sh -c 'while cat a.pgm a.pgm a.pgm a.pgm; do :; done 2>/dev/null | "$IMGHIST" - --frames --csv=images --device=cpu | head -n 3' >out
  [ "$(wc -l <out)" -eq 3 ]
  printf 'P5\n1 1\n9\n\377' >bad.pgm
  run --separate-stderr timeout 60 sh -c '{ cat a.pgm bad.pgm; while cat a.pgm; do :; done; } 2>/dev/null | "$IMGHIST" - --frames --fail-fast --csv=images --device=cpu'
  assert_fails 1 "-#2: damaged PNM: a sample of 255 where the maximum is 9"
}
