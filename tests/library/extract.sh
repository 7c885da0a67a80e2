#!/bin/sh
# extract.sh HEADER DIRECTORY: writes the examples in the comment of imghist.h to files NAME: the lines
# between ` * example NAME:` and ` * end of example`, without stars and indentation.
set -eu
mkdir -p "$2"
awk -v directory="$2" '
  /^ \* end of example/ { file = ""; next }
  /^ \* example .*:$/   { file = directory "/" substr($3, 1, length($3) - 1); n++; next }
  file != ""            { line = $0; sub(/^ \*/, "", line); sub(/^     /, "", line); print line >file }
  END                   { exit n == 0 || file != "" }
' "$1"
