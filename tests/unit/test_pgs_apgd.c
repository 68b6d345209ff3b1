/* test_pgs_apgd.c - the two first-order solvers on random families of problems.
 *
 * Answers are judged by the conditions that define them (support.h), and for boxes of at
 * most 8 rows against all active sets tried one by one.  A may be singular: w is
 * compared, and energies, never x. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* ---- families of boxes ----------------------------------------------------------------------- */

typedef enum bounds_kind { PUSHING, MIXED, ALL_FREE, ALL_FIXED } bounds_kind;

static const struct family {
  const char *name;
  int n, m; /* A = J J' + cfm I, J of n rows and m columns */
  double cfm;
  bounds_kind bounds;
  double tol; /* that all variants reach */
} families[] = {
    {"well conditioned", 7, 14, 0.1, PUSHING, 1e-10},
    {"well conditioned, mixed bounds", 7, 14, 0.1, MIXED, 1e-10},
    {"badly conditioned", 6, 6, 1e-5, PUSHING, 1e-10},
    {"badly conditioned, mixed bounds", 6, 6, 1e-5, MIXED, 1e-10},
    {"singular", 7, 3, 0.0, PUSHING, 1e-10},
    {"singular up to cfm", 7, 3, 1e-9, PUSHING, 1e-6},
    {"all free", 6, 9, 0.05, ALL_FREE, 1e-10},
    {"all free and singular", 6, 3, 0.0, ALL_FREE, 1e-10},
    {"all fixed", 6, 8, 0.1, ALL_FIXED, 1e-10},
    {"all fixed and singular", 6, 2, 0.0, ALL_FIXED, 1e-10},
    {"one row", 1, 1, 0.1, MIXED, 1e-10},
};
enum { FAMILIES = sizeof families / sizeof *families };

static void set_bounds(rng *r, instance *p, int i, bounds_kind kind) {
  double lo = rng_between(r, -0.5, 0.1), hi = lo + rng_between(r, 0.0, 0.6);
  if (kind == ALL_FREE) return;
  if (kind == PUSHING) lo = 0.0, hi = INFINITY;
  if (kind == ALL_FIXED) hi = lo;
  if (kind == MIXED && rng_below(r, 4) == 0) lo = -INFINITY;
  if (kind == MIXED && rng_below(r, 4) == 0) hi = INFINITY;
  if (kind == MIXED && rng_below(r, 6) == 0) hi = lo = rng_between(r, -1, 1);
  p->lo[i] = lo, p->hi[i] = hi;
}

static instance *family_member(rng *r, const struct family *f) {
  instance *p = instance_random(r, f->n, f->m, f->cfm);
  for (int i = 0; i < p->n; i++) set_bounds(r, p, i, f->bounds);
  return p;
}

/* Solver, operator and, for pgs, its variants; what all of them must get right. */
static const struct variant {
  lcplug_solver solver;
  lcplug_matrix matrix;
  double omega;
  lcplug_sweep sweep;
  lcplug_splitting splitting;
} variants[] = {
    {LCPLUG_PGS, LCPLUG_MATRIX_DENSE, 1.0, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_PGS, LCPLUG_MATRIX_SPARSE, 0.5, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_PGS, LCPLUG_MATRIX_SPARSE, 1.5, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_PGS, LCPLUG_MATRIX_DENSE, 1.5, LCPLUG_SWEEP_SYMMETRIC, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_PGS, LCPLUG_MATRIX_SPARSE, 1.0, LCPLUG_SWEEP_SYMMETRIC, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_PGS, LCPLUG_MATRIX_DENSE, 1.0, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_JACOBI},
    {LCPLUG_PGS, LCPLUG_MATRIX_SPARSE, 0.5, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_JACOBI},
    {LCPLUG_APGD, LCPLUG_MATRIX_DENSE, 1.0, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
    {LCPLUG_APGD, LCPLUG_MATRIX_SPARSE, 1.0, LCPLUG_SWEEP_FORWARD, LCPLUG_SPLITTING_GAUSS_SEIDEL},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static lcplug_settings variant_settings(int v, lcplug_friction friction, double tol, int max_iter) {
  lcplug_settings s = settings_for(variants[v].solver, friction);
  s.matrix = variants[v].matrix, s.omega = variants[v].omega;
  s.sweep = variants[v].sweep, s.splitting = variants[v].splitting;
  s.tol = tol, s.max_iter = max_iter;
  return s;
}

/* Every family by every variant: solved, the conditions hold, and w is the reference's. */
START_TEST(boxes_against_all_active_sets) {
  const struct family *f = &families[_i];
  rng r = {40};
  int compared = 0;
  for (int trial = 0; trial < 12; trial++) {
    instance *p = family_member(&r, f);
    double x[8], w[8], size = 0.0;
    int known = reference_box(p, p->lo, p->hi, x);
    for (int i = 0; known && i < p->n; i++) {
      w[i] = instance_row_product(p, i, x) - p->b[i];
      size = fmax(size, fabs(w[i]) + fabs(p->b[i]));
    }
    compared += known;
    for (int v = 0; v < VARIANTS; v++) {
      lcplug_settings s = variant_settings(v, LCPLUG_FRICTION_ODE, f->tol, 500000);
      lcplug_info info = instance_solve(p, &s);
      ck_assert_msg(info.status == LCPLUG_SOLVED, "%s, variant %d: %s, residual %g", f->name, v,
                    lcplug_status_text(info.status), info.residual);
      ck_assert_double_le(instance_conditions(p, LCPLUG_FRICTION_ODE), 10 * f->tol);
      if (known) ck_assert_double_le(distance_max(p->w, w, p->n), fmax(1e-6, 100 * f->tol) * size);
    }
    instance_free(p);
  }
  /* Free rows of a singular matrix have no active set with one answer; all others have. */
  if (f->bounds != ALL_FREE || f->m >= f->n) ck_assert_int_eq(compared, 12);
}
END_TEST

/* friction=ode is two boxes, one after the other: without friction rows, then with the bounds
 * mu |x_n| that follow.  Both are solved here by the reference, and compared. */
START_TEST(ode_friction_against_two_boxes) {
  rng r = {41};
  for (int trial = 0; trial < 40; trial++) {
    instance *p = instance_contacts(&r, 2, 1, 0.05, 0.5, 0.2);
    double lo[6], hi[6], x[6], w[6];
    for (int i = 0; i < 6; i++) lo[i] = 0.0, hi[i] = i % 3 ? 0.0 : INFINITY;
    ck_assert(reference_box(p, lo, hi, x));
    for (int i = 0; i < 6; i++)
      if (i % 3) hi[i] = p->hi[i] * x[i - i % 3], lo[i] = -hi[i];
    ck_assert(reference_box(p, lo, hi, x));
    for (int i = 0; i < 6; i++) w[i] = instance_row_product(p, i, x) - p->b[i];
    for (int v = 0; v < VARIANTS; v++) {
      lcplug_settings s = variant_settings(v, LCPLUG_FRICTION_ODE, 1e-11, 1000000);
      ck_assert_int_eq(instance_solve(p, &s).status, LCPLUG_SOLVED);
      ck_assert_double_le(distance_max(p->used_hi, hi, 6), 1e-8);
      ck_assert_double_le(distance_max(p->used_lo, lo, 6), 1e-8);
      ck_assert_double_le(distance_max(p->w, w, 6), 1e-7);
    }
    instance_free(p);
  }
}
END_TEST

/* ---- contacts: four friction models, all variants, rows in any order ------------------------- */

/* A few bodies on the ground and on each other; more contacts than freedoms, so A is singular but
 * for cfm, or wholly.  Some smooth, some infinitely rough, some with a rolling row. */
static instance *pile(rng *r, int trial) {
  double mu = rng_between(r, 0.1, 0.9), cfm = trial % 2 ? 0.0 : 1e-2;
  instance *p = instance_contacts(r, 5, 2, cfm, mu, trial % 3 ? mu : 0.3 * mu);
  if (trial % 4 == 3) p->hi[4] = 0.0, p->hi[5] = INFINITY, p->hi[7] = 0.0;
  /* rolling rows of contact 1; row 6 is alone */
  if (trial % 4 == 2) p->findex[7] = p->findex[8] = 3;
  return p;
}

static void check_pile(instance *p, const lcplug_settings *s, const char *what) {
  lcplug_info info = instance_solve(p, s);
  /* Where bounds or De Saxce's terms move with the forces,
   * over-relaxation may chase them for ever. */
  int moving = s->friction == LCPLUG_FRICTION_PYRAMID || s->friction == LCPLUG_FRICTION_COULOMB;
  if (moving && s->omega > 1.0 && info.residual < 0.05) return;
  ck_assert_msg(info.status == LCPLUG_SOLVED, "%s, friction %d, solver %s: residual %g after %d",
                what, s->friction, lcplug_solver_name(s->solver), info.residual, info.iterations);
  ck_assert_double_le(info.residual, s->tol);
  ck_assert_double_le(instance_conditions(p, s->friction), 100 * s->tol);
  ck_assert_int_eq(info.solver, s->solver);
  ck_assert_int_eq(info.matrix, s->matrix);
}

START_TEST(piles_in_all_models) {
  rng r = {42};
  for (int trial = 0; trial < 16; trial++) {
    instance *p = pile(&r, trial), *q = instance_permuted(p, &r, NULL);
    for (int friction = 0; friction <= LCPLUG_FRICTION_COULOMB; friction++) {
      lcplug_settings s = variant_settings(_i, (lcplug_friction)friction, 1e-6, 100000);
      check_pile(p, &s, "contacts in order");
      check_pile(q, &s, "rows in any order");
    }
    instance_free(p);
    instance_free(q);
  }
}
END_TEST

/* The cone problem is convex and its w unique: all variants, both operators and any order of rows
 * agree on it.  (Cones of equal mu: which tangent comes first then makes no difference either.) */
START_TEST(cone_answers_agree) {
  rng r = {43};
  for (int trial = 0; trial < 6; trial++) {
    instance *p = instance_contacts(&r, 5, 2, 1e-2, 0.5, 0.5);
    double w[15], size = 0.0;
    int order[15];
    for (int v = 0; v < VARIANTS; v++) {
      lcplug_settings s = variant_settings(v, LCPLUG_FRICTION_CONE, 1e-10, 200000);
      instance *q = instance_permuted(p, &r, order);
      ck_assert_int_eq(instance_solve(p, &s).status, LCPLUG_SOLVED);
      ck_assert_int_eq(instance_solve(q, &s).status, LCPLUG_SOLVED);
      if (v == 0) memcpy(w, p->w, sizeof w);
      for (int i = 0; i < 15; i++) size = fmax(size, fabs(w[i]));
      ck_assert_double_le(distance_max(p->w, w, 15), 1e-7 * size);
      for (int i = 0; i < 15; i++) ck_assert_double_le(fabs(q->w[i] - w[order[i]]), 1e-7 * size);
      instance_free(q);
    }
    instance_free(p);
  }
}
END_TEST

/* What sets the models apart, on contacts that slide: with coulomb a pressing
 * contact does not lift, w_n = 0; with cone it lifts by exactly mu |w_t|, and the
 * largest of these is the gap told. */
START_TEST(cone_lifts_and_coulomb_does_not) {
  rng r = {44};
  int sliding = 0;
  for (int trial = 0; trial < 20; trial++) {
    instance *p = instance_contacts(&r, 3, 2, 1e-2, 0.4, 0.4);
    lcplug_settings cone = variant_settings(8, LCPLUG_FRICTION_CONE, 1e-11, 200000);
    lcplug_settings coulomb = variant_settings(0, LCPLUG_FRICTION_COULOMB, 1e-11, 200000);
    double gap = 0.0;
    lcplug_info info = instance_solve(p, &cone);
    for (int c = 0; c < 9; c += 3) {
      double slip = 0.4 * hypot(p->w[c + 1], p->w[c + 2]);
      gap = fmax(gap, slip);
      if (p->x[c] > 1e-3) ck_assert_double_eq_tol(p->w[c], slip, 1e-7);
      sliding += p->x[c] > 1e-3 && slip > 1e-3;
    }
    ck_assert_double_eq_tol(info.gap, gap, 1e-12);
    ck_assert(instance_solve(p, &coulomb).gap == 0.0);
    for (int c = 0; c < 9; c += 3)
      if (p->x[c] > 1e-3) ck_assert_double_le(fabs(p->w[c]), 1e-7);
    instance_free(p);
  }
  ck_assert_int_ge(sliding, 10);
}
END_TEST

/* An answer that was stopped early is not right yet, but its forces lie in their sets: intervals as
 * they were frozen, cones.  (A pyramid's bounds lag behind its normals.) */
static double outside(const instance *p, lcplug_friction friction) {
  double worst = 0.0;
  for (int c = 0; c < p->n; c += 3) {
    worst = fmax(worst, -p->x[c]);
    if (friction != LCPLUG_FRICTION_ODE)
      worst = fmax(worst, hypot(p->x[c + 1] / p->hi[c + 1], p->x[c + 2] / p->hi[c + 2]) - p->x[c]);
    for (int t = 1; friction == LCPLUG_FRICTION_ODE && t < 3; t++)
      worst = fmax(worst, fabs(p->x[c + t]) - p->used_hi[c + t]);
  }
  return worst;
}

START_TEST(early_answers_are_feasible) {
  const lcplug_friction convex[] = {LCPLUG_FRICTION_ODE, LCPLUG_FRICTION_CONE,
                                    LCPLUG_FRICTION_COULOMB};
  rng r = {48};
  for (int trial = 0; trial < 30; trial++) {
    instance *p = instance_contacts(&r, 5, 2, 1e-2, 0.5, trial % 2 ? 0.5 : 0.2);
    for (int f = 0; f < 3; f++)
      for (int budget = 1; budget <= 6; budget++) {
        lcplug_settings s = variant_settings(_i, convex[f], 1e-10, budget);
        instance_solve(p, &s);
        ck_assert_double_le(outside(p, convex[f]), 1e-13);
      }
    instance_free(p);
  }
}
END_TEST

/* ---- convergence at several budgets ---------------------------------------------------------- */

/* sqrt((x - y)' A (x - y)): the error that is seen in velocities. */
static double energy_distance(const instance *p, const double *x, const double *y) {
  double d[15], sum = 0.0;
  for (int i = 0; i < p->n; i++) d[i] = x[i] - y[i];
  for (int i = 0; i < p->n; i++) sum += d[i] * instance_row_product(p, i, d);
  return sqrt(fmax(sum, 0.0));
}

/* With more iterations the residual never rises, as the best iterate is kept, and the
 * error against the ground truth falls: to a tenth of what no force leaves after 256,
 * to 1e-6 of it after 4096. */
START_TEST(errors_fall_with_the_budget) {
  const int budgets[] = {1, 2, 4, 8, 16, 64, 256, 1024, 4096};
  rng r = {45};
  for (int trial = 0; trial < 10; trial++) {
    const struct family *f = &families[trial % 2 ? 1 : 4];
    instance *p = family_member(&r, f);
    double truth[8], zero[8] = {0}, before = INFINITY;
    ck_assert(reference_box(p, p->lo, p->hi, truth));
    double start = energy_distance(p, zero, truth);
    for (int k = 0; k < 9; k++) {
      lcplug_settings s = variant_settings(_i, LCPLUG_FRICTION_ODE, 1e-13, budgets[k]);
      lcplug_info info = instance_solve(p, &s);
      double error = energy_distance(p, p->x, truth);
      ck_assert_int_le(info.iterations, budgets[k]);
      ck_assert_double_le(info.residual, before * (1.0 + 1e-9) + 1e-14);
      ck_assert_double_le(instance_energy(p, truth), instance_energy(p, p->x) + 1e-6);
      if (budgets[k] == 256) ck_assert_double_le(error, 0.1 * start);
      if (budgets[k] == 4096) ck_assert_double_le(error, 1e-6 * (start + 1.0));
      before = info.residual;
    }
    instance_free(p);
  }
}
END_TEST

/* A chain of N masses, each held to the next by a row: A = tridiagonal(-1, 2, -1), of condition
 * about (N / 1.6)^2.  b is what one end needs to be stopped; A x = e_0 gives x_i = 1 - (i + 1) / (N
 * + 1), and x >= 0 holds by itself. */
enum { CHAIN = 60 };

static int chain_iterations(const lcplug_settings *s) {
  instance *p = instance_create(CHAIN);
  for (int i = 0; i < CHAIN; i++) {
    instance_set(p, i, i, 2.0);
    if (i) instance_set(p, i, i - 1, -1.0);
    p->lo[i] = 0.0;
  }
  p->b[0] = 1.0;
  lcplug_info info = instance_solve(p, s);
  ck_assert_int_eq(info.status, LCPLUG_SOLVED);
  for (int i = 0; i < CHAIN; i++)
    ck_assert_double_eq_tol(p->x[i], 1.0 - (i + 1.0) / (CHAIN + 1.0), 1e-4);
  instance_free(p);
  return info.iterations;
}

/* Nesterov's rate: plain gradient steps need about N^2 iterations, accelerated ones about N.
 *
 * A known mistake drops b in the restart test: with A y in place of A y - b momentum
 * "points uphill" whenever forces grow, it restarts for ever and falls back to N^2;
 * dropped in backtracking, the step length collapses.  Either needs more than seven times
 * the iterations allowed here. */
START_TEST(dropped_b_would_stall) {
  lcplug_settings s = variant_settings(7 + _i, LCPLUG_FRICTION_ODE, 1e-8, 100000);
  int iterations = chain_iterations(&s);
  ck_assert_msg(iterations <= 1000, "%d iterations", iterations);
}
END_TEST

/* Over-relaxation is faster on such a chain (omega 1.5 by about 3, the theory says),
 * under-relaxation slower, and a sweep there and back does more than one there. */
START_TEST(relaxation_and_sweeps_set_the_pace) {
  lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_ODE);
  s.tol = 1e-8, s.max_iter = 100000;
  int plain = chain_iterations(&s);
  s.omega = 1.5;
  int over = chain_iterations(&s);
  s.omega = 0.5;
  int under = chain_iterations(&s);
  s.omega = 1.0, s.sweep = LCPLUG_SWEEP_SYMMETRIC;
  int symmetric = chain_iterations(&s);
  ck_assert_msg(2 * over < plain && 2 * plain < under && 3 * symmetric < 2 * plain,
                "%d sweeps, %d with omega 1.5, %d with 0.5, %d "
                "symmetric", plain, over, under, symmetric);
}
END_TEST

/* The same with contacts: bodies fall at speed 1 on each other, b far from 0 in every row. */
START_TEST(apgd_needs_few_iterations_on_piles) {
  rng r = {46};
  for (int trial = 0; trial < 10; trial++) {
    instance *p = instance_contacts(&r, 12, 6, 1e-3, 0.5, 0.5);
    for (int friction = LCPLUG_FRICTION_PYRAMID; friction <= LCPLUG_FRICTION_COULOMB; friction++) {
      lcplug_settings s = variant_settings(7 + _i, (lcplug_friction)friction, 1e-4, 20000);
      lcplug_info info = instance_solve(p, &s);
      ck_assert_msg(info.status == LCPLUG_SOLVED && info.iterations <= 1500,
                    "friction %d: residual %g after %d", friction, info.residual, info.iterations);
    }
    instance_free(p);
  }
}
END_TEST

/* Rows of very different size (a joint of a heavy machine beside a contact of a grain, A_ii from
 * 1e-4 to 1e4): block scaling makes that no harder. */
START_TEST(scaling_of_rows_does_not_matter) {
  rng r = {47};
  for (int trial = 0; trial < 10; trial++) {
    instance *p = instance_random(&r, 8, 16, 0.1), *q = instance_copy(p);
    double d[8];
    for (int i = 0; i < 8; i++) d[i] = rng_magnitude(&r, -2, 2), p->lo[i] = q->lo[i] = 0.0;
    for (int i = 0; i < 8; i++) {
      q->b[i] *= d[i];
      for (int j = 0; j <= i; j++) instance_set(q, i, j, d[i] * d[j] * instance_at(p, i, j));
    }
    lcplug_settings s = variant_settings(_i, LCPLUG_FRICTION_ODE, 1e-10, 100000);
    lcplug_info plain = instance_solve(p, &s);
    s.tol = 1e-12; /* the residual of q is that of its largest rows */
    lcplug_info scaled = instance_solve(q, &s);
    ck_assert_int_eq(scaled.status, LCPLUG_SOLVED);
    ck_assert_msg(scaled.iterations <= 5 * plain.iterations + 200, "%d, plain %d",
                  scaled.iterations, plain.iterations);
    for (int i = 0; i < 8; i++) ck_assert_double_eq_tol(q->x[i] * d[i], p->x[i], 1e-4);
    instance_free(p);
    instance_free(q);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pgs and apgd");
  TCase *boxes = support_case(suite, "boxes"), *contacts = support_case(suite, "contacts");
  TCase *speed = support_case(suite, "convergence");
  tcase_add_loop_test(boxes, boxes_against_all_active_sets, 0, FAMILIES);
  tcase_add_test(boxes, ode_friction_against_two_boxes);
  tcase_add_loop_test(contacts, piles_in_all_models, 0, VARIANTS);
  tcase_add_test(contacts, cone_answers_agree);
  tcase_add_test(contacts, cone_lifts_and_coulomb_does_not);
  tcase_add_loop_test(contacts, early_answers_are_feasible, 0, VARIANTS);
  tcase_add_loop_test(speed, errors_fall_with_the_budget, 0, VARIANTS);
  tcase_add_loop_test(speed, dropped_b_would_stall, 0, 2);
  tcase_add_test(speed, relaxation_and_sweeps_set_the_pace);
  tcase_add_loop_test(speed, apgd_needs_few_iterations_on_piles, 0, 2);
  tcase_add_loop_test(speed, scaling_of_rows_does_not_matter, 0, VARIANTS);
  return support_run(suite);
}
