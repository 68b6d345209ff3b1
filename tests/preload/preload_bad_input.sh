#!/usr/bin/env bash
# preload_bad_input.sh - NaN, infinities, crossed bounds, wild indices through the ABI,
# where no error can be returned: never a crash, never a number that is none,
# upstream's answer where that is one.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

host=$hosts/host_bad_input
[ -x "$host" ] || skip "no program $host"

# What lcplug refuses to solve: the summary counts it, and upstream gets the call if it
# can survive it. The others have an answer: an interval without zero, friction on
# friction, a row that nothing moves.
refused=" nan_in_A infinity_in_A nan_in_b infinity_in_b nan_in_lo nan_in_hi nan_for_mu lo_above_hi \
lo_at_plus_infinity findex_out_of_range findex_largest findex_to_itself \
negative_diagonal negative_n "
# What upstream reads beyond its arrays for is an answer by luck.
lucky=" findex_out_of_range findex_largest "

for case in $("$host"); do
  plain plain "$host" "$case"
  for solver in auto exact pgs apgd; do
    name=$case-$solver
    swapped swapped "solver=$solver,stats=1" "$host" "$case"
    if [ "$(status swapped)" = 0 ]; then
      ok "$name: finite forces"
    else
      not_ok "$name: exit status $(status swapped) (3: not finite)" "$(err swapped; out swapped)"
    fi
    if [[ $refused != *" $case "* ]]; then
      is "$name: not refused" 0 "$(counted swapped "refused input")"
      continue
    fi
    is "$name: counted as refused" 1 "$(counted swapped "refused input")"
    if [ "$(status plain)" = 0 ] && [[ $lucky != *" $case "* ]]; then
      is "$name: upstream's answer" "$(out plain)" "$(out swapped)"
    fi
  done
  # A miss asks upstream, which ends the process on bounds that do not enclose 0, even where it
  # ignores them: it must not be asked then.
  swapped missed solver=pgs,max_iter=1,tol=1e-15,fallback=upstream,stats=1 "$host" "$case"
  if [ "$(status missed)" = 0 ]; then ok "$case: survives a fallback"; else
    not_ok "$case: survives a fallback, exit status $(status missed)" "$(err missed)"
  fi
  # Who names upstream gets upstream, and its finite answers bit by bit.
  swapped swapped solver=upstream "$host" "$case"
  if [ "$(status plain)" = 0 ] && [[ $lucky != *" $case "* ]]; then
    is "$case-upstream: upstream's answer" "$(out plain)" "$(out swapped)"
  elif [ "$(status swapped)" = 3 ]; then
    not_ok "$case-upstream: not finite" "$(out swapped)"
  fi
  # Unless asked, not a word of ours.
  swapped silent - "$host" "$case"
  if grep -q lcplug "$folder/silent.err"; then not_ok "$case: silent" "$(err silent)"; fi
done

# Asked, one line for each warning and no more than asked for.
swapped warned warn=1 "$host" nan_in_b
is "warn=1: one line" 1 "$(grep -c '^lcplug: ' "$folder/warned.err")"
has "warn=1: says what is wrong" "A or b holds a NaN or an infinity" "$(err warned)"

finish
