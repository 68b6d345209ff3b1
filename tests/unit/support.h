/* support.h - what the unit tests share: numbers that are random but the same every time, families
 * of problems, a judge that owes nothing to the code under test, and the way a program ends. */
#ifndef LCPLUG_TESTS_SUPPORT_H
#define LCPLUG_TESTS_SUPPORT_H

#include <check.h>
#include <lcplug/lcplug.h>
#include <lcplug/record.h>
#include <stdint.h>

/* ---- Check ----------------------------------------------------------------------------------- */

/* A test case with time enough for a sanitized build on a slow machine. */
TCase *support_case(Suite *suite, const char *name);

/* Runs the suite; the exit status of the program. */
int support_run(Suite *suite);

/* Says in the log that a test has not been made, and why. */
void support_skip(const char *test, const char *reason);

/* ---- random numbers (splitmix64): the same on every machine ---------------------------------- */

typedef struct rng {
  uint64_t state;
} rng;

double rng_between(rng *r, double low, double high);
int rng_below(rng *r, int count);

/* 10^e with e in [low, high]. */
double rng_magnitude(rng *r, double low, double high);

/* ---- problems -------------------------------------------------------------------------------- */

/* A problem that owns its arrays, and room for an answer.  Only the lower triangle of A is filled:
 * above it and behind each row lie NaNs, which nobody may read. */
typedef struct instance {
  int n;
  size_t stride;
  double *A, *b, *lo, *hi;
  int32_t *findex;
  double *x, *w, *used_lo, *used_hi;
} instance;

/* A = 0, b = 0, all rows free. */
instance *instance_create(int n);
void instance_free(instance *p);
instance *instance_copy(const instance *p);

/* What the library is given; dense lower triangle, steps of 1. */
lcplug_problem instance_problem(const instance *p);

/* A of the symmetric matrix, whichever triangle (i, j) lies in. */
double instance_at(const instance *p, int i, int j);
void instance_set(instance *p, int i, int j, double value);

/* Row i of the product with the symmetric matrix, summed in long double. */
double instance_row_product(const instance *p, int i, const double *x);

/* A = J J' + cfm I and b = J v with random J (n rows, m columns) and v.  With m < n and cfm 0 A is
 * singular, but b lies in its range, so that a solution exists, and its w is unique. */
instance *instance_random(rng *r, int n, int m, double cfm);

/* Contacts between bodies of a pile, three rows each (normal, two tangents), sparse as in a real
 * scene.  Friction coefficients mu1 and mu2 of the two tangents. */
instance *instance_contacts(rng *r, int contacts, int bodies, double cfm, double mu1, double mu2);

/* A wall of bricks, `height` courses of `width`, every brick on two of the course below, with
 * `contacts` points at random places between each pair: what one pair can do to another has rank 6,
 * however many rows it has. */
instance *instance_wall(rng *r, int width, int height, int contacts, double cfm, double mu);

/* The same problem with its rows in a random order.  order[new row] = old row (may be NULL). */
instance *instance_permuted(const instance *p, rng *r, int *order);

/* ---- answers --------------------------------------------------------------------------------- */

/* Solves p into p->x, w, used_lo and used_hi, and checks what holds for any answer: no error, only
 * finite numbers, the reported residual is lcplug_residual's, w = A x -
 * b, and nothing outside n. */
lcplug_info instance_solve(instance *p, const lcplug_settings *settings);

/* lcplug_residual of p->x, with the bounds in used_lo and used_hi. */
double instance_residual(const instance *p, lcplug_friction friction);

/* The conditions that define a solution, written down from DESIGN's table and not through any
 * projection: forces in their set, w in the dual set, no work between them.  The worst violation of
 * p->x as a fraction of max |b|; friction=ode is judged by used_lo and used_hi. */
double instance_conditions(const instance *p, lcplug_friction friction);

/* 1/2 x'Ax - b'x. */
double instance_energy(const instance *p, const double *x);

/* The box problem min 1/2 x'Ax - b'x, lo <= x <= hi, by trying all 3^n active sets: slow and plain.
 * Only for n <= 8.  1 and the answer in x, or 0 if no active set fits. */
int reference_box(const instance *p, const double *lo, const double *hi, double *x);

/* Default settings for one solver and friction model. */
lcplug_settings settings_for(lcplug_solver solver, lcplug_friction friction);

/* The captured problem tests/data/NAME.lcp; lcplug_record_free is the caller's. */
lcplug_record *captured_record(const char *name);

/* max |p_i - q_i|. */
double distance_max(const double *p, const double *q, int n);

#endif
