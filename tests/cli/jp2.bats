#!/usr/bin/env bats
# JPEG 2000 files of opj_compress, compared with opj_decompress (which shares the library, but not the conversion to
# 8-bit pixels) and with Pillow.

load helpers

has_jp2() { "$IMGHIST" --list | grep -q '^  jp2 .*OpenJPEG [0-9]' || skip "no OpenJPEG in this build"; }

# counts FILE: all bins, without the name.
counts() { "$IMGHIST" "$1" --csv=long --device=cpu | cut -d, -f2-; }

# assert_same FILE: has the counts of what opj_decompress makes of it. PNM holds 8 or 16 bits.
assert_same() {
  opj_decompress -i "$1" -o "$1.${2:-ppm}" >log 2>&1 || fail "opj_decompress: $(cat log)"
  counts "$1" >actual
  counts "$1.${2:-ppm}" >expected
  diff -q expected actual || fail "$1: other counts than opj_decompress"
  n=$((n + 1))
}

@test "jp2: the counts of opj_decompress, lossless and lossy" {
  has_jp2
  needs opj_compress opj_decompress
  n=0
  png=$SAMPLES/scene.png
  for options in "" "-r 10" "-r 40,20,5 -p RPCL" "-t 100,70" "-t 64,64 -TP R -r 8" "-b 16,16 -n 3 -I -r 4" "-M 63" \
    "-d 33,17 -r 12" "-SOP -EPH"; do
    ! is_emulated || [[ $options != *-r* ]] || continue # another machine rounds lossy files in another way
    # shellcheck disable=SC2086 # options are words
    opj_compress -i "$png" -o a.jp2 $options >log 2>&1 || fail "opj_compress: $(cat log)"
    assert_same a.jp2
    # shellcheck disable=SC2086
    opj_compress -i "$png" -o a.j2k $options >log 2>&1
    assert_same a.j2k
  done
  [ "$n" -eq 18 ] || is_emulated
  opj_compress -i "$SAMPLES/gray16.png" -o gray.jp2 >log 2>&1
  assert_same gray.jp2 pgm
  # lossless: also the counts of the PNG itself
  opj_compress -i "$png" -o a.jp2 >log 2>&1
  counts "$png" >expected
  counts a.jp2 | diff -q expected -
}

# Every pair of 8-bit chroma values with one Y, so that every rounding of the conversion occurs.
@test "jp2: YCbCr is converted like in opj_decompress" {
  has_jp2
  needs opj_compress opj_decompress python3
  python3 -c '
n = 256
open("a.raw", "wb").write(bytes((x * 5 + y * 3) % 256 for y in range(n) for x in range(2 * n)) +
                          bytes(x for y in range(n) for x in range(n)) + bytes(y for y in range(n) for x in range(n)))
open("b.raw", "wb").write(bytes((x * 5 + y * 3) % 256 for y in range(33) for x in range(51)) +
                          bytes((x * 7 + y) % 256 for y in range(17) for x in range(26)) * 2)'
  n=0
  opj_compress -i a.raw -F 512,256,3,8,u@1x1:2x1:2x1 -mct 0 -o a.jp2 >log 2>&1 || fail "$(cat log)"
  assert_same a.jp2
  opj_compress -i b.raw -F 51,33,3,8,u@1x1:2x2:2x2 -mct 0 -o b.jp2 >log 2>&1 || fail "$(cat log)"
  assert_same b.jp2
}

@test "jp2: the counts of Pillow" {
  has_jp2
  /usr/bin/python3 -c 'from PIL import features; exit(not features.check("jpg_2000"))' 2>/dev/null || skip "no Pillow"
  /usr/bin/python3 -c '
from PIL import Image
image = Image.open("'"$SAMPLES"'/scene.png").convert("RGB")
alpha = image.convert("L").point(lambda v: 255 - v)
rgba = image.copy()
rgba.putalpha(alpha)
gray = image.convert("L")
la = gray.copy()
la.putalpha(alpha)
for name, picture in (("rgb", image), ("rgba", rgba), ("gray", gray), ("la", la)):
    for ending in ("jp2", "j2k"):
        picture.save(f"{name}.{ending}")
        picture.save(f"{name}-lossy.{ending}", quality_layers=[20])
        for kind in ("", "-lossy"):
            Image.open(f"{name}{kind}.{ending}").save(f"{name}{kind}.{ending}.png")'
  n=0
  for file in *.jp2 *.j2k; do
    counts "$file" >actual
    counts "$file.png" >expected
    diff -q expected actual || fail "$file: other counts than Pillow"
    n=$((n + 1))
  done
  [ "$n" -eq 16 ]
}

@test "jp2: a lack of memory is no damage" {
  has_jp2
  needs opj_compress
  ! is_emulated && ! grep -aq __asan_init "$IMGHIST" || skip "no limit of the address space"
  head -c 25000000 /dev/zero >a.raw
  opj_compress -i a.raw -F 5000,5000,1,8,u -o a.jp2 >log 2>&1 || fail "$(cat log)"
  ulimit -v 60000
  imghist_refused 1 "imghist: a.jp2: out of memory" --csv -j1 --device=cpu a.jp2
}

@test "jp2: a file that is cut anywhere is an error" {
  has_jp2
  needs opj_compress
  mkdir cut
  opj_compress -i "$SAMPLES/palette.png" -o a.jp2 -r 20 -t 100,100 -TP R >log 2>&1
  size=$(wc -c <a.jp2)
  for ((at = 1; at < size; at += 1 + size / 150)); do head -c $at a.jp2 >cut/$at; done
  head -c $((size - 1)) a.jp2 >cut/last
  imghist_ok a.jp2 --csv=stats
  imghist_status 1 cut --csv=stats
  assert_output ""
}
