/* scenes.c - builds and steps the ODE scenes of scenes.h.
 *
 * Problem.   One set of scenes for tests, benchmarks and the demo, the same bits on every run.
 * Method.    A kind is a row of the table at the end of this file: name, default size, builder.  A
 *            builder adds bodies, static geoms and joints to an empty world.  Limbs of a ragdoll
 *            and wheels of a vehicle are rows of tables too.
 * Contract.  A builder never fails half way: an allocation that fails is remembered in the scene,
 *            and scene_create() gives the whole scene back.  Contacts: at most 8 per pair, friction
 *            bounds that follow the normal force (dContactApprox1).  Bodies that share a joint do
 *            not collide. */
#define _POSIX_C_SOURCE 200809L

#include "scenes.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_CONTACTS_PER_PAIR 8
#define GRAVITY 9.81
#define PI 3.14159265358979323846

struct scene {
  dWorldID world;
  dThreadingImplementationID threading;
  dThreadingThreadPoolID pool; /* 0: the thread that steps the scene does all the work */
  dSpaceID space;
  dJointGroupID contact_group;
  /* of every contact; with dContactFDir1 the first axis is the world's x */
  dSurfaceParameters surface;
  scene_contact_maker *make_contacts; /* further ones, at each step */
  void *maker_data;
  int contacts;               /* of the last step */
  double step;
  int quick;                  /* iterations of dWorldQuickStep; 0: dWorldStep */
  double solve_seconds;
  uint64_t random_state;
  int size;
  double angle;
  dBodyID *bodies;
  int count, capacity;
  int out_of_memory;
};

/* ---- random numbers -------------------------------------------------------------------------- */

/* splitmix64.  ODE's own generator and rand() are shared by the process: a second scene, or a host
 * that draws numbers too, would change this one. */
static uint64_t random_bits(scene *s) {
  uint64_t z = (s->random_state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static double random_between(scene *s, double lo, double hi) {
  return lo + (hi - lo) * ((double)(random_bits(s) >> 11) * 0x1p-53);
}

/* Uniform over all rotations: a point in the unit ball of four dimensions, normalised. */
static void random_rotation(scene *s, dQuaternion q) {
  double length2;
  do {
    length2 = 0;
    for (int i = 0; i < 4; i++) {
      q[i] = random_between(s, -1, 1);
      length2 += q[i] * q[i];
    }
  } while (length2 > 1 || length2 < 0.01);
  for (int i = 0; i < 4; i++) q[i] /= sqrt(length2);
}

/* ---- bodies and geoms ------------------------------------------------------------------------ */

/* The size of a shape: sides of a box; radius and length of a capsule, which lies along its own z;
 * radius of a sphere. */
typedef struct shape {
  dGeomID (*geom)(dSpaceID space, const double *size);
  void (*mass)(dMass *mass, double total, const double *size);
  double size[3];
  double total_mass;
} shape;

static dGeomID geom_box(dSpaceID space, const double *d) {
  return dCreateBox(space, d[0], d[1], d[2]);
}

static dGeomID geom_sphere(dSpaceID space, const double *d) { return dCreateSphere(space, d[0]); }

static dGeomID geom_capsule(dSpaceID space, const double *d) {
  return dCreateCapsule(space, d[0], d[1]);
}

static void mass_box(dMass *mass, double total, const double *d) {
  dMassSetBoxTotal(mass, total, d[0], d[1], d[2]);
}

static void mass_sphere(dMass *mass, double total, const double *d) {
  dMassSetSphereTotal(mass, total, d[0]);
}

static void mass_capsule(dMass *mass, double total, const double *d) {
  dMassSetCapsuleTotal(mass, total, 3, d[0], d[1]);
}

static shape box(double x, double y, double z, double total_mass) {
  return (shape){geom_box, mass_box, {x, y, z}, total_mass};
}

static shape sphere(double radius, double total_mass) {
  return (shape){geom_sphere, mass_sphere, {radius, 0, 0}, total_mass};
}

static shape capsule(double radius, double length, double total_mass) {
  return (shape){geom_capsule, mass_capsule, {radius, length, 0}, total_mass};
}

static void remember_body(scene *s, dBodyID body) {
  if (s->count == s->capacity) {
    int capacity = s->capacity ? 2 * s->capacity : 64;
    dBodyID *bodies = realloc(s->bodies, (size_t)capacity * sizeof *bodies);
    if (!bodies) {
      s->out_of_memory = 1;
      return;
    }
    s->bodies = bodies;
    s->capacity = capacity;
  }
  s->bodies[s->count++] = body;
}

static dBodyID add_body(scene *s, shape what, double x, double y, double z) {
  dMass mass;
  what.mass(&mass, what.total_mass, what.size);
  dBodyID body = scene_add_body(s, &mass, x, y, z);
  dGeomSetBody(what.geom(s->space, what.size), body);
  return body;
}

static void add_floor(scene *s) { dCreatePlane(s->space, 0, 0, 1, 0); }

/* A box that never moves, turned about the y axis. */
static void add_obstacle(scene *s, shape what, double x, double y, double z, double turn) {
  dGeomID geom = what.geom(s->space, what.size);
  dMatrix3 R;
  dRFromAxisAndAngle(R, 0, 1, 0, turn);
  dGeomSetPosition(geom, x, y, z);
  dGeomSetRotation(geom, R);
}

/* ---- stacks: exactly touching, so every contact is redundant and has depth 0 ----------------- */

static void build_tower(scene *s) {
  add_floor(s);
  for (int i = 0; i < s->size; i++) add_body(s, box(1, 1, 1, 1), 0, 0, 0.5 + i);
}

/* Rows lie a quarter brick apart in turns: with half a brick the ends would stand on an edge. */
static void build_wall(scene *s) {
  const double length = 1, depth = 0.5, height = 0.5, joint = 0.01;
  add_floor(s);
  for (int row = 0; row < s->size; row++) {
    double first = row & 1 ? 0.25 * length : 0;
    for (int i = 0; i < s->size; i++)
      add_body(s, box(length, depth, height, 1), first + i * (length + joint), 0,
               (row + 0.5) * height);
  }
}

static void build_pyramid(scene *s) {
  const double pitch = 1.1;
  add_floor(s);
  for (int row = 0; row < s->size; row++)
    for (int i = 0; i < s->size - row; i++)
      add_body(s, box(1, 1, 1, 1), (i + 0.5 * row) * pitch, 0, 0.5 + row);
}

/* ---- piles: bodies fall into a bin of planes ------------------------------------------------- */

typedef shape (*shape_maker)(scene *s);

static shape random_sphere(scene *s) {
  double r = random_between(s, 0.35, 0.5);
  return sphere(r, 8 * r * r * r);
}

static shape random_box(scene *s) {
  double x = random_between(s, 0.4, 0.6), y = random_between(s, 0.4, 0.6);
  double z = random_between(s, 0.4, 0.6);
  return box(x, y, z, 8 * x * y * z);
}

static shape random_capsule(scene *s) {
  double r = random_between(s, 0.15, 0.25), length = random_between(s, 0.3, 0.5);
  return capsule(r, length, 8 * PI * r * r * (length + r * 4 / 3));
}

static shape random_shape(scene *s) {
  static const shape_maker makers[] = {random_sphere, random_box, random_capsule};
  return makers[random_bits(s) % 3](s);
}

static void add_bin(scene *s, double half_width) {
  add_floor(s);
  for (int side = -1; side <= 1; side += 2) {
    dCreatePlane(s->space, side, 0, 0, -half_width);
    dCreatePlane(s->space, 0, side, 0, -half_width);
  }
}

/* Every shape above fits into a sphere of diameter 1.04: with cells of 1.2 and a jitter of 0.05
 * none touch at the start, whatever their rotation. */
static void build_pile(scene *s, shape_maker make) {
  const double cell = 1.2, jitter = 0.05;
  int columns = (int)ceil(cbrt(s->size / 2.0)); /* the pile starts about twice as high as wide */
  double half_width = 0.5 * columns * cell;
  add_bin(s, half_width);
  for (int i = 0; i < s->size; i++) {
    int column = i % columns, row = i / columns % columns, layer = i / (columns * columns);
    dQuaternion q;
    dBodyID body = add_body(s, make(s), (column + 0.5) * cell - half_width,
                            (row + 0.5) * cell - half_width, (layer + 0.5) * cell);
    const dReal *at = dBodyGetPosition(body);
    dBodySetPosition(body, at[0] + random_between(s, -jitter, jitter),
                     at[1] + random_between(s, -jitter, jitter), at[2]);
    random_rotation(s, q);
    dBodySetQuaternion(body, q);
  }
}

static void build_spheres(scene *s) { build_pile(s, random_sphere); }
static void build_boxes(scene *s) { build_pile(s, random_box); }
static void build_capsules(scene *s) { build_pile(s, random_capsule); }
static void build_mixed(scene *s) { build_pile(s, random_shape); }

/* ---- ragdolls -------------------------------------------------------------------------------- */

enum { TORSO, HEAD, ARM_L, HAND_L, ARM_R, HAND_R, LEG_L, SHIN_L, LEG_R, SHIN_R, LIMBS };

typedef struct limb {
  int parent;            /* the limb that it hangs on; itself for the torso */
  double radius, length; /* a capsule along `along` (0 x, 1 y, 2 z) of the doll */
  int along;
  double mass;
  double centre[3], anchor[3];
  double bend[2]; /* stops of a hinge about the doll's y axis; equal: a ball joint */
} limb;

/* A doll that stands with its arms out to both sides; its y axis points forward to back, and no two
 * limbs that share no joint overlap. */
static const limb limbs[LIMBS] = {
    [TORSO] = {TORSO, 0.16, 0.36, 2, 30, {0, 0, 0}, {0, 0, 0}, {0, 0}},
    [HEAD] = {TORSO, 0.11, 0.06, 2, 5, {0, 0, 0.50}, {0, 0, 0.36}, {0, 0}},
    [ARM_L] = {TORSO, 0.05, 0.22, 0, 2.5, {-0.36, 0, 0.16}, {-0.20, 0, 0.16}, {0, 0}},
    [HAND_L] = {ARM_L, 0.04, 0.22, 0, 1.5, {-0.68, 0, 0.16}, {-0.52, 0, 0.16}, {-0.1, 2.0}},
    [ARM_R] = {TORSO, 0.05, 0.22, 0, 2.5, {0.36, 0, 0.16}, {0.20, 0, 0.16}, {0, 0}},
    [HAND_R] = {ARM_R, 0.04, 0.22, 0, 1.5, {0.68, 0, 0.16}, {0.52, 0, 0.16}, {-2.0, 0.1}},
    [LEG_L] = {TORSO, 0.07, 0.30, 2, 8, {-0.10, 0, -0.53}, {-0.10, 0, -0.32}, {0, 0}},
    [SHIN_L] = {LEG_L, 0.06, 0.30, 2, 4, {-0.10, 0, -0.95}, {-0.10, 0, -0.74}, {-2.0, 0.1}},
    [LEG_R] = {TORSO, 0.07, 0.30, 2, 8, {0.10, 0, -0.53}, {0.10, 0, -0.32}, {0, 0}},
    [SHIN_R] = {LEG_R, 0.06, 0.30, 2, 4, {0.10, 0, -0.95}, {0.10, 0, -0.74}, {-0.1, 2.0}},
};

/* Where a doll's own frame stands in the world. */
typedef struct frame {
  double origin[3];
  dQuaternion q;
  dMatrix3 R;
} frame;

static void frame_point(const frame *f, const double *local, double *world) {
  for (int i = 0; i < 3; i++)
    world[i] = f->origin[i] + f->R[4 * i] * local[0] + f->R[4 * i + 1] * local[1] +
               f->R[4 * i + 2] * local[2];
}

static dBodyID add_limb(scene *s, const limb *l, const frame *f) {
  static const double axis_to_turn_about[3][3] = {{0, 1, 0}, {-1, 0, 0}, {0, 0, 1}};
  const double *axis = axis_to_turn_about[l->along];
  dQuaternion turn, q;
  double at[3];
  frame_point(f, l->centre, at);
  dQFromAxisAndAngle(turn, axis[0], axis[1], axis[2], l->along == 2 ? 0 : PI / 2);
  dQMultiply0(q, f->q, turn);
  dBodyID body = add_body(s, capsule(l->radius, l->length, l->mass), at[0], at[1], at[2]);
  dBodySetQuaternion(body, q);
  return body;
}

static void join_limb(scene *s, const limb *l, dBodyID parent, dBodyID child, const frame *f) {
  double at[3];
  frame_point(f, l->anchor, at);
  if (l->bend[0] == l->bend[1]) {
    dJointID ball = dJointCreateBall(s->world, 0);
    dJointAttach(ball, parent, child);
    dJointSetBallAnchor(ball, at[0], at[1], at[2]);
    return;
  }
  dJointID hinge = dJointCreateHinge(s->world, 0);
  dJointAttach(hinge, parent, child);
  dJointSetHingeAnchor(hinge, at[0], at[1], at[2]);
  dJointSetHingeAxis(hinge, f->R[1], f->R[5], f->R[9]);
  dJointSetHingeParam(hinge, dParamLoStop, l->bend[0]);
  dJointSetHingeParam(hinge, dParamHiStop, l->bend[1]);
}

/* The dolls lie above one another, each turned another way, and fall onto one heap. */
static void build_ragdoll(scene *s) {
  add_floor(s);
  for (int doll = 0; doll < s->size; doll++) {
    frame f = {.origin = {random_between(s, -0.3, 0.3), random_between(s, -0.3, 0.3),
                          0.35 + 0.5 * doll}};
    dQuaternion lie, turn;
    dBodyID body[LIMBS];
    dQFromAxisAndAngle(lie, 1, 0, 0, PI / 2 + random_between(s, -0.1, 0.1));
    dQFromAxisAndAngle(turn, 0, 0, 1, random_between(s, -PI, PI));
    dQMultiply0(f.q, turn, lie);
    dQtoR(f.q, f.R);
    for (int i = 0; i < LIMBS; i++) body[i] = add_limb(s, &limbs[i], &f);
    for (int i = TORSO + 1; i < LIMBS; i++)
      join_limb(s, &limbs[i], body[limbs[i].parent], body[i], &f);
  }
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Links joined by balls and hinges in turns, from `first` in steps of `pitch` along x or z. */
static dBodyID add_links(scene *s, int links, const double *first, int along, double pitch) {
  dBodyID previous = 0;
  for (int i = 0; i < links; i++) {
    double at[3] = {first[0], first[1], first[2]};
    at[along] += i * pitch;
    dBodyID link = add_body(s, capsule(0.06, 0.2, 1), at[0], at[1], at[2]);
    if (along == 0) {
      dQuaternion q;
      dQFromAxisAndAngle(q, 0, 1, 0, PI / 2);
      dBodySetQuaternion(link, q);
    }
    at[along] -= 0.5 * pitch;
    if (i & 1) {
      dJointID hinge = dJointCreateHinge(s->world, 0);
      dJointAttach(hinge, previous, link);
      dJointSetHingeAnchor(hinge, at[0], at[1], at[2]);
      dJointSetHingeAxis(hinge, 0, 1, 0);
    } else if (previous) {
      dJointID ball = dJointCreateBall(s->world, 0);
      dJointAttach(ball, previous, link);
      dJointSetBallAnchor(ball, at[0], at[1], at[2]);
    }
    previous = link;
  }
  return previous;
}

/* Even chains stretch out from a hook in the air and swing down, a weight of 100 links at the end:
 * long lever, bad conditioning.  Odd ones stand upright on the floor beside them and collapse. */
static void build_chain(scene *s) {
  const int links = 12;
  const double pitch = 0.36;
  add_floor(s);
  for (int chain = 0; chain < s->size; chain++) {
    double y = 0.5 * chain;
    if (chain & 1) {
      double foot[3] = {random_between(s, 0.5, 3), y, 0.17};
      dBodyID top = add_links(s, links, foot, 2, pitch);
      dBodySetLinearVel(top, random_between(s, -2, 2), random_between(s, -1, 1), 0);
      continue;
    }
    double first[3] = {0.5 * pitch, y, 2};
    int hooked = s->count;
    dBodyID last = add_links(s, links, first, 0, pitch);
    dBodyID weight = add_body(s, sphere(0.3, 100), links * pitch + 0.3, y, 2);
    dJointID hook = dJointCreateBall(s->world, 0), clasp = dJointCreateBall(s->world, 0);
    dJointAttach(hook, s->bodies[hooked], 0);
    dJointSetBallAnchor(hook, 0, y, 2);
    dJointAttach(clasp, last, weight);
    dJointSetBallAnchor(clasp, links * pitch, y, 2);
  }
}

/* ---- vehicles -------------------------------------------------------------------------------- */

typedef struct wheel {
  double x, y;
  int steered;
} wheel;

static const wheel wheels[] = {{0.8, 0.55, 1}, {0.8, -0.55, 1}, {-0.8, 0.55, 0}, {-0.8, -0.55, 0}};

/* Suspension is a soft constraint: ERP and CFM stand for its spring and damper.  The motor and the
 * steering have bounded torque, and the rear wheels' steering axis is shut by equal stops. */
static void add_wheel(scene *s, const wheel *w, dBodyID chassis, double x, double y) {
  const dVector3 up = {0, 0, 1}, across = {0, 1, 0};
  const double radius = 0.3;
  dBodyID body = add_body(s, sphere(radius, 10), x + w->x, y + w->y, radius);
  dJointID joint = dJointCreateHinge2(s->world, 0);
  dJointAttach(joint, chassis, body);
  dJointSetHinge2Anchor(joint, x + w->x, y + w->y, radius);
  dJointSetHinge2Axes(joint, up, across);
  dJointSetHinge2Param(joint, dParamSuspensionERP, 0.4);
  dJointSetHinge2Param(joint, dParamSuspensionCFM, 2e-4);
  dJointSetHinge2Param(joint, dParamVel2, 12);
  dJointSetHinge2Param(joint, dParamFMax2, 150);
  dJointSetHinge2Param(joint, dParamLoStop, w->steered ? -0.6 : 0);
  dJointSetHinge2Param(joint, dParamHiStop, w->steered ? 0.6 : 0);
  if (!w->steered) return;
  dJointSetHinge2Param(joint, dParamVel, 0.2);
  dJointSetHinge2Param(joint, dParamFMax, 20);
}

/* In front of each vehicle: crates, a kerb under its left wheels, then a ramp. */
static void build_vehicles(scene *s) {
  add_floor(s);
  for (int i = 0; i < s->size; i++) {
    double x = random_between(s, -0.3, 0.3), y = 2.5 * i;
    dBodyID chassis = add_body(s, box(2.2, 0.8, 0.3, 200), x, y, 0.55);
    for (size_t k = 0; k < sizeof wheels / sizeof *wheels; k++)
      add_wheel(s, &wheels[k], chassis, x, y);
    add_body(s, box(0.6, 0.6, 0.3, 20), x - 0.5, y, 0.85); /* load on the bed */
    for (int crate = 0; crate < 2; crate++)
      add_body(s, box(0.5, 0.5, 0.5, 10), 1.6 + 0.1 * i, y - 0.3, 0.25 + 0.5 * crate);
    add_obstacle(s, box(0.3, 0.6, 0.2, 1), 1.7, y + 0.55, 0, 0);
    add_obstacle(s, box(3, 2, 0.2, 1), 4.4, y, 0.3, -0.25);
  }
}

/* ---- one box that slides --------------------------------------------------------------------- */

/* Flat, so that friction at its foot does not tip it.  Coulomb says that it loses mu g t of its
 * speed in whichever direction it moves. */
static void build_slider(scene *s) {
  const double speed = 3, direction = s->angle * PI / 180;
  add_floor(s);
  s->surface.mode |= dContactFDir1;
  for (int i = 0; i < s->size; i++) {
    dBodyID body = add_body(s, box(1, 1, 0.2, 1), 0, 4.0 * i, 0.1);
    dBodySetLinearVel(body, speed * cos(direction), speed * sin(direction), 0);
  }
}

/* ---- machines: rows with finite lo and hi of their own --------------------------------------- */

/* A carriage on a rail along x that is driven against its end stop; returns the carriage. */
static dBodyID add_carriage(scene *s, double y) {
  dBodyID carriage = add_body(s, box(0.6, 0.4, 0.2, 5), 0, y, 1);
  dJointID rail = dJointCreateSlider(s->world, 0);
  dJointAttach(rail, carriage, 0);
  dJointSetSliderAxis(rail, 1, 0, 0);
  dJointSetSliderParam(rail, dParamLoStop, -0.4);
  dJointSetSliderParam(rail, dParamHiStop, 0.4);
  dJointSetSliderParam(rail, dParamVel, 1);
  dJointSetSliderParam(rail, dParamFMax, 60);
  return carriage;
}

/* An arm on a ball joint; an angular motor with three axes holds it with bounded torque. */
static dBodyID add_arm(scene *s, dBodyID carriage, double y) {
  dBodyID arm = add_body(s, capsule(0.08, 0.4, 2), 0, y, 0.62);
  dJointID ball = dJointCreateBall(s->world, 0), motor = dJointCreateAMotor(s->world, 0);
  dJointAttach(ball, carriage, arm);
  dJointSetBallAnchor(ball, 0, y, 0.9);
  dJointAttach(motor, carriage, arm);
  dJointSetAMotorMode(motor, dAMotorEuler);
  dJointSetAMotorAxis(motor, 0, 1, 1, 0, 0);
  dJointSetAMotorAxis(motor, 2, 2, 0, 0, 1);
  for (int axis = 0; axis < 3; axis++) {
    int group = axis * dParamGroup;
    dJointSetAMotorParam(motor, group + dParamLoStop, -0.8);
    dJointSetAMotorParam(motor, group + dParamHiStop, 0.8);
    dJointSetAMotorParam(motor, group + dParamVel, random_between(s, -2, 2));
    dJointSetAMotorParam(motor, group + dParamFMax, 3);
  }
  return arm;
}

/* A flap at the arm's end, driven through its hinge. */
static void add_flap(scene *s, dBodyID arm, double y) {
  dBodyID flap = add_body(s, box(0.3, 0.2, 0.06, 0.5), 0.1, y, 0.25);
  dJointID hinge = dJointCreateHinge(s->world, 0);
  dJointAttach(hinge, arm, flap);
  dJointSetHingeAnchor(hinge, 0, y, 0.3);
  dJointSetHingeAxis(hinge, 0, 1, 0);
  dJointSetHingeParam(hinge, dParamLoStop, -1);
  dJointSetHingeParam(hinge, dParamHiStop, 1);
  dJointSetHingeParam(hinge, dParamVel, 4);
  dJointSetHingeParam(hinge, dParamFMax, 1);
}

/* A lift too weak for its load: its motor row stays at the bound. */
static void add_lift(scene *s, double y) {
  dBodyID plate = add_body(s, box(0.6, 0.6, 0.1, 2), 1.6, y, 0.5);
  dJointID guide = dJointCreateSlider(s->world, 0);
  dJointAttach(guide, plate, 0);
  dJointSetSliderAxis(guide, 0, 0, 1);
  dJointSetSliderParam(guide, dParamLoStop, -0.4);
  dJointSetSliderParam(guide, dParamHiStop, 1);
  dJointSetSliderParam(guide, dParamVel, 0.5);
  dJointSetSliderParam(guide, dParamFMax, 40);
  add_body(s, box(0.4, 0.4, 0.4, 3), 1.6, y, 0.75);
}

static void build_motors(scene *s) {
  add_floor(s);
  for (int i = 0; i < s->size; i++) {
    double y = 0.8 * i;
    dBodyID carriage = add_carriage(s, y);
    add_flap(s, add_arm(s, carriage, y), y);
    add_body(s, box(0.3, 0.3, 0.3, 1), 0, y, 1.25); /* rides on the carriage */
    add_lift(s, y);
  }
}

/* ---- rolling --------------------------------------------------------------------------------- */

/* Contacts of five friction rows at most: two that slide, two that roll, one that spins.  The balls
 * stand in a row of touching pairs, spin, and run into their neighbours. */
static void build_rolling(scene *s) {
  const double radius = 0.25;
  int columns = (int)ceil(sqrt(s->size));
  add_floor(s);
  s->surface.mode |= dContactRolling | dContactAxisDep;
  s->surface.mu2 = s->surface.mu;
  s->surface.rho = 0.02;
  s->surface.rho2 = 0.02;
  s->surface.rhoN = 0.01;
  for (int i = 0; i < s->size; i++) {
    double x = 0.55 * (i % columns) - 0.05 * (i % columns & 1), y = 0.55 * (i / columns);
    dBodyID ball = add_body(s, sphere(radius, 1), x, y, radius);
    dBodySetLinearVel(ball, random_between(s, -1, 1), random_between(s, -1, 1), 0);
    dBodySetAngularVel(ball, random_between(s, -2, 2), random_between(s, -2, 2),
                       random_between(s, -20, 20));
  }
}

static void build_nothing(scene *s) { (void)s; }

/* ---- the table ------------------------------------------------------------------------------- */

typedef struct kind {
  const char *name;
  int size;
  void (*build)(scene *s);
  const char *note;
} kind;

static const kind kinds[] = {
    {"tower", 6, build_tower, "size unit boxes on one another, exactly touching"},
    {"wall", 5, build_wall, "size x size bricks, exactly touching"},
    {"pyramid", 6, build_pyramid, "boxes, size of them in the lowest row"},
    {"spheres", 60, build_spheres, "size spheres fall into a bin"},
    {"boxes", 40, build_boxes, "size boxes fall into a bin"},
    {"capsules", 40, build_capsules, "size capsules fall into a bin"},
    {"mixed", 50, build_mixed, "size spheres, boxes and capsules fall into a bin"},
    {"ragdoll", 4, build_ragdoll, "size ragdolls of ten limbs fall on a heap"},
    {"chain", 6, build_chain, "size chains of 12 links, with weights or falling on the floor"},
    {"vehicles", 3, build_vehicles, "size vehicles with suspension drive at crates, kerb and ramp"},
    {"slider", 1, build_slider, "size boxes that slide on a plane at 3 m/s"},
    {"motors", 4, build_motors, "size machines of motors with bounded force, and end stops"},
    {"rolling", 20, build_rolling, "size balls with rolling and spinning friction"},
};

#define KINDS ((int)(sizeof kinds / sizeof *kinds))

/* Not listed: there is nothing to see in it. */
static const kind empty = {"empty", 1, build_nothing, "a world for bodies of the caller's own"};

static const kind *find_kind(const char *name) {
  if (name && !strcmp(name, empty.name)) return &empty;
  for (int i = 0; name && i < KINDS; i++)
    if (!strcmp(kinds[i].name, name)) return &kinds[i];
  return NULL;
}

int scene_kinds(int index, const char **name) {
  if (index < 0 || index >= KINDS) return 0;
  if (name) *name = kinds[index].name;
  return 1;
}

const char *scene_note(const char *name) {
  const kind *k = find_kind(name);
  return k ? k->note : NULL;
}

/* ---- ODE's life ------------------------------------------------------------------------------ */

static int init_depth;

int scenes_init(void) {
  if (init_depth == 0 && !dInitODE2(0)) return 0;
  if (init_depth == 0 && !scenes_thread_begin()) {
    dCloseODE();
    return 0;
  }
  init_depth++;
  return 1;
}

void scenes_done(void) {
  if (init_depth > 0 && --init_depth == 0) dCloseODE();
}

int scenes_thread_begin(void) { return dAllocateODEDataForThread(dAllocateMaskAll) != 0; }

/* ---- a scene's life -------------------------------------------------------------------------- */

scene_config scene_config_default(void) {
  return (scene_config){
      .kind = "tower", .mu = 0.5, .cfm = 1e-10, .step = 0.01, .seed = 1, .angle = 45};
}

/* Worlds share one job queue of the process unless told otherwise, and two threads that step
 * different worlds break it ("assertion m_dependencies_count failed"): each scene has its own. */
static void start_threading(scene *s, int threads) {
  if (threads > 0) s->threading = dThreadingAllocateMultiThreadedImplementation();
  if (s->threading) {
    s->pool = dThreadingAllocateThreadPool((unsigned)threads, 0, dAllocateMaskAll, NULL);
    if (s->pool) dThreadingThreadPoolServeMultiThreadedImplementation(s->pool, s->threading);
    else s->out_of_memory = 1;
  } else {
    s->threading = dThreadingAllocateSelfThreadedImplementation();
  }
  if (!s->threading) s->out_of_memory = 1;
  else
    dWorldSetStepThreadingImplementation(
        s->world, dThreadingImplementationGetFunctions(s->threading), s->threading);
}

static void stop_threading(scene *s) {
  if (s->pool) {
    dThreadingImplementationShutdownProcessing(s->threading);
    dThreadingFreeThreadPool(s->pool);
  }
  dWorldSetStepThreadingImplementation(s->world, NULL, NULL);
  if (s->threading) dThreadingFreeImplementation(s->threading);
}

void scene_set_quick(scene *s, int iterations) {
  s->quick = iterations;
  if (iterations) dWorldSetQuickStepNumIterations(s->world, iterations);
}

scene *scene_create(const scene_config *config) {
  const kind *k = find_kind(config->kind);
  scene *s = k ? calloc(1, sizeof *s) : NULL;
  if (!s) return NULL;
  s->size = config->size > 0 ? config->size : k->size;
  s->step = config->step;
  s->angle = config->angle;
  s->random_state = config->seed;
  s->surface.mode = dContactApprox1;
  s->surface.mu = config->mu;
  if (config->soft > 0) {
    s->surface.mode |= dContactSoftCFM;
    s->surface.soft_cfm = config->soft;
  }
  s->world = dWorldCreate();
  s->space = dHashSpaceCreate(0);
  s->contact_group = dJointGroupCreate(0);
  dWorldSetGravity(s->world, 0, 0, -GRAVITY);
  dWorldSetCFM(s->world, config->cfm);
  start_threading(s, config->threads);
  scene_set_quick(s, config->quick);
  k->build(s);
  if (!s->out_of_memory) return s;
  scene_free(s);
  return NULL;
}

void scene_free(scene *s) {
  if (!s) return;
  dJointGroupDestroy(s->contact_group);
  dSpaceDestroy(s->space);
  stop_threading(s);
  dWorldDestroy(s->world);
  free(s->bodies);
  free(s);
}

void scene_add_contact(scene *s, dContact *contact, dBodyID a, dBodyID b) {
  contact->surface = s->surface;
  if (s->surface.mode & dContactFDir1)
    memcpy(contact->fdir1, (dVector3){1, 0, 0}, sizeof contact->fdir1);
  dJointAttach(dJointCreateContact(s->world, s->contact_group, contact), a, b);
  s->contacts++;
}

/* Called by ODE for each pair of geoms that may touch. */
static void add_contacts(void *data, dGeomID first, dGeomID second) {
  scene *s = data;
  dBodyID a = dGeomGetBody(first), b = dGeomGetBody(second);
  dContact contact[MAX_CONTACTS_PER_PAIR];
  if (!a && !b) return;
  if (a && b && dAreConnectedExcluding(a, b, dJointTypeContact)) return;
  int count = dCollide(first, second, MAX_CONTACTS_PER_PAIR, &contact[0].geom, sizeof *contact);
  for (int i = 0; i < count; i++) scene_add_contact(s, &contact[i], a, b);
}

static double thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void scene_step(scene *s) {
  s->contacts = 0;
  dSpaceCollide(s->space, s, add_contacts);
  if (s->make_contacts) s->make_contacts(s, s->maker_data);
  double start = thread_seconds();
  if (s->quick) dWorldQuickStep(s->world, s->step);
  else dWorldStep(s->world, s->step);
  s->solve_seconds += thread_seconds() - start;
  dJointGroupEmpty(s->contact_group);
}

/* ---- bodies of the caller's own -------------------------------------------------------------- */

dBodyID scene_add_box(scene *s, const double *sides, double mass, double x, double y, double z) {
  return add_body(s, box(sides[0], sides[1], sides[2], mass), x, y, z);
}

dBodyID scene_add_sphere(scene *s, double radius, double mass, double x, double y, double z) {
  return add_body(s, sphere(radius, mass), x, y, z);
}

dBodyID scene_add_body(scene *s, const dMass *mass, double x, double y, double z) {
  dBodyID body = dBodyCreate(s->world);
  dBodySetMass(body, mass);
  dBodySetPosition(body, x, y, z);
  remember_body(s, body);
  return body;
}

void scene_make_contacts(scene *s, scene_contact_maker *make, void *data) {
  s->make_contacts = make;
  s->maker_data = data;
}

dSpaceID scene_space(scene *s) { return s->space; }
dSurfaceParameters *scene_surface(scene *s) { return &s->surface; }

/* ---- what it is now -------------------------------------------------------------------------- */

dWorldID scene_world(scene *s) { return s->world; }
int scene_bodies(scene *s) { return s->count; }
dBodyID scene_body(scene *s, int index) { return s->bodies[index]; }
int scene_contacts(const scene *s) { return s->contacts; }
double scene_solve_seconds(const scene *s) { return s->solve_seconds; }
