#!/usr/bin/env bash
# codecs.sh [x86_64|aarch64]: builds the libraries of codecs.txt into static ones for glibc 2.28, in build/codecs/MACHINE.
#
# The compiler is that of the Python package ziglang, in a virtual environment of its own. Needs Debian's or Ubuntu's
# apt-get (or the archives in build/codecs/archives), cmake, gperf, nasm, patch and pkg-config. What is built already is
# kept. `make STATIC=1 DEPS=build/codecs/MACHINE` links with them. Exit status 77: a source cannot be had.
#
#   DEBIAN_MIRROR=URL   the archive with the sources; default: that of this system, on Ubuntu deb.debian.org
#   WITHOUT='libde265'  leaves a library out: HEIC, whose HEVC is patented in some countries
set -eu
cd "$(dirname "$0")/../.."
machine=${1:-$(uname -m)}
here=$PWD/build/codecs
prefix=$here/$machine
archives=$here/archives
table=$PWD/packaging/wheel/codecs.txt
jobs=$(nproc)
mkdir -p "$prefix/bin" "$prefix/lib/pkgconfig" "$prefix/licenses" "$prefix/built" "$archives"
exec 3>&1

say() { echo "codecs.sh: $*" >&3; }
fail() {
  say "$*"
  exit 1
}

# ---- tools ------------------------------------------------------------------------------------

for tool in cmake gperf nasm patch pkg-config; do
  command -v $tool >/dev/null || fail "$tool is missing: run third_party/install.sh wheel"
done
if [ ! -e "$here/zig/made" ]; then
  ${PYTHON:-python3} -m venv "$here/zig"
  "$here/zig/bin/python" -m pip install -q ziglang==0.14.1 meson==1.12.1 ninja==1.13.2 setuptools==84.2.1 ||
    { say "the package index gives no ziglang, meson, ninja or setuptools" && exit 77; }
  touch "$here/zig/made"
fi
zig=$(echo "$here"/zig/lib/python3*/site-packages/ziglang/zig) # python -m ziglang would start Python for each file
# meson asks a compiler for its macros and version, and takes no target from these answers.
for tool in cc c++ ar ranlib; do
  cat >"$prefix/bin/$tool" <<EOF
#!/bin/sh
zig="$zig $tool"
case "$tool \$*" in
  ar* | ranlib* | *' -dM'* | *' --version'*) exec \$zig "\$@" ;;
  *-dumpmachine*) echo $machine-linux-gnu ;;
  *) exec \$zig -target $machine-linux-gnu.2.28 "\$@" ;;
esac
EOF
  chmod +x "$prefix/bin/$tool"
done
PATH=$here/zig/bin:$PATH
export PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig" PKG_CONFIG_PATH=''
export CC="$prefix/bin/cc" CXX="$prefix/bin/c++" AR="$prefix/bin/ar" RANLIB="$prefix/bin/ranlib"
export CFLAGS='-O2 -DNDEBUG -g0 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -fno-sanitize=undefined'
export CXXFLAGS="$CFLAGS -fvisibility-inlines-hidden" CPPFLAGS="-I$prefix/include" LDFLAGS="-L$prefix/lib"

# ---- sources ----------------------------------------------------------------------------------

# apt_get ARGUMENT...: with the sources of Debian's releases, whatever this system has.
apt_get() {
  local apt=$here/apt mirror=${DEBIAN_MIRROR:-}
  if [ ! -e "$apt/updated" ]; then
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    [ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Origin: Debian' | grep '/debian/$' | head -n 1)
    mirror=${mirror:-http://deb.debian.org/debian} # Ubuntu knows none
    for release in bookworm trixie sid; do
      echo "deb-src [trusted=yes] $mirror $release main" # codecs.txt has the checksums
    done >"$apt/sources.list"
    # Without one of the releases, the others may still have the sources.
    apt-get -qq "${apt_options[@]}" --error-on=any update || echo "apt-get: not all of $mirror can be read"
    touch "$apt/updated"
  fi
  apt-get -qq "${apt_options[@]}" "$@"
}
apt_options=(-o "Dir::Etc::sourcelist=$here/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$here/apt/lists"
  -o "Dir::Cache=$here/apt/cache" -o Acquire::Check-Valid-Until=false -o Acquire::Retries=3 -o Acquire::http::Timeout=60
  -o APT::Sandbox::User=root)

# unpack PACKAGE=VERSION 'ARCHIVE SHA256' 'PATCHES SHA256': into the current folder.
unpack() {
  local file sum
  for pair in "$2" "$3"; do
    read -r file sum <<<"$pair"
    [ -n "$file" ] || continue
    # Parts of a source package that the archive no longer has are no error here.
    [ -e "$archives/$file" ] || (cd "$archives" && apt_get --only-source source --download-only "$1") || :
    [ -e "$archives/$file" ] || { rm -f "$here/apt/updated" && exit 77; }
    echo "$sum  $archives/$file" | sha256sum -c --quiet - || fail "$file is not the one of codecs.txt"
    case $file in
      *.debian.tar.*) tar -x -f "$archives/$file" && grep -v '^#' debian/patches/series | while read -r patch _; do
        [ -z "$patch" ] || patch -s -p1 <"debian/patches/$patch"
      done ;;
      *) tar -x -f "$archives/$file" --strip-components=1 ;;
    esac
  done
}

# ---- one function for each library, in its source folder ---------------------------------------

# by_cmake [-S FOLDER] OPTION...
by_cmake() {
  cmake -G Ninja -B built -DCMAKE_BUILD_TYPE=None -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR="$prefix/lib" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$machine" \
    -DCMAKE_AR="$AR" -DCMAKE_RANLIB="$RANLIB" -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "$@"
  ninja -C built -j "$jobs" "${goals[@]}"
}
goals=(install)

by_configure() {
  touch aclocal.m4 && find . \( -name Makefile.in -o -name configure -o -name '*.h.in' \) -exec touch {} + # older than a patched file
  ./configure --prefix="$prefix" --host="$machine-linux-gnu" --disable-shared --enable-static --with-pic "$@"
  make -j "$jobs" "${make_options[@]}" install
}
make_options=()

# by_hand NAME SOURCE...: compiles and archives the sources.
by_hand() {
  local name=$1 compiler
  shift
  for source; do
    case $source in *.cpp) compiler="$CXX $CXXFLAGS" ;; *) compiler="$CC $CFLAGS" ;; esac
    echo "$compiler $CPPFLAGS $by_hand_flags -c $source -o $source.o"
  done | xargs -P "$jobs" -I {} sh -c '{}'
  rm -f "$prefix/lib/lib$name.a"
  "$AR" rcs "$prefix/lib/lib$name.a" "${@/%/.o}"
}
by_hand_flags=''

build_zlib() { ./configure --static --prefix="$prefix" && make -j "$jobs" libz.a && make install; }
build_libdeflate() { by_cmake -DLIBDEFLATE_BUILD_SHARED_LIB=OFF -DLIBDEFLATE_BUILD_GZIP=OFF; }
build_libjpeg-turbo() { by_cmake -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DWITH_JPEG8=OFF -DREQUIRE_SIMD=ON; }
build_libpng() { by_cmake -DPNG_SHARED=OFF -DPNG_TESTS=OFF -DPNG_TOOLS=OFF; }
build_libwebp() {
  by_cmake -DWEBP_BUILD_ANIM_UTILS=OFF -DWEBP_BUILD_CWEBP=OFF -DWEBP_BUILD_DWEBP=OFF -DWEBP_BUILD_GIF2WEBP=OFF -DWEBP_BUILD_IMG2WEBP=OFF \
    -DWEBP_BUILD_VWEBP=OFF -DWEBP_BUILD_WEBPINFO=OFF -DWEBP_BUILD_WEBPMUX=OFF -DWEBP_BUILD_EXTRAS=OFF -DWEBP_BUILD_LIBWEBPMUX=OFF
}
build_giflib() {
  by_hand gif dgif_lib.c gifalloc.c gif_err.c gif_hash.c openbsd-reallocarray.c
  cp gif_lib.h "$prefix/include/"
}
build_openjpeg() { by_cmake -DBUILD_CODEC=OFF; }
build_zstd() { by_cmake -S build/cmake -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_PROGRAMS=OFF; }
build_xz() {
  by_cmake -DXZ_TOOL_{XZ,XZDEC,LZMADEC,LZMAINFO,SCRIPTS}=OFF -DXZ_NLS=OFF -DXZ_DOC=OFF
}
build_libtiff() {
  by_cmake -Dtiff-{tools,tests,contrib,docs,opengl}=OFF -Djbig=OFF -Dlerc=OFF -Dcxx=OFF
}
build_brotli() { by_cmake -DBROTLI_DISABLE_TESTS=ON && rm -f "$prefix/bin/brotli" "$prefix"/lib/libbrotli*.so*; }
# AVX2, SSE2 and NEON only: zig does not compile the code for AVX-512, and each target costs a minute. Bits of hwy/detect_targets.h.
targets=-DHWY_DISABLED_TARGETS=0x158C19D0
build_highway() { CXXFLAGS="$CXXFLAGS $targets" by_cmake -DHWY_ENABLE_{CONTRIB,EXAMPLES,TESTS}=OFF; }
build_lcms2() { by_hand_flags=-Iinclude; by_hand lcms2 src/cms*.c && cp include/lcms2*.h "$prefix/include/" && pc lcms2 2.16; }
# Since 1.1 it fills a new image with zeros, so dec_heif.c would not see that blocks are missing.
build_libde265() {
  sed -i '/add_subdirectory *(dec265)/d' CMakeLists.txt
  grep -q '^  img->fill_image(0,0,0);$' libde265/image.cc && sed -i '/^  img->fill_image(0,0,0);$/d' libde265/image.cc
  by_cmake -DENABLE_SDL=OFF -DENABLE_AVX512=OFF -DENABLE_ENCODER=OFF
}
build_dav1d() {
  cat >cross.ini <<EOF
[binaries]
c = '$CC'
ar = '$AR'
pkg-config = 'pkg-config'
[host_machine]
system = 'linux'
cpu_family = '$machine'
cpu = '$machine'
endian = 'little'
EOF
  meson setup built --cross-file cross.ini --prefix "$prefix" --libdir lib --default-library static --buildtype release \
    -Denable_tools=false -Denable_tests=false
  ninja -C built -j "$jobs" install
}
# heif_init registers the decoders when the first file needs them, not a constructor at each start of the program.
build_libheif() {
  sed -i 's/default_plugins_registered = true;/default_plugins_registered = false;/' libheif/heif_init.cc
  sed -i 's/^static class Register/class Register/; s/^} dummy;$/};/' libheif/heif_plugin_registry.cc
  by_cmake -DENABLE_PLUGIN_LOADING=OFF -DWITH_{X265,AOM_ENCODER,AOM_DECODER,SvtEnc,RAV1E,EXAMPLES}=OFF -DWITH_LIBDE265_PLUGIN=OFF \
    -DWITH_DAV1D=ON -DWITH_DAV1D_PLUGIN=OFF -DCMAKE_DISABLE_FIND_PACKAGE_{Doxygen,LibSharpYuv,PNG,JPEG}=ON
}
build_libseccomp() {
  make_options=(-C include)
  by_configure
  make_options=(-C src)
  by_configure
  make install-pkgconfDATA
}
build_libarchive() {
  make_options=(bin_PROGRAMS= man_MANS=)
  by_configure --disable-bsd{tar,cat,cpio,unzip} --without-{bz2lib,libb2,iconv,lz4,lzo2,openssl,xml2,expat,nettle,mbedtls} --disable-{xattr,acl}
}
build_LibRaw() {
  by_hand_flags='-I. -DUSE_JPEG -DUSE_ZLIB -pthread'
  mapfile -t sources < <(find src -name '*.cpp' ! -name '*_ph.cpp' | sort)
  by_hand raw_r "${sources[@]}"
  mkdir -p "$prefix/include/libraw" && cp libraw/*.h "$prefix/include/libraw/"
  pc libraw_r 0.21.4 'libjpeg, zlib' -lraw_r
}
build_libjxl() {
  rm -rf third_party/{brotli,highway,lcms,skcms}
  sed -i 's/^add_subdirectory(\(tools\|plugins\))/#&/' CMakeLists.txt
  goals=(jxl_dec jxl_cms jxl_threads)
  CXXFLAGS="$CXXFLAGS $targets" by_cmake -DJPEGXL_ENABLE_{TOOLS,DOXYGEN,MANPAGES,BENCHMARK,EXAMPLES,JNI,SJPEG,OPENEXR,SKCMS,JPEGLI,FUZZERS,DEVTOOLS}=OFF \
    -DJPEGXL_FORCE_SYSTEM_{BROTLI,LCMS2,HWY}=ON
  cp built/lib/libjxl_{dec,cms,threads}.a "$prefix/lib/"
  cp -R lib/include/jxl built/lib/include/jxl "$prefix/include/"
  pc libjxl 0.11.2 'libhwy, libbrotlidec, lcms2' '-ljxl_dec -ljxl_cms -ljxl_threads'
}

# Without the drivers for URLs and shared memory: files come from memory.
build_cfitsio() {
  by_hand_flags='-D_REENTRANT -DHAVE_UNISTD_H -DHAVE_FTRUNCATE -pthread'
  mapfile -t sources < <(sed -n '/^SET(SRC_FILES/,/^)/p' CMakeLists.txt | grep -o '[a-z0-9_]*\.c' | grep -v '^f77_')
  by_hand cfitsio "${sources[@]}"
  cp fitsio.h longnam.h "$prefix/include/"
  pc cfitsio 4.2.0 zlib
}
build_Imath() { by_cmake -DPYTHON=OFF; }
# The library in C alone, which takes no more of Imath than a header.
build_OpenEXR() {
  goals=(OpenEXRCore)
  by_cmake -DOPENEXR_{BUILD_TOOLS,INSTALL_TOOLS,INSTALL_EXAMPLES}=OFF -DOPENEXR_LIB_SUFFIX=
  find built -name 'libOpenEXRCore*.a' -exec cp {} "$prefix/lib/libOpenEXRCore.a" \;
  cp src/lib/OpenEXRCore/openexr*.h built/cmake/*.h "$prefix/include/"
  pc OpenEXR 3.1.13 zlib -lOpenEXRCore
}

# pc NAME VERSION [REQUIRES] [LIBS]: a pkg-config file.
pc() {
  printf 'prefix=%s\nName: %s\nDescription: %s\nVersion: %s\nRequires.private: %s\nLibs: -L${prefix}/lib %s\nCflags: -I${prefix}/include\n' \
    "$prefix" "$1" "$1" "$2" "${3:-}" "${4:--l$1}" >"$prefix/lib/pkgconfig/$1.pc"
}

# zig's runtime lacks what __builtin_cpu_supports reads.
case $machine in x86_64)
  [ -e "$prefix/lib/libcpuinfo.a" ] || (cd "$prefix/lib" && ar x "$(gcc -print-file-name=libgcc.a)" cpuinfo.o && ar rcs libcpuinfo.a cpuinfo.o) ;;
esac

# ---- all ----------------------------------------------------------------------------------------

while IFS='|' read -r -u 4 name version _ package archive patches; do
  case $name in '#'*) continue ;; esac
  case " ${WITHOUT:-} " in *" $name "*) continue ;; esac
  [ ! -e "$prefix/built/$name-$version" ] || continue
  say "building $name $version"
  work=$here/work-$machine/$name
  rm -rf "$work" && mkdir -p "$work"
  cd "$work"
  (unpack "$package" "$archive" "${patches:-}"; "build_$name") >"$work.log" 2>&1 </dev/null & # set -e holds in it
  wait $! || {
    status=$?
    tail -n 20 "$work.log"
    [ "$status" -ne 77 ] || say "the source package $package cannot be downloaded: put its files into build/codecs/archives; snapshot.debian.org keeps old ones"
    [ "$status" -eq 77 ] || say "$name cannot be built, see $work.log: $(grep -m 1 -i 'error' "$work.log")"
    exit "$status"
  }
  for text in LICENSE* License* COPYING* COPYRIGHT*; do
    case $name-$text in
      *\** | xz-COPYING.[GL]* | zstd-COPYING) ;; # of the tools of xz; zstd's is the other choice
      *) cp "$text" "$prefix/licenses/$name-$text" ;;
    esac
  done
  rm -rf "$work"
  touch "$prefix/built/$name-$version"
done 4<"$table"
say "all libraries are in build/codecs/$machine"
