/* layout.c - see layout.h.  One pass threads each normal's friction rows into a list, a second one
 * walks the caller's rows and lets every normal bring its list along. */
#include "layout.h"

#include <float.h>
#include <math.h>

/* Some write the largest number for no limit. */
static double bound_of(double value) {
  return fabs(value) < DBL_MAX ? value : copysign(INFINITY, value);
}

static double low_of(const lcplug_problem *p, int row) {
  return row < p->nub || !p->lo ? -INFINITY : bound_of(p->lo[(size_t)row * p->bounds_step]);
}

static double high_of(const lcplug_problem *p, int row) {
  return row < p->nub || !p->hi ? INFINITY : bound_of(p->hi[(size_t)row * p->bounds_step]);
}

static double mu_of(const lcplug_problem *p, int row) {
  return p->hi ? fabs(bound_of(p->hi[(size_t)row * p->bounds_step])) : INFINITY;
}

static int is_friction(const lcplug_problem *p, int row) {
  return p->findex && row >= p->nub && p->findex[row] >= 0;
}

/* Only a force that pushes, without limit, carries a cone. */
static int carries_cone(const lcplug_problem *p, int row) {
  return low_of(p, row) == 0.0 && high_of(p, row) == INFINITY;
}

static int take_arrays(layout *l, lcplug_workspace *workspace) {
  l->row = TAKE(workspace, int, l->n);
  l->place = TAKE(workspace, int, l->n);
  l->group_first = TAKE(workspace, int, l->n + 1);
  l->normal = TAKE(workspace, int, l->n);
  l->cone_rows = TAKE(workspace, int, l->n);
  l->b = TAKE(workspace, double, l->n);
  l->lo = TAKE(workspace, double, l->n);
  l->hi = TAKE(workspace, double, l->n);
  return l->row && l->place && l->group_first && l->normal && l->cone_rows && l->b && l->lo &&
         l->hi;
}

/* Lists of friction rows by normal: list[normal] is its first row, next[row] the one after. */
typedef struct friction_lists {
  int *list, *next;
} friction_lists;

static void thread_lists(const lcplug_problem *p, friction_lists f) {
  for (int row = 0; row < p->n; row++) f.list[row] = -1;
  for (int row = p->n - 1; row >= 0; row--) { /* backwards, so that lists come out ascending */
    if (!is_friction(p, row) || is_friction(p, p->findex[row])) continue;
    f.next[row] = f.list[p->findex[row]];
    f.list[p->findex[row]] = row;
  }
}

static void append(layout *l, const lcplug_problem *p, int row, int normal, int *count) {
  int i = (*count)++;
  int friction = normal != ROW_PLAIN;
  l->row[i] = row;
  l->place[row] = i;
  l->normal[i] = normal;
  l->cone_rows[i] = 1;
  l->b[i] = p->b[(size_t)row * p->b_step];
  l->hi[i] = friction ? mu_of(p, row) : high_of(p, row);
  l->lo[i] = friction ? -l->hi[i] : low_of(p, row);
  l->frictions += friction;
  l->identity &= i == row;
}

/* Of the first two rows that name a normal, those with a mu in (0, inf) span its cone.  mu 0 is no
 * force and mu infinite no bound; both are plain rows beside the cone. */
static int spans_cone(const lcplug_problem *p, int position, int row) {
  double mu = mu_of(p, row);
  return position < 2 && mu > 0.0 && mu < INFINITY;
}

static void append_contact(layout *l, const lcplug_problem *p, friction_lists f, int row,
                           int *count) {
  int normal = *count, cone = carries_cone(p, row);
  append(l, p, row, ROW_PLAIN, count);
  for (int spanning = 1; spanning >= 0; spanning--) {
    int position = 0;
    for (int t = f.list[row]; t >= 0; t = f.next[t], position++) {
      if (spans_cone(p, position, t) != spanning) continue;
      append(l, p, t, normal, count);
      if (cone && spanning) l->cone_rows[normal]++;
    }
  }
}

lcplug_error lcplug_layout_build(layout *l, const lcplug_problem *p, lcplug_workspace *workspace) {
  *l = (layout){.n = p->n, .identity = 1};
  if (!take_arrays(l, workspace)) return LCPLUG_ERROR_MEMORY;
  workspace_mark mark = lcplug_mark(workspace);
  friction_lists f = {TAKE(workspace, int, p->n), TAKE(workspace, int, p->n)};
  if (!f.list || !f.next) return LCPLUG_ERROR_MEMORY;
  thread_lists(p, f);
  int count = 0;
  for (int row = 0; row < p->n; row++) {
    int friction = is_friction(p, row), dead = friction && is_friction(p, p->findex[row]);
    if (friction && !dead) continue; /* comes with its normal */
    l->group_first[l->groups++] = count;
    if (dead) append(l, p, row, ROW_DEAD, &count);
    else append_contact(l, p, f, row, &count);
  }
  l->group_first[l->groups] = count;
  lcplug_release(workspace, mark);
  return LCPLUG_OK;
}
