#!/bin/sh
# embed.sh NAME FILE: prints C source with the bytes of FILE as the array NAME, and its length as NAME_bytes.
set -eu
echo "extern const unsigned char $1[];"
echo "extern const unsigned long $1_bytes;"
echo "const unsigned char $1[] = {"
od -An -v -tu1 "$2" | sed -E 's/^ +//; s/ +/,/g; s/$/,/'
echo "};"
echo "const unsigned long $1_bytes = sizeof $1;"
