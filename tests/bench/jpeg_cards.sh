#!/usr/bin/env bash
# jpeg_cards.sh: measures how the speed of JPEG files grows with the number of GPUs. Each GPU brings
# its share of the CPU cores: of 2 GPUs and 32 cores, one GPU runs with 16. One GPU starts for each 16
# workers, so a share is at least 16 cores.
#
# Small files and photos are those of jpeg_small.sh and jpeg_gpu.sh. All are in the page cache.
# Times are from the start of the process to its end. The outputs of all runs are compared. spin.c
# shows how the cores themselves scale: no program that uses them all can scale better. The bar:
# photos on 4 GPUs at least twice as fast as on one.
#
#   IMGHIST   the program (./imghist)
#   PHOTOS    a directory with base/, baseline photos; needs Pillow
#   FILES     how many crops of each size (2000)
#   NAMES     how many names their directories have (200000)
#   LISTED    how many names the list of photos has (120000)
#   ROUNDS    how often each run is measured, in turn; the median is printed (3)
set -euo pipefail
cd "$(dirname "$0")/../.."
imghist=${IMGHIST:-./imghist}
photos=${PHOTOS:?a directory with base/}
files=${FILES:-2000}
names=${NAMES:-200000}
listed=${LISTED:-120000}
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
[ "$((n_cores / n_cards))" -ge 16 ] || die "$n_cores cores are not 16 for each of $n_cards GPUs"
mkdir "$work/made" "$work/all" "$work/made224" "$work/all224"
cc -O2 -pthread -o "$work/spin" tests/bench/spin.c
python3 tests/bench/small_jpegs.py "$photos/base" "$work/made" "$files" "$work/all" "$names"
python3 tests/bench/small_jpegs.py "$photos/base" "$work/made224" "$files" "$work/all224" "$names" 224
find "$photos/base" -name '*.jpg' | sort >"$work/base"
repeat() { awk -v n="$2" '{ all[NR - 1] = $0 } END { for (i = 0; i < n; i++) print all[i % NR] }' "$1"; }
repeat "$work/base" "$listed" >"$work/list"

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
    repeat <(echo samples/scene.jpg) "$((16 * n))" >"$work/few"
    measure "$n" "start$n-auto" -v --jpeg=gpu -j "$((16 * n))" --files-from="$work/few" # it waits for all GPUs
    for size in "" 224; do
      measure "$n" "small$size-auto" -q "$work/all$size"
      measure "$n" "small$size-cpu" -q --device=cpu "$work/all$size"
    done
    measure "$n" photos-auto -q --files-from="$work/list"
  done
done

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
echo "date       $(date -u +%Y-%m-%d), $n_cores cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo "command    FILES=$files NAMES=$names LISTED=$listed ROUNDS=$rounds tests/bench/jpeg_cards.sh"
megapixels() { awk -F, '$4 == "luma" { n += $5 } END { printf "%.0f", n / 1e6 }' "$work/$1.first"; }
echo "small      $names names of $files crops of 500x375, $(megapixels small) MP, and of 224x224, $(megapixels small224) MP"
echo "photos     $listed names of $(wc -l <"$work/base") photos, $(megapixels photos) MP"
# file_of WHAT CARDS: where measure has put the times
file_of() { [ "$1" != start-auto ] && echo "$1.$2" || echo "start$2-auto.$2"; }
median() { sort -n "$work/$1" | awk '{ v[NR] = $1 } END { printf "%.2f", v[int((NR + 1) / 2)] }'; }
for what in small-auto small-cpu small224-auto small224-cpu cores photos-auto start-auto; do
  case $what in
    small-auto) title="crops of 500x375" ;;
    small-cpu) title="crops of 500x375, --device=cpu" ;;
    small224-auto) title="crops of 224x224" ;;
    small224-cpu) title="crops of 224x224, --device=cpu" ;;
    cores) title="the same work for one GPU's cores (spin.c)" ;;
    photos-auto) title="photos (bar: 2.00 on 4 GPUs)" ;;
    start-auto) title="16 small files a GPU, when all GPUs have started" ;;
  esac
  printf '\n%-48s %8s %14s\n' "$title" s "of one GPU's"
  for n in $(counts); do
    awk -v n="$n" -v cores="$(cores "$n")" -v s="$(median "$(file_of "$what" "$n")")" -v one="$(median "$(file_of "$what" 1)")" \
      'BEGIN { printf "%-48s %8.2f %14.2f\n", n " GPUs, " cores " cores", s, one / s }'
  done
done
