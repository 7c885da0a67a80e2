#!/usr/bin/env bash
# archive.sh [ROUNDS]: the time of archives, as parts of that of the same images as loose files.
#
# The images are 10,000 JPEG files of 256 x 192 pixels, cut from the sample scene, from a warm page cache. Runs
# alternate, and a ratio is the median of those of ROUNDS (9) rounds. Bars: 1.05 for tar; 1.15 for zip and
# tar.zst. Then peak memory with 1,000, 10,000 (the queues are full) and 1,000,000 tiny members. Exit status 1 if a bar is missed.
# PROGRAM=FILE measures another program than ./imghist.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/bench/figures.sh
. tests/bench/figures.sh
rounds=${1:-9}
program=$(realpath "${PROGRAM:-./imghist}") scene=$(realpath samples/scene.jpg)
work=build/bench/archive
mkdir -p "$work"
cd "$work"

if [ ! -d loose ]; then
  mkdir -p cut new
  for ((i = 0; i < 100; i++)); do
    jpegtran -crop "256x192+$((i % 14 * 16))+$((i / 14 * 16))" "$scene" >"cut/$i.jpg"
  done
  for ((i = 0; i < 100; i++)); do
    mkdir "new/$i"
    cp cut/*.jpg "new/$i"
  done
  mv new loose
  tar -cf loose.tar loose
  zstd -qf loose.tar -o loose.tar.zst
  xz -kf0 loose.tar
  gzip -kf loose.tar
  (cd loose && python3 -c 'import shutil; shutil.make_archive("../loose", "zip")')
fi

echo "$(date -u +%F)  $(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) CPUs, $rounds rounds"
TIMEFORMAT='%R %U %S'
# "ELAPSED CPU", with the process that reads the archive.
seconds() { { time "$program" --device=cpu --csv=stats "$1" >out.csv; } 2>&1 | awk '{ print $1, $2 + $3 }'; }

kinds=(loose.tar loose.tar.zst loose.zip loose.tar.gz loose.tar.xz)
rm -f ratios.* cpu.*
for ((round = 0; round < rounds; round++)); do
  for kind in "${kinds[@]}"; do
    a=$(seconds loose) b=$(seconds "$kind")
    [ "$(wc -l <out.csv)" -eq 40001 ] || { echo "$kind: not all images were counted" >&2; exit 1; }
    awk -v x="$a" -v y="$b" -v to="$kind" 'BEGIN {
      split(x, a, " "); split(y, b, " ")
      print int(b[1] / a[1] * 1000) >>"ratios." to
      print int(b[2] / a[2] * 1000) >>"cpu." to }'
  done
done
bad=0
for kind in "${kinds[@]}"; do
  case $kind in *.tar) bar=1050 ;; *.zip | *.zst) bar=1150 ;; *) bar= ;; esac
  ratio=$(median <"ratios.$kind")
  printf '%-14s %4d thousandths of the time of the loose files%s; %4d of their CPU time\n' "$kind" "$ratio" \
    "${bar:+, at most $bar}" "$(median <"cpu.$kind")"
  [ -z "$bar" ] || [ "$ratio" -le "$bar" ] || bad=1
done

# peak FILE: peak memory in megabytes.
peak() { "$program" "$1" --csv=stats --device=cpu -v 2>&1 >/dev/null | awk '/^ *memory / { print $2 }'; }

for n in 1000 10000 1000000; do
  python3 - "$n" >"$n.tar" <<'END'
import sys, tarfile
image = b"P5\n1 1\n255\nA"
for i in range(int(sys.argv[1])):
    member = tarfile.TarInfo(f"{i:07}.pgm")
    member.size = len(image)
    sys.stdout.buffer.write(member.tobuf(tarfile.USTAR_FORMAT) + image.ljust(512, b"\0"))
sys.stdout.buffer.write(bytes(1024))
END
done
few=$(peak 1000.tar) full=$(peak 10000.tar) many=$(peak 1000000.tar)
rm 1000.tar 10000.tar 1000000.tar
echo "1,000 members: $few MB, 10,000: $full MB, 1,000,000: $many MB"
awk -v a="$full" -v b="$many" 'BEGIN { exit !(b < a * 1.1) }' || bad=1
exit $bad
