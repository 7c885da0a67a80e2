#!/usr/bin/env bash
# python.sh PROGRAM [PYTEST ARGUMENT...]: installs the Python package in a virtual environment, build/venv, and runs its
# tests. Its counts of files are compared with those of PROGRAM. Exit status 77: the package index cannot be reached.
#
#   PYTHON=python3   the Python that runs, 3.11 or later
set -u
IMGHIST=$(realpath "$1")
export IMGHIST
shift
cd "$(dirname "$0")/.." || exit 1
python=${PYTHON:-python3}
venv=build/venv

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "python.sh: $python is older than 3.11, or missing"
  exit 77
fi
[ -x "$venv/bin/pip" ] || "$python" -m venv "$venv" || {
  echo "python.sh: no virtual environment: run third_party/install.sh python"
  exit 77
}
if ! "$venv/bin/pip" install -q --disable-pip-version-check setuptools pytest numpy >build/venv.log 2>&1; then
  tail -n 3 build/venv.log
  echo "python.sh: the package index cannot be reached"
  exit 77
fi
set -e
"$venv/bin/pip" install -q --disable-pip-version-check "./src/python[test]"
# Not from the sources: the installed package is tested.
set +e
(cd src/python/tests && "../../../$venv/bin/python" -m pytest -p no:cacheprovider -rs --rootdir=. "$@") | tee build/pytest.log
status=${PIPESTATUS[0]}
n() { tail -n 1 build/pytest.log | grep -oE "[0-9]+ $1" | grep -oE '^[0-9]+' || echo 0; }
echo "$(n passed) passed, $(($(n failed) + $(n error))) failed, $(n skipped) skipped"
exit "$status"
