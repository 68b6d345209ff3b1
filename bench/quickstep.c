/* quickstep.c - what quickstep=step buys: ODE's two steps and lcplug's on the same scenes.
 *
 * usage: quickstep                               the whole table; it runs itself for each entry
 *        quickstep METHOD KIND SIZE STEPS    one entry, one line
 *
 * Methods: quick20 and quick200 (dWorldQuickStep with so many iterations), dantzig (dWorldStep as
 * ODE has it), lcplug.  The program is linked with the preload object; METHOD dantzig wants LCPLUG
 * to be solver=upstream, which the table takes care of.
 *
 * Measured are the time of a step without collision detection, the worst residual
 * (lcplug_residual's, over the steps in which it is taken), and whether the structure, built at
 * rest, stands: how far any body has moved, and the deepest penetration.  QuickStep has no matrix
 * to judge by: its residual comes from the contacts themselves, rows of J from their points and
 * normals, forces from the joints' feedback, w from the velocities after the step:
 *
 *     w = (J v + cfm x - c) / h,   c = erp depth / h for normals, 0 for tangents
 *
 * with the friction bounds mu x_n of the very x, which is QuickStep's own model.  A body's
 * gyroscopic torque is left out of the unit; in a structure at rest there is none. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lcplug/lcplug.h>

#include "scenes/scenes.h"

#define SOLVER _Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi
#define TEXT(symbol) TEXT_OF(symbol)
#define TEXT_OF(symbol) #symbol

typedef void solver(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub,
                    double *lh, int *findex);

static const double BUDGET = 25.0; /* seconds for one entry: Dantzig's large steps take that each */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *allocate(size_t size) {
  void *memory = calloc(1, size ? size : 1);
  if (!memory) exit(1);
  return memory;
}

/* ---- dWorldStep, judged where it asks its solver --------------------------------------------- */

static solver *next_solver;
static int judging;
static double worst_residual;

/* Upstream permutes bounds and findex together, so each normal's bound is found by its number. */
static void friction_bounds(unsigned n, const int *findex, const double *lh,
                            const int *findex_after, double *lo, double *hi) {
  double *of_normal = allocate(n * sizeof *of_normal);
  for (unsigned k = 0; k < n; k++)
    if (findex_after[k] >= 0) of_normal[findex_after[k]] = lh[2 * k + 1];
  for (unsigned i = 0; i < n; i++)
    if (findex[i] >= 0) hi[i] = of_normal[findex[i]], lo[i] = -hi[i];
  free(of_normal);
}

static void judge(unsigned n, size_t stride, const double *A, const double *bx, unsigned nub,
                  double *lh_before, const int *findex, const double *bx_after,
                  const double *lh_after, const int *findex_after) {
  double *lo = allocate(n * sizeof *lo), *hi = allocate(n * sizeof *hi), residual = INFINITY;
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_problem problem = lcplug_problem_default();
  problem.n = (int)n, problem.A = A, problem.stride = stride, problem.b = bx, problem.b_step = 2;
  problem.lo = lh_before, problem.hi = lh_before + 1, problem.bounds_step = 2;
  problem.nub = (int)nub, problem.findex = findex;
  friction_bounds(n, findex, lh_after, findex_after, lo, hi);
  lcplug_residual(workspace, &problem, LCPLUG_FRICTION_ODE, bx_after + 1, 2, lo, hi, 1, &residual);
  if (residual > worst_residual) worst_residual = residual;
  lcplug_workspace_free(workspace);
  free(lo), free(hi);
}

__attribute__((visibility("default"))) solver SOLVER;
void SOLVER(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub, double *lh,
            int *findex) {
  if (!judging) {
    next_solver(arena, n, A, bx, w, nub, lh, findex);
    return;
  }
  size_t stride = n > 1 ? ((n - 1) | 3) + 1 : n, all = n * stride * sizeof *A,
         pair = 2 * n * sizeof *bx;
  double *A_before = memcpy(allocate(all), A, all), *bx_before = memcpy(allocate(pair), bx, pair);
  double *lh_before = memcpy(allocate(pair), lh, pair);
  int *findex_before = memcpy(allocate(n * sizeof *findex), findex, n * sizeof *findex);
  next_solver(arena, n, A, bx, w, nub, lh, findex);
  judge(n, stride, A_before, bx_before, nub, lh_before, findex_before, bx, lh, findex);
  free(A_before), free(bx_before), free(lh_before), free(findex_before);
}

/* ---- dWorldQuickStep, judged by its contacts ------------------------------------------------- */

/* A contact and its three rows; what depends on the poses is taken before the step. */
typedef struct contact {
  dBodyID body[2];        /* the first one is never 0; the normal points into it */
  double direction[3][3]; /* normal and tangents */
  double arm[2][3];       /* from each body's centre to the contact */
  double diagonal[3];     /* of A */
  double target;          /* speed that the normal row asks for */
  double approach;        /* w of the normal row without any force */
  double depth;
  dJointFeedback feedback;
} contact;

enum { CONTACTS_MAX = 20000, PER_PAIR = 8 };

static struct {
  contact list[CONTACTS_MAX];
  int count;
  dWorldID world;
  dJointGroupID group;
  double mu, step, cfm;
} contacts;

static void cross(const double *a, const double *b, double *to) {
  for (int k = 0; k < 3; k++)
    to[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

/* J v of a row, `ahead` seconds of gravity added to v. */
static double row_speed(const contact *c, int row, double ahead) {
  double speed = 0.0;
  dVector3 gravity;
  dWorldGetGravity(contacts.world, gravity);
  for (int side = 0; side < 2 && c->body[side]; side++) {
    const dReal *v = dBodyGetLinearVel(c->body[side]);
    double turning[3];
    cross(dBodyGetAngularVel(c->body[side]), c->arm[side], turning);
    for (int k = 0; k < 3; k++)
      speed +=
          (side ? -1.0 : 1.0) * c->direction[row][k] * (v[k] + turning[k] + ahead * gravity[k]);
  }
  return speed;
}

static double row_diagonal(const contact *c, int row) {
  double sum = contacts.cfm / contacts.step;
  for (int side = 0; side < 2 && c->body[side]; side++) {
    dMass mass;
    double turn[3], local[3] = {0, 0, 0};
    const dReal *R = dBodyGetRotation(c->body[side]);
    dBodyGetMass(c->body[side], &mass);
    cross(c->arm[side], c->direction[row], turn);
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < 3; i++) local[k] += R[4 * i + k] * turn[i];
    sum += 1.0 / mass.mass;
    for (int k = 0; k < 3; k++)
      sum += local[k] * local[k] / mass.I[4 * k + k]; /* boxes: I is diagonal */
  }
  return sum;
}

static void note_contact(contact *c, const dContactGeom *geom, dBodyID a, dBodyID b) {
  dVector3 tangent[2];
  dPlaneSpace(geom->normal, tangent[0], tangent[1]);
  *c = (contact){.body = {a, b}, .depth = geom->depth};
  memcpy(c->direction[0], geom->normal, sizeof c->direction[0]);
  for (int t = 0; t < 2; t++) memcpy(c->direction[t + 1], tangent[t], sizeof c->direction[0]);
  for (int side = 0; side < 2 && c->body[side]; side++)
    for (int k = 0; k < 3; k++) c->arm[side][k] = geom->pos[k] - dBodyGetPosition(c->body[side])[k];
  for (int row = 0; row < 3; row++) c->diagonal[row] = row_diagonal(c, row);
  c->target = dWorldGetERP(contacts.world) * geom->depth / contacts.step;
  c->approach = (row_speed(c, 0, contacts.step) - c->target) / contacts.step;
}

static void add_contacts(void *data, dGeomID first, dGeomID second) {
  dContact found[PER_PAIR];
  (void)data;
  dBodyID a = dGeomGetBody(first), b = dGeomGetBody(second);
  int count = a || b ? dCollide(first, second, PER_PAIR, &found[0].geom, sizeof *found) : 0;
  for (int i = 0; i < count && contacts.count < CONTACTS_MAX; i++) {
    contact *c = &contacts.list[contacts.count++];
    if (!a)
      for (int k = 0; k < 3; k++) found[i].geom.normal[k] *= -1.0;
    note_contact(c, &found[i].geom, a ? a : b, a ? b : NULL);
    found[i].surface = (dSurfaceParameters){.mode = dContactApprox1, .mu = contacts.mu};
    dJointID joint = dJointCreateContact(contacts.world, contacts.group, &found[i]);
    dJointAttach(joint, c->body[0], c->body[1]);
    dJointSetFeedback(joint, &c->feedback);
  }
}

static double quickstep_residual(void) {
  double worst = 0.0, unit = 0.0;
  for (int i = 0; i < contacts.count; i++) {
    const contact *c = &contacts.list[i];
    double bound = 0.0;
    unit = fmax(unit, -c->approach);
    for (int row = 0; row < 3; row++) {
      double x = 0.0, s = c->diagonal[row];
      for (int k = 0; k < 3; k++) x += c->feedback.f1[k] * c->direction[row][k];
      double w =
          (row_speed(c, row, 0.0) + contacts.cfm * x - (row ? 0.0 : c->target)) / contacts.step;
      double moved = x - w / s;
      double projected = row ? fmin(fmax(moved, -bound), bound) : fmax(moved, 0.0);
      if (row == 0) bound = contacts.mu * fmax(x, 0.0);
      worst = fmax(worst, s * fabs(x - projected));
    }
  }
  return unit > 0.0 ? worst / unit : worst;
}

/* ---- one entry ------------------------------------------------------------------------------- */

typedef struct method {
  const char *name, *words;
  int iterations; /* of dWorldQuickStep; 0: dWorldStep */
  const char *settings;
} method;

static const method methods[] = {{"quick20", "QuickStep, 20 iterations", 20, ""},
                                 {"quick200", "QuickStep, 200 iterations", 200, ""},
                                 {"dantzig", "dWorldStep, Dantzig", 0, "solver=upstream"},
                                 {"lcplug", "dWorldStep, lcplug", 0, "solver=auto"}};
enum { METHODS = sizeof methods / sizeof methods[0], STEPS_MAX = 1000 };

typedef struct entry {
  int rows, steps;
  double seconds; /* median over the steps with the most rows: what has burst apart is quick to
                     solve */
  double moved, depth;
} entry;

static double greatest_depth(void) {
  double depth = 0.0;
  for (int i = 0; i < contacts.count; i++) depth = fmax(depth, contacts.list[i].depth);
  return depth;
}

static double farthest_moved(scene *s, const double *start) {
  double farthest = 0.0;
  for (int i = 0; i < scene_bodies(s); i++) {
    const dReal *at = dBodyGetPosition(scene_body(s, i));
    double way =
        hypot(hypot(at[0] - start[3 * i], at[1] - start[3 * i + 1]), at[2] - start[3 * i + 2]);
    farthest = way <= farthest ? farthest : way; /* a NaN is kept */
  }
  return farthest;
}

static double one_step(const method *m, scene *s) {
  contacts.count = 0;
  dSpaceCollide(dGeomGetSpace(dBodyGetFirstGeom(scene_body(s, 0))), NULL, add_contacts);
  double start = now();
  if (m->iterations) dWorldQuickStep(contacts.world, contacts.step);
  else dWorldStep(contacts.world, contacts.step);
  double seconds = now() - start;
  if (m->iterations && judging) worst_residual = fmax(worst_residual, quickstep_residual());
  dJointGroupEmpty(contacts.group);
  return seconds;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Median time of those steps that have nearly the most rows. */
static double typical_seconds(const double *seconds, const int *rows, int steps, int most) {
  static double large[STEPS_MAX];
  int count = 0;
  for (int i = 0; i < steps; i++)
    if (seconds[i] > 0.0 && rows[i] >= 0.8 * most) large[count++] = seconds[i];
  qsort(large, (size_t)count, sizeof *large, compare_doubles);
  return count ? large[count / 2] : NAN;
}

/* Every fifth step is judged; the others are timed. */
static entry run_entry(const method *m, scene *s, int steps) {
  entry e = {0};
  static double seconds[STEPS_MAX];
  static int rows[STEPS_MAX];
  double *start = allocate(3 * (size_t)scene_bodies(s) * sizeof *start), spent = 0.0;
  for (int i = 0; i < scene_bodies(s); i++)
    memcpy(start + 3 * i, dBodyGetPosition(scene_body(s, i)), 3 * sizeof *start);
  for (; e.steps < steps && spent < BUDGET; e.steps++) {
    judging = e.steps % 5 == 1;
    double took = one_step(m, s);
    spent += took;
    seconds[e.steps] = judging ? 0.0 : took;
    rows[e.steps] = 3 * contacts.count;
    if (rows[e.steps] > e.rows) e.rows = rows[e.steps];
  }
  e.seconds = typical_seconds(seconds, rows, e.steps, e.rows);
  e.moved = farthest_moved(s, start);
  e.depth = greatest_depth();
  free(start);
  return e;
}

static int print_entry(const char *name, const char *kind, int size, int steps) {
  const method *m = NULL;
  for (int i = 0; i < METHODS; i++)
    if (!strcmp(methods[i].name, name)) m = &methods[i];
  next_solver = (solver *)dlsym(RTLD_NEXT, TEXT(SOLVER));
  if (!m || !next_solver || !scenes_init()) return 1;
  scene_config config = scene_config_default();
  config.kind = kind;
  config.size = size;
  scene *s = scene_create(&config);
  if (!s) return 1;
  contacts.world = scene_world(s);
  contacts.group = dJointGroupCreate(0);
  contacts.mu = config.mu, contacts.step = config.step, contacts.cfm = config.cfm;
  if (m->iterations) dWorldSetQuickStepNumIterations(contacts.world, m->iterations);
  entry e = run_entry(m, s, steps < STEPS_MAX ? steps : STEPS_MAX);
  printf("%.9g | %d | %s %d | %s | %.3g ms | %.1e | %d | %.1f mm | %.1f mm |\n", e.seconds, e.rows,
         kind, size, m->words, 1e3 * e.seconds, worst_residual, e.steps, 1e3 * e.moved,
         1e3 * e.depth);
  return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Runs one entry in a process of its own, as the settings are read when the plug is loaded.  *peer:
 * the time of the scene's first entry, which the others are compared with. */
static int run_line(const char *program, const method *m, const char *kind, int size, int steps,
                    double *peer) {
  char command[512], line[512], *row = line;
  snprintf(command, sizeof command, "LCPLUG=%s '%s' %s %s %d %d 2>/dev/null", m->settings, program,
           m->name, kind, size, steps);
  FILE *child = popen(command, "r");
  int read = child && fgets(line, sizeof line, child);
  if (!child || pclose(child) || !read) return 1;
  double seconds = strtod(line, &row);
  row[strcspn(row, "\n")] = '\0';
  if (*peer == 0.0) *peer = seconds;
  printf("%s %.3g |\n", row + strspn(row, " "), *peer / seconds);
  fflush(stdout);
  return 0;
}

static int print_table(const char *program) {
  static const struct {
    const char *kind;
    int size;
    int steps;
  } scenes[] = {{"pyramid", 2, 100},  {"pyramid", 4, 100}, {"wall", 5, 100},
                {"pyramid", 7, 100},  {"wall", 9, 100},    {"pyramid", 12, 100},
                {"pyramid", 20, 100}, {"boxes", 20, 150},  {"boxes", 60, 150},
                {"boxes", 150, 150}};
  puts(
      "# ODE's two steps and lcplug's\n\n"
      "Written by `make bench-native`, in steps of 0.01 s, up to 25 s of processor time for each "
      "line, with\n"
      "mu 0.5 and ODE's own CFM of 1e-10.  Pyramids and walls are built at rest and one island "
      "each: one that\n"
      "stands has not moved.  Dantzig gives up on most of them (residual 1 and more), and is then "
      "quick, as all\n"
      "later rows stay zero.  Boxes fall into a heap, in many small islands, which Dantzig "
      "solves.\n\n"
      "The time is the median of a step without collision detection, over the steps with nearly "
      "the most rows;\n"
      "the residual is the worst of every fifth step (1: nothing solved); faster: than the scene's "
      "QuickStep with\n"
      "20 iterations.\n\n"
      "| rows | scene | method | time of a step | worst residual | steps | farthest moved | "
      "deepest | faster |\n"
      "|---|---|---|---|---|---|---|---|---|");
  fflush(stdout);
  for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
    double peer = 0.0;
    for (int m = 0; m < METHODS; m++)
      if (run_line(program, &methods[m], scenes[i].kind, scenes[i].size, scenes[i].steps, &peer))
        return 1;
  }
  return 0;
}

int main(int count, char **arguments) {
  if (count == 1) return print_table(arguments[0]);
  if (count == 5)
    return print_entry(arguments[1], arguments[2], atoi(arguments[3]), atoi(arguments[4]));
  fprintf(stderr, "usage: quickstep [quick20|quick200|dantzig|lcplug KIND SIZE STEPS]\n");
  return 2;
}
