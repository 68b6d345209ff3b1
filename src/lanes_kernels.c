/* lanes_kernels.c - the kernels of lanes.h for each instruction set; see lanes_body.h. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "lanes.h"

/* Times that a block whose force is at its limit is gone through. */
enum { ROW_ROUNDS = 2, CONE_ROUNDS = 3 };

/* Groups that each part of a gradient step goes through before the next part does. */
enum { STEP_GROUPS = 4 };

/* How many groups ahead of the present one memory is asked for. */
enum { GROUPS_AHEAD = 6 };

/* Asks for the numbers of a group's rows, and for its own part of A, into the second cache: they
 * are most of what is read, and too far apart from one group to the next for the processor to ask
 * in time.  The first cache is full of what the present groups work on; to ask into it is worse
 * than not to ask. */
static inline void fetch_rows(const lane_run *run, int group, const int local) {
  enum { SECOND_CACHE = 2 };
  if (group >= run->j->groups) return;
  const lane_group *g = &run->j->group[group];
  const double *q = run->j->q + g->q, *a = run->j->local + g->local;
  int numbers = g->frames ? 3 * g->segments + FRAME_SIZE : g->segments * g->rows * NODE_SIZE;
  for (int k = 0; k < numbers; k++) __builtin_prefetch(q + k * LANES, 0, SECOND_CACHE);
  for (int k = 0; local && k < 2 * (g->rows > 1 ? LOCAL_SIZE : 1); k++)
    __builtin_prefetch(a + k * LANES, 0, SECOND_CACHE);
}

typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef long four_bits __attribute__((vector_size(4 * sizeof(long))));

static double sum_of_lanes(const double lane[LANES]) {
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/* Comparisons, for sets whose masks are vectors. */
#define GREATER(a, b) ((a) > (b))
#define AT_LEAST(a, b) ((a) >= (b))
#define AT_MOST(a, b) ((a) <= (b))
#define EQUAL(a, b) ((a) == (b))
#define ALL_LANES (~(four_bits){0})
#define CLEAR_LANE(m, l) ((m)[l] = 0)
#define WIDTH 4
#define VEC four
#define MASK four_bits
#define NEXT_NODES {0, 1, 2, 3}

#define NAME(x) portable_##x
#define TARGET
#define PICK(m, a, b) portable_pick((m), (a), (b))
#define LARGER(a, b) portable_larger((a), (b))
#define SMALLER(a, b) portable_smaller((a), (b))
#define ROOT(v) portable_root(v)
#define ALL(m) portable_all(m)
static inline four portable_pick(four_bits m, four a, four b) {
  return (four)((m & (four_bits)a) | (~m & (four_bits)b));
}
static inline four portable_larger(four a, four b) { return portable_pick(a > b, a, b); }
static inline four portable_smaller(four a, four b) { return portable_pick(a < b, a, b); }
static inline four portable_root(four v) {
  return (four){sqrt(v[0]), sqrt(v[1]), sqrt(v[2]), sqrt(v[3])};
}
static inline int portable_all(four_bits m) { return ((m[0] & m[1]) & (m[2] & m[3])) != 0; }
#include "lanes_body.h"
#undef NAME
#undef TARGET
#undef PICK
#undef LARGER
#undef SMALLER
#undef ROOT
#undef ALL

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define NAME(x) avx2_##x
#define TARGET __attribute__((target("avx2")))
#define PICK(m, a, b) _mm256_blendv_pd((b), (a), (__m256d)(m))
#define LARGER(a, b) _mm256_max_pd((a), (b))
#define SMALLER(a, b) _mm256_min_pd((a), (b))
#define ROOT(v) _mm256_sqrt_pd(v)
#define ALL(m) (_mm256_movemask_pd((__m256d)(m)) == 0xf)
#include "lanes_body.h"
#undef NAME
#undef TARGET
#undef PICK
#undef LARGER
#undef SMALLER
#undef ROOT
#undef ALL

#undef GREATER
#undef AT_LEAST
#undef AT_MOST
#undef EQUAL
#undef ALL_LANES
#undef CLEAR_LANE
#undef WIDTH
#undef VEC
#undef MASK
#undef NEXT_NODES

/* Masks are bits here. */
#define NAME(x) avx512_##x
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
#define WIDTH 8
#define VEC __m512d
#define MASK __mmask8
#define NEXT_NODES {0, 1, 2, 3, 4, 5, 6, 7}
#define GREATER(a, b) _mm512_cmp_pd_mask((a), (b), _CMP_GT_OQ)
#define AT_LEAST(a, b) _mm512_cmp_pd_mask((a), (b), _CMP_GE_OQ)
#define AT_MOST(a, b) _mm512_cmp_pd_mask((a), (b), _CMP_LE_OQ)
#define EQUAL(a, b) _mm512_cmp_pd_mask((a), (b), _CMP_EQ_OQ)
#define PICK(m, a, b) _mm512_mask_blend_pd((MASK)(m), (b), (a))
#define LARGER(a, b) _mm512_max_pd((a), (b))
#define SMALLER(a, b) _mm512_min_pd((a), (b))
#define ROOT(v) _mm512_sqrt_pd(v)
#define ALL_LANES ((MASK)0xff)
#define ALL(m) ((m) == ALL_LANES)
#define CLEAR_LANE(m, l) ((m) = (MASK)((m) & ~(1 << (l))))
#include "lanes_body.h"

/* From the widest on. */
static const lane_kernels *const sets[] = {&avx512_table, &avx2_table, &portable_table};

static int first_set(void) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return 0;
  return __builtin_cpu_supports("avx2") ? 1 : 2;
}
#else
static const lane_kernels *const sets[] = {&portable_table};
static int first_set(void) { return 0; }
#endif

const lane_kernels *lcplug_lane_kernels_number(int k) {
  int sets_here = (int)(sizeof sets / sizeof *sets) - first_set();
  return k >= 0 && k < sets_here ? sets[first_set() + k] : NULL;
}

const lane_kernels *lcplug_lane_kernels(void) { return sets[first_set()]; }
