#!/usr/bin/env bash
# jpeg_gpu.sh: measures JPEG photos decoded by the JPEG kernels, and compares with a bare loop of nvJPEG's
# hardware decoders, with the same program on all CPU cores, and with torchvision.
#
# A list of NAMES names repeats the photos, so that a run takes seconds. The files are in the page
# cache. Times are from the start of the process to its end. The counts are compared first. The bars
# are for an H100 with 16 cores.
#
#   IMGHIST   the program (./imghist)
#   PHOTOS    a directory with base/ (baseline files) and, optionally, prog/ (progressive files); its
#             file note says in a line where they come from
#   NAMES     how many names the list has (30000)
#   ROUNDS    how often each program is measured, in turn; the median is printed (3)
set -euo pipefail
cd "$(dirname "$0")/../.."
imghist=${IMGHIST:-./imghist}
photos=${PHOTOS:?a directory with base/}
names=${NAMES:-30000}
rounds=${ROUNDS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda=${CUDA_HOME:-/usr/local/cuda}

die() {
  echo "jpeg_gpu: $*" >&2
  exit 1
}

cc -std=c11 -O2 -I"$cuda/include" -L"$cuda/lib64" -o "$work/loop" tests/bench/nvjpeg_loop.c -lnvjpeg -lcudart -pthread

# repeat LIST N: the names of LIST again and again, N in all
repeat() { awk -v n="$2" '{ all[NR - 1] = $0 } END { for (i = 0; i < n; i++) print all[i % NR] }' "$1"; }

find "$photos/base" -name '*.jpg' | sort >"$work/base"
[ -s "$work/base" ] || die "no photo in $photos/base"
[ ! -d "$photos/prog" ] || find "$photos/prog" -name '*.jpg' | sort >"$work/prog"
repeat "$work/base" "$names" >"$work/baseline.list"
repeat "$work/base" "$((names / 10))" >"$work/short.list" # for the CPU
# A third of the files is progressive. They take long, so the list is shorter.
if [ -s "$work/prog" ]; then
  { repeat "$work/base" "$((names / 10))" && repeat "$work/prog" "$((names / 20))"; } |
    awk '{ print (NR * 7919) % 104729, $0 }' | sort -n | cut -d' ' -f2- >"$work/mixed.list"
fi

# megapixels LIST: counted on the CPU, which also fills the page cache
megapixels() {
  "$imghist" --jpeg=cpu --device=cpu -q --csv=stats --files-from="$1" | awk -F, '$4 == "luma" { n += $5 } END { printf "%.1f", n / 1e6 }'
}

# seconds COMMAND...: its wall-clock time
seconds() {
  local start end
  start=$(date +%s.%N)
  "$@" >"$work/out" 2>"$work/err" </dev/null || die "$*: $(tail -n 1 "$work/err")"
  end=$(date +%s.%N)
  awk "BEGIN { printf \"%.3f\", $end - $start }"
}

median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.0f", v[int((NR + 1) / 2)] }'; }

# rate LIST MP NAME COMMAND...: appends megapixels a second to $work/NAME
rate() {
  local list=$1 mp=$2 name=$3
  shift 3
  awk "BEGIN { print $mp / $(seconds "$@" --files-from="$list") }" >>"$work/$name"
}

for list in "$work/base" "$work/mixed.list"; do
  [ -s "$list" ] || continue
  "$imghist" --jpeg=cpu --device=cpu -q --csv=long --files-from="$list" >"$work/on_cpu"
  "$imghist" --jpeg=gpu -q --csv=long --files-from="$list" >"$work/on_gpu"
  cmp "$work/on_cpu" "$work/on_gpu" || die "counts differ from the CPU's"
done

mp_base=$(megapixels "$work/base")
mp_short=$(megapixels "$work/short.list")
mp_long=$(megapixels "$work/baseline.list")
mp_mixed=$([ ! -s "$work/mixed.list" ] || megapixels "$work/mixed.list")
for ((round = 0; round < rounds; round++)); do
  "$work/loop" 28 3 1 <"$work/base" >>"$work/loop.rates"
  "$work/loop" 28 3 2 <"$work/base" >>"$work/loop2.rates"
  rate "$work/baseline.list" "$mp_long" auto.rates "$imghist" -q --csv=stats --jpeg=auto
  rate "$work/baseline.list" "$mp_long" gpu.rates "$imghist" -q --csv=stats --jpeg=gpu
  rate "$work/baseline.list" "$mp_long" total.rates "$imghist" -q --csv=stats --total-only
  rate "$work/short.list" "$mp_short" cpu.rates "$imghist" -q --csv=stats --jpeg=cpu --device=cpu
  [ -n "$mp_mixed" ] || continue
  rate "$work/mixed.list" "$mp_mixed" mixed_auto.rates "$imghist" -q --csv=stats --jpeg=auto
  rate "$work/mixed.list" "$mp_mixed" mixed_cpu.rates "$imghist" -q --csv=stats --jpeg=cpu --device=cpu
done
torch="no torchvision here"
if python3 -c 'import torchvision' 2>/dev/null; then
  torch=$(python3 tests/bench/peers/jpeg_torchvision.py "$work/base" 2>"$work/err" || echo "failed: $(tail -n 1 "$work/err")")
fi

of() { median <"$work/$1.rates"; }
# row NAME MP/S FILES MP [BAR]: FILES files have MP megapixels
row() {
  awk -v name="$1" -v rate="$2" -v files="$3" -v mp="$4" -v bar="${5:-}" -v loop="$loop" -v cpu="$cpu" \
    'BEGIN { printf "%-34s %7.2f %9.0f %17.2f %11.2f %10s\n", name, rate / 1e3, rate * files / mp, rate / loop, rate / cpu, bar }'
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
echo "date       $(date -u +%Y-%m-%d), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo "command    NAMES=$names ROUNDS=$rounds tests/bench/jpeg_gpu.sh"
[ ! -f "$photos/note" ] || sed 's/^/photos     /' "$photos/note"
echo "baseline   $names names of $(wc -l <"$work/base") photos, $mp_long MP, $(xargs -d '\n' cat <"$work/base" | wc -c | awk -v mp="$mp_base" '{ printf "%.2f", $1 * 8 / (mp * 1e6) }') bits a pixel"
"$imghist" -v --jpeg=gpu --csv=stats --files-from="$work/baseline.list" 2>&1 >"$work/out" | sed -n 's/^imghist: JPEG: /           /p'
echo
echo "                                      GP/s   files/s  of the bare loop  of the CPU  bar, GP/s"
loop=$(of loop) loop2=$(of loop2) cpu=$(of cpu)
row "bare nvJPEG loop, 28 a batch" "$loop" "$names" "$mp_long"
row "bare loop, two batches at once" "$loop2" "$names" "$mp_long"
row "imghist" "$(of auto)" "$names" "$mp_long" 40
row "imghist --jpeg=gpu" "$(of gpu)" "$names" "$mp_long" 40
row "imghist --total-only" "$(of total)" "$names" "$mp_long" 50
row "imghist --device=cpu" "$cpu" "$names" "$mp_long"
if [ -n "$mp_mixed" ]; then
  n_mixed=$(wc -l <"$work/mixed.list") cpu=$(of mixed_cpu)
  echo
  echo "a third progressive, $n_mixed files, $mp_mixed MP"
  row "imghist" "$(of mixed_auto)" "$n_mixed" "$mp_mixed"
  row "imghist --device=cpu" "$cpu" "$n_mixed" "$mp_mixed"
fi
echo
echo "torchvision, decode_jpeg on the GPU and torch.bincount of red, green and blue: $torch MP/s"
