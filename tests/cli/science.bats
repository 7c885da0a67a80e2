#!/usr/bin/env bats
# FITS from random files whose bins science.py computes, and damaged ones.

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
  random fits 200
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
}
