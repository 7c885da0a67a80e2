#!/usr/bin/env bash
# peers.sh: today's peers, from the package index, on arrays, files and data sets, against this checkout. At most 10 minutes.
#
#   WORK=build/bench/peers   where the virtual environment, photos and data sets are
#   PARTS="arrays files sets"
#   ARRAYS="wide one all"    uint16; uint8 with one thread; uint8 with all cores
#   N_SMALL=20000            small JPEG files of the data set
#   PHOTOS=DIR               of JPEG photos; default: desktop backgrounds of the distribution (batch_photos.sh)
#
# Counts are compared before anything is timed. Prints what tests/bench/results/peers.txt holds.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=tests/bench/figures.sh
. tests/bench/figures.sh
# shellcheck source=tests/bench/batch_photos.sh
. tests/bench/batch_photos.sh
work=${WORK:-build/bench/peers}
parts=${PARTS:-arrays files sets}
mkdir -p "$work"
if [ -z "${PHOTOS:-}" ]; then
  PACKAGES=${PEER_PACKAGES-mate-backgrounds ukui-wallpapers lxqt-themes plasma-workspace-wallpapers} fetch_photos
  PHOTOS=$PHOTO_CACHE
fi
if [ ! -x "$work/venv/bin/python" ]; then
  python3 -m venv "$work/venv"
  # Where pyvips finds the distribution's libvips, it builds a module for that one in place of pyvips-binary's.
  PKG_CONFIG_LIBDIR=/nonexistent PKG_CONFIG_PATH='' \
    "$work/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir numpy pillow opencv-python-headless ihist "pyvips[binary]"
  for tool in imgeda cleanvision pixel-patrol; do # each may be missing: the table says so
    "$work/venv/bin/pip" install -q --disable-pip-version-check "$tool" || say "$tool cannot be installed"
  done
fi
"$work/venv/bin/pip" install -q --disable-pip-version-check --force-reinstall --no-deps .
make -s "${MAKE_OPTIONS:-CUDA=0}" all
echo "$(date +%F), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
echo "command: ${ARRAYS:+ARRAYS=\"$ARRAYS\" }${PARTS:+PARTS=\"$PARTS\" }tests/bench/peers.sh"
"$work/venv/bin/pip" list --disable-pip-version-check --format freeze |
  grep -iE '^(numpy|pillow|opencv-python-headless|ihist|pyvips|pyvips-binary|imgeda|cleanvision|pixel.patrol|imghist)=' | paste -sd' '
photo=$(find "$PHOTOS" -name '*.jpg' -size +1000k | LC_ALL=C sort | head -n 1)
for part in $parts; do
  case $part in
    arrays) "$work/venv/bin/python" tests/bench/peers/arrays.py "$photo" "${MEGAPIXELS:-100}" ;;
    files) "$work/venv/bin/python" tests/bench/peers/files.py ./imghist "$PHOTOS" "$work/files" ;;
    sets) "$work/venv/bin/python" tests/bench/peers/sets.py ./imghist "$PHOTOS" "$work/set" "${N_SMALL:-20000}" ;;
    *) die "no part $part" ;;
  esac
done
