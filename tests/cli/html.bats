#!/usr/bin/env bats
# --html: the page as a file, and in a browser: what it shows, sorts, filters and prints.

load helpers

browser() {
  BROWSER=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no Chromium"
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
  grep -q '"total":{"images":3,"failed":1,"pixels":7,' out/r.html || fail "total"
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
        look("blown_any_share>=75% pnm", () => { say(names()); say(document.getElementById("count").textContent);
          document.querySelector("#body tr").click();
          say(document.querySelector("#detail h2").textContent);
          document.onkeydown(new KeyboardEvent("keydown", {key: "Escape"}));
          say(document.getElementById("detail").hidden);
          look("", () => { window.onbeforeprint(); say(document.querySelectorAll("#body tr").length); window.onafterprint(); });
    }); }); });
  ' >said
  diff said - <<'END'
d/
d/broken.png d/dark.pgm d/red.ppm d/white.pgm
cannot decode
3
d/white.pgm d/red.ppm d/dark.pgm d/broken.png
d/dark.pgm d/red.ppm d/white.pgm d/broken.png
d/broken.png d/dark.pgm d/red.ppm d/white.pgm
file
d/broken.png
d/white.pgm
d/red.ppm d/white.pgm
2 of 4 images
d/red.ppm
true
4
END
}

@test "html: the filter takes the conditions of --where, and says what it does not know" {
  browser
  page
  in_browser out/r.html '
    const filter = document.getElementById("filter"), delay = setTimeout;
    setTimeout = f => f();
    for (const text of ["mean_luma > 100", "blown_any > 75% and pnm", "blown_any >= 3", "width == 1", "blown_any > 75 %",
        "format == pnm and width != 1", "status == ok", "file == d/red.ppm", "brightness > 5", "mean_luma > x", "file < b", "red or white", "not failed",
        "mean_luma", ""]) {
      filter.value = text;
      filter.oninput();
      say(document.getElementById("count").textContent + ": " +
        [...document.querySelectorAll("#body tr:not(.space)")].map(r => r.children[0].textContent).join(" "));
    }
    setTimeout = delay;
  ' >said
  diff said - <<'END'
1 of 4 images: d/white.pgm
1 of 4 images: d/red.ppm
1 of 4 images: d/white.pgm
1 of 4 images: d/red.ppm
1 of 4 images: d/red.ppm
2 of 4 images: d/dark.pgm d/white.pgm
3 of 4 images: d/dark.pgm d/red.ppm d/white.pgm
1 of 4 images: d/red.ppm
not understood: brightness>5: 
not understood: mean_luma>x: 
not understood: file<b: 
not understood: or: 
not understood: not: 
0 of 4 images: 
4 images: d/broken.png d/dark.pgm d/red.ppm d/white.pgm
END
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
  ' >said
  diff said - <<'END'
0
d/'"<b>&amp;.pgm
d/</script><script>say("injected")<
d/<!--<script>.pgm
d/<img src=x onerror=say("injected")>.pgm
END
}

@test "html: the title is the folder of the images, not that of result files" {
  mkdir photos parts
  dot photos/a.pgm
  imghist_ok photos --html=single.html --ndjson -o parts/1.ndjson
  grep -q '"title":"photos/"' single.html
  imghist_ok parts/1.ndjson --html=merged.html
  grep -q '"title":null' merged.html
}

@test "html: totals of result files are in the total of the page" {
  page
  imghist_status 1 d --total-only --ndjson -o total.ndjson
  imghist_status 1 total.ndjson --html=total.html # an input had failed
  grep -q '"total":{"images":3,"failed":1,"pixels":7,' total.html || fail "$(grep -o '"total":.\{60\}' total.html)"
  imghist total.ndjson d/white.pgm --total --html=more.html
  grep -q '"total":{"images":4,"failed":1,"pixels":11,' more.html || fail "$(grep -o '"total":.\{60\}' more.html)"
}

@test "html: names are shown so that no two look alike" {
  browser
  dot d/a.pgm
  dot $'d/a\u200b.pgm'
  dot $'d/a\u202egnp.pgm'
  dot $'d/a\n\x1b\\.pgm'
  imghist_ok d --html=r.html
  in_browser r.html 'for (const tr of document.querySelectorAll("#body tr:not(.space)")) say(tr.children[0].textContent)' >said
  [ "$(LC_ALL=C sort said | paste -sd' ')" = 'd/a.pgm d/a\n\x1B\\.pgm d/a\u{200b}.pgm d/a\u{202e}gnp.pgm' ] || fail "$(cat said)"
}

@test "html: no images, and nothing but failures" {
  browser
  dot a.pgm
  imghist_ok a.pgm --where 'width > 1' --html=empty.html
  in_browser empty.html 'say(document.getElementById("total").textContent); say(document.getElementById("count").textContent);' >said
  [ "$(cat said)" = $'No image was counted.\n0 images' ] || fail "$(cat said)"
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
d/a.ppm: 160x80 8,0,0 0,0,8
d/b.ppm: 30x20 8,0,0 0,0,8
d/c.jpg: 80x160 0,0,8 8,0,0
d/d.pam: 1x1 8,8,8 8,8,8
d/e.png: 
END
  pictures both.html >said
  diff said - <<'END'
d/b.ppm: no picture
d/a.ppm: 160x80 8,0,0 0,0,8
END
  grep -q 'picture: the pixels of a result file' dom.html || fail "the page does not say why"
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

@test "html: thumbnails without a page are wrong usage" {
  imghist_status 2 "$SAMPLES/scene.png" --thumbnails --csv
  assert_stderr_has "--thumbnails: they are in the page of --html=FILE, which is not made"
}
