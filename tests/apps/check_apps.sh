#!/usr/bin/env bash
# check_apps.sh - programs that nobody here wrote, as Debian packages them, with lcplug and without.
#
# usage: make check-apps [APPS="mokomaze xmoto"]; ./bootstrap apps installs what it needs.
#
# Each program runs under Xvfb for so many steps of its world, driven by key presses where its menus
# want some: once as it is and once swapped.  Then: the swap is hit, the program comes as far as
# without it, every position is a number, no solver reports an error.  Statistics, what an observer
# (watch.c) saw, and a screenshot stay in check-apps/.
# shellcheck source-path=SCRIPTDIR source=../preload/common.sh
. "$(dirname "$0")/../preload/common.sh"

PATH=$PATH:/usr/games
here=${abs_top_srcdir:-.}/tests/apps
results=$top/check-apps
rm -rf "$results"
mkdir -p "$results"
for tool in Xvfb xdotool import; do
  command -v $tool >/dev/null || skip "no $tool here; ./bootstrap apps installs it"
done
watch=$folder/watch.so
# shellcheck disable=SC2086
${CC:-cc} -O1 -shared -fPIC ${ODE_CFLAGS:-} -o "$watch" "$here/watch.c" ||
  skip "the observer cannot be built"

server=
driver=
# shellcheck disable=SC2154
trap 'kill $server $driver 2>/dev/null; rm -rf "$folder"' EXIT

# A display of our own; Xvfb picks a free number.
start_display() {
  local number=$folder/display
  rm -f "$number"
  # -noreset: a program that looks whether there is a display, closes it and opens it again (SDL
  # does) would meet a server that is just starting over.
  Xvfb -noreset -displayfd 3 -screen 0 800x600x24 +extension GLX \
    3>"$number" >"$folder/xvfb.log" 2>&1 &
  server=$!
  for _ in $(seq 300); do
    [ -s "$number" ] && break
    sleep 0.1
  done
  DISPLAY=:$(cat "$number")
  export DISPLAY
}

stop_display() {
  kill "$server" 2>/dev/null
  wait "$server" 2>/dev/null
  server=
}

# ---- how each program is brought into its simulation ---------------------------------------------

# Without a window manager the keyboard belongs to the window under the pointer.
press() { xdotool key "$1"; sleep "${2:-0.3}"; }
await_window() {
  for _ in $(seq 100); do
    if xdotool search --onlyvisible --name . >/dev/null 2>&1; then break; fi
    sleep 0.2
  done
  sleep 2
  xdotool mousemove 150 60
}

drive_mokomaze() { await_window; xdotool keydown Right keydown Down; }
drive_xmoto() { await_window; xdotool keydown Up; }
drive_untouched() { :; }
drive_stormbaancoureur() { await_window; press Return 3; xdotool keydown Up; } # "practice"
drive_mu-cade() { await_window; press z; press z; xdotool keydown z keydown Up; }

# ---- one run -------------------------------------------------------------------------------------

# play NAME STEPS PRELOAD SETTINGS PROGRAM ARGUMENT...: NAME.report,
# NAME.png and what run keeps.
play() {
  local name=$1 steps=$2 objects=$3 settings=$4 app=${1%-*}
  shift 4
  local home=$folder/home
  rm -rf "$home"
  mkdir "$home"
  start_display
  (
    "drive_$app"
    for _ in $(seq 600); do
      if [ -e "$folder/$name.half" ]; then
        import -window root "$results/$name.png"
        break
      fi
      sleep 0.1
    done
  ) >/dev/null 2>&1 &
  driver=$!
  run "$name" env HOME="$home" SDL_AUDIODRIVER=dummy LIBGL_ALWAYS_SOFTWARE=1 LCPLUG="$settings" \
    WATCH_STEPS="$steps" WATCH_HALF="$folder/$name.half" WATCH_REPORT="$results/$name.report" \
    LD_PRELOAD="$objects" "$@"
  wait "$driver" 2>/dev/null
  driver=
  stop_display
  cp "$folder/$name.err" "$results/$name.err"
}

# seen NAME WHAT: a number of the observer's report.
seen() {
  awk -v what="$2" '$1 == what { print $2; found = 1 } END { if (!found) print 0 }' \
    "$results/$1.report" 2>/dev/null || echo 0
}
solver_errors() { grep -c 'LCP internal error' "$results/$1.err"; }

# app NAME STEPS STEP ARGUMENT...: STEP is what the program calls, quick_steps or steps.
app() {
  local name=$1 steps=$2 calls=$3
  shift 3
  if ! command -v "$name" >/dev/null; then
    echo "not tested: $name is not installed"
    return
  fi
  case " ${APPS:-$name} " in *" $name "*) ;; *) return ;; esac
  local program
  program=$(command -v "$name")
  play "$name-plain" "$steps" "$watch" "" "$program" "$@"
  play "$name-swapped" "$steps" "$preload:$watch" stats=1,quickstep=step "$program" "$@"

  is "$name: without lcplug it makes its steps" "$steps" "$(seen "$name-plain" "$calls")"
  is "$name: runs as long with it, by dWorldStep" "$steps" "$(seen "$name-swapped" steps)"
  is "$name: ends as without it" "$(status "$name-plain")" "$(status "$name-swapped")"
  less "$name: swap is hit" 0 "$(counted "$name-swapped" calls)"
  is "$name: every problem is solved" "$(counted "$name-swapped" calls)" \
    "$(counted "$name-swapped" "solved by lcplug to the tolerance")"
  is "$name: every position is a number" 0 "$(seen "$name-swapped" bad_steps)"
  is "$name: no solver error" 0 "$(solver_errors "$name-swapped")"
  if [ "$calls" = quick_steps ]; then
    is "$name: every quick step was redirected" "$steps" \
      "$(counted "$name-swapped" "dWorldQuickStep calls made dWorldStep")"
  fi
  # A window that nobody has drawn into is of one colour.
  less "$name: a screenshot with a picture on it" 1 \
    "$(identify -format %k "$results/$name-swapped.png" 2>/dev/null)"
  printf '%-18s %6s steps, %3s bodies, %6s solves of up to %s rows, worst residual %s\n' "$name" \
    "$(seen "$name-swapped" steps)" "$(seen "$name-swapped" bodies)" \
    "$(counted "$name-swapped" calls)" \
    "$(awk '/^lcplug: rows/ { print $NF }' "$results/$name-swapped.err")" \
    "$(awk '/^lcplug: residual/ { print $NF }' "$results/$name-swapped.err")" |
    tee -a "$results/summary.txt"
}

app mokomaze 3000 steps -i keyboard
app xmoto 500 quick_steps -p lcplug -l tut1 --nosound --nowww -win -res 800x600
app stormbaancoureur 2000 quick_steps
app mu-cade 600 quick_steps -nosound -window

# ---- the same scene twice ------------------------------------------------------------------------

# X-Moto's steps have one length; untouched, its motorcycle stands on its springs
# and does the same each time.
if command -v xmoto >/dev/null && [ -z "${APPS:-}" ]; then
  for round in 1 2; do
    play "untouched-$round" 300 "$preload:$watch" stats=1,quickstep=step "$(command -v xmoto)" \
      -p lcplug -l tut1 --nosound --nowww -win -res 800x600
  done
  is "xmoto, untouched: makes its steps" 300 "$(seen untouched-1 steps)"
  is "xmoto, untouched: twice the same positions" "$(seen untouched-1 digest)" \
    "$(seen untouched-2 digest)"
fi

# Python programs print their poses; with RTLD_LOCAL there is nothing to watch from outside.
if python_with ode; then
  script=${abs_top_srcdir:-.}/tests/preload/pyode_scene.py
  for step in step quick; do
    plain "pyode-$step-plain" "$python" "$script" 1500 $step
    for round in 1 2; do
      swapped "pyode-$step-$round" stats=1,quickstep=step "$python" "$script" 1500 $step
    done
    is "pyode, $step: runs as long" "$(out "pyode-$step-plain" | wc -l)" \
      "$(out "pyode-$step-1" | wc -l)"
    is "pyode, $step: twice the same positions" "$(out "pyode-$step-1")" "$(out "pyode-$step-2")"
    less "pyode, $step: swap is hit" 0 "$(counted "pyode-$step-1" calls)"
    is "pyode, $step: every position is a number" "" "$(out "pyode-$step-1" | grep -iE 'nan|inf')"
    is "pyode, $step: every problem is solved" "$(counted "pyode-$step-1" calls)" \
      "$(counted "pyode-$step-1" "solved by lcplug to the tolerance")"
    cp "$folder/pyode-$step-1.err" "$results/pyode-$step.err"
  done
else
  echo "not tested: python3 cannot import ode (package python3-pyode)"
fi

echo "statistics and screenshots: $results"
finish
