#!/bin/sh
# fuzz_readers.sh - libFuzzer on the readers of problem files, for a bounded time, from the seeds in
# tests/data/seeds.  LCPLUG_FUZZ_SECONDS sets the time.

src=${abs_top_srcdir:-$(pwd)}
seconds=${LCPLUG_FUZZ_SECONDS:-20}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
skip() { echo "skipped: $1"; exit 77; }

clang=$(command -v clang) || skip "no clang, which has libFuzzer (package clang)"
cd "$folder" || exit 1
echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' >probe.c
"$clang" -fsanitize=fuzzer,address,undefined probe.c -o probe 2>/dev/null ||
  skip "clang has no libFuzzer (package libclang-rt-dev)"

"$clang" -std=gnu11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
  -I"$src/include" -I"$src/src" -I"$src/tests/fuzz" "$src/tests/fuzz/fuzz_record.c" \
  "$src"/src/record*.c "$src/src/problem.c" "$src/src/fpenv.c" -lm -o fuzz_record || exit 1

# New inputs land in the first folder, which must not be the source tree's.
mkdir found
./fuzz_record -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=1024 -malloc_limit_mb=512 \
  -timeout=10 -print_final_stats=1 -verbosity=0 found "$src/tests/data/seeds" >log 2>&1
status=$?
tail -n 30 log
if [ $status -ne 0 ]; then
  for crash in crash-* oom-* timeout-* leak-*; do
    [ -e "$crash" ] && { echo "$crash:"; base64 "$crash"; }
  done
  exit 1
fi
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' log)
echo "$runs inputs in $seconds s"
[ "${runs:-0}" -ge 1000 ] || { echo "that is too few to mean anything"; exit 1; }
