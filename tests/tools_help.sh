#!/bin/bash
# tools_help.sh - help, manual pages and shell completion come from one table: every command and
# every option stands in all of them, and the pages that make installs are those of the table.

. "${abs_top_srcdir:-$(pwd)}/tests/tools_common.sh" || exit 1

commands=$("$bin" help | sed -n 's/^  lcplug \([a-z]*\).*/\1/p')
for command in audit capture compare convert doctor replay run solve; do
  has "the list of commands has $command" "$command" "$commands"
done

# options COMMAND: its long options, by its help.
options() { "$bin" help "$1" | sed -n 's/^  --\([a-z_-]*\).*/\1/p'; }

has "options are found in the help" solver "$(options run)"

source <("$bin" help --completion)
# completes WHAT EXPECTED WORD...: the last word is the one that is completed.
completes() {
  what=$1 expected=$2
  shift 2
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _lcplug
  has "$what" " $expected " " ${COMPREPLY[*]} "
}

main_page=$(sed 's/\\-/-/g' "$src/doc/lcplug.1")
for command in $commands; do
  completes "completion knows $command" "$command" lcplug "${command:0:2}"
  has "lcplug(1) names the page of $command" "lcplug-$command (1)" "$main_page"
  page=$top/doc/lcplug-$command.1
  is "make has made the page of $command" yes "$([ -f "$page" ] && echo yes)"
  is "the page of $command is that of the table" "$("$bin" help --man "$command")" "$(cat "$page")"
  text=$(sed 's/\\-/-/g; s/\\f.//g' "$page")
  for option in $(options "$command"); do
    has "the page of $command names --$option" "--$option" "$text"
    completes "completion of $command knows --$option" "--$option" lcplug "$command" "--$option"
  done
  if command -v groff >/dev/null; then
    is "groff finds nothing wrong in the page of $command" "" "$(groff -man -ww -z "$page" 2>&1)"
  fi
done
command -v groff >/dev/null || echo "skip - groff is not installed, so no page was formatted"

completes "values are completed" coulomb lcplug solve --friction co
completes "behind an equals sign, too" pgs lcplug solve --solver = p
for option in $(options run); do has "lcplug(1) names --$option" "--$option" "$main_page"; done

is "a command of no name has no page" 2 "$("$bin" help --man nonsense >/dev/null 2>&1; echo $?)"
prefix=$folder/prefix
if [ -f "$top/Makefile" ] && command -v make >/dev/null; then
  make -C "$top" --no-print-directory -s install-data DESTDIR="$prefix" >"$folder/log" 2>&1
  is "make install-data succeeds" 0 $?
  is "make install brings the completion" 1 \
    "$(find "$prefix" -path '*bash-completion/completions/lcplug' | wc -l)"
  is "make install brings the pages" 1 "$(find "$prefix" -name 'lcplug-solve.1' | wc -l)"
else
  echo "skip - nothing to install from: no Makefile, or no make"
fi
finish
