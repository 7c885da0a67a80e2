#!/usr/bin/env bash
# run.sh BUILD [SUITE...]: runs the unit tests in BUILD/tests/ and the command line's in tests/cli/,
# or of these only the suites named, where * and ? match ("test_png", "charts", "test_*").
#
# Both kinds speak TAP. A suite that crashes, hangs, ends early or reports nothing has failed, whatever
# it printed before. Whole logs are kept in BUILD/test-logs/; failures are shown here in full. The last
# line is `N passed, N failed, N skipped`.
#
# TEST_TIMEOUT is how many seconds a suite may take.
set -u

build=${1:?usage: run.sh BUILD [SUITE...]}
shift
wanted=("$@")
TESTS=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd) || exit 1
export TESTS IMGHIST="$build/imghist" CMOCKA_MESSAGE_OUTPUT=TAP
unset IMGHIST_DEVICE CMOCKA_XML_FILE

logs=$build/test-logs
rm -rf "$logs"
mkdir -p "$logs"
limit_s=${TEST_TIMEOUT:-300}
passed=0 failed=0 skipped=0

is_wanted() {
  [ ${#wanted[@]} -eq 0 ] && return
  local pattern
  for pattern in "${wanted[@]}"; do
    # shellcheck disable=SC2053 # a pattern is meant
    [[ $1 == $pattern ]] && return
  done
  return 1
}

# Reads TAP, prints "passed failed skipped missing"; missing are tests that were planned but not run.
# cmocka calls a skipped test "not ok N # SKIP", bats "ok N name # skip why".
count_tap() {
  awk '
    /^[[:space:]]*1\.\.[0-9]+/      { sub(/^[[:space:]]*1\.\./, ""); planned += $1; next }
    /^[[:space:]]*(not )?ok[ 0-9].*# *(SKIP|skip)/ { skipped++; next }
    /^[[:space:]]*ok[ 0-9]/         { passed++; next }
    /^[[:space:]]*not ok[ 0-9]/     { failed++; next }
    END {
      missing = planned - passed - failed - skipped
      print passed + 0, failed + 0, skipped + 0, (missing > 0 ? missing : 0)
    }' "$1"
}

# What of a suite's output one wants to see when it failed: all but the tests that passed.
show_failure() {
  awk '!/^[[:space:]]*(ok |1\.\.)/' "$1" | sed 's/^/    /'
  sed 's/^/    /' "$2"
}

# run_suite NAME COMMAND...
run_suite() {
  local name=$1 tap=$logs/$1.tap errors=$logs/$1.err start status n_passed n_failed n_skipped n_missing
  local why=''
  shift
  is_wanted "$name" || return
  start=${EPOCHREALTIME/[.,]/}
  { timeout --kill-after=10 "$limit_s" "$@" >"$tap" 2>"$errors" </dev/null; } 2>/dev/null
  status=$?
  read -r n_passed n_failed n_skipped n_missing < <(count_tap "$tap")

  if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    why="stopped after $limit_s s"
  elif [ "$status" -eq 127 ] && [ ! -s "$tap" ]; then
    why="not found: was it built?"
  elif [ "$status" -gt 128 ]; then
    why="ended by signal $((status - 128))"
  elif [ "$n_missing" -gt 0 ]; then
    why="$n_missing tests never reported"
  elif [ "$status" -ne 0 ] && [ "$n_failed" -eq 0 ]; then
    why="exit status $status"
  elif [ $((n_passed + n_failed + n_skipped)) -eq 0 ]; then
    why="no test ran"
  fi
  [ -z "$why" ] || n_failed=$((n_failed + 1))

  printf '%-24s %4d passed %4d failed %4d skipped %8.1f s\n' "$name" "$n_passed" "$n_failed" "$n_skipped" \
    "$(((${EPOCHREALTIME/[.,]/} - start) / 100000))e-1"
  if [ "$n_failed" -gt 0 ]; then
    show_failure "$tap" "$errors"
    [ -z "$why" ] || echo "    $name: $why"
  fi
  passed=$((passed + n_passed))
  failed=$((failed + n_failed))
  skipped=$((skipped + n_skipped))
}

for source in "$TESTS"/unit/test_*.c; do
  name=$(basename "$source" .c)
  [ ! -f "$source" ] || run_suite "$name" "$build/tests/$name"
done
for script in "$TESTS"/cli/*.bats; do
  [ ! -f "$script" ] || run_suite "$(basename "$script" .bats)" bats --tap "$script"
done

[ $((passed + failed)) -gt 0 ] || echo "run.sh: nothing ran: no test in $build/tests or tests/cli is called ${wanted[*]:-so}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ $((passed + failed)) -gt 0 ]
