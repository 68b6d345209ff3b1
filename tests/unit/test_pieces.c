/* test_pieces.c - Newton's method with sharp edges, piece by piece: the changes of rank one, the
 * places of a contact, and pulls that fade. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "footing.h"
#include "patched.h"
#include "path_bench.h"
#include "pieces.h"

/* ---- changes of rank one --------------------------------------------------------------------- */

enum { PATCHES = 20 };

typedef struct rank_one {
  int first;
  double u[3], v[3];
} rank_one;

/* The largest row of r - (A + diagonal + changes) x. */
static double largest_error(const path_bench *t, double added, const rank_one *changes, int count,
                            const double *x, const double *r) {
  const path *p = &t->path;
  double worst = 0.0, *left = calloc((size_t)t->model.n, sizeof *left);
  for (int i = 0; i < t->model.n; i++)
    left[i] = r[i] - instance_row_product(t->pile, i, x) - added * p->diagonal[i] * x[i];
  for (int k = 0; k < count; k++) {
    const rank_one *c = &changes[k];
    double part = c->v[0] * x[c->first] + c->v[1] * x[c->first + 1] + c->v[2] * x[c->first + 2];
    for (int i = 0; i < 3; i++) left[c->first + i] -= c->u[i] * part;
  }
  for (int i = 0; i < t->model.n; i++) worst = fmax(worst, fabs(left[i]));
  free(left);
  return worst;
}

START_TEST(patched_factors_solve_the_changed_system) {
  const double added = 0.1;
  rng random = {7};
  path_bench t;
  patched m;
  rank_one changes[PATCHES];
  path_bench_open_pile(&t, instance_contacts(&random, 30, 12, 1e-3, 0.5, 0.5));
  int n = t.model.n;
  double *r = calloc((size_t)n, sizeof *r), *x = calloc((size_t)n, sizeof *x);
  double *kept = calloc((size_t)n, sizeof *kept);
  lcplug_lu_load(&t.path.matrix, 0);
  lcplug_lu_add_diagonal(&t.path.matrix, added, t.path.diagonal);
  lcplug_lu_factor(&t.path.matrix);
  ck_assert(lcplug_patched_begin(&m, &t.path.matrix, n, t.workspace));
  for (int i = 0; i < n; i++) kept[i] = r[i] = rng_between(&random, -1.0, 1.0);
  lcplug_patched_solve(&m, kept);
  for (int k = 0; k < PATCHES; k++) {
    rank_one *c = &changes[k];
    c->first = 3 * rng_below(&random, n / 3);
    for (int i = 0; i < 3; i++) {
      c->u[i] = rng_between(&random, -1.0, 1.0);
      c->v[i] = c->u[i] + rng_between(&random, -0.3, 0.3);
    }
    ck_assert(lcplug_patched_add(&m, c->first, 3, c->u, c->v));
    memcpy(x, r, (size_t)n * sizeof *x);
    lcplug_patched_solve(&m, x);
    ck_assert_double_le(largest_error(&t, added, changes, k + 1, x, r), 1e-9);

    double part = rng_between(&random, -2.0, 2.0);
    for (int i = 0; i < 3; i++) r[c->first + i] += part * c->u[i];
    lcplug_patched_update(&m, part, kept);
    ck_assert_double_le(largest_error(&t, added, changes, k + 1, kept, r), 1e-9);
  }
  free(r), free(x), free(kept);
  path_bench_close(&t);
}
END_TEST

/* When there is no room, and when nothing would be left of a direction. */
START_TEST(patches_may_be_refused) {
  rng random = {8};
  path_bench t;
  patched m;
  path_bench_open_pile(&t, instance_contacts(&random, 10, 5, 1e-3, 0.5, 0.5));
  lcplug_lu_load(&t.path.matrix, 0);
  lcplug_lu_factor(&t.path.matrix);
  ck_assert(lcplug_patched_begin(&m, &t.path.matrix, t.model.n, t.workspace));
  const double u[3] = {1.0, 0.0, 0.0}, little[3] = {1e-3, 0.0, 0.0};
  double *z = calloc((size_t)t.model.n, sizeof *z);
  z[0] = 1.0;
  lcplug_patched_solve(&m, z);
  const double away[3] = {-1.0 / z[0], 0.0, 0.0};
  ck_assert(!lcplug_patched_add(&m, 0, 3, u, away) || fabs(m.patch[0].share) > 1e12);
  lcplug_patched_clear(&m);
  for (int k = 0; k < MOST_PATCHES; k++) ck_assert(lcplug_patched_add(&m, 3, 3, u, little));
  ck_assert(!lcplug_patched_add(&m, 3, 3, u, little));
  ck_assert_int_eq(m.count, MOST_PATCHES);
  free(z);
  path_bench_close(&t);
}
END_TEST

/* ---- places ---------------------------------------------------------------------------------- */

static const force_set sets[] = {
    {.kind = SET_CONE, .rows = 3, .mu = {0.5, 0.5}},
    {.kind = SET_ELLIPSE, .rows = 3, .mu = {0.3, 0.8}},
    {.kind = SET_CONE, .rows = 2, .mu = {0.7, 0.7}},
    {.kind = SET_INTERVAL, .rows = 1, .lo = -1.0, .hi = 2.0},
    {.kind = SET_INTERVAL, .rows = 1, .lo = 0.0, .hi = INFINITY},
    {.kind = SET_INTERVAL, .rows = 1, .lo = 0.5, .hi = 0.5},
    {.kind = SET_FREE, .rows = 1},
};
enum { SETS = sizeof sets / sizeof *sets, TRIES = 300 };

/* A set where a random force of it and a random velocity have sent it; w is what is allowed there
 * then. */
static footing random_footing(rng *r, const force_set *set, double s, double *x, double *w) {
  footing at = {.d = {1.0, 0.0}};
  double rest[3], q[3];
  for (int i = 0; i < set->rows; i++) {
    q[i] = rng_between(r, -2.0, 2.0);
    w[i] = rng_between(r, -2.0, 2.0);
  }
  lcplug_project(set, q, x);
  lcplug_footing_settle(&at, set, s, w, 1, x);
  if (at.place == LOW) w[0] = fabs(w[0]);
  if (at.place == EDGE && set->rows == 1) w[0] = -fabs(w[0]);
  lcplug_footing_linearize(&at, set, x);
  lcplug_footing_rest(&at, set, w, rest);
  for (int i = 0; i < set->rows; i++) w[i] -= rest[i];
  return at;
}

/* Nothing is violated there, and a force that settles twice is where it was. */
START_TEST(sets_settle_on_their_edges) {
  rng random = {9};
  for (int k = 0; k < SETS * TRIES; k++) {
    const force_set *set = &sets[k % SETS];
    double s = rng_magnitude(&random, -1.0, 1.0), x[3], w[3], again[3], rest[3], value[MOST_SLACKS];
    footing at = random_footing(&random, set, s, x, w);
    int count = lcplug_footing_slacks(&at, set, s, x, w, value);
    for (int i = 0; i < count; i++) ck_assert_double_ge(value[i], -1e-12);
    lcplug_project(set, x, again);
    ck_assert_double_le(distance_max(x, again, set->rows), 1e-12);
    lcplug_footing_rest(&at, set, w, rest);
    for (int i = 0; i < set->rows; i++) ck_assert_double_le(fabs(rest[i]), 1e-12);
    lcplug_footing_settle(&at, set, s, w, 1, again);
    ck_assert_double_le(distance_max(x, again, set->rows), 1e-12);
  }
}
END_TEST

/* To where slack `index` is 0, along its own gradient. */
static void close_slack(const footing *at, const force_set *set, int index, double *x, double *w) {
  double value[MOST_SLACKS], change[MOST_SLACKS], gradient[6], zero[3] = {0.0}, square = 0.0;
  for (int i = 0; i < 2 * set->rows; i++) {
    double unit[3] = {0.0};
    unit[i % set->rows] = 1.0;
    if (i < set->rows) lcplug_footing_changes(at, set, 1.0, unit, zero, change);
    else lcplug_footing_changes(at, set, 1.0, zero, unit, change);
    gradient[i] = change[index], square += change[index] * change[index];
  }
  lcplug_footing_slacks(at, set, 1.0, x, w, value);
  for (int i = 0; i < set->rows; i++) {
    x[i] -= value[index] / square * gradient[i];
    w[i] -= value[index] / square * gradient[set->rows + i];
  }
}

/* A turn exchanges one equation, which the patches say as well; the slack that was 0 is 0 behind
 * it, and a turn back from there leads to where it came from. */
START_TEST(turns_are_patches) {
  rng random = {10};
  int turns = 0;
  for (int k = 0; k < SETS * TRIES; k++) {
    const force_set *set = &sets[k % SETS];
    double x[3], w[3], before[9], after[9], u[MOST_TURN_PATCHES][SET_MOST_ROWS];
    double v[MOST_TURN_PATCHES][SET_MOST_ROWS], value[MOST_SLACKS];
    footing at = random_footing(&random, set, 1.0, x, w), was = at;
    int count = lcplug_footing_slacks(&at, set, 1.0, x, w, value), rows = set->rows;
    if (!count) continue;
    int index = rng_below(&random, count);
    if (set->rows == 1 && at.place == WITHIN && index == 1 && isinf(set->hi)) continue;
    close_slack(&at, set, index, x, w);
    int back = lcplug_footing_turn(&at, set, index, w);
    ck_assert_int_gt(lcplug_footing_slacks(&at, set, 1.0, x, w, value), back);
    ck_assert_double_le(fabs(value[back]), 1e-12);
    ck_assert_int_ne(at.place, was.place);
    lcplug_footing_block(&was, set, 1.0, before);
    lcplug_footing_block(&at, set, 1.0, after);
    int patches = lcplug_footing_patches(&was, &at, set, 1.0, u, v);
    ck_assert_int_ge(patches, 1);
    for (int e = 0; e < rows * rows; e++) {
      double sum = before[e];
      for (int a = 0; a < patches; a++) sum += u[a][e / rows] * v[a][e % rows];
      ck_assert_double_le(fabs(sum - after[e]), 1e-12 * 1e7);
    }
    turns += patches == 1;
    lcplug_footing_turn(&at, set, back, w);
    ck_assert_int_eq(at.place, was.place);
  }
  ck_assert_int_gt(turns, SETS * TRIES / 2);
}
END_TEST

/* ---- pulls that fade ------------------------------------------------------------------------- */

/* Towards a center that is off the answer, from there; returns what fade_by_pieces does. */
static int fade_from(path_bench *t, const double *x, double pull, double work) {
  path *p = &t->path;
  lcplug_path_pull(p, x, pull);
  return lcplug_fade_by_pieces(p, work);
}

/* From no force at all, and of every kind of cone: a pull as strong as A has an answer nearby. */
START_TEST(strong_pulls_lead_from_nothing_to_the_answer) {
  const double mus[][2] = {{0.5, 0.5}, {0.2, 0.6}, {0.05, 0.05}};
  for (int k = 0; k < 9; k++) {
    rng random = {100u + (unsigned)k};
    path_bench t;
    path_bench_open_pile(&t, instance_contacts(&random, 10, 5, k % 2 ? 1e-8 : 1e-2, mus[k % 3][0],
                                    mus[k % 3][1]));
    double *nothing = calloc((size_t)t.model.n, sizeof *nothing);
    ck_assert(fade_from(&t, nothing, 1.0, 400.0));
    ck_assert_double_le(path_bench_residual(&t), t.it.tol);
    ck_assert_double_eq(t.path.pull, 0.0);
    free(nothing);
    path_bench_close(&t);
  }
}
END_TEST

/* What it leaves in p->now is the answer: the next Newton step there has nothing to do. */
START_TEST(the_point_behind_is_the_answer) {
  rng random = {11};
  path_bench t;
  path_bench_open_pile(&t, instance_contacts(&random, 20, 9, 1e-6, 0.4, 0.4));
  double *nothing = calloc((size_t)t.model.n, sizeof *nothing);
  ck_assert(fade_from(&t, nothing, 1.0, 400.0));
  t.op.table->apply(&t.op, t.path.now.x, t.path.Atrial);
  ck_assert_double_le(distance_max(t.path.Atrial, t.path.now.Ax, t.model.n), 1e-12);
  lcplug_smoothing_answer(&t.path.smooth, t.path.now.x, t.path.now.Ax, t.path.trial);
  ck_assert_double_le(distance_max(t.path.trial, t.it.x, t.model.n), 1e-9);
  free(nothing);
  path_bench_close(&t);
}
END_TEST

/* In a wall of bricks inside each other it may fail; it then stops in time, and gives everything
 * back. */
START_TEST(it_stops_in_time_and_gives_scratch_back) {
  lcplug_record *record = captured_record("hard/bricks-312");
  path_bench t;
  path_bench_open(&t, &record->problem, calloc((size_t)record->problem.n, sizeof(double)));
  double *nothing = calloc((size_t)t.model.n, sizeof *nothing);
  for (double work = 5.0; work < 50.0; work *= 3.0) {
    int before = t.path.steps;
    workspace_mark mark = lcplug_mark(t.workspace);
    ck_assert(!fade_from(&t, nothing, 1e-4, work));
    workspace_mark after = lcplug_mark(t.workspace);
    ck_assert_mem_eq(&mark, &after, sizeof mark);
    ck_assert_int_le(t.path.steps - before, (int)work + 20);
    ck_assert_double_eq(t.path.pull, 0.0);
  }
  free(nothing), free(t.it.x);
  path_bench_close(&t);
  lcplug_record_free(record);
}
END_TEST

/* Rows that follow a force, and friction without a limit, are for others. */
START_TEST(it_knows_what_it_is_not_for) {
  rng random = {12};
  path_bench t;
  path_bench_open_pile(&t, instance_contacts(&random, 8, 4, 1e-3, 0.4, 0.4));
  ck_assert(lcplug_may_go_by_pieces(&t.path));
  t.path.smooth.rough = 1;
  ck_assert(!lcplug_may_go_by_pieces(&t.path));
  t.path.smooth.rough = 0;
  t.model.sets[1].kind = SET_COUPLED;
  ck_assert(!lcplug_may_go_by_pieces(&t.path));
  t.model.sets[1].kind = SET_CONE;
  t.model.coulomb = 0;
  ck_assert(!lcplug_may_go_by_pieces(&t.path));
  path_bench_close(&t);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pieces");
  TCase *changes = support_case(suite, "changes of rank one");
  tcase_add_test(changes, patched_factors_solve_the_changed_system);
  tcase_add_test(changes, patches_may_be_refused);
  TCase *places = support_case(suite, "places");
  tcase_add_test(places, sets_settle_on_their_edges);
  tcase_add_test(places, turns_are_patches);
  TCase *pulls = support_case(suite, "pulls");
  tcase_add_test(pulls, strong_pulls_lead_from_nothing_to_the_answer);
  tcase_add_test(pulls, the_point_behind_is_the_answer);
  tcase_add_test(pulls, it_stops_in_time_and_gives_scratch_back);
  tcase_add_test(pulls, it_knows_what_it_is_not_for);
  return support_run(suite);
}
