#!/usr/bin/env bash
# preload_scenes.sh - an ODE program in C, run as it is and with every solver and friction model.
#
# The program's output has the poses, so it tells both that the physics stay and that nothing else
# gets into stdout.  Scenes are chaotic after a while; 20 steps with contacts are compared.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

host=$hosts/host_scene
[ -x "$host" ] || skip "no program $host"

# Small enough for a second each.  CFM 1e-5: at 1e-10 the forces of redundant contacts are unique in
# name only, and the friction bounds that follow from them differ from solver to solver.
scenes="tower:size=5 wall:size=3 pyramid:size=3 spheres:size=30 boxes:size=20 capsules:size=20
mixed:size=20 ragdoll:size=2 chain:size=2 vehicles:size=2 slider:size=1
motors:size=2 rolling:size=9"

# silent RUN: nothing of ours on stderr.
silent() {
  is "$1: silent" "" "$(grep lcplug "$folder/$1.err")"
}

# hit RUN: the swap was hit, and every call got one answer.
hit() {
  local calls
  calls=$(counted "$1" calls)
  less "$1: calls counted" 0 "$calls"
}

# same_form RUN PLAIN: stdout has the same lines but for the numbers.
same_form() {
  is "$1: stdout has the plain run's form" \
    "$(out "$2" | sed 's/-\{0,1\}[0-9][0-9.e+-]*/N/g')" \
    "$(out "$1" | sed 's/-\{0,1\}[0-9][0-9.e+-]*/N/g')"
}

compared=0
for scene in $scenes; do
  kind=${scene%%:*}
  arguments=("$kind" "${scene#*:}" cfm=1e-5 steps=150 contact_steps=20)
  plain "$kind" "$host" "${arguments[@]}"
  is "$kind: exit status" 0 "$(status "$kind")"

  # Upstream's own answers, handed through: the same bits.
  swapped "$kind-upstream" solver=upstream "$host" "${arguments[@]}"
  if cmp -s "$folder/$kind.out" "$folder/$kind-upstream.out"; then
    ok "$kind: solver=upstream changes no bit"
  else
    not_ok "$kind: solver=upstream changes no bit" \
      "$(diff "$folder/$kind.out" "$folder/$kind-upstream.out")"
  fi
  is "$kind: solver=upstream changes nothing on stderr" "$(err "$kind")" "$(err "$kind-upstream")"

  swapped "$kind-unset" - "$host" "${arguments[@]}"
  silent "$kind-unset"
  for solver in exact auto pgs apgd; do
    run=$kind-$solver
    swapped "$run" "solver=$solver,stats=1" "$host" "${arguments[@]}"
    is "$run: exit status" 0 "$(status "$run")"
    hit "$run"
    same_form "$run" "$kind"
    # Where upstream gave up, its poses are no measure.
    if grep -q 'LCP internal error' "$folder/$kind.err"; then continue; fi
    limit=1e-6
    case $solver in pgs | apgd) limit=1e-3 ;; esac # their tolerance is a budget's
    less "$run: close to upstream" "$(apart "$kind" "$run")" "$limit"
    compared=$((compared + 1))
  done
  is "$kind: unset is auto" "$(out "$kind-auto")" "$(out "$kind-unset")"
done
less "at least eight kinds of scene were compared with upstream" 31 "$compared"

# Each friction model with each solver, on scenes where friction acts.
for friction in ode pyramid cone coulomb; do
  for solver in exact auto pgs apgd; do
    for scene in boxes:size=8 ragdoll:size=1 vehicles:size=1 rolling:size=4; do
      run=${scene%%:*}-$friction-$solver
      swapped "$run" "solver=$solver,friction=$friction,stats=1" "$host" "${scene%%:*}" \
        "${scene#*:}" cfm=1e-5 steps=60
      is "$run: exit status" 0 "$(status "$run")"
      hit "$run"
      # Nothing falls through the floor or flies off.
      strayed=$(awk '/^body/ { if ($5 < low || !n++) low = $5; if ($5 > high) high = $5 }
        END { print (low < 0 || high > 10) + 0 }' "$folder/$run.out")
      is "$run: bodies stay above the floor" 0 "$strayed"
    done
  done
done

# The tower that upstream drops, at ODE's own CFM: it stands with the default solver.
swapped tower-stands - "$host" tower size=6 steps=120
top_of_tower=$(out tower-stands | awk '/^body/ && $5 > high { high = $5 } END { print high }')
less "tower: stands (upper box above 5.48 m)" 5.48 "$top_of_tower"
less "tower: stands (upper box below 5.52 m)" "$top_of_tower" 5.52

finish
