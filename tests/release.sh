#!/usr/bin/env bash
# release.sh [FOLDER]: tries the files of a release on this machine, without a network (default: build/assets, of
# `make release`). Sums agree; each archive and package unpacks, and each program for this machine counts the samples
# alike. A package is tried where its libraries are installed, the source archive with MAKE_SOURCE=1.
set -eu
assets=$(cd "${1:-$(dirname "$0")/../build/assets}" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "release.sh: $*"
  exit 1
}

(cd "$assets" && sha256sum --quiet -c SHA256SUMS)
listed=$(cut -c67- "$assets/SHA256SUMS" | LC_ALL=C sort)
[ "$listed" = "$(cd "$assets" && find . -type f ! -name SHA256SUMS -printf '%f\n' | LC_ALL=C sort)" ] || fail "SHA256SUMS lists: $listed"

# counts PROGRAM: of the samples, and its version.
counts() { "$1" --version && "$1" -q --csv=stats --device=cpu "$root/samples"; }

# same PROGRAM: counts as the first program did.
same() {
  counts "$1" >actual || fail "$1 does not run"
  [ -e expected ] || mv actual expected
  [ ! -e actual ] || cmp expected actual || fail "$1 counts otherwise"
  n=$((n + 1))
  echo "${2##*/}: counts $(($(wc -l <expected) - 2)) channels"
}
n=0

archive=$(echo "$assets"/imghist-*-linux-"$(uname -m)".tar.gz)
tar -xzf "$archive"
unpacked=$(basename "$archive" .tar.gz)
same "$unpacked/bin/imghist" "$archive"
for file in LICENSE share/man/man1/imghist.1 share/man/man5/imghist-formats.5 share/imghist/imghist.schema.json \
  share/bash-completion/completions/imghist share/zsh/site-functions/_imghist share/fish/vendor_completions.d/imghist.fish; do
  [ -s "$unpacked/$file" ] || fail "$archive has no $file"
done
bash -n "$unpacked/share/bash-completion/completions/imghist"

# As the action and the pre-commit hook install it.
wheel=$(echo "$assets"/imghist-*"$(uname -m)".whl)
rm -rf "$root/build/hook"
export PIP_FIND_LINKS=$assets PIP_NO_INDEX=1
same "$root/packaging/with_wheel.sh" "$wheel"
"$root/build/hook/bin/python" -c 'import imghist, sys; assert imghist.count(sys.argv[1]).planes' "$root/samples/scene.png"

arch=$(dpkg --print-architecture 2>/dev/null) || arch=none
for deb in "$assets"/*imghist*_"$arch".deb; do
  [ ! -e "$deb" ] || dpkg-deb -x "$deb" package
done
if [ ! -e package/usr/bin/imghist ]; then
  echo "no Debian package for $arch"
elif ldd package/usr/bin/imghist | grep 'not found'; then
  echo "the Debian package is not tried without these libraries"
else
  same package/usr/bin/imghist imghist.deb
fi

source=$assets/${unpacked%-linux-*}.tar.gz
tar -xzf "$source"
if [ "${MAKE_SOURCE:-0}" = 1 ]; then
  make -s -C "$(basename "$source" .tar.gz)" CUDA=0 all >make.log 2>&1 || fail "$(tail make.log)"
  same "$(basename "$source" .tar.gz)/imghist" "$source"
fi
echo "$n programs count alike"
