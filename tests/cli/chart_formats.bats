#!/usr/bin/env bats
# Charts as PNG, SVG, JPEG, BMP and TGA show the same picture, as read by other programs.

load helpers

@test "chart: PNG, BMP and TGA hold the same pixels, JPEG nearly" {
  for ending in png bmp tga jpg jpeg; do
    imghist_ok "$SAMPLES/scene.png" --chart=c.$ending
    "$IMGHIST" c.$ending --csv | cut -d, -f2- >$ending.csv
    [ "$(sed -n '2s/,red.*//p' $ending.csv)" = 1024,640 ]
  done
  cmp png.csv bmp.csv
  cmp png.csv tga.csv
  cmp jpg.csv jpeg.csv
  run ! cmp -s png.csv jpg.csv
  near png.csv jpg.csv 1
}

# near A.csv B.csv LIMIT: the means of each channel differ by at most LIMIT.
near() {
  paste -d, <(cut -d, -f3,6 "$1") <(cut -d, -f3,6 "$2") |
    awk -F, -v limit="$3" 'NR > 1 { d = $2 - $4; n++; if ($1 != $3 || d > limit || d < -limit) bad = 1 }
      END { exit bad || n != 4 }' || fail "the means of $1 and $2 differ"
}

@test "chart: endings in any case select the format" {
  dot a.pgm
  for ending in Svg JPG Jpeg BMP TGA; do
    imghist_ok a.pgm --chart=c.$ending
    [ -f c.$ending ]
  done
  mkdir dir.svg
  imghist_ok a.pgm --chart=dir.svg/charts
  is_png dir.svg/charts/a.pgm.hist.png
}

@test "chart: a file of any kind is replaced, an input never" {
  dot a.pgm
  for ending in png svg jpg bmp tga; do
    : >c.$ending # as mktemp makes
    for image in a.pgm "$SAMPLES/palette.png" a.pgm; do
      imghist_ok "$image" --chart=c.$ending
      "$IMGHIST" "$image" --chart=new.$ending
      cmp c.$ending new.$ending || fail "$ending: not replaced"
      rm new.$ending
    done
    cp "$SAMPLES/scene.jpg" c.$ending
    imghist_ok a.pgm --chart=c.$ending
    "$IMGHIST" a.pgm --chart=new.$ending
    cmp c.$ending new.$ending || fail "$ending: another picture is not replaced"
    "$IMGHIST" "$SAMPLES/palette.png" --chart=in.$ending
    cp in.$ending remembered
    imghist in.$ending --chart=in.$ending
    [ "$status" -ne 0 ] || fail "the input was replaced"
    cmp in.$ending remembered
    [ $ending != svg ] || continue # no input in a walk
    mkdir -p walked
    mv in.$ending walked/in.$ending
    for options in walked "walked --total" "a.pgm walked --total-only" "--files-from=list --total" "--diff a.pgm walked"; do
      printf 'a.pgm\nwalked\n' >list
      # shellcheck disable=SC2086 # options
      imghist $options --chart=walked/in.$ending
      cmp walked/in.$ending remembered || fail "$options: an input was replaced"
    done
    rm -r walked
  done
}

@test "chart: the chart in README.md is up to date" {
  "$IMGHIST" "$SAMPLES/scene.png" --chart=c.png
  for chart in c.png "$TESTS/gallery/scene.png"; do "$IMGHIST" "$chart" --csv | cut -d, -f2- >"$(basename "$chart").csv"; done
  cmp c.png.csv scene.png.csv || fail "run make gallery"
}

# well_formed FILE...: every installed XML parser reads each.
well_formed() {
  local file n_parsers=0
  for file in "$@"; do
    if command -v xmllint >/dev/null; then
      xmllint --noout --nonet "$file" || fail "xmllint does not read $file"
      n_parsers=$((n_parsers + 1))
    fi
    if command -v python3 >/dev/null; then
      python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' "$file" ||
        fail "python3 does not read $file"
      n_parsers=$((n_parsers + 1))
    fi
  done
  [ $n_parsers -gt 0 ] || skip "xmllint and python3 are missing"
}

@test "svg: other parsers read it with any file name" {
  mkdir d
  dot 'd/<svg>&amp;"'"'"']]>-->'
  dot $'d/new\nline\e[31m\x01\x7f'
  dot $'d/no\xFFutf\xC3'
  dot $'d/\xEF\xBF\xBE\xEF\xBF\xBF'  # U+FFFE, U+FFFF: valid UTF-8, not allowed in XML
  dot $'d/\xED\xA0\x80'              # a surrogate
  dot $'d/\u202egnp.exe\u200b'
  dot 'd/фото — 写真 📷 صورة.png'
  local n_drawn=0
  for image in d/*; do
    n_drawn=$((n_drawn + 1))
    imghist_ok "$image" --chart=$n_drawn.svg
    iconv -f UTF-8 -t UTF-8 $n_drawn.svg >/dev/null || fail "$n_drawn.svg is not valid UTF-8"
  done
  [ $n_drawn -eq 7 ]
  well_formed ./*.svg
}

@test "svg: Python finds the title, texts and areas" {
  command -v python3 >/dev/null || skip "python3 is missing"
  cp "$SAMPLES/scene.png" $'a<b>&"c\e.png'
  imghist_ok $'a<b>&"c\e.png' --chart=c.svg --scale=log
  python3 - <<'END'
import xml.etree.ElementTree as e
svg = e.parse("c.svg").getroot()
ns = "{http://www.w3.org/2000/svg}"
assert svg.tag == ns + "svg" and svg.get("viewBox") == "0 0 1024 640" and svg.get("role") == "img"
name = 'a<b>&"c\\x1B.png'
title, description = svg.find(ns + "title").text, svg.find(ns + "desc").text
assert title == "Histogram of " + name, title
assert "480 \u00d7 320 px" in description and "mean luma 110.8" in description, description
texts = [t.text for t in svg.iter(ns + "text")]
for text in (name, "log(1 + n) scale", "0", "64", "128", "192", "255", "1k", "red", "green", "blue", "luma"):
    assert text in texts, (text, texts)
for t in svg.iter(ns + "text"):
    x, width, anchor = float(t.get("x")), float(t.get("textLength")), t.get("text-anchor", "start")
    left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
    assert left >= 0 and left + width <= 1024 and 0 < float(t.get("y")) < 640
areas = [p for p in svg.iter(ns + "path") if "screen" in p.get("style", "")]
assert len(areas) == 3 and all(p.get("d").count("H") >= 200 for p in areas)
END
}

@test "svg: the numbers, by hand" {
  # 3 white pixels, 1 black, 2 more with a channel at 255, one of these also with a channel at 0
  ppm a.ppm 10 1 "$(printf '\\xFF%.0s' {1..9})\xFF\x09\x09\xFF\x00\x80\x00\x00\x00$(printf '\\x0A\\x14\\x1E%.0s' {1..4})"
  "$IMGHIST" a.ppm --chart=wide.svg
  sed $'s/\xE2\x80\xAF/ /g' wide.svg >c.svg # the narrow space before %
  for text in 'crushed 20.0 % (all channels 10.0 %)' 'blown 50.0 % (all channels 30.0 %)' \
    '10 × 1 px  ·  mean luma 96.5  ·  median 19  ·  mean luminance 0.3469  ·  PNM'; do
    grep -qF ">$text</text>" c.svg || fail "no $text"
  done
  for text in '10 × 1 px, mean luma 96.5, median 19, mean luminance 0.3469, PNM.' \
    'Crushed: 20.0 % of the pixels, 10.0 % in all channels.' \
    'Blown: 50.0 % of the pixels, 30.0 % in all channels.'; do
    grep '<desc>' c.svg | grep -qF "$text" || fail "no $text"
  done
}

# has_text FILE TEXT: the chart has a line with this text, written with a plain space before %.
has_text() { sed $'s/\xE2\x80\xAF/ /g' "$1" | grep -qF ">$2</text>" || fail "no $2 in $1"; }

@test "svg: 0 % means none and 100 % all" {
  { printf '\377' && head -c 99999 /dev/zero; } >few
  imghist few --raw=1 --chart=few.svg
  has_text few.svg 'blown &lt;0.01 %'
  has_text few.svg 'crushed &gt;99.9 %'
  head -c 1234567 /dev/zero >none
  imghist none --raw=1 --total-only --chart=none.svg
  has_text none.svg 'crushed 100 %'
  grep -q '<desc>1 image, 1.23 megapixels, ' none.svg || fail "not 1.23 megapixels"
  ! grep -q '>blown' none.svg || fail "something is blown"
}

@test "svg: a bar above one and a half times the body is cut, and its height is said" {
  for value in {1..100}; do
    head -c 100 /dev/zero | tr '\0' "\\$(printf %o "$value")"
  done >even
  for n in 150 160; do
    { cat even && head -c $((n - 100)) /dev/zero | tr '\0' '2'; } >$n
    imghist $n --raw=1 --chart=$n.svg
  done
  has_text 160.svg '▲ tallest bar 160 (cut)'
  ! grep -q '(cut)' 150.svg || fail "cut at 150"
}

@test "svg: the description has the clipping at each end" {
  ppm a.ppm 4 1 '\xFF\xFF\xFF\xFF\x0A\x0A\x0A\x0A\x0A\x00\x0A\x0A'
  imghist_ok a.ppm --chart=c.svg
  description=$(sed -n 's,.*<desc>\(.*\)</desc>.*,\1,p' c.svg | sed $'s/\xE2\x80\xAF/ /g')
  [[ $description == *" Crushed: 25.0 % of the pixels, 0 % in all channels.\
 Blown: 50.0 % of the pixels, 25.0 % in all channels. "* ]] || fail "$description"
}

@test "svg: rendered by rsvg-convert it looks like the PNG" {
  command -v rsvg-convert >/dev/null || skip "rsvg-convert is missing"
  for image in scene.png cutout.png gray16.png testcard.png; do
    for look in "--theme=dark" "--theme=light --scale=log" "--chart-size=640x400 --scale=sqrt"; do
      # shellcheck disable=SC2086 # options
      "$IMGHIST" "$SAMPLES/$image" --chart=c.svg $look
      # shellcheck disable=SC2086
      "$IMGHIST" "$SAMPLES/$image" --chart=c.png $look
      rsvg-convert c.svg -o svg.png
      for of in c svg; do "$IMGHIST" --csv=stats $of.png | cut -d, -f2- | sed /alpha/d >$of.csv; done
      near c.csv svg.csv 0.6
    done
  done
}
