#!/usr/bin/env bats
# Many, large, slow and changing inputs: memory, order, and independence of each other.

# shellcheck disable=SC2154 # run sets stderr

load helpers

# held FILE: a gray progressive JPEG of 320 x 320 pixels. Its coefficients are held in memory: 1,600 blocks of 64, or
# 204,800 bytes. All are 0: the first scan has a bit for each block, the second one end-of-band run for all.
held() {
  {
    printf '\xFF\xD8\xFF\xDB\x00\x43\x00'
    printf '\x01%.0s' {1..64}
    printf '\xFF\xC2\x00\x0B\x08\x01\x40\x01\x40\x01\x01\x11\x00'
    printf '\xFF\xC4\x00\x14\x00\x01'
    head -c 16 /dev/zero
    printf '\xFF\xDA\x00\x08\x01\x01\x00\x00\x00\x00'
    head -c 200 /dev/zero
    printf '\xFF\xC4\x00\x14\x10\x01'
    head -c 15 /dev/zero
    printf '\xA0\xFF\xDA\x00\x08\x01\x01\x00\x01\x3F\x00\x48\x1F\xFF\xD9'
  } >"$1"
}

@test "batch: an image that needs more than --memory is an error, and the others are counted" {
  mkdir d
  for i in 1 3; do dot "d/$i"; done
  held d/2
  imghist d --csv=stats -j 2 --memory=204799
  assert_fails 1 "imghist: d/2: needs 0.2 MB of memory at once, the limit is 0.2 MB (--memory raises it)"
  assert_stderr_has "1 of 3 inputs failed"
  assert_output_has $'\nd/1,'
  assert_output_has $'\nd/3,'
  refute_output_has d/2
}

@test "batch: an image from a pipe that needs more than --memory" {
  {
    printf '8BPS\0\1\0\0\0\0\0\0\0\1\0\0\2\0\0\0\2\0\0\10\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
    head -c 262144 /dev/zero
  } >a.psd
  imghist - --csv=stats --memory=200k < <(cat a.psd)
  assert_fails 1 "imghist: -: needs more than 0.2 MB of memory at once, the limit (--memory raises it)"
  imghist - --csv=stats --memory=1k < <(cat a.psd)
  assert_fails 1 "imghist: -: needs more than 1024 bytes of memory at once, the limit (--memory raises it)"
  imghist_ok - --csv=stats < <(cat a.psd)
}

# group_limits: the memory limits of this process's control groups, in bytes, one a line.
group_limits() {
  local group
  sed -n 's/^0:://p' /proc/self/cgroup | while read -r group; do
    while :; do
      grep -v max "/sys/fs/cgroup$group/memory.max" 2>/dev/null || :
      [ "$group" != / ] || break
      group=$(dirname "$group")
    done
  done
}

@test "batch: the default of --memory is a quarter of the machine's memory" {
  n_bytes=$(($(getconf _PHYS_PAGES) * $(getconf PAGESIZE)))
  [ $n_bytes -lt 100000000000 ] || skip "no image takes a quarter of $n_bytes bytes"
  address_space= # of an ELF file for 32 bits
  [ "$(od -An -tu1 -j4 -N1 "$IMGHIST")" -ne 1 ] || address_space=$(((1 << 32) - 1))
  for limit in $(group_limits) $address_space; do
    [ "$limit" -ge "$n_bytes" ] || n_bytes=$limit
  done
  { # a progressive JPEG of 65500 x 65500 and three channels, by its header
    printf '\xFF\xD8\xFF\xC2\x00\x11\x08\xFF\xDC\xFF\xDC\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00'
    printf '\xFF\xC4\x00\x14\x00\x01'
    head -c 16 /dev/zero
    printf '\xFF\xDA\x00\x0C\x03\x01\x00\x02\x00\x03\x00\x00\x00\x00'
    head -c 64 /dev/zero
  } >claims.jpg
  imghist claims.jpg --csv
  assert_fails 1 "claims.jpg: needs 25744.6 MB of memory at once, the limit is \
$(awk "BEGIN { printf \"%.1f\", $n_bytes / 4 / 1e6 }") MB (--memory raises it)"
}

@test "batch: --memory does not apply to images that are read in rows" {
  imghist_ok "$SAMPLES/scene.jpg" --csv=stats --memory=1
}

@test "batch: --max-pixels is checked before --memory" {
  held a.jpg
  imghist_fails 1 "image too large: 320 x 320 pixels" a.jpg --csv --max-pixels=102399 --memory=1
}

@test "batch: ten thousand files in order, with any number of threads" {
  for i in {100..199}; do dot "$i"; done
  for i in {1..100}; do printf '%s\n' {100..199}; done >list
  for j in 1 2 5; do
    "$IMGHIST" --files-from=list --csv=stats -j $j >out.csv
    names out.csv | cmp - list
  done
}

@test "batch: the soft limit on open files is raised" {
  for i in {10..39}; do dot "$i"; done
  for j in 1 64; do
    (
      ulimit -Sn 12
      "$IMGHIST" . --csv=stats -j $j --isolate >../out.$j
    )
  done
  [ "$(wc -l <../out.1)" -eq 61 ]
  cmp ../out.1 ../out.64
}

# peak N: the peak memory for N files, in tenths of a megabyte.
peak() {
  yes a.pgm | head -n "$1" >list
  "$IMGHIST" --files-from=list --csv=stats -j 2 -v 2>&1 >out.csv |
    sed -n 's/^ *memory *\([0-9]*\)\.\([0-9]\) MB.*/\1\2/p'
}

@test "batch: memory does not grow with the number of files" {
  export ASAN_OPTIONS=quarantine_size_mb=1 # the address sanitizer keeps freed memory
  dot a.pgm
  few=$(peak 1000)
  many=$(peak 20000)
  [ "$(grep -c ,gray, out.csv)" -eq 20000 ]
  [ "$many" -lt $((few + 100)) ] || fail "1000 files take $few, 20000 take $many tenths of a megabyte"
}

@test "batch: a result is written while the list is still being read" {
  dots a.pgm b.pgm
  mkfifo list
  "$IMGHIST" --files-from=list --csv=stats -j 2 >out.csv 3>&- &
  pid=$!
  exec 9>list
  echo a.pgm >&9
  soon grep -q ^a.pgm,1,1,luma out.csv || { exec 9>&-; fail "no record"; }
  echo b.pgm >&9
  exec 9>&-
  wait $pid
  [ "$(names out.csv)" = $'a.pgm\nb.pgm' ]
}

# opened PID FILE: the process has the file open.
opened() { find "/proc/$1/fd" -lname "*/$2" 2>/dev/null | grep -q .; }

# huge_pgm FILE: a sparse gray image of half a gigapixel, slow to decode because of its maximum of 254.
huge_pgm() {
  printf 'P5\n65536 8192\n254\n' >"$1"
  truncate -s 600M "$1"
}

@test "batch: a file that shrinks while it is read is damaged, and the others are counted" {
  [ -d /proc/self/fd ] || skip "no /proc"
  mkdir d
  huge_pgm d/a
  dot d/b
  "$IMGHIST" d --csv=stats -j 1 >out.csv 2>stderr 3>&- &
  pid=$!
  soon opened $pid d/a || fail "never opened"
  truncate -s 20k d/a
  status=0
  wait $pid || status=$?
  [ $status -eq 1 ] || fail "exit status $status"
  grep -q '^imghist: d/a: damaged PNM: the file ends before the image does' stderr
  [ "$(names out.csv)" = d/b ]
}

@test "batch: a file that vanishes during the walk is skipped; a named one is an error" {
  [ -d /proc/self/fd ] || skip "no /proc"
  mkdir d
  huge_pgm d/a
  dots d/b d/c e
  "$IMGHIST" d e --csv=stats -j 1 >out.csv 2>stderr 3>&- &
  pid=$!
  soon opened $pid d/a || fail "never opened"
  rm d/a d/b e # d/a is open, and still read to its end
  status=0
  wait $pid || status=$?
  [ $status -eq 1 ] || fail "exit status $status"
  grep -q '^imghist: e: cannot open: No such file or directory' stderr
  ! grep d/b stderr || fail "an error for d/b"
  [ "$(names out.csv)" = $'d/a\nd/c' ]
}

@test "batch: devices in a walked directory are skipped" {
  mkdir d
  ln -s /dev/zero d/a
  mknod d/b c 1 5 2>/dev/null || true # root only
  dot d/c
  for raw in '' --raw=1; do
    # shellcheck disable=SC2086 # an empty one is no argument
    timeout 60 "$IMGHIST" d $raw --csv=stats >out.csv
    [ "$(names out.csv)" = d/c ]
  done
}
