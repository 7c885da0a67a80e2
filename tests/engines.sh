#!/usr/bin/env bash
# engines.sh PROGRAM [PYTEST ARGUMENT...]: installs the Python package with Ray, Spark and Dask in a virtual environment,
# build/engines, and runs tests/engines. Records and totals are compared with those of PROGRAM. Exit status 77: the
# package index cannot be reached. Spark's tests are skipped without Java 17 or later.
#
#   PYTHON=python3   the Python that runs, 3.11 or later
#   SETUP_ONLY=1     only installs, for compare.py, kill.py and tests/bench/engines.py
set -u
IMGHIST=$(realpath "$1")
export IMGHIST
shift
cd "$(dirname "$0")/.." || exit 1
venv=build/engines
# shellcheck source=tests/venv.bash
. tests/venv.bash
make_venv "$venv" pillow psutil
set -e
"$venv/bin/pip" install -q --disable-pip-version-check ".[ray,spark,dask]"
[ -z "${SETUP_ONLY:-}" ] || exit 0
set +e
(cd tests/engines && "../../$venv/bin/python" -m pytest -p no:cacheprovider -p no:logging -W ignore --show-capture=stdout \
  --tb=short -rs --durations=5 "$@") | tee build/engines-pytest.log
status=${PIPESTATUS[0]}
summarise build/engines-pytest.log
exit "$status"
