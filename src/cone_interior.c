/* cone_interior.c - see cone_interior.h. */
#include "cone_interior.h"

#include <math.h>
#include <string.h>

#include "cone_pair.h"
#include "pieces.h"

/* Of the way to the edge, and more of it where steps are long: so much times the length of the step
 * to m = 0.  A shorter step has plain ones tried, towards these parts of m; one that lowers m by
 * less than this part is none. */
static const double MOST_OF_IT = 0.9, A_LITTLE_MORE = 0.08, SHORT = 0.3, JAMMED = 0.05;
static const double plain_targets[] = {0.3, 0.7};
/* Gondzio's correctors: how much farther than the present step they look, where no more of them are
 * called for, and what one has to gain. */
static const double AHEAD = 0.3, LONG_ENOUGH = 0.9, WORTH_IT = 0.01;
/* In units of the first m: from here on nearly full steps go nearly all the way; from here on,
 * after a long one, Newton's method is asked for the rest, and again when m has fallen so far.
 * Earlier some contact is nearly always on the wrong side, which its first step, shorter than HALF,
 * tells. */
static const double SETTLED = 1e-9, NEARLY_FULL = 0.95, NEARLY_ALL = 0.99;
static const double NEARLY_THERE = 1e-12, FAR = 0.8, AGAIN = 0.01, HALF = 0.5;
enum { END_STEPS = 3 };
/* So many times its diagonal element holds a row that may not move. */
static const double FIXED = 1e20;
/* In units of the first m: from here on an iterate may be an answer. */
static const double JUDGING = 1e-11, JUDGING_R = 1e-6;
enum { JUDGED_STEPS = 10 };

/* The drag, as a part of A's diagonal: where it begins at most, when it is none, where it is given
 * up; what short steps and long ones make of it, little by little, and which these are. */
static const double FIRST_DRAG = 1e-2, NO_DRAG = 1e-9, MOST_DRAG = 1e3;
static const double MORE = 2.0, LESS = 0.5, STUMBLES = 0.3, STRIDES = 0.7, STANDS = 0.1;
/* The m that is held, of the one at the jam; r beside the root of m of who is at rest, and with
 * no more drag than this he may be let go. */
static const double LOWER = 0.1, AT_REST = 0.1, LET_GO = 1e-2;

/* Others are asked to finish a few times once m is small: at a jam, when m has fallen so far since,
 * or after so many steps with a drag.  Earlier there is too much that may still jam: one try in
 * eight had an end, after thirty steps. */
static const double SINCE = 0.1, SMALL = 1e-6;
enum { LONG = 25 };

/* Where A is nearly singular: w goes straight from this m on; below the next one bodies relax with
 * no more drag than this beside the root of m, at an m that is not much lower. */
static const double STRAIGHT_ON = 1e-2, GENTLE = 1e-6, GENTLE_DRAG = 0.1, GENTLY_LOWER = 0.5;

/* Soundings there, where the path ends at an m below this: the pull beside the root of m, what
 * makes it stronger where it was too weak, and when it is too strong to be of use.  Where an answer
 * is looked at; half of the way down, which further ones need not go again; the end.  The part that
 * one may leave of what the one before has left, and what is no less than a step before. */
static const double SOUND_BELOW = 1e-7, PULL = 0.1, STRONGER = 10.0, MOST_PULL = 1e-4;
static const double SHARP = 1e-13, HALF_WAY = 3e-11, BOTTOM = 1e-18, BETTER = 0.7, STEADY = 0.8;
enum { SOUNDINGS = 4, SOUNDING_STEPS = 20, STEADY_STEPS = 2 };
/* What is left within so many tolerances may be right with the next sounding; else the pull fades,
 * with so much work, in factorizations.  Times that soundings may end so. */
static const double NEARBY = 6.0, FADING_WORK = 160.0;
enum { FADES = 2 };

/* How much there is of steps and finishes.  With many sets it takes longer to pass all that jams,
 * and what comes after this method takes longer still. */
enum { STEPS = 150, FINISHES = 10, PATIENT_STEPS = 1000, PATIENT_FINISHES = 30 };
enum { IMPATIENT_STEPS = 100 };
enum { PATIENT_SETS = 570 };

typedef struct interior {
  path *p;
  const model *m;
  cone_pairs pairs;
  double *x, *Ax, *r, *dx;
  double *straight, *corrected; /* a step as it was before it was corrected, and after */
  double *fixed;     /* rows that may not move: what holds them; else 0 */
  double mean, first; /* m, and what it was */
  double missing;    /* the largest r, as a part of the unit of residuals */
  double step;       /* the last one */
  double straight_step; /* how long the one to m = 0 may be */
  double drag, last_drag;
  int falls;         /* steps in a row that were none, for want of drag */
  int relaxing;      /* with a drag, for so many steps */
  double held;       /* the m that is held then */
  inside_manner how;
  int loose;         /* A is nearly singular, and the problem is not convex */
  double pull, *center; /* x is pulled there, by this part of A's diagonal */
  int fades;         /* left */
  int finishes;      /* left */
  double asked;      /* m of the last one */
  double tried;      /* m where Newton's method was, last */
} interior;

/* ---- the start ------------------------------------------------------------------------------- */

static int take_vectors(interior *v, lcplug_workspace *workspace) {
  double **vectors[] = {&v->x,        &v->Ax,        &v->r,     &v->dx,
                        &v->straight, &v->corrected, &v->fixed, &v->center};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (!(*vectors[i] = TAKE(workspace, double, v->m->n + PANEL_PAD))) return 0;
  return lcplug_pairs_begin(&v->pairs, 2 * v->m->blocks, v->m->coulomb, workspace);
}

/* An interval: in its middle, or a force away from its only bound; every product is that of a
 * contact with this scale. */
static void begin_interval(interior *v, const force_set *set, double force, double product) {
  int row = set->first;
  if (!(set->hi > set->lo)) {
    v->x[row] = set->lo;
    v->fixed[row] = FIXED * fmax(v->p->diagonal[row], product / (force * force));
    return;
  }
  double room = fmin(force, 0.25 * (set->hi - set->lo));
  double x = v->x[row] = fmin(fmax(0.0, set->lo + room), set->hi - room);
  const double bounds[] = {set->lo, set->hi}, signs[] = {1.0, -1.0};
  for (int i = 0; i < 2; i++) {
    if (isinf(bounds[i])) continue;
    double z = product / (signs[i] * (x - bounds[i]));
    lcplug_pairs_add_bound(&v->pairs, set, signs[i], bounds[i], v->x, z);
  }
}

/* A row within mu times the force of its normal: in the middle. */
static void begin_coupled(interior *v, const force_set *set, double unit) {
  lcplug_pairs_add_coupled(&v->pairs, set, 1.0, v->x, unit / set->mu[0]);
  lcplug_pairs_add_coupled(&v->pairs, set, -1.0, v->x, unit / set->mu[0]);
}

/* Velocities as large as the right side, and the forces that would make them. */
static void begin(interior *v) {
  const model *m = v->m;
  double unit = v->p->smooth.unit;
  for (int i = 0; i < m->n; i++) v->x[i] = v->fixed[i] = v->center[i] = 0.0;
  for (int k = 0; k < m->blocks; k++) {
    const force_set *set = &m->sets[k];
    double force = unit / m->scale[k];
    if (set->kind == SET_INTERVAL) begin_interval(v, set, force, unit * force);
    if (set->kind == SET_COUPLED) begin_coupled(v, set, unit);
    if (set->rows == 1) continue;
    double mu = set->rows > 2 ? sqrt(set->mu[0] * set->mu[1]) : set->mu[0];
    v->x[set->first] = force;
    lcplug_pairs_add_cone(&v->pairs, set, v->x, unit * mu);
  }
  m->op->table->apply(m->op, v->x, v->Ax);
}

int lcplug_may_go_inside(const path *p) {
  for (int k = 0; k < p->m->blocks; k++) {
    if (p->m->sets[k].kind != SET_COUPLED) continue;
    const force_set *normal = lcplug_normal_of(&p->m->sets[k]);
    if (normal->rows == 1 && !(normal->kind == SET_INTERVAL && normal->lo >= 0.0 &&
                               normal->hi > normal->lo))
      return 0;
  }
  return !p->smooth.rough;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* r and m. */
static void look_around(interior *v) {
  const model *m = v->m;
  const double *unit = v->p->diagonal;
  for (int i = 0; i < m->n; i++) v->r[i] = v->fixed[i] > 0.0 ? 0.0 : v->Ax[i] - m->b[i];
  for (int i = 0; v->pull > 0.0 && i < m->n; i++)
    if (v->fixed[i] == 0.0) v->r[i] += v->pull * unit[i] * (v->x[i] - v->center[i]);
  v->mean = lcplug_pairs_take_velocities(&v->pairs, v->r) / v->pairs.count;
  v->missing = 0.0;
  for (int i = 0; i < m->n; i++) v->missing = fmax(v->missing, fabs(v->r[i]) / m->unit);
}

static void factor(interior *v) {
  path *p = v->p;
  cone_pairs *q = &v->pairs;
  double elements[SET_MOST_ROWS * SET_MOST_ROWS];
  lcplug_lu_load(&p->matrix, p->symmetric && p->smooth.symmetric && !v->m->coulomb);
  lcplug_pairs_scale(q);
  for (int k = 0; k < q->count; k++) {
    const pair_rows at = lcplug_pair_rows(q, k);
    lcplug_pair_block(q, k, elements);
    lcplug_lu_add_block(&p->matrix, at.first, at.rows, elements);
    if (at.normal != at.first)
      lcplug_lu_add(&p->matrix, at.first, at.normal, lcplug_pair_coupling(q, k));
  }
  lcplug_lu_add_diagonal(&p->matrix, fmax(TRACE, v->drag) + v->pull, p->diagonal);
  lcplug_lu_add_diagonal(&p->matrix, 1.0, v->fixed);
  lcplug_lu_factor(&p->matrix);
  p->steps++;
  p->it->factorizations++;
}

/* What y o z = target e asks for, on the right side. */
static void wish(interior *v, double target, int second_order) {
  for (int i = 0; i < v->m->n; i++) v->dx[i] = -v->r[i];
  lcplug_pairs_wish(&v->pairs, target, second_order, v->dx);
}

/* How far dx may go, 0 if it is no step. */
static double reach(interior *v) {
  double sum = 0.0;
  for (int i = 0; i < v->m->n; i++) sum += v->dx[i];
  return isfinite(sum) ? lcplug_pairs_spread(&v->pairs, v->dx) : 0.0;
}

/* The step towards y o z = target e; returns how far it may go, 0 if it is none. */
static double find_step(interior *v, double target, int second_order) {
  wish(v, target, second_order);
  lcplug_lu_solve(&v->p->matrix, v->dx);
  return reach(v);
}

static void move(interior *v) {
  const model *m = v->m;
  for (int i = 0; i < m->n; i++) v->x[i] += v->step * v->dx[i];
  m->op->table->apply(m->op, v->x, v->Ax);
  lcplug_pairs_move(&v->pairs, v->step);
}

/* How much of the way to the edge is gone: where nothing jams m falls fifty-fold, not tenfold. */
static double part_of_the_way(const interior *v, double most) {
  if (most > NEARLY_FULL && v->mean < SETTLED * v->first) return NEARLY_ALL;
  return MOST_OF_IT + (v->step > FAR ? A_LITTLE_MORE * v->straight_step : 0.0);
}

static void go_on(interior *v, double most) {
  v->step = fmin(1.0, part_of_the_way(v, most) * most);
  move(v);
}

/* Goes back to a step that was left for another one. */
static double return_to_step(interior *v, const double *dx, double target, int second_order) {
  wish(v, target, second_order);
  memcpy(v->dx, dx, (size_t)v->m->n * sizeof *v->dx);
  return reach(v);
}

/* Mehrotra's target: what the step to m = 0 leaves of m, cubed. */
static double predict(interior *v) {
  v->straight_step = fmin(1.0, find_step(v, 0.0, 0));
  memcpy(v->straight, v->dx, (size_t)v->m->n * sizeof *v->dx);
  double after = lcplug_pairs_product(&v->pairs, v->straight_step) / v->pairs.count;
  lcplug_pairs_set_second_order(&v->pairs);
  double ratio = fmin(fmax(after / v->mean, 0.0), 1.0);
  return ratio * ratio * ratio;
}

/* Gondzio's correctors, for a corrected step that is in dx and may go so far: a solve costs a tenth
 * of a factorization, and pairs that are in balance make the next steps longer, too.  Returns how
 * far it may go with them. */
static double correct_again(interior *v, double target, double most, double long_enough) {
  cone_pairs *q = &v->pairs;
  for (int k = 0; k < v->how.correctors && most > 0.0 && most < long_enough; k++) {
    memcpy(v->corrected, v->dx, (size_t)v->m->n * sizeof *v->dx);
    lcplug_pairs_keep_second(q);
    lcplug_pairs_balance(q, target, fmin(1.0, most + AHEAD));
    double better = find_step(v, target, 1);
    if (better < most + WORTH_IT) {
      lcplug_pairs_restore_second(q);
      return return_to_step(v, v->corrected, target, 1);
    }
    most = better;
  }
  return most;
}

/* A plain step is between the one to m = 0 and the one, in `centering`, that keeps m. */
static double take_plain_step(interior *v, const double *centering, double part) {
  wish(v, part * v->mean, 0);
  for (int i = 0; i < v->m->n; i++)
    v->dx[i] = v->straight[i] + part * (centering[i] - v->straight[i]);
  return reach(v);
}

/* Mehrotra's step, which is in dx, or a plain one; returns how far it may go, 0 if the path ends
 * here. */
static double choose_step(interior *v, double target, double most) {
  size_t bytes = (size_t)v->m->n * sizeof *v->dx;
  double best = most * (1.0 - target), plain = 0.0, *centering = v->p->trial;
  memcpy(v->corrected, v->dx, bytes);
  if (find_step(v, v->mean, 0) == 0.0) return 0.0;
  memcpy(centering, v->dx, bytes);
  for (size_t i = 0; i < sizeof plain_targets / sizeof *plain_targets; i++) {
    double part = plain_targets[i];
    double gain = fmin(1.0, take_plain_step(v, centering, part)) * (1.0 - part);
    if (gain > best) best = gain, plain = part;
  }
  if (best < JAMMED) return 0.0;
  if (plain > 0.0) return take_plain_step(v, centering, plain);
  return return_to_step(v, v->corrected, target * v->mean, 1);
}

/* A step of the method; returns how far it may go, 0 if the path ends here. */
static double find_mehrotra_step(interior *v) {
  double target = predict(v), most = find_step(v, target * v->mean, 1);
  most = correct_again(v, target * v->mean, most, LONG_ENOUGH);
  return most >= SHORT || most == 0.0 ? most : choose_step(v, target, most);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* An answer costs a product to judge. */
static int is_time_to_look(const interior *v, int step) {
  return v->p->it->deadline < INFINITY || step % JUDGED_STEPS == JUDGED_STEPS - 1 ||
         (v->mean < JUDGING * v->first && v->missing < JUDGING_R);
}

static int observe(interior *v) {
  path *p = v->p;
  for (int i = 0; i < v->m->n; i++) /* as the pull has it */
    p->Atrial[i] = v->Ax[i] + v->pull * p->diagonal[i] * (v->x[i] - v->center[i]);
  return lcplug_path_observe_at(p, v->x, p->Atrial);
}

/* The square of eps (smooth.h) is what y o z is here. */
static void leave_to_path(interior *v) {
  path *p = v->p;
  size_t bytes = (size_t)v->m->n * sizeof *v->x;
  memcpy(p->now.x, v->x, bytes);
  memcpy(p->now.Ax, v->Ax, bytes);
  p->now.eps = p->smooth.unit * sqrt(v->mean / v->first);
}

/* What is nearly there is left to Newton's method, whose last steps are the quicker ones: edges
 * are where they are for it, and m falls to 0 at once. */
static int end_quickly(interior *v) {
  int is_near = v->mean < NEARLY_THERE * v->first && v->step > FAR && !v->relaxing;
  if (!is_near || v->mean > AGAIN * v->tried) return 0;
  v->tried = v->mean;
  leave_to_path(v);
  for (int k = 0; k < END_STEPS; k++) {
    if (lcplug_path_polish(v->p)) return 1;
    if (v->p->part < HALF) break;
  }
  return 0;
}

static int is_small(const interior *v) { return v->mean < SMALL * v->first; }

static int ask_to_finish(interior *v) {
  if (v->finishes-- <= 0) return 0;
  leave_to_path(v);
  v->asked = v->mean;
  return v->how.finish(v->p);
}

/* ---- pseudo-time ----------------------------------------------------------------------------- */

static void begin_to_relax(interior *v) {
  int gently = v->loose && v->mean < GENTLE * v->first;
  v->relaxing = 1;
  v->falls = 0;
  v->held = (gently ? GENTLY_LOWER : LOWER) * v->mean;
  v->drag = v->last_drag > 0.0 ? fmin(FIRST_DRAG, MORE * v->last_drag) : FIRST_DRAG;
  if (gently) v->drag = fmin(v->drag, GENTLE_DRAG * sqrt(v->mean / v->first));
}

static void end_to_relax(interior *v) {
  v->relaxing = 0;
  v->last_drag = fmax(v->drag, NO_DRAG);
  v->drag = 0.0;
}

static int is_at_rest(const interior *v) {
  return v->step > STRIDES && v->drag < LET_GO && v->mean < 2.0 * v->held &&
         v->missing <= AT_REST * sqrt(v->mean / v->first);
}

/* Once dy and dz are known, so is what they do together: the corrected step, if it is longer. */
static double find_relaxing_step(interior *v, double target) {
  size_t bytes = (size_t)v->m->n * sizeof *v->dx;
  double plain = find_step(v, target, 0);
  if (plain >= 1.0 || plain == 0.0) return plain;
  memcpy(v->straight, v->dx, bytes);
  lcplug_pairs_set_second_order(&v->pairs);
  double corrected = correct_again(v, target, find_step(v, target, 1), 1.0);
  return corrected > plain ? corrected : return_to_step(v, v->straight, target, 0);
}

/* With enough of a drag the determinant is above 0.  Where it is not the step is too long for who
 * lets go: implicit Euler's method would take him back instead of on. */
static int goes_back(const interior *v) { return lcplug_lu_is_negative(&v->p->matrix); }

/* The drag of the next step.  What falls twice in a row lacks more than a little. */
static void set_drag(interior *v) {
  v->falls = v->step < STANDS ? v->falls + 1 : 0;
  if (v->step < STUMBLES) v->drag *= v->falls > 1 ? MORE * MORE : MORE;
  else if (v->step > STRIDES) v->drag *= LESS;
}

/* A step of implicit Euler; 0 if there is no way. */
static int relax(interior *v) {
  double called_for = v->missing * v->missing * v->first;
  v->step = 0.0;
  if (!goes_back(v)) {
    double most = find_relaxing_step(v, fmax(v->held, called_for));
    if (most == 0.0) return 0;
    v->step = fmin(1.0, MOST_OF_IT * most);
  }
  if (v->step >= STANDS) move(v);
  set_drag(v);
  v->relaxing++;
  if (v->drag < NO_DRAG) end_to_relax(v);
  return v->drag <= MOST_DRAG;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Where a method was, to go on from there when it comes back. */
typedef struct place {
  interior v;
  double *x, *Ax;
  pair_quad *pairs;
} place;

static int take_place(place *to, const interior *v, lcplug_workspace *workspace) {
  to->x = TAKE(workspace, double, v->m->n);
  to->Ax = TAKE(workspace, double, v->m->n);
  to->pairs = TAKE(workspace, pair_quad, v->pairs.quads);
  return to->x && to->Ax && to->pairs;
}

static void keep_place(place *to, const interior *v) {
  size_t bytes = (size_t)v->m->n * sizeof *to->x;
  to->v = *v;
  memcpy(to->x, v->x, bytes);
  memcpy(to->Ax, v->Ax, bytes);
  memcpy(to->pairs, v->pairs.quad, (size_t)v->pairs.quads * sizeof *to->pairs);
}

static void return_to(const place *from, interior *v) {
  size_t bytes = (size_t)v->m->n * sizeof *from->x;
  *v = from->v;
  memcpy(v->x, from->x, bytes);
  memcpy(v->Ax, from->Ax, bytes);
  memcpy(v->pairs.quad, from->pairs, (size_t)v->pairs.quads * sizeof *from->pairs);
  look_around(v);
}

/* ---- soundings ------------------------------------------------------------------------------- */

/* All the way down under a pull; 1 when it is time to stop.  *left: the residual down there,
 * infinite if the pull is too weak to get so far.  half: where half of the way is behind. */
static int let_down(interior *v, place *half, int *is_half, double *left) {
  *left = INFINITY;
  for (int k = 0, steady = 0; k < SOUNDING_STEPS && v->mean > BOTTOM * v->first; k++) {
    factor(v);
    double most = find_mehrotra_step(v);
    if (most == 0.0) return 0;
    go_on(v, most);
    look_around(v);
    if (!*is_half && v->mean < HALF_WAY * v->first) {
      *is_half = 1;
      keep_place(half, v);
    }
    int sharp = v->mean <= SHARP * v->first;
    if ((sharp || v->p->it->deadline < INFINITY) && observe(v)) return 1;
    if (!sharp) continue;
    steady = v->p->it->last > STEADY * *left ? steady + 1 : 0;
    *left = fmin(*left, v->p->it->last);
    if (steady == STEADY_STEPS) return 0;
  }
  return 0;
}

/* From the end of a sounding the pull fades piece by piece; 1 when it is time to stop. */
static int fade(interior *v) {
  path *p = v->p;
  if (!lcplug_may_go_by_pieces(p)) return 0;
  leave_to_path(v);
  memcpy(p->center, v->center, (size_t)v->m->n * sizeof *v->center);
  p->pull = v->pull;
  return lcplug_fade_by_pieces(p, FADING_WORK);
}

/* Where A is nearly singular the path has bends without end, as contacts of one body that do the
 * same are told apart one after the other.  But what they are told apart by is small.  A pull
 * towards where they are straightens the path, and its end leaves no more than the pull times the
 * way there: little more than the tolerance, if not less.  Then the next pull is towards that
 * end, or this one fades. */
static int sound(interior *v, place *start, place *half) {
  double pull = PULL * sqrt(v->mean / v->first), left, last = INFINITY;
  size_t bytes = (size_t)v->m->n * sizeof *v->x;
  int is_half = 0, may_fade = v->fades > 0;
  keep_place(start, v);
  memcpy(v->center, v->x, bytes);
  for (int k = 0; k < SOUNDINGS; k++) {
    v->pull = pull;
    look_around(v);
    if (let_down(v, half, &is_half, &left)) {
      leave_to_path(v);
      return 1;
    }
    if (left < INFINITY) {
      int is_far = left > BETTER * last || left > NEARBY * v->p->it->tol;
      if (is_far && may_fade) {
        if (fade(v)) return 1;
        may_fade = 0;
      }
      if (left > BETTER * last) break;
      last = left;
      memcpy(v->center, v->x, bytes);
    } else {
      if (pull > MOST_PULL) break;
      pull *= STRONGER;
      is_half = 0;
      memcpy(v->center, start->x, bytes);
    }
    return_to(is_half ? half : start, v);
  }
  return_to(start, v);
  return 0;
}

static int ask_to_sound(interior *v, lcplug_workspace *workspace) {
  workspace_mark mark = lcplug_mark(workspace);
  place start, half;
  int over = take_place(&start, v, workspace) && take_place(&half, v, workspace) &&
             sound(v, &start, &half);
  lcplug_release(workspace, mark);
  v->asked = v->mean;
  v->finishes--;
  v->fades--;
  return over;
}

static int is_deep(const interior *v) { return v->mean < SOUND_BELOW * v->first; }

/* ---- the method ------------------------------------------------------------------------------ */

/* With the factor at hand; 0 if there is no way.  *over: it is time to stop. */
static int advance(interior *v, lcplug_workspace *workspace, int *over) {
  if (v->relaxing) return relax(v);
  double most = find_mehrotra_step(v);
  if (most > 0.0) {
    go_on(v, most);
    return 1;
  }
  if (v->mean < SINCE * v->asked && v->finishes > 0) {
    if (v->loose && is_deep(v)) *over = ask_to_sound(v, workspace);
    else if (is_small(v)) *over = ask_to_finish(v);
  }
  begin_to_relax(v);
  return 1;
}

int lcplug_takes_long_inside(const model *m) {
  int count = 0;
  for (int k = 0; k < m->blocks; k++) count += m->sets[k].kind != SET_COUPLED;
  return count >= PATIENT_SETS;
}

static int steps_of(const interior *v, int convex) {
  if (!v->how.patient) return IMPATIENT_STEPS;
  return !convex && lcplug_takes_long_inside(v->m) ? PATIENT_STEPS : STEPS;
}

int lcplug_cone_interior(path *p, inside_manner how, lcplug_workspace *workspace) {
  interior v = {.p = p, .m = p->m, .how = how};
  int convex = p->smooth.symmetric && !p->m->coulomb, over = 0;
  int steps = steps_of(&v, convex);
  v.loose = how.loose && p->m->coulomb;
  v.finishes = lcplug_takes_long_inside(p->m) ? PATIENT_FINISHES : FINISHES;
  v.fades = FADES;
  v.asked = v.tried = INFINITY;
  if (!take_vectors(&v, workspace)) return 0;
  begin(&v);
  if (!v.pairs.count) return 0;
  for (int step = 0; step < steps; step++) {
    look_around(&v);
    if (!step) v.first = v.mean;
    if (!(v.mean > 0.0 && v.mean < INFINITY)) return 0;
    v.pairs.natural = v.loose && v.mean < STRAIGHT_ON * v.first;
    if (is_time_to_look(&v, step) && observe(&v)) {
      leave_to_path(&v);
      return 1;
    }
    if (end_quickly(&v)) return 1;
    if (v.relaxing && is_at_rest(&v)) end_to_relax(&v);
    if (v.relaxing > LONG) {
      v.relaxing = 1;
      if (is_small(&v) && ask_to_finish(&v)) return 1;
    }
    factor(&v);
    int found = advance(&v, workspace, &over);
    if (over) return 1;
    if (!found) break;
  }
  return ask_to_finish(&v);
}
