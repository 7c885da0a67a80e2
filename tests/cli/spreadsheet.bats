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

@test "spreadsheet: sqlite3 imports every name in every layout" {
  needs sqlite3
  nasty
  # As hexadecimal digits, because newer versions of sqlite3 escape control characters.
  while IFS= read -r -d '' name; do
    printf '%s' "$name" | od -An -v -tx1 | tr -d ' \n' | tr a-f A-F
    echo
  done <expected | LC_ALL=C sort >names
  for layout in "${LAYOUTS[@]}"; do
    "$IMGHIST" --files0-from=list --csv=$layout >out.csv
    rm -f db
    sqlite3 -batch -bail db '.mode csv' '.import out.csv t' 2>messages || fail "$layout: $(cat messages)"
    [ ! -s messages ] || fail "$layout: $(cat messages)"
    sqlite3 -batch -noheader -list db 'SELECT DISTINCT hex(file) FROM t' | LC_ALL=C sort | cmp - names || fail "$layout"
    rows=$(sqlite3 -batch db 'SELECT count(*) FROM t')
    case $layout in
      channels | stats) [ "$rows" -eq $(((${#NASTY[@]} - 1) * 2)) ] ;;
      bins) [ "$rows" -eq $(((${#NASTY[@]} - 1) * 256)) ] ;;
      long) [ "$rows" -eq $(((${#NASTY[@]} - 1) * 512)) ] ;;
    esac || fail "$layout: $rows rows"
  done
}

@test "spreadsheet: both parsers read the same numbers" {
  needs python3
  needs sqlite3
  "$IMGHIST" "$SAMPLES" --csv=long >out.csv
  sqlite3 -batch db '.mode csv' '.import out.csv t'
  python3 -c '
import csv, collections
sums = collections.Counter()
for row in csv.DictReader(open("out.csv", newline="")):
    sums[row["file"], row["channel"]] += int(row["bin"]) * int(row["count"])
for (file, channel), n in sorted(sums.items()):
    print(f"{file}|{channel}|{n}")' >python
  sqlite3 -batch -list db 'SELECT file, channel, sum(bin * count) FROM t GROUP BY file, channel ORDER BY 1, 2' |
    cmp - python
  "$IMGHIST" "$SAMPLES" --csv=stats | sed 1d | cut -d, -f1,4,6 | tr , '|' | LC_ALL=C sort | cmp - python
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

@test "spreadsheet: standard input stays -" {
  dot a.pgm
  "$IMGHIST" - --csv=stats <a.pgm | sed -n 2p | grep -q ^-,1,1,gray,
}

@test "spreadsheet: files of a directory called =d get the prefix ./ once" {
  mkdir '=d'
  dot '=d/=a.pgm'
  "$IMGHIST" ./=d --csv=stats | sed -n 2p | grep -q ^./=d/=a.pgm,
  "$IMGHIST" '=d' --csv=stats | sed -n 2p | grep -q ^./=d/=a.pgm,
  "$IMGHIST" "$PWD/=d" --csv=stats | sed -n 2p | grep -qF "$PWD/=d/=a.pgm,"
}

@test "spreadsheet: JSON and the summary keep the name" {
  dot '=1+1'
  "$IMGHIST" '=1+1' --ndjson | grep -qF '"file":"=1+1"'
  "$IMGHIST" '=1+1' | head -1 | grep -q '^=1+1  '
}

@test "spreadsheet: a million rows" {
  dot a.pgm
  for _ in {1..1954}; do echo a.pgm; done >list
  start=${EPOCHREALTIME/[.,]/}
  "$IMGHIST" --files-from=list --csv=long >out.csv
  elapsed=$((${EPOCHREALTIME/[.,]/} - start))
  [ "$(wc -l <out.csv)" -eq 1000449 ]
  [ $elapsed -lt 30000000 ] || fail "took $elapsed us"
}
