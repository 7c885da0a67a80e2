#!/usr/bin/env bash
# terminal.sh IMGHIST OUT.svg [COLUMNS]: draws a terminal session with imghist as an SVG picture.
#
# script(1) runs the program on a pseudo terminal, so its output has colours. The picture does not depend
# on the machine: the same program gives the same bytes.
set -eu
program=$(realpath "$1") out=$(realpath "$2") columns=${3:-80}
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2016 # the shell in the terminal expands it
{
  printf 'PATH=%q:$PATH\n' "$work"
  printf 'stty cols %d\n' "$columns"
  printf 'for arguments in "samples/scene.png" "samples/ --total"; do\n'
  printf '  printf "\\033[1;32m\\044\\033[0m imghist %%s\\n" "$arguments"\n'
  printf '  imghist --progress=never $arguments\n'
  printf '  echo\n'
  printf 'done\n'
} >"$work/session"
ln -s "$program" "$work/imghist"
env -u NO_COLOR -u COLUMNS -u IMGHIST_DEVICE LC_ALL=C.UTF-8 TERM=xterm-256color \
  script -qefc "bash '$work/session'" /dev/null </dev/null >"$work/screen"
python3 "$here/terminal.py" "$columns" <"$work/screen" >"$out.new"
mv "$out.new" "$out"
