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
python=${PYTHON:-python3}
venv=build/engines

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "engines.sh: $python is older than 3.11, or missing"
  exit 77
fi
[ -x "$venv/bin/pip" ] || "$python" -m venv "$venv" || {
  echo "engines.sh: no virtual environment: run third_party/install.sh python"
  exit 77
}
if ! "$venv/bin/pip" install -q --disable-pip-version-check setuptools pytest pillow psutil >build/engines.log 2>&1; then
  tail -n 3 build/engines.log
  echo "engines.sh: the package index cannot be reached"
  exit 77
fi
set -e
"$venv/bin/pip" install -q --disable-pip-version-check "./src/python[ray,spark,dask]"
[ -z "${SETUP_ONLY:-}" ] || exit 0
set +e
(cd tests/engines && "../../$venv/bin/python" -m pytest -p no:cacheprovider -p no:logging -W ignore --show-capture=stdout \
  --tb=short -rs --durations=5 "$@") | tee build/engines.log
status=${PIPESTATUS[0]}
n() { tail -n 1 build/engines.log | grep -oE "[0-9]+ $1" | grep -oE '^[0-9]+' || echo 0; }
echo "$(n passed) passed, $(($(n failed) + $(n error))) failed, $(n skipped) skipped"
exit "$status"
