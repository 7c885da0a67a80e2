#!/usr/bin/env bats
# --alpha: counting or skipping transparent pixels.

load helpers

# 4 x 1 pixels: transparent white, opaque red, nearly transparent green, transparent black
pam_rgba() {
  printf 'P7\nWIDTH 4\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n\377\377\377\0\377\0\0\377\0\377\0\1\0\0\0\0' >"$1"
}

pam_gray_alpha() {
  printf 'P7\nWIDTH 3\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n\12\0\24\1\36\377' >"$1"
}

# stats ARG...: the columns channel, count and sum.
stats() {
  imghist_ok --csv=stats "$@"
  output=$(tail -n +2 <<<"$output" | cut -d, -f4-6 | tr '\n' ' ')
}

@test "alpha: by default transparent pixels count" {
  pam_rgba a.pam
  stats a.pam
  assert_output "red,4,510 green,4,510 blue,4,255 alpha,4,256 luma,4,491 "
  stats --alpha=count a.pam
  assert_output "red,4,510 green,4,510 blue,4,255 alpha,4,256 luma,4,491 "
}

@test "alpha: --alpha=skip-transparent leaves pixels with alpha 0 out of every channel" {
  pam_rgba a.pam
  stats --alpha=skip-transparent a.pam
  assert_output "red,2,255 green,2,255 blue,2,0 alpha,2,256 luma,2,236 "
  pam_gray_alpha b.pam
  stats --alpha skip-transparent b.pam
  assert_output "gray,2,50 alpha,2,256 luma,2,50 "
}

@test "alpha: --alpha=skip-transparent applies to the clip counts" {
  pam_rgba a.pam
  imghist --json a.pam
  assert_output_has '"crushed_any":3,"blown_any":3,"crushed_all":1,"blown_all":1'
  imghist --json --alpha=skip-transparent a.pam
  assert_output_has '"crushed_any":2,"blown_any":2,"crushed_all":0,"blown_all":0'
}

@test "alpha: --alpha=skip-transparent with no visible pixels, and without alpha" {
  printf 'P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n\12\0' >a.pam
  stats --alpha=skip-transparent a.pam
  assert_output "gray,0,0 alpha,0,0 luma,0,0 "
  printf 'P5 2 1 255\n\0\1' >b.pgm
  stats --alpha=skip-transparent b.pgm
  assert_output "gray,2,1 luma,2,1 "
}

@test "alpha: --alpha=skip-transparent over many stripes" {
  for ((i = 0; i < 1000; i++)); do printf 'abc\0defghij\1klm\0'; done >block
  for ((i = 0; i < 500; i++)); do cat block; done >all.rgba # 8 MB, every other pixel transparent
  stats --raw=4 --alpha=skip-transparent all.rgba
  assert_output "red,1000000,102000000 green,1000000,103000000 blue,1000000,104000000 alpha,1000000,52000000 luma,1000000,103000000 "
}

@test "alpha: --alpha=skip-transparent counts pixels after transparent megabytes" {
  { head -c 2000000 /dev/zero; printf 'abc\1'; head -c 2000000 /dev/zero; } >a.rgba
  stats --raw=4 --alpha=skip-transparent a.rgba
  assert_output "red,1,97 green,1,98 blue,1,99 alpha,1,1 luma,1,98 "
}
