#!/usr/bin/env bats
# The recipes of docs/recipes.md: each runs as written there and gives the stated result. A recipe is
# skipped if its tool is missing.

# shellcheck disable=SC2016 # the commands belong to the recipes, not to this shell

load helpers

RECIPES=$TESTS/../docs/recipes.md

# Three photos; their mean luma grows in the order b, a, c.
setup() {
  unset IMGHIST_DEVICE NO_COLOR COLUMNS CUDA_VISIBLE_DEVICES
  export LC_ALL=C TERM=dumb
  cd "$BATS_TEST_TMPDIR" || return 1
  ln -s "$IMGHIST" imghist
  mkdir photos train incoming
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

# recipe PATTERN: runs the recipes that match. Their output is in the file `shown`.
recipe() {
  local file n=0
  for file in $(grep -lE -e "$1" recipe/*); do
    n=$((n + 1))
    timeout 60 bash -o pipefail "$file" 2>errors || fail "$(cat "$file")" "$(cat errors)"
    ! grep -v ' written: ' errors || fail "$(cat "$file")" "$(cat errors)"
  done >shown
  [ $n -gt 0 ] || fail "docs/recipes.md has no recipe with $1"
}

# in_order NAME...: exactly these photos were shown, in this order.
in_order() { [ "$(grep -oE 'photos/[abc]\.jpg' shown | tr '\n' ' ')" = "$* " ] || fail "$(cat shown)"; }

csv() { recipe '^\./imghist photos/ --csv=[a-z]* -o'; }

@test "recipes: a test of this file runs every recipe" {
  n=$(find recipe -type f | wc -l)
  [ "$n" -ge 12 ]
  tested=$(grep -lE 'jq|awk|^\./imghist photos/ --(csv|region|mask)|sqlite3|duckdb|pandas|inotifywait|split|sbatch|--chart|djpeg' recipe/* | wc -l)
  [ "$tested" -eq "$n" ]
}

@test "recipes: blown highlights, and how bright each photo is" {
  needs jq
  recipe any_high
  in_order photos/b.jpg
  head -c 100 "$SAMPLES/scene.png" >photos/damaged.png # a failed input does not make jq fail
  timeout 60 bash "$(grep -l any_high recipe/*)" 2>errors >shown || true
  grep -q damaged.png errors
  run ! grep jq: errors
  in_order photos/b.jpg
  rm photos/damaged.png
  recipe mean_luminance
  [ "$(wc -l <shown)" -eq 3 ]
  awk -F'\t' '!($2 > 0 && $2 < 1) { exit 1 }' shown
}

@test "recipes: mean and standard deviation of a training set" {
  recipe 'train/'
  [ "$(wc -l <shown)" -eq 3 ]
  grep -qxE 'red mean 0\.[0-9]{4} std 0\.[0-9]{4}' shown
}

@test "recipes: CSV in sqlite" {
  needs sqlite3
  csv
  recipe sqlite3
  in_order photos/b.jpg photos/a.jpg photos/c.jpg
}

@test "recipes: CSV in DuckDB" {
  needs duckdb
  csv
  recipe duckdb
  in_order photos/b.jpg photos/a.jpg photos/c.jpg
}

@test "recipes: CSV in pandas" {
  python3 -c 'import pandas' 2>/dev/null || skip "no pandas here"
  csv
  recipe nsmallest
  in_order photos/b.jpg photos/a.jpg photos/c.jpg
  recipe pivot
  grep -qE 'photos/a.jpg +gray' shown
  grep -q '6 rows x 256 columns' shown
}

@test "recipes: charts" {
  cp photos/a.jpg photo.jpg
  recipe '--chart'
  [ "$(find . -maxdepth 1 -name '*.png' | wc -l)" -eq 2 ]
  [ "$(head -c 4 h.png | tail -c 3)" = PNG ]
  [ "$(head -c 4 all.png | tail -c 3)" = PNG ]
}

@test "recipes: an image from another program" {
  needs djpeg
  cp "$SAMPLES/scene.jpg" photo.jpg
  recipe djpeg
  grep -q '480 x 320' shown
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
      ! grep -q "incoming/$name.jpg" seen.ndjson 2>/dev/null || break
    done
  done
  kill -- -$watcher
  wait $watcher || true
  grep -q '"file":"incoming/a.jpg","status":"ok"' seen.ndjson || fail "$(cat errors)"
  grep -q '"file":"incoming/b.jpg","status":"ok"' seen.ndjson || fail "$(cat errors)"
}

@test "recipes: lists of files on a cluster" {
  split --version >/dev/null 2>&1 || skip "no GNU split here"
  mkdir bin # stands for a cluster: runs the jobs of an array one after the other
  cat >bin/sbatch <<'END'
#!/bin/bash
[ "$1" = --wait ]
last=${2#--array=0-}
for ((SLURM_ARRAY_TASK_ID = 0; SLURM_ARRAY_TASK_ID <= last; SLURM_ARRAY_TASK_ID++)); do
  export SLURM_ARRAY_TASK_ID
  bash -c "${3#--wrap=}" || exit
done
END
  chmod +x bin/sbatch
  PATH=$PWD/bin:$PATH
  for ((i = 0; i < 20; i++)); do cp photos/a.jpg "photos/copy $i.jpg"; done
  recipe 'split|sbatch|FNR'
  [ "$(find . -name 'part.?.csv' | wc -l)" -eq 8 ]
  ./imghist photos --csv=stats | sort >expected
  sort all.csv | diff expected -
}

@test "recipes: a region, and masks" {
  recipe '--region'
  # 5 x 5 of 10 x 10 pixels from row 2 on: the white pixels of b.jpg are all in row 0
  grep -q '^photos/b.jpg,.*,gray,25,225,9.000000,' shown || fail "$(cat shown)"
  mkdir masks
  for name in a b c; do { echo "P2 10 10 1" && printf '1 %.0s' {1..10} && printf '0 %.0s' {1..90}; } >masks/$name.jpg; done
  recipe '--mask'
  grep -q '^photos/b.jpg,.*,gray,10,2550,255.000000,' shown || fail "$(cat shown)"
  grep -q '^photos/c.jpg,.*,gray,10,1000,100.000000,' shown || fail "$(cat shown)"
}
