#!/usr/bin/env bats
# --html: the page as a file, and in a browser: what it shows, sorts, filters and prints.

load helpers

browser() {
  BROWSER=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    skip "no Chromium, which opens the pages of --html: third_party/install.sh ci installs it"
}

# in_browser PAGE SCRIPT: runs SCRIPT after the page's own and prints what it passes to say().
in_browser() {
  local copy=$BATS_TEST_TMPDIR/copy.html
  {
    cat "$1"
    printf '<pre id="said"></pre><script>window.onerror = m => say("error " + m); function say(t) { document.getElementById("said").append(t + "\\n"); }</script>\n'
    printf '<script>%s</script>\n' "$2"
  } >"$copy"
  timeout 120 "$BROWSER" --headless --no-sandbox --disable-gpu --virtual-time-budget=20000 --user-data-dir="$BATS_TEST_TMPDIR/profile" \
    --dump-dom "file://$copy" 2>"$BATS_TEST_TMPDIR/browser.err" >"$BATS_TEST_TMPDIR/dom.html"
  ! grep -E 'CONSOLE.*(Error|Uncaught)' "$BATS_TEST_TMPDIR/browser.err" || fail "console"
  sed -n '/<pre id="said">/,/<\/pre>/{s/.*<pre id="said">//;/<\/pre>/d;p}' "$BATS_TEST_TMPDIR/dom.html" |
    sed 's/&lt;/</g;s/&gt;/>/g;s/&amp;/\&/g'
}

page() {
  mkdir -p d
  pgm d/dark.pgm 2 1 '\x00\x10'
  pgm d/white.pgm 2 2 '\xFF\xFF\xFF\x00'
  ppm d/red.ppm 1 1 '\xFF\x00\x00'
  echo text >d/broken.png
  imghist_status 1 d --html=out/r.html
}

@test "html: one file without links, with every record" {
  page
  assert_output ""
  for name in dark.pgm white.pgm red.ppm broken.png; do
    grep -q "\"d/$name\"" out/r.html || fail "no $name"
  done
  ! grep -Eq '(src|href)=|url\(|@import|fetch\(|XMLHttp' out/r.html || fail "a link"
  grep -q '"total":{"images":3,"failed":1,"row":\["(total)","ok",null,null,null,null,7,' out/r.html || fail "total"
  imghist d -o out/same.html
  cmp out/r.html out/same.html
}

@test "html: an HTML checker finds no fault" {
  command -v tidy >/dev/null || skip "no tidy"
  page
  run tidy -e -q out/r.html
  [ "$status" -eq 0 ] || fail "$output"
}

@test "html: the page shows, sorts, filters and opens images" {
  browser
  page
  in_browser out/r.html '
    const cell = (r, c) => document.querySelectorAll("#body tr:not(.space)")[r].children[c].textContent;
    const names = () => [...document.querySelectorAll("#body tr:not(.space)")].map(r => r.children[0].textContent).join(" ");
    const press = name => document.querySelector(`th[data-name=${name}] button`).click();
    say(document.title);
    say(names());
    say(cell(0, 1).slice(0, 13));
    say(document.querySelectorAll("#total path").length);
    press("mean_luma"); say(names());
    press("mean_luma"); say(names());
    press("file"); say(names());
    say(document.querySelector("th[aria-sort]").dataset.name);
    const filter = document.getElementById("filter");
    const look = (text, then) => { filter.value = text; filter.oninput(); setTimeout(then, 200); };
    look("failed", () => { say(names());
      look("mean_luma>100", () => { say(names());
        look("blown_any_share>=75% and format == '\''pnm'\''", () => { say(names()); say(document.getElementById("count").textContent);
          document.querySelector("#body tr").click();
          const link = document.querySelector("#detail h2 a");
          say(link.textContent + " " + link.getAttribute("href"));
          document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
          say(document.getElementById("detail").hidden);
          look("", () => { window.onbeforeprint(); say(document.querySelectorAll("#body tr").length); window.onafterprint(); });
    }); }); });
  ' >said
  diff said - <<'END'
d/
broken.png dark.pgm red.ppm white.pgm
cannot decode
9
white.pgm red.ppm dark.pgm broken.png
dark.pgm red.ppm white.pgm broken.png
broken.png dark.pgm red.ppm white.pgm
file
broken.png
white.pgm
red.ppm white.pgm
2 of 4 files
d/red.ppm ../d/red.ppm
true
4
END
}

# filtered PAGE: reads filters, a line each; prints what the page says of each and the names that it leaves.
filtered() {
  local filters
  filters=$(python3 -c 'import json, sys; print(json.dumps(sys.stdin.read().splitlines()))')
  in_browser "$1" "
    const filter = document.getElementById('filter'), delay = setTimeout;
    setTimeout = f => f();
    for (const text of $filters) {
      filter.value = text;
      filter.oninput();
      say(document.getElementById('count').textContent + ': ' +
        [...document.querySelectorAll('#body tr:not(.space)')].map(r => r.querySelector('.path').textContent).join(' '));
    }
    setTimeout = delay;"
}

@test "html: the filter finds parts of names, and says what is wrong with a condition" {
  browser
  page
  filtered out/r.html >said <<'END'
pnm
failed
format == "pnm" and mean_luma >
brightness > 5
blown > 5%
mean_luma > x
file > 5
blown_any >= 3
width > 5%
red.p99.9 > 5
ks > 0.1
(mean_luma > 5
mean_luma > 5 width > 1
mean_luma > 5 && width > 1
status == "bad"

END
  diff said - <<'END'
3 of 4 files: dark.pgm red.ppm white.pgm
1 of 4 files: broken.png
column 32: a field, number or quoted text is missing: 
column 1: no field 'brightness'; imghist-formats(5) has the fields: 
column 1: no field 'blown'; did you mean blown_any?: 
column 13: no field 'x'; imghist-formats(5) has the fields: 
column 1: a number is compared with a text: 
column 1: blown_any counts pixels; write 3% for a share of them, or 3 pixels: 
column 1: the field has no percentage: 
column 1: 'red.p99.9' is not in this page; --percentiles=99.9 puts it there: 
column 1: 'ks' is a distance: --against=REF gives it: 
column 15: a closing parenthesis is missing: 
column 15: 'and' or 'or' is missing: 
column 15: write and, or, not: 
column 1: status is never 'bad', but one of ok, error: 
4 files, 1 failed: broken.png dark.pgm red.ppm white.pgm
END
}

# The command is the reference.
@test "html: a condition selects the same images on the page and in --where" {
  browser
  page
  cp "$SAMPLES"/*.png d/
  imghist_status 1 d -q --percentiles=99.9 --against="$SAMPLES/scene.png" --html=r.html
  cat >conditions <<'END'
red.p99 > 250
red.p99.9 > 250 and blue.mean < 100
blown_any > 5%
blown_any >= 3 pixels
blown_any_share >= 75 %
red.blown > 2% or gray.crushed > 1 pixel
luma.mean > 100
p99 == 255
gray.stddev > 80
alpha.min < 255
mean_luma > median
100 < mean_luma
not (width == 1 or height == 1)
not mean_luma > 100
file ~ '*.p?m' and format == 'PNM'
file !~ 'd/[a-r]*'
status == 'error'
status != "ok" or width > 400
error ~ '*format*'
mean_luminance < 10%
ks > 0.2 and emd <= 60
ks > 20%
depth > 8
entropy >= 6.5 and not format == 'png' or pixels < 3
luma.mode_share > 10%
luma.skewness < -0.5
luma.count > 1000
END
  while read -r condition; do
    # the exit status is 1 for the broken file
    "$IMGHIST" d -q --percentiles=99.9 --against="$SAMPLES/scene.png" --where "$condition" --csv=images 2>err | tail -n +2 | cut -d, -f1 |
      sed 's|^d/||' | paste -sd' '
    ! grep -q 'column [0-9]' err || fail "$condition: $(cat err)"
  done <conditions >expected
  filtered r.html <conditions | sed 's/^[^:]*: //' >said
  paste -d'|' conditions expected >want
  paste -d'|' conditions said | diff want -
  [ "$(sort -u expected | wc -l)" -gt 12 ] || fail "the conditions select the same"
}

@test "html: an empty result says so, and paper names the filter" {
  browser
  page
  in_browser out/r.html '
    const filter = document.getElementById("filter"), delay = setTimeout;
    setTimeout = f => f();
    for (const [text, sheet] of [["width > 99", false], ["width > 99", true], ["width >", false]]) {
      filter.value = text; filter.oninput();
      document.getElementById(sheet ? "sheet-view" : "table-view").click();
      say(document.querySelector(sheet ? "#sheet" : "#body").textContent + " " + document.getElementById("named").textContent);
    }
    setTimeout = delay;' >said
  diff said - <<'END'
No image matches the filter. Filter: width > 99
No image matches the filter. Filter: width > 99
The filter is no valid condition. Filter: width >
END
}

@test "html: shares are rounded once, from counts" {
  browser
  mkdir d
  for n in 113 177 221 407; do # 1 white pixel of n
    pgm d/$n.pgm $n 1 "\\xFF$(printf '\\x40%.0s' $(seq $((n - 1))))"
  done
  imghist_ok d --html=r.html
  in_browser r.html '
    say([...document.querySelectorAll("#body td.path")].map(e => e.parentElement.querySelector(".blown, td:last-child").textContent).join(", "));
    say(document.querySelector("#facts").textContent.match(/Blown, any channel([^%]*)/)[1]);
    document.querySelectorAll("#body tr")[1].click();
    say(document.querySelector("#detail").textContent.match(/blown_any([^%]*)/)[1]);
  ' >said
  python3 -c 'print(", ".join(f"{100 / n:.2f} %" for n in (113, 177, 221, 407)), f"{400 / 918:.2f} ", f"{100 / 177:.2f} ", sep="\n")' | diff said -
}

@test "html: groups are called groups and have numbers of images and pixels, and no links" {
  browser
  page
  imghist_status 1 d --by=folder --html=groups.html
  in_browser groups.html '
    say([...document.querySelectorAll("th")].slice(0, 4).map(th => th.dataset.heading).join(" "));
    say([...document.querySelectorAll("#body tr")].map(tr => [0, 2, 3].map(i => tr.children[i].textContent).join(" ")).join("; "));
    say(document.getElementById("count").textContent);
    document.querySelector("#body tr").click();
    say(document.querySelectorAll("#detail a").length)' >said
  diff said - <<'END'
Group Histogram Images Pixels
d 3 7
1 group
0
END
}

# Bins of the groups are of one band each: 1 of band1, and the three colours.
@test "html: a group of --by=band has its name in the panel and the tip, and its mean in the table" {
  browser
  ppm a.ppm 2 1 '\x10\x20\x30\x12\x22\x32'
  ppm b.ppm 1 1 '\x14\x24\x34'
  imghist_ok a.ppm b.ppm --by=band --html=r.html
  imghist_ok a.ppm b.ppm --by=band --total --html=t.html
  for page in r t; do
    in_browser $page.html '
      const texts = s => [...document.querySelectorAll(s)].map(e => e.textContent).join(" ");
      say(texts("#total p, #total .legend") + "; " + texts("#facts dt") + "; " + texts("th button") + "; " + texts("#body td:nth-child(5)"));
      document.querySelectorAll("#body tr")[1].click();
      const svg = document.querySelector("#detail .histogram"), b = svg.getBoundingClientRect();
      svg.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: b.left + b.width * 8.5 / 64, clientY: b.top + 5}));
      say(texts("#detail .legend") + "; " + texts("#channels tr:last-child td:nth-child(-n+2)") + "; " + texts("#tip div"));'
  done >said
  diff said - <<'END'
The groups have different bins or bands, which are not added up.; Groups Failed Counted by; Groupfile Images Pixels Mean Median Stddev Entropy; 50 34 18
green; green 34; values 32 to 35 green at least 66.7 %
redgreenblueluma; Groups Images counted Failed Pixels Mean luma Stddev Crushed, any channel Blown, any channel Clip limits Luma Counted by; Groupfile Images Pixels Mean Median Stddev Entropy; 50 34 18
green; green 34; values 32 to 35 green at least 66.7 %
END
  filtered r.html >said <<<$'mean > 33\nmean > 50'
  diff said - <<'END'
2 of 3 groups: blue green
0 of 3 groups: 
END
}

@test "html: a group of failed images has their number and no histogram" {
  browser
  page
  echo text >d/worse.png
  imghist_status 1 d --by=format --html=groups.html
  in_browser groups.html '
    say([...document.querySelectorAll("#body tr")].map(tr => [...tr.children].map(e => e.textContent).slice(0, 2).join(" ")).shift());
    [...document.querySelectorAll("#body tr")].shift().click();
    say(document.getElementById("values").textContent + " " + document.querySelectorAll("#detail svg.histogram").length);
    document.getElementById("sheet-view").click();
    say([...document.querySelectorAll(".tile")].shift().textContent)' >said
  diff said - <<'END'
(failed) 2 failed
(failed)2 failed 0
2 failed(failed)
END
}

@test "html: a page with distances names their reference and explains them" {
  browser
  page
  imghist_status 1 d --against=d/red.ppm --html=r.html
  in_browser r.html 'say(document.getElementById("distances").textContent)' >said
  grep -q '^KS and EMD compare each image with d/red.ppm: KS is the largest difference of the cumulative shares, 0 to 1; EMD is the mean distance' said || fail "$(cat said)"
  imghist_status 1 d --against=total --html=r.html
  in_browser r.html 'say(document.getElementById("distances").textContent)' >said
  grep -q '^KS and EMD compare each image with all images together: ' said || fail "$(cat said)"
  in_browser out/r.html 'say(document.getElementById("distances").hidden)' >said
  [ "$(cat said)" = true ]
}

@test "html: images with equal histograms are marked as copies, on the screen and on paper" {
  browser
  page
  pgm d/other.pgm 2 1 '\x10\x00' # dark.pgm, mirrored
  ppm d/third.ppm 1 2 '\x00\x00\x00\x10\x10\x10' # the same in colours, rotated
  pgm d/white2.pgm 2 2 '\xFF\x00\xFF\xFF'
  imghist_status 1 d --html=r.html
  in_browser r.html '
    const rows = () => [...document.querySelectorAll("#body tr")].map(tr => [tr.querySelector(".path").textContent, tr.lastChild.textContent].join("|")).filter(t => t.includes("group")).join(" ");
    say(rows());
    document.querySelector("th[data-name=copies] button").click(); say(rows());
    say([...document.querySelectorAll("#facts dt")].filter(e => e.textContent === "Copies").map(e => e.nextSibling.textContent).join());
    say(document.getElementById("copies").hidden + " " + /do not prove equal pictures/.test(document.getElementById("copies").textContent));
    document.querySelector("#body tr").click();
    say(document.querySelector("#detail dl").textContent.match(/^Equal histogram, copy group 1(.*)Pixels/)[1]);
    document.getElementById("sheet-view").click();
    say([...document.querySelectorAll(".tile")].filter(e => /copy group/.test(e.textContent)).length);
    const filter = document.getElementById("filter"), delay = setTimeout;
    setTimeout = f => f();
    for (const text of ["copy group", "copy group 2", "fingerprint == \"'"$("$IMGHIST" d/white.pgm --ndjson --fields=fingerprint -q | cut -d'"' -f4)"'\""]) {
      filter.value = text; filter.oninput();
      say(document.getElementById("count").textContent);
    }
    setTimeout = delay;' >said
  diff said - <<'END'
dark.pgm|group 1 other.pgm|group 1 third.ppm|group 1 white.pgm|group 2 white2.pgm|group 2
dark.pgm|group 1 other.pgm|group 1 third.ppm|group 1 white.pgm|group 2 white2.pgm|group 2
5 images in 2 groups
false true
other.pgm, third.ppm
5
5 of 7 files
2 of 7 files
2 of 7 files
END
  in_browser out/r.html 'say(document.querySelectorAll("th[data-name=copies]").length + " " + document.getElementById("copies").hidden + " " + document.getElementById("facts").textContent.includes("Copies"))' >said
  [ "$(cat said)" = "0 true false" ] || fail "$(cat said)"
  imghist_status 1 d d --by=format --html=groups.html # totals are no copies
  in_browser groups.html 'say(document.querySelectorAll("th[data-name=copies]").length)' >said
  [ "$(cat said)" = 0 ] || fail "$(cat said)"
}

# 0 and 16 against 255 of red: all of the mean, 255 - 8; against 0 and 3 x 255: (0 + 255 + 239 + 239) / 4.
@test "html: chosen percentiles and shares are of luma, and distances have a fixed number of decimals" {
  browser
  page
  imghist_status 1 d --against=d/dark.pgm --percentiles=0.1 '--share=<=100,>250' --html=r.html
  in_browser r.html '
    say([...document.querySelectorAll("#body tr")].slice(1).map(tr => [...tr.children].slice(-2).map(e => e.textContent).join(" ")).join(", "));
    document.querySelectorAll("#body tr")[3].click(); /* white.pgm */
    say([...document.querySelectorAll("#detail dt")].map(e => e.textContent.trim() + ": " + e.nextSibling.textContent).filter(t => /^(P0\.|Share|KS|EMD)/.test(t)).join("; "))' >said
  diff said - <<'END'
0.000 0.00, 1.000 247.00, 0.750 183.25
KS: 0.750; EMD: 183.25; P0.1 of luma p0.1: 0; Share of luma <= 100 share_le_100: 25.0 %; Share of luma > 250 share_gt_250: 75.0 %
END
}

@test "html: the contact sheet shows names, clip marks and errors, in the order that is asked for" {
  browser
  page
  in_browser out/r.html '
    const tiles = () => [...document.querySelectorAll(".tile")].map(t => [...t.querySelectorAll("p, .clips span")].map(e => e.textContent).join("|")).join("; ");
    document.dispatchEvent(new KeyboardEvent("keydown", {key: "v"}));
    say(document.getElementById("rows").hidden + " " + !document.getElementById("order").hidden + " " + document.querySelectorAll(".tile .histogram").length);
    say(tiles());
    const order = document.getElementById("order"), press = name => { order.value = name; order.onchange(); };
    press("mean_luma"); say(tiles().replace(/[^;]*\|/g, " "));
    press("file");
    document.dispatchEvent(new KeyboardEvent("keydown", {key: "End"}));
    document.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft"}));
    document.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
    say(document.querySelector(".tile.chosen p:last-child").textContent + " " + document.querySelector("#detail h2").textContent);
    say([...document.querySelectorAll("*")].filter(e => /auto|scroll/.test(getComputedStyle(e).overflowY) && e.id !== "detail" && e.scrollHeight > e.clientHeight).length);
  ' >said
  diff said - <<'END'
true true 3
cannot decode: not an image of a known format (--list shows the formats, --raw reads bare samples)|broken.png; ◀ 50.0 %||dark.pgm; ◀ 100 %|100 % ▶|red.ppm; ◀ 25.0 %|75.0 % ▶|white.pgm
 white.pgm; red.ppm; dark.pgm; broken.png
red.ppm d/red.ppm
0
END
}

@test "html: a card has the name before its folder, both ends of a long name, and all of an error" {
  browser
  local long
  long=$(printf 'long_%.0s' {1..20})
  mkdir -p "a/$long" a/x
  dot "a/$long/dot.pgm"
  dot "a/x/first_${long}last.pgm"
  echo text >a/x/broken.png
  imghist_status 1 a --html=r.html
  in_browser r.html '
    document.getElementById("sheet-view").click();
    const whole = e => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight;
    for (const p of document.querySelectorAll(".tile .name"))
      say(p.title + ":" + [...p.children].map(e => (whole(e) ? "" : " cut") + " " + e.textContent).join(","));
    const why = document.querySelector(".tile .why");
    say(why.textContent.length > 90 && whole(why));
    say(new Set([...document.querySelectorAll(".tile")].map(t => t.querySelector(".name").offsetTop - t.offsetTop)).size)' >said
  diff said - <<END || fail "names"
a/$long/dot.pgm: dot.pgm, , cut  $long/
a/x/broken.png: broken.png, ,  x/
a/x/first_${long}last.pgm: cut first_${long%g_}, g_last.pgm, cut  x/
true
1
END
}

@test "html: values under the pointer, a legend, an axis, and the words of the table in the panel" {
  browser
  page
  in_browser out/r.html '
    const tip = document.getElementById("tip"), lines = e => [...e.children].map(c => c.textContent).join(", ");
    const point = (svg, share) => {
      const b = svg.getBoundingClientRect();
      svg.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: b.left + b.width * share, clientY: b.top + 5}));
    };
    point(document.querySelector("#total .histogram"), 0.999); say(lines(tip));
    point(document.querySelector("#total .histogram"), 0.001); say(lines(tip));
    document.dispatchEvent(new PointerEvent("pointermove")); say(tip.hidden);
    say(lines(document.querySelector("#total .legend")) + "; " + lines(document.querySelector("#total .axis")));
    document.querySelectorAll("#body tr")[3].click(); /* white.pgm: 3 of 4 pixels are 255 */
    point(document.querySelector("#detail .histogram"), 0.999); say(tip.children[0].textContent);
    say(lines(document.querySelector("#detail .legend")) + "; " + lines(document.querySelector("#detail .axis")));
    say([...document.querySelectorAll("#detail dt")].map(e => e.textContent.trim() + ": " + e.nextSibling.textContent).filter(t => /^(Mean luma|Blown|Stddev)/.test(t)).join("; "));
    say([...document.querySelectorAll("th button")].map(e => e.textContent).join(" "));
    say(document.getElementById("hint").textContent.match(/coloured from \d %/)[0]);
  ' >said
  diff said - <<'END'
value 255, red 57.1 %, green 42.9 %, blue 42.9 %, luma 42.9 %
value 0, red 28.6 %, green 42.9 %, blue 42.9 %, luma 28.6 %
true
red, green, blue, luma; 0, 64, 128, 192, 255
values 252 to 255
gray, which is luma; 0, 64, 128, 192, 255
Mean luma mean_luma: 191.3; Stddev of luma stddev: 110.4; Blown blown_any: 75.0 %, 3 pixels; Blown, all channels blown_all: 75.0 %, 3 pixels
Imagefile Sizepixels Format Mean lumamean_luma Median Stddev Entropy Crushedcrushed_any Blownblown_any
coloured from 1 %
END
}

@test "html: links lead from the page to the pictures, and members of archives have none" {
  browser
  mkdir 'a b'
  dot 'a b/x#1?.pgm'
  tar cf 'a b/t.tar' -C 'a b' 'x#1?.pgm'
  for page in page.html ./o/../page.html o/p/page.html "$PWD/absolute.html"; do
    mkdir -p o
    imghist_ok 'a b' --html="$page"
    in_browser "$page" '
      for (const tr of document.querySelectorAll("#body tr")) { tr.click(); say((document.querySelector("#detail a") || {href: "none"}).href); }' >said
    case $page in
    page.html | o/p/page.html) sed -i "s|file://$BATS_TEST_TMPDIR/||" said ;; # of the copy that in_browser shows
    esac
    case $page in
    page.html) [ "$(paste -sd' ' said)" = "none a%20b/x%231%3F.pgm" ] || fail "$(cat said)" ;;
    o/p/page.html) grep -q '"base":"../../"' "$page" || fail "$page" ;;
    *) [ "$(paste -sd' ' said)" = "none none" ] || fail "$page: $(cat said)" ;;
    esac
  done
  imghist_ok "$PWD/a b" --html="$PWD/absolute.html"
  in_browser absolute.html 'document.querySelectorAll("#body tr")[1].click(); say(document.querySelector("#detail a").href)' >said
  [ "$(cat said)" = "file://$PWD/a%20b/x%231%3F.pgm" ] || fail "$(cat said)"
}

@test "html: Copy names copies the names that the filter leaves, one a line" {
  browser
  page
  in_browser out/r.html '
    Object.defineProperty(navigator, "clipboard", {value: {writeText: t => { say(t); return Promise.resolve(); }}});
    const filter = document.getElementById("filter"), delay = setTimeout;
    setTimeout = f => f();
    filter.value = "pnm"; filter.oninput();
    setTimeout = delay;
    document.getElementById("copy").click();
    setTimeout(() => say(document.getElementById("copy").textContent), 100);
  ' >said
  [ "$(cat said)" = $'d/dark.pgm\nd/red.ppm\nd/white.pgm\n\nCopied 3' ] || fail "$(cat said)"
}

@test "html: text has a contrast of 4.5 in both themes, and neighbouring areas of histograms one of 3" {
  browser
  page
  in_browser out/r.html '
    const light = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    const luminance = c => 0.2126 * light(c[0]) + 0.7152 * light(c[1]) + 0.0722 * light(c[2]);
    const contrast = (a, b) => { const [m, n] = [luminance(a) + 0.05, luminance(b) + 0.05]; return Math.max(m, n) / Math.min(m, n); };
    const colour = name => { /* as the browser reads it */
      const e = document.body.appendChild(document.createElement("i"));
      e.style.color = `var(--${name})`;
      const c = getComputedStyle(e).color.match(/\d+/g).map(Number);
      e.remove();
      return c;
    };
    const least = (a, b, n) => { if (contrast(colour(a), colour(b)) < n) say(`${theme}: ${a} on ${b}: ${contrast(colour(a), colour(b)).toFixed(2)}`); };
    let theme;
    for (theme of ["light", "dark"]) {
      document.documentElement.dataset.theme = theme;
      for (const ground of ["page", "card", "mark"])
        for (const ink of ["text", "soft", "bad", "low", "accent"]) least(ink, ground, 4.5);
      least("bad", "bad-page", 4.5); least("text", "bad-page", 4.5);
      least("frame", "page", 3); least("frame", "card", 3); least("gray", "panel", 3); least("luma", "casing", 3);
      const names = ["red", "green", "blue"], channels = names.map(colour), edges = names.map(n => colour(n + "-edge"));
      const area = set => set ? [0, 1, 2].map(i => 255 * (1 - channels.reduce((p, c, k) => set >> k & 1 ? p * (1 - c[i] / 255) : p, 1))) : colour("panel");
      for (let set = 0; set < 8; set++)
        for (let k = 0; k < 3; k++) { /* a border is seen if two of area, edge and area differ */
          const a = area(set | 1 << k), b = area(set & ~(1 << k));
          if (Math.max(contrast(a, b), contrast(a, edges[k]), contrast(b, edges[k])) < 3) say(`${theme}: areas ${set}, ${names[k]}`);
        }
    }
    say("done");
  ' >said
  [ "$(cat said)" = "done" ] || fail "$(cat said)"
}

@test "html: in print the headings are text, and every image has a row" {
  browser
  command -v pdftotext >/dev/null || skip "no pdftotext"
  mkdir d
  for ((i = 100; i < 160; i++)); do dot d/$i.pgm; done
  imghist_ok d --html=r.html
  timeout 60 "$BROWSER" --headless --no-sandbox --disable-gpu --user-data-dir=profile --print-to-pdf=r.pdf "file://$PWD/r.html" 2>browser.err
  pdftotext -layout r.pdf text
  [ "$(grep -oE '1[0-5][0-9]\.pgm' text | sort -u | wc -l)" -eq 60 ]
  [ "$(grep -c 'Mean luma.*Median.*Crushed' text)" -ge 2 ] || fail "$(cat text)" # on each page
  { cat r.html; echo '<script>document.getElementById("sheet-view").click()</script>'; } >sheet.html
  timeout 60 "$BROWSER" --headless --no-sandbox --disable-gpu --user-data-dir=profile --print-to-pdf=sheet.pdf "file://$PWD/sheet.html" 2>browser.err
  pdftotext -layout sheet.pdf text
  [ "$(grep -oE '1[0-5][0-9]\.pgm' text | sort -u | wc -l)" -eq 60 ] # 8 a row
  [ "$(grep -cE '1[0-5][0-9]\.pgm' text)" -eq 8 ] || fail "$(cat text)"
}

@test "html: names cannot inject anything" {
  browser
  mkdir d
  pgm 'd/<img src=x onerror=say("injected")>.pgm' 1 1 '\x00'
  pgm "d/'\"<b>&amp;.pgm" 1 1 '\x00'
  pgm 'd/<!--<script>.pgm' 1 1 '\x00'
  mkdir 'd/<'
  pgm 'd/</script><script>say("injected")<' 1 1 '\x00'
  imghist_ok d --html=r.html
  in_browser r.html '
    say(document.querySelectorAll("#body img, #body b, #body script").length);
    for (const r of document.querySelectorAll("#body tr:not(.space)")) say(r.children[0].textContent);
    document.getElementById("sheet-view").click();
    document.querySelectorAll(".tile")[3].click();
    say(document.querySelectorAll("#sheet img, #sheet b, #sheet script, #detail img, #detail script").length);
    say(document.querySelector("#detail a").getAttribute("href"));
  ' >said
  diff said - <<'END'
0
'"<b>&amp;.pgm
</script><script>say("injected")<
<!--<script>.pgm
<img src=x onerror=say("injected")>.pgm
0
d/%3Cimg%20src%3Dx%20onerror%3Dsay(%22injected%22)%3E.pgm
END
}

@test "html: the title is the folder of the images, not that of result files" {
  mkdir photos parts
  dot photos/a.pgm
  imghist_ok photos --html=single.html --ndjson -o parts/1.ndjson
  grep -q '"title":null,"folder":"photos/"' single.html
  imghist_ok parts/1.ndjson --html=merged.html
  grep -q '"title":null,"folder":null' merged.html
  imghist_ok photos --html=named.html --title='A <day> out'
  grep -q '"title":"A \\u003cday> out","folder":"photos/"' named.html || fail "$(grep -o '"title".\{50\}' named.html)"
}

@test "html: a page of one image has its name as title, unless there is another title" {
  browser
  dot photos/a.pgm
  for title in '' mine; do
    imghist_ok photos --html=one.html ${title:+"--title=$title"}
    in_browser one.html 'say(document.title + " " + document.getElementById("title").textContent)'
  done >said
  diff said - <<<$'a.pgm a.pgm\nmine mine'
}

@test "html: totals of result files are in the total of the page" {
  page
  imghist_status 1 d --total-only --ndjson -o total.ndjson
  imghist_status 1 total.ndjson --html=total.html # an input had failed
  grep -q '"total":{"images":3,"failed":1,"row":\["(total)","ok",null,null,null,null,7,' total.html || fail "$(grep -o '"total":.\{60\}' total.html)"
  imghist total.ndjson d/white.pgm --total --html=more.html
  grep -q '"total":{"images":4,"failed":1,"row":\["(total)","ok",null,null,null,null,11,' more.html || fail "$(grep -o '"total":.\{60\}' more.html)"
}

@test "html: names are shown so that no two look alike" {
  browser
  dot d/a.pgm
  dot $'d/a\u200b.pgm'
  dot $'d/a\u202egnp.pgm'
  dot $'d/a\n\x1b\\.pgm'
  imghist_ok d --html=r.html
  in_browser r.html 'for (const tr of document.querySelectorAll("#body tr:not(.space)")) say(tr.children[0].textContent)' >said
  [ "$(LC_ALL=C sort said | paste -sd' ')" = 'a.pgm a\n\x1B\\.pgm a\u{200b}.pgm a\u{202e}gnp.pgm' ] || fail "$(cat said)"
}

@test "html: no images, and nothing but failures" {
  browser
  dot a.pgm
  imghist_ok a.pgm --where 'width > 1' --html=empty.html
  in_browser empty.html 'for (const id of ["total", "count", "body"]) say(document.getElementById(id).textContent); say(document.querySelector("#facts dt").textContent)' >said
  [ "$(cat said)" = $'No image matches width > 1.\n0 images\nNo image matches width > 1.\nImages that match' ] || fail "$(cat said)"
  imghist_ok a.pgm --where 'width < 2' --html=one.html
  in_browser one.html 'say(document.querySelector("#total h2").textContent)' >said
  [ "$(cat said)" = 'All images with width < 2' ] || fail "$(cat said)"
  echo x >bad.png
  imghist_status 1 bad.png --html=bad.html
  in_browser bad.html 'say(document.querySelectorAll("#body tr.failed").length)' >said
  [ "$(cat said)" = 1 ] || fail "$(cat said)"
}

# Prints the size and two colours (upper left and lower right; red, green and blue in steps of 32) of each picture of a page.
pictures() {
  in_browser "$1" '
    for (const tr of document.querySelectorAll("#body tr:not(.space)")) {
      const img = tr.querySelector("img"), canvas = document.createElement("canvas"), name = tr.children[1].textContent;
      if (!img) { say(name + ": " + tr.children[0].textContent); continue; }
      const w = canvas.width = img.naturalWidth, h = canvas.height = img.naturalHeight, at = canvas.getContext("2d");
      at.drawImage(img, 0, 0);
      const colour = (x, y) => [...at.getImageData(x, y, 1, 1).data].slice(0, 3).map(v => Math.round(v / 32));
      say(`${name}: ${w}x${h} ${colour(w >> 2, h >> 2)} ${colour(3 * w >> 2, 3 * h >> 2)}`);
    }'
}

# two_colours FILE WIDTH HEIGHT: red above, blue below.
two_colours() {
  local n=$(($2 * $3 / 2))
  {
    printf 'P6\n%d %d\n255\n' "$2" "$3"
    # shellcheck disable=SC2046 # a number each
    printf '\xFF\x00\x00%.0s' $(seq "$n")
    # shellcheck disable=SC2046
    printf '\x00\x00\xFF%.0s' $(seq "$n")
  } >"$1"
}

# -300, -200, 300 and 0; 0.25, 0.5, 0.75 and NaN. Means and medians by hand; stddev: sqrt(1/24).
@test "html: signed and float samples have values on axes and in the tip, and statistics of gray" {
  browser
  printf '\xD4\xFE\x38\xFF\x2C\x01\x00\x00' >s.raw
  imghist_ok s.raw --raw=1 --raw-depth=16sle --size=4x1 --html=s.html
  printf '\x00\x00\x80\x3E\x00\x00\x00\x3F\x00\x00\x40\x3F\x00\x00\xC0\x7F' >f.raw
  imghist_ok f.raw --raw=1 --raw-depth=f32le --size=4x1 --html=f.html
  for page in s f; do
    in_browser $page.html '
      const texts = s => [...document.querySelectorAll(s)].map(e => e.textContent).join(" ");
      const svg = document.querySelector("#total .histogram"), b = svg.getBoundingClientRect();
      svg.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: b.left + b.width * 0.501, clientY: b.top + 5}));
      say(texts("#total .axis span") + "; " + texts("#total .legend") + "; " + document.querySelector("#tip div").textContent);
      say(texts("#facts dt") + "; " + texts("#body td:nth-child(n+5):nth-child(-n+7)"));
      say(texts("th:nth-child(5) code"));
      document.querySelector("#body tr").click();
      say(texts("#detail .axis span"));'
  done >said
  # a bar of 600 / 256 = 2.34, and of 0.5 / 256 = 0.002
  diff said - <<'END'
-300 0 300; gray, which is luma; values 0 to 2.3438
Images counted Failed Pixels Mean luma Stddev Luma Counted by; -50.0 -200 229.1
mean_luma
-300 0 300
0.25 0.5 0.75; gray; values 0.5 to 0.50195
Images counted Failed Pixels Mean Stddev Luma Counted apart Counted by; 0.5 0.5 0.20412
gray.mean
0.25 0.5 0.75
END
}

@test "html: the numbers below a small histogram do not overlap, on screen and on paper" {
  browser
  for high in 03FF 0FFF 3FFF FFFF; do
    printf 'P5 2 1 65535\n\0\0'"\\x${high:0:2}\\x${high:2}" >$high.pgm
  done
  pgm 00FF.pgm 2 1 '\x00\xFF'
  { printf 'Pf\n2 1\n-1\n' && printf '\x11\x11\x91\xD4\x22\x22\xA2\x54'; } >large.pfm # -5e12, 5.6e12
  { printf 'Pf\n2 1\n-1\n' && printf '\x11\x11\x91\xB4\x22\x22\xA2\x34'; } >small.pfm
  { printf 'Pf\n2 1\n-1\n' && printf '\x00\x00\x80\x3F\x00\x12\x44\x48'; } >uneven.pfm # 1, 200776
  imghist_ok ./*.pgm ./*.pfm --bins=native --html=r.html -q
  in_browser r.html '
    document.getElementById("sheet-view").click();
    const sheet = document.getElementById("sheet"), n = sheet.style.getPropertyValue("--columns"), tiles = document.querySelectorAll(".tile");
    function check(where) {
      for (const axis of document.querySelectorAll(".tile .axis")) {
        const numbers = [...axis.children].map(e => e.getBoundingClientRect());
        if (numbers.some((r, i) => i > 0 && r.left < numbers[i - 1].right)) say("overlap " + where + ": " + axis.innerText.replace(/\n/g, " "));
      }
    }
    sheet.style.width = 202 * n - 12 + "px"; /* the narrowest */
    check("on screen");
    sheet.style.cssText = "width: 979px; grid-template-columns: repeat(8, 1fr); gap: 6px"; /* as on paper */
    for (const tile of tiles) tile.style.padding = "3px", tile.querySelector(".axis").style.fontSize = "8px";
    check("on paper");
    say(tiles.length);' >said
  [ "$(cat said)" = 8 ] || fail "$(cat said)"
}

@test "html: a share has the words that it has on charts; text has more digits of large ones" {
  browser
  while read -r n words text; do # of 100,000 pixels
    { printf 'P5 500 200 255\n' && head -c "$n" /dev/zero | tr '\0' '\377' && head -c $((100000 - n)) /dev/zero | tr '\0' '\100'; } >$n.pgm
    imghist_ok $n.pgm --html=r.html --chart=c.svg --text=lines -q
    in_browser r.html 'say(document.querySelector("#body tr:not(.space) td:last-child").textContent.replace(/([<>]) /, "$1"))' >said
    [ "$(cat said)" = "$words %" ] || fail "page: $(cat said), not $words %"
    [[ $output == *" $text%  $n.pgm"* ]] || fail "text: $output"
    sed 's/&lt;/</g; s/&gt;/>/g' c.svg | grep -q "blown $words.*%" || fail "chart: $(grep blown c.svg)"
  done <<'END'
1 <0.01 <0.01
9 <0.01 <0.01
10 0.01 0.01
9960 9.96 9.96
10020 10.0 10.02
99890 99.9 99.89
99910 >99.9 99.91
100000 100 100
END
}

# Of 2,002 values the 0.1 and 99.9 percentiles leave out one at each end.
@test "html: the page says where it shows the middle 99.8 %, how many bits were reduced, and that zones are counted" {
  browser
  { printf '\x81'; printf '\x00\x01%.0s' {1..1000}; printf '\x7E'; } >cut.raw
  printf '\x81\x7E' >all.raw
  said() { in_browser r.html 'say([...document.querySelectorAll("#total .legend, #hint")].map(e => e.textContent.replace(/ Bars.*higher./, "")).join("; "));
    document.querySelector("#body tr").click(); say(document.querySelector("#detail .legend").textContent)'; }
  imghist_ok cut.raw --raw=1 --raw-depth=8s --html=r.html
  [[ $(said) == *"the middle 99.8 % of the values; "*" Histograms of signed and float samples show the middle 99.8 % of the values."*$'\n'*"the middle 99.8 % of the values" ]] || fail "$(said)"
  imghist_ok all.raw --raw=1 --raw-depth=8s --html=r.html
  [[ $(said) != *middle* ]] || fail "$(said)"
  in_browser r.html 'document.querySelector("#body tr").click(); say(document.querySelector("#detail dl").textContent)' | grep -q '^Samplesint8' || fail "samples"
  printf 'P5 2 1 65535\n\x00\x05\x0F\xFF' >few.pgm
  imghist_ok few.pgm --html=r.html
  in_browser r.html 'document.querySelector("#body tr").click(); say(document.querySelector("#detail dl").textContent)' >said
  grep -q '^Samples16 bits reduced to 8, but only 12 seem in use' said || fail "$(cat said)"
  pgm labels.pgm 2 1 '\x07\x09'
  imghist_ok few.pgm --labels=labels.pgm --html=r.html
  in_browser r.html 'for (const s of ["#total h2", "#facts dt", "#count", "th"]) say([...document.querySelectorAll(s)].slice(0, 4).map(e => e.textContent).join(" "))' >said
  diff said - <<'END'
All zones together
Zones counted Failed Pixels Mean luma
2 zones
Zonefile Histogram Pixels Format
END
}

@test "html: floats of one value or of none, alone and beside an image with luma" {
  browser
  printf 'Pf\n1 1\n-1\n\xCD\xCC\xCC\x3D' >one.pfm # 0.1
  printf 'Pf\n1 1\n-1\n\x00\x00\xC0\x7F' >nan.pfm
  ppm red.ppm 1 1 '\xFF\x00\x00'
  imghist_ok one.pfm --html=one.html
  imghist_ok nan.pfm --html=nan.html
  imghist_ok one.pfm red.ppm --html=both.html
  for page in one nan both; do
    in_browser $page.html '
      const texts = s => [...document.querySelectorAll(s)].map(e => e.textContent).join(" ");
      document.querySelector("#body tr").click();
      say([texts("#total .axis span, #total p"), texts("#detail .axis span"), texts("th"), texts("#facts dd:nth-last-of-type(2)"),
        texts("#hint").slice(0, 6)].join("; "));
      for (const dt of document.querySelectorAll("#detail dt")) /luma|gray.mean/.test(dt.textContent) && say(dt.textContent);
      say(texts("#detail .legend"));'
  done >said
  diff said - <<'END'
0.1; 0.1; Imagefile Histogram Sizepixels Format Meangray.mean Mediangray.median Stddevgray.stddev Entropygray.entropy; none; Bars t
Mean gray.mean
gray
No sample has a value.; no values; Imagefile Histogram Sizepixels Format; gray: 1 NaN; Bars t
gray
The images have different bins or bands, which are not added up.; 0.1; Imagefile Histogram Sizepixels Format Mean lumamean_luma Median Stddev Entropy Crushedcrushed_any Blownblown_any; bt709; Shares
Mean gray.mean
gray
END
  printf 'Pf\n2 1\n-1\n\x33\x45\x4A\x3C\x5A\xF3\x43\x3F' >long.pfm # 0.0123456, 0.765432
  imghist_ok long.pfm --html=long.html
  in_browser long.html '
    document.querySelector("#body tr").click();
    document.getElementById("sheet-view").click();
    for (const place of ["#total", "#detail", ".tile"]) say([...document.querySelectorAll(place + " .axis span")].map(e => e.textContent).join(" "));' >said
  diff said - <<'END' # a tile has no room for three of them
0.012346 0.38889 0.76543
0.012346 0.38889 0.76543
0.012346 0.76543
END
}

# Ten bands of 4 pixels, 10 b to 10 b + 3, in two images; the first and the third have names. Mean 10 b + 1.5, stddev sqrt(5) / 2.
@test "html: bands are lines, with their names in the file and the statistics of each" {
  browser
  "$IMGHIST" --list | grep '^  tiff ' | grep -qv 'not in this build' || skip "no TIFF in this build"
  python3 - <<'END'
import struct
xml = b'<GDALMetadata><Item name="DESCRIPTION" sample="0" role="description">Coast</Item><Item name="DESCRIPTION" sample="2" role="description">NIR &amp;lt; 1</Item></GDALMetadata>'
data = bytes(10 * b + i for i in range(4) for b in range(1, 11))
tags = [(256, 3, 1, 2), (257, 3, 1, 2), (258, 3, 10, 300), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 400), (277, 3, 1, 10), (278, 3, 1, 2),
        (279, 4, 1, 40), (42112, 2, len(xml), 440)]
file = b"II*\0" + struct.pack("<LH", 8, len(tags)) + b"".join(struct.pack("<HHLL", *tag) for tag in tags) + bytes(4)
file = file.ljust(300, b"\0") + struct.pack("<10H", *[8] * 10)
open("bands.tif", "wb").write(file.ljust(400, b"\0") + data + xml)
END
  cp bands.tif again.tif
  imghist_ok bands.tif again.tif --html=r.html
  in_browser r.html '
    const texts = s => [...document.querySelectorAll(s)].map(e => e.textContent);
    const lines = s => [...document.querySelectorAll(s + " path")].map(e => e.getAttribute("class") + " " + e.style.stroke);
    say(texts("#total .legend > span").join(", "));
    say(new Set(lines("#total")).size + " " + lines("#total")[7] + " " + lines("#body tr").length);
    const svg = document.querySelector("#total .histogram"), b = svg.getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: b.left + b.width * 30.5 / 256, clientY: b.top + 5}));
    say(texts("#tip div").slice(0, 4).join(", "));
    document.querySelector("#body tr").click();
    say(texts("#detail .legend > span").length);
    say([...document.querySelectorAll("#channels tr")].map(tr => [...tr.children].map(e => e.textContent).join(" ")).filter((_, i) => /^([013]|10)$/.test(i)).join("; "));
  ' >said
  diff said - <<'END'
band1 (Coast), band2, band3 (NIR < 1), band4, band5, band6, band7, band8, 8 of 10 bands are drawn
8 edge band var(--band1) 16
value 30, band1 0 %, band2 0 %, band3 25.0 %
9
 mean stddev min median max; band1 (Coast) 11.5 1.118 10 11 13; band3 (NIR < 1) 31.5 1.118 30 31 33; band10 101.5 1.118 100 101 103
END
  filtered r.html >said <<<$'band3.mean > 31\nband3.mean > 32\nband11.max > 0'
  diff said - <<'END'
2 images: bands.tif again.tif
0 of 2 images: 
0 of 2 images: 
END
}

# Of about 3e-7, and of 0.1234567 and its double.
@test "html: no number and no name of a field is cut in the table, nor broken on the contact sheet" {
  browser
  printf '\xBD\x37\x06\x34\x38\xE9\x96\x34' >small.raw
  printf '\xE9\xD6\xFC\x3D\xE9\xD6\x7C\x3E' >large.raw
  imghist_ok *.raw --raw=1 --raw-depth=f32le --size=2x1 --html=r.html
  in_browser r.html '
    const cut = [...document.querySelectorAll("#body td:not(.path), th code")].filter(e => e.scrollWidth > e.clientWidth);
    say("cut: " + cut.map(e => e.textContent).join(" "));
    say(Math.max(...[...document.querySelectorAll("#body td")].map(e => e.textContent.length)) > 7);
    document.getElementById("sheet-view").click();
    say(new Set([...document.querySelectorAll("#sheet .axis span")].map(e => e.offsetHeight)).size)' >said
  diff said - <<'END'
cut: 
true
1
END
}

# 0.5, 1.5, NaN, NaN, infinity
@test "html: the panel has what floats count apart" {
  browser
  printf '\x00\x00\x00\x3F\x00\x00\xC0\x3F\x00\x00\xC0\x7F\x00\x00\xC0\x7F\x00\x00\x80\x7F' >f.raw
  imghist_ok f.raw --raw=1 --raw-depth=f32le --size=5x1 --html=f.html
  in_browser f.html 'document.querySelector("#body tr").click(); say(document.querySelector("#detail dl").textContent)' >said
  grep -q '^Counted apart in gray2 NaN, 1 +infinity' said || fail "$(cat said)"
  in_browser f.html 'say(document.querySelector("#facts").textContent)' >said
  grep -q 'Counted apartgray: 2 NaN, 1 +infinity' said || fail "$(cat said)"
}

@test "html: a page of native bins without thumbnails has no picture" {
  browser
  printf 'P5 2 1 1023\n\x00\x05\x03\xFF' >ten.pgm
  imghist_ok ten.pgm --bins=native --html=r.html
  in_browser r.html '
    document.querySelector("#body tr").click();
    say(document.querySelectorAll("img").length + " " + [...document.querySelectorAll("#detail .axis span")].map(e => e.textContent).join(" "));' >said
  [ "$(cat said)" = "0 0 256 512 768 1023" ] || fail "$(cat said)"
}

# 20 bars of 1 to 20 pixels, and one of 200: it is cut, and the bar of 20 is not.
@test "html: empty bins do not lower the top of the first histogram" {
  browser
  pgm a.pgm 410 1 "$(for n in {1..20}; do printf "\\\\x$(printf %02X $((n + 99)))%.0s" $(seq $n); done; printf '\\xC8%.0s' {1..200})"
  imghist_ok a.pgm --html=r.html
  in_browser r.html 'say(document.querySelector("#total .area").getAttribute("d").match(/V[\d.]+/g).slice(0, -1).join(" "))' >said
  python3 -c 'print("V100.0", *(f"V{100 - 98 * n / 20:.1f}" for n in range(1, 21)), "V100.0 V2.0 V100.0")' | diff said -
}

@test "html: the facts name what was left out" {
  browser
  imghist_ok "$SAMPLES/cutout.png" --region=50%x50%+10+10 --alpha=skip-transparent --html=r.html
  in_browser r.html 'say(document.getElementById("facts").textContent)' >said
  grep -q 'Region50%x50%+10+10Transparent pixelsleft out' said || fail "$(cat said)"
}

@test "html: thumbnails show the images, upright, and say where there is none" {
  browser
  command -v cjpeg >/dev/null || skip "no cjpeg"
  mkdir d
  two_colours d/a.ppm 800 400
  two_colours d/b.ppm 30 20
  cjpeg -quality 95 d/a.ppm >plain.jpg
  { # the same with an orientation: turn by 90 degrees clockwise
    head -c 2 plain.jpg
    printf '\xFF\xE1\x00\x22Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00'
    tail -c +3 plain.jpg
  } >d/c.jpg
  pam d/d.pam 1 1 2 '\x00\x00'
  echo text >d/e.png
  imghist_status 1 d -q --html=r.html --thumbnails
  imghist_ok d/b.ppm --ndjson -o old.ndjson
  imghist_ok old.ndjson d/a.ppm --html=both.html --thumbnails
  pictures r.html >said
  diff said - <<'END'
a.ppm: 160x80 8,0,0 0,0,8
b.ppm: 30x20 8,0,0 0,0,8
c.jpg: 80x160 0,0,8 8,0,0
d.pam: 1x1 8,8,8 8,8,8
e.png: 
END
  pictures both.html >said
  diff said - <<'END'
d/b.ppm: no picture
d/a.ppm: 160x80 8,0,0 0,0,8
END
  grep -q 'picture: signed and float samples have none, nor have result files' dom.html || fail "the page does not say why"
  two_colours "a name of three lines beside a picture with the number 017.ppm" 8 8
  imghist_ok *017.ppm d/b.ppm --against=d/b.ppm --html=long.html --thumbnails
  in_browser long.html 'say("cut: " + [...document.querySelectorAll("td.path span")].filter(e => e.scrollHeight > e.clientHeight).map(e => e.textContent))' >said
  [ "$(cat said)" = "cut: " ] || fail "$(cat said)"
}

@test "html: thumbnails change no count, and frames and members of archives have theirs" {
  mkdir d
  cp "$SAMPLES"/*.png "$SAMPLES"/*.jpg d/
  imghist_ok d --csv -o plain.csv
  imghist_ok d --csv -o with.csv --html=r.html --thumbnails
  cmp plain.csv with.csv
  tar cf d.tar d
  imghist_ok d.tar --html=tar.html --thumbnails
  [ "$(grep -c '"/9j/' tar.html)" -eq "$(find d -type f | wc -l)" ] || fail "members"
  cat d/gray16.png d/scene.png d/palette.png | "$IMGHIST" --frames - --html=frames.html --thumbnails --region=10x10+0+0
  [ "$(grep -c '"/9j/' frames.html)" -eq 3 ] || fail "frames"
  imghist_ok d --html=none.html
  ! grep -q '"/9j/' none.html || fail "unasked"
}

@test "html: 10,000 thumbnails of noise fit in 60 MB" {
  mkdir d
  for ((i = 0; i < 10; i++)); do
    { printf 'P6 300 300 255\n'; head -c 270000 /dev/urandom; } >"d/$i.ppm"
  done
  imghist_ok d --html=r.html --thumbnails
  imghist_ok d/0.ppm --html=one.html --thumbnails
  [ $((($(wc -c <r.html) - $(wc -c <one.html)) * 10000 / 9)) -le 60000000 ] || fail "$(wc -c r.html one.html)"
}

@test "html: thumbnails without a page or a chart are wrong usage" {
  imghist_status 2 "$SAMPLES/scene.png" --thumbnails --csv
  assert_stderr_has "--thumbnails: they are in the page of --html=FILE and on charts of --chart=PATH, and neither is made"
}
