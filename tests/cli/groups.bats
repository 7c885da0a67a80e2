#!/usr/bin/env bats
# --by: a total for each group. --against: distances to a reference. Expected values come from check_groups.py.

# shellcheck disable=SC2154 # run sets lines

load helpers

# set_of_images: images of random values in three folders, and one beside them.
set_of_images() {
  python3 - <<'END'
import os, random
rng = random.Random(7)
for folder in ("d/cats", "d/dogs", "d/dogs/small", "d"):
    os.makedirs(folder, exist_ok=True)
    for i in range(6):
        width, channels, low = rng.randint(1, 40), rng.choice([1, 3]), rng.randint(0, 200)
        samples = bytes(rng.randint(low, low + 55) for _ in range(width * channels))
        with open(f"{folder}/{i}.{'pgm' if channels == 1 else 'ppm'}", "wb") as f:
            f.write(b"P%d %d 1 255\n" % (5 if channels == 1 else 6, width) + samples)
END
  damaged d/cats/bad.png
}

# list_of_groups: even images are in "even, really", odd ones in "odd"; those of d/cats are left out.
list_of_groups() {
  printf 'path,group\r\n'
  for f in d/*.p?m d/dogs/*.p?m d/dogs/small/*.p?m; do
    case $f in *[02468].p?m) echo "$f,\"even, really\"" ;; *) echo "\"$f\",odd" ;; esac
  done
}

@test "groups: a total for each folder, from all pixels" {
  set_of_images
  imghist d --by=folder --csv=stats
  assert_status 1
  printf '%s\n' "$output" >groups.csv
  python3 "$TESTS/cli/check_groups.py" folder groups.csv || fail "totals"
  imghist d --by=folder --ndjson
  [ ${#lines[@]} -eq 4 ] || fail "four folders"
  [[ ${lines[1]} == *'"file":"d/cats","total":true,"status":"ok","n_images":6,"n_failed":1,"folder":"d/cats/","group":"d/cats"'* ]] ||
    fail "fields"
}

@test "groups: a list, with quotes, a header and names that it lacks" {
  set_of_images
  list_of_groups >groups.list
  run "$IMGHIST" d --by=groups.list --csv=stats -o groups.csv
  assert_status 1
  [[ $output == *"groups.list: note: 7 inputs are not in this list, and in no group"* ]] || fail "what was left out: $output"
  python3 "$TESTS/cli/check_groups.py" groups.list groups.csv || fail "totals"
  local line
  printf "0.pgm,even\n" >other.list # not as imghist names them
  imghist_fails 1 "other.list: 25 inputs are not in this list, and in no group: d/" d --by=other.list --csv=stats
  for line in 'd/0.pgm' 'd/0.pgm,' ',odd' '"d/0.pgm,odd' 'd/0.pgm,odd,3' '"a"b,odd'; do
    printf 'a,b\n%s\n' "$line" >bad.list
    imghist_fails 1 "bad.list: line 2 is not 'name,group'" d --by=bad.list --csv
  done
  printf 'a,b\na,c\n' >bad.list
  imghist_fails 1 "bad.list: 'a' stands in it twice" d --by=bad.list --csv
  imghist_fails 1 "nowhere: cannot open it: No such file or directory (--by=folder|band|format|label|size|samples|FILE)" d --by=nowhere --csv
}

@test "groups: formats and sizes, also of merged records, and failures" {
  local file
  for file in a/1.pgm b/2.pgm 3.pgm; do mkdir -p a b && printf 'P5 3 2 255\n\1\2\3\4\5\6' >$file; done
  printf '\102\115\072\0\0\0\0\0\0\0\066\0\0\0\050\0\0\0\1\0\0\0\1\0\0\0\1\0\030\0\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\7\7\7\0' >a/4.bmp
  printf 'P5 20 1 255\n%020d' 0 >b/5.pgm
  damaged b/6.png
  imghist . --by=format --csv=stats
  [ "$(cut -d, -f1,4-6 <<<"$output" | grep luma)" = $'(failed),luma,0,0\nbmp,luma,1,7\npnm,luma,38,1023' ] || fail "formats: $output"
  imghist . --by=size --csv=stats
  [ "$(cut -d, -f1,4-6 <<<"$output" | grep luma)" = $'(failed),luma,0,0\n1x1,luma,1,7\n20x1,luma,20,960\n3x2,luma,18,63' ] || fail "sizes: $output"
  mkdir n
  printf 'P5 1 2 4095\n\0\1\0\2' >n/12.pgm
  printf 'P5 1 2 65535\n\0\3\0\4' >n/16.pgm
  printf 'Pf 1 1 -1\n\0\0\200\77' >n/float.pfm
  imghist n 3.pgm --by=samples --bins=native --csv=stats
  [ "$(cut -d, -f1,4-6 <<<"$output" | grep gray)" = $'float32,gray,1,\nuint16,gray,2,7\nuint16 of 4096 values,gray,2,3\nuint8,gray,6,21' ] || fail "samples: $output"
  imghist n 3.pgm --by=samples --csv=stats # both of uint16 have 256 bins
  [ "$(cut -d, -f1,5 <<<"$output" | uniq)" = $'file,count\nfloat32,1\nuint16,4\nuint8,6' ] || fail "samples: $output"
  for by in format size samples; do
    "$IMGHIST" a b 3.pgm --by=$by --ndjson -q >single.txt || [ $? -eq 1 ]
    jq -es '[.[].n_failed] | add == 1' single.txt || fail "$by: the failure"
    for part in 1 2; do "$IMGHIST" a b 3.pgm --shard=$part/2 --ndjson -q -o part$part.ndjson || [ $? -eq 1 ]; done
    "$IMGHIST" part*.ndjson --by=$by --ndjson -q >merged.txt || [ $? -eq 1 ]
    cmp single.txt merged.txt || fail "$by: merged parts"
    rm part*.ndjson
  done
  sed -E 's/"format":"pnm"/"format":""/' <("$IMGHIST" 3.pgm --ndjson) >array.ndjson
  imghist array.ndjson --by=format --csv=stats
  [ "$(cut -d, -f1,5,6 <<<"${lines[1]}")" = "(no format),6,21" ] || fail "no format: $output"
}

@test "groups: lists of spreadsheets and of carriage returns, and what is no list" {
  set_of_images
  printf '\xef\xbb\xbffile,group\rd/0.pgm,\xff\rd/1.ppm,\xfe\rc,x\re,x\rf,x\rg,x\r' >cr.list
  "$IMGHIST" -q d/0.pgm d/1.ppm --by=cr.list --json -o bytes.json
  jq -e '[.groups[].n_images] == [1, 1]' bytes.json || fail "two groups"
  "$IMGHIST" -q bytes.json --json | cmp - bytes.json || fail "names that are not UTF-8, read back"
  imghist_fails 1 "/dev/zero: a NUL byte" d --by=/dev/zero --csv
  python3 -c 'print("a," + 65536 * "b")' >long.list
  imghist_fails 1 "line 1: the name of a group is too long" d --by=long.list --csv
}

@test "groups: shards, records and groups of parts give the bytes of the single run" {
  set_of_images
  for format in --ndjson --json --csv=images; do
    "$IMGHIST" -q d --by=folder $format >"single.$format" 2>/dev/null || [ $? -eq 1 ]
  done
  for ((i = 1; i <= 7; i++)); do "$IMGHIST" -q d --shard=$i/7 --ndjson -o shard.$i.ndjson 2>/dev/null || [ $? -eq 1 ]; done
  for part in d/cats d/dogs; do
    "$IMGHIST" -q "$part" --by=folder --ndjson -o "${part#d/}.ndjson" 2>/dev/null || [ $? -eq 1 ]
  done
  "$IMGHIST" -q d/*.p?m --by=folder --json -o rest.json
  for format in --ndjson --json --csv=images; do
    "$IMGHIST" -q shard.* --by=folder $format 2>/dev/null | cmp - "single.$format" || fail "shards, $format"
    "$IMGHIST" -q dogs.ndjson rest.json cats.ndjson $format 2>/dev/null | cmp - "single.$format" || fail "parts, $format"
    "$IMGHIST" -q --records=single.--json $format 2>/dev/null | cmp - "single.$format" || fail "read back, $format"
  done
}

@test "groups: --total, charts, the page, and what is refused" {
  set_of_images
  rm d/cats/bad.png
  "$IMGHIST" d --by=folder --total --json >both.json
  jq -e '(.groups | map(.pixels) | add) == .total.pixels and (.images == [])' both.json || fail "total"
  imghist_fails 1 "a total beside the records that it sums" both.json --csv
  imghist_ok d --by=folder --chart=charts/
  [ "$(find charts -name "*.png" -size +1k | wc -l)" -eq 4 ] || fail "charts"
  imghist_refused 2 'one chart for many groups' d --by=folder --chart=one.png
  imghist_ok d --by=folder --html=page.html
  grep -q '^\["d/cats","ok"' page.html || fail "rows"
  imghist_ok d --by=folder --sheet --chart=sheet.svg
  grep -q ">4 groups  ·  heights in percent of each group's pixels" sheet.svg || fail "$(grep -o '>[^<]*heights[^<]*' sheet.svg)"
  [ "$(grep -cE '>[0-9]+ images?<' sheet.svg)" -eq 4 ] || fail "numbers of images"
  grep -q '<svg.* width="870" height="640"' sheet.svg || fail "$(grep '<svg' sheet.svg)" # 2 x 2 panels fill the height of a chart
  imghist_refused 2 'too small for 4 groups' d --by=folder --sheet --chart=small.png --chart-size=320x200
  imghist_refused 2 'may lie in several parts' d --by=folder --shard=1/2 --ndjson
  imghist_refused 2 'a comparison has no groups' --diff d/cats d/dogs --by=folder
  "$IMGHIST" d --by=folder --ndjson >groups.ndjson
  "$IMGHIST" d --total-only --ndjson >total.ndjson
  "$IMGHIST" groups.ndjson --total-only --ndjson | cmp - total.ndjson
  imghist_refused 2 "--by: cannot be used with --total-only" d --by=folder --total-only --ndjson
  "$IMGHIST" groups.ndjson --total --json | cmp - both.json
  imghist_refused 2 "totals of groups beside single images need --by" groups.ndjson d/cats --csv
  imghist_refused 2 "a total no longer has its images" total.ndjson --by=folder --csv
  sed 's|"group":"d/cats"|"group":""|' groups.ndjson >bad.ndjson
  imghist_fails 1 'group is' bad.ndjson --csv
}

@test "against: distances to a folder, an image, a result file and the set itself" {
  set_of_images
  rm d/cats/bad.png
  "$IMGHIST" d/cats --ndjson >cats.ndjson
  for reference in d/cats d/1.p?m cats.ndjson total; do
    "$IMGHIST" d/dogs --against="$reference" --csv=images >against.csv
    python3 "$TESTS/cli/check_groups.py" against "$reference" against.csv || fail "$reference"
    "$IMGHIST" d/dogs --ndjson >dogs.ndjson
    [ "$reference" = total ] || "$IMGHIST" dogs.ndjson --against="$reference" --csv=images | cmp - against.csv || fail "records"
  done
  "$IMGHIST" dogs.ndjson --against=total --csv=images | cmp - against.csv || fail "a result file twice"
  find d/dogs -name '*.p?m' | LC_ALL=C sort >dogs.list
  "$IMGHIST" --files-from=dogs.list --against=d/cats --csv=images | cmp - <("$IMGHIST" dogs.ndjson --against=d/cats --csv=images) || fail "a list"
  imghist_refused 2 'and - can be read once' - --against=total --csv <d/1.ppm
  "$IMGHIST" d/dogs --against=total --by=folder --total --csv=images >groups.csv
  [[ $(tail -n 1 groups.csv) == "(total),"*",0.000000,0.000000" ]] || fail "the total is the reference"
}

@test "against: shards give the bytes of the single run" {
  set_of_images
  for ((i = 1; i <= 7; i++)); do "$IMGHIST" -q d --shard=$i/7 --ndjson -o shard.$i.ndjson 2>/dev/null || [ $? -eq 1 ]; done
  for format in --ndjson --json --csv=images; do
    "$IMGHIST" -q d --against=d/cats $format >single 2>/dev/null || [ $? -eq 1 ]
    "$IMGHIST" -q shard.* --against=d/cats $format 2>/dev/null | cmp - single || fail "$format"
  done
  "$IMGHIST" -q d --against=total --csv=images >single 2>/dev/null || [ $? -eq 1 ]
  for ((i = 1; i <= 7; i++)); do cat shard.$i.ndjson; done >all.ndjson
  "$IMGHIST" -q shard.* --ndjson -o whole.ndjson 2>/dev/null || [ $? -eq 1 ]
  "$IMGHIST" -q whole.ndjson --against=total --csv=images 2>/dev/null | cmp - single || fail "total"
}

@test "against: conditions, other outputs, and what is refused" {
  set_of_images
  rm d/cats/bad.png
  "$IMGHIST" d --against=total --csv=images >all.csv
  "$IMGHIST" d --against=total --where 'emd > 40 and ks > 10%' --csv=images >some.csv
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == 1 || ($at["emd"] > 40 && $at["ks"] > 0.1)' all.csv | cmp - some.csv || fail "--where"
  [ "$(wc -l <some.csv)" -gt 1 ] || fail "no outlier"
  # Text and the page say what --csv=images says.
  local name ks emd
  while IFS=, read -r name ks emd; do
    printf -v ks %.4f "$ks"
    printf -v emd %.2f "$emd"
    imghist_output_has "$(printf '  %s%10s  %s' "$ks" "$emd" "${name#d/}")" d --against=total --text=lines
    imghist_output_has "to the reference: ks $ks, emd $emd" "$name" --against=d --text=full
  done < <(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == 2 || NR == 9 { print $1 "," $at["ks"] "," $at["emd"] }' all.csv)
  imghist_ok d --against=total --html=page.html
  grep -q '"ks","emd"' page.html || fail "columns of the page"
  imghist_ok d --against=total --ndjson
  [[ ${lines[0]} == *'"ks":0.'*'"emd":'* ]] || fail "JSON"
  imghist_ok d --csv=images
  [[ ${lines[0]} != *emd* ]] || fail "columns without --against"
  imghist_refused 2 "'emd' is a distance: --against=REF gives it" d --where 'emd > 40' --csv
  imghist_refused 2 'a reference is a file or a folder' d --against=- --csv
  imghist_refused 2 'a distance needs the whole run' d --against=d/cats --shard=1/2 --ndjson
  imghist_fails 1 'nowhere: no pixels to compare with' d --against=nowhere --csv=images
  assert_stderr_has 'nowhere: --against: cannot open: No such file or directory (--against=total|FILE|DIR)'
}

@test "against: files of the reference that fail are no failed inputs, and total names each once" {
  dots in/a.pgm in/b.pgm ref/a.pgm
  damaged ref/bad.png
  imghist_status 1 in --against=ref --csv=images
  [ "$(grep -c ',ok,' <<<"$output")" -eq 2 ] || fail "$output"
  assert_stderr_has "ref/bad.png: --against: damaged PNG"
  assert_stderr_has "imghist: 1 file of --against failed"
  refute_stderr_has "inputs failed"
  imghist_status 1 in --against=ref --csv=images -v
  assert_stderr_has "2 done, 0 failed, 0 skipped, 1 of --against failed"
  imghist_status 1 in --against=ref --csv=images -q
  [ "${#stderr_lines[@]}" -eq 1 ]
  damaged in/bad.png
  imghist_status 1 in --against=total --csv=images
  [ "$(grep -c 'damaged PNG' <<<"$stderr")" -eq 1 ] || fail "$stderr"
  assert_stderr_has "1 of 3 inputs failed"
}
