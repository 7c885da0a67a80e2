#!/bin/sh
# with_wheel.sh ARGUMENT...: runs imghist of the wheel with this version. The first run installs it in build/hook, and
# compiles nothing. The action and the pre-commit hook use this script. Needs Python 3.11 or later; pip's own variables
# apply: PIP_FIND_LINKS=FOLDER PIP_NO_INDEX=1 take the wheel from a folder.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^.define IH_VERSION "\(.*\)".*/\1/p' "$here/src/imghist.h")
program=$here/build/hook/bin/imghist
if [ "$("$program" --version 2>/dev/null)" != "imghist $version" ]; then
  "${PYTHON:-python3}" -m venv --clear "$here/build/hook"
  "$here/build/hook/bin/pip" install -q --disable-pip-version-check --only-binary :all: "imghist==$version" >&2
fi
exec "$program" "$@"
