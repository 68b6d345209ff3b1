#!/usr/bin/env bash
# preload_testlcp.sh - ODE's own solver test, dTestSolveLCP, on our solvers: w is asked for, nub is
# 50, and zeros are expected to be zeros.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

host=$hosts/host_testlcp
[ -x "$host" ] || skip "no program $host"

# passes RUN: 1000 problems, each reported as passed.
passes() {
  if [ "$(status "$1")" = 0 ]; then ok "$1: exit status"; else
    not_ok "$1: exit status $(status "$1")" "$(err "$1")"
  fi
  is "$1: problems passed" 1000 "$(grep -c '^passed:' "$folder/$1.out")"
}

plain plain "$host"
passes plain
# How many forces end at which bound is decided by the problem; only the times differ.
expected=$(out plain | sed 's/time=.*//')

# A matrix A A' of random numbers has no good condition: pgs and apgd need a fallback to be exact.
for settings in - solver=auto solver=exact solver=upstream \
  solver=pgs,tol=1e-13,max_iter=20,fallback=exact \
  solver=apgd,tol=1e-13,max_iter=20,fallback=exact; do
  name=${settings%%,*}
  [ "$name" != - ] || name="unset"
  swapped "$name" "$settings" "$host"
  passes "$name"
  is "$name: the same forces at the same bounds" "$expected" "$(out "$name" | sed 's/time=.*//')"
  is "$name: silent" "" "$(err "$name")"
done

swapped counted stats=1 "$host"
is "every problem came to us" 1000 "$(counted counted calls)"
is "and was solved here" 1000 "$(counted counted "solved by lcplug to the tolerance")"

finish
