/* physics_report.c - the tables of the physics report, in Markdown. */
#include "physics_report.h"

#include <lcplug/lcplug.h>
#include <math.h>

static void write_models(FILE *out, const char *first) {
  fprintf(out, "| %s |", first);
  for (int m = 0; m < MODELS; m++) fprintf(out, " %s |", physics_model_name(m));
  fprintf(out, "\n");
}

static void write_rule(FILE *out, int left, int right) {
  fprintf(out, "|");
  for (int i = 0; i < left; i++) fprintf(out, "---|");
  for (int i = 0; i < right; i++) fprintf(out, "---:|");
  fprintf(out, "\n");
}

static void write_lines(FILE *out, const physics_report *report) {
  const char *above = NULL;
  fprintf(out, "\n## Theory and five solvers\n\n");
  write_models(out, "scene | quantity | theory");
  write_rule(out, 2, 1 + MODELS);
  for (int i = 0; i < report->lines; i++) {
    const report_line *line = &report->line[i];
    fprintf(out, "| %s | %s |", line->scene == above ? "" : line->scene, line->quantity);
    fprintf(out, isnan(line->allowed) ? " > %.*f |" : " %.*f |", line->digits, line->theory);
    for (int m = 0; m < MODELS; m++) {
      const char *mark = m == COULOMB && !report_holds(line) ? " MISSED" : "";
      fprintf(out, " %.*f%s |", line->digits, line->value[m], mark);
    }
    fprintf(out, "\n");
    above = line->scene;
  }
}

static void write_directions(FILE *out, const physics_report *report) {
  fprintf(out,
          "\n## The thrown box by direction\n\n"
          "Degrees to the friction axes; speed after 0.4 s (Coulomb: %.3f m/s) and stopping\n"
          "distance (Coulomb: %.3f m).\n\n",
          theory_slide_speed(3, 0.4), theory_slide_distance(3));
  write_models(out, "angle");
  write_rule(out, 0, 1 + MODELS);
  for (int i = 0; i < QUARTER; i++) {
    fprintf(out, "| %d |", 5 * i);
    for (int m = 0; m < MODELS; m++)
      fprintf(out, " %.3f m/s, %.3f m |", report->slide[m][i].speed, report->slide[m][i].distance);
    fprintf(out, "\n");
  }
}

static void write_cell(FILE *out, const physics_tally *t, physics_model model) {
  fprintf(out, " %ld of %ld", t->misses, t->solves);
  if (model != UPSTREAM) fprintf(out, ", %.0e", t->worst_residual);
  fprintf(out, ", %.0f us |", 1e6 * t->seconds / (double)(t->solves ? t->solves : 1));
}

static void write_tallies(FILE *out, const physics_report *report) {
  fprintf(out,
          "\n## What the solvers did\n\n"
          "Solves that missed the tolerance (of upstream: its error messages), the worst\n"
          "residual, mean time of a solve. Each model goes its own way through a scene, so the\n"
          "problems differ.\n\n");
  write_models(out, "scene");
  write_rule(out, 1, MODELS);
  for (int i = 0; i < report->scenes; i++) {
    fprintf(out, "| %s |", report->scene[i]);
    for (int m = 0; m < MODELS; m++) write_cell(out, &report->tally[i][m], m);
    fprintf(out, "\n");
  }
}

static void write_hops(FILE *out, const physics_report *report) {
  enum { HOPS = sizeof report->hop[0] / sizeof *report->hop[0] };
  fprintf(out,
          "\n## The relaxation gap of `cone`\n\n"
          "A box thrown at 45 degrees. The gap that the solver reports, times the time step, is\n"
          "the speed at which the box will leave the ground; the other is computed from how high\n"
          "it flies.\n\n"
          "| sliding at, m/s | gap times step, m/s | seen, m/s | mu v / (1 + mu^2) |\n");
  write_rule(out, 0, 4);
  for (int i = 0; i < HOPS; i++)
    fprintf(out, "| %.0f | %.3f | %.3f | %.3f |\n", report_hop_speed(i), report->hop[0][i],
            report->hop[1][i], PHYSICS_MU * report_hop_speed(i) / (1 + PHYSICS_MU * PHYSICS_MU));
}

void report_write(FILE *out, const physics_report *report) {
  fprintf(out,
          "# Physics inside ODE\n\n"
          "lcplug %s, made by `make physics`. The same ODE scenes with ODE's own Dantzig solver\n"
          "(upstream) and with the four friction models of lcplug at default settings; mu %g, CFM\n"
          "1e-10. What the models are: doc/friction.md.\n",
          lcplug_version(), PHYSICS_MU);
  write_lines(out, report);
  write_directions(out, report);
  write_hops(out, report);
  write_tallies(out, report);
}
