# common.sh - what the tests of DART and Bullet share.  Sourced, never run.
#
# Each scene of an engine's program is judged by mechanics (its exit status), and its poses are held
# against the engine's own solver.  The same judge must find a solver that returns zeros out.
# shellcheck shell=bash disable=SC2154
. "$(dirname "${BASH_SOURCE[0]}")/../preload/common.sh"

zeros=$folder/zeros.so
"${CC:-cc}" -shared -fPIC -o "$zeros" "${abs_top_srcdir:-.}/tests/engines/zeros.c" ||
  skip "cannot make a shared object with ${CC:-cc}"

# fallbacks NAME: how often the engine went to its next solver in run
# NAME; nothing if it cannot tell.
fallbacks() { awk '$1 == "fallbacks" { print $2 }' "$folder/$1.out"; }

# doctor WHAT PROGRAM: lcplug doctor sees that the swap takes effect, and in which engine.
doctor() {
  run doctor env LCPLUG_PRELOAD="$preload" "$top/tools/lcplug" doctor "$2"
  is "doctor on a program of $1: the swap takes effect" 0 "$(status doctor)"
  has "doctor names the engine" "of $1 precision" "$(out doctor)"
}

# physics NAME: the run ended, and what it measured is right.
physics() { is "$1: as mechanics says" 0 "$(status "$1")"; }

# scene LABEL LIMIT COMMAND...: all checks of one scene; LIMIT: how far the poses may be from those
# of the engine's own solver, "-" for scenes that part by rounding.
scene() {
  local label=$1 limit=$2
  shift 2
  plain "$label-plain" "$@"
  physics "$label-plain"

  swapped "$label-swapped" stats=1 "$@"
  physics "$label-swapped"
  less "$label: swap is hit" 0 "$(counted "$label-swapped" calls)"
  is "$label: every problem is solved" "$(counted "$label-swapped" calls)" \
    "$(counted "$label-swapped" "solved by lcplug to the tolerance")"
  if [ "$limit" != - ]; then
    less "$label: close to the engine's own solver" "$(apart "$label-plain" "$label-swapped")" \
      "$limit"
  fi
  swapped "$label-again" - "$@"
  is "$label: twice the same bits, and silent" "$(out "$label-swapped")" \
    "$(out "$label-again")$(err "$label-again")"

  swapped "$label-upstream" solver=upstream "$@"
  is "$label: solver=upstream changes no bit" "$(out "$label-plain")" "$(out "$label-upstream")"
  run "$label-audited" env LCPLUG_PRELOAD="$preload" "$top/tools/lcplug" audit "$@"
  is "$label: lcplug audit changes no bit" "$(out "$label-plain")" "$(out "$label-audited")"
  has "$label: lcplug audit has a verdict" "lcplug" \
    "$(tail -n 1 "$folder/$label-audited.err" | grep upstream)"
  run "$label-shadowed" env LCPLUG_PRELOAD="$preload" "$top/tools/lcplug" audit --return lcplug "$@"
  is "$label: lcplug audit --return lcplug is lcplug run" "$(out "$label-swapped")" \
    "$(out "$label-shadowed")"
  swapped "$label-coulomb" friction=coulomb "$@"
  physics "$label-coulomb"

  # One sweep cannot meet a tight tolerance: upstream is asked, and what it
  # gives up goes to the engine.
  swapped "$label-misses" solver=pgs,max_iter=1,tol=1e-14,fallback=upstream,stats=1 "$@"
  physics "$label-misses"
  run "$label-zeros" env LD_PRELOAD="$zeros" "$@"
  is "$label: a solver that returns zeros is found out" 1 "$(status "$label-zeros")"

  if [ -z "$(fallbacks "$label-plain")" ]; then return; fi
  is "$label: the engine needs no other solver" 0 "$(fallbacks "$label-swapped")"
  is "$label: what nobody solves goes to the engine's next solver" \
    "$(counted "$label-misses" "left to the engine's next solver")" "$(fallbacks "$label-misses")"
  run "$label-false" env ZEROS=false LD_PRELOAD="$zeros" "$@"
  less "$label: told false, the engine helps itself" 0 "$(fallbacks "$label-false")"
}
