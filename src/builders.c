/* builders.c - rows of J from contacts and joints, and the motion of bodies.
 *
 * Every row measures a velocity of the first body against the second, in the world frame: a point's
 * velocity along d is v.d + omega.(r x d), r the lever from the centre of mass.  Errors are what
 * the rows are derivatives of, so that w = error' + bias, and a bias of error / h undoes the
 * error. */
#include <math.h>
#include <string.h>

#include "system.h"
#include "workspace.h"

/* ---- vectors and rotations ------------------------------------------------------------------- */

static void cross(const double a[3], const double b[3], double c[3]) {
  double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2],
         z = a[0] * b[1] - a[1] * b[0];
  c[0] = x, c[1] = y, c[2] = z;
}

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void subtract(const double a[3], const double b[3], double c[3]) {
  for (int i = 0; i < 3; i++) c[i] = a[i] - b[i];
}

static void rotation_matrix(const double q[4], double R[3][3]) {
  double w = q[0], x = q[1], y = q[2], z = q[3];
  double rows[3][3] = {
      {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
      {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
      {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)},
  };
  memcpy(R, rows, sizeof rows);
}

static void multiply_quaternions(const double p[4], const double q[4], double r[4]) {
  double out[4] = {p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
                   p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
                   p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
                   p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0]};
  memcpy(r, out, sizeof out);
}

static void conjugate(const double q[4], double r[4]) {
  r[0] = q[0];
  for (int i = 1; i < 4; i++) r[i] = -q[i];
}

/* Into the world, or back into the body. */
static void turn(const lcplug_pose *pose, const double v[3], double out[3]) {
  double R[3][3], r[3];
  rotation_matrix(pose->rotation, R);
  for (int i = 0; i < 3; i++) r[i] = dot(R[i], v);
  memcpy(out, r, sizeof r);
}

static void turn_back(const lcplug_pose *pose, const double v[3], double out[3]) {
  lcplug_pose back = *pose;
  conjugate(pose->rotation, back.rotation);
  turn(&back, v, out);
}

static const lcplug_pose world = {{0, 0, 0}, {1, 0, 0, 0}};

/* ---- contacts -------------------------------------------------------------------------------- */

void lcplug_contact_frame(const double normal[3], double tangent1[3], double tangent2[3]) {
  /* Across the axis that the normal is least along. */
  int least = fabs(normal[0]) <= fabs(normal[1]) ? 0 : 1;
  if (fabs(normal[2]) < fabs(normal[least])) least = 2;
  double axis[3] = {least == 0, least == 1, least == 2};
  cross(normal, axis, tangent1);
  double length = sqrt(dot(tangent1, tangent1));
  for (int i = 0; i < 3; i++) tangent1[i] /= length;
  cross(normal, tangent1, tangent2);
}

/* The velocity along d of a point of body 1 against one of body 2. */
static void point_row(const double d[3], const double lever1[3], const double lever2[3],
                      double *row) {
  memcpy(row, d, 3 * sizeof *row);
  cross(lever1, d, row + 3);
  for (int i = 0; i < 3; i++) row[6 + i] = -d[i];
  cross(d, lever2, row + 9);
}

/* The turning about d of body 1 against body 2. */
static void turning_row(const double d[3], double *row) {
  memset(row, 0, ROW_SIZE * sizeof *row);
  for (int i = 0; i < 3; i++) row[3 + i] = d[i], row[9 + i] = -d[i];
}

void lcplug_contact_rows_along(const double normal[3], const double tangent1[3],
                               const double tangent2[3], const double lever1[3],
                               const double lever2[3], double jacobian[36]) {
  point_row(normal, lever1, lever2, jacobian);
  point_row(tangent1, lever1, lever2, jacobian + ROW_SIZE);
  point_row(tangent2, lever1, lever2, jacobian + 2 * ROW_SIZE);
}

void lcplug_contact_rows(const double normal[3], const double lever1[3], const double lever2[3],
                         double jacobian[36]) {
  double tangent1[3], tangent2[3];
  lcplug_contact_frame(normal, tangent1, tangent2);
  lcplug_contact_rows_along(normal, tangent1, tangent2, lever1, lever2, jacobian);
}

/* ---- joints ---------------------------------------------------------------------------------- */

int32_t lcplug_joint_row_count(lcplug_joint_kind kind) {
  static const int32_t rows[] = {[LCPLUG_JOINT_BALL] = 3,
                                 [LCPLUG_JOINT_HINGE] = 5,
                                 [LCPLUG_JOINT_SLIDER] = 5,
                                 [LCPLUG_JOINT_FIXED] = 6};
  return (unsigned)kind <= LCPLUG_JOINT_FIXED ? rows[kind] : 0;
}

static int has_axis(lcplug_joint_kind kind) {
  return kind == LCPLUG_JOINT_HINGE || kind == LCPLUG_JOINT_SLIDER;
}

lcplug_error lcplug_joint_at(lcplug_joint_kind kind, const lcplug_pose *pose1,
                             const lcplug_pose *pose2, const double point[3], const double axis[3],
                             lcplug_joint *joint) {
  if (!lcplug_joint_row_count(kind) || !pose1 || !point || !joint) return LCPLUG_ERROR_ARGUMENT;
  double length = has_axis(kind) && axis ? sqrt(dot(axis, axis)) : 0.0, unit[3];
  if (has_axis(kind) && !(length > 0.0 && isfinite(length))) return LCPLUG_ERROR_ARGUMENT;
  lcplug_joint made = {.kind = kind};
  if (!pose2) pose2 = &world;
  subtract(point, pose1->position, made.anchor1);
  subtract(point, pose2->position, made.anchor2);
  turn_back(pose1, made.anchor1, made.anchor1);
  turn_back(pose2, made.anchor2, made.anchor2);
  for (int i = 0; i < 3; i++) unit[i] = has_axis(kind) ? axis[i] / length : 0.0;
  turn_back(pose1, unit, made.axis1);
  turn_back(pose2, unit, made.axis2);
  double back[4];
  conjugate(pose1->rotation, back);
  multiply_quaternions(back, pose2->rotation, made.turn);
  *joint = made;
  return LCPLUG_OK;
}

/* A joint at its present poses: anchors and axes in the world. */
typedef struct placed_joint {
  double lever1[3], lever2[3]; /* from the centres of mass to the anchors */
  double apart[3];             /* from the anchor of body 1 to that of body 2 */
  double axis1[3], axis2[3], tangent[2][3];
  double twist[3]; /* by how much body 2 is turned against where body 1 wants it */
} placed_joint;

static placed_joint place_joint(const lcplug_joint *joint, const lcplug_pose *pose1,
                                const lcplug_pose *pose2) {
  placed_joint p;
  double wanted[4], off[4];
  turn(pose1, joint->anchor1, p.lever1);
  turn(pose2, joint->anchor2, p.lever2);
  for (int i = 0; i < 3; i++)
    p.apart[i] = pose2->position[i] + p.lever2[i] - pose1->position[i] - p.lever1[i];
  turn(pose1, joint->axis1, p.axis1);
  turn(pose2, joint->axis2, p.axis2);
  memset(p.tangent, 0, sizeof p.tangent);
  if (has_axis(joint->kind)) lcplug_contact_frame(p.axis1, p.tangent[0], p.tangent[1]);
  multiply_quaternions(pose1->rotation, joint->turn, wanted);
  conjugate(wanted, wanted);
  multiply_quaternions(pose2->rotation, wanted, off);
  for (int i = 0; i < 3; i++) p.twist[i] = 2.0 * (off[0] < 0.0 ? -off[1 + i] : off[1 + i]);
  return p;
}

static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* Each writes its rows and errors and returns how many. */
static int anchor_rows(const placed_joint *p, double *jacobian, double *error) {
  for (int i = 0; i < 3; i++) {
    point_row(axes[i], p->lever1, p->lever2, jacobian + i * ROW_SIZE);
    error[i] = -p->apart[i];
  }
  return 3;
}

static int orientation_rows(const placed_joint *p, double *jacobian, double *error) {
  for (int i = 0; i < 3; i++) {
    turning_row(axes[i], jacobian + i * ROW_SIZE);
    error[i] = -p->twist[i];
  }
  return 3;
}

static int parallel_axes_rows(const placed_joint *p, double *jacobian, double *error) {
  double between[3];
  cross(p->axis1, p->axis2, between);
  for (int i = 0; i < 2; i++) {
    turning_row(p->tangent[i], jacobian + i * ROW_SIZE);
    error[i] = -dot(between, p->tangent[i]);
  }
  return 2;
}

/* The tangents turn with body 1, so its lever reaches to the anchor of body 2. */
static int along_axis_rows(const placed_joint *p, double *jacobian, double *error) {
  double reach[3];
  for (int i = 0; i < 3; i++) reach[i] = p->lever1[i] + p->apart[i];
  for (int i = 0; i < 2; i++) {
    point_row(p->tangent[i], reach, p->lever2, jacobian + i * ROW_SIZE);
    error[i] = -dot(p->apart, p->tangent[i]);
  }
  return 2;
}

lcplug_error lcplug_joint_rows(const lcplug_joint *joint, const lcplug_pose *pose1,
                               const lcplug_pose *pose2, double *jacobian, double *error) {
  typedef int row_builder(const placed_joint *p, double *jacobian, double *error);
  static row_builder *const parts[][2] = {
      [LCPLUG_JOINT_BALL] = {anchor_rows, NULL},
      [LCPLUG_JOINT_HINGE] = {anchor_rows, parallel_axes_rows},
      [LCPLUG_JOINT_SLIDER] = {orientation_rows, along_axis_rows},
      [LCPLUG_JOINT_FIXED] = {anchor_rows, orientation_rows},
  };
  if (!joint || !pose1 || !jacobian || !lcplug_joint_row_count(joint->kind))
    return LCPLUG_ERROR_ARGUMENT;
  placed_joint p = place_joint(joint, pose1, pose2 ? pose2 : &world);
  double errors[LCPLUG_JOINT_MOST_ROWS];
  int rows = parts[joint->kind][0](&p, jacobian, errors);
  if (parts[joint->kind][1])
    rows += parts[joint->kind][1](&p, jacobian + rows * ROW_SIZE, errors + rows);
  if (error) memcpy(error, errors, (size_t)rows * sizeof *error);
  return LCPLUG_OK;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

void lcplug_world_inertia(const lcplug_pose *pose, const double inverse_moments[3],
                          double inverse_inertia[9]) {
  double R[3][3];
  rotation_matrix(pose->rotation, R);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0.0;
      for (int k = 0; k < 3; k++) sum += R[i][k] * inverse_moments[k] * R[j][k];
      inverse_inertia[3 * i + j] = inverse_inertia[3 * j + i] = sum;
    }
}

void lcplug_gyroscopic_torque(const lcplug_pose *pose, const double moments[3],
                              const double angular_velocity[3], double torque[3]) {
  double omega[3], spin[3];
  turn_back(pose, angular_velocity, omega);
  for (int i = 0; i < 3; i++) spin[i] = moments[i] * omega[i];
  cross(spin, omega, spin);
  turn(pose, spin, torque);
}

/* q <- exp(h omega / 2) q. */
static void turn_body(double q[4], const double omega[3], double h) {
  double half = 0.5 * h * sqrt(dot(omega, omega)), step[4] = {cos(half), 0, 0, 0};
  double part = half != 0.0 ? 0.5 * h * sin(half) / half : 0.0;
  for (int i = 0; i < 3; i++) step[1 + i] = part * omega[i];
  multiply_quaternions(step, q, q);
  double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (int i = 0; i < 4; i++) q[i] /= length;
}

void lcplug_move_bodies(int32_t bodies, lcplug_pose *pose, const double *velocity, double h) {
  for (int k = 0; k < bodies; k++, velocity += BODY_SIZE) {
    for (int i = 0; i < 3; i++) pose[k].position[i] += h * velocity[i];
    turn_body(pose[k].rotation, velocity + 3, h);
  }
}

/* ---- warm starts ----------------------------------------------------------------------------- */

/* Keys to items, by open addressing; at least half of the slots are empty. */
typedef struct key_table {
  const lcplug_row_items *of;
  int32_t *slot; /* item, or -1 */
  uint64_t last; /* slots - 1, slots a power of 2 */
} key_table;

static uint64_t scramble(uint64_t key) {
  key = (key ^ (key >> 31)) * 0x9e3779b97f4a7c15u;
  return key ^ (key >> 29);
}

/* The slot of this key, or the empty one where it would go. */
static int32_t *find_slot(const key_table *t, uint64_t key) {
  uint64_t at = scramble(key) & t->last;
  while (t->slot[at] >= 0 && t->of->key[t->slot[at]] != key) at = (at + 1) & t->last;
  return &t->slot[at];
}

static int build_table(key_table *t, const lcplug_row_items *of, lcplug_workspace *workspace) {
  uint64_t slots = 2;
  while (slots < 2 * (uint64_t)of->items) slots *= 2;
  *t = (key_table){of, TAKE(workspace, int32_t, slots), slots - 1};
  if (!t->slot) return 0;
  memset(t->slot, -1, slots * sizeof *t->slot);
  for (int32_t k = 0; k < of->items; k++) *find_slot(t, of->key[k]) = k;
  return 1;
}

static int is_complete(const lcplug_row_items *r) {
  return r && r->items >= 0 && (!r->items || (r->key && r->first && r->count));
}

static int fits(const lcplug_row_items *r, int32_t rows) {
  for (int32_t k = 0; k < r->items; k++)
    if (r->first[k] < 0 || r->count[k] < 0 || r->count[k] > rows - r->first[k]) return 0;
  return 1;
}

lcplug_error lcplug_warm_start(lcplug_workspace *workspace, const lcplug_row_items *before,
                               const double *x, const lcplug_row_items *now, int32_t rows,
                               double *x0) {
  if (!workspace || !is_complete(before) || !is_complete(now) || (before->items && !x) ||
      (rows > 0 && !x0))
    return LCPLUG_ERROR_ARGUMENT;
  if (rows < 0 || !fits(now, rows) || !fits(before, INT32_MAX)) return LCPLUG_ERROR_SIZE;
  key_table table;
  int built = build_table(&table, before, workspace);
  if (built) {
    for (int32_t i = 0; i < rows; i++) x0[i] = 0.0;
    for (int32_t k = 0; k < now->items; k++) {
      int32_t old = *find_slot(&table, now->key[k]);
      if (old < 0) continue;
      int32_t kept = before->count[old] < now->count[k] ? before->count[old] : now->count[k];
      const double *from = x + before->first[old];
      for (int32_t i = 0; i < kept; i++) x0[now->first[k] + i] = isfinite(from[i]) ? from[i] : 0.0;
    }
  }
  lcplug_workspace_reset(workspace);
  return built ? LCPLUG_OK : LCPLUG_ERROR_MEMORY;
}
