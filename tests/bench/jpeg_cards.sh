#!/usr/bin/env bash
# jpeg_cards.sh: measures how the speed of JPEG files grows with the number of GPUs. Each GPU brings
# its share of the CPU cores: of 2 GPUs and 32 cores, one GPU runs with 16.
#
# Small files are those of jpeg_small.sh, photos those of jpeg_gpu.sh. All are in the page cache.
# Times are from the start of the process to its end. The outputs of all runs are compared. spin.c
# shows how the cores themselves scale: no program that uses them all can scale better.
#
#   IMGHIST   the program (./imghist)
#   PHOTOS    a directory with base/, baseline photos; needs Pillow
#   FILES     how many crops (2000)
#   NAMES     how many names their directory has (200000)
#   TIMES     how often the list of photos names each (1500)
#   ROUNDS    how often each run is measured, in turn; the median is printed (3)
set -euo pipefail
cd "$(dirname "$0")/../.."
imghist=${IMGHIST:-./imghist}
photos=${PHOTOS:?a directory with base/}
files=${FILES:-2000}
names=${NAMES:-200000}
times=${TIMES:-1500}
rounds=${ROUNDS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_cards=$(nvidia-smi --list-gpus | wc -l)
n_cores=$(nproc)

die() {
  echo "jpeg_cards: $*" >&2
  exit 1
}

[ "$n_cards" -ge 2 ] || die "there is one GPU"
mkdir "$work/made" "$work/all"
cc -O2 -pthread -o "$work/spin" tests/bench/spin.c
python3 tests/bench/small_jpegs.py "$photos/base" "$work/made" "$files" "$work/all" "$names"
find "$photos/base" -name '*.jpg' | sort >"$work/base"
for ((i = 0; i < times; i++)); do cat "$work/base"; done >"$work/list"

cores() { echo $((n_cores * $1 / n_cards)); }

# measure_cores CARDS: appends the time that as much work for each core takes, divided by CARDS, to $work/cores.CARDS.
measure_cores() {
  local start end
  start=$(date +%s.%N)
  taskset -c "0-$(($(cores "$1") - 1))" "$work/spin" "$(cores "$1")"
  end=$(date +%s.%N)
  awk "BEGIN { print ($end - $start) / $1 }" >>"$work/cores.$1"
}

# measure CARDS WHAT ARG...: appends the wall-clock time to $work/WHAT.CARDS and compares the output.
measure() {
  local cards=$1 what=$2 start end
  shift 2
  start=$(date +%s.%N)
  CUDA_VISIBLE_DEVICES=$(seq -s, 0 $((cards - 1))) taskset -c "0-$(($(cores "$cards") - 1))" \
    "$imghist" --csv=stats "$@" >"$work/out" 2>"$work/err" </dev/null || die "$*: $(tail -n 1 "$work/err")"
  end=$(date +%s.%N)
  awk "BEGIN { print $end - $start }" >>"$work/$what.$cards"
  what=${what%-*}
  [ -f "$work/$what.first" ] || mv "$work/out" "$work/$what.first"
  [ ! -f "$work/out" ] || cmp "$work/$what.first" "$work/out" || die "the counts of two runs differ"
}

counts() { for ((n = 1; n <= n_cards; n *= 2)); do echo "$n"; done; }

for ((round = 0; round < rounds; round++)); do
  for n in $(counts); do
    measure_cores "$n"
    measure "$n" start-auto -v --jpeg=gpu samples/scene.jpg # with -v it waits for all decoders
    measure "$n" small-auto -q "$work/all"
    measure "$n" small-cpu -q --device=cpu "$work/all"
    measure "$n" photos-auto -q --files-from="$work/list"
  done
done

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
echo "date       $(date -u +%Y-%m-%d), $n_cores cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo "command    FILES=$files NAMES=$names TIMES=$times ROUNDS=$rounds tests/bench/jpeg_cards.sh"
megapixels() { awk -F, '$4 == "luma" { n += $5 } END { printf "%.0f", n / 1e6 }' "$work/$1.first"; }
echo "small      $names names of $files crops, $(megapixels small) MP"
echo "photos     $(wc -l <"$work/base") photos $times times, $(megapixels photos) MP"
median() { sort -n "$work/$1" | awk '{ v[NR] = $1 } END { printf "%.2f", v[int((NR + 1) / 2)] }'; }
for what in small-auto small-cpu cores photos-auto start-auto; do
  case $what in
    small-auto) title="small files" ;;
    small-cpu) title="small files, --device=cpu" ;;
    cores) title="the same work for one GPU's cores (spin.c)" ;;
    photos-auto) title="photos" ;;
    start-auto) title="one file, when all decoders have started" ;;
  esac
  printf '\n%-42s %8s %14s\n' "$title" s "of one GPU's"
  for n in $(counts); do
    awk -v n="$n" -v cores="$(cores "$n")" -v s="$(median "$what.$n")" -v one="$(median "$what.1")" \
      'BEGIN { printf "%-42s %8.2f %14.2f\n", n " GPUs, " cores " cores", s, one / s }'
  done
done
