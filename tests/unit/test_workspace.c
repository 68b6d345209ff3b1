/* test_workspace.c - scratch memory, and the promise that a solve of a size
 * seen before allocates nothing.
 *
 * To count allocations the program puts its own malloc before the C library's, or, where a
 * sanitizer has done so already, asks the sanitizer to be told. */
#include "workspace.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* ---- counting -------------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static volatile long allocations;

#if defined(SANITIZED)
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));
static void on_malloc(const volatile void *p, size_t bytes) { (void)p, (void)bytes, allocations++; }
static void on_free(const volatile void *p) { (void)p; }
static int begin_counting(void) {
  return __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0;
}

#elif defined(__GLIBC__)
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *malloc(size_t bytes) { return allocations++, __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return allocations++, __libc_calloc(count, bytes); }
void *realloc(void *p, size_t bytes) { return allocations++, __libc_realloc(p, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) {
  return allocations++, __libc_memalign(alignment, bytes);
}
static int begin_counting(void) { return 1; }

#else
static int begin_counting(void) { return 0; }
#endif

/* 1 if counting works here: an allocation that must happen is seen. */
static int counting(const char *test) {
  int works = begin_counting();
  long before = allocations;
  void *volatile p = malloc(100);
  void *volatile q = aligned_alloc(64, 640);
  free(p), free(q);
  if (works && allocations - before == 2) return 1;
  support_skip(test, "allocations cannot be counted here");
  return 0;
}

/* ---- no allocation after warm-up ------------------------------------------------------------- */

static void solve(lcplug_workspace *workspace, instance *p, const lcplug_settings *s) {
  lcplug_problem problem = instance_problem(p);
  lcplug_solution solution = {.x = p->x, .w = p->w, .lo = p->used_lo, .hi = p->used_hi};
  lcplug_info info;
  double residual;
  lcplug_error error = lcplug_solve(workspace, &problem, s, &solution, &info);
  error |= lcplug_residual(workspace, &problem, s->friction, p->x, 1, p->used_lo, p->used_hi, 1,
                           &residual);
  if (error) abort(); /* ck_assert itself allocates */
}

/* Every solver, friction model and operator: a solve and a judgement, then the same again and one
 * of a smaller problem.  The second round allocates nothing and the workspace stays as large. */
START_TEST(second_solve_allocates_nothing) {
  const lcplug_solver solvers[] = {LCPLUG_PGS, LCPLUG_APGD, LCPLUG_AUTO};
  rng r = {60};
  if (!counting("second_solve_allocates_nothing")) return;
  for (int k = 0; k < 3 * 4 * 2 * 2; k++) {
    lcplug_settings s = settings_for(solvers[k % 3], (lcplug_friction)(k / 3 % 4));
    s.matrix = k / 12 % 2 ? LCPLUG_MATRIX_SPARSE : LCPLUG_MATRIX_DENSE;
    s.max_iter = 20;
    instance *ordered = instance_contacts(&r, 30, 8, 1e-3, 0.5, 0.4),
             *small = instance_contacts(&r, 4, 2, 1e-3, 0.5, 0.4);
    instance *p = k / 24 ? instance_permuted(ordered, &r, NULL) : instance_copy(ordered);
    lcplug_workspace *workspace = lcplug_workspace_create();
    solve(workspace, p, &s);
    size_t bytes = lcplug_workspace_bytes(workspace);
    long before = allocations;
    solve(workspace, p, &s);
    solve(workspace, small, &s);
    solve(workspace, p, &s);
    long made = allocations - before;
    ck_assert_msg(made == 0, "%ld allocations: solver %s, friction %d, matrix %d", made,
                  lcplug_solver_name(s.solver), s.friction, s.matrix);
    ck_assert_uint_eq(lcplug_workspace_bytes(workspace), bytes);
    ck_assert_uint_gt(bytes, 0);
    lcplug_workspace_free(workspace);
    instance_free(ordered), instance_free(small), instance_free(p);
  }
}
END_TEST

/* reuse=1 remembers by the shape of the rows: one more allocation for a new shape, and none for one
 * that was seen.  What it keeps is counted. */
START_TEST(reuse_allocates_once_for_a_shape) {
  rng r = {61};
  instance *p = instance_contacts(&r, 40, 10, 1e-3, 0.5, 0.4), *q = instance_permuted(p, &r, NULL);
  lcplug_settings s = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_ODE);
  lcplug_workspace *workspace = lcplug_workspace_create();
  if (!counting("reuse_allocates_once_for_a_shape")) return;
  solve(workspace, p, &s);
  solve(workspace, q, &s);
  size_t without = lcplug_workspace_bytes(workspace);
  s.reuse = 1;
  solve(workspace, p, &s);
  size_t one = lcplug_workspace_bytes(workspace);
  solve(workspace, q, &s);
  size_t two = lcplug_workspace_bytes(workspace);
  long before = allocations;
  solve(workspace, p, &s);
  solve(workspace, q, &s);
  long made = allocations - before;
  ck_assert_int_eq(made, 0);
  ck_assert_uint_gt(one, without);
  ck_assert_uint_eq(two - one, 2 * (size_t)p->n);
  ck_assert_uint_eq(lcplug_workspace_bytes(workspace), two);
  lcplug_workspace_free(workspace);
  instance_free(p), instance_free(q);
}
END_TEST

/* ---- the workspace itself -------------------------------------------------------------------- */

/* Pieces begin at cache lines, keep their bytes while others are taken, and do not overlap. */
START_TEST(pieces_are_apart_and_aligned) {
  enum { PIECES = 200 };
  rng r = {61};
  lcplug_workspace *workspace = lcplug_workspace_create();
  unsigned char *piece[PIECES];
  size_t size[PIECES];
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < PIECES; k++) {
      size[k] = (size_t)rng_below(&r, k % 20 ? 300 : 20000);
      piece[k] = lcplug_take(workspace, size[k], 1);
      ck_assert_ptr_nonnull(piece[k]);
      ck_assert_uint_eq((uintptr_t)piece[k] % 64, 0);
      memset(piece[k], k, size[k]);
    }
    for (int k = 0; k < PIECES; k++)
      for (size_t i = 0; i < size[k]; i++) ck_assert(piece[k][i] == (unsigned char)k);
    lcplug_workspace_reset(workspace);
  }
  lcplug_workspace_free(workspace);
}
END_TEST

/* What cannot be had is refused, and the workspace is fit for use afterwards. */
START_TEST(impossible_sizes_are_refused) {
  lcplug_workspace *workspace = lcplug_workspace_create();
  ck_assert_ptr_null(lcplug_take(workspace, SIZE_MAX, 1));
  ck_assert_ptr_null(lcplug_take(workspace, SIZE_MAX / 8, 16));
  ck_assert_ptr_null(lcplug_take(workspace, (size_t)1 << 33, (size_t)1 << 33));
  ck_assert_ptr_null(lcplug_take(workspace, (size_t)-5, 8));
  ck_assert_ptr_nonnull(lcplug_take(workspace, 10, 8));
  ck_assert_ptr_nonnull(lcplug_take(workspace, 0, 8));
  lcplug_workspace_free(workspace);
  lcplug_workspace_free(NULL);
}
END_TEST

/* Released pieces are used again; those before the mark are kept, even when
 * the workspace had to grow. */
START_TEST(marks_give_memory_back) {
  lcplug_workspace *workspace = lcplug_workspace_create();
  double *kept = TAKE(workspace, double, 100);
  for (int i = 0; i < 100; i++) kept[i] = i;
  workspace_mark mark = lcplug_mark(workspace);
  void *first = TAKE(workspace, double, 50);
  lcplug_release(workspace, mark);
  ck_assert_ptr_eq(TAKE(workspace, double, 50), first);
  lcplug_release(workspace, mark);
  size_t bytes = 0;
  for (int round = 0; round < 50; round++) {
    mark = lcplug_mark(workspace);
    double *large = TAKE(workspace, double, 100000);
    ck_assert_ptr_nonnull(large);
    for (int i = 0; i < 100000; i++) large[i] = -1.0;
    lcplug_release(workspace, mark);
    if (round == 1) bytes = lcplug_workspace_bytes(workspace);
  }
  ck_assert_uint_eq(lcplug_workspace_bytes(workspace), bytes);
  for (int i = 0; i < 100; i++) ck_assert(kept[i] == i);
  lcplug_workspace_free(workspace);
}
END_TEST

/* After a reset everything taken before fits without a new chunk. */
START_TEST(reset_keeps_chunks) {
  lcplug_workspace *workspace = lcplug_workspace_create();
  for (int round = 0; round < 5; round++) {
    size_t before = lcplug_workspace_bytes(workspace);
    for (int k = 0; k < 40; k++)
      ck_assert_ptr_nonnull(lcplug_take(workspace, 1000 + 777 * (size_t)k, 1));
    if (round) ck_assert_uint_eq(lcplug_workspace_bytes(workspace), before);
    lcplug_workspace_reset(workspace);
  }
  lcplug_workspace_free(workspace);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("workspace");
  TCase *tests = support_case(suite, "workspace");
  tcase_add_test(tests, second_solve_allocates_nothing);
  tcase_add_test(tests, reuse_allocates_once_for_a_shape);
  tcase_add_test(tests, pieces_are_apart_and_aligned);
  tcase_add_test(tests, impossible_sizes_are_refused);
  tcase_add_test(tests, marks_give_memory_back);
  tcase_add_test(tests, reset_keeps_chunks);
  return support_run(suite);
}
