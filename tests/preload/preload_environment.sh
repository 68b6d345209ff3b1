#!/usr/bin/env bash
# preload_environment.sh - LCPLUG: help, mistakes, the summary; and silence where there is no ODE.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

host=$hosts/host_scene
[ -x "$host" ] || skip "no program $host"
arguments=(boxes size=6 steps=60 cfm=1e-5)

swapped unset - "$host" "${arguments[@]}"
is "unset: exit status" 0 "$(status unset)"
is "unset: silent" "" "$(err unset)"
swapped empty "" "$host" "${arguments[@]}"
is "empty: silent" "" "$(err empty)"
is "empty is unset" "$(out unset)" "$(out empty)"

# ---- help -----------------------------------------------------------------------------------

swapped help help=1 "$host" "${arguments[@]}"
for option in solver friction tol max_iter time_limit matrix omega sweep splitting fallback \
  quickstep stats warn help; do
  if grep -q "^ *$option  *[^ ]" "$folder/help.err"; then
    ok "help lists $option"
  else
    not_ok "help lists $option" "$(err help)"
  fi
done
for value in auto pgs apgd exact upstream ode pyramid cone coulomb; do
  has "help explains $value" " $value " "$(err help)"
done
is "help changes nothing in the program" "$(out unset)" "$(out help)"

# ---- mistakes -------------------------------------------------------------------------------

# mistaken SETTINGS WORD: one line that names the word, and the defaults stay.
mistaken() {
  swapped mistake "$1" "$host" "${arguments[@]}"
  is "$1: exit status" 0 "$(status mistake)"
  is "$1: one line" 1 "$(grep -c . "$folder/mistake.err")"
  has "$1: names $2" "$2" "$(err mistake)"
  has "$1: says who speaks" "lcplug: " "$(err mistake)"
  is "$1: the defaults stay" "$(out unset)" "$(out mistake)"
}
mistaken colour=red colour
mistaken solver=gauss gauss
mistaken solver solver
mistaken "=pgs" "''"
mistaken tol=tiny tiny
mistaken tol=-1 -1
mistaken omega=2 2
mistaken max_iter=1.5 1.5
mistaken stats=2 stats
# What stands before the mistake does not count either: no stats, no pgs.
mistaken solver=pgs,stats=1,colour=red colour
mistaken "solver=pgs;stats=1" "pgs;stats=1"

# ---- the summary ----------------------------------------------------------------------------

swapped summary stats=1 "$host" "${arguments[@]}"
is "stats=1 changes nothing in the program" "$(out unset)" "$(out summary)"
is "every line says who speaks" "$(grep -c . "$folder/summary.err")" \
  "$(grep -c '^lcplug: ' "$folder/summary.err")"
# line WHAT PATTERN: exactly one line of the summary is like that.
line() {
  if [ "$(grep -Ec "^lcplug: $2\$" "$folder/summary.err")" = 1 ]; then
    ok "summary: $1"
  else
    not_ok "summary: $1" "$(err summary)"
  fi
}
number='[0-9.]+(e[+-][0-9]+)?'
line sizes "rows +mean $number  least [0-9]+  most [0-9]+"
line "who solved" "solver +.*(auto|exact|pgs|apgd) [0-9]+.*"
line residuals "residual +median $number  worst $number"
line time "time +$number s  $number us per call"
line calls " *[0-9]+ calls"
line "upstream's errors" " *[0-9]+ upstream errors met"
line fallbacks " *[0-9]+ asked upstream after a miss"
less "residuals: the worst meets the tolerance" \
  "$(awk '/lcplug: residual/ { print $6 }' "$folder/summary.err")" 1.01e-10

# Upstream's failures are counted when it is asked.
swapped errors solver=upstream,stats=1 "$host" tower size=6 steps=60
is "as many upstream errors as upstream's own messages" \
  "$(grep -c 'LCP internal error' "$folder/errors.err")" "$(counted errors "upstream errors met")"
less "the tower shows some" 0 "$(counted errors "upstream errors met")"

# A friction cone relaxes non-penetration; the summary says by how much.
swapped summary friction=cone,stats=1 "$host" slider steps=20
line "gap of friction=cone" "gap +worst $number"

# Exact takes cones as it takes boxes.
swapped summary solver=exact,friction=coulomb,stats=1 "$host" slider steps=20
line "exact solves cones" "solver +exact [0-9]+"

# stderr may be closed.
env LCPLUG=stats=1,help=1 LD_PRELOAD="$preload" "$host" "${arguments[@]}" >"$folder/closed.out" 2>&-
is "stderr closed: exit status" 0 $?
is "stderr closed: nothing lands in stdout" "$(out unset)" "$(out closed)"

# ---- without ODE ----------------------------------------------------------------------------

for settings in - stats=1 help=1 stats=1,help=1 solver=nonsense,colour=red; do
  swapped true "$settings" /bin/true
  is "/bin/true with $settings: silent" "" "$(out true)$(err true)"
  swapped shell "$settings" sh -c 'echo a; /bin/true; echo b'
  is "sh with $settings: its own output" "a
b" "$(out shell)$(err shell)"
done

finish
