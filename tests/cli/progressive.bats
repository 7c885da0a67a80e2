#!/usr/bin/env bats
# make PROGRESSIVE=0 leaves out the decoder of all scans at once (src/decode/progressive).

load helpers

# write_photo FILE: a progressive JPEG, large enough for all scans at once.
write_photo() {
  cat >write.c <<'EOF'
#include <stdio.h>
#include <jpeglib.h>

int main(void)
{
    static JSAMPLE row[600 * 3];
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    JSAMPROW rows[] = {row};
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, stdout);
    c.image_width = 600;
    c.image_height = 500;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < 500) {
        for (unsigned i = 0; i < sizeof row; i++)
            row[i] = (JSAMPLE)(i / 9 + c.next_scanline / 2 + i * c.next_scanline % 13);
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return 0;
}
EOF
  local flags
  read -ra flags <<<"$(${PKG_CONFIG:-pkg-config} --cflags --libs libjpeg)"
  "${CC:-cc}" -o write write.c "${flags[@]}"
  ./write >"$1"
}

@test "progressive: a program built without it gives the same results" {
  [[ $IMGHIST != */build/sanitize/* ]] || skip "compared in other builds"
  local build=$BATS_TEST_TMPDIR/build input name formats
  formats=$("$IMGHIST" --list | awk '/^[a-z]/ { part = $1 } part == "formats:" && !/not in this build/ { printf "%s ", $1 }')
  env -u CONFIG -u WERROR make -s -j2 -C "$TESTS/.." CONFIG=debug CUDA=0 PROGRESSIVE=0 "FORMATS=$formats" "BUILD=$build" \
    "$build/imghist"
  nm "$build/imghist" >names
  grep -q ih_decoder_jpeg names
  ! grep -q ih_progressive names || return 1
  write_photo photo.jpg
  head -c 20000 photo.jpg >cut.jpg

  for input in photo.jpg cut.jpg "$TESTS/formats" "$SAMPLES"; do
    for name in with without; do
      local program=$IMGHIST
      [ $name = with ] || program=$build/imghist
      "$program" "$input" --device=cpu --json >$name.json 2>$name.err || echo "exit status $?" >>$name.err
    done
    cmp with.json without.json
    cmp with.err without.err
  done
  grep -q '"name"' with.json
}
