/* lcplug/mixedlcp.h - a mixed LCP as an object: set the parts, solve, read the answer.
 *
 * Simulators that build A = J M^-1 J^T themselves often talk to their solver through an object of
 * this kind (VEROSIM's MixedLCP is one).  Here is one with lcplug behind it; mixedlcp.hpp has the
 * same in C++, with the method names that such simulators call.
 *
 *     lcplug_mixedlcp *lcp = lcplug_mixedlcp_create(n, nub);
 *     lcplug_settings_set(lcplug_mixedlcp_settings(lcp), "solver", "apgd");
 *     lcplug_mixedlcp_set_matrix(lcp, A, n, 1);
 *     lcplug_mixedlcp_set_right_side(lcp, b, n, 0);
 *     lcplug_mixedlcp_set_low(lcp, lo, n);
 *     lcplug_mixedlcp_set_high(lcp, hi, n);
 *     lcplug_mixedlcp_set_friction_index(lcp, findex, n);
 *     lcplug_error error = lcplug_mixedlcp_solve(lcp);
 *     if (!error && lcplug_mixedlcp_valid(lcp)) use(lcplug_mixedlcp_lambda(lcp));
 *     lcplug_mixedlcp_free(lcp);
 *
 * The problem is that of lcplug.h: A x = b + w, lo <= x <= hi, friction rows by findex; x is called
 * lambda here.  The object copies what it is given and keeps it: after a solve any part can be set
 * again, and the others need not be.  The order of the calls does not matter.
 *
 * Memory.  Only lcplug_mixedlcp_create and the first solve allocate.  An object serves one thread
 * at a time; different objects may be used at once.
 *
 * Failure.  A call that returns an error has changed nothing, but that after such a solve there is
 * no valid answer. */
#ifndef LCPLUG_MIXEDLCP_H
#define LCPLUG_MIXEDLCP_H

#include <lcplug/lcplug.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lcplug_mixedlcp lcplug_mixedlcp;

/* An object for problems of n rows, of which the first nub are free.  No row is bounded and lambda
 * is 0.  NULL if n is negative or too large, if nub is negative or more than n, or when out of
 * memory. */
LCPLUG_API lcplug_mixedlcp *lcplug_mixedlcp_create(int32_t n, int32_t nub);
LCPLUG_API void lcplug_mixedlcp_free(lcplug_mixedlcp *lcp);

/* n. */
LCPLUG_API int32_t lcplug_mixedlcp_size(const lcplug_mixedlcp *lcp);

/* The object's settings, to be changed in place; lcplug_settings_default() at first.
 *
 * solver=upstream is Dantzig's method of the libode (0.16, double precision) in this process, or
 * else of the one that the system's loader finds.  Where there is none, and for problems that it
 * would end the program on (bounds that do not enclose 0), exact solves: the answer is the same,
 * and lcplug_mixedlcp_info tells who gave it.  It knows friction=ode alone. */
LCPLUG_API lcplug_settings *lcplug_mixedlcp_settings(lcplug_mixedlcp *lcp);

/* ---- the problem ----------------------------------------------------------------------------- */

/* A, row-major, row i at A + i * stride.  full = 0: only the lower triangle is read.  Else both
 * are, and a matrix that is not symmetric (such as one with auxiliary rows for friction) is refused
 * by lcplug_mixedlcp_solve with LCPLUG_ERROR_ASYMMETRIC. */
LCPLUG_API lcplug_error lcplug_mixedlcp_set_matrix(lcplug_mixedlcp *lcp, const double *A,
                                                   size_t stride, int32_t full);

/* b; or, for callers that hold J v, -b: negated != 0 turns the signs.  count must be n. */
LCPLUG_API lcplug_error lcplug_mixedlcp_set_right_side(lcplug_mixedlcp *lcp, const double *b,
                                                       int32_t count, int32_t negated);

/* The vectors below may be shorter than n, as such callers let them grow on demand: the rows behind
 * them are unbounded and without friction.
 *
 * Bounds: infinities mean unbounded, and so do the largest double and its negative. */
LCPLUG_API lcplug_error lcplug_mixedlcp_set_low(lcplug_mixedlcp *lcp, const double *lo,
                                                int32_t count);
LCPLUG_API lcplug_error lcplug_mixedlcp_set_high(lcplug_mixedlcp *lcp, const double *hi,
                                                 int32_t count);

/* findex[i] >= 0: row i is a friction row of normal row findex[i], with the coefficient |hi[i]|. */
LCPLUG_API lcplug_error lcplug_mixedlcp_set_friction_index(lcplug_mixedlcp *lcp,
                                                           const int32_t *findex, int32_t count);

/* How many friction rows there are at least: a solve with fewer in the friction index returns
 * LCPLUG_ERROR_FINDEX, as their coefficients would pass for bounds.  0, the default, checks
 * nothing. */
LCPLUG_API lcplug_error lcplug_mixedlcp_set_friction_constraints(lcplug_mixedlcp *lcp,
                                                                 int32_t count);

/* Forces that friction has beside the normal force's: row i obeys |x_i| <= mu |x_n| + force[i].
 * Only with friction=ode; what is said of rows that are no friction rows is ignored. */
LCPLUG_API lcplug_error lcplug_mixedlcp_set_additional_friction(lcplug_mixedlcp *lcp,
                                                                const double *force, int32_t count);

/* ---- the answer ------------------------------------------------------------------------------ */

/* Solves into lambda and w.  pgs and apgd start from lambda as it is: the last answer, or what the
 * caller has written there.  LCPLUG_OK also for an answer that misses the tolerance; whether it is
 * good enough is lcplug_mixedlcp_valid's to say. */
LCPLUG_API lcplug_error lcplug_mixedlcp_solve(lcplug_mixedlcp *lcp);

/* n numbers, the object's own, which the caller may change; NULL only if lcp is. */
LCPLUG_API double *lcplug_mixedlcp_lambda(lcplug_mixedlcp *lcp);
LCPLUG_API double *lcplug_mixedlcp_w(lcplug_mixedlcp *lcp);

/* 1 if the last solve gave an answer with a residual of at most 1e-4, or settings.tol if that is
 * more; else 0.  Callers then raise CFM and try again. */
LCPLUG_API int lcplug_mixedlcp_valid(const lcplug_mixedlcp *lcp);

/* How the last solve that gave an answer went; all 0 before the first. */
LCPLUG_API lcplug_info lcplug_mixedlcp_info(const lcplug_mixedlcp *lcp);

/* ---- a decomposition, for callers that want one ---------------------------------------------- */

/* A = L D L^T of a symmetric positive semidefinite matrix (lower triangle, n rows).  L has D on its
 * diagonal, where 1 is meant, and 0 above it; it may be A itself.  A pivot that is 0 to rounding
 * leaves a column of zeros.  Returns 1, or 0 if A is not semidefinite: L then means nothing. */
LCPLUG_API int lcplug_mixedlcp_ldlt(int32_t n, const double *A, size_t A_stride, double *L,
                                    size_t L_stride);

#ifdef __cplusplus
}
#endif

#endif
