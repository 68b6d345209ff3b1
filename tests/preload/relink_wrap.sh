#!/usr/bin/env bash
# relink_wrap.sh - doc/relink.md, second recipe: static libode.a, upstream kept by --wrap.
# shellcheck source-path=SCRIPTDIR source=relink_common.sh
. "$(dirname "$0")/relink_common.sh"

[ -n "$ode_static" ] || skip "configure found no static libode.a"
[ -f "$folder/pkglib/liblcplug-wrap.a" ] || skip "no liblcplug-wrap.a in $top"
build "Static libode, with upstream as the fallback"
is "libode is inside the program" "" "$(ldd "$folder/app" | grep libode)"
check_swap
check_upstream

# A program that calls dWorldQuickStep, with that wrapped too.
# shellcheck disable=SC2086
$cc $ode_cflags -DdWorldStep=dWorldQuickStep -o "$folder/app" "$folder/app.c" \
  -Wl,--wrap=_Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi -Wl,--wrap=dWorldQuickStep \
  $ode_static "$folder/pkglib/liblcplug-wrap.a" -lpthread -ldl -lm >"$folder/link.out" 2>&1 ||
  not_ok "dWorldQuickStep can be wrapped" "$(cat "$folder/link.out")"
relinked quick stats=1
is "dWorldQuickStep stays unless told otherwise" 0 "$(counted quick calls)"
relinked redirected quickstep=step,solver=upstream,stats=1
is "quickstep=step is dWorldStep" "$(out plain)" "$(out redirected)"
is "and counted" 60 "$(counted redirected "dWorldQuickStep calls made dWorldStep")"

finish
