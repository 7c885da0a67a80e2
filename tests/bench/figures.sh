# shellcheck shell=bash
# Shared by the benchmark scripts: messages, and figures from a column of numbers.

say() { echo "${0##*/}: $*" >&2; }
die() {
  say "$@"
  exit 1
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
least() { sort -n | head -n 1; }
most() { sort -n | tail -n 1; }
