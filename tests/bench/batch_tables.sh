# shellcheck shell=bash
# Part of batch.sh: runs every way over a set of photos, alternately, and prints the table and the targets.

# bar TEXT at-least|at-most LIMIT RATIO [RATIO]: prints whether a target is met; the worse ratio decides.
bar() {
  awk -v text="$1" -v kind="$2" -v limit="$3" -v a="$4" -v b="${5:-$4}" 'BEGIN {
    worse = kind == "at-least" ? (a < b ? a : b) : (a > b ? a : b)
    met = kind == "at-least" ? worse >= limit : worse <= limit
    values = a == b ? sprintf("%.3f", a) : sprintf("%.3f, %.3f without start-up", a, b)
    sub("-", " ", kind)
    printf "  %-7s  %s: %s (%s %s)\n", met ? "met" : "NOT MET", text, values, kind, limit }'
}

# Prints the two ratios of way $1 to way $2: of complete runs, and without start-up.
ratios() {
  awk -v a="${times[$1]}" -v b="${times[$2]}" -v c="${starts[$1]}" -v d="${starts[$2]}" \
    'BEGIN { printf "%.4f %.4f\n", a / b, (a - c) / (b - d) }'
}

declare -A times=() starts=() peaks=() minima=() pixels=()

# Sets starts[way]: the median of five runs over one small image of the set's format, because a decoder
# may have start-up costs too.
measure_starts() {
  local way i
  case $set in png) echo "$tiny" ;; *) echo samples/scene.jpg ;; esac >"$work/tiny.list"
  for way in "${ways[@]}"; do
    : >"$work/start"
    for ((i = 0; i < 5; i++)); do
      command_of "$way" "$work/tiny.list"
      measure /dev/null "${cmd[@]}"
      echo "$time_us" >>"$work/start"
    done
    starts[$way]=$(median <"$work/start")
  done
}

# Runs the ways of the set alternately; sets times, minima (us), peaks (KiB) and pixels of each. Ways with
# one thread make fewer passes, by the number of cores.
measure_rounds() {
  local way round few=$(((loops + cores - 1) / cores))
  local n_pixels
  n_pixels=$(awk '{ n += $1 } END { print n }' "$work/$set")
  repeat_list "$set" "$loops" >"$work/many.list"
  repeat_list "$set" "$few" >"$work/few.list"
  rm -f "$work"/time.* "$work"/peak.*
  for ((round = 1; round <= rounds; round++)); do
    say "$set: round $round of $rounds"
    for way in "${ways[@]}"; do
      case $way in
        *-1) command_of "$way" "$work/few.list" ;;
        *) command_of "$way" "$work/many.list" ;;
      esac
      measure /dev/null "${cmd[@]}"
      echo "$time_us" >>"$work/time.$way"
      echo "$peak_kib" >>"$work/peak.$way"
    done
  done
  for way in "${ways[@]}"; do
    times[$way]=$(median <"$work/time.$way")
    minima[$way]=$(least <"$work/time.$way")
    peaks[$way]=$(most <"$work/peak.$way")
    case $way in *-1) pixels[$way]=$((n_pixels * few)) ;; *) pixels[$way]=$((n_pixels * loops)) ;; esac
  done
}

print_ways() {
  local way line
  printf '%-32s %9s %9s %9s %7s %9s %10s %9s\n' '' 'median s' 'least s' 'start s' 'MP/s' 'peak MB' '/ imghist' 'no start'
  for way in "${ways[@]}"; do
    printf '%-32s %s\n' "$(label_of "$way")" "$(awk -v t="${times[$way]}" -v l="${minima[$way]}" \
      -v s="${starts[$way]}" -v n="${pixels[$way]}" -v p="${peaks[$way]}" -v n0="${pixels[imghist]}" \
      -v t0="${times[imghist]}" -v s0="${starts[imghist]}" 'BEGIN {
        printf "%9.3f %9.3f %9.3f %7.0f %9.1f %10.3f %9.3f", t / 1e6, l / 1e6, s / 1e6, n / t,
          p * 1024 / 1e6, t / n / (t0 / n0), (t - s) / n / ((t0 - s0) / n0) }')"
  done
  if ((${#checked[@]})); then
    echo "Files with the same counts as imghist in the same channels"
    for line in "${checked[@]}"; do echo "  $line"; done
  fi
}

# The target against the fastest peer; without start-up another peer may be the fastest.
peer_bar() {
  local way full net
  for way in "${ways[@]}"; do
    if is_peer "$way"; then echo "$(ratios "$way" imghist) $(label_of "$way")"; fi
  done >"$work/ratios"
  if [ ! -s "$work/ratios" ]; then
    echo "           no peers to compare with"
    return
  fi
  full=$(sort -n "$work/ratios" | head -n 1 | cut -d' ' -f3-)
  net=$(sort -k2n "$work/ratios" | head -n 1 | cut -d' ' -f3-)
  if [ "$full" != "$net" ]; then full="$full; without start-up $net"; fi
  bar "the fastest other / imghist ($full)" at-least "$1" \
    "$(cut -d' ' -f1 "$work/ratios" | least)" "$(cut -d' ' -f2 "$work/ratios" | least)"
}

decode_bar() { # WAY LIMIT
  local pair
  pair=$(ratios "$1" decode)
  bar "$(label_of "$1") / decode only" at-most "$2" "${pair% *}" "${pair#* }"
}

# The targets: 1.9 with 2 cores, 14 with 16.
scaling_bar() {
  local ratio
  [ "$cores" -gt 1 ] || return 0
  ratio=$(awk -v a="${pixels[imghist]}" -v b="${times[imghist]}" -v c="${pixels[imghist-1]}" \
    -v d="${times[imghist-1]}" 'BEGIN { printf "%.4f", a / b / (c / d) }')
  case $cores in
    2) bar "-j2 / -j1, MP/s" at-least 1.9 "$ratio" ;;
    16) bar "-j16 / -j1, MP/s" at-least 14 "$ratio" ;;
    *) echo "           -j$cores / -j1, MP/s: $ratio (no target for $cores cores)" ;;
  esac
}
