#!/usr/bin/env bats
# FITS and OpenEXR from random files whose bins science.py computes, and what is refused.

load helpers

reads() { "$IMGHIST" --list | grep "^  $1 " | grep -qv 'not in this build' || skip "no $1 in this build"; }

# random FORMAT N: random files of the format have the expected counts.
random() {
  python3 "$TESTS/cli/science.py" "$1" "$2" 54
  imghist_ok ./*."$1" --bins=native --frames --ndjson -o a.ndjson
  python3 "$TESTS/cli/science.py" check a.ndjson >checked || fail "$(cat checked)"
}

@test "science: FITS of every type, in planes, tables, tiles and several images" {
  reads fits
  random fits 120
}

@test "science: the first image of FITS, and what is not supported" {
  reads fits
  python3 "$TESTS/cli/science.py" fits 60 55
  imghist_ok ./*.fits --bins=native --ndjson -o a.ndjson
  python3 "$TESTS/cli/science.py" check a.ndjson first >checked || fail "$(cat checked)"
  # fits BITPIX: a header of one pixel, and its bytes
  fits() { printf '%-80s%-80s%-80s%-80s%-80s%-2480s%-2880s' "SIMPLE  = T" "BITPIX  = $1" "NAXIS   = 2" "NAXIS1  = 1" "NAXIS2  = 1" END x; }
  for bitpix in 32 64 -64; do
    fits $bitpix >bad.fits
    imghist_refused 1 "bad.fits: FITS with BITPIX $bitpix is not supported: save the image with BITPIX 8, 16 or -32, or read" bad.fits --csv
  done
  fits 8 >a.fits
  imghist_ok a.fits --csv
  for size in 4000 2880 2000 9; do
    head -c "$size" a.fits >bad.fits
    imghist bad.fits --csv
    [ "$status" -eq "$((size < 2881))" ] || fail "$size bytes: $output"
  done
  sed 's/NAXIS1  = 1   /NAXIS1  = 9999/' a.fits >bad.fits
  imghist_refused 1 "bad.fits: damaged FITS: the file ends before its data do" bad.fits --csv
  sed "s/NAXIS   = 2/NAXIS   = 0/" a.fits | head -c 2880 >bad.fits
  imghist_refused 1 "bad.fits: FITS without an image" bad.fits --csv
  sed 's/NAXIS2  = 1/NAXIS2  = 2/' a.fits >b.fits
  imghist_refused 1 "image too large: 1 x 2 pixels" b.fits --csv --max-pixels=1
}

@test "science: rows of FITS begin at the bottom" {
  reads fits
  { printf '%-80s%-80s%-80s%-80s%-80s%-2480s' "SIMPLE  = T" "BITPIX  = 8" "NAXIS   = 2" "NAXIS1  = 2" "NAXIS2  = 2" END; printf '\1\2\3\4'; } >a.fits
  imghist_ok a.fits --region=2x1+0+0 --csv=stats
  [[ $output == *a.fits,2,2,gray,2,7,* ]] || fail "$output"
  head -c -1 a.fits >cut.fits # padding may be missing, but no sample
  imghist_refused 1 "cut.fits: damaged FITS: the file ends before its data do" cut.fits --csv
  python3 "$TESTS/cli/science.py" fits 60 7
  python3 - <<'END'
import glob, re
for name in glob.glob("[0-9]*.fits"):
    data = open(name, "rb").read()
    cards = [data[at : at + 80] for at in range(2880, 8640, 80)]
    number = lambda key: int(next(c[10:30] for c in cards if c.startswith(key)))
    if cards[0].startswith(b"XTENSION= 'BINTABLE'") and any(c.startswith(b"ZIMAGE  =") for c in cards):
        at = 2880 + 80 * next(i for i, c in enumerate(cards) if c.startswith(b"END     "))
        end = (at // 2880 + 1) * 2880 + number(b"NAXIS1") * number(b"NAXIS2") + number(b"PCOUNT")
        open("whole-" + name, "wb").write(data[:end])
        open("short-" + name, "wb").write(data[: end - 1])
END
  [ "$(ls whole-* | wc -l)" -gt 2 ] || fail "$(ls)"
  imghist_ok whole-* --csv -q
  "$IMGHIST" short-* --check -q && fail "counted"
  [ "$("$IMGHIST" short-* --check -q | wc -l)" = "$(ls short-* | wc -l)" ]
}

@test "science: OpenEXR with half and float channels, bands by their names, scan lines, tiles, parts" {
  reads exr
  random exr 120
  imghist_ok ./*.exr --bins=native --ndjson -o a.ndjson
  python3 "$TESTS/cli/science.py" check a.ndjson first >checked || fail "$(cat checked)"
  grep '"not_counted"' a.ndjson | grep '"name":"band' >partly # as notes say, whatever is counted
  [ -s partly ]
  for file in $(sed -n 's/.*"file":"\([^"]*\)".*/\1/p' partly | head -n 3); do
    imghist_ok "$file" --csv
    assert_stderr_has "of each pixel w"
  done
}

@test "science: what of OpenEXR is not supported" {
  reads exr
  # exr NAME TYPE [VERSION [COMPRESSION [SAMPLING]]]: one pixel of one channel, without its samples
  exr() {
    python3 - "$@" <<'END'
import struct, sys
name, kind, version, compression, sampling = (sys.argv[1:] + ["2", "0", "1"][len(sys.argv) - 3 :])[:5]
put = lambda n, t, d: f"{n}\0{t}\0".encode() + struct.pack("<i", len(d)) + d
channel = name.encode() + b"\0" + struct.pack("<i4x2i", int(kind), int(sampling), 1) + b"\0"
head = put("channels", "chlist", channel) + put("compression", "compression", bytes([int(compression)]))
head += put("dataWindow", "box2i", struct.pack("<4i", 0, 0, 1, 0)) + put("displayWindow", "box2i", bytes(16))
head += put("lineOrder", "lineOrder", b"\0") + put("pixelAspectRatio", "float", struct.pack("<f", 1))
head += put("screenWindowCenter", "v2f", bytes(8)) + put("screenWindowWidth", "float", struct.pack("<f", 1)) + b"\0"
start = struct.pack("<2I", 20000630, int(version)) + head
chunk = struct.pack("<2i", 0, 8) + bytes(8)
open("a.exr", "wb").write(start + struct.pack("<Q", len(start) + 8) + chunk)
END
  }
  exr Y 2
  imghist_ok a.exr --csv
  exr Y 0
  imghist_refused 1 "OpenEXR whose channel Y has 32-bit integers is not supported: save it as half or float" a.exr --csv
  exr depth.Z 2
  imghist_ok a.exr --ndjson
  [[ $output == *'{"name":"band1","name_in_file":"depth.Z",'* ]] || fail "$output"
  exr object.id 0
  imghist_refused 1 "OpenEXR whose channel object.id has 32-bit integers is not supported: save it as half or float" a.exr --csv
  exr Y 2 2 0 2
  imghist_refused 1 "OpenEXR whose channel Y is subsampled is not supported" a.exr --csv
  for other in "3 0" "2 99"; do
    # shellcheck disable=SC2086 # two arguments
    exr Y 2 $other
    imghist_refused 1 "OpenEXR that is not supported by OpenEXR" a.exr --csv
  done
  if "$IMGHIST" --list | grep -q '^  exr .*OpenEXR 3\.[0-2]\.'; then
    local names=([6]=B44 [7]=B44A [8]=DWAA [9]=DWAB)
    for other in 6 7 8 9; do
      exr Y 2 2 $other
      imghist_refused 1 "OpenEXR with ${names[$other]} compression needs OpenEXR 3.3 or later, and this is 3." a.exr --csv
    done
  fi
  exr Y 2
  for size in 20 200 300; do
    head -c "$size" a.exr >bad.exr
    imghist_refused 1 "bad.exr: damaged OpenEXR: " bad.exr --csv
  done
}

@test "science: BLANK of FITS is nodata, unless --nodata says otherwise" {
  reads fits
  # blank CARD: a header of 16 bits with BLANK 2, and the pixels 1, 2, 2, 700
  blank() {
    printf '%-80s%-80s%-80s%-80s%-80s%-80s%-80s%-2320s\0\1\0\2\0\2\2\274' "SIMPLE  = T" "BITPIX  = 16" "NAXIS   = 1" "NAXIS1  = 4" \
      "BLANK   = 2" "$1" COMMENT END >a.fits
  }
  # has FRAGMENT ARG...: the record has this text.
  has() {
    imghist_ok a.fits --ndjson "${@:2}"
    [[ $output == *"$1"* ]] || fail "no $1 in $output"
  }
  blank COMMENT
  has '"count":2,"sum":701,'
  has '"nodata":2'
  has '"count":4,"sum":705,' --nodata=none
  has '"count":3,"sum":704,' --nodata=1
  blank "BZERO   = 32768"
  has '"nodata":2' --bins=native
  has '"sum":66237,' --bins=native # 1 and 700
  has '"sum":258,'                 # round(v * 255 / 65535)
  blank "BSCALE  = 0.5"
  has '"nodata":2'
  has '"mean":175.25,'
  has '"nodata":1' --nodata=0.5
  blank "BZERO   = 1e30" # equal floats
  has '"nan":2'
}
