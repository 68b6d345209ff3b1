/* physics.c - textbook physics inside ODE, five solvers side by side.
 *
 * Problem.   What does the choice of the solver and of the friction model do to the
 *            motion that an ODE program shows?
 * Method.    The experiments of tests/physics, each with upstream's Dantzig and with lcplug's four
 *            friction models at default settings; beside them what theory says.
 * Contract.  physics [--output FOLDER] [--misses FOLDER] [--settings KEY=VALUE,...]: prints the
 *            tables, writes them and the plots to FOLDER.  With --misses, problems that missed the
 *            tolerance are kept as records; with --settings lcplug has others than its defaults.
 *            Exit status 0; 1 if coulomb misses theory somewhere; 2 if called wrongly. */
#define _POSIX_C_SOURCE 200809L
#include "physics_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static physics_report report;

/* ---- lines ----------------------------------------------------------------------------------- */

static report_line *add_line(const char *quantity, int digits, double theory, double allowed) {
  report_line *line = &report.line[report.lines++];
  *line = (report_line){.scene = report.scene[report.scenes - 1],
                        .quantity = quantity,
                        .digits = digits,
                        .theory = theory,
                        .allowed = allowed};
  return line;
}

int report_holds(const report_line *line) {
  double value = line->value[COULOMB];
  return isnan(line->allowed) ? value >= line->theory : fabs(value - line->theory) <= line->allowed;
}

static double percent_off(double value, double theory) { return 100 * fabs(value / theory - 1); }

/* The larger, also if it is not a number. */
static void raise_to(double *most, double value) {
  if (!(value <= *most)) *most = value;
}

/* ---- the scenes: each measures one model and fills its column -------------------------------- */

static const slide_setup thrown = {.speed = 3, .step = 0.002, .seconds = 1};

static void measure_slide(physics_model model) {
  for (int i = 0; i < ALL_ROUND; i++) {
    slide_setup setup = thrown;
    setup.angle = 5 * i;
    report.slide[model][i] = physics_slide(&setup);
  }
}

static void lines_slide(void) {
  double speed = theory_slide_speed(thrown.speed, 0.4), way = theory_slide_distance(thrown.speed);
  report_line *along = add_line("speed after 0.4 s, along an axis, m/s", 3, speed, 0.01 * speed);
  report_line *across = add_line("the same at 45 degrees, m/s", 3, speed, 0.01 * speed);
  report_line *worst = add_line("speed, worst of 19 directions, % off", 2, 0, 1);
  report_line *ways = add_line("stopping distance, worst, % off", 2, 0, 1);
  report_line *turned = add_line("turned aside, worst, degrees", 1, 0, 0.1);
  report_line *lift = add_line("rises above the ground, mm", 3, 0, 0.01);
  for (int m = 0; m < MODELS; m++) {
    const slide_result *r = report.slide[m];
    along->value[m] = r[0].speed;
    across->value[m] = r[9].speed;
    for (int i = 0; i < QUARTER; i++) {
      raise_to(&worst->value[m], percent_off(r[i].speed, speed));
      raise_to(&ways->value[m], percent_off(r[i].distance, way));
      raise_to(&turned->value[m], fabs(r[i].direction));
      raise_to(&lift->value[m], 1e3 * r[i].lift);
    }
  }
}

static double creep[MODELS], slid[MODELS];

static void measure_slope(physics_model model) {
  const double steep = 1.1 * PHYSICS_MU, gentle = 0.98 * PHYSICS_MU, seconds = 1;
  creep[model] = slid[model] = 0;
  for (int i = 0; i < QUARTER; i++) {
    report.steepest[model][i] = physics_steepest(5 * i);
    raise_to(&creep[model], 1e3 * physics_slope(gentle, 5 * i, seconds));
    raise_to(&slid[model], percent_off(physics_slope(steep, 5 * i, seconds),
                                       theory_slope_distance(steep, seconds)));
  }
}

static void lines_slope(void) {
  report_line *least = add_line("steepest slope that holds it, least of 19 headings", 3, PHYSICS_MU,
                                0.002);
  report_line *most = add_line("the same, most", 3, PHYSICS_MU, 0.002);
  report_line *below = add_line("2 % less steep: creeps in 1 s, worst, mm", 4, 0, 0.001);
  report_line *above = add_line("10 % steeper: way in 1 s, worst, % off", 2, 0, 1);
  for (int m = 0; m < MODELS; m++) {
    least->value[m] = most->value[m] = report.steepest[m][0];
    for (int i = 1; i < QUARTER; i++) {
      least->value[m] = fmin(least->value[m], report.steepest[m][i]);
      most->value[m] = fmax(most->value[m], report.steepest[m][i]);
    }
    below->value[m] = creep[m];
    above->value[m] = slid[m];
  }
}

static slide_result belt[MODELS][QUARTER];
static const slide_setup carried = {.speed = 10, .step = 0.002, .seconds = 1};

static void measure_belt(physics_model model) {
  for (int i = 0; i < QUARTER; i++) {
    slide_setup setup = carried;
    setup.angle = 5 * i;
    belt[model][i] = physics_belt(&setup);
  }
}

static void lines_belt(void) {
  double gained = carried.speed - theory_slide_speed(carried.speed, 0.4);
  report_line *speed = add_line("speed after 0.4 s, worst of 19 directions, % off", 2, 0, 1);
  report_line *turned = add_line("carried aside, worst, degrees", 1, 0, 0.1);
  report_line *lift = add_line("rises above the belt, mm", 3, 0, 0.01);
  for (int m = 0; m < MODELS; m++)
    for (int i = 0; i < QUARTER; i++) {
      raise_to(&speed->value[m], percent_off(belt[m][i].speed, gained));
      raise_to(&turned->value[m], fabs(belt[m][i].direction));
      raise_to(&lift->value[m], 1e3 * belt[m][i].lift);
    }
}

static disc_result disc[MODELS];

static void measure_disc(physics_model model) { disc[model] = physics_disc(20, 0.5); }

static void lines_disc(void) {
  double spin = theory_disc(20, 0.5);
  report_line *left = add_line("spin after 0.5 s, rad/s", 3, spin, 0.01 * spin);
  report_line *drift = add_line("centre wanders, mm", 4, 0, 0.01);
  for (int m = 0; m < MODELS; m++) {
    left->value[m] = disc[m].spin;
    drift->value[m] = 1e3 * disc[m].drift;
  }
}

static struct {
  ball_result rolling, thrown, across;
} ball[MODELS];
static const double ball_speed = 3, rho = 0.01;

static void measure_ball(physics_model model) {
  ball[model].rolling = physics_ball(ball_speed, 0, rho, 1, 1);
  ball[model].across = physics_ball(ball_speed, 45, rho, 1, 1);
  ball[model].thrown = physics_ball(ball_speed, 45, 0, 0, 1);
}

static void lines_ball(void) {
  double speed = theory_ball_rolling(ball_speed, rho, 1);
  double kept = theory_ball_thrown(ball_speed);
  /* Rolling rows are bounded one by one in every model, so across the axes each of them has its
   * full strength. */
  double across = ball_speed - sqrt(2) * (ball_speed - speed);
  report_line *along = add_line("rolling friction, along an axis: speed after 1 s, m/s", 3, speed,
                                0.01 * speed);
  report_line *both = add_line("the same at 45 degrees (both axes at their bounds), m/s", 3, across,
                               0.01 * across);
  report_line *rolls = add_line("thrown without spin: rolls at, m/s", 3, kept, 0.01 * kept);
  report_line *slip = add_line("then slips, mm/s", 4, 0, 0.01);
  for (int m = 0; m < MODELS; m++) {
    along->value[m] = ball[m].rolling.speed;
    both->value[m] = ball[m].across.speed;
    rolls->value[m] = ball[m].thrown.speed;
    slip->value[m] = 1e3 * ball[m].thrown.slip;
  }
}

static double move_tower(double seconds) { return physics_tower(6, seconds); }
static double move_wall(double seconds) { return physics_wall(4, seconds); }
static double move_cards(double seconds) { return physics_cards(2, seconds); }
static double move_tall_cards(double seconds) { return physics_cards(3, seconds); }
static double move_arch(double seconds) { return physics_arch(11, 0.12, seconds); }
static double move_thin_arch(double seconds) { return physics_arch(11, 0.09, seconds); }

static const struct {
  const char *name;
  double (*move)(double seconds);
  double least; /* mm that it has to move; 0: it stands */
} buildings[] = {
    {"tower of 6 boxes moves, mm", move_tower, 0},
    {"wall of 4 x 4 bricks moves, mm", move_wall, 0},
    {"card house of 2 storeys moves, mm", move_cards, 0},
    {"card house of 3 storeys moves, mm", move_tall_cards, 0},
    {"arch, thickness 0.12 of the radius, moves, mm", move_arch, 0},
    {"arch, thickness 0.09, must fall, mm", move_thin_arch, 100},
};
enum { BUILDINGS = sizeof buildings / sizeof *buildings };
static double moved[MODELS][BUILDINGS];

static void measure_standing(physics_model model) {
  for (int i = 0; i < BUILDINGS; i++) moved[model][i] = 1e3 * buildings[i].move(2);
}

/* In mm: a contact that is open by less than rounding is none to ODE, and a
 * body then drops by g h^2. */
static const double one_drop = 1;

static void lines_standing(void) {
  for (int i = 0; i < BUILDINGS; i++) {
    double least = buildings[i].least;
    report_line *line = add_line(buildings[i].name, least > 0 ? 0 : 3, least,
                                 least > 0 ? NAN : one_drop);
    for (int m = 0; m < MODELS; m++) line->value[m] = moved[m][i];
  }
}

static void measure_energy(physics_model model) { report.energy[model] = physics_pile(36, 2); }

static void lines_energy(void) {
  report_line *growth = add_line(
      "largest work of the contacts in a step, millionths of the first energy", 3, 0, 0.01);
  for (int m = 0; m < MODELS; m++) growth->value[m] = 1e6 * report.energy[m].growth;
}

static const struct {
  const char *name;
  void (*measure)(physics_model model);
  void (*lines)(void);
} scenes[SCENES] = {
    {"box thrown at 3 m/s", measure_slide, lines_slide},
    {"box on a slope", measure_slope, lines_slope},
    {"box on a belt of 10 m/s", measure_belt, lines_belt},
    {"spinning disc", measure_disc, lines_disc},
    {"ball", measure_ball, lines_ball},
    {"buildings, after 2 s", measure_standing, lines_standing},
    {"heap of 36", measure_energy, lines_energy},
};

/* ---- the relaxation gap ---------------------------------------------------------------------- */

double report_hop_speed(int index) { return 1 + index; }

static void measure_hops(void) {
  enum { HOPS = sizeof report.hop[0] / sizeof *report.hop[0] };
  for (int i = 0; i < HOPS; i++) {
    slide_setup setup = {.speed = report_hop_speed(i), .angle = 45, .step = 0.002, .seconds = 1};
    physics_use(CONE);
    slide_result r = physics_slide(&setup);
    report.hop[0][i] = physics_tallied().worst_gap * setup.step;
    report.hop[1][i] = sqrt(2 * PHYSICS_GRAVITY * r.lift);
  }
}

/* ---- the run --------------------------------------------------------------------------------- */

static void run_scenes(void) {
  for (int i = 0; i < SCENES; i++) {
    fprintf(stderr, "physics: %s:", scenes[i].name);
    report.scene[report.scenes++] = scenes[i].name;
    for (int m = 0; m < MODELS; m++) {
      fprintf(stderr, " %s", physics_model_name(m));
      physics_use(m);
      scenes[i].measure(m);
      report.tally[i][m] = physics_tallied();
    }
    fprintf(stderr, "\n");
    scenes[i].lines();
  }
  measure_hops();
}

static int write_files(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/physics.md", folder);
  mkdir(folder, 0777);
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return 0;
  }
  report_write(out, &report);
  fclose(out);
  return report_plot(folder, &report);
}

static int read_arguments(int argc, char **argv, const char **output) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return 0;
    if (!strcmp(argv[i], "--output")) *output = argv[i + 1];
    else if (!strcmp(argv[i], "--misses")) physics_keep_misses(argv[i + 1]);
    else if (strcmp(argv[i], "--settings") || !physics_set(argv[i + 1])) return 0;
  }
  return 1;
}

int main(int argc, char **argv) {
  const char *output = NULL;
  int failed = 0;
  if (!physics_begin()) {
    fprintf(stderr, "physics: ODE does not start\n");
    return 2;
  }
  if (!read_arguments(argc, argv, &output)) {
    fprintf(stderr,
            "usage: physics [--output FOLDER] [--misses FOLDER] [--settings KEY=VALUE,...]\n");
    return 2;
  }
  run_scenes();
  physics_end();
  report_write(stdout, &report);
  if (output && !write_files(output)) return 2;
  fflush(stdout);
  for (int i = 0; i < report.lines; i++) {
    if (report_holds(&report.line[i])) continue;
    failed = 1;
    fprintf(stderr, "physics: coulomb misses theory: %s: %s\n", report.line[i].scene,
            report.line[i].quantity);
  }
  return failed;
}
