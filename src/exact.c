/* exact.c - boxes to rounding error.
 *
 * Active sets first; an interior point, and active sets again, where they do not settle.  Most
 * problems of a running simulation end with the first, after a handful of factorizations.
 *
 * friction=ode is two boxes: without friction, then with the bounds that follow from it.  For
 * friction=pyramid the bounds are frozen, solved for, and frozen anew until they agree: in stacks
 * that stand a few boxes are enough.  Where they are not it is Newton's turn (newton.h). */
#include "exact.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "sets.h"

enum { MEMORY_STEPS = 4, ACTIVE_SET_STEPS = 20, INTERIOR_STEPS = 60, PULLS = 6 };
/* Rounds of frozen bounds, each of which has to make this of what the one before has left. */
enum { FREEZE_ROUNDS = 20 };
static const double PROGRESS = 0.3;
/* What cones give to boxes before they take their own way; rounds in which endless friction may
 * settle: of 327 captured problems 78 do, and none of them after a round that changed more than
 * this part of what the one before did, and more than a few rows. */
enum { FEW_STEPS = 5, ENDLESS_ROUNDS = 5, FEW_CHANGES = 16 };
static const double SETTLING = 0.6;

/* Of the diagonal: how hard a centre pulls. */
static const double PULL = 1e-8;

/* With friction, active sets that move a quarter of the rows in their second guess never settle. */
static const double PROMISING = 0.25;

/* A guess that leaves this many times what no force leaves is no help. */
static const double FAR_OFF = 10.0;

/* What all boxes of one solve share. */
typedef struct exact {
  box_source *source;
  const layout *layout;
  double *lo, *hi; /* of the present box, all rows */
  iteration *it;
  places *memory; /* last time's places, or NULL */
  int stage;      /* of these */
  int only_tries; /* active sets, a few steps of them, and nothing where they do not settle */
  lcplug_workspace *workspace;
} exact;

int lcplug_exact_offers(lcplug_friction friction, const layout *l) {
  return friction == LCPLUG_FRICTION_ODE || !l->frictions;
}

static void set_to_zero(box *p) {
  memset(p->x, 0, (size_t)p->rows * sizeof *p->x);
  for (int i = 0; i < p->rows; i++) p->w[i] = -p->b[i];
}

/* The first two iterates: no force, which nobody's answer may be worse than, and the guess, which
 * is forgotten if it is far off.  Leaves x and w; returns 1 if one of them will do. */
static int start(box *p, iteration *it) {
  double *guess = p->dx;
  memcpy(guess, p->x, (size_t)p->rows * sizeof *guess);
  set_to_zero(p);
  if (lcplug_box_observe(p, it)) return 1;
  double without = it->residual;
  memcpy(p->x, guess, (size_t)p->rows * sizeof *guess);
  lcplug_box_set_w(p);
  if (lcplug_box_observe(p, it)) return 1;
  if (!(lcplug_box_residual(p, p->x, p->w) <= FAR_OFF * without)) set_to_zero(p);
  return 0;
}

/* Last time's places as the guess; 1 when solved. */
static int try_memory(const exact *e, box *p, iteration *it) {
  if (!lcplug_places_try(e->memory, e->stage)) return 0;
  const unsigned char *last = e->memory->place[e->stage];
  for (int k = 0; k < p->rows; k++) {
    unsigned char then = last[e->layout->row[p->row[k]]];
    int nowhere = isinf(then == AT_LO ? p->lo[k] : then == AT_HI ? p->hi[k] : 0.0);
    p->place[k] = nowhere ? INSIDE : then;
  }
  int helped = lcplug_active_set(p, it, MEMORY_STEPS, 1.0);
  lcplug_places_judge(e->memory, helped);
  if (helped || it->status == LCPLUG_TIME_LIMIT) return 1;
  memcpy(p->x, it->x, (size_t)p->rows * sizeof *p->x);
  lcplug_box_set_w(p);
  return 0;
}

static void remember(const exact *e, const box *p, const iteration *it) {
  if (!e->memory || it->status != LCPLUG_SOLVED) return;
  unsigned char *next = e->memory->place[e->stage];
  for (int k = 0; k < p->rows; k++) next[e->layout->row[p->row[k]]] = p->place[k];
  e->memory->known |= 1 << e->stage;
}

/* Where A is singular, or so near to it that rounding decides, many forces do and no method settles
 * on one.  So the answer is pulled towards the best one so far, which makes it unique; that answer
 * is the next centre, and the pull, which is proportional to the way between the two, fades. */
static lcplug_error solve_nearby(box *p, iteration *it, lcplug_workspace *workspace) {
  size_t bytes = (size_t)p->rows * sizeof *p->x;
  double *near = TAKE(workspace, double, p->rows);
  if (!near) return LCPLUG_ERROR_MEMORY;
  for (int round = 0; round < PULLS && it->status == LCPLUG_STALLED; round++) {
    iteration inner = *it;
    inner.x = near;
    inner.tol = 0.1 * it->tol;
    inner.residual = INFINITY;
    memcpy(p->center, it->x, bytes);
    memcpy(p->x, it->x, bytes);
    p->pull = PULL;
    lcplug_box_set_w(p);
    lcplug_guess_places(p);
    if (!lcplug_active_set(p, &inner, ACTIVE_SET_STEPS, 1.0)) {
      memcpy(p->x, near, bytes);
      lcplug_error error = lcplug_interior_point(p, &inner, INTERIOR_STEPS, workspace);
      if (error) return error;
    }
    p->pull = 0.0;
    it->iterations = inner.iterations, it->factorizations = inner.factorizations;
    memcpy(p->x, near, bytes);
    lcplug_box_set_w(p);
    if (!lcplug_box_observe(p, it)) it->status = LCPLUG_STALLED;
  }
  return LCPLUG_OK;
}

static lcplug_error run_methods(const exact *e, box *p, iteration *it) {
  if (try_memory(e, p, it)) return LCPLUG_OK;
  lcplug_guess_places(p);
  if (e->only_tries) {
    lcplug_active_set(p, it, FEW_STEPS, PROMISING);
    return LCPLUG_OK;
  }
  double promising = e->stage == 1 && e->layout->frictions ? PROMISING : 1.0;
  if (lcplug_active_set(p, it, ACTIVE_SET_STEPS, promising) || it->status == LCPLUG_TIME_LIMIT)
    return LCPLUG_OK;
  memcpy(p->x, it->x, (size_t)p->rows * sizeof *p->x);
  lcplug_error error = lcplug_interior_point(p, it, INTERIOR_STEPS, e->workspace);
  if (error || it->status != LCPLUG_STALLED) return error;
  error = solve_nearby(p, it, e->workspace);
  if (error || it->status != LCPLUG_STALLED) return error;
  set_to_zero(p); /* the other path is still cheaper than anybody else's */
  return lcplug_interior_point(p, it, INTERIOR_STEPS, e->workspace);
}

/* An answer from inside is only near its bounds.  The bounds of friction follow from the normals of
 * the first stage, and a contact that is open must be open to the letter. */
static void put_at_bounds(box *p, double *x) {
  memcpy(p->x, x, (size_t)p->rows * sizeof *p->x);
  lcplug_box_set_w(p);
  lcplug_guess_places(p);
  for (int k = 0; k < p->rows; k++)
    if (p->place[k] != INSIDE) x[k] = p->place[k] == AT_LO ? p->lo[k] : p->hi[k];
}

/* Solves the box lo <= x <= hi from it->x; puts the answer and its residual there. */
static lcplug_error solve_box(exact *e) {
  box p;
  iteration *it = e->it, inner = *it;
  workspace_mark mark = lcplug_mark(e->workspace);
  lcplug_error error = lcplug_box_cut(&p, e->source, e->lo, e->hi, it->x, e->workspace);
  if (error) return error;
  inner.x = TAKE(e->workspace, double, p.rows);
  if (!inner.x) return LCPLUG_ERROR_MEMORY;
  inner.residual = INFINITY;
  memcpy(inner.x, p.x, (size_t)p.rows * sizeof *p.x);
  if (!start(&p, &inner)) error = run_methods(e, &p, &inner);
  if (e->stage == 0 && e->layout->frictions) put_at_bounds(&p, inner.x);
  remember(e, &p, &inner);
  if (p.lost > inner.residual) inner.residual = p.lost;
  if (p.lost > inner.tol && inner.status == LCPLUG_SOLVED) inner.status = LCPLUG_STALLED;
  lcplug_box_paste(&p, inner.x, it->x);
  inner.x = it->x;
  *it = inner;
  lcplug_release(e->workspace, mark);
  return error;
}

/* Bounds of every row: its own, and for friction rows +-bound (NULL: no friction). */
static void set_bounds(exact *e, const double *bound) {
  const layout *l = e->layout;
  for (int i = 0; i < l->n; i++) {
    double friction = bound ? bound[i] : 0.0;
    e->lo[i] = l->normal[i] == ROW_PLAIN ? l->lo[i] : -friction;
    e->hi[i] = l->normal[i] == ROW_PLAIN ? l->hi[i] : friction;
  }
}

static void bounds_from_normals(const layout *l, const double *x, double *bound) {
  for (int i = 0; i < l->n; i++)
    bound[i] = l->normal[i] >= 0 ? lcplug_friction_bound(l->hi[i], x[l->normal[i]]) : 0.0;
}

static lcplug_error solve_ode(exact *e, double *bound) {
  e->stage = 0;
  if (e->layout->frictions) {
    set_bounds(e, NULL);
    lcplug_error error = solve_box(e);
    if (error || (e->only_tries && e->it->status != LCPLUG_SOLVED)) return error;
  }
  e->stage = 1;
  bounds_from_normals(e->layout, e->it->x, bound);
  set_bounds(e, bound);
  return solve_box(e);
}

/* The residual of x with the bounds that belong to its own normals, as one more iterate of
 * `best`. */
static int observe_pyramid(exact *e, iteration *best, const double *x, double *Ax, double unit) {
  const layout *l = e->layout;
  for (int i = 0; i < l->n; i++)
    if (l->normal[i] >= 0) {
      e->hi[i] = lcplug_friction_bound(l->hi[i], x[l->normal[i]]);
      e->lo[i] = -e->hi[i];
    }
  lcplug_box_source_apply(e->source, x, Ax);
  double residual = lcplug_box_source_residual(e->source, e->lo, e->hi, x, Ax, unit);
  return lcplug_iteration_keep(best, l->n, x, residual, 0.0);
}

/* Freezes the bounds at those of the present normals and solves, until the answer's own bounds are
 * the frozen ones. */
static lcplug_error solve_pyramid(exact *e, double *bound, double *Ax) {
  iteration *it = e->it, best = *it;
  int n = e->layout->n;
  best.x = TAKE(e->workspace, double, n);
  best.residual = INFINITY;
  if (!best.x) return LCPLUG_ERROR_MEMORY;
  set_bounds(e, NULL);
  double unit = lcplug_box_source_unit(e->source, e->lo, e->hi);
  memset(best.x, 0, (size_t)n * sizeof *best.x);
  int done = observe_pyramid(e, &best, best.x, Ax, unit); /* no force: nobody may be worse */
  lcplug_error error = done ? LCPLUG_OK : solve_ode(e, bound);
  for (int round = 0; !error && !done && it->status == LCPLUG_SOLVED; round++) {
    double before = best.residual;
    done = observe_pyramid(e, &best, it->x, Ax, unit);
    if (done || round == FREEZE_ROUNDS || !(best.residual < PROGRESS * before)) break;
    bounds_from_normals(e->layout, it->x, bound);
    set_bounds(e, bound);
    error = solve_box(e);
  }
  memcpy(it->x, best.x, (size_t)n * sizeof *best.x);
  bounds_from_normals(e->layout, it->x, bound);
  it->residual = best.residual;
  it->status = done ? best.status : LCPLUG_STALLED;
  return error;
}

static int take_bounds(exact *e) {
  e->lo = TAKE(e->workspace, double, e->layout->n);
  e->hi = TAKE(e->workspace, double, e->layout->n);
  return e->lo && e->hi;
}

lcplug_error lcplug_exact_solve(box_source *source, iteration *it, double *bound, double *Ax,
                                places *memory, lcplug_workspace *workspace) {
  exact e = {.source = source,
             .layout = source->layout,
             .it = it,
             .memory = memory,
             .workspace = workspace};
  if (!take_bounds(&e)) return LCPLUG_ERROR_MEMORY;
  lcplug_error error = solve_ode(&e, bound);
  if (!error) lcplug_box_source_apply(source, it->x, Ax);
  return error;
}

lcplug_error lcplug_exact_try(box_source *source, lcplug_friction friction, iteration *it,
                              double *bound, double *Ax, lcplug_workspace *workspace) {
  exact e = {.source = source,
             .layout = source->layout,
             .it = it,
             .only_tries = 1,
             .workspace = workspace};
  if (!take_bounds(&e)) return LCPLUG_ERROR_MEMORY;
  return friction == LCPLUG_FRICTION_PYRAMID ? solve_pyramid(&e, bound, Ax) : solve_ode(&e, bound);
}

/* ---- friction without limit ------------------------------------------------------------------ */

int lcplug_exact_is_endless(const layout *l) {
  for (int i = 0; i < l->n; i++)
    if (l->normal[i] >= 0 && l->hi[i] != 0.0 && l->hi[i] < INFINITY) return 0;
  return l->frictions > 0;
}

/* Bounds that hold whatever can press. */
static void hold_all(const layout *l, double *bound) {
  for (int i = 0; i < l->n; i++) {
    int normal = l->normal[i];
    int presses = normal >= 0 && (l->hi[normal] > 0.0 || l->lo[normal] < 0.0);
    bound[i] = presses ? lcplug_friction_bound(l->hi[i], 1.0) : 0.0;
  }
}

/* Holds what presses in x, and nobody else; returns how many rows were not held so before. */
static int hold_pressed(const layout *l, const double *x, double *bound) {
  int changes = 0;
  for (int i = 0; i < l->n; i++) {
    if (l->normal[i] < 0) continue;
    double next = lcplug_friction_bound(l->hi[i], x[l->normal[i]]);
    changes += next != bound[i];
    bound[i] = next;
  }
  return changes;
}

void lcplug_exact_press_held(const layout *l, const model *m, double *x) {
  for (int k = 0; k < m->blocks; k++) {
    int i = m->sets[k].first, normal = l->normal[i];
    if (m->sets[k].kind != SET_COUPLED || x[i] == 0.0 || x[normal] != 0.0) continue;
    double least = DBL_EPSILON * m->unit / m->scale[lcplug_normal_of(&m->sets[k]) - m->sets];
    x[normal] = l->hi[normal] > 0.0 ? least : -least;
  }
}

/* From the answer that holds all; 1 if those that press and those that are held become the same. */
static int settle_endless(exact *e, double *bound, lcplug_error *error) {
  int before = INT_MAX;
  e->only_tries = 1;
  for (int round = 0; !*error && e->it->status == LCPLUG_SOLVED; round++) {
    int changes = hold_pressed(e->layout, e->it->x, bound);
    if (!changes) return 1;
    if (round == ENDLESS_ROUNDS || (changes > FEW_CHANGES && changes > SETTLING * before)) break;
    before = changes;
    set_bounds(e, bound);
    *error = solve_box(e);
  }
  return 0;
}

lcplug_error lcplug_exact_endless(box_source *source, const model *m, iteration *it, double *bound,
                                  lcplug_workspace *workspace) {
  exact e = {.source = source, .layout = source->layout, .it = it, .workspace = workspace};
  double *held = TAKE(workspace, double, m->n);
  if (!held || !take_bounds(&e)) return LCPLUG_ERROR_MEMORY;
  hold_all(e.layout, bound);
  set_bounds(&e, bound);
  lcplug_error error = solve_box(&e);
  if (error || it->status != LCPLUG_SOLVED) return error;
  memcpy(held, it->x, (size_t)m->n * sizeof *held);
  if (!settle_endless(&e, bound, &error) && it->status != LCPLUG_TIME_LIMIT) {
    memcpy(it->x, held, (size_t)m->n * sizeof *held);
    lcplug_exact_press_held(e.layout, m, it->x);
    it->status = LCPLUG_SOLVED;
  }
  return error;
}
