#!/usr/bin/env bash
# engines_dartpy.sh - DART's Dantzig solver replaced in a Python program, which opens libdart with
# RTLD_LOCAL.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

python_with dartpy || skip "no python3 here can import dartpy (package python3-dartpy)"
LD_PRELOAD=$preload "$python" -c '' 2>/dev/null || skip "the preload object is sanitized"

script=${abs_top_srcdir:-.}/tests/engines/dartpy_scene.py
# Upstream gives up on a step of the tower, and PGS then leaves other forces.
scene tower 1e-4 "$python" "$script" tower
scene slope 1e-6 "$python" "$script" slope

finish
