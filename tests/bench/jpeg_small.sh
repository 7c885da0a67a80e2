#!/usr/bin/env bash
# jpeg_small.sh: measures directories of many small JPEG files decoded by the JPEG kernels, and compares
# with bare loops of nvJPEG's hardware decoders and with the same program on all CPU cores.
#
# The files are crops of photos: 500x375 for the most part, and 224x224. Hard links make a large
# directory of a few thousand files, so all are in the page cache. Times are from the start of the
# process to its end. The outputs of all runs are compared. The bar is for an H100 with 16 cores.
#
#   IMGHIST   the program (./imghist)
#   PHOTOS    a directory of JPEG photos to crop; needs Pillow
#   FILES     how many crops of each size (2000)
#   NAMES     how many names each directory has (200000)
#   ROUNDS    how often each program is measured, in turn; the median is printed (3)
set -euo pipefail
cd "$(dirname "$0")/../.."
imghist=${IMGHIST:-./imghist}
photos=${PHOTOS:?a directory of JPEG photos}
files=${FILES:-2000}
names=${NAMES:-200000}
rounds=${ROUNDS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda=${CUDA_HOME:-/usr/local/cuda}

die() {
  echo "jpeg_small: $*" >&2
  exit 1
}

cc -std=c11 -O2 -I"$cuda/include" -L"$cuda/lib64" -o "$work/loop" tests/bench/nvjpeg_loop.c -lnvjpeg -lcudart -pthread

# seconds NAME COMMAND...: appends its wall-clock time to $work/NAME
seconds() {
  local name=$1 start end
  shift
  start=$(date +%s.%N)
  "$@" >"$work/out" 2>"$work/err" </dev/null || die "$*: $(tail -n 1 "$work/err")"
  end=$(date +%s.%N)
  awk "BEGIN { print $end - $start }" >>"$work/$name"
}

# same_output NAME: as that of the first run with this name
same_output() {
  [ -f "$work/first_$1" ] || cp "$work/out" "$work/first_$1"
  cmp "$work/first_$1" "$work/out" || die "the counts of two runs differ"
}

median() { sort -n "$work/$1" | awk '{ v[NR] = $1 } END { printf "%.2f", v[int((NR + 1) / 2)] }'; }

# row NAME SECONDS [BAR]
row() {
  awk -v name="$1" -v s="$2" -v bar="${3:-}" -v n="$names" -v mp="$mp" -v best="$best" -v cpu="$cpu" \
    'BEGIN { printf "%-32s %6.2f %9.0f %8.2f %18.2f %12.2f %13s\n", name, s, n / s, mp / s / 1e3, mp / s / best, cpu / s, bar }'
}

# measure WHAT BAR [SIDE]: makes the crops and prints the table. The bar: files a second
measure() {
  local what=$1 bar=$2 all=$work/all$1 best cpu mp n round side
  mkdir "$work/made" "$all"
  python3 tests/bench/small_jpegs.py "$photos" "$work/made" "$files" "$all" "$names" "${@:3}"
  find "$work/made" -name '*.jpg' | sort >"$work/made.list"
  for ((round = 0; round < rounds; round++)); do
    for n in 1 2 3; do "$work/loop" 28 1 "$n" <"$work/made.list" >>"$work/loop$n"; done
    for side in cpu auto; do
      seconds "$side" "$imghist" -q --csv=stats --device="$side" "$all"
      same_output "$what"
    done
    seconds total "$imghist" -q --csv=stats --total-only "$all"
    same_output "$what-total"
  done
  mp=$(awk -F, '$4 == "luma" { n += $5 } END { printf "%.0f", n / 1e6 }' "$work/first_$what")
  echo
  echo "files      $names names of $files crops of $what, $mp MP, $(xargs -d '\n' cat <"$work/made.list" | wc -c | awk -v n="$files" '{ printf "%.0f", $1 / n / 1024 }') KiB each"
  "$imghist" -v --csv=stats "$all" 2>&1 >"$work/out" | sed -n 's/^imghist: JPEG: /           /p'
  echo "                                      s   files/s     GP/s   of the best loop   of the CPU  bar, files/s"
  best=$(for n in 1 2 3; do median "loop$n" && echo; done | sort -n | tail -n 1)
  cpu=$(median cpu)
  for n in 1 2 3; do
    row "bare nvJPEG loop, $n at once" "$(awk "BEGIN { print $mp / $(median "loop$n") }")"
  done
  row "imghist, start included" "$(median auto)" "$bar"
  row "imghist --total-only" "$(median total)"
  row "imghist --device=cpu" "$cpu"
  rm -r "$work/made" "$all" "$work"/loop[123] "$work"/{cpu,auto,total}
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
echo "date       $(date -u +%Y-%m-%d), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo "command    FILES=$files NAMES=$names ROUNDS=$rounds tests/bench/jpeg_small.sh"
measure 500x375 ""
measure 224x224 80000 224
