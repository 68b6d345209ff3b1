/* small_endless.c - see small_endless.h. */
#include "small_endless.h"

#include <math.h>
#include <string.h>

/* In which those that press and those that are held may become the same. */
enum { MOST_ROUNDS = 5 };

typedef struct endless_box {
  const lcplug_problem *given;
  lcplug_problem box; /* the same without findex: bounds say who is held */
  double *lo, *hi, *held_x;
  double *before; /* hi of the box before this one */
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

typedef enum change { SAME, AS_BEFORE, NEW } change;

/* Holds who presses in x, NULL: who can.  Whether that is who was held in the box that x is of, or in
 * the one before it, or new. */
static change hold(endless_box *e, const double *x) {
  const lcplug_problem *p = e->given;
  int same = 1, as_before = 1;
  for (int i = 0; i < p->n; i++) {
    if (!is_friction(p, i)) continue;
    int presses = x ? x[p->findex[i]] != 0.0 : can_press(p, p->findex[i]);
    double bound = presses && high_of(p, i) != 0.0 ? INFINITY : 0.0;
    same &= e->hi[i] == bound;
    as_before &= e->before[i] == bound;
    e->before[i] = e->hi[i];
    e->hi[i] = bound;
    e->lo[i] = -bound;
  }
  return same ? SAME : as_before ? AS_BEFORE : NEW;
}

static int begin(endless_box *e, const lcplug_problem *p, lcplug_workspace *workspace) {
  *e = (endless_box){.given = p, .box = *p, .lo = TAKE(workspace, double, 4 * p->n)};
  if (!e->lo) return 0;
  e->hi = e->lo + p->n, e->held_x = e->hi + p->n, e->before = e->held_x + p->n;
  for (int i = 0; i < p->n; i++) {
    e->lo[i] = low_of(p, i), e->hi[i] = high_of(p, i);
    e->before[i] = -1.0; /* nobody's */
  }
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

endless lcplug_small_endless(const lcplug_problem *p, short_way *solve, double *x,
                             int *factorizations, lcplug_workspace *workspace) {
  endless_box e;
  if (!begin(&e, p, workspace)) return ENDLESS_UNSOLVED;
  hold(&e, NULL);
  if (!solve_box(&e, solve, x, factorizations, workspace)) return ENDLESS_UNSOLVED;
  memcpy(e.held_x, x, (size_t)p->n * sizeof *x);
  for (int round = 0; round < MOST_ROUNDS; round++) {
    change next = hold(&e, x);
    if (next == SAME) return ENDLESS_STRICT;
    if (next == AS_BEFORE || !solve_box(&e, solve, x, factorizations, workspace)) break;
  }
  memcpy(x, e.held_x, (size_t)p->n * sizeof *x);
  return ENDLESS_HELD;
}
