#!/usr/bin/env bash
# jpeg_gpu.sh: measures JPEG files with a GPU's hardware decoders, and compares with a bare nvJPEG
# loop, with the same program on all CPU cores, and with torchvision.
#
# A list names each photo many times, so that a run takes seconds. The files are in the page cache.
# Times are from the start of the process to its end. The counts are compared first.
#
#   IMGHIST   the program (./imghist)
#   PHOTOS    a directory with base/ (baseline files) and, optionally, prog/ (progressive files); its
#             file note says in a line where they come from
#   TIMES     how often the list names each file (200)
#   ROUNDS    how often each program is measured, in turn; the median is printed (3)
set -euo pipefail
cd "$(dirname "$0")/../.."
imghist=${IMGHIST:-./imghist}
photos=${PHOTOS:?a directory with base/}
times=${TIMES:-200}
rounds=${ROUNDS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda=${CUDA_HOME:-/usr/local/cuda}

die() {
  echo "jpeg_gpu: $*" >&2
  exit 1
}

cc -std=c11 -O2 -I"$cuda/include" -L"$cuda/lib64" -o "$work/loop" tests/bench/nvjpeg_loop.c -lnvjpeg -lcudart -pthread

repeat() { for ((i = 0; i < $2; i++)); do cat "$1"; done; }

find "$photos/base" -name '*.jpg' | sort >"$work/base"
[ ! -d "$photos/prog" ] || find "$photos/prog" -name '*.jpg' | sort >"$work/prog"
repeat "$work/base" "$times" >"$work/baseline.list"
# A third of the files is progressive. They take long, so the list is shorter.
n_base=$(wc -l <"$work/base")
if [ -s "$work/prog" ]; then
  repeat "$work/base" 40 >"$work/mixed.base"
  repeat "$work/prog" 500 | awk -v n=$((n_base * 20)) 'NR <= n' >"$work/mixed.prog"
  cat "$work/mixed.base" "$work/mixed.prog" | awk '{ print (NR * 7919) % 104729, $0 }' | sort -n | cut -d' ' -f2- >"$work/mixed.list"
fi
awk 'NR <= n' n=$(($(wc -l <"$work/baseline.list") / 10)) "$work/baseline.list" >"$work/short.list"

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

mp_short=$(megapixels "$work/short.list")
mp_mixed=$([ ! -s "$work/mixed.list" ] || megapixels "$work/mixed.list")
mp_long=$(awk "BEGIN { print 10 * $mp_short }")
for ((round = 0; round < rounds; round++)); do
  "$work/loop" 28 3 1 <"$work/base" >>"$work/loop.rates"
  "$work/loop" 28 3 2 <"$work/base" >>"$work/loop2.rates"
  rate "$work/baseline.list" "$mp_long" auto.rates "$imghist" -q --csv=stats --jpeg=auto
  rate "$work/baseline.list" "$mp_long" gpu.rates "$imghist" -q --csv=stats --jpeg=gpu
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
ratio() { awk "BEGIN { printf \"%.2f\", $1 / $2 }"; }

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1
echo "date       $(date -u +%Y-%m-%d), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo "command    TIMES=$times ROUNDS=$rounds tests/bench/jpeg_gpu.sh"
[ ! -f "$photos/note" ] || sed 's/^/photos     /' "$photos/note"
echo "baseline   $n_base photos $times times, $mp_long MP, $(xargs -d '\n' cat <"$work/base" | wc -c | awk -v mp="$mp_short" -v t="$times" '{ printf "%.2f", $1 * 8 / (mp / t * 10 * 1e6) }') bits a pixel"
"$imghist" -v --jpeg=gpu --csv=stats --files-from="$work/base" 2>&1 >"$work/out" | sed -n 's/^imghist: JPEG: /           /p'
echo
echo "                                   MP/s   of the bare loop   of the CPU"
loop=$(of loop) loop2=$(of loop2) cpu=$(of cpu) auto=$(of auto) gpu=$(of gpu)
printf '%-32s %6s %18s %19s\n' "bare nvJPEG loop, 28 a batch" "$loop" 1.00 "$(ratio "$loop" "$cpu")" \
  "bare loop, two batches at once" "$loop2" "$(ratio "$loop2" "$loop")" "$(ratio "$loop2" "$cpu")" \
  "imghist --jpeg=auto" "$auto" "$(ratio "$auto" "$loop")" "$(ratio "$auto" "$cpu")" \
  "imghist --jpeg=gpu" "$gpu" "$(ratio "$gpu" "$loop")" "$(ratio "$gpu" "$cpu")" \
  "imghist --device=cpu" "$cpu" "$(ratio "$cpu" "$loop")" 1.00
if [ -n "$mp_mixed" ]; then
  echo
  echo "a third progressive, $mp_mixed MP"
  mixed_auto=$(of mixed_auto) mixed_cpu=$(of mixed_cpu)
  printf '%-32s %6s %18s %19s\n' "imghist --jpeg=auto" "$mixed_auto" "" "$(ratio "$mixed_auto" "$mixed_cpu")" \
    "imghist --device=cpu" "$mixed_cpu" "" 1.00
fi
echo
echo "torchvision, decode_jpeg on the GPU and torch.bincount of red, green and blue: $torch MP/s"
