# Functions for all tests of the command line, and those of images.bash: `load helpers`.
#
# Each test runs in its own empty directory, which is removed afterwards, without options from the environment, without
# colour, and with English messages.

# shellcheck shell=bash disable=SC2154 # status, output and stderr are set by bats' run

bats_require_minimum_version 1.5.0
load images

: "${TESTS:=$(cd "$BATS_TEST_DIRNAME/.." && pwd)}"
: "${IMGHIST:=$(cd "$TESTS/.." && pwd)/imghist}"
SAMPLES=$(cd "$TESTS/.." && pwd)/samples
export TESTS IMGHIST SAMPLES

setup() {
  unset IMGHIST_DEVICE NO_COLOR COLUMNS CUDA_VISIBLE_DEVICES
  export LC_ALL=C TERM=dumb
  cd "$BATS_TEST_TMPDIR" || return 1
}

# imghist ARG...: runs the program; status, output (stdout) and stderr are set.
imghist() { run --separate-stderr "$IMGHIST" "$@"; }

# imghist_ok ARG...: the same, and the exit status is 0.
imghist_ok() {
  imghist "$@"
  assert_status 0
}

# The same as an ordinary user, because root may read and write everything. That user may enter the test's directory.
imghist_as_user() {
  if [ "$(id -u)" -ne 0 ]; then
    imghist "$@"
    return
  fi
  chmod 755 .
  cp "$IMGHIST" program
  run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups ./program "$@"
  [ "$status" -ne 126 ] && [ "$status" -ne 127 ] || skip "cannot drop root's rights here"
}

# fail TEXT...: prints the texts and what the program did, and fails.
fail() {
  printf '%s\n' "$@" "exit status: ${status-}" "stdout:" "${output-}" "stderr:" "${stderr-}" >&2
  return 1
}

assert_status() { [ "$status" -eq "$1" ] || fail "expected exit status $1"; }

# Standard output is exactly this.
assert_output() { [ "$output" = "$1" ] || fail "expected on stdout: $1"; }

# Standard output or standard error contains this.
assert_output_has() { [[ $output == *"$1"* ]] || fail "expected in stdout: $1"; }
assert_stderr_has() { [[ $stderr == *"$1"* ]] || fail "expected in stderr: $1"; }

refute_output_has() { [[ $output != *"$1"* ]] || fail "not expected in stdout: $1"; }
refute_stderr_has() { [[ $stderr != *"$1"* ]] || fail "not expected in stderr: $1"; }

assert_no_stderr() { [ -z "$stderr" ] || fail "expected nothing on stderr"; }

# assert_fails STATUS TEXT: the exit status, and a part of the message.
assert_fails() {
  assert_status "$1"
  assert_stderr_has "$2"
}

# assert_refused STATUS TEXT: the same, and nothing on standard output.
assert_refused() {
  assert_fails "$@"
  assert_output ""
}

# These run the program and check its exit status; quiet: 0, and nothing on standard error.
imghist_status() {
  imghist "${@:2}"
  assert_status "$1"
}
imghist_quiet() {
  imghist_ok "$@"
  assert_no_stderr
}

# imghist_output TEXT ARG...: exit status 0, and exactly this on standard output; output_has: a part of it.
imghist_output() {
  imghist_ok "${@:2}"
  assert_output "$1"
}
imghist_output_has() {
  imghist_ok "${@:2}"
  assert_output_has "$1"
}

# imghist_fails STATUS TEXT ARG...: the exit status, with a part of the message; refused: and nothing on standard output.
imghist_fails() {
  imghist "${@:3}"
  assert_fails "$1" "$2"
}
imghist_refused() {
  imghist "${@:3}"
  assert_refused "$1" "$2"
}

# is_emulated: whether imghist runs under qemu-user (tests/other_machines.sh).
is_emulated() { [ -n "${QEMU_LD_PREFIX-}" ]; }

# needs PROGRAM...: skips the test if a program is missing.
needs() {
  local program
  for program; do
    command -v "$program" >/dev/null || skip "$program is missing"
  done
}

# interrupt ARG...: starts imghist on a.pgm and an input that never ends, and sends SIGTERM once out.json has a.pgm.
interrupt() {
  dot a.pgm
  rm -f out.json # of an earlier call, which must not be taken for this one's
  mkfifo endless
  exec 9<>endless
  "$IMGHIST" a.pgm endless "$@" >out.json 2>stderr 3>&- 9>&- &
  local pid=$!
  soon grep -q blown_all out.json || :
  kill -s TERM $pid
  status=0
  wait $pid || status=$?
  exec 9>&-
  assert_status 143
}

# soon COMMAND...: waits up to thirty seconds for it to succeed.
soon() {
  for _ in {1..600}; do
    "$@" && return
    sleep 0.05
  done
  return 1
}

# no_seccomp: makes no_seccomp.so, with which the sandbox cannot be loaded (LD_PRELOAD).
no_seccomp() {
  echo 'int seccomp_load(void *filter) { (void)filter; return -22; }' >no_seccomp.c
  "${CC:-cc}" -shared -fPIC -o no_seccomp.so no_seccomp.c
}
