#!/usr/bin/env bash
# preload_symbols.sh - what the preload objects bring into a host: the symbols of compat/symbols.h,
# no library but the C library's own, and of that, in the plug, nothing that a guest must not touch.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

if ! command -v nm >/dev/null || ! command -v readelf >/dev/null; then skip "no binutils here"; fi
list=${abs_top_srcdir:-.}/compat/symbols.h
[ -f "$list" ] || skip "no $list"

name='[A-Za-z_][A-Za-z0-9_]*'
listed=$(sed -En "s/^[[:space:]]*X\([[:space:]]*($name)[[:space:]]*,.*/\1/p" "$list" | sort)
less "compat/symbols.h lists symbols" 5 "$(printf '%s\n' "$listed" | grep -c .)"

# The plug, and the witness of capture and audit.
for object in "$preload" "$(dirname "$preload")/liblcplug-witness.so"; do
  echo "$object"
  exported=$(nm -D --defined-only "$object" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort)
  is "exactly those are exported" "$listed" "$exported"

  for library in $(readelf -d "$object" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    case $library in
      libc.so* | libm.so* | ld-linux*.so* | libpthread.so* | libdl.so* | libgcc_s.so* | libc.musl*)
        ok "needs $library, which is the C library's own" ;;
      *) not_ok "needs $library" ;;
    esac
  done

  # Text relocations or an executable stack would make a guarded host refuse it.
  is "no text relocations" "" "$(readelf -d "$object" | grep TEXTREL)"
  is "no executable stack" "" "$(readelf -lW "$object" | awk '/GNU_STACK/ && /RWE/')"
  has "is never unloaded" NODELETE "$(readelf -d "$object")"
done

# A guest that cannot name them cannot write to stdout, catch a signal or end the program.
imported=$(nm -D --undefined-only "$preload" | awk '{ sub(/@.*/, "", $NF); print $NF }')
for function in stdout puts putchar printf signal sigaction exit _exit abort; do
  is "does without $function" "" "$(printf '%s\n' "$imported" | grep -x "$function")"
done

finish
