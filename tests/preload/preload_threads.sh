#!/usr/bin/env bash
# preload_threads.sh - worlds in several threads, a pool for islands, threads that come and go, a
# fork in the middle, and a host with a floating-point environment of its own.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

host=$hosts/host_threads
[ -x "$host" ] || skip "no program $host"

# ---- threads --------------------------------------------------------------------------------

for solver in auto exact pgs apgd upstream; do
  swapped "serial-$solver" "solver=$solver" "$host" serial
  is "$solver: serial exit status" 0 "$(status "serial-$solver")"
  # Twice: a race shows by luck.
  for round in 1 2; do
    run=worlds-$solver-$round
    swapped "$run" "solver=$solver,stats=1" "$host" worlds
    is "$run: exit status" 0 "$(status "$run")"
    is "$run: the bits of one thread" "$(out "serial-$solver")" "$(out "$run")"
    less "$run: swap is hit" 0 "$(counted "$run" calls)"
  done
  # The summary adds up what all threads did, those that ended, too.
  is "$solver: two runs count the same calls" "$(counted "worlds-$solver-1" calls)" \
    "$(counted "worlds-$solver-2" calls)"

  swapped "pool-$solver" "solver=$solver,stats=1" "$host" pool
  is "pool-$solver: exit status" 0 "$(status "pool-$solver")"
  less "pool-$solver: swap is hit" 0 "$(counted "pool-$solver" calls)"
done
plain serial "$host" serial
is "solver=upstream in threads changes no bit" "$(out serial)" "$(out worlds-upstream-1)"

# A workspace that stays behind would cost some ten KiB for each of 320 threads.
plain waves "$host" waves
allowed=$(awk '/^grew/ { print ($2 > 0 ? $2 : 0) + 2048 }' "$folder/waves.out")
for solver in auto pgs apgd; do
  swapped "waves-$solver" "solver=$solver" "$host" waves
  is "waves-$solver: exit status" 0 "$(status "waves-$solver")"
  less "waves-$solver: memory is given back (KiB)" \
    "$(awk '/^grew/ { print $2 }' "$folder/waves-$solver.out")" "$allowed"
done

# ---- fork -----------------------------------------------------------------------------------

for solver in auto exact pgs apgd upstream; do
  run=fork-$solver
  swapped "$run" "solver=$solver,stats=1" "$host" fork
  is "$run: exit status" 0 "$(status "$run")"
  child=$(out "$run" | sed -n '/^child/,/^parent/p' | grep '^body')
  less "$run: the child has bodies" 0 "$(printf '%s\n' "$child" | grep -c .)"
  is "$run: child and parent go on alike" "$child" \
    "$(out "$run" | sed -n '/^parent/,$p' | grep '^body')"
  is "$run: each process has its summary" 2 "$(grep -c '^lcplug: .* calls$' "$folder/$run.err")"
done

# ---- the host's floating-point environment --------------------------------------------------

host=$hosts/host_fenv
if [ -n "${VALGRIND:-}" ]; then
  echo "not tested: floating-point traps, which valgrind does not emulate"
  finish
fi
for solver in auto exact pgs apgd; do
  swapped "quiet-$solver" "solver=$solver" "$host" quiet
  is "quiet-$solver: exit status" 0 "$(status "quiet-$solver")"
  for precision in double single; do
    has "quiet-$solver: $precision" "$precision" "$(out "quiet-$solver")"
  done
  for settings in "solver=$solver" "solver=$solver,stats=1"; do
    swapped hostile "$settings" "$host" hostile
    if [ "$(status hostile)" = 0 ]; then
      ok "$settings: no trap, and the host's environment is kept, flags included"
    else
      not_ok "$settings: no trap, and the host's environment is kept, flags included" \
        "$(err hostile)"
    fi
    for precision in double single; do
      is "$settings: the environment changes no bit in $precision" \
        "$(out "quiet-$solver" | grep "^$precision")" "$(out hostile | grep "^$precision")"
    done
  done
done

# ODE itself under traps: where upstream's run survives them, ours does,
# with the same bits as without.
plain scene-traps "$host" scene traps
if [ "$(status scene-traps)" = 0 ]; then
  for solver in auto exact pgs apgd; do
    swapped scene "solver=$solver" "$host" scene
    swapped scene-traps "solver=$solver" "$host" scene traps
    is "$solver: a scene under traps, exit status" 0 "$(status scene-traps)"
    is "$solver: a scene under traps, same bits" "$(out scene)" "$(out scene-traps)"
  done
else
  echo "not tested: a scene under traps, as ODE's own arithmetic traps here"
fi

finish
