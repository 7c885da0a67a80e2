#!/usr/bin/env bash
# release.sh VERSION: gathers in build/assets what a release publishes: the source archive of `make dist`, the packages of
# `make deb`, the wheels of this version in build/wheel, and SHA256SUMS. The files of each wheel also become an archive
# without Python: the program, which has its libraries inside, manual, completions and licences.
set -eu
cd "$(dirname "$0")/.."
version=$1 assets=$PWD/build/assets
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

shopt -s nullglob
wheels=(build/wheel/imghist-"$version"-*.whl)
[ "${#wheels[@]}" -gt 0 ] || { echo "release.sh: no wheel of version $version in build/wheel: run make wheel" >&2; exit 1; }
rm -rf "$assets"
mkdir -p "$assets"
for file in "build/imghist-$version.tar.gz" build/deb/*.deb "${wheels[@]}"; do
  case $file in *-dbgsym_*) ;; *) cp "$file" "$assets" ;; esac
done

date=$(git log -1 --format=@%ct)
for wheel in "${wheels[@]}"; do
  [[ $wheel =~ linux_([0-9]+_[0-9]+_)?([^.]*)\.whl$ ]] # linux_x86_64, manylinux_2_28_aarch64
  name=imghist-$version-linux-${BASH_REMATCH[2]}
  python3 -m zipfile -e "$wheel" "$work/$name.whl"
  mkdir "$work/$name"
  mv "$work/$name.whl"/*.data/data/share "$work/$name.whl"/*.dist-info/licenses/LICENSE "$work/$name"
  install -D -m 755 -t "$work/$name/bin" "$work/$name.whl"/*.data/scripts/imghist
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+w,go=rX --mtime="$date" -c "$name" |
    gzip -9n >"$assets/$name.tar.gz"
done
cd "$assets"
sums=$(sha256sum -- *)
echo "$sums" | tee SHA256SUMS
