#!/usr/bin/env bats
# The archive of `make dist` builds in another folder. The packages of `make deb` are reproducible, install, run, and
# pass lintian without errors.

load helpers

setup_file() {
  ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  export ROOT
}

# Prints the messages in a log of make, without the commands.
messages_of() { grep -vE '^(cc|gcc|clang|ar|rm|install|mkdir|dh_[a-z_]*|   dh) ' "$1" | tail -n 30; }

# run_make DIRECTORY TARGET...: runs make there, without the variables of a make that runs this test.
run_make() {
  local where=$1
  shift
  env -u MAKEFLAGS -u MAKEOVERRIDES -u CONFIG -u WERROR -u IMGHIST make -C "$where" CUDA=0 "$@"
}

unpacked() {
  git -C "$ROOT" rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "the sources are not a git checkout"
  mkdir -p "$1"
  git -C "$ROOT" archive HEAD | tar -x -C "$1"
  [ -f "$1/packaging/install.mk" ] || skip "the last commit has no packaging"
}

@test "package: two source archives of one commit are the same bytes" {
  needs git gzip
  unpacked here # skips without git
  git clone -q "$ROOT" one
  git clone -q "$ROOT" two
  touch -d 2001-01-01 two/*
  chmod -R g+w two
  (umask 077 && run_make one dist >log 2>&1)
  run_make two dist >>log 2>&1
  archive=$(cd one/build && echo imghist-*.tar.gz)
  cmp "one/build/$archive" "two/build/$archive"
  tar -tzf "one/build/$archive" >files
  [ "$(sort files | head -n 1)" = "${archive%.tar.gz}/" ]
  grep -q "/Makefile$" files
  run grep -vE "^${archive%.tar.gz}/" files
  [ "$status" -eq 1 ]
}

@test "package: in the archive, elsewhere and without git, make demo builds a program that counts" {
  needs git cc make pkg-config
  unpacked elsewhere/sources
  mkdir bin # optional packages that are missing stay missing
  printf '#!/bin/sh\nexit 1\n' | tee bin/apt-get >bin/sudo
  chmod +x bin/*
  PATH=$PWD/bin:$PATH run_make elsewhere/sources -j2 demo >log 2>&1 || fail "$(messages_of log)"
  grep -q '^  mean luminance 0\.' log
  [ "$(wc -l <log)" -lt 60 ]
  [ "$(tail -n 2 log | grep -v '^make')" = 'Next: ./imghist samples/ --csv=stats' ]
  cd elsewhere/sources
  [ "$(find build/scene.png -size +4k)" ] && grep -qF "$PWD/build/scene.png" ../../log
  [ ! -e .git ]
  tests/layers.sh .
  ./imghist samples --csv=stats --device=cpu >actual
  "$IMGHIST" samples --csv=stats --device=cpu >expected
  diff expected actual
}

@test "package: sources in a folder with a blank in its name compile" {
  needs cc make pkg-config
  mkdir -p "my sources/src"
  cp -R "$ROOT/Makefile" "$ROOT/packaging" "$ROOT/third_party" "my sources"
  cp -R "$ROOT/src/base" "$ROOT/src/python" "$ROOT/src/imghist.h" "my sources/src"
  run_make "my sources" build/release/src/base/text.o >log 2>&1 || fail "$(cat log)"
  run grep -c "my sources" "my sources/build/release/src/base/text.o" # the object file does not contain the path either
  [ "$output" = 0 ]
}

# debian: builds the packages once for all tests of this file, in $DEBS.
debian() {
  needs dpkg-buildpackage dh fakeroot
  export DEBS=$BATS_FILE_TMPDIR/first/build/deb
  [ "${PACKAGE_TESTS:-0}" = 1 ] || skip "takes minutes; PACKAGE_TESTS=1 runs it"
  if [ ! -e "$BATS_FILE_TMPDIR/is_built" ]; then
    unpacked "$BATS_FILE_TMPDIR/first"
    DEB_BUILD_OPTIONS=nocheck run_make "$BATS_FILE_TMPDIR/first" deb >log 2>&1 || fail "$(messages_of log)"
    touch "$BATS_FILE_TMPDIR/is_built"
  fi
}

@test "package: Debian packages are reproducible, pass lintian and run" {
  needs lintian
  debian
  unpacked another/folder
  DEB_BUILD_OPTIONS='nocheck parallel=2' run_make another/folder deb >log 2>&1 || fail "$(messages_of log)"
  debs=("$DEBS"/*.deb)
  [ "${#debs[@]}" -ge 3 ]
  for deb in "${debs[@]}"; do
    cmp "$deb" "another/folder/build/deb/${deb##*/}"
  done
  lintian --allow-root --fail-on error "$DEBS"/imghist_*.changes >lintian.log 2>&1 || fail "$(cat lintian.log)"
  mkdir installed
  for deb in "${debs[@]}"; do
    case $deb in *-dbgsym_*) ;; *) dpkg-deb -x "$deb" installed ;; esac
  done
  [ "$(installed/usr/bin/imghist "$SAMPLES/scene.png" --csv=stats --device=cpu)" = \
    "$("$IMGHIST" "$SAMPLES/scene.png" --csv=stats --device=cpu)" ]
  dpkg-deb -f "$DEBS"/imghist_*.deb Depends >depends
  grep -q 'libpng16' depends
  grep -q 'libjpeg' depends
  dpkg-deb -f "$DEBS"/imghist_*.deb Recommends | tr -d ' ' | tr , '\n' >recommends
  for library in $(make -s --no-print-directory -C "$TESTS/.." print-late); do
    name=${library%%.so*} # libopenjp2.so.7 is in libopenjp2-7, libraw_r.so.20 in libraw20
    [[ $name != libOpenEXRCore* ]] || name=libopenexr # of several libraries
    grep -q "^${name%_r}[-0-9.]*$" recommends
  done
  [ "$(wc -l <recommends)" -eq "$(make -s --no-print-directory -C "$TESTS/.." print-late | tr " " "\n" | sort -u | wc -l)" ]
  [ -f installed/usr/share/man/man1/imghist.1.gz ]
  [ -f installed/usr/share/man/man5/imghist-formats.5.gz ]
  [ -f installed/usr/share/man/man3/libimghist.3.gz ]
}

@test "package: packages with CUDA pass lintian, need no toolkit, and run without a GPU" {
  PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
  needs dpkg-buildpackage dh fakeroot lintian nvcc
  [ "${PACKAGE_TESTS:-0}" = 1 ] || skip "takes minutes; PACKAGE_TESTS=1 runs it"
  unpacked cuda
  arch=$(nvcc --list-gpu-arch | tail -n 1 | tr -dc 0-9)
  DEB_BUILD_OPTIONS=nocheck run_make cuda CUDA=1 CUDA_ARCH="$arch" deb >log 2>&1 || fail "$(messages_of log)"
  lintian --allow-root --fail-on error cuda/build/deb/imghist_*.changes >lintian.log 2>&1 || fail "$(cat lintian.log)"
  for deb in cuda/build/deb/*.deb; do
    case $deb in *-dbgsym_*) ;; *) dpkg-deb -x "$deb" installed ;; esac
  done
  installed/usr/bin/imghist --list | grep -q '^  replicated .*cuda: '
  [ "$(installed/usr/bin/imghist "$SAMPLES/scene.png" --csv=stats)" = "$("$IMGHIST" "$SAMPLES/scene.png" --csv=stats --device=cpu)" ]
  "$TESTS/library/extract.sh" "$TESTS/../src/imghist.h" .
  read -r -a libs < <(sed -n 's/^Libs.private: *//p' installed/usr/lib/*/pkgconfig/libimghist.pc)
  cc -o count_file -Iinstalled/usr/include count_file.c installed/usr/lib/*/libimghist.a "${libs[@]}"
  ./count_file "$SAMPLES/scene.jpg" | grep -q "mean luma"
}

# The script that runs on the fresh system. $1 is its root; /packages in it holds packages, images and expected
# output. mmdebstrap runs the script outside, with permission to chroot.
fresh_system() {
  cat <<'END'
set -eux
echo "the system is there"
inside() { chroot "$1" sh -euxc "cd /packages; export DEBIAN_FRONTEND=noninteractive; $no; $2"; }
no='no() { if "$@" | grep .; then exit 1; fi; }' # prints nothing
inside "$1" 'apt-get install -y --no-install-recommends ./imghist_*.deb
  no find / -xdev -name "libtiff.so*"
  imghist *.png *.jpg --csv=stats | cmp - expected.csv
  no imghist tiff.tif --csv=stats 2>messages; grep "tiff.tif.*libtiff" messages'
inside "$1" 'apt-get install -y --no-install-recommends $(dpkg-query -W -f "\${Recommends}" imghist | tr -d ,)
  imghist *.tif *.jxl *.avif --csv=stats | cmp - expected_late.csv
  dpkg -V imghist'
inside "$1" 'apt-get install -y --no-install-recommends ./libimghist*.deb gcc libc6-dev pkg-config
  gcc -o shared count_file.c $(pkg-config --cflags --libs libimghist)
  rm /usr/lib/*/libimghist.so
  gcc -o static count_file.c $(pkg-config --static --cflags --libs libimghist)
  ldd shared | grep libimghist.so.0; ldd static >needed; no grep libimghist needed
  ./shared scene.jpg >one; ./static scene.jpg >other; cmp one other; grep "mean luma" one'
inside "$1" 'apt-get purge -y imghist libimghist0 libimghist-dev
  no find / -xdev -path /packages -prune -o -name "*imghist*" ! -path "/var/log/*" -print'
echo "the system is as it was"
END
}

@test "package: on a fresh system apt installs the packages, they work, and apt removes them" {
  needs mmdebstrap
  debian
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  [ -n "$codename" ] || skip "not a release of Debian or Ubuntu"
  mkdir packages
  for deb in "$DEBS"/*.deb; do
    case $deb in *-dbgsym_*) ;; *) cp "$deb" packages ;; esac
  done
  cp "$SAMPLES"/testcard.png "$SAMPLES"/scene.jpg packages
  cp "$TESTS/formats/files/jxl-lossless.jxl" packages
  cp "$TESTS/formats/files/avif-alpha.avif" packages
  cp "$TESTS/formats/files/tiff-gray-12.tif" packages/tiff.tif
  "$TESTS/library/extract.sh" "$TESTS/../src/imghist.h" packages
  (cd packages && "$IMGHIST" ./*.png ./*.jpg --csv=stats --device=cpu | sed 's,^\./,,' >expected.csv)
  (cd packages && "$IMGHIST" ./*.tif ./*.jxl ./*.avif --csv=stats --device=cpu | sed 's,^\./,,' >expected_late.csv)
  [ "$(wc -l <packages/expected_late.csv)" -ge 4 ] || skip "this build lacks some of the formats"
  fresh_system >on_it.sh
  mmdebstrap --variant=apt --skip=cleanup --customize-hook="copy-in $PWD/packages /" \
    --customize-hook="sh $PWD/on_it.sh \"\$1\"" "$codename" /dev/null >log 2>&1 || true
  grep -q '^the system is there$' log || skip "cannot make a fresh system: $(grep -m 1 '^E:' log)"
  grep -q '^the system is as it was$' log || fail "$(tail -n 60 log)"
}
