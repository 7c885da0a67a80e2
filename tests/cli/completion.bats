#!/usr/bin/env bats
# Completions: each shell loads its script and completes with it. tests/cli/options.bats checks the values that
# they offer.

# shellcheck disable=SC2016 # scripts for other shells

load helpers

# in_bash LINE: writes the completions of LINE's last word to the file `offered`, one a line. Words are split as
# readline does, at blanks and "=".
in_bash() {
  "$IMGHIST" --completion=bash >completion
  bash --norc -c '
    compopt() { echo "compopt $*" >>compopt; }
    . ./completion
    line=$1
    read -ra COMP_WORDS <<<"${line//=/ = }"
    [[ $line != *" " ]] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line}
    _imghist
    printf "%s\n" "${COMPREPLY[@]}"' - "$1" >offered
}

# expect_offer LINE WORD...: bash offers exactly these words.
expect_offer() {
  local line=$1
  shift
  in_bash "$line"
  [ "$(cat offered)" = "$(printf '%s\n' "$@")" ] || fail "'$line' offers: $(cat offered)"
}

# long_options: all of --help=all.
long_options() { "$IMGHIST" --help=all | grep -oE '^  (-., )?--[a-z0-9-]+' | grep -oE -e '--.*'; }

@test "completion: an unknown shell is an error" {
  imghist_refused 2 "'csh' is none of bash, zsh, fish" --completion=csh
  imghist_fails 2 "--completion: needs a value" --completion
}

@test "completion: every script has every option" {
  for shell in bash zsh fish; do
    "$IMGHIST" --completion=$shell >script
    for option in $(long_options); do
      name=$option
      [ $shell != fish ] || name="-l ${option#--} "
      grep -qF -e "$name" script || fail "no $option for $shell"
    done
  done
}

@test "completion: bash" {
  expect_offer 'imghist --the' --theme=
  expect_offer 'imghist --theme=' dark light
  expect_offer 'imghist --theme=l' light
  expect_offer 'imghist --theme ' dark light
  expect_offer 'imghist a.png --csv=' channels bins long stats images
  expect_offer 'imghist --csv' --csv --csv=
  expect_offer 'imghist --scale=l' linear log
  expect_offer 'imghist --max-pixels=' ''
  expect_offer 'imghist -j ' ''
  expect_offer 'imghist --kernel=ref' reference
  in_bash 'imghist -'
  [ "$(wc -l <offered)" -gt 30 ]
}

@test "completion: bash leaves file names to readline" {
  for line in 'imghist ' 'imghist ph' 'imghist -o ' 'imghist --output=' 'imghist --chart=x' \
    'imghist --files-from ' 'imghist --csv ' 'imghist -- --' 'imghist -- -'; do
    rm -f compopt
    expect_offer "$line" ''
    [ ! -e compopt ] || fail "$line: no file names"
  done
  in_bash 'imghist --theme=x'
  grep -qF 'compopt +o default' compopt
  in_bash 'imghist --the'
  grep -qF 'compopt -o nospace' compopt
}

@test "completion: bash where = does not separate words" {
  "$IMGHIST" --completion=bash >completion
  run bash --norc -c 'compopt() { :; }; . ./completion; COMP_WORDS=(imghist --theme=d) COMP_CWORD=1; _imghist; echo "${COMPREPLY[@]}"'
  assert_output --theme=dark
}

@test "completion: fish" {
  command -v fish >/dev/null || skip "no fish here"
  export HOME=$PWD
  "$IMGHIST" --completion=fish >completion
  fish -n completion
  dot photo.pgm
  offers() { fish --no-config -c 'source completion; complete -C "$argv[1]"' "$1" | cut -f1 | sort | paste -sd' '; }
  [ "$(offers 'imghist --the')" = --theme ] || fail "$(offers 'imghist --the')"
  [ "$(offers 'imghist --theme ')" = "dark light" ]
  [ "$(offers 'imghist --csv=')" = "--csv=bins --csv=channels --csv=images --csv=long --csv=stats" ]
  [ "$(offers 'imghist -o ph')" = photo.pgm ]
  [ "$(offers 'imghist ph')" = photo.pgm ]
  [ "$(offers 'imghist --max-pixels ')" = "" ]
  [ "$(fish --no-config -c 'source completion; complete -C "imghist --"' | wc -l)" -ge "$(long_options | wc -l)" ]
}

@test "completion: zsh" {
  command -v zsh >/dev/null || skip "no zsh here"
  "$IMGHIST" --completion=zsh >completion
  zsh -n completion
  cat >drive <<'END'
zmodload zsh/zpty || exit 77
zpty z zsh -f -i
zpty -w z 'PS1=; autoload -Uz compinit; compinit -D -u; source ./completion; echo re''ady'
zpty -r -m z out '*ready*' || exit 1
zpty -w -n z $1$'\t'
zpty -r -m z out "*$2*" || exit 1
zpty -d z
END
  # the terminal echoes what is typed, so the expected words are not part of it
  for test in 'imghist --them|theme=' 'imghist --theme=l|light' 'imghist --ver|version' 'imghist --csv=s|tats' \
    'imghist -o comple|completion'; do
    HOME=$PWD timeout 20 zsh -f ./drive "${test%|*}" "${test#*|}" || {
      [ $? -ne 77 ] || skip "no zpty here"
      fail "${test%|*} does not become ${test#*|}"
    }
  done
}
