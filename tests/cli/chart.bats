#!/usr/bin/env bats
# Chart files: their paths, inputs that get no chart, and identical bytes in every run. Unit tests check
# the pictures.

load helpers

# size FILE: prints WIDTHxHEIGHT from the header of a PNG.
size() { od -An -tu1 -j16 -N8 "$1" | awk '{ printf "%dx%d", ($3 * 256 + $4), ($7 * 256 + $8) }'; }

@test "chart: one image to one file" {
  mkdir out
  imghist_output "" "$SAMPLES/scene.png" --chart=out/c.png
  [ "$stderr" = "imghist: 1 chart written: out/c.png" ] || fail "another closing line"
  [ "$(ls -A out)" = c.png ]
  is_png out/c.png
  [ "$(size out/c.png)" = 1024x640 ]
}

# described FILE.svg: its title and description.
described() { sed -n 's/.*<title[^>]*>\(.*\)<\/title>.*/\1/p; s/.*<desc[^>]*>\(.*\)<\/desc>.*/\1/p' "$1"; }

@test "chart: --title, and the folder of a total" {
  mkdir -p photos/summer
  cp "$SAMPLES/scene.png" photos/summer/a.png
  cp "$SAMPLES/testcard.png" photos/summer/b.png
  imghist_ok photos/summer/a.png --chart=c.svg
  described c.svg | grep -qx 'Histogram of a.png'
  imghist_ok photos/summer/a.png --chart=c.svg --title='A/B <&> "C"'
  described c.svg | grep -qx 'Histogram of A/B &lt;&amp;&gt; "C"' || fail "$(described c.svg)"
  imghist_ok photos/summer/ --total-only --chart=c.svg
  described c.svg | grep -qx 'Histogram of summer: 2 images together' || fail "$(described c.svg)"
  (cd photos/summer && imghist_ok . --total-only --chart=../../c.svg)
  described c.svg | grep -qx 'Histogram of 2 images together' || fail "$(described c.svg)"
  imghist_refused 2 "--title: one title for many charts" photos --chart=charts --title=x
}

@test "chart: the clipped shares of each channel" {
  ppm a.ppm 4 1 '\x00\x10\xFF\x00\x10\xFF\x00\x10\x20\x40\x10\x20'
  imghist_ok a.ppm --chart=c.svg
  shares=$(described c.svg)
  [[ $shares == *"red mean 16.0  stddev 27.7  crushed 75.0"*%"  blown 0"*%"; green mean 16.0  stddev 0.0; blue "*"crushed 0"*%"  blown 50.0"*%* ]] ||
    fail "$shares"
}

@test "chart: --chart-format=svg, in a directory" {
  mkdir d
  dot 'd/a b%<é.pgm' 10
  dots d/c.pgm d/photo.svg.pgm
  for _ in first again; do # charts of the same input are replaced
    imghist_ok d --chart=d --chart-format=svg --csv=stats
    [ "$(tree d/d | tr '\n' ' ')" = "./a b%<é.pgm.hist.svg ./c.pgm.hist.svg ./photo.svg.pgm.hist.svg " ] || fail "$(tree d)"
    [ "$(grep -c ',gray,' <<<"$output")" -eq 3 ] || fail "a chart was counted"
  done
  described d/d/c.pgm.hist.svg | grep -qx 'Histogram of c.pgm'
  "$IMGHIST" 'd/a b%<é.pgm' --chart=one.svg
  cmp one.svg 'd/d/a b%<é.pgm.hist.svg'
  imghist_ok d --chart=pngs --chart-format=png
  is_png pngs/d/c.pgm.hist.png
  imghist_refused 2 "--chart-format: is for a directory of charts" d/c.pgm --chart=c.png --chart-format=svg
}

@test "chart: the closing line says how many were written, and where" {
  dots d/a.pgm d/b.pgm
  imghist_ok d --chart=charts
  [ "$stderr" = "imghist: 2 charts written: charts" ] || fail "no count"
  imghist_quiet d --chart=charts -q
  imghist_ok d/a.pgm --chart=charts
  [ "$stderr" = "imghist: 1 chart written: charts/d/a.pgm.hist.png" ] || fail "no name"
}

@test "chart: --chart=- writes a PNG or SVG to standard output, and nothing else" {
  dots a.pgm b.pgm
  imghist_ok a.pgm --chart=file.png
  "$IMGHIST" a.pgm --chart=- 2>said | cmp - file.png
  "$IMGHIST" a.pgm --chart=/dev/stdout >redirected.png 2>>said
  cmp redirected.png file.png
  "$IMGHIST" a.pgm --csv=stats -o a.csv --chart=- --chart-format=svg 2>>said | head -c 5 | grep -qF '<?xml'
  [ ! -s said ] || fail "$(cat said)"
  [ -s a.csv ] && [ ! -e ./- ]
  imghist_status 2 a.pgm b.pgm --chart=-
  assert_stderr_has "one chart for more than one image"
  if command -v script >/dev/null; then
    run script -qec "'$IMGHIST' a.pgm --chart=-" /dev/null
    assert_output_has "--chart=-: standard output is a terminal; name a file"
  fi
}

@test "chart: a chart named after --chart is not taken for an image" {
  dots a.pgm b.pgm
  imghist_ok a.pgm --chart=h.png
  cp h.png old.png
  imghist_refused 2 "h.png: is a chart of imghist; did you mean --chart=h.png?" a.pgm --chart h.png
  cmp h.png old.png
  imghist_ok h.png --chart
  imghist_ok h.png a.pgm --chart=both
  cp "$SAMPLES/scene.png" photo.png
  imghist_ok a.pgm --chart photo.png # a picture, whose chart is asked for
}

# panels FILE.svg: the names on a sheet, and the heights of each gray area, from top to bottom.
panels() {
  python3 - "$1" <<'END'
import re, sys, xml.etree.ElementTree as e
ns = "{http://www.w3.org/2000/svg}"
for p in e.parse(sys.argv[1]).getroot().iter():
    if p.tag == ns + "text" and re.fullmatch(r".*\.pgm", p.text):
        print(p.text)
    if p.tag == ns + "path" and p.get("fill") == "#969aa2" and len(p.get("d")) > 60: # no swatch
        ys = [float(v) for v in re.findall(r"V([0-9.]+)", p.get("d"))]
        print(" ".join(f"{max(ys) - y:.1f}" for y in ys if y != max(ys)))
END
}

@test "chart: --sheet shows images of all sizes on one scale" {
  needs python3
  pgm a.pgm 5 1 '\x32\x32\x64\x64\x64' # 40 % and 60 %
  pgm b.pgm 5 20 "$(printf '\\x32\\x32\\x64\\x64\\x64%.0s' {1..20})"
  pgm c.pgm 5 1 '\x32\x64\x64\x64\xC8' # 20 %, 60 % and 20 %
  imghist_ok a.pgm b.pgm c.pgm --sheet --chart=s.svg
  [ "$stderr" = "imghist: 1 chart written: s.svg" ] || fail "$stderr"
  panels s.svg >said
  read -r forty sixty <<<"$(sed -n 2p said)"
  [ "$(paste -sd' ' said)" = "a.pgm $forty $sixty b.pgm $forty $sixty c.pgm $(awk "BEGIN { printf \"%.1f\", $forty / 2 }") $sixty $(awk "BEGIN { printf \"%.1f\", $forty / 2 }")" ] || fail "$(cat said)"
  awk "BEGIN { exit !($sixty > 1.48 * $forty && $sixty < 1.52 * $forty) }"
  grep -q '>3 images  ·  heights in percent of each image' s.svg
  imghist_ok a.pgm b.pgm c.pgm --total --sheet --chart=s.png --csv -o all.csv --title=Three --chart-size=800x500
  imghist_output_has "s.png,800,500,red" s.png --csv=stats
}

@test "chart: images of one value set the scale of a sheet only if there are no others" {
  needs python3
  pgm a.pgm 5 1 '\x32\x32\x64\x64\x64'
  ppm x.ppm 2 1 '\x10\x20\x30\x10\x20\x30'
  dot y.pgm
  dot z.pgm 40
  of_a() { panels "$1" | sed -n '/^a.pgm$/{n;p;q;}'; }
  imghist_ok a.pgm a.pgm a.pgm x.ppm --sheet --chart=most.svg -q
  imghist_ok a.pgm x.ppm y.pgm z.pgm --sheet --chart=one.svg -q
  [ "$(of_a one.svg)" = "$(of_a most.svg)" ] || fail "$(panels one.svg)"
  grep -q 'tallest bar 100.* (cut)' one.svg || fail "not cut"
  imghist_ok x.ppm y.pgm --sheet --chart=flat.svg -q
  imghist_ok a.pgm x.ppm y.pgm z.pgm --sheet --scale=log --chart=log.svg -q
  for f in flat.svg log.svg; do
    grep -q '>100.*%<' $f && ! grep -q '(cut)' $f || fail "$f"
  done
}

@test "chart: a sheet names images and groups below their common folder" {
  mkdir -p all/2021/day1 all/2022/day1
  dot all/2021/day1/a.pgm
  dot all/2022/day1/a.pgm
  imghist_ok all --sheet --chart=s.svg
  grep -q '>2021/day1/a.pgm<' s.svg && grep -q '>2022/day1/a.pgm<' s.svg || fail "names"
  imghist_ok all --by=folder --sheet --chart=g.svg
  grep -q '>2021/day1<' g.svg && grep -q '>2022/day1<' g.svg || fail "groups"
  imghist_ok all/2021 --sheet --chart=one.svg
  grep -q '>a.pgm<' one.svg || fail "$(cat one.svg)"
  pgm all/2021/day1.pgm 1 1 '\x32' # day1 is no folder of day1.pgm
  imghist_ok all/2021 --sheet --chart=two.svg
  grep -q '>day1/a.pgm<' two.svg && grep -q '>day1.pgm<' two.svg || fail "$(cat two.svg)"
}

@test "chart: the footer says how many pixels were counted, where, and what was counted apart" {
  imghist_ok "$SAMPLES/scene.jpg" --region=50%x50%+10+10 --chart=r.svg
  grep -q '>480 × 320 px, 38400 counted  ·  region 50%x50%+10+10' r.svg || fail "$(grep px r.svg)"
  imghist_ok "$SAMPLES/gray16.png" --range=1000,40000 --chart=d.svg
  grep -q ' px  ·  range 1000 to 40000  ·  ' d.svg || fail "$(grep px d.svg)"
  imghist_ok "$SAMPLES/scene.jpg" --range=1000,40000 --chart=d.svg -q # of 8 bits
  ! grep -q 'range' d.svg || fail "$(grep px d.svg)"
  imghist_ok "$SAMPLES/cutout.png" --alpha=skip-transparent --chart=a.svg
  grep -q '  ·  transparent pixels left out, 22\.0.*% partly  ·  mean luma' a.svg || fail "$(grep px a.svg)"
  printf '\x00\x00\x80\x3E\x00\x00\x00\x3F\x00\x00\x80\x7F\x00\x00\xC0\x7F\x00\x00\xC0\xFF' >f.raw
  imghist_ok f.raw --raw=1 --raw-depth=f32le --size=5x1 --chart=f.svg
  grep -q 'counted apart: 2 NaN, 1 +infinity' f.svg || fail "$(grep px f.svg)"
}

@test "chart: the footer names the mask, and says that samples were reduced and how many bits seem in use" {
  pgm mask.pgm 2 1 '\x00\x01'
  printf 'P5 2 1 65535\n\x00\x05\xFF\xFF' >all.pgm
  printf 'P5 2 1 65535\n\x00\x05\x0F\xFF' >few.pgm
  facts() { imghist_ok "$@" --chart=f.svg -q && sed -n 's/^<desc>//p' f.svg; }
  [[ $(facts all.pgm --mask=mask.pgm) == '2 × 1 px, 1 counted, mask mask.pgm, '*', 16 bits reduced to 8, PNM. gray'* ]] || fail "$(grep desc f.svg)"
  [[ $(facts few.pgm) == *', 16 bits reduced to 8, but only 12 seem in use, PNM. gray'* ]] || fail "$(grep desc f.svg)"
  [[ $("$IMGHIST" few.pgm -q) == 'few.pgm  2 x 1 pnm, 16 bits reduced to 8, but only 12 seem in use, gray'* ]] || fail "text"
  for without in --bins=native --depth=12; do
    [[ $(facts few.pgm "$without") != *reduced* && $("$IMGHIST" few.pgm -q "$without") == *', 16 bits, gray'* ]] || fail "$without"
  done
  [[ $(facts mask.pgm) != *mask* && $(facts mask.pgm) != *reduced* ]] || fail "$(grep desc f.svg)"
  [[ $(facts all.pgm --mask=mask.pgm --total) == *', mask mask.pgm, '* ]] || fail "$(grep desc f.svg)"
  [[ $(facts all.pgm mask.pgm --sheet --mask=mask.pgm) == '2 images, mask mask.pgm, 1 reduced to 8 bits, heights '* ]] || fail "$(grep desc f.svg)"
}

# Uniform from 1/2 to 3/4, where bins of float32 are 1/256 wide: 64 bins of 256 pixels. A bar is a quarter of a bin, or a little less.
@test "chart: a smooth distribution of floats has no comb" {
  needs python3
  python3 -c 'import struct,sys; sys.stdout.buffer.write(b"".join(struct.pack("<f", 0.5 + n / 65536) for n in range(16384)))' >f.raw
  imghist_ok f.raw --raw=1 --raw-depth=f32le --size=128x128 --html=p.html
  sed -n 's/.*"bins":{"gray":\[\([0-9,]*\)\].*/\1/p' p.html | tr , '\n' | sort -n | sed -n '2p;255p' >ends
  awk 'NR == 1 { least = $1 } END { exit !(NR == 2 && least >= 60 && $1 <= 68) }' ends || fail "$(cat ends)"
}

@test "chart: numbers of values never touch, and a span of all values says so" {
  printf '\x00\x00\x80\x33\x00\x00\xC0\x33\x00\x00\x00\x34' >f.raw # 1, 1.5 and 2 times 2^-24
  imghist_ok f.raw --raw=1 --raw-depth=f32le --size=3x1 --chart=wide.svg
  imghist_ok f.raw --raw=1 --raw-depth=f32le --size=3x1 --chart=small.svg --chart-size=320x200
  [ "$(grep -oE '>[0-9.]+e-0[78]<' wide.svg | paste -sd' ')" = ">6e-08< >7e-08< >8e-08< >9e-08< >1e-07< >1.1e-07<" ] || fail "$(cat wide.svg)"
  [ "$(grep -oE '>[0-9.]+e-0[78]<' small.svg | paste -sd' ')" = ">6e-08< >8e-08< >1e-07<" ] || fail "$(cat small.svg)"
  grep -q 'values 5.9605e-08 to 1.1921e-07<\|values 5.9605e-08 to 1.1921e-07  ' wide.svg || fail "$(grep values wide.svg)"
}

# floats FILE VALUE...: float32 samples in a row; f32 FILE ARG... counts them.
floats() { python3 -c 'import struct,sys; open(sys.argv[1], "wb").write(b"".join(struct.pack("<f", float(v)) for v in sys.argv[2:]))' "$@"; }
f32() { imghist_ok "$1" --raw=1 --raw-depth=f32le --size=$(($(stat -c %s "$1") / 4))x1 "${@:2}"; }

@test "chart: floats of one value, and of none" {
  needs python3
  floats one.raw 0.1 0.1 0.1
  f32 one.raw --chart=one.svg
  grep -q '·  all values are 0.1  ·' one.svg || fail "$(grep px one.svg)"
  [ "$(grep -c '>0.1<' one.svg)" -eq 1 ] # below the plot
  ! grep -qE '>0\.[^1]|>1\.1<' one.svg || fail "another number: $(cat one.svg)"
  f32 one.raw --text=full
  assert_output_has "                                  0.1  " # below the middle
  f32 one.raw --html=one.html
  grep -q '"shown":\[0.100000001,0.100000001\],"bins":{"gray":\[\(0,\)\{128\}3,' one.html || fail "no bar in the middle"
  floats none.raw nan nan inf
  f32 none.raw --chart=none.svg
  grep -q '>no values</text>' none.svg # in the plot
  grep -q 'counted apart: 2 NaN, 1 +infinity' none.svg
  ! grep -qE 'mean|stddev|values 0|>value<|>0\.5<' none.svg || fail "$(cat none.svg)"
  f32 none.raw --text=full
  assert_output_has "  no values "
  f32 none.raw --html=none.html
  grep -q '"shown":\[\]' none.html
}

# Bins of float32 have a sign, 8 bits of the exponent and 7 of the mantissa: 288 = 1.125 * 2^8, so 2^(8 - 7) wide.
@test "chart: how wide the bins of floats are" {
  needs python3
  floats k.raw 286.5 287.25 288.125 289
  f32 k.raw --chart=k.svg
  grep -q 'values 286.5 to 289  ·  counted in bins up to 2 wide' k.svg || fail "$(grep values k.svg)"
  [ "$(grep -oE '>28[0-9.]+<' k.svg | paste -sd' ')" = ">286.5< >287< >287.5< >288< >288.5< >289<" ] || fail "$(cat k.svg)"
  grep -q '>value<' k.svg
  floats w.raw 0.25 1
  f32 w.raw --chart=w.svg
  grep -q 'in bins up to 0.00781 wide' w.svg || fail "$(grep values w.svg)"
}

@test "chart: a sheet's legend has gray beside colours, and narrow bars no edge" {
  ppm red.ppm 2 1 '\xFF\x00\x00\x10\x20\x30'
  dot a.pgm
  imghist_ok red.ppm a.pgm --sheet --chart=s.svg
  [ "$(grep -cE '>(red|green|blue|luma|gray)<' s.svg)" -eq 5 ] || fail "$(cat s.svg)"
  imghist_ok red.ppm --chart=c.svg
  grep -qi '#004a3c' c.svg || fail "no edge of green"
  ! grep -qi '#004a3c' s.svg || fail "edges on bars of a pixel"
}

# One of 20,000 pixels is black and one has the value 100: the lowest bar is 0.005 %.
@test "chart: a logarithmic sheet starts at a pixel, and small images keep their shares" {
  { printf 'P5 200 100 255\n\x00\x64' && head -c 19998 /dev/zero | tr '\0' '\310'; } >large.pgm
  pgm small.pgm 3 1 '\x00\x32\x64'
  imghist_ok large.pgm small.pgm --sheet --scale=log --chart=s.svg
  sed -i $'s/\xE2\x80\xAF//g' s.svg # narrow spaces
  [ "$(grep -oE '>[0-9.]+%<' s.svg | sort -u | paste -sd' ')" = ">0%< >0.1%< >1%< >10%<" ] || fail "$(grep -o '>[0-9.]*%<' s.svg)"
  grep -q '>log scale<' s.svg && grep -q '>crushed 33.3%<' s.svg && grep -q '>crushed <0.01%<\|>crushed &lt;0.01%<' s.svg || fail "$(grep text s.svg)"
  imghist_ok large.pgm --scale=log --chart=c.svg
  grep -q '>log(1 + n) scale<' c.svg
}

@test "chart: a sheet says that its value axes differ" {
  needs python3
  floats f.raw 0 1 2
  floats g.raw 0 1 3
  imghist_ok f.raw g.raw --raw=1 --raw-depth=f32le --size=3x1 --sheet --chart=s.svg
  grep -q '>values on axes of their own<' s.svg || fail "$(grep heights s.svg)"
  imghist_ok f.raw f.raw --raw=1 --raw-depth=f32le --size=3x1 --sheet --chart=s.svg
  ! grep -q 'of their own' s.svg || fail "the same axes"
}

@test "chart: a sheet of 1, 60 and 61 images, of none, and what does not go with it" {
  mkdir d
  for i in {100..159}; do dot d/$i.pgm; done
  imghist_ok d/100.pgm --sheet --chart=one.png
  imghist_ok d --sheet --chart=sixty.svg
  [ "$(grep -c '>1[0-5][0-9]\.pgm</text>' sixty.svg)" -eq 60 ]
  imghist_refused 2 "--chart-size is too small for 60 images" d --sheet --chart=small.png --chart-size=800x600
  pgm wide.pgm 600 2 "$(printf '\\x32\\x64%.0s' {1..600})"
  imghist_ok wide.pgm d/100.pgm d/101.pgm --sheet --chart=least.png --chart-size=480x320 --thumbnails
  dot d/160.pgm
  imghist_refused 2 "--sheet shows up to 60 images in a stream; name a file" d --sheet --chart=-
  imghist_ok d --where 'width > 1' --sheet --chart=none.png
  [ ! -e none.png ]
  echo text >bad.png
  imghist_status 1 bad.png gone.png d/100.pgm --sheet --chart=failed.svg
  grep -q '>1 image, 2 failed, heights' failed.svg || fail "$(grep heights failed.svg)"
  imghist_status 1 bad.png d --sheet --chart=failed.svg
  grep -q '>1 image, 1 failed in all, heights' failed-2.svg || fail "$(grep heights failed-2.svg)"
  ! grep -q '[0-9] failed' failed.svg || fail "more inputs follow"
  imghist_refused 2 "--sheet: needs the name of one file" d --sheet --chart=charts
  imghist_refused 2 "--sheet: cannot be used with --total-only" d --sheet --chart=a.png --total-only
  imghist_refused 2 "--sheet: cannot be used with --scale-y" d --sheet --chart=a.png --scale-y=count
}

@test "chart: a sheet of more than 60 images goes on in numbered files, which appear together" {
  mkdir d
  for i in {100..220}; do dot d/$i.pgm; done
  imghist_ok d --sheet --chart=more.svg
  [ "$stderr" = "imghist: 3 charts written: more.svg to more-3.svg" ] || fail "$stderr"
  for part in more.svg:100:159: more-2.svg:160:219:' (2)' more-3.svg:220:220:' (3)'; do
    IFS=: read -r file first last number <<<"$part"
    [ "$(grep -oE '>[12][0-9]{2}\.pgm</text>' $file | tr -dc '0-9\n' | sort -u)" = "$(seq "$first" "$last")" ] || fail "$file"
    grep -qF ">d/$number<" $file || fail "$file: no title"
    grep -q 'other files have scales of their own<' $file || fail "$file: whose scale"
  done
  imghist_ok d/100.pgm d/101.pgm --sheet --chart=more.svg # fewer: the others are left as they are
  ! grep -q 'of their own' more.svg || fail "$(grep scale more.svg)"
  [ "$(ls more*)" = $'more-2.svg\nmore-3.svg\nmore.svg' ]
  imghist_ok d --sheet --chart=h.hist.png --title=Dots
  [ "$(ls h*)" = $'h-2.hist.png\nh-3.hist.png\nh.hist.png' ]
  imghist_refused 2 "h-2.hist.png: is both an input and the output file" h-2.hist.png d --sheet --chart=h.hist.png
  mkdir -p broken/b-2.svg # a folder
  imghist_status 1 d --sheet --chart=broken/b.svg
  assert_stderr_has "broken/b-2.svg: "
  [ "$(ls -A broken)" = b-2.svg ] || fail "$(ls -A broken)"
  for i in {1..50}; do echo d; done >list
  imghist_refused 2 "--sheet shows up to 3000 images; select them with --where" --files-from=list --sheet --chart=all.png
  [ -z "$(find . -maxdepth 1 -name "*all*")" ]
}

@test "chart: --thumbnails, and charts that cannot have one" {
  dot a.pgm
  imghist_ok a.pgm --chart=a.png
  imghist_ok a.pgm --chart=b.png --thumbnails
  ! cmp -s a.png b.png || fail "no thumbnail"
  imghist_ok a.pgm --sheet --chart=s.png --thumbnails
  imghist_refused 2 "--thumbnails: an SVG chart shows no thumbnail" a.pgm --chart=a.svg --thumbnails
  imghist_refused 2 "--thumbnails: cannot be used with --total-only" a.pgm --chart=c.png --thumbnails --total-only
  imghist_ok a.pgm --chart=a.svg --html=p.html --thumbnails
  imghist_ok a.pgm --ndjson -o a.ndjson
  imghist_refused 2 "--thumbnails: cannot be used with result files alone" a.ndjson --chart=c.png --thumbnails
  imghist_refused 2 "--thumbnails: the one chart is that of --total" a.pgm --chart=c.png --thumbnails --total
}

@test "chart: the same bytes every time, with any number of threads" {
  mkdir d
  cp "$SAMPLES"/*.png "$SAMPLES"/*.jpg d
  "$IMGHIST" d --chart=one -j 1
  "$IMGHIST" d --chart=two -j 4
  diff -r one two
  [ "$(tree one | wc -l)" -eq "$(tree d | wc -l)" ]
}

@test "chart: a directory mirrors the inputs' folders" {
  mkdir -p d/b/c
  for name in d/1.pgm d/b/2.pgm d/b/c/3; do dot $name; done
  imghist_output "" d --chart=charts
  tree charts >actual
  diff actual - <<END
./d/1.pgm.hist.png
./d/b/2.pgm.hist.png
./d/b/c/3.hist.png
END
  while read -r chart; do is_png "charts/$chart"; done <actual
}

@test "chart: names that differ only in their ending get two files" {
  dots photo.png photo.jpg
  imghist_ok photo.png photo.jpg --chart=charts
  tree charts | diff - <(printf '%s\n' ./photo.jpg.hist.png ./photo.png.hist.png)
}

@test "chart: nothing is written outside the directory" {
  mkdir -p in/deep here
  dot in/a.pgm
  cd here
  imghist_ok ../in/a.pgm "$PWD/../in/a.pgm" ./../in/./deep/../a.pgm --chart=charts
  [ "$(ls -A)" = charts ]
  [ "$(ls -A ../in)" = $'a.pgm\ndeep' ]
}

@test "chart: without a path charts are next to the images" {
  mkdir -p d/e
  dot d/e/a.pgm
  cd d
  imghist_ok e --chart
  is_png e/a.pgm.hist.png
}

@test "chart: two images for one file are refused before anything is written" {
  dots a.pgm b.pgm
  mkdir out
  imghist_fails 2 "one chart for more than one image" a.pgm b.pgm --chart=out/c.png
  [ -z "$(ls -A out)" ]
  echo old >out/c.png
  imghist_status 2 a.pgm b.pgm --chart=out/c.png
  [ "$(cat out/c.png)" = old ]
}

@test "chart: files that are not images do not count as inputs" {
  dot d/a.pgm
  echo text >d/b.txt
  imghist_ok d --chart=c.png
  is_png c.png
}

@test "chart: a damaged image gets none" {
  damaged b.png
  mkdir out
  imghist_fails 1 "imghist: b.png: damaged" b.png --chart=out/c.png
  imghist_status 1 b.png --chart=out/dir
  [ -z "$(tree out)" ]
}

@test "chart: it never replaces its image" {
  cp "$SAMPLES/palette.png" in.png
  cp in.png remembered
  ln -s in.png soft.png
  ln in.png hard.png
  for target in in.png ./in.png soft.png hard.png; do
    imghist_fails 2 "both an input and the output file" in.png --chart=$target
    cmp in.png remembered
  done
}

@test "chart: it is not the data output" {
  dot a.pgm
  ln -s same.png data
  imghist_fails 2 "data: cannot be both a chart and the data" a.pgm --csv -o data --chart=same.png
  [ ! -e same.png ]
  ln -s a.pgm.hist.png later
  imghist_fails 2 "later: cannot be both a chart and the data" a.pgm --csv -o later --chart
  [ ! -e a.pgm.hist.png ]
  for chart in same.png ./same.png; do
    # shellcheck disable=SC2016 # the inner shell expands it
    run --separate-stderr sh -c '"$IMGHIST" a.pgm --csv "--chart=$1" >same.png' - $chart
    assert_fails 2 "$chart: cannot be both a chart and the data"
    [ ! -s same.png ] || fail "something was written"
  done
  # without data output, nothing can be lost
  "$IMGHIST" a.pgm --chart=same.png >same.png
  is_png same.png
}

@test "chart: a second run does not count the charts of the first" {
  mkdir -p d/e
  dots d/a.pgm d/e/b.pgm
  for run in 1 2; do
    "$IMGHIST" d --chart --csv=stats >$run.csv
    "$IMGHIST" d --chart=d/charts --csv=stats >$run.charts.csv
  done
  cmp 1.csv 2.csv
  cmp 1.charts.csv 2.charts.csv
}

@test "chart: paths that cannot be written" {
  dot a.pgm
  mkdir dir.png
  imghist_fails 1 "imghist: a.pgm/c.png: cannot write: Not a directory" a.pgm --chart=a.pgm/c.png
  imghist_fails 1 "imghist: dir.png: is a directory; name a file in it" a.pgm --chart=dir.png
  imghist_fails 1 "a.pgm/charts" a.pgm --chart=a.pgm/charts
  [ "$(head -c 2 a.pgm)" = P5 ]
  if [ -c /dev/full ]; then
    ln -s /dev/full full.png
    imghist_fails 1 "cannot write: No space left on device" a.pgm --chart=full.png
  fi
}

@test "chart: unusual file names get one" {
  mkdir d
  dot $'d/new\nline\e[31m'
  dot $'d/no\xFFutf'
  dot "d/$(printf 'x%.0s' {1..240})"
  imghist_ok d --chart=charts
  [ "$(find charts -name '*.hist.png' | tr -dc '\n' | wc -c)" -eq 4 ] # one has a newline in it
}

@test "chart: --chart-size, --theme and --scale" {
  dot a.pgm
  for look in --chart-size=320x200 --theme=dark --theme=light --scale=linear --scale=log --scale=sqrt; do
    imghist_ok a.pgm --chart=c.png "$look"
    cp c.png "c$look.png"
  done
  [ "$(size c--chart-size=320x200.png)" = 320x200 ]
  [ "$(size c--theme=dark.png)" = 1024x640 ]
  cmp c--theme=dark.png c--scale=linear.png # both are the defaults
  run ! cmp -s c--theme=dark.png c--theme=light.png
  run ! cmp -s c--scale=linear.png c--scale=log.png
  run ! cmp -s c--scale=log.png c--scale=sqrt.png
}

@test "chart: --scale-y=percent, for images of different sizes" {
  # 40 % of the pixels have the value 50, 60 % the value 100
  pgm small.pgm 5 1 '\x32\x32\x64\x64\x64'
  pgm large.pgm 5 100 "$(printf '\\x32\\x32\\x64\\x64\\x64%.0s' {1..100})"
  for scale in linear sqrt log; do
    for name in small large; do
      imghist_ok $name.pgm --chart=$name.svg --scale=$scale --scale-y=percent
      grep -o '<text.*%</text>' $name.svg | sed 's/.*>\(.*\)<.*/\1/; s/[^0-9.]//g' >$name.numbers
    done
    [ $scale = log ] || cmp small.numbers large.numbers
    grep -qx 0 large.numbers && grep -qxE '10|50' large.numbers || fail "$scale: $(tr '\n' ' ' <large.numbers)"
    awk '$1 > 63.6 { exit 1 }' large.numbers # the axis ends a little above 60 %
  done
  imghist_ok large.pgm --chart=c.svg
  ! grep -q '>[0-9.]* *%</text>' c.svg || fail "percent by default"
  described large.svg | grep -qF 'Percentages of the pixels are drawn on a log(1 + n) scale.'
}

@test "chart: a character that the font lacks gets one note, and SVG keeps it" {
  dot a.pgm
  cp a.pgm 東京.pgm
  mkdir 写真
  cp a.pgm 写真
  note="its font has no glyph for the character"
  imghist_ok 東京.pgm --chart=c.png
  assert_stderr_has "c.png: note: $note U+6771, and shows a box; an SVG chart (--chart=FILE.svg) shows it"
  imghist_ok a.pgm --chart=c.jpg --title='one 🎉'
  assert_stderr_has "$note U+1F389"
  imghist_ok 写真/ --total --chart=c.png
  assert_stderr_has "$note U+5199"
  imghist_ok --diff a.pgm 東京.pgm --chart=c.png
  assert_stderr_has "$note U+6771"
  imghist_ok a.pgm 東京.pgm 写真 --chart=charts
  [ "$(grep -c "$note" <<<"$stderr")" -eq 1 ] || fail "not one note"
  assert_stderr_has "(--chart-format=svg)"
  for options in "a.pgm --chart=c.png --title=Größe→Ω" "写真/a.pgm --chart=c.png" "東京.pgm --chart=c.svg" "東京.pgm -q --chart=c.png" \
    "東京.pgm --chart=charts --chart-format=svg"; do
    # shellcheck disable=SC2086 # options
    imghist_ok $options
    [[ $stderr != *glyph* ]] || fail "$options: a note"
  done
  grep -q '<title>Histogram of 東京.pgm</title>' c.svg
  line=$(grep '>東京.pgm</text>' c.svg) || fail "the name is not text"
  [[ $line != *textLength* ]] || fail "squeezed into the width of boxes"
  grep -q "font-family=.*,sans-serif" c.svg
}
