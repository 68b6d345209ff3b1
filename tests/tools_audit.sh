#!/usr/bin/env bash
# tools_audit.sh - `lcplug audit` lets both solvers solve, hands out the one that was asked for to
# the bit, counts what happened, and says so whatever the end of the program.
# shellcheck source-path=SCRIPTDIR source=witness_common.sh
. "$(dirname "$0")/witness_common.sh"

audited() {
  local name=$1
  shift
  run "$name" "$lcplug" audit "$@"
}

# The last words: who is faster, who failed.
verdict() { grep '^lcplug is ' "$folder/$1.err"; }
# What ODE itself says.
messages() { grep -c 'LCP internal error' "$folder/$1.err"; }
# calls NAME: the number of calls in the summary.
calls() { sed -n 's/^\([0-9,]*\) calls with .*/\1/p' "$folder/$1.err" | tr -d ,; }
# failed NAME: "UPSTREAM LCPLUG"
failed() { awk '/^failed calls/ { gsub(",", ""); print $3, $4 }' "$folder/$1.err"; }

# ---- bits and counts -----------------------------------------------------------------------------

for scene in tower:size=6 wall:size=3 boxes:size=20 ragdoll:size=2 motors:size=2; do
  kind=${scene%%:*}
  arguments=("$kind" "${scene#*:}" steps=60)
  plain "$kind-plain" "$host" "${arguments[@]}"
  audited "$kind" "$host" "${arguments[@]}"
  same "$kind" "$kind-plain"
  is "$kind: upstream says what it always says" "$(messages "$kind-plain")" "$(messages "$kind")"
  # The plug by itself: the same calls if the same bits come back, and those are its own here.
  run "$kind-run" "$lcplug" run --stats "$host" "${arguments[@]}"
  audited "$kind-lcplug" --return lcplug -- "$host" "${arguments[@]}"
  same "$kind-lcplug" "$kind-run"
  is "$kind-lcplug: every call is in the summary" "$(counted "$kind-run" calls)" \
    "$(calls "$kind-lcplug")"
done

# The tower on which upstream gives up: each message is a failed call, and lcplug has none.
is "tower: failed calls" "$(messages tower-plain) 0" "$(failed tower)"
has "tower: the verdict" \
  "upstream failed on $(messages tower-plain) of $(calls tower) calls, lcplug on none" \
  "$(verdict tower)"
has "boxes: the verdict" "both solved all $(calls boxes) calls" "$(verdict boxes)"

# Settings reach lcplug's side only: the run stays as it was.
audited pgs --solver pgs --max-iter 3 --friction coulomb -- "$host" tower size=6 steps=60
same pgs tower-plain
read -r upstream_failed lcplug_failed <<<"$(failed pgs)"
is "pgs with three sweeps: upstream is judged as before" "$(messages tower-plain)" \
  "$upstream_failed"
less "pgs with three sweeps fails" 0 "$lcplug_failed"

if python_with ode; then
  script=${abs_top_srcdir:-.}/tests/preload/pyode_scene.py
  plain python-plain "$python" "$script"
  audited python "$python" "$script"
  same python python-plain
  has "python: a verdict" "lcplug is " "$(verdict python)"
else
  echo "skip - no python3 here can import ode (package python3-pyode)"
fi

for mode in "scene traps" "scene"; do
  # shellcheck disable=SC2086
  plain fenv-plain "$hosts/host_fenv" $mode
  # shellcheck disable=SC2086
  audited fenv "$hosts/host_fenv" $mode
  same fenv fenv-plain
done

# ---- threads and processes -----------------------------------------------------------------------

plain worlds-plain "$hosts/host_threads" worlds
audited worlds "$hosts/host_threads" worlds
same worlds worlds-plain
audited serial "$hosts/host_threads" serial
is "worlds: as many calls as one by one" "$(calls serial)" "$(calls worlds)"
plain fork-plain "$hosts/host_threads" fork
audited fork "$hosts/host_threads" fork
same fork fork-plain
has "fork: both processes are there" "in 2 processes" "$(err fork)"
audited waves "$hosts/host_threads" waves
less "waves: memory stays (KiB)" "$(out waves | awk '/^grew/ { print $2 }')" 4096

# ---- ends ----------------------------------------------------------------------------------------

# Waits until some calls have been noted.
under_way() {
  local _
  for _ in $(seq 1200); do
    [ -z "$(find "$TMPDIR" -name log -size +4k)" ] || return
    sleep 0.05
  done
}

# Ctrl-C: the keyboard's signal goes to all, so they are a process group of their own.  (env: shells
# let what they start in the background ignore it.)
env --default-signal=INT setsid "$lcplug" audit -- "$host" boxes size=20 steps=10000000 \
  >/dev/null 2>"$folder/interrupted.err" &
under_way
kill -INT -- "-$!"
wait $! 2>/dev/null
less "interrupted: calls were counted" 10 "$(calls interrupted)"
has "interrupted: a verdict" "lcplug is " "$(verdict interrupted)"
has "interrupted: it is told" "ended by signal 2" "$(err interrupted)"

# A crash, and a kill that no program survives.
for signal in ABRT KILL; do
  "$lcplug" audit -o "$folder/$signal" -- "$host" boxes size=20 steps=10000000 \
    >/dev/null 2>"$folder/$signal.err" &
  tool=$!
  under_way
  pkill "-$signal" -P "$tool"
  wait "$tool" 2>/dev/null
  ended=$?
  is "SIG$signal: the status is the program's" "$((128 + $(kill -l "$signal")))" "$ended"
  has "SIG$signal: a verdict" "lcplug is " "$(verdict "$signal")"
  run replay "$lcplug" replay "$folder/$signal"
  is "SIG$signal: kept problems are whole" 0 "$(status replay)"
  is "SIG$signal: no parts of files" "" "$(find "$folder/$signal" -type f ! -name '*.lcp')"
done
# An assertion of upstream's own, in its first call.
run asserted "$lcplug" audit -- "$hosts/host_bad_input" lo_above_hi
is "an assertion: the status is the program's" 134 "$(status asserted)"
has "an assertion: where it was is told" "inside of its first call" "$(err asserted)"
# Numbers that are none.
plain nan-plain "$hosts/host_bad_input" nan_in_b
audited nan "$hosts/host_bad_input" nan_in_b
same nan nan-plain
has "NaN: upstream failed" "upstream failed on 1 of 1 calls" "$(err nan)"
# SIGTERM to the command reaches the program.
"$lcplug" audit -- "$host" boxes size=20 steps=10000000 >/dev/null 2>"$folder/term.err" &
tool=$!
under_way
kill -TERM "$tool"
wait "$tool" 2>/dev/null
is "SIGTERM: passed on, and the status is the program's" 143 $?
has "SIGTERM: a verdict" "lcplug is " "$(verdict term)"

# No room for the log: the program does not notice, and the summary says what is missing.
run limited bash -c 'ulimit -f 8; exec "$@"' limited \
  "$lcplug" audit -- "$host" boxes size=20 steps=60
same limited boxes-plain
has "limited: what is missing is told" "could not be noted" "$(err limited)"
is "nothing temporary stays" "" "$(ls -A "$TMPDIR")"

# ---- the report ----------------------------------------------------------------------------------

cd "$folder" || exit 1
audited page --html page.html -- "$host" tower size=6 steps=60
same page tower-plain
has "page: the verdict is on it" "$(verdict page)" "$(cat page.html)"
is "page: nothing from elsewhere" "" \
  "$(grep -oE '(src|href)=|url\(|@import|<script|https?://' page.html)"
run replay "$lcplug" replay page-problems
is "page: the worst problems are kept" 0 "$(status replay)"
for file in page-problems/*.lcp; do has "page: names $file" "$file" "$(cat page.html)"; done
audited page --html page.html -- "$host" tower size=6 steps=60
less "page: a second audit replaces the kept problems" "$(find page-problems -type f | grep -c .)" 6
audited none --html none.html -- true
is "no solver: exit status" 0 "$(status none)"
has "no solver: the doctor is named" "lcplug doctor true" "$(err none)"
has "no solver: the page says so" "No call of a solver was seen" "$(cat none.html)"
is "no solver: no folder" no "$([ -e none-problems ] && echo yes || echo no)"
audited quoted --html quoted.html -- "$host" tower size=3 steps=5 'mu=0.5' 'seed=<b>&"'
is "a page is HTML whatever the program's arguments" 0 "$(grep -c '<b>&' quoted.html)"

# ---- the command line ----------------------------------------------------------------------------

audited status -- sh -c 'exit 41'
is "the exit status is passed on" 41 "$(status status)"
refuses "no program" 2 "no program" audit --html x.html
refuses "an unknown option" 2 "--htlm" audit --htlm x -- true
refuses "an unknown side" 2 "upstream|lcplug" audit --return dantzig -- true
refuses "an unknown solver" 2 "auto|pgs" audit --solver dantzig -- true
refuses "a page that cannot be written" 2 "no/where.html" audit --html no/where.html -- true
refuses "a missing program" 127 "no-such-program" audit --html x.html -- no-such-program
is "mistakes leave no page behind" no "$([ -e x.html ] && echo yes || echo no)"
LCPLUG=sovler=pgs
export LCPLUG
refuses "a mistake in LCPLUG" 2 "sovler" audit -- true
unset LCPLUG
has "help" "--return upstream|lcplug" "$("$lcplug" help audit)"

finish
