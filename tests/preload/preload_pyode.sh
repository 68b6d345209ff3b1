#!/usr/bin/env bash
# preload_pyode.sh - a Python program on python3-pyode, which opens libode with RTLD_LOCAL: upstream
# is then not the "next" definition, and must be found all the same.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

python_with ode || skip "no python3 here can import ode (package python3-pyode)"
script=${abs_top_srcdir:-.}/tests/preload/pyode_scene.py

plain plain "$python" "$script"
is "plain: exit status" 0 "$(status plain)"

# To the bit: with the answer judged (stats=1) and handed through unseen.
swapped upstream solver=upstream "$python" "$script"
is "solver=upstream changes no bit" "$(out plain)" "$(out upstream)"
is "solver=upstream: silent" "$(err plain)" "$(err upstream)"
swapped judged solver=upstream,stats=1 "$python" "$script"
is "solver=upstream,stats=1 changes no bit" "$(out plain)" "$(out judged)"
less "upstream was found" 0 "$(counted judged "answered by upstream")"
is "every call went to it" "$(counted judged calls)" "$(counted judged "answered by upstream")"

swapped unset - "$python" "$script"
is "unset: exit status" 0 "$(status unset)"
is "unset: silent" "" "$(err unset)"
close_to_upstream swapped "$python" "$script"
is "unset is auto" "$(out auto)" "$(out unset)"

# One sweep cannot meet a tight tolerance: every call falls back on upstream.
swapped fallback solver=pgs,max_iter=1,tol=1e-14,fallback=upstream,stats=1 "$python" "$script"
less "a miss asks upstream" 0 "$(counted fallback "asked upstream after a miss")"
less "fallback: close to upstream" "$(apart plain fallback)" 1e-6

finish
