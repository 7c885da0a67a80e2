#!/usr/bin/env bats
# The recipes of docs/recipes.md: each runs as written there and gives the stated result. A recipe is
# skipped if its tool is missing.

# shellcheck disable=SC2016 # the commands belong to the recipes, not to this shell

load helpers
load images

RECIPES=$TESTS/../docs/recipes.md

# Three photos; their mean luma grows in the order b, a, c.
setup() {
  unset IMGHIST_DEVICE NO_COLOR COLUMNS CUDA_VISIBLE_DEVICES
  export LC_ALL=C TERM=dumb
  cd "$BATS_TEST_TMPDIR" || return 1
  ln -s "$IMGHIST" imghist
  mkdir photos train incoming bin
  gray photos/b.jpg 9 10 # the mean 33.6, which sorts after 100 as text
  gray photos/a.jpg 90 1
  gray photos/c.jpg 100 0
  cp "$SAMPLES/scene.jpg" train
  recipes recipe
}

# gray FILE VALUE WHITE: an image of 100 pixels of one value, except WHITE white pixels.
gray() {
  awk -v value="$2" -v n_white="$3" 'BEGIN {
    print "P2 10 10 255"
    for (i = 0; i < 100; i++) print i < n_white ? 255 : value }' >"$1"
}

# recipes DIRECTORY: writes each command of docs/recipes.md to a file of its own, in their order.
recipes() {
  mkdir "$1"
  awk '
    !/^    / { is_more = 0; next }
    !is_more { n++ }
    { print substr($0, 5) >sprintf("%s/%02d", out, n); is_more = /[|\\]$/ }' out="$1" "$RECIPES"
}

# recipe PATTERN [STATUS]: runs the recipes that match. Their output is in the file `shown`.
recipe() {
  local file n=0 result
  for file in $(grep -lE -e "$1" recipe/*); do
    n=$((n + 1)) result=0
    PATH=$PWD/bin:$PATH timeout 60 bash -o pipefail "$file" 2>errors || result=$?
    [ $result -eq "${2-0}" ] || fail "$(cat "$file")" "exit status $result" "$(cat errors)"
    [ $result -ne 0 ] || ! grep -v -e ' written: ' -e 'of equal histograms$' -e ' images\{0,1\} match[es]* --where$' -e 'note: totals are compared' errors || fail "$(cat "$file")" "$(cat errors)"
  done >shown
  [ $n -gt 0 ] || fail "docs/recipes.md has no recipe with $1"
}

# in_order NAME...: exactly these photos were shown, in this order.
in_order() { [ "$(grep -oE 'photos/[abc]\.jpg' shown | tr '\n' ' ')" = "$* " ] || fail "$(cat shown)"; }

# pretend NAME: a program of that name, from standard input, that the recipes find first.
pretend() {
  { printf '#!/bin/bash\n' && cat; } >"bin/$1"
  chmod +x "bin/$1"
}

csv() { recipe '^\./imghist photos/ --csv=[a-z]* -o [a-z]*\.csv$'; }

clip() { # two seconds, the first black, the second white
  needs ffmpeg
  ffmpeg -v error -f lavfi -i color=black:s=64x48:r=5:d=1 -f lavfi -i color=white:s=64x48:r=5:d=1 \
    -filter_complex concat -c:v mpeg4 clip.mp4 || skip "this ffmpeg writes no MPEG-4"
}

@test "recipes: a test of this file runs every recipe" {
  n=$(find recipe -type f | wc -l)
  [ "$n" -ge 45 ]
  sed -nE "s/^ *(csv\(\) \{ |\[|file=.* )?recipe '([^']+)'.*/\2/p" "$BATS_TEST_FILENAME" >patterns
  echo inotifywait >>patterns
  for file in recipe/*; do
    grep -qE -f patterns "$file" || fail "no test runs: $(cat "$file")"
  done
}

@test "recipes: blown highlights" {
  mkdir blown
  recipe 'blown_any > 5%.( --print0.*)?$'
  grep -q 'b.jpg' shown
  [ "$(find blown -type f)" = blown/photos/b.jpg ]
  recipe '--print >'
  [ "$(cat blown.txt)" = photos/b.jpg ] || fail "$(cat blown.txt)"
  recipe '--files-from=blown\.txt'
  [ "$(cut -d, -f1 blown.csv | paste -sd' ')" = "file photos/b.jpg" ] || fail "$(cat blown.csv)"
}

@test "recipes: formats and sizes of a folder" {
  needs jq
  gray incoming/a.pgm 9 0
  gray incoming/b.pgm 8 0
  cp "$SAMPLES/palette.png" incoming
  recipe 'by=format'
  grep -qE '^pnm,.*,gray,200,1700,8.500000,' formats.csv || fail "$(cat formats.csv)"
  recipe 'by=samples'
  [ "$(cut -d, -f1,4 samples.csv | paste -sd' ')" = "file,channel uint8,red uint8,green uint8,blue uint8,luma" ] || fail "$(cat samples.csv)"
  recipe 'by=size'
  [[ $(cat shown) == $'2\t10x10\n1\t'+([0-9])x+([0-9]) ]] || fail "$(cat shown)"
}

# Means 33.6, 91.65 and 100; deviations 73.8, 16.4 and 0, by hand.
@test "recipes: the brightest, the flattest, and a small file of fields" {
  recipe '--sort=-mean_luma --top=10'
  in_order photos/c.jpg photos/a.jpg photos/b.jpg
  [ "$(sed -n 4p shown)" = photos/b.jpg,33.600000,0.100000, ] || fail "$(cat shown)" # gray has no red
  ./imghist photos/ --ndjson -o all.ndjson
  recipe '--sort=stddev --top=3'
  [ "$(paste -sd' ' shown)" = "photos/c.jpg photos/a.jpg photos/b.jpg" ] || fail "$(cat shown)"
  recipe '-o small\.ndjson$'
  [ "$(head -n 1 small.ndjson)" = '{"file":"photos/a.jpg","width":10,"height":10,"mean_luminance":0.111219}' ] || fail "$(cat small.ndjson)"
}

@test "recipes: copies" {
  cp photos/a.jpg photos/x.jpg
  cp photos/b.jpg incoming
  ./imghist photos/c.jpg photos/b.jpg --ndjson -o all.ndjson
  recipe '^\./imghist photos/ --copies'
  [ "$(cat copies.txt)" = $'photos/a.jpg\nphotos/x.jpg' ] || fail "$(cat copies.txt)"
  [ "$(sed 1d copies.csv | cut -d, -f2- | paste -sd' ')" = "photos/a.jpg,10,10 photos/x.jpg,10,10" ] || fail "$(cat copies.csv)"
  recipe 'incoming/ --copies'
  [ "$(cat shown)" = $'photos/b.jpg\nincoming/b.jpg' ] || fail "$(cat shown)"
}

# 99 pixels of 90, and a white one that is clipped.
@test "recipes: the background of each channel" {
  mkdir frames
  cp photos/a.jpg frames/a.pgm
  recipe '-o background\.csv$'
  [ "$(sed -n 2p background.csv)" = frames/a.pgm,gray,90.000000,0.000000,0 ] || fail "$(cat background.csv)"
  recipe '-o narrow\.csv$'
  [ "$(sed -n 2p narrow.csv)" = frames/a.pgm,gray,90.000000,0.010000 ] || fail "$(cat narrow.csv)"
  recipe 'share_le_60'
  in_order photos/b.jpg # 90 of 100
}

@test "recipes: arrays of NumPy" {
  "$IMGHIST" --list | grep -q '^  archives: .*libarchive [0-9]' || skip "no libarchive in this build"
  needs python3
  cp "$TESTS/formats/files/npy-bool.npy" mask.npy
  python3 -c "import zipfile
with zipfile.ZipFile('arrays.npz', 'w') as archive:
    archive.write('$TESTS/formats/files/npy-rgb.npy', 'rgb.npy')"
  recipe 'arrays\.npz'
  [ "$(cut -d, -f1,2 shown | paste -sd' ')" = "file,channel arrays.npz/rgb.npy,red arrays.npz/rgb.npy,green arrays.npz/rgb.npy,blue arrays.npz/rgb.npy,luma mask.npy,gray mask.npy,luma" ] || fail "$(cat shown)"
  python3 -c "head = b\"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3, 1, 2), }\"
open('batch.npy', 'wb').write(b'\x93NUMPY\1\0' + bytes([len(head), 0]) + head + bytes(range(12)))"
  recipe 'axes=NCHW'
  [ "$(cut -d, -f1,4-6 shown | grep red)" = $'batch.npy#1,red,2,1\nbatch.npy#2,red,2,13' ] || fail "$(cat shown)"
}

@test "recipes: black and blank frames" {
  mkdir frames
  gray frames/black.pgm 3 0
  gray frames/white.pgm 255 100
  cp photos/b.jpg frames/good.pgm
  recipe '^\./imghist frames/'
  [ "$(grep -oE '(black|white|good)\.pgm' shown | tr '\n' ' ')" = "black.pgm white.pgm " ] || fail "$(cat shown)"
}

@test "recipes: photos by a channel and by name" {
  mkdir photos/sunsets
  for name in sunsets/a sunsets/blue noon; do
    case $name in *blue) end=200 ;; *) end=10 ;; esac
    { echo "P3 10 1 255" && printf "255 9 $end %.0s" {1..10}; } >photos/$name.ppm
  done
  recipe 'sunset'
  [ "$(grep -oE '[a-z/]+\.ppm' shown)" = sunsets/a.ppm ] || fail "$(cat shown)"
}

@test "recipes: blank pages" {
  mkdir scans
  gray scans/blank.pgm 240 0
  gray ink 250 0
  sed 's/^250$/0/;t' ink | awk 'NR > 3 { $0 = 250 } 1' >ink.pgm # 2 dark pixels of 100
  cat scans/blank.pgm ink.pgm >scans/two.pgm
  recipe 'scans/'
  [ "$(grep -oE '[a-z]+\.pgm(#[0-9])?' shown | tr '\n' ' ')" = "blank.pgm two.pgm#1 " ] || fail "$(cat shown)"
}

@test "recipes: images of one colour" {
  mkdir products
  cp photos/?.jpg products
  { echo "P3 4 1 255" && printf '9 80 200 %.0s' {1..4}; } >products/one.ppm
  echo "P3 2 1 255 9 80 200 9 80 201" >products/two.ppm
  recipe 'products/'
  [ "$(tr '\0' ' ' <shown)" = "products/c.jpg products/one.ppm " ] || fail "$(cat shown)"
}

@test "recipes: outliers, and drift" {
  for i in {1..9}; do gray photos/day$i.jpg 100 0; done
  gray photos/night.jpg 10 0
  recipe 'against=total'
  [ "$(cut -d, -f1 outliers.csv | tail -n +2 | tr '\n' ' ')" = "photos/b.jpg photos/night.jpg " ] || fail "$(cat outliers.csv)"
  rm train/scene.jpg
  gray train/a.pgm 100 0
  gray incoming/near.pgm 129 0
  gray incoming/far.pgm 131 0
  recipe 'against=train/'
  [ "$(cut -d, -f1 drift.csv | tail -n +2)" = incoming/far.pgm ] || fail "$(cat drift.csv)"
  grep -q ',31\.000000$' drift.csv
}

@test "recipes: blank screenshots" {
  mkdir screenshots
  cp photos/b.jpg screenshots
  recipe 'screenshots/'
  cp photos/c.jpg screenshots
  recipe 'screenshots/' 4
  grep -q 'screenshots/c.jpg: matches --fail-if' errors
}

@test "recipes: classes, and merged episodes" {
  rm train/scene.jpg
  mkdir -p train/cats train/dogs episodes/1 episodes/2
  gray train/cats/1.pgm 10 0
  gray train/cats/2.pgm 20 0
  gray train/dogs/1.pgm 50 0
  printf 'file,label\ntrain/cats/1.pgm,good\ntrain/cats/2.pgm,bad\ntrain/dogs/1.pgm,good\n' >labels.csv
  recipe 'by=folder --(csv|chart)'
  [ "$(cut -d, -f1,7 classes.csv | tr '\n' ' ')" = "file,mean train/cats,15.000000 train/cats,15.000000 train/dogs,50.000000 train/dogs,50.000000 " ] || fail "$(cat classes.csv)"
  is_png classes.png
  recipe 'by=labels'
  grep -qE '^good,.*,gray,200,6000,30.000000,' labelled.csv || fail "$(cat labelled.csv)"
  for i in {1..9}; do gray episodes/1/$i.pgm "$i" 0; done
  gray episodes/2/a.pgm 100 0
  recipe 'episodes'
  grep -qE '^\(total\),.*,gray,1000,14500,14.500000,.*,1,9$' merged_stats.csv || fail "$(cat merged_stats.csv)"
}

@test "recipes: channels alone" {
  recipe 'luma=none'
  [ "$(grep -c '"name":"gray"' channels.ndjson)" -eq 3 ]
  ! grep -q '"name":"luma"' channels.ndjson
}

@test "recipes: deep images" {
  mkdir deep
  for step in 1 16; do # 0, 1 ... 999 times the step
    { echo "P2 1000 1 $((step * 1023))" && for ((i = 0; i < 1000; i++)); do echo $((i * step)); done; } >deep/$step.pgm
  done
  recipe '^\./imghist deep/ --bins=native --csv'
  grep -qE '^deep/1.pgm,.*,gray,1000,499500,.*,1000,1,0,,,$' deep.csv || fail "$(cat deep.csv)"
  grep -qE '^deep/16.pgm,.*,gray,1000,7992000,.*,1000,16,0,,,$' deep.csv || fail "$(cat deep.csv)"
  recipe 'step > 1'
  [ "$(grep -oE '[0-9]+\.pgm' shown)" = 16.pgm ] || fail "$(cat shown)"
  rm deep/16.pgm
  recipe '0\.35,99\.65'
  grep -qE ',gray,.*,3,996$' limits.csv || fail "$(cat limits.csv)"
}

@test "recipes: bands, nodata and floats" {
  mkdir deep floats
  python3 - <<'END' # 100 pixels; band b of pixel i is b * i, and 0 is nodata; then 1.5, 2.5, 3.5 and NaN
import struct
data = struct.pack("<300H", *(b * i for i in range(100) for b in (1, 2, 3)))
tags = [(256, 3, 1, 100), (257, 3, 1, 1), (258, 3, 3, 150), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 200), (277, 3, 1, 3),
        (278, 3, 1, 1), (279, 4, 1, len(data)), (42113, 2, 2, 48)]
file = b"II*\0" + struct.pack("<LH", 8, len(tags)) + b"".join(struct.pack("<HHLL", *tag) for tag in tags) + bytes(4)
open("deep/dem.tif", "wb").write(file.ljust(150, b"\0") + struct.pack("<3H", 16, 16, 16).ljust(50, b"\0") + data)
for name, pair in ("a", (1.5, 2.5)), ("b", (3.5, float("nan"))):
    open(f"floats/{name}.pfm", "wb").write(b"Pf\n2 1\n-1.0\n" + struct.pack("<2f", *pair))
END
  recipe 'dem.csv'
  for band in 1,2,98 2,4,196 3,6,294; do
    grep -qE "^deep/dem.tif,.*,band${band%%,*},99,.*,1,,,,${band#*,}$" dem.csv || fail "$band: $(cat dem.csv)"
  done
  recipe 'nodata=7'
  grep -q '^  samples counted apart: 1 nodata$' shown || fail "$(cat shown)"
  recipe 'two.csv'
  [ "$(cut -d, -f4 two.csv | paste -sd' ')" = "channel band1 band3" ] || fail "$(cat two.csv)"
  mkdir scenes
  cp deep/dem.tif scenes
  printf 'P5 2 1 65535\n\100\7\100\11' >scenes/sea.pgm
  recipe 'scenes/'
  [ "$(paste -sd' ' bands.csv)" = "file,channel,count,mean,p01,p99 band1,band1,99,50.000000,1,99 band2,band2,99,100.000000,2,198 band3,band3,99,150.000000,3,297 gray,band1,2,16392.000000,16391,16393" ] || fail "$(cat bands.csv)"
  recipe 'floats.csv'
  grep -qE ',gray,3,,2.5[0]*,0.816496581,' floats.csv || fail "$(cat floats.csv)"
}

@test "recipes: percentiles" {
  recipe 'percentiles=0.1'
  head -n 1 percentiles.csv | grep -q ',negative_infinity,p0.1,p10,p90,p99.9$'
  grep -qE '^photos/b.jpg,.*,gray,.*,9,9,9,255$' percentiles.csv || fail "$(cat percentiles.csv)"
}

@test "recipes: corrupt files" {
  mkdir uploads
  cp photos/a.jpg uploads
  head -c 300 "$SAMPLES/scene.jpg" >uploads/cut.jpg
  : >uploads/empty.png
  recipe '^\./imghist uploads/ --check' 1
  [ "$(cut -d: -f1 shown | tr '\n' ' ')" = "uploads/cut.jpg uploads/empty.png " ] || fail "$(cat shown)"
}

@test "recipes: how bright each photo is" {
  needs jq
  recipe 'mean_luminance'
  [ "$(wc -l <shown)" -eq 3 ]
  awk -F'\t' '!($2 > 0 && $2 < 1) { exit 1 }' shown
}

@test "recipes: mean and standard deviation of a training set, and one histogram" {
  recipe 'awk -F, .\$4'
  [ "$(wc -l <shown)" -eq 3 ]
  grep -qxE 'red mean 0\.[0-9]{4} std 0\.[0-9]{4}' shown
  gray train/scene.jpg 51 0 # a set of gray images has one channel
  recipe 'awk -F, .\$4'
  [ "$(cat shown)" = "gray mean 0.2000 std 0.0000" ]
  cp "$SAMPLES/scene.jpg" train
  recipe '^\./imghist train/ --total-only$'
  grep -q '(total)' shown
  recipe 'train.json'
  grep -q '"n_images":1,' train.json
}

@test "recipes: a spreadsheet with one row per image" {
  csv
  [ "$(wc -l <photos.csv)" -eq 4 ]
  [ "$(cut -d, -f1,2 photos.csv | tail -n 1)" = photos/c.jpg,ok ]
  [ "$(grep -c ',luma,' stats.csv)" -eq 3 ]
}

@test "recipes: CSV in sqlite" {
  needs sqlite3
  csv
  recipe 'sqlite3'
  in_order photos/b.jpg photos/a.jpg photos/c.jpg
}

@test "recipes: CSV in DuckDB" {
  needs duckdb
  csv
  recipe 'duckdb'
  in_order photos/b.jpg photos/a.jpg photos/c.jpg
}

@test "recipes: CSV in pandas" {
  python3 -c 'import pandas' 2>/dev/null || skip "no pandas here"
  csv
  recipe 'nsmallest'
  in_order photos/b.jpg photos/a.jpg photos/c.jpg
  recipe 'pivot'
  grep -qE 'photos/a.jpg +gray' shown
  grep -q '6 rows x 256 columns' shown
}

@test "recipes: charts" {
  cp photos/a.jpg photo.jpg
  recipe '--chart=(h|all|sheet|-|charts$)'
  [ "$(head -c 4 h.png | tail -c 3)" = PNG ]
  grep -q 'Summer 2026' all.svg
  cmp -n 8 h.png sheet.png && cmp -n 8 h.png piped.png
  [ "$(ls charts/photos)" = $'a.jpg.hist.png\nb.jpg.hist.png\nc.jpg.hist.png' ]
}

@test "recipes: a page, and several outputs" {
  recipe '--html=photos.html'
  grep -q '"title":"Summer 2026"' photos.html
  grep -q '"photos/c.jpg","ok"' photos.html
  recipe '--html=out/'
  [ "$(ls out)" = $'charts\nphotos.csv\nphotos.html' ]
  grep -q '"photos/c.jpg","ok"' out/photos.html
}

@test "recipes: a gate in CI" {
  mkdir renders
  cp photos/a.jpg renders
  recipe 'renders/ --check'
  cp photos/b.jpg renders
  recipe 'renders/ --check' 4
  grep -q 'renders/b.jpg: matches --fail-if' errors
  head -c 300 "$SAMPLES/scene.jpg" >renders/cut.jpg
  rm renders/b.jpg
  recipe 'renders/ --check' 1
}

@test "recipes: a tar file, and streams of other programs" {
  tar cf train.tar train photos
  recipe '^\./imghist train.tar'
  [ "$(wc -l <train.csv)" -eq 5 ]
  grep -q '^train.tar/photos/a.jpg,ok,' train.csv
  pretend aws <<<'[ "$*" = "s3 cp s3://bucket/train.tar -" ] && cat train.tar'
  recipe '^aws '
  "$IMGHIST" train.tar --total-only --csv=stats | diff - shown
  pretend curl <<<'[ "$2" = https://example.org/photo.jpg ] && cat photos/a.jpg'
  recipe '^curl '
  grep -q '^photo.jpg  10 x 10' shown
}

@test "recipes: comparisons" {
  recipe '--diff train/ photos/$'
  grep -qE '^  luma   [01]\.[0-9]{4} ' shown
  grep -q '^A  train/ .* 1 image' shown
  recipe '--chart=diff.png'
  is_png diff.png
  cp "$SAMPLES/scene.png" expected.png
  cp "$SAMPLES/scene.jpg" render.png
  recipe 'render\.png'
  [ "$(wc -l <diff.csv)" -eq 5 ]
  cp "$SAMPLES/testcard.png" render.png
  recipe 'render\.png' 4
  recipe 'photos.json'
  grep -q '"ks":0.000000,"emd":0.000000' shown
}

@test "recipes: an image from another program" {
  needs djpeg
  cp "$SAMPLES/scene.jpg" photo.jpg
  recipe 'djpeg'
  grep -q '480 x 320' shown
}

@test "recipes: bare samples" {
  recipe 'raw=3 --csv=stats'
  grep -q '^-,2,1,red,2,265,' shown || fail "$(cat shown)" # 255 + 10
}

@test "recipes: photos that find finds" {
  cp photos/a.jpg photos/d.JPEG
  touch -d 2025-01-01 photos/b.jpg
  touch -d 2026-02-01 photos/[acd].*
  recipe 'newermt'
  [ "$(cut -d, -f1 new.csv | grep photos | sort -u | tr '\n' ' ')" = "photos/a.jpg photos/c.jpg photos/d.JPEG " ]
}

@test "recipes: every device gives the same bytes" {
  cp "$SAMPLES/scene.jpg" photo.jpg
  recipe 'auto\.csv'
  [ -s auto.csv ] && [ ! -s shown ]
}

@test "recipes: a video" {
  clip
  recipe 'rawvideo'
  grep -q '^clip.mp4  30720 x 1 raw' shown || fail "$(cat shown)" # 10 frames of 64 x 48
  mkdir frames
  recipe 'fps=1'
  for i in 1 2; do
    grep -q "^frames/0000$i.png,ok,.*,$(((i - 1) * 255)).000000," frames.csv || fail "$(cat frames.csv)"
  done
  [ "$(wc -l <frames.csv)" -eq 3 ]
}

@test "recipes: watching a folder" {
  needs inotifywait
  file=$(grep -l inotifywait recipe/*)
  setsid bash "$file" 2>errors 3>&- &
  watcher=$!
  for name in a b; do
    for ((i = 0; i < 100; i++)); do # until inotifywait is ready
      cp photos/$name.jpg incoming/$name.jpg
      sleep 0.1
      ! grep -q "incoming/$name.jpg" watched.ndjson 2>/dev/null || break
    done
  done
  kill -- -$watcher
  wait $watcher || true
  grep -q '"file":"incoming/a.jpg","status":"ok"' watched.ndjson || fail "$(cat errors)"
  grep -q '"file":"incoming/b.jpg","status":"ok"' watched.ndjson || fail "$(cat errors)"
}

@test "recipes: going on with a job that was killed" {
  recipe 'ndjson --resume'
  cp run.ndjson complete
  for size in 0 40 "$(($(wc -c <complete) / 2))"; do
    truncate -s "$size" run.ndjson
    recipe 'ndjson --resume'
    cmp run.ndjson complete
  done
}

@test "recipes: what is new, and a table of what was seen" {
  needs jq
  mv photos/c.jpg .
  recipe 'new\.list'
  [ "$(jq -r .file seen-*.ndjson | sort | tr '\n' ' ')" = "photos/a.jpg photos/b.jpg " ]
  mv seen-*.ndjson seen-first.ndjson
  mv c.jpg photos
  recipe 'new\.list'
  [ "$(jq -r .file seen-[0-9]*.ndjson)" = photos/c.jpg ]
  recipe 'new\.list' # a night without new photos
  [ "$(find . -maxdepth 1 -name 'seen-*.ndjson' | wc -l)" -eq 2 ]
  recipe '^\./imghist seen-'
  "$IMGHIST" photos --total-only --csv=stats | tail -n 2 | diff - <(tail -n 2 all.csv)
}

@test "recipes: a cluster" {
  pretend sbatch <<'END'
# stands for a cluster: runs the jobs of an array one after the other
[ "$1" = --wait ]
last=${2#--array=1-}
for ((SLURM_ARRAY_TASK_ID = 1; SLURM_ARRAY_TASK_ID <= last; SLURM_ARRAY_TASK_ID++)); do
  export SLURM_ARRAY_TASK_ID
  bash -c "${3#--wrap=}" || exit
done
END
  for ((i = 0; i < 20; i++)); do cp photos/a.jpg "photos/copy $i.jpg"; done
  recipe 'sbatch|part\.\?'
  [ "$(find . -name 'part.?.ndjson' | wc -l)" -eq 8 ]
  ./imghist photos/ --csv=stats | sort | diff <(sort merged.csv) -
}

@test "recipes: a region, masks, and zones" {
  recipe '--region'
  # 5 x 5 of 10 x 10 pixels from row 2 on: the white pixels of b.jpg are all in row 0
  grep -q '^photos/b.jpg,.*,gray,25,225,9.000000,' shown || fail "$(cat shown)"
  mkdir masks
  for name in a b c; do { echo "P2 10 10 1" && printf '1 %.0s' {1..10} && printf '0 %.0s' {1..90}; } >masks/$name.jpg; done
  mkdir segments # 20 pixels of label 1, one of label 255, the others of 0
  for name in a b c; do
    { echo "P2 10 10 255 255" && printf '1 %.0s' {1..20} && printf '0 %.0s' {1..79}; } >segments/$name.pgm
  done
  recipe '--labels'
  [ "$(grep -c '^photos/[abc].jpg#[01],[01],gray,\(79\|20\),' zones.csv)" -eq 6 ] || fail "$(cat zones.csv)"
  [ "$(grep ',gray,' classes.csv | cut -d, -f1,5 | paste -sd' ')" = "0,237 1,60" ] || fail "$(cat classes.csv)"
  recipe '--mask'
  grep -q '^photos/b.jpg,.*,gray,10,2550,255.000000,' shown || fail "$(cat shown)"
  grep -q '^photos/c.jpg,.*,gray,10,1000,100.000000,' shown || fail "$(cat shown)"
}
