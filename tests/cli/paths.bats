#!/usr/bin/env bats
# Inputs: files, directories, links, pipes, standard input, and unusual names.

# shellcheck disable=SC2016,SC2154 # $IMGHIST is for the inner shell; run sets stderr_lines

load helpers

# walked PATH...: imghist succeeds, and its inputs in order are the lines of standard input.
walked() {
  cat >expected
  timeout 60 "$IMGHIST" "$@" --csv=stats >walked.csv </dev/null || fail "exit status $?"
  names walked.csv | diff expected -
}

# skips N ARG...: imghist succeeds and skips N files.
skips() {
  local n=$1
  shift
  imghist_ok "$@" --csv -v
  assert_stderr_has "0 failed, $n skipped"
}

@test "paths: a directory is walked in the byte order of the names" {
  mkdir -p d/b d/a.d d/B
  for name in d/c d/a d/b/2 d/b/10 d/b/1 d/a.d/x d/B/y d/Z d/_; do dot "$name"; done
  walked d <<END
d/B/y
d/Z
d/_
d/a
d/a.d/x
d/b/1
d/b/10
d/b/2
d/c
END
}

@test "paths: the order does not depend on the locale" {
  mkdir d
  for name in B a C b é z; do dot "d/$name"; done
  export LC_ALL=C.UTF-8
  walked d <<<$'d/B\nd/C\nd/a\nd/b\nd/z\nd/é'
}

@test "paths: inputs come in the order of the command line, and repeat if named twice" {
  mkdir d
  for name in z.pgm d/y.pgm a.pgm; do dot $name; done
  walked z.pgm d a.pgm z.pgm d/y.pgm <<<$'z.pgm\nd/y.pgm\na.pgm\nz.pgm\nd/y.pgm'
}

@test "paths: the current directory, and a slash at the end of a directory" {
  mkdir -p d/e
  dot d/e/a
  (cd d/e && timeout 60 "$IMGHIST" . --csv=stats) | grep -q '^./a,'
  walked d/ <<<d/e/a
  walked d/e/ <<<d/e/a
  walked ./d/../d <<<./d/../d/e/a
}

@test "paths: hidden entries are skipped in a walk, but not when named" {
  mkdir -p d/.hidden
  dots d/.hidden/a d/.b d/c
  walked d <<<d/c
  walked d/.b d/.hidden <<<$'d/.b\nd/.hidden/a'
}

@test "paths: a directory without images is an error with its name" {
  mkdir -p d/e full more
  dots full/a.pgm more/a.pgm
  imghist_refused 1 "imghist: d: no images in this folder" d --csv
  echo text >d/e/text
  echo text >d/text
  imghist_status 1 full d more --csv=stats
  [ "$stderr" = "imghist: d: no images in this folder
imghist: 1 of 3 inputs failed; 2 other files skipped (--list-skipped names them)" ] || fail "other messages"
  [ "$(grep -cE '^(full|more)/a.pgm,1,1,gray' <<<"$output")" -eq 2 ]
  echo d/ >list
  imghist_status 1 --files-from=list --csv -q
  [ "$stderr" = "imghist: d/: no images in this folder" ] || fail "other messages"
  damaged d/bad.png # there was one
  imghist d --csv -q
  refute_stderr_has "no images"
}

@test "paths: a file with the name of an image is an error in a walk if it is none" {
  dot d/good.pgm
  while read -r ending; do
    : >"d/empty.$ending"
    imghist_fails 1 "imghist: d/empty.$ending: cannot decode: the file is empty" d --csv=stats
    echo '<!DOCTYPE html><html><body>Not found</body></html>' >"d/empty.$ending"
    imghist_fails 1 "imghist: d/empty.$ending: " d --csv=stats
    assert_stderr_has "1 of 2 inputs failed"
    rm "d/empty.$ending"
  done < <(printf '%s\n' png jpg JPEG Webp tif TIFF gif heic heif avif jxl bmp tga psd psb pbm pgm ppm pam)
}

@test "paths: a format that is only recognised is skipped in a walk, but not a file that has only its name" {
  dot d/a.pgm
  printf 'SDPX\0\0\x08\0' >d/b.dpx
  printf 'FUJIFILMCCD-RAW 0201' >d/c.raf
  imghist_ok d --csv=stats
  assert_stderr_has "2 other files skipped"
  for name in d/b.dpx d/c.raf; do
    : >$name
    imghist_fails 1 "imghist: $name: cannot decode: the file is empty" d --csv=stats
    echo text >$name
    imghist_fails 1 "imghist: $name: cannot decode: not an image of a known format" d --csv=stats
    rm $name
  done
}

@test "paths: every format of --list has an ending that promises an image" {
  mkdir d
  for format in $("$IMGHIST" --list | sed -n '/^formats:/,/^outputs:/s/^  \([a-z0-9]*\) .*/\1/p'); do
    [[ $format != @(raw|preview|sensor) ]] || continue
    [ "$format" != heif ] || format=heic
    echo text >"d/a.$format"
    imghist_fails 1 "imghist: d/a.$format: " d --csv
    rm "d/a.$format"
  done
}

@test "paths: an unreadable file in a walk is an error" {
  dots d/a.pgm d/notes
  chmod 0 d/notes
  imghist_as_user d --csv=stats
  assert_fails 1 "imghist: d/notes: cannot open: Permission denied"
  ln -s nowhere.jpg d/b.jpg
  imghist_fails 1 "imghist: d/b.jpg: a link to nothing" d --csv=stats
}

@test "paths: skipped files are counted, and --list-skipped names them" {
  mkdir -p d/e other
  dot d/a.pgm
  imghist_quiet d --csv=stats
  dot d/a.pgm.hist.png
  echo text >d/e/text
  imghist_quiet d --csv=stats -q
  rm d/a.pgm.hist.png
  imghist_ok d --csv=stats
  [ "$stderr" = "imghist: 1 other file skipped (--list-skipped names it)" ] || fail "one file"
  dot d/a.pgm.hist.png
  mkfifo d/pipe
  ln -s ../other d/to_directory
  ln -s nowhere d/to_nothing
  imghist_ok d --csv=stats
  [ "$stderr" = "imghist: 5 other files skipped (--list-skipped names them)" ] || fail "five files"
  imghist_ok d --csv=stats --list-skipped
  [ "$stderr" = "imghist: d/a.pgm.hist.png: skipped: has the name of a chart
imghist: d/e/text: skipped: cannot decode: not an image of a known format
imghist: d/pipe: skipped: not a file
imghist: d/to_directory: skipped: a link to a directory, which is not followed
imghist: d/to_nothing: skipped: a link to nothing
imghist: 5 other files skipped" ] || fail "no list"
}

@test "paths: --check has a line for each bad file, and nothing else" {
  dot d/a.pgm
  echo text >d/readme
  imghist_output "" --check d
  assert_no_stderr
  : >d/zero.jpg
  damaged d/bad.png
  echo '<html>' >d/page.jpg
  dot $'e\e[31m'
  imghist_status 1 --check d missing $'e\e[31m' -j 3
  assert_no_stderr
  [[ ${lines[0]} == "d/bad.png: damaged PNG"* ]] || fail "no bad.png"
  [[ ${lines[1]} == "d/page.jpg: cannot decode: "* ]] || fail "no page.jpg"
  [ "${lines[2]}" = "d/zero.jpg: cannot decode: the file is empty" ] || fail "no zero.jpg"
  [ "${lines[3]}" = "missing: cannot open: No such file or directory" ] || fail "no missing"
  [ "${#lines[@]}" -eq 4 ]
  checked=$output
  imghist_status 1 --check -o bad.txt d missing --csv=stats -o good.csv # several outputs in one pass
  [ "$(cat bad.txt)" = "$checked" ]
  [ "$(names good.csv)" = d/a.pgm ]
  mkdir empty
  imghist_status 1 --check empty
  assert_output "empty: no images in this folder"
}

@test "paths: a deep directory" {
  path=d
  for i in {1..200}; do path+=/n; done
  mkdir -p $path
  dot $path/a
  walked d <<<$path/a
}

# deep N: makes N times ten directories inside each other, d/n../n../..., with names of 100 bytes, and an image in
# the last. Sets $path.
deep() {
  local names i
  names=$(printf 'n%.0s' {1..100})
  names=$(printf "$names/%.0s" {1..10})
  mkdir d
  path=d
  (
    cd d
    for ((i = 0; i < $1; i++)); do
      mkdir -p "$names"
      cd -P "./$names" 2>/dev/null || exit 1 # relative, so that the length of the path does not matter
    done
    dot a.pgm 07
    echo no image >b.txt
    ln -s a.pgm c.pgm
  ) || return 1
  for ((i = 0; i < $1; i++)); do path+=/${names%/}; done
}

@test "paths: directories deeper than the longest path that the system accepts" {
  deep 10 || skip "the shell cannot make them"
  [ ${#path} -gt 10000 ]
  walked d <<<"$path/a.pgm"$'\n'"$path/c.pgm"
  for format in csv=bins csv=long csv=stats ndjson text=lines; do
    imghist_output_has "${path#d/}/a.pgm" d --device=cpu --$format
  done
  imghist_output_has "$path/a.pgm,1,1,gray,1,7," "$path/a.pgm" --csv=stats
  imghist "$PWD/$path" --csv=stats
  assert_output_has "$PWD/$path/a.pgm,1,1,gray,1,7,"
}

@test "paths: messages shorten a long path, outputs do not" {
  deep 10 || skip "the shell cannot make them"
  imghist_status 1 "$path/missing.jpg" "$path/b.txt" --ndjson
  assert_stderr_has "imghist: d/nnnnn"
  assert_stderr_has "nnn/missing.jpg: cannot open: No such file or directory"
  assert_stderr_has "nnn/b.txt: cannot decode: not an image"
  [ "$(wc -L <<<"$stderr")" -lt 600 ] || fail "long lines"
  assert_output_has "\"$path/missing.jpg\""
}

@test "paths: a path of more than 64 KiB is an error, not a shortened name" {
  deep 66 || skip "the shell cannot make them"
  imghist_fails 1 "cannot open: File name too long" d --csv
  assert_output ""
}

# ---- files that are not images

@test "paths: the content decides the format, not the name" {
  mkdir d
  cp "$SAMPLES/scene.jpg" d/a.png
  cp "$SAMPLES/scene.png" d/b
  cp "$SAMPLES/cutout.png" d/c.txt
  echo text >d/d.doc
  skips 1 d
  [ "$(wc -l <<<"$output")" -eq 14 ]
}

@test "paths: a file cut after its signature is an error in a walk" {
  mkdir d
  while read -r name size; do
    file=$TESTS/formats/files/$name
    [ -e "$file" ] || file=$SAMPLES/$name
    head -c "$size" "$file" >"d/$name"
    imghist_fails 1 "imghist: d/$name: " d --csv
    rm "d/$name"
  done <<END
scene.png 4
scene.jpg 3
tiff-rgb.tif 4
tiff-rgb-16-big-endian.tif 4
psd-rgb.psd 4
gif.gif 6
webp-lossy.webp 12
heic.heic 12
avif.avif 12
jxl-lossless.jxl 2
bmp-24-windows.bmp 18
pnm-p5.pgm 3
END
}

@test "paths: a path that is missing, empty or too long" {
  dot a.pgm
  imghist missing.png a.pgm missing/too '' "$(printf 'x%.0s' {1..5000})" --csv=stats
  assert_fails 1 "imghist: missing.png: cannot open: No such file or directory"
  assert_stderr_has "imghist: missing/too: cannot open"
  assert_stderr_has "imghist: '': cannot open: No such file or directory"
  assert_stderr_has "File name too long"
  assert_stderr_has "4 of 5 inputs failed"
  assert_output_has $'\na.pgm,'
}

@test "paths: links to files are followed, links to directories only when named" {
  mkdir d other
  dot other/a
  ln -s ../other d/to_directory
  ln -s ../other/a d/to_file
  ln -s nowhere d/to_nothing
  walked d <<<d/to_file
  walked d/to_directory <<<d/to_directory/a
}

@test "paths: loops of links" {
  mkdir -p d/e
  dot d/e/a
  ln -s . d/self
  ln -s ../.. d/e/up
  ln -s loop d/loop
  walked d <<<d/e/a
}

@test "paths: a named pipe is read" {
  mkfifo pipe
  dot a 09
  cat a >pipe &
  timeout 60 "$IMGHIST" pipe --csv=stats | grep -q ^pipe,1,1,gray,1,9,
}

@test "paths: - is standard input" {
  dot a 2A
  "$IMGHIST" - --csv=stats <a | grep -q ^-,1,1,gray,1,42,
  "$IMGHIST" - --csv=stats <"$SAMPLES/scene.jpg" | grep -q ^-,480,320,red,
  "$IMGHIST" --csv=stats -- - <a | grep -q ^-,1,1,gray,
  dot ./-
  "$IMGHIST" ./- --csv=stats </dev/null | grep -q ^./-,1,1,gray,1,128,
}

@test "paths: --name names standard input in outputs and messages" {
  dot a 2A
  "$IMGHIST" - --name=scan.pgm --csv=stats --ndjson -o out.ndjson --chart=charts <a 2>/dev/null | grep -q ^scan.pgm,1,1,gray,1,42,
  grep -q '"file":"scan.pgm"' out.ndjson
  [ "$(tree charts)" = ./scan.pgm.hist.png ]
  run --separate-stderr sh -c '"$IMGHIST" - --name=scan.pgm --csv </dev/null'
  assert_refused 1 "imghist: scan.pgm: cannot decode: the file is empty"
  for inputs in a "a --files-from=-"; do
    # shellcheck disable=SC2086 # the inputs are words
    imghist_refused 2 "--name: names standard input, but - is no input" $inputs --name=x --csv
  done
}

@test "paths: an empty, closed or directory standard input is an error" {
  for redirection in '</dev/null' '<&-' '<.'; do
    run --separate-stderr sh -c "\"\$IMGHIST\" - --csv $redirection"
    assert_refused 1 "imghist: -: cannot "
  done
}

@test "paths: - may be named once" {
  dot a
  run --separate-stderr sh -c '(cat a; sleep 0.3; cat a) | "$IMGHIST" - - --csv=stats -j 1'
  [ "$status" -ne 0 ] || fail "two images of one standard input"
}

@test "paths: a directory without read permission" {
  mkdir -p d/closed d/open
  dots d/closed/a d/open/b
  chmod 0 d/closed
  imghist_as_user d --csv=stats
  chmod 755 d/closed
  assert_fails 1 "imghist: d/closed: cannot read the directory: Permission denied"
  assert_output_has $'\nd/open/b,'
}

@test "paths: a directory without search permission" {
  mkdir -p d/closed d/open
  dots d/closed/a d/open/b
  chmod 444 d/closed
  imghist_as_user d --csv=stats
  chmod 755 d/closed
  assert_fails 1 "imghist: d/closed/a: cannot open: Permission denied"
  assert_output_has $'\nd/open/b,'
}

@test "paths: control characters and invalid UTF-8 are escaped in messages" {
  imghist_status 1 $'new\nline' $'\e[31mred\a' $'no\xFFutf' $'c1\xC2\x9Bcsi' 'back\slash' --csv
  assert_stderr_has 'imghist: new\nline: cannot open'
  assert_stderr_has 'imghist: \x1B[31mred\x07: cannot open'
  assert_stderr_has 'imghist: no\xFFutf: cannot open'
  assert_stderr_has 'imghist: c1\u{9b}csi: cannot open'
  assert_stderr_has 'imghist: back\\slash: cannot open'
  [ "${#stderr_lines[@]}" -eq 6 ]
}

@test "paths: characters that reorder or hide a name are escaped" {
  imghist $'a\u202egpj.exe' $'\u2066b\u200b' --csv
  assert_stderr_has 'imghist: a\u{202e}gpj.exe: cannot open'
  assert_stderr_has 'imghist: \u{2066}b\u{200b}: cannot open'
  dot $'a\u202egpj.exe'
  for view in full lines; do
    LC_ALL=C.UTF-8 imghist --text=$view $'a\u202egpj.exe'
    assert_status 0
    assert_output_has 'a\u{202e}gpj.exe'
    refute_output_has $'\xE2\x80\xAE'
  done
}

@test "paths: a folder and a file from the year 2040, also where long has 32 bits" {
  mkdir later
  cp "$SAMPLES"/scene.png later/a.png
  touch -d 2040-01-01 later/a.png later
  imghist_output_has later/a.png --csv=stats later
}
