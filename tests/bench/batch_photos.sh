# shellcheck shell=bash
# Part of batch.sh: real photos, from packages of the distribution or from a directory, and lists of
# them: $work/jpeg, $work/baseline, $work/png, each line "PIXELS PATH", and $work/jpeg.list and so on
# with the paths alone.

# Desktop backgrounds: the real photos (in PNG also drawings) that free distributions contain.
PACKAGES=${PACKAGES-plasma-workspace-wallpapers mate-backgrounds ukui-wallpapers lxqt-themes
  lomiri-wallpapers-16.04 lomiri-wallpapers-20.04 sway-backgrounds}
PHOTO_CACHE=${PHOTO_CACHE:-build/bench/photos}

# Smaller pictures in these packages are icons and previews.
MIN_PIXELS=${MIN_PIXELS:-500000}

# Downloads and unpacks the packages once; $PHOTO_CACHE/packages lists them with their versions.
fetch_photos() {
  local package deb
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
    die "no apt-get to download photos: set PHOTOS=DIR to a directory of photos"
  mkdir -p "$PHOTO_CACHE"
  touch "$PHOTO_CACHE/packages"
  for package in $PACKAGES; do
    if grep -q "^$package " "$PHOTO_CACHE/packages"; then continue; fi
    say "fetching $package"
    rm -rf "$PHOTO_CACHE/deb"
    mkdir "$PHOTO_CACHE/deb"
    (cd "$PHOTO_CACHE/deb" && apt-get -q download "$package") >"$work/log" 2>&1 || {
      say "apt-get does not know $package, or cannot download it: continuing without"
      continue
    }
    for deb in "$PHOTO_CACHE/deb/"*.deb; do
      dpkg-deb -x "$deb" "$PHOTO_CACHE/$package"
      dpkg-deb -f "$deb" Package Version | awk '{ printf "%s%s", $2, NR == 1 ? " " : "\n" }' \
        >>"$PHOTO_CACHE/packages"
    done
  done
  rm -rf "$PHOTO_CACHE/deb"
}

# Leaves out names that CSV would quote, because the peers do not quote.
list_photos() {
  local dir=$1 kind
  find "$dir/" -type f ! -path '*[",]*' ! -path $'*\n*' | LC_ALL=C sort >"$work/found"
  "$bin/photo_kinds" <"$work/found" >"$work/kinds"
  for kind in jpeg baseline progressive png; do
    awk -v kind="$kind" -v least="$MIN_PIXELS" '
      $2 >= least && ($1 == kind || (kind == "jpeg" && $1 != "png")) { sub(/^[^ ]* /, ""); print }
    ' "$work/kinds" >"$work/$kind"
    cut -d' ' -f2- "$work/$kind" >"$work/$kind.list"
  done
  [ -s "$work/jpeg" ] || [ -s "$work/png" ] || die "no JPEG or PNG file of $MIN_PIXELS pixels in $dir"
}

find_photos() {
  if [ -n "${PHOTOS:-}" ]; then
    [ -d "$PHOTOS" ] || die "PHOTOS=$PHOTOS: no such directory"
  else
    fetch_photos
  fi
  list_photos "${PHOTOS:-$PHOTO_CACHE}"
}

# Prints "69 files, 481 MP" for a list.
describe_photos() {
  awk '{ n += $1 } END { printf "%d files, %.0f MP", NR, n / 1e6 }' "$work/$1"
}

print_photos() {
  local dir=${PHOTOS:-$PHOTO_CACHE}
  if [ -f "$dir/packages" ]; then
    echo "photos    of the packages $(paste -sd, "$dir/packages" | sed 's/,/, /g' | fold -s -w 88 | sed 's/ *$//; 2,$s/^/          /')"
  else
    echo "photos    of the directory $(basename "$dir")"
  fi
  echo "          of at least $((MIN_PIXELS / 1000)) kilopixels: JPEG $(describe_photos jpeg), including baseline"
  echo "          $(describe_photos baseline); PNG $(describe_photos png)"
}
