#!/usr/bin/env bash
# gallery.sh IMGHIST MAKE_IMAGES OUT: draws charts of every kind of image into OUT, as PNG and SVG, and
# writes a page that shows them all, OUT/index.html. The same program gives the same bytes. Also updates
# the pictures of README.md: in this folder, and the bar chart in docs.
set -eu
cd "$(dirname "$0")/../.."
program=$(realpath "$1") make_images=$(realpath "$2") out=$3
images=$out/images
rm -rf "$out"
mkdir -p "$images"
"$make_images" samples/scene.png "$images"

page=$out/index.html
cat >"$page" <<'END'
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>imghist: the gallery</title>
<style>
body { font: 15px sans-serif; margin: 2em; background: #888; }
figure { display: inline-block; margin: 0 1em 2em 0; vertical-align: top; }
img { display: block; max-width: 100%; }
code { background: #eee; padding: 0.1em 0.4em; }
</style>
<h1>Charts by imghist</h1>
END

# picture NAME ARGUMENT...: draws the chart of the images and options as NAME.png and NAME.svg.
picture() {
  local name=$1 shown
  shift
  for format in png svg; do
    "$program" --device=cpu "$@" --chart="$out/$name.$format"
  done
  shown=$(printf ' %q' "${@//$images\//}")
  cat >>"$page" <<END
<figure><img src="$name.png" alt="the chart of $name"><figcaption><a href="$name.svg">SVG</a>
<code>imghist$shown --chart=$name.png</code></figcaption></figure>
END
}

picture scene samples/scene.png
picture photo "$images/photo.ppm"
picture photo-light "$images/photo.ppm" --theme=light
picture photo-log "$images/photo.ppm" --scale=log
picture photo-sqrt-light "$images/photo.ppm" --scale=sqrt --theme=light
picture high-key "$images/high-key.ppm"
picture low-key "$images/low-key.ppm"
picture gray "$images/gray.pgm"
picture gray16-light samples/gray16.png --theme=light
picture cut-out "$images/cut-out.pam"
picture balloon-log samples/cutout.png --scale=log
picture screenshot "$images/screenshot.ppm"
picture screenshot-log-light "$images/screenshot.ppm" --scale=log --theme=light
picture palette samples/palette.png
picture test-card samples/testcard.png
picture constant "$images/constant.ppm"
picture two-values "$images/two values.pgm"
picture tiny "$images/tiny.ppm"

name="IMG_2026-03-14 the harbour at dusk, seen from the ferry; third of five exposures, 15 s, Ελλάδα, Порт, handheld (copy 2) - final.ppm"
cp "$images/photo.ppm" "$images/$name"
picture long-name "$images/$name"
rm "$images/$name"
hidden=$'line\nbreak \e[31mred \xFF not UTF-8.ppm'
cp "$images/tiny.ppm" "$images/$hidden"
picture hidden-characters "$images/$hidden" --chart-size=640x400
rm "$images/$hidden"

picture smallest "$images/photo.ppm" --chart-size=320x200
picture small-light "$images/photo.ppm" --chart-size=400x300 --theme=light
picture tall "$images/photo.ppm" --chart-size=420x760
picture wide "$images/photo.ppm" --chart-size=1800x360
picture large "$images/photo.ppm" --chart-size=2560x1600
picture total samples "$images" --total-only
picture total-light samples "$images" --total-only --theme=light --scale=sqrt

for format in png svg; do
  mkfifo "$images/huge.pgm"
  "$make_images" --huge >"$images/huge.pgm" &
  "$program" --device=cpu "$images/huge.pgm" --chart="$out/huge.$format"
  wait $!
  rm "$images/huge.pgm"
done
echo '<figure><img src="huge.png" alt="the chart of huge"><figcaption><a href="huge.svg">SVG</a>
<code>imghist huge.pgm --chart=huge.png</code></figcaption></figure></html>' >>"$page"

cmp -s "$out/scene.png" tests/gallery/scene.png || cp "$out/scene.png" tests/gallery/scene.png
tests/gallery/speed.py tests/bench/results docs
echo "the gallery is $page"
