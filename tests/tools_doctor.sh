#!/bin/sh
# tools_doctor.sh - `lcplug doctor` against real programs of every kind that it distinguishes.
# Where a verdict can be proved, the loader is the judge: LD_DEBUG shows whose solver gets bound.

top=${abs_top_builddir:-$(pwd)}
bin=${LCPLUG_BIN:-$top/tools/lcplug}
[ -x "$bin" ] || bin=$top/lcplug
preload=${LCPLUG_PRELOAD:-$top/.libs/liblcplug-preload.so}
cc=${CC:-cc}
ode_libs=${ODE_LIBS:--lode}
ode_static_libs=${ODE_STATIC_LIBS:--l:libode.a -l:libccd.so.2 -lstdc++ -lm -lpthread}

skip() { echo "skipped: $1"; exit 77; }
[ -x "$bin" ] || skip "no lcplug command at $bin"
[ -f "$preload" ] || skip "no preload object at $preload"

folder=$(mktemp -d) || exit 1
child=
trap '[ -z "$child" ] || kill "$child" 2>/dev/null; rm -rf "$folder"' EXIT
failures=0
unset LCPLUG LD_PRELOAD
LCPLUG_PRELOAD=$preload
export LCPLUG_PRELOAD

ok() { echo "ok - $1"; }
not_ok() {
  echo "not ok - $1"
  printf '%s\n' "$2" | sed 's/^/    /'
  failures=$((failures + 1))
}

# doctor WHAT STATUS PART ARGUMENT...: this exit status, and this part in the last line, which is
# the verdict (or the error).  Status and answer stay in $got and $answer.
doctor() {
  what=$1 status=$2 part=$3
  shift 3
  answer=$("$bin" doctor "$@" 2>&1)
  got=$?
  last=$(printf '%s\n' "$answer" | tail -n 1)
  case $got:$last in
    "$status":*"$part"*) ok "$what" ;;
    *) not_ok "$what: expected status $status and '$part', got $got" "$answer" ;;
  esac
}

# says WHAT LINE: the last answer has a line that starts so, spaces apart.
says() {
  if printf '%s\n' "$answer" | sed 's/  */ /g' | grep -q "^$2"; then
    ok "$1"
  else
    not_ok "$1: no line '$2'" "$answer"
  fi
}

# compile NAME ARGUMENT...: builds $folder/NAME.
compile() {
  name=$1
  shift
  # shellcheck disable=SC2086
  $cc ${ODE_CFLAGS:-} -o "$folder/$name" "$@" 2>"$folder/errors"
}

# ---- without ODE ------------------------------------------------------------------------------

doctor "no argument" 2 usage
doctor "two arguments" 2 usage a b
doctor "an unknown option" 2 --frobnicate --frobnicate
doctor "a missing file" 2 no-such-file "$folder/no-such-file"
doctor "a program not in PATH" 2 "not in PATH" no-such-program
doctor "a folder" 2 directory "$folder"
: >"$folder/empty"
doctor "an empty file" 2 neither "$folder/empty"
echo "just words" >"$folder/text"
doctor "a text" 2 neither "$folder/text"
doctor "a process that is not there" 2 "no such process" 999999999

"$bin" doctor /bin/sh >"$folder/out" 2>&1
case $? in
  1 | 3) ok "/bin/sh: no effect, or cannot tell if it may load libraries" ;;
  *) not_ok "/bin/sh" "$(cat "$folder/out")" ;;
esac
printf '#!/bin/sh\nexec app\n' >"$folder/script"
doctor "a script" 3 "cannot tell" "$folder/script"
says "a script is shown" "script:.*/script"
says "its interpreter is shown" "its interpreter: /bin/sh"
printf '#!/usr/bin/env -S A=1 sh\n' >"$folder/script"
doctor "a script by env" 3 "cannot tell" "$folder/script"
says "env is seen through" "its interpreter: .*/sh"
printf '#!%s/none\n' "$folder" >"$folder/script"
doctor "a script without its interpreter" 2 none "$folder/script"

echo 'int main(void) { return 0; }' >"$folder/plain.c"
compile plain "$folder/plain.c" || skip "no C compiler: the rest needs one"
doctor "a program without ODE" 1 "does not use ODE" "$folder/plain"
PATH=$folder:$PATH
doctor "a program in PATH" 1 "does not use ODE" plain
$cc -c -o "$folder/plain.o" "$folder/plain.c"
doctor "an object file" 2 "object file" "$folder/plain.o"
printf '#include <dlfcn.h>\nint main(int c, char **v) { return !dlopen(v[c - 1], RTLD_NOW); }\n' \
  >"$folder/opens.c"
compile opens "$folder/opens.c" -ldl
doctor "a program that may open libraries" 3 "lcplug run --stats=1" "$folder/opens"
if compile static "$folder/plain.c" -static; then
  doctor "a static program without ODE" 1 "holds no solver" "$folder/static"
  says "it is static" "dynamically linked: no"
  strip "$folder/static"
  doctor "the same, stripped" 3 "static and stripped" "$folder/static"
else
  echo "skip - static programs: the C library has no static version here"
fi

# ---- with ODE ---------------------------------------------------------------------------------

# A world, stepped once (or, for a process to look at, slept with).  STEP says how.
cat >"$folder/world.c" <<'END'
#include <ode/ode.h>
#include <unistd.h>
int main(int argc, char **argv) {
  (void)argv;
  dInitODE2(0);
  dWorldID world = dWorldCreate();
  STEP(world, 0.01);
  if (argc > 1) sleep(60);
  dWorldDestroy(world);
  dCloseODE();
  return 0;
}
END
# shellcheck disable=SC2086
compile step -DSTEP=dWorldStep "$folder/world.c" $ode_libs || {
  cat "$folder/errors"
  [ $failures -eq 0 ] || exit 1
  skip "libode cannot be linked here; what needs no ODE has passed"
}
# bound PROGRAM: the file that the loader takes the solver from when the program is run by us.
bound() {
  LD_BIND_NOW=1 LD_DEBUG=bindings LD_DEBUG_OUTPUT="$folder/bindings" "$bin" run -- "$@" \
    >/dev/null 2>&1
  cat "$folder"/bindings.* 2>/dev/null | sed -n 's/.* to \(.*\) \[0\]:.*`_Z10dxSolveLCP.*/\1/p' |
    tail -n 1
  rm -f "$folder"/bindings.*
}
real=$(realpath "$preload")
# agrees PROGRAM: the loader takes our solver if and only if the doctor has just said 0.
agrees() {
  if [ "$(bound "$1")" = "$real" ]; then expected=0; else expected=1; fi
  if [ "$got" = "$expected" ]; then
    ok "the loader agrees"
  else
    not_ok "the loader says $expected" "$answer"
  fi
}

# Its message handler knows what upstream says when it gives up.
cat "$folder/world.c" - >"$folder/watch.c" <<'END'
const char *volatile watched = "LCP internal error, s <= 0";
END
# shellcheck disable=SC2086
compile watch -DSTEP=dWorldStep "$folder/watch.c" $ode_libs
doctor "a program that watches for upstream's message" 0 "the swap takes effect" "$folder/watch"
agrees "$folder/watch"
doctor "a program with dWorldStep" 0 "the swap takes effect" "$folder/step"
says "libode is needed directly" "needs libode: yes (libode.so.* directly)"
says "libode is found" "libode found: yes"
says "dWorldStep is called" "calls dWorldStep: yes"
says "dWorldQuickStep is not" "calls dWorldQuickStep: no"
says "the solver is exported" "exported solver: yes (dxSolveLCP of ODE 0.15-0.16, double"
says "it is called through the loader" "called through the loader: yes"
says "the preload object offers it" "offers this solver: yes"
agrees "$folder/step"
strip "$folder/step"
doctor "the same, stripped" 0 "the swap takes effect" "$folder/step"
# shellcheck disable=SC2086
if compile old -DSTEP=dWorldStep "$folder/world.c" $ode_libs -Wl,--hash-style=sysv,-s; then
  doctor "with the old hash table" 0 "the swap takes effect" "$folder/old"
fi

# shellcheck disable=SC2086
compile quick -DSTEP=dWorldQuickStep "$folder/world.c" $ode_libs
doctor "a program with dWorldQuickStep only" 1 "call dWorldStep instead" "$folder/quick"
says "it names the setting" "made dWorldStep: no (quickstep=step would"
LCPLUG=quickstep=step
export LCPLUG
doctor "the same, redirected" 0 "quickstep=step makes its dWorldQuickStep dWorldStep" \
  "$folder/quick"
says "and says by what" "made dWorldStep: yes (LCPLUG has quickstep=step)"
unset LCPLUG
# shellcheck disable=SC2086
compile none '-DSTEP(w, h)=(void)w' "$folder/world.c" $ode_libs
doctor "a program that never steps" 1 "nothing calls dWorldStep" "$folder/none"

LCPLUG_PRELOAD=$folder/no-such-file
doctor "without a preload object" 1 "no usable preload object" "$folder/step"
LCPLUG_PRELOAD=$folder/plain
doctor "with a preload object of no use" 1 "does not offer this solver" "$folder/step"
LCPLUG_PRELOAD=$preload

# Through a library of its own, found by RUNPATH, by RPATH and not at all.
mkdir "$folder/lib"
printf '#include <ode/ode.h>\nvoid go(dWorldID w); void go(dWorldID w) { dWorldStep(w, 1); }\n' \
  >"$folder/go.c"
echo 'void go(void *w); int main(int c, char **v) { (void)v; if (c > 9) go(0); return 0; }' \
  >"$folder/goes.c"
# shellcheck disable=SC2086
compile lib/libgo.so -shared -fPIC "$folder/go.c" $ode_libs
for tag in --enable-new-dtags --disable-new-dtags; do
  compile goes "$folder/goes.c" -L"$folder/lib" -lgo "-Wl,$tag,-rpath,\$ORIGIN/lib"
  doctor "through a library, $tag" 0 "the swap takes effect" "$folder/goes"
  says "and says through which" "needs libode: yes (libode.so.*through libgo.so)"
  says "and who calls" "calls dWorldStep: yes (libgo.so)"
done
compile lost "$folder/goes.c" -L"$folder/lib" -lgo
doctor "a library that is not found" 3 "LD_LIBRARY_PATH" "$folder/lost"
says "it is named" "library found: no (libgo.so)"
LD_LIBRARY_PATH=$folder/lib
export LD_LIBRARY_PATH
doctor "the same, by LD_LIBRARY_PATH" 0 "the swap takes effect" "$folder/lost"
unset LD_LIBRARY_PATH
doctor "a library by itself" 0 "the swap takes effect" "$folder/lib/libgo.so"

# Privileges.  Root can make a file that raises them; anybody can make one that does not.
cp "$folder/step" "$folder/setuid" && chmod u+s "$folder/setuid"
if [ "$(id -u)" = 0 ]; then
  chown 65534 "$folder/setuid" && chmod u+s,a+rx "$folder/setuid"
  chmod a+rx "$folder"
  doctor "setuid to another user" 1 "ignores LD_PRELOAD" "$folder/setuid"
  agrees "$folder/setuid"
  cp "$folder/step" "$folder/setgid" && chgrp 65534 "$folder/setgid" && chmod g+s "$folder/setgid"
  doctor "setgid to another group" 1 "ignores LD_PRELOAD" "$folder/setgid"
  chown 0 "$folder/setuid" && chmod u+s "$folder/setuid"
else
  echo "skip - setuid to another user: only root can make such a file"
fi
doctor "setuid to the same user" 0 "the swap takes effect" "$folder/setuid"
agrees "$folder/setuid"
says "and shows the bit" "privileged: no (setuid, but not for this user"

# Static libode: out of reach, whether its symbols are there or stripped.
# shellcheck disable=SC2086
if compile inside -DSTEP=dWorldStep "$folder/world.c" $ode_static_libs; then
  doctor "libode.a linked in" 1 "relink" "$folder/inside"
  says "the solver is inside" "solver inside the program: yes"
  strip "$folder/inside"
  doctor "the same, stripped" 1 "relink" "$folder/inside"
  agrees "$folder/inside"
else
  echo "skip - libode.a linked in: $(head -n 1 "$folder/errors")"
fi
archive=$top/liblcplug-wrap.a
symbol=_Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi
# shellcheck disable=SC2086
if [ ! -f "$archive" ] || [ ! -f "$folder/inside" ]; then
  echo "skip - relinked with lcplug: no $(basename "$archive") or no libode.a"
elif compile wrapped -DSTEP=dWorldStep "$folder/world.c" "-Wl,--wrap=$symbol" $ode_static_libs \
  "$archive" $ode_static_libs -ldl -lm -lpthread; then
  doctor "relinked with lcplug" 0 "linked in" "$folder/wrapped"
  strip "$folder/wrapped"
  doctor "the same, stripped" 3 "stats=1" "$folder/wrapped"
else
  not_ok "relinking with lcplug" "$(cat "$folder/errors")"
fi

# How a library is linked decides whether its solver can be replaced.  Distributions ship only the
# good kind of libode, so a small library with the same two symbols is linked in every way.
cat >"$folder/engine.c" <<'END'
void SOLVER(void *arena, unsigned n);
void dWorldStep(void *world, double h);
const char *volatile message = "LCP internal error, s <= 0";
KEEP void SOLVER(void *arena, unsigned n) { if (arena && n) message = 0; }
void dWorldStep(void *world, double h) { SOLVER(world, (unsigned)h); }
END
cat >"$folder/steps.c" <<'END'
void dWorldStep(void *world, double h);
int main(int argc, char **argv) { if (argc > 9) dWorldStep(argv, 1); return 0; }
END
mkdir "$folder/engine"
# engine FLAG...: the library; the program `steps` is linked once and finds it by its RUNPATH.
engine() {
  compile engine/libode.so.8 -O0 -shared -fPIC -DKEEP= "-DSOLVER=$symbol" "$@" "$folder/engine.c" \
    -Wl,-soname,libode.so.8
}
engine && compile steps "$folder/steps.c" "$folder/engine/libode.so.8" '-Wl,-rpath,$ORIGIN/engine'
doctor "a library that leaves the choice to the loader" 0 "the swap takes effect" "$folder/steps"
agrees "$folder/steps"
engine -fno-plt
doctor "the same without a PLT" 0 "the swap takes effect" "$folder/steps"
agrees "$folder/steps"
engine -Wl,-Bsymbolic
doctor "linked with -Bsymbolic" 1 "without -Bsymbolic" "$folder/steps"
says "it is named" "called through the loader: no"
agrees "$folder/steps"
engine -Wl,-Bsymbolic-functions
doctor "linked with -Bsymbolic-functions" 1 "without -Bsymbolic" "$folder/steps"
agrees "$folder/steps"
engine -UKEEP '-DKEEP=__attribute__((visibility("protected")))'
doctor "a protected solver" 1 "directly" "$folder/steps"
agrees "$folder/steps"
engine -UKEEP '-DKEEP=__attribute__((visibility("hidden")))'
doctor "a hidden solver" 1 "does not export" "$folder/steps"
says "its library is named" "exported solver: no (one is hidden in libode.so.8)"
agrees "$folder/steps"
engine "-USOLVER" "-DSOLVER=_Z10dxSolveLCPP22dxWorldProcessMemArenajPfS1_S1_jS1_Pi"
answer=$("$bin" doctor "$folder/steps" 2>&1)
got=$?
says "single precision is told apart" "exported solver: yes (dxSolveLCP of ODE 0.15-0.16, single"
agrees "$folder/steps"
echo 'ODE_1 { global: *; };' >"$folder/version.map"
engine "-Wl,--version-script=$folder/version.map"
answer=$("$bin" doctor "$folder/steps" 2>&1)
got=$?
says "a version of the symbol is noticed" "symbol has a version: yes"
agrees "$folder/steps"

# Another word size than the preload object's; no C library is needed for that.
if [ "$(uname -m)" = x86_64 ] && engine -m32 -nostdlib && compile steps32 -m32 -nostdlib \
  -Wl,-e,main "$folder/steps.c" "$folder/engine/libode.so.8" '-Wl,-rpath,$ORIGIN/engine'; then
  doctor "a 32-bit program" 1 "another machine" "$folder/steps32"
  says "it is shown" "ELF: yes (32-bit x86 program)"
  says "its libraries are read" "exported solver: yes (dxSolveLCP"
else
  echo "skip - a 32-bit program: the compiler cannot make one here"
fi

# ---- processes --------------------------------------------------------------------------------

# wait_for PID TEXT: until the process has a file of that name mapped.
wait_for() {
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    grep -q "$2" "/proc/$1/maps" 2>/dev/null && return
    sleep 0.1
  done
}
"$folder/step" wait &
child=$!
wait_for $child libode
doctor "a process without the preload" 1 "restart it with" $child
says "libode is mapped" "libode is mapped: yes"
says "the preload object is not" "preload object is mapped: no"
kill $child && wait $child 2>/dev/null
if LD_PRELOAD=$preload sh -c : 2>/dev/null; then
  "$bin" run -- "$folder/step" wait &
  child=$!
  wait_for $child libode
  doctor "a process started by lcplug run" 0 "the swap takes effect" $child
  says "the preload object is mapped" "preload object is mapped: yes"
  kill $child && wait $child 2>/dev/null
else
  echo "skip - a process started by lcplug run: the preload object cannot be loaded"
fi
child=

# ---- damaged files ----------------------------------------------------------------------------

# Cut at every place near the start, then coarsely: a verdict or an error, and never a crash.
size=$(wc -c <"$folder/step")
bad=
cuts=0
at=0
while [ "$at" -lt "$size" ]; do
  head -c "$at" "$folder/step" >"$folder/cut"
  "$bin" doctor "$folder/cut" >/dev/null 2>&1
  status=$?
  case $status in 1 | 2 | 3) ;; *) bad="$bad $at:$status" ;; esac
  cuts=$((cuts + 1))
  if [ "$at" -lt 100 ]; then at=$((at + 3)); else at=$((at + at / 24 + 7)); fi
done
if [ -z "$bad" ]; then
  ok "$cuts truncated files: none crashes, none passes"
else
  not_ok "truncated files (offset:status)" "$bad"
fi

# Overwritten in one place: any verdict, but never a crash.
bad=
hits=0
at=4
while [ "$at" -lt "$size" ]; do
  cp "$folder/step" "$folder/cut"
  printf '\377\377\377\377\377\377\377\177' |
    dd of="$folder/cut" bs=1 seek="$at" conv=notrunc 2>/dev/null
  "$bin" doctor "$folder/cut" >/dev/null 2>&1
  status=$?
  [ "$status" -le 3 ] || bad="$bad $at:$status"
  hits=$((hits + 1))
  if [ "$at" -lt 64 ]; then at=$((at + 4)); else at=$((at + at / 24 + 8)); fi
done
if [ -z "$bad" ]; then
  ok "$hits overwritten files: none crashes"
else
  not_ok "overwritten files (offset:status)" "$bad"
fi

[ $failures -eq 0 ] || { echo "$failures failed"; exit 1; }
