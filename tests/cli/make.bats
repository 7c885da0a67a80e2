#!/usr/bin/env bats
# Flags from users and packagers are added to our own; settings that cannot work are refused before anything is built;
# and a second make rebuilds only what changed.
#
# No test here builds the program: make prints what it would run, or compiles one small file of a copy.

load helpers

setup() {
  command -v make >/dev/null || skip "make is missing"
  cd "$BATS_TEST_TMPDIR" || return 1
  ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  unset CFLAGS CPPFLAGS LDFLAGS LDLIBS CUDA CUDA_HOME CUDA_ARCH BUILD
}

# run_make ARGUMENT...: runs make on the sources, without the variables of a make that runs this test.
run_make() {
  env -u MAKEFLAGS -u MAKEOVERRIDES -u CONFIG -u WERROR make -C "${SOURCES:-$ROOT}" "$@"
}

# copy: copies the files needed to compile one source file, for run_make.
copy() {
  SOURCES=$PWD/sources
  mkdir -p "$SOURCES/src"
  cp -R "$ROOT/Makefile" "$ROOT/packaging" "$ROOT/third_party" "$SOURCES"
  cp -R "$ROOT/src/base" "$ROOT/src/imghist.h" "$SOURCES/src"
}

# compiling ARGUMENT...: sets command to the command that compiles the file for AVX2.
compiling() {
  command=$(run_make -n CUDA=0 "BUILD=$PWD/build" "$@" "$PWD/build/src/count/count_vectors_avx2.o" | grep -- ' -c -o ')
}

# has_in_order FLAG...: the command contains all flags in this order.
has_in_order() {
  local flag rest=" $command"
  for flag; do
    [[ $rest == *" $flag "* ]] || fail "$flag is missing or out of order in: $command"
    rest=" ${rest#*" $flag "}"
  done
}

@test "make: user flags are added to required flags and override defaults" {
  case $(${CC:-cc} -dumpmachine) in x86_64* | i?86*) ;; *) skip "this CPU has no AVX2" ;; esac
  together=(-Isrc -DMINE -O2 -Wall -O3 -std=c11 -ffp-contract=off -fPIC -fvisibility=hidden -mavx2)
  compiling CFLAGS=-O3 CPPFLAGS=-DMINE
  has_in_order "${together[@]}"
  CFLAGS=-O3 CPPFLAGS=-DMINE compiling
  has_in_order "${together[@]}"
  compiling
  has_in_order -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
  compiling CPPFLAGS=-D_FORTIFY_SOURCE=3
  has_in_order -D_FORTIFY_SOURCE=3 -O2
  [[ $command != *_FORTIFY_SOURCE=2* ]]
  compiling "CFLAGS=-flto=auto -O3" # an archive of LTO objects could not hide its names
  has_in_order -O2 -O3
  [[ $command != *-flto* ]]
}

@test "make: user libraries and linker flags are added to the program's" {
  run_make -n CUDA=0 "BUILD=$PWD/build" LDFLAGS=-Wl,--as-needed LDLIBS=-lmine "$PWD/build/imghist" >log
  command=$(grep -- "-o $PWD/build/imghist " log)
  for flag in -pie -pthread -Wl,-z,relro,-z,now -Wl,--as-needed -lmine -ljpeg -lm; do
    [[ " $command " == *" $flag "* ]] || fail "no $flag in: $command"
  done
}

@test "make: files are rebuilt when flags change, and only then" {
  command -v cc >/dev/null || skip "cc is missing"
  copy
  object=build/release/src/base/text.o
  run_make CUDA=0 "$object" >log 2>&1 || fail "$(cat log)"
  run run_make -n CUDA=0 "$object"
  [[ $output == *"up to date"* ]]
  touch -r "$SOURCES/$object" before
  for change in CFLAGS=-O1 CPPFLAGS=-DMINE LDFLAGS=-s "CC=cc -DMINE"; do
    run run_make -n CUDA=0 "$object" "$change"
    [[ $output == *" -c -o $object"* ]] || fail "nothing is recompiled with $change"
  done
  [ ! "$SOURCES/$object" -nt before ] # -n changes nothing
  run_make CUDA=0 CFLAGS=-O1 "$object" >log 2>&1
  [ "$SOURCES/$object" -nt before ]
  run run_make -n CUDA=0 CFLAGS=-O1 "$object"
  [[ $output == *"up to date"* ]]
}

@test "make: a blank in BUILD is refused, and CUDA=1 without nvcc" {
  run run_make -n CUDA=0 "BUILD=$PWD/some where"
  [ "$status" -eq 2 ]
  [[ $output == *"BUILD must be one folder"* ]]
  run run_make -n CUDA=1 NVCC=
  [ "$status" -eq 2 ]
  [[ $output == *"no nvcc on PATH or in CUDA_HOME"* ]]
  [ -z "$(ls)" ]
}

@test "make: nvcc of the last build is found even if PATH no longer has it" {
  copy
  mkdir -p toolkit/bin
  printf '#!/bin/sh\n' >toolkit/bin/nvcc
  chmod +x toolkit/bin/nvcc
  PATH=$PWD/toolkit/bin:$PATH run_make CUDA=1 CUDA_ARCH=all build/cuda-all/flags
  PATH=/usr/bin:/bin
  ! command -v nvcc || skip "nvcc is in /usr/bin"
  run run_make -s CUDA=1 print-flags
  [[ $output == *"-DIH_WITH_CUDA -isystem $PWD/toolkit/include"* ]]
  run run_make -s CUDA=0 print-flags
  [[ $output != *IH_WITH_CUDA* ]]
}

@test "make: without a GPU, a build has no GPU code unless CUDA=1 asks for it; packages have it for all GPUs" {
  [ ! -e /dev/nvidia0 ] && [ ! -e /dev/dxg ] || skip "this machine has a GPU"
  mkdir -p toolkit/bin
  printf '#!/bin/sh\n' >toolkit/bin/nvcc
  chmod +x toolkit/bin/nvcc
  export CUDA_HOME=$PWD/toolkit
  run run_make -s print-flags
  [[ $output != *IH_WITH_CUDA* ]]
  run run_make -s CUDA=1 print-flags
  [[ $output == *IH_WITH_CUDA* ]]
  run run_make -n deb
  [[ $output == *" CUDA=1 CUDA_ARCH=all dpkg-buildpackage"* ]]
  run run_make -n deb CUDA=0 CUDA_ARCH=90
  [[ $output == *" CUDA=0 CUDA_ARCH=90 dpkg-buildpackage"* ]]
}

@test "make: prints a short line for a file, with V=1 the command, with -s nothing" {
  command -v cc >/dev/null || skip "cc is missing"
  copy
  object=build/release/src/base/text.o
  run run_make --no-print-directory CUDA=0 "$object"
  [[ $output == *"CC   src/base/text.c" && $output != *" -c -o "* ]]
  run run_make --no-print-directory CUDA=0 V=1 CFLAGS=-O1 "$object"
  [[ $output == *" -O1 "*" -c -o $object src/base/text.c" ]]
  run run_make -s CUDA=0 "$object"
  [ -z "$output" ]
}

@test "make: runs as many jobs as there are cores, or as many as the user says" {
  grep -E '^(JOBS|MAKEFLAGS) ' "$ROOT/Makefile" >Makefile
  # shellcheck disable=SC2016 # for make
  printf 'all:; @echo " $$MAKEFLAGS "\n' >>Makefile
  jobs() { env -u MAKEFLAGS MAKELEVEL="$1" "${@:2}"; }
  [[ $(jobs 0 make -s) == *" -j$(nproc) "* ]]
  [[ $(jobs 0 make -s -j9) == *" -j9 "* ]]
  [[ $(jobs 0 env MAKEFLAGS=-j9 make -s) == *" -j9 "* ]]
  [[ $(jobs 1 make -s) != *" -j"* ]] # the outer make decides
}

@test "make: help has every target that the documents name, and every variable" {
  run_make help >help
  for target in $(grep -ohE '(^|[`" ])make [a-z][a-z0-9-]+' "$ROOT/README.md" "$ROOT/CONTRIBUTING.md" | awk '{ print $2 }' | sort -u); do
    case $target in it | their) continue ;; esac # ordinary words after make
    grep -q "^  make $target " help || fail "no make $target in help"
  done
  for variable in CONFIG CC CUDA CUDA_ARCH CFLAGS DEPS PREFIX DESTDIR; do
    grep -qE "^  (.* )?$variable=" help || fail "no $variable in help"
  done
}

@test "make: analyze fails if a tool does not run" {
  mkdir bin
  printf '#!/bin/sh\nexit 1\n' >bin/clang-tidy
  chmod +x bin/clang-tidy
  PATH=$PWD/bin:$PATH run env -u MAKEFLAGS -u MAKEOVERRIDES timeout 60 "$ROOT/tests/analyze.sh"
  [ "$status" -eq 1 ]
  [[ $output == "analyze.sh: does not work"*clang-tidy* ]]
}
