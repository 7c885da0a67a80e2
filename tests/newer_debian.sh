#!/usr/bin/env bash
# newer_debian.sh [SUITE...]: builds imghist with the libraries of a newer Debian, and runs the JPEG
# and PNG suites there, or the unit test suites named.
#
# Debian sid has libjpeg-turbo 3, Debian 13 (trixie) has libpng 1.6.48; Debian 12 has 2.1 and 1.6.39.
# The root is made with mmdebstrap in build/debian-$DEBIAN, and kept for the next run. This needs to
# run as root on a machine that reaches the Debian archive. Otherwise it exits with 77.
#
#   DEBIAN=sid           the release
#   DEBIAN_MIRROR=URL    the archive (http://deb.debian.org/debian)
set -eu
cd "$(dirname "$0")/.."
release=${DEBIAN:-sid}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
root=$PWD/build/debian-$release
log=build/debian-$release.log
packages=gcc,libc6-dev,make,pkg-config,libpng-dev,libjpeg-dev,libdeflate-dev,libstb-dev,fonts-dejavu-core,libcmocka-dev,libseccomp-dev

skip() {
  echo "skipped: $1"
  exit 77
}

[ "$(id -u)" -eq 0 ] || skip "making a root needs root"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
unshare --mount --pid --fork true 2>/dev/null || skip "this machine allows no new namespaces"
mkdir -p build
if [ ! -e "$root/made" ]; then
  rm -rf "$root"
  # A mirror may be frozen, so its index may have expired.
  mmdebstrap --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' --include="$packages" \
    "$release" "$root" "$mirror" >"$log" 2>&1 || skip "mmdebstrap failed: $(tail -n 1 "$log")"
  [ -e "$root/dev/fd" ] || ln -s /proc/self/fd "$root/dev/fd"
  touch "$root/made"
fi

suites=("$@")
[ ${#suites[@]} -gt 0 ] ||
  suites=('test_decode_jpeg*' 'test_progressive*' 'test_jpeg_*' test_decode_png 'test_png_*' test_crashers)
programs=()
for suite in "${suites[@]}"; do
  for source in tests/unit/$suite.c; do # a suite may be a pattern
    [ ! -e "$source" ] || programs+=("build/release/tests/$(basename "$source" .c)")
  done
done

rm -rf "$root/imghist"
mkdir "$root/imghist"
tar c --exclude=./build --exclude=./.git . | tar x -C "$root/imghist"
# shellcheck disable=SC2016 # expanded in the new root
unshare --mount --pid --fork sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" sh -c '
  cd /imghist
  dpkg-query -W libjpeg-dev libpng-dev libdeflate-dev gcc
  make -s -j"$(nproc)" CUDA=0 FORMATS= $0 >build.log 2>&1 || { tail -n 50 build.log; exit 1; }
  LC_ALL=C.UTF-8 exec tests/run.sh build/release "$@"' "${programs[*]}" "${suites[@]}"
