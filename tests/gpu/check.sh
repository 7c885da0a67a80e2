#!/bin/sh
# check.sh [ROOT]: checks that tests/gpu/evidence.txt was recorded with the current kernels and backends.
#
# Exit status: 0 yes; 1 no, or there is no such file; 77 no, but the file has a line
# `pending: REASON`, which counts as skipped until the tests have run on a GPU again.
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
  echo "  Run make test-gpu on a machine with a GPU, or add a line 'pending: REASON' if there is none." >&2
  exit 1
fi
