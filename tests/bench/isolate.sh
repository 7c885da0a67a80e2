#!/usr/bin/env bash
# isolate.sh: what decoding in decoder processes costs on this machine. Medians of runs in turns.
#
# Formats that are normally decoded in the program: --isolate against none, for directories of photos
# (those of batch.sh) and 2,000 tiny files. Formats that always go to a decoder process: against a loop
# over the library (in_process.c), which decodes in its own process, for the same photos converted with
# ImageMagick. A directory of JPEGs shows how else the loop and the program differ.
#
#   PHOTOS=DIR, PACKAGES=..., PHOTO_CACHE=..., MIN_PIXELS=500000   which photos: see batch_photos.sh
#   ROUNDS=5               runs of each way
#   FILES=2000             number of tiny files
#   CONVERTED=8            number of photos converted to each of the other formats
#   BENCH_BUILD=build/bench                   for programs and converted photos
#
# Program and library are built from the working tree without CUDA. CPU time is that of all processes of a
# run. It is meaningful on a busy machine too, elapsed time is not; the load is printed. To keep a result:
#
#   tests/bench/isolate.sh | tee tests/bench/results/isolate_cpu.txt
set -euo pipefail
command_line="tests/bench/isolate.sh"
for name in FILES CONVERTED ROUNDS MIN_PIXELS; do
  [ -z "${!name+set}" ] || command_line="$name=${!name} $command_line"
done
cd "$(dirname "$0")/../.."
# shellcheck source=tests/bench/figures.sh
. tests/bench/figures.sh

cores=$(nproc) rounds=${ROUNDS:-5} n_files=${FILES:-2000} n_converted=${CONVERTED:-8}
bin=${BENCH_BUILD:-build/bench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/bench/batch_photos.sh
. tests/bench/batch_photos.sh

# ---- programs and files -----------------------------------------------------------------------

build_tools() {
  local tree=$bin/isolate-build libs
  mkdir -p "$bin"
  say "building"
  make -s CUDA=0 BUILD="$tree" "$tree/imghist" library >"$work/log" 2>&1 || { cat "$work/log" >&2; die "the build failed"; }
  read -r -a libs < <(sed -n 's/^Libs.private: *//p' "$tree/libimghist.pc")
  ${CC:-cc} -std=c11 -O2 -Isrc -o "$work/in_process" tests/bench/in_process.c "$tree/libimghist.a" "${libs[@]}" -pthread
  ${CC:-cc} -std=c11 -O2 -o "$bin/photo_kinds" tests/bench/photo_kinds.c
  cp "$tree/imghist" "$work/imghist" # so that a build meanwhile changes nothing
  program=$work/imghist
}

# converted FORMAT: converts the first baseline photos of 2 to 12 megapixels and lists them in
# $work/FORMAT.list. Fails if ImageMagick is missing or cannot write FORMAT.
converted() {
  local format=$1 into=$bin/isolate-photos photo copy n=0
  command -v convert >/dev/null || return 1
  mkdir -p "$into"
  : >"$work/$format.list"
  : >"$work/$format"
  while read -r pixels photo; do
    copy=$into/$(basename "$(dirname "$photo")")-$(basename "$photo" .jpg).$format
    [ -s "$copy" ] || convert "$photo" "$copy" 2>/dev/null || return 1
    echo "$copy" >>"$work/$format.list"
    echo "$pixels $copy" >>"$work/$format"
    n=$((n + 1))
  done < <(awk '$1 >= 2e6 && $1 <= 12e6' "$work/baseline" | head -n "$n_converted")
  [ "$n" -gt 0 ]
}

# tiny NAME FILE: $n_files copies of FILE of 256 pixels, listed in $work/NAME.list.
tiny() {
  local i
  mkdir "$work/dir-$1"
  for ((i = 0; i < n_files; i++)); do cp "$2" "$work/dir-$1/$i"; done
  find "$work/dir-$1" -type f | LC_ALL=C sort >"$work/$1.list"
  sed 's/^/256 /' "$work/$1.list" >"$work/$1"
}

# ---- measuring --------------------------------------------------------------------------------

# Sets cmd to the command for way $1 over the list $2, and label.
command_of() {
  case $1 in
    plain) label=imghist cmd=("$program" --device=cpu "-j$cores" --csv=stats "--files-from=$2") ;;
    isolate) label='imghist --isolate' cmd=("$program" --device=cpu "-j$cores" --csv=stats --isolate "--files-from=$2") ;;
    library) label='in the process' cmd=("$work/in_process" "$cores" "$2") ;;
  esac
}

# timed FILE COMMAND...: appends its elapsed seconds and the CPU seconds of all its processes to $work/FILE.
timed() {
  local file=$1
  shift
  TIMEFORMAT='%R %U %S'
  { time "$@" >/dev/null 2>"$work/err"; } 2>"$work/time" || { cat "$work/err" >&2; die "failed: $*"; }
  awk '{ print $1, $2 + $3 }' "$work/time" >>"$work/$file"
}

# against TITLE SET WAY WAY: runs both in turns over SET; ratios are first / second.
against() {
  local title=$1 set=$2 ways=("$3" "$4") way round
  rm -f "$work"/t.*
  say "$title"
  for ((round = 0; round <= rounds; round++)); do # the first only warms up
    [ "$round" != 1 ] || rm -f "$work"/t.*
    for way in "${ways[@]}"; do
      command_of "$way" "$work/$set.list"
      timed "t.$way" "${cmd[@]}"
    done
  done
  for way in "${ways[@]}"; do
    cut -d' ' -f1 "$work/t.$way" | median >"$work/wall.$way"
    cut -d' ' -f2 "$work/t.$way" | median >"$work/cpu.$way"
  done
  echo
  awk '{ n += $1 } END { printf "'"$title"': %d files, %.1f MP\n", NR, n / 1e6 }' "$work/$set"
  for way in "${ways[@]}"; do
    command_of "$way" "$work/$set.list"
    awk -v label="$label" -v wall="$(cat "$work/wall.$way")" -v cpu="$(cat "$work/cpu.$way")" \
      -v to_wall="$(cat "$work/wall.$4")" -v to_cpu="$(cat "$work/cpu.$4")" '
      { n += $1 / 1e6 }
      END { printf "  %-22s %8.3f %7.0f %7.1f %7.3f %8.3f %7.0f %7.1f %7.3f\n", label, wall, NR / wall, n / wall,
                   wall / to_wall, cpu, NR / cpu, n / cpu, cpu / to_cpu }' "$work/$set"
  done
}

load() { cut -d' ' -f1 /proc/loadavg; }

# ---- main -------------------------------------------------------------------------------------

build_tools
find_photos
for format in webp tiff gif heic; do
  say "making $format"
  if ! converted "$format"; then left_out+=("$format"); rm -f "$work/$format"; fi
done
{ printf 'P6\n16 16\n255\n'; head -c 768 samples/scene.jpg; } >"$work/tiny.ppm"
tiny ppm "$work/tiny.ppm"
for format in gif webp; do
  if [ -s "$work/$format" ]; then
    convert "$work/tiny.ppm" "$work/tiny.$format"
    tiny "tiny-$format" "$work/tiny.$format"
  fi
done
"$program" --isolate --csv=stats "$work/tiny.ppm" >/dev/null || die "decoder processes cannot enter the sandbox here"

echo "command   $command_line"
echo "date      $(date -u +%F)"
echo "cpu       $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $cores cores"
echo "program   $("$program" --version | head -n 1), commit $(git describe --always --dirty 2>/dev/null || echo unknown), -j$cores"
echo "sandbox   $("$program" --list | sed -n 's/^ *isolated: *//p')"
print_photos
[ -z "${left_out[*]:-}" ] || echo "left out  ${left_out[*]}: no baseline photo, or ImageMagick cannot write it"
echo "rounds    $rounds, in turns; medians"
echo "load      $(load) at the start; elapsed times mean little if it is much more than 1"
echo
echo "                        elapsed                          CPU"
echo "                                s files/s    MP/s / below        s files/s    MP/s / below"
for set in jpeg png; do
  [ ! -s "$work/$set" ] || against "${set^^} photos" "$set" isolate plain
done
against "Tiny PPM, 16 x 16" ppm isolate plain
for set in webp tiff gif heic; do
  [ ! -s "$work/$set" ] || against "${set^^} photos, always isolated" "$set" plain library
done
for set in tiny-gif tiny-webp; do
  [ ! -s "$work/$set" ] || against "${set#tiny-}, 16 x 16, always isolated" "$set" plain library
done
[ ! -s "$work/baseline" ] || against "Baseline JPEG, not isolated" baseline plain library
head -n 1 "$work/ppm.list" >"$work/one.list"
head -n 1 "$work/ppm" >"$work/one"
against "One tiny file: the start of a decoder process" one isolate plain
echo
echo "load      $(load) at the end"
