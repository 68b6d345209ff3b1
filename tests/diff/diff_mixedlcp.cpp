/* diff_mixedlcp.cpp - the solver objects, driven as a simulator drives them, against upstream ODE.
 *
 * Problem.   A simulator that has talked to upstream's Dantzig through an object must see no
 *            difference.
 * Method.    Problems of real scenes, all setters in the usual order, the usual remedy when a solve
 *            fails; upstream itself is asked beside it for the same problem.
 * Contract.  DantzigLCP gives upstream's bits.  The others solve the same problem: with the bounds
 *            that upstream froze, w is unique. */
#include <lcplug/mixedlcp.hpp>

#include <cfloat>
#include <cmath>
#include <memory>
#include <thread>

#include <ode/ode.h>

extern "C" {
#include "capture.h"
#include "unit/support.h"
}

namespace {

typedef std::vector<double> Vector;
typedef std::vector<Vector> Matrix;
typedef std::unique_ptr<diff_problem, void (*)(diff_problem *)> Problem;
typedef std::unique_ptr<diff_answer, void (*)(diff_answer *)> Answer;

Answer owned(diff_answer *a) { return Answer(a, diff_answer_free); }
Problem owned(diff_problem *p) { return Problem(p, diff_problem_free); }

/* ---- the caller ------------------------------------------------------------------------------ */

Matrix full_matrix(const diff_problem &p) {
  Matrix A(p.n, Vector(p.n));
  for (int i = 0; i < p.n; i++)
    for (int j = 0; j <= i; j++) A[i][j] = A[j][i] = p.A[i * p.stride + j];
  return A;
}

Vector negated(const double *values, int n) {
  Vector copied(n);
  for (int i = 0; i < n; i++) copied[i] = -values[i];
  return copied;
}

/* Such callers know no infinity. */
Vector limited(const double *values, int n) {
  Vector copied(n);
  for (int i = 0; i < n; i++) copied[i] = std::fmax(std::fmin(values[i], DBL_MAX), -DBL_MAX);
  return copied;
}

int friction_rows(const diff_problem &p) {
  int count = 0;
  for (int i = 0; i < p.n; i++) count += diff_is_friction(&p, i);
  return count;
}

/* All setters, in an order in which such callers use them. */
void set_all(lcplug::MixedLCP &lcp, const diff_problem &p, const Vector &additional) {
  lcp.setValuesInMatrix(full_matrix(p));
  lcp.setFrictionIndex(p.findex ? std::vector<int>(p.findex, p.findex + p.n) : std::vector<int>());
  lcp.setLowVector(limited(p.lo, p.n));
  lcp.setHighVector(limited(p.hi, p.n));
  lcp.setNumberFrictionConstraints(friction_rows(p));
  lcp.setAddFriction(additional);
  lcp.setNegatedRightSide(negated(p.b, p.n));
}

/* The same with the bounds behind b, and b as it is. */
void set_all_b_first(lcplug::MixedLCP &lcp, const diff_problem &p, const Vector &additional) {
  lcp.setValuesInMatrix(full_matrix(p));
  lcp.setValuesInRightSide(Vector(p.b, p.b + p.n));
  lcp.setLowVector(limited(p.lo, p.n));
  lcp.setHighVector(limited(p.hi, p.n));
  lcp.setFrictionIndex(p.findex ? std::vector<int>(p.findex, p.findex + p.n) : std::vector<int>());
  lcp.setNumberFrictionConstraints(friction_rows(p));
  lcp.setAddFriction(additional);
}

typedef void Setter(lcplug::MixedLCP &lcp, const diff_problem &p, const Vector &additional);

/* Until the answer is valid, the diagonal grows: p's own, so that others can be asked for the same.
 * The number of solves, or 0 if the end of patience was reached. */
int solve_patiently(lcplug::MixedLCP &lcp, diff_problem &p, Setter *set, const Vector &additional) {
  set(lcp, p, additional);
  double cfm = 0.0;
  for (int times = 1;; times++) {
    if (lcp.solve() && lcp.validSolution()) return times;
    cfm = std::fmax(2 * cfm, 1e-4);
    if (cfm > 0.1) return 0;
    for (int i = 0; i < p.n; i++) p.A[i * p.stride + i] += cfm;
    set(lcp, p, additional);
  }
}

/* ---- problems -------------------------------------------------------------------------------- */

struct Scene {
  const char *kind;
  int size;
  double mu, cfm;
};
const Scene SCENES[] = {{"spheres", 20, 0.5, 1e-10},   {"boxes", 8, 0.5, 1e-5},
                        {"boxes", 6, dInfinity, 1e-5}, {"ragdoll", 2, 0.5, 1e-10},
                        {"vehicles", 1, 0.5, 1e-10},   {"motors", 2, 0.5, 1e-10},
                        {"rolling", 6, 0.5, 1e-10},    {"chain", 2, 0.5, 1e-10},
                        {"wall", 3, 0.5, 1e-10},       {"pyramid", 3, 0.5, 1e-5}};
const int SCENES_IN_ALL = sizeof SCENES / sizeof SCENES[0];

Problem problem_of(const Scene &row, int step, int failing) {
  scene_config config = scene_config_default();
  config.kind = row.kind;
  config.size = row.size;
  config.mu = row.mu;
  config.cfm = row.cfm;
  return owned(capture_from_scene(&config, step, 20, 160, failing));
}

double distance(const double *p, const double *q, int n) {
  double worst = 0.0;
  for (int i = 0; i < n; i++) worst = std::fmax(worst, std::fabs(p[i] - q[i]));
  return worst;
}

/* ---- tests ----------------------------------------------------------------------------------- */

void check_dantzig(const diff_problem &p, const diff_answer &upstream) {
  lcplug::DantzigLCP lcp(p.n, p.nub);
  set_all(lcp, p, Vector(p.n, 0.0));
  diff_expect(lcp.solve(), "%s: refused: %s", p.name, lcp.errorText());
  diff_expect(lcp.info().solver == LCPLUG_UPSTREAM, "%s: not upstream's answer", p.name);
  double x = distance(lcp.getLambda().data(), upstream.x, p.n);
  diff_expect(x == 0.0, "%s: lambda is %.2e from upstream's", p.name, x);
  double w = distance(lcp.ref_w().data(), upstream.w, p.n) / upstream.unit;
  diff_expect(w <= 1e-9, "%s: w is %.2e from the formula's", p.name, w);
  double residual = lcp.info().residual;
  diff_expect(std::fabs(residual - upstream.residual) <= 1e-6 * upstream.residual + 1e-9,
              "%s: residual %.3e reported, %.3e by its formula", p.name, residual,
              upstream.residual);
  diff_expect(lcp.validSolution() == (residual <= 1e-4), "%s: valid with %.2e", p.name, residual);
}

/* With the bounds frozen by upstream all solve one convex problem.  The limit is one that tells an
 * answer from none: without any force the residual is 1. */
template <class Solver>
void check_frozen(const diff_problem &p, const diff_answer &upstream, double limit) {
  Problem frozen = owned(diff_problem_frozen(&p, upstream.lo, upstream.hi));
  Solver lcp(p.n, p.nub);
  set_all(lcp, *frozen, Vector());
  diff_expect(lcp.solve(), "%s: refused: %s", p.name, lcp.errorText());
  Answer answer =
      owned(diff_answer_of(frozen.get(), lcp.getLambda().data(), frozen->lo, frozen->hi));
  double told = lcp.info().residual;
  const char *name = lcplug_solver_name(lcp.info().solver);
  diff_expect(std::fabs(told - answer->residual) <= 1e-6 * answer->residual + 1e-9,
              "%s, %s: residual %.3e reported, %.3e by its formula", p.name, name, told,
              answer->residual);
  diff_expect(answer->residual <= limit, "%s, %s: residual %.2e", p.name, name, answer->residual);
  Answer no_force =
      owned(diff_answer_of(frozen.get(), Vector(p.n, 0.0).data(), frozen->lo, frozen->hi));
  diff_expect(no_force->residual > limit, "%s: no force has a residual of %.2e", p.name,
              no_force->residual);
  if (limit <= 1e-9)
    diff_expect(diff_w_distance(&upstream, answer.get()) <= 1e-7,
                "%s, %s: w is %.2e from upstream's", p.name, name,
                diff_w_distance(&upstream, answer.get()));
}

START_TEST(every_object_on_every_scene) {
  ck_assert(scenes_init());
  const int steps[] = {0, 40, 90};
  for (int step : steps) {
    Problem p = problem_of(SCENES[_i], step, 0);
    if (!p) continue; /* still in the air */
    Answer upstream = owned(diff_upstream(p.get()));
    check_dantzig(*p, *upstream);
    if (!diff_upstream_solved(upstream.get())) continue;
    check_frozen<lcplug::DantzigLCP>(*p, *upstream, 1e-9);
    check_frozen<lcplug::ExactLCP>(*p, *upstream, 1e-9);
    check_frozen<lcplug::PgsLCP>(*p, *upstream, 1e-2); /* what they reach is their budget's: */
    check_frozen<lcplug::ApgdLCP>(*p, *upstream, 1e-4); /* at the worst 3e-3 and 2e-5 */
  }
  scenes_done();
  diff_finish();
}
END_TEST

/* A contact that grips without limit along one axis and slides along the other: of the bounds that
 * upstream hands back in its own order, some are infinite, some 0 and some neither. */
START_TEST(one_coefficient_infinite) {
  ck_assert(scenes_init());
  for (int step = 0; step < 3; step++) {
    Problem p = problem_of(SCENES[step], 30, 0);
    ck_assert(p != nullptr);
    for (int i = 1; i < p->n; i++)
      if (diff_is_friction(p.get(), i) && !diff_is_friction(p.get(), i - 1)) p->hi[i] = INFINITY;
    Answer upstream = owned(diff_upstream(p.get()));
    diff_expect(diff_upstream_solved(upstream.get()), "%s: %.2e", p->name, upstream->residual);
    check_dantzig(*p, *upstream);
  }
  scenes_done();
  diff_finish();
}
END_TEST

void say_nothing(int, const char *, va_list) {}

/* Where upstream gives up, its object says so, the caller raises CFM, and at last gets an answer:
 * that of upstream for the problem so changed.  exact needs no such help. */
START_TEST(raised_cfm_ends_well) {
  ck_assert(scenes_init());
  Scene tower = {"tower", 3, 0.5, 0.0};
  Problem p = problem_of(tower, 0, 1);
  ck_assert_msg(p != nullptr, "upstream met no error on the tower");
  lcplug::ExactLCP exact(p->n, p->nub);
  set_all(exact, *p, Vector());
  diff_expect(exact.solve() && exact.validSolution(), "exact: residual %.2e",
              exact.info().residual);

  lcplug::DantzigLCP lcp(p->n, p->nub);
  dSetMessageHandler(say_nothing);
  int times = solve_patiently(lcp, *p, set_all, Vector());
  dSetMessageHandler(nullptr);
  Answer upstream = owned(diff_upstream(p.get()));
  diff_expect(times > 1, "solved after %d", times);
  diff_expect(distance(lcp.getLambda().data(), upstream->x, p->n) == 0.0, "not upstream's answer");
  diff_expect(upstream->residual <= 1e-4, "valid, and yet a residual of %.2e", upstream->residual);
  scenes_done();
  diff_finish();
}
END_TEST

/* mu |x_n| + force, done with upstream by hand: without friction, then with constant bounds. */
Answer upstream_with_additional(const diff_problem &p, const Vector &additional, Problem &frozen) {
  Vector none(p.n, 0.0), bound(p.n), minus(p.n);
  Problem first = owned(diff_problem_frozen(&p, none.data(), none.data()));
  Answer normal = owned(diff_upstream(first.get()));
  for (int i = 0; i < p.n; i++) {
    if (diff_is_friction(&p, i))
      bound[i] = std::fabs(p.hi[i] * normal->x[p.findex[i]]) + additional[i];
    minus[i] = -bound[i];
  }
  frozen = owned(diff_problem_frozen(&p, minus.data(), bound.data()));
  return owned(diff_upstream(frozen.get()));
}

START_TEST(additional_friction) {
  ck_assert(scenes_init());
  Scene slider = {"slider", 2, 0.5, 1e-5}; /* soft enough for normal forces that are unique */
  Problem p = problem_of(slider, 5, 0), frozen = owned(static_cast<diff_problem *>(nullptr));
  ck_assert(p != nullptr);
  Vector additional(p->n);
  for (int i = 0; i < p->n; i++) additional[i] = 0.125 * (i % 5);
  Answer upstream = upstream_with_additional(*p, additional, frozen);
  ck_assert(diff_upstream_solved(upstream.get()));
  Answer without = owned(diff_upstream(p.get()));
  diff_expect(diff_w_distance(upstream.get(), without.get()) > 1e-3, "it makes no difference");

  lcplug::DantzigLCP dantzig(p->n, p->nub);
  lcplug::ExactLCP exact(p->n, p->nub);
  lcplug::SolverLCP *objects[] = {&dantzig, &exact};
  for (lcplug::SolverLCP *lcp : objects) {
    set_all(*lcp, *p, additional);
    diff_expect(lcp->solve() && lcp->validSolution(), "refused: %s", lcp->errorText());
    Answer answer =
        owned(diff_answer_of(frozen.get(), lcp->getLambda().data(), frozen->lo, frozen->hi));
    diff_expect(diff_w_distance(upstream.get(), answer.get()) <= 1e-7,
                "%s: w is %.2e from upstream's", lcplug_solver_name(lcp->info().solver),
                diff_w_distance(upstream.get(), answer.get()));
  }
  scenes_done();
  diff_finish();
}
END_TEST

/* ---- a caller's whole life ------------------------------------------------------------------- */

/* max |A - L D L^T|, as a fraction of the largest element of A. */
double decomposition_error(const Matrix &A, const Matrix &L) {
  double worst = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < A.size(); i++)
    for (std::size_t j = 0; j <= i; j++) {
      double sum = 0.0;
      for (std::size_t k = 0; k <= j; k++)
        sum += (k < i ? L[i][k] : 1.0) * (k < j ? L[j][k] : 1.0) * L[k][k];
      worst = std::fmax(worst, std::fabs(sum - A[i][j]));
      largest = std::fmax(largest, std::fabs(A[i][j]));
    }
  return worst / largest;
}

void check_decomposition(lcplug::MixedLCP &lcp, const diff_problem &p) {
  Matrix A = full_matrix(p), L(p.n, Vector(p.n));
  diff_expect(lcp.ldltDecomposition(A, L), "%s: A has no L D L^T", p.name);
  double error = decomposition_error(A, L);
  diff_expect(error <= 1e-12, "%s: L D L^T is %.2e from A", p.name, error);
  Vector flat(p.n * p.n);
  diff_expect(lcp.ldltDecomposition(p.A, p.stride, flat.data(), p.n), "%s: by pointers", p.name);
  double other = 0.0;
  for (int i = 0; i < p.n; i++)
    other = std::fmax(other, distance(flat.data() + i * p.n, L[i].data(), p.n));
  diff_expect(other == 0.0, "%s: by pointers L is %.2e from that by matrices", p.name, other);
}

/* Upstream's lambda in an object of another kind: it has little left to do, and ends there. */
template <class Solver>
void check_warm_start(const diff_problem &frozen, lcplug::MixedLCP &before,
                      const diff_answer &upstream) {
  Solver cold(frozen.n, frozen.nub), warm(frozen.n, frozen.nub);
  set_all_b_first(cold, frozen, Vector());
  set_all_b_first(warm, frozen, Vector());
  warm.setLambda(before.getLambda());
  diff_expect(cold.solve() && warm.solve() && warm.validSolution(), "%s", warm.errorText());
  int all = cold.info().iterations, left = warm.info().iterations;
  diff_expect(left <= all / 10, "%d iterations with upstream's lambda, %d without", left, all);
  double w = distance(warm.ref_w().data(), upstream.w, frozen.n) / upstream.unit;
  diff_expect(w <= 1e-5, "w is %.2e from upstream's", w);
}

/* Every call, from the matrix to the next object's guess, with a solve that fails in between. */
START_TEST(whole_order_of_calls) {
  ck_assert(scenes_init());
  Scene tower = {"tower", 3, 0.5, 0.0};
  Problem p = problem_of(tower, 0, 1), frozen = owned(static_cast<diff_problem *>(nullptr));
  ck_assert(p != nullptr);
  Vector additional(p->n);
  for (int i = 0; i < p->n; i++) additional[i] = 0.125 * (i % 5);
  std::unique_ptr<lcplug::MixedLCP> lcp(new lcplug::DantzigLCP(p->n, p->nub));
  dSetMessageHandler(say_nothing);
  int solves = solve_patiently(*lcp, *p, set_all_b_first, additional);
  Answer upstream = upstream_with_additional(*p, additional, frozen);
  dSetMessageHandler(nullptr);
  diff_expect(solves > 1, "valid after %d solves: no CFM was needed", solves);
  double x = distance(lcp->getLambda().data(), upstream->x, p->n);
  diff_expect(x == 0.0, "lambda is %.2e from upstream's", x);
  double w = distance(lcp->ref_w().data(), upstream->w, p->n) / upstream->unit;
  diff_expect(w <= 1e-9, "w is %.2e from upstream's", w);
  diff_expect(lcp->validSolution() && upstream->residual <= 1e-4, "residual %.2e",
              upstream->residual);
  check_decomposition(*lcp, *p);
  check_warm_start<lcplug::PgsLCP>(*frozen, *lcp, *upstream);
  check_warm_start<lcplug::ApgdLCP>(*frozen, *lcp, *upstream);
  scenes_done();
  diff_finish();
}
END_TEST

void solve_often(const diff_problem *p, const diff_answer *upstream, int *wrong) {
  for (int k = 0; k < 20; k++) {
    lcplug::DantzigLCP lcp(p->n, p->nub);
    set_all(lcp, *p, Vector());
    *wrong += !lcp.solve() || distance(lcp.getLambda().data(), upstream->x, p->n) != 0.0;
  }
}

/* Clusters of bodies are solved at the same time, each by an object of its own. */
START_TEST(objects_in_threads) {
  ck_assert(scenes_init());
  Problem p = problem_of(SCENES[1], 40, 0);
  ck_assert(p != nullptr);
  Answer upstream = owned(diff_upstream(p.get()));
  int wrong[4] = {0, 0, 0, 0};
  std::vector<std::thread> threads;
  for (int &mine : wrong) threads.emplace_back(solve_often, p.get(), upstream.get(), &mine);
  for (std::thread &t : threads) t.join();
  for (int mine : wrong) ck_assert_int_eq(mine, 0);
  scenes_done();
}
END_TEST

} // namespace

int main() {
  Suite *suite = suite_create("mixedlcp against upstream");
  TCase *tests = support_case(suite, "objects");
  tcase_add_loop_test(tests, every_object_on_every_scene, 0, SCENES_IN_ALL);
  tcase_add_test(tests, one_coefficient_infinite);
  tcase_add_test(tests, raised_cfm_ends_well);
  tcase_add_test(tests, additional_friction);
  tcase_add_test(tests, whole_order_of_calls);
  tcase_add_test(tests, objects_in_threads);
  return support_run(suite);
}
