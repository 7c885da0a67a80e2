#!/usr/bin/env bats
# Formats that imghist recognises but does not read. Other programs write the files.

load helpers

# names FILE NAME: the file is refused with a message that names its format and says what to do.
assert_names() {
  [ -s "$1" ] || fail "$1 was not written"
  imghist_refused 1 "imghist: $1: cannot decode: $2 is not supported: " "$1" --csv
  n=$((n + 1))
}

@test "recognise: files that ffmpeg writes" {
  needs ffmpeg
  n=0
  ppm a.ppm 16 16 "$(printf '\\x%02x' {1..255} {1..255} {1..255} 1 2 3)"
  local ending name
  while read -r ending name; do
    ffmpeg -v quiet -y -i a.ppm "a.$ending" </dev/null || continue # an encoder may be left out of this ffmpeg
    assert_names "a.$ending" "$name"
  done <<'END'
dpx DPX
sgi SGI
pcx PCX
sun Sun raster
mp4 a video (MP4)
mov a video (QuickTime)
3gp a video (3GP)
mkv a video (Matroska)
webm a video (Matroska)
avi a video (AVI)
flv a video (FLV)
mpg a video (MPEG)
wmv a video (WMV)
END
  [ "$n" -ge 8 ] || fail "only $n formats"
}

@test "recognise: files that Pillow writes" {
  /usr/bin/python3 -c 'import PIL' 2>/dev/null || skip "no Pillow"
  n=0
  /usr/bin/python3 -c '
from PIL import Image
for ending in ("pdf", "eps", "dds", "icns"):
    Image.linear_gradient("L").convert("RGBA" if ending in ("dds", "icns") else "RGB").save("a." + ending)'
  assert_names a.pdf PDF
  assert_names a.eps PostScript
  assert_names a.dds DDS
  assert_names a.icns ICNS
}

@test "recognise: a chart, and a web page named like a photo" {
  dot a.pgm
  "$IMGHIST" a.pgm --chart=a.svg
  n=0
  assert_names a.svg SVG
  printf '<!DOCTYPE html>\n<html><title>Not found</title></html>\n' >a.jpg
  assert_names a.jpg HTML
  assert_stderr_has "download the image again"
}

@test "recognise: a directory walk skips and counts them" {
  dot d/a.pgm
  printf '%%PDF-1.4\n' >d/b.pdf
  printf '<html>' >d/c.html
  printf 'II*\0\x10\0\0\0CR\2\0' >d/d.cr2
  # a DNG: one directory whose first entry is the version
  printf 'II*\0\10\0\0\0\1\0\x12\xc6\1\0\4\0\0\0\1\4\0\0\0\0\0\0' >d/e.dng
  imghist_ok d --csv=stats -v
  assert_stderr_has "1 done, 0 failed, 4 skipped"
  for file in d/d.cr2 d/e.dng; do
    imghist_refused 1 "cannot decode: camera raw (" "$file" --csv
  done
}

@test "recognise: an unknown format is an error that points to --list and --raw" {
  echo text >a
  imghist_refused 1 "not an image of a known format (--list shows the formats, --raw reads bare samples)" a --csv
}
