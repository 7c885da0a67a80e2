#!/usr/bin/env bats
# Images of more samples than colours and alpha, in every output. tiffs.bats compares their counts.

load helpers

setup() {
  unset IMGHIST_DEVICE NO_COLOR COLUMNS CUDA_VISIBLE_DEVICES
  export LC_ALL=C TERM=dumb
  cd "$BATS_TEST_TMPDIR" || return 1
  "$IMGHIST" --list | grep '^  tiff ' | grep -qv 'not in this build' || skip "no TIFF in this build"
}

# bands FILE N PHOTOMETRIC [NODATA [XML]]: a TIFF of 4 x 2 pixels, uint16; band b of pixel i is 1000 * b + i. NODATA and
# XML are those of GDAL's tags.
bands() {
  python3 - "$@" <<'END'
import struct, sys
n, photometric, nodata, xml = int(sys.argv[2]), int(sys.argv[3]), *(a.encode() for a in (sys.argv + ["", ""])[4:6])
data = struct.pack(f"<{8 * n}H", *(1000 * (b + 1) + i for i in range(8) for b in range(n)))
tags = [(256, 3, 1, 4), (257, 3, 1, 2), (258, 3, n, 300), (259, 3, 1, 1), (262, 3, 1, photometric), (273, 4, 1, 400),
        (277, 3, 1, n), (278, 3, 1, 2), (279, 4, 1, len(data))]
tags += [(42112, 2, len(xml), 400 + len(data))] * (len(xml) > 0) + [(42113, 2, 5, 380)] * (len(nodata) > 0)
file = b"II*\0" + struct.pack("<LH", 8, len(tags)) + b"".join(struct.pack("<HHLL", *tag) for tag in tags) + bytes(4)
file = file.ljust(300, b"\0") + struct.pack(f"<{n}H", *[16] * n)
open(sys.argv[1], "wb").write(file.ljust(380, b"\0") + nodata.ljust(20, b"\0") + data + xml)
END
}

@test "bands: percentiles of each band, without nodata" {
  bands a.tif 7 1 5000
  imghist_quiet a.tif --bins=native --percentiles=2,98 --csv=stats
  [ "$(cut -d, -f4,5,7,9,10,32,33 <<<"$output" | paste -sd' ')" = "channel,count,mean,min,max,p2,p98 \
band1,8,1003.500000,1000,1007,1000,1007 band2,8,2003.500000,2000,2007,2000,2007 band3,8,3003.500000,3000,3007,3000,3007 \
band4,8,4003.500000,4000,4007,4000,4007 band5,7,5004.000000,5001,5007,5001,5007 band6,8,6003.500000,6000,6007,6000,6007 \
band7,8,7003.500000,7000,7007,7000,7007" ] || fail "$output"
  imghist_ok a.tif --bins=native --percentiles=2,98 --text
  [[ $output == *"band2: p2 2000, p98 2007"*"band7: p2 7000, p98 7007"* && $output != *luma:* ]] || fail "$output"
  imghist_ok a.tif --bins=native --csv=stats --fields=channel,min,nodata,nan -q --where 'band5.nodata == 1 and band4.nodata == 0'
  [[ $output == "channel,min,nodata,nan"*"band4,4000,0,"*"band5,5001,1,"* ]] || fail "$output"
  imghist_quiet a.tif --bins=native --nodata=none --csv=stats
  [[ $output == *",band5,8,40028,"* ]] || fail "$output"
  imghist_quiet a.tif --bins=native --nodata=7003 --csv=stats # in place of the file's
  [[ $output == *",band5,8,40028,"*",band7,7,49025,"* ]] || fail "$output"
}

@test "bands: a value of --nodata that no sample can have is noted, once" {
  bands a.tif 7 1
  bands b.tif 7 1
  for value in 65536 -1 0.5; do
    imghist_ok a.tif b.tif --nodata=$value --csv=stats
    [ "$stderr" = "imghist: a.tif: note: no sample of 16 bits can have the value $value of --nodata
imghist: 2 inputs have samples that cannot have the value of --nodata" ] || fail "$value: $stderr"
  done
  imghist_quiet a.tif --nodata=65535 --csv=stats
  printf '\0\1\2\3' >raw
  imghist_ok raw --raw=1 --raw-depth=8s --size=2x2 --nodata=128 --csv=stats
  [[ $stderr == *"no sample of int8 can have the value 128 of --nodata" ]] || fail "$stderr"
  imghist_ok raw --raw=1 --raw-depth=f16le --size=2x1 --nodata=0.1 --csv=stats
  [[ $stderr == *"no sample of float16 can have the value 0.1 of --nodata" ]] || fail "$stderr"
  imghist_quiet raw --raw=1 --raw-depth=f32le --size=1x1 --nodata=0.1 --csv=stats # rounded
  imghist_quiet raw --raw=1 --raw-depth=8s --size=2x2 --nodata=-128 --csv=stats
}

@test "bands: records, totals, conditions and merging" {
  bands a.tif 7 1
  bands b.tif 7 1
  bands rgb.tif 6 2
  imghist_quiet a.tif b.tif --total --ndjson -o r.ndjson
  [ "$(jq -c '[.channels[].name]' r.ndjson | sort -u)" = '["band1","band2","band3","band4","band5","band6","band7"]' ]
  [ "$(jq -s '[.[] | has("clip"), has("mean_luma"), has("mean_luminance")] | any' r.ndjson)" = false ]
  head -2 r.ndjson >images.ndjson
  imghist_quiet images.ndjson --total-only --ndjson
  [ "$(jq -c .channels <<<"$output")" = "$(tail -1 r.ndjson | jq -c .channels)" ] || fail "another total"
  imghist_ok a.tif rgb.tif -q --where 'band5.min >= 5000' --bins=native --print
  [ "$output" = "a.tif
rgb.tif" ] || fail "$output"
  imghist_ok a.tif rgb.tif -q --where 'red.min >= 1000' --bins=native --print
  [ "$output" = rgb.tif ] || fail "$output"
  [ "$("$IMGHIST" rgb.tif --ndjson -q | jq -c '[.channels[].name]')" = '["red","green","blue","band4","band5","band6","luma"]' ]
  imghist_fails 1 "counts of different bands are not added" a.tif rgb.tif --total-only --csv=stats
  sed 's/"name":"band2"/"name":"band5"/' images.ndjson >wrong.ndjson
  imghist_fails 1 "channels is impossible: 'band3' cannot follow 'band5'" wrong.ndjson --csv=stats
}

@test "bands: a condition on a channel that --bands leaves out is refused" {
  bands a.tif 5 1
  for field in band1.mean band5.p99.9 gray.mean red.mean luma.mean mean_luma blue.mad; do
    imghist_refused 2 "--where: column 1: a field of a channel that --bands leaves out" a.tif --bands=2-4 --bins=native --where "$field > 3" --print
    imghist_refused 2 "a field of a channel that --bands leaves out" a.tif --bands=2-4 --csv=images --fields="file,$field"
  done
  imghist_refused 2 "--fail-if: column 1: a field of a channel" a.tif --bands=2-4 --fail-if 'band5.mean > 3'
  imghist_refused 2 "--sort: column 1: a field of a channel" a.tif --bands=2-4 --csv --sort=-band5.mean
  for field in band2.mean band4.mean alpha.mean width; do
    imghist_ok a.tif --bands=2-4 --bins=native -q --where "$field > 3 or width > 0" --print
  done
  for field in gray.mean luma.mean mean_luma; do
    imghist_ok a.tif --bands=1 --bins=native -q --where "$field > 3 or width > 0" --print
  done
  imghist_refused 2 "a field of a channel" a.tif --bands=1-2 --where 'red.mean > 3' --print
  "$IMGHIST" a.tif --bins=native --ndjson -o r.ndjson # a record may have all bands
  imghist_ok r.ndjson a.tif --bands=2 --bins=native -q --where 'band5.mean > 3' --print
  [ "$output" = a.tif ] || fail "$output"
}

# table ARGUMENT...: file, channel, count and sum of each row, as "a,b,c,d a,b,c,d".
table() { "$IMGHIST" "$@" -q --csv=stats --fields=file,channel,count,sum | tail -n +2 | paste -sd' '; }

# Of 8 pixels, band b has the sum 8000 b + 28.
@test "bands: --by=band, over images of other bands, and of names in another order" {
  item() { echo "<Item name=\"DESCRIPTION\" sample=\"$1\" role=\"description\">$2</Item>"; }
  bands a.tif 3 1
  bands b.tif 4 1
  bands n.tif 3 1 "" "<GDALMetadata>$(item 0 NIR)$(item 1 red)</GDALMetadata>"
  bands m.tif 3 1 "" "<GDALMetadata>$(item 0 red)$(item 1 NIR)$(item 2 NIR)</GDALMetadata>"
  bands rgb.tif 3 2
  set -- a.tif b.tif n.tif m.tif rgb.tif --bins=native
  local all="NIR,band1,16,24056 band1,band1,16,16056 band2,band2,16,32056 band3,band3,32,96112 band4,band4,8,32028 blue,band1,8,24028 green,band1,8,16028 red,band1,24,32084"
  [ "$(table "$@" --by=band)" = "$all" ] || fail "$(table "$@" --by=band)"
  imghist_ok a.tif b.tif --by=band --csv=stats --bins=native
  grep -F "$("$IMGHIST" a.tif b.tif --bands=2 --bins=native --total-only --csv=stats | sed -n '2s/(total)/band2/p')" <<<"$output" || fail "$output"
  "$IMGHIST" "$@" -q --by=band --ndjson -o groups.ndjson
  [ "$(jq -c '[.group, .n_images, .channels[0].name_in_file, .luma_weights]' groups.ndjson | paste -sd' ')" = '["NIR",2,"NIR","none"] ["band1",2,null,"none"] ["band2",2,null,"none"] ["band3",4,null,"none"] ["band4",1,null,"none"] ["blue",1,null,"none"] ["green",1,null,"none"] ["red",3,null,"none"]' ] ||
    fail "$(cat groups.ndjson)"
  "$IMGHIST" -q groups.ndjson --ndjson | cmp - groups.ndjson || fail "read back"
  for part in 1 2; do "$IMGHIST" "$@" -q --shard=$part/2 --ndjson -o part$part.ndjson; done
  "$IMGHIST" -q part*.ndjson --by=band --ndjson | cmp - groups.ndjson || fail "merged parts"
  [ "$(table groups.ndjson a.tif --bins=native --by=band)" = "NIR,band1,16,24056 band1,band1,24,24084 band2,band2,24,48084 band3,band3,40,120140 band4,band4,8,32028 blue,band1,8,24028 green,band1,8,16028 red,band1,24,32084" ] || fail "added"
  printf 'P5 2 1 255\n\1\2' >gray.pgm
  printf 'P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n\7\200' >alpha.pam
  damaged bad.png
  [ "$(table gray.pgm alpha.pam bad.png --by=band)" = "(failed),luma,0,0 alpha,band1,1,128 gray,band1,3,10" ] || fail "$(table gray.pgm alpha.pam bad.png --by=band)"
  imghist_refused 2 "--against: cannot be used with --by=band: a reference has all bands" a.tif --by=band --against=total --csv=images
}

@test "bands: no name of a band or a folder leads a chart out of its directory, or to another chart" {
  item() { echo "<Item name=\"DESCRIPTION\" sample=\"$1\" role=\"description\">$2</Item>"; }
  bands a.tif 8 1 "" "<GDALMetadata>$(item 0 .)$(item 1 NIR)$(item 2 /NIR)$(item 3 ../x)$(item 4 '(total)')$(item 5 -)$(item 6 '(failed)')$(item 7 a/b)"
  imghist_ok a.tif --by=band --total --chart=charts
  [ "$(find charts -name '*.hist.png' -printf '%P\n' | LC_ALL=C sort | paste -sd' ')" = \
    "(total).hist.png .._x.hist.png NIR.hist.png _.hist.png _NIR.hist.png a_b.hist.png band5.hist.png band6.hist.png band7.hist.png" ] || fail "$(find charts)"
  imghist_ok a.tif --by=folder --chart=charts
  [ -f charts/_.hist.png ] && [ -z "$(find . -maxdepth 1 -name '*hist.png')" ] || fail "$(ls)"
  imghist_refused 2 "--fail-if: column 1: a field of luma, which totals of --by=band lack" a.tif --by=band --csv=stats "--fail-if=mean_luma >= 0"
}

@test "bands: text and charts, which draw up to eight" {
  bands a.tif 12 1
  imghist_quiet a.tif --text=full
  assert_output_has "12 channels"
  assert_output_has "  band12"
  refute_output_has blown:
  imghist_ok a.tif --chart=a.svg
  grep -q '8 of 12 bands are drawn' a.svg
  grep -q 'band8' a.svg
  ! grep -q 'shadows' a.svg
}

@test "bands: a chart of two images has both, with legend and distances" {
  bands a.tif 9 1 "" '<Item sample="3" role="description">NIR</Item>'
  # 100 more in the first pixel of band 1
  python3 -c 'd = bytearray(open("a.tif", "rb").read()); d[400:402] = (1100).to_bytes(2, "little"); open("b.tif", "wb").write(d)'
  imghist_ok --diff a.tif b.tif --bins=native --chart=c.svg -q
  for text in '>mean 1003.5 → 1016.0  EMD 12.50  KS 0.125<' '>mean 8003.5 → 8003.5  EMD 0.00  KS 0.000<' '>band4 NIR<' '8 of 9 bands are drawn' \
    '>a.tif (areas), b.tif (lines)<'; do
    grep -qF "$text" c.svg || fail "no $text: $(grep text c.svg)"
  done
  [ "$(grep -c 'fill="#56b4e9" fill-opacity' c.svg)" -eq 1 ] || fail "no area of band 1"
}

@test "bands: a sheet's legend has colours, gray and bands" {
  bands a.tif 12 1
  bands b.tif 3 1
  bands rgb.tif 5 2
  dot gray.pgm
  imghist_ok b.tif gray.pgm a.tif rgb.tif --sheet --chart=s.svg
  [ "$(grep -oE '>(red|green|blue|luma|gray|band[0-9]+)<' s.svg | tr -d '<>' | paste -sd' ')" = \
    "red green blue luma gray band1 band2 band3 band4 band5 band6 band7 band8" ] || fail "$(grep text s.svg)"
  imghist_ok b.tif --by=band --sheet --chart=t.svg # panels have these names
  [ "$(grep -cE '>band[1-3]<' t.svg)" -eq 3 ] || fail "$(grep text t.svg)"
  imghist_ok b.tif gray.pgm a.tif rgb.tif --sheet --chart=s.svg --chart-size=480x480 # in two rows
  [ "$(grep -E '>(red|band8)<' s.svg | sed 's/.* y="\([0-9.]*\)".*/\1/' | sort -u | wc -l)" -eq 2 ] || fail "$(grep text s.svg)"
}

# names FILE: of its channels in the file; "-" for none.
names() { "$IMGHIST" "$1" --ndjson -q "${@:2}" | jq -r '[.channels[] | .name_in_file // "-"] | join("|")'; }

@test "bands: names in the file" {
  item() { printf '  <Item name="DESCRIPTION" sample="%s" role="description">%s</Item>\n' "$@"; }
  local xml
  xml="<GDALMetadata>
  <Item name=\"STATISTICS_MEAN\" sample=\"1\">7</Item>
  <Item name=\"OFFSET\" sample=\"1\" role=\"offset\">7</Item>
$(item 0 'Blue' 3 'NIR &amp;lt; 0.9 &amp;amp; &amp;#xb5;m' 2 $'a\tb\e[31mc' 9 'no band' x 'no number' 4 "$(printf '%.0s\303\251' {1..100})")"
  bands a.tif 5 1 5000 "$xml</GDALMetadata>"
  expected="Blue|-|a b [31mc|NIR < 0.9 & µm|$(printf '%.0s\303\251' {1..63})"
  [ "$(names a.tif)" = "$expected" ] || fail "$(names a.tif)"
  [ "$(names a.tif --bins=native)" = "$expected" ]
  imghist_quiet a.tif --text=full
  assert_output_has "  named in the file: band1 Blue, band3 a b [31mc, band4 NIR < 0.9 & µm,"
  imghist_ok a.tif --chart=a.svg
  grep -q '>band4 NIR &lt; 0.9 &amp; µm<' a.svg
  bands b.tif 5 1 "" "$xml" # cut short
  bands c.tif 5 1 "" "$(item 0 Red)"
  bands rgb.tif 4 2 "" "$(item 1 g 3 NIR)"
  [ "$(names rgb.tif)" = "-|g|-|NIR|-" ]
  for broken in '<Item role="description" sample="0">' '<Item role="description" sample="0"' '<Item' \
    '<Item role="description" sample="0">&amp' '<Item role="description" sample="0' '<Item>' '&#1114112;<Item'; do
    bands broken.tif 5 1 "" "$broken"
    imghist_quiet broken.tif --ndjson
  done
  imghist_quiet a.tif b.tif --total --ndjson -o ab.ndjson --nodata=none
  imghist_ok a.tif b.tif c.tif --total-only --ndjson -o abc.ndjson --nodata=none
  assert_stderr_has "imghist: c.tif: note: has other band names than earlier images: bands are added and compared by number; --by=band adds them by name"
  head -2 ab.ndjson >images.ndjson
  [ "$(names images.ndjson --total-only)" = "$expected" ]
  tail -1 ab.ndjson >total.ndjson
  [ "$("$IMGHIST" images.ndjson --total-only --ndjson -q)" = "$(cat total.ndjson)" ] || fail "another total"
  imghist_quiet c.tif --ndjson --nodata=none -o c.ndjson
  [ "$(names abc.ndjson)" = "-|-|-|-|-" ] || fail "$(names abc.ndjson)"
  [ "$("$IMGHIST" c.ndjson total.ndjson --total-only --ndjson -q)" = "$(cat abc.ndjson)" ] || fail "another total"
  sed 's/"name_in_file":"Blue"/"name_in_file":"Bl\\u0001\\u001bue"/' images.ndjson >other.ndjson
  [[ "$(names other.ndjson | head -1)" == "Bl  ue|-|"* ]] || fail "$(names other.ndjson)"
}

# pages FILE N XML: a TIFF of N pages of 2 x 2 pixels, gray uint8; XML is the first one's description.
pages() {
  python3 - "$@" <<'END'
import struct, sys
n, xml = int(sys.argv[2]), sys.argv[3].encode() + b"\0"
file, at = b"II*\0" + struct.pack("<L", 20) + bytes(12), 20
for i in range(n):
    tags = [(256, 3, 1, 2), (257, 3, 1, 2), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8), (277, 3, 1, 1), (279, 4, 1, 4)]
    if i == 0:
        tags.insert(5, (270, 2, len(xml), 20 + 6 * n + 12 * (8 * n + 1)))
    at += 6 + 12 * len(tags)
    file += struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHLL", *tag) for tag in tags) + struct.pack("<L", at if i + 1 < n else 0)
open(sys.argv[1], "wb").write(file + xml)
END
}

# ome ORDER C Z T ELEMENT...: OME-XML.
ome() {
  printf '<OME><Image Name="x"><Pixels SizeC="%s" DimensionOrder="%s" SizeZ="%s" SizeT="%s">' "$2" "$1" "$3" "$4"
  printf '<%s></x>' "${@:5}"
  printf '</Pixels></Image></OME>'
}

@test "bands: the names of OME's channels are those of the pages" {
  local page cut dapi='Channel ID="Channel:0:0" Name="DAPI" SamplesPerPixel="1"' gfp='Channel Name="&lt;GFP&gt; &amp;#38; &#xb5;"'
  named() { "$IMGHIST" o.tif --frames --ndjson -q | jq -r '.channels[0].name_in_file // "-"' | paste -sd'|'; }
  pages o.tif 4 "$(ome XYCZT 2 2 1 "$dapi" "$gfp" 'TiffData IFD="0" PlaneCount="4"/')"
  [ "$(named)" = "DAPI|<GFP> &#38; µ|DAPI|<GFP> &#38; µ" ] || fail "$(named)"
  [ "$("$IMGHIST" o.tif --text=full -q | grep named)" = "  named in the file: gray DAPI" ]
  pages o.tif 4 "$(ome XYZTC 2 2 1 "$dapi" 'Channel ID="Channel:0:1"' TiffData/)"
  [ "$(named)" = "DAPI|DAPI|-|-" ] || fail "$(named)"
  pages o.tif 2 "$(ome XYZTC 2 1 1 "Channel Color='\">' Name=\"A>B's\"" 'Channel Name=">C"/' 'TiffData/')"
  [ "$(named)" = "A>B's|>C" ] || fail "$(named)"
  pages o.tif 6 "$(ome XYTCZ 3 1 2 "$dapi" "$gfp" 'Channel Name="3"' \
    'TiffData IFD="0" PlaneCount="3"/' 'TiffData FirstC="1" FirstT="1" FirstZ="0" IFD="3"' 'TiffData FirstC="2" IFD="4" PlaneCount="2"')"
  [ "$(named)" = "DAPI|DAPI|<GFP> &#38; µ|<GFP> &#38; µ|3|3" ] || fail "$(named)"

  # Which page is which channel is not known: pages of other files, in another order, of several images, RGB.
  for page in 'TiffData IFD="0"/' 'TiffData IFD="1" PlaneCount="4"/' 'TiffData IFD="0" FirstC="1" PlaneCount="4"/' 'TiffData PlaneCount="5"/' \
    'TiffData IFD="0" FirstZ="x" PlaneCount="4"/' 'TiffData IFD="0" PlaneCount="4"/></Pixels><Pixels' 'TiffData PlaneCount="99999999999999999999"/' \
    'Channel Name="3"><TiffData/' 'Channel Name="3" SamplesPerPixel="3"><TiffData/' 'x'; do
    pages o.tif 4 "$(ome XYCZT 2 2 1 "$dapi" "$gfp" "$page")"
    [ "$(named)" = "-|-|-|-" ] || fail "$page: $(named)"
  done
  for page in "XYCZT 2 3 1" "XYCCT 2 2 1" "XYCZ 2 2 1" "ZYXCT 2 2 1" "XYCZT 0 2 1" "XYCZT -2 2 1" "XYCZT 2 2 4294967296"; do
    # shellcheck disable=SC2086 # four arguments
    pages o.tif 4 "$(ome $page "$dapi" "$gfp" TiffData/)"
    [ "$(named)" = "-|-|-|-" ] || fail "$page: $(named)"
  done
  page=$(ome XYCZT 2 2 1 "$dapi" "$gfp" 'TiffData IFD="0" PlaneCount="4"/')
  for cut in 10 45 75 100 110 130 190 260 ${#page}; do
    pages o.tif 4 "${page:0:cut}"
    imghist_quiet o.tif --frames --ndjson
  done
}

@test "bands: --bands counts some, which keep their numbers" {
  bands a.tif 7 1 5000 '<Item sample="4" role="description">NIR</Item><Item sample="0" role="description">Blue</Item>'
  imghist_quiet a.tif --bins=native --ndjson -o all.ndjson
  for list in 1-7 2-3,5 7 5,1-2,1 1,3,5,7; do
    imghist_quiet a.tif --bins=native --bands=$list --ndjson -o some.ndjson
    numbers=$(python3 -c "import sys
print(sorted({i for p in sys.argv[1].split(',') for i in range(int(p.split('-')[0]), int(p.split('-')[-1]) + 1)}))" $list)
    [ "$(jq -c .channels some.ndjson)" = "$(jq -c --argjson n "$numbers" '[.channels[$n[] - 1]]' all.ndjson)" ] || fail "$list: $(cat some.ndjson)"
    "$IMGHIST" some.ndjson --ndjson -q | cmp - some.ndjson || fail "$list: read back"
    cp a.tif b.tif
    imghist_quiet some.ndjson b.tif --bands=$list --bins=native --total-only --ndjson
    [ "$(jq -c '[.channels[] | [.name, .name_in_file, .count]]' <<<"$output")" = "$(jq -c '[.channels[] | [.name, .name_in_file, .count * 2]]' some.ndjson)" ] || fail "$list: total"
  done
  imghist_ok a.tif --bands=5,7 -q --bins=native --where 'band5.min > 5000' --csv=stats --fields=channel,max,nodata
  [ "$output" = "channel,max,nodata
band5,5007,1
band7,7007,0" ] || fail "$output"
  imghist_quiet a.tif --bands=5,7 --text=full
  assert_output_has "  named in the file: band5 NIR"
  imghist_quiet a.tif --bands=2,4 --ndjson -o 24.ndjson
  imghist_quiet a.tif --bands=2,5 --ndjson -o 25.ndjson
  imghist_fails 1 "counts of different bands are not added" 24.ndjson 25.ndjson --total-only --csv
  imghist_fails 1 "the images of both sides have different bands" --diff 24.ndjson 25.ndjson
  imghist_fails 1 "a.tif: it has no band 8: its pixels have 7 samples" a.tif --bands=2,8
  sed 's/"band2"/"band5"/; s/"band4"/"band2"/' 24.ndjson >wrong.ndjson
  imghist_fails 1 "wrong.ndjson: line 1: damaged record" wrong.ndjson
}

@test "bands: --bands of colours and alpha" {
  bands rgb.tif 6 2
  imghist_fails 1 "its bands 1 to 3 are red, green and blue: select all three or none" rgb.tif --bands=1,4
  of() { "$IMGHIST" "$@" -q --ndjson | jq -c '[.channels[] | [.name, .sum]]'; }
  all=$(of rgb.tif)
  [ "$(of rgb.tif --bands=1-3,5)" = "$(jq -c '[.[0, 1, 2, 4, 6]]' <<<"$all")" ] || fail "$(of rgb.tif --bands=1-3,5)"
  [ "$(of rgb.tif --bands=5-6)" = "$(jq -c '[.[4, 5]]' <<<"$all")" ]
  [ "$(of rgb.tif --bands=1-3)" = "$(jq -c '[.[0, 1, 2, 6]]' <<<"$all")" ]
  all=$(of "$SAMPLES/cutout.png")
  [ "$(of "$SAMPLES/cutout.png" --bands=4)" = "$(jq -c '[.[3]]' <<<"$all")" ]
  [ "$(of "$SAMPLES/cutout.png" --bands=1-3)" = "$(jq -c '[.[0, 1, 2, 4]]' <<<"$all")" ]
  [ "$(of "$SAMPLES/cutout.png" --bands=1-3 --alpha=skip-transparent)" = "$(of "$SAMPLES/cutout.png" --alpha=skip-transparent | jq -c '[.[0, 1, 2, 4]]')" ]
  [ "$(of "$SAMPLES/scene.jpg" --bands=1-3)" = "$(of "$SAMPLES/scene.jpg")" ]
}

@test "bands: --memory limits the bins of many bands" { # 512 KB a band, and as much for luma
  bands a.tif 39 1
  bands b.tif 39 1 5000
  imghist_fails 1 "a.tif: the bins of its 39 channels take 21.0 MB of memory, a thread may take 16.8 MB; count fewer bands (--memory raises it)" \
    a.tif -j1 --bins=native --memory=16M --csv=stats
  imghist_fails 1 "a.tif: the bins of its 39 channels take 21.0 MB of memory, a thread may take 16.8 MB" a.tif a.tif -j2 --bins=native --memory=32M --csv=stats
  imghist_fails 1 "b.tif: the bins of its 39 channels take 41.9 MB" b.tif -j1 --bins=native --memory=32M --csv=stats
  imghist_quiet a.tif -j1 --bins=native --memory=32M --csv=stats
  imghist_quiet a.tif -j1 --bins=native --memory=16M --csv=stats --bands=1-30
  imghist_quiet a.tif -j1 --memory=1M --csv=stats
  mkdir d
  for i in {1..20}; do cp a.tif "d/$i.tif"; done
  imghist_quiet d -j2 --bins=native --memory=43M --total-only --ndjson # waiting results are held back
  [ "$(jq .channels[38].count <<<"$output")" = 160 ]
}
