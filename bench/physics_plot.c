/* physics_plot.c - the pictures of the physics report. */
#include "physics_report.h"

#include <math.h>
#include <svg.h>

static const char *const colour[MODELS] = {
    [UPSTREAM] = "#c8423f", [ODE] = "#e0a030", [PYRAMID] = "#9d4edd",
    [CONE] = "#5b8def",     [COULOMB] = "#1f7a8c",
};
static const char grey[] = "#b0b0b0";

enum { MOST_POINTS = 2 * SLIDE_PATH * ALL_ROUND };

/* A curve and the room for its points. */
typedef struct points {
  double x[MOST_POINTS], y[MOST_POINTS];
  int count;
} points;

static void add_point(points *p, double x, double y) {
  p->x[p->count] = x;
  p->y[p->count++] = y;
}

static svg_curve curve_of(const points *p, const char *name, svg_style style, const char *c) {
  return (svg_curve){
      .name = name, .style = style, .colour = c, .x = p->x, .y = p->y, .count = p->count};
}

static int write_svg(const char *folder, const char *name, const svg_chart *charts, int count) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.svg", folder, name);
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return 0;
  }
  svg_write(out, charts, count);
  return fclose(out) == 0;
}

/* ---- thrown boxes ---------------------------------------------------------------------------- */

/* The ways of boxes thrown every 15 degrees, there and back again: one line without gaps. */
static void trace_ways(points *p, const slide_result *slide) {
  for (int i = 0; i < ALL_ROUND; i += 3)
    for (int k = 0; k < 2 * SLIDE_PATH; k++) {
      const double *at = slide[i].path[k < SLIDE_PATH ? k : 2 * SLIDE_PATH - 1 - k];
      add_point(p, at[0], at[1]);
    }
}

static void trace_ends(points *p, const slide_result *slide) {
  for (int i = 0; i <= ALL_ROUND; i++) {
    const slide_result *r = &slide[i % ALL_ROUND];
    double angle = (5 * i + r->direction) * DEGREES;
    add_point(p, r->distance * cos(angle), r->distance * sin(angle));
  }
}

static void trace_circle(points *p, double radius) {
  for (int i = 0; i <= 360; i += 2)
    add_point(p, radius * cos(i * DEGREES), radius * sin(i * DEGREES));
}

static int plot_directions(const char *folder, const physics_report *report) {
  static const physics_model shown[] = {UPSTREAM, COULOMB};
  static const char *const titles[] = {"Boxes thrown at 3 m/s: upstream (Dantzig)",
                                       "Boxes thrown at 3 m/s: friction=coulomb"};
  static points ways[2], ends[2], circle;
  svg_curve curves[2][3];
  svg_chart charts[2];
  trace_circle(&circle, theory_slide_distance(3));
  for (int i = 0; i < 2; i++) {
    const char *c = colour[shown[i]];
    trace_ways(&ways[i], report->slide[shown[i]]);
    trace_ends(&ends[i], report->slide[shown[i]]);
    curves[i][0] = curve_of(&circle, "where Coulomb says that they stop", SVG_LINE, grey);
    curves[i][1] = curve_of(&ways[i], "their ways", SVG_LINE, c);
    curves[i][2] = curve_of(&ends[i], "where they stop", SVG_POINTS, "#303030");
    /* The frame is wider than high: these ranges make a metre the same in both directions. */
    charts[i] = (svg_chart){.title = titles[i],
                            .x = {"m, along the first friction axis", false, -1.95, 1.95},
                            .y = {"m, along the second friction axis", false, -1.1, 1.1},
                            .curves = curves[i],
                            .count = 3};
  }
  return write_svg(folder, "physics-directions", charts, 2);
}

/* ---- slope, energy --------------------------------------------------------------------------- */

static int plot_slope(const char *folder, const physics_report *report) {
  static points lines[MODELS];
  svg_curve curves[MODELS];
  for (int m = 0; m < MODELS; m++) {
    for (int i = 0; i < QUARTER; i++) add_point(&lines[m], 5 * i, report->steepest[m][i]);
    curves[m] = curve_of(&lines[m], physics_model_name(m), SVG_LINE, colour[m]);
  }
  svg_chart chart = {.title = "The steepest slope that holds a box, mu 0.5",
                     .x = {"heading of the slope, degrees to the friction axes", false, 0, 90},
                     .y = {"tangent of the slope", false, 0.4, 0.75},
                     .curves = curves,
                     .count = MODELS};
  return write_svg(folder, "physics-slope", &chart, 1);
}

static int plot_energy(const char *folder, const physics_report *report) {
  static points lines[MODELS];
  svg_curve curves[MODELS];
  for (int m = 0; m < MODELS; m++) {
    for (int k = 0; k < ENERGY_SAMPLES; k++)
      add_point(&lines[m], 2.0 * k / ENERGY_SAMPLES, report->energy[m].sample[k]);
    curves[m] = curve_of(&lines[m], physics_model_name(m), SVG_LINE, colour[m]);
  }
  svg_chart chart = {.title = "Energy of a heap of balls and cubes",
                     .x = {"time, s", false, 0, 2},
                     .y = {"fraction of the first", false, 0, 1.05},
                     .curves = curves,
                     .count = MODELS};
  return write_svg(folder, "physics-energy", &chart, 1);
}

/* ---- the relaxation gap ---------------------------------------------------------------------- */

static void trace_flight(points *p, const slide_result *r) {
  for (int k = 0; k < SLIDE_PATH; k++)
    add_point(p, hypot(r->path[k][0], r->path[k][1]), 100 * r->path[k][2]);
}

static int plot_gap(const char *folder, const physics_report *report) {
  enum { HOPS = sizeof report->hop[0] / sizeof *report->hop[0], AT_45 = 9 };
  static points cone, coulomb, theory, told, seen;
  trace_flight(&cone, &report->slide[CONE][AT_45]);
  trace_flight(&coulomb, &report->slide[COULOMB][AT_45]);
  for (int i = 0; i < HOPS; i++) {
    double speed = report_hop_speed(i);
    add_point(&theory, speed, PHYSICS_MU * speed / (1 + PHYSICS_MU * PHYSICS_MU));
    add_point(&told, speed, report->hop[0][i]);
    add_point(&seen, speed, report->hop[1][i]);
  }
  const svg_curve flight[] = {curve_of(&cone, "cone", SVG_LINE, colour[CONE]),
                              curve_of(&coulomb, "coulomb", SVG_LINE, colour[COULOMB])};
  const svg_curve speeds[] = {curve_of(&theory, "mu v / (1 + mu^2)", SVG_LINE, grey),
                              curve_of(&told, "gap times time step", SVG_LINE, colour[CONE]),
                              curve_of(&seen, "seen in the motion", SVG_POINTS, "#303030")};
  const svg_chart charts[] = {
      {.title = "A box thrown along the ground at 3 m/s",
       .x = {"way, m", false, 0, 1},
       .y = {"height above the ground, cm", false, -1, 9},
       .curves = flight,
       .count = 2},
      {.title = "How fast cone lifts it off the ground",
       .x = {"sliding speed, m/s", false, 0, 8},
       .y = {"m/s", false, 0, 4},
       .curves = speeds,
       .count = 3},
  };
  return write_svg(folder, "friction-gap", charts, 2);
}

int report_plot(const char *folder, const physics_report *report) {
  return plot_directions(folder, report) && plot_slope(folder, report) &&
         plot_energy(folder, report) && plot_gap(folder, report);
}
