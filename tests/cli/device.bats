#!/usr/bin/env bats
# Who counts, where that takes long to find out: a GPU's driver that never comes to an end.

load helpers

# A driver in whose place a call leaves a file "called" and then takes two minutes, far longer than
# a test.
make_driver() {
  imghist --device=cuda "$SAMPLES/testcard.png"
  [[ $stderr != *"this build has no CUDA"* ]] || skip "built without CUDA"
  mkdir driver
  cat >driver.c <<'END'
#include <fcntl.h>
#include <unistd.h>
static int never(void) { close(open("called", O_CREAT | O_WRONLY, 0600)); sleep(120); return 100; }
int cuInit(void) { return never(); }
int cuDriverGetVersion(void) { return never(); }
int cuGetProcAddress(void) { return never(); }
int cuGetProcAddress_v2(void) { return never(); }
int cuGetExportTable(void) { return never(); }
END
  "${CC:-cc}" -shared -fPIC -o driver/libcuda.so.1 driver.c
}

# An image that comes once the driver has been called, so after the start has begun; none after a minute.
late_image() {
  for _ in {1..1200}; do
    if [ -e called ]; then
      cat "$1"
      return
    fi
    sleep 0.05
  done
}

@test "device: a run that is over before the GPU has started does not wait for it" {
  make_driver
  "$IMGHIST" --device=cpu "$SAMPLES/scene.jpg" - --csv <"$SAMPLES/testcard.png" >expected.csv
  late_image "$SAMPLES/testcard.png" |
    LD_LIBRARY_PATH=$PWD/driver timeout 60 "$IMGHIST" "$SAMPLES/scene.jpg" - --csv >out.csv
  cmp expected.csv out.csv
  rm called
  late_image "$SAMPLES/testcard.png" |
    LD_LIBRARY_PATH=$PWD/driver timeout 60 "$IMGHIST" "$SAMPLES/scene.jpg" - --csv -o out.csv
  cmp expected.csv out.csv
}

@test "device: nor does it forget its exit status" {
  make_driver
  local status=0
  late_image "$SAMPLES/testcard.png" |
    LD_LIBRARY_PATH=$PWD/driver timeout 60 "$IMGHIST" missing.png - --csv=stats >out.csv 2>err || status=$?
  [ "$status" -eq 1 ]
  grep -q "missing.png: cannot open" err
  grep -q "^-,256,256,luma," out.csv
  rm called
  status=0
  late_image "$SAMPLES/testcard.png" |
    LD_LIBRARY_PATH=$PWD/driver timeout 60 "$IMGHIST" - --csv >/dev/full 2>err || status=$?
  [ "$status" -eq 1 ]
  grep -q "No space left on device" err
}
