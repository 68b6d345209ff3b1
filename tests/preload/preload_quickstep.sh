#!/usr/bin/env bash
# preload_quickstep.sh - quickstep=step: a program that calls dWorldQuickStep gets dWorldStep and
# with it our solver; unless that is asked for, its step is the one that it always was.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

host=$hosts/host_scene
[ -x "$host" ] || skip "no program $host"
redirected="dWorldQuickStep calls made dWorldStep"

for kind in tower boxes ragdoll vehicles; do
  scene=("$kind" cfm=1e-5 steps=60)
  plain "$kind-step" "$host" "${scene[@]}"
  plain "$kind-quick" "$host" "${scene[@]}" quick=20
  if [ "$(out "$kind-step")" = "$(out "$kind-quick")" ]; then
    not_ok "$kind: the two steps differ"
  fi

  swapped "$kind-off" stats=1 "$host" "${scene[@]}" quick=20
  is "$kind: off, no bit changes" "$(out "$kind-quick")" "$(out "$kind-off")"
  is "$kind: off, nothing to say" "$(err "$kind-quick")" "$(err "$kind-off")"

  swapped "$kind-on" quickstep=step,stats=1 "$host" "${scene[@]}" quick=20
  swapped "$kind-ours" - "$host" "${scene[@]}"
  is "$kind: on, the bits of dWorldStep" "$(out "$kind-ours")" "$(out "$kind-on")"
  is "$kind: every step is counted" 60 "$(counted "$kind-on" "$redirected")"
  less "$kind: the solver is asked" 0 "$(counted "$kind-on" calls)"

  swapped "$kind-upstream" quickstep=step,solver=upstream "$host" "${scene[@]}" quick=20
  is "$kind: on, solver=upstream is the engine's dWorldStep" "$(out "$kind-step")" \
    "$(out "$kind-upstream")"

  swapped "$kind-never" quickstep=step,stats=1 "$host" "${scene[@]}"
  is "$kind: dWorldStep itself is not counted" 0 "$(counted "$kind-never" "$redirected")"
done

# Flying bodies have no rows, and yet their steps are redirected.
swapped flying quickstep=step,stats=1 "$host" spheres steps=1 quick=20
is "without contacts: counted all the same" 1 "$(counted flying "$redirected")"

# A libode that was opened with RTLD_LOCAL.
script=${abs_top_srcdir:-.}/tests/preload/pyode_scene.py
if python_with ode; then
  plain python-step "$python" "$script" 60
  plain python-quick "$python" "$script" 60 quick
  swapped python-off - "$python" "$script" 60 quick
  is "python: off, no bit changes" "$(out python-quick)" "$(out python-off)"
  swapped python-on quickstep=step,solver=upstream "$python" "$script" 60 quick
  is "python: on, the engine's dWorldStep" "$(out python-step)" "$(out python-on)"
else
  echo "not tested: python3 cannot import ode (package python3-pyode)"
fi

finish
