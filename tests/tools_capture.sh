#!/usr/bin/env bash
# tools_capture.sh - `lcplug capture` changes no bit of what a program computes, keeps what it was
# asked to keep, and leaves nothing but whole files, whatever happens to the program or the disk.
# shellcheck source-path=SCRIPTDIR source=witness_common.sh
. "$(dirname "$0")/witness_common.sh"

# captured NAME OPTIONS... -- PROGRAM ARGUMENT...: a run under capture, problems in $folder/NAME.
captured() {
  local name=$1
  shift
  run "$name" "$lcplug" capture -o "$folder/$name" "$@"
}

files() { find "$folder/$1" -type f 2>/dev/null | grep -c .; }
# What the program itself said on stderr.
said() { err "$1" | grep -v '^lcplug: '; }

# whole NAME: every file there can be read and solved again, and nothing else lies beside them.
whole() {
  run "$1-replay" "$lcplug" replay "$folder/$1"
  is "$1: all files are whole" 0 "$(status "$1-replay")"
  is "$1: no parts of files" "" "$(find "$folder/$1" -type f ! -name '*.lcp')"
}

# ---- bits --------------------------------------------------------------------------------------

for scene in tower:size=6 wall:size=3 boxes:size=20 ragdoll:size=2 vehicles:size=1 motors:size=2; do
  kind=${scene%%:*}
  plain "$kind-plain" "$host" "$kind" "${scene#*:}" steps=60
  captured "$kind" -- "$host" "$kind" "${scene#*:}" steps=60
  same "$kind" "$kind-plain"
  is "$kind: its messages" "$(said "$kind-plain")" "$(said "$kind")"
  less "$kind: problems were kept" 0 "$(files "$kind")"
  whole "$kind"
done
# The tower of six boxes, on which upstream prints its message: as many records with an error.
run errors "$lcplug" replay --files "$folder/tower"
is "upstream's failures are in the records" \
  "$(grep -c 'LCP internal error' "$folder/tower-plain.err")" \
  "$(out errors | awk '$(NF - 2) == 1' | grep -c .)"

if python_with ode; then
  script=${abs_top_srcdir:-.}/tests/preload/pyode_scene.py
  plain python-plain "$python" "$script"
  captured python -- "$python" "$script"
  same python python-plain
  less "python: problems were kept" 0 "$(files python)"
  whole python
else
  echo "skip - no python3 here can import ode (package python3-pyode)"
fi

plain traps-plain "$hosts/host_fenv" scene traps
captured traps -- "$hosts/host_fenv" scene traps
same traps traps-plain

# ---- threads and processes -----------------------------------------------------------------------

plain worlds-plain "$hosts/host_threads" worlds
captured worlds -- "$hosts/host_threads" worlds
same worlds worlds-plain
calls=$(err worlds | sed -n 's/^lcplug: .* problems of \([0-9,]*\) calls kept.*/\1/p' | tr -d ,)
is "worlds: every call of every thread has its file" "$calls" "$(files worlds)"
whole worlds

plain fork-plain "$hosts/host_threads" fork
captured fork -- "$hosts/host_threads" fork
same fork fork-plain
whole fork

# ---- what is kept --------------------------------------------------------------------------------

scene=("$host" boxes size=20 steps=60)
captured all -- "${scene[@]}"
captured large --min-n 30 -- "${scene[@]}"
run large-sizes "$lcplug" replay --files "$folder/large"
less "--min-n leaves small ones out" "$(files large)" "$(files all)"
is "--min-n: none has fewer rows" 0 "$(out large-sizes | awk 'NR > 1 && $2 < 30' | grep -c .)"
captured third --every 3 -- "${scene[@]}"
is "--every 3 keeps a third" "$((($(files all) + 2) / 3))" "$(files third)"
captured ten --max=10 -- "${scene[@]}"
is "--max 10 keeps ten" 10 "$(files ten)"
has "--max: there were more" "--max left out" "$(err ten)"
captured ten -- "${scene[@]}"
is "a second run adds to the folder" "$((10 + $(files all)))" "$(files ten)"
whole ten

# ---- when things go wrong ------------------------------------------------------------------------

# A limit on the size of files: no larger one can be written, and the signal for it must not end the
# program.
plain limited-plain "$host" wall size=3 steps=60
run limited bash -c 'ulimit -f 24; exec "$@"' limited "$lcplug" capture -o "$folder/limited" -- \
  "$host" wall size=3 steps=60
same limited limited-plain
has "limited: the reason is told" "could not be written" "$(err limited)"
[ ! -d "$folder/limited" ] || whole limited

# A disk that is full, where we may mount one.
if mkdir "$folder/disk" && mount -t tmpfs -o size=256k tmpfs "$folder/disk" 2>/dev/null; then
  run full "$lcplug" capture -o "$folder/disk/full" -- "$host" wall size=3 steps=60
  is "full disk: exit status" 0 "$(status full)"
  is "full disk: the program's output" "$(out limited-plain)" "$(out full)"
  has "full disk: the reason is told" "No space left" "$(err full)"
  run full-replay "$lcplug" replay "$folder/disk/full"
  is "full disk: all files are whole" 0 "$(status full-replay)"
  is "full disk: no parts of files" "" "$(find "$folder/disk" -type f ! -name '*.lcp')"
  umount "$folder/disk"
else
  echo "skip - a full disk: this user cannot mount one"
fi

# A program that is killed in the middle: death by the same signal, and whole files.
mkdir "$folder/killed"
"$lcplug" capture -o "$folder/killed" --max 100000 -- "$host" wall size=4 steps=100000 \
  >/dev/null 2>"$folder/killed.err" &
tool=$!
for _ in $(seq 1200); do
  [ "$(files killed)" -lt 20 ] || break
  sleep 0.05
done
pkill -KILL -P "$tool"
wait "$tool" 2>/dev/null
is "killed: the status is the program's" 137 $?
less "killed: problems were kept" 19 "$(files killed)"
whole killed
has "killed: a summary all the same" "problems of" "$(err killed)"

is "nothing temporary stays" "" "$(ls -A "$TMPDIR")"

# ---- the command line ----------------------------------------------------------------------------

captured status -- sh -c 'exit 41'
is "the exit status is passed on" 41 "$(status status)"
has "no solver: the doctor is named" "lcplug doctor sh" "$(err status)"
is "no solver: no folder" no "$([ -e "$folder/status" ] && echo yes || echo no)"
is "standard input and arguments are the program's" "a b -- hello" \
  "$(echo hello |
    "$lcplug" capture -o "$folder/status" -- sh -c 'echo "$1 -- $(cat)"' sh 'a b' 2>/dev/null)"

cd "$folder" || exit 1
touch file
refuses "no program" 2 "no program" capture --max 3
refuses "an unknown option" 2 "--mni-n" capture --mni-n 3 -- true
refuses "--every 0" 2 "'--every' cannot be '0'" capture --every 0 -- true
refuses "--max -1" 2 "'--max' cannot be '-1'" capture --max -1 -- true
refuses "--min-n that is no number" 2 "'--min-n' cannot be '3x'" capture --min-n 3x -- true
refuses "an option without its value" 2 "needs a value" capture -o
refuses "a file in the place of the folder" 2 "file" capture -o file -- true
refuses "a folder that cannot be made" 2 "no/where" capture -o no/where -- true
refuses "a missing program" 127 "no-such-program" capture -- no-such-program
refuses "a file that is no program" 126 "file" capture -- ./file
is "mistakes leave no folder behind" "no" "$([ -e lcplug-capture ] && echo yes || echo no)"

finish
