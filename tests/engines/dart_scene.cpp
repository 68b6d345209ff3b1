// dart_scene.cpp - an ordinary DART program; it knows nothing of lcplug.
//
// usage: dart_scene SCENE [STEPS]
//   tower   five boxes on top of each other stay where they are
//   slope   boxes at rest on slopes below and above the friction angle: they stick, or
//           slide as Coulomb says
//   limit   a hinge falls to its limit and stays there; joint limits are rows of the same problem
//   loop    a rod on a hinge whose other end is held by a ball joint constraint: it stays level
//   servo   a hinge is brought to a speed by a servo of bounded force
//   pile    eight boxes fall into a heap: none falls through the floor
//
// The last line tells how often DART went to its second solver.
#include <dart/dart.hpp>
#include <dart/constraint/BallJointConstraint.hpp>

#include "physics.h"

using namespace dart;

static const double GRAVITY = 9.81;
static const double STEP = 0.002;

// DART's own second solver, and a count of its calls.
struct CountingPgs : constraint::PgsBoxedLcpSolver {
  int calls = 0;
  bool solve(int n, double *A, double *x, double *b, int nub, double *lo, double *hi, int *findex,
             bool early) override {
    calls++;
    return constraint::PgsBoxedLcpSolver::solve(n, A, x, b, nub, lo, hi, findex, early);
  }
};

struct Scene {
  simulation::WorldPtr world = simulation::World::create();
  std::vector<dynamics::BodyNodePtr> bodies; // those that are printed
  std::shared_ptr<CountingPgs> second = std::make_shared<CountingPgs>();

  Scene() {
    auto solver = std::make_unique<constraint::BoxedLcpConstraintSolver>();
    solver->setSecondaryBoxedLcpSolver(second);
    solver->setCollisionDetector(collision::DARTCollisionDetector::create());
    world->setConstraintSolver(std::move(solver));
    world->setTimeStep(STEP);
    world->setGravity(Eigen::Vector3d(0, 0, -GRAVITY));
  }

  void shape(dynamics::BodyNode *body, const Eigen::Vector3d &size, double friction,
             bool solid = true) {
    auto box = std::make_shared<dynamics::BoxShape>(size);
    dynamics::ShapeNode *node =
        solid ? body->createShapeNodeWith<dynamics::CollisionAspect, dynamics::DynamicsAspect>(box)
              : body->createShapeNodeWith<dynamics::DynamicsAspect>(box);
    node->getDynamicsAspect()->setFrictionCoeff(friction);
    dynamics::Inertia inertia;
    inertia.setMass(1);
    inertia.setMoment(box->computeInertia(1));
    body->setInertia(inertia);
  }

  void floor(double friction = 1) {
    auto skeleton = dynamics::Skeleton::create("floor");
    auto body = skeleton->createJointAndBodyNodePair<dynamics::WeldJoint>().second;
    shape(body, Eigen::Vector3d(100, 100, 1), friction);
    Eigen::Isometry3d at = Eigen::Isometry3d::Identity();
    at.translation() = Eigen::Vector3d(0, 0, -0.5);
    body->getParentJoint()->setTransformFromParentBodyNode(at);
    world->addSkeleton(skeleton);
  }

  dynamics::BodyNode *box(const Eigen::Vector3d &size, const Eigen::Vector3d &at,
                          double friction = 0.5) {
    auto skeleton = dynamics::Skeleton::create("box" + std::to_string(bodies.size()));
    auto pair = skeleton->createJointAndBodyNodePair<dynamics::FreeJoint>();
    shape(pair.second, size, friction);
    Eigen::Isometry3d pose = Eigen::Isometry3d::Identity();
    pose.translation() = at;
    pair.first->setPositions(dynamics::FreeJoint::convertToPositions(pose));
    world->addSkeleton(skeleton);
    bodies.push_back(pair.second);
    return pair.second;
  }

  // A rod of 1 m that turns about the world's y axis at its end, from the horizontal.
  dynamics::RevoluteJoint *hinge() {
    auto skeleton = dynamics::Skeleton::create("hinge");
    dynamics::RevoluteJoint::Properties properties;
    properties.mAxis = Eigen::Vector3d::UnitY();
    properties.mT_ChildBodyToJoint.translation() = Eigen::Vector3d(-0.5, 0, 0);
    auto pair = skeleton->createJointAndBodyNodePair<dynamics::RevoluteJoint>(nullptr, properties);
    shape(pair.second, Eigen::Vector3d(1, 0.1, 0.1), 0.5, false);
    world->addSkeleton(skeleton);
    bodies.push_back(pair.second);
    return pair.first;
  }

  void run(int steps) {
    for (int i = 0; i < steps; i++) world->step();
  }

  Eigen::Vector3d at(int index) const { return bodies[index]->getWorldTransform().translation(); }

  void print() const {
    for (size_t i = 0; i < bodies.size(); i++) {
      Eigen::Vector3d p = at(i);
      Eigen::Quaterniond q(bodies[i]->getWorldTransform().linear());
      print_body(i, p[0], p[1], p[2], q.w(), q.x(), q.y(), q.z());
    }
    std::printf("fallbacks %d\n", second->calls);
  }
};

static bool tower(Scene &s, int steps) {
  s.floor();
  for (int i = 0; i < 5; i++)
    s.box(Eigen::Vector3d(1, 1, 1), Eigen::Vector3d(0.02 * i, 0, 0.5 + i));
  s.run(steps ? steps : 250);
  bool right = true;
  for (int i = 0; i < 5; i++) {
    right &= measured("height of the box", s.at(i)[2], 0.5 + i, 0.02);
    right &= measured("its place", s.at(i)[0], 0.02 * i, 0.02);
  }
  return right;
}

// One slope for all boxes, so each angle is a friction coefficient of
// its own: tan(angle) against mu.
static bool slope(Scene &s, int steps) {
  static const double mus[] = {0.2, 0.4, 0.55, 0.7, 0.9};
  const double angle = 30 * M_PI / 180; // tan 0.577
  s.floor();
  for (int i = 0; i < 5; i++)
    s.box(Eigen::Vector3d(1, 1, 0.2), Eigen::Vector3d(0, 3 * i, 0.1), mus[i]);
  s.world->setGravity(GRAVITY * Eigen::Vector3d(std::sin(angle), 0, -std::cos(angle)));
  if (!steps) steps = 400;
  s.run(steps);
  bool right = true;
  for (int i = 0; i < 5; i++) {
    double far = slide(GRAVITY, angle, mus[i], steps * STEP);
    right &= measured("way down the slope", s.at(i)[0], far, 0.01 + 0.03 * far);
  }
  return right;
}

static bool limit(Scene &s, int steps) {
  auto joint = s.hinge();
  joint->setPositionLowerLimit(0, -0.6);
  joint->setPositionUpperLimit(0, 0.6);
  joint->setLimitEnforcement(true);
  s.run(steps ? steps : 600);
  return measured("angle at the limit", joint->getPosition(0), 0.6, 0.01);
}

static bool loop(Scene &s, int steps) {
  auto joint = s.hinge();
  s.world->getConstraintSolver()->addConstraint(
      std::make_shared<constraint::BallJointConstraint>(s.bodies[0], Eigen::Vector3d(1, 0, 0)));
  s.run(steps ? steps : 300);
  return measured("angle of the held rod", joint->getPosition(0), 0, 1e-3);
}

static bool servo(Scene &s, int steps) {
  auto joint = s.hinge();
  joint->setActuatorType(dynamics::Joint::SERVO);
  joint->setForceLowerLimit(0, -50);
  joint->setForceUpperLimit(0, 50);
  for (int i = 0; i < (steps ? steps : 400); i++) {
    joint->setCommand(0, 2.0);
    s.world->step();
  }
  return measured("speed of the servo", joint->getVelocity(0), 2.0, 1e-3);
}

static bool pile(Scene &s, int steps) {
  s.floor();
  for (int i = 0; i < 8; i++)
    s.box(Eigen::Vector3d(0.5, 0.5, 0.5),
          Eigen::Vector3d(0.13 * (i % 4), 0.11 * (i % 3), 0.3 + 0.55 * i));
  s.run(steps ? steps : 600);
  bool right = true;
  for (size_t i = 0; i < s.bodies.size(); i++) {
    right &= measured("inside the heap", s.at(i)[2], 5, 4.8);
    right &= measured("not thrown away", s.at(i).norm(), 0, 20);
  }
  return right;
}

int main(int count, char **arguments) {
  static const named_scene<Scene> scenes[] = {{"tower", tower}, {"slope", slope}, {"limit", limit},
                                            {"loop", loop},   {"servo", servo}, {"pile", pile}};
  return run_named(scenes, count, arguments);
}
