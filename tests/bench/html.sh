#!/usr/bin/env bash
# html.sh [RECORDS...]: the page of --html with 10,000 and with 100,000 images, in headless Chromium. Prints its size, the
# time from the start of loading to the first layout, and the slowest of sorting by each column and of four filters, layout
# included. Exit status 1 if a page has more than 60 MB, or that of 10,000 images opens in 2 s or more or sorts in 200 ms
# or more. PROGRAM: the program, if not ./imghist.
#
# The images are generated: 32 x 32 pixels, of many tones and contrasts, and 1 of 500 is cut. They become records once,
# and the page is made from the records.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${PROGRAM:-./imghist}")
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "html.sh: no Chromium" >&2; exit 2; }
[ $# -gt 0 ] || set -- 10000 100000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

images() { # N: a tar of N images
  python3 - "$1" <<'END'
import io, random, sys, tarfile
draw = random.Random(1)
noise = [bytes(min(255, max(0, int(draw.gauss(128, 40)))) for _ in range(3072)) for _ in range(40)]
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
    for i in range(int(sys.argv[1])):
        gain, offset = draw.uniform(0.2, 1.6), draw.uniform(-120, 120)
        table = bytes(min(255, max(0, int((v - 128) * gain + 128 + offset))) for v in range(256))
        data = b"P6 32 32 255\n" + draw.choice(noise).translate(table)
        data = data[:1000] if i % 500 == 7 else data
        entry = tarfile.TarInfo(f"2026/{draw.choice(['coast', 'forest', 'city', 'portraits'])}/IMG_{i:06}.ppm")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
END
}

measure='
const at = performance.now();
const lines = [`open ${at.toFixed(0)} ms`];
const timed = f => { const t = performance.now(); f(); document.body.offsetHeight; return performance.now() - t; };
const sorts = [...document.querySelectorAll("th button")].flatMap(b => [timed(() => b.click()), timed(() => b.click())]);
lines.push(`sort ${Math.max(...sorts).toFixed(0)} ms`);
const filter = document.getElementById("filter"), delay = setTimeout;
setTimeout = f => f();
const filters = ["img_0000", "failed", "mean_luma<40", "blown_any_share>5% coast"].map(t => timed(() => { filter.value = t; filter.oninput(); }));
setTimeout = delay;
lines.push(`filter ${Math.max(...filters).toFixed(0)} ms`);
document.title = lines.join(", ");'

echo "$(date -u +%F)  $("$program" --version | head -1), $("$browser" --version), \
$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), load $(cut -d' ' -f1 /proc/loadavg)"
bad=0
for n; do
  images "$n" | "$program" - -q --ndjson -o "$work/records.ndjson" 2>/dev/null || [ $? -eq 1 ]
  TIMEFORMAT=%R
  seconds=$({ time "$program" "$work/records.ndjson" -q --html="$work/page.html" 2>/dev/null || [ $? -eq 1 ]; } 2>&1)
  megabytes=$(($(stat -c %s "$work/page.html") / 1000000))
  printf '<script>document.body.offsetHeight;%s</script>\n' "$measure" >>"$work/page.html"
  said=$(timeout 300 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --dump-dom \
    "file://$work/page.html" 2>/dev/null | sed -n 's/.*<title>\(open .*\)<\/title>.*/\1/p')
  printf '%7d images: made in %s s, %d MB, %s\n' "$n" "$seconds" "$megabytes" "$said"
  [ "$megabytes" -le 60 ] || bad=1
  [ "$n" -gt 10000 ] || awk -v said="$said" 'BEGIN { split(said, w, " "); exit !(w[2] > 0 && w[2] < 2000 && w[5] < 200) }' || bad=1
done
exit $bad
