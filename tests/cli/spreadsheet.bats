#!/usr/bin/env bats
# CSV for other programs: two independent parsers, difficult names, and no formulas.

load helpers

# Names that need quotes in CSV, that a spreadsheet would run, or that are hard to parse. They are all
# different files.
NASTY=('plain.pgm' 'com,ma' 'quo"te' '""' $'new\nline' $'re\rturn' $'cr\r\nlf' ' leading' 'trailing ' "it's"
  'semi;colon' $'tab\there' 'back\slash' 'ä€😀日本' $'\x01' $'caf\xe9'
  '=1+1' '=cmd|" calc"!A0' '+1' '-1' '@SUM(1)' $'\t=1' $'\r=1' $'\n=1' $'\v=1' $'\f=1' '  =1' '-' '--csv' '＝1' '＋1' '－1' '＠1'
  '(total)' 'NULL' '1e5' '0')

# in_csv NAME: prints the name as --csv writes it.
in_csv() {
  case $1 in
    [=+@-]* | $'\t'* | $'\r'* | $'\n'* | $'\v'* | $'\f'* | '  ='* | '＝'* | '＋'* | '－'* | '＠'* | '(total)') printf './%s' "$1" ;;
    *) printf %s "$1" ;;
  esac
}

# nasty: creates the files, the file `list` of their names and the file `expected` of their names in
# CSV, each name ended by NUL.
nasty() {
  local name
  for name in "${NASTY[@]}"; do
    dot "./$name" 01 || skip "the file system refuses this name"
    [ "$name" != - ] || continue # means standard input; has its own test
    printf '%s\0' "$name" >&5
    in_csv "$name" >&6
    printf '\0' >&6
  done 5>list 6>expected
}

LAYOUTS=(channels bins long stats)

@test "spreadsheet: Python's csv reads every name in every layout" {
  needs python3
  nasty
  for layout in "${LAYOUTS[@]}"; do
    "$IMGHIST" --files0-from=list --csv=$layout >out.csv
    python3 - out.csv expected <<'END' || fail "$layout"
import csv, os, sys
with open(sys.argv[1], newline="", encoding="utf-8", errors="surrogateescape") as f:
    rows = list(csv.reader(f, strict=True))
names = []
assert len(set(map(len, rows))) == 1, "rows of different lengths"
assert rows[0][0] == "file"
for row in rows[1:]:
    if not names or names[-1] != row[0]:
        names.append(row[0])
actual = b"".join(os.fsencode(n) + b"\0" for n in names)
expected = open(sys.argv[2], "rb").read()
if actual != expected:
    sys.exit("names: %r\nexpected: %r" % (actual, expected))
for name in names: # each name opens the file that was counted
    assert open(os.fsencode(name), "rb").read(2) == b"P5", name
END
  done
}

@test "spreadsheet: no name becomes a formula" {
  nasty
  for layout in "${LAYOUTS[@]}"; do
    "$IMGHIST" --files0-from=list --csv=$layout >out.csv
    # only the start of a field matters: a quoted field may have lines that begin with any character
    needs python3
    python3 - <<'END' || fail "$layout"
import csv
for row in csv.reader(open("out.csv", newline="", encoding="utf-8", errors="surrogateescape")):
    for field in row:
        assert not field.lstrip(" ").startswith(tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")), repr(field)
END
  done
}

@test "spreadsheet: files of a directory called =d get the prefix ./ once" {
  mkdir '=d'
  dot '=d/=a.pgm'
  "$IMGHIST" ./=d --csv=stats | sed -n 2p | grep -q ^./=d/=a.pgm,
  "$IMGHIST" '=d' --csv=stats | sed -n 2p | grep -q ^./=d/=a.pgm,
  "$IMGHIST" "$PWD/=d" --csv=stats | sed -n 2p | grep -qF "$PWD/=d/=a.pgm,"
}
