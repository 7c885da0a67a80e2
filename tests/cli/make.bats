#!/usr/bin/env bats
# What a user or a packager gives to make is used and takes nothing away; what cannot work is refused
# before anything is built; and a second make knows what the first one did.
#
# Nothing here builds the program: make says what it would run, or compiles one small file of a copy.

load helpers

setup() {
  command -v make >/dev/null || skip "make is missing"
  cd "$BATS_TEST_TMPDIR" || return 1
  ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  unset CFLAGS CPPFLAGS LDFLAGS LDLIBS CUDA CUDA_HOME CUDA_ARCH BUILD
}

# house ARGUMENT...: make in the sources, whatever make runs this test; nothing is written there.
house() {
  env -u MAKEFLAGS -u MAKEOVERRIDES -u CONFIG -u WERROR make -C "${SOURCES:-$ROOT}" "$@"
}

# copy: what it takes to compile one file, as the sources of house.
copy() {
  SOURCES=$PWD/sources
  mkdir -p "$SOURCES/src"
  cp -R "$ROOT/Makefile" "$ROOT/packaging" "$ROOT/third_party" "$SOURCES"
  cp -R "$ROOT/src/base" "$ROOT/src/imghist.h" "$SOURCES/src"
}

# compiling ARGUMENT...: sets command to what compiles the file for AVX2.
compiling() {
  command=$(house -n CUDA=0 "BUILD=$PWD/build" "$@" "$PWD/build/src/count/count_vectors_avx2.o" | grep -- ' -c -o ')
}

# has_in_order FLAG...: the command has them all, each behind the one before.
has_in_order() {
  local flag rest=" $command"
  for flag; do
    [[ $rest == *" $flag "* ]] || fail "no $flag, or not behind the one before, in: $command"
    rest=" ${rest#*" $flag "}"
  done
}

@test "make: flags of the user's are added to what the sources need, and win over what is a choice" {
  case $(${CC:-cc} -dumpmachine) in x86_64* | i?86*) ;; *) skip "AVX2 is not for this processor" ;; esac
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
  compiling "CFLAGS=-flto=auto -O3" # an archive of that could not hide its names
  has_in_order -O2 -O3
  [[ $command != *-flto* ]]
}

@test "make: libraries and linker flags of the user's are added to what the program needs" {
  house -n CUDA=0 "BUILD=$PWD/build" LDFLAGS=-Wl,--as-needed LDLIBS=-lmine "$PWD/build/imghist" >log
  command=$(grep -- "-o $PWD/build/imghist " log)
  for flag in -pie -pthread -Wl,-z,relro,-z,now -Wl,--as-needed -lmine -ljpeg -lm; do
    [[ " $command " == *" $flag "* ]] || fail "no $flag in: $command"
  done
}

@test "make: what is built is built anew when the flags change, and only then" {
  command -v cc >/dev/null || skip "cc is missing"
  copy
  object=build/release/src/base/text.o
  house CUDA=0 "$object" >log 2>&1 || fail "$(cat log)"
  run house -n CUDA=0 "$object"
  [[ $output == *"up to date"* ]]
  touch -r "$SOURCES/$object" before
  for change in CFLAGS=-O1 CPPFLAGS=-DMINE LDFLAGS=-s "CC=cc -DMINE"; do
    run house -n CUDA=0 "$object" "$change"
    [[ $output == *" -c -o $object"* ]] || fail "nothing is compiled anew with $change"
  done
  [ ! "$SOURCES/$object" -nt before ] # -n changes nothing
  house CUDA=0 CFLAGS=-O1 "$object" >log 2>&1
  [ "$SOURCES/$object" -nt before ]
  run house -n CUDA=0 CFLAGS=-O1 "$object"
  [[ $output == *"up to date"* ]]
}

@test "make: a blank in BUILD is refused, and CUDA=1 without nvcc" {
  run house -n CUDA=0 "BUILD=$PWD/some where"
  [ "$status" -eq 2 ]
  [[ $output == *"BUILD: one folder"* ]]
  run house -n CUDA=1 NVCC=
  [ "$status" -eq 2 ]
  [[ $output == *"there is no nvcc on PATH or in CUDA_HOME"* ]]
  [ -z "$(ls)" ]
}

@test "make: nvcc is found again where the last build found it, when PATH has it no more" {
  copy
  mkdir -p toolkit/bin
  printf '#!/bin/sh\n' >toolkit/bin/nvcc
  chmod +x toolkit/bin/nvcc
  PATH=$PWD/toolkit/bin:$PATH house build/cuda-all/flags
  PATH=/usr/bin:/bin
  ! command -v nvcc || skip "nvcc is in /usr/bin"
  run house -s print-flags
  [[ $output == *"-DIH_WITH_CUDA -isystem $PWD/toolkit/include"* ]]
  run house -s CUDA=0 print-flags
  [[ $output != *IH_WITH_CUDA* ]]
}

@test "make: help has every target that the documents name, and every variable" {
  house help >help
  for target in $(grep -ohE '(^|[`" ])make [a-z][a-z-]+' "$ROOT/README.md" "$ROOT/CONTRIBUTING.md" | awk '{ print $2 }' | sort -u); do
    case $target in it | their) continue ;; esac # words of a sentence
    grep -q "^  make $target " help || fail "no make $target in help"
  done
  for variable in CONFIG CC CUDA CUDA_ARCH CFLAGS DEPS PREFIX DESTDIR; do
    grep -qE "^  (.* )?$variable=" help || fail "no $variable in help"
  done
}

@test "make: analyze fails where a tool does not run, as it finds nothing then" {
  mkdir bin
  printf '#!/bin/sh\nexit 1\n' >bin/clang-tidy
  chmod +x bin/clang-tidy
  PATH=$PWD/bin:$PATH run env -u MAKEFLAGS -u MAKEOVERRIDES timeout 60 "$ROOT/tests/analyze.sh"
  [ "$status" -eq 1 ]
  [[ $output == "analyze.sh: does not work"*clang-tidy* ]]
}
