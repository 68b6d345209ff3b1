/* test_bends.c - the path of the smoothed conditions, followed by its length (src/bends.h).
 *
 * The problems were captured from heaps of ODE in which a body jams: for a smaller eps there is no
 * x nearby, so that the path cannot be followed by eps. */
#include <stdlib.h>

#include "bends.h"
#include "path_bench.h"

static const double SOFT = 0.01;

static lcplug_record *open_captured(path_bench *t, const char *name) {
  lcplug_record *record = captured_record(name);
  path_bench_open(t, &record->problem, calloc((size_t)record->problem.n, sizeof(double)));
  t->path.smooth.stiffness = SOFT;
  return record;
}

static void close_captured(path_bench *t, lcplug_record *record) {
  free(t->it.x);
  path_bench_close(t);
  lcplug_record_free(record);
}

static const char *const bent[] = {"hard/bends-33", "hard/bends-90", "hard/bricks-312"};
enum { BENT = sizeof bent / sizeof *bent };

/* By eps the way ends; by its length it leads to the answer. */
START_TEST(paths_that_turn_back_lead_to_the_answer) {
  path_bench t;
  lcplug_record *record = open_captured(&t, bent[_i]);
  ck_assert(!lcplug_path_follow(&t.path, (manner){.steps = 400, .fastest = 0.5, .gives_up = 1}));
  ck_assert(lcplug_path_follow_bends(&t.path, 2000));
  ck_assert_double_le(path_bench_residual(&t), t.it.tol);
  close_captured(&t, record);
}
END_TEST

/* However the steps go, what is followed is the path: |f| is small where one ends. */
START_TEST(steps_end_on_the_path) {
  for (int steps = 30; steps <= 240; steps += 30) {
    path_bench t;
    lcplug_record *record = open_captured(&t, "hard/bricks-312");
    ck_assert(!lcplug_path_follow_bends(&t.path, steps));
    ck_assert_int_le(t.path.steps, steps + 5);
    ck_assert_double_le(lcplug_path_distance(&t.path), 1.0);
    close_captured(&t, record);
  }
}
END_TEST

/* What it takes from the workspace it gives back, found or not. */
START_TEST(scratch_goes_back) {
  path_bench t;
  lcplug_record *record = open_captured(&t, "hard/bends-33");
  workspace_mark before = lcplug_mark(t.workspace);
  lcplug_path_follow_bends(&t.path, 10);
  workspace_mark after = lcplug_mark(t.workspace);
  ck_assert_mem_eq(&before, &after, sizeof before);
  close_captured(&t, record);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("bends");
  TCase *cases = support_case(suite, "by length");
  tcase_add_loop_test(cases, paths_that_turn_back_lead_to_the_answer, 0, BENT);
  tcase_add_test(cases, steps_end_on_the_path);
  tcase_add_test(cases, scratch_goes_back);
  return support_run(suite);
}
