/* siconos_solve.c - one problem solved by one of Siconos' solvers, with its default options. */
#include "siconos.h"

#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>
#include <SparseBlockMatrix.h>
#include <stdlib.h>
#include <string.h>

static const int solver_id[RIVALS] = {
    [NSGS] = SICONOS_FRICTION_3D_NSGS,
    [NSN_AC] = SICONOS_FRICTION_3D_NSN_AC,
    [ADMM] = SICONOS_FRICTION_3D_ADMM,
    [PROX] = SICONOS_FRICTION_3D_PROX,
};

static double element(const lcplug_record *r, int i, int j) {
  if (r->W) return r->W[(size_t)i * (size_t)r->problem.n + (size_t)j];
  return i >= j ? r->problem.A[(size_t)i * r->problem.stride + (size_t)j]
                : r->problem.A[(size_t)j * r->problem.stride + (size_t)i];
}

/* The 3 x 3 block of two contacts, column by column; NULL if it is empty. */
static double *copy_block(const lcplug_record *r, int row, int column) {
  double block[9];
  int empty = row != column;
  for (int k = 0; k < 9; k++) {
    block[k] = element(r, 3 * row + k % 3, 3 * column + k / 3);
    empty = empty && block[k] == 0;
  }
  double *kept = empty ? NULL : malloc(sizeof block);
  return kept ? memcpy(kept, block, sizeof block) : NULL;
}

static NumericsMatrix *matrix_by_blocks(const lcplug_record *r) {
  size_t contacts = (size_t)r->problem.n / 3;
  SparseBlockStructuredMatrix *m = SBM_new();
  m->blocknumber0 = m->blocknumber1 = (unsigned)contacts;
  m->blocksize0 = malloc(contacts * sizeof *m->blocksize0);
  m->blocksize1 = malloc(contacts * sizeof *m->blocksize1);
  m->block = malloc(contacts * contacts * sizeof *m->block);
  m->index1_data = calloc(contacts + 1, sizeof *m->index1_data);
  m->index2_data = malloc(contacts * contacts * sizeof *m->index2_data);
  for (size_t i = 0; i < contacts; i++) {
    m->blocksize0[i] = m->blocksize1[i] = 3 * (unsigned)(i + 1);
    for (size_t j = 0; j < contacts; j++) {
      double *block = copy_block(r, (int)i, (int)j);
      if (!block) continue;
      m->block[m->nbblocks] = block;
      m->index2_data[m->nbblocks++] = j;
    }
    m->index1_data[i + 1] = m->nbblocks;
  }
  m->filled1 = contacts + 1;
  m->filled2 = m->nbblocks;
  return NM_new_SBM(r->problem.n, r->problem.n, m);
}

static FrictionContactProblem *problem_of(const lcplug_record *r) {
  int contacts = r->problem.n / 3;
  double *q = malloc((size_t)r->problem.n * sizeof *q), *mu = malloc((size_t)contacts * sizeof *mu);
  for (int i = 0; i < r->problem.n; i++) q[i] = -r->problem.b[(size_t)i * r->problem.b_step];
  for (int i = 0; i < contacts; i++)
    mu[i] = r->problem.hi[(size_t)(3 * i + 1) * r->problem.bounds_step];
  return frictionContactProblem_new_with_data(3, contacts, matrix_by_blocks(r), q, mu);
}

/* Frees nothing: it runs in a process of its own. */
double siconos_solve(const lcplug_record *record, rival by, double tol, double *x) {
  FrictionContactProblem *problem = problem_of(record);
  SolverOptions *options = solver_options_create(solver_id[by]);
  double *velocity = calloc((size_t)record->problem.n, sizeof *velocity);
  memset(x, 0, (size_t)record->problem.n * sizeof *x);
  options->dparam[SICONOS_DPARAM_TOL] = tol;
  options->iparam[SICONOS_IPARAM_MAX_ITER] = 10000000; /* the time is what is limited */
  double started = cpu_seconds();
  fc3d_driver(problem, x, velocity, options);
  return cpu_seconds() - started;
}
