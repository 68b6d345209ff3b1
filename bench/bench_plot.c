/* bench_plot.c - time over n on logarithmic axes, drawn by gnuplot. */
#define _GNU_SOURCE
#include "bench.h"

#include <math.h>
#include <stdlib.h>

typedef struct curve {
  int by, given_up; /* given_up: the problems that upstream gives up, or the other ones */
  const char *name, *title, *style;
} curve;

/* The later ones lie on top. */
static const curve curves[] = {
    {BY_PGS, 0, "pgs", "pgs", "pt 1 ps 0.35 lc rgb '#b8b8b8'"},
    {BY_APGD, 0, "apgd", "apgd", "pt 2 ps 0.35 lc rgb '#8f8f8f'"},
    {BY_UPSTREAM, 0, "upstream", "upstream (Dantzig)", "pt 7 ps 0.35 lc rgb '#c8423f'"},
    {BY_UPSTREAM, 1, "gives_up", "upstream gives up", "pt 6 ps 0.5 lc rgb '#c8423f'"},
    {BY_SWAP, 0, "lcplug", "lcplug", "pt 7 ps 0.35 lc rgb '#1f7a8c'"},
    {BY_SWAP, 1, "saved", "lcplug where upstream gives up", "pt 6 ps 0.5 lc rgb '#1f7a8c'"},
};
enum { CURVES = sizeof curves / sizeof *curves };

static int is_on(const curve *c, const bench_result *r) {
  return !isnan(r->by[c->by].least) && bench_upstream_failed(r) == c->given_up;
}

static void write_points(FILE *out, const bench_report *report, const curve *c) {
  fprintf(out, "$%s << END\n", c->name);
  for (int i = 0; i < report->count; i++) {
    const bench_result *r = &report->results[i];
    if (is_on(c, r)) fprintf(out, "%d %g\n", r->n, r->by[c->by].least);
  }
  fprintf(out, "END\n");
}

static int has_points(const bench_report *report, const curve *c) {
  for (int i = 0; i < report->count; i++)
    if (is_on(c, &report->results[i])) return 1;
  return 0;
}

static void write_script(FILE *out, const char *path, const bench_report *report) {
  const char *separator = "plot ";
  fprintf(out, "set terminal svg size 800,520 font 'sans,13' background rgb 'white'\n"
               "set output '%s'\n"
               "set logscale xy\nset grid lc rgb '#e4e4e4' lt 1\n"
               "set border 3 lc rgb '#707070'\nset tics nomirror\n"
               "set key top left reverse Left samplen 1\n"
               "set xlabel 'rows n'\nset ylabel 'time of one solve'\n"
               "set ytics ('100 ns' 1e-7, '1 us' 1e-6, '10 us' 1e-5, '100 us' 1e-4, '1 ms' 1e-3, "
               "'10 ms' 1e-2, '100 ms' 0.1, '1 s' 1, '10 s' 10, '100 s' 100)\n",
          path);
  for (int i = 0; i < CURVES; i++)
    if (has_points(report, &curves[i])) write_points(out, report, &curves[i]);
  for (int i = 0; i < CURVES; i++) {
    if (!has_points(report, &curves[i])) continue;
    fprintf(out, "%s$%s using 1:2 with points %s title '%s'", separator, curves[i].name,
            curves[i].style, curves[i].title);
    separator = ", ";
  }
  fputc('\n', out);
}

int bench_plot(const char *path, const bench_report *report) {
  if (system("command -v gnuplot >/dev/null 2>&1")) {
    progress_say("bench: no plot, as there is no gnuplot (package gnuplot-nox)\n");
    return 0;
  }
  FILE *gnuplot = popen("gnuplot", "w");
  if (!gnuplot) return 0;
  write_script(gnuplot, path, report);
  if (pclose(gnuplot) == 0) return 1;
  progress_say("bench: gnuplot failed, no plot\n");
  return 0;
}
