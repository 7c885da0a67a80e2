#!/usr/bin/env bats
# Lists of paths, and stopping at the first failure.

load helpers

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  unset IMGHIST_DEVICE
  printf 'P5\n1 1\n255\nA' >a.pgm
  printf 'P5\n1 1\n255\nB' >b.pgm
  printf 'P5\n2 1\n255\nC' >cut.pgm
  mkdir d
  printf 'P5\n1 1\n255\nD' >d/d.pgm
  printf 'no image' >d/text
}

# The files of the records, in order.
files() { tail -n +2 "$1" | grep ',gray,' | cut -d, -f1; }

@test "--files-from: one path a line, after the paths of the command line" {
  printf 'b.pgm\n\nd\n' >list
  "$IMGHIST" --csv=stats --files-from=list a.pgm >out
  [ "$(files out)" = $'a.pgm\nb.pgm\nd/d.pgm' ]
}

@test "--files-from: the last line may lack its newline, and - is standard input" {
  printf 'b.pgm\na.pgm' | "$IMGHIST" --csv=stats --files-from=- >out
  [ "$(files out)" = $'b.pgm\na.pgm' ]
}

@test "--files0-from: names may hold newlines" {
  cp a.pgm $'new\nline.pgm'
  printf 'new\nline.pgm\0b.pgm\0' | "$IMGHIST" --csv=stats --files0-from - >out
  grep -q '^"new$' out
  grep -q '^line.pgm",1,1,gray,1,65,' out
  grep -q '^b.pgm,' out
}

@test "a listed file that is missing or no image is an error, the others are counted" {
  printf 'a.pgm\nnope\nd/text\nb.pgm\n' >list
  run "$IMGHIST" --csv=stats --files-from=list
  [ "$status" -eq 1 ]
  [[ $output == *"imghist: nope: cannot open: No such file"* ]]
  [[ $output == *"imghist: d/text: cannot decode"* ]]
  [[ $output == *a.pgm,1,1,gray* && $output == *b.pgm,1,1,gray* ]]
}

@test "a list that is missing is an error with its name" {
  run "$IMGHIST" --files-from=nope
  [ "$status" -eq 1 ]
  [[ $output == "imghist: nope: the list cannot be opened: No such file"* ]]
}

@test "a list that cannot be read to its end is an error with its name" {
  run "$IMGHIST" --csv=stats --files-from=d
  [ "$status" -eq 1 ]
  [[ $output == *"imghist: d: the list cannot be read: Is a directory"* ]]
}

@test "an empty list is no images and no error" {
  "$IMGHIST" --csv=stats --files-from=/dev/null >out
  [ "$(wc -l <out)" -eq 1 ]
}

@test "standard input cannot be the list and an image, and there is one list" {
  run "$IMGHIST" --files-from=- -
  [ "$status" -eq 2 ]
  run "$IMGHIST" --files-from=list --files0-from=list
  [ "$status" -eq 2 ]
}

@test "--fail-fast writes what came before the failure and nothing after it" {
  for threads in 1 4; do
    run "$IMGHIST" --csv=stats --fail-fast -j "$threads" a.pgm cut.pgm b.pgm
    [ "$status" -eq 1 ]
    [[ $output == *a.pgm,1,1,gray* && $output != *b.pgm* ]]
    [[ $output == *"imghist: cut.pgm: "* ]]
  done
}

@test "a list is never the output" {
  echo "$SAMPLES/palette.png" >list
  for option in --files-from --files0-from; do
    imghist $option=list --csv -o list
    assert_fails 2 "list: is an input and the output file at once"
    [ "$(cat list)" = "$SAMPLES/palette.png" ]
  done
}
