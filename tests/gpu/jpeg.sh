#!/usr/bin/env bash
# jpeg.sh BUILD [DIR...]: JPEG files through the GPU's engines and through libjpeg-turbo: identical
# records, for sound files and damaged ones, in any order. Part of run.sh; prints what it found, in a line.
#
# SOUND, DAMAGED   how many files are made (1000, 10000)
# DEPS             as for make
set -euo pipefail
build=$1
shift
cd "$(dirname "$0")/../.."
imghist=$build/imghist
work=$build/jpeg
rm -rf "$work"
mkdir -p "$work/made"

fail() {
  echo "jpeg: $*" >&2
  exit 1
}

# shellcheck disable=SC2086 # DEPS has no spaces, or is not there
cc -std=c11 -O2 ${DEPS:+-I"$DEPS/include" -L"$DEPS/lib"} -o "$work/make_jpegs" tests/gpu/make_jpegs.c -ljpeg
"$work/make_jpegs" "$work/made" "${SOUND:-1000}" "${DAMAGED:-10000}"

# run_on SIDE LIST: its records into $work/SIDE, and the exit status. gpu: by the engines, as far as they
# take them; planes: decoded by the processors, whose planes the GPU counts; cpu: all by the processors.
run_on() {
  local status=0 how=(--jpeg=gpu)
  [ "$1" != cpu ] || how=(--device=cpu)
  [ "$1" != planes ] || how=(--device=cuda --jpeg=cpu -j 4) # it lasts longer than the GPU takes to start
  timeout 600 "$imghist" "${how[@]}" -v --ndjson --luma=bt601 --clip=3,250 --files-from="$2" \
    >"$work/$1" 2>"$work/$1.err" </dev/null || status=$?
  cp "$work/$1" "$work/$1.full"
  # What ran where is in the records with -v, and must differ.
  sed -i 's/"device":"[^"]*"//; s/"kernel":"[^"]*"//; s/"decoder":"[^"]*"//; s/"decoder_version":"[^"]*"//' "$work/$1"
  echo "$status"
}

# compare LIST STATUS LEAST: the same records, this exit status, and so many files for the engines.
compare() {
  local cpu gpu
  cpu=$(run_on cpu "$1")
  gpu=$(run_on gpu "$1")
  [ "$cpu" = "$2" ] || fail "$1: on the processors, exit status $cpu"
  [ "$gpu" = "$2" ] || { tail -n 3 "$work/gpu.err" >&2; fail "$1: with the engines, exit status $gpu"; }
  cmp "$work/cpu" "$work/gpu" >&2 || fail "$1: other records than on the processors: diff $work/cpu $work/gpu"
  n_decoded=$(sed -n 's/^imghist: JPEG: \([0-9]*\) files decoded by .*/\1/p' "$work/gpu.err")
  [ "${n_decoded:-0}" -ge "$3" ] || { grep JPEG "$work/gpu.err" >&2; fail "$1: the engines had ${n_decoded:-none}"; }
  [ "$(run_on planes "$1")" = "$2" ] || fail "$1: with planes for the GPU, another exit status"
  cmp "$work/cpu" "$work/planes" >&2 || fail "$1: other records with planes for the GPU: diff $work/cpu $work/planes"
  n_planes=$(grep -c '"kernel":"ycc"' "$work/planes.full" || :)
  n_records=$(wc -l <"$work/gpu")
  n_errors=$(grep -c '"status":"error"' "$work/gpu" || :)
}

find "$work/made" -name 'sound*' | sort >"$work/sound.list"
compare "$work/sound.list" 0 "$((${SOUND:-1000} * 7 / 10))"
sound="$n_records sound files, $n_decoded by the engines, $n_planes as planes"

find "$work/made" -name '*.jpg' | sort | awk '{ print (NR * 7919) % 104729, $0 }' | sort -n | cut -d' ' -f2- >"$work/mixed.list"
compare "$work/mixed.list" 1 "$n_decoded"
[ "$n_planes" -ge 500 ] || fail "only $n_planes files came to the GPU as planes"
n_gpus=1
[ -n "${CUDA_VISIBLE_DEVICES:-}" ] || n_gpus=$(nvidia-smi --list-gpus | wc -l)
for ((i = 0; i < n_gpus && n_gpus > 1; i++)); do
  grep -q "nvJPEG.*\"cuda:$i \|\"cuda:$i .*nvJPEG" "$work/gpu.full" || fail "the engines of cuda:$i had nothing"
done
mixed="$n_records sound and damaged ones, $n_decoded by the engines, $n_planes as planes, $n_errors errors"

photos="no photos"
[ $# -eq 0 ] || find "$@" -iname '*.jp*g' -type f | sort >"$work/photos.list"
if [ -s "$work/photos.list" ]; then
  compare "$work/photos.list" 0 1
  photos="$n_records photos, $n_decoded by the engines, $n_planes as planes"
fi

# A sanitizer slows the GPU's part down, not the engines. racecheck looks at one kernel at a time, so one
# worker is enough for it; beside sixteen that allocate memory it stops for good, in a lock of its own.
head -n 200 "$work/mixed.list" >"$work/few.list"
for tool in memcheck racecheck; do
  status=0 jobs=()
  [ "$tool" = memcheck ] || jobs=(-j 1)
  timeout 200 compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 "$imghist" --jpeg=gpu -v \
    "${jobs[@]}" --csv --files-from="$work/few.list" >"$work/$tool.csv" 2>"$work/$tool.log" </dev/null || status=$?
  [ "$status" -le 1 ] || { tail -n 30 "$work/$tool.log" >&2; fail "$tool: exit status $status"; }
  grep -q 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$work/$tool.log" "$work/$tool.csv" ||
    fail "$tool: no clean summary in $work/$tool.log"
  grep -q '^imghist: JPEG: [1-9][0-9]* files decoded by' "$work/$tool.log" || fail "$tool: the engines had no file"
done
echo "jpeg: identical: $sound; $mixed; $photos; memcheck and racecheck clean"
