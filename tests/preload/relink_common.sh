# relink_common.sh - runs a recipe of doc/relink.md as it stands there.  Sourced, never run.
# shellcheck shell=bash disable=SC2034
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

source_folder=${abs_top_srcdir:-.}
recipes=$source_folder/doc/relink.md
[ -f "$recipes" ] || skip "no $recipes"
# What configure has found: lists of flags, so their uses stand without quotes.
cc=${CC:-cc}
ode_cflags=${ODE_CFLAGS:-}
ode_libs=${ODE_LIBS:--lode}
ode_static=${ODE_STATIC_LIBS:-}

# The build tree as an installed one would look.
mkdir "$folder/pkglib"
ln -s "$preload" "$folder/pkglib/"
for archive in wrap replace; do
  if [ -f "$top/liblcplug-$archive.a" ]; then
    ln -s "$top/liblcplug-$archive.a" "$folder/pkglib/"
  fi
done
cp "$source_folder/tests/preload/relink_app.c" "$folder/app.c"

# What the recipes call.  lcplug is not installed yet, and CC may be more than one word.
pkg-config() {
  case $* in
    "--variable=preload lcplug") echo "$folder/pkglib/$(basename "$preload")" ;;
    "--variable=pkglibdir lcplug") echo "$folder/pkglib" ;;
    "--cflags ode") echo "$ode_cflags" ;;
    "--libs ode") echo "$ode_libs" ;;
    *) command pkg-config "$@" ;;
  esac
}
cc() { $cc "$@"; }

# build HEADING: runs the commands under that heading; leaves $folder/app.
build() {
  local commands
  commands=$(awk -v heading="## $1" '$0 == heading { on = 1; next } /^## / { on = 0 }
    on && /^```$/ { exit } on && code { print } on && /^```sh$/ { code = 1 }' "$recipes")
  if [ -z "$commands" ]; then
    not_ok "doc/relink.md has a recipe '$1'"
    finish
  fi
  rm -f "$folder/app"
  if (cd "$folder" && eval "$commands") >"$folder/link.out" 2>&1 && [ -x "$folder/app" ]; then
    ok "the recipe links"
  else
    not_ok "the recipe links" "$commands
$(cat "$folder/link.out")"
    finish
  fi
}

# What the program does without us, linked the usual way.
# shellcheck disable=SC2086
$cc $ode_cflags -o "$folder/usual" "$folder/app.c" $ode_libs -lm >"$folder/link.out" 2>&1 ||
  skip "an ODE program cannot be linked here: $(cat "$folder/link.out")"
plain plain "$folder/usual"
[ "$(status plain)" = 0 ] || skip "the ODE program does not run here"

# relinked NAME SETTINGS: the program as it is now linked.
relinked() { run "$1" env LCPLUG="$2" "$folder/app"; }

# check_swap: the swap is hit by every solver, silent unless asked, and close to upstream.
check_swap() {
  run unset "$folder/app"
  is "unset: exit status" 0 "$(status unset)"
  is "unset: silent" "" "$(err unset)"
  close_to_upstream relinked
  is "unset is auto" "$(out auto)" "$(out unset)"
}

# check_upstream: the program's own solver is still there.
check_upstream() {
  relinked upstream solver=upstream,stats=1
  is "solver=upstream changes no bit" "$(out plain)" "$(out upstream)"
  is "solver=upstream answers every call" "$(counted upstream calls)" \
    "$(counted upstream "answered by upstream")"
  relinked fallback solver=pgs,max_iter=1,tol=1e-14,fallback=upstream,stats=1
  less "a miss asks upstream" 0 "$(counted fallback "asked upstream after a miss")"
  less "fallback: close to upstream" "$(apart plain fallback)" 1e-6
}
