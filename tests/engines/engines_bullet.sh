#!/usr/bin/env bash
# engines_bullet.sh - Bullet's Dantzig solver replaced, in both precisions.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

for precision in double single; do
  program=$top/tests/engines/bullet_scene_$precision
  [ -x "$program" ] || skip "no Bullet was found by configure, or the build is sanitized"
  rounding=$([ $precision = double ] && echo 1e-6 || echo 1e-3)
  doctor "Bullet, $precision" "$program"
  # Four contacts under one box are redundant: which of their equal answers
  # is taken decides the torque.
  scene "$precision-slope" 1e-3 "$program" slope
  scene "$precision-chain" "$rounding" "$program" chain 90
  scene "$precision-motor" "$rounding" "$program" motor
  # Upstream gives up on half of the tower's steps, and the engine's
  # impulses then leave other forces.
  scene "$precision-tower" 1e-2 "$program" tower
  scene "$precision-pile" - "$program" pile
done

finish
