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

finish
