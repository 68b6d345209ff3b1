/* test_native.c - systems of bodies and rows: A without A, and every solver on it.
 *
 * The reference is A = J M^-1 J' + CFM, multiplied out in long double from the system's own arrays.
 * Random systems have free and fixed bodies, articulated groups, rows on both, contacts with all
 * kinds of friction, and joints. */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lanes.h"
#include "support.h"
#include "system.h"

/* ThreadSanitizer is slow, and most of what is here has one thread. */
#if defined(__SANITIZE_THREAD__)
enum { FEWER = 10 };
#else
enum { FEWER = 1 };
#endif

enum { MOST_BODIES = 9000, MOST_ROWS = 60000, MOST_GROUPS = 3, MOST_SPARSE = 8 };

/* A system that owns its arrays. */
typedef struct native {
  lcplug_system s;
  double mass[MOST_BODIES], inertia[9 * MOST_BODIES];
  int32_t group_begin[MOST_GROUPS + 1];
  double group_mass[MOST_GROUPS * 20 * 20];
  int32_t body[2 * MOST_ROWS];
  double jacobian[12 * MOST_ROWS];
  int32_t sparse_begin[MOST_ROWS + 1], sparse_coordinate[MOST_SPARSE * MOST_ROWS];
  double sparse_value[MOST_SPARSE * MOST_ROWS];
  double cfm[MOST_ROWS], b[MOST_ROWS], lo[MOST_ROWS], hi[MOST_ROWS], x0[MOST_ROWS];
  int32_t findex[MOST_ROWS];
} native;

/* m x m, symmetric positive definite. */
static void random_mass(rng *r, int m, double *a) {
  double root[20 * 20];
  for (int i = 0; i < m * m; i++) root[i] = rng_between(r, -1, 1);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) {
      a[i * m + j] = i == j ? 0.3 : 0.0;
      for (int k = 0; k < m; k++) a[i * m + j] += root[i * m + k] * root[j * m + k];
    }
  for (int i = 0; i < m; i++)
    for (int j = 0; j < i; j++) a[i * m + j] = a[j * m + i];
}

static native *native_create(rng *r, int bodies, int groups) {
  native *t = calloc(1, sizeof *t);
  ck_assert_ptr_nonnull(t);
  t->s = lcplug_system_default();
  t->s.bodies = bodies, t->s.groups = groups;
  t->s.inverse_mass = t->mass, t->s.inverse_inertia = t->inertia;
  t->s.group_begin = t->group_begin, t->s.group_inverse_mass = t->group_mass;
  t->s.body = t->body, t->s.jacobian = t->jacobian, t->s.cfm = t->cfm, t->s.b = t->b;
  t->s.sparse_begin = t->sparse_begin, t->s.sparse_coordinate = t->sparse_coordinate;
  t->s.sparse_value = t->sparse_value;
  t->s.lo = t->lo, t->s.hi = t->hi, t->s.findex = t->findex;
  for (int k = 0; k < bodies; k++) {
    if (rng_below(r, 8) == 0) continue; /* fixed */
    t->mass[k] = rng_below(r, 10) ? rng_magnitude(r, -1, 1) : 0.0;
    random_mass(r, 3, t->inertia + 9 * k);
  }
  double *mass = t->group_mass;
  for (int g = 0; g < groups; g++) {
    int m = 1 + rng_below(r, 17);
    t->group_begin[g + 1] = t->group_begin[g] + m;
    random_mass(r, m, mass);
    mass += m * m;
  }
  return t;
}

/* One more row on two bodies (-1: none), and on `sparse` articulated coordinates. */
static int add_row(native *t, rng *r, int first, int second, int sparse, double lo, double hi,
                   int findex) {
  int row = t->s.rows++, end = t->sparse_begin[row], coordinates = t->group_begin[t->s.groups];
  ck_assert_int_lt(row, MOST_ROWS);
  t->body[2 * row] = first, t->body[2 * row + 1] = second;
  for (int c = 0; c < 12; c++) t->jacobian[12 * row + c] = rng_between(r, -1, 1);
  for (int k = 0; k < sparse && coordinates; k++, end++) {
    t->sparse_coordinate[end] = rng_below(r, coordinates);
    t->sparse_value[end] = rng_between(r, -1, 1);
  }
  t->sparse_begin[row + 1] = end;
  t->cfm[row] = 0.05, t->b[row] = rng_between(r, -1, 1);
  t->lo[row] = lo, t->hi[row] = hi, t->findex[row] = findex;
  return row;
}

static int any_body(const native *t, rng *r) {
  return t->s.bodies ? rng_below(r, t->s.bodies + 1) - 1 : -1;
}

/* Makes the three rows from `normal` on those of a contact with a frame and levers, right-handed or
 * left-handed. */
static void frame_rows(native *t, rng *r, int normal) {
  double n[3], lever[2][3], length = 0.0;
  for (int c = 0; c < 3; c++) {
    n[c] = rng_between(r, -1, 1), length += n[c] * n[c];
    lever[0][c] = rng_between(r, -1, 1), lever[1][c] = rng_between(r, -1, 1);
  }
  for (int c = 0; c < 3; c++) n[c] /= sqrt(length);
  lcplug_contact_rows(n, lever[0], lever[1], t->jacobian + 12 * normal);
  for (int c = 0; normal % 2 && c < 12; c++)
    t->jacobian[12 * (normal + 2) + c] *= -1.0;
}

/* A contact with friction rows: none, one, two alike, two different, one of them 0 or infinite, and
 * rolling ones. */
static void add_contact(native *t, rng *r, int sparse) {
  int first = any_body(t, r), second = any_body(t, r), kind = rng_below(r, 6);
  int normal = add_row(t, r, first, second, sparse, 0.0, INFINITY, -1);
  double mu = rng_between(r, 0.2, 1.0), other = kind == 3 ? 0.7 * mu : kind == 4 ? 0.0 : mu;
  if (kind >= 1) add_row(t, r, first, second, sparse, -mu, mu, normal);
  if (kind >= 2) add_row(t, r, first, second, sparse, -other, other, normal);
  if (kind >= 2 && rng_below(r, 2)) frame_rows(t, r, normal);
  for (int k = 0; kind == 5 && k < 3; k++) add_row(t, r, first, second, sparse, -0.1, 0.1, normal);
}

static native *native_random(rng *r, int bodies, int groups, int contacts, int joints) {
  native *t = native_create(r, bodies, groups);
  for (int k = 0; k < joints; k++) {
    int first = any_body(t, r), second = any_body(t, r), rows = 1 + rng_below(r, 6);
    for (int i = 0; i < rows; i++)
      add_row(t, r, first, second, rng_below(r, 3) ? 0 : 2, k % 3 ? -INFINITY : -0.3,
              k % 3 ? INFINITY : 0.5, -1);
  }
  for (int k = 0; k < contacts; k++) add_contact(t, r, groups ? rng_below(r, 3) : 0);
  /* Where all rows of a group have the same CFM, or mu, one number is kept of them: both ways. */
  for (int i = 0; contacts % 2 && i < t->s.rows; i++) t->cfm[i] = rng_between(r, 0.02, 0.1);
  for (int i = 0; contacts % 3 == 0 && i < t->s.rows; i++)
    if (t->findex[i] >= 0 && t->hi[i] > 0.0) t->lo[i] = -0.6, t->hi[i] = 0.6;
  return t;
}

/* Spread of the row over all coordinates. */
static void spread_row(const native *t, int row, double *j) {
  memset(j, 0, (size_t)lcplug_system_coordinates(&t->s) * sizeof *j);
  for (int side = 0; side < 2; side++)
    for (int c = 0; c < 6 && t->body[2 * row + side] >= 0; c++)
      j[6 * t->body[2 * row + side] + c] += t->jacobian[12 * row + 6 * side + c];
  for (int k = t->sparse_begin[row]; k < t->sparse_begin[row + 1]; k++)
    j[6 * t->s.bodies + t->sparse_coordinate[k]] += t->sparse_value[k];
}

/* y = M^-1 f */
static void inverse_mass(const native *t, const double *f, double *y) {
  for (int k = 0; k < t->s.bodies; k++)
    for (int i = 0; i < 3; i++) {
      y[6 * k + i] = t->mass[k] * f[6 * k + i];
      y[6 * k + 3 + i] = 0.0;
      for (int j = 0; j < 3; j++)
        y[6 * k + 3 + i] += t->inertia[9 * k + 3 * i + j] * f[6 * k + 3 + j];
    }
  const double *mass = t->group_mass;
  for (int g = 0; g < t->s.groups; g++) {
    int m = t->group_begin[g + 1] - t->group_begin[g], at = 6 * t->s.bodies + t->group_begin[g];
    for (int i = 0; i < m; i++) {
      y[at + i] = 0.0;
      for (int j = 0; j < m; j++) y[at + i] += mass[i * m + j] * f[at + j];
    }
    mass += m * m;
  }
}

/* The row times a vector of all coordinates. */
static long double row_dot(const native *t, int row, const double *v) {
  long double sum = 0.0;
  for (int side = 0; side < 2; side++)
    for (int c = 0; c < 6 && t->body[2 * row + side] >= 0; c++)
      sum += (long double)t->jacobian[12 * row + 6 * side + c] * v[6 * t->body[2 * row + side] + c];
  for (int k = t->sparse_begin[row]; k < t->sparse_begin[row + 1]; k++)
    sum += (long double)t->sparse_value[k] * v[6 * t->s.bodies + t->sparse_coordinate[k]];
  return sum;
}

/* All of A, row-major. */
static double *reference_matrix(const native *t) {
  int n = t->s.rows, size = lcplug_system_coordinates(&t->s);
  double *A = calloc((size_t)n * (size_t)n + 1, sizeof *A),
         *row = calloc((size_t)size + 1, sizeof *row);
  double *pushed = calloc((size_t)size + 1, sizeof *pushed);
  for (int i = 0; i < n; i++) {
    spread_row(t, i, row);
    inverse_mass(t, row, pushed);
    for (int k = 0; k < n; k++)
      A[i * n + k] = (double)(row_dot(t, k, pushed) + (i == k ? t->cfm[i] : 0.0));
  }
  free(row);
  free(pushed);
  return A;
}

static lcplug_problem dense_problem(const native *t, const double *A) {
  lcplug_problem p = lcplug_problem_default();
  p.n = t->s.rows, p.A = A, p.stride = (size_t)t->s.rows, p.b = t->b, p.lo = t->lo, p.hi = t->hi;
  p.findex = t->findex;
  return p;
}

/* ---- A --------------------------------------------------------------------------------------- */

static native *system_number(int number) {
  rng r = {(uint64_t)number};
  return native_random(&r, number % 7 == 6 ? 0 : 1 + rng_below(&r, 12), number % 3, 6 + number % 5,
                       number % 4);
}

/* The matrix, products with it, and the right side and the velocities that go with it. */
START_TEST(matrix_and_products_are_right) {
  native *t = system_number(_i);
  rng r = {1000u + (uint64_t)_i};
  int n = t->s.rows;
  lcplug_workspace *workspace = lcplug_workspace_create();
  double *expected = reference_matrix(t), *A = malloc((size_t)(n * (n + 2)) * sizeof *A);
  double x[MOST_ROWS], y[MOST_ROWS];
  ck_assert_int_eq(lcplug_system_matrix(workspace, &t->s, A, (size_t)n + 2), LCPLUG_OK);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++)
      ck_assert_double_eq_tol(A[i * (n + 2) + k], expected[i * n + k], 1e-11);
  for (int i = 0; i < n; i++) x[i] = rng_between(&r, -1, 1);
  ck_assert_int_eq(lcplug_system_apply(workspace, &t->s, x, y), LCPLUG_OK);
  for (int i = 0; i < n; i++) {
    double sum = 0.0;
    for (int k = 0; k < n; k++) sum += expected[i * n + k] * x[k];
    ck_assert_double_eq_tol(y[i], sum, 1e-10);
  }
  free(A);
  free(expected);
  free(t);
  lcplug_workspace_free(workspace);
}
END_TEST

/* w = J v+ + bias + CFM x must come out of A x - b. */
START_TEST(velocities_agree_with_the_right_side) {
  native *t = system_number(_i);
  rng r = {2000u + (uint64_t)_i};
  int n = t->s.rows, size = lcplug_system_coordinates(&t->s);
  double v[6 * MOST_BODIES + 100], f[6 * MOST_BODIES + 100], after[6 * MOST_BODIES + 100],
      j[6 * MOST_BODIES + 100];
  double x[MOST_ROWS], bias[MOST_ROWS], b[MOST_ROWS], Ax[MOST_ROWS];
  for (int c = 0; c < size; c++) v[c] = rng_between(&r, -1, 1), f[c] = rng_between(&r, -1, 1);
  for (int i = 0; i < n; i++) x[i] = rng_between(&r, -1, 1), bias[i] = rng_between(&r, -1, 1);
  lcplug_workspace *workspace = lcplug_workspace_create();
  ck_assert_int_eq(lcplug_system_right_side(&t->s, v, f, 0.25, bias, b), LCPLUG_OK);
  ck_assert_int_eq(lcplug_system_velocity(&t->s, v, f, 0.25, x, after), LCPLUG_OK);
  ck_assert_int_eq(lcplug_system_apply(workspace, &t->s, x, Ax), LCPLUG_OK);
  for (int i = 0; i < n; i++) {
    double w = bias[i] + t->cfm[i] * x[i];
    spread_row(t, i, j);
    for (int c = 0; c < size; c++) w += j[c] * after[c];
    ck_assert_double_eq_tol(Ax[i] - b[i], w, 1e-9);
  }
  ck_assert_int_eq(lcplug_system_velocity(&t->s, v, f, 0.25, x, v), LCPLUG_OK); /* in place */
  ck_assert_mem_eq(v, after, (size_t)size * sizeof *v);
  free(t);
  lcplug_workspace_free(workspace);
}
END_TEST

/* The operator's table in the solver's order: diagonal, blocks of it, and a state that follows
 * x. */
START_TEST(operator_table_is_right) {
  native *t = system_number(_i);
  rng r = {3000u + (uint64_t)_i};
  int n = t->s.rows;
  double *A = reference_matrix(t);
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_problem p = lcplug_system_problem(&t->s);
  layout l;
  jacobian j;
  linop op;
  ck_assert_int_eq(lcplug_layout_build(&l, &p, workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_lanes_build(&j, &t->s, &l, workspace), LCPLUG_OK);
  lcplug_operator_jacobian(&op, &j);
  double d[MOST_ROWS], x[MOST_ROWS], own[4], Ax[MOST_ROWS];
  double *state = malloc((size_t)op.table->state_size(&op) * sizeof *state);
  op.table->diagonal(&op, d);
  for (int i = 0; i < n; i++) {
    x[i] = rng_between(&r, -1, 1);
    ck_assert_double_eq_tol(d[i], A[l.row[i] * n + l.row[i]], 1e-11);
  }
  for (int i = 0; i + 2 < n; i++) {
    op.table->diagonal_block(&op, i, 2, own);
    for (int e = 0; e < 4; e++)
      ck_assert_double_eq_tol(own[e], A[l.row[i + e / 2] * n + l.row[i + e % 2]], 1e-11);
  }
  op.table->state_begin(&op, x, state);
  for (int change = 0; change < 20; change++) {
    int first = rng_below(&r, n);
    double dx = rng_between(&r, -1, 1);
    op.table->state_add(&op, state, first, 1, &dx);
    x[first] += dx;
  }
  op.table->apply(&op, x, Ax);
  for (int i = 0; i < n; i++) {
    double read;
    op.table->state_read(&op, state, i, 1, &read);
    ck_assert_double_eq_tol(read, Ax[i], 1e-10);
  }
  free(state);
  free(A);
  free(t);
  lcplug_workspace_free(workspace);
}
END_TEST

/* What a few sweeps and a gradient step make of x and of the velocities, with one table of
 * kernels. */
static void run_kernels(const lane_kernels *kernels, const lane_model *lm, int coulomb, double *x,
                        double *state, double *numbers, lcplug_workspace *workspace) {
  const jacobian *j = lm->j;
  size_t elements = lcplug_lane_elements(j), size = lcplug_lane_state_size(j);
  double *Ax = TAKE(workspace, double, 3 * elements), *momentum = TAKE(workspace, double, 3 * size);
  double *shift = TAKE(workspace, double, j->groups * LANES);
  memset(shift, 0, (size_t)j->groups * LANES * sizeof *shift);
  memset(Ax, 0, 3 * elements * sizeof *Ax);
  memset(momentum, 0, 3 * size * sizeof *momentum);
  lane_run run = {.j = j,
                  .lm = lm,
                  .state = state,
                  .momentum = momentum,
                  .after = state,
                  .x = x,
                  .Ax = Ax,
                  .omega = 1.1,
                  .coulomb = coulomb,
                  .shift = shift,
                  .beta = 0.3,
                  .lipschitz_inverse = 0.3,
                  .follow = 0.5};
  memset(state, 0, size * sizeof *state);
  lcplug_lanes_by_phases(&run, kernels->scatter, 0);
  kernels->settle(&run, 0, j->nodes, 0);
  for (int k = 0; k < 3; k++) lcplug_lanes_by_phases(&run, kernels->sweep, k % 2);
  lcplug_lanes_at_once(&run, kernels->gather, NULL);
  numbers[0] = kernels->worst(&run, 0, j->groups, 0).worst;
  memcpy(Ax + elements, x, elements * sizeof *x);
  for (size_t k = 0; k < elements; k++) Ax[2 * elements + k] = 0.5 * x[k];
  run.x1 = Ax + elements, run.x2 = Ax + 2 * elements;
  run.momentum1 = momentum, run.momentum = momentum + size, run.momentum2 = momentum + 2 * size;
  lcplug_lanes_by_phases(&run, kernels->step, 0);
  lane_sums sums = kernels->settle(&run, 0, j->nodes, 0);
  memcpy(numbers + 1, &sums, sizeof sums);
  run.x = Ax + elements;
  sums = kernels->step(&run, 0, j->groups, 0);
  memcpy(numbers + 5, &sums, sizeof sums);
  for (size_t k = 0; k < elements; k++) numbers[9] += Ax[k];
}

/* Portable kernels and all others that this processor runs give the same bits. */
START_TEST(kernels_agree_to_the_bit) {
  native *t = system_number(_i / 3);
  static const friction_stage stages[] = {STAGE_PYRAMID, STAGE_CONE, STAGE_COULOMB};
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_problem p = lcplug_system_problem(&t->s);
  layout l;
  jacobian j;
  linop op;
  model m;
  lane_model lm;
  ck_assert(!lcplug_layout_build(&l, &p, workspace) &&
            !lcplug_lanes_build(&j, &t->s, &l, workspace));
  lcplug_operator_jacobian(&op, &j);
  ck_assert(!lcplug_model_build(&m, &l, &op, stages[_i % 3], NULL, workspace));
  size_t elements = lcplug_lane_elements(&j), size = lcplug_lane_state_size(&j);
  enum { MOST_TABLES = 3 };
  double numbers[MOST_TABLES][10] = {{0}}, *x[MOST_TABLES], *state[MOST_TABLES];
  ck_assert_ptr_eq(lcplug_lane_kernels_number(0), lcplug_lane_kernels());
  ck_assert_ptr_null(lcplug_lane_kernels_number(MOST_TABLES));
  for (int k = 0; lcplug_lane_kernels_number(k); k++) {
    x[k] = lcplug_take(workspace, elements, sizeof(double));
    state[k] = lcplug_take(workspace, size, sizeof(double));
    memset(x[k], 0, elements * sizeof(double));
    ck_assert(
        !lcplug_lane_model_build(&lm, &j, &m, workspace)); /* steps move bounds of coupled rows */
    run_kernels(lcplug_lane_kernels_number(k), &lm, m.coulomb, x[k], state[k], numbers[k],
                workspace);
    ck_assert_mem_eq(x[0], x[k], elements * sizeof(double));
    ck_assert_mem_eq(state[0], state[k], size * sizeof(double));
    ck_assert_mem_eq(numbers[0], numbers[k], sizeof numbers[0]);
  }
  free(t);
  lcplug_workspace_free(workspace);
}
END_TEST

/* Sweeps go through the groups in their order: those of joints come first. */
START_TEST(joints_come_before_contacts) {
  rng r = {(uint64_t)_i + 40};
  native *t = native_random(&r, 30, _i % 2, 60, 12);
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_problem p = lcplug_system_problem(&t->s);
  layout l;
  jacobian j;
  ck_assert(!lcplug_layout_build(&l, &p, workspace) &&
            !lcplug_lanes_build(&j, &t->s, &l, workspace));
  int joints = 0, contacts = 0;
  for (int k = 0; k < j.groups * LANES; k++) {
    if (j.block_first[k] < 0) continue;
    int row = l.row[j.block_first[k]], joint = t->findex[row] < 0 && t->lo[row] < 0.0;
    ck_assert_msg(!joint || !contacts, "a joint in group %d, after a contact", k / LANES);
    joints += joint, contacts += !joint;
  }
  ck_assert(joints > 0 && contacts > 0);
  free(t);
  lcplug_workspace_free(workspace);
}
END_TEST

/* ---- solvers --------------------------------------------------------------------------------- */

/* A solve must report the residual that the dense path finds for its x and bounds. */
static lcplug_info solve_and_judge(const native *t, const lcplug_settings *settings, double *x,
                                   double *w) {
  int n = t->s.rows;
  double lo[MOST_ROWS], hi[MOST_ROWS], residual;
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_solution solution = {.x = x, .w = w, .lo = lo, .hi = hi};
  lcplug_info info;
  ck_assert_int_eq(lcplug_system_solve(workspace, &t->s, settings, &solution, &info), LCPLUG_OK);
  for (int i = 0; i < n; i++) ck_assert(isfinite(x[i]) && isfinite(w[i]));
  double *A = reference_matrix(t);
  lcplug_problem p = dense_problem(t, A);
  ck_assert_int_eq(lcplug_residual(workspace, &p, settings->friction, x, 1, lo, hi, 1, &residual),
                   LCPLUG_OK);
  ck_assert_double_eq_tol(residual, info.residual, 1e-9);
  ck_assert_int_eq(
      lcplug_system_residual(workspace, &t->s, settings->friction, x, lo, hi, &residual),
      LCPLUG_OK);
  ck_assert_double_eq_tol(residual, info.residual, 1e-12);
  free(A);
  lcplug_workspace_free(workspace);
  return info;
}

/* Every friction model by sweeps and by gradients, on bodies, articulated groups and all kinds of
 * contacts; sweeps in both directions and relaxed, and Jacobi's. */
START_TEST(sweeps_and_gradients_reach_the_answer) {
  for (int number = 0; number < 3; number++) {
    native *t = system_number(100 * _i + number);
    double x[MOST_ROWS], w[MOST_ROWS];
    for (int friction = 0; friction <= LCPLUG_FRICTION_COULOMB; friction++)
      for (int way = 0; way < 5; way++) {
        lcplug_settings s =
            settings_for(way == 4 ? LCPLUG_APGD : LCPLUG_PGS, (lcplug_friction)friction);
        /* Pyramids and Coulomb's law are no minimum of anything: neither gradients nor steps beyond
         * the mark must settle on rows as random as these; the residual then says so. */
        int convex = friction == LCPLUG_FRICTION_ODE || friction == LCPLUG_FRICTION_CONE;
        int may_miss = !convex && (way == 2 || way == 4);
        s.max_iter = may_miss ? 200 : 20000, s.tol = 1e-7;
        if (way == 1) s.sweep = LCPLUG_SWEEP_SYMMETRIC;
        if (way == 2) s.omega = 1.2;
        if (way == 3) s.omega = 0.8;
        lcplug_info info = solve_and_judge(t, &s, x, w);
        ck_assert_msg(info.status == LCPLUG_SOLVED || (may_miss && info.residual < 1.0),
                      "system %d friction %d way %d: residual %g", 100 * _i + number, friction, way,
                      info.residual);
        ck_assert_int_eq(info.matrix, LCPLUG_MATRIX_JACOBIAN);
      }
    lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_CONE);
    s.splitting = LCPLUG_SPLITTING_JACOBI, s.max_iter = 20000;
    ck_assert_int_eq(solve_and_judge(t, &s, x, w).status, LCPLUG_SOLVED);
    free(t);
  }
}
END_TEST

/* The same solver on the rows and on the dense matrix: w must agree. */
static double apart_from_the_dense_path(const native *t, const lcplug_settings *settings) {
  double *A = reference_matrix(t), x[MOST_ROWS], w[MOST_ROWS], y[MOST_ROWS], v[MOST_ROWS];
  lcplug_problem p = dense_problem(t, A);
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_solution solution = {.x = y, .w = v};
  solve_and_judge(t, settings, x, w);
  ck_assert_int_eq(lcplug_solve(workspace, &p, settings, &solution, NULL), LCPLUG_OK);
  free(A);
  lcplug_workspace_free(workspace);
  return distance_max(w, v, t->s.rows);
}

START_TEST(gradients_agree_with_the_dense_path) {
  native *t = system_number(_i);
  lcplug_settings s = settings_for(LCPLUG_APGD, LCPLUG_FRICTION_CONE);
  s.tol = 1e-12, s.max_iter = 5000;
  ck_assert_double_le(apart_from_the_dense_path(t, &s), 1e-7);
  free(t);
}
END_TEST

START_TEST(exact_agrees_with_the_dense_path) {
  native *t = system_number(_i);
  lcplug_settings s = settings_for(_i % 2 ? LCPLUG_AUTO : LCPLUG_EXACT, LCPLUG_FRICTION_ODE);
  ck_assert_double_le(apart_from_the_dense_path(t, &s), 1e-10);
  free(t);
}
END_TEST

/* A body with more contacts than there are colours: those beyond are done one by one. */
START_TEST(a_body_may_have_any_number_of_contacts) {
  rng r = {5};
  native *t = native_create(&r, 150, 0);
  for (int k = 0; k < 150; k++) t->mass[k] = 1.0;
  for (int k = 1; k < 150; k++) {
    int normal = add_row(t, &r, k, 0, 0, 0.0, INFINITY, -1);
    add_row(t, &r, k, 0, 0, -0.5, 0.5, normal);
    add_row(t, &r, k, 0, 0, -0.5, 0.5, normal);
  }
  double x[MOST_ROWS], w[MOST_ROWS];
  lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_COULOMB);
  s.max_iter = 5000;
  for (int symmetric = 0; symmetric < 2; symmetric++) {
    s.sweep = (lcplug_sweep)symmetric;
    ck_assert_int_eq(solve_and_judge(t, &s, x, w).status, LCPLUG_SOLVED);
  }
  free(t);
}
END_TEST

/* ---- threads, repeatability, budgets --------------------------------------------------------- */

/* A pile's graph: body k on bodies a few numbers below. */
static native *pile(rng *r, int bodies) {
  native *t = native_create(r, bodies, 1);
  for (int k = 0; k < bodies; k++) t->mass[k] = 1.0;
  for (int k = 0; k < bodies; k++)
    for (int c = 0; c < 2; c++) {
      int below = k - 1 - rng_below(r, 6),
          normal = add_row(t, r, k, below < 0 ? -1 : below, k % 20 == 0, 0.0, INFINITY, -1);
      add_row(t, r, k, below < 0 ? -1 : below, 0, -0.5, 0.5, normal);
      if (k % 3) add_row(t, r, k, below < 0 ? -1 : below, 0, -0.5, k % 5 ? 0.5 : 0.3, normal);
      if (k % 3 && k % 4) frame_rows(t, r, normal);
      for (int roll = 0; k % 7 == 0 && roll < 2; roll++)
        add_row(t, r, k, below < 0 ? -1 : below, 0, -0.1, 0.1, normal);
    }
  for (int k = 0; k + 1 < bodies; k += 9)
    for (int i = 0; i < 3; i++) add_row(t, r, k, k + 1, 0, -INFINITY, INFINITY, -1);
  return t;
}

/* Large enough that threads share the groups of a colour, and that there are tiles. */
START_TEST(threads_change_no_bit) {
  rng r = {77};
  native *t = pile(&r, MOST_BODIES);
  int n = t->s.rows;
  for (int friction = 0; friction <= LCPLUG_FRICTION_COULOMB; friction++)
    for (int gradient = 0; gradient < 2; gradient++) {
      double x[4][MOST_ROWS];
      for (int threads = 1; threads <= (FEWER > 1 ? 2 : 4); threads++) {
        lcplug_settings s =
            settings_for(gradient ? LCPLUG_APGD : LCPLUG_PGS, (lcplug_friction)friction);
        lcplug_workspace *workspace = lcplug_workspace_create();
        lcplug_team *team = lcplug_team_create(threads);
        ck_assert_ptr_nonnull(team);
        lcplug_solution solution = {.x = x[threads - 1]};
        s.max_iter = 12, s.tol = 1e-14;
        t->s.team = team;
        ck_assert_int_eq(lcplug_system_solve(workspace, &t->s, &s, &solution, NULL), LCPLUG_OK);
        ck_assert_mem_eq(x[0], x[threads - 1], (size_t)n * sizeof(double));
        lcplug_team_free(team);
        lcplug_workspace_free(workspace);
      }
    }
  free(t);
}
END_TEST

START_TEST(teams_refuse_nonsense) {
  ck_assert_ptr_null(lcplug_team_create(0));
  ck_assert_ptr_null(lcplug_team_create(-3));
  ck_assert_ptr_null(lcplug_team_create(1 << 20));
  lcplug_team_free(NULL);
}
END_TEST

/* The factor of a large system would take minutes and gigabytes. */
START_TEST(auto_does_not_form_a_large_matrix) {
  rng r = {81};
  native *t = pile(&r, MOST_BODIES);
  double x[MOST_ROWS];
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_solution solution = {.x = x};
  for (int friction = 0; friction <= LCPLUG_FRICTION_COULOMB; friction++) {
    lcplug_settings s = settings_for(LCPLUG_AUTO, (lcplug_friction)friction);
    lcplug_info info;
    s.max_iter = 100;
    ck_assert_int_eq(lcplug_system_solve(workspace, &t->s, &s, &solution, &info), LCPLUG_OK);
    ck_assert_int_eq(info.factorizations, 0);
    ck_assert(info.solver == LCPLUG_APGD || info.solver == LCPLUG_PGS);
    ck_assert_double_lt(info.residual, 0.1);
  }
  free(t);
  lcplug_workspace_free(workspace);
}
END_TEST

/* What large piles are made of: contacts of three rows, five for each body. */
START_TEST(contacts_take_few_bytes) {
  rng r = {82};
  native *t = native_create(&r, 800, 0);
  double x[MOST_ROWS];
  for (int k = 0; k < 5 * 800; k++) {
    int first = k / 5, second = first - 1 - rng_below(&r, 40), normal = t->s.rows;
    t->mass[first] = 1.0;
    for (int i = 0; i < 3; i++)
      add_row(t, &r, first, second < 0 ? -1 : second, 0, i ? -0.5 : 0.0, i ? 0.5 : INFINITY,
              i ? normal : -1);
    frame_rows(t, &r, normal);
  }
  for (int way = 0; way < 3 * 4; way++) { /* auto, pgs, apgd; each friction model */
    lcplug_workspace *workspace = lcplug_workspace_create();
    lcplug_solution solution = {.x = x};
    lcplug_settings s = settings_for((lcplug_solver)(way / 4), (lcplug_friction)(way % 4));
    s.max_iter = 20;
    ck_assert_int_eq(lcplug_system_solve(workspace, &t->s, &s, &solution, NULL), LCPLUG_OK);
    ck_assert_uint_le(lcplug_workspace_bytes(workspace), 400u * (size_t)t->s.rows);
    lcplug_workspace_free(workspace);
  }
  free(t);
}
END_TEST

/* A second solve allocates nothing and gives the same bits, whatever rounding mode the host has. */
START_TEST(solves_repeat_without_allocating) {
  rng r = {78};
  native *t = pile(&r, 100);
  double x[MOST_ROWS], y[MOST_ROWS];
  lcplug_workspace *workspace = lcplug_workspace_create();
  for (int solver = LCPLUG_PGS; solver <= LCPLUG_EXACT; solver++) {
    lcplug_settings s = settings_for((lcplug_solver)solver, LCPLUG_FRICTION_ODE);
    s.max_iter = 30;
    lcplug_solution first = {.x = x}, second = {.x = y};
    ck_assert_int_eq(lcplug_system_solve(workspace, &t->s, &s, &first, NULL), LCPLUG_OK);
    size_t bytes = lcplug_workspace_bytes(workspace);
    fesetround(FE_UPWARD);
    lcplug_error error = lcplug_system_solve(workspace, &t->s, &s, &second, NULL);
    int rounding = fegetround();
    fesetround(FE_TONEAREST);
    ck_assert_int_eq(error, LCPLUG_OK);
    ck_assert_int_eq(rounding, FE_UPWARD);
    ck_assert_uint_eq(lcplug_workspace_bytes(workspace), bytes);
    ck_assert_mem_eq(x, y, (size_t)t->s.rows * sizeof(double));
  }
  free(t);
  lcplug_workspace_free(workspace);
}
END_TEST

START_TEST(budgets_are_kept) {
  rng r = {79};
  native *t = pile(&r, 200);
  double x[MOST_ROWS], w[MOST_ROWS];
  lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_COULOMB);
  s.tol = 1e-14, s.max_iter = 7;
  lcplug_info info = solve_and_judge(t, &s, x, w);
  ck_assert_int_eq(info.iterations, 7);
  ck_assert_int_eq(info.status, LCPLUG_ITERATION_LIMIT);
  ck_assert_double_lt(info.residual, 1.0); /* better than no force */
  s.max_iter = 1 << 30, s.time_limit = 0.02;
  info = solve_and_judge(t, &s, x, w);
  ck_assert(info.status == LCPLUG_TIME_LIMIT || info.status == LCPLUG_SOLVED);
  free(t);
}
END_TEST

/* ---- warm starts ----------------------------------------------------------------------------- */

/* The answer as a guess ends at once, and one that is wrong in places still helps. */
START_TEST(a_guess_saves_sweeps) {
  rng r = {80};
  native *t = pile(&r, 200);
  double x[MOST_ROWS], w[MOST_ROWS], y[MOST_ROWS];
  lcplug_settings s = settings_for(LCPLUG_PGS, LCPLUG_FRICTION_COULOMB);
  s.tol = 1e-6, s.max_iter = 20000;
  lcplug_info cold = solve_and_judge(t, &s, x, w);
  ck_assert_int_eq(cold.status, LCPLUG_SOLVED);
  memcpy(t->x0, x, sizeof x);
  t->s.x0 = t->x0;
  ck_assert_int_eq(solve_and_judge(t, &s, y, w).iterations, 0);
  for (int i = 0; i < t->s.rows; i++) t->b[i] *= 1.0 + 1e-3 * rng_between(&r, -1, 1);
  lcplug_info warm = solve_and_judge(t, &s, y, w);
  ck_assert_int_eq(warm.status, LCPLUG_SOLVED);
  ck_assert_int_lt(warm.iterations, cold.iterations);
  for (int i = 0; i < t->s.rows; i++) t->x0[i] = i % 5 ? NAN : 1e300;
  ck_assert_int_eq(solve_and_judge(t, &s, y, w).status, LCPLUG_SOLVED);
  free(t);
}
END_TEST

/* Contact 7 grows from one row to three, 9 shrinks, 3 is new, 5 is gone. */
START_TEST(impulses_follow_their_contacts) {
  uint64_t key_before[] = {5, 7, 9}, key[] = {9, 3, 7};
  int32_t first_before[] = {0, 3, 4}, count_before[] = {3, 1, 3};
  int32_t first[] = {0, 1, 4}, count[] = {1, 3, 3};
  double x[] = {50, 51, 52, 70, 90, 91, 92}, x0[8], expected[8] = {90, 0, 0, 0, 70, 0, 0, 0};
  lcplug_row_items before = {3, key_before, first_before, count_before},
                   now = {3, key, first, count};
  lcplug_row_items none = {0, NULL, NULL, NULL};
  lcplug_workspace *workspace = lcplug_workspace_create();
  ck_assert_int_eq(lcplug_warm_start(workspace, &before, x, &now, 8, x0), LCPLUG_OK);
  ck_assert_mem_eq(x0, expected, sizeof x0);
  ck_assert_int_eq(lcplug_warm_start(workspace, &now, x0, &before, 8, expected), LCPLUG_OK);
  ck_assert_double_eq(expected[3], 70);
  ck_assert_double_eq(expected[4], 90);
  ck_assert_double_eq(expected[5], 0);
  ck_assert_int_eq(lcplug_warm_start(workspace, &none, NULL, &now, 8, x0), LCPLUG_OK);
  for (int i = 0; i < 8; i++) ck_assert_double_eq(x0[i], 0.0);
  ck_assert_int_eq(lcplug_warm_start(workspace, &before, x, &now, 6, x0), LCPLUG_ERROR_SIZE);
  ck_assert_int_eq(lcplug_warm_start(workspace, &before, NULL, &now, 8, x0), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_warm_start(NULL, &before, x, &now, 8, x0), LCPLUG_ERROR_ARGUMENT);
  lcplug_workspace_free(workspace);
}
END_TEST

/* Many keys, some alike in their low bits. */
START_TEST(every_key_is_found) {
  enum { ITEMS = 3000 };
  static uint64_t key[ITEMS];
  static int32_t first[ITEMS], count[ITEMS];
  static double x[ITEMS], x0[ITEMS];
  for (int k = 0; k < ITEMS; k++)
    key[k] = (uint64_t)(k / 2) << (k % 2 ? 40 : 3), first[k] = k, count[k] = 1, x[k] = k;
  key[1] = 1; /* 0 is taken */
  lcplug_row_items items = {ITEMS, key, first, count};
  lcplug_workspace *workspace = lcplug_workspace_create();
  ck_assert_int_eq(lcplug_warm_start(workspace, &items, x, &items, ITEMS, x0), LCPLUG_OK);
  ck_assert_mem_eq(x, x0, sizeof x);
  lcplug_workspace_free(workspace);
}
END_TEST

/* ---- bad input ------------------------------------------------------------------------------- */

typedef void spoil(native *t);
static void bad_size(native *t) { t->s.size--; }
static void bad_version(native *t) { t->s.version = 99; }
static void bad_rows(native *t) { t->s.rows = -1; }
static void bad_bodies(native *t) { t->s.bodies = -1; }
static void no_mass(native *t) { t->s.inverse_mass = NULL; }
static void negative_mass(native *t) { t->mass[1] = -1.0; }
static void nan_mass(native *t) { t->mass[1] = NAN; }
static void skew_inertia(native *t) { t->inertia[10] += 0.5; }
static void indefinite_inertia(native *t) {
  for (int e = 0; e < 9; e++) t->inertia[9 + e] = e % 4 ? 2.0 : 1.0;
}
static void skew_group(native *t) { t->group_mass[1] += 1.0; }
static void indefinite_group(native *t) {
  int m = t->group_begin[1];
  for (int e = 0; e < m * m; e++) t->group_mass[e] = e % (m + 1) ? 2.0 : 1.0;
}
static void bad_group_begin(native *t) { t->group_begin[0] = 1; }
static void no_such_body(native *t) { t->body[4] = t->s.bodies; }
static void body_below_the_world(native *t) { t->body[4] = -2; }
static void no_jacobian(native *t) { t->s.jacobian = NULL; }
static void nan_row(native *t) { t->jacobian[12 * 3 + 2] = NAN; }
static void no_such_coordinate(native *t) { t->sparse_coordinate[0] = 1000; }
static void falling_sparse(native *t) { t->sparse_begin[1] = 3, t->sparse_begin[2] = 1; }
static void infinite_sparse(native *t) { t->sparse_value[0] = INFINITY; }
static void negative_cfm(native *t) { t->cfm[2] = -1e-9; }
static void nan_cfm(native *t) { t->cfm[2] = NAN; }
static void no_b(native *t) { t->s.b = NULL; }
static void nan_b(native *t) { t->b[1] = NAN; }
static void crossed_bounds(native *t) { t->lo[0] = 1.0, t->hi[0] = 0.0, t->findex[0] = -1; }
static void bad_findex(native *t) { t->findex[1] = 1; }

static const struct {
  spoil *spoil;
  lcplug_error error;
} spoils[] = {
    {bad_size, LCPLUG_ERROR_ARGUMENT},
    {bad_version, LCPLUG_ERROR_ARGUMENT},
    {bad_rows, LCPLUG_ERROR_SIZE},
    {bad_bodies, LCPLUG_ERROR_SIZE},
    {no_mass, LCPLUG_ERROR_ARGUMENT},
    {negative_mass, LCPLUG_ERROR_MASS},
    {nan_mass, LCPLUG_ERROR_NOT_FINITE},
    {skew_inertia, LCPLUG_ERROR_MASS},
    {indefinite_inertia, LCPLUG_ERROR_MASS},
    {skew_group, LCPLUG_ERROR_MASS},
    {indefinite_group, LCPLUG_ERROR_MASS},
    {bad_group_begin, LCPLUG_ERROR_SIZE},
    {no_such_body, LCPLUG_ERROR_BODY},
    {body_below_the_world, LCPLUG_ERROR_BODY},
    {no_jacobian, LCPLUG_ERROR_ARGUMENT},
    {nan_row, LCPLUG_ERROR_NOT_FINITE},
    {no_such_coordinate, LCPLUG_ERROR_BODY},
    {falling_sparse, LCPLUG_ERROR_SIZE},
    {infinite_sparse, LCPLUG_ERROR_NOT_FINITE},
    {negative_cfm, LCPLUG_ERROR_DIAGONAL},
    {nan_cfm, LCPLUG_ERROR_NOT_FINITE},
    {no_b, LCPLUG_ERROR_ARGUMENT},
    {nan_b, LCPLUG_ERROR_NOT_FINITE},
    {crossed_bounds, LCPLUG_ERROR_BOUNDS},
    {bad_findex, LCPLUG_ERROR_FINDEX},
};
enum { SPOILS = sizeof spoils / sizeof spoils[0] };

/* Each refusal has its code and leaves the answer alone, whichever solver was asked. */
START_TEST(bad_input_is_refused) {
  for (int solver = LCPLUG_AUTO; solver <= LCPLUG_EXACT; solver++) {
    rng r = {9};
    native *t = native_create(&r, 4, 2);
    for (int k = 0; k < 6; k++) add_row(t, &r, k % 4, -1, 2, 0.0, 1.0, -1);
    for (int k = 0; k < 4; k++) random_mass(&r, 3, t->inertia + 9 * k);
    t->group_begin[1] = 4, t->group_begin[2] = 9; /* sizes for which a 2 beside a 1 is indefinite */
    random_mass(&r, 4, t->group_mass);
    random_mass(&r, 5, t->group_mass + 16);
    for (int k = 0; k < t->sparse_begin[6]; k++) t->sparse_coordinate[k] = k % 9;
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    lcplug_solution solution = {.x = x};
    lcplug_settings s = settings_for((lcplug_solver)solver, LCPLUG_FRICTION_ODE);
    lcplug_workspace *workspace = lcplug_workspace_create();
    spoils[_i].spoil(t);
    ck_assert_int_eq(lcplug_system_solve(workspace, &t->s, &s, &solution, NULL), spoils[_i].error);
    for (int i = 0; i < 8; i++) ck_assert_double_eq(x[i], i + 1);
    lcplug_workspace_free(workspace);
    free(t);
  }
}
END_TEST

START_TEST(missing_arguments_are_refused) {
  lcplug_system s = lcplug_system_default();
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_settings settings = lcplug_settings_default();
  lcplug_solution solution = {0};
  double number;
  lcplug_info info;
  ck_assert_int_eq(lcplug_system_solve(workspace, &s, &settings, &solution, &info),
                   LCPLUG_OK); /* of nothing */
  ck_assert_int_eq(info.status, LCPLUG_SOLVED);
  ck_assert_int_eq(lcplug_system_solve(NULL, &s, &settings, &solution, &info),
                   LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_system_solve(workspace, NULL, &settings, &solution, &info),
                   LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_system_solve(workspace, &s, NULL, &solution, &info),
                   LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_system_check(NULL), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_system_coordinates(NULL), 0);
  s.rows = 1, s.b = &number;
  ck_assert_int_eq(lcplug_system_solve(workspace, &s, &settings, &solution, &info),
                   LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_system_apply(workspace, &s, NULL, &number), LCPLUG_ERROR_ARGUMENT);
  ck_assert_int_eq(lcplug_system_matrix(workspace, &s, &number, 0), LCPLUG_ERROR_SIZE);
  ck_assert_int_eq(lcplug_system_right_side(&s, &number, NULL, NAN, NULL, &number),
                   LCPLUG_ERROR_NOT_FINITE);
  lcplug_workspace_free(workspace);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("native");
  TCase *a = support_case(suite, "A");
  tcase_add_loop_test(a, matrix_and_products_are_right, 0, 60 / FEWER);
  tcase_add_loop_test(a, velocities_agree_with_the_right_side, 0, 60 / FEWER);
  tcase_add_loop_test(a, operator_table_is_right, 0, 60 / FEWER);
  tcase_add_loop_test(a, kernels_agree_to_the_bit, 0, 90 / FEWER);
  tcase_add_loop_test(a, joints_come_before_contacts, 0, 4);
  TCase *solvers = support_case(suite, "solvers");
  tcase_add_loop_test(solvers, sweeps_and_gradients_reach_the_answer, 0, 1 + 7 / FEWER);
  tcase_add_loop_test(solvers, gradients_agree_with_the_dense_path, 0, 20 / FEWER);
  tcase_add_loop_test(solvers, exact_agrees_with_the_dense_path, 0, 60 / FEWER);
  tcase_add_test(solvers, a_body_may_have_any_number_of_contacts);
  TCase *promises = support_case(suite, "promises");
  tcase_add_test(promises, threads_change_no_bit);
  tcase_add_test(promises, teams_refuse_nonsense);
  tcase_add_test(promises, auto_does_not_form_a_large_matrix);
  tcase_add_test(promises, contacts_take_few_bytes);
  tcase_add_test(promises, solves_repeat_without_allocating);
  tcase_add_test(promises, budgets_are_kept);
  TCase *warm = support_case(suite, "warm starts");
  tcase_add_test(warm, a_guess_saves_sweeps);
  tcase_add_test(warm, impulses_follow_their_contacts);
  tcase_add_test(warm, every_key_is_found);
  TCase *bad = support_case(suite, "bad input");
  tcase_add_loop_test(bad, bad_input_is_refused, 0, SPOILS);
  tcase_add_test(bad, missing_arguments_are_refused);
  return support_run(suite);
}
