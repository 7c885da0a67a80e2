#!/usr/bin/env bats
# The files that `make install` installs work outside the source tree, with pkg-config alone.
#
# The suite makes one CPU-only build of its own, next to the build under test.

load helpers

setup_file() {
  local tool
  export MISSING=''
  for tool in cc c++ make pkg-config nm ldd; do
    command -v "$tool" >/dev/null || MISSING=$tool
  done
  [ -z "$MISSING" ] || return 0 # each test is skipped: bats 1.8 cannot skip a file
  ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
  ROOT=${ROOT%/tests}
  : "${IMGHIST:=$ROOT/imghist}"
  export ROOT PREFIX=$BATS_FILE_TMPDIR/prefix INSTALL_BUILD=${IMGHIST%/*}/install
  case $IMGHIST in "$ROOT/imghist") INSTALL_BUILD=$ROOT/build/install ;; esac
  run_make install "PREFIX=$PREFIX" >"$BATS_FILE_TMPDIR/log" 2>&1 || {
    tail -n 40 "$BATS_FILE_TMPDIR/log" >&2
    return 1
  }
  export PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig
  # A copy without the shared library, so that programs link with the archive.
  mkdir "$BATS_FILE_TMPDIR/static"
  cp -R "$PREFIX/." "$BATS_FILE_TMPDIR/static"
  rm "$BATS_FILE_TMPDIR"/static/lib/libimghist.so*
  sed -i "s|^prefix=.*|prefix=$BATS_FILE_TMPDIR/static|" "$BATS_FILE_TMPDIR/static/lib/pkgconfig/libimghist.pc"
  export STATIC_PATH=$BATS_FILE_TMPDIR/static/lib/pkgconfig
  mkdir "$BATS_FILE_TMPDIR/examples"
  "$ROOT/tests/library/extract.sh" "$ROOT/src/imghist.h" "$BATS_FILE_TMPDIR/examples"
  export EXAMPLES=$BATS_FILE_TMPDIR/examples
  export SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all'
}

setup() {
  [ -z "$MISSING" ] || skip "$MISSING is missing"
  unset IMGHIST_DEVICE NO_COLOR COLUMNS CUDA_VISIBLE_DEVICES
  export LC_ALL=C TERM=dumb
  cd "$BATS_TEST_TMPDIR" || return 1
}

# run_make TARGET [VARIABLE=VALUE...]: runs make without the variables of a make that runs this test.
run_make() {
  env -u MAKEFLAGS -u MAKEOVERRIDES -u CONFIG -u WERROR make -C "$ROOT" CUDA=0 BUILD="$INSTALL_BUILD" "$@"
}

# build_shared COMPILER PROGRAM SOURCE..., build_static: compile as a user does.
build_shared() {
  local compiler=$1 program=$2
  shift 2
  # shellcheck disable=SC2046,SC2086 # flags are words
  $compiler -g -Wall -Wextra -Wpedantic -Werror $SANITIZE "$@" -o "$program" $(pkg-config --cflags --libs libimghist) -pthread
}

build_static() {
  local compiler=$1 program=$2
  shift 2
  # shellcheck disable=SC2046,SC2086
  $compiler -g -Wall -Wextra -Wpedantic -Werror $SANITIZE "$@" -o "$program" \
    $(PKG_CONFIG_PATH=$STATIC_PATH pkg-config --static --cflags --libs libimghist)
}

uses_shared() { ldd "$1" | grep -q "libimghist.so.0 => $PREFIX/lib"; }

export_path() { export LD_LIBRARY_PATH=$PREFIX/lib; }

@test "install: every file is in its place" {
  version=$("$PREFIX/bin/imghist" --version | sed 's/^imghist //')
  (cd "$PREFIX" && find . ! -type d | LC_ALL=C sort) >actual
  cat >expected <<END
./bin/imghist
./include/imghist.h
./lib/libimghist.a
./lib/libimghist.so
./lib/libimghist.so.0
./lib/libimghist.so.$version
./lib/pkgconfig/libimghist.pc
./share/bash-completion/completions/imghist
./share/fish/vendor_completions.d/imghist.fish
./share/imghist/imghist.schema.json
./share/man/man1/imghist.1
./share/man/man3/libimghist.3
./share/man/man5/imghist-formats.5
./share/zsh/site-functions/_imghist
END
  diff expected actual
  [ "$(pkg-config --modversion libimghist)" = "$version" ]
  [ "$("$PREFIX/bin/imghist" "$SAMPLES/testcard.png" --csv=stats)" = "$("$IMGHIST" "$SAMPLES/testcard.png" --csv=stats)" ]
  bash -n "$PREFIX/share/bash-completion/completions/imghist"
}

@test "install: the header's example counts a file, shared" {
  build_shared "cc -std=c11" count_file "$EXAMPLES/count_file.c"
  export_path
  uses_shared ./count_file
  ./count_file "$SAMPLES/scene.jpg" >actual
  "$IMGHIST" "$SAMPLES/scene.jpg" --csv=stats --device=cpu |
    awk -F, '$4 == "luma" { printf "%s pixels, mean luma %.3f\n", $5, $7 }' >expected
  [ -s expected ]
  diff expected actual
  run ./count_file "$BATS_TEST_FILENAME"
  [ "$status" -eq 1 ]
  [[ $output == *"cannot decode"* ]]
}

@test "install: the header's example scans a directory" {
  build_shared "cc -std=c11" scan_means "$EXAMPLES/scan_means.c"
  export_path
  cd "$ROOT"
  "$OLDPWD/scan_means" samples README.md >"$OLDPWD/actual" 2>"$OLDPWD/errors"
  cd "$OLDPWD"
  (cd "$ROOT" && "$IMGHIST" samples --csv=stats --device=cpu) |
    awk -F, '$4 == "luma" { printf "%s: mean luma %.3f\n", $1, $7 }' >expected
  [ -s expected ]
  diff expected actual
  [ "$(wc -l <errors)" -eq 1 ]
  [[ $(<errors) == "README.md: cannot decode"* ]]
}

@test "install: the header's example counts a file, static" {
  build_static "cc -std=c11" count_file "$EXAMPLES/count_file.c"
  [[ $(ldd ./count_file) != *libimghist* ]]
  ./count_file "$SAMPLES/scene.jpg" | grep -q "mean luma"
}

@test "install: the header's example draws the program's chart" {
  cp "$EXAMPLES/draw_chart.c" "$ROOT/tests/library/draw.c" .
  build_shared "cc -std=c11" shared draw.c
  build_static "cc -std=c11" static draw.c
  export_path
  "$PREFIX/bin/imghist" "$SAMPLES/scene.png" --chart=judge.bmp --theme=light --title=pixels
  for program in shared static; do
    ./$program "$SAMPLES/scene.png" $program.bmp
    cmp $program.bmp judge.bmp
    run ./$program "$SAMPLES/scene.png" c.gif
    [[ $status -eq 1 && $output == "c.gif: chart: the name must end in one of .png .svg .jpg .bmp .tga" ]]
  done
}

@test "install: a program without shared libraries" {
  # dlopen, for the formats that are loaded later, gives a warning.
  # shellcheck disable=SC2046 # flags are words
  cc -static -o count_file "$EXAMPLES/count_file.c" \
    $(PKG_CONFIG_PATH=$STATIC_PATH pkg-config --static --cflags --libs libimghist) 2>log || {
    ! grep -q 'cannot find -l' log || skip "a library has no archive: $(grep -o -m 1 'cannot find -l.*' log)"
    cat log
    return 1
  }
  ldd ./count_file 2>&1 | grep -q "not a dynamic executable"
  ./count_file "$SAMPLES/scene.png" | grep -q "mean luma"
}

@test "install: the command of README.md builds the example" {
  command=$(sed -n 's/^    \(cc docs\/count_file.c .*pkg-config.*\)$/\1/p' "$ROOT/README.md")
  [ -n "$command" ]
  diff "$EXAMPLES/count_file.c" "$ROOT/docs/count_file.c"
  mkdir docs
  cp "$EXAMPLES/count_file.c" docs
  bash -ec "$command"
  export_path
  ./a.out "$SAMPLES/scene.jpg" | grep -q "mean luma"
}

@test "install: a C++ program with threads, shared and static" {
  build_shared "c++ -std=c++11" shared "$ROOT/tests/library/sum.cpp"
  build_static "c++ -std=c++11" static "$ROOT/tests/library/sum.cpp"
  export_path
  uses_shared ./shared
  images=("$SAMPLES"/*.png "$SAMPLES"/*.jpg)
  pixels=$("$IMGHIST" "${images[@]}" --csv=stats | awk -F, '$4 == "luma" { n += $5 } END { print n }')
  [ "$(./shared "${images[@]}")" = "${#images[@]} images, $pixels pixels" ]
  [ "$(./static "${images[@]}")" = "${#images[@]} images, $pixels pixels" ]
}

@test "install: a program's own ih_ names do not clash with the library's" {
  build_shared "cc -std=c11" shared "$ROOT/tests/library/count_gray.c"
  build_static "cc -std=c11" static "$ROOT/tests/library/count_gray.c"
  export_path
  version=$(pkg-config --modversion libimghist)
  [ "$(./shared)" = "$version right" ]
  [ "$(./static)" = "$version right" ]
}

@test "install: the header's examples of device memory compile" {
  for name in count_device count_tensor; do
    cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$ROOT/tests/library/stub" -I"$PREFIX/include" -c \
      -o "$name.o" "$EXAMPLES/$name.c"
    cp "$EXAMPLES/$name.c" "$name.cpp"
    # C++ warns of "= {0}", which is right in both languages
    c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers -I"$ROOT/tests/library/stub" -I"$PREFIX/include" -c \
      -o "$name.o" "$name.cpp"
  done
}

@test "install: the libraries export the functions of the header and nothing else" {
  grep -v '^ \*' "$PREFIX/include/imghist.h" | grep -A1 '^IH_PUBLIC' | grep -oE '\bih_[a-z_]+\(' | tr -d '(' | sort -u >declared
  [ "$(wc -l <declared)" -ge 20 ]
  nm -D --defined-only "$PREFIX/lib/libimghist.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort >shared
  diff declared shared
  nm -D --defined-only "$PREFIX/lib/libimghist.so" | awk '$2 == "T" && $3 !~ /@@IMGHIST_0\.1$/ { exit 1 }'
  nm -g --defined-only "$PREFIX/lib/libimghist.a" | awk 'NF == 3 { print $3 }' | sort >static
  diff declared static
}

@test "install: built files contain no path of the source folder" {
  run grep -aFrl "$ROOT/" "$PREFIX/bin" "$PREFIX/lib"
  [ "$status" -eq 1 ]
  case $IMGHIST in "$ROOT/imghist") ;; *) return 0 ;; esac # release builds only; debug builds may contain paths
  run grep -aFl "$ROOT/" "$IMGHIST"
  [ "$status" -eq 1 ]
}

@test "install: the library never prints, exits, starts a process or reads the environment" {
  # records are printed into memory; without stdout and stderr nothing else can be
  nm -u "$PREFIX/lib/libimghist.a" | awk '{ sub(/@.*/, "", $2); print $2 }' | sort -u >used
  grep -qx memcpy used
  run grep -xE '_*(printf(_chk)?|puts|putchar|perror|write|exit|_exit|abort|getenv|secure_getenv|setlocale|signal|sigaction|system|popen|environ|stdout|stderr|kill|v?fork|posix_spawnp?|exec[a-z]+|wait[a-z]*)' used
  [ "$status" -eq 1 ]
}

@test "install: messages of the library name no command line option" {
  strings -n 4 "$PREFIX/lib/libimghist.a" >texts
  grep -qx "max_pixels" texts
  run grep -E '(^|[ (])--(max-pixels|memory|list|device|kernel)' texts
  [ "$status" -eq 1 ]
}

@test "install: no file contains DESTDIR, and uninstall removes all files" {
  run_make install "PREFIX=/opt/here" "DESTDIR=$PWD/root" >log 2>&1
  [ -x root/opt/here/bin/imghist ]
  [ "$(readlink root/opt/here/lib/libimghist.so)" = libimghist.so.0 ]
  run grep -r "$PWD" root/opt/here/lib/pkgconfig root/opt/here/share
  [ "$status" -eq 1 ]
  grep -qx 'prefix=/opt/here' root/opt/here/lib/pkgconfig/libimghist.pc
  run_make uninstall "PREFIX=/opt/here" "DESTDIR=$PWD/root" >log 2>&1
  [ -z "$(find root ! -type d)" ]
}

@test "install: only the program and the shared library are executable, wherever they are put" {
  run_make install PREFIX=/usr BINDIR=/usr/games "DESTDIR=$PWD/bin/root" >log 2>&1
  find bin/root -type f -perm /111 | LC_ALL=C sort >actual
  printf 'bin/root/usr/games/imghist\nbin/root/usr/lib/libimghist.so.%s\n' "$(pkg-config --modversion libimghist)" >expected
  diff expected actual
  run bin/root/usr/games/imghist --version
  [ "$status" -eq 0 ]
}

# Files made by `sudo make install` belong to root. Another user's make must replace them instead of writing to them.
@test "install: build files of another user are replaced, not written to" {
  rm -rf "$INSTALL_BUILD/completions" # of an older build
  run_make install PREFIX=/usr "DESTDIR=$PWD/root" >log 2>&1
  mkdir kept
  for made in libimghist.pc libimghist.names completion.bash; do
    [ -f "$INSTALL_BUILD/$made" ]
    ln "$INSTALL_BUILD/$made" "kept/$made" 2>/dev/null || skip "no links to the build can be made here"
    echo "another's" >"kept/$made"
    touch -d 2001-01-01 "kept/$made" # older than what it is made from
  done
  rm -f "$INSTALL_BUILD"/libimghist.{o,a} # otherwise make would not rebuild the first
  run_make install PREFIX=/usr "DESTDIR=$PWD/root" >log 2>&1
  [ "$(sort -u kept/*)" = "another's" ]
  grep -q '^Name: libimghist' root/usr/lib/pkgconfig/libimghist.pc
  grep -q complete root/usr/share/bash-completion/completions/imghist
  [ "$(find "$INSTALL_BUILD" -maxdepth 1 -type d -name 'completion*')" = "" ]
}

@test "install: a multiarch LIBDIR" {
  run_make install PREFIX=/usr LIBDIR=/usr/lib/some-arch "DESTDIR=$PWD/root" >log 2>&1
  [ -f root/usr/lib/some-arch/libimghist.a ]
  grep -qxF 'libdir=${prefix}/lib/some-arch' root/usr/lib/some-arch/pkgconfig/libimghist.pc
}

@test "install: a blank is refused in PREFIX and allowed in DESTDIR" {
  run run_make install "PREFIX=$PWD/some where"
  [ "$status" -ne 0 ]
  [[ $output == *"must not contain blanks"* ]]
  run run_make install PREFIX=/usr "LIBDIR=$PWD/some where"
  [ "$status" -ne 0 ]
  [ -z "$(ls)" ]
  run_make install PREFIX=/usr "DESTDIR=$PWD/some where" >log 2>&1
  [ -x "some where/usr/bin/imghist" ]
}

@test "install: the man pages have no errors" {
  command -v man >/dev/null || skip "man is missing"
  for page in "$PREFIX"/share/man/man*/*; do
    LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=120 man --warnings -l "$page" >/dev/null 2>warnings
    [ ! -s warnings ] || fail "$(cat warnings)"
  done
}
