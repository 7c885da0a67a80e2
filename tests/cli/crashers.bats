#!/usr/bin/env bats
# Command lines with which a fuzzer crashed the parser: see tests/crashers/README.md.

load helpers

# With --help first, the program only parses the other arguments, so any argument is safe.
@test "crashers: the command lines in tests/crashers" {
  for file in "$TESTS"/crashers/fuzz_options-*; do
    [ -f "$file" ] || continue
    mapfile -t arguments < <(tr '\0' '\n' <"$file")
    IMGHIST_DEVICE=${arguments[0]-} imghist --help "${arguments[@]:1}"
    [ "$status" -le 3 ] || fail "$file"
  done
}
