/* smooth_lanes.h - the smoothed conditions (smooth.h) of friction cones of three rows, four at a
 * time.
 *
 * Almost every set of a contact problem is one of these, and the line search asks for |f| again and
 * again.  Others, and cones without a limit to friction, are evaluated one by one in smooth.c. */
#ifndef LCPLUG_SMOOTH_LANES_H
#define LCPLUG_SMOOTH_LANES_H

#include "model.h"
#include "workspace.h"

enum { LANES_OF_CONES = 4 };

typedef double cone_lane __attribute__((vector_size(LANES_OF_CONES * sizeof(double)), aligned(8)));

/* Four cones, the last one repeated with weight 0 where there are fewer. */
typedef struct cone_quad {
  int set[LANES_OF_CONES], first[LANES_OF_CONES];
  cone_lane weight;
  cone_lane s;          /* as in smooth.h, not yet softened */
  cone_lane g[3], b[3]; /* y = g x; the right side */
  cone_lane in_g[3];    /* 1 / g */
} cone_quad;

/* Where and how to evaluate. */
typedef struct cone_view {
  double eps, stiffness;
  int exact;          /* Alart and Curnier's conditions, else the cone with ... */
  const double *slip; /* ... De Saxce's term of each set */
  const double *x, *Ax;
  double *target; /* row of a normal -> the force that p asks for */
} cone_view;

/* E and r of one quad: an element of each cone in a lane. */
typedef struct cone_step {
  cone_lane E[9], r[3];
} cone_step;

typedef struct cone_kernels {
  double (*merit)(const cone_quad *quads, int count, const cone_view *at);
  void (*linearize)(const cone_quad *quad, const cone_view *at, cone_step *step);
} cone_kernels;

/* The best table for this processor, and the one for any; both give the same bits. */
const cone_kernels *lcplug_cone_kernels(void);
const cone_kernels *lcplug_cone_kernels_portable(void);

#endif
