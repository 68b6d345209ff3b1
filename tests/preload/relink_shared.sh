#!/usr/bin/env bash
# relink_shared.sh - doc/relink.md, first recipe: our object ahead of the shared libode.
# shellcheck source-path=SCRIPTDIR source=relink_common.sh
. "$(dirname "$0")/relink_common.sh"

build "Shared libode"
check_swap
check_upstream
first=$(readelf -d "$folder/app" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
  grep -E 'lcplug|libode' | head -n 1)
has "the loader meets us before libode" lcplug "$first"

finish
