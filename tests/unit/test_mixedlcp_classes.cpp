/* test_mixedlcp_classes.cpp - the C++ interface: whatever holds the numbers, whoever solves.
 *
 * One problem by hand: a block on a plane, pressed down and pushed along x and, less, along y.  It
 * slides along x and sticks along y:  lambda = (4, -2, 0.5). */
#include <lcplug/mixedlcp.hpp>

#include <array>
#include <cfloat>
#include <cmath>
#include <deque>
#include <memory>
#include <string>
#include <valarray>

extern "C" {
#include "support.h"
}

namespace {

const double A[9] = {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5};
const double B[3] = {2, -3, 0.25}, LO[3] = {0, -0.5, -0.5}, HI[3] = {DBL_MAX, 0.5, 0.5};
const int FINDEX[3] = {-1, 0, 0};
const double LAMBDA[3] = {4, -2, 0.5}, W[3] = {0, 2, 0};

/* The least that a vector can be: no iterators, a size of its own kind. */
template <class Number> class Bare {
public:
  Bare(const Number *values, short count) : values_(values), count_(count) {}
  short size() const { return count_; }
  Number operator[](int i) const { return values_[i]; }

private:
  const Number *values_;
  short count_;
};

/* A matrix that tells its rows, and not its size. */
class Rows {
public:
  explicit Rows(const double *values) : values_(values) {}
  unsigned rows() const { return 3; }
  const double *operator[](unsigned i) const { return values_ + 3 * i; }

private:
  const double *values_;
};

typedef std::vector<std::vector<double>> Nested;
Nested nested() { return Nested{{0.5, 0, 0}, {0, 0.5, 0}, {0, 0, 0.5}}; }

void set_vectors(lcplug::MixedLCP &lcp) {
  lcp.setFrictionIndex(std::vector<int>(FINDEX, FINDEX + 3));
  lcp.setLowVector(Bare<double>(LO, 3));
  lcp.setHighVector(std::array<double, 3>{{HI[0], HI[1], HI[2]}});
  lcp.setNumberFrictionConstraints(2);
  lcp.setAddFriction(std::deque<float>(3, 0.0f));
  lcp.setValuesInRightSide(-std::valarray<double>{-B[0], -B[1], -B[2]}); /* an expression */
}

void check_answer(lcplug::MixedLCP &lcp) {
  ck_assert(lcp.solve());
  ck_assert(lcp.validSolution());
  ck_assert_int_eq(lcp.getLambda().size(), 3);
  for (int i = 0; i < 3; i++) {
    ck_assert_double_le(std::fabs(lcp.getLambda()[i] - LAMBDA[i]), 1e-5);
    ck_assert_double_le(std::fabs(lcp.ref_w()[i] - W[i]), 1e-5);
  }
}

/* ---- whoever solves -------------------------------------------------------------------------- */

typedef std::array<std::unique_ptr<lcplug::MixedLCP>, 4> Solvers;

Solvers one_of_each() {
  Solvers solvers;
  solvers[0].reset(new lcplug::DantzigLCP(3, 0));
  solvers[1].reset(new lcplug::PgsLCP(3, 0));
  solvers[2].reset(new lcplug::ApgdLCP(3, 0, 200, 1e-8));
  solvers[3].reset(new lcplug::ExactLCP(3, 0));
  return solvers;
}

START_TEST(every_class) {
  for (std::unique_ptr<lcplug::MixedLCP> &lcp : one_of_each()) {
    ck_assert_int_eq(lcp->size(), 3);
    ck_assert(!lcp->validSolution());
    lcp->setValuesInMatrix(nested());
    set_vectors(*lcp);
    check_answer(*lcp);
  }
}
END_TEST

START_TEST(constructors) {
  lcplug::PgsLCP pgs(3, 1, 17, 1e-3);
  ck_assert_int_eq(pgs.settings().solver, LCPLUG_PGS);
  ck_assert_int_eq(pgs.settings().max_iter, 17);
  ck_assert_double_eq(pgs.settings().tol, 1e-3);
  ck_assert_int_eq(lcplug::DantzigLCP(3, 0).settings().solver, LCPLUG_UPSTREAM);
  bool thrown = false;
  try {
    lcplug::ApgdLCP impossible(-1, 0);
  } catch (const std::bad_alloc &) {
    thrown = true;
  }
  ck_assert(thrown);
}
END_TEST

/* ---- whatever holds the numbers -------------------------------------------------------------- */

template <class Matrix> void check_matrix(const Matrix &matrix) {
  lcplug::ExactLCP lcp(3, 0);
  lcp.setValuesInMatrix(matrix);
  set_vectors(lcp);
  check_answer(lcp);
}

START_TEST(matrices) {
  check_matrix(nested());
  check_matrix(std::vector<double>(A, A + 9));
  check_matrix(std::array<std::array<double, 3>, 3>{{{{0.5, 0, 0}}, {{0, 0.5, 0}}, {{0, 0, 0.5}}}});
  check_matrix(Bare<double>(A, 9));
  check_matrix(Rows(A));
}
END_TEST

START_TEST(pointers) {
  double padded[12];
  for (int i = 0; i < 12; i++) padded[i] = i % 4 <= i / 4 ? A[3 * (i / 4) + i % 4] : NAN;
  double minus_b[3] = {-B[0], -B[1], -B[2]}, none[3] = {0, 0, 0};
  lcplug::ExactLCP lcp(3, 0);
  lcp.setValuesInMatrix(padded, 3, 4, false);
  lcp.setFrictionIndex(FINDEX, 3);
  lcp.setLowVector(LO, 3);
  lcp.setHighVector(HI, 3);
  lcp.setAddFriction(none, 3);
  lcp.setNegatedRightSide(minus_b, 3);
  check_answer(lcp);
  lcp.setNegatedRightSide(std::vector<double>(minus_b, minus_b + 3));
  check_answer(lcp);
}
END_TEST

/* ---- lambda ---------------------------------------------------------------------------------- */

START_TEST(lambda_can_be_written) {
  lcplug::PgsLCP lcp(3, 0);
  lcp.setValuesInMatrix(nested());
  set_vectors(lcp);
  lcp.setLambda(std::vector<double>(2, 1.0)); /* by position; what is missing is 0 */
  ck_assert_double_eq(lcp.getLambda()[1], 1.0);
  ck_assert_double_eq(lcp.getLambda()[2], 0.0);
  check_answer(lcp);
  lcp.getLambda().setAllElementsToZero();
  for (double value : lcp.getLambda()) ck_assert_double_eq(value, 0.0);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------- */

/* A setter returns nothing, so solve() tells, until it is set right. */
START_TEST(setters_are_heard) {
  lcplug::ExactLCP lcp(3, 0);
  ck_assert(!lcp.solve());
  ck_assert_int_eq(lcp.error(), LCPLUG_ERROR_ARGUMENT);
  lcp.setValuesInMatrix(nested());
  set_vectors(lcp);
  check_answer(lcp);
  ck_assert_int_eq(lcp.error(), LCPLUG_OK);

  lcp.setValuesInMatrix(std::vector<double>(16, 0.0));
  ck_assert(!lcp.solve());
  ck_assert(!lcp.validSolution());
  ck_assert_int_eq(lcp.error(), LCPLUG_ERROR_SIZE);
  lcp.setValuesInMatrix(nested());
  check_answer(lcp);

  Nested ragged = nested();
  ragged[1].pop_back();
  lcp.setValuesInMatrix(ragged);
  ck_assert(!lcp.solve());
  lcp.setValuesInMatrix(std::vector<double>(A, A + 7)); /* no square */
  ck_assert(!lcp.solve());
  ck_assert_int_eq(lcp.error(), LCPLUG_ERROR_SIZE);
  lcp.setValuesInMatrix(nested());
  check_answer(lcp);

  lcp.setValuesInRightSide(std::vector<double>(2, 0.0));
  ck_assert(!lcp.solve());
  lcp.setValuesInRightSide(B, 3);
  lcp.setAddFriction(std::vector<double>(3, -1.0));
  ck_assert(!lcp.solve());
  ck_assert_int_eq(lcp.error(), LCPLUG_ERROR_BOUNDS);
  lcp.setAddFriction(std::vector<double>());
  check_answer(lcp);
}
END_TEST

/* Who knows only the interface learns why, too. */
START_TEST(asymmetric_matrix) {
  Nested augmented{{2, 0, 0}, {0, 2, 1}, {0.5, -1, 0}};
  for (std::unique_ptr<lcplug::MixedLCP> &lcp : one_of_each()) {
    lcp->setValuesInMatrix(nested());
    set_vectors(*lcp);
    check_answer(*lcp);
    lcp->setValuesInMatrix(augmented);
    ck_assert(!lcp->solve());
    ck_assert(!lcp->validSolution());
    ck_assert_int_eq(lcp->error(), LCPLUG_ERROR_ASYMMETRIC);
    ck_assert_str_eq(lcp->errorText(), lcplug_error_text(LCPLUG_ERROR_ASYMMETRIC));
    lcp->setValuesInMatrix(nested());
    check_answer(*lcp);
    ck_assert_int_eq(lcp->error(), LCPLUG_OK);
  }
}
END_TEST

/* ---- L D L^T --------------------------------------------------------------------------------- */

START_TEST(ldlt_decomposition) {
  Nested matrix{{4, 2}, {2, 5}}, lower{{0, 0}, {0, 0}};
  ck_assert(lcplug::MixedLCP::ldltDecomposition(matrix, lower));
  ck_assert_double_eq(lower[0][0], 4);
  ck_assert_double_eq(lower[1][0], 0.5);
  ck_assert_double_eq(lower[1][1], 4);
  ck_assert_double_eq(lower[0][1], 0);
  std::vector<double> flat(4);
  ck_assert(lcplug::MixedLCP::ldltDecomposition(matrix, flat));
  ck_assert_double_eq(flat[2], 0.5);
  Nested indefinite{{1, 2}, {2, 1}}, oblong{{1, 2, 3}, {2, 1, 3}};
  ck_assert(!lcplug::MixedLCP::ldltDecomposition(indefinite, lower));
  ck_assert(!lcplug::MixedLCP::ldltDecomposition(oblong, lower));
}
END_TEST

/* n is the object's, and the elements above the diagonal are nobody's. */
START_TEST(ldlt_decomposition_of_pointers) {
  std::unique_ptr<lcplug::MixedLCP> lcp(new lcplug::ExactLCP(2, 0));
  double matrix[4] = {4, NAN, 2, 5}, lower[4], padded[6] = {4, NAN, NAN, 2, 5, NAN}, wide[8];
  ck_assert(lcp->ldltDecomposition(matrix, lower));
  ck_assert(lcp->ldltDecomposition(padded, 3, wide, 4));
  const double expected[4] = {4, 0, 0.5, 4};
  for (int i = 0; i < 4; i++) {
    ck_assert_double_eq(lower[i], expected[i]);
    ck_assert_double_eq(wide[4 * (i / 2) + i % 2], expected[i]);
  }
  ck_assert(lcp->ldltDecomposition(matrix, matrix)); /* in place */
  ck_assert_double_eq(matrix[3], 4);
  double indefinite[4] = {1, 2, 2, 1};
  ck_assert(!lcp->ldltDecomposition(indefinite, lower));
  ck_assert(!lcp->ldltDecomposition(padded, 1, wide, 4)); /* rows that overlap */
  ck_assert(!lcp->ldltDecomposition(static_cast<const double *>(nullptr), lower));
}
END_TEST

} // namespace

int main() {
  Suite *suite = suite_create("mixedlcp classes");
  TCase *tests = support_case(suite, "classes");
  tcase_add_test(tests, every_class);
  tcase_add_test(tests, constructors);
  tcase_add_test(tests, matrices);
  tcase_add_test(tests, pointers);
  tcase_add_test(tests, lambda_can_be_written);
  tcase_add_test(tests, setters_are_heard);
  tcase_add_test(tests, asymmetric_matrix);
  tcase_add_test(tests, ldlt_decomposition);
  tcase_add_test(tests, ldlt_decomposition_of_pointers);
  return support_run(suite);
}
