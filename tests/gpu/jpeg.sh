#!/usr/bin/env bash
# jpeg.sh BUILD [DIR...]: decodes JPEG files, sound and damaged, with the GPU's hardware decoders and
# with libjpeg-turbo. The records must be identical. Part of run.sh; prints one line.
#
# SOUND, DAMAGED   how many files it makes (1000, 10000)
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

# shellcheck disable=SC2086 # DEPS has no spaces or is empty
cc -std=c11 -O2 ${DEPS:+-I"$DEPS/include" -L"$DEPS/lib"} -o "$work/make_jpegs" tests/gpu/make_jpegs.c -ljpeg
"$work/make_jpegs" "$work/made" "${SOUND:-1000}" "${DAMAGED:-10000}"

# run_on SIDE LIST: writes the records to $work/SIDE and prints the exit status. gpu: hardware decoders take
# every file that they can; planes: the CPU decodes and the GPU counts planes; cpu: all on the CPU.
run_on() {
  local status=0 how=(--jpeg=gpu)
  [ "$1" != cpu ] || how=(--device=cpu)
  [ "$1" != planes ] || how=(--device=cuda --jpeg=cpu -j 4) # slow enough that the GPU starts in time
  timeout 600 "$imghist" "${how[@]}" -v --ndjson --luma=bt601 --clip=3,250 --files-from="$2" \
    >"$work/$1" 2>"$work/$1.err" </dev/null || status=$?
  cp "$work/$1" "$work/$1.full"
  # With -v the records name the device, kernel and decoder, which differ.
  sed -i 's/"device":"[^"]*"//; s/"kernel":"[^"]*"//; s/"decoder":"[^"]*"//; s/"decoder_version":"[^"]*"//' "$work/$1"
  echo "$status"
}

# compare LIST STATUS LEAST: checks for identical records, this exit status, and LEAST files decoded by hardware.
compare() {
  local cpu gpu
  cpu=$(run_on cpu "$1")
  gpu=$(run_on gpu "$1")
  [ "$cpu" = "$2" ] || fail "$1: exit status $cpu on the CPU"
  [ "$gpu" = "$2" ] || { tail -n 3 "$work/gpu.err" >&2; fail "$1: exit status $gpu with the hardware decoders"; }
  cmp "$work/cpu" "$work/gpu" >&2 || fail "$1: records differ from the CPU: diff $work/cpu $work/gpu"
  n_decoded=$(sed -n 's/^imghist: JPEG: \([0-9]*\) files decoded by .*/\1/p' "$work/gpu.err")
  [ "${n_decoded:-0}" -ge "$3" ] || { grep JPEG "$work/gpu.err" >&2; fail "$1: hardware decoders took ${n_decoded:-no} files"; }
  [ "$(run_on planes "$1")" = "$2" ] || fail "$1: another exit status with planes"
  cmp "$work/cpu" "$work/planes" >&2 || fail "$1: records with planes differ from the CPU: diff $work/cpu $work/planes"
  n_planes=$(grep -c '"kernel":"ycc"' "$work/planes.full" || :)
  n_records=$(wc -l <"$work/gpu")
  n_errors=$(grep -c '"status":"error"' "$work/gpu" || :)
}

find "$work/made" -name 'sound*' | sort >"$work/sound.list"
compare "$work/sound.list" 0 "$((${SOUND:-1000} * 7 / 10))"
sound="$n_records sound files, $n_decoded by hardware, $n_planes as planes"

find "$work/made" -name '*.jpg' | sort | awk '{ print (NR * 7919) % 104729, $0 }' | sort -n | cut -d' ' -f2- >"$work/mixed.list"
compare "$work/mixed.list" 1 "$n_decoded"
[ "$n_planes" -ge 500 ] || fail "the GPU counted the planes of only $n_planes files"
n_gpus=1
[ -n "${CUDA_VISIBLE_DEVICES:-}" ] || n_gpus=$(nvidia-smi --list-gpus | wc -l)
for ((i = 0; i < n_gpus && n_gpus > 1; i++)); do
  grep -q "nvJPEG.*\"cuda:$i \|\"cuda:$i .*nvJPEG" "$work/gpu.full" || fail "the hardware decoders of cuda:$i took no file"
done
mixed="$n_records sound and damaged ones, $n_decoded by hardware, $n_planes as planes, $n_errors errors"

photos="no photos"
[ $# -eq 0 ] || find "$@" -iname '*.jp*g' -type f | sort >"$work/photos.list"
if [ -s "$work/photos.list" ]; then
  compare "$work/photos.list" 0 1
  photos="$n_records photos, $n_decoded by hardware, $n_planes as planes"
fi

# racecheck checks one kernel at a time, so one worker is enough. It can deadlock in one of its own locks when
# threads allocate memory: always with sixteen workers, sometimes with one. A sound run takes 8 seconds.
head -n 200 "$work/mixed.list" >"$work/few.list"
for tool in memcheck racecheck; do
  jobs=()
  [ "$tool" = memcheck ] || jobs=(-j 1)
  for attempt in 1 2 3 4; do
    status=0
    timeout 60 compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 "$imghist" --jpeg=gpu -v \
      "${jobs[@]}" --csv --files-from="$work/few.list" >"$work/$tool.csv" 2>"$work/$tool.log" </dev/null || status=$?
    [ "$status" -eq 124 ] || break
    echo "jpeg: $tool: no end after 60 seconds, attempt $attempt" >&2
  done
  [ "$status" -le 1 ] || { tail -n 30 "$work/$tool.log" >&2; fail "$tool: exit status $status"; }
  grep -q 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$work/$tool.log" "$work/$tool.csv" ||
    fail "$tool: no clean summary in $work/$tool.log"
  grep -q '^imghist: JPEG: [1-9][0-9]* files decoded by' "$work/$tool.log" || fail "$tool: the hardware decoders took no file"
done
echo "jpeg: identical: $sound; $mixed; $photos; memcheck and racecheck clean"
