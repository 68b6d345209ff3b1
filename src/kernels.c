/* kernels.c - the kernels of kernels_body.h for each instruction set, and the choice among them. */
#include "kernels.h"

#include <string.h>

#include "pair.h"

#define NAME(x) portable_##x
#define TARGET
#define VEC pair
#define WIDTH 2
#define TALL 4
#define LOAD(p) pair_at(p)
#define STORE(p, v) pair_put((p), (v))
#define LOAD_ANYWHERE(p) pair_at(p)
#define STORE_ANYWHERE(p, v) pair_put((p), (v))
#define SPREAD(p) pair_of(*(p))
#define ZERO ((pair){0.0, 0.0})
#define MUL(a, b) ((a) * (b))
#define ADD(a, b) ((a) + (b))
#define SUM(a) pair_sum(a)
#define FMA(a, b, c) ((c) + (a) * (b))
#define FNMA(a, b, c) ((c) - (a) * (b))
#define FNMA1(a, b, c) ((c) - (a) * (b))
#include "kernels_body.h"
#undef NAME
#undef TARGET
#undef VEC
#undef WIDTH
#undef TALL
#undef LOAD
#undef STORE
#undef LOAD_ANYWHERE
#undef STORE_ANYWHERE
#undef SPREAD
#undef ZERO
#undef MUL
#undef ADD
#undef SUM
#undef FMA
#undef FNMA
#undef FNMA1

static const cholesky_kernels portable = {
    portable_panel,    portable_panels,  portable_schur,    portable_schur_pair,
    portable_add_runs, portable_forward, portable_backward, portable_gather,
    portable_multiply, portable_block,   portable_subtract, "portable"};

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

__attribute__((target("avx2,fma"))) static inline double avx2_sum(__m256d a) {
  __m128d half = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
  return _mm_cvtsd_f64(half) + _mm_cvtsd_f64(_mm_unpackhi_pd(half, half));
}

#define NAME(x) avx2_##x
#define TARGET __attribute__((target("avx2,fma")))
#define VEC __m256d
#define WIDTH 4
#define TALL 12
#define LOAD(p) _mm256_load_pd(p)
#define STORE(p, v) _mm256_store_pd((p), (v))
#define LOAD_ANYWHERE(p) _mm256_loadu_pd(p)
#define STORE_ANYWHERE(p, v) _mm256_storeu_pd((p), (v))
#define SPREAD(p) _mm256_broadcast_sd(p)
#define ZERO _mm256_setzero_pd()
#define MUL(a, b) _mm256_mul_pd((a), (b))
#define ADD(a, b) _mm256_add_pd((a), (b))
#define SUM(a) avx2_sum(a)
#define FMA(a, b, c) _mm256_fmadd_pd((a), (b), (c))
#define FNMA(a, b, c) _mm256_fnmadd_pd((a), (b), (c))
#define FNMA1(a, b, c) __builtin_fma(-(a), (b), (c))
#include "kernels_body.h"

static const cholesky_kernels avx2 = {
    avx2_panel,    avx2_panels,  avx2_schur,    avx2_schur_pair,
    avx2_add_runs, avx2_forward, avx2_backward, avx2_gather,
    avx2_multiply, avx2_block,   avx2_subtract, "avx2"};

static const cholesky_kernels *avx2_if_it_runs(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2 : NULL;
}
#else
static const cholesky_kernels *avx2_if_it_runs(void) { return NULL; }
#endif

const cholesky_kernels *lcplug_kernels_best(void) {
  const cholesky_kernels *k = avx2_if_it_runs();
  return k ? k : &portable;
}

const cholesky_kernels *lcplug_kernels_named(const char *name) {
  const cholesky_kernels *k = avx2_if_it_runs();
  if (k && !strcmp(name, k->name)) return k;
  return strcmp(name, portable.name) ? NULL : &portable;
}
