#!/usr/bin/env bash
# tools_report.sh - the page of `lcplug audit --html`, opened in a real
# browser (Chromium, headless).
#
# A copy of the page gets a script that looks at what the browser made of it: texts, how
# many marks each chart has, whether they lie inside of it, whether the page fits the
# window, and which colours it has.
# shellcheck source-path=SCRIPTDIR source=witness_common.sh
. "$(dirname "$0")/witness_common.sh"
browser=
for candidate in ${CHROMIUM:-} chromium chromium-browser google-chrome; do
  if command -v "$candidate" >/dev/null; then
    browser=$candidate
    break
  fi
done
[ -n "$browser" ] || skip "no Chromium here (./bootstrap check-all installs it)"

cd "$folder" || exit 1
# The tower on which upstream fails, and a longer run in which a mark stands for several calls.
run audit "$lcplug" audit --html tower.html -- "$host" tower size=6 steps=60
run long "$lcplug" audit --html long.html -- "$host" boxes size=20 steps=120
verdict=$(grep '^lcplug is ' audit.err)
calls=$(sed -n 's/^\([0-9,]*\) calls with .*/\1/p' audit.err | tr -d ,)
long_calls=$(sed -n 's/^\([0-9,]*\) calls with .*/\1/p' long.err | tr -d ,)
less "the long run has more calls than a chart has columns" 240 "$long_calls"

cat >look.js <<'SCRIPT'
<script>
addEventListener('load', () => {
  const say = (key, value) => lines.push(key + '=' + value), lines = [];
  const inside = (mark, chart) => {
    const a = mark.getBoundingClientRect(), b = chart.getBoundingClientRect();
    return a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 &&
      a.bottom <= b.bottom + 1;
  };
  const shown = mark =>
    mark.getBoundingClientRect().width > 0 && getComputedStyle(mark).fill != 'none';
  say('verdict', document.getElementById('verdict').innerText);
  for (const chart of document.querySelectorAll('svg.chart'))
    for (const group of chart.querySelectorAll(':scope > g')) {
      const marks = [...group.querySelectorAll('circle, rect, path:not(.range)')];
      const name = chart.id + '.' + (group.dataset.side || group.classList[0]) +
        (group.dataset.side ? '-failed' : '');
      say(name, marks.length);
      say(name + '.outside', marks.filter(m => !inside(m, chart)).length);
      if (!group.dataset.side) say(name + '.hidden', marks.filter(m => !shown(m)).length);
    }
  const colour = what => getComputedStyle(document.querySelector(what)).fill;
  say('colours.apart', colour('#times g.upstream') != colour('#times g.lcplug'));
  say('page', getComputedStyle(document.body).backgroundColor);
  say('fits', document.documentElement.scrollWidth <= innerWidth);
  say('rows.different', document.querySelectorAll('#most-different tbody tr').length);
  say('rows.kept', document.querySelectorAll('#kept tbody tr').length);
  document.body.innerHTML = '<pre>' + lines.join('\n') + '</pre>';
});
</script>
SCRIPT

# look NAME PAGE OPTION...: what the script found, in NAME.out.
look() {
  local name=$1 page=$2
  shift 2
  sed -e '/<\/body>/{' -e 'r look.js' -e '}' "$page" >"$name-look.html"
  run "$name" "$browser" --headless --no-sandbox --disable-gpu --no-first-run \
    --user-data-dir="$folder/profile" "$@" --dump-dom "file://$folder/$name-look.html"
}
# found NAME KEY
found() { sed -e 's/.*<pre>//' -e 's/<\/pre>.*//' "$folder/$1.out" | sed -n "s/^$2=//p"; }

look tower tower.html --window-size=1200,900
if [ -z "$(found tower verdict)" ]; then
  skip "this Chromium does not run here: $(err tower | tail -n 1)"
fi
is "the verdict is read" "$verdict" "$(found tower verdict)"
for side in upstream lcplug; do
  is "times: a point for every call of $side" "$calls" "$(found tower "times.$side")"
  less "rows: points of $side" 3 "$(found tower "rows.$side")"
  less "residuals: bars of $side" 0 "$(found tower "residuals.$side")"
done
is "times: upstream's failures are marked" "$(grep -c 'LCP internal error' audit.err)" \
  "$(found tower times.upstream-failed)"
is "times: lcplug has none" 0 "$(found tower times.lcplug-failed)"
is "differences: a point for every call" "$calls" "$(found tower differences.difference)"
less "sizes: bars" 0 "$(found tower sizes.calls)"
is "no mark lies outside of its chart" "" "$(sed -n '/outside=[1-9]/p' tower.out)"
is "no mark is invisible" "" "$(sed -n '/hidden=[1-9]/p' tower.out)"
is "both solvers have colours of their own" true "$(found tower colours.apart)"
is "the ten most different calls are listed" 10 "$(found tower rows.different)"
is "the kept problems are listed" "$(find tower-problems -type f | grep -c .)" \
  "$(found tower rows.kept)"
is "a wide window fits" true "$(found tower fits)"

look long long.html --window-size=500,900 --blink-settings=preferredColorScheme=0
is "a long run: columns" 240 "$(found long times.upstream)"
is "a long run: no mark lies outside of its chart" "" "$(sed -n '/outside=[1-9]/p' long.out)"
is "a narrow window fits" true "$(found long fits)"
is "the page is another one in the dark" different \
  "$([ "$(found long page)" = "$(found tower page)" ] && echo same || echo different)"

finish
