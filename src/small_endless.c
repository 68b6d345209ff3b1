/* small_endless.c - see small_endless.h. */
#include "small_endless.h"

#include <math.h>

typedef struct endless_box {
  const lcplug_problem *given;
  lcplug_problem box; /* the same without findex: bounds say who is held */
  double *lo, *hi;
} endless_box;

static int is_friction(const lcplug_problem *p, int i) {
  return p->findex && i >= p->nub && p->findex[i] >= 0;
}

static double low_of(const lcplug_problem *p, int i) {
  return p->lo ? p->lo[(size_t)i * p->bounds_step] : -INFINITY;
}

static double high_of(const lcplug_problem *p, int i) {
  return p->hi ? p->hi[(size_t)i * p->bounds_step] : INFINITY;
}

/* Whether the normal force of a friction row can be other than 0. */
static int can_press(const lcplug_problem *p, int normal) {
  return normal < p->nub || is_friction(p, normal) || high_of(p, normal) > 0.0 ||
         low_of(p, normal) < 0.0;
}

/* Holds who can press. */
static void hold(endless_box *e) {
  const lcplug_problem *p = e->given;
  for (int i = 0; i < p->n; i++) {
    if (!is_friction(p, i)) continue;
    int held = can_press(p, p->findex[i]) && high_of(p, i) != 0.0;
    e->hi[i] = held ? INFINITY : 0.0;
    e->lo[i] = -e->hi[i];
  }
}

static int begin(endless_box *e, const lcplug_problem *p, lcplug_workspace *workspace) {
  *e = (endless_box){.given = p, .box = *p, .lo = TAKE(workspace, double, 2 * p->n)};
  if (!e->lo) return 0;
  e->hi = e->lo + p->n;
  for (int i = 0; i < p->n; i++) e->lo[i] = low_of(p, i), e->hi[i] = high_of(p, i);
  e->box.lo = e->lo, e->box.hi = e->hi, e->box.bounds_step = 1;
  e->box.findex = NULL;
  return 1;
}

static int solve_box(endless_box *e, short_way *solve, double *x, int *factorizations,
                     lcplug_workspace *workspace) {
  lcplug_solution solution = {.x = x};
  lcplug_info info;
  workspace_mark mark = lcplug_mark(workspace);
  int solved = solve(workspace, &e->box, &solution, &info);
  lcplug_release(workspace, mark);
  if (solved) *factorizations += info.factorizations;
  return solved;
}

int lcplug_small_endless(const lcplug_problem *p, short_way *solve, double *x, int *factorizations,
                         lcplug_workspace *workspace) {
  endless_box e;
  if (!begin(&e, p, workspace)) return 0;
  hold(&e);
  return solve_box(&e, solve, x, factorizations, workspace);
}
