/* cone_pair.c - see cone_pair.h; what is done with all pairs is in cone_pair_body.h, for each
 * instruction set in turn. */
#include "cone_pair.h"

#include <math.h>
#include <string.h>

/* Of v_0: the least gap that is told from none. */
static const double LEAST_GAP = 1e-25;
/* An eigenvalue of y o z that is this many times the target, or its inverse, is out of balance. */
static const double OUT_OF_BALANCE = 10.0;

#define NAME(x) portable_##x
#define TARGET
#define ROOT(v) lanes_root(v)
static inline four lanes_root(four v) {
  return (four){sqrt(v[0]), sqrt(v[1]), sqrt(v[2]), sqrt(v[3])};
}
#include "cone_pair_body.h"
#undef NAME
#undef TARGET
#undef ROOT

const pair_kernels *lcplug_pair_kernels_portable(void) { return &portable_pairs; }

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define NAME(x) avx2_##x
#define TARGET __attribute__((target("avx2")))
#define ROOT(v) ((four)_mm256_sqrt_pd(v))
#include "cone_pair_body.h"

const pair_kernels *lcplug_pair_kernels(void) {
  return __builtin_cpu_supports("avx2") ? &avx2_pairs : &portable_pairs;
}
#else
const pair_kernels *lcplug_pair_kernels(void) { return &portable_pairs; }
#endif

/* ---- one by one ------------------------------------------------------------------------------ */

int lcplug_pairs_begin(cone_pairs *p, int most, int exact, lcplug_workspace *workspace) {
  *p = (cone_pairs){.most = most, .exact = exact, .kernels = lcplug_pair_kernels()};
  p->quad = TAKE(workspace, pair_quad, (most + PAIRS_AT_ONCE - 1) / PAIRS_AT_ONCE);
  return p->quad != NULL;
}

static pair_quad *quad_of(const cone_pairs *p, int k) { return &p->quad[k / PAIRS_AT_ONCE]; }
static int lane_of(int k) { return k % PAIRS_AT_ONCE; }

/* Nobody: at e, and where he is not in anybody's way. */
static void clear(pair_quad *q, int row) {
  memset(q, 0, sizeof *q);
  for (int l = 0; l < PAIRS_AT_ONCE; l++)
    q->row[0][l] = q->row[1][l] = q->row[2][l] = q->normal[l] = row;
  q->y.v[0] = q->z.v[0] = q->y.gap = q->z.gap = q->alone = four_of(1.0);
}

/* The lane of one more pair of a set. */
static int add(cone_pairs *p, const force_set *set, pair_quad **quad) {
  int k = p->count++, lane = lane_of(k);
  pair_quad *q = *quad = quad_of(p, k);
  if (lane == 0) {
    clear(q, set->first);
    p->quads++;
  }
  q->rows[lane] = set->rows;
  for (int i = 0; i < 3; i++) q->row[i][lane] = set->first + (i < set->rows ? i : 0);
  q->normal[lane] = set->first;
  q->there[lane] = q->g[0][lane] = 1.0;
  q->alone[lane] = set->rows == 1;
  return lane;
}

static void start(pair_quad *q, int lane, const double *x, double z) {
  double y[3] = {q->sign[lane] * (x[q->row[0][lane]] - q->bound[lane])};
  if (q->share[lane] > 0.0) y[0] += q->share[lane] * x[q->normal[lane]];
  for (int i = 1; i < q->rows[lane]; i++) y[i] = q->g[i][lane] * x[q->row[i][lane]];
  for (int i = 0; i < 3; i++) q->y.v[i][lane] = y[i];
  q->y.gap[lane] = y[0] - sqrt(y[1] * y[1] + y[2] * y[2]);
  q->z.v[0][lane] = q->z.gap[lane] = z;
}

void lcplug_pairs_add_cone(cone_pairs *p, const force_set *set, const double *x, double z) {
  pair_quad *q;
  int lane = add(p, set, &q);
  q->sign[lane] = 1.0;
  for (int i = 1; i < set->rows; i++) q->g[i][lane] = 1.0 / set->mu[i - 1];
  start(q, lane, x, z);
}

void lcplug_pairs_add_bound(cone_pairs *p, const force_set *set, double sign, double bound,
                            const double *x, double z) {
  pair_quad *q;
  int lane = add(p, set, &q);
  q->sign[lane] = sign;
  q->bound[lane] = bound;
  start(q, lane, x, z);
}

void lcplug_pairs_add_coupled(cone_pairs *p, const force_set *set, double sign, const double *x,
                              double z) {
  pair_quad *q;
  int lane = add(p, set, &q);
  q->sign[lane] = sign;
  q->normal[lane] = set->normal;
  q->share[lane] = set->mu[0];
  start(q, lane, x, z);
}

pair_rows lcplug_pair_rows(const cone_pairs *p, int k) {
  const pair_quad *q = quad_of(p, k);
  int lane = lane_of(k);
  return (pair_rows){q->row[0][lane], q->rows[lane], q->normal[lane]};
}

void lcplug_pair_block(const cone_pairs *p, int k, double *elements) {
  const pair_quad *q = quad_of(p, k);
  int lane = lane_of(k), rows = q->rows[lane];
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++) elements[i * rows + j] = q->E[3 * i + j][lane];
}

double lcplug_pair_coupling(const cone_pairs *p, int k) {
  const pair_quad *q = quad_of(p, k);
  int lane = lane_of(k);
  return q->sign[lane] * q->share[lane] * q->in_eta[lane] * q->in_eta[lane];
}

void lcplug_pairs_keep_second(cone_pairs *p) {
  for (pair_quad *q = p->quad; q < p->quad + p->quads; q++)
    memcpy(q->second_kept, q->second, sizeof q->second);
}

void lcplug_pairs_restore_second(cone_pairs *p) {
  for (pair_quad *q = p->quad; q < p->quad + p->quads; q++)
    memcpy(q->second, q->second_kept, sizeof q->second);
}
