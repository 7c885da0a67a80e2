#!/bin/sh
# check.sh [ROOT]: is tests/gpu/evidence.txt about the kernels and backends as they are now?
#
# Exit status: 0 it is; 1 it is not, or there is none; 77 it is not, and says why in a line
# `pending: REASON`, which counts as skipped until a GPU has run the tests again.
set -eu
root=${1:-.}
evidence=$root/tests/gpu/evidence.txt
now=$("$(dirname "$0")/sources.sh" "$root")

if [ ! -f "$evidence" ]; then
  echo "GPU evidence: there is no $evidence: run make test-gpu on a machine with a GPU" >&2
  exit 1
fi
recorded=$(sed -n 's/^sources: *//p' "$evidence")
pending=$(sed -n 's/^pending: *//p' "$evidence")
if [ "$recorded" = "$now" ]; then
  echo "GPU evidence: these sources ran on$(sed -n 's/^gpu:/ /p' "$evidence" | tr -s ' '),$(sed -n 's/^date://p' "$evidence")"
elif [ -n "$pending" ]; then
  echo "GPU evidence: skipped, pending: $pending"
  exit 77
else
  echo "GPU evidence: kernels/, src/count/, src/device/ or src/jpeg_gpu/ have changed since $evidence was recorded" >&2
  echo "  recorded: ${recorded:-nothing}" >&2
  echo "  now:      $now" >&2
  echo "  Run make test-gpu on a machine with a GPU, or add a line 'pending: REASON' where none can be had." >&2
  exit 1
fi
