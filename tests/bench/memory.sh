#!/usr/bin/env bash
# memory.sh [FILES]: peak memory for 1,000 and for FILES (100,000) small files, as a directory and as a
# list. Exit status 1 if they differ by more than 10 MB. PROGRAM: the program, if not ./imghist. The many
# files are hard links to the few, 1,000 in each folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
files=${1:-100000} program=$(realpath "${PROGRAM:-./imghist}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

mkdir -p few/0 many
for ((i = 0; i < 1000; i++)); do printf 'P5\n1 1\n255\nA' >few/0/$i; done
for ((i = 0; i < files / 1000; i++)); do cp -al few/0 many/$i; done

# peak ARG...: peak memory in megabytes and the number of files.
peak() {
  "$program" "$@" --csv=stats --device=cpu -j 2 -v 2>&1 >/dev/null |
    awk '/ done, / { n = $2 } /^ *memory / { print $2, n }'
}

bad=0
report() { # WHAT, FEW'S PEAK AND COUNT, MANY'S
  awk -v what="$1" -v few="$2" -v many="$3" 'BEGIN {
    split(few, a, " "); split(many, b, " ")
    printf "%-10s %7d files %6.1f MB   %7d files %6.1f MB   %+5.1f MB\n", what, a[2], a[1], b[2], b[1], b[1] - a[1]
    exit !(a[2] == 1000 && b[2] > a[2] && b[1] - a[1] < 10) }' || bad=1
}

echo "$(date -u +%F)  $("$program" --version), $(nproc) cores, 2 workers"
report directory "$(peak few)" "$(peak many)"
find few -type f >few.list
find many -type f >many.list
report list "$(peak --files-from=few.list)" "$(peak --files-from=many.list)"
exit $bad
