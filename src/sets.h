/* sets.h - the sets that forces are confined to, and the projections onto them.
 *
 * K is a product of small sets, one per block of rows.  A block's rows stand together in the
 * solver's row order, a contact's normal row first.  Sets know nothing of A. */
#ifndef LCPLUG_SETS_H
#define LCPLUG_SETS_H

#include <math.h>

typedef enum set_kind {
  SET_FREE,     /* x any number                                        */
  SET_INTERVAL, /* lo <= x <= hi; lo == hi == 0 is a row without force  */
  SET_COUPLED,  /* |x| <= mu |x_normal|, the bound taken from another row */
  SET_CONE,     /* mu x_n >= |x_t|, one or two tangents, x_n >= 0      */
  SET_ELLIPSE,  /* x_n >= sqrt((x_1/mu_1)^2 + (x_2/mu_2)^2)             */
  SET_KINDS
} set_kind;

enum { SET_MOST_ROWS = 3 };

/* sqrt(a^2 + b^2): hypot where squares could overflow or vanish, and much faster elsewhere. */
static inline double lcplug_length(double a, double b) {
  double square = a * a + b * b;
  return square > 1e-280 && square < 1e280 ? sqrt(square) : hypot(a, b);
}

typedef struct force_set {
  set_kind kind;
  int first;     /* row of the block's first element */
  int rows;      /* 1 to SET_MOST_ROWS */
  int normal;    /* SET_COUPLED: the row that scales the bound */
  double lo, hi; /* SET_INTERVAL, and the present bounds of SET_COUPLED */
  double mu[2];  /* friction coefficients, finite and positive in cones */
} force_set;

/* x = P_K(q), the nearest point of the set; x and q may be the same array. */
void lcplug_project(const force_set *s, const double *q, double *x);

/* mu |x_n| with the rule of ODE that no normal force means no friction, mu infinite included. */
double lcplug_friction_bound(double mu, double x_normal);

/* Gives a coupled set the bounds that belong to the normal forces in x (all rows). */
void lcplug_set_couple(force_set *s, const double *x);

/* The set of the normal that a coupled set names: it stands somewhere before it. */
static inline const force_set *lcplug_normal_of(const force_set *coupled) {
  const force_set *s = coupled;
  while (s->first != coupled->normal) s--;
  return s;
}

/* De Saxce's term mu |w_t| of a cone, 0 for any other set.  w: the block's rows. */
double lcplug_slip(const force_set *s, const double *w);

#endif
