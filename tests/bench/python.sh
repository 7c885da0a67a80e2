#!/usr/bin/env bash
# python.sh: the Python package beside the command line, the C library, Pillow, NumPy, OpenCV and fastpercentile, and
# beside decoding alone; and 10^6 calls.
#
#   PROGRAM=./imghist   the program to compare with
#   N_FILES=2000        small JPEG files, 500 x 375
#   ROUNDS=7            runs of each way, in turn; the median counts
#
# Uses build/venv of tests/python.sh. Keep the machine quiet meanwhile. To keep a result:
#
#   tests/bench/python.sh | tee tests/bench/results/python.txt
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=build/venv
[ -x "$venv/bin/python" ] || { echo "python.sh: run make test-python first" >&2; exit 1; }
"$venv/bin/pip" install -q --disable-pip-version-check numpy pillow opencv-python-headless fastpercentile
make -s CUDA=0 library # the CPU counts
mkdir -p build/bench
DECODE_ONLY=$PWD/build/bench/decode_only
tests/bench/build_decode_only.sh "$DECODE_ONLY"
PROGRAM=$(realpath "${PROGRAM:-./imghist}") LIBRARY=$(realpath build/release/libimghist.so.*)
SAMPLE=$(realpath samples/scene.png) WORK=$(mktemp -d)
export PROGRAM LIBRARY DECODE_ONLY SAMPLE WORK N_FILES="${N_FILES:-2000}" ROUNDS="${ROUNDS:-7}"
trap 'rm -rf "$WORK"' EXIT
echo "$(nproc) CPU cores, $(grep -m 1 'model name' /proc/cpuinfo | sed 's/.*: //'), $(date +%F), tests/bench/python.sh"
"$venv/bin/python" tests/bench/python.py
