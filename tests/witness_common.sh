# witness_common.sh - what the tests of capture and audit share.  Sourced, never run.
# shellcheck shell=bash disable=SC2034,SC2154
. "$(dirname "${BASH_SOURCE[0]}")/preload/common.sh"

lcplug=$top/tools/lcplug
host=$hosts/host_scene
[ -x "$lcplug" ] || skip "no lcplug command at $lcplug"
[ -x "$host" ] || skip "no program $host"
# The commands' temporary files, to see that none stays.
export TMPDIR=$folder/temporary
mkdir "$TMPDIR"

# same NAME PLAIN: the run ended as the plain one, with the same output.
same() {
  is "$1: exit status" "$(status "$2")" "$(status "$1")"
  is "$1: the program's output, to the bit" "$(out "$2")" "$(out "$1")"
}

# refuses WHAT STATUS PART ARGUMENT...: lcplug fails with this status and names this part.
refuses() {
  local what=$1 expected=$2 part=$3
  shift 3
  run refused "$lcplug" "$@"
  is "$what: exit status" "$expected" "$(status refused)"
  has "$what: message" "$part" "$(err refused)"
  is "$what: stdout stays empty" "" "$(out refused)"
}
