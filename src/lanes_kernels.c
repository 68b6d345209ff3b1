/* lanes_kernels.c - the kernels of lanes.h for each instruction set; see lanes_body.h. */
#include <float.h>
#include <math.h>

#include "lanes.h"


/* Times that a block whose force is at its limit is gone through. */
enum { ROW_ROUNDS = 2, CONE_ROUNDS = 3 };

typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef long mask __attribute__((vector_size(LANES * sizeof(long))));

#define NAME(x) portable_##x
#define TARGET
#define ROOT(v) ((four){sqrt((v)[0]), sqrt((v)[1]), sqrt((v)[2]), sqrt((v)[3])})
#define ANY(m) (((m)[0] | (m)[1]) | ((m)[2] | (m)[3]))
#include "lanes_body.h"
#undef NAME
#undef TARGET
#undef ROOT
#undef ANY

const lane_kernels *lcplug_lane_kernels_portable(void) { return &portable_table; }

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define NAME(x) avx2_##x
#define TARGET __attribute__((target("avx2")))
#define ROOT(v) _mm256_sqrt_pd(v)
#define ANY(m) _mm256_movemask_pd((__m256d)(m))
#include "lanes_body.h"

const lane_kernels *lcplug_lane_kernels(void) {
  return __builtin_cpu_supports("avx2") ? &avx2_table : &portable_table;
}
#else
const lane_kernels *lcplug_lane_kernels(void) { return &portable_table; }
#endif
