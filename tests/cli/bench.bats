#!/usr/bin/env bats
# imghist --bench on small data: its output and its errors. Figures are not tested. The machine may have
# a GPU or not; tests that depend on it use --device.

load helpers

HEADER=task,device,method,data,bytes,status,time_ns,gb_per_s,read_share,copy_time_ns,reason

# rows TASK DEVICE METHOD: the number of CSV rows of this method in $output.
rows() { grep -c "^$1,$2,$3," <<<"$output" || :; }

@test "bench: every method of the CPU is verified and timed" {
  imghist_quiet --bench=64k --csv --device=cpu
  [ "${lines[0]}" = "$HEADER" ] || fail "not the header"
  for method in read tables tables_all; do
    for task in histogram_gray histogram_rgb; do
      [ "$(rows $task cpu $method)" -eq 4 ] || fail "$(rows $task cpu $method) rows of $task, $method"
    done
  done
  n_ok=$(grep -cE '^[a-z_]+,cpu,[^,]+,[^,]+,[0-9]+,ok,[0-9]+,[0-9.]+,[0-9.]+,,$' <<<"$output")
  [ "$n_ok" -eq 24 ] && [ "${#lines[@]}" -eq 25 ] || fail "a row of the CPU is not ok, or there are others"
}

@test "bench: without a GPU it says so in one line" {
  export CUDA_VISIBLE_DEVICES=-1
  imghist_output_has "cuda   not available: " --bench=4k
  [ -z "$stderr" ] || fail "also: $stderr"
  refute_output_has "replicated"
  imghist_ok --bench=4k --csv
  [ "$(wc -l <<<"$stderr")" -eq 1 ] && [[ $stderr == "imghist: bench: "* ]] || fail "standard error: $stderr"
  imghist_quiet --bench=4k --csv -q
}

@test "bench: the table names its data and its methods" {
  imghist_quiet --bench=16k --device=cpu -j 3
  assert_output_has "cpu    3 threads"
  assert_output_has "histogram of gray pixels, 0.015625 MiB"
  assert_output_has "cpu  tables_all   two-valued"
}

@test "bench: --device=cuda without a GPU is exit status 3" {
  CUDA_VISIBLE_DEVICES=-1 imghist --bench=4k --device=cuda
  assert_refused 3 "--device"
}

@test "bench: a closed pipe ends it silently; the default size is 100 MiB" {
  # shellcheck disable=SC2016 # the inner shell expands it
  run --separate-stderr bash -c '"$IMGHIST" --bench --device=cpu | head -n 6; echo "${PIPESTATUS[0]}"'
  assert_output_has "histogram of gray pixels, 100 MiB"
  [ "${lines[-1]}" -eq $((128 + 13)) ] && [ -z "$stderr" ] || fail "ends in ${lines[-1]}: $stderr"
  needs python3
  run python3 -c 'import os, signal, subprocess
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])
reader, writer = os.pipe()
os.close(reader)
run = subprocess.run([os.environ["IMGHIST"], "--bench=4k", "--device=cpu"], stdout=writer, stderr=subprocess.PIPE)
print(run.returncode, run.stderr)'
  assert_output "-13 b''"
}

@test "bench: -o writes the complete report to a file" {
  imghist_output "" --bench=4k --csv --device=cpu -o bench.csv
  [ "$(head -n 1 bench.csv)" = "$HEADER" ] || fail "not the header"
  [[ $(tail -n 1 bench.csv) == histogram_rgb,cpu,tables_all,two-valued,* ]] || fail "cut short"
  [ "$(echo bench*)" = bench.csv ] || fail "a temporary file was left: $(echo bench*)"
}
