// bullet_scene.cpp - an ordinary Bullet program with the Dantzig solver; it knows nothing of
// lcplug.
//
// usage: bullet_scene SCENE [STEPS]
//   tower   six boxes on top of each other stay where they are
//   slope   boxes at rest on slopes below and above the friction angle: they stick, or slide as
//   Coulomb says chain   eight boxes on ball joints, the first one held, fall from the horizontal:
//   no joint opens motor   a wheel on a hinge is brought to a speed by a motor of bounded force; a
//   pendulum stops at its limit pile    thirty boxes and balls fall into a heap: none falls through
//   the floor
//
// Built once for each precision.  The last line tells how often Bullet went to its other solver.
#include <btBulletDynamicsCommon.h>
#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>
#include <BulletDynamics/MLCPSolvers/btMLCPSolver.h>

#include <memory>
#include <vector>

#include "physics.h"

static const double GRAVITY = 9.81;
static const double STEP = 1.0 / 120;

// The world owns nothing in Bullet; this does.  Members are destroyed from the last to the first.
struct Scene {
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher{&configuration};
  btDbvtBroadphase broadphase;
  btDantzigSolver dantzig;
  btMLCPSolver solver{&dantzig};
  std::vector<std::unique_ptr<btCollisionShape>> shapes;
  std::vector<std::unique_ptr<btMotionState>> states;
  std::vector<std::unique_ptr<btRigidBody>> bodies; // those that are printed
  std::vector<std::unique_ptr<btRigidBody>> fixed;
  std::vector<std::unique_ptr<btTypedConstraint>> joints;
  btDiscreteDynamicsWorld world{&dispatcher, &broadphase, &solver, &configuration};

  Scene() {
    world.setGravity(btVector3(0, 0, -GRAVITY));
    world.getSolverInfo().m_minimumSolverBatchSize =
        1; // an island each, as a direct solver wants it
  }

  ~Scene() {
    for (auto &joint : joints) world.removeConstraint(joint.get());
    for (auto *list : {&bodies, &fixed})
      for (auto &body : *list) world.removeRigidBody(body.get());
  }

  btRigidBody *add(btCollisionShape *shape, double mass, const btVector3 &at,
                   double friction = 0.5) {
    shapes.emplace_back(shape);
    btVector3 inertia(0, 0, 0);
    if (mass > 0) shape->calculateLocalInertia(mass, inertia);
    states.emplace_back(new btDefaultMotionState(btTransform(btQuaternion::getIdentity(), at)));
    btRigidBody::btRigidBodyConstructionInfo info(mass, states.back().get(), shape, inertia);
    info.m_friction = friction;
    btRigidBody *body = new btRigidBody(info);
    body->setActivationState(DISABLE_DEACTIVATION);
    (mass > 0 ? bodies : fixed).emplace_back(body);
    world.addRigidBody(body);
    return body;
  }

  btRigidBody *floor(double friction = 1.0) {
    return add(new btStaticPlaneShape(btVector3(0, 0, 1), 0), 0, btVector3(0, 0, 0), friction);
  }

  btRigidBody *box(const btVector3 &half, const btVector3 &at, double friction = 0.5) {
    return add(new btBoxShape(half), 1, at, friction);
  }

  template <class Joint> Joint *join(Joint *joint) {
    joints.emplace_back(joint);
    world.addConstraint(joint, true);
    return joint;
  }

  void run(int steps) {
    for (int i = 0; i < steps; i++) world.stepSimulation(STEP, 0);
  }

  void print() const {
    int index = 0;
    for (auto &body : bodies) {
      const btVector3 &at = body->getCenterOfMassPosition();
      btQuaternion q = body->getOrientation();
      print_body(index++, at.x(), at.y(), at.z(), q.w(), q.x(), q.y(), q.z());
    }
    std::printf("fallbacks %d\n", solver.getNumFallbacks());
  }
};

static bool tower(Scene &s, int steps) {
  s.floor();
  for (int i = 0; i < 6; i++) s.box(btVector3(0.5, 0.5, 0.5), btVector3(0.02 * i, 0, 0.5 + i));
  s.run(steps ? steps : 240);
  bool right = true;
  for (int i = 0; i < 6; i++) {
    const btVector3 &at = s.bodies[i]->getCenterOfMassPosition();
    right &= measured("height of the box", at.z(), 0.5 + i, 0.02);
    right &= measured("its place", at.x(), 0.02 * i, 0.02);
  }
  return right;
}

// Gravity is turned in place of the floor; each angle is a box of its own.
static bool slope(Scene &s, int steps) {
  static const double degrees[] = {10, 20, 25, 30, 35, 45};
  const double mu = 0.5, radian = SIMD_PI / 180; // friction angle 26.6 degrees
  s.floor();
  for (int i = 0; i < 6; i++) {
    btRigidBody *box = s.box(btVector3(0.5, 0.5, 0.1), btVector3(0, 3 * i, 0.1), mu);
    double a = degrees[i] * radian;
    box->setGravity(btVector3(GRAVITY * std::sin(a), 0, -GRAVITY * std::cos(a)));
  }
  if (!steps) steps = 120;
  s.run(steps);
  bool right = true;
  for (int i = 0; i < 6; i++) {
    double far = slide(GRAVITY, degrees[i] * radian, mu, steps * STEP);
    right &= measured("way down the slope", s.bodies[i]->getCenterOfMassPosition().x(), far,
                      0.01 + 0.03 * far);
  }
  return right;
}

static bool chain(Scene &s, int steps) {
  const int links = 8;
  const btVector3 half(0.2, 0.05, 0.05), back(-0.25, 0, 0), front(0.25, 0, 0);
  for (int i = 0; i < links; i++) s.box(half, btVector3(0.25 + 0.5 * i, 0, 0));
  s.join(new btPoint2PointConstraint(*s.bodies[0], back));
  for (int i = 1; i < links; i++)
    s.join(new btPoint2PointConstraint(*s.bodies[i - 1], *s.bodies[i], front, back));
  s.run(steps ? steps : 150);
  bool right = measured("the chain has fallen (m)",
                        s.bodies[links - 1]->getCenterOfMassPosition().z(), -2.5, 1.4);
  btVector3 end(0, 0, 0);
  for (int i = 0; i < links; i++) {
    btTransform t = s.bodies[i]->getCenterOfMassTransform();
    right &= measured("gap of the joint", (t * back - end).length(), 0, 0.02);
    end = t * front;
  }
  return right;
}

static bool motor(Scene &s, int steps) {
  btRigidBody *wheel = s.box(btVector3(0.5, 0.5, 0.1), btVector3(0, 0, 2));
  btHingeConstraint *axle =
      s.join(new btHingeConstraint(*wheel, btVector3(0, 0, 0), btVector3(0, 0, 1)));
  axle->enableAngularMotor(true, 3, 100);
  btRigidBody *pendulum = s.box(btVector3(0.5, 0.1, 0.1), btVector3(5.5, 0, 2));
  btHingeConstraint *pivot =
      s.join(new btHingeConstraint(*pendulum, btVector3(-0.5, 0, 0), btVector3(0, 1, 0)));
  pivot->setLimit(-0.6, 0.6, 0.9, 0.3, 0);
  s.run(steps ? steps : 240);
  bool right = measured("height of the wheel", wheel->getCenterOfMassPosition().z(), 2, 0.01);
  right &= measured("its speed", std::fabs(wheel->getAngularVelocity().z()), 3, 0.02);
  right &= measured("the pendulum's length",
                    (pendulum->getCenterOfMassPosition() - btVector3(5, 0, 2)).length(), 0.5, 0.01);
  right &= measured("its height at the limit", pendulum->getCenterOfMassPosition().z(),
                    2 - 0.5 * std::sin(0.6), 0.03);
  return right;
}

static bool pile(Scene &s, int steps) {
  s.floor();
  for (int i = 0; i < 30; i++) {
    btVector3 at(0.13 * (i % 4), 0.11 * (i % 3), 0.4 + 0.55 * i);
    if (i % 3 == 2) s.add(new btSphereShape(0.25), 1, at);
    else s.box(btVector3(0.25, 0.25, 0.25), at);
  }
  s.run(steps ? steps : 360);
  bool right = true;
  for (auto &body : s.bodies) {
    const btVector3 &at = body->getCenterOfMassPosition();
    right &= measured("inside the heap", at.z(), 10, 9.8) &&
             measured("not thrown away", at.length(), 0, 20);
  }
  return right;
}

int main(int count, char **arguments) {
  static const named_scene<Scene> scenes[] = {
      {"tower", tower}, {"slope", slope}, {"chain", chain}, {"motor", motor}, {"pile", pile}};
  return run_named(scenes, count, arguments);
}
