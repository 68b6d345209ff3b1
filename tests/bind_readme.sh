#!/usr/bin/env bash
# bind_readme.sh - the C programs in README.md compile as they stand there; the first one solves.
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

# program NUMBER: that block of C in the page, without its #include.
program() {
  awk -v number="$1" '/^```c$/ { count++; inside = count == number; next } /^```$/ { inside = 0 }
    inside && !/^#include/' "$source/README.md"
}

# The first program.  One contact that presses with 3, and one that is open.
{
  cat <<'TEXT'
#include <lcplug/lcplug.h>
#include <stdio.h>
int main(void) {
  enum { n = 2 };
  double A[] = {1, 0, 0, 1}, b[] = {3, -1}, lo[] = {0, 0}, hi[] = {1e9, 1e9}, x[n];
TEXT
  program 1
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

# The second one is a time step that the caller has prepared: it compiles.
{
  cat <<'TEXT'
#include <lcplug/native.h>
void step(lcplug_system system, lcplug_workspace *workspace, lcplug_settings settings,
          lcplug_solution solution, lcplug_info info, int row, int bodies, lcplug_pose *pose,
          const double *normal, const double *lever1, const double *lever2, double *jacobian,
          double *velocity, const double *force, double h, const double *bias, double *b,
          double *x);
void step(lcplug_system system, lcplug_workspace *workspace, lcplug_settings settings,
          lcplug_solution solution, lcplug_info info, int row, int bodies, lcplug_pose *pose,
          const double *normal, const double *lever1, const double *lever2, double *jacobian,
          double *velocity, const double *force, double h, const double *bias, double *b,
          double *x) {
TEXT
  program 2
  echo '}'
} >"$folder/native.c"
grep -q lcplug_move_bodies "$folder/native.c" ||
  { echo "not ok - the page has a time step"; exit 1; }
# shellcheck disable=SC2086
$compiler -Wall -Wextra -Werror -I"$source/include" -c -o "$folder/native.o" "$folder/native.c" ||
  { echo "not ok - the time step compiles"; exit 1; }
echo "ok - the time step compiles"

answer=$("$folder/readme")
echo "$answer"
case $answer in
  "solved, residual "*"
3 0") echo "ok - it solves" ;;
  *) echo "not ok - it solves"; exit 1 ;;
esac
