#!/usr/bin/env bash
# photos.sh IMGHIST OUT PHOTO...: draws the charts and pages of photos, for looking at them: every size, theme and scale,
# a comparison of the first two, sheets, thumbnails, and the page of --html on screen and in print (needs Chromium).
# With PYTHON (matplotlib, Pillow) and CONVERT (ImageMagick), OUT/rank has ours beside other programs' for viewers to rank.
set -euo pipefail
program=$(realpath "$1") here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
out=$(realpath "$2")
shift 2
mkdir -p "$out"/{charts,rank,page,print}

draw() { "$program" -q --device=cpu "$@"; }

for photo; do
  name=$(basename "$photo")
  for theme in dark light; do
    for size in 320x200 1024x640 2048x1280; do
      draw "$photo" --chart="$out/charts/$name-$theme-$size.png" --theme=$theme --chart-size=$size
    done
    draw "$photo" --chart="$out/charts/$name-$theme-log.png" --theme=$theme --scale=log
    draw "$photo" --chart="$out/charts/$name-$theme-thumbnail.png" --theme=$theme --thumbnails --scale-y=percent
  done
  cp "$out/charts/$name-dark-1024x640.png" "$out/rank/$name.png"
done
for theme in dark light; do
  if [ $# -gt 1 ]; then
    draw --diff "$1" "$2" --chart="$out/diff-$theme.png" --theme=$theme
  fi
  draw "$@" --sheet --chart="$out/sheet-$theme.png" --theme=$theme
  draw "$@" --sheet --chart="$out/sheet-thumbnails-$theme.png" --theme=$theme --thumbnails
done
[ -z "${PYTHON:-}" ] || "$PYTHON" "$here/rivals.py" "$out/rank" "$out/rank/beside" "$@"

draw "$@" --html="$out/page/index.html" --thumbnails
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "photos.sh: no Chromium, no pictures of the page" >&2; exit 0; }
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
look() { # NAME OPTION SCRIPT: the page after the script, as $out/NAME
  { cat "$out/page/index.html"; printf '<script>%s</script>\n' "$3"; } >"$out/page/shown.html"
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="${WINDOW:-1400,1000}" --virtual-time-budget=5000 \
    --user-data-dir="$profile" "--$2=$out/$1" "file://$out/page/shown.html" 2>/dev/null
  rm "$out/page/shown.html"
}
for theme in dark light; do
  set_theme="document.documentElement.dataset.theme = '$theme';"
  look "page/table-$theme.png" screenshot "$set_theme"
  look "page/sheet-$theme.png" screenshot "$set_theme document.getElementById('sheet-view').click();"
  look "page/detail-$theme.png" screenshot "$set_theme document.querySelector('#body tr').click();"
done
WINDOW=420,900 look page/narrow.png screenshot ''
look print/table.pdf print-to-pdf ''
look print/sheet.pdf print-to-pdf "document.getElementById('sheet-view').click();"
if command -v pdftoppm >/dev/null; then
  for view in table sheet; do pdftoppm -r 90 -png "$out/print/$view.pdf" "$out/print/$view"; done
fi
echo "the pictures are in $out"
