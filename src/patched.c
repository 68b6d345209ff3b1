/* patched.c - see patched.h. */
#include "patched.h"

#include <math.h>
#include <string.h>

int lcplug_patched_begin(patched *m, const lu *f, int n, lcplug_workspace *workspace) {
  *m = (patched){.f = f, .n = n};
  for (int k = 0; k < MOST_PATCHES; k++)
    if (!(m->patch[k].z = TAKE(workspace, double, n))) return 0;
  return 1;
}

static double product(const patch *p, const double *x) {
  double sum = 0.0;
  for (int i = 0; i < p->rows; i++) sum += p->v[i] * x[p->first + i];
  return sum;
}

static void add_multiple(int n, double *x, double factor, const double *z) {
  for (int i = 0; i < n; i++) x[i] += factor * z[i];
}

/* Sherman and Morrison, one patch after the other. */
void lcplug_patched_solve(const patched *m, double *x) {
  lcplug_lu_solve(m->f, x);
  for (int k = 0; k < m->count; k++) {
    const patch *p = &m->patch[k];
    add_multiple(m->n, x, -p->share * product(p, x), p->z);
  }
}

int lcplug_patched_add(patched *m, int first, int rows, const double *u, const double *v) {
  if (m->count == MOST_PATCHES) return 0;
  patch *p = &m->patch[m->count];
  p->first = first, p->rows = rows;
  memset(p->z, 0, (size_t)m->n * sizeof *p->z);
  memcpy(p->z + first, u, (size_t)rows * sizeof *u);
  memcpy(p->v, v, (size_t)rows * sizeof *v);
  lcplug_patched_solve(m, p->z);
  p->share = 1.0 / (1.0 + product(p, p->z));
  if (!isfinite(p->share)) return 0;
  m->count++;
  return 1;
}

void lcplug_patched_update(const patched *m, double part, double *x) {
  const patch *p = &m->patch[m->count - 1];
  double before = product(p, x), more = product(p, p->z);
  add_multiple(m->n, x, part - p->share * (before + part * more), p->z);
}
