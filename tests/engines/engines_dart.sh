#!/usr/bin/env bash
# engines_dart.sh - DART's Dantzig solver replaced, in a C++ program.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

program=$top/tests/engines/dart_scene
[ -x "$program" ] || skip "no DART was found by configure, or the build is sanitized"
doctor "DART, double" "$program"
for name in tower slope limit loop servo; do scene "$name" 1e-6 "$program" "$name"; done
scene pile - "$program" pile

finish
