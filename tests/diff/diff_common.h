/* diff_common.h - the same bytes into upstream's Dantzig and into lcplug, and one judge for both.
 *
 * Problem.   Does lcplug answer what upstream answers?  With redundant contacts x is not unique, so
 *            x is never compared.  Unique is w = A x - b, once the bounds are given: it is the
 *            gradient of a convex function at its minimum over a box.
 * Method.    friction=ode freezes the friction bounds by a first solve, whose normal forces need
 *            not be unique either.  So each answer is judged by the bounds that its own solver
 *            froze, and w is compared on the problem that has upstream's bounds as constants.
 * Contract.  The natural residual is computed here a second time, from its formula; the library's
 *            own is compared with it and never trusted alone. */
#ifndef LCPLUG_TESTS_DIFF_COMMON_H
#define LCPLUG_TESTS_DIFF_COMMON_H

#include <stdint.h>

#include <lcplug/lcplug.h>

/* ---- problems -------------------------------------------------------------------------------- */

/* One problem, with the row stride that ODE uses.  Elements of A above the diagonal are NaN: who
 * reads them is found out. */
typedef struct diff_problem {
  char name[128];
  int n, nub;
  size_t stride;
  double *A, *b, *lo, *hi;
  int *findex; /* NULL: no friction rows */
} diff_problem;

/* ODE's stride of a matrix with n columns. */
size_t diff_stride(int n);

/* Allocates; A is 0 (NaN above the diagonal), rows are free, findex is -1 if there is one. */
diff_problem *diff_problem_create(int n, int with_findex);
diff_problem *diff_problem_copy(const diff_problem *p);
void diff_problem_free(diff_problem *p);

/* A copy in which the friction rows have the constant bounds lo and hi, and no findex. */
diff_problem *diff_problem_frozen(const diff_problem *p, const double *lo, const double *hi);

/* The same arrays, as the library wants them. */
lcplug_problem diff_view(const diff_problem *p);

/* Row i is a friction row: not among the first nub, which are free whatever findex says. */
int diff_is_friction(const diff_problem *p, int i);

/* ---- answers --------------------------------------------------------------------------------- */

typedef struct diff_answer {
  int n;
  double *x, *w;   /* w = A x - b, computed here in long double */
  double *lo, *hi; /* the bounds that its solver used, in the caller's order */
  double unit;     /* the worst violation without any force */
  double residual; /* computed here */
  int errors;      /* messages of upstream */
  lcplug_info info;
} diff_answer;

/* Upstream's answer to the very bytes of p. */
diff_answer *diff_upstream(const diff_problem *p);

/* Ours, through lcplug_solve; friction=ode.  NULL if the library refuses the problem, which counts
 * as a failed expectation. */
diff_answer *diff_lcplug(const diff_problem *p, lcplug_solver solver, int max_iter);

/* An answer that comes from elsewhere: x and bounds are copied and judged. */
diff_answer *diff_answer_of(const diff_problem *p, const double *x, const double *lo,
                            const double *hi);
void diff_answer_free(diff_answer *a);

/* Upstream solved the problem: no error message, and a residual that tells so. */
int diff_upstream_solved(const diff_answer *upstream);

/* The largest residual that exact and auto may have on this problem. */
double diff_residual_limit(const diff_answer *upstream);

/* max |w_a - w_b| as a fraction of the unit of a. */
double diff_w_distance(const diff_answer *a, const diff_answer *b);

/* ---- expectations ---------------------------------------------------------------------------- */

/* Counts, and prints the first failures, so that one run shows all problems that fail. */
void diff_expect(int condition, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fails the test if an expectation failed since the last call, or if there was none. */
void diff_finish(void);

/* How close to upstream's an answer has to be. */
typedef struct diff_limits {
  double w;      /* of exact and auto, as a fraction of the unit, given the same bounds */
  double bounds; /* of exact and auto: their frozen bounds, as a fraction of the largest.  Infinite
                    where the first solve has more than one answer, exactly or nearly so */
  double reach;  /* the residual that pgs and apgd reach with their own budget; 1: no promise */
} diff_limits;

/* exact and auto: as good as upstream and better than 1e-10, the same w, the same bounds. */
void diff_check_strict(const diff_problem *p, const diff_limits *limits);

/* pgs and apgd: what they report is true, feasible, no worse than zero forces, and falls with the
 * budget; where they reach their tolerance, the bounds are upstream's to 1e-4. */
void diff_check_first_order(const diff_problem *p, const diff_limits *limits);

/* ---- random numbers, the same on every machine ----------------------------------------------- */

typedef struct diff_random {
  uint64_t state;
} diff_random;
double diff_between(diff_random *r, double lo, double hi);
int diff_below(diff_random *r, int n); /* 0 .. n - 1 */

/* A function of libode itself, even where this program defines one of the same name; ends the
 * program with a message if there is none. */
void *diff_libode(const char *symbol);

#define DIFF_SYMBOL "_Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi"

#endif
