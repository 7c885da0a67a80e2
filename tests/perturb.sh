#!/usr/bin/env bash
# perturb.sh IMGHIST [FORMAT...]: checks that results do not depend on uninitialised memory.
#
# Decodes damaged files of every format four times, with malloc filling new memory in different ways
# (glibc.malloc.perturb, which leaves blocks of the tcache as they were), and compares the records byte for byte. Two of the
# fills lie below the largest sample of 10 bits, so that they are not clamped alike. The sources are the files of tests/formats/files and of make_seeds.c.
#
# MUTANTS is the number of damaged files of each format (2500). SEED makes others (1). Files with different
# records are stored in build/perturb/different. FORMAT is a file name's ending, for example tif or heic.
set -eu
imghist=${1:?usage: perturb.sh IMGHIST [FORMAT...]}
imghist=$(cd "$(dirname "$imghist")" && pwd)/$(basename "$imghist")
shift
mutants=${MUTANTS:-2500} seed=${SEED:-1}
tests=$(cd "$(dirname "$0")" && pwd)
dir=$tests/../build/perturb
formats=("$@")
[ $# -gt 0 ] || formats=(png jpg webp tif gif heic avif jxl bmp psd pnm tga qoi npy jp2 j2k fits exr hdr ico cur dng sensor)

rm -rf "$dir"
mkdir -p "$dir/seeds" "$dir/different"
cd "$dir"
"$tests/fuzz/seeds.sh" seeds
cp "$tests"/../samples/*.{png,jpg} seeds
find seeds -size +16k -delete
for kind in "10 GBRG" lossless; do
  # shellcheck disable=SC2086 # two arguments
  PYTHONPATH=$tests/cli python3 "$tests/cli/sensor.py" $kind
  mv a.dng "seeds/${kind:0:2}.sensor"
done
python3 "$tests/cli/make_dng.py" seeds/preview.dng seeds/444.jpg
python3 "$tests/cli/make_dng.py" seeds/previews.dng seeds/420.jpg seeds/444.jpg

# records FILL: writes a record of each file to FILL.ndjson and messages to FILL.err.
records() {
  GLIBC_TUNABLES=glibc.malloc.perturb=$1:glibc.malloc.tcache_count=0 timeout 600 "$imghist" --device=cpu --max-pixels=1M \
    "--raw-$raw" --ndjson --files-from=list >"$1.ndjson" 2>"$1.err" || [ $? -eq 1 ]
}

echo "perturb: $mutants damaged files of each format, seed $seed"
n_different=0
for format in "${formats[@]}"; do
  raw=preview
  case $format in
    sensor) raw=sensor sources=(seeds/*.sensor) ;;
    pnm) sources=(seeds/*.p[bgpa]m) ;;
    *) sources=(seeds/*."$format") ;;
  esac
  [ -f "${sources[0]}" ] || { echo "perturb: $format: no source, skipped"; continue; }
  rm -rf damaged
  python3 "$tests/cli/make_damaged.py" "$mutants:$seed" damaged "${sources[@]}"
  printf '%s\n' damaged/* >list
  # HEIC sets the fill of its process itself, so each format has a run of its own. New memory has the inverse of the value.
  for fill in 85 170 253 254; do records $fill; done
  n_ok=$(grep -c '"status":"ok"' 85.ndjson || :)
  n=0
  while read -r file; do
    cp "$file" "different/$format-${file#damaged/}"
    n=$((n + 1))
  done < <(for fill in 170 253 254; do diff 85.ndjson $fill.ndjson; done |
    sed -n 's/^> .*"file":"\([^"]*\)".*/\1/p' | sort -u)
  for fill in 170 253 254; do
    cmp -s 85.err $fill.err || { echo "perturb: $format: the messages differ"; n=$((n + 1)); }
    cmp -s 85.ndjson $fill.ndjson || [ "$n" -gt 0 ] || n=1
  done
  printf '%-5s %6s damaged files of %s, %s counted, %s different\n' \
    "$format" "$mutants" "${#sources[@]}" "$n_ok" "$n"
  n_different=$((n_different + n))
done
rm -rf damaged
[ "$n_different" -eq 0 ] || { echo "perturb: $n_different differ: see $dir/different" >&2; exit 1; }
