#!/bin/sh
# tools_run.sh - `lcplug run` must be invisible but for the swap: arguments, environment and exit
# status are the program's own, and a mistake on the command line is named.

. "${abs_top_srcdir:-$(pwd)}/tests/tools_common.sh" || exit 1
preload=${LCPLUG_PRELOAD:-$top/.libs/liblcplug-preload.so}
[ -f "$preload" ] || skip "no preload object at $preload"
LD_PRELOAD=$preload sh -c : 2>/dev/null || skip "the preload object cannot be loaded into sh"
LCPLUG_PRELOAD=$preload
export LCPLUG_PRELOAD

# ---- the program runs as if started directly --------------------------------------------------

"$bin" run -- sh -c 'exit 0'
is "exit status 0 is passed on" 0 $?
"$bin" run -- sh -c 'exit 41'
is "exit status 41 is passed on" 41 $?
"$bin" run sh -c 'exit 7'
is "-- may be left out" 7 $?
"$bin" run -- sh -c 'kill -TERM $$' 2>/dev/null
is "death by a signal is passed on" 143 $?
is "arguments with spaces, quotes and dashes stay whole" '[a b][][--solver][*][c"d]' \
  "$("$bin" run -- printf '[%s]' 'a b' '' --solver '*' 'c"d')"
is "options behind the program are the program's" '--solver nonsense' \
  "$("$bin" run --solver=pgs echo --solver nonsense)"
is "standard input is passed on" hello "$(echo hello | "$bin" run -- cat)"
is "the process id stays the same: exec, no child" yes \
  "$(sh -c 'echo $$; exec "$0" run -- sh -c "echo \$\$"' "$bin" | uniq | wc -l |
    sed 's/^ *1$/yes/')"

# ---- LCPLUG -----------------------------------------------------------------------------------

show='printf %s "$LCPLUG"'
is "options become LCPLUG" "solver=apgd,tol=1e-8" \
  "$("$bin" run --solver apgd --tol=1e-8 -- sh -c "$show")"
is "what LCPLUG says comes first, the command line later" "solver=pgs,tol=1e-3,solver=apgd" \
  "$(LCPLUG=solver=pgs,tol=1e-3 "$bin" run --solver apgd -- sh -c "$show")"
is "no options leave LCPLUG as it is" "solver=pgs" \
  "$(LCPLUG=solver=pgs "$bin" run -- sh -c "$show")"
is "no options and no LCPLUG leave it unset" unset "$("$bin" run -- sh -c 'echo ${LCPLUG-unset}')"
is "a flag needs no value" "stats=1,warn=3" \
  "$("$bin" run --stats --warn 3 -- sh -c "$show" 2>/dev/null)"
is "a flag takes 0 or 1" "stats=0" "$("$bin" run --stats 0 -- sh -c "$show")"
is "a dash stands for an underscore" "max_iter=20" "$("$bin" run --max-iter 20 -- sh -c "$show")"

# ---- LD_PRELOAD -------------------------------------------------------------------------------

show='printf %s "$LD_PRELOAD"'
real=$(realpath "$preload")
is "LD_PRELOAD is our object by its absolute path" "$real" "$("$bin" run -- sh -c "$show")"
is "a relative LCPLUG_PRELOAD becomes absolute" "$real" \
  "$(cd "$(dirname "$real")" && LCPLUG_PRELOAD=./$(basename "$real") "$bin" run -- sh -c "$show")"
has "the program has the object mapped" "$(basename "$real")" \
  "$("$bin" run -- cat /proc/self/maps)"
if [ "$bin" = "$top/tools/lcplug" ] && [ "$real" = "$(realpath "$top")/.libs/$(basename "$real")" ]
then
  is "in a build tree the command finds the object by itself" "$real" \
    "$(unset LCPLUG_PRELOAD; "$bin" run -- sh -c "$show")"
else
  echo "skip - the object of the build tree: another one is tested here"
fi
other=$folder/other.so
if echo 'int lcplug_test_other;' | ${CC:-cc} -shared -fPIC -x c -o "$other" - 2>/dev/null; then
  is "what LD_PRELOAD held is kept, behind ours" "$real:$other" \
    "$(LD_PRELOAD=$other "$bin" run -- sh -c "$show")"
else
  echo "skip - what LD_PRELOAD held is kept: no C compiler"
fi
mkdir "$folder/a b" "$folder/a:b"
cp "$preload" "$folder/a b/" && cp "$preload" "$folder/a:b/"
for odd in "a b" "a:b"; do
  LCPLUG_PRELOAD="$folder/$odd/$(basename "$preload")"
  refuses "a preload path like '$odd'" 2 "spaces and colons" run -- true
done
LCPLUG_PRELOAD=$folder/none.so
refuses "a preload object that is not there" 2 "none.so" run -- true
LCPLUG_PRELOAD=$preload

# ---- mistakes ---------------------------------------------------------------------------------

refuses "an unknown option" 2 "--sovler" run --sovler pgs -- true
refuses "a short option" 2 "-x" run -x -- true
refuses "an unknown value" 2 "auto|pgs|apgd" run --solver dantzig -- true
refuses "a value out of range" 2 "0 < omega < 2" run --omega=2.5 -- true
refuses "a value that is no number" 2 "--tol" run --tol small -- true
refuses "an option without its value" 2 "needs a value" run --tol
refuses "a value with a comma" 2 "--tol" run --tol 1e-3,solver=pgs -- true
refuses "no program" 2 "no program" run --solver pgs --
refuses "no command" 2 "no command"
refuses "an unknown command" 2 "'rnu'" rnu true
LCPLUG=sovler=pgs
export LCPLUG
refuses "a mistake in LCPLUG" 2 "sovler" run --tol 1e-3 -- true
unset LCPLUG
refuses "a missing program" 127 "no-such-program" run -- no-such-program
refuses "a missing file" 127 "/no-such-file" run -- "$folder/no-such-file"
echo 'exit 0' >"$folder/plain"
refuses "a file that is not executable" 126 "/plain" run -- "$folder/plain"
refuses "a folder" 126 "cannot run" run -- "$folder"
printf '#!%s/no-interpreter\n' "$folder" >"$folder/script"
chmod +x "$folder/script"
refuses "a script without its interpreter" 126 "interpreter" run -- "$folder/script"

# ---- help -------------------------------------------------------------------------------------

version=$("$bin" --version)
is "--version succeeds" 0 $?
is "--version is one line, name and number" 1 \
  "$(printf '%s\n' "$version" | grep -c '^lcplug [0-9][0-9]*\.[0-9][0-9]*\.[0-9]')"
for call in --help help "help run" "run --help" "run --solver pgs --help" "doctor --help"; do
  # shellcheck disable=SC2086
  "$bin" $call >"$folder/help" 2>"$folder/errors"
  is "'$call' succeeds" 0 $?
  is "'$call' is quiet on stderr" "" "$(cat "$folder/errors")"
done
help=$("$bin" run --help)
for key in solver friction tol max_iter omega fallback stats; do
  has "run --help lists $key" "--$key " "$help"
done
if [ -w /dev/full ]; then
  "$bin" --help >/dev/full 2>/dev/null
  is "help that cannot be written is an error" 2 $?
fi

finish
