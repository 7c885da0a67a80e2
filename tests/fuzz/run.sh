#!/usr/bin/env bash
# run.sh DIR SECONDS: runs each fuzzer DIR/fuzz_* for SECONDS. The seeds are a tiny image of every kind
# (seeds.sh), the samples, and the finds of earlier runs (DIR/corpus/). An input
# that crashes a fuzzer is stored in tests/crashers/, and `make test` replays it.
set -eu
dir=${1:?usage: run.sh DIR SECONDS}
seconds=${2:?usage: run.sh DIR SECONDS}
tests=$(cd "$(dirname "$0")/.." && pwd)
crashers=$tests/crashers
failed=0 found=0

# Larger inputs slow a fuzzer down too much; the JPEG kernels on the CPU even sooner.
size_max=65536
size_max_jpeg_kernels=8192

# seeds TARGET: fills DIR/seeds/TARGET.
seeds() {
  local into=$dir/seeds/$1
  rm -rf "$into"
  mkdir -p "$into"
  case $1 in
    fuzz_options)
      printf '\n--csv=long\n--clip=1,254\n-o\nout.csv\n--\na.png\n' >"$into/run"
      printf 'cuda:1\n-qj4\n--max-pixels=4G\n--chart=charts\n--raw=3\n-\n' >"$into/raw"
      return ;;
    fuzz_lists)
      printf '\0a\nd\n\n./d/b\ngone\n' >"$into/lines"
      printf '\3a\0d/l/\0e\0k' >"$into/nuls"
      return ;;
    fuzz_count) # header, then pixels: see every_counter.h
      printf '\002\000\377\003\377\000\000\007\000\000RGBRGBabcabd' >"$into/rgb"
      printf '\102\000\377\003\005\000\377\040\000\000RGBRGBabcabd' >"$into/planes-422"
      printf '\242\012\360\003\007\005\377\010\000\002RGBaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab' >"$into/planes-420"
      printf '\077\020\360\001\013\005\377\020\000\004RGB\0RGB\1abc\2' >"$into/rgba-often"
      printf '\000\000\377\000\004\001\020\003\000\377aaaaaaaaaaaaaaaab' >"$into/gray-runs"
      return ;;
    fuzz_archive) # archives, and packets: see src/decode/archive.h
      (cd "$into" && "$tests/cli/make_archives.py")
      printf '\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0a' >"$into/packets"
      printf '\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0abc' >>"$into/packets"
      printf '\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >>"$into/packets"
      printf '\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >>"$into/packets"
      find "$into" -size "+$((size_max / 1024))k" -delete
      return ;;
    fuzz_records) cp "$tests"/records/*json "$into"; return ;;
    fuzz_decoder_process) # records: see hostile_decoder_process.h
      printf '\0\0\0\2\0\2\0\1\10\0\0\0\1\4\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0' >"$into/sound"
      printf '\4\1\12\0\0\0\0\0\0\0\0\0\5\1\12\0\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\5x\0' >"$into/budget"
      return ;;
  esac
  "$tests/fuzz/seeds.sh" "$into"
  for kind in png tiff stack; do
    for seed in 1 2 4 8; do "$tests/cli/make_frames.py" $kind "$into/frames-$seed.$kind" x $seed >/dev/null; done
  done
  ! command -v avifenc >/dev/null || avifenc --lossless "$into"/6-8-[01]-0.png -o "$into/sequence.avif" >/dev/null
  (cd "$into" && python3 "$tests/cli/sensor.py" lossless && mv a.dng lossless.dng && rm expected.json)
  "$tests/cli/make_dng.py" "$into/previews.dng" "$into/420.jpg" "$into/444.jpg"
  find "$tests/../samples" "$crashers" -type f -size -"$((size_max / 1024))"k \
    ! -name '*.[ch]' ! -name '*.md' -exec cp {} "$into" \;
  [ "$1" != fuzz_jpeg_kernels ] || find "$into" -type f ! -name '*.jpg' ! -name '*jpeg*' -delete
}

# As many fuzzers run in parallel as there are cores. All take the same time, so they end in the order
# in which they start.
n_jobs=$(nproc)
queue=()
declare -A pid_of=()
trap 'kill "${pid_of[@]}" 2>/dev/null; exit 130' INT TERM

start() { # FUZZER
  local target corpus size=$size_max
  target=$(basename "$1")
  corpus=$dir/corpus/$target
  mkdir -p "$corpus" "$crashers"
  seeds "$target"
  case $target in
    fuzz_options)
      cp "$tests/fuzz/options.dict" "$dir/$target.dict"
      sed -nE 's/^ *\{ROW\([A-Z]+, [A-Z |]+, "([a-z0-9-]+)".*/"--\1"\n"--\1="/p' "$tests/../src/cli/option_table.c" >>"$dir/$target.dict" ;;
    fuzz_jpeg_kernels)
      size=$size_max_jpeg_kernels
      cp "$tests/fuzz/jpeg.dict" "$dir/$target.dict" ;;
    fuzz_lists | fuzz_records) cp "$tests/fuzz/${target#fuzz_}.dict" "$dir/$target.dict" ;;
    fuzz_count | fuzz_archive | fuzz_decoder_process) echo '# binary records need no dictionary' >"$dir/$target.dict" ;;
    *) cat "$tests"/fuzz/{png,jpeg,formats}.dict >"$dir/$target.dict" ;;
  esac
  "$1" "$corpus" "$dir/seeds/$target" -max_total_time="$seconds" -max_len="$size" \
    -dict="$dir/$target.dict" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
    -artifact_prefix="$crashers/$target-" >"$dir/$target.log" 2>&1 </dev/null &
  pid_of[$target]=$!
  queue+=("$target")
}

report_first() {
  local target=${queue[0]} outcome=ok log input
  log=$dir/$target.log
  queue=("${queue[@]:1}")
  if ! wait "${pid_of[$target]}"; then
    outcome=FAILED
    failed=1
  fi
  unset "pid_of[$target]"
  printf '%-14s %s: %s runs, coverage %s, %s s\n' "$target" "$outcome" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
    "$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | cut -d' ' -f2)" "$seconds"
  if [ "$outcome" != ok ]; then
    sed -nE '/ERROR:|runtime error:|broken promise/,$p' "$log" | head -n 25
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    echo "  to reproduce: $dir/$target ${input:-(it wrote no input: see $log)}"
  fi
}

for fuzzer in "$dir"/fuzz_*; do
  { [ -f "$fuzzer" ] && [ -x "$fuzzer" ]; } || continue
  found=$((found + 1))
  [ "${#queue[@]}" -lt "$n_jobs" ] || report_first
  start "$fuzzer"
done
while [ "${#queue[@]}" -gt 0 ]; do report_first; done

[ "$found" -gt 0 ] || { echo "run.sh: no fuzzer in $dir: make CONFIG=fuzz fuzzers" >&2; exit 1; }
exit "$failed"
