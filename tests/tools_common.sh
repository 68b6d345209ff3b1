# tools_common.sh - for the tests of the lcplug command: where it is, a folder for what it
# writes, and how a result is told.
# shellcheck shell=sh disable=SC2034

top=${abs_top_builddir:-$(pwd)}
src=${abs_top_srcdir:-$(pwd)}
bin=${LCPLUG_BIN:-$top/tools/lcplug}
[ -x "$bin" ] || bin=$top/lcplug

skip() { echo "skipped: $1"; exit 77; }
[ -x "$bin" ] || skip "no lcplug command at $bin"

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failures=0
unset LCPLUG LD_PRELOAD NO_COLOR

# is WHAT EXPECTED ACTUAL
is() {
  if [ "$2" = "$3" ]; then
    echo "ok - $1"
  else
    echo "not ok - $1"
    printf '    expected: %s\n    actual:   %s\n' "$2" "$3" | head -n 20
    failures=$((failures + 1))
  fi
}

# has WHAT PART TEXT: the text has the part in it.
has() {
  case $3 in
    *"$2"*) is "$1" same same ;;
    *) is "$1" "... $2 ..." "$3" ;;
  esac
}

# lacks WHAT PART TEXT: it has not.
lacks() {
  case $3 in
    *"$2"*) is "$1" "no $2" "$3" ;;
    *) is "$1" same same ;;
  esac
}

# refuses WHAT STATUS PART ARGUMENT...: lcplug fails with this status and names this part.
refuses() {
  what=$1 status=$2 part=$3
  shift 3
  output=$("$bin" "$@" 2>&1 >"$folder/stdout")
  is "$what: exit status" "$status" $?
  has "$what: message" "$part" "$output"
  is "$what: stdout stays empty" "" "$(cat "$folder/stdout")"
}

finish() {
  [ $failures -eq 0 ] || { echo "$failures failed"; exit 1; }
  exit 0
}
