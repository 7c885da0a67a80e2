#!/usr/bin/env bash
# compare.sh IMGHIST PATH...: compare.py with the readers in a virtual environment, build/readers. README.md says where
# to get public files. Exit status 77: no Python, or the package index cannot be reached.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build
# shellcheck source=tests/venv.bash
. "$here/../venv.bash"
mkdir -p "$build"
make_venv "$build/readers" numpy Pillow opencv-python-headless imagecodecs tifffile pillow-heif
"$build/readers/bin/pip" list 2>/dev/null | grep -iE '^(pillow|opencv|imagecodecs|tifffile)'
exec "$build/readers/bin/python" "$here/compare.py" "$@"
