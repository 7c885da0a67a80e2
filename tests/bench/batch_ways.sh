# shellcheck shell=bash
# Part of batch.sh: the ways to decode and count a list of files, how they are run and timed, and
# whether their counts equal those of imghist.
#
# A way is one word. command_of sets `cmd` and `label`, a description. Ways with the same word before
# the hyphen are variants of a program; slower variants run once and are then left out.

# Sets cmd to the command for way $1 over the list $2, and label; $3 is --counts or missing.
command_of() {
  local way=$1 list=$2 counts=${3:-}
  local -a option=(${counts:+"$counts"})
  local -a own=("$program" "-j$cores" --csv "--files-from=$list")
  case $way in
    imghist) label="imghist -j$cores" cmd=("${own[@]}" --device=cpu) ;;
    imghist-1) label="imghist -j1" cmd=("$program" --device=cpu -j1 --csv "--files-from=$list") ;;
    imghist-auto) label="imghist -j$cores --device=auto" cmd=("${own[@]}") ;;
    imghist-cuda) label="imghist -j$cores --device=cuda --jpeg=cpu" cmd=("${own[@]}" --device=cuda --jpeg=cpu) ;;
    imghist-kernels) label="imghist -j$cores --device=cuda" cmd=("${own[@]}" --device=cuda) ;;
    decode) label="decode only, $cores processes" cmd=("$bin/decode_only" -j "$cores" -f "$list") ;;
    decode-1) label="decode only, 1 process" cmd=("$bin/decode_only" -j 1 -f "$list") ;;
    vips-files) label="libvips, $cores workers of 1 thread" cmd=("$bin/vips_histograms" "${option[@]}" "$cores" 1 "$list") ;;
    vips-both) label="libvips, $cores workers of 2 threads" cmd=("$bin/vips_histograms" "${option[@]}" "$cores" 2 "$list") ;;
    vips-own) label="libvips, its own $cores threads" cmd=("$bin/vips_histograms" "${option[@]}" 1 "$cores" "$list") ;;
    pillow-*) label="Pillow, $cores ${way#*-}"
      cmd=("$python_pillow" "$peers/pillow_histograms.py" "${option[@]}" "${way#*-}" "$cores" "$list") ;;
    opencv-threads) label="OpenCV, $cores threads"
      cmd=("$python_opencv" "$peers/opencv_histograms.py" "${option[@]}" "$cores" "$list") ;;
    magick-processes) label="ImageMagick, $cores processes" cmd=("$peers/magick_histograms.sh" "${option[@]}" "$cores" 1 "$list") ;;
    magick-own) label="ImageMagick, its own threads" cmd=("$peers/magick_histograms.sh" "${option[@]}" 1 0 "$list") ;;
    *) die "unknown way $way" ;;
  esac
}

label_of() { command_of "$1" '' && echo "$label"; }

is_peer() { case $1 in vips-* | pillow-* | opencv-* | magick-*) true ;; *) false ;; esac; }

# ---- installed programs -----------------------------------------------------------------------

# Prints the first python that has a module, or nothing. The distribution's packages work with its python.
python_with() {
  local python
  for python in "${PYTHON:-python3}" /usr/bin/python3; do
    if "$python" -c "import $1" 2>/dev/null; then
      echo "$python"
      return
    fi
  done
}

build_tools() {
  local name
  mkdir -p "$bin"
  for name in measure photo_kinds spin; do
    ${CC:-cc} -std=c11 -O2 -pthread -o "$bin/$name" "tests/bench/$name.c"
  done
  tests/bench/build_decode_only.sh "$bin/decode_only"
}

is_wanted() { [[ " $PEERS " == *" $1 "* ]]; }

# add_peer NAME VERSION PACKAGE WAY...: VERSION is empty if the peer is missing.
add_peer() {
  if [ -n "$2" ]; then
    peer_ways+=("${@:4}") versions+=("$1 $2")
  else
    missing+=("$1 ($3)")
  fi
}

# Sets peer_ways, versions, and missing: the missing peers and their packages.
find_peers() {
  local version=''
  peer_ways=() versions=() missing=()
  vips=''
  if is_wanted vips; then
    # shellcheck disable=SC2046 # split the flags
    if pkg-config --exists vips 2>/dev/null &&
      ${CC:-cc} -std=c11 -O2 -o "$bin/vips_histograms" "$peers/vips_histograms.c" \
        $(pkg-config --cflags --libs vips) -pthread; then
      version=$("$bin/vips_histograms" --version)
    fi
    add_peer libvips "$version" libvips-dev vips-files vips-both vips-own
    # shellcheck disable=SC2034 # for one_photo
    vips=$(command -v vips) || missing+=("the vips command (libvips-tools)")
  fi
  if is_wanted pillow; then
    python_pillow=$(python_with PIL.Image)
    version=${python_pillow:+$("$python_pillow" "$peers/pillow_histograms.py" --version)}
    add_peer Pillow "$version" python3-pil pillow-threads pillow-processes
  fi
  if is_wanted opencv; then
    python_opencv=$(python_with cv2)
    version=${python_opencv:+$("$python_opencv" "$peers/opencv_histograms.py" --version)}
    add_peer OpenCV "$version" python3-opencv opencv-threads
  fi
  if is_wanted magick; then
    version=$("$peers/magick_histograms.sh" --version 2>/dev/null) || version=''
    add_peer ImageMagick "$version" imagemagick magick-processes magick-own
  fi
}

# ---- running ----------------------------------------------------------------------------------

# Runs a command with its output in $1; sets time_us and peak_kib.
measure() {
  "$bin/measure" "$@" >"$work/measured" 2>"$work/stderr" || {
    tail -n 20 "$work/stderr" >&2
    die "a run failed, see above: no figures"
  }
  # shellcheck disable=SC2034 # for its callers
  read -r time_us peak_kib <"$work/measured"
}

# The list $1 repeated $2 times.
repeat_list() {
  local i
  for ((i = 0; i < $2; i++)); do cat "$work/$1.list"; done
}

# Compares the counts in file $1 with ours. Prints the number of files with the same counts in the same
# channels, and the names of the others.
compare_counts() {
  awk -F, -v n_files="$(wc -l <"$work/$set.list")" '
    FNR == NR && FNR == 1 { for (i = 1; i <= NF; i++) if ($i == "bin_0") first = i; next }
    FNR == NR {
      if ($4 == "luma") next
      row = $first
      for (i = first + 1; i < first + 256; i++) row = row "," $i
      ours[$1 "," $4] = row
      channels[$1]++
      next
    }
    {
      key = $1 "," $2
      seen[$1]++
      if (!(key in ours)) other[$1] = 1
      else if (ours[key] != substr($0, length(key) + 2)) wrong[$1] = 1
    }
    END {
      for (f in channels) {
        name = f
        if (!sub(/.*\/share\//, "", name)) sub(/.*\//, "", name)
        if (f in wrong) { different++; names = names "\n            other counts: " name }
        else if (f in other || seen[f] != channels[f]) { different++; names = names "\n            other channels: " name }
      }
      printf "%d of %d%s\n", n_files - different, n_files, names
    }' "$work/ours.csv" "$1"
}

# Runs each way of the set once and compares its counts; this is also the warm-up. Sets `checked` (a line
# for each peer), and removes from `ways` the variants of a peer that are over 10 % slower than its fastest.
check_ways() {
  local way family
  local -A first=() fastest=()
  local -a kept=()
  say "$set: comparing the counts"
  command_of imghist "$work/$set.list"
  measure "$work/ours.csv" "${cmd[@]}"
  checked=()
  for way in "${ways[@]}"; do
    family=${way%%-*}
    if is_peer "$way"; then
      command_of "$way" "$work/$set.list" --counts
      measure "$work/theirs.csv" "${cmd[@]}"
      checked+=("$(label_of "$way"): $(compare_counts "$work/theirs.csv")")
      first[$way]=$time_us
      if [ "$time_us" -lt "${fastest[$family]:-$((time_us + 1))}" ]; then fastest[$family]=$time_us; fi
    elif [ "$way" = decode ]; then
      command_of decode "$work/$set.list"
      measure "$work/theirs.csv" "${cmd[@]}"
      [ "$(cat "$work/theirs.csv")" = "$(awk '{ n += $1 } END { printf "%d pixels", n }' "$work/$set")" ] ||
        die "decode_only: the number of pixels differs from the headers"
    fi
  done
  for way in "${ways[@]}"; do
    if ! is_peer "$way" || [ $((first[$way] * 10)) -le $((${fastest[${way%%-*}]} * 11)) ]; then
      kept+=("$way")
    fi
  done
  ways=("${kept[@]}")
}
