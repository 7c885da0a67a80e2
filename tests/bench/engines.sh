#!/usr/bin/env bash
# engines.sh [ENGINE...]: imghist on Ray, Spark and Dask with two workers, beside the command line with two threads and
# beside the same engine with Pillow's histogram(); and the memory of the workers. The start of an engine is stated apart.
#
#   PROGRAM=./imghist   the program to compare with
#   N_FILES=20000       small JPEG files, 500 x 375, kept in build/bench-engines
#   ROUNDS=3            runs of each way, in turn; the median of the ratios within a round counts
#
# The exit status is 1 if a bar is missed: total at least 0.85 of the command line's speed and 1.8 times Pillow's, memory
# of a worker in the second half of a run at most 1.1 times that in the first. Uses build/engines of tests/engines.sh. Keep
# the machine quiet meanwhile. To keep a result:
#
#   tests/bench/engines.sh | tee tests/bench/results/engines.txt
set -euo pipefail
cd "$(dirname "$0")/../.."
PROGRAM=$(realpath "${PROGRAM:-./imghist}")
SETUP_ONLY=1 tests/engines.sh "$PROGRAM"
export IMGHIST=$PROGRAM N_FILES="${N_FILES:-20000}" ROUNDS="${ROUNDS:-3}"
echo "$(nproc) CPU cores, $(grep -m 1 'model name' /proc/cpuinfo | sed 's/.*: //'), $(date +%F), tests/bench/engines.sh, $N_FILES files"
PYTHONPATH=tests/engines build/engines/bin/python tests/bench/engines.py "$@"
