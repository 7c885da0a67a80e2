#!/usr/bin/env bats
# --depth and --range: 16-bit samples by another rule, exactly. Expected counts come from integers in make_deep.py.

load helpers

# reads FORMAT: this build decodes it.
reads() { "$IMGHIST" --list | grep "^  $1 " | grep -qv 'not in this build'; }

# counts_of FILE ARG...: the bins of colours and alpha that are not empty.
counts_of() {
  local file=$1
  shift
  "$IMGHIST" "$file" --csv=long --device=cpu -q "$@" | cut -d, -f2- | grep -v -e '^luma,' -e ',0$' -e ^channel
}

setup_file() {
  command -v python3 >/dev/null || return 0
  cd "$BATS_FILE_TMPDIR" || return 1
  python3 "$TESTS/cli/make_deep.py" files
}

@test "depth: every 16-bit value in every format, by every rule" {
  needs python3
  local n=0
  while read -r option low high; do
    for file in "$BATS_FILE_TMPDIR"/*.{pgm,png,tif,psd,pam}; do
      case $file in *.tif) reads tiff || continue ;; esac
      # shellcheck disable=SC2094 # a word, and a file
      python3 "$TESTS/cli/make_deep.py" expected "$file" "$low" "$high" >expected
      counts_of "$file" "$option" | cmp - expected || fail "$file $option"
      n=$((n + 1))
      [ "$option" != --depth=12 ] || counts_of "$file" "$option" --isolate | cmp - expected || fail "$file --isolate"
    done
  done <<'END'
--depth=16 0 65535
--depth=12 0 4095
--depth=9 0 511
--depth=1 0 1
--range=0,65535 0 65535
--range=1000,1001 1000 1001
--range=257,60001 257 60001
END
  [ $n -ge 70 ]
}

@test "depth: PNG in an icon" {
  needs python3
  local n=0
  for file in "$BATS_FILE_TMPDIR"/*.png; do
    python3 -c 'import struct, sys
png = open(sys.argv[1], "rb").read()
sys.stdout.buffer.write(struct.pack("<HHHBBBBHHLL", 0, 1, 1, 0, 0, 0, 0, 1, 32, len(png), 22) + png)' "$file" >a.ico
    python3 "$TESTS/cli/make_deep.py" expected "$file" 257 60001 >expected
    counts_of a.ico --range=257,60001 | cmp - expected || fail "$file"
    "$IMGHIST" "$file" -q --csv=images --range=257,60001 | cut -d, -f5- >fields
    "$IMGHIST" a.ico -q --csv=images --range=257,60001 | cut -d, -f5- | cmp - fields || fail "$file: other fields"
    n=$((n + 1))
  done
  [ $n -ge 3 ]
}

@test "depth: JPEG 2000" {
  needs python3
  reads jp2 || skip "no JPEG 2000 in this build"
  /usr/bin/python3 - <<'END' 2>/dev/null || skip "no Pillow that writes JPEG 2000"
from PIL import Image
Image.frombytes("I;16", (256, 256), b"".join(v.to_bytes(2, "little") for v in range(65536))).save("a.jp2", irreversible=False)
END
  # shellcheck disable=SC2094 # a word, and a file
  python3 "$TESTS/cli/make_deep.py" expected a.pgm 100 4095 >expected
  counts_of a.jp2 --range=100,4095 | cmp - expected
}

@test "depth: images of other depths are counted as before" {
  cp "$SAMPLES"/*.{png,jpg} .
  rm gray16.png
  printf 'P5\n3 1\n4095\n\x00\x00\x07\xff\x0f\xff' >deep.pgm
  for file in *; do
    counts_of "$file" >expected
    counts_of "$file" --depth=12 | cmp - expected || fail "$file"
  done
}

@test "depth: the note about samples above the range is about 16-bit samples only" {
  printf 'P5\n3 1\n4095\n\x00\x00\x07\xff\x0f\xff' >12.pgm
  printf 'P5\n3 1\n65535\n\x00\x00\x07\xff\x0f\xff' >16.pgm
  imghist_ok 12.pgm --depth=10 --csv=stats
  [ "$stderr" = "imghist: 12.pgm: note: has samples of 12 bits, which --depth does not change; it is for 16" ] || fail "another note"
  imghist_ok 16.pgm --depth=10 --csv=stats
  [ "$stderr" = "imghist: 16.pgm: note: its samples go up to 4095, and those above 1023 count as 255; --depth is too small" ] ||
    fail "another note"
  imghist_ok 16.pgm --depth=10 --bins=native --csv=stats
  [[ $stderr == *"those above 1023 count as 1023; --depth is too small" ]] || fail "another note for native bins"
  "$IMGHIST" 16.pgm --depth=12 --total-only --ndjson -o total.ndjson
  imghist_quiet total.ndjson --depth=12 --csv=stats # a total does not tell the depth
}

@test "depth: the record names the rule, and records by different rules are not merged" {
  printf 'P5\n2 1\n65535\n\x00\x00\x0f\xff' >a.pgm
  imghist_output_has '"reduction":"round((v-0)*255/4095)"' a.pgm --ndjson --depth=12
  assert_no_stderr # the note is about another rule
  printf '%s\n' "$output" >depth.ndjson
  imghist_output_has '"reduction":"round((v-100)*255/3995)"' a.pgm --ndjson --range=100,4095 --total
  [ "$(grep -c 'v-100' <<<"$output")" -eq 2 ]
  printf '%s\n' "${lines[0]}" >range.ndjson
  imghist_output_has '"reduction":"round(v*255/max)"' a.pgm --ndjson
  printf '%s\n' "$output" >plain.ndjson
  imghist_ok depth.ndjson --ndjson
  assert_output "$(cat depth.ndjson)"
  imghist_output_has '"reduction":"round((v-0)*255/4095)"' depth.ndjson depth.ndjson --ndjson --total-only
  for pair in 'depth plain' 'plain range' 'range depth'; do
    read -r first second <<<"$pair"
    imghist "$first.ndjson" "$second.ndjson" --ndjson --total
    assert_fails 2 "$second.ndjson: counted with samples reduced by round("
  done
  imghist depth.ndjson --ndjson --depth=10
  assert_fails 2 "counted with samples reduced by round((v-0)*255/4095); this run asks for round((v-0)*255/1023)"
  imghist_ok depth.ndjson --ndjson --depth=12
  for rule in 'round((v-0)*255/0)' 'round((v-0)*255/65536)' 'round((v-1)*255/65535)' 'round((v-00)*255/4095)' \
    'round((v-0)*255/4095) ' 'other'; do
    sed "s|round((v-0)\*255/4095)|$rule|" depth.ndjson >bad.ndjson
    imghist_fails 1 "damaged record: reduction is impossible" bad.ndjson --ndjson
  done
}

@test "depth: the options' values" {
  dot a.pgm
  for value in 0 17 x '' 1.5 -1; do
    imghist_refused 2 "--depth: '$value' is not a number of bits, 1 to 16" a.pgm "--depth=$value"
  done
  for value in 5 5,5 6,5 0,65536 ',' '1,' ',1' a,b; do
    imghist_refused 2 "--range: '$value' is not LO,HI with 0 <= LO < HI <= 65535" a.pgm "--range=$value"
  done
  imghist_refused 2 "--range: cannot be used with --depth" a.pgm --range=0,9 --depth=12
}

@test "depth: source_min and source_max are those of the stored colours, in every format, in totals and merges" {
  needs python3
  mkdir low high
  (cd low && python3 "$TESTS/cli/make_deep.py" files 300 4095)
  (cd high && python3 "$TESTS/cli/make_deep.py" files 5 61234)
  printf 'P2 3 1 1023 700 20 999 ' >low/b.pgm # 20 to 999
  printf 'P5 2 1 4095 \x01\x00\x0f\xfe' >low/c.pgm # 256 to 4094
  cp "$SAMPLES/scene.png" high/
  for options in "" "--isolate --frames" "--range=1000,2000 --region=1x1+0+0"; do
    # shellcheck disable=SC2086 # words
    "$IMGHIST" low high --device=cpu -q --ndjson $options -o all.ndjson 2>/dev/null || fail "$options"
    jq -r '"\(.file) \(.source_min) \(.source_max)"' all.ndjson >is
    while read -r file min max; do
      case $file in
        low/b.pgm) expected="20 999" ;;
        low/c.pgm) expected="256 4094" ;;
        low/*) expected="300 4095" ;;
        */scene.png) expected="null null" ;;
        *) expected="5 61234" ;;
      esac
      [ "$min $max" = "$expected" ] || fail "$file: $min $max $options"
    done <is
    [ "$(wc -l <is)" -ge 24 ] || fail "$options: $(cat is)"
  done
  "$IMGHIST" low high --device=cpu -q --total-only --ndjson -o direct.ndjson
  jq -r '"\(.source_min) \(.source_max)"' direct.ndjson | grep -qx '5 61234' || fail total
  "$IMGHIST" low --device=cpu -q --ndjson -o 1.ndjson
  "$IMGHIST" high --device=cpu -q --ndjson -o 2.ndjson
  imghist_ok 1.ndjson 2.ndjson --total-only --ndjson
  echo "$output" | cmp - direct.ndjson
  imghist_ok low --where 'source_max > 4094 and source_min >= 300' --csv=images
  [ "$(grep -c ',300,4095,' <<<"$output")" -ge 9 ] || fail "--where"
  for damage in 's/"source_min":[0-9]*,//' 's/"source_max":[0-9]*/"source_max":4294967296/' 's/"source_min":[0-9]*/"source_min":65000/'; do
    sed "$damage" 1.ndjson >damaged.ndjson
    imghist_status 1 damaged.ndjson --csv
    assert_stderr_has "damaged record: source_max is impossible"
  done
}

@test "depth: source_min and source_max of JPEG 2000 and TIFF, against Pillow" {
  needs python3
  reads jp2 || skip "no JPEG 2000 in this build"
  /usr/bin/python3 - <<'END' 2>/dev/null || skip "no Pillow that writes JPEG 2000"
from PIL import Image
import random
values = [random.Random(1).randrange(1234, 45678) for i in range(65536)]
image = Image.frombytes("I;16", (256, 256), b"".join(v.to_bytes(2, "little") for v in values))
image.save("a.jp2", irreversible=False)
image.save("a.tif")
open("expected", "w").write("%d %d\n" % image.getextrema())
END
  for file in a.jp2 a.tif; do
    imghist_ok $file --device=cpu --ndjson
    jq -r '"\(.source_min) \(.source_max)"' <<<"$output" | cmp - expected || fail $file
  done
}
