/* demo.c - one unmodified ODE program, run by upstream's solver and by lcplug in the same minute.
 *
 * Problem.   Show in one screen what the swap changes: does a tower of six touching boxes stand,
 *            and does a box that slides at 45 degrees to the friction axes obey Coulomb.
 * Method.    Each row of the table below runs demo_scene twice (tower, slider) in a child process,
 *            plainly or through `lcplug run`, and reads its lines from stdout and lcplug's
 *            statistics from stderr.  Then: a table, a plot in the terminal, an SVG.
 * Contract.  demo --scene PROGRAM --lcplug COMMAND [--svg FILE]
 *            Exit status 0; 1 and one line for each reason if lcplug's tower ever leaves 5.5 m by
 *            more than 2 cm, or friction=coulomb misses Coulomb's speed by more than 1 %; 2 if
 *            called wrongly.  Only libc and libm: the demo trusts what the programs print. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is right: the top box of six rests at 5.5 m; a box at 3 m/s loses mu g t in 0.4 s. */
static const double tower_height = 5.5, tower_tolerance = 0.02;
static const double coulomb_speed = 3 - 0.5 * 9.81 * 0.4, coulomb_tolerance = 0.01;

/* A number that no run has measured; libc's NAN is a float. */
#define UNKNOWN ((double)NAN)

enum { MAX_STEPS = 1000, MAX_BOXES = 64, MAX_ARGUMENTS = 16, PATIENCE_SECONDS = 120 };

typedef struct box {
  double at[3], q[4], side[3];
} box;

/* One run of demo_scene, as read from its output. */
typedef struct trace {
  int ran; /* to the end, with status 0 */
  char trouble[160];
  int steps;
  double time[MAX_STEPS], value[MAX_STEPS];
  int boxes;
  box box[MAX_BOXES];
  int errors;
  double ms;
  double residual; /* the worst; UNKNOWN if nobody measured it */
} trace;

/* One row of the table: how the program is run. */
typedef struct row {
  const char *label, *color;
  const char *options[5];        /* of `lcplug run`; none: the program is run plainly */
  const char *judge_options[5];  /* of a further run that only measures the residual */
  trace tower, slider;
} row;

enum { UPSTREAM, LCPLUG, COULOMB, ROWS };

static row rows[ROWS] = {
    [UPSTREAM] = {.label = "upstream (Dantzig)",
                  .color = "#c8423f",
                  .judge_options = {"--solver", "upstream", "--stats=1"}},
    [LCPLUG] = {.label = "lcplug", .color = "#1f7a8c", .options = {"--stats=1"}},
    [COULOMB] = {.label = "lcplug, friction=coulomb",
                 .color = "#1f7a8c",
                 .options = {"--friction", "coulomb", "--stats=1"}},
};

typedef struct arguments {
  const char *scene, *lcplug, *svg;
} arguments;

/* ---- running the program --------------------------------------------------------------------- */

/* Runs argv with stdout and stderr in files: no pipe can fill up and block.  Returns the wait
 * status, -1 if no process could be made. */
static int run_child(char *const *argv, FILE *out, FILE *err) {
  int status = -1;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    alarm(PATIENCE_SECONDS); /* survives exec: a solver that hangs ends the run, not the demo */
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "%s\n", strerror(errno));
    _exit(127);
  }
  if (child > 0 && waitpid(child, &status, 0) != child) status = -1;
  rewind(out);
  rewind(err);
  return status;
}

static void read_scene_line(trace *t, const char *line) {
  double time, value;
  box b;
  if (sscanf(line, "step %lf %lf", &time, &value) == 2 && t->steps < MAX_STEPS) {
    t->time[t->steps] = time;
    t->value[t->steps++] = value;
  } else if (sscanf(line, "box %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf", &b.at[0], &b.at[1],
                    &b.at[2], &b.q[0], &b.q[1], &b.q[2], &b.q[3], &b.side[0], &b.side[1],
                    &b.side[2]) == 10 &&
             t->boxes < MAX_BOXES) {
    t->box[t->boxes++] = b;
  } else if (sscanf(line, "errors %d", &t->errors) != 1) {
    sscanf(line, "ms %lf", &t->ms);
  }
}

/* "lcplug: residual   median 1.2e-15  worst 3.4e-14" */
static void read_statistics_line(trace *t, const char *line) {
  const char prefix[] = "lcplug: residual", *worst = strstr(line, "worst");
  double residual;
  if (strncmp(line, prefix, sizeof prefix - 1) || !worst) return;
  if (sscanf(worst, "worst %lf", &residual) == 1) t->residual = fmax(t->residual, residual);
}

static void read_lines(trace *t, FILE *from, void (*read_line)(trace *t, const char *line)) {
  char line[512];
  while (fgets(line, sizeof line, from)) read_line(t, line);
}

/* The last line that the child wrote to stderr says best what went wrong. */
static void explain(trace *t, int status, const char *command, FILE *err) {
  char line[128], last[128] = "";
  rewind(err);
  while (fgets(line, sizeof line, err))
    if (line[0] != '\n') memcpy(last, line, sizeof last);
  last[strcspn(last, "\n")] = 0;
  if (status == -1) snprintf(t->trouble, sizeof t->trouble, "no process could be started");
  else if (WIFSIGNALED(status))
    snprintf(t->trouble, sizeof t->trouble, "ended by signal %d", WTERMSIG(status));
  else if (WEXITSTATUS(status) == 127)
    snprintf(t->trouble, sizeof t->trouble, "%.80s cannot be run: %.60s", command, last);
  else if (WEXITSTATUS(status))
    snprintf(t->trouble, sizeof t->trouble, "exit status %d: %.120s", WEXITSTATUS(status), last);
  else snprintf(t->trouble, sizeof t->trouble, "the program printed no steps");
}

/* Runs one scene of demo_scene, under `lcplug run OPTIONS --` if there are options. */
static void run_scene(const arguments *a, const char *const *options, const char *kind, trace *t) {
  const char *argv[MAX_ARGUMENTS];
  int count = 0, plain = options[0] == NULL;
  FILE *out = tmpfile(), *err = tmpfile();
  t->residual = UNKNOWN;
  if (out && err) {
    if (!plain) {
      argv[count++] = a->lcplug;
      argv[count++] = "run";
      while (*options) argv[count++] = *options++;
      argv[count++] = "--";
    }
    argv[count++] = a->scene;
    argv[count++] = kind;
    argv[count++] = "45"; /* degrees; the tower does not look at it */
    argv[count] = NULL;
    int status = run_child((char *const *)argv, out, err); /* exec changes no argument */
    read_lines(t, out, read_scene_line);
    read_lines(t, err, read_statistics_line);
    t->ran = status == 0 && t->steps > 0;
    if (!t->ran) explain(t, status, argv[0], err);
  } else {
    snprintf(t->trouble, sizeof t->trouble, "no temporary file could be made");
  }
  if (out) fclose(out);
  if (err) fclose(err);
}

static void run_row(const arguments *a, row *r) {
  const struct {
    const char *kind;
    trace *t;
  } scenes[] = {{"tower", &r->tower}, {"slider", &r->slider}};
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    trace *t = scenes[i].t;
    if (r->options[0] && !a->lcplug) {
      t->residual = UNKNOWN;
      snprintf(t->trouble, sizeof t->trouble, "no --lcplug COMMAND given");
      continue;
    }
    run_scene(a, r->options, scenes[i].kind, t);
    if (r->judge_options[0] && a->lcplug) {
      static trace judged; /* too large for the stack of a small thread */
      judged = (trace){0};
      run_scene(a, r->judge_options, scenes[i].kind, &judged);
      /* Exactly 0 where solves failed can only mean that nobody looked. */
      t->residual = judged.residual > 0 ? judged.residual : UNKNOWN;
    }
  }
}

/* ---- the table ------------------------------------------------------------------------------- */

static double last_value(const trace *t) { return t->ran ? t->value[t->steps - 1] : UNKNOWN; }

static double largest_deviation(const trace *t, double from) {
  double largest = t->ran ? 0 : UNKNOWN;
  for (int i = 0; t->ran && i < t->steps; i++) largest = fmax(largest, fabs(t->value[i] - from));
  return largest;
}

static double errors_of(const row *r) {
  return r->tower.ran && r->slider.ran ? r->tower.errors + r->slider.errors : UNKNOWN;
}
static double height_of(const row *r) { return last_value(&r->tower); }
static double deviation_of(const row *r) { return largest_deviation(&r->tower, tower_height); }
static double speed_of(const row *r) { return last_value(&r->slider); }
static double coulomb_of(const row *r) { return r->slider.ran ? coulomb_speed : UNKNOWN; }
static double residual_of(const row *r) { return fmax(r->tower.residual, r->slider.residual); }
static double ms_of(const row *r) { return r->tower.ran ? r->tower.ms : UNKNOWN; }

static const struct column {
  const char *head[2], *format;
  int width;
  double (*cell)(const row *r);
} columns[] = {
    {{"solver", "errors"}, "%.0f", 7, errors_of},
    {{"tower", "height m"}, "%.3f", 9, height_of},
    {{"off 5.5 m", "by, m"}, "%.4f", 10, deviation_of},
    {{"sliding", "m/s"}, "%.3f", 8, speed_of},
    {{"Coulomb", "m/s"}, "%.3f", 8, coulomb_of},
    {{"worst", "residual"}, "%.1e", 9, residual_of},
    {{"tower", "ms/step"}, "%.3f", 8, ms_of},
};

enum { COLUMNS = sizeof columns / sizeof *columns, LABEL_WIDTH = 25 };

static void print_table(void) {
  for (int line = 0; line < 2; line++) {
    printf("%-*s", LABEL_WIDTH, "");
    for (int c = 0; c < COLUMNS; c++) printf(" %*s", columns[c].width, columns[c].head[line]);
    putchar('\n');
  }
  for (int i = 0; i < ROWS; i++) {
    printf("%-*s", LABEL_WIDTH, rows[i].label);
    for (int c = 0; c < COLUMNS; c++) {
      char text[32];
      double value = columns[c].cell(&rows[i]);
      snprintf(text, sizeof text, columns[c].format, value);
      printf(" %*s", columns[c].width, isnan(value) ? "-" : text);
    }
    putchar('\n');
  }
  for (int i = 0; i < ROWS; i++) {
    const trace *failed = !rows[i].tower.ran ? &rows[i].tower : &rows[i].slider;
    if (!failed->ran) printf("%s: not available (%s)\n", rows[i].label, failed->trouble);
  }
}

/* ---- the plot in the terminal ---------------------------------------------------------------- */

/* The top of both plots: above both curves, and its third is a whole number of metres. */
static double plot_top(void) {
  double top = 6;
  for (int r = UPSTREAM; r <= LCPLUG; r++)
    for (int i = 0; i < rows[r].tower.steps; i++) top = fmax(top, rows[r].tower.value[i]);
  return fmin(3 * ceil((top + 0.2) / 3), 18);
}

/* Which sign of the table below; later ones cover earlier ones. */
enum { SPACE, TARGET, MARK_UPSTREAM, MARK_LCPLUG, AXIS_Y, AXIS_X, CORNER, SIGNS };

static void plot_terminal(void) {
  enum { WIDTH = 60, HEIGHT = 12 };
  static const char *const ascii[SIGNS] = {" ", ".", "x", "o", "|", "-", "+"};
  static const char *const utf8[SIGNS] = {" ", "·", "×", "●", "│", "─", "└"};
  const char *const *sign = strcmp(nl_langinfo(CODESET), "UTF-8") ? ascii : utf8;
  char cell[HEIGHT][WIDTH] = {{SPACE}};
  double top = plot_top();
  memset(cell[HEIGHT - 1 - (int)(tower_height / top * HEIGHT)], TARGET, WIDTH);
  for (int r = UPSTREAM; r <= LCPLUG; r++) {
    const trace *t = &rows[r].tower;
    for (int x = 0; x < WIDTH && t->steps > 1; x++) {
      double share = t->value[x * (t->steps - 1) / (WIDTH - 1)] / top;
      if (share >= 0 && share < 1)
        cell[HEIGHT - 1 - (int)(share * HEIGHT)][x] = r == UPSTREAM ? MARK_UPSTREAM : MARK_LCPLUG;
    }
  }
  printf("\nheight of the top box, m     %s %s    %s %s    %s 5.5 m\n", sign[MARK_UPSTREAM],
         rows[UPSTREAM].label, sign[MARK_LCPLUG], rows[LCPLUG].label, sign[TARGET]);
  for (int y = 0; y < HEIGHT; y++) {
    if (y % 4 == 0) printf("%6.1f %s", top * (HEIGHT - y) / HEIGHT, sign[AXIS_Y]);
    else printf("%6s %s", "", sign[AXIS_Y]);
    for (int x = 0; x < WIDTH; x++) fputs(sign[(int)cell[y][x]], stdout);
    putchar('\n');
  }
  printf("%6.1f %s", 0.0, sign[CORNER]);
  for (int x = 0; x < WIDTH; x++) fputs(sign[AXIS_X], stdout);
  const trace *shown = &rows[UPSTREAM].tower;
  printf("\n%8s0 s%*.1f s\n", "", WIDTH - 5, shown->steps ? shown->time[shown->steps - 1] : 0.0);
}

/* ---- the SVG --------------------------------------------------------------------------------- */

/* Plot and side view stand on one ground line and share the scale of heights. */
enum { PAGE_WIDTH = 960, PAGE_HEIGHT = 470, SKY = 84, GROUND = 374 };
enum { PLOT_LEFT = 64, PLOT_RIGHT = 500, VIEW_LEFT = 540, VIEW_RIGHT = 932 };

static double metres(double z, double top) { return GROUND - z / top * (GROUND - SKY); }

static double seconds(double time, double last) {
  return PLOT_LEFT + time / last * (PLOT_RIGHT - PLOT_LEFT);
}

/* text(f, x, y, anchor and style attributes, format...) */
__attribute__((format(printf, 5, 6))) static void text(FILE *f, double x, double y,
                                                       const char *style, const char *format, ...) {
  va_list values;
  fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style);
  va_start(values, format);
  vfprintf(f, format, values);
  va_end(values);
  fprintf(f, "</text>\n");
}

static void draw_axes(FILE *f, double top, double last) {
  for (int z = 0; z <= (int)top; z += (int)top / 3) {
    fprintf(f, "<path d=\"M%d %.1fH%d\" stroke=\"#e6e8eb\"/>\n", PLOT_LEFT, metres(z, top),
            PLOT_RIGHT);
    text(f, PLOT_LEFT - 8, metres(z, top) + 4, "text-anchor=\"end\" fill=\"#6b7280\"", "%d", z);
  }
  for (int i = 0; i <= 4; i++)
    text(f, seconds(last * i / 4, last), GROUND + 18, "text-anchor=\"middle\" fill=\"#6b7280\"",
         "%.1f", last * i / 4);
  text(f, (PLOT_LEFT + PLOT_RIGHT) / 2.0, GROUND + 36, "text-anchor=\"middle\" fill=\"#6b7280\"",
       "time, s");
  text(f, PLOT_LEFT - 8, SKY - 14, "fill=\"#6b7280\"", "height of the top box, m");
  fprintf(f, "<path d=\"M%d %dH%d\" stroke=\"#9aa1ab\"/>\n", PLOT_LEFT, GROUND, PLOT_RIGHT);
}

static void draw_curve(FILE *f, const row *r, double top, double last, double label_y) {
  const trace *t = &r->tower;
  char style[96];
  if (!t->ran) return;
  fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2.5\" stroke-linejoin=\"round\" "
             "points=\"%.1f,%.1f", r->color, seconds(0, last), metres(tower_height, top));
  for (int i = 0; i < t->steps; i++)
    fprintf(f, " %.1f,%.1f", seconds(t->time[i], last), metres(t->value[i], top));
  fprintf(f, "\"/>\n");
  snprintf(style, sizeof style, "text-anchor=\"end\" font-weight=\"600\" fill=\"%s\"", r->color);
  text(f, PLOT_RIGHT - 4, metres(last_value(t), top) + label_y, style, "%s", r->label);
}

/* Corner `bits` (one bit per axis: which side) of a box, in the world. */
static void corner(const box *b, int bits, double *world) {
  const double w = b->q[0], x = b->q[1], y = b->q[2], z = b->q[3];
  const double R[3][3] = {
      {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
      {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
      {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)},
  };
  for (int i = 0; i < 3; i++) {
    world[i] = b->at[i];
    for (int k = 0; k < 3; k++)
      world[i] += R[i][k] * b->side[k] * (bits >> k & 1 ? 0.5 : -0.5);
  }
}

/* The colour "#rrggbb" mixed with white.  Not by opacity: boxes behind would shine through. */
static void fill(FILE *f, const char *color, double share) {
  unsigned rgb[3] = {0, 0, 0};
  sscanf(color, "#%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2]);
  fputc('#', f);
  for (int i = 0; i < 3; i++) fprintf(f, "%02x", (unsigned)(255 - share * (255 - rgb[i]) + 0.5));
}

/* The face on side `positive` of `axis`, seen along +y, if it looks at us.  Front faces are bright,
 * faces that look up brighter still. */
static void draw_face(FILE *f, const box *b, int axis, int positive, double middle, double top,
                      const char *color) {
  const int u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3, side = positive << axis;
  const int around[4] = {side, side | u, side | u | v, side | v};
  double here[3], opposite[3], normal[3], length = 0, scale = (GROUND - SKY) / top;
  corner(b, side, here);
  corner(b, side ^ (1 << axis), opposite);
  for (int i = 0; i < 3; i++) {
    normal[i] = here[i] - opposite[i];
    length += normal[i] * normal[i];
  }
  for (int i = 0; i < 3; i++) normal[i] /= sqrt(length);
  if (normal[1] > -1e-3) return;
  fprintf(f, "<polygon fill=\"");
  fill(f, color, 0.45 - 0.35 * normal[1] - 0.15 * normal[2]);
  fprintf(f, "\" points=\"");
  for (int i = 0; i < 4; i++) {
    double p[3];
    corner(b, around[i], p);
    fprintf(f, "%s%.1f,%.1f", i ? " " : "", middle + p[0] * scale, metres(p[2], top));
  }
  fprintf(f, "\"/>\n");
}

static int farther_first(const void *a, const void *b) {
  double ya = ((const box *)a)->at[1], yb = ((const box *)b)->at[1];
  return (ya < yb) - (ya > yb);
}

/* The tower at the end, from the side; dashed: where it stood at the start. */
static void draw_tower(FILE *f, const row *r, double middle, double top) {
  static box sorted[MAX_BOXES];
  const trace *t = &r->tower;
  double scale = (GROUND - SKY) / top;
  char style[96];
  memcpy(sorted, t->box, sizeof sorted);
  qsort(sorted, (size_t)t->boxes, sizeof *sorted, farther_first);
  fprintf(f, "<g fill=\"none\" stroke=\"#9aa1ab\" stroke-dasharray=\"3 3\">\n");
  for (int i = 0; i < t->boxes; i++)
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
            middle - 0.5 * scale, metres(i + 1, top), scale, scale);
  fprintf(f, "</g>\n<g clip-path=\"url(#view)\" stroke=\"#fff\" stroke-linejoin=\"round\">\n");
  for (int i = 0; i < t->boxes; i++)
    for (int face = 0; face < 6; face++)
      draw_face(f, &sorted[i], face / 2, face % 2, middle, top, r->color);
  fprintf(f, "</g>\n");
  snprintf(style, sizeof style, "text-anchor=\"middle\" font-weight=\"600\" fill=\"%s\"", r->color);
  text(f, middle, GROUND + 20, style, "%s", r->label);
  if (t->ran)
    text(f, middle, GROUND + 38, "text-anchor=\"middle\" fill=\"#6b7280\"",
         "%d errors, top box at %.2f m", t->errors, last_value(t));
  else text(f, middle, GROUND + 38, "text-anchor=\"middle\" fill=\"#6b7280\"", "not available");
}

static void draw_page(FILE *f) {
  const trace *t = &rows[UPSTREAM].tower;
  const double top = plot_top(), last = t->steps ? t->time[t->steps - 1] : 1;
  fprintf(f,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-size=\"13\" "
          "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\">\n"
          "<title>A tower of six boxes, solved by upstream and by lcplug</title>\n"
          "<rect x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"12\" fill=\"#fff\" "
          "stroke=\"#d9dde2\"/>\n",
          PAGE_WIDTH, PAGE_HEIGHT, PAGE_WIDTH - 1, PAGE_HEIGHT - 1);
  text(f, 28, 38, "font-size=\"17\" font-weight=\"600\" fill=\"#1f2933\"",
       "Six touching boxes, one unmodified ODE program");
  text(f, PAGE_WIDTH - 28, 38, "text-anchor=\"end\" fill=\"#6b7280\"",
       "dWorldStep, mu 0.5, step 0.01 s; side view at %.1f s", last);
  fprintf(f, "<clipPath id=\"view\"><path d=\"M%d 50H%dV%dH%dz\"/></clipPath>\n", VIEW_LEFT,
          VIEW_RIGHT, GROUND, VIEW_LEFT);
  draw_axes(f, top, last);
  fprintf(f, "<path d=\"M%d %.1fH%d\" stroke=\"#9aa1ab\" stroke-dasharray=\"3 3\"/>\n", PLOT_LEFT,
          metres(tower_height, top), PLOT_RIGHT);
  text(f, PLOT_RIGHT + 6, metres(tower_height, top) + 4, "fill=\"#6b7280\"", "%g m", tower_height);
  draw_curve(f, &rows[UPSTREAM], top, last, -12);
  draw_curve(f, &rows[LCPLUG], top, last, 20);
  fprintf(f, "<path d=\"M%d %dH%d\" stroke=\"#9aa1ab\"/>\n", VIEW_LEFT, GROUND, VIEW_RIGHT);
  draw_tower(f, &rows[UPSTREAM], 640, top);
  draw_tower(f, &rows[LCPLUG], 832, top);
  if (rows[UPSTREAM].slider.ran && rows[COULOMB].slider.ran)
    text(f, PAGE_WIDTH / 2.0, PAGE_HEIGHT - 20, "text-anchor=\"middle\" fill=\"#1f2933\"",
         "A box that slides at 45° to the friction axes, after 0.4 s: upstream %.3f m/s, "
         "lcplug friction=coulomb %.3f m/s, Coulomb's law %.3f m/s",
         speed_of(&rows[UPSTREAM]), speed_of(&rows[COULOMB]), coulomb_speed);
  fprintf(f, "</svg>\n");
}

static int write_svg(const char *path) {
  FILE *f = fopen(path, "w");
  if (f) draw_page(f);
  if (f && fclose(f) == 0) {
    printf("\nwritten: %s\n", path);
    return 1;
  }
  fprintf(stderr, "demo: cannot write %s\n", path);
  return 0;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static int judge(const trace *t, double off, double tolerance, const char *promise) {
  if (t->ran && off <= tolerance) return 1;
  if (t->ran) fprintf(stderr, "demo: FAILED: %s; it is off by %.3g\n", promise, off);
  else fprintf(stderr, "demo: FAILED: %s; it did not run: %s\n", promise, t->trouble);
  return 0;
}

static int verdict(void) {
  const trace *tower = &rows[LCPLUG].tower, *slider = &rows[COULOMB].slider;
  fflush(stdout);
  int stands = judge(tower, largest_deviation(tower, tower_height), tower_tolerance,
                     "lcplug's tower must stay within 2 cm of 5.5 m");
  int slides = judge(slider, fabs(last_value(slider) / coulomb_speed - 1), coulomb_tolerance,
                     "friction=coulomb must slide within 1 % of Coulomb's 1.038 m/s");
  return stands && slides;
}

static int read_arguments(int argc, char **argv, arguments *a) {
  const struct {
    const char *name, **value;
  } options[] = {{"--scene", &a->scene}, {"--lcplug", &a->lcplug}, {"--svg", &a->svg}};
  for (int i = 1; i < argc; i += 2) {
    const char **value = NULL;
    for (size_t k = 0; k < sizeof options / sizeof *options; k++)
      if (!strcmp(argv[i], options[k].name)) value = options[k].value;
    if (!value || i + 1 == argc) return 0;
    *value = argv[i + 1];
  }
  return a->scene != NULL;
}

int main(int argc, char **argv) {
  arguments a = {.svg = "lcplug-demo.svg"};
  setlocale(LC_CTYPE, "");
  if (!read_arguments(argc, argv, &a)) {
    fprintf(stderr, "usage: demo --scene DEMO_SCENE [--lcplug COMMAND] [--svg FILE]\n");
    return 2;
  }
  printf("A tower of six touching boxes; a box that slides at 45 degrees to the friction axes.\n"
         "The same ODE program each time; only the solver under it changes.\n\n");
  for (int i = 0; i < ROWS; i++) run_row(&a, &rows[i]);
  print_table();
  plot_terminal();
  int written = write_svg(a.svg);
  return verdict() && written ? 0 : 1;
}
