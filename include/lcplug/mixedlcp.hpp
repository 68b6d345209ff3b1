/* lcplug/mixedlcp.hpp - mixedlcp.h for C++11: one interface, several solvers.
 *
 *     std::unique_ptr<lcplug::MixedLCP> lcp(new lcplug::DantzigLCP(n, nub));
 *     lcp->setValuesInMatrix(A);
 *     lcp->setFrictionIndex(findex);
 *     lcp->setLowVector(lo);
 *     lcp->setHighVector(hi);
 *     lcp->setNumberFrictionConstraints(count);
 *     lcp->setAddFriction(force);
 *     lcp->setValuesInRightSide(-b);
 *     while (!lcp->solve() || !lcp->validSolution()) ...   // raise CFM, set A, lo, hi and b again
 *     use(lcp->getLambda());
 *
 * Every setter takes a plain pointer with a count, or anything with size() and operator[], and
 * copies it; a matrix is rows (A[i][j]) or n * n numbers in a row.  What the parts mean is said in
 * mixedlcp.h.  A setter that is given nonsense makes solve() return false until it has been given
 * sense; error() tells why. */
#ifndef LCPLUG_MIXEDLCP_HPP
#define LCPLUG_MIXEDLCP_HPP

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <lcplug/mixedlcp.h>

namespace lcplug {

/* The numbers of an object: changing them changes it. */
class VectorView {
public:
  VectorView(double *first, std::int32_t count) : first_(first), count_(count) {}
  std::int32_t size() const { return count_; }
  double &operator[](std::size_t i) const { return first_[i]; }
  double *data() const { return first_; }
  double *begin() const { return first_; }
  double *end() const { return first_ + count_; }
  void setAllElementsToZero() const {
    for (double &value : *this) value = 0.0;
  }

private:
  double *first_;
  std::int32_t count_;
};

namespace detail {

/* A matrix is rows that have elements, or else its elements one after the other. */
template <class Matrix>
using is_flat = std::is_convertible<decltype(std::declval<Matrix &>()[0]), double>;

/* n of an n x n matrix, or NOT_SQUARE.  The int and the long let an overload that exists go first.
 */
const std::size_t NOT_SQUARE = static_cast<std::size_t>(-1);

template <class Matrix> auto rows(const Matrix &A, int) -> decltype(std::size_t(A.rows())) {
  return std::size_t(A.rows());
}
template <class Matrix> std::size_t rows(const Matrix &A, long) { return std::size_t(A.size()); }

template <class Row>
auto has_length(const Row &row, std::size_t n, int) -> decltype(std::size_t(row.size()) == n) {
  return std::size_t(row.size()) == n;
}
template <class Row> bool has_length(const Row &, std::size_t, long) { return true; }

template <class Matrix> std::size_t order(const Matrix &A, std::false_type) {
  std::size_t n = rows(A, 0);
  for (std::size_t i = 0; i < n; i++)
    if (!has_length(A[i], n, 0)) return NOT_SQUARE;
  return n;
}
template <class Matrix> std::size_t order(const Matrix &A, std::true_type) {
  std::size_t n = 0, elements = std::size_t(A.size());
  while (n * n < elements) n++;
  return n * n == elements ? n : NOT_SQUARE;
}

template <class Matrix>
auto element(Matrix &A, std::size_t, std::size_t i, std::size_t j, std::false_type)
    -> decltype(A[i][j]) {
  return A[i][j];
}
template <class Matrix>
auto element(Matrix &A, std::size_t n, std::size_t i, std::size_t j, std::true_type)
    -> decltype(A[i * n + j]) {
  return A[i * n + j];
}

template <class Matrix> std::vector<double> copy_matrix(const Matrix &A, std::size_t n) {
  std::vector<double> copied(n * n);
  for (std::size_t i = 0; i < n; i++)
    for (std::size_t j = 0; j < n; j++)
      copied[i * n + j] = static_cast<double>(element(A, n, i, j, is_flat<const Matrix>()));
  return copied;
}

} // namespace detail

/* What a caller sees of its solver. */
class MixedLCP {
public:
  virtual ~MixedLCP() {}
  virtual std::int32_t size() const = 0;

  /* rows x rows elements; both triangles, unless `full` is false. */
  virtual void setValuesInMatrix(const double *values, std::size_t rows, std::size_t stride,
                                 bool full) = 0;
  virtual void setValuesInRightSide(const double *values, std::int32_t count) = 0;
  virtual void setNegatedRightSide(const double *values, std::int32_t count) = 0;
  virtual void setLowVector(const double *values, std::int32_t count) = 0;
  virtual void setHighVector(const double *values, std::int32_t count) = 0;
  virtual void setFrictionIndex(const std::int32_t *values, std::int32_t count) = 0;
  virtual void setNumberFrictionConstraints(std::int32_t count) = 0;
  virtual void setAddFriction(const double *values, std::int32_t count) = 0;

  /* The guess of a solver that starts from one, row by row; rows behind it start from 0. */
  virtual void setLambda(const double *values, std::int32_t count) = 0;

  /* Whether there is an answer, and whether it is good enough. */
  virtual bool solve() = 0;
  virtual bool validSolution() const = 0;

  /* Why the last solve() returned false; LCPLUG_OK if it returned true. */
  virtual lcplug_error error() const = 0;
  virtual const char *errorText() const { return lcplug_error_text(error()); }

  virtual VectorView getLambda() const = 0;
  virtual VectorView ref_w() const = 0;

  template <class Matrix> void setValuesInMatrix(const Matrix &values) {
    std::size_t n = detail::order(values, detail::is_flat<const Matrix>());
    bool fits = n == static_cast<std::size_t>(size());
    std::vector<double> copied = detail::copy_matrix(values, fits ? n : 0);
    setValuesInMatrix(copied.data(), n, n, true);
  }
  template <class Vector> void setValuesInRightSide(const Vector &values) {
    pass<double>(values, &MixedLCP::setValuesInRightSide);
  }
  template <class Vector> void setNegatedRightSide(const Vector &values) {
    pass<double>(values, &MixedLCP::setNegatedRightSide);
  }
  template <class Vector> void setLowVector(const Vector &values) {
    pass<double>(values, &MixedLCP::setLowVector);
  }
  template <class Vector> void setHighVector(const Vector &values) {
    pass<double>(values, &MixedLCP::setHighVector);
  }
  template <class Vector> void setFrictionIndex(const Vector &values) {
    pass<std::int32_t>(values, &MixedLCP::setFrictionIndex);
  }
  template <class Vector> void setAddFriction(const Vector &values) {
    pass<double>(values, &MixedLCP::setAddFriction);
  }
  template <class Vector> void setLambda(const Vector &values) {
    pass<double>(values, &MixedLCP::setLambda);
  }

  /* A = L D L^T, with D on the diagonal of L, which has the size of A already; false if A is not
   * square or not semidefinite. */
  template <class Matrix, class Lower>
  static typename std::enable_if<std::is_class<Matrix>::value, bool>::type
  ldltDecomposition(const Matrix &A, Lower &L) {
    std::size_t n = detail::order(A, detail::is_flat<const Matrix>());
    if (n == detail::NOT_SQUARE) return false;
    std::vector<double> copied = detail::copy_matrix(A, n);
    if (!lcplug_mixedlcp_ldlt(static_cast<std::int32_t>(n), copied.data(), n, copied.data(), n))
      return false;
    for (std::size_t i = 0; i < n; i++)
      for (std::size_t j = 0; j < n; j++)
        detail::element(L, n, i, j, detail::is_flat<Lower>()) = copied[i * n + j];
    return true;
  }

  /* The same of size() rows, of which only the lower triangle is read; L may be A itself.  Without
   * strides, one row follows the other. */
  bool ldltDecomposition(const double *A, std::size_t A_stride, double *L,
                         std::size_t L_stride) const {
    return lcplug_mixedlcp_ldlt(size(), A, A_stride, L, L_stride) != 0;
  }
  bool ldltDecomposition(const double *A, double *L) const {
    std::size_t n = static_cast<std::size_t>(size());
    return ldltDecomposition(A, n, L, n);
  }

private:
  template <class Number, class Vector>
  void pass(const Vector &values, void (MixedLCP::*setter)(const Number *, std::int32_t)) {
    std::vector<Number> copied(static_cast<std::size_t>(values.size()));
    for (std::size_t i = 0; i < copied.size(); i++) copied[i] = static_cast<Number>(values[i]);
    (this->*setter)(copied.data(), static_cast<std::int32_t>(copied.size()));
  }
};

/* The interface on an lcplug_mixedlcp.  The constructor throws std::bad_alloc where
 * lcplug_mixedlcp_create returns NULL. */
class SolverLCP : public MixedLCP {
public:
  SolverLCP(std::int32_t n, std::int32_t nub, lcplug_solver solver, std::int32_t iterations = 0,
            double tolerance = 0.0)
      : lcp_(lcplug_mixedlcp_create(n, nub)), refused_(), error_(LCPLUG_OK) {
    if (!lcp_) throw std::bad_alloc();
    settings().solver = solver;
    settings().max_iter = iterations;
    settings().tol = tolerance;
  }
  ~SolverLCP() override { lcplug_mixedlcp_free(lcp_); }
  SolverLCP(const SolverLCP &) = delete;
  SolverLCP &operator=(const SolverLCP &) = delete;

  using MixedLCP::setAddFriction;
  using MixedLCP::setFrictionIndex;
  using MixedLCP::setHighVector;
  using MixedLCP::setLambda;
  using MixedLCP::setLowVector;
  using MixedLCP::setNegatedRightSide;
  using MixedLCP::setValuesInMatrix;
  using MixedLCP::setValuesInRightSide;

  std::int32_t size() const override { return lcplug_mixedlcp_size(lcp_); }
  lcplug_settings &settings() { return *lcplug_mixedlcp_settings(lcp_); }
  lcplug_info info() const { return lcplug_mixedlcp_info(lcp_); }

  void setValuesInMatrix(const double *values, std::size_t rows, std::size_t stride,
                         bool full) override {
    refused_[MATRIX] = rows != static_cast<std::size_t>(size())
                           ? LCPLUG_ERROR_SIZE
                           : lcplug_mixedlcp_set_matrix(lcp_, values, stride, full);
  }
  void setValuesInRightSide(const double *values, std::int32_t count) override {
    refused_[RIGHT_SIDE] = lcplug_mixedlcp_set_right_side(lcp_, values, count, 0);
  }
  void setNegatedRightSide(const double *values, std::int32_t count) override {
    refused_[RIGHT_SIDE] = lcplug_mixedlcp_set_right_side(lcp_, values, count, 1);
  }
  void setLowVector(const double *values, std::int32_t count) override {
    refused_[LOW] = lcplug_mixedlcp_set_low(lcp_, values, count);
  }
  void setHighVector(const double *values, std::int32_t count) override {
    refused_[HIGH] = lcplug_mixedlcp_set_high(lcp_, values, count);
  }
  void setFrictionIndex(const std::int32_t *values, std::int32_t count) override {
    refused_[FRICTION_INDEX] = lcplug_mixedlcp_set_friction_index(lcp_, values, count);
  }
  void setNumberFrictionConstraints(std::int32_t count) override {
    refused_[FRICTION_COUNT] = lcplug_mixedlcp_set_friction_constraints(lcp_, count);
  }
  void setAddFriction(const double *values, std::int32_t count) override {
    refused_[ADDITIONAL] = lcplug_mixedlcp_set_additional_friction(lcp_, values, count);
  }
  void setLambda(const double *values, std::int32_t count) override {
    for (std::int32_t i = 0; i < size(); i++) getLambda()[i] = i < count ? values[i] : 0.0;
  }

  bool solve() override {
    error_ = LCPLUG_OK;
    for (lcplug_error refused : refused_)
      if (!error_) error_ = refused;
    if (!error_) error_ = lcplug_mixedlcp_solve(lcp_);
    return !error_;
  }
  lcplug_error error() const override { return error_; }
  bool validSolution() const override { return !error_ && lcplug_mixedlcp_valid(lcp_); }
  VectorView getLambda() const override { return VectorView(lcplug_mixedlcp_lambda(lcp_), size()); }
  VectorView ref_w() const override { return VectorView(lcplug_mixedlcp_w(lcp_), size()); }

private:
  enum part { MATRIX, RIGHT_SIDE, LOW, HIGH, FRICTION_INDEX, FRICTION_COUNT, ADDITIONAL, PARTS };
  lcplug_mixedlcp *lcp_;
  lcplug_error refused_[PARTS];
  lcplug_error error_;
};

/* Dantzig's method of libode, or exact where that is not there: see lcplug_mixedlcp_settings. */
class DantzigLCP : public SolverLCP {
public:
  DantzigLCP(std::int32_t n, std::int32_t nub) : SolverLCP(n, nub, LCPLUG_UPSTREAM) {}
};

/* Projected Gauss-Seidel. */
class PgsLCP : public SolverLCP {
public:
  PgsLCP(std::int32_t n, std::int32_t nub, std::int32_t iterations = 0, double tolerance = 0.0)
      : SolverLCP(n, nub, LCPLUG_PGS, iterations, tolerance) {}
};

/* Accelerated projected gradient descent. */
class ApgdLCP : public SolverLCP {
public:
  ApgdLCP(std::int32_t n, std::int32_t nub, std::int32_t iterations = 0, double tolerance = 0.0)
      : SolverLCP(n, nub, LCPLUG_APGD, iterations, tolerance) {}
};

/* Dantzig's answer without libode, and faster. */
class ExactLCP : public SolverLCP {
public:
  ExactLCP(std::int32_t n, std::int32_t nub) : SolverLCP(n, nub, LCPLUG_EXACT) {}
};

} // namespace lcplug

#endif
