#!/usr/bin/env bash
# same_output.sh OLD NEW PATH...: compares what two builds of imghist write, byte by byte.
#
# Both programs read every PATH (an image or a directory) with each CSV layout, --json, --ndjson, both
# text views in several widths, and draw charts in every format, theme, scale and in several sizes.
# Standard output, chart files and exit statuses must be the same. Error messages are not compared, so
# PATH should hold sound images: JSON and the text views quote the messages of failed inputs.
#
# Prints a line for each comparison, then "N passed, N failed". Fails if anything differs.
set -uo pipefail

if [ $# -lt 3 ]; then
  echo "usage: same_output.sh OLD NEW PATH..." >&2
  exit 2
fi
old=$(realpath "$1") new=$(realpath "$2")
shift 2
paths=("$@")
mapfile -d '' -t files < <(find "${paths[@]}" -type f -print0 | LC_ALL=C sort -z)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset IMGHIST_DEVICE NO_COLOR COLUMNS
export LC_ALL=C TERM=dumb
n_passed=0 n_failed=0
# report NAME PROBLEM: counts and prints one comparison; an empty PROBLEM means that it passed.
report() {
  if [ -z "$2" ]; then
    n_passed=$((n_passed + 1))
    echo "same    $1"
  else
    n_failed=$((n_failed + 1))
    echo "DIFFERS $1: $2"
  fi
}

# same NAME ARG...: compares standard output and exit status of both programs.
same() {
  local name=$1 old_status=0 new_status=0 problem=""
  shift
  "$old" "$@" >"$work/old" 2>/dev/null || old_status=$?
  "$new" "$@" >"$work/new" 2>/dev/null || new_status=$?
  [ $old_status -eq $new_status ] || problem="exit status $old_status, now $new_status"
  [ -n "$problem" ] || problem=$(cmp "$work/old" "$work/new" 2>&1)
  report "$name" "$problem"
}

# same_charts NAME ARG...: compares the charts that both programs draw into a directory.
same_charts() {
  local name=$1 old_status=0 new_status=0 problem=""
  shift
  rm -rf "$work/charts.old" "$work/charts.new"
  mkdir "$work/charts.old" "$work/charts.new"
  "$old" "$@" --chart="$work/charts.old" 2>/dev/null || old_status=$?
  "$new" "$@" --chart="$work/charts.new" 2>/dev/null || new_status=$?
  [ $old_status -eq $new_status ] || problem="exit status $old_status, now $new_status"
  [ -n "$problem" ] || problem=$(diff -rq "$work/charts.old" "$work/charts.new" 2>&1 | head -n 1)
  report "$name ($(find "$work/charts.new" -type f | wc -l) files)" "$problem"
}

# same_chart_files NAME FORMAT ARG...: compares one chart file for each input. Damaged inputs have none.
same_chart_files() {
  local name=$1 format=$2 problem="" n=0 file
  shift 2
  for file in "${files[@]}"; do
    rm -f "$work"/{old,new}."$format"
    "$old" "$file" --chart="$work/old.$format" "$@" 2>/dev/null
    "$new" "$file" --chart="$work/new.$format" "$@" 2>/dev/null
    [ -e "$work/old.$format" ] || [ -e "$work/new.$format" ] || continue
    n=$((n + 1))
    cmp -s "$work/old.$format" "$work/new.$format" || problem+="$file "
  done
  report "$name ($n files)" "$problem"
}

for layout in channels bins long stats; do
  same "--csv=$layout" "${paths[@]}" --csv=$layout
  same "--csv=$layout --total" "${paths[@]}" --csv=$layout --total --clip=5,250 --luma=bt601
done
for format in --json --ndjson; do
  same "$format" "${paths[@]}" $format
  same "$format --total" "${paths[@]}" $format --total --clip=5,250 --luma=bt601
  same "$format --total-only" "${paths[@]}" $format --total-only --alpha=skip-transparent
done

for view in full lines; do
  for locale in C C.UTF-8; do
    for columns in 40 64 80 97 98 100 119 120 132 136 160 200; do
      export LC_ALL=$locale COLUMNS=$columns
      same "--text=$view, $columns columns, $locale" "${paths[@]}" --text=$view --total
    done
  done
  unset COLUMNS
  export LC_ALL=C
  # Colours need a terminal.
  for columns in $(command -v script >/dev/null && echo 40 80 140); do
    for build in old new; do
      printf 'stty cols %d; ' "$columns" >"$work/run.sh"
      printf '%q ' "${!build}" "${paths[@]}" --text=$view --total --progress=never >>"$work/run.sh"
      LC_ALL=C.UTF-8 TERM=xterm script -qec "bash $work/run.sh 2>/dev/null" /dev/null </dev/null >"$work/$build"
    done
    report "--text=$view on a terminal of $columns columns" "$(cmp "$work/old" "$work/new" 2>&1)"
  done
done

for theme in dark light; do
  for scale in linear log sqrt; do
    for size in 320x200 640x1000 1024x640 1800x360; do
      same_charts "charts, $theme $scale $size" "${paths[@]}" --total --theme=$theme --scale=$scale --chart-size=$size
    done
  done
done
for format in png svg jpg bmp tga; do
  same_chart_files "charts in .$format" $format
  same_chart_files "charts in .$format, light log 480x300" $format --theme=light --scale=log --chart-size=480x300
done

echo "$n_passed passed, $n_failed failed"
[ $n_failed -eq 0 ]
