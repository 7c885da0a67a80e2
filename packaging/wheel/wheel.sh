#!/usr/bin/env bash
# wheel.sh [x86_64|aarch64]: makes build/wheel/imghist-*-manylinux_2_28_MACHINE.whl, with the module, the program and all
# libraries inside, for any Linux with glibc 2.28 and Python 3.11. Needs the packages of
# `third_party/install.sh build wheel`, and the package index, for ziglang, meson, ninja and setuptools.
#
#   CUDA=1   with GPU code: needs nvcc, and takes minutes. Code for one GPU of each generation runs on all of it.
set -eu
cd "$(dirname "$0")/../.."
machine=${1:-$(uname -m)}
PYTHON=${PYTHON:-python3}
packaging/wheel/codecs.sh "$machine"

# What is the same on every machine comes from this one.
into=build/codecs/$machine
make -s --no-print-directory STATIC=0 DEPS= print-parts | while read -r stb font; do
  mkdir -p "$into/include/stb" "$into/share"
  cp "$stb"/stb/stb_{image_write,truetype}.h "$into/include/stb/"
  cp "$font" "$into/share/"
done
for package in libstb-dev fonts-dejavu-core; do
  [ ! -f "/usr/share/doc/$package/copyright" ] || cp "/usr/share/doc/$package/copyright" "$into/licenses/$package-copyright"
done
"$PYTHON" - "$into/include/python" <<'END'
import pathlib, shutil, sys, sysconfig
include = pathlib.Path(sysconfig.get_path("include"))
shutil.copytree(include, sys.argv[1], dirs_exist_ok=True)
# Debian's pyconfig.h only includes that of the machine, from another folder. Both machines have the same types.
config = include.parent / (sysconfig.get_config_var("MULTIARCH") or "") / include.name / "pyconfig.h"
if config.exists():
    shutil.copy(config, sys.argv[1])
END

# Warnings are errors only with gcc and clang, which CI checks; zig has others.
export WERROR=0
# The same sources give the same wheel, made on any day.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y src/imghist.h)}
umask 022
export SOURCE_DATE_EPOCH IMGHIST_STATIC="$machine" CUDA="${CUDA:-0}" CUDA_ARCH="${CUDA_ARCH:-all-major}"
# The completions come from the program, which a machine of another kind cannot run.
[ "$machine" = "$(uname -m)" ] || { make -s CUDA=0 all && export NATIVE=build/release/imghist; }
build/codecs/zig/bin/python -m pip wheel -q --no-build-isolation --no-deps -w build/wheel .
for file in imghist _imghist.abi3.so; do
  objdump -pT "build/release-$machine/$file" | grep -E "GLIBC_2\.(29|[3-9][0-9])|PATH .*$PWD" >build/wheel/newer || continue
  echo "wheel.sh: $file needs more than glibc 2.28, or this folder:" && cat build/wheel/newer && exit 1
done
ls -l build/wheel/imghist-*"$machine".whl
