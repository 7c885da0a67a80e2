#!/bin/sh
# sources.sh [ROOT]: prints a hash of the names and contents of the kernels and backends that the
# evidence covers. Comments, spaces, locale, file modes and dates do not affect it.
set -eu
export LC_ALL=C
cd "${1:-.}"
command -v gcc >/dev/null || { echo "sources.sh: needs gcc" >&2; exit 1; }
find kernels src/device src/jpeg_gpu src/count -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' \) |
  sort | while IFS= read -r file; do
  echo "$file"
  gcc -w -fpreprocessed -dD -E -P -x c "$file" | tr -s '[:space:]' '\n'
done | sha256sum | cut -d' ' -f1
