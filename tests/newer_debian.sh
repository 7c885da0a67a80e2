#!/usr/bin/env bash
# newer_debian.sh [SUITE...]: builds imghist against the libraries of a newer Debian and runs the
# JPEG and PNG suites there, or the suites named.
#
# Debian 12 has libjpeg-turbo 2.1 and libpng 1.6.39. Debian 13 has libjpeg-turbo 2.1 and libpng 1.6.48;
# sid has libjpeg-turbo 3. The root is made with mmdebstrap in build/SUITE and kept for the next run.
# This needs root and the Debian archive; otherwise the script exits with 77 and says why.
#
#   DEBIAN=sid               the release to test with
#   DEBIAN_MIRROR=URL        the archive to fetch packages from
set -eu
cd "$(dirname "$0")/.."
