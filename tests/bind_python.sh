#!/usr/bin/env bash
# bind_python.sh - the library is easy to bind: no callback is asked for, and Python's ctypes solves
# a problem with it (bind_python.py).
set -u
unset LCPLUG LD_PRELOAD

top=${abs_top_builddir:-$PWD}
source=${abs_top_srcdir:-.}
library=$top/.libs/liblcplug.so

skip() {
  echo "skipped: $1"
  exit 77
}

headers=$source/include/lcplug
if grep -nE '\(\*[a-z_]*\) *\(' "$headers"/*.h; then
  echo "not ok - the headers ask for a callback"
  exit 1
fi
echo "ok - no callbacks"

command -v python3 >/dev/null || skip "no python3"
python3 -c 'import ctypes' 2>/dev/null || skip "this python3 has no ctypes"
[ -f "$library" ] || skip "no shared library at $library"
if grep -qaE '__(asan|tsan)_init' "$library"; then
  skip "a sanitized library cannot be loaded into a program that is not"
fi
exec python3 "$source/tests/bind_python.py" "$library"
