/* lanes_model.c - bounds, cones and scales in lane order; see lanes.h. */
#include <math.h>
#include <string.h>

#include "lanes.h"

static int take_model(lane_model *lm, const jacobian *j, lcplug_workspace *workspace) {
  double **vectors[] = {&lm->b, &lm->scale, &lm->lo, &lm->hi, &lm->mu};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
    if (!(*vectors[k] = TAKE(workspace, double, lcplug_lane_elements(j)))) return 0;
  lm->kind = TAKE(workspace, unsigned char, j->groups);
  lm->cone = TAKE(workspace, double, (size_t)j->groups * CONE_SIZE * LANES);
  lm->same_mu = TAKE(workspace, double, j->groups);
  return lm->kind && lm->cone && lm->same_mu;
}

/* Rows that are not there carry no force and cost nothing. */
static void clear_model(lane_model *lm) {
  size_t elements = lcplug_lane_elements(lm->j);
  for (size_t k = 0; k < elements; k++) {
    lm->b[k] = lm->lo[k] = lm->hi[k] = 0.0;
    lm->scale[k] = 1.0;
    lm->mu[k] = -1.0;
  }
  memset(lm->cone, 0, (size_t)lm->j->groups * CONE_SIZE * LANES * sizeof *lm->cone);
}

/* Only rolling and spinning rows have their normal in another block. */
static int couple_outside(lane_model *lm, int element, int normal, lcplug_workspace *workspace) {
  if (!lm->normal) {
    lm->normal = TAKE(workspace, int, lcplug_lane_elements(lm->j));
    if (!lm->normal) return 0;
    memset(lm->normal, -1, lcplug_lane_elements(lm->j) * sizeof *lm->normal);
  }
  lm->normal[element] = normal;
  return 1;
}

static void set_cone(lane_model *lm, int group, int lane, const force_set *set, double scale) {
  int element = lm->j->group[group].first * LANES + lane;
  for (int r = 0; r < BLOCK_ROWS; r++) {
    lm->mu[element + r * LANES] = set->mu[r == 2 ? 1 : 0];
    lm->scale[element + r * LANES] = scale;
  }
  double *cone = lm->cone + (size_t)group * CONE_SIZE * LANES + lane;
  cone[CONE_SCALE * LANES] = scale;
  cone[CONE_INVERSE * LANES] = 1.0 / scale;
  if (set->kind == SET_ELLIPSE) lm->kind[group] = LANE_ELLIPSE;
}

/* mu of the first tangent that all cones of a group have, or -1. */
static double common_mu(const lane_model *lm, int group) {
  const lane_group *g = &lm->j->group[group];
  const double *mu = lm->mu + (size_t)(g->first + 1) * LANES;
  if (lm->kind[group] != LANE_CONE) return -1.0;
  for (int lane = 1; lane < g->lanes; lane++)
    if (mu[lane] != mu[0]) return -1.0;
  return mu[0];
}

static int set_row(lane_model *lm, int group, int element, int block_first, const force_set *set,
                   double scale, lcplug_workspace *workspace) {
  lm->scale[element] = scale;
  lm->lo[element] = set->kind == SET_FREE ? -INFINITY : set->lo;
  lm->hi[element] = set->kind == SET_FREE ? INFINITY : set->hi;
  if (set->kind != SET_COUPLED) return 1;
  lm->kind[group] = LANE_COUPLED;
  lm->mu[element] = set->mu[0];
  return set->normal == block_first ||
         couple_outside(lm, element, lm->j->place[set->normal], workspace);
}

lcplug_error lcplug_lane_model_build(lane_model *lm, const jacobian *j, const model *m,
                                     lcplug_workspace *workspace) {
  *lm = (lane_model){.j = j, .m = m};
  if (!take_model(lm, j, workspace)) return LCPLUG_ERROR_MEMORY;
  int *set_of = TAKE(workspace, int, m->n);
  if (!set_of) return LCPLUG_ERROR_MEMORY;
  for (int k = 0; k < m->blocks; k++)
    for (int r = 0; r < m->sets[k].rows; r++) set_of[m->sets[k].first + r] = k;
  clear_model(lm);
  for (int k = 0; k < j->groups * LANES; k++) {
    int group = k / LANES, lane = k % LANES, row = j->block_first[k];
    if (lane == 0) lm->kind[group] = LANE_ROWS;
    if (row < 0) continue;
    int cone = m->sets[set_of[row]].rows > 1;
    if (cone && lm->kind[group] == LANE_ROWS) lm->kind[group] = LANE_CONE;
    if (cone) set_cone(lm, group, lane, &m->sets[set_of[row]], m->scale[set_of[row]]);
    for (int r = 0; r < j->block_rows[k]; r++) {
      int element = (j->group[group].first + r) * LANES + lane, set = set_of[row + r];
      lm->b[element] = m->b[row + r];
      if (!cone && !set_row(lm, group, element, row, &m->sets[set], m->scale[set], workspace))
        return LCPLUG_ERROR_MEMORY;
    }
  }
  for (int group = 0; group < j->groups; group++) lm->same_mu[group] = common_mu(lm, group);
  return LCPLUG_OK;
}
