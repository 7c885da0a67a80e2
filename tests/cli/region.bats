#!/usr/bin/env bats
# --region and --mask: counting a part of each image.

load helpers

# stats ARG...: the columns channel, count and sum.
stats() {
  imghist_ok --csv=stats "$@"
  output=$(tail -n +2 <<<"$output" | cut -d, -f4-6 | tr '\n' ' ')
}

# 4 x 3 pixels: 1 2 3 4, 5 6 7 8, 9 10 11 12
numbers() { pgm "$1" 4 3 '\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C'; }

@test "region: percentages of small images that are less than a pixel" {
  pgm a.pgm 83 61 "$(printf '\\x%02x' {1..83})$(printf '%0.s\\x00' {1..4980})"
  imghist a.pgm --region=1%x1%+0+0
  assert_refused 1 "a.pgm: the region 1%x1%+0+0 does not lie in the image of 83 x 61 pixels: its percentage is less than a pixel"
  imghist a.pgm --region=2%x1%+0+0
  assert_refused 1 "does not lie in the image of 83 x 61 pixels: its percentage is less than a pixel"
  imghist_ok a.pgm --region=2%x2%+0+0 --csv=long
  [ "$(grep ',luma,' <<<"$output" | awk -F, '{ n += $4 } END { print n }')" -eq 1 ]
  imghist a.pgm --region=1%x1%+83+0
  assert_refused 1 "a.pgm: the region 1%x1%+83+0 does not lie in the image of 83 x 61 pixels"
  refute_stderr_has "less than a pixel"
}

@test "region: 200 images in every order of pixels have the counts of NumPy" {
  /usr/bin/python3 -c 'import numpy, PIL' 2>/dev/null || skip "no NumPy or Pillow"
  run /usr/bin/python3 "$TESTS/cli/regions.py" "$IMGHIST"
  assert_status 0
  assert_output "224 images, 1118 comparisons"
}

@test "region: the same on a GPU" {
  has_gpu || skip "no GPU"
  /usr/bin/python3 -c 'import numpy, PIL' 2>/dev/null || skip "no NumPy or Pillow"
  run /usr/bin/python3 "$TESTS/cli/regions.py" "$IMGHIST" cuda
  assert_status 0
  assert_output "224 images, 922 comparisons"
}

@test "region: pixels and percent" {
  numbers a.pgm
  stats --region=2x1+1+2 a.pgm
  assert_output "gray,2,21 luma,2,21 "
  stats --region=4x3+0+0 a.pgm
  assert_output "gray,12,78 luma,12,78 "
  stats --region=50%x34%+50%+0 a.pgm # rows 0 to 1.02
  assert_output "gray,2,7 luma,2,7 "
  stats --region=1x100%+3+0% a.pgm
  assert_output "gray,3,24 luma,3,24 "
}

@test "region: neighbours in percent share no pixel and leave none out" {
  numbers a.pgm
  for percent in 25 26 49 50 51 74 75 99; do
    stats --region=$percent%x100%+0%+0% a.pgm
    left=$output
    stats --region=$((100 - percent))%x100%+$percent%+0% a.pgm
    [ "$(awk -F'[, ]' '{ n += $2; sum += $3 } END { print n, sum }' <<<"$left
$output")" = "12 78" ] || fail "$percent %"
  done
}

@test "region: not in the image, or without pixels there, fails the input" {
  numbers a.pgm
  dot b.pgm
  for region in 5x1+0+0 1x4+0+0 1x1+4+0 1x1+0+3 2x1+3+0 1099511627776x1+0+0 50%x1+3+0; do
    imghist_refused 1 "a.pgm: the region $region does not lie in the image of 4 x 3 pixels" --region=$region a.pgm
  done
  imghist --region=50%x50%+0+0 b.pgm a.pgm --csv=stats
  assert_fails 1 "b.pgm: the region 50%x50%+0+0 does not lie in the image of 1 x 1 pixels"
  assert_output_has "a.pgm,4,3,gray,2,3,"
}

@test "region: wrong usage" {
  numbers a.pgm
  for region in "" 1x1 1x1+0 x1+0+0 1x1+0+0+ -1x1+0+0 1x1-1-1 1.5x1+0+0 101%x1+0+0 " 1x1+0+0" 1X1+0+0 \
    1099511627777x1+0+0 99999999999999999999x1+0+0; do
    imghist_refused 2 "--region: '$region' is not WxH+X+Y, in pixels or percent" "--region=$region" a.pgm
  done
  imghist_refused 2 "--region: '0x1+0+0' has no pixels" --region=0x1+0+0 a.pgm
  imghist_refused 2 "--region: '51%x1+50%+0' ends outside the image" --region=51%x1+50%+0 a.pgm
  for option in --region=1x1+0+0 --mask=a.pgm; do
    imghist_refused 2 "cannot be used with --raw: raw samples have no width and height" $option --raw=1 a.pgm
    imghist_refused 2 "--jpeg=gpu: cannot be used with ${option%%=*}" $option --jpeg=gpu a.pgm
  done
}

@test "region: a mask selects where it is not 0, within the region" {
  numbers a.pgm
  pgm mask.pgm 4 3 '\x00\x01\x00\xFF\x00\x00\x80\x00\x02\x00\x00\x00'
  stats --mask=mask.pgm a.pgm
  assert_output "gray,4,22 luma,4,22 "
  stats --mask=mask.pgm --region=3x2+1+0 a.pgm
  assert_output "gray,3,13 luma,3,13 "
  imghist_refused 1 "a.pgm: the mask selects no pixel of the region" --mask=mask.pgm --region=1x1+0+0 a.pgm
  printf 'P1 4 3 1000 0000 0001' >mask.pbm # 1 is black
  stats --mask=mask.pbm a.pgm
  assert_output "gray,10,65 luma,10,65 "
}

@test "region: transparent pixels of a region are skipped after it" {
  pam a.pam 3 1 2 '\x0A\x00\x14\x01\x1E\xFF'
  stats --region=2x1+0+0 a.pam
  assert_output "gray,2,30 alpha,2,1 luma,2,30 "
  stats --region=2x1+0+0 --alpha=skip-transparent a.pam
  assert_output "gray,1,20 alpha,1,1 luma,1,20 "
}

@test "region: masks of one name are told apart by what they count" {
  numbers a.pgm
  mkdir masks
  pgm m.pgm 4 3 '\x00\x01\x02\x03\x00\x05\x06\x07\x08\x09\x0a\x0b'
  "$IMGHIST" --mask=m.pgm a.pgm --ndjson -o 1.ndjson
  pgm m.pgm 4 3 '\x00\x09\x09\x09\x00\x09\x09\x09\x09\x09\x09\x09' # counts the same pixels
  "$IMGHIST" --mask=m.pgm a.pgm --ndjson -o 2.ndjson
  cmp 1.ndjson 2.ndjson
  "$IMGHIST" --mask=m.pgm a.pgm --ndjson --total-only -o total.ndjson
  pgm m.pgm 4 3 '\x00\x01\x02\x03\x01\x05\x06\x07\x08\x09\x0a\x0b'
  "$IMGHIST" --mask=m.pgm a.pgm --ndjson -o 3.ndjson
  grep -q '"mask":"m.pgm","mask_hash":"[0-9a-f]\{16\}",' 3.ndjson
  imghist_ok 1.ndjson 2.ndjson --total --csv
  for first in 1.ndjson total.ndjson; do
    imghist_refused 2 "3.ndjson: counted with another mask of the same name, m.pgm" $first 3.ndjson --total-only --csv
  done
  imghist --mask=m.pgm 1.ndjson a.pgm --total-only --csv
  assert_refused 2 "a.pgm: counted with another mask of the same name, m.pgm"
  cp m.pgm masks/a.pgm
  imghist_ok --mask=masks a.pgm --ndjson # each image has its own
  refute_output_has mask_hash
  sed 's/"mask_hash":"./"mask_hash":"g/' 1.ndjson >bad.ndjson
  imghist_status 1 bad.ndjson --csv
}

@test "region: masks that do not fit fail the input, or the run" {
  numbers a.pgm
  dot small.pgm
  ppm colour.ppm 4 3 "$(printf '\\x01%.0s' {1..36})"
  printf 'P5 4 3 65535\n%024d' 0 >deep.pgm
  printf 'P5 4 3 255\n123' >short.pgm
  imghist_refused 1 "a.pgm: the mask has 1 x 1 pixels, and the image 4 x 3" --mask=small.pgm a.pgm
  imghist_refused 1 "mask colour.ppm: it is not gray, but has 3 channels; convert it to gray" --mask=colour.ppm a.pgm
  imghist_refused 1 "convert it to gray" --mask="$SAMPLES/palette.png" a.pgm
  pgm black.pgm 4 3 '\0\0\0\0\0\0\0\0\0\0\0\0'
  imghist_refused 1 "a.pgm: the mask selects no pixel of the image" --mask=black.pgm a.pgm --fail-if 'mean_luma > 5'
  if command -v cjpeg >/dev/null; then # noise around the edges of a mask would be counted
    cjpeg black.pgm >lossy.jpg
    imghist_refused 1 "mask lossy.jpg: JPEG does not keep its zeros; save the mask as PNG" --mask=lossy.jpg a.pgm
  fi
  imghist_refused 1 "mask deep.pgm: it has 16 bits a sample; masks have 8 or fewer" --mask=deep.pgm a.pgm
  imghist_refused 1 "mask short.pgm: " --mask=short.pgm a.pgm
  imghist_refused 1 "mask missing.png: cannot open: No such file or directory" --mask=missing.png a.pgm
  imghist_refused 2 "--mask: longer than 255 bytes" --mask="$(printf '%256s' x)" a.pgm
  cp small.pgm drawn.png
  imghist_refused 2 "drawn.png: is both an input and the output file" --mask=drawn.png a.pgm --chart=drawn.png
  cmp small.pgm drawn.png
}

@test "region: a folder of masks, by name below the named folder and in archives" {
  mkdir -p photos/day masks/day
  for name in photos/1.pgm photos/day/1.pgm photos/day/2.pgm; do numbers $name; done
  echo text >photos/notes.txt # not an image: skipped without a look at its mask
  pgm masks/1.pgm 4 3 '\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'
  pgm masks/day/1.pgm 4 3 '\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'
  pgm masks/day/2.png 4 3 '\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00' # the content tells the format
  imghist_ok --csv=stats --mask=masks photos//
  [ "$(awk -F, '/,gray,/ { print $1, $5, $6 }' <<<"$output" | tr '\n' ' ')" = \
    "photos//1.pgm 1 1 photos//day/1.pgm 1 2 photos//day/2.pgm 1 3 " ] || fail
  stats --mask=masks photos/day/1.pgm # named itself: masks/1.pgm
  assert_output "gray,1,1 luma,1,1 "
  (cd photos && tar -cf ../photos.tar ./*)
  imghist --csv=stats --mask=masks photos.tar
  [ "$(awk -F, '/,gray,/ { print $5, $6 }' <<<"$output" | sort | tr '\n' ' ')" = "1 1 1 2 1 3 " ] || fail
  mkdir -p walked/sub masks/sub/a.tar masks/sub/b.tar # archives in a folder: their names are part of the name
  tar -C photos -cf walked/sub/a.tar 1.pgm
  cp walked/sub/{a,b}.tar
  cp masks/day/1.pgm masks/sub/a.tar
  cp masks/day/2.png masks/sub/b.tar/1.png
  imghist_ok --csv=stats --mask=masks walked
  [ "$(awk -F, '/,gray,/ { print $1, $6 }' <<<"$output" | tr '\n' ' ')" = \
    "walked/sub/a.tar/1.pgm 2 walked/sub/b.tar/1.pgm 3 " ] || fail
  rm masks/sub/a.tar/1.pgm
  imghist_fails 1 "walked/sub/a.tar/1.pgm: mask masks/sub/a.tar/1.png: cannot open" --csv=stats --mask=masks walked
  rm masks/day/2.png
  imghist_fails 1 "photos/day/2.pgm: mask masks/day/2.png: cannot open" --csv=stats --mask=masks photos
  [ "$(grep -c ,gray, <<<"$output")" -eq 2 ]
}

@test "region: a mask in a folder is an input, which no output replaces" {
  mkdir photos masks
  numbers photos/a.csv
  numbers photos/b.pgm
  cp photos/a.csv photos/b.pgm masks
  imghist_fails 2 "mask masks/a.csv: is both an input and the output file" photos --mask=masks --csv=stats -o masks/a.csv
  cmp photos/a.csv masks/a.csv
}

@test "region: the records, the total and the summary tell it" {
  needs jq
  numbers a.pgm
  cp a.pgm b.pgm
  imghist_ok --region=002x1+0+0 --mask=a.pgm a.pgm b.pgm --ndjson --total -o all.ndjson
  [ "$(jq -c '[.region, .mask, .width, .height, .pixels]' all.ndjson | tr '\n' ' ')" = \
    '["2x1+0+0","a.pgm",4,3,2] ["2x1+0+0","a.pgm",4,3,2] ["2x1+0+0","a.pgm",null,null,4] ' ] || fail "$(cat all.ndjson)"
  imghist_ok a.pgm --ndjson
  refute_output_has region
  refute_output_has mask
  imghist_output_has "  region 2x1+0+0, mask a.pgm: 2 pixels" a.pgm --region=2x1+0+0 --mask=a.pgm
}

@test "region: records pass through, add up, and are refused beside others" {
  numbers a.pgm
  cp a.pgm b.pgm
  "$IMGHIST" --region=50%x50%+25%+25% a.pgm --ndjson -o a.ndjson
  "$IMGHIST" --region=50%x50%+25%+25% b.pgm --ndjson -o b.ndjson
  "$IMGHIST" --region=50%x50%+25%+25% a.pgm b.pgm --json --total -o single.json
  "$IMGHIST" a.ndjson b.ndjson --json --total | cmp - single.json
  "$IMGHIST" --region=50%x50%+25%+25% a.ndjson b.pgm --json --total | cmp - single.json
  "$IMGHIST" --region=50%x50%+25%+25% a.pgm b.pgm --json --total-only -o total.json
  "$IMGHIST" total.json --json --total-only | cmp - total.json
  imghist --region=1x1+0+0 a.ndjson
  assert_refused 2 "a.ndjson: counted with region 50%x50%+25%+25%; this run asks for 1x1+0+0"
  imghist_refused 2 "a.ndjson: counted with region 50%x50%+25%+25%; this run asks for none" --mask=a.pgm a.ndjson
  imghist_fails 2 "b.pgm: counted with region none; the others have 50%x50%+25%+25%" --total-only a.ndjson b.pgm
}

@test "region: JPEG planes and idle cores do not change what is counted" {
  stats --region=1x1+0+0 "$SAMPLES/scene.jpg"
  [[ $output == "red,1,"*"luma,1,"* ]] || fail
  stats --region=100%x100%+0+0 "$SAMPLES/scene.jpg"
  all=$output
  stats "$SAMPLES/scene.jpg"
  assert_output "$all"
}
