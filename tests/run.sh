#!/usr/bin/env bash
# run.sh BUILD [SUITE...]: runs the unit tests in BUILD/tests/ and the command line tests in tests/cli/. With
# SUITE, it runs only the suites with these names; * and ? match ("test_png", "chart", "test_*").
#
# Both kinds print TAP. A suite that crashes, hangs, ends early or reports nothing has failed, whatever it printed
# before. Complete logs are kept in BUILD/test-logs/. At the end each reason for skipped tests is shown
# once, with their number, and failures in full. The last line is `N passed, N failed, N skipped`.
#
# TEST_TIMEOUT: seconds that a suite may take (600). TEST_JOBS: suites that run at the same time; by default one
# per CPU core, at most 4, because most suites run several threads.
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
limit_s=${TEST_TIMEOUT:-600}
n_cores=$(nproc)
n_jobs=${TEST_JOBS:-$((n_cores < 4 ? n_cores : 4))}
[ "$n_jobs" -ge 1 ] 2>/dev/null || { echo "run.sh: TEST_JOBS=$n_jobs is not a number of suites" >&2; exit 1; }
passed=0 failed=0 skipped=0 absent='' failures=''
declare -A name_of=() start_of=() # of the running suites, by process
trap 'kill "${!name_of[@]}" 2>/dev/null; exit 130' INT TERM # timeout passes it on

is_wanted() {
  [ ${#wanted[@]} -eq 0 ] && return
  local pattern
  for pattern in "${wanted[@]}"; do
    # shellcheck disable=SC2053 # $pattern is a glob
    [[ $1 == $pattern ]] && return
  done
  return 1
}

# Reads TAP and prints "passed failed skipped missing"; missing tests were planned but did not run.
# cmocka prints a skipped test as "not ok N # SKIP", bats as "ok N name # skip why". Unit tests print "# skipped: why".
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

# Prints why tests were skipped: a line for each reason, the most frequent first.
show_reasons() {
  {
    sed -nE 's/^ok .* # skip ?//p; s/^# skipped: //p' "$logs"/*.tap
    [ -z "$absent" ] || printf 'not in this build:%s\n' "$absent"
  } | sed 's/^$/no reason given/' | sort | uniq -c | sort -rn
}

# Prints the output of a failed suite without the tests that passed.
show_failure() {
  awk '!/^[[:space:]]*(ok |1\.\.)/' "$1" | sed 's/^/    /'
  sed 's/^/    /' "$2"
}

# run_suite NAME COMMAND...: starts a suite as soon as fewer than n_jobs are running.
run_suite() {
  local name=$1
  shift
  is_wanted "$name" || return
  wait_for_suites "$((n_jobs - 1))"
  timeout --kill-after=10 "$limit_s" "$@" >"$logs/$name.tap" 2>"$logs/$name.err" </dev/null &
  name_of[$!]=$name start_of[$!]=${EPOCHREALTIME/[.,]/}
}

# wait_for_suites N: reports suites as they end, until at most N are left.
wait_for_suites() {
  local pid status
  while [ "${#name_of[@]}" -gt "$1" ]; do
    for pid in "${!name_of[@]}"; do
      ! kill -0 "$pid" 2>/dev/null || continue
      { wait "$pid"; } 2>/dev/null
      status=$?
      report "${name_of[$pid]}" "$status" "$((${EPOCHREALTIME/[.,]/} - start_of[$pid]))"
      unset "name_of[$pid]" "start_of[$pid]"
      continue 2 # another suite may have ended meanwhile, and wait -n does not report it
    done
    { wait -n "${!name_of[@]}"; } 2>/dev/null
  done
}

# report NAME STATUS MICROSECONDS: prints the result of a suite.
report() {
  local name=$1 status=$2 elapsed_us=$3 tap=$logs/$1.tap errors=$logs/$1.err
  local n_passed n_failed n_skipped n_missing why=''
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
    "$((elapsed_us / 100000))e-1"
  [ "$n_failed" -eq 0 ] || failures+=$(echo "$name:${why:+ $why}"; show_failure "$tap" "$errors")$'\n'
  passed=$((passed + n_passed))
  failed=$((failed + n_failed))
  skipped=$((skipped + n_skipped))
}

# is_built NAME: whether this build has the unit tests NAME. `make unit` lists those that it has: a build without
# TIFF has no tests of TIFF, and they count as one skipped test.
is_built() {
  local units
  ! read -r units 2>/dev/null <"$build/units" || [[ " $units " == *" $1 "* ]] && return
  is_wanted "$1" || return
  printf '%-24s %4d passed %4d failed %4d skipped   not in this build\n' "$1" 0 0 1
  skipped=$((skipped + 1)) absent+=" $1"
  return 1
}

# Suites that build imghist again take longest, so they start first.
declare -A is_started=()
for source in "$TESTS"/cli/{package,install}.bats "$TESTS"/unit/test_*.c "$TESTS"/cli/*.bats; do
  if [ ! -f "$source" ] || [ -n "${is_started[$source]-}" ]; then continue; fi
  is_started[$source]=1
  name=$(basename "${source%.*}")
  case $source in
    *.c) is_built "$name" && run_suite "$name" "$build/tests/$name" ;;
    *) run_suite "$name" bats --tap "$source" ;;
  esac
done
wait_for_suites 0

if [ "$skipped" -gt 0 ]; then
  echo "skipped, and why:"
  show_reasons
fi
[ $((passed + failed)) -gt 0 ] || echo "run.sh: nothing ran: no test in $build/tests or tests/cli matches ${wanted[*]:-anything}"
[ -z "$failures" ] || printf 'failed:\n%s' "$failures"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ $((passed + failed)) -gt 0 ]
