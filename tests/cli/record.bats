#!/usr/bin/env bats
# What a JSON record says about the file and about the counts, for every format.

# shellcheck disable=SC2154 # run sets lines

load helpers

FILES=$TESTS/formats/files

# known FORMAT: this build decodes it.
known() { "$IMGHIST" --list | sed -n '/^formats:/,/^outputs:/p' | grep -q "^  $1 "; }

@test "record: frames, depth, range and what is not applied, in every format" {
  needs jq
  n=0
  while read -r file expected; do
    format=${file%%-*}
    format=${format%%.*}
    case $format in heic | avif) format=heif ;; esac
    known "$format" || continue
    for option in --quiet --isolate; do
      "$IMGHIST" "$FILES/$file" --ndjson $option >out.json 2>err || {
        grep -qE 'sandbox|without' err && continue
        fail "$file: $(cat err)"
      }
      actual=$(jq -r '"\(.frames) \(.source_depth) \(.range) \(.not_applied | join(",")) \(.srgb)"' out.json)
      [ "$actual" = "${expected/none/}" ] || fail "$file: $actual instead of $expected"
    done
    n=$((n + 1))
  done <<'END'
bmp-24-windows.bmp 1 8 full none true
gif-animated.gif null 8 full none true
pnm-p6-16.ppm null 16 full none true
psd-rgb.psd 1 8 full none true
tga-24.tga 1 8 full none true
tiff-rgb.tif 1 8 full none true
tiff-rotated.tif 1 8 full orientation true
tiff-jpeg.tif 1 8 full none true
webp-lossy.webp 1 8 limited none true
webp-lossless.webp 1 8 full none true
webp-animated.webp 2 8 null none true
avif.avif 1 8 full none true
heic.heic 1 8 null none true
jxl-lossless.jxl 1 8 full none true
END
  [ $n -ge 5 ] || fail "only $n files"
}

@test "record: the library is that of --list, on every device and in every process" {
  needs jq
  for file in "$SAMPLES"/scene.png "$SAMPLES"/scene.jpg "$FILES"/bmp-24-windows.bmp; do
    "$IMGHIST" "$file" --ndjson --device=cpu >out.json
    "$IMGHIST" "$file" --ndjson --device=auto | cmp - out.json
    "$IMGHIST" - --ndjson <"$file" | sed 's/"file":"-"/"file":'"$(jq .file out.json | sed 's,/,\\/,g')"'/' | cmp - out.json
    library=$(jq -r .library out.json)
    "$IMGHIST" --list | grep -qF "$library" || fail "no $library"
  done
}

@test "record: a total has what all its images have, and unites what was not applied" {
  needs jq
  "$IMGHIST" "$FILES/tiff-rgb.tif" "$FILES/tiff-rotated.tif" --total --json >out.json 2>err || skip "$(cat err)"
  [ "$(jq -c .total.not_applied out.json)" = '["orientation"]' ]
  [ "$(jq -c '.images[0].not_applied' out.json)" = '[]' ]
  [ "$(jq -r '.total.version' out.json)" = "$("$IMGHIST" --version | head -1 | cut -d' ' -f2)" ]
}
