/* bench_collect.c - problems for the benchmark, from scenes or from files.
 *
 * Problem.   A median wants many problems of each size, from scenes of every kind, at several
 *            friction coefficients and CFMs; and they must be the same ones on every run.
 * Method.    Scenes are stepped with our solver: upstream would take hours.  Each run of a scene
 *            gives at most one problem of each size, four sizes to a power of two, drawn evenly
 *            from all that it posed: else small islands would crowd out the rest.  Of these, as
 *            many as each class wants are drawn again.  They go to files, as a hundred dense
 *            matrices of 3000 rows would not fit into memory.
 * Contract.  The same options give the same problems, as long as our answers keep their bits. */
#define _GNU_SOURCE
#include "bench.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lcplug/record.h>

/* ---- the plan -------------------------------------------------------------------------------- */

typedef struct plan {
  const char *kind;
  int size, runs, steps; /* each run has the next mu and CFM in turn */
} plan;

static const plan plans[] = {
    {"spheres", 4, 6, 120},   {"spheres", 10, 6, 150},   {"spheres", 30, 6, 150},
    {"spheres", 60, 4, 150},  {"spheres", 130, 3, 150},  {"spheres", 220, 2, 170},
    {"boxes", 3, 6, 120},     {"boxes", 6, 6, 120},      {"boxes", 12, 6, 150},
    {"boxes", 20, 6, 150},    {"boxes", 40, 6, 150},     {"boxes", 80, 4, 150},
    {"boxes", 120, 2, 170},   {"capsules", 5, 6, 120},   {"capsules", 12, 6, 150},
    {"capsules", 25, 6, 150}, {"capsules", 60, 4, 150},  {"capsules", 150, 3, 150},
    {"mixed", 5, 6, 120},     {"mixed", 10, 6, 150},     {"mixed", 20, 6, 150},
    {"mixed", 40, 6, 150},    {"mixed", 80, 4, 150},     {"mixed", 150, 3, 170},
    {"mixed", 220, 3, 180},   {"mixed", 300, 3, 190},    {"boxes", 200, 3, 190},
    {"spheres", 350, 2, 190}, {"capsules", 300, 2, 190}, {"boxes", 240, 3, 240},
    {"mixed", 380, 3, 220},   {"capsules", 400, 2, 240}, {"tower", 1, 6, 30},
    {"tower", 3, 6, 60},      {"tower", 6, 6, 60},       {"tower", 10, 6, 60},
    {"wall", 2, 6, 60},       {"wall", 3, 6, 60},        {"wall", 4, 6, 60},
    {"wall", 5, 4, 60},       {"wall", 7, 3, 40},        {"wall", 9, 2, 15},
    {"pyramid", 2, 6, 60},    {"pyramid", 3, 6, 60},     {"pyramid", 4, 6, 60},
    {"pyramid", 6, 4, 60},    {"pyramid", 9, 3, 40},     {"ragdoll", 1, 6, 120},
    {"ragdoll", 3, 6, 150},   {"ragdoll", 6, 4, 150},    {"ragdoll", 16, 3, 200},
    {"ragdoll", 26, 2, 250},  {"chain", 2, 6, 150},      {"chain", 12, 6, 150},
    {"vehicles", 1, 6, 150},  {"vehicles", 3, 6, 150},   {"slider", 1, 6, 60},
    {"motors", 2, 6, 150},    {"rolling", 4, 6, 100},    {"rolling", 16, 6, 100},
    {"rolling", 60, 4, 100},
};
enum { PLANS = sizeof plans / sizeof *plans };

static const plan large_plans[] = {
    {"boxes", 300, 2, 210},   {"boxes", 360, 1, 230},    {"mixed", 460, 2, 220},
    {"mixed", 540, 1, 210},   {"capsules", 480, 2, 240}, {"capsules", 560, 1, 240},
    {"spheres", 600, 1, 210}, {"ragdoll", 40, 1, 250},   {"wall", 12, 2, 8},
    {"wall", 14, 1, 8},       {"pyramid", 15, 2, 8}};
enum { LARGE_PLANS = sizeof large_plans / sizeof *large_plans };

static const struct {
  double mu, cfm;
} surfaces[] = {{0.5, 1e-10}, {1, 1e-5},  {INFINITY, 1e-10},
                {0.5, 1e-5},  {1, 1e-10}, {INFINITY, 1e-5}};
enum { SURFACES = sizeof surfaces / sizeof *surfaces };

/* Seconds that a run takes, roughly: ODE fills a dense matrix in each step. */
static double work_of(const plan *p) {
  double rows = 9.0 * p->size;
  return p->runs * p->steps * (1e-4 + 4e-9 * rows * rows);
}

/* ---- drawing --------------------------------------------------------------------------------- */

enum { SIZES = 64 }; /* up to n = 65536 */
static int size_of(int n) { return (int)fmin(4 * log2(n), SIZES - 1); }

/* One problem of each size, every one that was met with the same chance. */
typedef struct drawn {
  diff_problem *problem[SIZES];
  int met[SIZES];
  diff_random random;
  int most_rows;
} drawn;

static void draw(void *data, diff_problem *p, int errors) {
  drawn *d = data;
  int k = size_of(p->n);
  (void)errors;
  int wanted = p->n <= d->most_rows && diff_below(&d->random, ++d->met[k]) == 0;
  diff_problem *leave = wanted ? d->problem[k] : p;
  if (wanted) d->problem[k] = p;
  diff_problem_free(leave);
}

static void write_drawn(drawn *d, const char *folder, bench_files *files) {
  for (int k = 0; k < SIZES; k++) {
    diff_problem *p = d->problem[k];
    if (!p) continue;
    lcplug_record record = {.problem = diff_view(p)};
    char path[4096];
    snprintf(record.tag, sizeof record.tag, "%.60s", bench_tallied.scene);
    snprintf(path, sizeof path, "%s/n%05d_%s.lcp", folder, p->n, record.tag);
    lcplug_error error = lcplug_record_write(path, &record);
    if (error) progress_say("bench: %s: %s\n", path, lcplug_error_text(error));
    else bench_files_add(files, path, p->n);
    diff_problem_free(p);
  }
}

static void run_scene(const scene_config *config, const plan *p, int large, const char *folder,
                      bench_files *files) {
  drawn d = {.random = {config->seed}, .most_rows = large ? INT_MAX : 3000};
  scene *s = bench_need(scene_create(config));
  snprintf(bench_tallied.scene, sizeof bench_tallied.scene, "%s%d_mu%g_c%g_s%u", config->kind,
           config->size, config->mu, config->cfm, config->seed);
  capture_to(draw, &d);
  for (int step = 0; step < p->steps; step++) {
    scene_step(s);
    progress_add(work_of(p) / (p->runs * p->steps));
  }
  capture_to(NULL, NULL);
  scene_free(s);
  write_drawn(&d, folder, files);
}

static void run_plan(const plan *p, const bench_options *options, const char *folder,
                     bench_files *files) {
  static unsigned turn; /* over all plans: single runs meet all surfaces, too */
  for (int run = 0; run < p->runs; run++, turn++) {
    scene_config config = scene_config_default();
    config.kind = p->kind;
    config.size = p->size;
    config.mu = surfaces[turn % SURFACES].mu;
    config.cfm = surfaces[turn % SURFACES].cfm;
    config.seed = (unsigned)options->seed + turn;
    run_scene(&config, p, options->large, folder, files);
  }
}

/* ---- as many as each class wants ------------------------------------------------------------- */

static void shuffle(bench_files *files, unsigned seed) {
  diff_random random = {seed};
  for (int i = files->count - 1; i > 0; i--) {
    int j = diff_below(&random, i + 1);
    bench_file t = files->at[i];
    files->at[i] = files->at[j];
    files->at[j] = t;
  }
}

static void thin(bench_files *files, unsigned seed) {
  int taken[BENCH_CLASS_COUNT] = {0}, kept = 0;
  shuffle(files, seed);
  for (int i = 0; i < files->count; i++) {
    int k = bench_class_of(files->at[i].n);
    if (taken[k]++ < bench_classes[k].quota) files->at[kept++] = files->at[i];
    else unlink(files->at[i].path);
  }
  files->count = kept;
}

void bench_collect(const bench_options *options, const char *folder, bench_files *files,
                   bench_tally *tally) {
  double work = 0;
  int large = options->large ? LARGE_PLANS : 0;
  for (int i = 0; i < PLANS; i++) work += work_of(&plans[i]);
  for (int i = 0; i < large; i++) work += work_of(&large_plans[i]);
  progress_begin("stepping scenes", work);
  bench_tally_begin(options);
  bench_step_with(bench_native);
  for (int i = 0; i < PLANS; i++) run_plan(&plans[i], options, folder, files);
  for (int i = 0; i < large; i++) run_plan(&large_plans[i], options, folder, files);
  thin(files, (unsigned)options->seed);
  *tally = bench_tallied;
  progress_end();
}

/* ---- files ----------------------------------------------------------------------------------- */

void bench_files_add(bench_files *files, const char *path, int n) {
  if (files->count == files->capacity) {
    files->capacity = files->capacity ? 2 * files->capacity : 64;
    files->at = bench_need(realloc(files->at, (size_t)files->capacity * sizeof *files->at));
  }
  bench_file *file = &files->at[files->count++];
  snprintf(file->path, sizeof file->path, "%s", path);
  file->n = n;
}

diff_problem *bench_problem_read(const char *path) {
  lcplug_record *record = NULL;
  char message[256] = "";
  lcplug_error error = lcplug_record_read(path, &record, message, sizeof message);
  if (error) {
    progress_say("bench: %s\n", message[0] ? message : lcplug_error_text(error));
    return NULL;
  }
  const lcplug_problem *from = &record->problem;
  diff_problem *p = diff_problem_create(from->n, from->findex != NULL);
  snprintf(p->name, sizeof p->name, "%.63s", record->tag);
  p->nub = from->nub;
  for (int i = 0; i < p->n; i++) {
    size_t at = (size_t)i;
    memcpy(p->A + at * p->stride, from->A + at * from->stride, (at + 1) * sizeof *p->A);
    p->b[i] = from->b[at * from->b_step];
    p->lo[i] = from->lo[at * from->bounds_step];
    p->hi[i] = from->hi[at * from->bounds_step];
    if (from->findex) p->findex[i] = from->findex[i];
  }
  lcplug_record_free(record);
  return p;
}

/* The size stands in the header: of a record at byte 16, in older captures right behind the
 * magic. */
static int rows_of_file(const char *path) {
  unsigned char head[20] = {0};
  FILE *f = fopen(path, "rb");
  size_t got = f ? fread(head, 1, sizeof head, f) : 0;
  if (f) fclose(f);
  if (got < sizeof head || memcmp(head, "LCP", 3)) return -1;
  const unsigned char *n = memcmp(head, "LCPCAP01", 8) ? head + 16 : head + 8;
  return n[0] | n[1] << 8 | n[2] << 16 | (n[3] & 127) << 24;
}

static int is_record(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return length > 4 && !strcmp(entry->d_name + length - 4, ".lcp");
}

static int find_in_folder(bench_files *files, const char *folder) {
  struct dirent **entries;
  int count = scandir(folder, &entries, is_record, alphasort);
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    bench_files_add(files, path, rows_of_file(path));
    free(entries[i]);
  }
  if (count >= 0) free(entries);
  if (count <= 0) progress_say("bench: no *.lcp in %s\n", folder);
  return count > 0;
}

void bench_files_clear(const char *folder) {
  struct dirent **entries;
  int count = scandir(folder, &entries, is_record, NULL);
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    unlink(path);
    free(entries[i]);
  }
  if (count >= 0) free(entries);
}

int bench_files_find(bench_files *files, const char *path) {
  struct stat status;
  if (!stat(path, &status) && S_ISDIR(status.st_mode)) return find_in_folder(files, path);
  int n = rows_of_file(path);
  if (n >= 0) bench_files_add(files, path, n);
  else progress_say("bench: %s is no record\n", path);
  return n >= 0;
}
