#!/usr/bin/env bats
# Runs with a GPU driver that is slow or fails: the CPU counts.

load helpers

# make_driver SECONDS: a fake driver. Each call creates the file "called", takes so long, and fails.
make_driver() {
  imghist --device=cuda "$SAMPLES/testcard.png"
  [[ $stderr != *"this build has no GPU code"* ]] || skip "built without CUDA"
  mkdir driver
  cat >driver.c <<'END'
#include <fcntl.h>
#include <unistd.h>
static int fail(void) { close(open("called", O_CREAT | O_WRONLY, 0600)); sleep(SECONDS); return 100; }
int cuInit(void) { return fail(); }
int cuDriverGetVersion(void) { return fail(); }
int cuGetProcAddress(void) { return fail(); }
int cuGetProcAddress_v2(void) { return fail(); }
int cuGetExportTable(void) { return fail(); }
END
  "${CC:-cc}" "-DSECONDS=$1" -shared -fPIC -o driver/libcuda.so.1 driver.c
}

# late_image FILE: prints it once the driver has been called, so after the start has begun; nothing after
# a minute.
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
  make_driver 120 # far longer than a test
  "$IMGHIST" --device=cpu "$SAMPLES/scene.jpg" - --csv <"$SAMPLES/testcard.png" >expected.csv
  late_image "$SAMPLES/testcard.png" |
    LD_LIBRARY_PATH=$PWD/driver timeout 60 "$IMGHIST" "$SAMPLES/scene.jpg" - --csv >out.csv
  cmp expected.csv out.csv
  rm called
  late_image "$SAMPLES/testcard.png" |
    LD_LIBRARY_PATH=$PWD/driver timeout 60 "$IMGHIST" "$SAMPLES/scene.jpg" - --csv -o out.csv
  cmp expected.csv out.csv
}

@test "device: such a run keeps its exit status" {
  make_driver 120 # far longer than a test
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

@test "device: -v says why no GPU counts, even in a short run" {
  make_driver 0
  LD_LIBRARY_PATH=$PWD/driver imghist -v --csv=stats "$SAMPLES/testcard.png"
  assert_status 0
  assert_stderr_has "counted by cpu, kernel tables"
  assert_stderr_has "counting on the CPU: no usable NVIDIA GPU"
}

@test "device: --jpeg=gpu and a device that this build lacks say what to do" {
  "$IMGHIST" --list | grep -q '^  cuda  *not in this build' || skip "CUDA is in this build"
  cp "$SAMPLES/scene.jpg" .
  imghist_refused 3 "(--jpeg=gpu needs one; without this option the CPU decodes them)" scene.jpg --jpeg=gpu --csv
  IMGHIST_DEVICE=cuda imghist scene.jpg --csv
  assert_refused 3 "IMGHIST_DEVICE: this build has no GPU code (make CUDA=1 adds it); auto and cpu count on the CPU"
}
