#!/usr/bin/env bats
# The command line: how options are written, their values, and which of them go together.

# shellcheck disable=SC2016,SC2154 # $IMGHIST is for the inner shell; run sets stderr_lines

load helpers

# refused TEXT ARG...: a usage error with TEXT in its message; nothing on standard output.
refused() {
  local text=$1
  shift
  dot a.pgm
  imghist_refused 2 "$text" "$@"
}

# accepted ARG...: with a.pgm as input.
accepted() {
  dot a.pgm
  imghist_quiet a.pgm --csv=stats "$@"
  assert_output_has $'\na.pgm,1,1,gray,'
}

# each_option: every option of --help=all with a valid value, one a line: "--theme=dark".
each_option() {
  "$IMGHIST" --help=all | grep -oE '^  (-., )?--[^ ]+' | grep -oE -e '--.*' |
    sed -E 's/\[?=(\[:N,\.\.\.\])?/=/; s/[]|[].*//; s/=N$/=1/; s/=SIZE/=1k/; s/=FILE/=out/; s/=PATH/=c.png/
            s/=CHANNELS/=3/; s/=NAME/=x/; s/=TEXT/=x/; s#=I/N#=1/2#; s/=TIME/=9/; s/=P,.*/=1/; s/=CMP,.*/=<9/; s/=K$/=2/; s/=V$/=7/; s/=BITS/=12/; s/=WxH[+]X[+]Y/=1x1+0+0/; s/=WxH/=400x300/; s/=LO,HI/=0,255/; s/=KERNEL/=reference/
            s/=EXPR/=width>5/'
}

@test "options: --help=all has every option, exit status and examples" {
  imghist_quiet --help=all
  for text in --csv --chart --output --device --kernel --luma --clip --raw --max-pixels --threads --quiet --verbose \
    --list --help --version IMGHIST_DEVICE Examples: 'Exit status: 0 ok, 1 '; do
    assert_output_has "$text"
  done
  for group in Input Output Charts Counting Device Run Other; do
    assert_output_has $'\n'"$group:"$'\n'
  done
}

@test "options: --help fits on a screen and is a part of --help=all" {
  "$IMGHIST" --help >short
  "$IMGHIST" --help=all >all
  "$IMGHIST" -h | cmp - short
  [ "$(wc -l <short)" -le 50 ] || fail "$(wc -l <short) lines"
  [ "$(diff short all | grep -c '^>   -')" -ge 8 ] || fail "nothing is left out"
  [ "$(diff short all | grep '^<')" = "< $(tail -1 short)" ] || fail "not a part of --help=all"
  grep -q -e --help=all short
  refused "--help: 'me' is none of all" --help=me
}

@test "options: --help=all is in columns" {
  imghist --help=all
  [ "$(wc -L <<<"$output")" -le 80 ] || fail "wider than 80 columns"
  [ "$(grep -E '^  -.*[^ ] +[^ ]' <<<"$output" | cut -c35 | sort -u)" = " " ] || fail "an option reaches into its text"
  [ "$(grep -E '^  -.*[^ ] +[^ ]' <<<"$output" | cut -c36 | grep -c ' ')" -eq 0 ] || fail "a text starts too late"
}

@test "options: the examples of --help run" {
  mkdir photos train new
  dots photo.jpg photos/b.pgm train/c.pgm new/d.pgm
  PATH=${IMGHIST%/*}:$PATH
  n=0
  while read -r command; do
    n=$((n + 1))
    run --separate-stderr bash -c "${command%%  *}"
    assert_status 0
  done < <("$IMGHIST" --help | sed -n '/^Examples/,$s/^  imghist/imghist/p')
  [ $n -eq 6 ] || fail "$n examples"
  [ -s all.csv ] && [ -s photos.html ] && [ -s t.json ]
}

@test "options: every option and value of --help=all is accepted" {
  n=0
  while read -r option; do
    n=$((n + 1))
    imghist "$option" no-such-file
    refute_stderr_has "unknown option"
    refute_stderr_has "is none of"
    refute_stderr_has "a value"
  done < <(each_option)
  [ $n -ge 33 ] || fail "$n options"
}

@test "options: --help and the completions list the same values" {
  "$IMGHIST" --help=all >help
  n=0
  while read -r option choices; do
    n=$((n + 1))
    [ "$option" = --kernel ] || grep -qE -e "$option\[?=${choices// /\\|}([] []|$)" help || fail "$option: $choices"
    # each is accepted, and the message about another value lists them all
    for choice in $choices; do
      imghist "$option=$choice" no-such-file
      refute_stderr_has "'$choice'"
    done
    refused "'nonsense' is none of ${choices// /, }" "$option=nonsense" a.pgm
  done < <("$IMGHIST" --completion=bash | sed -nE "s/^    (--[a-z-]+)( \| -.)?\) words='([^']*)' ;;\$/\1 \3/p")
  [ $n -ge 10 ] || fail "$n options with a list of values"
}

@test "options: --help and --version are quick, and ignore IMGHIST_DEVICE" {
  for option in --help -h --version; do
    for device in '' cuda nonsense; do
      start=${EPOCHREALTIME/[.,]/}
      IMGHIST_DEVICE=$device imghist $option
      assert_status 0
      [ $((${EPOCHREALTIME/[.,]/} - start)) -lt 1000000 ] || fail "$option took more than a second"
    done
  done
  [[ $output =~ ^imghist\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "no version"
}

@test "options: --list names formats, outputs, devices and kernels" {
  imghist_quiet --list
  for name in png jpeg bmp tga psd pnm raw csv text chart cpu reference libpng libjpeg-turbo; do
    assert_output_has "$name"
  done
  devices=$(sed -n '/^devices/,/^kernels/p' <<<"$output")
  [[ $devices == *$'\n  cpu  '* && $devices == *$'\n  cuda  '* ]] || fail "not both devices"
}

@test "options: --help, --version and --list to a full disk are errors" {
  for option in --help --version --list; do
    run --separate-stderr sh -c '"$IMGHIST" "$1" >/dev/full' - "$option"
    assert_fails 1 "standard output: cannot write"
  done
}

@test "options: a value follows = or is the next argument" {
  dot a.pgm
  "$IMGHIST" a.pgm --csv --luma=bt601 --clip=1,2 --output=equals.csv --threads=2 --device=cpu
  "$IMGHIST" a.pgm --csv --luma bt601 --clip 1,2 --output words.csv --threads 2 --device cpu
  cmp equals.csv words.csv
}

@test "options: an optional value is not taken from the next argument" {
  dot bins
  imghist_output_has $'\nbins,1,1,gray,' --csv bins
}

@test "options: short options can be combined and joined with a value" {
  accepted -j4
  accepted -j 4
  accepted -qj4
  dot a.pgm
  imghist_ok -qoout.csv --csv a.pgm
  [ -s out.csv ]
}

@test "options: they may follow the paths, and -- ends them" {
  dots --csv -x
  accepted --clip=0,255
  imghist_output_has $'\n./--csv,1,1,gray,' --csv=stats -- --csv -x
  assert_output_has $'\n./-x,1,1,gray,'
}

@test "options: an unknown option is an error with its name" {
  refused "--no-such-option: unknown option" --no-such-option a.pgm
  refused "--no-such: unknown option" --no-such=value a.pgm
  refused "-Z: unknown option" -Z a.pgm
  refused "-Z: unknown option" -qZ a.pgm
  refused "--cs: unknown option" --cs a.pgm # abbreviations would break scripts when options are added
  refused "imghist --help" --no-such-option a.pgm
}

@test "options: without a similar option nothing is suggested" {
  for option in --x --zzzzzz --colour-of-the-sky --no-such-option -Z -ZZ --= \
    --aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; do
    refused "unknown option" "$option" a.pgm
    refute_stderr_has "did you mean"
  done
}

@test "options: escape sequences do not reach the terminal" {
  refused "unknown option" $'--\e[31mred' a.pgm
  refute_stderr_has $'\e'
  refused "--luma" $'--luma=\e[31m' a.pgm
  refute_stderr_has $'\e'
}

@test "options: a blank where an optional value needs =" {
  dots a.pgm c.pgm
  refused "imghist: stats: no such file; did you mean --csv=stats?" --csv stats a.pgm
  refused "lines: no such file; did you mean --text=lines?" a.pgm --text lines
  refused "c.png: no such file; did you mean --chart=c.png?" a.pgm --chart c.png
  refused "charts: no such file; did you mean --chart=charts?" --csv --chart charts a.pgm
  refused "charts: no such file; did you mean --chart=charts?" --files-from=a.pgm --chart charts
  [ ! -e charts ]
  [ ! -e c.png ]
  # an existing file is an input, and so is a word that is not a value
  imghist_ok a.pgm --csv c.pgm
  cp a.pgm stats
  imghist_ok --csv stats
  for arguments in "--csv missing.png a.pgm" "--chart missing.png" "a.pgm --csv -- stat" "--ndjson stats.csv"; do
    # shellcheck disable=SC2086 # the arguments are words
    imghist_status 1 $arguments
    refute_stderr_has "did you mean"
  done
}

@test "options: --clip" {
  accepted --clip=0,255
  accepted --clip=254,255
  for value in 0 '0,' ,255 5,5 6,5 0,256 -1,255 0,255,1 0x1,5 1000,2000 a,b ' 0,255' ''; do
    refused "--clip: '$value'" a.pgm "--clip=$value"
  done
}

@test "options: -j, --threads and --raw" {
  accepted -j 1
  accepted --threads=64
  accepted -j 1024
  for value in 0 -1 1025 x 1x '' 99999999999999999999; do
    refused "-j: '$value'" a.pgm -j "$value"
  done
  for value in 0 5 x 1x -1 '' 18446744073709551617; do
    refused "--raw: '$value'" a.pgm "--raw=$value"
  done
}

@test "options: --max-pixels and --memory" {
  for value in 1 1k 1K 1M 4G 9223372036854775807; do
    accepted "--max-pixels=$value"
    accepted "--memory=$value"
  done
  for value in 0 k M -1 1T 1kk 1.5M 1.5G 50% x '' 18446744073709551616 9999999999G; do
    refused "--max-pixels: '$value' is not a number of pixels" a.pgm "--max-pixels=$value"
    refused "--memory: '$value' is not a number of bytes" a.pgm "--memory=$value"
  done
}

@test "options: --jpeg" {
  "$IMGHIST" "$SAMPLES/scene.jpg" --csv >expected.csv
  for value in auto cpu; do
    "$IMGHIST" "$SAMPLES/scene.jpg" --csv "--jpeg=$value" >"$value.csv"
    cmp "$value.csv" expected.csv
  done
  refused "--jpeg: 'fast' is none of cpu, auto, gpu" a.pgm --jpeg=fast
}

@test "options: --jpeg=gpu conflicts with options that need the CPU" {
  dot a.pgm
  while read -r option; do
    case $option in
      --raw=*) refused "--jpeg: cannot be used with --raw: " a.pgm --jpeg=gpu "$option" ;;
      --isolate | --frames | --thumbnails | --kernel=* | --region=* | --mask=* | --labels=* | --bands=* | --nodata=*) refused "--jpeg=gpu: cannot be used with ${option%%=*}: " a.pgm --jpeg=gpu "$option" ;;
      --list | --completion* | --jpeg=*) ;;
      *)
        imghist a.pgm --jpeg=gpu "$option"
        refute_stderr_has "--jpeg=gpu: cannot be used"
        ;;
    esac
  done < <(each_option)
  refused "--jpeg=gpu: cannot be used with --device=cpu: " a.pgm --jpeg=gpu --device=cpu
}

@test "options: --jpeg=gpu without a GPU exits 3 with the reason" {
  has_gpu && skip "a GPU is here"
  imghist_status 3 "$SAMPLES/scene.jpg" --csv --jpeg=gpu -o out.csv
  [[ $stderr == *"no GPU decodes JPEG files here"* ]]
  [ ! -e out.csv ]
}

@test "options: --device" {
  accepted --device=cpu
  accepted --device=auto
  for value in gpu CPU cpu:0 auto:1 cuda:x cuda:-1 cuda: '' 'cuda:,' 'cuda:0,' cuda:,0 cuda:0,,1 cuda:0,x \
    cuda:0,0 cuda:1,2,1 'cuda:0;1' cuda:1024 cuda:00000000 cpu,cuda; do
    refused "--device: '$value' is none of auto, cpu, cuda, cuda:N[,N...]" a.pgm "--device=$value"
  done
}

@test "options: without an NVIDIA driver the message says so" {
  ! "$IMGHIST" --list | grep -q '^  cuda .*not in this build' || skip "no CUDA in this build"
  ! ldconfig -p | grep -q 'libcuda\.so' || skip "there is a driver here"
  dot a.pgm
  imghist a.pgm --csv --device=cuda
  assert_refused 3 "no usable NVIDIA GPU: there is no NVIDIA driver; install it, or count on the CPU"
  imghist --list
  assert_output_has "there is no NVIDIA driver"
}

@test "options: a GPU that does not exist exits 3" {
  dot a.pgm
  for value in cuda cuda:1000 cuda:0,1000 cuda:1000,1001; do
    [ $value != cuda ] || ! has_gpu || continue
    imghist_status 3 a.pgm --csv --device=$value -o out.csv
    [ -n "$stderr" ]
    refute_output_has a.pgm
    [ ! -e out.csv ]
  done
}

@test "options: IMGHIST_DEVICE sets the default of --device" {
  dot a.pgm
  IMGHIST_DEVICE=cpu imghist a.pgm --csv -v
  assert_status 0
  assert_stderr_has "counted by cpu"
  IMGHIST_DEVICE=nonsense imghist a.pgm
  assert_fails 2 "IMGHIST_DEVICE: 'nonsense' is none of"
  IMGHIST_DEVICE='' imghist a.pgm --csv
  assert_status 0
  for device in cuda:1000 cuda nonsense; do
    IMGHIST_DEVICE=$device accepted --device=cpu
  done
}

@test "options: --list and --completion refuse inputs and other options" {
  while read -r option; do
    name=${option%%=*}
    [ "$name" != --shard ] || option=--shard=1/2
    [[ $name != --help && $name != --version && $name != --records ]] || continue
    [ "$name" = --list ] || refused "--list: cannot be used with $name" "$option" --list
    [ "$name" = --completion ] || refused "--completion: cannot be used with $name" "$option" --completion=bash
  done < <(each_option)
  for action in --list --completion=zsh; do
    refused "${action%%=*}: takes no inputs" "$action" a.pgm
    refused "${action%%=*}: takes no inputs" - "$action"
  done
  [ ! -e out ] && [ ! -e c.png ]
}

@test "options: an option that needs another one is refused, and the message names that one" {
  dot a.pgm
  for option in --theme=light --scale=log --scale-y=count --chart-size=400x300 --chart-format=svg --sheet; do
    refused "${option%%=*}: is for charts, and none is drawn: add --chart=PATH" "$option" a.pgm --csv
  done
  for pair in --title=x/--chart= --title=x/--html= --thumbnails/--chart --thumbnails/--html= --raw-depth=8/--raw: --size=1x1/--raw: \
    "--ignore-label=0/--labels," --top=1/--sort=; do
    refused "${pair%%[=/]*}: " "${pair%/*}" a.pgm --csv
    assert_stderr_has "${pair#*/}"
  done
  imghist_ok a.pgm --title=x -o page.html
}

@test "options: --help and --version apply anywhere, and the rest is not read" {
  imghist --help
  help=$output
  for arguments in "-qh --list" "a.pgm --list -h" "--help --nonsense" \
    "--theme=dark --help --version"; do
    # shellcheck disable=SC2086 # the arguments are words
    imghist_output "$help" $arguments
  done
  imghist --list --version --help
  [[ $output == "imghist "[0-9]* ]] || fail "not the version"
}

@test "options: every pair has an effect of both, or is refused with both names" {
  needs python3 cjpeg
  python3 "$TESTS/cli/option_pairs.py" "$IMGHIST" "$SAMPLES" >problems || fail "$(cat problems)"
}

@test "options: a second value that would replace the first is refused" {
  dot a.pgm
  imghist_ok a.pgm --csv=stats --csv=stats --clip=0,255 --clip=0,255 -j2 -j2
  [ "${#lines[@]}" -eq 3 ]
  n=0
  while read -r option; do
    case $option in --text* | --records=* | --csv* | --html* | --output=* | --help* | *-[0-9]) continue ;; --*=*) ;; *) continue ;; esac
    other=$(sed -E 's/--axes=auto/--axes=HWC/; t; s/=auto$/=cpu/; t; s/=dark/=light/; t; s/=linear/=log/; t; s/=count$/=percent/; t; s/=bt709/=none/; t; s/=bash/=zsh/; t
                    s/=png/=svg/; t; s/=256/=native/; t; s/=8$/=16le/; t; s/=cpu$/=auto/; t; s/=reference/=tables/; t; s/=1k/=2k/; t
                    s/=1x1[+]0/=2x1+0/; t; s/=400x/=500x/; t; s/=0,255/=1,255/; t; s#=1/2#=2/2#; t; s/>5/>6/; t; s/$/1/' <<<"$option")
    [[ $option != --color=* && $option != --progress=* && $option != --alpha=* ]] || other=${option%%=*}=never
    [[ $option != --alpha=* ]] || other=--alpha=skip-transparent
    [[ $option != --raw=* ]] || other=--raw=2
    refused "${option%%=*}: is given twice; " a.pgm "$option" "$other"
    n=$((n + 1))
  done < <(each_option)
  [ $n -ge 30 ] || fail "$n options"
  refused "--total-only" a.pgm --total --total-only
  refused "--verbose" a.pgm -q -v
  refused "--csv and --csv=stats: both go to standard output" a.pgm --csv --csv=stats
  refused "--files0-from: cannot be used with --files-from" --files-from=a.pgm --files0-from=a.pgm
}

@test "options: those about images are refused if all inputs are result files" {
  dot a.pgm
  "$IMGHIST" a.pgm --ndjson -o a.ndjson
  "$IMGHIST" a.pgm --json -o a.json
  for option in --axes=HWC --frames --raw-preview --raw-sensor --max-pixels=1k --lenient --isolate --list-skipped --timeout=9 \
    --kernel=reference --jpeg=cpu; do
    refused "${option%%=*}: cannot be used with result files alone" a.ndjson a.json --csv=stats "$option"
    imghist_ok a.ndjson a.pgm --csv=stats "$option"
    imghist_ok a.ndjson --against=a.pgm --csv=images "$option"
  done
  refused "--thumbnails: cannot be used with result files alone" a.ndjson --html=page.html --thumbnails
  imghist_ok a.ndjson a.pgm --html=page.html --thumbnails
  IMGHIST_DEVICE=cpu imghist_ok a.ndjson --csv=stats
  imghist_ok a.ndjson --csv=stats --device=cpu -j2 # a wrapper may always pass them
  imghist_ok a.ndjson --raw=1 --csv=stats # bare samples may have any name
}

@test "options: --bins and the bins of result files" {
  pgm16() { printf 'P5 2 1 65535\n\x%s\x01\xff\xff' "$1"; }
  pgm16 10 >deep.pgm
  dot low.pgm
  "$IMGHIST" deep.pgm --ndjson -o deep256.ndjson
  "$IMGHIST" deep.pgm low.pgm --bins=native --ndjson -o native.ndjson
  "$IMGHIST" deep.pgm --total-only --ndjson -o total256.ndjson
  for file in deep256 total256; do
    refused "counted with 256 bins; this run asks for native ones" $file.ndjson --bins=native --csv=stats
    imghist_ok $file.ndjson --bins=256 --csv=stats
  done
  refused "counted with native bins; this run asks for 256" native.ndjson --bins=256 --csv=stats
  imghist_ok native.ndjson --bins=native --csv=stats # 8 bits have 256 bins either way
  [ "${#lines[@]}" -eq 5 ]
}

@test "options: what no output shows is refused, also with several outputs" {
  dot a.pgm
  refused "--clip: cannot be used with --csv=bins: no output shows clipped pixels" a.pgm --csv=bins --clip=1,2
  refused "--against: cannot be used with --csv=stats, --print0: no output shows distances" a.pgm --csv=stats --against=a.pgm -o a.csv --print0
  imghist_ok a.pgm --csv=bins -o bins.csv --json -o a.json --clip=1,2 --against=a.pgm
  imghist_ok a.pgm --print0 --against=a.pgm --where 'emd < 1'
  refused "--against: cannot be used with --print0" a.pgm --print0 --against=a.pgm --where 'width > 0'
  imghist_ok a.pgm --print0 --clip=1,2 --where 'blown_any > 1%'
  refused "'width' is of images; --total-only and --by write totals" a.pgm --total-only --fail-if 'width > 1'
  refused "'width' is of images; --total-only and --by write totals" a.pgm --by=folder --fail-if 'width > 1'
}

@test "options: -q keeps what --fail-if found" {
  dot a.pgm
  imghist_status 4 a.pgm -q --csv -o a.csv --fail-if 'mean_luma > 1'
  [ "$stderr" = "imghist: a.pgm: matches --fail-if: mean_luma 128.000000" ] || fail "$stderr"
  dot b.pgm 20
  imghist_status 4 --diff a.pgm b.pgm -q --csv -o a.csv --fail-if 'emd > 2'
  [[ $stderr == "imghist: the comparison matches --fail-if: ks 1"* ]] || fail "$stderr"
}

@test "options: -q and -v" {
  dot a.pgm
  imghist_quiet a.pgm --csv=stats -q
  imghist_ok a.pgm --csv=stats -v
  assert_stderr_has "1 done, 0 failed, 0 skipped"
  imghist_status 1 missing a.pgm --csv=stats -q
  refute_stderr_has "inputs failed"
  [ "${#stderr_lines[@]}" -eq 1 ]
  imghist missing a.pgm --csv=stats --verbose
  assert_stderr_has "1 done, 1 failed, 0 skipped"
}
