#!/usr/bin/env bash
# python.sh PROGRAM [PYTEST ARGUMENT...]: installs the Python package in a virtual environment, build/venv, and runs its
# tests. Its counts of files are compared with those of PROGRAM. Exit status 77: the package index cannot be reached.
#
#   PYTHON=python3   the Python that runs, 3.11 or later
#   SANITIZED=1      tests the extension that "make CONFIG=sanitize CC=gcc python-extension" has built
set -u
IMGHIST=$(realpath "$1")
export IMGHIST
shift
cd "$(dirname "$0")/.." || exit 1
venv=build/venv
# shellcheck source=tests/venv.bash
. tests/venv.bash
make_venv "$venv" numpy
set -e
"$venv/bin/pip" install -q --disable-pip-version-check ".[test]"
if [ -n "${SANITIZED:-}" ]; then
  export PYTHONPATH=$PWD/build/sanitize/python ASAN_OPTIONS=detect_leaks=0 # Python itself keeps memory to its end
  mkdir -p "$PYTHONPATH"
  cp -r src/python/imghist "$PYTHONPATH"
  cp build/sanitize/_imghist.abi3.so "$PYTHONPATH/imghist"
  sanitizers=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
fi
# Not from the sources: the installed package is tested.
set +e
(cd src/python/tests &&
  LD_PRELOAD=${sanitizers:-} "../../../$venv/bin/python" -m pytest -p no:cacheprovider -rs --rootdir=. "$@") | tee build/pytest.log
status=${PIPESTATUS[0]}
summarise build/pytest.log
exit "$status"
