/* bends.c - see bends.h.
 *
 * The path is as good as piecewise straight: it has a corner wherever a contact opens, closes,
 * begins to slip or stops.  So steps are taken in haste, as long as their errors allow, and with
 * a tangent that costs no factorization of its own.  Where A is nearly singular |f| may be small
 * far away from the path.  Therefore a point is made sure of every few steps, with more care, and
 * after failures the last such point is where the next few steps, careful ones, begin. */
#include "bends.h"

#include <math.h>
#include <string.h>

/* What counts as on the path, |f| beside what is near it: in haste, with care, and at most, where
 * rounding allows no more care. */
static const double HASTY = 0.03, CAREFUL = 1e-3, MOST_CAREFUL = 0.3;
/* A last correction is this part of the step, or of the correction before. */
static const double SMALL = 0.3;
enum { MOST_CORRECTIONS = 5, MOST_HALVINGS = 3 };
/* What |f| may be multiplied by in the first correction, as nothing is known before it. */
static const double FIRST_RISE = 2.0;
/* A correction of log eps that is none. */
static const double WILD = 2.0;

/* Hasty steps until a point is made sure of; failures of theirs in a row that lead back there;
 * careful steps from there; failures of theirs that tell that they are too careful; and those of
 * both that tell that the tangent is too old. */
enum { UNSURE_STEPS = 6, HASTY_FAILURES = 3, CAREFUL_STEPS = 4, CAREFUL_FAILURES = 4, STALE = 2 };
static const double LESS_CARE = 3.0;

/* Of log eps: the first step and the longest.  A step that fails is made shorter; others as their
 * first correction, a part of the step, is smaller or larger than wanted. */
static const double FIRST_STEP = 0.5, LONGEST_STEP = 3.0;
static const double SHORTER = 0.3, WANTED = 0.15, MUCH_LONGER = 2.0, LONGER = 1.5, A_LITTLE = 1.3;
static const double HALF = 0.5;
/* A step this much shorter than the first one leads nowhere; so does a path this far up. */
static const double LEAST_LENGTH = 1e-8, AWAY = 1e6;

/* Onto the path, from no force. */
enum { FIRST_STEPS = 30 };
static const double SMALL_STEP = 1e-4;
/* An answer is looked at every so many steps, and below this eps, beside the tolerance, in all. */
enum { LOOK = 10 };
static const double MAY_BE_RIGHT = 1e3;

/* A point on the path, the way on from there, and how far to go. */
typedef struct spot {
  point at;
  double *tangent, tangent_eps; /* the parts of x and of log eps */
  double length;
} spot;

typedef struct bends {
  path *p;
  double *unit;                 /* what one unit of each force counts as, in lengths */
  double *slope;                /* of x over log eps, along the path */
  double *tangent, tangent_eps; /* of the present step ... */
  double length;                /* ... and its length */
  double first_correction;      /* of the last step: how long it was */
  spot sure;     /* the last point that was made sure of */
  point before;  /* a correction */
  double care;   /* what is on the path with care */
  int careful;   /* steps left that are taken with care */
  int unsure;    /* hasty steps since the last sure point */
  int failures;  /* in a row */
  int unseen;    /* steps since an answer was looked at */
} bends;

static int take_vectors(bends *b) {
  lcplug_workspace *workspace = b->p->workspace;
  int n = b->p->m->n;
  double **vectors[] = {&b->unit, &b->slope, &b->tangent, &b->sure.tangent};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (!(*vectors[i] = TAKE(workspace, double, n + PANEL_PAD))) return 0;
  return lcplug_point_take(&b->sure.at, n, workspace) &&
         lcplug_point_take(&b->before, n, workspace);
}

/* ---- directions ------------------------------------------------------------------------------ */

/* Of two changes of x. */
static double product(const bends *b, const double *u, const double *v) {
  double sum = 0.0;
  for (int i = 0; i < b->p->m->n; i++) sum += (b->unit[i] * u[i]) * (b->unit[i] * v[i]);
  return sum;
}

/* The Newton step, and with the same factorization how x changes with log eps along the path. */
static void find_slope(bends *b) {
  path *p = b->p;
  lcplug_path_find_direction(p);
  lcplug_smoothing_drift(&p->smooth, p->now.eps, p->now.x, p->now.Ax, b->slope);
  lcplug_lu_solve(&p->matrix, b->slope);
}

/* The way on, by the last factorization.  In the beginning that is to smaller eps, and at each bend
 * the determinant changes its sign: so nobody turns round unaware. */
static void find_tangent(bends *b) {
  const path *p = b->p;
  double sign = lcplug_lu_is_negative(&p->matrix) ? 1.0 : -1.0;
  lcplug_path_measure(p, p->now.x, b->unit);
  b->tangent_eps = sign / sqrt(1.0 + product(b, b->slope, b->slope));
  for (int i = 0; i < p->m->n; i++) b->tangent[i] = b->tangent_eps * b->slope[i];
}

/* ---- corrections ----------------------------------------------------------------------------- */

/* The Newton step for x and log eps at once, across the tangent: that of x is left in dx, that of
 * log eps is returned. */
static double find_correction(bends *b) {
  path *p = b->p;
  find_slope(b);
  double log_eps = -product(b, b->tangent, p->dx) /
                   (product(b, b->tangent, b->slope) + b->tangent_eps);
  for (int i = 0; i < p->m->n; i++) p->dx[i] += log_eps * b->slope[i];
  return log_eps;
}

static void go_part_way(bends *b, double log_eps, double part) {
  path *p = b->p;
  for (int i = 0; i < p->m->n; i++) {
    p->now.x[i] = b->before.x[i] + part * p->dx[i];
    p->now.Ax[i] = b->before.Ax[i] + part * p->Adx[i];
  }
  p->now.eps = b->before.eps * exp(part * log_eps);
}

/* Goes as much of the way as does not lift |f| above `most`; returns that part, 0 if there is
 * none. */
static double correct(bends *b, double log_eps, double most, double *after) {
  path *p = b->p;
  double part = 1.0;
  lcplug_point_copy(&b->before, &p->now, p->m->n);
  lcplug_path_apply(p, p->dx, NULL, p->Adx);
  for (int k = 0; k <= MOST_HALVINGS; k++, part *= 0.5) {
    go_part_way(b, log_eps, part);
    *after = lcplug_path_distance(p);
    if (*after <= most) return part;
  }
  return 0.0;
}

/* Onto the path, across the tangent; returns the corrections that it took, or 0.  A last correction
 * is small beside `length`, or beside the one before. */
static int settle(bends *b, double on_path, double length) {
  double before = lcplug_path_distance(b->p), last = INFINITY, after;
  for (int k = 1; k <= MOST_CORRECTIONS; k++) {
    double log_eps = find_correction(b);
    if (!(fabs(log_eps) < WILD)) return 0;
    double size = sqrt(product(b, b->p->dx, b->p->dx) + log_eps * log_eps);
    if (k == 1) b->first_correction = size;
    double most = fmax(on_path, k == 1 ? FIRST_RISE * before : before);
    double part = correct(b, log_eps, most, &after);
    if (part == 0.0) return 0;
    int small = size <= SMALL * length || size <= SMALL * last;
    if (after <= on_path && part == 1.0 && small) return k;
    before = after, last = size;
  }
  return 0;
}

/* ---- sure points ----------------------------------------------------------------------------- */

static void keep_sure(bends *b) {
  path *p = b->p;
  lcplug_point_copy(&b->sure.at, &p->now, p->m->n);
  memcpy(b->sure.tangent, b->tangent, (size_t)p->m->n * sizeof *b->tangent);
  b->sure.tangent_eps = b->tangent_eps;
  b->sure.length = b->length;
  b->unsure = 0;
}

/* The way on from there is gone with care, and each time it begins with a shorter step. */
static void return_to_sure(bends *b) {
  path *p = b->p;
  lcplug_point_copy(&p->now, &b->sure.at, p->m->n);
  memcpy(b->tangent, b->sure.tangent, (size_t)p->m->n * sizeof *b->tangent);
  b->tangent_eps = b->sure.tangent_eps;
  b->length = b->sure.length *= SHORTER;
  b->careful = CAREFUL_STEPS;
  b->unsure = b->failures = 0;
}

static void make_sure(bends *b) {
  if (!settle(b, b->care, INFINITY)) {
    return_to_sure(b);
    return;
  }
  find_tangent(b);
  keep_sure(b);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Along the tangent.  Where the path goes straight down x changes with eps, and not with its
 * logarithm. */
static void step_ahead(bends *b) {
  path *p = b->p;
  b->length = fmin(b->length, LONGEST_STEP / fabs(b->tangent_eps));
  double log_eps = b->length * b->tangent_eps;
  double way = fabs(log_eps) > 1e-6 ? b->length * expm1(log_eps) / log_eps : b->length;
  lcplug_point_copy(&p->kept, &p->now, p->m->n);
  for (int i = 0; i < p->m->n; i++) p->now.x[i] += way * b->tangent[i];
  lcplug_path_apply(p, p->now.x, p->center, p->now.Ax);
  p->now.eps *= exp(log_eps);
}

static void step_back(bends *b) {
  path *p = b->p;
  lcplug_point_copy(&p->now, &p->kept, p->m->n);
  b->length *= SHORTER;
  if (++b->failures == STALE) {
    find_slope(b);
    find_tangent(b);
  }
  if (!b->careful && b->failures == HASTY_FAILURES) return_to_sure(b);
  else if (b->careful && b->failures % CAREFUL_FAILURES == 0)
    b->care = fmin(LESS_CARE * b->care, MOST_CAREFUL);
}

/* The error of a step goes with its square. */
static void set_length(bends *b, int corrections) {
  double wanted = WANTED * b->length / b->first_correction;
  double least = corrections == 1 ? LONGER : corrections == 2 ? 1.0 : HALF;
  double most = corrections <= 2 ? MUCH_LONGER : corrections == 3 ? A_LITTLE : 1.0;
  b->length *= fmin(fmax(wanted, least), most);
  b->failures = 0;
}

static int is_time_to_look(bends *b) {
  const path *p = b->p;
  int may_be_right = p->now.eps < MAY_BE_RIGHT * p->it->tol * p->smooth.unit;
  if (p->it->deadline == INFINITY && !may_be_right && ++b->unseen < LOOK) return 0;
  b->unseen = 0;
  return 1;
}

static int follow(bends *b, int last) {
  path *p = b->p;
  double first = b->length = FIRST_STEP / fabs(b->tangent_eps);
  b->care = CAREFUL;
  keep_sure(b);
  while (p->steps < last && b->length > LEAST_LENGTH * fmin(first, 1.0)) {
    int hasty = !b->careful;
    step_ahead(b);
    int corrections = hasty ? settle(b, HASTY, b->length) : settle(b, b->care, INFINITY);
    if (!corrections) {
      if (p->it->deadline < INFINITY && lcplug_path_observe(p)) return 1;
      step_back(b);
      continue;
    }
    set_length(b, corrections);
    if (is_time_to_look(b) && lcplug_path_observe(p)) return 1;
    if (p->now.eps > AWAY * p->smooth.unit || p->now.eps < LEAST_EPS * p->smooth.unit) return 0;
    find_tangent(b);
    if (!hasty) b->careful--, keep_sure(b);
    else if (++b->unsure == UNSURE_STEPS) make_sure(b);
  }
  return 0;
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* By Newton's method at a fixed eps; 0 if the path is not found. */
static int enter(bends *b) {
  path *p = b->p;
  int entered = 0;
  lcplug_path_measure(p, p->now.x, b->unit);
  for (int k = 0; k < FIRST_STEPS && !entered; k++) {
    double after;
    lcplug_path_advance(p, &after);
    entered = lcplug_path_distance(p) <= CAREFUL &&
              product(b, p->dx, p->dx) <= SMALL_STEP * (1.0 + product(b, p->now.x, p->now.x));
  }
  if (!entered) return 0;
  find_slope(b);
  find_tangent(b);
  return 1;
}

int lcplug_path_follow_bends(path *p, int steps) {
  bends b = {.p = p};
  int last = p->steps + steps;
  workspace_mark mark = lcplug_mark(p->workspace);
  lcplug_path_restart(p);
  int over = take_vectors(&b) && enter(&b) && follow(&b, last);
  lcplug_release(p->workspace, mark);
  return over;
}
