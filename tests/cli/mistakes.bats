#!/usr/bin/env bats
# Mistakes of newcomers on the command line. Each is answered by one line that says what is wrong or what to do, and the
# answer is an exit status other than 0.

load helpers

setup() {
  unset IMGHIST_DEVICE NO_COLOR COLUMNS CUDA_VISIBLE_DEVICES
  export LC_ALL=C TERM=dumb
  cd "$BATS_TEST_TMPDIR" || return 1
  ln -s "$IMGHIST" imghist
  mkdir photos empty charts.png
  dot photos/a.pgm
  dot a.pgm
  dot b.pgm
  echo text >notes.txt
  echo text >page.jpg
  echo file,mean >stats.csv
  echo '<!DOCTYPE html>' >page.html
  : >zero.png
  head -c 300 "$SAMPLES/scene.jpg" >cut.jpg
  gzip -c a.pgm >a.pgm.gz
  printf '%%PDF-1.4\n' >scan.pdf
  printf 'missing.pgm\r\n' >list
  printf 'a.pgm\nb.pgm\n' >lines
  printf '\0\0\0' >binary
}

# mistake STATUS TEXT COMMAND: the exit status, and one line on standard error that has the text. The hint that points to
# --help and the closing count are lines of their own.
mistake() {
  run --separate-stderr timeout 60 bash -c "$3" </dev/null
  n=$((n + 1))
  [ "$status" -eq "$1" ] || fail "$3: expected exit status $1"
  [[ $stderr == "imghist: "* ]] || fail "$3: no message"
  said=$(grep -vE "^(Try 'imghist --help(=all)?'\.|imghist: [0-9]+ of [0-9]+ inputs failed)$" <<<"$stderr")
  [ "$(wc -l <<<"$said")" -eq 1 ] || fail "$3: not one line"
  [[ $said == *"$2"* ]] || fail "$3: expected: $2"
}

# mistakes: each line of standard input is STATUS | TEXT | COMMAND. n counts those that ran.
mistakes() {
  n=0
  while IFS='|' read -r expected text command; do
    mistake "$expected" "${text# }" "${command//PIPE/|}"
  done < <(sed 's/ *| */|/g')
}

@test "mistakes: names of options" {
  mistakes <<'END'
2 | no input: name an image, a directory, or - | ./imghist
2 | did you mean --help? | ./imghist --hlep
2 | did you mean --help? | ./imghist -help
2 | did you mean --help=all? | ./imghist -h=all
2 | did you mean --help? | ./imghist -H
2 | did you mean --json? | ./imghist a.pgm -json
2 | did you mean --output? | ./imghist a.pgm -output all.csv
2 | did you mean --csv? | ./imghist a.pgm --CSV
2 | did you mean --output=all.csv? | ./imghist a.pgm -o=all.csv
2 | did you mean --device=cuda? | ./imghist a.pgm --gpu
2 | did you mean -j, the number of threads? | ./imghist a.pgm -t 4
2 | directories are walked without an option | ./imghist -r photos
2 | --csv, --json and --ndjson choose what is written | ./imghist a.pgm --format=csv
2 | --ndjson choose what is written; the format of an image is found by its content | ./imghist a.pgm --format csv
2 | --ndjson choose what is written | ./imghist a.pgm --output-format=csv
2 | find DIR ! -path PATTERN | ./imghist --exclude='*.png' photos
2 | find DIR -name PATTERN | ./imghist --include='*.png' photos
2 | '16' is none of 256, native | ./imghist a.pgm --bins=16
2 | did you mean --scale=log | ./imghist a.pgm --log
2 | directories are walked without an option | ./imghist --recursive photos
2 | did you mean --threads? | ./imghist a.pgm --jobs=4
2 | there is one level | ./imghist a.pgm --verbose=2
2 | inputs need no option | ./imghist -i a.pgm
2 | histograms need no option | ./imghist --histogram a.pgm
2 | did you mean --chart=FILE.png? | ./imghist a.pgm --plot
2 | 'python3 -m imghist', which reads other formats | ./imghist --reader=dicom:read a.pgm
1 | did you mean --help? | ./imghist help
1 | did you mean --version? | ./imghist version
1 | an option begins with - or -- | ./imghist –csv
1 | an option begins with - or -- | ./imghist —json
END
  [ $n -eq 30 ]
  [ ! -e =all.csv ] && [ ! -e utput ]
}

@test "mistakes: values" {
  mistakes <<'END'
2 | -o: needs a value | ./imghist a.pgm -o
2 | -o: needs a value | ./imghist a.pgm --csv -o --total
2 | --luma: needs a value | ./imghist a.pgm --luma --csv
2 | --luma: 'rec709' is none of bt709, bt601, none; did you mean bt709? | ./imghist a.pgm --luma rec709
2 | none of channels, bins, long, stats, images | ./imghist a.pgm --csv=wide
2 | did you mean --csv=stats? | ./imghist --csv stats a.pgm
2 | did you mean --csv -o all.csv? | ./imghist a.pgm --csv=all.csv
2 | did you mean --csv -o all.csv? | ./imghist a.pgm --csv all.csv
2 | did you mean --json -o all.json? | ./imghist a.pgm --json all.json
2 | did you mean --ndjson -o all.ndjson? | ./imghist a.pgm --ndjson all.ndjson
2 | did you mean --html=all.html? | ./imghist a.pgm --html all.html
2 | did you mean --chart=c.png? | ./imghist a.pgm --chart c.png
2 | --chart: needs the name of a file | ./imghist a.pgm --chart=
2 | --total: takes no value | ./imghist a.pgm --total=all.csv
2 | WxH+X+Y, in pixels or percent | ./imghist a.pgm --region=10x10
2 | --region: '0x0+0+0' has no pixels | ./imghist a.pgm --region=0x0+0+0
2 | is not a list of bands from 1 to 4096, as in 1,3-5 | ./imghist a.pgm --bands=3-1
1 | it has no band 2: its pixels have 1 sample | ./imghist a.pgm --bands=2
2 | fields of --diff are ks and emd | ./imghist --diff a.pgm b.pgm --fail-if 'mean_luma > 1'
2 | name two images, folders or result files | ./imghist --diff a.pgm
2 | not a number of threads, 1 to 1024 | ./imghist a.pgm -j 0
2 | not a number of threads, 1 to 1024 | ./imghist a.pgm -j all
2 | LO,HI with 0 <= LO < HI <= 255 | ./imghist a.pgm --clip=250,5
2 | a size from 320x200 to 8192x8192 | ./imghist a.pgm --chart=c.svg --chart-size=100
2 | not a number of bytes (k, M, G may follow | ./imghist a.pgm --memory=lots
2 | a number of seconds, 1 to | ./imghist a.pgm --timeout=1d
2 | I/N with 1 <= I <= N | ./imghist a.pgm --shard=5/4
2 | none of auto, cpu, cuda, cuda:N | ./imghist a.pgm --device=tpu
2 | IMGHIST_DEVICE: 'tpu' is none of | IMGHIST_DEVICE=tpu ./imghist a.pgm
2 | fields are the columns of --csv=images | ./imghist a.pgm --where 'brightness > 5'
2 | did you mean mean_luma? | ./imghist a.pgm --where 'mean_lum > 5'
2 | did you mean blown_any? | ./imghist a.pgm --where 'blownany > 5%'
2 | no field 'nope'; --fields=help lists them | ./imghist a.pgm --fields=nope
2 | --by: needs a value: folder, band, format, label, size, samples or the name of a list | ./imghist a.pgm --by=
2 | status is never 'failed', but one of ok, error | ./imghist a.pgm --where "status == 'failed'"
2 | format is never 'jpg', but one of png, jpeg, | ./imghist a.pgm --where "format == 'JPG'"
2 | quote a text | ./imghist a.pgm --where 'status == error'
2 | a percentage goes from 0 to 100 | ./imghist a.pgm --where 'blown_any > 150%'
2 | goes from 0 to 1; write a percentage, as in 5% | ./imghist a.pgm --fail-if 'blown_any_share > 5'
2 | write 5% for a share | ./imghist a.pgm --where 'blown_any > 0.05'
2 | goes from 0 to 1 | ./imghist --diff a.pgm b.pgm --fail-if 'ks > 5'
2 | texts are quoted | ./imghist a.pgm --where 'format == jpeg'
2 | write == to compare | ./imghist a.pgm --where 'width = 5'
2 | write >= to compare | ./imghist a.pgm --where 'width => 5'
2 | write and, or, not in small letters | ./imghist a.pgm --where 'width > 5 AND height > 5'
2 | not a number in plain digits | ./imghist a.pgm --where 'width < 1e999'
2 | mean_luma goes from 0 to 255: the comparison decides nothing | ./imghist a.pgm --where 'mean_luma > 300'
2 | emd goes from 0 to 255 | ./imghist --diff a.pgm b.pgm --fail-if 'emd > 255'
2 | did you mean --region? | ./imghist a.pgm --crop=10x10+0+0
2 | did you mean --ndjson? | ./imghist a.pgm --jsonl
2 | every image has counts of luma | ./imghist a.pgm --gray
2 | write and, or, not | ./imghist a.pgm --where 'width > 5 && height > 5'
2 | quote the whole condition | ./imghist a.pgm --where width '>' 40
END
  [ $n -eq 53 ]
}

@test "mistakes: inputs" {
  mistakes <<'END'
1 | missing.jpg: cannot open: No such file | ./imghist missing.jpg
1 | is a variable not set? | ./imghist "$UNSET"
1 | a folder is read without a pattern | ./imghist 'photos/*.tif'
1 | curl -s URL | ./imghist https://example.org/a.jpg
1 | empty: no images in this folder | ./imghist empty
2 | page.html: is no image; did you mean --html=page.html? | ./imghist a.pgm --html page.html
2 | stats.csv: is no image; did you mean --csv -o stats.csv? | ./imghist a.pgm --csv stats.csv
2 | 'emd' is a distance: --against=REF gives it | ./imghist a.pgm --fail-if 'emd > 2'
2 | 'ks' is a distance: --against=REF gives it | ./imghist a.pgm --where 'ks > 2%'
1 | --list shows the formats, --raw reads bare samples | ./imghist notes.txt
1 | --list shows the formats | ./imghist page.jpg
1 | the file is empty | ./imghist zero.png
1 | the file ends before the image does | ./imghist cut.jpg
1 | gzip -dc FILE | ./imghist a.pgm.gz
1 | pdftoppm | ./imghist scan.pdf
1 | not from CSV | ./imghist stats.csv --html=r.html
1 | the file is empty | ./imghist -
1 | the file is empty: it has no samples | ./imghist --raw=3 -
1 | no images found | ./imghist --files-from=/dev/null
1 | no images found | find empty -type f PIPE ./imghist --check --files-from=-
1 | a comparison is no input; name the images | ./imghist --diff a.pgm b.pgm --json -o d.json; ./imghist d.json --csv
1 | cannot open | ./imghist --diff missing.jpg a.pgm
1 | no image of it matches --where | ./imghist --diff a.pgm b.pgm --where 'width > 5'
1 | the mask selects no pixel | printf 'P5 1 1 255 \0' >black.pgm; ./imghist a.pgm --mask=black.pgm --fail-if 'mean_luma > 5'
1 | convert it to gray | ./imghist a.pgm --mask="$SAMPLES/palette.png"
1 | #2: what follows the image before is not an image | cat a.pgm notes.txt PIPE ./imghist - --frames --csv -o frames.csv
2 | with clip limits 0,255; this run asks for 5,250 | ./imghist a.pgm --ndjson -o t.ndjson; ./imghist t.ndjson --clip=5,250
1 | missing.pgm: cannot open | ./imghist --files-from=list
1 | the list cannot be opened | ./imghist --files-from=missing
1 | --files0-from | ./imghist --files-from=binary
1 | a directory is no list | ./imghist --files-from=photos
1 | --files-from reads a list of lines | ./imghist --files0-from=lines
1 | does not lie in the image of | ./imghist a.pgm --region=9x9+0+0
1 | mask missing.png: cannot open | ./imghist a.pgm --mask=missing.png
1 | mask empty/ | ./imghist photos --mask=empty
1 | no images in this folder | ./imghist empty --text=lines
1 | --max-pixels raises it | ./imghist --max-pixels=2 "$SAMPLES/scene.jpg"
2 | names standard input, but - is no input | ./imghist --name=x a.pgm
2 | only one image or one list | ./imghist - --files-from=-
END
  [ $n -eq 39 ]
}

@test "mistakes: outputs" {
  mistakes <<'END'
2 | use --chart=FILE | ./imghist a.pgm -o all.png
2 | does not tell the format | ./imghist a.pgm -o all.out
2 | has the name of a format that imghist does not write: name it .csv | ./imghist a.pgm -o all.xlsx
2 | use --chart=FILE | ./imghist a.pgm --csv -o a.pgm
1 | photos: is a directory; name a file in it | ./imghist a.pgm --csv -o photos
1 | charts.png: is a directory; name a file in it | ./imghist a.pgm --chart=charts.png
1 | Not a directory | ./imghist a.pgm --csv -o notes.txt/all.csv
1 | No space left on device | ./imghist a.pgm --csv -o /dev/full
1 | No space left on device | ./imghist a.pgm --csv >/dev/full
2 | give each its own -o FILE | ./imghist a.pgm --csv --json
2 | give each its own -o FILE | ./imghist a.pgm --csv -o x --json -o x
2 | --csv=stats and --csv=images: both go to standard output | ./imghist a.pgm --csv=stats --csv=images
2 | did you mean --csv? | ./imghist a.pgm --output=csv
2 | did you mean --json? | ./imghist a.pgm -o json
2 | --csv: 'a.json' has the name of --json; leave out --csv, or name it .csv | ./imghist a.pgm --csv=stats -o a.json
2 | --json: 'a.csv' has the name of --csv | ./imghist a.pgm --json -o a.csv
2 | --check: 'a.csv' has the name of --csv; leave out --check, or name it .txt | ./imghist a.pgm --check -o a.csv
2 | --html: 'a.txt' has the name of --text | ./imghist a.pgm --html=a.txt
2 | --check: cannot be used with --where | ./imghist photos --check --where 'width > 1'
2 | name a directory, or add --total | ./imghist a.pgm b.pgm --chart=c.png
2 | .gif is not supported; .png .svg | ./imghist a.pgm --chart=c.gif
2 | .HEIC is not supported; .png .svg | ./imghist a.pgm --chart=IMG_1.HEIC
2 | .cr2 is not supported; .png .svg | ./imghist a.pgm --chart=a.cr2
2 | to compress, use a pipe | ./imghist a.pgm --csv -o a.csv.gz
2 | to compress, use a pipe | ./imghist a.pgm --ndjson -o results.tar
2 | to compress, use a pipe | ./imghist a.pgm -o a.json.zst
2 | both an input and the output | ./imghist a.pgm --csv >>a.pgm
2 | --html: cannot be used with --total-only | ./imghist a.pgm --html=r.html --total-only
2 | --check: cannot be used with --total-only | ./imghist a.pgm --check --total-only
2 | --print0: cannot be used with --total-only | ./imghist a.pgm --total-only --print0
2 | --html | ./imghist --diff a.pgm b.pgm --html
2 | --list: takes no inputs | ./imghist --list a.pgm
4 | matches --fail-if | ./imghist a.pgm --fail-if 'pixels == 1'
2 | .html is not supported; .png .svg | ./imghist a.pgm --chart=new.html
2 | .csv is not supported; .png .svg | ./imghist a.pgm --chart=new.csv
2 | 'r.csv' has the name of --csv; leave out --html, or name it .html | ./imghist a.pgm --html=r.csv
2 | 'r.htm' has the name of --html; leave out --csv, or name it .csv | ./imghist a.pgm --csv -o r.htm
2 | --thumbnails: they are in the page of --html=FILE and on charts of --chart=PATH, and neither is made | ./imghist a.pgm --thumbnails --json
2 | --thumbnails: takes no value | ./imghist a.pgm --thumbnails=200 --html=r.html
2 | --html: 'a.png' is the name of a picture | ./imghist a.pgm --html=a.png
2 | --fail-if: is given twice; join the conditions with 'or' | ./imghist a.pgm --fail-if 'width > 0' --fail-if 'width > 9'
2 | --where: is given twice; join the conditions with 'and' | ./imghist a.pgm --where 'width > 0' --where 'width > 9'
2 | --chart: is given twice; a run writes its charts to one place | ./imghist a.pgm --chart=a.png --chart=b.png
2 | --chart: is given twice | ./imghist a.pgm --chart --chart=b.png
2 | --mask: is given twice; a run has one mask | ./imghist a.pgm --mask=a.pgm --mask=b.pgm
2 | --region: is given twice; a run counts one region | ./imghist a.pgm --region=1x1+0+0 --region=1x1+0+1
2 | --shard: is given twice; a run counts one part | ./imghist a.pgm --shard=1/2 --shard=2/2
END
  [ $n -eq 47 ]
  [ ! -e new.html ] && [ ! -e new.csv ]
  imghist_ok a.pgm --ndjson -o all.json # text in each of these
  imghist_ok a.pgm --csv -o all.txt
  imghist_ok a.pgm -o page.htm
  grep -q '<html' page.htm
  [ ! -e csv ] && [ ! -e json ] && [ ! -e a.json ] && [ ! -e a.csv ]
}

@test "mistakes: the last line names the help that shows the option" {
  imghist a.pgm --timeout=1d
  [ "${stderr_lines[-1]}" = "Try 'imghist --help=all'." ] || fail "a rare option"
  imghist a.pgm --size=1x1
  [ "${stderr_lines[-1]}" = "Try 'imghist --help=all'." ] || fail "a rare option without a use"
  imghist a.pgm --jpeg=gpu --frames
  [ "${stderr_lines[-1]}" = "Try 'imghist --help=all'." ] || fail "a rare option beside another"
  imghist a.pgm --region=1x1
  [ "${stderr_lines[-1]}" = "Try 'imghist --help'." ] || fail "another option"
}

@test "mistakes: a repeated option has one value" {
  imghist_ok a.pgm --csv=stats --fail-if 'width > 9' --fail-if 'width > 9' --where 'width > 0' --where 'width > 0'
  [ "$stderr" = "imghist: 1 of 1 image matches --where" ] || fail "the same condition twice"
}

@test "mistakes: sizes and times take their units" {
  for value in --memory={64M,64MB,64MiB,67108864B} --timeout={5,5s,2m,1h}; do imghist_quiet a.pgm "$value" -o out.csv; done
  for value in --memory={B,iB,64iB,64MBB,0B,1TB} --timeout={s,0s,5d,300h,5ss}; do imghist_refused 2 "is not a number of" a.pgm "$value"; done
  head -c 100 /dev/zero >raw
  imghist_ok raw --raw=1 --memory=1kB --csv=stats
}

@test "mistakes: no permission" {
  mkdir locked
  chmod 555 locked
  imghist_as_user "$PWD/a.pgm" --csv -o locked/all.csv
  assert_fails 1 "locked/all.csv: cannot write: Permission denied"
  chmod 0 a.pgm
  imghist_as_user a.pgm
  assert_fails 1 "a.pgm: cannot open: Permission denied"
}

@test "mistakes: no GPU" {
  "$IMGHIST" --list | grep -qE 'GPU [0-9]|NVIDIA' && skip "a GPU is present"
  mistake 3 "" "./imghist a.pgm --device=cuda"
  mistake 3 "" "./imghist a.pgm --jpeg=gpu"
}

@test "mistakes: a terminal as the input" {
  script --version >/dev/null 2>&1 || skip "script is missing"
  timeout 20 script -qec './imghist -' /dev/null >said </dev/null || true
  grep -q 'standard input is a terminal' said || fail "$(cat said)"
}
