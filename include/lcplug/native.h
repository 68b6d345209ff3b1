/* native.h - lcplug for simulators that own their Jacobians: A is never formed.
 *
 * The problem.  Bodies with velocities v move for one time step of h seconds under forces f and
 * unknown impulses x, one per constraint row:
 *
 *     v+ = v + h M^-1 f + M^-1 J' x                       the step in velocities
 *     w  = J v+ + bias + CFM x,  x in K,  w complementary  what the rows demand
 *
 * which is A x = b + w (lcplug.h) with A = J M^-1 J' + CFM and b = -J (v + h M^-1 f) - bias.
 * The bias is what the time-stepping scheme wants: gap / h for the scheme of Stewart, Trinkle and
 * Anitescu, e v_n for restitution, a fraction of error / h for Baumgarte's stabilisation.
 *
 * The use, in each time step:
 *
 *     contacts and joints  -> lcplug_contact_rows, lcplug_joint_rows     rows of J, bias
 *     lcplug_system_right_side                                          b
 *     lcplug_system_solve                                               x
 *     lcplug_system_velocity, lcplug_move_bodies                        v+, positions
 *
 * Velocities.  One vector of lcplug_system_coordinates() numbers: six for each body (linear of its
 * centre of mass, then angular, both in the world frame), then the generalised velocities of the
 * articulated groups.  Forces have the same order.
 *
 * Rows.  Notation of lcplug.h: bounds lo, hi, and findex with the friction coefficient in hi.  The
 * settings `solver` and `friction` mean what they mean there; `pgs` is sequential impulses here.
 *
 * Binding from other languages: structs of plain numbers and pointers whose sizes do not change;
 * lcplug_system, the one that may grow, starts with its size and version.  No callbacks, and a code
 * from every function that can fail.
 *
 * Threads.  None unless a system names a team.  Answers have the same bits with and without one. */
#ifndef LCPLUG_NATIVE_H
#define LCPLUG_NATIVE_H

#include <lcplug/lcplug.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- threads --------------------------------------------------------------------------------- */

/* Threads that share the work of a solve: `threads` in all, the caller's own included.  They sleep
 * between solves.  A team serves one solve at a time and does not survive a fork. */
typedef struct lcplug_team lcplug_team;

/* Starts threads - 1 threads; NULL if threads < 1 or they cannot be had. */
LCPLUG_API lcplug_team *lcplug_team_create(int32_t threads);
LCPLUG_API void lcplug_team_free(lcplug_team *team);

/* ---- the system ------------------------------------------------------------------------------ */

/* Bodies, articulated groups and rows.  Start from lcplug_system_default(); the arrays stay the
 * caller's and are only read.
 *
 * inverse_mass        one per body; 0 for a body that no force moves.
 * inverse_inertia     9 per body, row-major, in the world frame; symmetric, positive semidefinite.
 * group_begin         groups + 1 numbers from 0: group g has the coordinates group_begin[g] to
 *                     group_begin[g + 1] - 1 of all articulated coordinates.
 * group_inverse_mass  the inverse mass matrix of each group, row-major, one group after the other.
 * body                two per row: indices of bodies, or -1 for none (the world).
 * jacobian            12 per row: linear and angular part of the first body, then of the second.
 *                     May be NULL if no row names a body.
 * sparse_begin        rows + 1 offsets into sparse_coordinate and sparse_value, the part of a row
 *                     on articulated coordinates, in any order.  NULL: no such parts.
 * cfm                 one per row, not negative; NULL: 0.
 * b, lo, hi, findex   one per row, as in lcplug_problem; lo, hi and findex may be NULL.
 * x0                  a guess for x, or NULL; need not be feasible. */
typedef struct lcplug_system {
  uint32_t size;    /* of this struct in bytes; set by lcplug_system_default */
  uint32_t version; /* of this struct; set by lcplug_system_default */
  int32_t bodies;
  int32_t groups;
  int32_t rows;
  int32_t reserved; /* 0 */
  const double *inverse_mass;
  const double *inverse_inertia;
  const int32_t *group_begin;
  const double *group_inverse_mass;
  const int32_t *body;
  const double *jacobian;
  const int32_t *sparse_begin;
  const int32_t *sparse_coordinate;
  const double *sparse_value;
  const double *cfm;
  const double *b;
  const double *lo;
  const double *hi;
  const int32_t *findex;
  const double *x0;
  lcplug_team *team; /* NULL: the caller's thread alone */
} lcplug_system;

/* A system of nothing. */
LCPLUG_API lcplug_system lcplug_system_default(void);

/* Checks everything but b, lo, hi and findex: sizes, indices, finiteness, signs of masses and CFM,
 * symmetry of inertias and mass blocks.  lcplug_system_solve does the same, and checks those too,
 * and that mass blocks are positive semidefinite. */
LCPLUG_API lcplug_error lcplug_system_check(const lcplug_system *system);

/* 6 bodies + the articulated coordinates: the length of a velocity; 0 for a system that is none. */
LCPLUG_API int32_t lcplug_system_coordinates(const lcplug_system *system);

/* Solves for the impulses, as lcplug_solve does for a matrix.  `exact` forms A, sparse; `auto` does
 * so only up to 5,000 rows (1,000 with pyramids) and without cones, and goes by gradients and
 * sweeps above. */
LCPLUG_API lcplug_error lcplug_system_solve(lcplug_workspace *workspace,
                                            const lcplug_system *system,
                                            const lcplug_settings *settings,
                                            lcplug_solution *solution, lcplug_info *info);

/* The natural residual of x; lo and hi as lcplug_residual takes them, with steps of 1. */
LCPLUG_API lcplug_error lcplug_system_residual(lcplug_workspace *workspace,
                                               const lcplug_system *system,
                                               lcplug_friction friction, const double *x,
                                               const double *lo, const double *hi,
                                               double *residual);

/* y = A x without A. */
LCPLUG_API lcplug_error lcplug_system_apply(lcplug_workspace *workspace,
                                            const lcplug_system *system, const double *x,
                                            double *y);

/* All of A, row-major with `stride` numbers to a row: for comparisons, rows squared in size. */
LCPLUG_API lcplug_error lcplug_system_matrix(lcplug_workspace *workspace,
                                             const lcplug_system *system, double *A, size_t stride);

/* b = -J (velocity + h M^-1 force) - bias.  force and bias may be NULL.  Reads no b. */
LCPLUG_API lcplug_error lcplug_system_right_side(const lcplug_system *system,
                                                 const double *velocity, const double *force,
                                                 double h, const double *bias, double *b);

/* after = velocity + h M^-1 force + M^-1 J' x.  force and x may be NULL; after may be velocity. */
LCPLUG_API lcplug_error lcplug_system_velocity(const lcplug_system *system, const double *velocity,
                                               const double *force, double h, const double *x,
                                               double *after);

/* ---- warm starts ----------------------------------------------------------------------------- */

/* Carries impulses from one step's rows to the next one's.  Whoever belongs together has the same
 * key (no two alike on one side): item k has `count[k]` rows from row `first[k]`.  Rows of an item
 * that is in both steps keep their impulse, in order: a contact that grows from one row to three
 * keeps its normal impulse and starts without friction.  All other of the `rows` elements of x0 are
 * 0. */
typedef struct lcplug_row_items {
  int32_t items;
  const uint64_t *key;
  const int32_t *first;
  const int32_t *count;
} lcplug_row_items;
LCPLUG_API lcplug_error lcplug_warm_start(lcplug_workspace *workspace,
                                          const lcplug_row_items *before, const double *x,
                                          const lcplug_row_items *now, int32_t rows, double *x0);

/* ---- builders -------------------------------------------------------------------------------- */

/* Where a body is: its centre of mass, and a unit quaternion (w, x, y, z) that turns body vectors
 * into world vectors. */
typedef struct lcplug_pose {
  double position[3];
  double rotation[4];
} lcplug_pose;

/* Two tangents that make a right-handed frame with the unit vector `normal`. */
LCPLUG_API void lcplug_contact_frame(const double normal[3], double tangent1[3],
                                     double tangent2[3]);

/* Three rows (normal, two tangents; 36 numbers) of a contact.  normal: unit, from the second body
 * towards the first; lever1, lever2: from each body's centre of mass to the contact point.  w of
 * the normal row is the speed of separation.  Use the first 12 numbers alone for no friction. */
LCPLUG_API void lcplug_contact_rows(const double normal[3], const double lever1[3],
                                    const double lever2[3], double jacobian[36]);

/* The same with tangents of the caller's own, as a belt or elliptic friction needs them: unit
 * vectors at right angles to the normal and to each other. */
LCPLUG_API void lcplug_contact_rows_along(const double normal[3], const double tangent1[3],
                                          const double tangent2[3], const double lever1[3],
                                          const double lever2[3], double jacobian[36]);

typedef enum lcplug_joint_kind {
  LCPLUG_JOINT_BALL = 0,   /* 3 rows: the anchors coincide */
  LCPLUG_JOINT_HINGE = 1,  /* 5 rows: and the axes are parallel */
  LCPLUG_JOINT_SLIDER = 2, /* 5 rows: no turning, and anchors apart only along the axis */
  LCPLUG_JOINT_FIXED = 3   /* 6 rows: neither turning nor anchors apart */
} lcplug_joint_kind;

enum { LCPLUG_JOINT_MOST_ROWS = 6 };

/* A joint, in the frames of its bodies; filled by lcplug_joint_at. */
typedef struct lcplug_joint {
  lcplug_joint_kind kind;
  int32_t reserved;
  double anchor1[3], anchor2[3]; /* in the frame of each body */
  double axis1[3], axis2[3];     /* unit; of a hinge and a slider */
  double turn[4];                /* rotation of body 2 as seen from body 1 */
} lcplug_joint;

/* A joint that is satisfied by the bodies as they are.  point and axis: in the world; the axis of a
 * ball or fixed joint is not read and may be NULL.  pose2 NULL: the world is the second body. */
LCPLUG_API lcplug_error lcplug_joint_at(lcplug_joint_kind kind, const lcplug_pose *pose1,
                                        const lcplug_pose *pose2, const double point[3],
                                        const double axis[3], lcplug_joint *joint);

/* How many rows the joint has; 0 if there is no such kind. */
LCPLUG_API int32_t lcplug_joint_row_count(lcplug_joint_kind kind);

/* The rows (12 numbers each) at the present poses, and by how much each is violated: w = 0 keeps an
 * error, a bias of error / h removes it in one step.  All rows are free (lo -inf, hi +inf). */
LCPLUG_API lcplug_error lcplug_joint_rows(const lcplug_joint *joint, const lcplug_pose *pose1,
                                          const lcplug_pose *pose2, double *jacobian,
                                          double *error);

/* The inverse inertia in the world frame (9 numbers), R diag(inverse_moments) R'. */
LCPLUG_API void lcplug_world_inertia(const lcplug_pose *pose, const double inverse_moments[3],
                                     double inverse_inertia[9]);

/* -omega x (I omega): the torque of a turning body that has three different moments of inertia, for
 * the force vector.  angular_velocity in the world frame, moments along the body's axes. */
LCPLUG_API void lcplug_gyroscopic_torque(const lcplug_pose *pose, const double moments[3],
                                         const double angular_velocity[3], double torque[3]);

/* Moves each body for h seconds with its velocity (6 numbers each): position += h v, and the
 * rotation turns by h |omega| about omega, to a unit quaternion again. */
LCPLUG_API void lcplug_move_bodies(int32_t bodies, lcplug_pose *pose, const double *velocity,
                                   double h);

#ifdef __cplusplus
}
#endif

#endif
