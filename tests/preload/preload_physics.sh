#!/usr/bin/env bash
# preload_physics.sh - an unmodified ODE program whose box slides as Coulomb says, in any direction.
#
# tests/physics proves more, but calls the library; here the whole way through the preload object is
# taken.  A box at 3 m/s loses mu g t: after 0.4 s it has 1.038 m/s.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

host=$top/bench/demo_scene
[ -x "$host" ] || skip "no program $host"

last_speed() { out "$1" | awk '$1 == "step" { speed = $3 } END { print speed }'; }
off_coulomb() { last_speed "$1" | awk '{ off = $1 / 1.038 - 1; print off < 0 ? -off : off }'; }

for angle in $(seq 0 5 90); do
  swapped "coulomb-$angle" friction=coulomb "$host" slider "$angle"
  less "coulomb, $angle degrees: 1.038 m/s within 1 %" "$(off_coulomb "coulomb-$angle")" 0.01
done

# The same program, so that the test above can be seen to fail.
plain upstream "$host" slider 45
less "upstream, 45 degrees: too slow" "$(last_speed upstream)" 0.5
finish
