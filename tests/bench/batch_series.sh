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
