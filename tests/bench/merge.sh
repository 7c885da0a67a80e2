#!/usr/bin/env bash
# merge.sh [RECORDS]: reads a result file of RECORDS (1,000,000) records, through a pipe that makes it on the fly, and
# sums them into a total. Prints the rate per second of CPU time and the peak memory. Exit status 1 below 300 MB/s or
# above 64 MB. PROGRAM: the program, if not ./imghist. PHOTOS: a folder of photos, if not that of batch.sh.
#
# The records are those of real photos, about 6 KB each, repeated. A file of a tenth of the size is read from disk and
# must give the same total, ten times smaller. The CPU time is that of imghist alone; the writer of the pipe has its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
records=${1:-1000000} program=$(realpath "${PROGRAM:-./imghist}")
photos=${PHOTOS:-build/bench/photos}
[ -d "$photos" ] || photos=samples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$program" "$photos" --ndjson -q >"$work/photos.ndjson" 2>/dev/null || [ $? -eq 1 ]
grep '"status":"ok"' "$work/photos.ndjson" >"$work/some.ndjson"
n_some=$(wc -l <"$work/some.ndjson")
times=$(((records + n_some - 1) / n_some / 10))
[ "$times" -gt 0 ] || { echo "merge.sh: fewer records than photos" >&2; exit 1; }
for ((i = 0; i < times; i++)); do cat "$work/some.ndjson"; done >"$work/tenth.ndjson"
bytes=$(stat -c %s "$work/tenth.ndjson")

bad=0
measure() { # WHAT BYTES INPUT...: the rate and memory of one run; its total is in total.csv
  local what=$1 bytes=$2 seconds
  shift 2
  TIMEFORMAT='%U %S'
  seconds=$({ time "$program" "$@" --total-only --csv=stats -j 1 -v >"$work/total.csv" 2>"$work/report"; } 2>&1)
  awk -v what="$what" -v bytes="$bytes" -v seconds="$seconds" '
    / done, / { n = $2 } /^ *memory / { memory = $2 }
    END { split(seconds, s, " ")
      rate = bytes / (s[1] + s[2]) / 1e6
      printf "%-6s %9d records %8.1f MB %7.2f s of CPU time %6.0f MB/s %6.1f MB of memory\n", what, n, bytes / 1e6,
        s[1] + s[2], rate, memory
      exit !(rate >= 300 && memory < 64) }' "$work/report" || bad=1
}

echo "$(date -u +%F)  $("$program" --version | head -1), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), \
one thread, photos of $photos"
measure file "$bytes" "$work/tenth.ndjson"
cut -d, -f5 "$work/total.csv" | sed 1d >"$work/tenth.counts"
mkfifo "$work/pipe"
for ((i = 0; i < 10; i++)); do cat "$work/tenth.ndjson"; done >"$work/pipe" &
measure pipe $((10 * bytes)) "$work/pipe"
wait
cut -d, -f5 "$work/total.csv" | sed 1d >"$work/counts"
awk '{ getline n <other } n * 10 != $1 { exit 1 }' other="$work/tenth.counts" "$work/counts" ||
  { echo "merge.sh: the totals differ" >&2; bad=1; }
exit $bad
