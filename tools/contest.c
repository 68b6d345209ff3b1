/* contest.c - see contest.h.
 *
 * The performance profile is that of Dolan and More: rho_s(t) is the share of problems that solver
 * s solves within t times the time of the fastest.  Its value at t = 1 is how often s wins, its
 * limit how often it solves at all. */
#include "contest.h"

#include <math.h>
#include <stdlib.h>

#include "svg.h"
#include "tools.h"

bool contest_solved(const contest *c, const outcome *o) {
  return !o->error && o->residual <= c->tol;
}

double contest_ratio(const contest *c, int who, int problem) {
  double best = INFINITY;
  for (int s = 0; s < c->count; s++) {
    const outcome *o = &c->contestants[s].results[problem];
    if (contest_solved(c, o)) best = fmin(best, o->seconds);
  }
  if (isinf(best)) return NAN;
  const outcome *mine = &c->contestants[who].results[problem];
  return contest_solved(c, mine) ? mine->seconds / best : INFINITY;
}

double contest_share(const contest *c, int who, double factor) {
  int within = 0;
  for (int p = 0; p < c->problems; p++) within += contest_ratio(c, who, p) <= factor;
  return c->problems ? (double)within / c->problems : 0;
}

double outcome_seconds(const outcome *o) { return o->seconds; }
double outcome_residual(const outcome *o) { return o->residual; }
double outcome_iterations(const outcome *o) { return (double)o->iterations; }

double contest_median(const contest *c, int who, outcome_value *value) {
  double *values = tool_resize(NULL, (size_t)c->problems + 1, sizeof *values);
  int count = 0;
  for (int p = 0; p < c->problems; p++) {
    const outcome *o = &c->contestants[who].results[p];
    if (!o->error) values[count++] = value(o);
  }
  double middle = median(values, count);
  free(values);
  return middle;
}

bool contest_has_curve(const contest *c, int who) {
  lcplug_solver solver = c->contestants[who].settings.solver;
  return solver == LCPLUG_PGS || solver == LCPLUG_APGD;
}

static double largest_ratio(const contest *c) {
  double largest = 2;
  for (int s = 0; s < c->count; s++)
    for (int p = 0; p < c->problems; p++) {
      double ratio = contest_ratio(c, s, p);
      if (isfinite(ratio)) largest = fmax(largest, ratio);
    }
  return largest;
}

static int by_size(const void *a, const void *b) {
  double p = *(const double *)a, q = *(const double *)b;
  return (p > q) - (p < q);
}

/* The steps of one contestant: its ratios in order, each a step up, and a last point at the end. */
static svg_curve profile_curve(const contest *c, int who, double end) {
  double *x = tool_resize(NULL, (size_t)c->problems + 2, sizeof *x);
  double *y = tool_resize(NULL, (size_t)c->problems + 2, sizeof *y);
  int count = 0;
  for (int p = 0; p < c->problems; p++) {
    double ratio = contest_ratio(c, who, p);
    if (isfinite(ratio)) x[count++] = ratio;
  }
  qsort(x, (size_t)count, sizeof *x, by_size);
  for (int i = 0; i < count; i++) y[i] = (i + 1.0) / c->problems;
  x[count] = end;
  y[count] = count ? y[count - 1] : 0;
  return (svg_curve){
      .name = c->contestants[who].name, .style = SVG_STEPS, .x = x, .y = y, .count = count + 1};
}

static void free_curves(svg_curve *curves, int count) {
  for (int i = 0; i < count; i++) {
    free((double *)curves[i].x);
    free((double *)curves[i].y);
  }
}

void contest_write_profile(const contest *c, FILE *file) {
  svg_curve curves[CONTEST_MOST];
  double end = 1.1 * largest_ratio(c);
  char title[120];
  snprintf(title, sizeof title, "Performance profile: %d problems, residual at most %g",
           c->problems, c->tol);
  for (int s = 0; s < c->count; s++) curves[s] = profile_curve(c, s, end);
  svg_chart chart = {
      .title = title,
      .x = {"time, as a multiple of the fastest", .logarithmic = true, .least = 1, .most = end},
      .y = {"share of the problems solved", .least = 0, .most = 1.02},
      .curves = curves,
      .count = c->count};
  svg_write(file, &chart, 1);
  free_curves(curves, c->count);
}

/* A logarithmic axis has no zero: exact is drawn as rounding error. */
static double drawn_residual(double residual) { return fmax(residual, 1e-17); }

/* The medians over the problems, at each budget. */
static int trace_budgets(const contest *c, int who, bool over_time, double *x, double *y) {
  double *column = tool_resize(NULL, (size_t)c->problems + 1, sizeof *column);
  for (int k = 0; k < c->budgets; k++) {
    size_t first = (size_t)k * (size_t)c->room;
    for (int p = 0; p < c->problems; p++) column[p] = c->residual_at[who][first + (size_t)p];
    y[k] = drawn_residual(median(column, c->problems));
    for (int p = 0; p < c->problems; p++) column[p] = c->seconds_at[who][first + (size_t)p];
    x[k] = over_time ? median(column, c->problems) : c->budget[k];
  }
  free(column);
  return c->budgets;
}

/* A problem that is solved without an iteration stands at the axis' first one. */
static int trace_end(const contest *c, int who, bool over_time, double *x, double *y) {
  *x = over_time ? contest_median(c, who, outcome_seconds)
                 : fmax(contest_median(c, who, outcome_iterations), 1);
  *y = drawn_residual(contest_median(c, who, outcome_residual));
  return 1;
}

static svg_curve convergence_curve(const contest *c, int who, bool over_time) {
  double *x = tool_resize(NULL, CONTEST_BUDGETS, sizeof *x);
  double *y = tool_resize(NULL, CONTEST_BUDGETS, sizeof *y);
  bool curved = contest_has_curve(c, who);
  int count = (curved ? trace_budgets : trace_end)(c, who, over_time, x, y);
  return (svg_curve){.name = c->contestants[who].name,
                     .style = curved ? SVG_LINE : SVG_POINTS,
                     .x = x,
                     .y = y,
                     .count = count};
}

void contest_write_convergence(const contest *c, FILE *file) {
  svg_curve curves[2][CONTEST_MOST];
  char title[120];
  snprintf(title, sizeof title, "Convergence: median of %d problem%s", c->problems,
           c->problems == 1 ? "" : "s");
  for (int s = 0; s < c->count; s++)
    for (int k = 0; k < 2; k++) curves[k][s] = convergence_curve(c, s, k == 1);
  svg_chart charts[2] = {{.title = title,
                          .x = {"iterations of each phase, at most", .logarithmic = true},
                          .y = {"residual", .logarithmic = true},
                          .curves = curves[0],
                          .count = c->count},
                         {.title = "over time",
                          .x = {"CPU seconds", .logarithmic = true},
                          .y = {"residual", .logarithmic = true},
                          .curves = curves[1],
                          .count = c->count}};
  svg_write(file, charts, 2);
  for (int k = 0; k < 2; k++) free_curves(curves[k], c->count);
}
