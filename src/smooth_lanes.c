/* smooth_lanes.c - the kernels of smooth_lanes.h for each instruction set; see
 * smooth_lanes_body.h. */
#include "smooth_lanes.h"

#include <math.h>

#include "smooth.h"

typedef cone_lane four;
typedef long mask __attribute__((vector_size(LANES_OF_CONES * sizeof(long))));

#define NAME(x) portable_##x
#define TARGET
#define ROOT(v) ((four){sqrt((v)[0]), sqrt((v)[1]), sqrt((v)[2]), sqrt((v)[3])})
#include "smooth_lanes_body.h"
#undef NAME
#undef TARGET
#undef ROOT

const cone_kernels *lcplug_cone_kernels_portable(void) { return &portable_cones; }

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define NAME(x) avx2_##x
#define TARGET __attribute__((target("avx2")))
#define ROOT(v) _mm256_sqrt_pd(v)
#include "smooth_lanes_body.h"

const cone_kernels *lcplug_cone_kernels(void) {
  return __builtin_cpu_supports("avx2") ? &avx2_cones : &portable_cones;
}
#else
const cone_kernels *lcplug_cone_kernels(void) { return &portable_cones; }
#endif
