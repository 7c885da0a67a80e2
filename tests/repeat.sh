#!/usr/bin/env bash
# repeat.sh BUILD N [SUITE...]: runs the tests that depend on a closed pipe, a signal or a clock N times in a row, on a
# busy machine: a loop that never ends runs on each core meanwhile. With SUITE, only those of these suites of
# tests/cli/ ("failures", "timeout"). REPEAT_ALL=1: every test of them.
#
# A test that fails once in 200 runs fails in CI once a month. Prints each failure with its number, and the failures of
# each test. The last line is `N passed, N failed, N skipped`.
set -u

build=${1:?usage: repeat.sh BUILD N [SUITE...]} n_times=${2:?usage: repeat.sh BUILD N [SUITE...]}
shift 2
TESTS=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd) || exit 1
export TESTS IMGHIST="$build/imghist"
unset IMGHIST_DEVICE
# Without suites that build or install imghist, and run.bats, which tests run.sh itself.
[ $# -gt 0 ] || mapfile -t suites < <(cd "$TESTS/cli" && printf '%s\n' *.bats | sed 's/\.bats$//' | grep -vxE 'run|make|package|install|scale')
[ $# -gt 0 ] && suites=("$@")
logs=$build/repeat-logs
rm -rf "$logs"
mkdir -p "$logs"

# timed_tests FILE: the names of its tests that use a signal, a pipe that another process empties or closes, or a clock.
timed_tests() {
  awk -v all="${REPEAT_ALL:-0}" '
    /^@test "/ { name = $0; sub(/^@test "/, "", name); sub(/" \{.*$/, "", name); is_timed = all; is_test = 1 }
    is_test && /(^|[^[:alnum:]_])(kill -|interrupt|soon|sleep|mkfifo|under_way|PIPESTATUS|timeout --foreground|timeout --preserve|--timeout=1 )/ { is_timed = 1 }
    /^}/ { if (is_test && is_timed) print name; is_test = 0 }' "$1"
}

loops=()
trap 'kill "${loops[@]}" 2>/dev/null; exit 130' INT TERM
for ((i = 0; i < $(nproc); i++)); do
  while :; do :; done &
  loops+=($!)
done

passed=0 failed=0 skipped=0
for suite in "${suites[@]}"; do
  # The names as one regular expression of bats.
  filter=$(timed_tests "$TESTS/cli/$suite.bats" | sed 's/[][\.*^$+?(){}|]/\\&/g' | paste -sd '|')
  [ -n "$filter" ] || continue
  for ((n = 1; n <= n_times; n++)); do
    bats --tap --filter "^($filter)\$" "$TESTS/cli/$suite.bats" >"$logs/$suite" 2>&1 </dev/null
    failed_now=$(grep -c '^not ok' "$logs/$suite")
    skipped_now=$(grep -c '^ok .*# skip' "$logs/$suite")
    passed=$((passed + $(grep -c '^ok' "$logs/$suite") - skipped_now))
    skipped=$((skipped + skipped_now)) failed=$((failed + failed_now))
    [ "$failed_now" -eq 0 ] || { echo "$suite, run $n:"; awk '/^not ok/ { f = 1 } /^ok/ { f = 0 } f' "$logs/$suite" | tee -a "$logs/failures"; }
  done
  echo "$suite: $n_times times, $(timed_tests "$TESTS/cli/$suite.bats" | wc -l) tests"
done
kill "${loops[@]}"
wait "${loops[@]}" 2>/dev/null
[ ! -s "$logs/failures" ] || sed -n 's/^not ok [0-9]* //p' "$logs/failures" | sort | uniq -c
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
