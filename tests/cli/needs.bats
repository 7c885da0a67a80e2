#!/usr/bin/env bats
# What a fresh clone prints if something is missing: to root, to an ordinary user, and through make.
# apt-get, sudo and id are stubs that log their calls; pkg-config finds nothing.

load helpers

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  mkdir bin
  for tool in apt-get sudo; do
    printf '#!/bin/sh\necho "%s $*" >>"%s/calls"\nexit "${STUB_STATUS:-1}"\n' "$tool" "$PWD" >"bin/$tool"
  done
  printf '#!/bin/sh\necho "${STUB_UID:-1000}"\n' >bin/id
  chmod +x bin/*
  : >calls
  unset DEPS
  export PKG_CONFIG=false PATH=$PWD/bin:$PATH
}

@test "needs: an ordinary user gets the command to run, and nothing is installed" {
  run "$ROOT/third_party/install.sh" build
  [ "$status" -eq 1 ]
  [[ $output == *"libpng: reads PNG"* ]]
  [[ $output == *"installing them needs root"* ]]
  [[ $output == *"apt-get install"*"libpng-dev"*"libjpeg-dev"* ]]
  [[ $(cat calls) != *apt-get* ]]
}

@test "needs: root installs the missing packages, and a failure is reported" {
  STUB_UID=0 run "$ROOT/third_party/install.sh" build
  [ "$status" -eq 1 ]
  grep -q '^apt-get .*libpng-dev' calls
  [[ $(cat calls) != *sudo* ]]
  : >calls
  STUB_UID=0 STUB_STATUS=0 run "$ROOT/third_party/install.sh" build
  [ "$status" -eq 1 ] # apt-get reports success, but the package is still not found
  [[ $output == *"still not found"* ]]
}

@test "needs: a user with sudo installs through it" {
  STUB_STATUS=0 run "$ROOT/third_party/install.sh" build
  grep -q '^sudo .*apt-get' calls
  grep -q '^sudo .*install.*libpng-dev' calls
}

@test "needs: optional packages are listed with the rest and skipped" {
  run "$ROOT/third_party/install.sh" build 'formats?'
  [ "$status" -eq 1 ]
  [[ $output == *"libpng: reads PNG"$'\n'* ]]
  [[ $output == *"libwebpdemux: reads WebP (optional)"* ]]
  [[ $output == *"apt-get install"*"libpng-dev"*"libwebp-dev"* ]]
  [[ $output != *"continuing"* ]]
  run "$ROOT/third_party/install.sh" 'formats?'
  [ "$status" -eq 0 ]
  [[ $output == *"continuing without"* ]]
  STUB_UID=0 run "$ROOT/third_party/install.sh" 'formats?'
  [ "$status" -eq 0 ]
  run "$ROOT/third_party/install.sh" formats
  [ "$status" -eq 1 ]
}

# without PACKAGE: apt-get knows all packages except this one, as on older releases.
without() {
  cat >bin/apt-get <<END
#!/bin/sh
echo "apt-get \$*" >>"$PWD/calls"
case " \$* " in *" $1 "*) exit 100 ;; esac
END
}

@test "needs: if a release lacks a package, the others are installed" {
  without libjxl-dev
  STUB_UID=0 run "$ROOT/third_party/install.sh" build 'formats?'
  [ "$status" -eq 1 ] # pkg-config still finds nothing
  grep '^apt-get .* install .*libpng-dev.*libwebp-dev.*libjxl-dev' calls
  tail -n 1 calls | grep '^apt-get .* install .*libpng-dev.*libwebp-dev.*libheif-dev'
  [[ $(tail -n 1 calls) != *libjxl-dev* ]]
}

@test "needs: if not all packages can be installed, the required ones are" {
  without libwebp-dev
  sed -i 's,^case,case " $* " in *" -s "*) exit 0 ;; esac\n&,' bin/apt-get # apt-get knows all packages but lacks some files
  STUB_UID=0 run "$ROOT/third_party/install.sh" build 'formats?'
  [ "$status" -eq 1 ]
  grep '^apt-get .* install .*libpng-dev.*libwebp-dev' calls
  tail -n 1 calls | grep '^apt-get .* install .*libpng-dev'
  [[ $(tail -n 1 calls) != *libwebp-dev* ]]
}

@test "needs: a library or tool that is too old counts as missing" {
  printf '#!/bin/sh\n[ "$1 $2" = "--exists libtiff-4" ]\n' >bin/old-pkg-config # and not "libtiff-4 >= 4.5"
  printf '#!/bin/sh\necho "Bats ${STUB_BATS}"\n' >bin/bats
  chmod +x bin/*
  PKG_CONFIG=old-pkg-config STUB_BATS=1.2.1 run "$ROOT/third_party/install.sh" 'formats?' test
  [[ $output == *"libtiff-4 >= 4.5: reads TIFF (optional)"* ]]
  [[ $output == *"bats 1.7: runs the tests"* ]]
  for version in 1.7 1.7.0 1.10.0; do
    STUB_BATS=$version run "$ROOT/third_party/install.sh" test 'formats?'
    [[ $output != *"bats 1.7"* ]]
  done
}

@test "needs: an unknown group is refused" {
  run "$ROOT/third_party/install.sh" everything
  [ "$status" -eq 1 ]
  [[ $output == *"unknown group: everything"* ]]
}

@test "needs: make installs nothing and names the command to run" {
  command -v make >/dev/null || skip "make is missing"
  run env -u MAKEFLAGS -u MAKEOVERRIDES make -C "$ROOT" CUDA=0 PKG_CONFIG=false BUILD="$PWD/build" needs
  [ "$status" -ne 0 ]
  [[ $output == *"run third_party/install.sh"* ]]
  [ ! -s calls ]
}
