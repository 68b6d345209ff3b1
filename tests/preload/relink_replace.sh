#!/usr/bin/env bash
# relink_replace.sh - doc/relink.md, third recipe: static libode.a, our
# solver in place of upstream's.
# shellcheck source-path=SCRIPTDIR source=relink_common.sh
. "$(dirname "$0")/relink_common.sh"

[ -n "$ode_static" ] || skip "configure found no static libode.a"
[ -f "$folder/pkglib/liblcplug-replace.a" ] || skip "no liblcplug-replace.a in $top"
build "Static libode, without upstream"
is "libode is inside the program" "" "$(ldd "$folder/app" | grep libode)"
check_swap

# Nobody to ask: the best iterate is kept, and the program goes on.
relinked missed solver=pgs,max_iter=1,tol=1e-14,fallback=upstream,stats=1
is "a miss: exit status" 0 "$(status missed)"
kept=$(counted missed "kept although above the tolerance")
solved=$(counted missed "solved by lcplug to the tolerance")
is "a miss keeps our best iterate" "$(counted missed calls)" "$((kept + solved))"
is "upstream is not in the program" 0 "$(counted missed "answered by upstream")"
if command -v nm >/dev/null; then
  is "upstream's code is not linked" "" "$(nm "$folder/app" | grep 'N4dLCP')"
fi

finish
