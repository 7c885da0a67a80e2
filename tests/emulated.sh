#!/usr/bin/env bash
# emulated.sh MACHINE [SUITE...]: builds imghist for another machine (aarch64, s390x) and runs its tests under
# qemu-user. Without suites: all that need no compiler.
#
# The compiler runs natively, against libraries of this release that mmdebstrap unpacks in build/systems. Only
# imghist and the unit tests are emulated. They are built without seccomp, because qemu-user cannot load a filter;
# tests of the sandbox are skipped. Exits with 77 and a reason if the machine lacks something.
set -eu
cd "$(dirname "$0")/.."
machine=${1:?usage: emulated.sh MACHINE [SUITE...]}
shift
case $machine in
  aarch64) arch=arm64 ;;
  *) arch=$machine ;;
esac
triplet=$machine-linux-gnu
root=$PWD/build/systems/libraries-$machine
build=build/$machine
misc=/proc/sys/fs/binfmt_misc
libraries=libc6-dev,libpng-dev,libjpeg-dev,libdeflate-dev,libwebp-dev,libtiff-dev,libgif-dev,libheif-dev,libjxl-dev,libopenjp2-7-dev,libraw-dev,libcmocka-dev,libstb-dev

skip() {
  echo "$1"
  exit 77
}

[ "$(id -u)" -eq 0 ] || skip "root registers the emulator and unpacks the libraries"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
command -v "$triplet-gcc" >/dev/null || skip "gcc-$triplet is not installed"
rule=$(cat "/usr/lib/binfmt.d/qemu-$machine.conf" 2>/dev/null) || skip "qemu-user-static is not installed"
[ -e "$misc/register" ] || mount -t binfmt_misc none "$misc" 2>/dev/null || skip "this machine has no binfmt_misc"
if [ ! -e "$misc/qemu-$machine" ]; then
  echo "$rule" >"$misc/register" 2>/dev/null || skip "cannot register the emulator"
  trap 'echo -1 >"$misc/qemu-$machine"' EXIT
fi

if [ ! -e "$root/made" ]; then
  rm -rf "$root"
  mkdir -p "${root%/*}"
  # A mirror may be frozen, so its index may have expired.
  mmdebstrap --variant=extract --architectures="$arch" --aptopt='Acquire::Check-Valid-Until "false"' \
    --include="$libraries" "$(sed -n "s/^VERSION_CODENAME=//p" /etc/os-release)" "$root" \
    ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$root.log" 2>&1 || skip "mmdebstrap failed: $(tail -n 1 "$root.log")"
  touch "$root/made"
fi

export PKG_CONFIG_SYSROOT_DIR=$root QEMU_LD_PREFIX=$root LC_ALL=C.UTF-8
export PKG_CONFIG_LIBDIR=$root/usr/lib/$triplet/pkgconfig:$root/usr/share/pkgconfig
make -j"$(nproc)" CUDA=0 SECCOMP=0 CC="$triplet-gcc --sysroot=$root" AR="$triplet-ar" BUILD="$build" \
  "$build/imghist" unit
if [ $# -eq 0 ]; then
  for suite in tests/unit/test_*.c tests/cli/*.bats; do
    suite=$(basename "${suite%.*}")
    [[ $suite =~ ^(install|make|package|needs|bench_batch|layers|libjpeg|run|progressive)$ ]] || set -- "$@" "$suite"
  done
fi
TEST_TIMEOUT=${TEST_TIMEOUT:-1800} tests/run.sh "$build" "$@"
