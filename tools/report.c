/* report.c - the page of an audit: one file of HTML with its charts and styles inside, without
 * scripts, fonts or links, so that it opens anywhere, today and in ten years. */
#define _GNU_SOURCE
#include <lcplug/lcplug.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit.h"
#include "files.h"
#include "numbers.h"
#include "report_charts.h"
#include "svg.h"
#include "tools.h"

static const char style[] =
    ":root{color-scheme:light dark;--page:#f6f5f1;--card:#fff;--ink:#20262b;--soft:#66717a;"
    "--line:#e3e1da;--upstream:#d07a1f;--lcplug:#12808d;--failed:#c8323c}"
    "@media(prefers-color-scheme:dark){:root{--page:#12161a;--card:#1a2026;--ink:#e4e8ea;"
    "--soft:#95a1aa;--line:#2c353c;--upstream:#f0a552;--lcplug:#4cc4d0;--failed:#ff7079}}"
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}"
    "main{max-width:60rem;margin:0 auto;padding:2rem 1rem 4rem}"
    "h1{font-size:clamp(1.35rem,4.2vw,2.1rem);line-height:1.22;margin:.2rem 0 .8rem;"
    "font-weight:650;letter-spacing:-.01em;text-wrap:balance}h2{font-size:1.1rem;margin:0 0 .2rem}"
    "p{margin:.2rem 0 .8rem;max-width:46rem}"
    ".kicker{color:var(--lcplug);font-weight:650;letter-spacing:.04em;margin:0}"
    ".soft,figcaption,th{color:var(--soft)}"
    "code{font:0.92em ui-monospace,monospace;overflow-wrap:anywhere}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.2rem,1fr));gap:.7rem;"
    "margin:1.4rem 0}"
    ".tile,section{background:var(--card);border:1px solid var(--line);border-radius:.7rem}"
    ".tile{padding:.7rem .85rem}"
    ".tile h2{font-size:.8rem;font-weight:600;color:var(--soft);margin-bottom:.3rem}"
    ".tile b{display:flex;justify-content:space-between;align-items:baseline;font-size:1.08rem;"
    "font-weight:650;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".tile span{font-size:.78rem;font-weight:500}.tile .upstream{color:var(--upstream)}"
    ".tile .lcplug{color:var(--lcplug)}section{padding:1.1rem 1.2rem;margin:1rem 0}figure{margin:0}"
    "figcaption{font-size:.85rem;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem}"
    ".key::before{content:'';display:inline-block;width:.7rem;height:.7rem;border-radius:50%;"
    "margin-right:.4rem;background:currentColor}.key.upstream{color:var(--upstream)}"
    ".key.lcplug{color:var(--lcplug)}.key.failed{color:var(--failed)}"
    ".key.difference{color:var(--soft)}.wide{overflow-x:auto}"
    ".chart{display:block;width:100%;min-width:33rem;height:auto;font-size:12px}"
    ".chart text{fill:var(--soft)}.grid{stroke:var(--line)}.axis{stroke:var(--soft)}"
    "g.upstream{fill:var(--upstream);stroke:var(--upstream)}"
    "g.lcplug{fill:var(--lcplug);stroke:var(--lcplug)}"
    "g.calls,g.difference{fill:var(--soft);stroke:var(--soft)}"
    "g.failed{fill:var(--failed);stroke:var(--failed);stroke-width:2}circle,rect{stroke:none}"
    ".range{stroke-width:2.4;stroke-opacity:.34;stroke-linecap:round}"
    ".cells circle{fill-opacity:.55}"
    "table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}"
    "th,td{text-align:right;padding:.3rem .6rem;border-bottom:1px solid var(--line);"
    "white-space:nowrap}th:first-child,td:first-child{text-align:left;padding-left:0}"
    "tr:last-child td{border-bottom:0}"
    "th{font-weight:600;white-space:normal;vertical-align:bottom}"
    ".zone{fill:var(--failed);fill-opacity:.08}td.bad{color:var(--failed);font-weight:650}"
    "td.left,th.left{text-align:left}"
    "@media print{body{background:#fff}section,.tile{break-inside:avoid}}";

/* ---- pieces ---------------------------------------------------------------------------------- */

static void tag_text(FILE *page, const char *before, const char *text, const char *after) {
  fputs(before, page);
  svg_text(page, text);
  fputs(after, page);
}

static void cell(FILE *page, const char *text, bool bad) {
  tag_text(page, bad ? "<td class=\"bad\">" : "<td>", text, "</td>");
}

static void row_of_heads(FILE *page, const char *const *heads) {
  fputs("<div class=\"wide\"><table><thead><tr>", page);
  for (; *heads; heads++) tag_text(page, "<th>", *heads, "</th>");
  fputs("</tr></thead><tbody>\n", page);
}

static void end_of_table(FILE *page) { fputs("</tbody></table></div>\n", page); }

static void keys(FILE *page, const char *failed) {
  fputs(
      "<figcaption><span class=\"key upstream\">upstream</span>"
      "<span class=\"key lcplug\">lcplug</span>",
      page);
  if (failed) tag_text(page, "<span class=\"key failed\">", failed, "</span>");
  fputs("</figcaption>", page);
}

/* ---- the top --------------------------------------------------------------------------------- */

static void write_head(FILE *page, const audit *a, const char *verdict) {
  char calls[NUMBER_TEXT], least[NUMBER_TEXT], most[NUMBER_TEXT], day[40];
  time_t now = time(NULL);
  struct tm parts;
  strftime(day, sizeof day, "%Y-%m-%d %H:%M", localtime_r(&now, &parts));
  fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n",
        page);
  tag_text(page, "<title>lcplug audit: ", a->command, "</title>\n");
  fprintf(page,
          "<style>%s</style>\n</head>\n<body>\n<main>\n<p class=\"kicker\">lcplug audit</p>\n",
          style);
  tag_text(page, "<h1 id=\"verdict\">", verdict, "</h1>\n");
  tag_text(page, "<p><code>", a->command, "</code></p>\n");
  if (!a->count) return;
  fprintf(page, "<p class=\"soft\">%s calls with %s to %s rows", group_digits(a->count, calls),
          group_digits(a->fewest_rows, least), group_digits(a->most_rows, most));
  if (a->processes > 1) fprintf(page, " in %u processes", a->processes);
  fprintf(page, " &middot; the program got %s&rsquo;s answers &middot; lcplug %s &middot; %s</p>\n",
          side_names[a->gave_lcplug ? LCPLUG : UPSTREAM], lcplug_version(), day);
}

static void tile(FILE *page, const char *title, const char *upstream, const char *lcplug) {
  fprintf(page,
          "<div class=\"tile\"><h2>%s</h2><b><span class=\"upstream\">upstream</span>%s</b>"
          "<b><span class=\"lcplug\">lcplug</span>%s</b></div>\n",
          title, upstream, lcplug);
}

static void write_tiles(FILE *page, const audit *a) {
  const side_numbers *u = &a->side[UPSTREAM], *l = &a->side[LCPLUG];
  char first[NUMBER_TEXT], second[NUMBER_TEXT];
  fputs("<div class=\"tiles\">\n", page);
  tile(page, "Solving, all calls", time_text(u->total, first), time_text(l->total, second));
  tile(page, "Slowest call", time_text(u->slowest, first), time_text(l->slowest, second));
  tile(page, "Failed calls", group_digits(u->failed, first), group_digits(l->failed, second));
  tile(page, "Worst residual", residual_text(u->residual_worst, first),
       residual_text(l->residual_worst, second));
  if (a->program_seconds > 0.0)
    tile(page, "Program, CPU time", time_text(a->program_seconds, first),
         time_text(a->program_seconds - u->total + l->total, second));
  fputs("</div>\n", page);
}

/* ---- sections -------------------------------------------------------------------------------- */

static void write_times(FILE *page, const audit *a) {
  fputs(
      "<section><h2>Time per call over the run</h2><p class=\"soft\">A dot is the median of a "
      "part of the run, the line behind it goes from its fastest to its slowest "
      "call.</p><figure><div class=\"wide\">",
      page);
  chart_times(page, a);
  fputs("</div>", page);
  keys(page, a->side[UPSTREAM].failed || a->side[LCPLUG].failed
                 ? "failed calls, above the chart: upstream in the upper line, lcplug in the lower"
                 : NULL);
  fputs("</figure></section>\n", page);
}

static void write_class(FILE *page, const size_class *c) {
  char text[64];
  fputs("<tr>", page);
  cell(page, size_class_text(c, text, sizeof text), false);
  cell(page, group_digits(c->calls, text), false);
  for (int which = 0; which < SIDES; which++) cell(page, time_text(c->median[which], text), false);
  for (int which = 0; which < SIDES; which++) cell(page, time_text(c->total[which], text), false);
  cell(page, ratio_text(c->ratio, text), c->ratio < 0.95 && c->ratio >= 0.0);
  for (int which = 0; which < SIDES; which++)
    cell(page, group_digits(c->failed[which], text), c->failed[which]);
  fputs("</tr>\n", page);
}

static void write_sizes(FILE *page, const audit *a) {
  static const char *const heads[] = {
      "Rows",          "Calls", "Upstream median", "lcplug median", "Upstream in all",
      "lcplug in all", "Ratio", "Upstream failed", "lcplug failed", NULL};
  fputs(
      "<section><h2>Sizes</h2><p class=\"soft\">The rows of a problem are its contacts&rsquo; "
      "normal and friction forces, joints and motors. The ratio is that of the times of calls "
      "that both solved; above 1 lcplug is faster.</p>",
      page);
  row_of_heads(page, heads);
  for (int i = 0; i < SIZE_CLASSES; i++)
    if (a->classes[i].calls) write_class(page, &a->classes[i]);
  end_of_table(page);
  fputs("<figure><div class=\"wide\">", page);
  chart_rows(page, a);
  fputs("</div>", page);
  keys(page, NULL);
  fputs("</figure><figure><div class=\"wide\">", page);
  chart_sizes(page, a);
  fputs(
      "</div><figcaption>How many calls of which size; the scale is "
      "logarithmic.</figcaption></figure></section>\n",
      page);
}

static void write_residuals(FILE *page, const audit *a) {
  fputs(
      "<section><h2>Residuals</h2><p class=\"soft\">The largest constraint violation that an "
      "answer leaves, as a fraction of the largest one without any force: 0 is exact, 1 is "
      "nothing solved. Above 1e-6 a call counts as failed.</p><figure><div class=\"wide\">",
      page);
  chart_residuals(page, a);
  fputs("</div>", page);
  keys(page, NULL);
  fputs("</figure></section>\n", page);
}

static int by_difference(const void *a, const void *b) {
  float x = (*(const audited_call *const *)a)->entry.difference,
        y = (*(const audited_call *const *)b)->entry.difference;
  return (x < y) - (x > y);
}

static void write_call(FILE *page, const audited_call *c) {
  const witness_entry *e = &c->entry;
  char text[NUMBER_TEXT];
  fputs("<tr>", page);
  cell(page, group_digits(c->number, text), false);
  cell(page, group_digits(e->n, text), false);
  cell(page, residual_text((double)e->difference, text), false);
  cell(page, residual_text((double)e->energy, text), false);
  for (int which = 0; which < SIDES; which++)
    cell(page, residual_text(call_residual(e, (side)which), text), call_failed(e, (side)which));
  for (int which = 0; which < SIDES; which++)
    cell(page, time_text(call_seconds(e, (side)which), text), false);
  fputs("</tr>\n", page);
}

static void write_differences(FILE *page, const audit *a) {
  static const char *const heads[] = {"Call",
                                      "Rows",
                                      "In w",
                                      "In energy",
                                      "Upstream&#8217;s residual",
                                      "lcplug&#8217;s residual",
                                      "Upstream",
                                      "lcplug",
                                      NULL};
  enum { SHOWN = 10 };
  char text[NUMBER_TEXT];
  const audited_call **order = tool_resize(NULL, a->count, sizeof *order);
  for (size_t i = 0; i < a->count; i++) order[i] = &a->calls[i];
  qsort(order, a->count, sizeof *order, by_difference);
  fprintf(
      page,
      "<section><h2>Where they differ most</h2><p class=\"soft\">The largest difference between "
      "both answers&rsquo; w = A x &minus; b, over the largest b. Where both solved the problem "
      "it is at most <b id=\"difference\">%s</b>.</p><figure><div class=\"wide\">",
      residual_text(a->difference, text));
  chart_differences(page, a);
  fputs("</div><figcaption><span class=\"key difference\">largest of its part of the run</span>"
        "<span class=\"key failed\">one of both had failed</span></figcaption></figure>",
        page);
  fputs("<div class=\"wide\"><table id=\"most-different\"><thead><tr>", page);
  for (int i = 0; heads[i]; i++) fprintf(page, "<th>%s</th>", heads[i]);
  fputs("</tr></thead><tbody>\n", page);
  for (size_t i = 0; i < a->count && i < SHOWN; i++) write_call(page, order[i]);
  end_of_table(page);
  fputs("</section>\n", page);
  free(order);
}

/* The last folder and the file: the page may be looked at elsewhere. */
static const char *short_path(const char *path) {
  const char *at = path + strlen(path);
  for (int slashes = 0; at > path; at--)
    if (at[-1] == '/' && ++slashes == 2) break;
  return at;
}

static void write_kept(FILE *page, const audit *a) {
  char text[NUMBER_TEXT];
  bool any = false;
  for (int i = 0; i < WITNESS_WORST_KINDS; i++) any |= a->kept[i].path != NULL;
  if (!any) return;
  fputs(
      "<section><h2>Kept for replay</h2><p class=\"soft\">The worst problems as they came, with "
      "upstream&rsquo;s answer: <code>lcplug replay FILE</code> solves them again with any "
      "settings.</p><div class=\"wide\"><table "
      "id=\"kept\"><thead><tr><th>What</th><th>Call</th><th "
      "class=\"left\">File</th></tr></thead><tbody>\n",
      page);
  for (int i = 0; i < WITNESS_WORST_KINDS; i++) {
    if (!a->kept[i].path) continue;
    fputs("<tr>", page);
    cell(page, worst_text((witness_worst)i), false);
    cell(page, group_digits(a->kept[i].number, text), false);
    tag_text(page, "<td class=\"left\"><code>", short_path(a->kept[i].path), "</code></td></tr>\n");
  }
  end_of_table(page);
  fputs("</section>\n", page);
}

static void write_method(FILE *page, const audit *a) {
  char text[NUMBER_TEXT];
  fputs(
      "<section><h2>How this was measured</h2><p class=\"soft\">The program ran once. On every "
      "call both solvers got the same bytes, upstream first; times are CPU time of the calling "
      "thread. Neither finds the caches as warm as it would alone, which is felt in calls of a few "
      "microseconds. If lcplug missed its tolerance and asked upstream, upstream&rsquo;s time "
      "counts as lcplug&rsquo;s, too",
      page);
  if (a->fell_back) fprintf(page, " (%s calls)", group_digits(a->fell_back, text));
  fputs(
      ". The time of the whole program leaves out what the audit itself took; lcplug&rsquo;s is "
      "an estimate from it.</p>",
      page);
  if (a->unfinished)
    fprintf(page, "<p class=\"soft\">Calls under way when the program ended: %s.</p>",
            group_digits(a->unfinished, text));
  if (a->lost)
    fprintf(page, "<p class=\"soft\">Calls that could not be noted: %s.</p>",
            group_digits(a->lost, text));
  if (*a->end) tag_text(page, "<p class=\"soft\">The program ", a->end, ".</p>");
  fputs("</section>\n", page);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void write_page(FILE *page, const audit *a) {
  char *verdict =
      a->count ? audit_verdict(a) : tool_format("No call of a solver was seen in this program.");
  write_head(page, a, verdict);
  free(verdict);
  if (a->count) {
    write_tiles(page, a);
    write_times(page, a);
    write_sizes(page, a);
    write_residuals(page, a);
    write_differences(page, a);
    write_kept(page, a);
    write_method(page, a);
  } else {
    fputs("<p><code>lcplug doctor</code> may say why.</p>\n", page);
  }
  fputs("</main>\n</body>\n</html>\n", page);
}

bool report_write(const audit *a, const char *path) {
  out_file out;
  if (!out_open(&out, path)) return false;
  write_page(out.file, a);
  return out_close(&out);
}
