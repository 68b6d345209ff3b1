/* spheres.c - see spheres.h. */
#include "spheres.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double GRAVITY = 9.81;

/* ---- making ---------------------------------------------------------------------------------- */

static double shake(unsigned *seed) { /* in -1 .. 1, the same everywhere */
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / (double)(1 << 23) - 1.0;
}

/* Layers on a square lattice, each in the hollows of the one below; odd layers are one shorter. */
static void place_spheres(spheres *s, unsigned seed) {
  int across = (int)ceil(cbrt(0.75 * s->count)) + 1;
  double pitch = 2.0 * s->radius * 1.02,
         rise = sqrt(4.0 * s->radius * s->radius - 0.5 * pitch * pitch);
  s->side = pitch * across;
  for (int k = 0, layer = 0, x = 0, y = 0; k < s->count; k++) {
    int odd = layer % 2, length = across - odd;
    double *p = s->pose[k].position, tremor = 0.005 * s->radius;
    p[0] = (x + 0.5 + 0.5 * odd) * pitch + tremor * shake(&seed);
    p[1] = (y + 0.5 + 0.5 * odd) * pitch + tremor * shake(&seed);
    p[2] = s->radius + layer * rise + 0.5 * tremor * shake(&seed);
    if (++x == length) x = 0, y++;
    if (y == length) y = 0, layer++;
    s->pose[k].rotation[0] = 1.0;
    s->inverse_mass[k] = 1.0;
    for (int i = 0; i < 3; i++)
      s->inverse_inertia[9 * k + 4 * i] = 1.0 / (0.4 * s->radius * s->radius);
    s->force[6 * k + 2] = -GRAVITY;
  }
}

spheres *spheres_create(int count, unsigned seed) {
  spheres *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  size_t n = (size_t)count;
  *s = (spheres){.count = count, .radius = 0.05, .mu = 0.5, .cfm = 1e-8, .h = 0.005};
  s->margin = 0.05 * s->radius;
  s->pose = calloc(n, sizeof *s->pose);
  s->velocity = calloc(6 * n, sizeof(double));
  s->force = calloc(6 * n, sizeof(double));
  s->inverse_mass = calloc(n, sizeof(double));
  s->inverse_inertia = calloc(9 * n, sizeof(double));
  s->cell_sphere = calloc(n, sizeof(int));
  s->workspace = lcplug_workspace_create();
  if (!s->pose || !s->velocity || !s->force || !s->inverse_mass || !s->inverse_inertia ||
      !s->cell_sphere || !s->workspace) {
    spheres_free(s);
    return NULL;
  }
  place_spheres(s, seed);
  return s;
}

void spheres_free(spheres *s) {
  if (!s) return;
  void *arrays[] = {s->pose, s->velocity, s->force, s->inverse_mass, s->inverse_inertia, s->body,
                    s->jacobian, s->bias, s->b, s->lo, s->hi, s->row_cfm, s->x, s->x0, s->gap,
                    s->findex, s->key, s->first, s->rows, s->key_before, s->first_before,
                    s->rows_before, s->x_before, s->cell_begin, s->cell_sphere};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) free(arrays[k]);
  lcplug_workspace_free(s->workspace);
  free(s);
}

/* ---- contacts -------------------------------------------------------------------------------- */

static int grow(void *array, size_t items, size_t size) {
  void **place = array, *larger = realloc(*place, items * size);
  if (larger) *place = larger;
  return larger != NULL;
}

static int make_room(spheres *s) {
  if (s->contacts < s->room) return 1;
  size_t contacts = 2 * (size_t)s->room + 64, rows = 3 * contacts;
  double **vectors[] = {&s->bias, &s->b, &s->lo, &s->hi, &s->row_cfm, &s->x, &s->x0, &s->x_before};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
    if (!grow(vectors[k], rows, sizeof(double))) return 0;
  if (!grow(&s->jacobian, 12 * rows, sizeof(double)) || !grow(&s->gap, contacts, sizeof(double)) ||
      !grow(&s->body, 2 * rows, sizeof(int32_t)) || !grow(&s->findex, rows, sizeof(int32_t)) ||
      !grow(&s->key, contacts, sizeof(uint64_t)) || !grow(&s->first, contacts, sizeof(int32_t)) ||
      !grow(&s->rows, contacts, sizeof(int32_t)) ||
      !grow(&s->key_before, contacts, sizeof(uint64_t)) ||
      !grow(&s->first_before, contacts, sizeof(int32_t)) ||
      !grow(&s->rows_before, contacts, sizeof(int32_t)))
    return 0;
  s->room = (int)contacts;
  return 1;
}

/* A contact of sphere i with sphere j (or side j - count of the box); normal towards i. */
static int add_contact(spheres *s, int i, int j, const double normal[3], double gap) {
  if (!make_room(s)) return 0;
  int row = 3 * s->contacts, other = j < s->count ? j : -1;
  double lever1[3], lever2[3];
  for (int c = 0; c < 3; c++) lever1[c] = -s->radius * normal[c], lever2[c] = s->radius * normal[c];
  lcplug_contact_rows(normal, lever1, lever2, s->jacobian + 12 * (size_t)row);
  for (int r = 0; r < 3; r++, row++) {
    s->body[2 * row] = i, s->body[2 * row + 1] = other;
    s->bias[row] = r ? 0.0 : gap / s->h;
    s->lo[row] = 0.0, s->hi[row] = r ? s->mu : INFINITY;
    s->findex[row] = r ? row - r : -1;
    s->row_cfm[row] = s->cfm;
  }
  s->gap[s->contacts] = gap;
  s->key[s->contacts] = (uint64_t)i << 32 | (uint64_t)j;
  s->first[s->contacts] = 3 * s->contacts;
  s->rows[s->contacts] = 3;
  s->contacts++;
  return 1;
}

static int touch_box(spheres *s, int i) {
  static const double normal[5][3] = {{0, 0, 1}, {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}};
  const double *p = s->pose[i].position;
  double gap[5] = {p[2], p[0], s->side - p[0], p[1], s->side - p[1]};
  for (int k = 0; k < 5; k++)
    if (gap[k] - s->radius < s->margin &&
        !add_contact(s, i, s->count + k, normal[k], gap[k] - s->radius))
      return 0;
  return 1;
}

static int touch_sphere(spheres *s, int i, int j) {
  double d[3], squared = 0.0, reach = 2.0 * s->radius + s->margin;
  for (int c = 0; c < 3; c++) {
    d[c] = s->pose[i].position[c] - s->pose[j].position[c];
    squared += d[c] * d[c];
  }
  if (squared >= reach * reach || squared == 0.0) return 1;
  double distance = sqrt(squared);
  for (int c = 0; c < 3; c++) d[c] /= distance;
  return add_contact(s, i, j, d, distance - 2.0 * s->radius);
}

/* Cells as wide as a sphere with its margin; who leaves the grid counts to its rim. */
static int cell_coordinate(const spheres *s, double x, int cells) {
  int c = (int)floor(x / (2.0 * s->radius + s->margin));
  return c < 0 ? 0 : c >= cells ? cells - 1 : c;
}

static int cell_of(const spheres *s, int k, int offset[3]) {
  const double *p = s->pose[k].position;
  int at[3] = {cell_coordinate(s, p[0], s->cells), cell_coordinate(s, p[1], s->cells),
               cell_coordinate(s, p[2], s->layers)};
  for (int c = 0; offset && c < 3; c++) {
    at[c] += offset[c];
    if (at[c] < 0 || at[c] >= (c < 2 ? s->cells : s->layers)) return -1;
  }
  return (at[2] * s->cells + at[1]) * s->cells + at[0];
}

static int size_grid(spheres *s, size_t *cells) {
  double highest = 0.0, width = 2.0 * s->radius + s->margin;
  for (int k = 0; k < s->count; k++) highest = fmax(highest, s->pose[k].position[2]);
  s->cells = (int)(s->side / width) + 1;
  s->layers = (int)fmin(highest / width + 1.0, 4.0 * s->cells + 64.0);
  *cells = (size_t)s->cells * (size_t)s->cells * (size_t)s->layers;
  return grow(&s->cell_begin, *cells + 2, sizeof(int));
}

/* Counting sort: afterwards cell c holds cell_sphere[cell_begin[c]] to [cell_begin[c + 1] - 1]. */
static int fill_cells(spheres *s) {
  size_t cells;
  if (!size_grid(s, &cells)) return 0;
  memset(s->cell_begin, 0, (cells + 2) * sizeof(int));
  for (int k = 0; k < s->count; k++) s->cell_begin[cell_of(s, k, NULL) + 2]++;
  for (size_t c = 1; c <= cells; c++) s->cell_begin[c + 1] += s->cell_begin[c];
  for (int k = 0; k < s->count; k++) s->cell_sphere[s->cell_begin[cell_of(s, k, NULL) + 1]++] = k;
  return 1;
}

static int touch_neighbours(spheres *s, int i) {
  for (int around = 0; around < 27; around++) {
    int offset[3] = {around % 3 - 1, around / 3 % 3 - 1, around / 9 - 1},
        cell = cell_of(s, i, offset);
    if (cell < 0) continue;
    for (int k = s->cell_begin[cell]; k < s->cell_begin[cell + 1]; k++)
      if (s->cell_sphere[k] < i && !touch_sphere(s, i, s->cell_sphere[k])) return 0;
  }
  return 1;
}

int spheres_collide(spheres *s) {
  if (!fill_cells(s)) return 0;
  s->contacts = 0;
  for (int i = 0; i < s->count; i++)
    if (!touch_box(s, i) || !touch_neighbours(s, i)) return 0;
  lcplug_system system = spheres_system(s);
  return !lcplug_system_right_side(&system, s->velocity, s->force, s->h, s->bias, s->b);
}

lcplug_system spheres_system(const spheres *s) {
  lcplug_system system = lcplug_system_default();
  system.bodies = s->count, system.rows = 3 * s->contacts;
  system.inverse_mass = s->inverse_mass, system.inverse_inertia = s->inverse_inertia;
  system.body = s->body, system.jacobian = s->jacobian, system.cfm = s->row_cfm;
  system.b = s->b, system.lo = s->lo, system.hi = s->hi, system.findex = s->findex;
  return system;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void remember(spheres *s) {
  memcpy(s->key_before, s->key, (size_t)s->contacts * sizeof *s->key);
  memcpy(s->first_before, s->first, (size_t)s->contacts * sizeof *s->first);
  memcpy(s->rows_before, s->rows, (size_t)s->contacts * sizeof *s->rows);
  memcpy(s->x_before, s->x, 3 * (size_t)s->contacts * sizeof *s->x);
  s->contacts_before = s->contacts;
}

lcplug_error spheres_step(spheres *s, const lcplug_settings *settings, lcplug_team *team, int warm,
                          lcplug_info *info) {
  if (!spheres_collide(s)) return LCPLUG_ERROR_MEMORY;
  lcplug_system system = spheres_system(s);
  system.team = team;
  lcplug_row_items before = {s->contacts_before, s->key_before, s->first_before, s->rows_before};
  lcplug_row_items now = {s->contacts, s->key, s->first, s->rows};
  lcplug_error error = warm ? lcplug_warm_start(s->workspace, &before, s->x_before, &now,
                                                system.rows, s->x0)
                            : LCPLUG_OK;
  if (warm) system.x0 = s->x0;
  lcplug_solution solution = {.x = s->x};
  if (!error) error = lcplug_system_solve(s->workspace, &system, settings, &solution, info);
  if (!error)
    error = lcplug_system_velocity(&system, s->velocity, s->force, s->h, s->x, s->velocity);
  if (error) return error;
  lcplug_move_bodies(s->count, s->pose, s->velocity, s->h);
  remember(s);
  return LCPLUG_OK;
}

double spheres_kinetic_energy(const spheres *s) {
  double energy = 0.0, inertia = 0.4 * s->radius * s->radius;
  for (int k = 0; k < 6 * s->count; k++)
    energy += 0.5 * (k % 6 < 3 ? 1.0 : inertia) * s->velocity[k] * s->velocity[k];
  return energy;
}

double spheres_penetration(const spheres *s) {
  double deepest = 0.0;
  for (int k = 0; k < s->contacts; k++) deepest = fmax(deepest, -s->gap[k]);
  return deepest;
}
