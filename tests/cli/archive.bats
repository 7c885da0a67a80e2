#!/usr/bin/env bats
# Archives: members in order, what is left out, and hostile archives (make_archives.py).

# shellcheck disable=SC2154 # output and stderr are set by bats' run

load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR"
  "$TESTS/cli/make_archives.py"
}

has_archives() {
  "$IMGHIST" --list | grep -q '^  archives: .*libarchive [0-9]' || skip "no libarchive in this build"
  cp "$BATS_FILE_TMPDIR"/* .
}

# values FILE: of each image its name, number of pixels and sum, without the archive's name.
values() { awk -F, 'NR > 1 && $4 != "luma" { sub(/^[^\/]*\//, "", $1); print $1, $5, $6 }' "$1"; }

# members ARCHIVE: the names of the members that were counted.
members() { values "$1" | cut -d' ' -f1; }

three=$'d/c.pgm 1 1\nb.pgm 3000 6000\nd/a.pgm 1 3'

@test "archive: members are inputs, in the order of the archive" {
  has_archives
  for file in three.tar gnu.tar three.tar.gz three.tar.xz three.zip stored.zip stream.zip stored_stream.zip; do
    "$IMGHIST" --csv=stats $file >out.csv || fail "$file: status $?"
    [ "$(values out.csv)" = "$three" ] || fail "$file: $(values out.csv)"
    [ "$(names out.csv | head -n 1)" = "$file/d/c.pgm" ]
    for threads in 1 4; do
      [ "$("$IMGHIST" --csv=stats -j $threads $file)" = "$(cat out.csv)" ] || fail "$file with $threads threads"
    done
    "$IMGHIST" --csv=stats --isolate $file | cmp - out.csv
  done
}

@test "archive: on standard input, from a file or a pipe" {
  has_archives
  for file in three.tar three.tar.gz three.tar.xz three.zip stream.zip; do
    "$IMGHIST" --csv=stats - <$file >out.csv
    [ "$(sed 's|^\./-/||' out.csv | sed '1d' | cut -d, -f1 | uniq | tr '\n' ' ')" = "d/c.pgm b.pgm d/a.pgm " ]
    # shellcheck disable=SC2002 # a pipe is meant
    cat $file | "$IMGHIST" --csv=stats - | cmp - out.csv
  done
  imghist_output_has '"file":"-/d/c.pgm"' --ndjson - <three.tar
}

@test "archive: tar files that cat has joined are read to the end of the last" {
  has_archives
  gzip -k joined.tar
  for file in joined.tar joined.tar.gz; do
    imghist_ok --csv=stats $file
    values <(echo "$output") | diff - <(printf '%s\ne.pgm 1 4\nf.pgm 1 5\n' "$three") || fail $file
  done
  head -c -10240 joined.tar >cut.tar # its last archive is gone
  { cat cut.tar; head -c 700 joined.tar; } >torn.tar
  imghist_ok --csv=stats cut.tar
  imghist_fails 1 "torn.tar: damaged archive" --csv=stats torn.tar
}

@test "archive: a first member whose name has control characters" {
  has_archives
  mkdir d
  dot $'d/a\tb\nc.pgm'
  dot d/z.pgm
  for format in gnu pax ustar; do
    (cd d && tar -cf ../$format.tar --format=$format -- *)
    imghist_ok $format.tar --check
    [ "$("$IMGHIST" $format.tar --print0 | tr -dc '\0' | wc -c)" -eq 2 ] || fail "$format"
  done
}

@test "archive: one that is cut after its signature is a failure in a folder too" {
  has_archives
  mkdir d
  dot d/a.pgm
  for archive in "4 three.zip" "3 three.tar.gz" "6 three.tar.xz"; do
    read -r signature file <<<"$archive"
    for ((n = signature; n < signature + 40; n++)); do
      head -c $n $file >d/$file
      imghist_status 1 d --check -q
      [[ $output == "d/$file"*": damaged archive: "* ]] || fail "$file, $n bytes"
    done
    rm d/$file
  done
}

@test "archive: a file in a folder is a failure if it has the name of an archive but is not one" {
  dot d/a.pgm
  for ending in tar zip TAR.GZ tgz tar.zst tzst tar.xz txz npz; do
    for content in "" text "$(head -c 600 /dev/zero | tr '\0' '\1')"; do
      printf %s "$content" >"d/b.$ending"
      imghist_status 1 d --check -q
      [[ $output == "d/b.$ending: cannot decode: "* ]] || fail "$ending: $output"
      [ -z "$content" ] || [[ $output == *"known format (nor an archive, in spite of its name)" ]] || fail "$output"
    done
    rm "d/b.$ending"
  done
  has_archives
  mkdir e
  cp text.gz e/text.tar.gz
  imghist_fails 1 "e/text.tar.gz: cannot decode: compressed, but not a tar file" e --csv
}

@test "archive: the message of each damage to a header is one line" {
  has_archives
  for ((i = 4; i < 30; i++)); do
    cp stored.zip damaged.zip
    printf '\xC7' | dd of=damaged.zip bs=1 seek=$i conv=notrunc status=none
    "$IMGHIST" damaged.zip -q --ndjson >>records || [ $? -eq 1 ]
  done
  grep -q '"error":"damaged archive: ' records || fail "no damage"
  ! grep '"error":"[^"]*\\' records || fail "a control character"
}

@test "archive: sparse members, also with a hole at the end" {
  has_archives
  needs truncate
  { printf 'P5\n1000 1000\n255\n' && head -c 8192 "$IMGHIST"; } >end.pgm
  truncate -s 1000017 end.pgm
  { printf 'P5\n1000 1000\n255\n' && head -c 983 "$IMGHIST"; } >both.pgm
  truncate -s 500000 both.pgm
  head -c 4096 "$IMGHIST" >>both.pgm
  truncate -s 1000017 both.pgm
  for format in gnu pax; do
    tar -cSf $format.tar --format=$format end.pgm both.pgm
    [ "$(wc -c <$format.tar)" -lt 100000 ] || skip "no holes on this file system"
    values <("$IMGHIST" --csv=stats $format.tar) | diff - <(values <("$IMGHIST" --csv=stats ./end.pgm ./both.pgm))
  done
}

@test "archive: other archives, also within an archive or a folder, are named" {
  has_archives
  imghist others.tar --csv --list-skipped
  for name in inner.tar inner.tgz inner.zip; do
    assert_stderr_has "others.tar/$name: skipped: cannot decode: an archive within an archive is not read; extract it first"
  done
  mkdir d
  cp three.tar d
  needs bzip2
  bzip2 -k three.tar
  mv three.tar.bz2 d
  imghist d --csv=stats --list-skipped
  assert_stderr_has "d/three.tar.bz2: skipped: cannot decode: bzip2 is not supported: decompress it first"
  imghist_refused 1 "as in 'bzip2 -dc IN | imghist -'" d/three.tar.bz2
  bzip2 -dc d/three.tar.bz2 | "$IMGHIST" --csv=stats - >out.csv
  [ "$(values out.csv | wc -l)" -eq 3 ]
}

@test "archive: tar compressed with zstd" {
  needs zstd
  has_archives
  zstd -q three.tar
  imghist_ok --csv=stats three.tar.zst
  values <(echo "$output") | diff - <(echo "$three")
}

@test "archive: a member that came through a pipe is counted before the archive ends" {
  has_archives
  mkfifo slow
  exec 9<>slow
  "$IMGHIST" --ndjson - <slow >out.ndjson 9>&- 3>&- &
  head -c 6144 three.tar >&9
  soon grep -q 'b\.pgm' out.ndjson || fail "nothing came"
  tail -c +6145 three.tar >&9
  exec 9>&-
  wait $!
  [ "$(wc -l <out.ndjson)" -eq 3 ]
}

@test "archive: what is no image is skipped and counted, as in a directory walk" {
  has_archives
  imghist_ok --csv=stats -v others.tar
  values <(echo "$output") | diff - <(printf 'a.pgm 1 1\nz.pgm 1 5\n')
  assert_stderr_has "2 done, 0 failed, 10 skipped"
  imghist --csv many.tar.gz
  assert_stderr_has "20000 other files skipped"
}

@test "archive: skipped members say what they are; result files are not read" {
  dot a.pgm
  "$IMGHIST" a.pgm --ndjson -q -o part.ndjson
  "$IMGHIST" a.pgm --json -q -o all.json
  printf '%%PDF-1.4\n' >text.pdf
  tar -cf all.tar part.ndjson all.json text.pdf
  imghist_fails 1 "all.tar: no images in this archive" all.tar --csv=stats --list-skipped
  for name in part.ndjson all.json; do
    assert_stderr_has "all.tar/$name: skipped: cannot decode: a result file among images is not supported: name it \
.ndjson or .json, or give --records=FILE; if it is in an archive, extract it first"
  done
  assert_stderr_has "all.tar/text.pdf: skipped: cannot decode: PDF is not supported"
  assert_stderr_has "imghist: all.tar: no images in this archive"
  assert_stderr_has "imghist: 3 other files skipped"
  mkdir d
  mv part.ndjson d
  imghist d --csv=stats --list-skipped
  assert_stderr_has "d/part.ndjson: skipped: cannot decode: a result file among images is not supported"
  imghist_ok d/part.ndjson --csv=stats
}

@test "archive: a member with the name of an image that holds none is a failure" {
  has_archives
  imghist --csv=stats promises.tar
  assert_fails 1 "promises.tar/link.pgm: cannot decode: a link to another file, without content"
  assert_stderr_has "promises.tar/hard.pgm: cannot decode: a link"
  assert_stderr_has "promises.tar/empty.jpg: cannot decode: the file is empty"
  assert_stderr_has "promises.tar/text.png: cannot decode: not an image"
  assert_output_has "promises.tar/a.pgm"
  mkdir d
  cp three.tar d
  imghist_ok --csv=stats d
  cp many.tar.gz d/three.tar
  imghist_fails 1 "d: " --csv=stats d
}

@test "archive: names that lead out of the archive fail, absolute ones lose their slash" {
  has_archives
  imghist_fails 1 "names.tar/../b.pgm: the name of this member leads out of the archive" --ndjson names.tar
  assert_stderr_has "names.tar/d/../../c.pgm: the name of this member leads out of the archive"
  jq -r 'select(.status == "ok") | "\(.file) \(.channels[0].sum)"' <<<"$output" >names
  printf '%s\n' 'names.tar/a.pgm 1' 'names.tar/etc/d.pgm 4' 'names.tar/e/./f.pgm 5' $'names.tar/\u00e9.pgm 6' \
    $'names.tar/e\u0301.pgm 7' "names.tar/$(printf 'x%.0s' {1..300}).pgm 8" $'names.tar/new\nline.pgm 9' \
    'names.tar/last.pgm 11' | diff - names
  imghist_ok --ndjson latin.tar
  [ "$(jq -r .file_b64 <<<"$output")" = "$(printf 'latin.tar/\xe9.pgm' | base64)" ]
  imghist_fails 1 "its name has more than 16384 bytes" --csv long.tar
  assert_output_has "long.tar/a.pgm"
}

@test "archive: names in other scripts, with and without the sandbox" {
  has_archives
  # libarchive normalizes names in zip files that are marked as UTF-8
  local archive pgm='.pgm' name names=($'\u00e9' $'e\u0301' $'\u65e5\u672c' $'\U0001f600')
  for archive in utf8.tar utf8.zip; do
    [ $archive = utf8.tar ] || names[1]=$'\u00e9'
    for name in "${names[@]}"; do echo "$archive/$name$pgm"; done >expected
    "$IMGHIST" --ndjson --device=cpu $archive | jq -r .file | diff expected -
    LC_ALL=C "$IMGHIST" --ndjson --device=cpu $archive | jq -r .file | diff expected -
  done
  "$IMGHIST" --list >list
  grep -q seccomp list || return 0
  ! grep -q 'linked in:.*libseccomp' list || return 0
  grep -aq __asan_init "$IMGHIST" && return 0 # a preloaded library comes before the sanitizer's
  no_seccomp
  for archive in *.tar *.tar.gz *.zip; do
    [[ $archive != @(bomb.tar.gz|zip_prefix.zip) ]] || continue
    "$IMGHIST" --ndjson --device=cpu $archive >expected 2>/dev/null || :
    LD_PRELOAD=$PWD/no_seccomp.so "$IMGHIST" --ndjson --device=cpu $archive >actual 2>err || :
    grep -q 'without a sandbox' err
    cmp expected actual || fail $archive
  done
}

# fails_after N ARCHIVE TEXT: the archive fails for this reason, after N members that are counted.
fails_after() {
  imghist_fails 1 "imghist: $2: $3" --ndjson "$2"
  [ "$(jq -r 'select(.status == "ok") | .file' <<<"$output" | wc -l)" -eq "$1" ] || fail "expected $1 members"
  [ "$(jq -r '.file' <<<"$output" | tail -n 1)" = "$2" ] || fail "the archive's record is the last one"
  # shellcheck disable=SC2002 # a pipe is meant
  run --separate-stderr "$IMGHIST" --ndjson - < <(cat "$2")
  assert_fails 1 "imghist: -: $3"
}

@test "archive: the members before a cut or a damage are counted, and the archive fails" {
  has_archives
  fails_after 3 cut.tar "damaged archive"
  fails_after 1 cut_data.tar "damaged archive"
  fails_after 2 cut.zip "damaged archive"
  fails_after 3 cut.tar.gz "damaged archive: gzip: the file ends early"
  fails_after 3 gzip_cut.tar.gz "damaged archive: gzip: the file ends early"
  head -c -1 three.tar.xz >cut.tar.xz
  fails_after 0 cut.tar.xz "damaged archive: the file ends early"
  fails_after 53 cut_late.tar.gz "damaged archive: gzip: the file ends early"
  fails_after 1 header.tar "damaged archive"
  head -c 1024 three.tar >boundary.tar
  fails_after 1 boundary.tar "damaged archive: it ends without an end mark"
  for ((n = 513; n < 9000; n += 511)); do
    head -c $n three.tar >part.tar
    imghist --csv=stats part.tar
    [ "$n" -ge 5632 ] || assert_status 1 # where the last member ends
    values <(echo "$output") >values
    head -n "$(wc -l <values)" <<<"$three" | diff - values
  done
}

@test "archive: the checksums of gzip are verified, of each of its parts" {
  has_archives
  for file in three.tar.gz gzip_parts.tar.gz; do
    gzip -dc $file | tar -t | wc -l | grep -qx 3
    [ "$("$IMGHIST" --csv=stats $file >out.csv; values out.csv)" = "$three" ] || fail "$file"
  done
  for file in sum:data length:length part:data; do
    ! gzip -t "gzip_${file%:*}.tar.gz" 2>/dev/null
    fails_after 0 "gzip_${file%:*}.tar.gz" "damaged archive: gzip: incorrect ${file#*:} check (any of its images may be damaged)"
    imghist_status 1 --check "gzip_${file%:*}.tar.gz"
  done
  fails_after 0 gzip_header.tar.gz "damaged archive: gzip: header crc mismatch"
  fails_after 3 gzip_more.tar.gz "damaged archive: gzip: other data follows its end"
  # The images that came long before the checksum have been counted. The archive fails.
  imghist_fails 1 "gzip_late.tar.gz: damaged archive: gzip: incorrect data check" --csv=images gzip_late.tar.gz
  [ "$(grep -c ',ok,' <<<"$output")" -lt 200 ]
  tail -n 1 <<<"$output" | grep -q '^gzip_late.tar.gz,error,'
}

@test "archive: the checksums of xz and zstd are verified" {
  needs zstd
  has_archives
  zstd -q --check three.tar
  xz -k --check=crc32 -c three.tar >crc32.tar.xz
  for file in three.tar.xz crc32.tar.xz three.tar.zst; do
    for ((at = 12; at < $(wc -c <$file); at += 5)); do
      cp $file "damaged-$file"
      byte=$(tail -c +$((at + 1)) $file | head -c 1 | od -An -tu1)
      printf "\\x$(printf %x $((byte ^ 32)))" | dd of="damaged-$file" bs=1 seek=$at conv=notrunc status=none
      case $file in *.xz) xz -t "damaged-$file" 2>/dev/null ;; *) zstd -tq "damaged-$file" 2>/dev/null ;; esac && continue
      imghist_status 1 --check "damaged-$file"
    done
  done
}

# What unzip and Python see is the directory at the end.
@test "archive: zip files whose directory does not list their members" {
  has_archives
  for file in zip_order.zip zip_sizes.zip; do
    python3 -m zipfile -t $file
    [ "$("$IMGHIST" --csv=stats $file >out.csv; values out.csv)" = "$three" ] || fail "$file"
  done
  [ "$(python3 -m zipfile -l zip_lacks.zip | wc -l)" -eq 3 ] # with a header
  imghist_fails 1 "zip_lacks.zip: damaged archive: its directory lacks 1 of its members, or has others in their place; the first is member 3" \
    --csv=stats zip_lacks.zip
  [ "$(values <(echo "$output"))" = "$three" ]
  imghist_fails 1 "zip_extra.zip/e.pgm: damaged archive: its directory names this member, but the member is missing, or has another header" \
    --csv=stats zip_extra.zip
  [ "$(values <(echo "$output"))" = "$three" ]
  for file in zip_name.zip zip_crc.zip; do
    name=$([ $file = zip_name.zip ] && echo x/c.pgm || echo d/c.pgm)
    imghist_fails 1 "$file/$name: damaged archive: its directory names this member, but" --csv=stats $file
    assert_stderr_has "imghist: $file: damaged archive: its directory lacks 1 of its members, or has others in their place; the first is member 1"
  done
  imghist_fails 1 "zip_size.zip/d/c.pgm: damaged archive: its directory names this member, with another size" --csv zip_size.zip
  imghist_fails 1 "zip_place.zip/b.pgm: damaged archive: its directory names this member, with another size or at another place" \
    --csv zip_place.zip
  imghist_fails 1 "zip_number.zip: damaged archive: its directory states 7 members and names 3" --csv zip_number.zip
  imghist_fails 1 "zip_twice.zip: damaged archive: another zip archive follows its end" --csv zip_twice.zip
  imghist_fails 1 "zip_directory.zip: damaged archive: its directory at the end is cut" --csv zip_directory.zip
  imghist_fails 1 "-: damaged archive: its directory at the end is cut" --csv - < <(cat zip_directory.zip)
  imghist_fails 1 "zip.xz: a compressed zip file: decompress it first" --csv zip.xz
}

@test "archive: data before a zip archive is named, with the place where the archive begins" {
  has_archives
  imghist_refused 1 "(other data precedes a zip archive in it: 'tail -c +18 FILE | imghist -')" --csv zip_prefix.zip
  tail -c +18 zip_prefix.zip | "$IMGHIST" --csv=stats - >out.csv
  [ "$(sed 's|^\./||' out.csv >in.csv; values in.csv)" = "$three" ]
}

@test "archive: tar files of old programs" {
  has_archives
  tar -xOf old.tar | grep -aq ^P5
  python3 -m tarfile -l old.tar
  "$IMGHIST" --csv=stats old.tar >out.csv
  [ "$(values out.csv | cut -d' ' -f2-)" = "1 1" ]
  for file in empty.tar empty.tar.gz; do
    tar -tf $file
    imghist_fails 1 "$file: no images in this archive" --csv $file
  done
}

@test "archive: an encrypted or damaged member fails, and the others are counted" {
  has_archives
  imghist_fails 1 "encrypted.zip/b.pgm: encrypted: extract it with its password first" --csv=stats encrypted.zip
  values <(echo "$output") | diff - <(grep -v '^b' <<<"$three")
  imghist_fails 1 "crc.zip/b.pgm: damaged archive: ZIP bad CRC" --csv=stats crc.zip
  values <(echo "$output") | diff - <(grep -v '^b' <<<"$three")
}

@test "archive: compressed files that hold no tar file" {
  has_archives
  imghist_refused 1 "text.gz: cannot decode: compressed, but not a tar file" --csv text.gz
  imghist_refused 1 "twice.tar.gz: compressed more than once" --csv twice.tar.gz
}

@test "archive: bombs end in bounded memory and time" {
  has_archives
  imghist_fails 1 "expands to more than 1000 times its size" --csv -v --memory=50M bomb.tar.gz
  assert_stderr_has "zeros.pgm: needs 8589.9 MB of memory at once, the limit is 52.4 MB (--memory raises it)"
  imghist_fails 1 "sparse.pgm: needs 3221.2 MB of memory at once" --csv=stats --memory=50M sparse.tar
  assert_output_has "sparse.tar/a.pgm"
}

@test "archive: --memory bounds members" {
  has_archives
  imghist --csv=stats --memory=1M large.tar
  assert_fails 1 "large.tar/large.pgm: needs 3.0 MB of memory at once, the limit is 1.0 MB (--memory raises it)"
  assert_output_has "large.tar/a.pgm"
  imghist --csv=stats --memory=1M large.zip
  assert_fails 1 "large.zip/large.pgm: its content has more than 1.0 MB (--memory raises it)"
  assert_output_has "large.zip/a.pgm"
  imghist_ok --csv=stats --memory=4M large.tar
  mkdir d
  for n in {1..9}; do cp large.tar d/$n.tar; done
  timeout 60 "$IMGHIST" --csv=stats --memory=3000k -j 8 d >out.csv || fail "members that wait for memory: status $?"
  [ "$(names out.csv | wc -l)" -eq 18 ]
}

@test "archive: many archives, files and folders keep their order" {
  has_archives
  mkdir -p d/e
  for ((i = 10; i < 40; i++)); do cp three.tar d/$i.tar; done
  dot d/25.pgm
  cp three.zip d/e/f.ZIP
  cp three.tar d/document.docx # no name of an archive: skipped in a walk
  cp text.gz d/
  for threads in 1 2 7; do
    imghist_ok --csv=stats -v -j $threads d three.tar
    names <(echo "$output") >names
    for ((i = 10; i < 40; i++)); do
      printf "d/$i.%s\n" tar/d/c.pgm tar/b.pgm tar/d/a.pgm
    done | sed '/d.25.tar.d.c/i d/25.pgm' >expected
    printf '%s\n' d/e/f.ZIP/{d/c,b,d/a}.pgm three.tar/{d/c,b,d/a}.pgm >>expected
    diff expected names
    assert_stderr_has "97 done, 0 failed, 2 skipped"
  done
  find d -name '*.tar' | LC_ALL=C sort >list
  imghist_ok --csv=stats --files-from=list
  [ "$(names <(echo "$output") | wc -l)" -eq 90 ]
}

@test "archive: counts and totals are those of the loose files" {
  needs tar
  has_archives
  mkdir loose
  cp "$SAMPLES"/*.png "$SAMPLES"/*.jpg loose
  printf '8BPS\0\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\1\0\10\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\7' >loose/isolated.psd
  (cd loose && LC_ALL=C tar -cf ../loose.tar ./*)
  for options in --csv --ndjson "--isolate --csv" "--total-only --json" "--memory=100M --csv=bins"; do
    # shellcheck disable=SC2086 # options are words
    "$IMGHIST" $options loose | sed 's|loose|loose.tar|' >expected
    # shellcheck disable=SC2086
    "$IMGHIST" $options loose.tar | diff expected -
  done
}

@test "archive: charts lie in folders after the member's path" {
  has_archives
  imghist_ok --chart=charts three.tar
  [ "$(tree charts)" = "$(printf './three.tar/%s.hist.png\n' b.pgm d/a.pgm d/c.pgm)" ]
  imghist_fails 2 "one chart for more than one image" --chart=one.png three.tar
}

@test "archive: without images it fails like a folder without images" {
  echo text >notes.txt
  tar cf none.tar notes.txt
  dot a.pgm
  tar cf one.tar notes.txt a.pgm
  damaged bad.png
  tar cf bad.tar bad.png
  mkdir empty walked
  cp none.tar walked/
  imghist_status 1 none.tar one.tar empty bad.tar none.tar --csv=images
  [ "$(grep -c 'error,no images in this archive' <<<"$output")" -eq 2 ] || fail "archives"
  [ "$(grep -c 'error,no images in this folder' <<<"$output")" -eq 1 ] || fail "folder"
  assert_output_has "one.tar/a.pgm,ok"
  assert_output_has "bad.tar/bad.png,error,damaged PNG"
  assert_stderr_has "4 of 5 inputs failed"
  imghist_fails 1 "-: no images in this archive" - --csv <none.tar
  imghist_ok one.tar one.tar --csv
  imghist walked --csv # in a walk the folder fails
  assert_fails 1 "walked: no images in this folder"
  refute_stderr_has "this archive"
  for part in 1 2; do imghist_ok none.tar one.tar --shard=$part/2 --ndjson; done
  imghist none.tar one.tar --resume -o r.ndjson
  cp r.ndjson whole
  head -c 300 whole >r.ndjson
  imghist none.tar one.tar --resume -o r.ndjson
  cmp r.ndjson whole
}

@test "archive: with --raw an archive is samples, and an output is no input" {
  has_archives
  imghist_output_has "three.tar,10240,1,gray,10240" --raw=1 --csv=stats three.tar
  imghist_refused 2 "three.tar" -o three.tar --csv three.tar
  tar -tf three.tar >/dev/null
}

# is_archive_process PID: whether it is the sandboxed process that reads an archive for PID.
is_archive_process() {
  local child
  child=$(grep -lsE "^[0-9]+ \([^)]*\) [A-Z] $1 " /proc/[0-9]*/stat | cut -d/ -f3)
  [ -n "$child" ] && tr '\0' ' ' <"/proc/$child/cmdline" | grep -q -e --archive-process || return
  ! "$IMGHIST" --list | grep -q seccomp || grep -q '^Seccomp:.*2' "/proc/$child/status"
}

@test "archive: a sandboxed process reads it" {
  [ -e /proc/self/stat ] || skip "no /proc"
  has_archives
  mkfifo slow
  exec 9<>slow
  "$IMGHIST" --csv - <slow >out.csv 9>&- 3>&- &
  local pid=$!
  head -c 2048 three.tar >&9
  soon is_archive_process $pid || fail "no process"
  tail -c +2049 three.tar >&9
  exec 9>&-
  wait $pid
}
