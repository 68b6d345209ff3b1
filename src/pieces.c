/* pieces.c - see pieces.h. */
#include "pieces.h"

#include <math.h>
#include <string.h>

#include "footing.h"
#include "patched.h"

/* Pieces of one path.  A path that does not come to t = 0 is left where t was least; it has led
 * nowhere if that is more than this.  Nobody follows t farther up than this, nor up from where
 * there is next to nothing left. */
enum { MOST_PIECES = 30 };
static const double NOWHERE = 0.9, TOO_FAR_UP = 10.0, NEARLY_ZERO = 0.05;

/* Newton's steps at one pull: how many, and how many in a row may shrink less than to this part.  A
 * step this small is the last one, and this small where the pull is faint; one as large as that has
 * run off. */
enum { MOST_STEPS = 12, MOST_SLOW_STEPS = 3 };
static const double SLOW = 0.7, THERE = 0.03, ALL_THERE = 1e-6, RUN_OFF = 1e4;
/* A pull that leaves this part of the tolerance is faint: its answer is one without it.  That is
 * looked at after steps as short as this. */
static const double FAINT = 0.3, NEARLY_THERE = 0.3;

/* What a pull is multiplied by, and its root after a failure, so many in a row at most.  A pull as
 * faint as that is none. */
enum { MOST_FAILURES = 3 };
static const double FADING = 0.1, GONE = 1e-12;

/* A piece is so much of a factorization. */
static const double WORK_OF_A_PIECE = 0.25;

typedef struct walk {
  path *p;
  const model *m;
  patched matrix;
  footing *at;
  double *x, *v;           /* v: A x + pull D (x - center) - b */
  double *w, *rest;        /* w: what is allowed of v; the rest, where t is 1 */
  double *slope, *w_slope; /* of x and w as t falls */
  double *unit;            /* what one unit of each force counts as, in lengths */
  double *start;           /* x at the beginning of a step */
  footing *at_low;         /* where t was least ... */
  double *x_low, *w_low;
  footing *at_kept;        /* ... and the answer to the last pull */
  double *x_kept;
  int last, last_slack;    /* the set that turned last, and its slack that is 0; -1: none */
  double work, most_work;  /* in factorizations */
} walk;

static double scale_of(const walk *a, int k) { return a->p->smooth.scale[k]; }

/* ---- places ---------------------------------------------------------------------------------- */

static void copy_place(const walk *a, double *x, footing *at, const double *from_x,
                       const footing *from_at) {
  memcpy(x, from_x, (size_t)a->m->n * sizeof *x);
  memcpy(at, from_at, (size_t)a->m->blocks * sizeof *at);
}

static void keep_low(walk *a) {
  copy_place(a, a->x_low, a->at_low, a->x, a->at);
  memcpy(a->w_low, a->w, (size_t)a->m->n * sizeof *a->w);
}

static void return_to_low(walk *a) {
  copy_place(a, a->x, a->at, a->x_low, a->at_low);
  memcpy(a->w, a->w_low, (size_t)a->m->n * sizeof *a->w);
}

static void settle(walk *a, const double *w, int sorts) {
  for (int k = 0; k < a->m->blocks; k++)
    lcplug_footing_settle(&a->at[k], &a->m->sets[k], scale_of(a, k), w, sorts, a->x);
}

static void look(walk *a) {
  lcplug_path_apply(a->p, a->x, a->p->center, a->v);
  for (int i = 0; i < a->m->n; i++) a->v[i] -= a->m->b[i];
}

/* ---- a path ---------------------------------------------------------------------------------- */

static void factor(walk *a) {
  path *p = a->p;
  double E[SET_MOST_ROWS * SET_MOST_ROWS];
  lcplug_lu_load(&p->matrix, 0);
  for (int k = 0; k < a->m->blocks; k++) {
    const force_set *set = &a->m->sets[k];
    if (lcplug_footing_block(&a->at[k], set, scale_of(a, k), E))
      lcplug_lu_add_block(&p->matrix, set->first, set->rows, E);
  }
  lcplug_lu_add_diagonal(&p->matrix, fmax(p->pull, TRACE), p->diagonal);
  lcplug_lu_factor(&p->matrix);
  lcplug_patched_clear(&a->matrix);
  p->steps++;
  p->it->factorizations++;
  a->work++;
}

static void find_w_slope(walk *a) {
  lcplug_path_apply(a->p, a->slope, NULL, a->w_slope);
  for (int i = 0; i < a->m->n; i++) a->w_slope[i] += a->rest[i];
}

static void find_slope(walk *a) {
  for (int k = 0; k < a->m->blocks; k++)
    lcplug_footing_demand(&a->at[k], &a->m->sets[k], a->rest, a->slope);
  lcplug_patched_solve(&a->matrix, a->slope);
  find_w_slope(a);
}

/* From x: linear equations, their matrix, and the first piece. */
static void set_out(walk *a) {
  look(a);
  for (int k = 0; k < a->m->blocks; k++) {
    lcplug_footing_linearize(&a->at[k], &a->m->sets[k], a->x);
    lcplug_footing_rest(&a->at[k], &a->m->sets[k], a->v, a->rest);
  }
  for (int i = 0; i < a->m->n; i++) a->w[i] = a->v[i] - a->rest[i];
  factor(a);
  find_slope(a);
  a->last = -1;
}

/* What the right side of set k changes by, in parts of u. */
static double change_of_demand(const walk *a, int k, const footing *before, const double *u) {
  force_set set = a->m->sets[k];
  double is[SET_MOST_ROWS], was[SET_MOST_ROWS], sum = 0.0, square = 0.0;
  const double *rest = a->rest + set.first;
  set.first = 0;
  lcplug_footing_demand(&a->at[k], &set, rest, is);
  lcplug_footing_demand(before, &set, rest, was);
  for (int i = 0; i < set.rows; i++) sum += u[i] * (is[i] - was[i]), square += u[i] * u[i];
  return sum / square;
}

/* The slope behind the turn of set k.  Mostly that is one patch, and the right side changes in its
 * direction: one solve for both. */
static void find_slope_behind(walk *a, int k, const footing *before) {
  const force_set *set = &a->m->sets[k];
  double u[MOST_TURN_PATCHES][SET_MOST_ROWS], v[MOST_TURN_PATCHES][SET_MOST_ROWS];
  int count = lcplug_footing_patches(before, &a->at[k], set, scale_of(a, k), u, v);
  int done = count > 0;
  for (int i = 0; i < count && done; i++)
    done = lcplug_patched_add(&a->matrix, set->first, set->rows, u[i], v[i]);
  if (done && count == 1) {
    lcplug_patched_update(&a->matrix, change_of_demand(a, k, before, u[0]), a->slope);
    find_w_slope(a);
    return;
  }
  if (!done) factor(a);
  find_slope(a);
}

/* On, away from what was turned from; 1: t falls. */
static double find_way(const walk *a) {
  double change[MOST_SLACKS];
  int k = a->last;
  if (k < 0) return 1.0;
  lcplug_footing_changes(&a->at[k], &a->m->sets[k], scale_of(a, k), a->slope, a->w_slope, change);
  return change[a->last_slack] > 0.0 ? 1.0 : -1.0;
}

/* How far the piece goes: `most`, or to where a slack is 0, that of set *who; -1: none is. */
static double find_end(const walk *a, double way, double most, int *who, int *which) {
  double value[MOST_SLACKS], change[MOST_SLACKS];
  *who = -1;
  for (int k = 0; k < a->m->blocks; k++) {
    const force_set *set = &a->m->sets[k];
    double s = scale_of(a, k);
    int count = lcplug_footing_slacks(&a->at[k], set, s, a->x, a->w, value);
    if (count) lcplug_footing_changes(&a->at[k], set, s, a->slope, a->w_slope, change);
    for (int i = 0; i < count; i++) {
      double fall = -way * change[i];
      int begins_here = k == a->last && i == a->last_slack;
      if (begins_here || !(fall > 0.0) || !(fall * most > value[i])) continue;
      most = fmax(value[i], 0.0) / fall;
      *who = k, *which = i;
    }
  }
  return most;
}

static void go(walk *a, double part) {
  for (int i = 0; i < a->m->n; i++) {
    a->x[i] += part * a->slope[i];
    a->w[i] += part * a->w_slope[i];
  }
}

/* From x to the answer to the linear problem there, or as near as it gets; returns the t there. */
static double follow_pieces(walk *a) {
  double t = 1.0, low = 1.0, last_way = 1.0;
  set_out(a);
  for (int k = 0; k < MOST_PIECES; k++) {
    int who, which;
    double way = find_way(a), up = way < 0.0;
    if (up && t < NEARLY_ZERO) return t;
    if (up && last_way > 0.0 && t < low) low = t, keep_low(a);
    double part = find_end(a, way, up ? TOO_FAR_UP : t, &who, &which);
    go(a, way * part);
    t -= way * part;
    a->work += WORK_OF_A_PIECE;
    if (who < 0 && !up) return 0.0;
    if (who < 0 || t > TOO_FAR_UP) break;
    footing before = a->at[who];
    a->last_slack = lcplug_footing_turn(&a->at[who], &a->m->sets[who], which, a->w);
    a->last = who;
    find_slope_behind(a, who, &before);
    last_way = way;
  }
  if (low < t) return_to_low(a);
  return fmin(low, t);
}

/* ---- Newton's method ------------------------------------------------------------------------- */

static double length_of_step(const walk *a) {
  double sum = 0.0;
  for (int i = 0; i < a->m->n; i++) {
    double change = a->unit[i] * (a->x[i] - a->start[i]);
    sum += change * change;
  }
  return sqrt(sum);
}

static int observe(walk *a) {
  path *p = a->p;
  lcplug_path_apply(p, a->x, p->center, p->Atrial);
  return lcplug_path_observe_at(p, a->x, p->Atrial);
}

/* What the answer to the pull leaves without it, at most. */
static double left_by_pull(const walk *a) {
  const path *p = a->p;
  double most = 0.0;
  for (int i = 0; i < a->m->n; i++)
    most = fmax(most, p->pull * p->diagonal[i] * fabs(a->x[i] - p->center[i]));
  return most / a->m->unit;
}

/* The answer to the present pull, from nearby; 0 if it is not found.  *over: it is time to stop. */
static int solve_pulled(walk *a, int *over) {
  path *p = a->p;
  double last = INFINITY;
  for (int k = 0, slow = 0; k < MOST_STEPS && slow < MOST_SLOW_STEPS; k++) {
    memcpy(a->start, a->x, (size_t)a->m->n * sizeof *a->x);
    lcplug_path_measure(p, a->x, a->unit);
    double left = follow_pieces(a), length = length_of_step(a);
    if (left > NOWHERE || !(length < RUN_OFF)) return 0;
    settle(a, a->w, 0);
    int is_faint = left_by_pull(a) < FAINT * p->it->tol;
    if ((is_faint && length < NEARLY_THERE) || p->it->deadline < INFINITY) *over = observe(a);
    if (*over || (left == 0.0 && length < (is_faint ? ALL_THERE : THERE))) return 1;
    slow = length > SLOW * last ? slow + 1 : 0;
    last = length;
  }
  return 0;
}

/* To this pull, from the last one that has an answer; back to that one if this has none. */
static int try_pull(walk *a, double pull, int *over) {
  double before = a->p->pull;
  copy_place(a, a->x_kept, a->at_kept, a->x, a->at);
  a->p->pull = pull > GONE ? pull : 0.0;
  if (solve_pulled(a, over)) return 1;
  copy_place(a, a->x, a->at, a->x_kept, a->at_kept);
  a->p->pull = before;
  return 0;
}

/* 1 when it is time to stop. */
static int fade(walk *a) {
  const double *pull = &a->p->pull;
  double fading = FADING;
  int over = 0;
  if (!try_pull(a, *pull, &over)) return 0;
  for (int failures = 0; !over && failures < MOST_FAILURES && *pull > 0.0;) {
    if (a->work > a->most_work) return 0;
    int solved = try_pull(a, *pull * fading, &over);
    fading = solved ? fmax(FADING, fading * fading) : sqrt(fading);
    failures = solved ? 0 : failures + 1;
  }
  return over;
}

static int take_memory(walk *a) {
  lcplug_workspace *workspace = a->p->workspace;
  double **vectors[] = {&a->v,    &a->w,     &a->rest,  &a->slope, &a->w_slope,
                        &a->unit, &a->start, &a->x_low, &a->w_low, &a->x_kept};
  footing **footings[] = {&a->at, &a->at_low, &a->at_kept};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (!(*vectors[i] = TAKE(workspace, double, a->m->n + PANEL_PAD))) return 0;
  for (size_t i = 0; i < sizeof footings / sizeof *footings; i++)
    if (!(*footings[i] = TAKE(workspace, footing, a->m->blocks))) return 0;
  return lcplug_patched_begin(&a->matrix, &a->p->matrix, a->m->n, workspace);
}

int lcplug_may_go_by_pieces(const path *p) {
  for (int k = 0; k < p->m->blocks; k++)
    if (p->m->sets[k].kind == SET_COUPLED) return 0;
  return p->m->coulomb && !p->smooth.rough;
}

int lcplug_fade_by_pieces(path *p, double most_work) {
  walk a = {.p = p, .m = p->m, .x = p->now.x, .most_work = most_work};
  workspace_mark mark = lcplug_mark(p->workspace);
  int over = 0;
  if (take_memory(&a)) {
    for (int k = 0; k < p->m->blocks; k++) a.at[k] = (footing){.d = {1.0, 0.0}};
    look(&a);
    settle(&a, a.v, 1);
    over = fade(&a);
  }
  p->pull = 0.0;
  if (over) p->now.eps = LEAST_EPS * p->smooth.unit; /* its edges are sharp */
  lcplug_path_apply(p, p->now.x, NULL, p->now.Ax);
  lcplug_release(p->workspace, mark);
  return over;
}
