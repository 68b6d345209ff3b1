# common.sh - what the preload tests share.  Sourced, never run.
#
# A test prints "ok - ..." or "not ok - ..." for each thing that it checks, and ends with 1 if one
# failed, or with 77 and the reason if it cannot run here.
# shellcheck shell=bash disable=SC2034
set -u
unset LCPLUG LD_PRELOAD

top=${abs_top_builddir:-$PWD}
hosts=$top/tests/preload
preload=${LCPLUG_PRELOAD:-$top/.libs/liblcplug-preload.so}
failures=0

skip() {
  echo "skipped: $1"
  exit 77
}

[ -f "$preload" ] || skip "no preload object at $preload"
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

ok() { echo "ok - $1"; }

# not_ok WHAT [DETAILS]
not_ok() {
  echo "not ok - $1"
  if [ $# -gt 1 ]; then printf '%s\n' "$2" | head -n 20 | sed 's/^/    /'; fi
  failures=$((failures + 1))
}

# is WHAT EXPECTED ACTUAL
is() {
  if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "expected: $2
actual:   $3"; fi
}

# has WHAT PART TEXT
has() {
  case $3 in
    *"$2"*) ok "$1" ;;
    *) not_ok "$1" "no '$2' in:
$3" ;;
  esac
}

# less WHAT A B: A < B, and both are numbers: neither a NaN nor nothing at all is less.
less() {
  if awk -v a="$2" -v b="$3" 'BEGIN { number = "^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$"
    exit !(a ~ number && b ~ number && a + 0 < b + 0) }'; then
    ok "$1"
  else
    not_ok "$1" "$2 is not less than $3"
  fi
}

finish() {
  [ "$failures" = 0 ] || exit 1
  exit 0
}

# run NAME COMMAND...: runs the command for at most two minutes; NAME.out, NAME.err and
# NAME.status in $folder keep what it did.  The outer redirection is for this shell's own
# word on a program that dies.
run() {
  local name=$1
  shift
  { timeout 120 "$@" >"$folder/$name.out" 2>"$folder/$name.err"; } 2>/dev/null
  echo $? >"$folder/$name.status"
}

# python_with MODULE: sets $python to an interpreter that can import it.  The first
# python3 may be one that knows nothing of the system's packages, or a wrapper script,
# which would be preloaded, too.
python_with() {
  local candidate
  for candidate in ${PYTHON:-} python3 /usr/bin/python3; do
    if "$candidate" -c "import $1" 2>/dev/null; then
      python=$("$candidate" -c 'import sys; print(sys.executable)')
      return 0
    fi
  done
  return 1
}

# plain NAME PROGRAM ARGUMENT...: the program as it is.
plain() { run "$@"; }

# swapped NAME SETTINGS PROGRAM ARGUMENT...: the same, preloaded; settings "-" leave LCPLUG unset.
# Only the program itself is preloaded, neither this shell nor timeout.
swapped() {
  local name=$1 settings=$2
  shift 2
  if [ "$settings" = - ]; then
    run "$name" env LD_PRELOAD="$preload" "$@"
  else
    run "$name" env LCPLUG="$settings" LD_PRELOAD="$preload" "$@"
  fi
}

# close_to_upstream RUN ARGUMENT...: with each solver, RUN NAME SETTINGS ARGUMENT... ends well, has
# hit the swap, and leaves the bodies where the run "plain" has left them.
close_to_upstream() {
  local run=$1 solver limit
  shift
  for solver in exact auto pgs apgd; do
    "$run" "$solver" "solver=$solver,stats=1" "$@"
    is "$solver: exit status" 0 "$(status "$solver")"
    less "$solver: swap is hit" 0 "$(counted "$solver" calls)"
    limit=1e-6
    case $solver in pgs | apgd) limit=1e-3 ;; esac
    less "$solver: close to upstream" "$(apart plain "$solver")" "$limit"
  done
}

out() { cat "$folder/$1.out"; }
err() { cat "$folder/$1.err"; }
status() { cat "$folder/$1.status"; }

# counted NAME WORDS: the number before these words in the summary of
# run NAME; 0 if it is not there.
counted() {
  awk -v words="$2" 'index($0, "lcplug: ") == 1 { number = $2; $1 = $2 = ""; sub(/^ */, "")
    if ($0 == words) { print number; found = 1 } } END { if (!found) print 0 }' "$folder/$1.err"
}

# apart A B: the largest distance between the numbers of two runs' lines "body ..."; infinite if one
# run has other bodies than the other.
apart() {
  paste -d ' ' <(grep '^body' "$folder/$1.out") <(grep '^body' "$folder/$2.out") |
    awk 'NF != 18 { bad = 1 } { for (i = 3; i <= 9; i++) { d = $i - $(i + 9); if (d < 0) d = -d
      if (!(d <= most)) most = d } } END { print bad || !NR ? 1e300 : most + 0 }'
}
