#!/usr/bin/env bats
# The archive that `make dist` makes builds and tests elsewhere; the packages that `make deb` makes are
# the same bytes each time, install, run, and pass lintian without errors.

load helpers

setup_file() {
  ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  export ROOT
}

needs() {
  local tool
  for tool; do
    command -v "$tool" >/dev/null || skip "$tool is missing"
  done
}

# house DIRECTORY TARGET...: make there, whatever make runs this test.
house() {
  local where=$1
  shift
  env -u MAKEFLAGS -u MAKEOVERRIDES -u CONFIG -u WERROR -u IMGHIST make -C "$where" CUDA=0 "$@"
}

unpacked() {
  git -C "$ROOT" rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "the sources are no git checkout"
  mkdir -p "$1"
  git -C "$ROOT" archive HEAD | tar -x -C "$1"
  [ -f "$1/packaging/install.mk" ] || skip "the last commit has no packaging"
}

@test "package: two source archives of one commit are the same bytes" {
  needs git gzip
  unpacked here # or skips
  git clone -q "$ROOT" one
  git clone -q "$ROOT" two
  touch -d 2001-01-01 two/*
  chmod -R g+w two
  (umask 077 && house one dist >log 2>&1)
  house two dist >>log 2>&1
  archive=$(cd one/build && echo imghist-*.tar.gz)
  cmp "one/build/$archive" "two/build/$archive"
  tar -tzf "one/build/$archive" >files
  [ "$(sort files | head -n 1)" = "${archive%.tar.gz}/" ]
  grep -q "/Makefile$" files
  run grep -vE "^${archive%.tar.gz}/" files
  [ "$status" -eq 1 ]
}

@test "package: the archive builds elsewhere, without git, and its program counts" {
  needs git cc make pkg-config
  unpacked elsewhere/sources
  house elsewhere/sources CONFIG=debug -j2 all >log 2>&1 || fail "$(tail -n 30 log)"
  cd elsewhere/sources
  [ ! -e .git ]
  tests/layers.sh .
  build/debug/imghist samples --csv=stats --device=cpu >actual
  "$IMGHIST" samples --csv=stats --device=cpu >expected
  diff expected actual
}

@test "package: Debian packages are reproducible, pass lintian and run" {
  needs dpkg-buildpackage dh lintian fakeroot
  unpacked first
  [ "${PACKAGE_TESTS:-0}" = 1 ] || skip "takes minutes; PACKAGE_TESTS=1 runs it"
  unpacked another/folder
  DEB_BUILD_OPTIONS=nocheck house first deb >log 2>&1 || fail "$(tail -n 30 log)"
  DEB_BUILD_OPTIONS='nocheck parallel=2' house another/folder deb >log 2>&1 || fail "$(tail -n 30 log)"
  debs=(first/build/deb/*.deb)
  [ "${#debs[@]}" -ge 3 ]
  for deb in "${debs[@]}"; do
    cmp "$deb" "another/folder/build/deb/${deb##*/}"
  done
  lintian --allow-root --fail-on error first/build/deb/imghist_*.changes >lintian.log 2>&1 || fail "$(cat lintian.log)"
  mkdir installed
  for deb in "${debs[@]}"; do
    case $deb in *-dbgsym_*) ;; *) dpkg-deb -x "$deb" installed ;; esac
  done
  [ "$(installed/usr/bin/imghist "$SAMPLES/scene.png" --csv=stats --device=cpu)" = \
    "$("$IMGHIST" "$SAMPLES/scene.png" --csv=stats --device=cpu)" ]
  dpkg-deb -f first/build/deb/imghist_*.deb Depends >depends
  grep -q 'libpng16' depends
  grep -q 'libjpeg' depends
  dpkg-deb -f first/build/deb/imghist_*.deb Recommends >recommends
  for library in $(make -s -C "$TESTS/.." print-late); do
    grep -q "${library%%.so*}" recommends
  done
  [ -f installed/usr/share/man/man1/imghist.1.gz ]
  [ -f installed/usr/share/man/man3/libimghist.3.gz ]
}
