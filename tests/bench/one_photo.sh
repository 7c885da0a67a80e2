#!/usr/bin/env bash
# one_photo.sh FILE [RUNS]: times one JPEG or PNG from process start to exit, with imghist on the CPU and with
# a loop that only decodes with libjpeg-turbo or libpng. Runs alternate; the medians are compared.
# PROGRAM names another program than ./imghist. batch.sh compares with other programs.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/bench/figures.sh
. tests/bench/figures.sh
photo=${1:?usage: one_photo.sh FILE [RUNS]} runs=${2:-21}
program=${PROGRAM:-./imghist}
mkdir -p build/bench
tests/bench/build_decode_only.sh build/bench/decode_only

now_us() { echo "${EPOCHREALTIME/[.,]/}"; }
time_us() {
  local start
  start=$(now_us)
  "$@" >/dev/null
  echo $(($(now_us) - start))
}

ours=() theirs=()
for ((i = 0; i < runs; i++)); do
  theirs+=("$(time_us build/bench/decode_only "$photo")")
  ours+=("$(time_us "$program" --device=cpu --csv "$photo")")
done
a=$(printf '%s\n' "${ours[@]}" | median)
b=$(printf '%s\n' "${theirs[@]}" | median)
echo "$(date -u +%F)  $(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) cores"
echo "$(basename "$photo"): $("$program" --version), $runs runs each, medians"
awk -v a="$a" -v b="$b" 'BEGIN {
  printf "imghist --csv     %8.1f ms\ndecode only       %8.1f ms\nratio             %8.3f\n", a / 1000, b / 1000, a / b }'
