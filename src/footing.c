/* footing.c - see footing.h. */
#include "footing.h"

#include <string.h>

/* What holds a force where it may not move, beside its s: stiff enough to move it no farther than
 * the next step puts right, and soft enough for a patch that lets it go. */
static const double STIFF = 1e7;
/* Of that: no change. */
static const double NO_CHANGE = 1e-13;

/* y = g x, u = w / g */
static void find_scaling(const force_set *set, double *g) {
  double mean = set->kind == SET_ELLIPSE ? sqrt(set->mu[0] * set->mu[1]) : set->mu[0];
  g[0] = mean, g[1] = g[2] = 1.0;
  if (set->rows == 1) g[0] = 1.0;
  for (int i = 1; i < set->rows; i++) g[i] = mean / set->mu[i - 1];
}

static void find_force(const force_set *set, const double *x, double *y) {
  double g[SET_MOST_ROWS];
  find_scaling(set, g);
  y[1] = y[2] = 0.0;
  for (int i = 0; i < set->rows; i++) y[i] = g[i] * x[set->first + i];
}

static void find_velocity(const force_set *set, const double *w, double *u) {
  double g[SET_MOST_ROWS];
  find_scaling(set, g);
  u[1] = u[2] = 0.0;
  for (int i = 0; i < set->rows; i++) u[i] = w[set->first + i] / g[i];
}

static double along(const footing *at, const double *u) {
  return at->d[0] * u[1] + at->d[1] * u[2];
}

static int is_fixed(const force_set *set) {
  return set->kind == SET_INTERVAL && !(set->lo < set->hi);
}

static int is_free(const footing *at, const force_set *set) {
  return set->kind == SET_FREE || (at->place == WITHIN && !is_fixed(set));
}

static void turn_round(footing *at) { at->d[0] = -at->d[0], at->d[1] = -at->d[1]; }

/* ---- places ---------------------------------------------------------------------------------- */

static void settle_interval(footing *at, const force_set *set, double s, double w, int sorts,
                            double *x) {
  double u = s * *x - w;
  if (sorts) at->place = !(u > s * set->lo) ? LOW : u < s * set->hi ? WITHIN : EDGE;
  if (set->kind == SET_FREE) at->place = WITHIN;
  else if (is_fixed(set)) at->place = LOW;
  if (at->place != WITHIN) *x = at->place == LOW ? set->lo : set->hi;
}

void lcplug_footing_settle(footing *at, const force_set *set, double s, const double *w, int sorts,
                           double *x) {
  const int first = set->first;
  if (set->rows == 1) {
    settle_interval(at, set, s, w[first], sorts, x + first);
    return;
  }
  double y[SET_MOST_ROWS], u[SET_MOST_ROWS], g[SET_MOST_ROWS];
  find_force(set, x, y), find_velocity(set, w, u), find_scaling(set, g);
  double normal = s * y[0] - u[0], t[2] = {s * y[1] - u[1], s * y[2] - u[2]};
  double length = lcplug_length(t[0], t[1]), speed = lcplug_length(u[1], u[2]);
  if (sorts) at->place = normal <= 0.0 ? LOW : length <= normal ? WITHIN : EDGE;
  if (at->place == LOW) {
    for (int i = 0; i < set->rows; i++) x[first + i] = 0.0;
    for (int i = 0; i < 2 && speed > 0.0; i++) at->d[i] = u[i + 1] / speed;
    at->slip = speed;
  } else if (at->place == EDGE) {
    for (int i = 0; i < 2 && length > 0.0; i++) at->d[i] = -t[i] / length;
    for (int i = 1; i < set->rows; i++) x[first + i] = -y[0] * at->d[i - 1] / g[i];
    at->slip = length - normal;
  }
}

void lcplug_footing_linearize(footing *at, const force_set *set, const double *x) {
  if (set->rows == 1) return;
  double y[SET_MOST_ROWS];
  find_force(set, x, y);
  double length = lcplug_length(y[1], y[2]);
  at->across = at->place == WITHIN ? 0.0 : STIFF_ACROSS;
  if (at->place == EDGE && y[0] > 0.0) at->across = fmax(at->slip, 0.0) / y[0];
  for (int i = 0; i < 2 && at->place == WITHIN && length > 0.0; i++) at->d[i] = -y[i + 1] / length;
}

static int slacks_of_row(const footing *at, const force_set *set, double s, double x, double w,
                         double *value) {
  value[0] = at->place == LOW ? w : at->place == EDGE ? -w : s * (x - set->lo);
  value[1] = s * (set->hi - x);
  return at->place == WITHIN ? 2 : 1;
}

int lcplug_footing_slacks(const footing *at, const force_set *set, double s, const double *x,
                          const double *w, double *value) {
  double y[SET_MOST_ROWS], u[SET_MOST_ROWS];
  if (set->kind == SET_FREE || is_fixed(set)) return 0;
  if (set->rows == 1) return slacks_of_row(at, set, s, x[set->first], w[set->first], value);
  find_force(set, x, y), find_velocity(set, w, u);
  switch (at->place) {
    case LOW:
      value[0] = u[0];
      return 1;
    case WITHIN:
      value[0] = s * (y[0] + along(at, y)), value[1] = s * (y[0] - along(at, y));
      return 2;
    default:
      value[0] = along(at, u), value[1] = s * y[0];
      return 2;
  }
}

void lcplug_footing_changes(const footing *at, const force_set *set, double s, const double *dx,
                            const double *dw, double *change) {
  if (set->rows == 1 && at->place == WITHIN) {
    change[0] = s * dx[set->first], change[1] = -change[0];
    return;
  }
  lcplug_footing_slacks(at, set, s, dx, dw, change); /* the others have no constant part */
}

int lcplug_footing_turn(footing *at, const force_set *set, int index, const double *w) {
  foothold before = at->place;
  if (set->rows == 1) {
    at->place = before != WITHIN ? WITHIN : index == 0 ? LOW : EDGE;
    return before == EDGE;
  }
  if (before == EDGE) {
    at->place = index == 0 ? WITHIN : LOW;
    return 0;
  }
  double u[SET_MOST_ROWS];
  find_velocity(set, w, u);
  at->place = EDGE;
  if (before == LOW ? along(at, u) < 0.0 : index == 1) turn_round(at);
  return before == LOW;
}

/* ---- equations ------------------------------------------------------------------------------- */

int lcplug_footing_block(const footing *at, const force_set *set, double s, double *E) {
  const int rows = set->rows;
  double hold = STIFF * s, g[SET_MOST_ROWS];
  memset(E, 0, SET_MOST_ROWS * SET_MOST_ROWS * sizeof *E);
  if (set->kind == SET_FREE || (rows == 1 && is_free(at, set))) return 0;
  if (at->place == LOW || rows == 1) E[0] = hold;
  double ahead = at->place == WITHIN ? 0.0 : hold;
  double across = at->across < 0.0 ? hold : fmin(at->across, hold);
  for (int i = 1; i < rows; i++) {
    E[i * rows] = ahead * at->d[i - 1];
    for (int j = 1; j < rows; j++)
      E[i * rows + j] = (ahead - across) * at->d[i - 1] * at->d[j - 1] + (i == j ? across : 0.0);
  }
  find_scaling(set, g);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++) E[i * rows + j] *= g[i] * g[j];
  return 1;
}

int lcplug_footing_patches(const footing *before, const footing *after, const force_set *set,
                           double s, double (*u)[SET_MOST_ROWS], double (*v)[SET_MOST_ROWS]) {
  double from[SET_MOST_ROWS * SET_MOST_ROWS], to[SET_MOST_ROWS * SET_MOST_ROWS], g[SET_MOST_ROWS];
  const double *d = after->d, axes[3][3] = {{1, 0, 0}, {0, d[0], d[1]}, {0, -d[1], d[0]}};
  int rows = set->rows, count = 0;
  lcplug_footing_block(before, set, s, from);
  lcplug_footing_block(after, set, s, to);
  find_scaling(set, g);
  for (int a = 0; a < rows; a++) { /* the change is the sum of axis times (axis . change) */
    double largest = 0.0;
    for (int j = 0; j < rows; j++) {
      u[count][j] = axes[a][j] * g[j];
      v[count][j] = 0.0;
      for (int i = 0; i < rows; i++)
        v[count][j] += axes[a][i] / g[i] * (to[i * rows + j] - from[i * rows + j]);
      largest = fmax(largest, fabs(v[count][j]) / g[j]);
    }
    count += largest > NO_CHANGE * STIFF * s;
  }
  return count;
}

void lcplug_footing_rest(const footing *at, const force_set *set, const double *v, double *rest) {
  const int first = set->first, rows = set->rows;
  double u[SET_MOST_ROWS], g[SET_MOST_ROWS];
  int moves = is_free(at, set);
  for (int i = 0; i < rows; i++) rest[first + i] = moves ? v[first + i] : 0.0;
  if (rows == 1 || at->place != EDGE) return;
  find_velocity(set, v, u), find_scaling(set, g);
  double ahead = along(at, u);
  rest[first] = v[first];
  for (int i = 1; i < rows; i++) { /* across: all of it, where it is free to turn */
    double part = at->across < 0.0 ? 0.0 : u[i] - ahead * at->d[i - 1];
    rest[first + i] = g[i] * (part + (ahead - at->slip) * at->d[i - 1]);
  }
}

void lcplug_footing_demand(const footing *at, const force_set *set, const double *rest,
                           double *right) {
  const int first = set->first, rows = set->rows;
  double u[SET_MOST_ROWS], g[SET_MOST_ROWS];
  if (rows == 1) {
    right[first] = is_free(at, set) ? -rest[first] : 0.0;
    return;
  }
  find_velocity(set, rest, u), find_scaling(set, g);
  double ahead = along(at, u), keep = at->place == WITHIN ? 1.0 : 0.0;
  right[first] = at->place == LOW ? 0.0 : -rest[first];
  for (int i = 1; i < rows; i++) {
    double part = at->across < 0.0 ? 0.0 : u[i] - ahead * at->d[i - 1];
    right[first + i] = -g[i] * (part + keep * ahead * at->d[i - 1]);
  }
}
