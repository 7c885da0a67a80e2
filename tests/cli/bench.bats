#!/usr/bin/env bats
# make bench on the CPU: the table, and an error for wrong counts. Figures are not tested.

load helpers

@test "bench: a line for each kind of pixels and data, with its share of the limit" {
  CUDA=0 REPEATS=1 run --separate-stderr "$TESTS/bench/bench.sh"
  assert_status 0
  for pixels in gray RGB; do
    for data in random constant smooth two-valued patches; do
      [ "$(grep -cE "^1 core +tables +$pixels +$data +[0-9.]+ +[0-9.]+$" <<<"$output")" -eq 1 ] || fail "no $pixels, $data"
    done
  done
  assert_output_has "GPU: not measured: CUDA=1 needs nvcc and a GPU"
}

@test "bench: float samples" {
  run --separate-stderr "$TESTS/bench/cpu_float.sh" 1
  assert_status 0
  [ "$(grep -cE "( +[0-9.]+){3}$" <<<"$output")" -eq 8 ] || fail "not 8 kinds of data"
}

@test "bench: wrong counts end it" {
  mkdir tests
  cp -r "$TESTS/bench" "$TESTS/support" tests
  cp -r "$TESTS/../src" "$TESTS/../kernels" .
  sed -i 's/subtables\[c\]\[p\[c\]\]++/subtables[c][p[c] ^ 1]++/' tests/bench/cpu_count.c
  CUDA=0 REPEATS=1 run --separate-stderr tests/bench/bench.sh
  assert_fails 1 "cpu_count: gray, random: wrong counts"
}
