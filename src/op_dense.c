/* op_dense.c - A as the caller's lower triangle, in place.
 *
 * One pass over the triangle serves both halves: element (i, j) adds A_ij x_j to y_i and A_ij
 * x_i to y_j.  When the solver's order differs from the caller's, vectors are permuted, never A.
 * The product is compiled twice, for any processor and for AVX2; both give the same bits. */
#include "operator.h"

#include <string.h>

#include "four.h"

static const double *row_of(const linop *op, int row) { return op->A + (size_t)row * op->stride; }

static double element(const linop *op, int i, int j) {
  int r = op->layout->row[i], c = op->layout->row[j];
  return r >= c ? row_of(op, r)[c] : row_of(op, c)[r];
}

/* y = A x in the caller's order. */
static inline __attribute__((always_inline)) void multiply_rows(const linop *op, const double *x,
                                                                double *y) {
  for (int i = 0; i < op->n; i++) {
    const double *row = row_of(op, i);
    four sum = four_of(0.0);
    double xi = x[i], rest = 0.0;
    int j = 0;
    for (; j + 4 <= i; j += 4) {
      four a = four_at(row + j);
      sum += a * four_at(x + j);
      four_put(y + j, four_at(y + j) + a * xi);
    }
    for (; j < i; j++) {
      rest += row[j] * x[j];
      y[j] += row[j] * xi;
    }
    y[i] = four_sum(sum) + rest + row[i] * xi;
  }
}

static void multiply_plain(const linop *op, const double *x, double *y) { multiply_rows(op, x, y); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(const linop *op, const double *x,
                                                          double *y) {
  multiply_rows(op, x, y);
}

static void multiply(const linop *op, const double *x, double *y) {
  (__builtin_cpu_supports("avx2") ? multiply_avx2 : multiply_plain)(op, x, y);
}
#else
static void multiply(const linop *op, const double *x, double *y) { multiply_plain(op, x, y); }
#endif

static void dense_apply(const linop *op, const double *x, double *y) {
  if (op->layout->identity) {
    multiply(op, x, y);
    return;
  }
  const int *row = op->layout->row;
  for (int i = 0; i < op->n; i++) op->scratch_x[row[i]] = x[i];
  multiply(op, op->scratch_x, op->scratch_y);
  for (int i = 0; i < op->n; i++) y[i] = op->scratch_y[row[i]];
}

static void dense_diagonal(const linop *op, double *d) {
  for (int i = 0; i < op->n; i++) d[i] = element(op, i, i);
}

static void dense_diagonal_block(const linop *op, int first, int rows, double *out) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++) out[i * rows + j] = element(op, first + i, first + j);
}

static int dense_state_size(const linop *op) { return op->n; }

static void dense_state_read(const linop *op, const double *state, int first, int rows,
                             double *Ax) {
  (void)op;
  memcpy(Ax, state + first, (size_t)rows * sizeof *Ax);
}

static void dense_state_add(const linop *op, double *state, int first, int rows, const double *dx) {
  const int *place = op->layout->place;
  for (int k = 0; k < rows; k++) {
    int r = op->layout->row[first + k];
    const double *row = row_of(op, r);
    for (int c = 0; c <= r; c++) state[place[c]] += row[c] * dx[k];
    for (int c = r + 1; c < op->n; c++) state[place[c]] += row_of(op, c)[r] * dx[k];
  }
}

static const linop_table dense_table = {
    dense_apply,      dense_diagonal, dense_diagonal_block, dense_state_size,
    dense_apply, dense_state_read, dense_state_add,
};

lcplug_error lcplug_operator_dense(linop *op, const lcplug_problem *p, const layout *l,
                                   lcplug_workspace *workspace) {
  *op = (linop){.table = &dense_table, .n = p->n, .layout = l, .A = p->A, .stride = p->stride};
  if (l->identity) return LCPLUG_OK;
  op->scratch_x = TAKE(workspace, double, p->n);
  op->scratch_y = TAKE(workspace, double, p->n);
  return op->scratch_x && op->scratch_y ? LCPLUG_OK : LCPLUG_ERROR_MEMORY;
}
