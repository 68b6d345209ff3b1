/* model.h - what a solver is given: A through its operator, b, and K as sets.
 *
 * A friction model is a way to turn friction rows into sets.  ODE's has two stages, the others
 * one. */
#ifndef LCPLUG_MODEL_H
#define LCPLUG_MODEL_H

#include "layout.h"
#include "operator.h"
#include "sets.h"
#include "workspace.h"

typedef struct model {
  int n;
  const linop *op;
  const double *b;
  int blocks;
  force_set *sets;
  double *scale; /* s_i of each block: the mean of its diagonal elements, never 0 */
  int coulomb;   /* w^ = w + mu |w_t| e_n in every cone */
  double unit;   /* residuals are fractions of this */
} model;

typedef enum friction_stage {
  STAGE_NORMALS, /* friction rows carry no force */
  STAGE_FROZEN,  /* friction rows have constant bounds */
  STAGE_PYRAMID, /* friction rows are bounded by their normals */
  STAGE_CONE,    /* friction cones */
  STAGE_COULOMB  /* friction cones with De Saxce's term */
} friction_stage;

/* `bound` (STAGE_FROZEN only): for each friction row the bound mu |x_n|. */
lcplug_error lcplug_model_build(model *m, const layout *l, const linop *op, friction_stage stage,
                                const double *bound, lcplug_workspace *workspace);

/* The natural residual (lcplug.h) of x, whose product A x is known. */
double lcplug_residual_natural(const model *m, const double *x, const double *Ax);

/* The residual that rounding alone leaves: no answer with forces as large can be judged finer. */
double lcplug_rounding_level(const model *m, const double *x);
/* The same from the largest s_i |x_i|. */
double lcplug_rounding_of(const model *m, double largest);

/* How fast the worst contact opens that bears a force: max mu |w_t| over the cones of
 * friction=cone, and in any model w_n where endless friction holds a contact that opens. */
double lcplug_relaxation_gap(const model *m, const double *x, const double *Ax);

/* x = P_K(x), the bounds of coupled rows following from the normals of the result. */
void lcplug_make_feasible(const model *m, double *x);

#endif
