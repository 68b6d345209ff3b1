/* diff_scenes.c - the problems of real scenes into upstream's Dantzig and into every solver.
 *
 * From three sources: scenes stepped here, by interposing dxSolveLCP in this very program; records
 * in tests/data; and, where $LCPLUG_SHARED names a folder, the records in it. */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lcplug/record.h>

#include "capture.h"
#include "unit/support.h"

/* At CFM 1e-10 the normal forces of redundant contacts are unique in name only. */
static const diff_limits FIRM = {1e-7, INFINITY, 1}, SOFT = {1e-7, 1e-7, 1};

static const diff_limits *limits_of(double cfm) { return cfm >= 1e-5 ? &SOFT : &FIRM; }

/* ---- scenes ---------------------------------------------------------------------------------- */

typedef struct scene_row {
  const char *kind;
  int size;
  double mu, cfm;
} scene_row;

static const scene_row scenes[] = {
    {"tower", 5, 0.5, 1e-10},   {"tower", 5, 0.5, 1e-5},      {"wall", 3, 0.5, 1e-10},
    {"wall", 4, 1.0, 1e-5},     {"pyramid", 4, 0.5, 1e-10},   {"spheres", 25, 0.5, 1e-10},
    {"spheres", 25, 0, 1e-5},   {"boxes", 12, 0.5, 1e-10},    {"boxes", 12, INFINITY, 1e-5},
    {"capsules", 15, 0.5, 1e-10}, {"mixed", 15, 1.0, 1e-10},  {"ragdoll", 2, 0.5, 1e-10},
    {"ragdoll", 2, INFINITY, 1e-5}, {"chain", 2, 0.5, 1e-10}, {"vehicles", 2, 0.5, 1e-10},
    {"vehicles", 1, INFINITY, 1e-5}, {"slider", 2, 0.5, 1e-10}, {"motors", 2, 0.5, 1e-10},
    {"rolling", 9, 0.5, 1e-10}, {"rolling", 9, 0.5, 1e-5},
};
enum { SCENES = sizeof scenes / sizeof *scenes, MOST_ROWS = 220 };

/* The largest problem near each of these steps: on first touch, in motion, at rest. */
static const int steps[] = {0, 35, 70, 130};
enum { STEPS = sizeof steps / sizeof *steps };

static scene_config config_of(const scene_row *row, unsigned seed) {
  scene_config config = scene_config_default();
  config.kind = row->kind;
  config.size = row->size;
  config.mu = row->mu;
  config.cfm = row->cfm;
  config.seed = seed;
  return config;
}

static diff_problem *problem_of_scene(const scene_row *row, int step, unsigned seed) {
  scene_config config = config_of(row, seed);
  return capture_from_scene(&config, step, 20, MOST_ROWS, 0);
}

START_TEST(scenes_agree_with_upstream) {
  ck_assert(scenes_init());
  for (int step = 0; step < STEPS; step++) {
    diff_problem *p = problem_of_scene(&scenes[_i], steps[step], (unsigned)_i + 1);
    if (!p && step == 0) continue; /* everything is still in the air */
    diff_expect(p != NULL, "%s: no problem captured from step %d on", scenes[_i].kind, steps[step]);
    if (!p) continue;
    diff_check_strict(p, limits_of(scenes[_i].cfm));
    diff_check_first_order(p, &FIRM);
    diff_problem_free(p);
  }
  scenes_done();
  diff_finish();
}
END_TEST

/* Upstream gives a tower up with "LCP internal error" and leaves zeros: a free fall for whatever
 * stands above.  Here it must be solved like any other. */
START_TEST(what_upstream_gives_up_is_solved) {
  static const int sizes[] = {4, 5, 6};
  ck_assert(scenes_init());
  for (int k = 0; k < 3; k++) {
    scene_config config = scene_config_default();
    config.kind = "tower";
    config.size = sizes[k];
    diff_problem *p = capture_from_scene(&config, 0, 60, MOST_ROWS, 1);
    diff_expect(p != NULL, "upstream met no error on a tower of %d: nothing to compare", sizes[k]);
    if (!p) continue;
    diff_answer *upstream = diff_upstream(p);
    diff_expect(upstream->errors > 0 && upstream->residual > 1e-3,
                "%s: upstream's error does not show again: %d, residual %.2e", p->name,
                upstream->errors, upstream->residual);
    diff_answer_free(upstream);
    diff_check_strict(p, &FIRM);
    diff_problem_free(p);
  }
  scenes_done();
  diff_finish();
}
END_TEST

/* ---- exact friction -------------------------------------------------------------------------- */

/* Structures that stand, with a few contacts that slide.  Leaps from the answer to friction=ode end
 * there after 10, 9 and 9 factorizations, those of boxes included; the ways for heaps take 40, 14
 * and 16. */
static const struct {
  scene_row scene;
  int most;
} standing[] = {{{"wall", 5, 0.5, 1e-5}, 16},
                {{"pyramid", 6, 1.0, 1e-5}, 12},
                {{"pyramid", 6, 0.5, 1e-10}, 13}};
enum { STANDING = sizeof standing / sizeof *standing };

START_TEST(standing_structures_take_few_steps) {
  enum { ROWS = 600 };
  ck_assert(scenes_init());
  scene_config config = config_of(&standing[_i].scene, 1);
  diff_problem *p = capture_from_scene(&config, 0, 0, ROWS, 0);
  ck_assert_ptr_nonnull(p);
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_problem problem = diff_view(p);
  lcplug_settings s = settings_for(LCPLUG_AUTO, LCPLUG_FRICTION_COULOMB);
  double x[ROWS];
  lcplug_solution solution = {.x = x};
  lcplug_info info;
  ck_assert_int_eq(lcplug_solve(workspace, &problem, &s, &solution, &info), LCPLUG_OK);
  ck_assert_int_eq(info.status, LCPLUG_SOLVED);
  ck_assert_double_le(info.residual, 1e-8);
  ck_assert_int_gt(info.factorizations, 5); /* it does slide */
  ck_assert_int_le(info.factorizations, standing[_i].most);
  lcplug_workspace_free(workspace);
  diff_problem_free(p);
  scenes_done();
}
END_TEST

/* ---- records --------------------------------------------------------------------------------- */

static diff_problem *problem_of_record(const char *path) {
  lcplug_record *record = NULL;
  char message[256] = "";
  lcplug_error error = lcplug_record_read(path, &record, message, sizeof message);
  diff_expect(!error, "%s: %s", path, message[0] ? message : lcplug_error_text(error));
  if (error) return NULL;
  const lcplug_problem *from = &record->problem;
  diff_problem *p = diff_problem_create(from->n, from->findex != NULL);
  const char *slash = strrchr(path, '/');
  snprintf(p->name, sizeof p->name, "%.100s", slash ? slash + 1 : path);
  p->nub = from->nub;
  for (int i = 0; i < p->n; i++) {
    memcpy(p->A + (size_t)i * p->stride, from->A + (size_t)i * from->stride,
           ((size_t)i + 1) * sizeof *p->A);
    p->b[i] = from->b[(size_t)i * from->b_step];
    p->lo[i] = from->lo[(size_t)i * from->bounds_step];
    p->hi[i] = from->hi[(size_t)i * from->bounds_step];
    if (from->findex) p->findex[i] = from->findex[i];
  }
  lcplug_record_free(record);
  return p;
}

static int is_record(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return length > 4 && !strcmp(entry->d_name + length - 4, ".lcp");
}

/* Checks the records of a folder with at most `most` rows and returns their number. */
static int check_folder(const char *folder, int most, int first_order) {
  struct dirent **entries;
  int count = scandir(folder, &entries, is_record, alphasort), checked = 0;
  ck_assert_msg(count >= 0, "%s cannot be read", folder);
  for (int k = 0; k < count; k++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, entries[k]->d_name);
    free(entries[k]);
    diff_problem *p = problem_of_record(path);
    if (p && p->n <= most) {
      diff_check_strict(p, &FIRM);
      if (first_order) diff_check_first_order(p, &FIRM);
      checked++;
    }
    diff_problem_free(p);
  }
  free(entries);
  return checked;
}

START_TEST(stored_records_agree_with_upstream) {
  const char *source = getenv("abs_top_srcdir");
  char folder[4000];
  snprintf(folder, sizeof folder, "%s/tests/data", source ? source : ".");
  int checked = check_folder(folder, 1000, 1);
  ck_assert_msg(checked >= 12, "only %d records in %s", checked, folder);
  diff_finish();
}
END_TEST

START_TEST(shared_records_agree_with_upstream) {
  const char *folder = getenv("LCPLUG_SHARED");
  if (!folder) {
    puts("skipped: LCPLUG_SHARED names no folder of further records");
    return;
  }
  int checked = check_folder(folder, 600, 0);
  ck_assert_msg(checked > 0, "no records in %s", folder);
  printf("%d records of LCPLUG_SHARED compared\n", checked);
  diff_finish();
}
END_TEST

int main(void) {
  Suite *suite = suite_create("problems of scenes against upstream");
  TCase *tests = support_case(suite, "scenes and records");
  tcase_add_loop_test(tests, scenes_agree_with_upstream, 0, SCENES);
  tcase_add_test(tests, what_upstream_gives_up_is_solved);
  tcase_add_loop_test(tests, standing_structures_take_few_steps, 0, STANDING);
  tcase_add_test(tests, stored_records_agree_with_upstream);
  tcase_add_test(tests, shared_records_agree_with_upstream);
  return support_run(suite);
}
