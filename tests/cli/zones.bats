#!/usr/bin/env bats
# --labels, --ignore-label, --by=label: the pixels of each label of a label image are counted apart.

load helpers

# 4 x 2 pixels: 1 2 3 4, 5 6 7 8; and labels 7 7 0 0, 7 9 9 0.
zones() {
  pgm a.pgm 4 2 '\x01\x02\x03\x04\x05\x06\x07\x08'
  pgm labels.pgm 4 2 '\x07\x07\x00\x00\x07\x09\x09\x00'
}

@test "zones: random images and labels have the counts of NumPy" {
  "$IMGHIST" --list | grep '^  tiff ' | grep -qv 'not in this build' || skip "no TIFF in this build"
  /usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "no NumPy"
  run /usr/bin/python3 "$TESTS/cli/zones.py" "$IMGHIST"
  assert_status 0
  assert_output "147 images, 72274 zones"
}

@test "zones: by hand, in every output" {
  zones
  imghist_output $'file,label,pixels,mean_luma\na.pgm#0,0,3,5.000000\na.pgm#7,7,3,2.666667\na.pgm#9,9,2,6.500000' \
    a.pgm --labels=labels.pgm --csv=images --fields=file,label,pixels,mean_luma
  imghist_output $'file,label,channel,sum\na.pgm#0,0,gray,15\na.pgm#0,0,luma,15\na.pgm#9,9,gray,13\na.pgm#9,9,luma,13' \
    a.pgm --labels=labels.pgm --ignore-label=7 --csv=stats --fields=file,label,channel,sum
  imghist_output $'a.pgm#9' a.pgm --labels=labels.pgm --where 'label > 7' --print
  imghist_ok a.pgm --labels=labels.pgm --csv=long
  [ "$(grep '#7,luma' <<<"$output" | cut -d, -f3,4 | grep -v ',0$' | paste -sd' ')" = "1,1 2,1 5,1" ] || fail "long"
  imghist_ok a.pgm --labels=labels.pgm --csv=bins
  [ "$(grep -c '^a.pgm#9,' <<<"$output")" -eq 256 ] || fail "bins"
  imghist_ok a.pgm --labels=labels.pgm --json
  [ "$(jq -c '[.images[] | [.file, .label, .pixels, .mask]]' <<<"$output")" = \
    '[["a.pgm#0",0,3,"labels.pgm"],["a.pgm#7",7,3,"labels.pgm"],["a.pgm#9",9,2,"labels.pgm"]]' ] || fail "json"
  imghist_ok a.pgm --labels=labels.pgm --text=lines --html=p.html --chart=charts
  [ "$(grep -c 'a.pgm#[079]$' <<<"$output")" -eq 3 ] || fail "text"
  [[ ${lines[-1]} == "3 zones, "* ]] || fail "text: ${lines[-1]}"
  [ "$(awk '/#/ { printf "%s ", $1 }' <<<"$output")" = "3 3 2 " ] || fail "pixels: $output"
  imghist_output_has "  label 9 of labels.pgm: 2 pixels" a.pgm --labels=labels.pgm --text=full
  [ "$(ls charts | paste -sd' ')" = "a.pgm#0.hist.png a.pgm#7.hist.png a.pgm#9.hist.png" ] || fail "charts"
  grep -q 'a.pgm#9' p.html || fail "page"
  imghist_ok a.pgm --labels=labels.pgm --sheet --chart=s.svg --where 'label > 0'
  grep -q ">2 zones, heights in percent of each zone's pixels" s.svg || fail "$(grep heights s.svg)"
  assert_stderr_has "2 of 3 zones match --where"
  imghist_ok a.pgm --labels=labels.pgm -v --print
  assert_stderr_has "  counted by cpu"
  refute_stderr_has "?"
  imghist_ok a.pgm --labels=labels.pgm --where 'label == 9' --chart=nine.svg -q
  grep -q ' px, 2 counted  ·  label 9 of labels.pgm  ·  ' nine.svg || fail "$(grep px nine.svg)"
}

@test "zones: groups have the order of the numbers, and the field" {
  pgm a.pgm 3 1 '\x01\x02\x03'
  pgm b.pgm 3 1 '\x04\x05\x06'
  mkdir labels
  pgm labels/a.pgm 3 1 '\x0A\x02\x0A'
  pgm labels/b.pgm 3 1 '\x02\x02\x64'
  imghist_ok ./a.pgm b.pgm --labels=labels --by=label --total --ndjson
  [ "$(jq -c '[.file, .group, .label, .n_images, .pixels]' <<<"$output" | paste -sd' ')" = \
    '["2","2",2,2,3] ["10","10",10,1,2] ["100","100",100,1,1] ["(total)",null,null,4,6]' ] || fail "groups"
}

@test "zones: a label image that is missing, or of other pixels, fails the image" {
  zones
  mkdir labels
  imghist --labels=labels a.pgm --csv=stats
  assert_fails 1 "a.pgm: label image labels/a.png: cannot open: No such file"
  pgm small.pgm 2 2 '\x01\x02\x03\x04'
  imghist_refused 1 "a.pgm: the label image has 2 x 2 pixels, and the image 4 x 2" --labels=small.pgm a.pgm --text
  imghist_refused 1 "a.pgm: all its pixels have the label 4, which is ignored" --labels=four.pgm --ignore-label=4 a.pgm \
    --text < <(pgm four.pgm 4 2 '\x04\x04\x04\x04\x04\x04\x04\x04')
  cp "$SAMPLES/scene.jpg" labels/a.jpg
  for bad in "scene.png it is not gray, but has 3 channels" "scene.jpg it is not gray" "gone.png cannot open: No such file"; do
    imghist_refused 1 "label image $SAMPLES/${bad%% *}: ${bad#* }" --labels="$SAMPLES/${bad%% *}" a.pgm --text
  done
  printf 'Pf\n4 2\n-1\n%032d' 0 >float.pfm
  imghist_refused 1 "label image float.pfm: labels are unsigned integers of 16 bits or fewer" --labels=float.pfm a.pgm --text
}

@test "zones: wrong usage" {
  zones
  for value in "" x -1 65536 1.5 " 1"; do
    imghist_refused 2 "--ignore-label: '$value' is not a label, 0 to 65535" a.pgm --labels=labels.pgm --ignore-label="$value"
  done
  imghist_refused 2 "--ignore-label: is for --labels, and there is none" a.pgm --ignore-label=1
  imghist_refused 2 "--by=label: images have no labels without --labels=FILE|DIR" a.pgm --by=label
  for other in --mask=labels.pgm --region=1x1+0+0 --frames --kernel=reference --jpeg=gpu; do
    imghist_refused 2 "cannot be used with --" a.pgm --labels=labels.pgm "$other"
    assert_stderr_has "--labels"
    assert_stderr_has "${other%%=*}"
  done
  cp labels.pgm labels.of
  imghist_refused 2 "labels.of" a.pgm --labels=labels.of --csv -o labels.of
  cmp labels.pgm labels.of || fail "an output has replaced the label image"
}

@test "zones: --csv=images of a result file has the label column of the run" {
  zones
  echo text >bad.png
  for output in --csv=images --ndjson --json; do
    imghist_status 1 bad.png a.pgm b.pgm --labels=labels.pgm $output -o direct$output.${output#--}
  done
  mv direct--csv=images.csv=images direct.csv
  head -n 1 direct.csv | grep -q '^file,status,error,label,format' || fail "$(head -n 1 direct.csv)"
  for records in direct--ndjson.ndjson direct--json.json; do
    imghist_status 1 $records --csv=images -o merged.csv
    cmp direct.csv merged.csv || fail "$records: $(head -n 1 merged.csv)"
  done
  "$IMGHIST" a.pgm --ndjson -o whole.ndjson
  imghist_ok whole.ndjson --csv=images
  refute_output_has label
}

@test "zones: records of zones agree only with those of the same label image" {
  zones
  pgm others.pgm 4 2 '\x07\x07\x00\x00\x07\x09\x09\x09'
  "$IMGHIST" a.pgm --labels=labels.pgm --ndjson -o zones.ndjson
  cp zones.ndjson same.ndjson
  imghist_ok zones.ndjson same.ndjson --by=label --csv=stats --fields=file,channel,count
  assert_output_has "7,gray,6"
  mv others.pgm labels.pgm
  "$IMGHIST" a.pgm --labels=labels.pgm --ndjson -o others.ndjson
  imghist zones.ndjson others.ndjson --by=label --csv=stats
  assert_fails 2 "counted with another mask of the same name, labels.pgm"
  sed -i 's/"label":7/"label":70000/' zones.ndjson
  imghist_fails 1 "label is impossible" zones.ndjson --csv=stats
}
