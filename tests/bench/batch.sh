#!/usr/bin/env bash
# batch.sh [SECTION]...: compares imghist with a loop that only decodes with the same libraries, and with
# libvips, Pillow, OpenCV and ImageMagick, on directories of real photos. Programs run alternately; the
# median counts.
#
#   sections (default: all)
#     jpeg baseline png   a directory: time, start-up, peak memory, and whether the counts are the same
#     one                 one photo of about 15 megapixels, from process start to exit
#     scaling             JPEGs on 1, 2, 4... cores, with decoding alone and a loop in registers
#     memory              peak memory with 2 threads, and with a hundred thousand small files
#     bytes               whether the output is the same with -j 1, 2 and 16, and on the GPU
#
#   PHOTOS=DIR    the photos; default: those of PACKAGES, downloaded with apt-get, not installed
#   PACKAGES=...  the packages (see batch_photos.sh)
#   PROGRAM=...   the imghist to test (./imghist)
#   ROUNDS=5      runs of each way
#   LOOPS=...     passes through a directory in one run (1 for each 2 cores), so that program start and
#                 the last file matter little
#   PEERS=...     the programs to compare with, of "vips pillow opencv magick"; empty: none
#   MIN_PIXELS=500000, SMALL_FILES=100000, BENCH_BUILD=build/bench
#                 the least size of a photo, the number of small files, the folder for the tools
#
# Missing peers are listed and left out. Debian calls them libvips-dev, libvips-tools, python3-pil,
# python3-opencv and imagemagick. Keep the machine quiet meanwhile. To keep a result:
#
#   tests/bench/batch.sh | tee tests/bench/results/batch_cpu.txt
#
# Ratios are computed for complete runs, and without the start-up of both programs (a run on one tiny
# image: Python's imports, CUDA's start). A target is met if both ratios meet it.
set -euo pipefail
command_line="tests/bench/batch.sh${*:+ $*}"
for name in PACKAGES PEERS LOOPS ROUNDS MIN_PIXELS; do
  [ -z "${!name+set}" ] || command_line="$name='${!name}' $command_line"
done
cd "$(dirname "$0")/../.."
# shellcheck source=tests/bench/figures.sh
. tests/bench/figures.sh

program=${PROGRAM:-./imghist} cores=$(nproc) rounds=${ROUNDS:-5}
loops=${LOOPS:-$(((cores + 1) / 2))}
PEERS=${PEERS-vips pillow opencv magick}
SMALL_FILES=${SMALL_FILES:-100000}
bin=${BENCH_BUILD:-build/bench} peers=tests/bench/peers
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/bench/batch_photos.sh
. tests/bench/batch_photos.sh
# shellcheck source=tests/bench/batch_ways.sh
. tests/bench/batch_ways.sh
# shellcheck source=tests/bench/batch_tables.sh
. tests/bench/batch_tables.sh
# shellcheck source=tests/bench/batch_series.sh
. tests/bench/batch_series.sh

tiny=samples/testcard.png
[ -x "$program" ] || die "no $program: run make first, or name it with PROGRAM="
cp "$program" "$work/imghist" # a build meanwhile changes nothing
program=$work/imghist
"$program" --device=cpu --csv "$tiny" >/dev/null || die "$program does not read $tiny"
has_cuda=false
if "$program" --device=cuda --csv=stats "$tiny" >/dev/null 2>&1; then has_cuda=true; fi

# ---- sections ---------------------------------------------------------------------------------

directory() {
  set=$1
  echo
  if [ ! -s "$work/$set" ]; then
    echo "## $set: none here"
    return
  fi
  case $set in baseline) echo "## baseline JPEG alone" ;; *) echo "## ${set^^}" ;; esac
  echo "$(describe_photos "$set"); passes a run: $loops; rounds: $rounds; -j$cores"
  ways=(imghist decode)
  if $has_cuda; then
    ways+=(imghist-auto imghist-cuda)
    if [ "$set" != png ]; then ways+=(imghist-kernels); fi
  fi
  if [ "$set" = jpeg ] && [ "$cores" -gt 1 ]; then ways+=(imghist-1 decode-1); fi
  ways+=("${peer_ways[@]}")
  check_ways
  measure_starts
  measure_rounds
  print_ways
  case $set in
    jpeg)
      decode_bar imghist 1.2
      peer_bar 1.35
      scaling_bar
      ;;
    baseline) peer_bar 1.8 ;;
    png) peer_bar 2.4 ;;
  esac
  if $has_cuda; then
    decode_bar imghist-auto 1.03
    decode_bar imghist-cuda 1.03
    if [ "$set" != png ]; then decode_bar imghist-kernels 1.03; fi
  fi
}

# Of the photos of 12 to 18 megapixels, those with the least, the median and the most bytes a pixel.
choose_photos() {
  awk '$1 >= 12e6 && $1 <= 18e6' "$work/$1" | while read -r n path; do
    echo "$(($(wc -c <"$path") * 1000 / n)) $path"
  done | sort -n | cut -d' ' -f2- | awk '{ p[NR] = $0 } END {
    if (NR > 0) print p[1]
    if (NR > 2) print p[int((NR + 1) / 2)]
    if (NR > 1) print p[NR] }'
}

# Measures one photo with every way, alternately. Sets ours, decoded and theirs to the medians in us; vips
# runs with its default threads and with one.
time_photo() {
  local path=$1 i
  rm -f "$work/ours" "$work/decoded" "$work/all" "$work/own"
  for ((i = 0; i < 2 * rounds + 1; i++)); do
    measure /dev/null "$program" --device=cpu --csv "$path"
    echo "$time_us" >>"$work/ours"
    measure /dev/null "$bin/decode_only" "$path"
    echo "$time_us" >>"$work/decoded"
    if [ -z "$vips" ]; then continue; fi
    measure /dev/null "$vips" hist_find "$path" "$work/histogram.v"
    echo "$time_us" >>"$work/all"
    VIPS_CONCURRENCY=1 measure /dev/null "$vips" hist_find "$path" "$work/histogram.v"
    echo "$time_us" >>"$work/own"
  done
  ours=$(median <"$work/ours") decoded=$(median <"$work/decoded") theirs=0
  if [ -n "$vips" ]; then
    theirs=$( (median <"$work/all"; median <"$work/own") | least)
  fi
}

one_photo() {
  local kind path limit ours theirs decoded name kind_of_photo
  echo
  echo "## One photo, process start to exit, -j$cores, median of $((2 * rounds + 1))"
  for kind in jpeg png; do
    case $kind in jpeg) limit=1.5 ;; png) limit=1.7 ;; esac
    choose_photos "$kind" >"$work/chosen"
    [ -s "$work/chosen" ] || echo "$kind: none of 12 to 18 megapixels here"
    while read -r path; do
      say "one photo: $path"
      time_photo "$path"
      name=${path##*/share/}
      name=${name#"${PHOTOS:-$PHOTO_CACHE}/"}
      kind_of_photo=$(awk -v path="$path" '{ kind = $1; sub(/^[^ ]+ [0-9]+ /, "") } $0 == path { print kind }' "$work/kinds")
      awk -v name="$name" -v kind="$kind_of_photo" -v a="$ours" -v b="$decoded" -v c="$theirs" 'BEGIN {
        printf "%s (%s)\n  imghist --csv %.1f ms, decode only %.1f ms", name, kind, a / 1000, b / 1000
        if (c > 0) printf ", vips hist_find %.1f ms", c / 1000
        printf "\n" }'
      if [ "$theirs" != 0 ]; then
        bar "vips hist_find / imghist" at-least "$limit" \
          "$(awk -v a="$theirs" -v b="$ours" 'BEGIN { printf "%.4f", a / b }')"
      fi
    done <"$work/chosen"
  done
}

# Sets peak to the peak memory of imghist -j2 over a list, in MB of 10^6 bytes.
peak_of() {
  measure /dev/null "$program" --device=cpu -j2 --csv=stats "--files-from=$1"
  peak=$(awk -v kib="$peak_kib" 'BEGIN { printf "%.1f", kib * 1024 / 1e6 }')
}

memory() {
  local peak few i
  echo
  echo "## Peak memory, imghist -j2, MB"
  say "memory"
  if [ -s "$work/baseline" ]; then
    peak_of "$work/baseline.list"
    bar "baseline JPEG, $(describe_photos baseline)" at-most 64 "$peak"
  fi
  awk '$1 <= 20e6' "$work/png" >"$work/png20"
  if [ -s "$work/png20" ]; then
    cut -d' ' -f2- "$work/png20" >"$work/png20.list"
    peak_of "$work/png20.list"
    bar "PNG of up to 20 MP, $(describe_photos png20)" at-most 300 "$peak"
  fi
  for ((i = 0; i < SMALL_FILES; i++)); do echo "$tiny"; done >"$work/many.list"
  head -n $((SMALL_FILES / 100)) "$work/many.list" >"$work/few.list"
  peak_of "$work/few.list"
  few=$peak
  peak_of "$work/many.list"
  bar "$SMALL_FILES small files ($peak) less $((SMALL_FILES / 100)) ($few)" at-most 10 "$(awk -v a="$peak" -v b="$few" 'BEGIN { printf "%.1f", a - b }')"
}

bytes() {
  local set n device
  echo
  echo "## The bytes of the output, against -j2 on the CPU"
  for set in jpeg png; do
    [ -s "$work/$set" ] || continue
    say "bytes: $set"
    measure "$work/reference" "$program" --device=cpu -j2 --csv "--files-from=$work/$set.list"
    for n in 1 16; do
      measure "$work/output" "$program" --device=cpu "-j$n" --csv "--files-from=$work/$set.list"
      same_bytes "$set, -j$n"
    done
    if $has_cuda; then
      for device in cuda auto; do
        measure "$work/output" "$program" "--device=$device" --csv "--files-from=$work/$set.list"
        same_bytes "$set, --device=$device"
      done
    fi
  done
}

same_bytes() {
  if cmp -s "$work/reference" "$work/output"; then
    echo "  met      $1: the same"
  else
    echo "  NOT MET  $1: other bytes"
  fi
}

# ---- main -------------------------------------------------------------------------------------

# Prints the programs and the machine.
print_header() {
  local gpu line
  echo "command   $command_line"
  echo "date      $(date -u +%F)"
  echo "cpu       $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $cores cores," \
    "$(awk '/^MemTotal/ { printf "%.0f", $2 / 1024 / 1024 }' /proc/meminfo) GiB"
  if $has_cuda; then
    gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1) || true
    echo "gpu       ${gpu:-present}"
  fi
  echo "program   $("$program" --version | head -n 1), commit $(git describe --always --dirty 2>/dev/null || echo unknown)"
  echo "decoders  $("$bin/decode_only" -V), $(${CC:-cc} --version | head -n 1)"
  for line in "${versions[@]}"; do echo "peer      $line"; done
  for line in "${missing[@]}"; do echo "left out  $line is missing"; done
  print_photos
}

for section in "$@"; do
  case $section in
    jpeg | baseline | png | one | scaling | memory | bytes) ;;
    *) die "no section $section (there are: jpeg baseline png one scaling memory bytes)" ;;
  esac
done
if [ $# = 0 ]; then set -- jpeg baseline png one scaling memory bytes; fi

build_tools
find_peers
find_photos
print_header
say "reading the photos once into the page cache"
cut -d' ' -f3- "$work/kinds" | tr '\n' '\0' | xargs -0 cat >/dev/null
for section in "$@"; do
  case $section in
    jpeg | baseline | png) directory "$section" ;;
    one) one_photo ;;
    *) "$section" ;;
  esac
done
