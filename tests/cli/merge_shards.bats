#!/usr/bin/env bats
# Result files of --shard: merged, they are the single run; a missing, repeated, foreign or cut shard is refused.

load helpers

# A folder with images, damaged files, files that are no images, and archives.
make_inputs() {
  mkdir -p d/e
  for ((i = 0; i < 30; i++)); do dot "d/$i.pgm" "$(printf %02x $i)"; done
  for ((i = 0; i < 4; i++)); do damaged "d/e/$i.png"; done
  cp "$SAMPLES/scene.jpg" "$SAMPLES/cutout.png" d/e
  echo text >d/text.txt
  "$IMGHIST" --list | grep -q '^  archives: .*libarchive [0-9]' || return 0
  mkdir archives
  (cd archives && "$TESTS/cli/make_archives.py")
  cp archives/{three.tar,three.zip,cut_late.tar.gz,promises.tar,others.tar} d/e
}

# shards N NAME ARG...: the files NAME.1.ndjson to NAME.N.ndjson.
shards() {
  local n=$1 name=$2
  shift 2
  for ((i = 1; i <= n; i++)); do "$IMGHIST" -q --ndjson -o "$name.$i.ndjson" --shard=$i/"$n" "$@" 2>/dev/null || [ $? -eq 1 ]; done
}

# merged EXPECTED ARG...: the output is the file EXPECTED.
merged() {
  local expected=$1
  shift
  imghist "$@"
  assert_status 1 # inputs have failed
  printf '%s\n' "$output" | cmp - "$expected" || fail "$*"
}

@test "merge shards: files of several images" {
  mkdir d
  for name in a b c d; do cat "$SAMPLES"/*.png >"d/$name.png"; done
  dot d/one.pgm 07
  { cat "$SAMPLES/testcard.png" && damaged /dev/stdout; } >d/cut.png
  tar -cf d/e.tar -C d a.png b.png one.pgm
  "$IMGHIST" d --frames --ndjson >single 2>/dev/null || [ $? -eq 1 ]
  [ "$(grep -c 'png#5' single)" -ge 4 ] || fail "no images after the first"
  for n in 1 2 7; do
    shards $n part d --frames
    merged single --ndjson part.*
    rm part.*
  done
}

@test "merge shards: the bytes of the single run, in any order of the shards" {
  make_inputs
  local formats=(--ndjson --csv=channels --csv=images --json)
  for format in "${formats[@]}"; do
    "$IMGHIST" d "$format" >"single.$format" 2>/dev/null || [ $? -eq 1 ]
  done
  "$IMGHIST" d --ndjson --total >single.both 2>/dev/null || [ $? -eq 1 ]
  "$IMGHIST" d --json --total-only --chart=single.svg >single.total 2>/dev/null || [ $? -eq 1 ]
  for n in 1 2 7 64; do
    shards $n part d
    shards $n total d --total-only
    shards $n both d --total
    merged single.--ndjson --ndjson both.*
    merged single.both --ndjson --total both.*
    rm both.*
    for seed in 1 2; do
      mapfile -t parts < <(ls part.* | shuf --random-source=<(yes $seed))
      mapfile -t totals < <(ls total.* | shuf --random-source=<(yes $seed))
      merged single.--ndjson --ndjson "${parts[@]}"
      merged single.both --ndjson --total "${parts[@]}"
      merged single.total --json --total-only --chart=merged.svg "${parts[@]}"
      cmp merged.svg single.svg || fail "$n shards"
      merged single.total --json --chart=merged.svg "${totals[@]}"
      cmp merged.svg single.svg || fail "totals of $n shards"
    done
    rm -f total.*
    for format in "${formats[@]}"; do merged "single.$format" "$format" "${parts[@]}"; done
    rm part.*
  done
}

# divide FILE N FOLDER: the files of N shards, made from that of shard 1/1.
divide() {
  mkdir "$3"
  python3 - "$@" <<'END'
import re, sys
n, folder = int(sys.argv[2]), sys.argv[3]
shards = [[] for _ in range(n)]
for line in open(sys.argv[1]):
    place = re.search(r'"position":\[(\d+),(\d+)\]', line)
    if place:
        shards[sum(map(int, place.groups())) % n].append(line)
for i, lines in enumerate(shards):
    with open(f"{folder}/{i + 1}.ndjson", "w") as out:
        for text in lines + [re.sub(r'"records":\d+', f'"records":{len(lines)}', line)]:
            out.write(text.replace('"shard":"1/1"', f'"shard":"{i + 1}/{n}"'))
END
}

# memory FILE: the peak in the report of -v, in tenths of a megabyte.
memory() { sed -n 's/^ *memory *\([0-9]*\)\.\([0-9]\) MB.*/\1\2/p' "$1"; }

@test "merge shards: thousands of files, with few descriptors and in the memory of ten" {
  export ASAN_OPTIONS=quarantine_size_mb=1 # the address sanitizer keeps freed memory
  mkdir d
  for ((i = 0; i < 100; i++)); do
    { printf 'P6\n16 16\n255\n'; tail -c +$((i + 1)) "$SAMPLES/scene.jpg" | head -c 768; } >d/$i.ppm
  done
  damaged d/damaged.png
  for ((i = 0; i < 30; i++)); do printf '%s\n' d/*; done >list
  printf '%sd/1.ppm\n' "$(printf './%.0s' {1..9000})" >>list # a record longer than what is read at once
  for shard in "" --shard=1/1; do
    # shellcheck disable=SC2086 # no word, or one
    "$IMGHIST" --files-from=list -v $shard --ndjson -o single$shard 2>/dev/null || [ $? -eq 1 ]
  done
  for n in 10 1000 5000; do
    divide single--shard=1/1 $n parts.$n
    status=0
    (ulimit -n 40 && "$IMGHIST" parts.$n/* --ndjson -o merged -j 2 -v 2>report) || status=$?
    assert_status 1 # inputs have failed
    cmp merged single || fail "$n shards"
    memory report >memory.$n
    [ "$(<memory.$n)" -lt $(($(<memory.10) + 60)) ] ||
      fail "10 files take $(<memory.10), $n take $(<memory.$n) tenths of a megabyte"
  done
}

@test "merge shards: beside other inputs, and from pipes" {
  for i in 1 2 3 4; do dot $i.pgm 0$i; done
  shards 2 part 2.pgm 3.pgm
  imghist_ok 1.pgm part.2.ndjson --records=<(cat part.1.ndjson) 4.pgm --csv=long
  expected=$output
  imghist_output "$expected" 1.pgm 2.pgm 3.pgm 4.pgm --csv=long
}

@test "merge shards: two runs, one after the other" {
  for i in 1 2 3 4; do dot $i.pgm 0$i; done
  shards 2 a 1.pgm 2.pgm
  shards 2 b 3.pgm 4.pgm
  imghist_ok a.1.ndjson a.2.ndjson b.2.ndjson b.1.ndjson --csv=stats -o out.csv
  [ "$(names out.csv | paste -sd' ')" = "1.pgm 2.pgm 3.pgm 4.pgm" ]
  imghist_refused 2 "a.2.ndjson: the shards of a run again" a.1.ndjson a.2.ndjson a.2.ndjson a.1.ndjson --csv=stats -o twice.csv
  [ ! -e twice.csv ]
}

@test "merge shards: a missing, a repeated and a foreign shard" {
  for i in 1 2 3 4 5; do dot $i.pgm 0$i; done
  for total in "" --total-only; do
    # shellcheck disable=SC2086 # no word, or one
    shards 3 part {1,2,3,4,5}.pgm $total
    # shellcheck disable=SC2086
    shards 3 empty 1.pgm $total # two shards are empty
    for k in 1 2 3; do # run uses i
      others=(part.[!"$k"].ndjson)
      imghist_refused 2 "shard $k/3 is missing" "${others[@]}" --csv -o out.csv
      imghist_refused 2 "a shard follows when all shards of a run have been read" part.* part.$k.ndjson --csv -o out.csv
      imghist "${others[@]}" "${others[0]}" --csv -o out.csv
      assert_refused 2 "${others[0]}: shard $(tr -cd 0-9 <<<"${others[0]}")/3 again"
      others=(empty.[!"$k"].ndjson)
      imghist_refused 2 "shard $k/3 is missing" "${others[@]}" --csv -o out.csv
      imghist_refused 2 "is of another run: its inputs or options differ" "${others[@]}" part.$k.ndjson --csv -o out.csv
    done
    imghist_ok empty.* --csv=stats
    shards 3 both 1.pgm --total
    imghist_ok both.* --csv=stats
    [ "$(wc -l <<<"$output")" -eq 3 ] || fail "an image and its total, not those of empty shards"
    # the same inputs, but counted or selected in another way
    for option in --luma=bt601 --clip=1,254 --max-pixels=5 '--where=mean_luma >= 0' --lenient; do
      [ "$total" = "" ] || [ "$option" != --lenient ] || continue
      "$IMGHIST" -q --ndjson -o other.ndjson --shard=2/3 {1,2,3,4,5}.pgm $total "$option"
      imghist_status 2 part.1.ndjson other.ndjson part.3.ndjson --csv -o out.csv
      [[ $stderr == *"another run"* || $stderr == *"counted with"* ]] || fail "$option"
    done
    "$IMGHIST" -q --ndjson -o other.ndjson --shard=2/4 {1,2,3,4,5}.pgm $total
    imghist_refused 2 "other.ndjson: shard 2/4, but the others are of 3 shards" part.1.ndjson other.ndjson part.3.ndjson --csv -o out.csv
    [ ! -e out.csv ]
  done
}

@test "merge shards: a shard that is cut, or lacks a record, or has one twice" {
  for i in 1 2 3 4 5 6; do dot $i.pgm 0$i; done
  for total in "" --total; do
    # shellcheck disable=SC2086 # no word, or one
    shards 2 part {1,2,3,4,5,6}.pgm $total
    for cut in "head -n -1" "head -n 1" "head -n 0"; do
      $cut part.2.ndjson >short.ndjson
      imghist part.1.ndjson short.ndjson --csv -o out.csv
      [ "$status" -ne 0 ] || fail "$cut"
    done
    head -n -1 part.2.ndjson >short.ndjson
    imghist_refused 1 "short.ndjson: shard 2/2 has no last line" part.1.ndjson short.ndjson --csv -o out.csv
    for edit in 1d 2d 3d; do
      sed $edit part.2.ndjson >short.ndjson
      imghist_refused 1 "short.ndjson: shard 2/2 has 2 records instead of 3" part.1.ndjson short.ndjson --csv -o out.csv
    done
    sed 2p part.2.ndjson >twice.ndjson
    imghist_refused 1 "twice.ndjson: records twice, or not in the order of the run" part.1.ndjson twice.ndjson --csv -o out.csv
    { sed -n 2p part.2.ndjson; sed -n 1p part.2.ndjson; tail -n +3 part.2.ndjson; } >swapped.ndjson
    imghist_refused 1 "swapped.ndjson: records twice, or not in the order of the run" part.1.ndjson swapped.ndjson --csv -o out.csv
    cat part.1.ndjson part.2.ndjson >both.ndjson
    imghist_refused 2 "shard 2/2 is missing" both.ndjson --csv -o out.csv
    imghist both.ndjson part.2.ndjson --csv -o out.csv
    assert_refused 1 "both.ndjson: has records after the last of its shard: if it holds several files, name each of them"
    sed '2s/"shard":"2.2"/"shard":"1\/2"/' part.2.ndjson >mixed.ndjson
    imghist_refused 1 "mixed.ndjson: holds records of several shards: name each file" part.1.ndjson mixed.ndjson --csv -o out.csv
    "$IMGHIST" 1.pgm --ndjson >plain
    cat plain part.1.ndjson >among.ndjson
    imghist_refused 1 "among.ndjson: a record of a shard among others" among.ndjson --csv -o out.csv
    sed 's/"position":\[[0-9,]*\],//' part.2.ndjson >nowhere.ndjson
    imghist_refused 1 "nowhere.ndjson: line 1: damaged record: position is missing" part.1.ndjson nowhere.ndjson --csv -o out.csv
    for shard in 0/2 3/2 1/0 1/99999 x/2 12 ''; do
      sed "s,\"shard\":\"2/2\",\"shard\":\"$shard\"," part.2.ndjson >impossible.ndjson
      imghist_refused 1 "impossible.ndjson: line 1: damaged record: shard is impossible" part.1.ndjson impossible.ndjson --csv -o out.csv
    done
  done
  [ ! -e out.csv ]
}

@test "merge shards: a run that was stopped has no end" {
  dot a.pgm
  damaged b.png
  dot c.pgm
  imghist_status 1 --shard=1/1 a.pgm b.png c.pgm --ndjson -o part.ndjson --fail-fast
  imghist_fails 1 "part.ndjson: shard 1/1 has no last line: its run did not reach the end" part.ndjson --csv -o out.csv
  [ ! -e out.csv ]
}

@test "merge shards: result files are no inputs of a shard" {
  dot a.pgm
  "$IMGHIST" a.pgm --ndjson -o a.ndjson
  imghist_refused 2 "a.ndjson: a result file is no input of a shard or of a run that is resumed" a.ndjson --shard=1/2 --ndjson
}
