#!/usr/bin/env bash
# magick_histograms.sh [--counts] PROCESSES THREADS LIST: the histogram of each channel of the files that
# LIST names, one a line, with ImageMagick: PROCESSES calls of its command at once, of THREADS threads each
# (0: as many as it takes). With --counts, prints PATH,CHANNEL,BIN_0,...,BIN_255 for each file and channel.
#
# Many users ask `histogram:info:` of the whole image instead: that counts colours, not values, and took 8 times as
# long for samples/scene.png. Alpha is left out: separating a missing one would cost a channel.
set -euo pipefail

# The names of ImageMagick 7, of Debian's version 6, and of other versions 6.
for program in magick convert-im6.q16 convert; do
  ! command -v "$program" >/dev/null || break
done

# One file: its kind, "=srgb", and its lines "COUNT: (V,V,V) #VVVVVV gray(V)" of each channel.
separated() {
  "$program" "$1" -set option:kind '%[channels]' -separate -depth 8 -format '=%[option:kind]\n%c' histogram:info:-
}

# The same as rows of CSV. ImageMagick has gray as three channels that are equal.
as_csv() {
  awk -v path="$1" '
    function row(name,   v, line) {
      line = path "," name
      for (v = 0; v < 256; v++) line = line "," (v in bins ? bins[v] : 0)
      print line
    }
    function flush() { if (n && n <= n_names) row(name[n]); delete bins }
    /^=/ {
      flush(); n++
      if (n == 1) n_names = split(/gray/ ? "gray" : "red green blue", name, " ")
      next
    }
    NF { match($0, /\([0-9]+/); bins[substr($0, RSTART + 1, RLENGTH - 1)] += $1 }
    END { flush() }'
}

if [ "${1:-}" = --version ]; then
  "$program" -version | sed -n 's/^Version: ImageMagick \([^ ]* [^ ]*\).*/\1/p'
  exit
fi
with_counts=false
if [ "$1" = --counts ]; then
  with_counts=true
  shift
fi
processes=$1 threads=$2 list=$3
if [ "$threads" != 0 ]; then export MAGICK_THREAD_LIMIT=$threads; fi
if $with_counts; then
  while IFS= read -r path; do
    separated "$path" | as_csv "$path"
  done <"$list"
else
  tr '\n' '\0' <"$list" | xargs -0 -P "$processes" -I '{}' \
    "$program" '{}' -separate -depth 8 -format '%c' histogram:info:-
fi
