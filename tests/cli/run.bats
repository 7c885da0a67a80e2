#!/usr/bin/env bats
# tests/run.sh: its counts of passed and failed tests, and suites in parallel. Scripts stand for unit tests here.

load helpers

setup() {
  export LC_ALL=C
  unset TEST_JOBS TEST_TIMEOUT
  cd "$BATS_TEST_TMPDIR" || return 1
  mkdir -p tests/unit tests/cli build/tests
  cp "$TESTS/run.sh" tests
}

# suite NAME LINE...: makes a suite from a script of these lines.
suite() {
  local name=$1
  shift
  touch "tests/unit/test_$name.c"
  printf '%s\n' '#!/bin/sh' "$@" >"build/tests/test_$name"
  chmod +x "build/tests/test_$name"
}

run_suites() { run --separate-stderr tests/run.sh build "$@"; }

# assert_suite NAME PASSED FAILED SKIPPED
assert_suite() {
  grep -qE "^test_$1 +$2 passed +$3 failed +$4 skipped " <<<"$output" || fail "expected of $1: $2 $3 $4"
}

@test "run: passed, failed and skipped tests are counted, and failures are shown" {
  suite good 'echo 1..2' 'echo ok 1 - one' 'echo ok 2 - two'
  suite skips 'echo 1..2' 'echo "not ok 1 # SKIP later"' 'echo "ok 2 two # skip why"'
  run_suites
  assert_status 0
  [ "${lines[-1]}" = "2 passed, 0 failed, 2 skipped" ] || fail "another sum"
  suite bad 'echo 1..2' 'echo ok 1 - one' 'echo "not ok 2 - two"' 'echo the reason >&2' 'exit 1'
  run_suites
  assert_status 1
  assert_suite good 2 0 0
  assert_suite skips 0 0 2
  assert_suite bad 1 1 0
  assert_output_has "not ok 2 - two"
  assert_output_has "the reason"
  refute_output_has "ok 1 - one"
  [ "${lines[-1]}" = "3 passed, 1 failed, 2 skipped" ] || fail "another sum"
}

@test "run: why tests were skipped, once each reason" {
  suite unit 'echo 1..3' 'echo "# skipped: no GPU"' 'echo "not ok 1 # SKIP one"' 'echo ok 2 - two' \
    'echo "# skipped: no \"x\" # y"' 'echo "not ok 3 # SKIP three"'
  suite bats 'echo 1..4' 'echo "ok 1 one # skip no GPU"' 'echo "ok 2 two # skip no GPU"' 'echo "ok 3 a # b"' 'echo "ok 4 four # skip"'
  touch tests/unit/test_elsewhere.c tests/unit/test_far.c
  echo test_unit test_bats >build/units
  run_suites
  assert_status 0
  [ "${lines[-1]}" = "2 passed, 0 failed, 7 skipped" ] || fail "another sum"
  [ "$(sed -n '/^skipped, and why:$/,$p' <<<"$output" | sed '1d; $d; s/^ *//')" = '3 no GPU
1 not in this build: test_elsewhere test_far
1 no reason given
1 no "x" # y' ] || fail "other reasons"
  run_suites test_unit
  assert_output_has 'no "x" # y'
  suite unit 'echo 1..1' 'echo "ok 1 one"'
  run_suites test_unit
  refute_output_has "why"
}

@test "run: a suite that crashes, hangs, ends early, prints nothing or is missing fails" {
  suite crash 'echo 1..1' 'echo ok 1' 'kill -SEGV $$'
  suite hang 'echo 1..1' 'echo ok 1' 'sleep 60'
  suite early 'echo 1..3' 'echo ok 1'
  suite status 'echo 1..1' 'echo ok 1' 'exit 3'
  suite silent 'exit 0'
  suite gone ''
  rm build/tests/test_gone
  for TEST_JOBS in 1 4; do
    export TEST_JOBS TEST_TIMEOUT=1
    run_suites
    assert_status 1
    for name in crash hang early status; do assert_suite $name 1 1 0; done
    for name in silent gone; do assert_suite $name 0 1 0; done
    assert_output_has "test_crash: ended by signal 11"
    assert_output_has "test_hang: stopped after 1 s"
    assert_output_has "test_early: 2 tests never reported"
    assert_output_has "test_status: exit status 3"
    assert_output_has "test_silent: no test ran"
    assert_output_has "test_gone: not found"
    [ "${lines[-1]}" = "4 passed, 6 failed, 0 skipped" ] || fail "another sum"
  done
}

@test "run: nothing to run is a failure" {
  suite good 'echo 1..1' 'echo ok 1'
  run_suites other
  assert_status 1
  assert_output_has "nothing ran"
}

@test "run: TEST_JOBS suites run in parallel" {
  for each in 'a b' 'b a'; do # each suite waits for the other
    suite "${each% *}" 'echo 1..1' ": >${each% *}" \
      "for i in 1 2 3 4 5 6 7 8 9 10 1 2 3 4 5 6 7 8 9 10; do [ ! -e ${each#* } ] || { sleep 0.3; echo ok 1; exit; }; sleep 0.1; done" 'exit 1'
  done
  TEST_JOBS=2 run_suites
  assert_status 0
  [ "${lines[-1]}" = "2 passed, 0 failed, 0 skipped" ] || fail "another sum"
  rm a b
  TEST_JOBS=1 run_suites
  assert_status 1
  assert_suite a 0 1 0
  assert_suite b 1 0 0
  for n in 0 -1 x; do
    TEST_JOBS=$n run_suites
    assert_fails 1 "TEST_JOBS=$n is not a number"
  done
}

@test "run: ending it ends its suites" {
  suite long 'echo $$ >pid' 'exec sleep 60'
  tests/run.sh build >log 2>&1 3>&- &
  for _ in {1..100}; do
    [ ! -s pid ] || break
    sleep 0.1
  done
  kill "$!"
  ! wait "$!" || fail "its exit status is 0"
  for _ in {1..100}; do
    kill -0 "$(cat pid)" 2>/dev/null || return 0
    sleep 0.1
  done
  fail "the suite runs on"
}

@test "run: suites that are not in this build are skipped, and a missing one of this build fails" {
  suite here 'echo 1..1' 'echo ok 1'
  touch tests/unit/test_elsewhere.c tests/unit/test_lost.c
  echo test_here test_lost >build/units
  run_suites
  assert_status 1
  assert_suite here 1 0 0
  assert_suite elsewhere 0 0 1
  assert_suite lost 0 1 0
  [ "${lines[-1]}" = "1 passed, 1 failed, 1 skipped" ] || fail "another sum"
  run_suites test_here
  [ "${lines[-1]}" = "1 passed, 0 failed, 0 skipped" ] || fail "another sum"
}
