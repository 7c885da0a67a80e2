#!/bin/sh
# SHARDS=N shard.sh FOLDER ARG...: one task of a run in N parts, for any scheduler. Counts part I with `imghist ARG...`
# into FOLDER/I-of-N.ndjson.
#
# I is the number of the task, from 1: $SHARD, else that of a Slurm array (--array=1-N), or of a Kubernetes indexed Job,
# which counts from 0. N is never taken from the scheduler: an array of the failed tasks alone would have another.
#
# LIST=FILE: the inputs are the lines of FILE, and each task takes one block of them. For archives, which every part of
# --shard reads as a whole, and for lists too long to be read by every task.
#
# A task that is started again goes on after the last complete record; with --total-only it starts anew, unless its file
# is complete: other inputs or options need a new folder. The exit status is 0 if the file is complete, whether
# or not images failed: those have records. IMGHIST: the program, if not imghist.
#
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu

fail() {
  echo "shard.sh: $*" >&2
  exit 2
}

[ $# -gt 1 ] || { [ $# -eq 1 ] && [ -n "${LIST:-}" ]; } || fail "usage: SHARDS=N shard.sh FOLDER ARG..."
folder=$1 n=${SHARDS:-}
shift
if [ -n "${SHARD:-}" ]; then
  i=$SHARD
elif [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
  i=$SLURM_ARRAY_TASK_ID
elif [ -n "${JOB_COMPLETION_INDEX:-}" ]; then
  i=$((JOB_COMPLETION_INDEX + 1))
else
  fail "no task: set SHARD, or start it as a Slurm array or an indexed Job"
fi
for number in "$i" "$n"; do
  case $number in '' | 0* | *[!0-9]*) fail "task '$i' of SHARDS='$n': these are numbers from 1, without leading zeros" ;; esac
done
[ "$i" -le "$n" ] && [ "$n" -le 9999 ] || fail "task '$i' of SHARDS='$n': not 1 to SHARDS, at most 9999"

mkdir -p "$folder"
name=$(printf '%05d-of-%05d' "$i" "$n").ndjson # the shell sorts the files by I
part=$folder/$name
for other in "$folder"/*-of-*.ndjson; do
  case $other in
    *-of-"${name#*-of-}" | *'/*-of-*.ndjson') ;;
    *) fail "$other is a part of a run with another SHARDS: name a new folder" ;;
  esac
done
[ -z "${SLURM_CPUS_PER_TASK:-}" ] || set -- "$@" -j "$SLURM_CPUS_PER_TASK"

is_complete() { tail -n 1 "$part" 2>/dev/null | grep -qE '"status":"end"|"total":true'; }

resume=--resume
case " $* " in
  *" --total-only "*)
    ! is_complete || exit 0
    resume=--ndjson
    ;;
esac

count() { # --resume refuses a second copy of the task: some schedulers start one
  "${IMGHIST:-imghist}" "$@" "$resume" -o "$part" -q
}

status=0
if [ -n "${LIST:-}" ]; then
  block=$(mktemp)
  trap 'rm -f "$block"' EXIT
  split -n "l/$i/$n" -- "$LIST" >"$block" || fail "cannot read LIST='$LIST'"
  count --files-from=- --shard=1/1 "$@" <"$block" || status=$?
else
  count --shard="$i/$n" "$@" || status=$?
fi
[ "$status" -gt 1 ] || ! is_complete || exit 0
echo "shard.sh: task $i is not complete (exit status $status)" >&2
exit 1
