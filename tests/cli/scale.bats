#!/usr/bin/env bats
# docs/scale: shards of one run as tasks of GNU parallel, Slurm and Kubernetes. Merged, they are the single run.

load helpers

# A few hundred files; some are damaged, some are no images.
setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  mkdir -p photos/more
  for ((i = 0; i < 240; i++)); do
    ppm photos/$i.ppm 2 1 "$(printf '\\x%02x' $i $((i * 7 % 256)) $((i / 9)) 255 $((255 - i)) 0)"
  done
  for ((i = 0; i < 20; i++)); do damaged photos/more/$i.png; done
  echo text | tee photos/a.txt >photos/more/b.txt
  : >photos/more/empty.jpg
  cp "$SAMPLES"/*.png photos/more
}

setup() {
  unset IMGHIST_DEVICE NO_COLOR COLUMNS CUDA_VISIBLE_DEVICES
  unset "${!SLURM@}" SHARD SHARDS LIST JOB_COMPLETION_INDEX
  export LC_ALL=C TERM=dumb
  cd "$BATS_TEST_TMPDIR" || return 1
  needs flock split
  mkdir bin
  ln -s "$IMGHIST" bin/imghist
  ln -s "$TESTS/../docs" docs
  ln -s "$BATS_FILE_TMPDIR/photos" photos
  PATH=$PWD/bin:$PWD/docs/scale:$PATH
  unset IMGHIST # shard.sh finds the program on the PATH
}

teardown() {
  local pid
  for pid in $(cat daemons 2>/dev/null); do
    kill "$pid" 2>/dev/null || :
    wait "$pid" 2>/dev/null || :
  done
}

imghist() { run --separate-stderr bin/imghist "$@"; }

# same FOLDER: the parts merge into the records and the total of the single run.
same() {
  [ "$(find "$1" -name '*.ndjson' | wc -l)" -gt 1 ] || fail "no parts in $1"
  for options in --ndjson "--total --csv=stats" "--total-only --json"; do
    # shellcheck disable=SC2086 # words
    bin/imghist photos $options >expected 2>/dev/null || [ $? -eq 1 ]
    # shellcheck disable=SC2086
    bin/imghist "$1"/*.ndjson $options >merged 2>errors || [ $? -eq 1 ]
    cmp merged expected || fail "$1 $options" "$(cat errors)"
  done
}

# commands: writes each command of docs/scale.md to a file of its own.
commands() {
  mkdir command
  awk '
    !/^    / { is_more = 0; next }
    !is_more { n++ }
    { print substr($0, 5) >sprintf("command/%02d", n); is_more = /[|\\]$/ }' docs/scale.md
}

# follow PATTERN: runs the commands of docs/scale.md that match.
follow() {
  local file n=0 result
  [ -d command ] || commands
  for file in $(grep -lE -e "$1" command/*); do
    n=$((n + 1)) result=0
    timeout 120 bash -o pipefail "$file" >shown 2>errors 3>&- || result=$?
    [ $result -le 1 ] || fail "$(cat "$file")" "exit status $result" "$(cat errors)"
  done
  [ $n -gt 0 ] || fail "docs/scale.md has no command with $1"
}

# pretend NAME: a program of that name, from standard input, that is found first.
pretend() {
  rm -f "bin/$1"
  { printf '#!/bin/bash\n' && cat; } >"bin/$1"
  chmod +x "bin/$1"
}

@test "scale: every command of docs/scale.md is run by a test of this file" {
  commands
  [ "$(find command -type f | wc -l)" -ge 7 ]
  sed -nE "s/^ *follow '([^']+)'.*/\1/p" "$BATS_TEST_FILENAME" >patterns
  for file in command/*; do
    grep -qE -f patterns "$file" || fail "no test runs: $(cat "$file")"
  done
}

@test "scale: GNU parallel, and merging" {
  needs parallel
  follow '^seq 8 \| SHARDS'
  same parts
  follow '^imghist parts'
  [ -s all.csv ] && [ -s all.svg ]
  bin/imghist photos --csv=images 2>/dev/null | cmp - all.csv
}

@test "scale: a list of archives" {
  needs parallel
  bin/imghist --list | grep -q '^  archives: .*libarchive [0-9]' || skip "this build reads no archives"
  mkdir tars
  for ((i = 0; i < 23; i++)); do
    tar -C photos -cf tars/$i.tar $((i * 10)).ppm $((i * 10 + 3)).ppm more/$((i % 20)).png
  done
  follow '^ls tars'
  follow '^seq 8 \| LIST'
  bin/imghist --files-from=tars.list --ndjson >expected 2>/dev/null || [ $? -eq 1 ]
  bin/imghist tar_parts/*.ndjson --ndjson 2>/dev/null | cmp - expected
  [ "$(wc -l <expected)" -eq 69 ]
}

@test "scale: the numbers of Slurm's tasks and of indexed Jobs" {
  for ((i = 1; i <= 5; i++)); do
    SHARDS=5 SLURM_ARRAY_TASK_ID=$i SLURM_CPUS_PER_TASK=1 shard.sh slurm photos 2>/dev/null
    SHARDS=5 JOB_COMPLETION_INDEX=$((i - 1)) shard.sh job photos 2>/dev/null
    SHARDS=5 SHARD=$i SLURM_ARRAY_TASK_ID=1 JOB_COMPLETION_INDEX=2 shard.sh shard photos 2>/dev/null
  done
  same slurm
  diff -r slurm job
  diff -r slurm shard
  # an array of the failed tasks alone
  rm slurm/0000[24]*
  for i in 4 2; do
    SHARDS=5 SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_MAX=4 SLURM_ARRAY_TASK_COUNT=2 \
      shard.sh slurm photos 2>/dev/null
  done
  diff -r slurm job
}

@test "scale: tasks that write only their total" {
  for list in "" list; do
    find photos/ -name '*.p?m' | sort >list
    inputs=(photos) parts=parts$list
    [ -z "$list" ] || inputs=()
    for i in 1 2 3; do LIST=$list SHARDS=3 SHARD=$i shard.sh $parts "${inputs[@]}" --total-only 2>/dev/null; done
    [ "$(cat $parts/*.ndjson | wc -l)" -eq 3 ]
    bin/imghist ${list:+--files-from=}${list:-photos} --total-only --json >expected 2>/dev/null || [ $? -eq 1 ]
    bin/imghist $parts/*.ndjson --json >merged 2>/dev/null || [ $? -eq 1 ]
    cmp merged expected
    : >$parts/00002-of-00003.ndjson # as a kill leaves it
    imghist $parts/*.ndjson --json
    [ "$status" -ne 0 ] || fail "a part is missing"
    touch before
    for i in 1 2 3; do LIST=$list SHARDS=3 SHARD=$i shard.sh $parts "${inputs[@]}" --total-only 2>/dev/null; done
    bin/imghist $parts/*.ndjson --json 2>/dev/null | cmp - expected
    [ "$(find $parts -name '*.ndjson' -newer before)" = $parts/00002-of-00003.ndjson ] || fail "counted again"
  done
}

@test "scale: more tasks than archives" {
  for name in a b; do tar cf $name.tar -C photos .; done
  printf '%s\n' a.tar b.tar >tars.list
  for i in 1 2 3 4 5 6 7 8; do LIST=tars.list SHARDS=8 SHARD=$i shard.sh parts 2>/dev/null; done
  bin/imghist --files-from=tars.list --csv=stats >expected 2>/dev/null || [ $? -eq 1 ]
  bin/imghist parts/*.ndjson --csv=stats >merged 2>errors || [ $? -eq 1 ]
  cmp merged expected || fail "$(cat errors)"
  for i in 1 2 3 4 5 6 7 8; do LIST=tars.list SHARDS=8 SHARD=$i shard.sh totals --total-only 2>/dev/null; done
  bin/imghist totals/*.ndjson --csv=stats >merged 2>errors || [ $? -eq 1 ]
  bin/imghist --files-from=tars.list --total-only --csv=stats >expected 2>/dev/null || [ $? -eq 1 ]
  cmp merged expected || fail "$(cat errors)"
  full=$(grep -L '"records":0' parts/*.ndjson | head -n 1)
  imghist_fails 2 "the shards of a run again" "$full" "$full"
}

@test "scale: a list that cannot be read is no empty part" {
  for list in missing .; do
    run env LIST=$list SHARDS=2 SHARD=1 shard.sh parts </dev/null
    assert_status 2
    assert_output_has "cannot read LIST='$list'"
    [ -z "$(ls parts)" ] || fail "$list"
  done
}

@test "scale: parts of another number of tasks stay apart" {
  SHARDS=2 SHARD=1 shard.sh parts photos 2>/dev/null
  run env SHARDS=3 SHARD=1 shard.sh parts photos
  assert_status 2
  assert_output_has "parts/00001-of-00002.ndjson is a part of a run with another SHARDS"
}

@test "scale: a wrong number of a task is refused" {
  for number in SHARD=0 SHARD=6 SHARD=01 "SHARDS=05 SHARD=1" "SHARDS=10000 SHARD=1" SHARD=x SLURM_ARRAY_TASK_ID=0 JOB_COMPLETION_INDEX=5 NONE=1 "SHARDS= SHARD=1" "SHARDS=x SHARD=1"; do
    # shellcheck disable=SC2086 # words
    run env SHARDS=5 $number shard.sh parts photos
    assert_status 2
    [ ! -e parts ] || fail "$number"
  done
  run env SHARDS=5 SHARD=1 shard.sh parts
  assert_status 2
}

@test "scale: Slurm, simulated" {
  pretend sbatch <<'END'
declare -a tasks
while [[ $1 == --* ]]; do
  [[ $1 != --array=* ]] || mapfile -t tasks < <(tr ',' '\n' <<<"${1#*=}" | awk -F- '{ for (i = $1; i <= $NF; i++) print i }')
  shift
done
for task in "${tasks[@]}"; do
  SLURM_ARRAY_TASK_ID=$task SLURM_CPUS_PER_TASK=2 bash "$@" || exit
done
END
  follow '^SHARDS=8 sbatch .*1-8'
  same parts
  rm parts/0000[37]*
  follow '^SHARDS=8 sbatch .*3,7'
  same parts
}

@test "scale: Kubernetes, simulated" {
  pretend kubectl <<'END'
[ "$1" = apply ] || exit 0
field() { sed -nE "s/^ *(- )?$2: (.*[^ ])( +#.*)?$/\2/p" "$1" | sed 's/ *#.*//'; }
n=$(field "$3" completions)
[ "$(field "$3" value)" = "\"$n\"" ] && [ "$(field "$3" completionMode)" = Indexed ] || exit 2
command=$(field "$3" command | tr -d '[],')
for ((i = 0; i < n; i++)); do
  SHARDS=$n JOB_COMPLETION_INDEX=$i ${command//\/data\//} 2>>log || exit 2
done
END
  follow '^kubectl'
  [ "$(find parts -name '*-of-00064.ndjson' | wc -l)" -eq 64 ]
  same parts
}

@test "scale: killed tasks go on, a second copy stays away, a missing part is refused" {
  for ((i = 1; i <= 4; i++)); do SHARDS=4 SHARD=$i shard.sh whole photos 2>/dev/null; done
  cp -r whole parts
  for ((round = 0; round < 8; round++)); do
    part=parts/0000$((round % 4 + 1))-of-00004.ndjson
    truncate -s $((RANDOM * RANDOM % $(wc -c <"$part"))) "$part" # as a kill leaves it, in a line or between two
    if bin/imghist parts/*.ndjson --total-only --csv=stats -o total.csv 2>errors; then fail "a part that is cut"; fi
    ! grep -q ',red,' total.csv 2>/dev/null || fail "a total of cut parts"
    SHARDS=4 SHARD=$((round % 4 + 1)) shard.sh parts photos 2>/dev/null
    diff -r parts whole || fail "round $round"
  done
  part=parts/00002-of-00004.ndjson
  head -n 20 whole/00002* >$part
  (exec 9<>$part && flock 9 && SHARDS=4 SHARD=2 shard.sh parts photos 9<&- 2>errors && fail "two copies") || [ $? -eq 1 ]
  head -n 20 whole/00002* | cmp - $part
  imghist_refused 2 "shard 2/4 is missing" parts/00001* parts/0000[34]* --csv
  SHARDS=4 SHARD=2 shard.sh parts photos 2>/dev/null
  same parts
}

@test "scale: a task whose output cannot be written fails" {
  pretend imghist <<'END'
exit 1
END
  run env SHARDS=2 SHARD=1 shard.sh parts photos
  assert_status 1
  [[ $output == *"task 1 is not complete"* ]] || fail "$output"
}

# start_slurm: a Slurm cluster of this machine alone, whose files are in the folder slurm.
start_slurm() {
  needs munged slurmctld slurmd sbatch squeue
  [ "$(id -u)" -eq 0 ] || skip "Slurm needs root"
  local dir=$PWD/slurm port=$((20000 + $$ % 10000))
  mkdir -p slurm/state slurm/spool
  head -c 128 /dev/urandom >slurm/munge.key
  chmod 600 slurm/munge.key
  cat >slurm/slurm.conf <<END
ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=root
AuthInfo=socket=$dir/munge.sock
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
SchedulerParameters=sched_interval=1
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
END
  export SLURM_CONF=$dir/slurm.conf
  munged -F --force --key-file="$dir/munge.key" --socket="$dir/munge.sock" --pid-file="$dir/munge.pid" \
    --log-file="$dir/munge.log" --seed-file="$dir/munge.seed" >slurm/munged 2>&1 3>&- &
  echo $! >>daemons
  soon [ -S slurm/munge.sock ] || skip "munged does not start here: $(tail -n 1 slurm/munged)"
  slurmctld -D >slurm/slurmctld 2>&1 3>&- &
  echo $! >>daemons
  slurmd -D >slurm/slurmd 2>&1 3>&- &
  echo $! >>daemons
  soon eval '[ "$(sinfo -h -o %T 2>/dev/null)" = idle ]' || skip "Slurm does not start here: $(tail -n 1 slurm/slurmd)"
}

@test "scale: Slurm, on this machine" {
  start_slurm
  follow '^SHARDS=8 sbatch .*1-8'
  [ "$(grep -c . parts/00008-of-00008.ndjson)" -gt 30 ]
  same parts
}
