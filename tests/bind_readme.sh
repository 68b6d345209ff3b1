#!/usr/bin/env bash
# bind_readme.sh - the C program in README.md compiles as it stands there, and solves.
set -u
unset LCPLUG LD_PRELOAD

top=${abs_top_builddir:-$PWD}
source=${abs_top_srcdir:-.}
# May be more than one word.
compiler=${CC:-cc}

skip() {
  echo "skipped: $1"
  exit 77
}

[ -f "$top/.libs/liblcplug.so" ] || skip "no shared library in $top/.libs"
if grep -qaE '__(asan|tsan)_init' "$top/.libs/liblcplug.so"; then
  skip "a program that is not sanitized cannot be linked with a library that is"
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# The first program of several.  One contact that presses with 3, and one that is open.
{
  cat <<'TEXT'
#include <lcplug/lcplug.h>
#include <stdio.h>
int main(void) {
  enum { n = 2 };
  double A[] = {1, 0, 0, 1}, b[] = {3, -1}, lo[] = {0, 0}, hi[] = {1e9, 1e9}, x[n];
TEXT
  # shellcheck disable=SC2016
  sed -n '/^```c$/,/^```$/p; /^```$/q' "$source/README.md" | grep -v '^```'
  cat <<'TEXT'
printf("%g %g\n", x[0], x[1]);
lcplug_workspace_free(workspace);
return 0;
}
TEXT
} >"$folder/readme.c"

# shellcheck disable=SC2086
$compiler -Wall -Wextra -Werror -I"$source/include" -o "$folder/readme" "$folder/readme.c" \
  -L"$top/.libs" -Wl,-rpath,"$top/.libs" -llcplug -lm || { echo "not ok - it compiles"; exit 1; }
echo "ok - it compiles"
answer=$("$folder/readme")
echo "$answer"
case $answer in
  "solved, residual "*"
3 0") echo "ok - it solves" ;;
  *) echo "not ok - it solves"; exit 1 ;;
esac
