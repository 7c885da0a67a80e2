#!/usr/bin/env bash
# other_systems.sh [SYSTEM...]: runs `make demo` and `make test` on fresh systems (default: trixie sid noble).
# other_systems.sh wheel [SYSTEM...]: installs build/wheel/*.whl with pip, pipx and uv where Python is all there is
# (default: bookworm trixie sid), and tests the program: formats, archives, the sandbox, damaged files. bookworm:arm64
# is the wheel of aarch64.
# other_systems.sh wheel-build [SYSTEM...]: builds and installs the wheel by the lines of README.md, where make is all
# there is (default: bookworm), tests it, and copies it to build/wheel. WITHOUT: as of packaging/wheel/codecs.sh.
#
# A system is a release of Debian or Ubuntu, or RELEASE:ARCHITECTURE, for example trixie:i386. mmdebstrap makes its
# root in build/systems and the script keeps it for the next run. Another architecture runs under qemu-user.
# Exit status: 0 if every system passed, 77 if a root cannot be made here and no other system failed.
#
#   SUITES='test_png* csv'   build the programs and these suites, and run only the suites
#   MAKE_FLAGS='CUDA=0'      flags of every make
#   DEBIAN_MIRROR=URL UBUNTU_MIRROR=URL UBUNTU_KEYRING=FILE
set -u
cd "$(dirname "$0")/.." || exit 1
here=$PWD/build/systems
MAKE_FLAGS=${MAKE_FLAGS:-CUDA=0}
worst=0

# end STATUS REASON: the end of one system, in its own process.
end() {
  echo "$2"
  exit "$1"
}

# make_root RELEASE ARCHITECTURE ROOT
make_root() {
  local mirror=${DEBIAN_MIRROR:-} options=() # empty: the default of mmdebstrap for the release
  case $1 in
    jammy | noble | oracular | plucky | questing | resolute)
      mirror=${UBUNTU_MIRROR:-}
      local keyring=${UBUNTU_KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}
      [ -f "$keyring" ] || end 77 "$keyring is missing: install ubuntu-keyring (in Debian 11 and 13), or set UBUNTU_KEYRING"
      options=("--components=main,universe" "--keyring=$keyring")
      ;;
  esac
  rm -rf "$3"
  # A mirror may be frozen, so its index may have expired.
  mmdebstrap --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' --include="$included" \
    --architectures="$2" "${options[@]}" "$1" "$3" ${mirror:+"$mirror"} >"$3.log" 2>&1 ||
    end 77 "mmdebstrap failed: $(tail -n 1 "$3.log")"
  [ -e "$3/dev/fd" ] || ln -s /proc/self/fd "$3/dev/fd"
  touch "$3/made"
}

# in_root ROOT COMMAND...: with processes, a network and folders of its own.
in_root() {
  cp -L /etc/resolv.conf "$1/etc/resolv.conf"
  # With the certificates of a proxy, if there is one.
  [ ! -d "$1/etc/ssl/certs" ] || cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount --pid --fork sh -c '
    mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/dev/shm" && mount -t devpts -o newinstance,ptmxmode=666 devpts "$0/dev/pts" &&
      touch "$0/dev/ptmx" && mount --bind "$0/dev/pts/ptmx" "$0/dev/ptmx" && exec chroot "$0" "$@"' \
    "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    MAKEFLAGS="-j$(nproc) $MAKE_FLAGS" TEST_TIMEOUT="${TEST_TIMEOUT:-900}" TEST_JOBS="${TEST_JOBS:-}" \
    SUITES="${SUITES:-}" WITHOUT="${WITHOUT:-}" PIP_CERT=/etc/ssl/certs/ca-certificates.crt "${@:2}" </dev/null
}

# copy_sources ROOT: as a clone has them.
copy_sources() {
  mkdir -p "$1/imghist"
  find "$1/imghist" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git ls-files -co --exclude-standard -z | tar c --null --ignore-failed-read -T - 2>/dev/null | tar x -C "$1/imghist"
}

# write_agree ROOT: agree.py N compares the module's sums of at least N files with those of the program beside its Python.
write_agree() {
  cat >"$1/imghist/agree.py" <<'END'
import csv, glob, imghist, io, os, subprocess, sys
files = sorted(glob.glob("tests/formats/files/*"))
program = os.path.join(os.path.dirname(sys.executable), "imghist")
rows = csv.DictReader(io.StringIO(subprocess.run([program, "--csv=stats", *files], stdout=-1, text=True).stdout))
sums = {(r["file"], r["channel"]): int(r["sum"]) if r["sum"] else None for r in rows}  # floats have none
counted = {f for f, _ in sums}
assert len(counted) >= int(sys.argv[1]), len(counted)
for f in sorted(counted):
    c = imghist.count(f)
    for name in c.planes:
        assert c[name].sum == sums[f, name], (f, name)
print(len(counted), "files: module and program agree")
END
}

# compare_damaged RECORDS HOST_RECORDS: one version of a library may find damage that another does not. Files that both
# programs count have equal counts, except lossy JPEG XL.
compare_damaged() {
  python3 - "$@" <<'END'
import collections, json, sys
seen, other, crashed = collections.Counter(), [], []
for record, host in zip(*([json.loads(line) for line in open(name)] for name in sys.argv[1:]), strict=True):
    assert record["file"] == host["file"]
    kind = record["status"], host["status"]
    seen[kind] += 1
    seen["same words"] += kind == ("error", "error") and record["error"] == host["error"]
    crashed += [r["file"] for r in (record, host) if "its decoder " in r.get("error", "")]
    if kind == ("ok", "ok") and record["format"] != "jxl" and any(
            a != b for a, b in zip(record["channels"], host["channels"], strict=True)):
        other.append(record["file"])
print(f"{sum(seen[a, b] for a in ('ok', 'error') for b in ('ok', 'error'))} damaged files:",
      f"{seen['ok', 'ok']} counted by both programs, {len(other)} of them differently;",
      f"{seen['error', 'error']} errors of both, {seen['same words']} in the same words;",
      f"{seen['ok', 'error']} and {seen['error', 'ok']} counted by one program only")
sys.exit(bool(other or crashed) and f"other counts: {other}; the decoder crashed or hung: {crashed}")
END
}

# try_wheel SYSTEM: in a process of its own. Python 3.11 installs the wheel; an older one only unpacks the program.
# bats comes from this machine, uv and pipx (UV, PIPX: default those on PATH) from the package index, if they are here.
try_wheel() {
  local release=${1%%:*} arch=${1#*:} root=$here/wheel-${1/:/-} native machine files uv='' pipx='' status differ
  local included=python3,python3-venv,jq,bzip2,xz-utils,zstd
  [ "$release" != jammy ] || included=python3.11,python3.11-venv,python3,jq,bzip2,xz-utils,zstd
  native=$(dpkg --print-architecture)
  [ "$arch" != "$1" ] || arch=$native
  case $arch in
    amd64) machine=x86_64 ;;
    arm64) machine=aarch64 ;;
    *) end 77 "there is no wheel for $arch" ;;
  esac
  mkdir -p "$here"
  [ -e "$root/made" ] || make_root "$release" "$arch" "$root"
  rm -rf "$root/imghist"
  mkdir -p "$root/imghist/build/wheel" "$root/imghist/tools"
  git ls-files -z tests samples src/cli/imghist.1 | tar c --null --ignore-failed-read -T - 2>/dev/null | tar x -C "$root/imghist"
  cp build/wheel/imghist-*"$machine".whl "$root/imghist/build/wheel/" || end 1 "no wheel in build/wheel: run make wheel"
  write_agree "$root"
  mapfile -t files < <(dpkg -L bats | grep -v '/doc\|/man')
  tar c --no-recursion "${files[@]}" 2>/dev/null | tar x -C "$root" --keep-directory-symlink
  [ "$arch" != "$native" ] || uv=${UV:-$(command -v uv)} pipx=${PIPX:-$(command -v pipx)}
  [ -z "$uv" ] || cp "$uv" "${uv}x" "$root/imghist/tools/"
  [ -z "$pipx" ] || cp -R "$("$(dirname "$(realpath "$pipx")")/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" "$root/imghist/tools/pipx"
  # shellcheck disable=SC2016 # expanded by the inner shell
  in_root "$root" bash -c '
    set -eu
    cd /imghist
    wheel=$(echo build/wheel/*.whl)
    python=$(command -v python3.11 || command -v python3)
    export PIP_NO_INDEX=1 UV_OFFLINE=1 UV_NO_INDEX=1 PATH=$PATH:/imghist/tools
    mkdir bin
    if "$python" -c "import sys; sys.exit(sys.version_info < (3, 11))"; then
      "$python" -m venv venv
      venv/bin/pip install -q "$wheel"
      cp venv/bin/imghist bin/
      [ "$(venv/bin/python -m imghist --version)" = "$(bin/imghist --version)" ]
      [ -f venv/share/man/man1/imghist.1 ]
      venv/bin/python agree.py 110
      rm -rf ~/.local
      if command -v uv >/dev/null; then
        uv tool install -q --python "$python" "$wheel"
        ~/.local/bin/imghist samples/scene.png --csv=stats >uv.csv
        uvx -q --python "$python" --from "$wheel" imghist samples/scene.png --csv=stats | cmp - uv.csv
        uv tool uninstall -q imghist
        echo "uv tool and uvx install and run it"
      fi
      if [ -d tools/pipx ]; then
        PYTHONPATH=tools/pipx "$python" -m pipx install -q "$wheel"
        [ "$(~/.local/bin/imghist --version)" = "$(bin/imghist --version)" ]
        echo "pipx installs and runs it"
      fi
    else
      "$python" -c "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(\"unpacked\")" "$wheel"
      cp unpacked/*.data/scripts/imghist bin/ && chmod +x bin/imghist
    fi
    bin/imghist --list
    bin/imghist -q --csv=long tests/formats/files >counts.csv || :
    "$python" tests/cli/make_damaged.py 1000:1 damaged_files tests/formats/files/*
    status=0 # a crash or a hang gives another than 1
    timeout 300 bin/imghist -q --ndjson damaged_files/* >damaged.ndjson 2>damaged.err || status=$?
    [ "$status" -eq 1 ] || { tail -n 3 damaged.err; echo "damaged files: exit status $status"; exit 1; }
    tests/run.sh bin ${SUITES:-formats archive isolate damaged}'
  status=$?
  # With this system's libraries, if they are built in here: lossy JPEG XL differs between versions.
  if build/release/imghist -q --csv=long tests/formats/files >"$root.csv" 2>/dev/null || [ -s "$root.csv" ]; then
    differ=$(diff "$root.csv" "$root/imghist/counts.csv" | sed -n 's|^[<>] tests/formats/files/\([^,]*\),.*|\1|p' | sort -u)
    echo "files with other counts than in build/release/imghist: ${differ:-none}"
    (cd "$root/imghist" && timeout 300 "$here/../release/imghist" -q --ndjson damaged_files/* >host.ndjson 2>/dev/null)
    compare_damaged "$root/imghist/damaged.ndjson" "$root/imghist/host.ndjson" || status=1
  fi
  return "$status"
}

# try_wheel_build SYSTEM: in a process of its own.
try_wheel_build() {
  local release=${1%%:*} arch=${1#*:} root=$here/wheel-build-${1/:/-} included=make,ca-certificates n_files=110
  [ "$arch" != "$1" ] || arch=$(dpkg --print-architecture)
  mkdir -p "$here" build/wheel
  [ -e "$root/made" ] || make_root "$release" "$arch" "$root"
  copy_sources "$root"
  write_agree "$root"
  [ -n "${WITHOUT:-}" ] || n_files=$(find "$root/imghist/tests/formats/files" -type f | wc -l)
  rm -rf "$root/imghist/build/wheel" "$root/root/imghist"
  sed -n '/install.sh build wheel/,/^$/s/^    //p' README.md >"$root/imghist/lines"
  in_root "$root" bash -c "
    set -eux
    cd /imghist
    . ./lines
    ~/imghist/bin/imghist samples/
    ~/imghist/bin/python agree.py $n_files" && cp "$root"/imghist/build/wheel/*.whl build/wheel/
}

# try SYSTEM: in a process of its own.
try() {
  local release=${1%%:*} arch=${1#*:} root=$here/${1/:/-} included=make,ca-certificates
  [ "$arch" != "$1" ] || arch=$(dpkg --print-architecture)
  mkdir -p "$here"
  [ -e "$root/made" ] || make_root "$release" "$arch" "$root"
  copy_sources "$root"
  # shellcheck disable=SC2016 # expanded by the inner shell
  in_root "$root" bash -c '
    cd /imghist && [ -n "$TEST_JOBS" ] || unset TEST_JOBS
    if [ -z "$SUITES" ]; then
      make demo && make test
    else
      third_party/install.sh build test "formats?" && make -s all unit && tests/run.sh build/release $SUITES
    fi'
}

try=try systems='trixie sid noble'
case ${1:-} in
  wheel) try=try_wheel systems='bookworm trixie sid' ;;
  wheel-build) try=try_wheel_build systems=bookworm ;;
esac
[ "$try" = try ] || shift
# shellcheck disable=SC2086 # systems are words
[ $# -gt 0 ] || set -- $systems
[ "$(id -u)" -eq 0 ] || end 77 "skipped: making a root needs root"
command -v mmdebstrap >/dev/null || end 77 "skipped: mmdebstrap is not installed"
unshare --mount --pid --fork true 2>/dev/null || end 77 "skipped: this machine allows no new namespaces"
for system in "$@"; do
  echo "== $system"
  SECONDS=0
  ("$try" "$system")
  status=$?
  case $status in
    0) echo "$system: passed ($SECONDS s)" ;;
    77) echo "$system: skipped" ;;
    *) echo "$system: FAILED ($SECONDS s)" ;;
  esac
  [ "$status" -eq 0 ] || [ "$worst" -eq 1 ] || worst=$status
  [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || worst=1
done
exit "$worst"
