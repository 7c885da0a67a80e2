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
  imghist d --html=out/r.html
  assert_status 1
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
    for (const text of ["mean_luma > 100", "blown_any > 75% and pnm", "blown_any >= 3", "width == 1", "brightness > 5", "mean_luma", ""]) {
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
no field in brightness>5: 
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

@test "html: no images, and nothing but failures" {
  browser
  imghist --files-from=/dev/null --html=empty.html
  assert_fails 1 "no images found"
  in_browser empty.html 'say(document.getElementById("total").textContent); say(document.getElementById("count").textContent);' >said
  [ "$(cat said)" = $'No image was counted.\n0 images' ] || fail "$(cat said)"
  echo x >bad.png
  imghist bad.png --html=bad.html
  assert_status 1
  in_browser bad.html 'say(document.querySelectorAll("#body tr.failed").length)' >said
  [ "$(cat said)" = 1 ] || fail "$(cat said)"
}
