#!/usr/bin/env bats
# --resume: a run that was killed at any moment and resumed gives the bytes of an uninterrupted run.
#
# RESUME_KILLS: how many times the long test kills a run (20).

load helpers

# A folder with images of several sizes, damaged files, files that are no images, and archives.
make_inputs() {
  mkdir -p d/e d/none
  for ((i = 0; i < ${1:-30}; i++)); do dot "d/$i.pgm" "$(printf %02x $((i % 256)))"; done
  dot d/zz.pgm
  for ((i = 0; i < 4; i++)); do damaged "d/e/$i.png"; done
  cp "$SAMPLES/scene.jpg" "$SAMPLES/cutout.png" d/e
  echo text | tee d/15.txt d/none/text >d/z.txt
  "$IMGHIST" --list | grep -q '^  archives: .*libarchive [0-9]' || return 0
  mkdir -p archives
  (cd archives && "$TESTS/cli/make_archives.py")
  cp archives/{three.tar,three.zip,cut_late.tar.gz,promises.tar,others.tar} d/e
}

# resumed EXPECTED ARG...: the run succeeds, and out.ndjson is then the file EXPECTED.
resumed() {
  local expected=$1
  shift
  "$IMGHIST" --resume -o out.ndjson "$@" >stdout 2>stderr || [ $? -eq 1 ] || fail "$(cat stderr)"
  cmp out.ndjson "$expected" || fail "$*" "$(cat stderr)"
}

@test "resume: a run that is cut anywhere, with a total, as a shard and with other outputs" {
  make_inputs
  for options in "" "--total --csv=images -o other.csv" "--shard=2/3" "-j 1 --chart=total.svg --total"; do
    rm -f out.ndjson other.csv total.svg expected.*
    # shellcheck disable=SC2086 # words
    "$IMGHIST" d d/none --resume -o out.ndjson $options 2>/dev/null || [ $? -eq 1 ]
    mv out.ndjson expected
    for other in other.csv total.svg; do [ ! -e $other ] || mv $other expected.$other; done
    size=$(wc -c <expected)
    local cuts=(0 1 17 22 $(($(head -n 1 expected | wc -c) - 1)) $((size - 1)) "$size")
    while read -r n; do cuts+=("$n"); done < <(grep -b ^ expected | cut -d: -f1 | shuf -n 6 --random-source=<(yes))
    for _ in {1..8}; do cuts+=($((RANDOM * 32768 % size + RANDOM % 1000))); done
    for cut in "${cuts[@]}"; do
      head -c "$cut" expected >out.ndjson
      rm -f other.csv total.svg
      # shellcheck disable=SC2086 # words
      resumed expected d d/none $options
      for other in other.csv total.svg; do
        [ ! -e expected.$other ] || cmp $other expected.$other || fail "$other, cut at $cut"
      done
    done
  done
}

@test "resume: the records are those of a plain run" {
  make_inputs
  "$IMGHIST" d --ndjson >plain 2>/dev/null || [ $? -eq 1 ]
  "$IMGHIST" d --resume -o out.ndjson 2>/dev/null || [ $? -eq 1 ]
  "$IMGHIST" out.ndjson --ndjson 2>/dev/null | cmp - plain
}

@test "resume: what is done is not counted again" {
  make_inputs
  "$IMGHIST" d --resume -o out.ndjson 2>/dev/null || [ $? -eq 1 ]
  sed 's/"library":"[^"]*"/"library":"seen"/' out.ndjson >marked
  cp marked out.ndjson
  resumed marked d
  head -n 20 marked >out.ndjson
  "$IMGHIST" d --resume -o out.ndjson 2>/dev/null || [ $? -eq 1 ]
  [ "$(grep -c '"library":"seen"' out.ndjson)" -eq 20 ]
  [ "$(wc -l <out.ndjson)" -eq "$(wc -l <marked)" ]
}

@test "resume: an input that changed, came or went is counted, and all after it" {
  for name in a b c d e; do
    dot $name.pgm 10
    touch -d 2020-01-01 $name.pgm
  done
  echo text >c2.txt
  mkdir set
  mv ./*.pgm c2.txt set
  "$IMGHIST" set --resume -o first.ndjson
  cp -r --preserve=all set before
  for change in "touch set/c.pgm" "dot set/c.pgm 20" "rm set/c.pgm" "dot set/bb.pgm" "dot set/c2.txt" "mv set/c.pgm set/bb.pgm" \
    "pgm set/c.pgm 2 1 \x01\x02"; do
    rm -rf set out.ndjson
    cp -r --preserve=all before set
    cp first.ndjson out.ndjson
    $change
    "$IMGHIST" set --resume -o fresh.ndjson
    sed -i 's/"library":"[^"]*"/"library":"seen"/' out.ndjson
    "$IMGHIST" set --resume -o out.ndjson
    n=$(grep -c '"library":"seen"' out.ndjson)
    [ "$n" -ge 2 ] && [ "$n" -le 3 ] || fail "$change: $n inputs were not counted again"
    sed 's/"library":"[^"]*"//' out.ndjson | cmp - <(sed 's/"library":"[^"]*"//' fresh.ndjson) || fail "$change"
    rm fresh.ndjson
  done
}

@test "resume: the output may be in the folder that is walked" {
  dots set/a.pgm set/z.pgm
  ln -s set/out.ndjson .
  imghist_ok set --resume -o set/out.ndjson
  cp out.ndjson expected
  head -n 1 expected | sed 's/"library":"[^"]*"/"library":"seen"/' >out.ndjson
  imghist_ok set --resume -o set/out.ndjson
  [ "$(grep -c '"library":"seen"' out.ndjson)" -eq 1 ]
  sed 's/"library":"[^"]*"//' out.ndjson | cmp - <(sed 's/"library":"[^"]*"//' expected)
}

@test "resume: a file of another run or program is left as it is" {
  dots a.pgm b.pgm
  "$IMGHIST" a.pgm --ndjson -o plain.ndjson
  "$IMGHIST" a.pgm --json >document.ndjson
  "$IMGHIST" b.pgm --resume -o others.ndjson
  "$IMGHIST" a.pgm --resume --luma=bt601 -o luma.ndjson
  "$IMGHIST" a.pgm --resume --shard=1/2 -o shard.ndjson
  echo text >text.ndjson
  printf text >word.ndjson
  "$IMGHIST" a.pgm --total-only --ndjson -o total.ndjson
  for file in plain document others luma shard text word total; do
    cp $file.ndjson before
    imghist a.pgm --resume -o $file.ndjson
    case $file in
      luma | shard) why="the first input or a mask has changed since, or the options differ" ;;
      *) why="holds no --resume run of these inputs and options" ;;
    esac
    assert_refused 2 "$file.ndjson: $why; remove it to begin anew"
    cmp before $file.ndjson
  done
  mkfifo pipe
  imghist_refused 1 "pipe: cannot" a.pgm --resume --ndjson -o pipe
  imghist_refused 1 "/dev/null: cannot be resumed: not a regular file" a.pgm --resume --ndjson -o /dev/null
}

@test "resume: every option that chooses or counts inputs makes another run" {
  local -A value=([raw]=1 [size]=1x1 [max-pixels]=9 [luma]=bt601 [alpha]=skip-transparent [depth]=12 [range]="1,99"
    [region]=1x1+0+0 [mask]=a.pgm [clip]="1,2" [frames]="" [raw-preview]="" [raw-sensor]="" [lenient]="" [bins]=native [raw-depth]=16le [nodata]=7
    [bands]=1 [axes]=HWC [labels]=a.pgm [ignore-label]=9)
  local option n=0
  dot a.pgm
  for option in $("$IMGHIST" --help=all | sed -n '/^Input:/,/^Output:/p; /^Counting:/,/^Device:/p' |
    sed -nE 's/^ .*--([a-z0-9-]+)[= ].*/\1/p' | grep -vxE 'files0?-from|records|name|shard|resume'); do
    [ -n "${value[$option]+known}" ] || fail "the test has no value for --$option"
    set -- "--$option${value[$option]:+=${value[$option]}}"
    [[ $option != @(size|raw-depth) ]] || set -- --raw=1 "$@"
    [[ $option != ignore-label ]] || set -- --labels=a.pgm "$@"
    rm -f out.ndjson
    "$IMGHIST" a.pgm --resume -o out.ndjson "$@" 2>/dev/null || :
    cp out.ndjson before
    imghist a.pgm --resume -o out.ndjson
    assert_refused 2 "out.ndjson: the first input or a mask has changed since, or the options differ; remove it to begin anew"
    cmp out.ndjson before
    n=$((n + 1))
  done
  [ "$n" -ge 13 ]
}

@test "resume: what it cannot be used with" {
  dot a.pgm
  "$IMGHIST" a.pgm --ndjson -o a.ndjson
  imghist_refused 2 "--resume: needs one -o FILE.ndjson" a.pgm --resume
  imghist_refused 2 "--resume: needs one -o FILE.ndjson" a.pgm --resume --ndjson
  imghist_refused 2 "--resume: needs one -o FILE.ndjson" a.pgm --resume -o x.ndjson -o y.ndjson
  imghist_refused 2 "--resume: cannot be used with --where" a.pgm --resume -o x.ndjson --where 'mean_luma > 0'
  imghist_refused 2 "--resume: cannot be used with --total-only" a.pgm --resume -o x.ndjson --total-only
  imghist_refused 2 "a.ndjson: a result file is no input of a shard or of a run that is resumed" a.ndjson --resume -o x.ndjson
}

@test "resume: a mask of a folder has changed, come or gone" {
  mkdir d masks
  for i in 1 2 3; do dot d/$i.pgm 10 && dot masks/$i.png ff; done
  local -a run=(d --mask=masks --resume -o out.ndjson)
  imghist_ok "${run[@]}"
  cp out.ndjson full
  head -n 1 full >out.ndjson
  imghist_ok "${run[@]}" # unchanged
  cmp out.ndjson full
  refused() {
    imghist_refused 2 "out.ndjson: the first input or a mask has changed since, or the options differ; remove it to begin anew" "${run[@]}"
    cmp out.ndjson full || fail "$1"
  }
  touch -d '2001-02-03' masks/2.png
  refused "another time"
  rm out.ndjson
  imghist_ok "${run[@]}"
  cp out.ndjson full
  mv masks/3.png elsewhere
  refused "gone"
  mv elsewhere masks/3.png
  dot masks/4.png 00
  refused "come"
  rm masks/4.png
  imghist_ok "${run[@]}"
  cmp out.ndjson full
}

@test "resume: a second run on the same file is refused, and changes nothing" {
  dot a.pgm 10
  dot b.pgm 20
  mkfifo pipe
  "$IMGHIST" a.pgm pipe b.pgm --resume -o out.ndjson &
  exec {held}>pipe # the run waits for its second input
  for ((i = 0; i < 100; i++)); do [ -s out.ndjson ] && break || sleep 0.1; done
  cp out.ndjson before
  imghist_refused 2 "out.ndjson: another run is writing to it" a.pgm pipe b.pgm --resume -o out.ndjson
  cmp out.ndjson before
  cat b.pgm >&$held
  exec {held}>&-
  wait $!
  [ "$("$IMGHIST" out.ndjson --csv=images | cut -d, -f1 | paste -sd' ')" = "file a.pgm pipe b.pgm" ] || fail "the first run"
}

@test "resume: a lock that a process of a killed run holds for a moment is waited for" {
  needs flock
  dots a.pgm b.pgm
  "$IMGHIST" a.pgm b.pgm --resume -o whole.ndjson
  exec {held}>>out.ndjson
  flock $held
  sleep 0.2 3>&- & # as the process of a decoder does that is being started
  exec {held}>&-
  imghist_ok a.pgm b.pgm --resume -o out.ndjson
  cmp out.ndjson whole.ndjson
}

run_with_resume() {
  local status=0
  "$IMGHIST" a.pgm pipe b.pgm --resume -o out.ndjson 2>err || status=$?
  echo $status >status
}

@test "resume: an output that another run adds to is not replaced, and its own run notices when it is" {
  dot a.pgm 10
  dot b.pgm 20
  mkfifo pipe
  for how in replace remove keep; do
    rm -f out.ndjson
    run_with_resume 3>&- &
    exec {held}>pipe # the run waits for its second input
    for ((i = 0; i < 100; i++)); do [ -s out.ndjson ] && break || sleep 0.1; done
    imghist_refused 2 "out.ndjson: another run is writing to it" b.pgm --ndjson -o out.ndjson
    case $how in
      replace) cp b.pgm other && mv other out.ndjson ;;
      remove) rm out.ndjson ;;
    esac
    cat b.pgm >&$held
    exec {held}>&-
    wait $! || fail "the run has crashed"
    if [ $how = keep ]; then
      [ "$(cat status)" -eq 0 ] || fail "$(cat err)"
    else
      [ "$(cat status)" -eq 1 ] || fail "$how: status $(cat status)"
      grep -q "imghist: out.ndjson: was replaced or removed during the run" err || fail "$how: $(cat err)"
    fi
  done
}

@test "resume: the summary of a continued run is that of a whole one" {
  mkdir photos
  dots photos/{a,b,c}.pgm
  imghist_ok photos --ndjson --resume -o r.ndjson --text=lines -o whole.txt
  head -n 1 r.ndjson >part
  mv part r.ndjson
  imghist_ok photos --ndjson --resume -o r.ndjson --text=lines -o continued.txt
  diff whole.txt continued.txt
}

@test "resume: standard input is counted each time" {
  dot a.pgm 10
  dot b.pgm 20
  imghist_ok a.pgm - b.pgm --resume -o out.ndjson <a.pgm
  imghist_ok a.pgm - b.pgm --resume -o out.ndjson <b.pgm
  imghist_ok out.ndjson --csv=images
  [ "$(cut -d, -f1,11 <<<"$output" | paste -sd' ')" = "$(printf 'file,mean_luma a.pgm,16.000000 -,32.000000 b.pgm,32.000000')" ] ||
    fail "standard input"
}

@test "resume: killed at random moments" {
  make_inputs 150
  local n_kills=0 n_runs=0 wanted=${RESUME_KILLS:-20}
  "$IMGHIST" d --resume --total -o expected.ndjson 2>/dev/null || [ $? -eq 1 ]
  while [ $n_kills -lt "$wanted" ]; do
    n_runs=$((n_runs + 1))
    [ $n_runs -lt $((20 * wanted)) ] || fail "only $n_kills of $n_runs runs were killed"
    signal=$([ $((RANDOM % 2)) -eq 0 ] && echo KILL || echo TERM)
    status=0
    timeout --preserve-status -s "$signal" "0.$(printf %03d $((RANDOM % 60 + 1)))" "$IMGHIST" d --resume --total -o out.ndjson \
      >/dev/null 2>&1 || status=$?
    if [ $status -gt 100 ]; then
      n_kills=$((n_kills + 1))
      [ ! -e out.ndjson ] || head -n -1 out.ndjson | cmp -n "$(head -n -1 out.ndjson | wc -c)" - expected.ndjson
    else
      cmp out.ndjson expected.ndjson
      rm out.ndjson
    fi
  done
  resumed expected.ndjson d --total
}
