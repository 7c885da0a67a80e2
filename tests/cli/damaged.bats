#!/usr/bin/env bats
# Runs over ten thousand damaged files of every format: each gives a record or an error, in order, in
# bounded time and memory. tests/unit/test_decoder_process.c tests decoders that crash or hang.

# shellcheck disable=SC2154 # run sets stderr

load helpers

N=10000

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$IMGHIST" "$SAMPLES/testcard.png" --device=cpu --chart=baseline.jpg --chart-size=320x200
  python3 "$TESTS/cli/make_damaged.py" $N d "$TESTS"/formats/files/* baseline.jpg
  printf '%s\n' d/* >list
  head -n 1000 list >short
  # Limit the memory of the address sanitizer, and make it fill new memory: it ignores mallopt, with which
  # dec_heif.c finds missing blocks. Libraries leak memory on damaged files.
  export ASAN_OPTIONS=quarantine_size_mb=1:detect_leaks=0:max_malloc_fill_size=1073741824
}

setup() {
  unset IMGHIST_DEVICE NO_COLOR
  export LC_ALL=C TERM=dumb
  cd "$BATS_FILE_TMPDIR" || return 1
}

# batch ARG...: sets status and writes records to out and messages to err. A hang ends with status 124.
batch() {
  status=0
  timeout 120 "$IMGHIST" --device=cpu "$@" >out 2>err || status=$?
}

# check LIST: checks that out has exactly one valid record for each file of LIST, in order. Prints how many
# files were counted.
check() {
  python3 - "$1" <<'END'
import json, sys
names = open(sys.argv[1]).read().split("\n")[:-1]
n_ok = 0
with open("out") as out:
    for i, line in enumerate(out):
        r = json.loads(line)
        assert i < len(names) and r["file"] == names[i], f"record {i} is of {r['file']}"
        if r["status"] == "ok":
            n_ok += 1
            pixels = r["width"] * r["height"]
            assert pixels > 0 and r["channels"], line
            for c in r["channels"]: # floats have ranges, and infinities apart
                bins = c["histogram"] if "histogram" in c else [n for first, *counts in c["ranges"] for n in counts]
                assert sum(bins) == c["count"], line
                assert c["count"] + sum(c.get(k, 0) for k in ("nan", "positive_infinity", "negative_infinity")) == pixels, line
        else:
            assert r["status"] == "error" and r["error"] and "channels" not in r, line
assert i + 1 == len(names), f"{i + 1} records of {len(names)} files"
print(n_ok)
END
}

@test "damaged: each of ten thousand files gives a record or an error, in order" {
  batch --files-from=list --ndjson -j 2
  [ "$status" -eq 1 ] || fail "exit status $status" "$(tail -n 3 err)"
  n_ok=$(check list)
  # both outcomes must be frequent, or the files do not test much
  [ "$n_ok" -gt 1000 ] && [ "$n_ok" -lt $((N - 1000)) ] || fail "$n_ok files are counted"
  # one message for each failure, one note of each kind, and the summary; libraries print nothing
  local notes
  notes=$(grep -c '^imghist: d/[0-9]*: note: ' err)
  [ "$notes" -le 4 ] || fail "$notes notes"
  sed -i '/^imghist: d\/[0-9]*: note: /d' err
  [ "$(grep -c '^imghist: d/[0-9]*: ' err)" -eq $((N - n_ok)) ] || fail "$(head -n 3 err)"
  [[ $(tail -n 1 err) == "imghist: $((N - n_ok)) of $N inputs failed"* ]] || fail "$(tail -n 1 err)"
  [ "$(wc -l <err)" -eq $((N - n_ok + 1)) ] || fail "$(grep -v '^imghist: d/' err | head)"
}

@test "damaged: the same records with other numbers of threads, and with --isolate" {
  batch --files-from=list --ndjson -j 1
  mv out expected
  for options in "-j 5" "-j 2 --isolate"; do
    # shellcheck disable=SC2086 # the options are words
    batch --files-from=list --ndjson $options
    [ "$status" -eq 1 ]
    check list
    cmp out expected
  done
}

@test "damaged: a small file of each format, cut at every place and with every byte inverted" {
  files=$TESTS/formats/files
  python3 "$TESTS/cli/make_damaged.py" every every "$files"/{gif-interlaced.gif,webp-lossless.webp,webp-lossy.webp} \
    "$files"/{tiff-fax4.tif,bmp-2-os2-1.bmp,bmp-rle8-gaps.bmp,tga-gray.tga,tga-gray-runs.tga,psd-bitmap.psd} \
    "$files"/{psd-gray.psd,heic-10.heic,avif.avif,jxl-lossless.jxl,pnm-p4.pbm,pnm-p2.pgm,pnm-p7-ga.pam}
  printf '%s\n' every/* >every.list
  batch --files-from=every.list --ndjson -j 2
  [ "$status" -eq 1 ] || fail "exit status $status" "$(tail -n 3 err)"
  check every.list
  ! grep -n 'its decoder \(crashed\|ended\)' err || fail "a decoder crashed"
  # A cut file is sound only if nothing but a footer or padding is missing.
  n_cut=$(grep -c ^every/cut every.list)
  n_sound=$(grep '"file":"every/cut' out | grep -c '"status":"ok"' || :)
  [ $((n_sound * 20)) -lt "$n_cut" ] || fail "$n_sound of $n_cut cut files are counted"
}

@test "damaged: in a directory walk every file is counted, failed or skipped" {
  batch d --ndjson -v
  [ "$status" -eq 1 ]
  sum=$(sed -n 's/^imghist: \([0-9]*\) done, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 + \2 + \3/p' err)
  [ "$((sum))" -eq $N ] || fail "$sum"
  [ "$(wc -l <out)" -eq $((N - ${sum##* })) ]
  [ "${sum##* }" -gt 0 ] # damaged signatures
}

# peak LIST: prints the peak memory in KiB of the program or one of its decoder processes. A damaged width may
# be large, and a row is held in memory: --max-pixels excludes that from the measurement.
peak() {
  python3 - "$IMGHIST" "$1" <<'END'
import resource, subprocess, sys
subprocess.run([sys.argv[1], "--device=cpu", "--files-from", sys.argv[2], "--ndjson", "-j", "2", "--max-pixels=64k"],
               stdout=open("out", "w"), stderr=subprocess.DEVNULL, timeout=120)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
END
}
