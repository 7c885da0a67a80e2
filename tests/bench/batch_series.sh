# shellcheck shell=bash
# Part of batch.sh: series of runs with more threads, and with more photos.

# Each thread gets the same photos as a single thread; prints how many times as much is done in the same
# time. A loop in registers alone shows the loss of the machine itself.
scaling() {
  local round n way least_of
  local -a counts=()
  for ((n = 1; n < cores; n *= 2)); do counts+=("$n"); done
  counts+=("$cores")
  echo
  echo "## Scaling: JPEG, $(describe_photos jpeg), once for each thread; best of $rounds"
  printf '%-12s %9s %9s %12s %10s\n' threads MP/s imghist 'decode only' registers
  rm -f "$work"/scaling.*
  for ((round = 1; round <= rounds; round++)); do
    say "scaling: round $round of $rounds"
    for n in "${counts[@]}"; do
      repeat_list jpeg "$n" >"$work/many.list"
      measure /dev/null "$program" --device=cpu "-j$n" --csv "--files-from=$work/many.list"
      echo "$time_us" >>"$work/scaling.imghist.$n"
      measure /dev/null "$bin/decode_only" -j "$n" -f "$work/many.list"
      echo "$time_us" >>"$work/scaling.decode.$n"
      measure /dev/null "$bin/spin" "$n"
      echo "$time_us" >>"$work/scaling.spin.$n"
    done
  done
  for n in "${counts[@]}"; do
    for way in imghist decode spin; do
      for least_of in 1 "$n"; do least <"$work/scaling.$way.$least_of"; done
    done | xargs | awk -v n="$n" -v pixels="$(awk '{ n += $1 } END { print n }' "$work/jpeg")" '{
      printf "%-12d %9.0f %9.2f %12.2f %10.2f\n", n, n * pixels / $2, n * $1 / $2, n * $3 / $4, n * $5 / $6 }'
  done
}

# Runs of 1, 8, 64 and 512 photos, from process start to exit: medians in ms of --device=cpu, cuda and auto,
# which should be as fast as the faster of the other two.
short() {
  local n i device
  echo
  echo "## Short runs, process start to exit, -j$cores, ms, medians of $((2 * rounds + 1))"
  if ! $has_cuda; then
    echo "no GPU"
    return
  fi
  printf '%-16s %9s %9s %9s   %s\n' 'JPEG files' cpu cuda auto 'auto / the faster'
  for n in 1 8 64 512; do
    say "short runs: $n"
    repeat_list jpeg "$n" | awk -v n="$n" 'NR <= n' >"$work/short.list"
    rm -f "$work"/short.cpu "$work"/short.cuda "$work"/short.auto
    for ((i = 0; i < 2 * rounds + 1; i++)); do
      for device in cpu cuda auto; do
        measure /dev/null "$program" "--device=$device" "-j$cores" --csv "--files-from=$work/short.list"
        echo "$time_us" >>"$work/short.$device"
      done
    done
    printf '%-16s %s\n' "$n" "$(awk -v a="$(median <"$work/short.cpu")" -v b="$(median <"$work/short.cuda")" \
      -v c="$(median <"$work/short.auto")" 'BEGIN {
        printf "%9.1f %9.1f %9.1f   %.2f", a / 1e3, b / 1e3, c / 1e3, c / (a < b ? a : b) }')"
  done
}
