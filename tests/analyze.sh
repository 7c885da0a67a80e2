#!/usr/bin/env bash
# analyze.sh: static analysis of src/ with clang-tidy (checks in .clang-tidy), cppcheck and gcc -fanalyzer, as far as
# they are installed. It fails on every finding that is not listed in analyze_exceptions.txt, which explains each
# false positive.
#
# Sources and flags are those of a build without a GPU (`make print-sources`).
set -u
cd "$(dirname "$0")/.." || exit 1

exceptions=tests/analyze_exceptions.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
read -r -a sources < <(make -s CUDA=0 print-sources)
read -r -a flags < <(make -s CUDA=0 print-flags)
if [ "${#flags[@]}" -eq 0 ] || [ "${#sources[@]}" -lt 80 ]; then # the analysis would find nothing
  echo "analyze.sh: the Makefile printed no flags or too few sources" >&2
  exit 1
fi
n_jobs=$(nproc)
export FLAGS="${flags[*]}"
n_tools=0

# A tool that does not run, or has lost its flags or checks, finds nothing either. So each tool must first find a
# known bug.
echo 'int wrong(void); int wrong(void) { int *p = 0; return *p; }' >"$work/wrong.c"
must_find() {
  "$@" "$work/wrong.c" 2>&1 | grep -qi 'wrong.c:1:.*null' && return
  echo "analyze.sh: does not work: it finds no bug in a file that has one: $*" >&2
  exit 1
}

if command -v clang-tidy >/dev/null; then
  n_tools=$((n_tools + 1))
  must_find sh -c 'clang-tidy --quiet --config-file=.clang-tidy "$1" -- $FLAGS' clang-tidy
  printf '%s\0' "${sources[@]}" |
    xargs -0 -n 8 -P "$n_jobs" sh -c 'clang-tidy --quiet "$@" -- $FLAGS 2>/dev/null' clang-tidy \
      >"$work/clang-tidy"
fi
if command -v cppcheck >/dev/null; then
  n_tools=$((n_tools + 1))
  defines=()
  for flag in "${flags[@]}"; do
    case $flag in -D* | -I*) defines+=("$flag") ;; esac
  done
  checks=(--std=c11 '--enable=warning,portability,performance' --quiet --suppress=missingIncludeSystem)
  must_find cppcheck "${checks[@]}" "${defines[@]}"
  cppcheck "${checks[@]}" -j "$n_jobs" "${defines[@]}" "${sources[@]}" 2>"$work/cppcheck"
fi
if gcc -fanalyzer -x c -c -o /dev/null /dev/null 2>/dev/null; then
  n_tools=$((n_tools + 1))
  must_find gcc "${flags[@]}" -O1 -fanalyzer -c -o /dev/null
  printf '%s\0' "${sources[@]}" |
    xargs -0 -n 8 -P "$n_jobs" sh -c 'for f; do gcc $FLAGS -O1 -fanalyzer -c -o /dev/null "$f"; done' gcc \
      2>"$work/gcc"
fi
[ "$n_tools" -gt 0 ] || { echo "analyze.sh: none of clang-tidy, cppcheck and gcc -fanalyzer is installed" >&2; exit 1; }

# One line "src/file.c check" for each finding.
sed -E 's/ \[CWE-[0-9]+\]//' "$work"/* |
  sed -nE "s|^$PWD/||; s/^(src\/[^:]+):[0-9]+:[0-9]+: (warning|error|portability|performance):.* \[([^][]*)\]\$/\1 \3/p" |
  sort -u >"$work/findings"

n_new=0
while read -r file check; do
  if ! grep -q "^$file $check: " "$exceptions"; then
    n_new=$((n_new + 1))
    grep -hF "$file:" "$work"/clang-tidy "$work"/cppcheck "$work"/gcc 2>/dev/null | grep -F "[$check]" | head -n 3
  fi
done <"$work/findings"
echo "analyze: ${#sources[@]} files, $n_tools tools, $n_new findings, $(wc -l <"$work/findings") including explained ones"
[ "$n_new" -eq 0 ]
