#!/usr/bin/env bash
# jpeg.sh BUILD [DIR...]: decodes JPEG files, sound and damaged, with the JPEG kernels and with
# libjpeg-turbo. Planes and records must be identical. Part of run.sh, which builds BUILD/imghist and
# BUILD/jpeg_planes; prints one line. With several GPUs, each must have decoded files.
#
# SOUND, DAMAGED   how many files it makes (1000, 20000)
# SECONDS_HASHED   how long it decodes the files whose planes were right, in changing batches (10)
# DEPS             as for make
set -euo pipefail
build=$1
shift
cd "$(dirname "$0")/../.."
imghist=$build/imghist
work=$build/jpeg
rm -rf "$work"
mkdir -p "$work/made"
declare -A checks=() # processes under compute-sanitizer
trap 'kill "${checks[@]}" 2>/dev/null || :' EXIT

fail() {
  echo "jpeg: $*" >&2
  exit 1
}

# ---- the files ----------------------------------------------------------------------------------

# shellcheck disable=SC2086 # DEPS has no spaces or is empty
cc -std=c11 -O2 ${DEPS:+-I"$DEPS/include" -L"$DEPS/lib"} -o "$work/make_jpegs" tests/gpu/make_jpegs.c \
  ${DEPS:+-Wl,-rpath,"$DEPS/lib"} -ljpeg
"$work/make_jpegs" "$work/made" "${SOUND:-1000}" "${DAMAGED:-20000}"
find "$work/made" -name 'sound*' | sort >"$work/sound.list"
find "$work/made" -name '*.jpg' | sort | awk '{ print (NR * 7919) % 104729, $0 }' | sort -n | cut -d' ' -f2- >"$work/mixed.list"
: >"$work/photos.list"
[ $# -eq 0 ] || find "$@" -iname '*.jp*g' -type f | sort >"$work/photos.list"
find samples tests -type f \( -iname '*.jpg' -o -iname '*.jpeg' -o -path '*/crashers/*jpeg*' \) |
  cat "$work/mixed.list" - "$work/photos.list" >"$work/planes.list"
# For compute-sanitizer: every kind of small file, with restart intervals, flat, with optimised codes, damaged;
# and a file of several thread blocks.
find "$work/made" \( -name 'sound_0000?.jpg' -o -name 'sound_0001[0-2].jpg' -o -name 'damaged_0000?.jpg' \) -size -24k |
  sort >"$work/few.list"
find "$work/made" -name 'sound*' -size +40k -printf '%s %p\n' | sort -n | sed -n '1s/^[0-9]* //p' >>"$work/few.list"

# ---- under compute-sanitizer, in the background -------------------------------------------------

# sanitize NAME TOOL COMMAND...: begins a check. end_check waits for it.
sanitize() {
  timeout 300 compute-sanitizer --tool "$2" --report-api-errors no --error-exitcode 9 "${@:3}" \
    >"$work/$1-$2.log" 2>&1 </dev/null &
  checks[$1-$2]=$!
}

# end_check NAME-TOOL MOST: fails unless the check is clean and the exit status at most MOST.
end_check() {
  local status=0
  wait "${checks[$1]}" || status=$?
  unset "checks[$1]"
  [ "$status" -le "$2" ] || { tail -n 30 "$work/$1.log" >&2; fail "$1: exit status $status"; }
  grep -q 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$work/$1.log" || fail "no clean summary in $work/$1.log"
}

sanitize planes memcheck "$build/jpeg_planes" "$work/few.list" 0
sanitize planes racecheck "$build/jpeg_planes" "$work/few.list" 0
sanitize program memcheck "$imghist" --jpeg=gpu -v --csv=stats --files-from="$work/few.list"

# ---- planes -------------------------------------------------------------------------------------

timeout 300 "$build/jpeg_planes" "$work/planes.list" "${SECONDS_HASHED:-10}" >"$work/planes.log" 2>&1 ||
  { tail -n 20 "$work/planes.log" >&2; fail "planes differ from libjpeg's, or damage was missed: see $work/planes.log"; }
planes=$(grep 'wrong$\|wrong, ' "$work/planes.log" | paste -sd';' | sed 's/;/; /')

# ---- records ------------------------------------------------------------------------------------

n_gpus=1
[ -n "${CUDA_VISIBLE_DEVICES:-}" ] || n_gpus=$(nvidia-smi --list-gpus | wc -l)
named=--device=cuda:$(seq -s, 0 $((n_gpus - 1)))

# run_on SIDE LIST ARG...: writes the records to $work/SIDE and prints the exit status. gpu: the kernels decode
# every file that they can; planes: the CPU decodes and the GPU counts planes; cpu: all on the CPU.
run_on() {
  local side=$1 list=$2 status=0 how=(--jpeg=gpu "${@:3}")
  [ "$side" != cpu ] || how=(--device=cpu)
  [ "$side" != planes ] || how=(--device=cuda --jpeg=cpu -j 4) # slow enough that the GPU starts in time
  timeout 300 "$imghist" "${how[@]}" -v --ndjson --luma=bt601 --clip=3,250 --files-from="$list" \
    >"$work/$side.full" 2>"$work/$side.err" </dev/null || status=$?
  # With -v the records name the device, kernel and decoder, which differ.
  sed 's/"device":"[^"]*"//; s/"kernel":"[^"]*"//; s/"decoder":"[^"]*"//; s/"decoder_version":"[^"]*"//' \
    "$work/$side.full" >"$work/$side"
  echo "$status"
}

# compare LIST STATUS LEAST ARG...: checks for identical records, this exit status, and LEAST files decoded by the
# GPUs. The arguments are those of the GPUs' side.
compare() {
  local list=$1 expected=$2 least=$3 cpu gpu
  cpu=$(run_on cpu "$list")
  gpu=$(run_on gpu "$list" "${@:4}")
  [ "$cpu" = "$expected" ] || fail "$list: exit status $cpu on the CPU"
  [ "$gpu" = "$expected" ] || { tail -n 3 "$work/gpu.err" >&2; fail "$list: exit status $gpu with the JPEG kernels"; }
  cmp "$work/cpu" "$work/gpu" >&2 || fail "$list: records differ from the CPU's: diff $work/cpu $work/gpu"
  n_decoded=$(sed -n 's/^imghist: JPEG: \([0-9]*\) files decoded by .*/\1/p' "$work/gpu.err")
  [ "${n_decoded:-0}" -ge "$least" ] || { grep JPEG "$work/gpu.err" >&2; fail "$list: the JPEG kernels took ${n_decoded:-no} files"; }
  n_records=$(wc -l <"$work/gpu")
  n_errors=$(grep -c '"status":"error"' "$work/gpu" || :)
}

# each_gpu: prints how many files each GPU has decoded; fails if one has none.
each_gpu() {
  local i n text=
  for ((i = 0; i < n_gpus && n_gpus > 1; i++)); do
    n=$(grep '"JPEG kernels"' "$work/gpu.full" | grep -c "\"cuda:$i " || :)
    [ "$n" -gt 0 ] || fail "cuda:$i decoded no file: see $work/gpu.full"
    text+=", cuda:$i $n"
  done
  echo "$text"
}

compare "$work/sound.list" 0 "$((${SOUND:-1000} * 7 / 10))" "$named"
by_gpu=$(each_gpu)
sound="$n_records sound files, $n_decoded by the kernels$by_gpu"

# One GPU starts for each 16 workers.
compare "$work/mixed.list" 1 "$n_decoded" --device=cuda -j "$((16 * n_gpus))"
by_gpu=$(each_gpu)
mixed="$n_records sound and damaged ones, $n_decoded by the kernels$by_gpu, $n_errors errors"
[ "$(run_on planes "$work/mixed.list")" = 1 ] || fail "another exit status with planes"
cmp "$work/cpu" "$work/planes" >&2 || fail "records with planes differ from the CPU's: diff $work/cpu $work/planes"
n_planes=$(grep -c '"kernel":"ycc"' "$work/planes.full" || :)
[ "$n_planes" -ge 500 ] || fail "the GPU counted the planes of only $n_planes files"
mixed+=", $n_planes as planes"

photos="no photos"
if [ -s "$work/photos.list" ]; then
  compare "$work/photos.list" 0 1
  photos="$n_records photos, $n_decoded by the kernels"
fi

for check in planes-memcheck:0 planes-racecheck:0 program-memcheck:1; do end_check "${check%:*}" "${check#*:}"; done
grep -q '^imghist: JPEG: [1-9][0-9]* files decoded by' "$work/program-memcheck.log" || fail "memcheck: the JPEG kernels took no file"
echo "jpeg: planes: $planes; identical records: $sound; $mixed; $photos; memcheck and racecheck clean"
