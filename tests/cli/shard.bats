#!/usr/bin/env bats
# --shard=I/N: the parts of a run are disjoint and complete, and records know their place.

load helpers

# A folder with images, damaged files, files that are no images, and archives.
make_inputs() {
  mkdir -p d/e
  for ((i = 0; i < 40; i++)); do dot "d/$i.pgm" "$(printf %02x $i)"; done
  for ((i = 0; i < 5; i++)); do damaged "d/e/$i.png"; done
  echo text >d/text.txt
  "$IMGHIST" --list | grep -q '^  archives: .*libarchive [0-9]' || return 0
  mkdir archives
  (cd archives && "$TESTS/cli/make_archives.py")
  cp archives/{three.tar,three.zip,cut_late.tar.gz,promises.tar,others.tar} d/e
}

# in_order N ARG...: the records of all N shards of a run in the order of their positions, without them.
in_order() {
  local n=$1
  shift
  for ((i = n; i >= 1; i--)); do
    "$IMGHIST" --ndjson --shard=$i/"$n" "$@" 2>/dev/null >part.$i || :
    jq -e -s "all(.shard == \"$i/$n\") and (.[-1] | .status == \"end\" and (.run | length) == 16)" part.$i >/dev/null ||
      fail "shard $i of $n"
    [ "$(tail -n 1 part.$i | jq .records)" -eq $(($(wc -l <part.$i) - 1)) ] || fail "records of shard $i of $n"
  done
  for ((i = 1; i <= n; i++)); do head -n -1 part.$i; done | jq -c -s 'sort_by(.position) | .[] | del(.shard, .position)'
}

@test "shard: the parts are the whole run, whatever their number" {
  needs jq
  make_inputs
  "$IMGHIST" --ndjson d 2>/dev/null >whole || :
  [ "$(wc -l <whole)" -gt 40 ]
  jq -c . whole >expected
  for n in 1 2 7 64; do
    in_order $n d | diff expected - || fail "$n shards"
  done
  find d -type f | LC_ALL=C sort >list
  "$IMGHIST" --ndjson --files-from=list 2>/dev/null | jq -c . >expected || :
  in_order 3 --files-from=list | diff expected -
  in_order 3 -j 1 --files-from=list | diff expected -
}

@test "shard: every part is about as large" {
  mkdir d
  for ((i = 0; i < 40; i++)); do dot "d/$i.pgm"; done
  for shard in {1..7}; do
    imghist_ok --csv=stats --shard=$shard/7 d
    n=$(names <(echo "$output") | wc -l)
    [ "$n" -eq 5 ] || [ "$n" -eq 6 ] || fail "$n of 40 images in shard $shard of 7"
  done
}

@test "shard: an archive on standard input is shared by its members" {
  needs jq
  make_inputs
  [ -d archives ] || skip "no libarchive in this build"
  for i in 1 2; do
    "$IMGHIST" --ndjson --shard=$i/2 - <archives/three.tar >part.$i
  done
  [ "$(head -n -1 part.1 | jq -r .file)" = $'-/d/c.pgm\n-/d/a.pgm' ]
  [ "$(head -n -1 part.2 | jq -r .file)" = -/b.pgm ]
  [ "$(head -n -1 part.2 | jq -c .position)" = '[0,1]' ]
}

@test "shard: a pipe of another shard is not opened" {
  mkfifo pipe
  dot a.pgm
  timeout 20 "$IMGHIST" --csv=stats --shard=2/2 pipe a.pgm >out.csv || fail "exit status $?"
  [ "$(names out.csv)" = a.pgm ]
}

@test "shard: a part without images is no failure, and neither is its folder" {
  dot d/a.pgm
  imghist_ok --csv=stats --shard=2/2 d
  imghist_ok --total-only --json --shard=2/2 d
}

@test "shard: parts in which --where matches nothing are the whole run" {
  dots d/a.pgm d/b.pgm
  for part in 1 2; do imghist_ok --ndjson --where 'mean_luma > 250' --shard=$part/2 -o part.$part.ndjson d; done
  imghist_ok --csv=images --where 'mean_luma > 250' d
  local whole=$output
  imghist_ok --csv=images part.1.ndjson part.2.ndjson
  assert_output "$whole"
}

@test "shard: only parts have the fields of one" {
  dot a.pgm
  imghist_ok --ndjson a.pgm
  refute_output_has '"shard"'
  imghist_output_has '"shard":"1/1","position":[0,0]' --ndjson --shard=1/1 a.pgm
}

@test "shard: the result file of one shard is read alone and keeps its places" {
  mkdir d
  for i in {0..6}; do dot "d/$i.pgm" "0$i"; done
  damaged d/3.png
  "$IMGHIST" d -q --csv=stats >whole.csv || :
  for i in 1 2 3; do
    "$IMGHIST" d -q --shard=$i/3 -o part.$i.ndjson || :
    "$IMGHIST" -q --shard=$i/3 --records=part.$i.ndjson -o again.$i.ndjson || :
    "$IMGHIST" -q --shard=$i/3 --records=- --ndjson <part.$i.ndjson 2>/dev/null | cmp - again.$i.ndjson
    head -n -1 part.$i.ndjson | cmp - <(head -n -1 again.$i.ndjson)
  done
  "$IMGHIST" again.3.ndjson again.1.ndjson again.2.ndjson -q --csv=stats 2>/dev/null | cmp - whole.csv
  imghist_fails 2 "again.2.ndjson: shard 2/3 is of another run" part.1.ndjson again.2.ndjson part.3.ndjson --csv
  imghist_fails 2 "part.1.ndjson: holds shard 1/3 instead of 2/3" --shard=2/3 --records=part.1.ndjson --csv
  head -n -1 part.1.ndjson >short.ndjson
  imghist_fails 1 "short.ndjson: shard 1/3 has no last line" --shard=1/3 --records=short.ndjson --csv -o short.csv
  [ ! -e short.csv ]
  "$IMGHIST" d -q --ndjson -o none.ndjson || :
  imghist_fails 2 "none.ndjson: holds no shard 1/3 of a run" --shard=1/3 --records=none.ndjson --csv
  "$IMGHIST" d/0.pgm -q --shard=2/2 -o empty.ndjson
  imghist_ok --shard=2/2 --records=empty.ndjson --ndjson
  [ "$(jq -r .status <<<"$output")" = end ]
  imghist_refused 2 "--records: with --shard, it reads the result file of that shard, and no other input" --shard=1/3 --records=part.1.ndjson d --csv
  imghist_refused 2 "--records: with --shard" --shard=1/3 --records=part.1.ndjson --files-from=none --csv
}
