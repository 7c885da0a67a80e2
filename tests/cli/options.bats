#!/usr/bin/env bats
# The command line itself: every option, its right and its wrong values, and how they are written.

# shellcheck disable=SC2016,SC2154 # $IMGHIST is for the inner shell; run sets stderr_lines

load helpers
load images

# refused TEXT ARG...: wrong usage, whose message has TEXT; nothing on standard output.
refused() {
  local text=$1
  shift
  dot a.pgm
  imghist "$@"
  assert_fails 2 "$text"
  assert_output ""
}

# accepted ARG...: with a.pgm as input.
accepted() {
  dot a.pgm
  imghist a.pgm --csv=stats "$@"
  assert_status 0
  assert_no_stderr
  assert_output_has $'\na.pgm,1,1,gray,'
}

# ---- what is printed and nothing more

@test "options: --help says every option and exit code" {
  imghist --help
  assert_status 0
  assert_no_stderr
  for option in --csv --chart --output --device --kernel --luma --clip --raw --max-pixels --threads \
    --quiet --verbose --list --help --version; do
    assert_output_has "$option"
  done
  assert_output_has "IMGHIST_DEVICE"
  assert_output_has $'Exit: 0 all done, 1 some input or the output failed, 2 wrong usage, 3 not\navailable here.'
}

@test "options: --help is one screen" {
  imghist --help
  [ "${#lines[@]}" -le 41 ] || fail "${#lines[@]} lines"
  [ "$(wc -L <<<"$output")" -le 80 ] || fail "wider than 80 columns"
  # the texts begin in one column, so no option is too long for its own
  [ "$(grep -E '^  -' <<<"$output" | cut -c35 | sort -u)" = " " ] || fail "not in columns"
  [ "$(grep -E '^  -' <<<"$output" | cut -c36 | grep -c ' ')" -eq 0 ] || fail "not in columns"
}

@test "options: the parser knows all that --help says" {
  for option in $("$IMGHIST" --help | grep -oE '^  (-., )?--[a-z0-9-]+' | grep -oE -e '--.*'); do
    imghist "$option="
    refute_stderr_has "unknown option"
  done
}

@test "options: --help and --version need no input, look for no GPU and are quick" {
  for option in --help -h --version; do
    start=${EPOCHREALTIME/[.,]/}
    imghist "$option"
    assert_status 0
    [ $((${EPOCHREALTIME/[.,]/} - start)) -lt 1000000 ] || fail "$option took more than a second"
  done
}

@test "options: --version is one line with a number" {
  imghist --version
  assert_status 0
  [[ $output =~ ^imghist\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "no version"
}

@test "options: --help and --version do not mind what IMGHIST_DEVICE says" {
  for device in cuda nonsense; do
    export IMGHIST_DEVICE=$device
    imghist --help
    assert_status 0
    imghist --version
    assert_status 0
  done
}

@test "options: --list names formats, outputs, devices and kernels" {
  imghist --list
  assert_status 0
  assert_no_stderr
  for name in png jpeg bmp tga psd pnm raw csv text chart cpu reference libpng libjpeg-turbo; do
    assert_output_has "$name"
  done
  devices=$(sed -n '/^devices/,/^kernels/p' <<<"$output")
  [[ $devices == *$'\n  cpu  '* && $devices == *$'\n  cuda  '* ]] || fail "not both devices"
}

@test "options: --list to a full disk is an error" {
  [ -c /dev/full ] || skip "no /dev/full"
  for option in --help --version --list; do
    run --separate-stderr sh -c '"$IMGHIST" "$1" >/dev/full' - "$option"
    assert_fails 1 "standard output: cannot write"
  done
}

# ---- how options are written

@test "options: a value after = or as the next word" {
  dot a.pgm
  "$IMGHIST" a.pgm --csv --luma=bt601 --clip=1,2 --output=equals.csv --threads=2 --device=cpu
  "$IMGHIST" a.pgm --csv --luma bt601 --clip 1,2 --output words.csv --threads 2 --device cpu
  cmp equals.csv words.csv
}

@test "options: a value that may be left out is not taken from the next word" {
  dot bins
  imghist --csv bins
  assert_status 0
  assert_output_has $'\nbins,1,1,gray,'
}

@test "options: letters together, and a value that touches its letter" {
  accepted -j4
  accepted -j 4
  accepted -qj4
  dot a.pgm
  imghist -vqoout.csv --csv a.pgm
  assert_status 0
  [ -s out.csv ]
}

@test "options: they may stand behind the paths" {
  dot a.pgm
  imghist a.pgm --csv=stats
  assert_status 0
  assert_output_has "a.pgm,"
}

@test "options: -- ends them" {
  dot --csv
  dot -x
  imghist --csv=stats -- --csv -x
  assert_status 0
  assert_output_has $'\n./--csv,1,1,gray,'
  assert_output_has $'\n./-x,1,1,gray,'
}

@test "options: the last one holds" {
  dot a.pgm
  imghist a.pgm --csv=bins --csv=stats --clip=0,1 --clip=0,255
  assert_status 0
  [ "${#lines[@]}" -eq 3 ]
}

@test "options: an unknown one is refused by name" {
  refused "--no-such-option: unknown option" --no-such-option a.pgm
  refused "--no-such: unknown option" --no-such=value a.pgm
  refused "-Z: unknown option" -Z a.pgm
  refused "-Z: unknown option" -qZ a.pgm
  refused "--cs: unknown option" --cs a.pgm # no abbreviations: a script would break with the next one
  refused "imghist --help" --no-such-option a.pgm
}

@test "options: an unknown one is told which may have been meant" {
  while read -r wrong meant; do
    refused "$wrong: unknown option; did you mean $meant?" "$wrong" a.pgm
  done <<'END'
--hlep --help
--hepl --help
--halp --help
--helpp --help
--vers --version
--vresion --version
--cvs --csv
--nd-json --ndjson
--theem --theme
--outptu --output
--chartsize --chart-size
--file-from --files-from
--max-pixel --max-pixels
END
  refused "--them: unknown option; did you mean --theme?" --them=dark a.pgm
  refused "-c: unknown option; did you mean --csv?" -csv a.pgm
  refused "-e: unknown option; did you mean --help?" -help
}

@test "options: one that is like none is told nothing" {
  for option in --x --zzzzzz --colour-of-the-sky --no-such-option -Z -ZZ --= \
    --aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; do
    refused "unknown option" "$option" a.pgm
    refute_stderr_has "did you mean"
  done
}

@test "options: those that --help does not name yet are refused by name" {
  help=$("$IMGHIST" --help)
  for option in --json --ndjson --total --total-only --bench --isolate --fail-fast \
    --chart-size=1x1 --scale=log --theme=light --alpha=count --files-from=x --files0-from=x \
    --memory=1G --jpeg=cpu --progress=never; do
    [[ $help =~ [\ ]${option%%=*}[\ =[] ]] || refused "${option%%=*}: unknown option" "$option" a.pgm
  done
}

@test "options: an escape sequence in one does not reach the terminal" {
  refused "unknown option" $'--\e[31mred' a.pgm
  refute_stderr_has $'\e'
  refused "--luma" $'--luma=\e[31m' a.pgm
  refute_stderr_has $'\e'
}

@test "options: a value where there is none, none where there must be one" {
  refused "--help: takes no value" --help=me
  refused "--quiet: takes no value" --quiet=1 a.pgm
  refused "--luma: wants a value" a.pgm --luma
  refused "-o: wants a value" a.pgm --csv -o
  refused "-o" a.pgm --csv -o ''
  refused "--chart" a.pgm --chart=
  refused "--csv" a.pgm --csv=
}

@test "options: a value behind a space where it needs =" {
  dot a.pgm
  dot c.pgm
  refused "imghist: stats: no such file; did you mean --csv=stats?" --csv stats a.pgm
  refused "lines: no such file; did you mean --text=lines?" a.pgm --text lines
  refused "c.png: no such file; did you mean --chart=c.png?" a.pgm --chart c.png
  refused "charts: no such file; did you mean --chart=charts?" --csv --chart charts a.pgm
  refused "charts: no such file; did you mean --chart=charts?" --files-from=a.pgm --chart charts
  [ ! -e charts ]
  [ ! -e c.png ]
  # one that is there is an input, and so is what is no value
  imghist a.pgm --csv c.pgm
  assert_status 0
  cp a.pgm stats
  imghist --csv stats
  assert_status 0
  for arguments in "--csv missing.png a.pgm" "--chart missing.png" "a.pgm --csv -- stat" "--ndjson stats.csv"; do
    # shellcheck disable=SC2086 # the arguments are words
    imghist $arguments
    assert_status 1
    refute_stderr_has "did you mean"
  done
}

@test "options: a chart is not written to standard output" {
  refused "--chart: a chart goes to a file or a directory, not to standard output" a.pgm --chart=-
  [ ! -e ./- ]
}

@test "options: no paths" {
  refused "name an image"
  refused "name an image" --csv
  refused "name an image" --
}

# ---- values

@test "options: --csv knows four layouts" {
  for layout in channels bins long stats; do
    dot a.pgm
    imghist a.pgm --csv=$layout
    assert_status 0
  done
  refused "channels, bins, long, stats" a.pgm --csv=wide
  refused "--csv=wide" a.pgm --csv=wide
}

@test "options: a wrong layout leaves no output file behind" {
  mkdir out
  refused "--csv=wide" a.pgm --csv=wide -o out/a.csv
  [ -z "$(ls -A out)" ] || fail "$(ls -A out)"
}

@test "options: --luma" {
  accepted --luma=bt709
  accepted --luma=bt601
  refused "--luma: 'bt2020'" a.pgm --luma=bt2020
  refused "--luma: ''" a.pgm --luma=
}

@test "options: --clip" {
  accepted --clip=0,255
  accepted --clip=254,255
  for value in 0 '0,' ,255 5,5 6,5 0,256 -1,255 0,255,1 0x1,5 1000,2000 a,b ' 0,255' ''; do
    refused "--clip: '$value'" a.pgm "--clip=$value"
  done
}

@test "options: -j and --threads" {
  accepted -j 1
  accepted --threads=64
  accepted -j 1024
  for value in 0 -1 1025 x 1x '' 99999999999999999999; do
    refused "-j: '$value'" a.pgm -j "$value"
  done
}

@test "options: --raw" {
  for value in 0 5 x 1x -1 '' 18446744073709551617; do
    refused "--raw: '$value'" a.pgm "--raw=$value"
  done
}

@test "options: --max-pixels" {
  for value in 1 1k 1K 1M 4G 9223372036854775807; do
    accepted "--max-pixels=$value"
  done
  for value in 0 k -1 1T 1kk 1.5M x '' 18446744073709551616 9999999999G; do
    refused "--max-pixels: '$value'" a.pgm "--max-pixels=$value"
  done
}

@test "options: --memory" {
  for value in 1 1k 1M 4G 9223372036854775807; do
    accepted "--memory=$value"
  done
  for value in 0 M -1 1T 1.5G 50% ''; do
    refused "--memory: '$value' is not a number of bytes" a.pgm "--memory=$value"
  done
}

@test "options: --kernel" {
  accepted --kernel=reference --device=cpu
  accepted --kernel=reference
  refused "--kernel: no kernel 'none'" a.pgm --kernel=none
}

@test "options: --jpeg" {
  "$IMGHIST" "$SAMPLES/scene.jpg" --csv >expected.csv
  for value in auto cpu; do
    "$IMGHIST" "$SAMPLES/scene.jpg" --csv "--jpeg=$value" >"$value.csv"
    cmp "$value.csv" expected.csv
  done
  refused "--jpeg: 'fast' is none of auto, cpu, gpu" a.pgm --jpeg=fast
  refused "--jpeg=gpu: no GPU with --device=cpu" a.pgm --jpeg=gpu --device=cpu
  refused "--jpeg=gpu: --isolate wants helper processes" a.pgm --jpeg=gpu --isolate
  refused "--jpeg=gpu: --raw takes no file for a JPEG" a.pgm --jpeg=gpu --raw=3
  refused "--jpeg=gpu: what engines decode is not counted with --kernel" a.pgm --jpeg=gpu --kernel=reference
}

@test "options: --jpeg=gpu without a GPU exits 3, and says why" {
  has_gpu && skip "a GPU is here"
  imghist "$SAMPLES/scene.jpg" --csv --jpeg=gpu -o out.csv
  assert_status 3
  [[ $stderr == *"no hardware JPEG decoders"* ]]
  [ ! -e out.csv ]
}

@test "options: every kernel of the processor gives the same bytes" {
  "$IMGHIST" "$SAMPLES" --csv --device=cpu --kernel=reference >expected.csv
  for kernel in $("$IMGHIST" --list | sed -n 's/^  \([a-z_]*\) *cpu: .*/\1/p'); do
    "$IMGHIST" "$SAMPLES" --csv --device=cpu "--kernel=$kernel" >"$kernel.csv"
    cmp "$kernel.csv" expected.csv
  done
  [ -s tables.csv ]
}

@test "options: --device" {
  accepted --device=cpu
  accepted --device=auto
  for value in gpu CPU cpu:0 auto:1 cuda:x cuda:-1 cuda: '' 'cuda:,' 'cuda:0,' cuda:,0 cuda:0,,1 cuda:0,x \
    cuda:0,0 cuda:1,2,1 'cuda:0;1' cuda:1024 cuda:00000000 cpu,cuda; do
    refused "--device: '$value' is none of auto, cpu, cuda, cuda:N[,N...]" a.pgm "--device=$value"
  done
  ! "$IMGHIST" --list | grep '^  cuda ' | grep -qv 'not in this build' || refused "--bench: measures one GPU" --bench=1k --device=cuda:0,1
}

@test "options: --device=cuda without a GPU exits 3" {
  has_gpu && skip "a GPU is here"
  dot a.pgm
  imghist a.pgm --csv --device=cuda
  assert_status 3
  [ -n "$stderr" ]
  refute_output_has a.pgm
  imghist a.pgm --csv --device=cuda -o out.csv
  assert_status 3
  [ ! -e out.csv ]
}

@test "options: a GPU that is not there exits 3" {
  dot a.pgm
  for value in cuda:1000 cuda:0,1000 cuda:1000,1001; do
    imghist a.pgm --csv --device=$value
    assert_status 3
    refute_output_has a.pgm
  done
}

@test "options: without a GPU the processor counts, and -v says so" {
  has_gpu && skip "a GPU is here"
  accepted --device=auto
  imghist a.pgm --csv=stats -v
  assert_status 0
  assert_stderr_has "counted by cpu"
}

@test "options: IMGHIST_DEVICE is as --device" {
  dot a.pgm
  IMGHIST_DEVICE=cpu imghist a.pgm --csv -v
  assert_status 0
  assert_stderr_has "counted by cpu"
  IMGHIST_DEVICE=nonsense imghist a.pgm
  assert_fails 2 "IMGHIST_DEVICE"
  IMGHIST_DEVICE='' imghist a.pgm --csv
  assert_status 0
}

@test "options: --device overrides IMGHIST_DEVICE" {
  for device in cuda:1000 cuda nonsense; do
    IMGHIST_DEVICE=$device accepted --device=cpu
  done
}

@test "options: -o with nothing but a chart is refused" {
  refused "-o: --chart=PATH says" a.pgm --chart=c.png -o out
}

@test "options: -o - is standard output" {
  accepted -o -
  refused "-o: --chart=PATH says" a.pgm --chart=c.png -o -
  [ ! -e c.png ]
}

# ---- what means nothing beside another option

# option_of ARG: the name of an option, as "--help" and the parser have it.
option_of() { grep -oE -e '^--[a-z0-9-]+' <<<"$1"; }

@test "options: what means nothing for --bench, --list and --completion is refused by name" {
  images=(--kernel=reference --jpeg=auto --luma=bt709 --alpha=count "--clip=0,255" --raw=3 --max-pixels=1 --memory=1G
    --isolate --files-from=list --files0-from=list --fail-fast --total --total-only --progress=auto)
  looks=(--csv --text --json --ndjson --chart=c.png --chart-size=400x300 --theme=dark --output=out --device=cpu
    --threads=1 --quiet --verbose)
  for option in "${images[@]}" --scale=log; do
    refused "--bench: $(option_of "$option") means nothing here" --bench=1k "$option"
  done
  for option in "${images[@]}" "${looks[@]}" --scale=log --bench=1k; do
    refused "--list: $(option_of "$option") means nothing here" "$option" --list
    refused "--completion: $(option_of "$option") means nothing here" "$option" --completion=bash
  done
  for action in --bench=1k --list --completion=zsh; do
    refused "$(option_of "$action"): takes no inputs" "$action" a.pgm
    refused "$(option_of "$action"): takes no inputs" - "$action"
  done
  [ ! -e out ] && [ ! -e c.png ]
}

@test "options: an alias may say how charts look, also where none is drawn" {
  dot a.pgm
  imghist a.pgm --csv
  counts=$output
  imghist --theme=light --scale=log --chart-size=400x300 a.pgm --csv
  assert_status 0
  assert_output "$counts"
}

@test "options: --help and --version hold wherever they stand, and what follows is not read" {
  imghist --help
  help=$output
  for arguments in "--bench=1k --help" "--help --bench=1k" "-qh --list" "a.pgm --list -h" "--help --nonsense" \
    "--theme=dark --help --version"; do
    # shellcheck disable=SC2086 # the arguments are words
    imghist $arguments
    assert_status 0
    assert_output "$help"
  done
  imghist --bench=1k --version --help
  [[ $output == "imghist "[0-9]* ]] || fail "not the version"
}

@test "options: of --total and --total-only the last one holds" {
  dot a.pgm
  for arguments in "--total --total-only" "--total-only"; do
    # shellcheck disable=SC2086 # the arguments are words
    imghist a.pgm --csv=stats $arguments
    [ "${#lines[@]}" -eq 3 ] || fail "$arguments: not the total alone"
  done
  imghist a.pgm --csv=stats --total-only --total
  [ "${#lines[@]}" -eq 5 ] || fail "not an image and the total"
}

@test "options: of -q and -v the last one holds" {
  dot a.pgm
  imghist a.pgm --csv=stats -v -q
  assert_status 0
  assert_no_stderr
  imghist a.pgm --csv=stats -q -v
  assert_status 0
  assert_stderr_has "1 done, 0 failed, 0 skipped"
  imghist missing a.pgm --csv=stats -q
  assert_status 1
  refute_stderr_has "inputs failed"
  imghist missing a.pgm --csv=stats -q --verbose
  assert_stderr_has "1 done, 1 failed, 0 skipped"
}

@test "options: -q leaves the summary out, -v says what ran" {
  dot a.pgm
  imghist a.pgm missing.pgm --csv -q
  assert_status 1
  [ "${#stderr_lines[@]}" -eq 1 ]
  imghist a.pgm --csv -v
  assert_stderr_has "1 done, 0 failed, 0 skipped"
}
