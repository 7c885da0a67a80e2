#!/bin/sh
# nvjpeg.sh: puts nvjpeg.h into build/nvjpeg if the installed CUDA toolkit lacks it.
#
# The header comes from NVIDIA's Python package of the library, for the toolkit's major version. The library itself
# is not needed: imghist loads it at run time if there is a GPU. Exit status 77: no nvcc, or the package cannot be
# downloaded; imghist is then built without hardware JPEG decoding.
set -eu
cd "$(dirname "$0")/.."

nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
skip() {
  echo "nvjpeg.sh: $*"
  exit 77
}

[ -x "$nvcc" ] || skip "no nvcc found, so the build has no GPU support"
include=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include
[ ! -f "$include/nvjpeg.h" ] || { echo "nvjpeg.sh: the toolkit has nvjpeg.h"; exit 0; }
[ ! -f build/nvjpeg/nvjpeg.h ] || { echo "nvjpeg.sh: build/nvjpeg/nvjpeg.h exists"; exit 0; }

major=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
case $major in
  12) package=nvidia-nvjpeg-cu12 ;;
  *) package="nvidia-nvjpeg==$major.*" ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --no-deps --dest "$work" "$package" ||
  skip "python3 -m pip cannot download $package"
mkdir -p build/nvjpeg
python3 - "$work" <<'END'
import glob, sys, zipfile

with zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0]) as wheel:
    header = next(name for name in wheel.namelist() if name.endswith("/nvjpeg.h"))
    with open("build/nvjpeg/nvjpeg.h", "wb") as out:
        out.write(wheel.read(header))
END
echo "nvjpeg.sh: from $package"
