#!/usr/bin/env bash
# run.sh: the tests that need an NVIDIA GPU. If all pass, the results are recorded in evidence.txt with
# the hash of the tested sources; if any fails, nothing is recorded.
#
#   parity     every kernel and the CUDA backend against a plain count; the kernel for a JPEG's planes
#              against its arithmetic on the CPU
#   counters   the same on random jobs and on inputs that fuzzing found
#   memcheck   parity under compute-sanitizer, on small data: out-of-bounds accesses and leaks
#   racecheck  the same: data races in shared memory
#   bench      every line of make bench is right
#   ladder     every step of kernels/ladder is right; memcheck and racecheck are clean
#   race       racecheck finds the race in a kernel without its __syncthreads
#   library    pixels and batches in device memory through imghist.h against the CPU and a plain loop; samples of 9 to 16 bits;
#              memcheck and racecheck clean
#   cli        imghist with each kernel, and of native samples, against imghist on the CPU: identical bytes
#   regions    --region and --mask on generated images against NumPy and Pillow, if they are there
#   jpeg       sound and damaged JPEG files by the JPEG kernels and by libjpeg-turbo: identical planes, also when
#              decoded again in changing batches, and identical records; memcheck and racecheck clean
#   auto       a run that the CPU begins and the GPU joins later: identical bytes
#   several    the same on two GPUs at once, if there are two
#
# The checks under compute-sanitizer run together in the background, during race, cli and regions.
#
# PHOTOS   more directories of images, separated by spaces
# DEPS     headers and libraries for make, on a machine without package manager
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { echo "test-gpu: $SECONDS s: $*"; }

fail() {
  echo "test-gpu: $*" >&2
  exit 1
}

need() { command -v "$1" >/dev/null || fail "$1 is not on PATH: $2"; }

# ---- the machine ------------------------------------------------------------------------------

PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
need nvidia-smi "this needs a machine with an NVIDIA GPU and its driver"
need nvcc "install the CUDA toolkit"
need compute-sanitizer "it is part of the CUDA toolkit"

gpu() { nvidia-smi --query-gpu="$1" --format=csv,noheader | head -n 1; }
gpu_name=$(gpu name)
capability=$(gpu compute_cap)
driver=$(gpu driver_version)
[[ $capability =~ ^[0-9]+\.[0-9]+$ ]] || fail "nvidia-smi gives no compute capability: $capability"
arch=${capability/./}
toolkit=$(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')

# ---- building ---------------------------------------------------------------------------------

[ -n "${DEPS:-}" ] || third_party/install.sh build test
build=build/gpu
logs=$build/logs
mkdir -p "$logs"
sources=$(tests/gpu/sources.sh)
say "$gpu_name, compute capability $capability, driver $driver, CUDA $toolkit"
make -s -j"$(nproc)" BUILD="$build" CUDA=1 CUDA_ARCH="$arch" ${DEPS:+DEPS="$DEPS"} \
  "$build/imghist" "$build/tests/test_parity" "$build/tests/test_parity_ycc" "$build/tests/test_counters" >"$logs/make.log" 2>&1 ||
  { tail -n 40 "$logs/make.log" >&2; fail "it does not build"; }
imghist=$build/imghist
parity_test=$build/tests/test_parity
planes_test=$build/tests/test_parity_ycc
TESTS=$PWD/tests
export TESTS CMOCKA_MESSAGE_OUTPUT=TAP
unset IMGHIST_DEVICE

# ---- parity -----------------------------------------------------------------------------------

# run_parity NAME COMMAND...: runs a test.
run_parity() {
  local name=$1
  shift
  timeout 900 "$@" >"$logs/$name.log" 2>&1 </dev/null || failed "$name"
  all_passed "$name"
}

failed() {
  grep -vE '^\s*ok ' "$logs/$1.log" | tail -n 40 >&2
  fail "$1: see $logs/$1.log"
}

# A skipped test has not used the GPU, and so has failed.
all_passed() {
  ! grep -Eq '^\s*not ok|# *(SKIP|skip)' "$logs/$1.log" || failed "$1"
  n_ok=$(grep -Ec '^\s*ok ' "$logs/$1.log") || fail "$1: no test ran"
}

run_parity parity "$parity_test"
n_kernels_ok=$n_ok
run_parity planes "$planes_test"
parity="$((n_kernels_ok + n_ok)) passed, 0 failed"
say "parity: $parity"

# The jobs of fuzz_count, recorded and random, on the GPU too.
run_parity counters "$build/tests/test_counters"
! grep '^skipped: cuda' "$logs/counters.log" >&2 || fail "counters: without the GPU"
say "counters: random jobs, every kernel against the reference"

# ---- the library, on the caller's stream ------------------------------------------------------

make -s -j"$(nproc)" BUILD="$build" CUDA=1 CUDA_ARCH="$arch" ${DEPS:+DEPS="$DEPS"} library >"$logs/library.log" 2>&1 ||
  { tail -n 40 "$logs/library.log" >&2; fail "the library does not build"; }
tests/library/extract.sh src/imghist.h "$build/examples"
cuda_include=$(dirname "$(dirname "$(realpath "$(command -v nvcc)")")")/include
read -r -a library_libs < <(sed -n 's/^Libs.private: *//p' "$build/libimghist.pc")
library=
for test in "device_buffer count_device" "device_batch count_tensor"; do
  read -r test example <<<"$test"
  cc -std=c11 -O1 -g -Isrc -I. -I"$cuda_include" -o "$build/$test" "tests/gpu/$test.c" \
    "$build/examples/$example.c" "$build/libimghist.a" "${library_libs[@]}" \
    -L"${cuda_include%/include}/lib64" -lcudart_static -ldl -lrt ${DEPS:+-Wl,-rpath,"$DEPS/lib"} \
    >>"$logs/library.log" 2>&1 || { tail -n 40 "$logs/library.log" >&2; fail "$test does not build"; }
  timeout 300 "$build/$test" >"$logs/$test.log" 2>&1 || failed "$test"
  library+="$(sed -n "s/^$test: *//p" "$logs/$test.log" | tail -n 1), "
done
# Every plan of the kernel for batches, whatever the size of the images.
tests/bench/gpu_batch.sh --check >"$logs/gpu_batch.log" 2>&1 || failed gpu_batch
library+="plans $(sed -n 's/^parity on small inputs: //p' "$logs/gpu_batch.log")"
# Samples of 9 to 16 bits, and counters driven over 2^15, 2^16 and 2^32.
tests/bench/gpu_wide.sh --check >"$logs/gpu_wide.log" 2>&1 || failed gpu_wide
library+=", wide $(tail -n 1 "$logs/gpu_wide.log")"
say "library: $library"
CUDA=1 tests/bench/bench.sh >"$logs/bench.log" 2>&1 || failed bench # a wrong line ends it
bench="$(grep -c '^GPU ' "$logs/bench.log") lines right"
say "bench: $bench"

# ---- the ladder --------------------------------------------------------------------------------

make -s CUDA=1 CUDA_ARCH="$arch" ${DEPS:+DEPS="$DEPS"} build/ladder/histogram build/ladder/sum >"$logs/ladder.log" 2>&1 ||
  { tail -n 40 "$logs/ladder.log" >&2; fail "the ladder does not build"; }
for ladder in histogram sum; do
  "build/ladder/$ladder" 16 >"$logs/ladder_$ladder.log" 2>&1 || failed "ladder_$ladder" # a wrong step ends it
done
n_steps=$(cat "$logs/ladder_histogram.log" "$logs/ladder_sum.log" | grep -Ec '^  (cpu|gpu), ')
say "ladder: $n_steps steps right"

# ---- under compute-sanitizer ------------------------------------------------------------------

declare -A checks # the processes
trap 'kill "${checks[@]}" 2>/dev/null || :' EXIT

# sanitize NAME TOOL ARG...: begins a check. end_check waits for it.
sanitize() {
  local log=$logs/$1-$2.log
  IMGHIST_TEST_SMALL=1 timeout 900 compute-sanitizer --tool "$2" --error-exitcode 9 "${@:3}" >"$log" 2>&1 </dev/null &
  checks[$1-$2]=$!
}

end_check() {
  wait "${checks[$1]}" || failed "$1"
  unset "checks[$1]"
  grep -q 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$logs/$1.log" || fail "no clean summary in $logs/$1.log"
}

for tool in memcheck racecheck; do
  leaks=()
  [ "$tool" = racecheck ] || leaks=(--leak-check full)
  sanitize parity "$tool" "${leaks[@]}" "$parity_test"
  sanitize planes "$tool" "${leaks[@]}" "$planes_test"
  sanitize ladder_histogram "$tool" build/ladder/histogram 1
  sanitize ladder_sum "$tool" build/ladder/sum 1
  sanitize device_buffer "$tool" --report-api-errors no "$build/device_buffer"
  sanitize device_batch "$tool" --report-api-errors no "$build/device_batch"
  sanitize gpu_batch "$tool" build/gpu_batch --check
  sanitize gpu_wide "$tool" build/gpu_wide --check
done

race=$(tests/gpu/race.sh "$build") || fail "race.sh: $race"
race=$(echo "$race" | tail -n 1)
say "$race"

# ---- the program, on the GPU and on the CPU ---------------------------------------------------

kernels=$("$imghist" --list | sed -n 's/^  \([a-z_]*\) *cuda: .*/\1/p')
[ -n "$kernels" ] || fail "imghist --list shows no kernel of CUDA"
read -r -a photos <<<"${PHOTOS:-}"

# run_imghist FILE ARG...: writes standard output to FILE and prints the exit status, for the caller to
# compare (1: an input is broken).
run_imghist() {
  local file=$1 status=0
  shift
  "$imghist" -q "$@" >"$file" 2>"$file.err" </dev/null || status=$?
  echo "$status"
}

# compare WHAT ARGS_OF_CUDA... -- ARG...: fails if CUDA and the CPU differ in a byte.
compare() {
  local what=$1 cuda=() on_cpu on_cuda
  shift
  while [ "$1" != -- ]; do cuda+=("$1") && shift; done
  shift
  [[ "${cuda[*]}" == *--device=* ]] || cuda+=(--device=cuda)
  on_cpu=$(run_imghist "$logs/cpu.csv" --device=cpu "$@")
  on_cuda=$(run_imghist "$logs/cuda.csv" "${cuda[@]}" "$@")
  if [ "$on_cpu" -gt 1 ] || [ "$on_cpu" != "$on_cuda" ] || ! cmp "$logs/cpu.csv" "$logs/cuda.csv" >&2; then
    tail -n 5 "$logs/cpu.csv.err" "$logs/cuda.csv.err" >&2
    fail "$what: CUDA (exit status $on_cuda) differs from the CPU ($on_cpu); see $logs/c*.csv"
  fi
}

for layout in long channels; do
  for kernel in $kernels; do
    compare "--csv=$layout --kernel=$kernel" "--kernel=$kernel" -- "--csv=$layout" samples "${photos[@]}"
  done
done

# Native samples: the formats, and two images of many stripes. GPUs with little shared memory leave them to the CPU.
for source in zero urandom; do
  { echo "P6 1500 1500 65535" && head -c 13500000 /dev/$source; } >"$logs/$source.ppm"
done
for luma in bt709 none; do
  compare "--bins=native --luma=$luma" -- --bins=native "--luma=$luma" --csv=long tests/formats/files "$logs/zero.ppm" "$logs/urandom.ppm"
done
case $capability in
  7.5 | 8.6 | 8.9 | 12.*) native="by the CPU" ;;
  *)
    native="by the GPU"
    "$imghist" -v --device=cuda --bins=native --csv=stats "$logs/zero.ppm" >/dev/null 2>"$logs/native.err" || fail "--bins=native: see $logs/native.err"
    grep -q 'counted by cuda.*kernel wide' "$logs/native.err" || fail "--bins=native: not counted by the GPU: see $logs/native.err"
    ;;
esac
"$imghist" -q --device=cpu --csv=stats samples "${photos[@]}" >"$logs/images.csv" 2>/dev/null </dev/null || :
n_images=$(grep -c ',luma,' "$logs/images.csv") || fail "no image in samples/ could be counted"

n_alone=0
while IFS= read -r sample; do
  compare "$sample" -- --csv=long "$sample"
  n_alone=$((n_alone + 1))
done < <(sed -n 's/^\(samples\/[^,"]*\),.*,luma,.*/\1/p' "$logs/images.csv")
cli="$n_images images identical with each of: $(echo "$kernels" | xargs); $n_alone of them alone too; native samples $native"
say "cli: $cli"

regions="not tried, there is no NumPy or no Pillow"
if python3 -c 'import numpy, PIL' 2>/dev/null; then
  script=$PWD/tests/cli/regions.py program=$PWD/$imghist folder=$(mktemp -d)
  regions=$(cd "$folder" && python3 "$script" "$program" cuda png adam7 bmp bmp-top bmp-runs tga pnm jpeg 2>"$OLDPWD/$logs/regions.log") ||
    { tail -n 20 "$logs/regions.log" >&2; fail "regions and masks differ from NumPy's"; }
  rm -r "$folder"
fi
say "regions: $regions"

# ---- the end of the checks under compute-sanitizer ---------------------------------------------

for name in "${!checks[@]}"; do end_check "$name"; done
for tool in memcheck racecheck; do
  all_passed "parity-$tool"
  all_passed "planes-$tool"
done
ladder="$n_steps steps right, memcheck and racecheck clean"
library+=", memcheck and racecheck clean"
say "memcheck: 0 errors; racecheck: 0 hazards"

# ---- JPEG files ---------------------------------------------------------------------------------

# shellcheck disable=SC2086 # DEPS has no spaces or is empty
{ nvcc -O3 -std=c++17 -lineinfo -arch="sm_$arch" -I. -Isrc ${DEPS:+-I"$DEPS/include"} -c -o "$build/jpeg_planes.o" tests/gpu/jpeg_planes.cu &&
  c++ -o "$build/jpeg_planes" "$build/jpeg_planes.o" "$build/tested.a" "${library_libs[@]}" \
    -L"${cuda_include%/include}/lib64" -lcudart_static -ldl -lrt ${DEPS:+-Wl,-rpath,"$DEPS/lib"}; } >"$logs/jpeg.log" 2>&1 ||
  { tail -n 20 "$logs/jpeg.log" >&2; fail "jpeg_planes does not build"; }
jpeg=$(tests/gpu/jpeg.sh "$build" "${photos[@]}" 2>"$logs/jpeg.log") || { tail -n 20 "$logs/jpeg.log" >&2; fail "the JPEG kernels"; }
say "$jpeg"

# ---- the GPU joins a run -----------------------------------------------------------------------

# Long enough for any GPU to start; without -v it is not stopped at the end.
for _ in {1..20000}; do printf '%s\n' samples/scene.jpg samples/scene.png; done >"$logs/auto.list"
on_cpu=$(run_imghist "$logs/cpu.csv" --device=cpu --csv=stats --files-from="$logs/auto.list")
for how in "-v --jpeg=cpu" "-q --jpeg=cpu" "-v" "-q"; do
  status=0
  # shellcheck disable=SC2086 # options are words
  "$imghist" $how --csv=stats --files-from="$logs/auto.list" >"$logs/auto.csv" 2>"$logs/auto.err" || status=$?
  { [ "$status" = "$on_cpu" ] && cmp "$logs/cpu.csv" "$logs/auto.csv" >&2; } ||
    fail "auto: $how ends in $status, or differs from the CPU ($on_cpu): see $logs/auto.*"
  [[ $how != -v* ]] || { grep -q "counted by cpu," "$logs/auto.err" && grep -q "counted by cuda:" "$logs/auto.err"; } ||
    fail "auto: $how: the CPU or the GPU has counted nothing: see $logs/auto.err"
done
auto="$(wc -l <"$logs/auto.list") images identical, begun by the CPU, ended by the GPU"
say "auto: $auto"

# ---- several GPUs -----------------------------------------------------------------------------

several="not tried, there is one GPU"
if [ -z "${CUDA_VISIBLE_DEVICES:-}" ] && [ "$(nvidia-smi --list-gpus | wc -l)" -ge 2 ]; then
  for device in cuda:1 cuda:0,1 cuda:1,0 cuda; do
    compare "--device=$device" "--device=$device" -- --csv=long -j 4 samples samples "${photos[@]}"
  done
  # More inputs than workers: each of the four workers counts something.
  "$imghist" --device=cuda:0,1 -j 4 -v --csv=stats samples samples samples >/dev/null 2>"$logs/several.err"
  for gpu in cuda:0 cuda:1; do
    grep -q "$gpu " "$logs/several.err" || fail "several: $gpu has not counted: see $logs/several.err"
  done
  status=0
  "$imghist" --device=cuda:0,99 --csv=stats samples >/dev/null 2>"$logs/several.err" || status=$?
  { [ "$status" -eq 3 ] && grep -q cuda:99 "$logs/several.err"; } ||
    fail "several: --device=cuda:0,99 ends in $status: see $logs/several.err"
  several="cuda:1, cuda:0,1, cuda:1,0 and cuda identical; both GPUs count"
fi
say "several: $several"

# ---- the record -------------------------------------------------------------------------------

[ "$sources" = "$(tests/gpu/sources.sh)" ] || fail "the sources changed while they were tested"
record=$(mktemp tests/gpu/evidence.XXXXXX)
trap 'rm -f "$record"' EXIT
cat >"$record" <<END
The results of tests/gpu/run.sh, which writes this file when all tests pass.

sources: $sources
date: $(date -u +%Y-%m-%d)
gpu: $gpu_name
driver: $driver
cuda: $toolkit
command: make test-gpu (CUDA_ARCH=$arch)
parity: $parity
memcheck: 0 errors
racecheck: 0 hazards
bench: $bench
ladder: $ladder
$race
library: $library
cli: $cli
regions: $regions
$jpeg
auto: $auto
several: $several
END
chmod 644 "$record"
mv "$record" tests/gpu/evidence.txt
say "recorded in tests/gpu/evidence.txt"
