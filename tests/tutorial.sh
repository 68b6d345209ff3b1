#!/usr/bin/env bash
# tutorial.sh - runs every command of doc/tutorial.md, in order, in a scratch folder, with lcplug
# installed as the page says (into a folder of its own).
#
# A block ```text holds lines that the block of commands before it prints: each of them must be
# there, in any order, whatever its numbers and times.  "..." stands for more lines.
# shellcheck source-path=SCRIPTDIR source=preload/common.sh
. "$(dirname "$0")/preload/common.sh"

page=${abs_top_srcdir:-.}/doc/tutorial.md
[ -f "$page" ] || skip "no $page"
command -v pkg-config >/dev/null && pkg-config --exists ode || skip "no pkg-config that knows ode"
command -v gcc >/dev/null || skip "no gcc"
command -v make >/dev/null || skip "no make"

# ---- what stands for the machine of a new user ---------------------------------------------------

src=${abs_top_srcdir:-.}
# has_nothing_to_do: ./bootstrap install would only install, as after ./bootstrap check.  In another
# folder than build/, with another prefix or an older configure it would build first.
has_nothing_to_do() {
  local file
  [ "$top" -ef "$src/build" ] && [ -w /usr/local ] &&
    grep -q '^S\["prefix"\]="/usr/local"$' "$top/config.status" &&
    [ ! "$src/configure" -nt "$top/config.status" ] || return
  for file in "$src"/configure.ac "$src"/Makefile.am "$src"/*/Makefile.inc "$src"/m4/lcplug_*.m4; do
    [ ! "$file" -nt "$src/configure" ] || return
  done
}

# The clone: its bootstrap installs what was built here, under a root of its own.
mkdir -p "$folder/lcplug"
if has_nothing_to_do; then
  install="exec '$(realpath "$src")/bootstrap' install"
else
  echo "skip - ./bootstrap install, which would build again here: make install takes its place"
  install="exec make -C '$top' install"
fi
cat >"$folder/lcplug/bootstrap" <<SCRIPT
#!/bin/sh
[ "\$*" = install ] || exit 2
unset MAKEFLAGS MFLAGS MAKELEVEL
DESTDIR='$folder/root'
export DESTDIR
$install
SCRIPT
chmod +x "$folder/lcplug/bootstrap"
sudo() { "$@"; }
# The real one, told to change nothing.  A machine may know a program and not its package.
apt-get() {
  local word
  if type -P apt-get >/dev/null && command apt-get -s "$@"; then return; fi
  for word; do
    case $word in install | -*) continue ;; esac
    command -v "$word" || return 1
  done
}
# The folder where lcplug was installed, once it is.
lcplug() {
  local bin library
  bin=$(find "$folder/root" -path '*/bin/lcplug')
  library=$(dirname "$(find "$folder/root" -name 'liblcplug.so.0')")
  LD_LIBRARY_PATH=$library "$bin" "$@"
}
unset LCPLUG_PRELOAD

# ---- the page ------------------------------------------------------------------------------------

cd "$folder" || exit 1
awk '/^```/ { if (inside) { inside = 0; close(file) } else if ($0 == "```sh" || $0 == "```text") {
    inside = 1; kind = substr($0, 4); if (kind == "sh") block++
    file = sprintf("block-%02d.%s", block, kind); printf "" >file }; next }
  inside { print >file }' "$page"
less "the page has commands" 8 "$(find . -name 'block-*.sh' | grep -c .)"
is "every command of the page is in a block that is run" "" \
  "$(awk '/^```/ { fence = !fence } !fence' "$page" | grep '^    ')"

# form FILE: its lines without what differs from run to run.
form() {
  sed -E -e 's/-?[0-9][0-9,]*(\.[0-9]+)?(e[-+]?[0-9]+)?/N/g' -e 's/N (us|ms|s)\b/T/g' \
    -e 's/[[:space:]]+/ /g' -e 's/^ //; s/ $//' "$1"
}

for block in block-*.sh; do
  name=${block%.sh}
  what=$(grep -m 1 . "$block")
  # In this shell: a cd in one block holds for the next.
  wrong=
  set -E
  trap 'wrong=$BASH_COMMAND' ERR
  # shellcheck disable=SC1090
  . "$folder/$block" >"$folder/$name.out" 2>&1
  trap - ERR
  set +E
  if [ -z "$wrong" ]; then ok "$what: no command fails"; else
    not_ok "$what: $wrong" "$(cat "$folder/$name.out")"
  fi
  [ -f "$folder/$name.text" ] || continue
  form "$folder/$name.out" >"$folder/$name.form"
  form "$folder/$name.text" | grep -v -x -e '\.\.\.' -e '' | while IFS= read -r line; do
    grep -q -x -F -e "$line" "$folder/$name.form" || echo "$line"
  done >"$folder/$name.missing"
  if [ -s "$folder/$name.missing" ]; then
    not_ok "$what: output" "missing: $(cat "$folder/$name.missing")
in: $(cat "$folder/$name.out")"
  else
    ok "$what: output"
  fi
done

has "the report is a page" "lcplug audit" "$(cat "$folder/report.html")"

finish
