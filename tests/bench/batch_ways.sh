# shellcheck shell=bash
# Part of batch.sh: the ways to decode and count a list of files, how they are run and timed, and
# whether their counts equal those of imghist.
#
# A way is one word. command_of sets `cmd`, label_of prints a description. Ways with the same word
# before the hyphen are variants of a program; slower variants run once and are then left out.

# Sets cmd to the command for way $1 over the list $2; $3 is --counts or missing.
command_of() {
  local way=$1 list=$2 counts=${3:-}
  local -a option=(${counts:+"$counts"})
  case $way in
    imghist) cmd=("$program" --device=cpu "-j$cores" --csv "--files-from=$list") ;;
    imghist-1) cmd=("$program" --device=cpu -j1 --csv "--files-from=$list") ;;
    imghist-auto) cmd=("$program" "-j$cores" --csv "--files-from=$list") ;;
    imghist-cuda) cmd=("$program" --device=cuda --jpeg=cpu "-j$cores" --csv "--files-from=$list") ;;
    imghist-nvjpeg) cmd=("$program" --device=cuda "-j$cores" --csv "--files-from=$list") ;;
    decode) cmd=("$bin/decode_only" -j "$cores" -f "$list") ;;
    decode-1) cmd=("$bin/decode_only" -j 1 -f "$list") ;;
    vips-files) cmd=("$bin/vips_histograms" "${option[@]}" "$cores" 1 "$list") ;;
    vips-both) cmd=("$bin/vips_histograms" "${option[@]}" "$cores" 2 "$list") ;;
    vips-own) cmd=("$bin/vips_histograms" "${option[@]}" 1 "$cores" "$list") ;;
    pillow-threads) cmd=("$python_pillow" "$peers/pillow_histograms.py" "${option[@]}" threads "$cores" "$list") ;;
    pillow-processes) cmd=("$python_pillow" "$peers/pillow_histograms.py" "${option[@]}" processes "$cores" "$list") ;;
    opencv-threads) cmd=("$python_opencv" "$peers/opencv_histograms.py" "${option[@]}" "$cores" "$list") ;;
    magick-processes) cmd=("$peers/magick_histograms.sh" "${option[@]}" "$cores" 1 "$list") ;;
    magick-own) cmd=("$peers/magick_histograms.sh" "${option[@]}" 1 0 "$list") ;;
    *) die "unknown way $way" ;;
  esac
}

label_of() {
  case $1 in
    imghist) echo "imghist -j$cores" ;;
    imghist-1) echo "imghist -j1" ;;
    imghist-auto) echo "imghist -j$cores --device=auto" ;;
    imghist-cuda) echo "imghist -j$cores --device=cuda --jpeg=cpu" ;;
    imghist-nvjpeg) echo "imghist -j$cores --device=cuda" ;;
    decode) echo "decode only, $cores processes" ;;
    decode-1) echo "decode only, 1 process" ;;
    vips-files) echo "libvips, $cores workers of 1 thread" ;;
    vips-both) echo "libvips, $cores workers of 2 threads" ;;
    vips-own) echo "libvips, its own $cores threads" ;;
    pillow-threads) echo "Pillow, $cores threads" ;;
    pillow-processes) echo "Pillow, $cores processes" ;;
    opencv-threads) echo "OpenCV, $cores threads" ;;
    magick-processes) echo "ImageMagick, $cores processes" ;;
    magick-own) echo "ImageMagick, its own threads" ;;
  esac
}

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

# Sets peer_ways, versions, and missing: the missing peers and their packages.
find_peers() {
  peer_ways=() versions=() missing=()
  case " $PEERS " in *" vips "*)
    # shellcheck disable=SC2046 # split the flags
    if pkg-config --exists vips 2>/dev/null &&
      ${CC:-cc} -std=c11 -O2 -o "$bin/vips_histograms" "$peers/vips_histograms.c" \
        $(pkg-config --cflags --libs vips) -pthread; then
      peer_ways+=(vips-files vips-both vips-own)
      versions+=("libvips $("$bin/vips_histograms" --version)")
    else
      missing+=("libvips (libvips-dev)")
    fi ;;
  esac
  case " $PEERS " in *" pillow "*)
    python_pillow=$(python_with PIL.Image)
    if [ -n "$python_pillow" ]; then
      peer_ways+=(pillow-threads pillow-processes)
      versions+=("Pillow $("$python_pillow" "$peers/pillow_histograms.py" --version)")
    else
      missing+=("Pillow (python3-pil)")
    fi ;;
  esac
  case " $PEERS " in *" opencv "*)
    python_opencv=$(python_with cv2)
    if [ -n "$python_opencv" ]; then
      peer_ways+=(opencv-threads)
      versions+=("OpenCV $("$python_opencv" "$peers/opencv_histograms.py" --version)")
    else
      missing+=("OpenCV (python3-opencv)")
    fi ;;
  esac
  case " $PEERS " in *" magick "*)
    local version
    version=$("$peers/magick_histograms.sh" --version 2>/dev/null) || true
    if [ -n "$version" ]; then
      peer_ways+=(magick-processes magick-own)
      versions+=("ImageMagick $version")
    else
      missing+=("ImageMagick (imagemagick)")
    fi ;;
  esac
  vips=''
  case " $PEERS " in *" vips "*)
    # shellcheck disable=SC2034 # for one_photo
    vips=$(command -v vips) || missing+=("the vips command (libvips-tools)") ;;
  esac
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
