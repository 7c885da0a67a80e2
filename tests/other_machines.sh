#!/usr/bin/env bash
# other_machines.sh MACHINE [SUITE...]: builds imghist for another machine (i686, aarch64, s390x) and runs its tests.
# Without suites: all that need no compiler.
#
# The compiler runs natively, against libraries of this release that mmdebstrap unpacks in build/systems. The programs
# of i686 run natively on x86-64. Those of the others run under qemu-user, which cannot load a seccomp filter: they
# are built without it, and tests of the sandbox are skipped. Exits with 77 and a reason if the machine lacks something.
set -eu
cd "$(dirname "$0")/.."
machine=${1:?usage: other_machines.sh MACHINE [SUITE...]}
shift
case $machine in
  aarch64) arch=arm64 ;;
  i686) arch=i386 ;;
  *) arch=$machine ;;
esac
triplet=$machine-linux-gnu
root=$PWD/build/systems/libraries-$machine
folder=$root/usr/lib/$arch-linux-gnu # of libraries
[ "$arch" != arm64 ] || folder=$root/usr/lib/$triplet
build=build/$machine
misc=/proc/sys/fs/binfmt_misc
libraries=libc6-dev,libc-bin,zlib1g-dev,libpng-dev,libjpeg-dev,libdeflate-dev,libwebp-dev,libtiff-dev,libgif-dev,libheif-dev,libjxl-dev,libopenjp2-7-dev,libraw-dev,libcfitsio-dev,libopenexr-dev,libarchive-dev,libseccomp-dev,libcmocka-dev,libstb-dev

skip() {
  echo "$1"
  exit 77
}

[ "$(id -u)" -eq 0 ] || skip "root registers the emulator and unpacks the libraries"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
command -v "$triplet-gcc" >/dev/null || skip "gcc-$triplet is not installed"
if [ "$machine" != i686 ]; then
  rule=$(cat "/usr/lib/binfmt.d/qemu-$machine.conf" 2>/dev/null) || skip "qemu-user-static is not installed"
  [ -e "$misc/register" ] || mount -t binfmt_misc none "$misc" 2>/dev/null || skip "this machine has no binfmt_misc"
  if [ ! -e "$misc/qemu-$machine" ]; then
    echo "$rule" >"$misc/register" 2>/dev/null || skip "cannot register the emulator"
    trap 'echo -1 >"$misc/qemu-$machine"' EXIT
  fi
fi

if [ "$(cat "$root/made" 2>/dev/null)" != "$libraries" ]; then
  rm -rf "$root"
  mkdir -p "${root%/*}"
  release=$(sed -n "s/^VERSION_CODENAME=//p" /etc/os-release)
  # This machine's archive of the release alone: an index of updates for another architecture may be out of step.
  # shellcheck disable=SC2016 # expanded by apt-get
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $release" | head -n 1)
  mirror=${DEBIAN_MIRROR:-$archive}
  # A mirror may be frozen, so its index may have expired.
  mmdebstrap --variant=extract --architectures="$arch" --aptopt='Acquire::Check-Valid-Until "false"' \
    --include="$libraries" "$release" "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 ||
    skip "mmdebstrap failed: $(tail -n 1 "$root.log")"
  # Links such as libm.so name a file of the root.
  find "$root/usr/lib" -type l -lname '/*' -printf '%p %l\n' | while read -r link file; do ln -sf "$root$file" "$link"; done
  echo "$libraries" >"$root/made"
fi

if [ "$machine" = i686 ]; then
  # The loader of the root, and its libraries for those of imghist too (an rpath in its old form).
  flags=("LDFLAGS=-Wl,--dynamic-linker=$root/lib/ld-linux.so.2,--disable-new-dtags,-rpath=$folder:$root/lib/i386-linux-gnu")
else
  flags=(SECCOMP=0)
  export QEMU_LD_PREFIX=$root
fi
export LC_ALL=C.UTF-8 PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$folder/pkgconfig:$root/usr/share/pkgconfig
make -s -j"$(nproc)" CUDA=0 CC="$triplet-gcc --sysroot=$root" AR="$triplet-ar" BUILD="$build" "${flags[@]}" \
  "$build/imghist" unit
if [ $# -eq 0 ]; then
  for suite in tests/unit/test_*.c tests/cli/*.bats; do
    suite=$(basename "${suite%.*}")
    [[ $suite =~ ^(install|make|package|needs|bench_batch|layers|libjpeg|run|progressive)$ ]] || set -- "$@" "$suite"
  done
fi
CC=$triplet-gcc TEST_TIMEOUT=${TEST_TIMEOUT:-1800} tests/run.sh "$build" "$@"
