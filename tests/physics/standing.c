/* standing.c - what has to stay as it was built: tower, wall, card house, arch. */
#include <math.h>
#include <stdlib.h>

#include "stage.h"

#define PI 3.14159265358979323846

static const double step = 0.01;

/* Steps the scene and frees it; how far any of its bodies has moved in the end. */
static double largest_move(scene *s, double seconds) {
  enum { MOST = 256 };
  double start[MOST][3], largest = 0;
  int count = s ? scene_bodies(s) : 0;
  if (!s || count > MOST) return NAN;
  for (int i = 0; i < count; i++)
    for (int k = 0; k < 3; k++) start[i][k] = dBodyGetPosition(scene_body(s, i))[k];
  stage_run(s, seconds, step);
  for (int i = 0; i < count; i++) {
    const dReal *at = dBodyGetPosition(scene_body(s, i));
    double move = hypot(hypot(at[0] - start[i][0], at[1] - start[i][1]), at[2] - start[i][2]);
    if (!(move <= largest)) largest = move; /* not a number counts as moved */
  }
  scene_free(s);
  return largest;
}

double physics_tower(int boxes, double seconds) {
  return largest_move(stage_create("tower", boxes, step), seconds);
}

double physics_wall(int rows, double seconds) {
  return largest_move(stage_create("wall", rows, step), seconds);
}

/* ---- card house ------------------------------------------------------------------------------ */

static const double card_length = 1, card_width = 0.6, card_thickness = 0.02;
static const double lean = 15 * PI / 180;

/* A card in the plane y = 0 that leans to the right (side 1) or left (-1), its lowest edge at
 * height `foot`, its upper inner edge above x. */
static void add_leaning(scene *s, double x, double foot, int side) {
  double c = cos(lean), t = sin(lean);
  double above = 0.5 * (card_length * c + card_thickness * t); /* of the centre over the foot */
  double aside = 0.5 * (card_length * t + card_thickness * c);
  dBodyID card = scene_add_box(s, (const double[]){card_thickness, card_width, card_length}, 0.1,
                               x - side * aside, 0, foot + above);
  dMatrix3 R;
  dRFromAxisAndAngle(R, 0, 1, 0, side * lean);
  dBodySetRotation(card, R);
}

/* Each storey: pairs that lean on one another, and a long card flat on their tops.  Whatever they
 * bear, the feet need a friction of at most tan(lean) = 0.27. */
double physics_cards(int storeys, double seconds) {
  scene *s = stage_create("empty", 1, step);
  if (!s) return NAN;
  dCreatePlane(scene_space(s), 0, 0, 1, 0);
  double storey_height = card_length * cos(lean) + card_thickness * sin(lean);
  double pitch = 0.8 * card_length, foot = 0;
  for (int storey = 0; storey < storeys; storey++) {
    int pairs = storeys - storey;
    for (int i = 0; i < pairs; i++) {
      double x = (i - 0.5 * (pairs - 1)) * pitch;
      add_leaning(s, x, foot, 1);
      add_leaning(s, x, foot, -1);
    }
    foot += storey_height;
    double length = (pairs - 1) * pitch + 0.3 * card_length;
    if (pairs > 1)
      scene_add_box(s, (const double[]){length, card_width, card_thickness}, 0.1 * length, 0, 0,
                    foot + card_thickness / 2);
    foot += card_thickness;
  }
  return largest_move(s, seconds);
}

/* ---- arch ------------------------------------------------------------------------------------ */

/* Stones are wedges, which ODE's colliders do not know: their contacts are made here.  Stone i lies
 * between the joints at angles pi i / count and pi (i + 1) / count of a half circle in the x-z
 * plane. Its body's frame has x pointing outward along the stone's own middle. */
typedef struct arch {
  int count;
  double thickness, depth;
} arch;

static const double arch_radius = 1, joint_slack = 1e-4;

static double middle_angle(const arch *a, int stone) { return PI * (stone + 0.5) / a->count; }

/* Corner k of 4 of the joint at the start (side -1) or end (1) of a stone, in its own frame. */
static void joint_corner(const arch *a, int side, int k, dVector3 corner) {
  double half_angle = 0.5 * PI / a->count;
  double radius = arch_radius + (k & 1 ? 0.5 : -0.5) * a->thickness;
  corner[0] = radius * cos(half_angle) - arch_radius;
  corner[1] = (k & 2 ? 0.5 : -0.5) * a->depth;
  corner[2] = side * radius * sin(half_angle);
}

/* The outward normal of that joint, in the stone's frame. */
static void joint_normal(const arch *a, int side, dVector3 normal) {
  double half_angle = 0.5 * PI / a->count;
  normal[0] = -sin(half_angle);
  normal[1] = 0;
  normal[2] = side * cos(half_angle);
}

/* The four corners of one stone's joint against the plane of its neighbour's, or of the ground:
 * `on` is that plane's stone, NULL for the ground z = 0. */
static void press_joint(scene *s, const arch *a, dBodyID stone, int side, dBodyID on) {
  dVector3 normal = {0, 0, 1}, origin = {0, 0, 0}, local;
  if (on) {
    joint_normal(a, -side, local);
    dBodyVectorToWorld(on, local[0], local[1], local[2], normal);
    joint_corner(a, -side, 0, local);
    dBodyGetRelPointPos(on, local[0], local[1], local[2], origin);
  }
  for (int k = 0; k < 4; k++) {
    dContact contact = {0};
    dVector3 at;
    joint_corner(a, side, k, local);
    dBodyGetRelPointPos(stone, local[0], local[1], local[2], at);
    double depth = 0;
    for (int i = 0; i < 3; i++) {
      depth -= (at[i] - origin[i]) * normal[i];
      contact.geom.pos[i] = at[i];
      contact.geom.normal[i] = normal[i];
    }
    if (depth < -joint_slack) continue;
    contact.geom.depth = fmax(0, depth);
    scene_add_contact(s, &contact, stone, on);
  }
}

static void press_joints(scene *s, void *data) {
  const arch *a = data;
  press_joint(s, a, scene_body(s, 0), -1, NULL);
  press_joint(s, a, scene_body(s, a->count - 1), 1, NULL);
  for (int i = 0; i + 1 < a->count; i++)
    press_joint(s, a, scene_body(s, i), 1, scene_body(s, i + 1));
}

double physics_arch(int stones, double thickness, double seconds) {
  arch a = {stones, thickness, 0.5};
  scene *s = stage_create("empty", 1, step);
  if (!s) return NAN;
  scene_surface(s)->mu = 0.8;
  for (int i = 0; i < stones; i++) {
    /* A box of the same size stands for the wedge's inertia; weight and centre are what counts. */
    double angle = middle_angle(&a, i), width = PI * arch_radius / stones;
    dMass mass;
    dMassSetBoxTotal(&mass, thickness * width, thickness, a.depth, width);
    dBodyID stone = scene_add_body(s, &mass, arch_radius * cos(angle), 0, arch_radius * sin(angle));
    dMatrix3 R;
    dRFromAxisAndAngle(R, 0, 1, 0, -angle);
    dBodySetRotation(stone, R);
  }
  scene_make_contacts(s, press_joints, &a);
  return largest_move(s, seconds);
}
