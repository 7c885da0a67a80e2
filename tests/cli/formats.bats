#!/usr/bin/env bats
# Counts a tiny file of each kind in tests/formats/files. Independent readers produced the expected counts in
# tests/formats/expected.tsv: see tests/formats/expected.py.

load helpers

FILES=$TESTS/formats/files

# here FORMAT: succeeds if this build decodes it.
here() { "$IMGHIST" --list | sed -n '/^formats:/,/^outputs:/p' | grep -qE "^  $1 +[^ ]" && ! missing "$1"; }

missing() { "$IMGHIST" --list | grep -qE "^  $1 +not in this build \("; }

# counted FILE...: prints FILE CHANNEL=VALUE:N,... for each file like the table, without luma.
counted() {
  (cd "$FILES" && "$IMGHIST" --device=cpu --csv=long "$@") | awk -F, '
    NR == 1 || $2 == "luma" || $4 == 0 { next }
    $1 != file { if (file != "") print line; file = $1; line = $1; channel = "" }
    $2 != channel { line = line " " $2 "="; channel = $2; separator = "" }
    { line = line separator $3 ":" $4; separator = "," }
    END { if (file != "") print line }'
}

# expected PREFIX: prints the same for the files of the table that start with PREFIX.
expected() { awk -F'\t' -v prefix="$1" 'NR > 1 && index($1, prefix) == 1 { print $1 " " $6 }' "$TESTS/formats/expected.tsv"; }

# agree FORMAT PREFIX...: checks that the files have the counts of the table.
agree() {
  local format=$1 prefix
  shift
  here "$format" || skip "$format is not in this build"
  for prefix in "$@"; do
    expected "$prefix" >expected
    [ -s expected ] || fail "no file in the table starts with $prefix"
    mapfile -t names < <(cut -d' ' -f1 expected)
    counted "${names[@]}" >actual
    diff expected actual
  done
}

@test "formats: BMP" { agree bmp bmp-; }
@test "formats: TGA" { agree tga tga-; }
@test "formats: PSD" { agree psd psd-; }
@test "formats: PNM" { agree pnm pnm-; }
@test "formats: GIF" { agree gif gif; }
@test "formats: TIFF" { agree tiff tiff-; }
@test "formats: WebP, lossless" { agree webp webp-lossless webp-animated; }
@test "formats: JPEG XL, lossless" { agree jxl jxl-lossless; }
@test "formats: JPEG 2000, lossless" { agree jp2 jp2-; }
@test "formats: QOI" { agree qoi qoi-; }
@test "formats: NPY" { agree npy npy-; }
@test "formats: Radiance HDR" { agree hdr hdr; }
# The files of both orders hold the same array, so each part of the image has the same counts.
@test "formats: NPY in Fortran's order has its pixels in their places, and NPZ is an archive" {
  for pair in rgb:fortran 16-little:fortran-16-little 16-big:fortran-16-big; do
    for region in 9x5+0+0 1x1+8+0 4x2+3+2; do
      for file in "npy-${pair%:*}" "npy-${pair#*:}"; do
        "$IMGHIST" "$FILES/$file.npy" --region=$region --bins=native --device=cpu --csv=long | cut -d, -f2- >"$file.csv"
        [ "$(wc -l <"$file.csv")" -gt 1 ]
      done
      cmp "npy-${pair%:*}.csv" "npy-${pair#*:}.csv"
    done
  done
  needs python3
  "$IMGHIST" --list | grep -q '^  archives: .*libarchive [0-9]' || skip "no libarchive in this build"
  mkdir d
  python3 -c "import sys, zipfile
with zipfile.ZipFile('d/a.npz', 'w') as archive:
    for name in ('rgb', '16-big'):
        archive.write('$FILES/npy-%s.npy' % name, name + '.npy')"
  imghist_ok d --csv=stats --device=cpu
  [ "$(cut -d, -f1,4,6 <<<"$output" | sed 1d)" = "$("$IMGHIST" "$FILES"/npy-{rgb,16-big}.npy --device=cpu --csv=stats |
    cut -d, -f1,4,6 | sed "1d; s|^.*/npy-|d/a.npz/|")" ]
}

@test "formats: ICO and CUR" { agree ico ico-; }

# Prints lines of FILE BITS: the bits of a sample in the file, or of a palette index.
depths() {
  cat <<'END'
avif-12.avif 12
avif.avif 8
heic-10.heic 10
jxl-lossless.jxl 8
tiff-gray-1.tif 1
tiff-gray-12.tif 12
tiff-palette-4.tif 4
tiff-rgb-16.tif 16
npy-16-big.npy 16
npy-bool.npy 1
npy-rgb.npy 8
pnm-p1.pbm 1
pnm-p2.pgm 8
pnm-p6-16.ppm 16
psd-bitmap.psd 1
psd-rgb-16.psd 16
bmp-4-windows.bmp 4
bmp-16-555.bmp 5
bmp-16-565.bmp 6
bmp-24-windows.bmp 8
bmp-32.bmp 8
tga-15.tga 5
tga-16-runs.tga 5
tga-24.tga 8
tga-gray-alpha.tga 8
gif.gif 8
jp2-rgb.jp2 8
qoi-4.qoi 8
hdr.hdr 32
ico-4.ico 4
webp-lossy.webp 8
END
}

@test "formats: source_depth is the depth of the file, not the 8 bits that are counted" {
  local -A format_of=([avif]=heif [heic]=heif [tif]=tiff [pbm]=pnm [pgm]=pnm [ppm]=pnm)
  n=0
  while read -r name bits; do
    ending=${name##*.}
    here "${format_of[$ending]:-$ending}" || continue
    n=$((n + 1))
    is=$("$IMGHIST" --device=cpu --ndjson "$FILES/$name" | jq .source_depth)
    [ "$is" = "$bits" ] || fail "$name: $is bits, not $bits"
  done < <(depths)
  [ "$n" -gt 10 ]
}

# The pixels of a lossy file depend on the library: these counts are exact only with the version that wrote the table.
@test "formats: WebP, lossy" { agree webp webp-lossy; }

# close_to_table FORMAT PREFIX: checks that the mean of each channel is within 2 of the table.
close_to_table() {
  here "$1" || skip "$1 is not in this build"
  expected "$2" | while read -r name channels; do
    for channel in $channels; do
      want=$(tr ',' '\n' <<<"${channel#*=}" | awk -F: '{ sum += $1 * $2; n += $2 } END { print sum / n }')
      is=$("$IMGHIST" --device=cpu --csv=stats "$FILES/$name" |
        awk -F, -v channel="${channel%%=*}" '$4 == channel { print $7 }')
      awk -v a="$want" -v b="$is" 'BEGIN { exit !(b != "" && a - b < 2 && b - a < 2) }' ||
        { echo "$name ${channel%%=*}: mean $is, not $want"; exit 1; }
    done
  done
}

@test "formats: HEIC" { close_to_table heif heic; }
@test "formats: AVIF" { close_to_table heif avif; }
@test "formats: JPEG XL, lossy" { close_to_table jxl jxl-lossy; }

# libde265 leaves blocks of these unwritten. With 10 bits a sample has two bytes; both fills of new memory must lie below the
# largest sample, or both are clamped to it and look alike.
@test "formats: HEIC of 10 bits whose blocks are missing is damaged" {
  here heif || skip "heif is not in this build"
  ! grep -aq __asan_init "$IMGHIST" || skip "the sanitizer fills new memory itself"
  while read -r at byte; do
    cp "$FILES/heic-10.heic" damaged.heic
    printf %b "$byte" | dd of=damaged.heic bs=1 seek="$at" conv=notrunc status=none
    imghist_refused 1 "damaged HEIF: " --csv damaged.heic
  done <<'END'
468 \x98
544 \x3B
623 \xF8
END
}

# ---- boxes of HEIF: the same coded images with other properties, references and tracks ----

boxes() {
  here heif || skip "heif is not in this build"
  needs python3
  python3 "$TESTS/cli/make_boxes.py" boxes
  FILES=boxes
  counted plain.avif | grep -q . || skip "libheif has no AV1 decoder"
}

# The files of make_boxes.py and their pixels in each half of 64 x 64: SIZE, then alpha in its four bands. avifdec 0.11.1 and
# Pillow 13 count all of them so, except that Pillow leaves the crop out, and avifdec does not read size-0.
sound() {
  cat <<'END'
alpha 64x64 16:1024,100:1024,235:1024,250:1024
alpha-limited 64x64 0:1024,98:1024,255:2048
alpha-limited-grid 128x64 0:2048,98:2048,255:4096
alpha-limited-sequence 64x64 0:1024,98:1024,255:2048
cropped-first 40x64
depth 64x64
depth-unknown 64x64
describes-1 64x64
describes-2 64x64
describes-alone 64x64
describes-hidden 64x64
describes-many 64x64
describes-missing 64x64
describes-nothing 64x64
describes-outside 64x64
describes-parts 128x64
describes-region 64x64
describes-some 64x64
describes-twice 64x64
describes-two-boxes 64x64
describes-uri 64x64
describes-xmp 64x64
descriptions 64x64
layer-0 64x64
not-essential 64x64
other-unknown 64x64
plain 64x64
rotated-first 64x128
size-0 64x64 16:1024,100:1024,235:1024,250:1024
END
}

@test "formats: HEIF boxes that change no sample, or whose change is applied" {
  boxes
  sound | while read -r name size alpha; do
    n=$((${size%x*} * ${size#*x} / 2))
    echo "$name.avif red=10:$n,200:$n green=30:$n,220:$n blue=90:$n,130:$n${alpha:+ alpha=$alpha}"
    [ "$("$IMGHIST" --device=cpu --csv=images "boxes/$name.avif" | awk -F, 'END { print $5 "x" $6 }')" = "$size" ] ||
      echo "$name: not $size"
  done >expected
  mapfile -t names < <(cut -d' ' -f1 expected)
  counted "${names[@]}" >actual
  diff expected actual
  # 10 bits: expanded to 10 bits first, then reduced, as avifdec and Pillow do
  counted alpha-limited-10.avif | grep -q ' alpha=0:1024,127:1024,255:2048$'
}

# avifdec, Pillow and libheif 1.23 refuse them too, or leave alpha or the selection out.
@test "formats: HEIF boxes that must be applied and are not are refused by name" {
  boxes
  while read -r name words; do
    imghist_refused 1 "imghist: boxes/$name.avif: HEIF with $words" --csv=long -q "boxes/$name.avif"
  done <<'END'
unknown the essential property 'zzzz' is not supported
unknown-alpha the essential property 'zzzz' is not supported
unknown-tile the essential property 'zzzz' is not supported
unknown-alpha-tile the essential property 'zzzz' is not supported
required the essential property 'rref' is not supported
scaled the essential property 'iscl' is not supported
layer-1 the essential property 'lsel' is not supported
point-1 the essential property 'a1op' is not supported
alpha-of-tiles alpha of its parts instead of the image is not supported
END
}

@test "formats: HEIF that another libheif may read is not called damaged" {
  boxes
  counted plain.avif >expected
  for name in uncompressed unconfigured same describes-itself; do
    imghist --csv "boxes/$name.avif"
    if [ "$status" -eq 0 ]; then
      counted "$name.avif" | sed s/^[^\ ]*/plain.avif/ | diff expected -
    else
      assert_fails 1 "imghist: boxes/$name.avif: HEIF that is not supported by libheif "
    fi
  done
  ! [[ $("$IMGHIST" --list) == *"libheif 1.1"[57].* ]] || imghist_fails 1 "an image of the type 'unci'" boxes/uncompressed.avif
  imghist_fails 1 "imghist: boxes/no-primary.avif: damaged HEIF: " --csv boxes/no-primary.avif
}

@test "formats: HEIF that ends inside the box of its bytes is damaged, even if only metadata is missing" {
  boxes
  head -c -20 boxes/describes-cut.avif >cut.avif
  imghist_refused 1 "imghist: cut.avif: damaged HEIF: the file ends inside its box 'mdat'" --csv cut.avif
  FILES=.
  { cat boxes/describes-cut.avif && printf %064d 0; } >longer.avif # what follows is no box
  counted boxes/describes-cut.avif longer.avif | cut -d' ' -f2- | uniq -c | grep -q '^ *2 red='
}

# Values and reasons: make_colours.py.
@test "formats: colours of HEIF are converted as the box or the codec states them, or refused by name" {
  boxes
  python3 "$TESTS/cli/make_colours.py" write colours
  "$IMGHIST" --device=cpu -q --ndjson colours >records 2>err || true
  ! grep -q 'no decoder' err || skip "libheif has no HEVC decoder"
  python3 "$TESTS/cli/make_colours.py" check colours <records
}

# libheif calls the lack of memory damage, or an unsupported conversion of colours, or crashes. The program itself takes 20 to
# 80 MB, according to the libraries.
@test "formats: HEIF without enough memory says so" {
  boxes
  ! is_emulated && ! grep -aq __asan_init "$IMGHIST" || skip "no limit of the address space"
  for kilobytes in 80000 100000 120000 150000 200000 300000 1000000; do
    (ulimit -v $kilobytes && "$IMGHIST" --csv -j1 --device=cpu boxes/large.avif >out 2>err) && echo counted || cat err
  done | uniq >actual
  printf '%s\n' 'imghist: boxes/large.avif: out of memory' counted | diff - actual
}

@test "formats: a thumbnail, depth and a gain map are no frames of HEIF" {
  boxes
  "$IMGHIST" --device=cpu --frames --csv=images boxes/frames.avif | cut -d, -f1,2 >actual
  printf '%s\n' file,status 'boxes/frames.avif#1,ok' 'boxes/frames.avif#2,ok' | diff - actual
  [ "$("$IMGHIST" --device=cpu --ndjson boxes/frames.avif | jq .frames)" -eq 2 ]
  "$IMGHIST" --device=cpu --frames --csv=images boxes/frame-unknown.avif 2>/dev/null >actual || true
  grep -q "^boxes/frame-unknown.avif#2,error,HEIF with the essential property 'zzzz' is not supported," actual
}

@test "formats: every file has a line in the table" {
  diff <(cd "$FILES" && printf '%s\n' *) <(cut -f1 "$TESTS/formats/expected.tsv" | sed 1d | LC_ALL=C sort)
}

# An image that this build cannot decode is an error that names the missing library, also in a directory walk.
@test "formats: the error for a format that is not in this build says so" {
  local -A example=([webp]=webp-lossy.webp [tiff]=tiff-rgb.tif [gif]=gif.gif [heif]=avif.avif [jxl]=jxl-lossy.jxl
    [jp2]=jp2-rgb.jp2)
  local format n=0
  for format in "${!example[@]}"; do
    missing "$format" || continue
    n=$((n + 1))
    mkdir -p "$format"
    cp "$FILES/${example[$format]}" "$format/"
    imghist_fails 1 "cannot decode $format: not in this build (" --csv "$format/"
  done
  [ "$n" -gt 0 ] || skip "every format is in this build"
}
