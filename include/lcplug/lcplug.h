/* lcplug/lcplug.h - the whole public interface of liblcplug.
 *
 * The problem.  Find x (forces) and w (what is left of the constraint velocities) with
 *
 *     A x = b + w,   x in K,   w complementary to x
 *
 * A is symmetric positive semidefinite.  K is described row by row, in the notation that ODE, DART
 * and Bullet share: bounds lo <= x <= hi, and for a friction row the index of its normal row
 * (findex) with the friction coefficient in hi.  What a friction row means is chosen by the
 * setting `friction` (see lcplug_friction).
 *
 * The use.  Fill a problem, take default settings, solve:
 *
 *     lcplug_workspace *workspace = lcplug_workspace_create();
 *     lcplug_problem problem = lcplug_problem_default();
 *     problem.n = n;  problem.A = A;  problem.stride = n;  problem.b = b;  ...
 *     lcplug_settings settings = lcplug_settings_default();
 *     lcplug_solution solution = {.x = x};
 *     lcplug_info info;
 *     lcplug_error error = lcplug_solve(workspace, &problem, &settings, &solution, &info);
 *     if (error) puts(lcplug_error_text(error));
 *     else printf("%s, residual %g\n", lcplug_status_text(info.status), info.residual);
 *
 * Memory.  Only lcplug_workspace_create and the first solve of a larger size allocate.  A workspace
 * serves one thread at a time; different workspaces may be used at once.
 *
 * Failure.  A call that returns an error has written nothing.  Not reaching the tolerance is no
 * error: the best iterate comes back with its residual, and info.status says why it stopped.
 *
 * Other languages.  Everything is reached by functions: the macros below only build the enums, each
 * an int of 32 bits, and no callback is asked for.  The structs keep their sizes (on
 * 64-bit machines problem, settings and info have 128 bytes, solution and option 64); new
 * fields come out of `reserved`, where 0 means what was before them.  `api` names a struct
 * and the version of its layout. */
#ifndef LCPLUG_LCPLUG_H
#define LCPLUG_LCPLUG_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LCPLUG_API __attribute__((visibility("default")))
#else
#define LCPLUG_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the tables: each code beside the text that explains it ---------------------------------- */

/* What a function returns when it refuses its input. */
#define LCPLUG_ERRORS(X)                                                                           \
  X(LCPLUG_OK, 0, "no error")                                                                      \
  X(LCPLUG_ERROR_ARGUMENT, 1, "a required pointer is missing or a struct was not initialised")     \
  X(LCPLUG_ERROR_SIZE, 2, "n is negative or too large, or a stride or count does not fit it")      \
  X(LCPLUG_ERROR_NOT_FINITE, 3, "A or b holds a NaN or an infinity")                               \
  X(LCPLUG_ERROR_BOUNDS, 4, "a bound is NaN, lo > hi, or an interval lies at infinity")            \
  X(LCPLUG_ERROR_FINDEX, 5, "findex is out of range, points at its own row or lacks rows")         \
  X(LCPLUG_ERROR_DIAGONAL, 6, "A has a negative diagonal element")                                 \
  X(LCPLUG_ERROR_ASYMMETRIC, 7, "A was passed as a full matrix and is not symmetric")              \
  X(LCPLUG_ERROR_SETTING, 8, "a setting is unknown or out of range")                               \
  X(LCPLUG_ERROR_MEMORY, 9, "out of memory")                                                       \
  X(LCPLUG_ERROR_UNSUPPORTED, 10, "this solver does not offer this friction model")                \
  X(LCPLUG_ERROR_FILE, 11, "the file cannot be read or written")                                   \
  X(LCPLUG_ERROR_FORMAT, 12, "the file is not a whole, undamaged record")                          \
  X(LCPLUG_ERROR_BODY, 20, "a row names a body or a coordinate that does not exist")               \
  X(LCPLUG_ERROR_MASS, 21, "an inverse mass is negative or not symmetric positive semidefinite")

/* Why a solve ended. */
#define LCPLUG_STATUSES(X)                                                                         \
  X(LCPLUG_SOLVED, 0, "solved")                                                                    \
  X(LCPLUG_ITERATION_LIMIT, 1, "iteration limit reached")                                          \
  X(LCPLUG_TIME_LIMIT, 2, "time limit reached")                                                    \
  X(LCPLUG_STALLED, 3, "no further progress")

/* Setting `solver`.  lcplug_solve knows no upstream: programs that are
 * swapped and mixedlcp.h do. */
#define LCPLUG_SOLVERS(X)                                                                          \
  X(LCPLUG_AUTO, 0, "auto", "the fastest that reaches the tolerance")                              \
  X(LCPLUG_PGS, 1, "pgs", "projected Gauss-Seidel by blocks")                                      \
  X(LCPLUG_APGD, 2, "apgd", "accelerated projected gradient descent")                              \
  X(LCPLUG_EXACT, 3, "exact", "active sets, interior point, Newton on cones; to rounding error")   \
  X(LCPLUG_UPSTREAM, 4, "upstream", "the host program's own solver")

/* Setting `friction`: what a row with findex >= 0 and coefficient mu = |hi| means. */
#define LCPLUG_FRICTIONS(X)                                                                        \
  X(LCPLUG_FRICTION_ODE, 0, "ode", "|x_t| <= mu x_n of a first solve without friction")            \
  X(LCPLUG_FRICTION_PYRAMID, 1, "pyramid", "|x_t| <= mu x_n, row by row")                          \
  X(LCPLUG_FRICTION_CONE, 2, "cone", "convex friction cone, relaxes non-penetration")              \
  X(LCPLUG_FRICTION_COULOMB, 3, "coulomb", "exact Coulomb friction cone")

/* Setting `matrix`: how the solver stores A. */
#define LCPLUG_MATRICES(X)                                                                         \
  X(LCPLUG_MATRIX_AUTO, 0, "auto", "by size and density")                                          \
  X(LCPLUG_MATRIX_DENSE, 1, "dense", "the caller's lower triangle, in place")                      \
  X(LCPLUG_MATRIX_SPARSE, 2, "sparse", "blocks copied by one scan")

/* Setting `sweep` of pgs. */
#define LCPLUG_SWEEPS(X)                                                                           \
  X(LCPLUG_SWEEP_FORWARD, 0, "forward", "first block to last")                                     \
  X(LCPLUG_SWEEP_SYMMETRIC, 1, "symmetric", "forward, then backward")

/* Setting `splitting` of pgs. */
#define LCPLUG_SPLITTINGS(X)                                                                       \
  X(LCPLUG_SPLITTING_GAUSS_SEIDEL, 0, "gauss-seidel", "each block sees the ones before it")        \
  X(LCPLUG_SPLITTING_JACOBI, 1, "jacobi", "all blocks see the last sweep")

/* Setting `fallback`: what a preloaded solver does when it misses the tolerance. */
#define LCPLUG_FALLBACKS(X)                                                                        \
  X(LCPLUG_FALLBACK_AUTO, 0, "auto", "upstream for auto and exact with friction=ode, else none")   \
  X(LCPLUG_FALLBACK_NONE, 1, "none", "keep the best iterate")                                      \
  X(LCPLUG_FALLBACK_EXACT, 2, "exact", "try the exact solver")                                     \
  X(LCPLUG_FALLBACK_UPSTREAM, 3, "upstream", "try the host program's own solver")

/* Setting `quickstep`: what an ODE program's dWorldQuickStep does. */
#define LCPLUG_QUICKSTEPS(X)                                                                       \
  X(LCPLUG_QUICKSTEP_QUICK, 0, "quick", "what it always did; no solver is asked")                  \
  X(LCPLUG_QUICKSTEP_STEP, 1, "step", "dWorldStep, so that the solver here is asked")

#define LCPLUG_ENUMERATOR(code, value, ...) code = value,
typedef enum lcplug_error { LCPLUG_ERRORS(LCPLUG_ENUMERATOR) } lcplug_error;
typedef enum lcplug_status { LCPLUG_STATUSES(LCPLUG_ENUMERATOR) } lcplug_status;
typedef enum lcplug_solver { LCPLUG_SOLVERS(LCPLUG_ENUMERATOR) } lcplug_solver;
typedef enum lcplug_friction { LCPLUG_FRICTIONS(LCPLUG_ENUMERATOR) } lcplug_friction;
typedef enum lcplug_matrix {
  LCPLUG_MATRICES(LCPLUG_ENUMERATOR) /* the choices of the setting, and */
  LCPLUG_MATRIX_JACOBIAN = 16        /* in lcplug_info only: rows of a native system (native.h) */
} lcplug_matrix;
typedef enum lcplug_sweep { LCPLUG_SWEEPS(LCPLUG_ENUMERATOR) } lcplug_sweep;
typedef enum lcplug_splitting { LCPLUG_SPLITTINGS(LCPLUG_ENUMERATOR) } lcplug_splitting;
typedef enum lcplug_fallback { LCPLUG_FALLBACKS(LCPLUG_ENUMERATOR) } lcplug_fallback;
typedef enum lcplug_quickstep { LCPLUG_QUICKSTEPS(LCPLUG_ENUMERATOR) } lcplug_quickstep;
#undef LCPLUG_ENUMERATOR

/* The sentence that explains a code; "unknown code" for a number that is none. */
LCPLUG_API const char *lcplug_error_text(lcplug_error error);
LCPLUG_API const char *lcplug_status_text(lcplug_status status);

/* The value of the setting `solver` that stands for this code, such as "apgd". */
LCPLUG_API const char *lcplug_solver_name(lcplug_solver solver);

/* The library's version, such as "0.1.0". */
LCPLUG_API const char *lcplug_version(void);

/* ---- the problem ----------------------------------------------------------------------------- */

/* One problem.  Start from lcplug_problem_default(); the arrays stay
 * the caller's and are only read.
 *
 * A       row-major, row i at A + i * stride.  Unless `full` is set
 *         only the lower triangle is read.
 * b       right side, element i at b[i * b_step].
 * lo, hi  bounds, element i at lo[i * bounds_step], infinities allowed.  NULL: -inf, +inf.
 * findex  findex[i] >= 0 makes row i a friction row of normal row findex[i], with coefficient
 *         |hi[i]|; its lo is ignored.  NULL: no friction rows.  A friction row that points at
 *         another friction row gets no force, as in ODE.
 * nub     rows below nub are free, whatever their bounds say.
 * x0      a guess for x, or NULL.  Never needed, and never trusted: it need not be feasible. */
typedef struct lcplug_problem {
  uint32_t api; /* set by lcplug_problem_default; catches an uninitialised struct */
  int32_t n;
  const double *A;
  size_t stride;
  int32_t full; /* not 0: both triangles are given, and are checked to be symmetric */
  int32_t nub;
  const double *b;
  size_t b_step;
  const double *lo;
  const double *hi;
  size_t bounds_step;
  const int32_t *findex;
  const double *x0;
  const void *reserved[5];
} lcplug_problem;

/* A problem of no rows with steps of 1.  Allocates nothing. */
LCPLUG_API lcplug_problem lcplug_problem_default(void);

/* Checks sizes, bounds, findex, the finiteness of A and b, the sign of the diagonal, and, if `full`
 * is set, symmetry (to 1e-10 of the largest element).  Reads all of A;
 * lcplug_solve does the same. */
LCPLUG_API lcplug_error lcplug_problem_check(const lcplug_problem *problem);

/* ---- settings -------------------------------------------------------------------------------- */

/* Start from lcplug_settings_default(), then set fields, or by name with lcplug_settings_set. */
typedef struct lcplug_settings {
  uint32_t api; /* set by lcplug_settings_default */
  lcplug_solver solver;
  lcplug_friction friction;
  lcplug_matrix matrix;
  lcplug_sweep sweep;
  lcplug_splitting splitting;
  lcplug_fallback fallback;
  int32_t max_iter;  /* of pgs and apgd, 0: 1000; exact ends by itself */
  double tol;        /* 0: the solver's own tolerance */
  double time_limit; /* seconds, 0: none; exact does not look at it on small boxes */
  double omega;      /* relaxation of pgs, in (0, 2) */
  int32_t reuse;     /* not 0: try the last active set of a problem of the same shape first */
  int32_t timing;    /* not 0: measure info.seconds; two readings of the clock */
  lcplug_quickstep quickstep; /* preload: what dWorldQuickStep does */
  int32_t stats;              /* preload: a summary on stderr at exit */
  int32_t warn;               /* preload: how many warnings to print on stderr */
  int32_t help;               /* preload: list the options on stderr */
  int32_t reserved[12];
} lcplug_settings;

/* The built-in settings.  Reads no environment. */
LCPLUG_API lcplug_settings lcplug_settings_default(void);

/* Sets the option `key` from text.  LCPLUG_ERROR_SETTING and nothing changed if there is no such
 * option or the value does not fit it. */
LCPLUG_API lcplug_error lcplug_settings_set(lcplug_settings *settings, const char *key,
                                            const char *value);

/* Reads "key=value,key=value".  On the first item that is wrong: LCPLUG_ERROR_SETTING, `settings`
 * as before the call, and a line that names the item in message (at most `size` bytes, may be
 * NULL). */
LCPLUG_API lcplug_error lcplug_settings_parse(lcplug_settings *settings, const char *text,
                                              char *message, size_t size);

/* The option table, for --help and man pages: fills `option` with row `index` and returns 1, or
 * returns 0 past the last row.  The strings are static. */
typedef struct lcplug_option {
  const char *key;
  const char *values;  /* "auto|pgs|..." or a range such as "0 < omega < 2" */
  const char *initial; /* the built-in value, as text */
  const char *meaning;
  const void *reserved[4];
} lcplug_option;
LCPLUG_API int lcplug_option_get(int index, lcplug_option *option);

/* The values of an option that names one of several choices, one by one with their meaning;
 * returns 0 past the last, or when `key` is no such option. */
LCPLUG_API int lcplug_option_choice(const char *key, int index, const char **value,
                                    const char **meaning);

/* ---- solving --------------------------------------------------------------------------------- */

/* Scratch memory, kept from solve to solve. */
typedef struct lcplug_workspace lcplug_workspace;

/* Allocates an empty workspace; NULL when out of memory. */
LCPLUG_API lcplug_workspace *lcplug_workspace_create(void);
LCPLUG_API void lcplug_workspace_free(lcplug_workspace *workspace);

/* Bytes that the workspace holds. */
LCPLUG_API size_t lcplug_workspace_bytes(const lcplug_workspace *workspace);

/* Where the answer goes: n numbers each; x is required, the others may be NULL.  Start from zeros.
 * lo and hi receive the bounds that were used: of a friction row, the final ones. */
typedef struct lcplug_solution {
  double *x;
  size_t x_step; /* 0 counts as 1 */
  double *w;
  double *lo;
  double *hi;
  size_t bounds_step; /* 0 counts as 1 */
  void *reserved[2];
} lcplug_solution;

/* How the solve went.  Only written, so it needs no start. */
typedef struct lcplug_info {
  uint32_t api; /* set by whoever fills the struct */
  lcplug_status status;
  lcplug_solver solver;   /* whose answer it is */
  lcplug_matrix matrix;   /* how A was stored */
  int32_t iterations;     /* sweeps, gradient steps or Newton steps, over all phases */
  int32_t factorizations; /* of the exact solver */
  double residual;        /* lcplug_residual of the answer */
  double gap;             /* how fast a contact opens that bears a force: with friction=cone the
                             relaxation max mu |w_t|, with mu infinite w_n of what it holds;
                             else 0 */
  double seconds;         /* wall-clock time of this call; 0 unless settings.timing */
  double reserved[10];
} lcplug_info;

/* Of a solve that has not been: all 0, but for `api`. */
LCPLUG_API lcplug_info lcplug_info_default(void);

/* Solves the problem.  On an error nothing has been written.  The floating-point environment
 * (traps, rounding, flush to zero) is set to the default inside and put back, flags included.
 * `info` may be NULL.  Allocates only if the workspace has not yet seen a problem as large. */
LCPLUG_API lcplug_error lcplug_solve(lcplug_workspace *workspace, const lcplug_problem *problem,
                                     const lcplug_settings *settings, lcplug_solution *solution,
                                     lcplug_info *info);

/* As lcplug_solve, for an A that is symmetric only to a few digits (at most about 1 %), such
 * as files of measured or rounded problems hold.  Both triangles are read, whatever
 * problem->full says.  exact and auto solve friction cones with A as it is.  Everything else is
 * solved with the symmetric part again and again, what is left moved to the right side; info
 * counts all rounds, tol 0 is then 1e-10, and a copy of A is allocated.  The residual is that of
 * A as given. */
LCPLUG_API lcplug_error lcplug_solve_asymmetric(lcplug_workspace *workspace,
                                                const lcplug_problem *problem,
                                                const lcplug_settings *settings,
                                                lcplug_solution *solution, lcplug_info *info);

/* The one judge of an answer: the natural residual, unit-free, 0 for an exact answer and 1 for the
 * worst constraint violation that no force at all would leave.
 *
 *     residual = max_i s_i |F_i(x)| / max_i s_i |F_i(0)|,   F_i(x) = x_i - P_Ki(x_i - w^_i / s_i)
 *
 * over blocks i (a friction cone, or one row), s_i the mean diagonal element of the block,
 * w = A x - b, and w^ = w, or for Coulomb friction w + mu |w_t| e_n.  With friction=ode the frozen
 * bounds of the friction rows are needed: pass them in lo and hi as lcplug_solve returned them
 * (step bounds_step); NULL takes mu |x_n| with the x given.  Infinity if x is not finite. */
LCPLUG_API lcplug_error lcplug_residual(lcplug_workspace *workspace, const lcplug_problem *problem,
                                        lcplug_friction friction, const double *x, size_t x_step,
                                        const double *lo, const double *hi, size_t bounds_step,
                                        double *residual);

/* The same with both triangles of A as they are, symmetric or not. */
LCPLUG_API lcplug_error lcplug_residual_asymmetric(lcplug_workspace *workspace,
                                                   const lcplug_problem *problem,
                                                   lcplug_friction friction, const double *x,
                                                   size_t x_step, const double *lo,
                                                   const double *hi, size_t bounds_step,
                                                   double *residual);

#ifdef __cplusplus
}
#endif

#endif
