#!/usr/bin/env bash
# container.sh: builds packaging/Dockerfile and counts samples in the container. Exit status 77 without a working docker
# or podman. BASE is the image that it starts from; without a registry, mmdebstrap makes one.
set -eu
cd "$(dirname "$0")/.."
for docker in docker podman ''; do
  [ -n "$docker" ] || { echo "neither docker nor podman works here"; exit 77; }
  ! "$docker" info >/dev/null 2>&1 || break
done
git rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "the container is built from a git checkout"; exit 77; }
options=() run=("$docker" run --rm)
if [ "$docker" = podman ]; then # within a container: no cgroups, no raised limits, and crun refuses some kernels
  options=(--isolation=chroot)
  ! command -v runc >/dev/null || run=(podman --runtime runc run --rm)
  run+=(--network=none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024)
fi
if [ -n "${BASE:-}" ]; then
  options+=(--build-arg "BASE=$BASE")
elif ! "$docker" pull -q debian:12-slim >/dev/null 2>&1; then
  mkdir -p build/systems
  # As debian:12-slim: without manuals and translations, and without usrmerge, which needs perl.
  [ -e build/systems/base.tar ] || mmdebstrap --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --include=usr-is-merged bookworm build/systems/base.tar >/dev/null 2>&1 ||
    { echo "no base image: no registry, and mmdebstrap failed"; exit 77; }
  "$docker" import -q build/systems/base.tar imghist-base >/dev/null
  options+=(--build-arg BASE=imghist-base)
fi
"$docker" build "${options[@]}" -f packaging/Dockerfile -t imghist-test .
for format in png jpg; do
  "${run[@]}" -v "$PWD/samples:/data:ro" imghist-test "scene.$format" --csv=stats | grep "^scene.$format,480,320,red,153600,"
done
[ "$("${run[@]}" --entrypoint id imghist-test -u)" != 0 ] || { echo "the container runs as root"; exit 1; }
"${run[@]}" imghist-test --list >build/container-list
for name in webp tiff gif heif jxl jp2 archives:; do
  grep -E "^  $name " build/container-list | grep -v 'not in this build' || { echo "the container lacks $name"; exit 1; }
done
size=$("$docker" image inspect -f '{{.Size}}' imghist-test)
echo "$((size / 1000000)) MB"
[ "$size" -lt 250000000 ] || { echo "the image has 250 MB or more"; exit 1; }
