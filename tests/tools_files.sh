#!/bin/sh
# tools_files.sh - lcplug solve, replay, compare and convert on files: answers, tables, JSON,
# pictures, mistakes, terminals and Ctrl-C.

. "${abs_top_srcdir:-$(pwd)}/tests/tools_common.sh" || exit 1
data=$src/tests/data
cd "$folder" || exit 1

# is_json WHAT FILE
is_json() {
  if command -v python3 >/dev/null; then
    is "$1 is JSON" "" "$(python3 -m json.tool "$2" 2>&1 >/dev/null)"
  else
    echo "skip - $1 is JSON: no python3"
  fi
}

# field NAME FILE: the first value of this name.
field() { sed -n "s/^ *\"$1\": \([^,]*\),*$/\1/p" "$2" | head -n 1; }

# ---- solve: an answer that can be checked by hand ----------------------------------------------

# One contact that sticks, W not symmetric: W r = -q.
cat >stick.fcp <<'END'
FCP 1
2 1 1
10
-1 0.05
0 0 2 0.1 0.104 1
END
table=$("$bin" solve --tol 1e-10 -o stick.txt stick.fcp 2>errors)
is "solve succeeds" 0 $?
is "one file is solved without a word on stderr" "" "$(cat errors)"
has "the table has heads" "contacts" "$table"
has "the contact sticks" " 1     0 " "$(printf '%s\n' "$table" | sed -n 2p)"
has "and is solved" "solved" "$table"
is "one number per line" 2 "$(wc -l <stick.txt)"
is "the answer is that of W as given" yes "$(awk '{ r[NR] = $1 } END {
  a = 2 * r[1] + 0.1 * r[2] - 1; b = 0.104 * r[1] + r[2] + 0.05
  print ((a < 1e-9 && a > -1e-9 && b < 1e-9 && b > -1e-9) ? "yes" : a " " b) }' stick.txt)"
is "the answer may go to stdout, alone" "$(cat stick.txt)" \
  "$("$bin" solve --tol 1e-10 -o - stick.fcp)"
"$bin" solve --tol 1e-10 --json -o stick.json stick.fcp >report.json
is_json "the answer" stick.json
is_json "the report" report.json
is "JSON says solved" true "$(field solved report.json)"
is "JSON says sticking" 1 "$(field sticking report.json)"
has "the file has the forces" '"x": [' "$(cat stick.json)"
lacks "the report has not" '"x"' "$(cat report.json)"

# The same contact pushed harder than friction holds: slides, and with a lifting q opens.
sed 's/^10$/0.1/; s/^-1 0.05/-1 5/' stick.fcp >slide.fcp
sed 's/^-1 0.05/1 0/' stick.fcp >open.fcp
"$bin" solve --json slide.fcp >slide.json
is "a contact slides" "1 0 0" \
  "$(field sliding slide.json) $(field sticking slide.json) $(field open slide.json)"
"$bin" solve --json open.fcp >open.json
is "a contact is open" "0 0 1" \
  "$(field sliding open.json) $(field sticking open.json) $(field open open.json)"
is "FCP means Coulomb" '"coulomb"' "$(field friction slide.json)"
"$bin" solve --friction cone --json slide.fcp >cone.json
is "unless something else is asked for" '"cone"' "$(field friction cone.json)"
is "the relaxation gap is told" yes \
  "$(field gap cone.json | awk '{ print (($1 > 0.1) ? "yes" : $1) }')"
LCPLUG=friction=cone "$bin" solve --json slide.fcp >cone.json
is "or in the environment" '"cone"' "$(field friction cone.json)"

"$bin" solve --solver pgs --max-iter 1 --tol 1e-12 "$data/wall.lcp" >table 2>&1
is "a missed tolerance is status 1" 1 $?
has "and named" "iteration limit" "$(cat table)"
refuses "no file" 2 "no file given" solve
refuses "a missing file" 2 "none.lcp: No such file" solve none.lcp
echo nonsense >nonsense.lcp
refuses "a file that is none" 2 "nonsense.lcp: byte 0" solve nonsense.lcp
head -c 200 "$data/wall.lcp" >cut.lcp
refuses "a file cut off" 2 "cut.lcp: byte 16: 150 rows" solve cut.lcp
refuses "an unknown option" 2 "--sovler" solve --sovler pgs stick.fcp
refuses "a setting of preloaded programs" 2 "--stats" solve --stats stick.fcp
refuses "a solver that is not here" 2 "stick.fcp" solve --solver upstream stick.fcp
refuses "one -o for several answers" 2 "-o takes the answer of one file" \
  solve -o x.txt stick.fcp slide.fcp
refuses "a folder that cannot be written" 2 "no/such" solve -o no/such/file stick.fcp
"$bin" solve -o gone.txt nonsense.lcp >/dev/null 2>&1
is "no answer, no file" "" "$(ls | grep gone)"
"$bin" solve stick.fcp nonsense.lcp slide.fcp >table 2>errors
is "one bad file is status 2" 2 $?
is "and the others are solved" 2 "$(grep -c 'solved$' table)"

# ---- replay --------------------------------------------------------------------------------------

"$bin" replay "$data" >table 2>errors
is "replay of a folder succeeds" 0 $?
is "a line for each file" \
  "$(find "$data" -name '*.lcp' -o -name '*.fcp' -o -name '*.mtx' | wc -l)" \
  "$(($(wc -l <table) - 1))"
has "upstream's failures are told" " 1 " "$(grep tower-fails-3 table)"
has "a log has plain lines" "replaying ..." "$(cat errors)"
lacks "and no escapes" "$(printf '\033')" "$(cat table errors)"
"$bin" replay --summary "$data" >table 2>/dev/null
has "sizes are summed up" "13 to 60" "$(cat table)"
has "and all of them" "all" "$(tail -n 1 table)"
"$bin" replay --json --solver exact --repeat 3 "$data/wall.lcp" "$data/spheres.lcp" \
  >replay.json 2>/dev/null
is "replay --json succeeds" 0 $?
is_json "replay's report" replay.json
is "both are in it" 2 "$(grep -c '"file"' replay.json)"
is "the velocities are upstream's" yes \
  "$(field w_difference replay.json | awk '{ print (($1 < 1e-9) ? "yes" : $1) }')"
refuses "a wrong number" 2 "'--repeat' cannot be '0'" replay --repeat 0 "$data"
mkdir empty
refuses "a folder without files" 2 "empty: no files" replay empty

# ---- compare -------------------------------------------------------------------------------------

"$bin" compare --friction coulomb --repeat 1 --with solver=pgs --with solver=apgd \
  --profile profile.svg --convergence curves.svg "$data/spheres.lcp" "$data/boxes.lcp" \
  "$data/rolling.lcp" >table 2>/dev/null
is "compare succeeds" 0 $?
has "a line for each contestant" "solver=apgd" "$(cat table)"
has "and the tolerance" "at most 1e-06" "$(cat table)"
for picture in profile.svg curves.svg; do
  is "$picture is whole" "</svg>" "$(tail -n 1 $picture)"
  is "$picture has a curve for each contestant" yes \
    "$([ "$(grep -c 'class="curve"' $picture)" -ge 2 ] && echo yes)"
  if command -v python3 >/dev/null; then
    is "$picture is XML" "" \
      "$(python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' $picture 2>&1)"
  fi
done
is "the curves have points" 4 "$(grep -c 'class="curve"[^>]*d="M[0-9. ]*L' curves.svg)"
"$bin" compare --repeat 1 --with solver=pgs --with solver=exact --convergence curves.svg \
  "$data/boxes.lcp" >/dev/null 2>&1
is "exact, which no iteration limit ends, is a point in each chart and no curve" "2 2" \
  "$(grep -c 'class="curve"' curves.svg) $(grep -c '<circle' curves.svg)"
"$bin" compare --json --repeat 1 "$data/spheres.lcp" >compare.json 2>/dev/null
is_json "compare's report" compare.json
is "three contestants are built in" 3 "$(grep -c '"settings"' compare.json)"
"$bin" compare --files --repeat 1 "$data/spheres.lcp" >table 2>/dev/null
is "lines for each file" 3 "$(grep -c spheres.lcp table)"
refuses "a contestant with a mistake" 2 "sovler" compare --with sovler=pgs "$data/spheres.lcp"

# ---- convert -------------------------------------------------------------------------------------

answer() { "$bin" solve --friction coulomb --solver pgs -o - "$1"; }
"$bin" convert "$data/spheres.lcp" a.fcp 2>errors
is "a record becomes FCP" 0 $?
has "what is lost is told" "answer" "$(cat errors)"
"$bin" convert a.fcp b.mtx && "$bin" convert b.mtx c.lcp && "$bin" convert c.lcp d.fcp
is "FCP, Matrix Market, record and back" 0 $?
is "the same text comes back" "$(grep -v '^#' a.fcp)" "$(grep -v '^#' d.fcp)"
for file in "$data/spheres.lcp" b.mtx c.lcp; do
  is "$(basename "$file") has the answer of a.fcp, to the bit" "$(answer a.fcp)" "$(answer "$file")"
done
"$bin" convert stick.fcp stick.lcp && "$bin" convert stick.lcp back.fcp
is "W stays as given" "$(tail -n 1 stick.fcp)" \
  "$(tail -n 1 back.fcp | sed 's/\([0-9]\)000000[0-9]*/\1/g')"
"$bin" convert --to mtx a.fcp odd.name
has "--to beats the name" "%%MatrixMarket" "$(head -n 1 odd.name)"
refuses "a name of no format" 2 "ends in none" convert a.fcp out.txt
refuses "a format of no name" 2 "record|fcp|mtx" convert --to hdf5 a.fcp out.txt
refuses "joints in FCP" 2 "FCP holds contacts alone" convert "$data/chain.lcp" chain.fcp
refuses "one file only" 2 "one IN and one OUT" convert a.fcp
refuses "an unreadable file" 2 "nonsense.lcp: byte 0" convert nonsense.lcp x.fcp
is "nothing half is left" "" "$(ls | grep -e part -e chain -e '^x')"
if [ -w /dev/full ]; then
  "$bin" replay "$data/wall.lcp" >/dev/full 2>/dev/null
  is "a table that cannot be written is an error" 2 $?
fi

# ---- terminals -----------------------------------------------------------------------------------

if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
  escape=$(printf '\033')
  on_terminal() { TERM=xterm script -qec "$*" /dev/null; }
  has "colours on a terminal" "${escape}[32m" "$(on_terminal "$bin" replay "$data/wall.lcp")"
  has "a bar on a terminal" "left" "$(on_terminal "$bin" replay "$data")"
  lacks "NO_COLOR is honoured" "${escape}[32m" \
    "$(NO_COLOR=1 on_terminal "$bin" replay "$data/wall.lcp")"
  lacks "a table into a file has no colours" "$escape" \
    "$(on_terminal "$bin replay $data/wall.lcp >table" >/dev/null; cat table)"
else
  echo "skip - no script(1), so nothing was shown on a terminal"
fi

# ---- Ctrl-C --------------------------------------------------------------------------------------

# interrupt COMMAND [OPTION...]: SIGINT after the first of many files is done; stdout in the file
# out.  The second file is a pipe without a writer, where the command waits, so that the signal
# comes neither too early nor too late however busy the machine is.  (env: shells let what they
# start in the background ignore INT.)
interrupt() {
  # shellcheck disable=SC2086
  env --default-signal=INT "$bin" "$@" "$data/spheres.lcp" gate.lcp $many >out 2>errors &
  timeout 60 sh -c 'exec >gate.lcp && kill -INT $1' sh $!
  wait $!
}
# appears FILE: waits until it is there, at most for half a minute.
appears() {
  tries=0
  until ls $1 >/dev/null 2>&1 || [ $tries = 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
}
if command -v timeout >/dev/null && env --default-signal=INT true 2>/dev/null; then
  mkfifo gate.lcp
  many="$data $data $data $data $data $data $data $data $data $data"
  interrupt replay --json --repeat 1000
  is "an interrupted replay is status 130" 130 $?
  is_json "its report" out
  is "which says so" true "$(field interrupted out)"
  has "and has what was done" "spheres.lcp" "$(cat out)"
  has "the log says so too" "interrupted" "$(cat errors)"
  interrupt compare --repeat 200 --profile half.svg
  is "an interrupted compare is status 130" 130 $?
  has "it prints its table" "solver=pgs" "$(cat out)"
  is "its picture is whole" "</svg>" "$(tail -n 1 half.svg)"
  is "nothing half is left" "" "$(ls | grep part)"
  # A solve that would take forever: the first signal waits for its end, the second does not.
  # (TERM, as shells let what they start in the background ignore INT.)
  "$bin" solve --solver pgs --max-iter 2000000000 --tol 1e-300 -o forever.txt \
    "$data/wall.lcp" >out 2>&1 &
  appears 'forever.txt.part*'
  kill -TERM $!
  sleep 0.3
  # Its file is there: not kill -0, which finds a process that has ended and was not yet waited for.
  is "the first signal waits" yes "$(ls forever.txt.part* >/dev/null 2>&1 && echo yes)"
  kill -TERM $!
  wait $! 2>/dev/null
  is "the second ends the process" 143 $?
  is "and leaves no file" "" "$(ls | grep forever)"
else
  echo "skip - no timeout(1), or no env(1) that resets signals, so nothing was interrupted"
fi

# ---- problems of others, where they are at hand --------------------------------------------------

others=${LCPLUG_SHARED:+$LCPLUG_SHARED/../fc3d/problems3d}
if [ -n "$others" ] && [ -d "$others" ]; then
  "$bin" solve --tol 1e-6 "$others"/Rover* "$others"/FC3D_Example1.fcp >table 2>/dev/null
  is "frictional contact problems of others are solved" 0 $?
else
  echo "skip - no frictional contact problems beside LCPLUG_SHARED"
fi
finish
