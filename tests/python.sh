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
venv=build/venv
# shellcheck source=tests/venv.bash
. tests/venv.bash
make_venv "$venv" numpy
set -e
"$venv/bin/pip" install -q --disable-pip-version-check "./src/python[test]"
# Not from the sources: the installed package is tested.
set +e
(cd src/python/tests && "../../../$venv/bin/python" -m pytest -p no:cacheprovider -rs --rootdir=. "$@") | tee build/pytest.log
status=${PIPESTATUS[0]}
summarise build/pytest.log
exit "$status"
