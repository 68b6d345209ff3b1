/* mixedlcp_swap.cpp - a simulator with a solver object of its own swaps Dantzig for APGD in one
 * line.
 *
 * Five wagons on sledges, coupled by rods, brake on the ground.  Each has its own mass and
 * friction, so the rods push and pull, but the train as a whole stops after v^2 sum(m) / (2 g
 * sum(mu m)).  Every step builds A = J M^-1 J^T and calls the solver in the usual order, with the
 * usual remedy: if it fails, the diagonal of A is raised and it is asked again.
 *
 *     g++ mixedlcp_swap.cpp $(pkg-config --cflags --libs lcplug) && ./a.out */
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include <lcplug/mixedlcp.hpp>

typedef std::vector<double> Vector;
typedef std::vector<Vector> Matrix;

static const int WAGONS = 5, RODS = WAGONS - 1, ROWS = RODS + 3 * WAGONS;
static const double MASS[WAGONS] = {4.0, 1.0, 2.0, 3.0, 1.5},
                    MU[WAGONS] = {0.5, 0.1, 0.3, 0.4, 0.2};
static const double GRAVITY = 9.81, START = 2.0, STEP = 1e-3, CFM = 1e-9;

/* The one line. */
static std::unique_ptr<lcplug::SolverLCP> make_solver(bool swapped) {
  if (swapped) return std::unique_ptr<lcplug::SolverLCP>(new lcplug::ApgdLCP(ROWS, RODS, 0, 1e-9));
  return std::unique_ptr<lcplug::SolverLCP>(new lcplug::DantzigLCP(ROWS, RODS));
}

/* Rods first, which are free; then the contact of each wagon: normal (z), two tangents (x, y). */
static Matrix jacobian() {
  Matrix J(ROWS, Vector(3 * WAGONS, 0.0));
  for (int i = 0; i < RODS; i++) J[i][3 * i] = -1.0, J[i][3 * i + 3] = 1.0;
  for (int i = 0; i < WAGONS; i++) {
    int row = RODS + 3 * i;
    J[row][3 * i + 2] = J[row + 1][3 * i] = J[row + 2][3 * i + 1] = 1.0;
  }
  return J;
}

/* More rows than coordinates: without CFM this is singular, which Dantzig does not survive. */
static Matrix system_matrix(const Matrix &J) {
  Matrix A(ROWS, Vector(ROWS, 0.0));
  for (int i = 0; i < ROWS; i++) A[i][i] = CFM;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++)
      for (int k = 0; k < 3 * WAGONS; k++) A[i][j] += J[i][k] * J[j][k] / MASS[k / 3];
  return A;
}

static Vector constraint_velocity(const Matrix &J, const Vector &velocity) {
  Vector Jv(ROWS, 0.0);
  for (int i = 0; i < ROWS; i++)
    for (int k = 0; k < 3 * WAGONS; k++) Jv[i] += J[i][k] * velocity[k];
  return Jv;
}

static void set_contacts(lcplug::MixedLCP &lcp) {
  std::vector<int> normal(ROWS, -1);
  Vector lo(ROWS, -DBL_MAX), hi(ROWS, DBL_MAX);
  for (int i = 0; i < WAGONS; i++) {
    int row = RODS + 3 * i;
    lo[row] = 0.0;
    normal[row + 1] = normal[row + 2] = row;
    hi[row + 1] = hi[row + 2] = MU[i];
    lo[row + 1] = lo[row + 2] = -MU[i];
  }
  lcp.setFrictionIndex(normal);
  lcp.setLowVector(lo);
  lcp.setHighVector(hi);
  lcp.setNumberFrictionConstraints(2 * WAGONS);
}

/* Asks until there is an answer; how often. */
static int solve(lcplug::MixedLCP &lcp, Matrix A) {
  int times = 1;
  for (double cfm = 1e-4; !lcp.solve() || !lcp.validSolution(); cfm *= 2, times++) {
    if (cfm > 0.1) {
      lcp.getLambda().setAllElementsToZero();
      break;
    }
    for (int i = 0; i < ROWS; i++) A[i][i] += cfm;
    lcp.setValuesInMatrix(A);
  }
  return times;
}

static int step(lcplug::MixedLCP &lcp, const Matrix &J, Vector &velocity) {
  Matrix A = system_matrix(J);
  for (int i = 0; i < WAGONS; i++) velocity[3 * i + 2] -= STEP * GRAVITY;
  lcp.setValuesInMatrix(A);
  set_contacts(lcp);
  lcp.setNegatedRightSide(constraint_velocity(J, velocity)); /* A lambda = -J v + w */
  int times = solve(lcp, A);
  lcplug::VectorView lambda = lcp.getLambda();
  for (int k = 0; k < 3 * WAGONS; k++)
    for (int i = 0; i < ROWS; i++) velocity[k] += J[i][k] * lambda[i] / MASS[k / 3];
  return times;
}

struct Run {
  double way, speed;
};

static Run run(bool swapped) {
  Matrix J = jacobian();
  Vector velocity(3 * WAGONS, 0.0), guess(ROWS, 0.0);
  for (int i = 0; i < WAGONS; i++) velocity[3 * i] = START;
  Run r = {0.0, 0.0};
  double residual = 0.0;
  int steps = 0, solves = 0;
  const char *solver = "";
  for (; steps < 1000; steps++) {
    std::unique_ptr<lcplug::SolverLCP> lcp = make_solver(swapped);
    lcp->setLambda(guess);
    solves += step(*lcp, J, velocity);
    guess.assign(lcp->getLambda().begin(), lcp->getLambda().end());
    residual = std::fmax(residual, lcp->info().residual);
    solver = lcplug_solver_name(lcp->info().solver);
    r.way += STEP * velocity[0];
  }
  r.speed = std::fabs(velocity[0]);
  std::printf("%-9s %6d %7d %10.6f %12.1e %9.1e\n", solver, steps, solves, r.way, r.speed,
              residual);
  return r;
}

static double theory() {
  double mass = 0.0, braking = 0.0;
  for (int i = 0; i < WAGONS; i++) mass += MASS[i], braking += MU[i] * MASS[i] * GRAVITY;
  return START * START * mass / (2 * braking);
}

int main() {
  std::puts("solver     steps  solves      way/m  speed/(m/s)  residual");
  Run dantzig = run(false), apgd = run(true);
  std::printf("theory %27.6f\n", theory());
  bool agree =
      std::fabs(dantzig.way - apgd.way) < 1e-6 && dantzig.speed < 1e-6 && apgd.speed < 1e-6;
  bool right = std::fabs(dantzig.way - theory()) < 0.01 * theory();
  std::puts(agree && right ? "Both stop at the same place, where theory says."
                           : "They do not agree.");
  return agree && right ? 0 : 1;
}
