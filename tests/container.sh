#!/usr/bin/env bash
# container.sh: builds packaging/Dockerfile and counts a sample in the container. Exit status 77 without a working docker
# or podman.
set -eu
cd "$(dirname "$0")/.."
for docker in docker podman ''; do
  [ -n "$docker" ] || { echo "neither docker nor podman works here"; exit 77; }
  ! "$docker" info >/dev/null 2>&1 || break
done
git rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "the container is built from a git checkout"; exit 77; }
"$docker" build -f packaging/Dockerfile -t imghist-test .
for format in png jpg; do
  "$docker" run --rm -v "$PWD/samples:/data:ro" imghist-test "scene.$format" --csv=stats | grep "^scene.$format,480,320,red,153600,"
done
"$docker" run --rm imghist-test --list >build/container-list
for name in webp tiff gif avif heif jxl; do
  grep -E "^  $name " build/container-list | grep -v 'not in this build' || { echo "the container lacks $name"; exit 1; }
done
