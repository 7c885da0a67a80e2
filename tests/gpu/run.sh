#!/usr/bin/env bash
# run.sh: what only a machine with an NVIDIA GPU can test. When all of it passes, it is recorded in
# evidence.txt together with the hash of the sources that ran; when anything fails, nothing is.
#
#   parity     every kernel and the CUDA backend against the plain C reference
#   memcheck   the same under compute-sanitizer, on small data: out-of-bounds and leaked memory
#   racecheck  the same: data races in shared memory
#   ladder     every rung of --bench is right, memcheck and racecheck are clean
#   race       racecheck finds the race that leaving __syncthreads out makes
#   cli        imghist with each kernel against imghist on the CPU: identical bytes
#
# PHOTOS   more directories of images for the last, separated by spaces
# DEPS     headers and libraries for make, on a machine where packages cannot be installed
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { echo "test-gpu: $*"; }

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
  "$build/imghist" "$build/tests/test_parity" >"$logs/make.log" 2>&1 ||
  { tail -n 40 "$logs/make.log" >&2; fail "it does not build"; }
imghist=$build/imghist
parity_test=$build/tests/test_parity
TESTS=$PWD/tests
export TESTS CMOCKA_MESSAGE_OUTPUT=TAP
unset IMGHIST_DEVICE

# ---- parity, and under compute-sanitizer ------------------------------------------------------

# run_parity NAME COMMAND...: a test that is skipped here has not seen the GPU, and so has failed.
run_parity() {
  local name=$1 log=$logs/$1.log
  shift
  if ! timeout 900 "$@" >"$log" 2>&1 </dev/null || grep -Eq '^\s*not ok|# *(SKIP|skip)' "$log"; then
    grep -vE '^\s*ok ' "$log" | head -n 60 >&2
    fail "$name: failed, or skipped a test; see $log"
  fi
  n_ok=$(grep -Ec '^\s*ok ' "$log") || fail "$name: no test ran"
}

run_parity parity "$parity_test"
parity="$n_ok passed, 0 failed"
say "parity: $parity"

export IMGHIST_TEST_SMALL=1
run_parity memcheck compute-sanitizer --tool memcheck --leak-check full --error-exitcode 9 "$parity_test"
grep -q 'ERROR SUMMARY: 0 errors' "$logs/memcheck.log" || fail "memcheck: no clean summary in $logs/memcheck.log"
say "memcheck: 0 errors"
run_parity racecheck compute-sanitizer --tool racecheck --error-exitcode 9 "$parity_test"
grep -q 'RACECHECK SUMMARY: 0 hazards' "$logs/racecheck.log" ||
  fail "racecheck: no clean summary in $logs/racecheck.log"
say "racecheck: 0 hazards"
unset IMGHIST_TEST_SMALL

bench_args=(--bench=1M --csv --device=cuda)
for tool in memcheck racecheck; do
  compute-sanitizer --tool "$tool" --error-exitcode 9 "$imghist" "${bench_args[@]}" >"$logs/ladder-$tool.log" 2>&1 ||
    fail "the ladder under $tool: see $logs/ladder-$tool.log"
  ! grep -Eq ',(wrong|failed),' "$logs/ladder-$tool.log" || fail "a rung of the ladder is wrong: $logs/ladder-$tool.log"
done
ladder=$(grep -Ec ',cuda,.*,ok,' "$logs/ladder-memcheck.log") || fail "the ladder: no rung ran on the GPU"
say "ladder: $ladder rungs right, memcheck and racecheck clean"
race=$(tests/gpu/race.sh "$build") || fail "race.sh: $race"
race=$(echo "$race" | tail -n 1)
say "$race"

# ---- the program, on the GPU and on the CPU ---------------------------------------------------

kernels=$(sed -n 's/^KERNEL(\([a-z0-9_]*\),.*/\1/p' kernels/kernels.def)
[ -n "$kernels" ] || fail "kernels.def lists no kernel"
for kernel in $kernels; do
  "$imghist" --list | grep -qw -- "$kernel" || fail "imghist --list does not show the kernel $kernel"
done
read -r -a photos <<<"${PHOTOS:-}"

# run_imghist FILE ARG...: standard output into FILE; prints the exit status, where 0 and 1 (an input
# is broken, on either device) are for the caller to compare.
run_imghist() {
  local file=$1 status=0
  shift
  "$imghist" -q "$@" >"$file" 2>"$file.err" </dev/null || status=$?
  echo "$status"
}

# compare WHAT ARGS_OF_CUDA... -- ARG...: fails where CUDA and the CPU differ in a byte.
compare() {
  local what=$1 cuda=() on_cpu on_cuda
  shift
  while [ "$1" != -- ]; do cuda+=("$1") && shift; done
  shift
  on_cpu=$(run_imghist "$logs/cpu.csv" --device=cpu "$@")
  on_cuda=$(run_imghist "$logs/cuda.csv" --device=cuda "${cuda[@]}" "$@")
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
"$imghist" -q --device=cpu --csv=stats samples "${photos[@]}" >"$logs/images.csv" 2>/dev/null </dev/null || :
n_images=$(grep -c ',luma,' "$logs/images.csv") || fail "no image in samples/ could be counted"

n_alone=0
while IFS= read -r sample; do
  compare "$sample" -- --csv=long "$sample"
  n_alone=$((n_alone + 1))
done < <(sed -n 's/^\(samples\/[^,"]*\),.*,luma,.*/\1/p' "$logs/images.csv")
cli="$n_images images identical with each of: $(echo "$kernels" | xargs); $n_alone of them alone too"
say "cli: $cli"

# ---- the record -------------------------------------------------------------------------------

[ "$sources" = "$(tests/gpu/sources.sh)" ] || fail "the sources changed while they were tested"
record=$(mktemp tests/gpu/evidence.XXXXXX)
trap 'rm -f "$record"' EXIT
cat >"$record" <<END
What tests/gpu/run.sh found; it writes this file itself, when all of it passes.

sources: $sources
date: $(date -u +%Y-%m-%d)
gpu: $gpu_name
driver: $driver
cuda: $toolkit
command: make test-gpu (CUDA_ARCH=$arch)
parity: $parity
memcheck: 0 errors
racecheck: 0 hazards
ladder: $ladder rungs right, memcheck and racecheck clean
$race
cli: $cli
END
chmod 644 "$record"
mv "$record" tests/gpu/evidence.txt
say "recorded in tests/gpu/evidence.txt"
