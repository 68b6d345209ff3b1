/* cone_pair.h - a force and the velocity that it holds back, both inside a cone.
 *
 * Of one contact, with g = (1, 1/mu_1, 1/mu_2), or of one bound of a row, where only the first
 * element counts, and which may follow the force of a normal, as those of pyramids do:
 *
 *     y = g x,     z = w / g,  its first element De Saxce's w_n + |z_t| for exact Coulomb friction
 *
 * are both in the Lorentz cone v_0 >= |v_t|, and solve the problem when y o z = 0, which is
 * (y . z, y_0 z_t + z_0 y_t).  A method that stays inside asks for y o z = m e instead, e = (1, 0,
 * 0).  Its step follows from dy: with the scaling of Nesterov and Todd, the one symmetric H of its
 * kind with H y = z,
 *
 *     dz = t - H dy,     t = m y^-1 - z - what dy and dz are expected to do together
 *
 * With exact Coulomb friction w is a plain function of z, w_n = z_0 - |z_t|: its derivative takes
 * the tangential rows of H from the first one.  That difference, and v_0 - |v_t| of y and z, drown
 * in rounding where a contact slides; so each such gap is a number of its own, and formulas that
 * do not subtract are used for the rest. */
#ifndef LCPLUG_CONE_PAIR_H
#define LCPLUG_CONE_PAIR_H

#include "sets.h"

typedef struct inside {
  double v[3], gap; /* gap = v_0 - |v_t| > 0 */
} inside;

typedef struct cone_pair {
  int first, rows; /* of the problem */
  double sign, bound; /* y_0 = sign (x_n - bound), ... */
  int normal;         /* ... and of a bound that follows another row, share x_normal more */
  double share;
  double g[3];     /* 0 in rows that there are not */
  inside y, z;
  /* H = (2 u u^T - diag(1, -1, -1)) / eta^2, u = (turn_0, -turn_t) */
  double turn[3], eta, det; /* det: the root of both determinants' product */
  double middle[3];         /* what y and z are, scaled by H^1/2 and its inverse */
  int slides;               /* the slip's direction counts: exact friction, z_t not 0 */
  double slip[2];           /* z_t / |z_t| */
  double lean, across;      /* u_0 - slip u_t, and u_t across the slip */
  double edge;              /* y_0 + slip y_t */
  double t[3], t_slip;      /* t, and its first element less slip t_t */
  double second[3];         /* of t: what dy and dz do together */
  double dy[3], dz[3], dy_gap, dz_gap;
} cone_pair;

/* A cone, or the bound of an interval that is below (sign 1) or above it (-1). */
cone_pair lcplug_pair_of_cone(const force_set *set);
cone_pair lcplug_pair_of_bound(const force_set *set, double sign, double bound);
/* The bound -mu x_normal (sign 1) or mu x_normal (-1) of a coupled row, x_normal >= 0. */
cone_pair lcplug_pair_of_coupled(const force_set *set, double sign);

/* y from x (all rows), which is inside; z on its axis. */
void lcplug_pair_begin(cone_pair *c, const double *x, double z);

/* w of row i of the pair. */
double lcplug_pair_velocity(const cone_pair *c, int i, int exact);

/* y . z, a part of the step ahead. */
double lcplug_pair_product(const cone_pair *c, double step);

/* H at this y and z; its block of dw/dx, row-major; and what of it is in the normal's column. */
void lcplug_pair_scale(cone_pair *c, int exact);
void lcplug_pair_block(const cone_pair *c, double *elements);
double lcplug_pair_coupling(const cone_pair *c);

/* t for y o z = target e; adds what follows for w to `right`.  second_order: as the last step
 * says. */
void lcplug_pair_wish(cone_pair *c, double target, int second_order, double *right);
void lcplug_pair_second_order(cone_pair *c);

/* dy and dz of dx; returns how far they may go. */
double lcplug_pair_spread(cone_pair *c, const double *dx);
void lcplug_pair_move(cone_pair *c, double step);

#endif
