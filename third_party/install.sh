#!/bin/sh
# install.sh [build] [formats] [test] [fuzz] [ci] [package] [wheel] [python] [engines] [emulate]: installs the packages that the
# named groups need and this machine lacks, from the distribution. Without a group: build. The network is used only if
# something is missing. A question mark makes a group optional: 'formats?' lists what is missing and goes on.
#
# The script checks each need itself (finds a header, runs a tool) and not its package, so things installed by
# hand count. It installs on Debian, Ubuntu and their derivatives; on other systems it prints the command to run.
set -eu

# group | check | purpose | package of apt, dnf, pacman, zypper, apk, brew
# (-: no package is known; =: included in the package above)
needs() {
  cat <<'END'
build|compiler|a C compiler with the C library's headers|gcc libc6-dev|gcc glibc-devel|gcc|gcc glibc-devel|gcc musl-dev|gcc
build|tool make|runs the Makefile|make|make|make|make|make|make
build|tool pkg-config|finds the libraries|pkg-config|pkgconf-pkg-config|pkgconf|pkg-config|pkgconf|pkgconf
build|library libpng|reads PNG|libpng-dev|libpng-devel|libpng|libpng16-devel|libpng-dev|libpng
build|library zlib|inflates compressed tar files|zlib1g-dev|zlib-devel|zlib|zlib-devel|zlib-dev|zlib
formats|library libdeflate|inflates PNG three times as fast as libpng|libdeflate-dev|libdeflate-devel|libdeflate|libdeflate-devel|libdeflate-dev|libdeflate
build|library libjpeg|reads JPEG|libjpeg-dev|libjpeg-turbo-devel|libjpeg-turbo|libjpeg-turbo-devel|libjpeg-turbo-dev|jpeg-turbo
build|header stb/stb_truetype.h|draws text, writes BMP and TGA, reads HDR|libstb-dev|stb-devel|stb|stb-devel|stb|-
formats|seccomp|sandboxes the processes that decode rare formats|libseccomp-dev|libseccomp-devel|libseccomp|libseccomp-devel|libseccomp-dev|-
build|font|DejaVu Sans, the font of the charts|fonts-dejavu-core|dejavu-sans-fonts|ttf-dejavu|dejavu-fonts|font-dejavu|-
formats|library libwebpdemux|reads WebP|libwebp-dev|libwebp-devel|libwebp|libwebp-devel|libwebp-dev|webp
formats|library libtiff-4 >= 4.5|reads TIFF|libtiff-dev|libtiff-devel|libtiff|libtiff-devel|tiff-dev|libtiff
formats|header gif_lib.h|reads GIF|libgif-dev|giflib-devel|giflib|giflib-devel|giflib-dev|giflib
formats|library libheif >= 1.15|reads HEIC and AVIF|libheif-dev|libheif-devel|libheif|libheif-devel|libheif-dev|libheif
formats|hevc|libheif's decoder of HEIC, which Ubuntu packages apart|libheif-plugin-libde265|=|=|=|=|=
formats|library libjxl >= 0.7|reads JPEG XL|libjxl-dev|libjxl-devel|libjxl|libjxl-devel|libjxl-dev|jpeg-xl
formats|library libopenjp2 >= 2.5|reads JPEG 2000|libopenjp2-7-dev|openjpeg2-devel|openjpeg2|openjpeg2-devel|openjpeg-dev|openjpeg
formats|library libraw_r >= 0.20|reads camera raw files|libraw-dev|LibRaw-devel|libraw|libraw-devel|libraw-dev|libraw
formats|library cfitsio >= 4.0|reads FITS|libcfitsio-dev|cfitsio-devel|cfitsio|cfitsio-devel|cfitsio-dev|cfitsio
formats|library OpenEXR >= 3.1|reads OpenEXR|libopenexr-dev|openexr-devel|openexr|openexr-devel|openexr-dev|openexr
formats|library libarchive >= 3.5|reads tar and zip files|libarchive-dev|libarchive-devel|libarchive|libarchive-devel|libarchive-dev|libarchive
test package|header cmocka.h|runs the unit tests|libcmocka-dev|libcmocka-devel|cmocka|libcmocka-devel|cmocka-dev|cmocka
test package|tool c++|builds a C++ program with the library|g++|gcc-c++|=|gcc-c++|g++|=
test|since bats 1.7|runs the tests of the command line|bats|bats|bash-bats|bats|bats|bats-core
test|tool python3|reads CSV and JSON in the tests|python3|python3|python|python3|python3|python
test|tool sqlite3|reads CSV in the tests|sqlite3|sqlite|sqlite|sqlite3|sqlite|sqlite
test|tool script|is the terminal of the tests|bsdutils|util-linux|util-linux|util-linux|util-linux-misc|=
test|tool jq|reads JSON in the tests|jq|jq|jq|jq|jq|jq
test|tool zstd|compresses archives in the tests|zstd|zstd|zstd|zstd|zstd|zstd
test|tool djpeg|decodes irregular JPEG files for comparison in the tests|libjpeg-turbo-progs|libjpeg-turbo-utils|=|libjpeg-turbo|libjpeg-turbo-utils|=
test|tool parallel|runs shards in the tests|parallel|parallel|parallel|gnu_parallel|parallel|parallel
ci|tool sbatch|runs shards on a Slurm cluster of one machine in the tests|slurmctld slurmd slurm-client munge|slurm-slurmctld slurm-slurmd slurm munge|-|-|-|-
ci|tool zsh|completes options in the tests|zsh|zsh|zsh|zsh|zsh|zsh
ci|tool fish|completes options in the tests|fish|fish|fish|fish|fish|fish
fuzz ci|tool clang|the second compiler, and the compiler of the fuzzers|clang|clang|clang|clang|clang|llvm
fuzz ci|fuzzer|clang's libFuzzer and sanitizers|libclang-rt-dev|compiler-rt|compiler-rt|=|compiler-rt|=
ci|tool clang-format|checks the format of the sources|clang-format|clang-tools-extra|=|=|clang-extra-tools|clang-format
ci|tool clang-tidy|static analysis|clang-tidy|clang-tools-extra|=|=|clang-extra-tools|llvm
ci|tool cppcheck|static analysis|cppcheck|cppcheck|cppcheck|cppcheck|cppcheck|cppcheck
ci|tool shellcheck|checks the shell scripts|shellcheck|ShellCheck|shellcheck|ShellCheck|shellcheck|shellcheck
package|essential|what every build of a Debian package needs|build-essential|-|-|-|-|-
package ci|tool dh|makes Debian packages|debhelper|debhelper|-|-|-|-
ci|tool lintian|checks Debian packages|lintian|lintian|-|-|-|-
ci|tool mmdebstrap|makes a fresh system for testing Debian packages|mmdebstrap|-|-|-|-|-
ci|tool chromium|opens the pages of --html in the tests|chromium|chromium|chromium|chromium|chromium|chromium
ci|tool tidy|checks the pages of --html in the tests|tidy|tidy|tidy|tidy|tidyhtml|tidy-html5
ci|scipy|computes distances in the tests|python3-scipy|python3-scipy|python-scipy|python3-scipy|py3-scipy|scipy
ci|tool pdftotext|reads printed pages of --html in the tests|poppler-utils|poppler-utils|poppler|poppler-tools|poppler-utils|poppler
ci|tool inotifywait|watches a folder in the tests|inotify-tools|inotify-tools|inotify-tools|inotify-tools|inotify-tools|-
ci|tool avifenc|makes AVIF image sequences in the tests|libavif-bin|libavif-tools|libavif|libavif-tools|libavif-apps|libavif
ci|tool ffmpeg|makes a video in the tests|ffmpeg|ffmpeg|ffmpeg|ffmpeg|ffmpeg|ffmpeg
emulate|tool i686-linux-gnu-gcc|builds for 32 bits|gcc-i686-linux-gnu|-|-|-|-|-
python wheel|python_header|headers of Python 3.11 or later, for the Python package|python3-dev|python3-devel|python|python3-devel|python3-dev|python
python wheel|python_venv|virtual environments, for the tests of the Python package|python3-venv|=|=|=|=|=
engines|tool java|runs Spark, in the tests of the Python package|openjdk-17-jre-headless|java-17-openjdk-headless|jre17-openjdk-headless|java-17-openjdk-headless|openjdk17-jre-headless|openjdk@17
emulate|tool aarch64-linux-gnu-gcc|builds for aarch64|gcc-aarch64-linux-gnu|gcc-aarch64-linux-gnu|-|-|-|-
emulate|tool s390x-linux-gnu-gcc|builds for s390x|gcc-s390x-linux-gnu|gcc-s390x-linux-gnu|-|-|-|-
emulate|tool qemu-aarch64-static|runs the tests of aarch64 and s390x|qemu-user-static|qemu-user-static|-|-|-|-
emulate|tool mmdebstrap|unpacks the libraries of other machines|mmdebstrap|-|-|-|-|-
wheel|tool cmake|builds the libraries inside the wheel|cmake|cmake|cmake|cmake|cmake|cmake
wheel|tool gperf|builds libseccomp|gperf|gperf|gperf|gperf|gperf|gperf
wheel|tool nasm|builds the SIMD code of libjpeg-turbo and dav1d|nasm|nasm|nasm|nasm|nasm|nasm
wheel|tool patch|applies fixes to the libraries inside the wheel|patch|patch|patch|patch|patch|=
wheel|tool xz|unpacks the libraries inside the wheel|xz-utils|xz|xz|xz|xz|xz
wheel|tool bzip2|unpacks the libraries inside the wheel|bzip2|bzip2|bzip2|bzip2|bzip2|bzip2
package ci|tool fakeroot|makes Debian packages as an ordinary user|fakeroot|fakeroot|fakeroot|fakeroot|fakeroot|-
END
}

# ---- checks -----------------------------------------------------------------------------------

tool() { command -v "$1" >/dev/null 2>&1; }

# since TOOL VERSION: this version or later. bats 1.2, which some releases have, fails every test.
since() {
  here=$("$1" --version 2>/dev/null | sed 's/^[^0-9]*//')
  [ -n "$here" ] && [ "$(printf '%s\n' "$2" "$here" | sort -V | head -n 1)" = "$2" ]
}

compiler() { echo '#include <stdio.h>' | ${CC:-cc} -E - >/dev/null 2>&1; }

header() {
  [ -f "${DEPS:-}/include/$1" ] || [ -f "/usr/include/$1" ] || [ -f "/usr/local/include/$1" ]
}

# library NAME [>= VERSION]: the Makefile requires the same versions.
library() {
  ${PKG_CONFIG:-pkg-config} --exists "$*" 2>/dev/null || [ -n "${DEPS:-}" ]
}

# Linux only, and optional for the program.
seccomp() { [ "$(uname)" != Linux ] || library libseccomp; }

# Elsewhere it comes with libheif.
hevc() { ! grep -qs ubuntu /etc/os-release || ls /usr/lib/*/libheif/plugins/libheif-libde265.so >/dev/null 2>&1; }

# Of no use where packages are not Debian's.
essential() { ! tool dpkg || dpkg -s build-essential >/dev/null 2>&1; }

python_header() {
  include=$(${PYTHON:-python3} -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)
  [ -f "$include/Python.h" ]
}

scipy() { for python in python3 /usr/bin/python3; do ! $python -c 'import scipy.stats' 2>/dev/null || return 0; done; return 1; }

python_venv() { ${PYTHON:-python3} -c 'import ensurepip, venv' 2>/dev/null; }

font() {
  for file in "${FONT:-}" "${DEPS:-}/share/DejaVuSans.ttf" \
    /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf /usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf \
    /usr/share/fonts/dejavu/DejaVuSans.ttf /usr/share/fonts/TTF/DejaVuSans.ttf; do
    [ ! -f "$file" ] || return 0
  done
  return 1
}

fuzzer() {
  program=$(mktemp)
  echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
    clang -fsanitize=fuzzer,address -x c - -o "$program" >/dev/null 2>&1 && found=0 || found=1
  rm -f "$program"
  return "$found"
}

# Sets `reasons` (a line for each missing need) and `packages` (the packages that provide them; $1 is the column
# of the package manager). `needed` and `needed_packages` leave out the optional ones.
find_missing() {
  reasons='' packages='' by_hand='' needed='' needed_packages=''
  while IFS='|' read -r of_groups check why names; do
    if wanted "$of_groups" ''; then
      optional=''
    elif wanted "$of_groups" '?'; then
      optional=' (optional)'
    else
      continue
    fi
    # shellcheck disable=SC2086 # a check is a function with an argument
    $check && continue
    package=$(echo "$names" | cut -d'|' -f"$1")
    reason="  ${check#* }: $why$optional$newline"
    case $package in
      =) package='' ;;
      -) package='' by_hand="$by_hand$reason" ;;
      *) package=" $package" ;;
    esac
    reasons="$reasons$reason" packages="$packages$package"
    [ -n "$optional" ] || { needed="$needed$reason" needed_packages="$needed_packages$package"; }
  done <<END
$(needs)
END
}

newline='
'

# True if the command line names one of the groups $1, followed by $2.
wanted() {
  for group in $1; do
    case " $groups " in *" $group$2 "*) return 0 ;; esac
  done
  return 1
}

# ---- installing -------------------------------------------------------------------------------

say() { echo "install.sh: $*" >&2; }

fail() {
  say "$@"
  exit 1
}

# Ends the script when something is still missing: with success if all of it is optional.
end_incomplete() {
  [ -z "$needed" ] || exit 1
  say "continuing without the optional packages"
  exit 0
}

# Runs a command as root. sudo is used if it needs no password or a terminal can ask for it.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

can_be_root() {
  [ "$(id -u)" = 0 ] || { tool sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; }
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@" </dev/null
}

apt_install() { apt_get install -y --no-install-recommends "$@"; }

# Package lists are fetched only if they do not contain the packages, or point to versions that are gone from the
# archive. If a release lacks some packages, the others are installed.
# shellcheck disable=SC2086 # packages are words
install_with_apt() {
  apt-get install -s $packages >/dev/null 2>&1 && apt_install $packages && return
  say "fetching the lists of packages"
  apt_get update || say "apt-get update failed, see above"
  apt_install $packages && return
  say "apt-get could not install all of:$packages"
  had=''
  for package in $packages; do
    ! apt-get install -s "$package" >/dev/null 2>&1 || had="$had $package"
  done
  for some in "$had" "$needed_packages"; do
    [ -z "$some" ] || [ "$some" = "$packages" ] || ! apt_install $some || return 0
  done
}

# ---- main -------------------------------------------------------------------------------------

groups=${*:-build}
for group in $groups; do
  case ${group%[?]} in
    build | formats | test | fuzz | ci | package | wheel | python | engines | emulate) ;;
    *) fail "unknown group: $group (groups: build formats test fuzz ci package wheel python engines emulate)" ;;
  esac
done

column=0 command=''
while read -r number manager how; do
  if [ "$column" = 0 ] && tool "$manager"; then
    column=$number command=$how
  fi
done <<'END'
1 apt-get apt-get install
2 dnf     dnf install
3 pacman  pacman -S --needed
4 zypper  zypper install
5 apk     apk add
6 brew    brew install
END

find_missing "$((column == 0 ? 1 : column))"
if [ -z "$reasons" ]; then
  echo "install.sh: nothing is missing for: $groups"
  exit 0
fi
say "missing:"
printf '%s' "$reasons" >&2

[ "$column" != 0 ] || fail "no supported package manager found (apt-get, dnf, pacman, zypper, apk, brew); Debian names of the packages:$packages"
if [ "$column" != 1 ]; then
  say "automatic installation is not supported on this system. Run this command, as root if needed:"
  echo "  $command$packages" >&2
  [ -z "$by_hand" ] || {
    say "no package is known for the following: put them under DIR/include and DIR/share, and run make DEPS=DIR"
    printf '%s' "$by_hand" >&2
  }
  end_incomplete
fi
if ! can_be_root; then
  say "installing them needs root. Run:"
  echo "  $command$packages" >&2
  [ -z "$needed" ] || say "or put headers and libraries under a directory and run make DEPS=DIR"
  end_incomplete
fi

say "installing with apt-get:$packages"
install_with_apt
find_missing 1
[ -n "$reasons" ] || exit 0
say "still not found after installing:"
printf '%s' "$reasons" >&2
end_incomplete
