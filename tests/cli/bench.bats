#!/usr/bin/env bats
# imghist --bench on small data: its output and its errors. Figures are not tested. The machine may have
# a GPU or not; tests that depend on it use --device.

load helpers

HEADER=task,device,rung,data,bytes,status,time_ns,gb_per_s,read_share,speedup,copy_time_ns,copy_speedup,value,error,reason

# rows TASK DEVICE RUNG: the number of CSV rows of this rung in $output.
rows() { grep -c "^$1,$2,$3," <<<"$output" || :; }

assert_rows() {
  [ "$(rows "$1" "$2" "$3")" -eq "$4" ] || fail "expected $4 rows of $1, $2 $3"
}

@test "bench: every rung of the CPU is verified and timed" {
  imghist_quiet --bench=64k --csv --device=cpu
  for rung in read naive tables tables_all; do
    assert_rows histogram_gray cpu $rung 4
    assert_rows histogram_rgb cpu $rung 4
  done
  for rung in read float double exact; do assert_rows sum_float cpu $rung 1; done
  for rung in read double exact; do assert_rows sum_double cpu $rung 1; done
  for rung in read float double; do assert_rows dot_float cpu $rung 1; done
  for rung in read pixels histogram; do assert_rows luminance_rgb cpu $rung 1; done
  n_ok=$(grep -cE '^[a-z_]+,cpu,[^,]+,[^,]+,[0-9]+,ok,[0-9]+,[0-9.]+,[0-9.]+,' <<<"$output")
  [ "$n_ok" -eq "$(grep -c ',cpu,' <<<"$output")" ] || fail "a rung of the CPU is not ok"
}

@test "bench: without a GPU its rungs are listed with the reason" {
  imghist_ok --bench=16k --csv --device=cpu
  kernels=$(sed -n 's/^KERNEL(\([a-z0-9_]*\),.*/\1/p' "$TESTS/../kernels/kernels.def")
  sums=$(sed -n 's/^REDUCTION(\([a-z0-9_]*\),.*/\1/p' "$TESTS/../kernels/kernels.def")
  [ -n "$kernels" ] && [ -n "$sums" ] || fail "the .def files list nothing"
  for rung in read $kernels; do
    assert_rows histogram_gray cuda "$rung" 4
    assert_rows histogram_rgb cuda "$rung" 4
  done
  assert_rows histogram_gray cuda textbook 4
  for rung in read $sums; do
    assert_rows sum_float cuda "$rung" 1
    assert_rows sum_double cuda "$rung" 1
  done
  for rung in read blocks_32 blocks_all; do assert_rows dot_float cuda $rung 1; done
  for rung in read histogram; do assert_rows luminance_rgb cuda $rung 1; done
  ! grep ',cuda,' <<<"$output" | grep -qv ',skipped,,,,,,,,,--device=cpu$' ||
    fail "a rung of the GPU is not skipped, or does not say why"
}

@test "bench: the CSV begins with its header, and every row has as many fields" {
  imghist_ok --bench=4k --csv --device=cpu
  [ "${lines[0]}" = "$HEADER" ] || fail "not the header"
  ! grep -qvE '^([^,]*,){14}[^,]*$' <<<"$output" || fail "a row has another number of fields"
}

@test "bench: the ladder begins with the first idea and ends with the best" {
  imghist --bench=4k --csv --device=cpu
  order=$(grep '^histogram_gray,cuda,.*,random,' <<<"$output" | cut -d, -f3 | xargs)
  kernels=$(sed -n 's/^KERNEL(\([a-z0-9_]*\),.*/\1/p' "$TESTS/../kernels/kernels.def" | tac | xargs)
  [ "$order" = "read ${kernels%% *} textbook ${kernels#* }" ] || fail "the order is: $order"
}

@test "bench: the table has the rungs that ran and those that did not" {
  imghist_quiet --bench=16k --device=cpu
  assert_output_has "not available: --device=cpu"
  assert_output_has "histogram of gray pixels"
  assert_output_has "sum of floats"
  assert_output_has "value"
  assert_output_has "textbook     random     not run: --device=cpu"
  refute_output_has "byte by byte"
}

@test "bench: -v adds what each rung teaches" {
  imghist_output_has "byte by byte" --bench=4k --device=cpu -v
  assert_output_has "it swallows small terms"
}

@test "bench: a large float sum swallows small terms, and the bench shows it" {
  imghist_ok --bench=1M --csv --device=cpu
  error=$(grep '^sum_float,cpu,float,' <<<"$output" | cut -d, -f14)
  [[ $error == *e-0[1-4] ]] || fail "the relative error is $error"
  error=$(grep '^sum_float,cpu,exact,' <<<"$output" | cut -d, -f14)
  [[ $error == 0.000000e+00 ]] || fail "the exact sum is off by $error"
}

@test "bench: -j is the number of threads" {
  imghist_output_has "cpu    3 threads" --bench=4k --device=cpu -j 3
}

@test "bench: without a GPU, auto runs the CPU rungs" {
  CUDA_VISIBLE_DEVICES=-1 imghist --bench=4k --csv
  assert_status 0
  [ "$(grep -c ',cuda,.*,skipped,' <<<"$output")" -eq "$(grep -c ',cuda,' <<<"$output")" ] ||
    fail "a rung of the GPU has run"
}

@test "bench: --device=cuda without a GPU is exit status 3" {
  CUDA_VISIBLE_DEVICES=-1 imghist --bench=4k --device=cuda
  assert_refused 3 "--device"
}

@test "bench: sizes are numbers from 1k to 2G" {
  for size in 0 1023 2049M 3G x 1kk -1 ""; do
    imghist_refused 2 "--bench" --bench="$size"
  done
}

@test "bench: the default size is 100 MiB" {
  head=$("$IMGHIST" --bench --device=cpu 2>/dev/null | head -n 6)
  [[ $head == *"histogram of gray pixels, 100 MiB"* ]] || fail "$head"
}

@test "bench: it takes no inputs or layouts" {
  for extra in a.png --files-from=list --csv=stats; do
    imghist_refused 2 "--bench" --bench=4k "$extra"
  done
}

@test "bench: -o writes the complete report to a file" {
  imghist_output "" --bench=4k --csv --device=cpu -o bench.csv
  [ "$(head -n 1 bench.csv)" = "$HEADER" ] || fail "not the header"
  [ "$(tail -n 1 bench.csv | cut -d, -f1,2,3)" = luminance_rgb,cuda,histogram ] || fail "cut short"
  [ "$(echo bench*)" = bench.csv ] || fail "a temporary file was left: $(echo bench*)"
}

@test "bench: a report that cannot be written is an error" {
  imghist_fails 1 "nowhere/bench.csv" --bench=4k --device=cpu -o nowhere/bench.csv
  # shellcheck disable=SC2016 # the inner shell expands it
  run --separate-stderr bash -c '"$IMGHIST" --bench=4k --device=cpu >/dev/full'
  assert_fails 1 "cannot write"
}

# png_size FILE: prints WIDTHxHEIGHT of a PNG; fails for any other file.
png_size() {
  [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "$1 is no PNG"
  od -An -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4 "x" $7 * 256 + $8 }'
}

@test "bench: --chart draws the ladder beside the table" {
  imghist_quiet --bench=4k --device=cpu --chart=ladder.png
  assert_output_has "histogram of gray pixels"
  size=$(png_size ladder.png)
  [[ $size == 1024x* && ${size#*x} -gt 700 ]] || fail "the chart is $size, too low for its rungs"
  [ "$(echo .imghist* ladder*)" = ".imghist* ladder.png" ] || fail "also here: $(echo .imghist* ladder*)"
}

@test "bench: --chart beside CSV, in a size and theme, replaces a file" {
  dot a.pgm
  "$IMGHIST" a.pgm --chart=ladder.PNG
  imghist_output "" --bench=4k --device=cpu --csv -o bench.csv --chart=ladder.PNG --chart-size=640x400 --theme=light
  [ "$(head -n 1 bench.csv)" = "$HEADER" ] || fail "not the header"
  [ "$(png_size ladder.PNG)" = 640x400 ] || fail "the chart is $(png_size ladder.PNG)"
}

@test "bench: a chart as SVG" {
  imghist_ok --bench=4k --device=cpu --csv --chart=ladder.svg
  grep -q '<title>The ladder against the roofline</title>' ladder.svg
  [ "$(tail -n 1 ladder.svg)" = "</svg>" ] || fail "the document is incomplete"
}

@test "bench: --chart takes a file name with a known ending, and no --scale" {
  for chart in --chart --chart=dir --chart=a.gif --chart=png "--chart=a.png --scale=log"; do
    # shellcheck disable=SC2086 # options
    imghist_refused 2 "--bench: " --bench=4k $chart
  done
  imghist_fails 2 "--bench: --chart needs a .png .svg" --bench=4k --chart=ladder.webp
}

@test "bench: the report and the chart are two files, whatever their names" {
  ln -s a.png link.png
  mkdir d
  for output in a.png ./a.png d/../a.png link.png; do
    imghist --bench=4k --device=cpu --chart=a.png --csv -o $output
    assert_fails 2
  done
  # shellcheck disable=SC2016 # the inner shell expands it
  run --separate-stderr sh -c '"$IMGHIST" --bench=4k --device=cpu --chart=a.png >a.png'
  assert_fails 2 "a.png: cannot be both a chart and the data"
  [ ! -s a.png ] || fail "something was written"
}

@test "bench: a chart that cannot be written is an error before anything is timed" {
  mkdir taken.png
  for chart in nowhere/ladder.png taken.png; do
    imghist_refused 1 "$chart" --bench=4k --device=cpu --csv --chart=$chart
  done
  [ "$(echo .imghist* taken.png/*)" = ".imghist* taken.png/*" ] || fail "a temporary file was left"
  [ ! -e nowhere ] || fail "a directory was made"
}
