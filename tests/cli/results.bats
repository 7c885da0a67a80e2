#!/usr/bin/env bats
# Result files as inputs: the records of NDJSON and JSON files.

# shellcheck disable=SC2154 # run sets lines

load helpers

RECORDS=$TESTS/records

# images: a folder with small images of every kind of channels, and two inputs that fail; the array `images`.
images() {
  mkdir -p set
  for i in 01 02 03 04 05 06 07 08 09; do
    dot set/gray$i.pgm "$(printf %02x $((10#$i * 27)))"
    ppm set/colour$i.ppm 2 1 "\\x$i\\x10\\xFF\\x00\\x80\\x$i"
    printf '%b' 'P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nENDHDR\n' "\\x$i\\x01\\x02\\x00\\x01\\x02\\xFF\\xFF" >set/alpha$i.pam
  done
  cp "$SAMPLES/scene.jpg" "$SAMPLES/cutout.png" set/
  damaged set/bad.png
  images=(set/*.* missing.png)
}

# shuffled SEED FILE...: the files in another order.
shuffled() {
  local seed=$1
  shift
  printf '%s\n' "$@" | awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand(), $0 }' | sort | cut -d' ' -f2-
}

@test "results: records give the counts that were written, and are written again byte by byte" {
  for kind in ndjson json; do
    file=$RECORDS/images.$kind
    imghist_fails 1 "missing.png: cannot open: No such file or directory" "$file" --csv=long
    # gray.pgm has the pixels 0, 10, 10, 255; alpha.pam has alpha 0 and 255
    [ "$(grep -E '^gray.pgm,(gray|luma),' <<<"$output" | grep -v ',0$' | paste -sd' ')" = \
      "gray.pgm,gray,0,1 gray.pgm,gray,10,2 gray.pgm,gray,255,1 gray.pgm,luma,0,1 gray.pgm,luma,10,2 gray.pgm,luma,255,1" ] ||
      fail "$file"
    [ "$(grep -E '^alpha.pam,alpha,' <<<"$output" | grep -v ',0$' | paste -sd' ')" = "alpha.pam,alpha,0,1 alpha.pam,alpha,255,1" ]
    [ "$(grep -c $'^caf\xe9.pgm,' <<<"$output")" -eq 512 ] || fail "no name in bytes"
    [ "$(grep -c '^"quo""te.pgm",' <<<"$output")" -eq 512 ] || fail "no quoted name"
    imghist "$file" --$kind
    printf '%s\n' "$output" | cmp - "$file"
  done
}

@test "results: totals" {
  for file in total.json images.ndjson; do
    imghist "$RECORDS/$file" --total-only --csv=stats
    assert_status 1 # one of its inputs had failed
    # by hand: red of the gray images thrice 0 10 10 255, of the others 1 255 7 1
    [[ $output == *'(total),,,red,16,1089,68.062500,'* ]] || fail "$file"
    [[ $output == *'(total),,,alpha,2,255,127.500000,127.500000,0,255,'* ]] || fail "$file"
  done
}

@test "results: merged records and totals are the bytes of the single run" {
  images
  for format in --csv=channels --csv=stats --ndjson --json --text=lines; do
    "$IMGHIST" "${images[@]}" $format --total >single.$format 2>/dev/null || [ $? -eq 1 ]
  done
  "$IMGHIST" "${images[@]}" --chart=single.png --total-only 2>/dev/null || [ $? -eq 1 ]
  "$IMGHIST" "${images[@]}" --total-only --json >single.total 2>/dev/null || [ $? -eq 1 ]
  for n in 1 2 7 64; do
    rm -rf parts
    mkdir parts
    for ((i = 0; i < n; i++)); do # contiguous parts; some of 64 are empty
      k=${#images[@]}
      part=("${images[@]:i*k/n:(i+1)*k/n-i*k/n}")
      name=parts/$(printf %02d $i)
      [ ${#part[@]} -gt 0 ] || continue
      "$IMGHIST" "${part[@]}" --ndjson >"$name.ndjson" 2>/dev/null || [ $? -eq 1 ]
      "$IMGHIST" "${part[@]}" --total-only --ndjson >"$name.total.json" 2>/dev/null || [ $? -eq 1 ]
    done
    for format in --csv=channels --csv=stats --ndjson --json --text=lines; do
      imghist_status 1 parts/*.ndjson $format --total
      printf '%s\n' "$output" | cmp - single.$format || fail "$n parts, $format"
    done
    for seed in 1 2 3; do
      # shellcheck disable=SC2034 # a name reference reads it
      mapfile -t records < <(shuffled $seed parts/*.ndjson)
      mapfile -t totals < <(shuffled $seed parts/*.total.json)
      for files in records totals; do
        declare -n list=$files
        imghist_status 1 "${list[@]}" --total-only --json
        printf '%s\n' "$output" | cmp - single.total || fail "$n $files"
        rm -f merged.png
        imghist "${list[@]}" --total-only --chart=merged.png
        cmp merged.png single.png || fail "$n $files"
      done
      # totals of totals, with records among them
      "$IMGHIST" "${totals[@]:0:2}" --total-only --ndjson >both.total.json 2>/dev/null || [ $? -eq 1 ]
      imghist both.total.json "${totals[@]:2}" --total-only --json
      printf '%s\n' "$output" | cmp - single.total || fail "$n totals in groups"
    done
  done
}

@test "results: the chart of a total has the folder of its images, merged or not" {
  mkdir -p photos/summer photos/winter
  for i in 1 2 3; do
    dot photos/summer/$i.pgm
    dot photos/winter/$i.pgm
  done
  for folder in photos photos/summer photos/summer/1.pgm; do
    imghist_ok $folder --total-only --chart=single.svg
    imghist_ok $folder --ndjson -o records.ndjson
    imghist_ok $folder --total-only --ndjson -o total.ndjson
    for file in records total; do
      imghist_ok $file.ndjson --total-only --chart=merged.svg
      cmp merged.svg single.svg || fail "$file of $folder"
    done
    name=${folder%/*.pgm}
    grep -q "Histogram of ${name##*/}: [0-9] image" single.svg || fail "$folder"
  done
  imghist_ok photos/summer --total-only --ndjson -o summer.ndjson
  imghist_ok photos/winter --total-only --ndjson -o winter.ndjson
  imghist_ok summer.ndjson winter.ndjson --total-only --chart=merged.svg
  imghist_ok photos --total-only --chart=single.svg
  cmp merged.svg single.svg
}

@test "results: records and new images together" {
  images
  "$IMGHIST" set/gray0*.pgm --ndjson -o old.ndjson
  "$IMGHIST" set/gray0*.pgm set/scene.jpg --total --csv >expected
  imghist_ok old.ndjson set/scene.jpg --total --csv
  assert_output "$(cat expected)"
  imghist_ok old.ndjson --chart=charts
  [ "$(find charts -type f | wc -l)" -eq 9 ]
  imghist_ok old.ndjson
  [ "$(wc -l <<<"$output")" -eq 11 ] || fail "a line for each record, and the last one"
}

@test "results: from standard input and pipes" {
  "$IMGHIST" "$SAMPLES" --ndjson -o all.ndjson
  imghist_ok --records=- --ndjson <all.ndjson
  printf '%s\n' "$output" | cmp - all.ndjson
  tail -n +1 all.ndjson | "$IMGHIST" --ndjson --records - | cmp - all.ndjson
  "$IMGHIST" --ndjson --records=<(cat all.ndjson) | cmp - all.ndjson
  { head -2 all.ndjson; sleep 1.5; tail -n +3 all.ndjson; } | "$IMGHIST" --ndjson --records=- | cmp - all.ndjson
  mkfifo pipe.ndjson
  cat all.ndjson >pipe.ndjson &
  "$IMGHIST" --ndjson pipe.ndjson | cmp - all.ndjson
  printf 'all.ndjson\n' | "$IMGHIST" --files-from=- --ndjson | cmp - all.ndjson
}

@test "results: the name tells them, or --records, in the order of the paths" {
  for i in 1 2 3 4 5; do dot $i.pgm 0$i; done
  "$IMGHIST" 2.pgm --ndjson -o 2.NDJSON
  "$IMGHIST" 3.pgm --ndjson -o 3.ndjson && mv 3.ndjson other
  "$IMGHIST" 4.pgm --json -o 4.json
  "$IMGHIST" 5.pgm --ndjson -o 5.ndjson && mv 5.ndjson 5.jsonl
  "$IMGHIST" {1,2,3,4,5}.pgm --csv >expected
  imghist_ok 1.pgm 2.NDJSON --records=other 4.json 5.jsonl --csv
  assert_output "$(cat expected)"
  printf '%s\n' 1.pgm 2.NDJSON 3.pgm 4.json 5.jsonl >list
  imghist_ok --files-from=list --csv
  assert_output "$(cat expected)"
  imghist_ok 1.pgm --csv --records other --records 2.NDJSON
  assert_output_has "3.pgm,"
  imghist_fails 1 "other: cannot decode: a result file among images is not supported: name it .ndjson or .json, or \
give --records=FILE" other --csv
  imghist_refused 2 "--records: cannot be used with --raw" --records=other --raw=1 --csv
  imghist_fails 1 "1.pgm: line 1: not a record of imghist" --records=1.pgm --csv
}

@test "results: a file that is not there or not of imghist fails alone" {
  dot a.pgm
  "$IMGHIST" a.pgm --csv >expected
  printf '{"name": 1}\n' >other.json
  printf '[\n  1\n]\n' >list.json
  printf '{"schema":"https://example.org","x":1}\n' >schema.json
  printf 'P\0Q\n' >binary.json
  : >empty.ndjson
  for file in none.ndjson other.json list.json schema.json binary.json empty.ndjson; do
    imghist_status 1 "$file" a.pgm --csv
    assert_output "$(cat expected)"
    assert_stderr_has "imghist: $file: "
    assert_stderr_has "imghist: 1 of 2 inputs failed"
  done
  assert_stderr_has "empty.ndjson: the file is empty"
}

@test "results: other programs may write the records again" {
  images
  "$IMGHIST" set --ndjson -o all.ndjson || [ $? -eq 1 ]
  "$IMGHIST" set --csv >expected 2>/dev/null || [ $? -eq 1 ]
  if command -v python3 >/dev/null; then
    python3 -c 'import json, sys
for line in open("all.ndjson"):
    record = json.loads(line)
    record["note"] = {"a": [1, None, {"b": "\ud83d\ude00"}], "c": -1.5e-3}
    print(json.dumps(dict(reversed(list(record.items()))), indent=None))' >again.ndjson
    imghist again.ndjson --csv
    assert_output "$(cat expected)"
  fi
  needs jq
  jq -c . all.ndjson | sed 's/$/\r/' >jq.ndjson
  imghist jq.ndjson --csv
  assert_output "$(cat expected)"
}

@test "results: JSON in another layout gets advice, which works" {
  needs jq
  "$IMGHIST" "$SAMPLES" --ndjson -o all.ndjson
  "$IMGHIST" "$SAMPLES" --json -o all.json
  "$IMGHIST" "$SAMPLES" --csv >expected
  jq . all.json >pretty.json
  jq . all.ndjson >pretty.ndjson
  jq -c . all.json >one_line.json
  for file in pretty.json pretty.ndjson one_line.json; do
    imghist $file --csv
    assert_refused 1 "$file: line 1: not the layout that imghist writes, a record in each line; jq -c '.images[]? // .' makes it so"
    jq -c '.images[]? // .' $file >again.ndjson
    imghist_ok again.ndjson --csv
    assert_output "$(cat expected)"
  done
  jq -s . all.ndjson >array.json
  imghist array.json --csv
  assert_refused 1 "array.json: line 1: not a record of imghist"
  for kind in json ndjson; do
    { printf '\xef\xbb\xbf'; sed 's/$/\r/' all.$kind; } >windows.json # a byte order mark
    imghist_ok windows.json --csv
    assert_output "$(cat expected)"
  done
}

@test "results: other measurements are refused, naming the difference" {
  dot a.pgm
  printf 'P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nENDHDR\n\x10\x80' >b.pam
  "$IMGHIST" b.pam --ndjson -o plain.ndjson
  "$IMGHIST" b.pam --ndjson --luma=bt601 -o luma.ndjson
  "$IMGHIST" b.pam --ndjson --clip=1,254 -o clip.ndjson
  "$IMGHIST" b.pam --ndjson --alpha=skip-transparent -o alpha.ndjson
  "$IMGHIST" b.pam --ndjson --region=1x1+0+0 -o region.ndjson
  "$IMGHIST" b.pam --ndjson --mask=a.pgm -o mask.ndjson
  while read -r file message; do
    for inputs in "plain.ndjson $file" "$file plain.ndjson" "$file a.pgm" "a.pgm $file"; do
      for total in "" --total-only; do
        # shellcheck disable=SC2086 # words
        imghist_fails 2 "$message" $inputs --json $total -o out.json
        [ ! -e out.json ]
      done
    done
    imghist_ok "$file" "$file" --total --csv # alone they are what they are
  done <<'END'
luma.ndjson with luma weights bt
clip.ndjson with clip limits
alpha.ndjson with alpha
region.ndjson with region
mask.ndjson with mask
END
  imghist_refused 2 "plain.ndjson: counted with luma weights bt709; this run asks for bt601" plain.ndjson --luma=bt601
  imghist_refused 2 "plain.ndjson: counted with clip limits 0,255; this run asks for 1,254" plain.ndjson --clip=1,254
  imghist plain.ndjson --alpha=skip-transparent
  assert_refused 2 "plain.ndjson: counted with alpha count; this run asks for skip-transparent"
  imghist_fails 2 "luma.ndjson: counted with luma weights bt601; the others have bt709" plain.ndjson luma.ndjson
  imghist_ok luma.ndjson --luma=bt601 --csv
  sed 's/round(v.255.max)/floor(v\/257)/' plain.ndjson >reduced.ndjson
  imghist_refused 1 "reduced.ndjson: line 1: damaged record: reduction is impossible" reduced.ndjson --csv -o out.csv
  sed 's/"bt709"/"bt2020"/' plain.ndjson >weights.ndjson
  imghist_refused 1 "weights.ndjson: line 1: damaged record: luma_weights is impossible" weights.ndjson
  sed 's/imghist.2/imghist\/3/' plain.ndjson >newer.ndjson
  imghist_refused 1 "newer.ndjson: line 1: of another imghist: this one reads imghist/2" newer.ndjson
}

@test "results: a total of no images keeps its measurement" {
  damaged bad.png
  dot a.pgm
  run "$IMGHIST" bad.png --json --total-only -o plain.json
  "$IMGHIST" a.pgm --json --luma=bt601 --total-only -o counted.json
  for option in --luma=bt601 --clip=1,254 --alpha=skip-transparent --depth=12 --region=1x1+0+0 --mask=a.pgm; do
    run "$IMGHIST" bad.png --json $option --total-only -o empty.json
    imghist_status 1 empty.json empty.json --json --total-only -o merged.json
    diff <(sed 's/"n_failed":1/"n_failed":2/' empty.json) merged.json || fail "$option"
    imghist_fails 2 "plain.json: counted with" empty.json plain.json --json --total-only
    imghist_status 1 empty.json counted.json --json --total-only -o merged.json # the failures may be of any
    diff <(sed 's/"n_failed":0/"n_failed":1/' counted.json) merged.json || fail "$option"
  done
}

@test "results: damaged and cut lines are refused, with file and line" {
  "$IMGHIST" "$SAMPLES" --ndjson -o all.ndjson
  "$IMGHIST" "$SAMPLES" --json -o all.json
  for cut in 1 1000 3000; do
    { head -2 all.ndjson; sed -n 3p all.ndjson | head -c $cut; } >cut.ndjson
    imghist_refused 1 "cut.ndjson: line 3: " cut.ndjson --csv -o out.csv
    [ ! -e out.csv ]
  done
  head -4 all.json >cut.json
  imghist_refused 1 "cut.json: line 4: cut short" cut.json --csv -o out.csv
  { cat all.json; echo '{}'; } >long.json
  imghist_refused 1 "text after the end of the document" long.json --csv -o out.csv
  { head -1 all.ndjson; echo 'no record'; } >text.ndjson
  imghist_refused 1 "text.ndjson: line 2: not JSON" text.ndjson --csv -o out.csv
  { head -1 all.ndjson; printf '{"schema":"imghist/2","x":"%5000000s"}\n' x; } >wide.ndjson
  imghist_refused 1 "wide.ndjson: line 2: longer than any record" wide.ndjson --csv -o out.csv
  sed -E '2s/"histogram":\[[0-9]+,/"histogram":[36865,/g' all.ndjson >count.ndjson
  imghist_refused 1 "count.ndjson: line 2: damaged record: the histogram of " count.ndjson --csv -o out.csv
  [ ! -e out.csv ]
  sed -E '2s/"count":36864/"count":36865/; s/"entropy":[0-9.]+,/"entropy":9,/; s/"mean_luma":[0-9.]+,//' all.ndjson >other.ndjson
  imghist_ok other.ndjson --ndjson # statistics follow from the bins
  printf '%s\n' "$output" | cmp - all.ndjson
  head -c -1 all.ndjson >no_newline.ndjson # complete all the same
  imghist_ok no_newline.ndjson --ndjson
  printf '%s\n' "$output" | cmp - all.ndjson
}

@test "results: a total is not added to the records that it sums" {
  "$IMGHIST" "$SAMPLES" --ndjson --total -o both.ndjson
  "$IMGHIST" "$SAMPLES" --json --total -o both.json
  imghist both.ndjson --total-only --csv -o out.csv
  assert_refused 1 "both.ndjson: line 7: a total beside the records that it sums"
  imghist both.json --total-only --csv -o out.csv
  assert_refused 1 "both.json: line 8: a total beside the records that it sums"
  "$IMGHIST" "$SAMPLES" --ndjson --total-only -o total.ndjson
  "$IMGHIST" "$SAMPLES" --ndjson -o all.ndjson
  imghist_fails 2 "all.ndjson: a total beside single images needs --total" total.ndjson all.ndjson --csv
  imghist_ok total.ndjson all.ndjson --total-only --csv=stats # of other files, as the user says
  assert_output_has '(total),,,luma,1036800,'
}

@test "results: a walked directory skips them, and an output is no input" {
  mkdir walked
  cp "$SAMPLES/testcard.png" walked/
  "$IMGHIST" walked --ndjson -o walked/earlier.ndjson
  imghist_ok walked --csv=stats
  [ "$(grep -c '^walked/testcard.png' <<<"$output")" -eq 4 ]
  [ "$(wc -l <<<"$output")" -eq 5 ]
  imghist_refused 2 "earlier.ndjson" walked/earlier.ndjson --ndjson -o walked/earlier.ndjson
  [ "$(wc -l <walked/earlier.ndjson)" -eq 1 ]
}

@test "results: a name cannot reach the terminal or another folder" {
  dot a.pgm
  "$IMGHIST" a.pgm --ndjson >a.ndjson
  sed 's/"file":"a.pgm"/"file":"..\/..\/\\u001b[31mx"/' a.ndjson >evil.ndjson
  imghist_ok evil.ndjson
  [[ $output != *$'\e'* ]] || fail "an escape"
  imghist_ok evil.ndjson --chart=charts
  [ -z "$(find . -path ./charts -prune -o -name '*.hist.png' -print)" ] || fail "$(find .)"
  for bad in '"format":"\\u001b[31m"' '"format":null'; do # "" is that of arrays
    why=impossible
    [ "$bad" != '"format":null' ] || why=missing
    sed "s/\"format\":\"pnm\"/$bad/" a.ndjson >bad.ndjson
    imghist_refused 1 "bad.ndjson: line 1: damaged record: format is $why" bad.ndjson
  done
}
