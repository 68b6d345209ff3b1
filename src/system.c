/* system.c - bodies, articulated groups and rows: their check, the right side and the velocities.
 *
 * Everything here is one pass over the rows and needs no memory: M^-1 is block diagonal, and a row
 * names at most two bodies and a few coordinates. */
#include "system.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "finite.h"
#include "fpenv.h"
#include "problem.h"

/* Of the largest element: what counts as symmetric, and as a pivot of 0. */
static const double SYMMETRIC = 1e-10, NO_PIVOT = 1e-13, NEGATIVE_PIVOT = 1e-9;

lcplug_system lcplug_system_default(void) {
  return (lcplug_system){.size = sizeof(lcplug_system), .version = SYSTEM_VERSION};
}

int lcplug_articulated(const lcplug_system *s) { return s->groups ? s->group_begin[s->groups] : 0; }

int32_t lcplug_system_coordinates(const lcplug_system *s) {
  if (!s || s->size != sizeof *s || s->version != SYSTEM_VERSION || s->bodies < 0 ||
      s->groups < 0 || (s->groups && !s->group_begin))
    return 0;
  int64_t all = (int64_t)BODY_SIZE * s->bodies + lcplug_articulated(s);
  return all >= 0 && all <= INT32_MAX ? (int32_t)all : 0;
}

lcplug_problem lcplug_system_problem(const lcplug_system *s) {
  lcplug_problem p = lcplug_problem_default();
  p.n = s->rows, p.b = s->b, p.lo = s->lo, p.hi = s->hi, p.findex = s->findex, p.x0 = s->x0;
  return p;
}

/* ---- the check ------------------------------------------------------------------------------- */

static double largest_diagonal(const double *a, int m) {
  double largest = 0.0;
  for (int i = 0; i < m; i++) largest = fmax(largest, a[(size_t)i * (size_t)m + (size_t)i]);
  return largest;
}

int lcplug_split_mass(const double *a, int m, double *l) {
  double largest = largest_diagonal(a, m);
  size_t size = (size_t)m;
  memset(l, 0, size * size * sizeof *l);
  for (size_t j = 0; j < size; j++) {
    double *lj = l + j * size, pivot = a[j * size + j];
    for (size_t k = 0; k < j; k++) pivot -= lj[k] * lj[k];
    if (!(pivot >= -NEGATIVE_PIVOT * largest)) return 0;
    int none = pivot <= NO_PIVOT * largest;
    double root = none ? 0.0 : sqrt(pivot);
    lj[j] = root;
    for (size_t i = j + 1; i < size; i++) {
      double *li = l + i * size, rest = a[i * size + j];
      for (size_t k = 0; k < j; k++) rest -= li[k] * lj[k];
      /* Where there is no motion along j there is none in combination with it. */
      if (none && fabs(rest) > sqrt(NEGATIVE_PIVOT) * largest) return 0;
      li[j] = none ? 0.0 : rest / root;
    }
  }
  return 1;
}

static int all_finite(const double *values, size_t count) {
  uint64_t not_finite = 0;
  for (size_t k = 0; k < count; k++) not_finite |= lcplug_not_finite(values[k]);
  return !not_finite;
}

static lcplug_error check_mass(const double *a, int m) {
  size_t size = (size_t)m;
  if (!all_finite(a, size * size)) return LCPLUG_ERROR_NOT_FINITE;
  double allowed = SYMMETRIC * largest_diagonal(a, m);
  for (size_t i = 0; i < size; i++) {
    if (a[i * size + i] < 0.0) return LCPLUG_ERROR_MASS;
    for (size_t j = 0; j < i; j++)
      if (fabs(a[i * size + j] - a[j * size + i]) > allowed) return LCPLUG_ERROR_MASS;
  }
  return LCPLUG_OK;
}

static lcplug_error check_bodies(const lcplug_system *s) {
  double l[BODY_SYMMETRY];
  if (s->bodies && (!s->inverse_mass || !s->inverse_inertia)) return LCPLUG_ERROR_ARGUMENT;
  for (int k = 0; k < s->bodies; k++) {
    const double *inertia = s->inverse_inertia + (size_t)k * BODY_SYMMETRY;
    if (!isfinite(s->inverse_mass[k])) return LCPLUG_ERROR_NOT_FINITE;
    if (s->inverse_mass[k] < 0.0) return LCPLUG_ERROR_MASS;
    lcplug_error error = check_mass(inertia, 3);
    if (error) return error;
    if (!lcplug_split_mass(inertia, 3, l)) return LCPLUG_ERROR_MASS;
  }
  return LCPLUG_OK;
}

static lcplug_error check_groups(const lcplug_system *s) {
  if (!s->groups) return LCPLUG_OK;
  if (!s->group_begin || !s->group_inverse_mass) return LCPLUG_ERROR_ARGUMENT;
  if (s->group_begin[0] != 0) return LCPLUG_ERROR_SIZE;
  const double *mass = s->group_inverse_mass;
  for (int g = 0; g < s->groups; g++) {
    int m = s->group_begin[g + 1] - s->group_begin[g];
    if (m < 0 || s->group_begin[g + 1] > PROBLEM_LARGEST) return LCPLUG_ERROR_SIZE;
    lcplug_error error = check_mass(mass, m);
    if (error) return error;
    mass += (size_t)m * (size_t)m;
  }
  return LCPLUG_OK;
}

static lcplug_error check_sparse(const lcplug_system *s) {
  if (!s->sparse_begin) return LCPLUG_OK;
  int coordinates = lcplug_articulated(s), end = s->sparse_begin[s->rows];
  if (s->sparse_begin[0] != 0 || end < 0) return LCPLUG_ERROR_SIZE;
  for (int i = 0; i < s->rows; i++)
    if (s->sparse_begin[i] > s->sparse_begin[i + 1]) return LCPLUG_ERROR_SIZE;
  if (end && (!s->sparse_coordinate || !s->sparse_value)) return LCPLUG_ERROR_ARGUMENT;
  for (int k = 0; k < end; k++)
    if (s->sparse_coordinate[k] < 0 || s->sparse_coordinate[k] >= coordinates)
      return LCPLUG_ERROR_BODY;
  return all_finite(s->sparse_value, (size_t)end) ? LCPLUG_OK : LCPLUG_ERROR_NOT_FINITE;
}

/* The 12 numbers of a side that names no body are not read. */
static lcplug_error check_rows(const lcplug_system *s) {
  for (int i = 0; s->body && i < s->rows; i++)
    for (int side = 0; side < 2; side++) {
      int body = s->body[2 * i + side];
      if (body < -1 || body >= s->bodies) return LCPLUG_ERROR_BODY;
      if (body < 0) continue;
      if (!s->jacobian) return LCPLUG_ERROR_ARGUMENT;
      if (!all_finite(s->jacobian + (size_t)i * ROW_SIZE + side * BODY_SIZE, BODY_SIZE))
        return LCPLUG_ERROR_NOT_FINITE;
    }
  for (int i = 0; s->cfm && i < s->rows; i++) {
    if (!isfinite(s->cfm[i])) return LCPLUG_ERROR_NOT_FINITE;
    if (s->cfm[i] < 0.0) return LCPLUG_ERROR_DIAGONAL;
  }
  return check_sparse(s);
}

static lcplug_error check_parts(const lcplug_system *s) {
  if (!s || s->size != sizeof *s || s->version != SYSTEM_VERSION) return LCPLUG_ERROR_ARGUMENT;
  if (s->bodies < 0 || s->bodies > PROBLEM_LARGEST || s->groups < 0 || s->rows < 0 ||
      s->rows > PROBLEM_LARGEST)
    return LCPLUG_ERROR_SIZE;
  lcplug_error error = check_bodies(s);
  if (!error) error = check_groups(s);
  if (!error) error = check_rows(s);
  return error;
}

lcplug_error lcplug_system_check(const lcplug_system *s) {
  fpenv host = lcplug_fpenv_enter();
  lcplug_error error = check_parts(s);
  lcplug_fpenv_leave(host);
  return error;
}

/* ---- velocities ------------------------------------------------------------------------------ */

/* v += scale M^-1 f of one body. */
static void push_body(const lcplug_system *s, int body, double scale, const double *f, double *v) {
  const double *inertia = s->inverse_inertia + (size_t)body * BODY_SYMMETRY;
  for (int i = 0; i < 3; i++) {
    v[i] += scale * s->inverse_mass[body] * f[i];
    v[3 + i] +=
        scale * (inertia[3 * i] * f[3] + inertia[3 * i + 1] * f[4] + inertia[3 * i + 2] * f[5]);
  }
}

/* A group's place among the coordinates, and its block of M^-1. */
typedef struct group_cursor {
  int group, begin, size;
  const double *mass;
} group_cursor;

static group_cursor first_group(const lcplug_system *s) {
  return (group_cursor){0, 0, s->groups ? s->group_begin[1] : 0, s->group_inverse_mass};
}

static void next_group(const lcplug_system *s, group_cursor *g) {
  g->mass += (size_t)g->size * (size_t)g->size;
  g->group++;
  g->begin += g->size;
  g->size = g->group < s->groups ? s->group_begin[g->group + 1] - g->begin : 0;
}

/* The group of a coordinate; rows mostly stay in one. */
static void seek_group(const lcplug_system *s, group_cursor *g, int coordinate) {
  if (coordinate < g->begin) *g = first_group(s);
  while (coordinate >= g->begin + g->size) next_group(s, g);
}

/* v + h M^-1 f of one articulated coordinate; v and f begin with the first of these. */
static double coordinate_velocity(const group_cursor *g, int coordinate, const double *v,
                                  const double *f, double h) {
  double sum = 0.0;
  const double *row = g->mass + (size_t)(coordinate - g->begin) * (size_t)g->size;
  for (int k = 0; f && k < g->size; k++) sum += row[k] * f[g->begin + k];
  return v[coordinate] + h * sum;
}

lcplug_error lcplug_system_right_side(const lcplug_system *s, const double *velocity,
                                      const double *force, double h, const double *bias,
                                      double *b) {
  fpenv host = lcplug_fpenv_enter();
  lcplug_error error = check_parts(s);
  if (!error && s->rows && (!velocity || !b)) error = LCPLUG_ERROR_ARGUMENT;
  if (!error && !isfinite(h)) error = LCPLUG_ERROR_NOT_FINITE;
  group_cursor g = {0, 0, 0, NULL};
  if (!error) g = first_group(s);
  for (int i = 0; !error && i < s->rows; i++) {
    double sum = bias ? bias[i] : 0.0;
    for (int side = 0; s->body && side < 2; side++) {
      int body = s->body[2 * i + side];
      if (body < 0) continue;
      const double *row = s->jacobian + (size_t)i * ROW_SIZE + side * BODY_SIZE;
      double v[BODY_SIZE];
      memcpy(v, velocity + (size_t)body * BODY_SIZE, sizeof v);
      if (force) push_body(s, body, h, force + (size_t)body * BODY_SIZE, v);
      for (int c = 0; c < BODY_SIZE; c++) sum += row[c] * v[c];
    }
    size_t articulated = (size_t)s->bodies * BODY_SIZE;
    for (int k = s->sparse_begin ? s->sparse_begin[i] : 0;
         s->sparse_begin && k < s->sparse_begin[i + 1]; k++) {
      int coordinate = s->sparse_coordinate[k];
      seek_group(s, &g, coordinate);
      sum += s->sparse_value[k] * coordinate_velocity(&g, coordinate, velocity + articulated,
                                                      force ? force + articulated : NULL, h);
    }
    b[i] = -sum;
  }
  lcplug_fpenv_leave(host);
  return error;
}

static void push_by_forces(const lcplug_system *s, const double *force, double h, double *v) {
  for (int k = 0; k < s->bodies; k++)
    push_body(s, k, h, force + (size_t)k * BODY_SIZE, v + (size_t)k * BODY_SIZE);
  force += (size_t)s->bodies * BODY_SIZE, v += (size_t)s->bodies * BODY_SIZE;
  for (group_cursor g = first_group(s); g.group < s->groups; next_group(s, &g))
    for (int r = 0; r < g.size; r++)
      for (int c = 0; c < g.size; c++)
        v[g.begin + r] += h * g.mass[(size_t)r * (size_t)g.size + (size_t)c] * force[g.begin + c];
}

static void push_by_impulses(const lcplug_system *s, const double *x, double *v) {
  group_cursor g = first_group(s);
  double *articulated = v + (size_t)s->bodies * BODY_SIZE;
  for (int i = 0; i < s->rows; i++) {
    if (x[i] == 0.0) continue;
    for (int side = 0; s->body && side < 2; side++) {
      int body = s->body[2 * i + side];
      if (body >= 0)
        push_body(s, body, x[i], s->jacobian + (size_t)i * ROW_SIZE + side * BODY_SIZE,
                  v + (size_t)body * BODY_SIZE);
    }
    for (int k = s->sparse_begin ? s->sparse_begin[i] : 0;
         s->sparse_begin && k < s->sparse_begin[i + 1]; k++) {
      seek_group(s, &g, s->sparse_coordinate[k]);
      const double *row = g.mass + (size_t)(s->sparse_coordinate[k] - g.begin) * (size_t)g.size;
      for (int r = 0; r < g.size; r++)
        articulated[g.begin + r] += s->sparse_value[k] * x[i] * row[r];
    }
  }
}

lcplug_error lcplug_system_velocity(const lcplug_system *s, const double *velocity,
                                    const double *force, double h, const double *x, double *after) {
  fpenv host = lcplug_fpenv_enter();
  lcplug_error error = check_parts(s);
  if (!error && (!velocity || !after)) error = LCPLUG_ERROR_ARGUMENT;
  if (!error && !isfinite(h)) error = LCPLUG_ERROR_NOT_FINITE;
  if (!error) {
    memmove(after, velocity, (size_t)lcplug_system_coordinates(s) * sizeof *after);
    if (force) push_by_forces(s, force, h, after);
    if (x) push_by_impulses(s, x, after);
  }
  lcplug_fpenv_leave(host);
  return error;
}
