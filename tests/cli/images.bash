# Small images, written byte by byte; helpers.bash loads this. Samples are escapes of printf's %b, "\x00\xFF".

# shellcheck shell=bash

# pgm FILE WIDTH HEIGHT SAMPLES: gray.
pgm() { printf 'P5\n%d %d\n255\n%b' "$2" "$3" "$4" >"$1"; }

# ppm FILE WIDTH HEIGHT SAMPLES: red, green, blue.
ppm() { printf 'P6\n%d %d\n255\n%b' "$2" "$3" "$4" >"$1"; }

# pam FILE WIDTH HEIGHT DEPTH SAMPLES: 2 or 4 channels, the last of them alpha.
pam() {
  printf 'P7\nWIDTH %d\nHEIGHT %d\nDEPTH %d\nMAXVAL 255\nENDHDR\n%b' "$2" "$3" "$4" "$5" >"$1"
}

# dot FILE [VALUE]: a gray image of one pixel, and its folder; VALUE in two hexadecimal digits. dots FILE...: several.
dot() {
  [[ $1 != */* ]] || mkdir -p -- "${1%/*}"
  pgm "$1" 1 1 "\x${2:-80}"
}
dots() {
  local file
  for file; do dot "$file"; done
}

# damaged FILE: the first half of a PNG.
damaged() { head -c "$(($(wc -c <"$SAMPLES/palette.png") / 2))" "$SAMPLES/palette.png" >"$1"; }

# names FILE: the first column of a CSV without its header, each name once.
names() { sed -e 1d -e 's/,.*//' "$1" | uniq; }

# is_png FILE: fails if FILE does not begin with the signature of a PNG.
is_png() { [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "$1 is not a PNG"; }

# tree DIRECTORY: prints its files, sorted.
tree() { (cd "$1" && find . -type f | LC_ALL=C sort); }

# has_gpu: this build can use a GPU of this machine.
has_gpu() {
  dot gpu_probe.pgm
  "$IMGHIST" --device=cuda --csv=stats gpu_probe.pgm >/dev/null 2>&1
}
