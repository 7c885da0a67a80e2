# Sourced by python.sh and engines.sh: a virtual environment for the Python package, and the summary of pytest.
# shellcheck shell=bash
#
#   PYTHON=python3   the Python that runs, 3.11 or later

# make_venv FOLDER PACKAGE...: makes the virtual environment and installs the packages that the tests need. Exit status
# 77: Python is missing or too old, or the package index cannot be reached.
make_venv() {
  local venv=$1 python=${PYTHON:-python3} name=${0##*/}
  shift
  if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "$name: $python is older than 3.11, or missing"
    exit 77
  fi
  [ -x "$venv/bin/pip" ] || "$python" -m venv "$venv" || {
    echo "$name: no virtual environment: run third_party/install.sh python"
    exit 77
  }
  if ! "$venv/bin/pip" install -q --disable-pip-version-check setuptools pytest "$@" >"$venv.log" 2>&1; then
    tail -n 3 "$venv.log"
    echo "$name: the package index cannot be reached"
    exit 77
  fi
}

# summarise LOG: the last line of pytest as N passed, N failed, N skipped.
summarise() {
  n() { tail -n 1 "$1" | grep -oE "[0-9]+ $2" | grep -oE '^[0-9]+' || echo 0; }
  echo "$(n "$1" passed) passed, $(($(n "$1" failed) + $(n "$1" error))) failed, $(n "$1" skipped) skipped"
}
