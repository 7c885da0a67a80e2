#!/usr/bin/env bats
# layers.sh finds what it is there to find: each test plants one include in a copy of the sources.

load helpers

setup_file() {
  export ROOT="$BATS_FILE_TMPDIR/root"
  mkdir "$ROOT"
  cp -R "$TESTS/../src" "$TESTS/../kernels" "$ROOT"
}

# plant FILE INCLUDE: layers.sh on a copy in which FILE begins with that include.
plant() {
  cp -R "$ROOT" copy
  mkdir -p "$(dirname "copy/$1")"
  echo "#include $2" >copy/planted
  [ ! -f "copy/$1" ] || cat "copy/$1" >>copy/planted
  mv copy/planted "copy/$1"
  run "$TESTS/layers.sh" copy
}

refused() {
  plant "$@"
  [ "$status" -eq 1 ]
  [ "${#lines[@]}" -eq 1 ]
  [[ ${lines[0]} == "$1:1: "* ]]
}

allowed() {
  plant "$@"
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "layers: the sources as they are" {
  run "$TESTS/layers.sh" "$ROOT"
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "layers: base includes nothing above it" { refused src/base/status.c '"decode/decoder.h"'; }
@test "layers: base includes no third party" { refused src/base/status.c '<stb/stb_truetype.h>'; }
@test "layers: decode does not include its sibling device" { refused src/decode/decode.c '"device/backend.h"'; }
@test "layers: decode does not include its sibling output" { refused src/decode/decode.c '"chart/encode.h"'; }
@test "layers: device does not include decode" { refused src/device/device.c '"decode/decoder.h"'; }
@test "layers: charts know no outputs" { refused src/chart/axis.c '"output/output.h"'; }
@test "layers: Python draws through imghist.h" { refused src/python/record.c '"chart/chart.h"'; }
@test "layers: output knows no scan" { refused src/output/output.c '"scan/scan.h"'; }
@test "layers: output knows no kernels" { refused src/output/output.c '"kernels/kernels.h"'; }
@test "layers: scan knows no kernels" { refused src/scan/scan.c '"kernels/kernels.h"'; }
@test "layers: nothing below includes cli" { refused src/scan/scan.c '"cli/options.h"'; }
@test "layers: kernels include nothing of src" { refused kernels/histogram_batch.cu '"histogram/pixels.h"'; }
@test "layers: angle brackets do not help" { refused kernels/kernels.h '<histogram/pixels.h>'; }
@test "layers: a relative path does not help" { refused src/decode/decode.c '"../device/backend.h"'; }
@test "layers: the path from the root does not help" { refused src/decode/decode.c '"src/device/backend.h"'; }
@test "layers: jerror.h before jpeglib.h, whose version its numbers depend on" { refused src/decode/dec_jpeg.c '<jerror.h>'; }
@test "layers: an include hidden in a macro" { refused src/decode/decode.c 'HEADER'; }
@test "layers: a decoder does not include another's header" { refused src/decode/dec_png.c '"decode/dec_jpeg.h"'; }
@test "layers: the library includes no tests" { refused src/decode/decode.c '"tests/data.h"'; }
@test "layers: a new folder must be known" { refused src/extra/extra.c '<stdio.h>'; }

@test "layers: imghist.h includes nothing of imghist" { refused src/imghist.h '"histogram/pixels.h"'; }
@test "layers: Python knows imghist.h alone" { refused src/python/many.c '"base/status.h"'; }
@test "layers: decode knows no decoder processes" { refused src/decode/decode.c '"isolate/decoder_process.h"'; }
@test "layers: scan knows no decoder processes" { refused src/scan/scan.c '"isolate/decoder_process.h"'; }
@test "layers: the library knows no decoder processes" { refused src/library/count.c '"isolate/decoder_process.h"'; }
@test "layers: the library knows no cli" { refused src/library/count.c '"cli/options.h"'; }
@test "layers: the command line does not look inside the library" { refused src/cli/main.c '"library/library.h"'; }
@test "layers: nothing below includes the library" { refused src/scan/scan.c '"library/library.h"'; }
@test "layers: decode has its words from base" { refused src/decode/decode.c '"imghist.h"'; }

@test "layers: base has its words from imghist.h" { allowed src/base/status.c '"imghist.h"'; }
@test "layers: the system and the layers below are allowed" { allowed src/decode/decode.c '<sys/stat.h>'; }
@test "layers: a header of its own folder is allowed" { allowed src/decode/decode.c '"decode/decoder.h"'; }
@test "layers: a decoder may have a header of its own" { allowed src/decode/dec_png.c '"decode/dec_png.h"'; }
@test "layers: scan may include decode" { allowed src/scan/scan.c '"decode/decoder.h"'; }
@test "layers: device may include kernels" { allowed src/device/device.c '"kernels/kernels.h"'; }
@test "layers: cli may include everything" { allowed src/cli/options.c '"kernels/kernels.h"'; }

# A function of a folder above, declared by hand: no include tells of it.
@test "layers: base calls nothing of scan, with no include" {
  cp -R "$ROOT" copy
  mkdir -p copy/build/src/base copy/build/src/scan
  echo 'int ih_planted(void); int ih_caller(void); int ih_caller(void) { return ih_planted(); }' >copy/src/base/planted.c
  echo 'int ih_planted(void); int ih_planted(void) { return 1; }' >copy/src/scan/planted.c
  for folder in base scan; do
    "${CC:-cc}" -c -o "copy/build/src/$folder/planted.o" "copy/src/$folder/planted.c"
  done
  run "$TESTS/layers.sh" copy build
  [ "$status" -eq 1 ]
  [ "${#lines[@]}" -eq 1 ]
  [[ ${lines[0]} == "src/base/planted.o:0: base must not use ih_planted of scan"* ]]
  mv copy/src/base/planted.c copy/src/cli
  mkdir copy/build/src/cli
  mv copy/build/src/base/planted.o copy/build/src/cli
  run "$TESTS/layers.sh" copy build
  [ "$status" -eq 0 ]
}

@test "layers: src/library defines what imghist.h declares" {
  cp -R "$ROOT" copy
  mkdir -p copy/build/src/scan
  echo 'const char *ih_version(void); const char *ih_version(void) { return ""; }' >copy/src/scan/planted.c
  "${CC:-cc}" -c -o copy/build/src/scan/planted.o copy/src/scan/planted.c
  run "$TESTS/layers.sh" copy build
  [ "$status" -eq 1 ]
  [ "${#lines[@]}" -eq 1 ]
  [[ ${lines[0]} == "src/imghist.h:"*": ih_version is defined in scan, not in library" ]]
}

@test "layers: a build without objects is refused" {
  run "$TESTS/layers.sh" "$ROOT" build/none
  [ "$status" -eq 1 ]
  [ "$output" = "layers.sh: no objects in build/none" ]
}
