#!/usr/bin/env bats
# Float32 samples: --raw-depth=f32le and f32be, PFM, NPY, records, totals. Expected values come from check_float.py.

load helpers

check() { python3 "$TESTS/cli/check_float.py" "$@"; }

# raw ORDER ARG...: counts samples of two channels.
raw() { imghist_ok --raw=2 "--raw-depth=f32$1" "${@:2}"; }

@test "float: statistics are those of exact fractions" {
  check make
  for order in le be; do
    raw "$order" ./*."$order" --ndjson -o "$order.ndjson"
    [ "$(check check "$order.ndjson")" = 7 ] || fail "$order"
  done
  imghist_ok ./*.pfm ./*.npy --ndjson -o files.ndjson
  [ "$(check check files.ndjson)" = 6 ] || fail "PFM and NPY"
  imghist_ok ./*.pfm ./*.npy --isolate --ndjson -o isolated.ndjson
  cmp files.ndjson isolated.ndjson
  imghist_ok a.pfm c.npy "$SAMPLES/scene.png" --html --thumbnails --alpha=skip-transparent -j2 # side by side
}

@test "float: any grouping gives the same total, from files and from records" {
  check make
  cat uniform.le normal.le wide.le holes.le constant.le negative.le >all
  for n in 1 3 100; do # pixels of 8 bytes
    split -b $((800 * n)) all "part$n."
    raw le part"$n".* --total-only --ndjson -o "total$n"
    raw le part"$n".* --ndjson -o "parts$n.ndjson"
    imghist_ok "parts$n.ndjson" --total-only --ndjson -o "merged$n"
    sed 's/"n_images":[0-9]*,//' "total$n" | cmp - <(sed 's/"n_images":[0-9]*,//' total1) || fail "$n"
    cmp "merged$n" "total$n" || fail "merged $n"
  done
  raw le uniform.le --ndjson -o one.ndjson
  imghist_ok one.ndjson --ndjson
  diff one.ndjson - <<<"$output"
}

@test "float: records whose exact sums contradict the bins are refused" {
  check make
  raw le constant.le --ndjson -o a.ndjson
  for change in 's/"sum":"0x/"sum":"0x1/' 's/"squares":"0x/"squares":"0x1/' 's/"min":"0xcccccd/"min":"0xcccccf/' \
    's/"max":"0xcccccdp-27"/"max":"0x1p0"/' 's/"exact"/"inexact"/' 's/"squares":"[^"]*",//' 's/"sum":"0x/"sum":"0X/' \
    's/"sum":"[^"]*"/"sum":null/' 's/"ranges":\[\[\([0-9]*\),/"ranges":[[1,1],[\1,/'; do
    sed "$change" a.ndjson >b.ndjson
    ! cmp -s a.ndjson b.ndjson || fail "$change changes nothing"
    imghist b.ndjson --csv
    [ "$status" -eq 1 ] || fail "$change"
  done
}

@test "float: files that end early, and headers of PFM that none has" {
  printf '\0\0\200\77\0\0\200' >a.f32
  imghist a.f32 --raw=1 --raw-depth=f32le --csv
  assert_fails 1 "a.f32: the samples end in the middle of a pixel of 1 channels"
  for scale in 0 -0.0 x 1x 1e -; do
    printf 'Pf\n1 1\n%s\n\0\0\200\77' "$scale" >a.pfm
    imghist a.pfm --csv
    [ "$status" -eq 1 ] || [ "$scale" = 1e ] || fail "$scale"
  done
  printf 'PF\n2 1\n-1\n\0\0\200\77' >a.pfm
  imghist a.pfm --csv
  assert_fails 1 "a.pfm: damaged PNM: the file ends before the image does"
}
