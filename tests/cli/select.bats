#!/usr/bin/env bats
# Choosing records: --csv=images, --where, --fail-if, --print, --print0; and their fields: --fields. tests/unit/test_condition.c has the grammar.

load helpers

# Three images: black, white with one black pixel of four, gray 100; and a broken one.
images() {
  pgm black.pgm 2 1 '\x00\x00'
  pgm white.pgm 2 2 '\xFF\xFF\xFF\x00'
  pgm gray.pgm 1 1 '\x64'
}

HEADER=file,status,error,format,width,height,pixels,depth,source_min,source_max,mean_luma,mean_luminance,median,stddev,p01,p99,entropy
HEADER+=,blown_any,blown_any_share,blown_all,blown_all_share,crushed_any,crushed_any_share,crushed_all,crushed_all_share,warnings

# mean 765 / 4; deviations 63.75 three times and 191.25; entropy 3/4 log2(4/3) + 1/4 * 2
@test "select: --csv=images has one row for each image, by hand, and for failures" {
  images
  echo text >'bad, or "not".png'
  imghist_status 1 white.pgm gray.pgm 'bad, or "not".png' gone.png --csv=images
  [ "${lines[0]}" = "$HEADER" ] || fail "header"
  [ "${lines[1]}" = white.pgm,ok,,pnm,2,2,4,8,,,191.250000,0.750000,255,110.418239,0,255,0.811278,3,0.750000,3,0.750000,1,0.250000,1,0.250000, ] || fail "white"
  [ "${lines[2]}" = gray.pgm,ok,,pnm,1,1,1,8,,,100.000000,0.127438,100,0.000000,100,100,0.000000,0,0.000000,0,0.000000,0,0.000000,0,0.000000, ] || fail "gray"
  [[ ${lines[3]} == '"bad, or ""not"".png",error,"cannot decode: not an image'*'",,,,,,,,,,,,,,,,,,,,,,,' ]] || fail "bad"
  [[ ${lines[4]} == gone.png,error,*"No such file"*,,,,,,,,,,,,,,,,,,,,,,, ]] || fail "gone"
  [ ${#lines[@]} -eq 5 ]
}

@test "select: a table of failures alone is kept" {
  echo text >bad.png
  imghist_status 1 bad.png --csv=images -o t.csv
  [ "$(wc -l <t.csv)" -eq 2 ]
  imghist_status 1 --files-from=/dev/null --csv=images
  assert_output "$HEADER"
}

@test "select: --where chooses the records of every output" {
  images
  imghist_ok *.pgm --where 'blown_any > 50% or crushed_all_share == 1' --csv=images -o a.csv --ndjson -o b.ndjson --chart=charts
  [ "$(cut -d, -f1 a.csv | tail -n +2 | paste -sd' ')" = "black.pgm white.pgm" ] || fail "csv"
  [ "$(grep -o '"file":"[a-z.]*"' b.ndjson | paste -sd' ')" = '"file":"black.pgm" "file":"white.pgm"' ] || fail "ndjson"
  [ "$(ls charts | paste -sd' ')" = "black.pgm.hist.png white.pgm.hist.png" ] || fail "charts"
  imghist_output "$HEADER" *.pgm --where 'width > 100' --csv=images
}

@test "select: the total is that of the selected records" {
  images
  imghist_ok black.pgm white.pgm --csv=stats --total-only
  local expected=$output
  imghist_output "$expected" *.pgm --csv=stats --total-only --where "width == 2"
}

@test "select: a total of no image says how it was measured" {
  images
  options=(--region=1x1+0+0 "--clip=5,250" --luma=bt601)
  "$IMGHIST" *.pgm "${options[@]}" --ndjson -o all.ndjson
  imghist_ok *.pgm "${options[@]}" --where 'width > 1000' --total-only --ndjson
  local expected=$output
  assert_output_has '"region":"1x1+0+0","clip_limits":{"low":5,"high":250}'
  imghist_output "$expected" all.ndjson --where 'width > 1000' --total-only --ndjson
}

@test "select: totals of result files are refused" {
  images
  "$IMGHIST" white.pgm --total-only --ndjson -o total.ndjson
  for inputs in total.ndjson "black.pgm total.ndjson"; do
    # shellcheck disable=SC2086 # two words
    imghist_refused 2 "total.ndjson: --where selects images, and a total no longer has them" $inputs --total --where 'width > 0' --csv -o out.csv
  done
}

@test "select: --where and failures" {
  images
  echo text >bad.png
  imghist_fails 1 "imghist: bad.png: " bad.png black.pgm --csv=images --where "status == 'error'"
  [ "$(wc -l <<<"$output")" -eq 2 ] || fail "rows"
  [[ ${lines[1]} == bad.png,error,* ]] || fail "no bad.png"
  imghist_fails 1 "imghist: bad.png: " bad.png black.pgm --csv=images --where 'not width > 5'
  [[ ${lines[1]} == black.pgm,ok,* ]] || fail "no black.pgm"
  [ "$(wc -l <<<"$output")" -eq 2 ] || fail "a failure has no width"
}

@test "select: --print0 gives names for xargs -0" {
  images
  mv black.pgm $'a\nname.pgm'
  "$IMGHIST" . --where 'mean_luma < 50' --print0 | xargs -0 -n1 printf '<%s>' >actual
  [ "$(cat actual)" = $'<./a\nname.pgm>' ] || [ "$(cat actual)" = $'<a\nname.pgm>' ] || fail "$(cat actual)"
}

@test "select: --print gives a line for each name, quoted as by ls if its characters would break the line" {
  local name
  mkdir images && cd images
  for name in plain.pgm 'two words.pgm' "it's.pgm" '"q".pgm' 'back\\slash.pgm' '$HOME.pgm' $'\xff.pgm'; do pgm "$name" 1 1 '\x64'; done
  imghist_ok *.pgm --print
  [ "$output" = "$(printf '%s\n' *.pgm)" ] || fail "as they are: $output"
  cd .. && mkdir quoted && cd quoted
  for name in $'a\nb.pgm' $'\n.pgm' $'tab\t\x1b\x7f.pgm' $'it\'s\n\a.pgm' $'\r\v.pgm' $'end.pgm\n' ; do pgm "$name" 1 1 '\x64'; done
  imghist_ok ./*pgm* --print
  [ "$(sed "s|^'./|'|" <<<"$output")" = "$(LC_ALL=C ls --quoting-style=shell-escape)" ] || fail "as ls: $output"
  pgm "'q'.pgm" 1 1 '\x64'
  imghist_ok *pgm* --print
  eval "read_again=($output)"
  [ "$(printf '%s\0' "${read_again[@]}" | od -c)" = "$(printf '%s\0' *pgm* | od -c)" ] || fail "a shell reads: $output"
  imghist_fails 2 "--print: cannot be used with --by" . --print --by=size
}

@test "select: --fail-if exits with 4 and names the records; failed inputs exit with 1" {
  images
  imghist_quiet *.pgm --csv=stats --fail-if 'width > 2'
  imghist_status 4 *.pgm --csv=stats --fail-if 'mean_luma < 50 or mean_luma > 150'
  [ "$(grep -c 'matches --fail-if' <<<"$stderr")" -eq 2 ] || fail "names"
  assert_stderr_has "imghist: black.pgm: matches --fail-if: mean_luma 0.000000"
  assert_stderr_has "imghist: white.pgm: matches --fail-if: mean_luma 191.250000"
  [ "${stderr_lines[-1]}" = "imghist: 2 of 3 records match --fail-if" ] || fail "how many"
  [ "$(wc -l <<<"$output")" -eq 7 ] || fail "all records are written"
  imghist_status 4 *.pgm --csv=stats -q --fail-if 'mean_luma < 50'
  [ "$stderr" = "imghist: black.pgm: matches --fail-if: mean_luma 0.000000" ] || fail "-q"
  imghist_status 1 *.pgm gone.pgm --csv=stats --fail-if 'mean_luma < 50'
  imghist_ok *.pgm --csv=stats --where 'width == 1' --fail-if 'mean_luma < 50'
  imghist_status 4 *.pgm --csv=stats --total-only --fail-if 'pixels == 7'
}

@test "select: --where says how many match, and patterns and channels choose" {
  images
  echo text >bad.png
  for arguments in "2|file ~ '*a*.pgm'" "1|gray.p99.9 < 50" "3|luma.p50 >= 0 and file !~ '*.png'" "0|red.mean >= 0"; do
    run --separate-stderr "$IMGHIST" *.pgm --where "${arguments#*|}" --csv=images
    local n=${arguments%%|*} s=es
    [ "$n" -eq 1 ] || s=
    [ "$stderr" = "imghist: $n of 3 images match$s --where" ] || fail "$arguments: $stderr"
    [ ${#lines[@]} -eq $((n + 1)) ] || fail "$arguments: $output"
  done
  imghist_fails 1 "imghist: 1 of 2 inputs failed; 2 of 2 inputs match --where" black.pgm bad.png --where "file ~ '*'" --print0
  imghist_quiet *.pgm --where "file ~ '*'" -q -o out.csv
}

@test "select: --percentiles is in every output, by hand, and merges compute them anew" {
  pgm ramp.pgm 10 10 "$(printf '\\x%02x' {1..100})"
  imghist_ok ramp.pgm --percentiles=0,0.5,10.000001,99,99.5,100 --csv=stats
  [[ ${lines[0]} == *,step,nodata,nan,positive_infinity,negative_infinity,p0,p0.5,p10.000001,p99.5,p100 ]] || fail "header: p99 is there anyway"
  [[ ${lines[1]} == *,1,0,,,,1,1,11,100,100 ]] || fail "row"
  local expected=$output
  "$IMGHIST" ramp.pgm --ndjson -o old.ndjson
  imghist_quiet old.ndjson --percentiles=0,0.5,10.000001,99,99.5,100 --csv=stats
  assert_output "$expected"
  imghist_ok ramp.pgm --percentiles=0.5,25,99.5 --csv
  [[ ${lines[0]} == *,step,p0.5,p99.5,bin_0,* ]] || fail "channels"
  imghist_status 1 ramp.pgm gone.pgm --percentiles=0.5,25,99.5 --csv=images
  [[ ${lines[0]} == *,crushed_all_share,warnings,p0.5,p25,p99.5 && ${lines[1]} == *,,1,25,100 && ${lines[2]} == *,,, ]] || fail "images"
  imghist_output_has '"step":1,"p0.5":1,"p99.5":100,"histogram":' ramp.pgm --percentiles=0.5,25,99.5 --json
  imghist_output_has $'\n  luma: p0.5 1, p25 25\n' ramp.pgm --percentiles=0.5,25
  imghist_ok ramp.pgm --percentiles=0.5,25,99.5 --text=lines
  [[ ${lines[0]} == *"      p0.5       p25     p99.5  name" && ${lines[1]} == *"         1        25       100  ramp.pgm" ]] || fail "lines"
  imghist_status 1 ramp.pgm gone.pgm --percentiles=0.5,99,99.5 --html=page.html
  grep -qE '"crushed_all_share","warnings","p0.5","p99.5","fingerprint"\],"statistics"' page.html && grep -qE '^\["ramp.pgm",.*,null,1,100,"[0-9a-f]{16}","' page.html || fail "page"
  grep -qE '^\["gone.pgm",.*,null,null,null,null' page.html || fail "page, failures"
  "$IMGHIST" ramp.pgm --percentiles=0.5 --ndjson -o new.ndjson
  cmp <("$IMGHIST" new.ndjson --csv) <("$IMGHIST" ramp.pgm --csv) || fail "read back"
  imghist_ok --diff ramp.pgm ramp.pgm --percentiles=0.5,99.5 --csv
  [[ ${lines[0]} == *,step_a,step_b,p0.5_a,p0.5_b,p99.5_a,p99.5_b && ${lines[1]} == *,1,1,100,100 ]] || fail "--diff"
  imghist_refused 2 "--percentiles: '101' is not a list of numbers from 0 to 100" ramp.pgm --percentiles=101
  imghist_refused 2 "--percentiles: more than 16" ramp.pgm --percentiles="$(seq -s, 1 17)"
}

# The values are those of the tests above, which are computed by hand.
@test "select: --fields writes these columns in this order, for images, channels and NDJSON" {
  images
  echo text >bad.png
  pgm "=a,b.pgm" 1 1 '\x64'
  imghist_status 1 white.pgm "=a,b.pgm" bad.png --csv=images --fields=p99.9,blown_any,file,gray.stddev,red.mean,status --total
  [ "$output" = "p99.9,blown_any,file,gray.stddev,red.mean,status
255,3,white.pgm,110.418239,,ok
100,0,\"./=a,b.pgm\",0.000000,,ok
,,bad.png,,,error
255,3,(total),105.290076,,ok" ] || fail "$output"
  imghist_status 1 white.pgm bad.png --ndjson --fields=file,gray.mean,format,error
  [ "${lines[0]}" = '{"file":"white.pgm","gray.mean":191.250000,"format":"pnm","error":null}' ] || fail "${lines[0]}"
  [[ ${lines[1]} == '{"file":"bad.png","gray.mean":null,"format":null,"error":"cannot decode: '* ]] || fail "${lines[1]}"
  imghist_output "channel,mean,p50,file,width
gray,191.250000,255,white.pgm,2
luma,191.250000,255,white.pgm,2" white.pgm --csv=stats --fields='channel, mean ,p50,  file,width'
  imghist_output "pixels
4" white.pgm --fields=pixels
  imghist_ok white.pgm --fields=file,emd --against=black.pgm
  [ "${lines[1]}" = white.pgm,191.250000 ] || fail "${lines[1]}"
  imghist_ok white.pgm black.pgm --ndjson -o all.ndjson
  imghist_output "$("$IMGHIST" white.pgm black.pgm --fields=luma.p75,file)" all.ndjson --fields=luma.p75,file
}

# By hand: 1 2 3 4 9 has the distances 0 1 1 2 6 from its median, p25 2 and p75 4, and nothing is clipped. From ten times 50, 52 and
# 255, sigma clipping drops 255 first, then 52. tests/public/robust.py compares 300 images with NumPy and astropy.
@test "select: robust statistics, of images, records, totals and merged parts" {
  pgm a.pgm 5 1 '\x01\x02\x03\x04\x09'
  pgm b.pgm 6 2 '\x32\x32\x32\x32\x32\xFF\x32\x32\x32\x32\x34\x32'
  pgm first.pgm 6 1 '\x32\x32\x32\x32\x32\xFF'
  pgm second.pgm 6 1 '\x32\x32\x32\x32\x34\x32'
  fields=gray.mad,gray.iqr,gray.clipped_mean,gray.clipped_median,gray.clipped_stddev
  imghist_output "$fields
1,2,3.800000,3.000000,2.785678
0,0,50.000000,50.000000,0.000000" a.pgm b.pgm --fields=$fields
  "$IMGHIST" first.pgm --ndjson -o 1.ndjson
  "$IMGHIST" second.pgm --ndjson -o 2.ndjson
  imghist_output "channel,mad,clipped_mean,clipped_stddev
gray,0,50.000000,0.000000
luma,0,50.000000,0.000000" 1.ndjson 2.ndjson --total-only --csv=stats --fields=channel,mad,clipped_mean,clipped_stddev
  imghist_output $'file\na.pgm' a.pgm b.pgm --fields=file --where 'gray.mad > 0 and gray.clipped_stddev < 3'
  imghist_output '{"gray.iqr":2,"red.mad":null}' a.pgm --ndjson --fields=gray.iqr,red.mad
  imghist_refused 2 "--fields: column 1: no field 'mad'" a.pgm --csv=images --fields=mad
  imghist_refused 2 "gray.mad goes from 0 to 255: the comparison decides nothing" a.pgm --where 'gray.mad > 300'
}

@test "select: --sigma-clip and --share equal the definitions, in fields and columns" {
  needs python3
  python3 "$TESTS/cli/check_fields.py" make d
  for sigma in 3 2 1.5 0.6; do
    imghist_ok d --bins=native --csv=stats --fields=file,clipped_mean,clipped_median,clipped_stddev --sigma-clip=$sigma -o c.csv -q
    python3 "$TESTS/cli/check_fields.py" clipped c.csv $sigma || fail "$sigma"
  done
  imghist_ok d --bins=native --csv=stats --fields=file,clipped_mean,clipped_median,clipped_stddev -o c.csv -q
  python3 "$TESTS/cli/check_fields.py" clipped c.csv 3 || fail "the default"
  for limit in 100 20000 99.5 0 -3; do
    imghist_ok d --bins=native --csv=stats "--share=<=$limit,<$limit,>=$limit,>$limit" -o s.csv -q
    python3 "$TESTS/cli/check_fields.py" shares s.csv $limit || fail "$limit"
    [[ $(head -n 1 s.csv) == *,negative_infinity,share_le_$limit,share_lt_$limit,share_ge_$limit,share_gt_$limit ]] || fail "header"
  done
  pgm a.pgm 5 1 '\x01\x02\x03\x04\x09' # 60 % are <= 3; without 9, which is far, the mean is 2.5
  imghist_output $'file\na.pgm' a.pgm --fields=file --where 'gray.share_le_3 >= 60% and share_gt_3 < 0.41 and share_lt_-1 == 0' -q
  imghist_output $'file\na.pgm' a.pgm --fields=file --where 'gray.clipped_mean == 2.5' --sigma-clip=1.5 -q
  imghist_output_has '"step":1,"share_gt_3":0.400000,"histogram":' a.pgm '--share=>3' --json
  imghist_output_has 'luma: p50 3, share_gt_3 0.400000' a.pgm --percentiles=50 '--share=>3'
  imghist_ok a.pgm '--share=>3,<=3' --text=lines
  [[ ${lines[0]} == *"  share_gt_3  share_le_3  name" && ${lines[1]} == *"      0.4000      0.6000  a.pgm" ]] || fail "$output"
  imghist_ok a.pgm '--share=>3' --ndjson -o a.ndjson
  cmp <("$IMGHIST" a.ndjson --csv=stats) <("$IMGHIST" a.pgm --csv=stats) || fail "read back"
  for wrong in 3 '<=' '<=x' '<=3,' '=3' '<=1..2' '>-' '<=123456789'; do
    imghist_refused 2 "--share: '$wrong' is not a list of <=, <, >= or > with a value" a.pgm "--share=$wrong"
  done
  imghist_refused 2 "--share: cannot be used with --fields: name it there" a.pgm '--share=>3' --fields=file
  imghist_refused 2 "share_le_3 goes from 0 to 1; write a percentage" a.pgm --where 'share_le_3 > 4'
  for wrong in 0 -1 x 101; do imghist_refused 2 "--sigma-clip: '$wrong' is not a number of deviations" a.pgm --sigma-clip=$wrong; done
  imghist_refused 2 "--sigma-clip: cannot be used with --csv=images: no output shows clipped_mean" a.pgm --csv=images --sigma-clip=2
}

# The groups are the lines with equal fingerprints; the first images of the groups are in the order of the names.
@test "select: --copies and fingerprints, of several formats, rotated and mirrored, also from records" {
  needs python3 jq
  python3 "$TESTS/cli/check_fields.py" copies d >expected
  echo text >d/bad.png
  sort -t, -k2 expected >by_name
  imghist_status 1 d --fields=fingerprint,file -q
  [ "$(sed '1d;/,d\/bad/d' <<<"$output")" = "$(cat by_name)" ] || fail "$output"
  awk -F, '{ n[$1]++; names[$1] = names[$1] $2 "\n"; if (n[$1] == 1) order[++m] = $1 }
    END { for (i = 1; i <= m; i++) if (n[order[i]] > 1) { printf "%s%s", k++ ? "\n" : "", names[order[i]] } }' by_name >groups
  [ "$(grep -c '^$' groups)" -eq 5 ] || fail "six groups: $(cat groups)"
  "$IMGHIST" d --ndjson -o all.ndjson -q || [ $? -eq 1 ]
  for input in d all.ndjson; do
    for threads in 1 4; do
      imghist_status 1 $input --copies -j $threads
      cmp - groups <<<"$output" || fail "$input: $output"
      assert_stderr_has "1 of 28 inputs failed; 21 images in 6 groups of equal histograms"
    done
    "$IMGHIST" $input --copies --print0 -q >names || [ $? -eq 1 ]
    tr '\0' '\n' <names | cmp - groups
    imghist_status 1 $input --copies --fields=fingerprint,file -q
    sed 1d <<<"$output" | cmp - <(grep . groups | while read -r name; do grep ",$name\$" expected; done) || fail "$output"
    imghist_status 1 $input --copies --csv=images -o c.csv --ndjson -o c.ndjson -q
    [[ $(head -n 1 c.csv) == *,warnings,fingerprint ]] && [ "$(names c.csv)" = "$(grep . groups)" ] || fail "$(cat c.csv)"
    [ "$(jq -r .file c.ndjson)" = "$(grep . groups)" ] || fail "$(cat c.ndjson)"
    imghist_ok c.ndjson --copies
    cmp - groups <<<"$output" || fail "read back: $output"
  done
  imghist_status 1 all.ndjson --copies --where 'file ~ "*.bmp"' -q
  [ "$(grep -c . <<<"$output")" -eq 6 ] || fail "$output"
  imghist_status 1 d --copies --luma=none -q # the moved blue channel has the same bins
  [ "$(grep -c moved <<<"$output")" -eq 3 ] || fail "$output"
  imghist_output $'file\nd/0alpha_a.pam' d/0alpha_a.pam --fields=file --where "fingerprint == '$(grep 0alpha expected | cut -d, -f1)'" -q
  imghist_ok d/0alpha_a.pam d/1alpha_a.pam --copies
  [ -z "$output" ] && [ "$stderr" = "imghist: 0 images in 0 groups of equal histograms" ] || fail "$stderr"
  imghist_fails 1 "imghist: the records to sort take more than 4096 bytes (--memory raises it); --fields makes" all.ndjson --copies --memory=4K
  for option in --sort=width --chart=c.png --html=c.html --total --total-only --by=folder --check --resume\ -oo.ndjson --shard=1/2; do
    # shellcheck disable=SC2086 # two words
    imghist_refused 2 "--copies: cannot be used with ${option%%[= ]*}" d --copies $option
  done
}

@test "select: --fields refuses what it cannot show, and its help lists what it can" {
  images
  refuse() { imghist_refused 2 "--fields: $1" black.pgm "${@:2}"; }
  refuse "column 6: no field 'wdth'; did you mean width? --fields=help lists them" --csv --fields=file,wdth
  refuse "column 6: the name of a field is missing" --csv --fields=file,,width
  refuse "column 1: the name of a field is missing" --csv --fields=
  refuse "column 7: the name of a field is missing" --csv '--fields=file, '
  refuse "column 6: the field is in the list already" --csv --fields=file,file
  refuse "column 1: no field 'mean'" --csv=images --fields=mean
  refuse "column 1: no field 'channel'" --ndjson --fields=channel
  refuse "cannot be used with --csv=bins" --csv=bins --fields=file
  refuse "cannot be used with --text" --text --fields=file
  refuse "column 1: 'width' is of images" --total-only --csv --fields=width
  refuse "column 1: a field of luma, which --luma=none does not count" --csv --luma=none --fields=mean_luma
  imghist_refused 2 "--against: cannot be used with --csv=images: no output shows distances" black.pgm --csv=images --fields=file --against=gray.pgm
  imghist_refused 2 "--clip: cannot be used with --csv=images: no output shows clipped pixels" black.pgm --csv=images --fields=file --clip=1,2
  imghist_refused 2 "--percentiles: cannot be used with --fields: name them there" black.pgm --csv=images --fields=file --percentiles=9
  imghist_ok black.pgm --csv=images -o a.csv --csv=stats -o b.csv --fields=file,p75 # of luma, and of each channel
  [ "$(tail -n 1 a.csv)" = black.pgm,0 ]
  [ "$(tail -n +2 b.csv | paste -sd' ')" = "black.pgm,0 black.pgm,0" ]
  imghist_ok --fields=help
  for field in ${HEADER//,/ } ks emd; do grep -qE "^  $field +[A-Za-z]" <<<"$output" || fail "$field"; done
  imghist_ok black.pgm --csv=stats
  for field in $(head -n 1 <<<"$output" | cut -d, -f5- | tr , ' '); do
    "$IMGHIST" --fields=help | grep -qE "^  $field +[A-Za-z]" || fail "$field"
  done
}

# Python sorts the same values. Many are equal, some images have no such channel, and one input fails.
@test "select: --sort and --top give the order of a field, in every output, for images and for their records" {
  needs python3
  mkdir d
  python3 - <<'END'
import random
r = random.Random(7)
keys = []
for i in range(90):
    gray, value, width = r.random() < 0.7, r.randrange(12), r.randrange(1, 4)
    with open("d/%02d.pnm" % i, "wb") as f:
        f.write((b"P5" if gray else b"P6") + b" %d 1 255\n" % width + bytes([value]) * (width if gray else 3 * width))
    keys.append((i, "%02d.pnm" % i, value if gray else None, width))
open("d/bad.pnm", "w").write("P5 1 1")
keys.append((90, "bad.pnm", None, None))
def write(name, key):
    open(name, "w").write("".join("d/" + k[1] + "\n" for k in sorted(keys, key=key)))
write("gray", lambda k: (k[2] is None, k[2] or 0, k[0]))
write("gray_down", lambda k: (k[2] is None, -(k[2] or 0), k[0]))
write("width", lambda k: (k[3] is None, k[3] or 0, k[0]))
write("file_down", lambda k: [-ord(c) for c in k[1]])
END
  "$IMGHIST" d --ndjson -o all.ndjson -q || [ $? -eq 1 ]
  for order in gray:gray.p50 gray_down:-gray.mean width:width file_down:-file; do
    for input in d all.ndjson; do
      for n in "" 1 17 90 1000; do
        imghist_status 1 $input --csv=images --fields=file --sort="${order#*:}" ${n:+--top=$n} -j 3 -q
        [ "$(sed 1d <<<"$output")" = "$(head -n "${n:-91}" <"${order%:*}")" ] || fail "$order $input $n: $output"
      done
      "$IMGHIST" $input --ndjson -o a.ndjson --csv=stats --fields=file -o b.csv --print0 -o c --sort="${order#*:}" --top=20 -q || [ $? -eq 1 ]
      head -n 20 "${order%:*}" >expected
      sed 's/^{"file":"\([^"]*\)"}$/\1/' a.ndjson | cmp expected -
      sed 1d b.csv | uniq | cmp - <(grep -v bad expected)
      tr '\0' '\n' <c | cmp - <(grep -v bad expected)
    done
  done
  imghist_status 1 all.ndjson --sort=-gray.mean --top=3 --csv=images --total -q # the total is that of all
  local total
  total=$("$IMGHIST" all.ndjson --csv=images --total -q | tail -n 1) || true
  [ "${lines[4]}" = "$total" ] || fail "$output"
  imghist_status 1 all.ndjson --sort=width --top=1 --csv=images --fail-if 'width == 3' # also of what --top leaves out
  [ "$(grep -c 'matches --fail-if: width 3' <<<"$stderr")" -eq "$(grep -c '"width":3,' all.ndjson)" ]
}

@test "select: --sort refuses what has no order, and records that take too much memory" {
  images
  "$IMGHIST" *.pgm --ndjson -o all.ndjson
  imghist_refused 2 "--sort: column 1: no field 'hight'; did you mean height?" black.pgm --sort=-hight
  imghist_refused 2 "--sort: column 1: no field 'mean'; did you mean mean_luma? the field is one of the image, as red.mean;" black.pgm --sort=mean --csv=stats
  imghist_ok black.pgm white.pgm --sort=-band3.mean --print
  assert_stderr_has "note: no record has the field of --sort: they are in the order of the inputs"
  [ "${lines[0]}" = black.pgm ]
  ppm red.ppm 1 1 '\xFF\x00\x00'
  imghist_quiet black.pgm red.ppm --sort=red.mean --print
  [ "${lines[0]}" = red.ppm ]
  imghist_refused 2 "--sort: records are sorted by one field" black.pgm --sort=width,height
  imghist_refused 2 "--sort: column 1: the name of a field is missing" black.pgm --sort=-
  imghist_refused 2 "--top: needs --sort=NAME" black.pgm --top=3
  imghist_refused 2 "--top: '0' is not a number of records" black.pgm --sort=width --top=0
  imghist_refused 2 "--sort: column 1: 'emd' is a distance" black.pgm --sort=emd
  imghist_ok black.pgm white.pgm --sort=-emd --against=black.pgm --fields=file
  [ "${lines[1]}" = white.pgm ]
  imghist_fails 1 "imghist: the records to sort take more than 4096 bytes (--memory raises it); --top=N" all.ndjson --ndjson --sort=width --memory=4K
  imghist_ok all.ndjson --ndjson --sort=width --top=1 --memory=1M
  imghist_status 1 --files-from=/dev/null --csv=images --sort=width
  assert_output "$HEADER"
}
