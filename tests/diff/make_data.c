/* make_data.c - writes the records of tests/data: problems that upstream met in scenes.
 *
 * usage: make_data FOLDER.  The seeds are fixed and no time is stored, so that the same libode
 * gives the same files again. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lcplug/record.h>

#include "capture.h"

typedef struct data_row {
  const char *file, *kind;
  int size;
  double mu, cfm;
  int step, failing;
} data_row;

static const data_row table[] = {
    {"tower-fails-3", "tower", 3, 0.5, 1e-10, 0, 1},
    {"tower-fails-5", "tower", 5, 0.5, 1e-10, 0, 1},
    {"wall-fails", "wall", 3, 0.5, 1e-10, 0, 1},
    {"wall", "wall", 3, 0.5, 1e-5, 10, 0},
    {"pyramid", "pyramid", 3, 0.8, 1e-10, 30, 0},
    {"spheres", "spheres", 24, 0.5, 1e-10, 60, 0},
    {"spheres-slippery", "spheres", 24, 0, 1e-10, 60, 0},
    {"boxes", "boxes", 10, 0.5, 1e-10, 60, 0},
    {"boxes-mu-infinite", "boxes", 6, INFINITY, 1e-5, 40, 0},
    {"capsules", "capsules", 20, 0.5, 1e-10, 60, 0},
    {"mixed", "mixed", 16, 1, 1e-10, 60, 0},
    {"ragdoll", "ragdoll", 1, 0.5, 1e-10, 40, 0},
    {"ragdoll-heap", "ragdoll", 2, 0.5, 1e-5, 60, 0},
    {"chain", "chain", 2, 0.5, 1e-10, 60, 0},
    {"vehicle", "vehicles", 1, 0.5, 1e-10, 50, 0},
    {"vehicle-mu-infinite", "vehicles", 1, INFINITY, 1e-10, 100, 0},
    {"motors", "motors", 2, 0.5, 1e-10, 40, 0},
    {"rolling", "rolling", 16, 0.5, 1e-10, 0, 0},
};

static int write_row(const data_row *row, const char *folder) {
  scene_config config = scene_config_default();
  config.kind = row->kind;
  config.size = row->size;
  config.mu = row->mu;
  config.cfm = row->cfm;
  diff_problem *p = capture_from_scene(&config, row->step, 40, 150, row->failing);
  if (!p) {
    fprintf(stderr, "%s: no such problem in the scene\n", row->file);
    return 0;
  }
  diff_answer *upstream = diff_upstream(p);
  lcplug_record record = {
      .problem = diff_view(p), .x = upstream->x, .errors = (uint32_t)upstream->errors};
  snprintf(record.tag, sizeof record.tag, "%.63s", p->name);
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.lcp", folder, row->file);
  lcplug_error error = lcplug_record_write(path, &record);
  if (error) fprintf(stderr, "%s: %s\n", path, lcplug_error_text(error));
  else
    printf("%s  n %d  errors %d  residual %.1e\n", path, p->n, upstream->errors,
           upstream->residual);
  diff_answer_free(upstream);
  diff_problem_free(p);
  return !error;
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: make_data FOLDER\n");
    return 2;
  }
  int written = 0, rows = sizeof table / sizeof *table;
  if (!scenes_init()) return 1;
  for (int k = 0; k < rows; k++) written += write_row(&table[k], arguments[1]);
  scenes_done();
  return written == rows ? 0 : 1;
}
