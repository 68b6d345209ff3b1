#!/usr/bin/env bash
# preload_dlopen.sh - a host that opens libode with dlopen and RTLD_LOCAL, closes it and opens it
# again: the preload wins, upstream is found, and nothing dangles after the close.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

host=$hosts/host_dlopen
[ -x "$host" ] || skip "no program $host"
# The library that the linked host programs use, whatever its version is.
libode=$(ldd "$hosts/host_scene" | awk '/libode/ { print $3 }')
[ -f "$libode" ] || skip "the shared libode is not to be found"

plain plain "$host" "$libode" 3
is "plain: exit status" 0 "$(status plain)"

swapped upstream solver=upstream "$host" "$libode" 3
is "solver=upstream changes no bit" "$(out plain)" "$(out upstream)"
is "solver=upstream: silent" "" "$(err upstream)"
swapped judged solver=upstream,stats=1 "$host" "$libode" 3
is "solver=upstream,stats=1 changes no bit" "$(out plain)" "$(out judged)"
is "upstream answered every call" "$(counted judged calls)" \
  "$(counted judged "answered by upstream")"

swapped unset - "$host" "$libode" 3
is "unset: exit status" 0 "$(status unset)"
is "unset: silent" "" "$(err unset)"
close_to_upstream swapped "$host" "$libode" 3
for solver in exact auto pgs apgd; do
  # Each round builds the same scene.
  is "$solver: the second opening gives the bits of the first" \
    "$(out "$solver" | head -n 8 | cut -d ' ' -f 3-)" \
    "$(out "$solver" | sed -n 9,16p | cut -d ' ' -f 3-)"
done

# Upstream is needed in every round, after each close.
swapped fallback solver=pgs,max_iter=1,tol=1e-14,fallback=upstream,stats=1 "$host" "$libode" 3
is "fallback: exit status" 0 "$(status fallback)"
less "fallback: upstream was asked" 0 "$(counted fallback "asked upstream after a miss")"
less "fallback: close to upstream" "$(apart plain fallback)" 1e-6

finish
