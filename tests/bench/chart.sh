#!/usr/bin/env bash
# chart.sh [RUNS [FILE...]]: measures the time that a chart of 1024 x 640 adds to counting an image.
#
# Counts each FILE RUNS times (21), in turn without a chart and with one in each format. The default FILE
# is a photograph of 24 megapixels made from the sample scene. Prints medians of CPU time (user and
# system) and wall time, and the least CPU time, which is more stable on a busy machine. Exit status 1 if a
# PNG adds more than 15 ms to that. "small": a PNG with --thumbnails, which looks at every pixel again.
#
# PROGRAM=FILE measures another program than ./imghist.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/bench/figures.sh
. tests/bench/figures.sh
runs=${1:-21}
[ $# -eq 0 ] || shift
program=$(realpath "${PROGRAM:-./imghist}")
work=build/bench/chart
mkdir -p "$work"
if [ $# -eq 0 ]; then
  read -ra libpng <<<"$(pkg-config --cflags --libs libpng)"
  ${CC:-cc} -std=c11 -O2 -o "$work/make_images" tests/gallery/make_images.c "${libpng[@]}" -lm
  "$work/make_images" --photo samples/scene.png >"$work/photo.ppm"
  set -- "$work/photo.ppm"
fi

TIMEFORMAT='%U %S %R'
measure() { { time "$program" -q --device=cpu --csv=stats -o /dev/null "$@" >/dev/null; } 2>&1; }

is_slow=0
echo "$(date -u +%F)  $(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) CPUs"
echo "$("$program" --version | head -n 1), $runs runs each, medians in ms"
for file; do
  rm -f "$work"/times.*
  for ((i = 0; i < runs; i++)); do
    measure "$file" >>"$work/times.none"
    for format in png svg jpg bmp tga; do
      measure "$file" --chart="$work/chart.$format" >>"$work/times.$format"
    done
    measure "$file" --thumbnails --chart="$work/small.png" >>"$work/times.small"
  done
  echo
  echo "$(basename "$file"), $(wc -c <"$file") bytes"
  printf '%-6s %10s %10s %10s %12s %12s %12s %10s\n' chart "CPU" "least CPU" wall "adds: CPU" "adds: least" \
    "adds: wall" bytes
  cp "$work/small.png" "$work/chart.small"
  for format in none png svg jpg bmp tga small; do
    awk '{ print ($1 + $2) * 1000 }' "$work/times.$format" >"$work/cpu"
    cpu=$(median <"$work/cpu") cpu_least=$(least <"$work/cpu")
    clock=$(awk '{ print $3 * 1000 }' "$work/times.$format" | median)
    [ "$format" != none ] || { cpu_none=$cpu least_none=$cpu_least clock_none=$clock; }
    bytes=0
    [ "$format" = none ] || bytes=$(wc -c <"$work/chart.$format")
    printf '%-6s %10d %10d %10d %12d %12d %12d %10d\n' "$format" "$cpu" "$cpu_least" "$clock" \
      $((cpu - cpu_none)) $((cpu_least - least_none)) $((clock - clock_none)) "$bytes"
    [ "$format" != png ] || [ $((cpu_least - least_none)) -le 15 ] || is_slow=1
  done
done
exit $is_slow
