#!/usr/bin/env bats
# Command lines that a fuzzer once crashed the parser with: see tests/crashers/README.md.

load helpers

# With --help first nothing is done but parsing the rest, so that any arguments are safe to try.
@test "crashers: the command lines in tests/crashers" {
  for file in "$TESTS"/crashers/fuzz_options-*; do
    [ -f "$file" ] || continue
    mapfile -t arguments < <(tr '\0' '\n' <"$file")
    IMGHIST_DEVICE=${arguments[0]-} imghist --help "${arguments[@]:1}"
    [ "$status" -le 3 ] || fail "$file"
  done
}

@test "crashers: the dictionary of the options' fuzzer has them all" {
  options=$("$IMGHIST" --help | grep -oE '(^|[ ,])--[a-z][a-z0-9-]*' | tr -d ' ,' | sort -u)
  [ "$(wc -l <<<"$options")" -gt 20 ]
  for option in $options; do
    grep -qE "^\"${option}[\"=]" "$TESTS/fuzz/options.dict" || fail "options.dict has no $option"
  done
}
