/* host_bad_input.c - calls the solver as ODE does, with one thing wrong.
 *
 * usage: host_bad_input CASE     prints the forces; exit status 3 if one is no number
 *        host_bad_input          lists the cases
 *
 * Two contacts of three rows, well conditioned, then one thing is broken.  Upstream may not survive
 * some of these. */
#include <limits.h>
#include <math.h>
#include <ode/ode.h>
#include <stdio.h>
#include <string.h>

void _Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi(void *arena, unsigned n, double *A,
                                                            double *bx, double *w, unsigned nub,
                                                            double *lh, int *findex);
void *
_Z39dxAllocateTemporaryWorldProcessMemArenamPK27dxWorldProcessMemoryManagerPK31dxWorldProcessMemoryReserveInfo(
    size_t size, const void *manager, const void *reserve);

enum { N = 6, STRIDE = 8 };

typedef struct problem {
  unsigned n, nub;
  double A[N * STRIDE], bx[2 * N], w[N], lh[2 * N];
  int findex[N];
} problem;

static problem sound_problem(void) {
  problem p = {.n = N};
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < STRIDE; j++)
      p.A[i * STRIDE + j] = j > i ? NAN : i == j ? 4 + i : 0.3 * (i - j) - 0.7;
    p.bx[2 * i] = i % 3 ? 1 - 0.5 * i : 3 + i;
    p.lh[2 * i] = i % 3 ? -0.5 : 0;
    p.lh[2 * i + 1] = i % 3 ? 0.5 : INFINITY;
    p.findex[i] = i % 3 ? i - i % 3 : -1;
  }
  return p;
}

/* What is broken, in the problem p. */
#define CASES(X)                                                                                   \
  X(nothing, (void)p)                                                                              \
  X(nan_in_A, p->A[2 * STRIDE + 1] = NAN)                                                          \
  X(infinity_in_A, p->A[3 * STRIDE + 3] = INFINITY)                                                \
  X(nan_in_b, p->bx[2] = NAN)                                                                      \
  X(infinity_in_b, p->bx[0] = INFINITY)                                                            \
  X(nan_in_lo, p->lh[0] = NAN)                                                                     \
  X(nan_in_hi, p->lh[1] = NAN)                                                                     \
  X(nan_for_mu, p->lh[3] = NAN)                                                                    \
  X(lo_above_hi, (p->lh[0] = 0, p->lh[1] = -1))                                                    \
  X(lo_at_plus_infinity, (p->lh[0] = INFINITY, p->lh[1] = INFINITY))                               \
  X(interval_without_zero, (p->lh[0] = 1, p->lh[1] = 2))                                           \
  X(negative_mu, p->lh[3] = -0.5)                                                                  \
  X(friction_row_with_positive_lo, p->lh[2] = 5)                                                   \
  X(free_row_with_positive_lo, (p->nub = 1, p->lh[0] = 1, p->lh[1] = 2))                           \
  X(findex_out_of_range, p->findex[1] = N + 1000000)                                               \
  X(findex_largest, p->findex[1] = INT_MAX)                                                        \
  X(findex_very_negative, p->findex[1] = INT_MIN)                                                  \
  X(findex_to_itself, p->findex[1] = 1)                                                            \
  X(findex_cycle, (p->findex[1] = 2, p->findex[2] = 1))                                            \
  X(zero_diagonal, p->A[1 * STRIDE + 1] = 0)                                                       \
  X(negative_diagonal, p->A[0] = -4)                                                               \
  X(all_zeros, memset(p->A, 0, sizeof p->A))                                                       \
  X(huge_numbers, p->A[0] = 1e308)                                                                 \
  X(indefinite, p->A[1 * STRIDE] = 100)                                                            \
  X(nub_beyond_n, p->nub = 1000)                                                                   \
  X(no_rows, p->n = 0)                                                                             \
  X(negative_n, p->n = (unsigned)-3)

#define BREAKER(name, what)                                                                        \
  static void break_##name(problem *p) { what; }
CASES(BREAKER)

static const struct {
  const char *name;
  void (*apply)(problem *p);
} cases[] = {
#define ROW(name, what) {#name, break_##name},
    CASES(ROW)};
enum { COUNT = sizeof cases / sizeof *cases };

static int solve_and_print(problem *p) {
  void **arena =
      _Z39dxAllocateTemporaryWorldProcessMemArenamPK27dxWorldProcessMemoryManagerPK31dxWorldProcessMemoryReserveInfo(
          1 << 20, NULL, NULL);
  if (!arena) return 1;
  arena[0] = arena[1];
  _Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi(arena, p->n, p->A, p->bx, p->w, p->nub,
                                                         p->lh, p->findex);
  int finite = 1;
  for (int i = 0; i < N; i++) {
    printf("%.17g\n", p->bx[2 * i + 1]);
    finite &= isfinite(p->bx[2 * i + 1]);
  }
  return finite ? 0 : 3;
}

int main(int count, char **arguments) {
  for (int k = 0; k < COUNT; k++) {
    if (count < 2) puts(cases[k].name);
    else if (!strcmp(cases[k].name, arguments[1])) {
      problem p = sound_problem();
      cases[k].apply(&p);
      return solve_and_print(&p);
    }
  }
  return count < 2 ? 0 : 2;
}
