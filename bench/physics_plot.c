/* physics_plot.c - the pictures of the physics report. */
#include "physics_report.h"

#include <math.h>

#include "gnuplot.h"

#define DEGREES (3.14159265358979323846 / 180)

static const char *const color[MODELS] = {
    [UPSTREAM] = "#c8423f", [ODE] = "#e0a030", [PYRAMID] = "#9467bd",
    [CONE] = "#5b8def",     [COULOMB] = "#1f7a8c",
};

static FILE *begin(const char *folder, const char *name, int width, int height) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.svg", folder, name);
  return gnuplot_begin(path, width, height);
}

/* ---- thrown boxes ------------------------------------------------------------------------------ */

/* The ways of boxes thrown every 15 degrees, and the line on which those of all directions end. */
static void write_ways(FILE *out, const slide_result *slide, int model) {
  fprintf(out, "$ways%d << END\n", model);
  for (int i = 0; i < ALL_ROUND; i += 3) {
    for (int k = 0; k < SLIDE_PATH; k++)
      fprintf(out, "%.4f %.4f\n", slide[i].path[k][0], slide[i].path[k][1]);
    fprintf(out, "\n");
  }
  fprintf(out, "END\n$ends%d << END\n", model);
  for (int i = 0; i <= ALL_ROUND; i++) {
    const slide_result *r = &slide[i % ALL_ROUND];
    double angle = (5 * i + r->direction) * DEGREES;
    fprintf(out, "%.4f %.4f\n", r->distance * cos(angle), r->distance * sin(angle));
  }
  fprintf(out, "END\n");
}

static int plot_directions(const char *folder, const physics_report *report) {
  static const physics_model shown[] = {UPSTREAM, COULOMB};
  static const char *const titles[] = {"upstream (Dantzig)", "friction=coulomb"};
  FILE *out = begin(folder, "physics-directions", 900, 480);
  if (!out) return 0;
  fprintf(out, "set multiplot layout 1,2\nset size square\nset xrange [-1.1:1.1]\n"
               "set yrange [-1.1:1.1]\nset trange [0:2*pi]\nset parametric\nunset key\n"
               "set xlabel 'm, first friction axis'\nset ylabel 'm, second friction axis'\n");
  for (int i = 0; i < 2; i++) {
    int m = shown[i];
    write_ways(out, report->slide[m], m);
    fprintf(out,
            "set title 'boxes thrown at %g m/s: %s' tc rgb '%s'\n"
            "plot %g*cos(t), %g*sin(t) lc rgb '#b0b0b0' dt 2, "
            "$ways%d with lines lw 1.2 lc rgb '%s', $ends%d with lines lw 2.5 lc rgb '%s'\n",
            3.0, titles[i], color[m], theory_slide_distance(3), theory_slide_distance(3), m, color[m],
            m, color[m]);
  }
  fprintf(out, "unset multiplot\n");
  return gnuplot_end(out);
}

/* ---- slope ------------------------------------------------------------------------------------- */

static int plot_slope(const char *folder, const physics_report *report) {
  FILE *out = begin(folder, "physics-slope", 640, 420);
  if (!out) return 0;
  fprintf(out, "set xlabel 'heading of the slope, degrees to the friction axes'\n"
               "set ylabel 'steepest slope that holds the box'\nset xtics 15\n"
               "set xrange [0:90]\nset yrange [0.4:0.75]\nset key top right\n");
  for (int m = 0; m < MODELS; m++) {
    fprintf(out, "$steepest%d << END\n", m);
    for (int i = 0; i < QUARTER; i++) fprintf(out, "%d %.4f\n", 5 * i, report->steepest[m][i]);
    fprintf(out, "END\n");
  }
  fprintf(out, "plot %g lc rgb '#b0b0b0' dt 2 title 'Coulomb: mu'", PHYSICS_MU);
  for (int m = 0; m < MODELS; m++)
    fprintf(out, ", $steepest%d with linespoints pt 7 ps 0.4 lw %g lc rgb '%s' title '%s'", m,
            m == COULOMB ? 2.5 : 1.5, color[m], physics_model_name(m));
  fprintf(out, "\n");
  return gnuplot_end(out);
}

/* ---- energy ------------------------------------------------------------------------------------ */

static int plot_energy(const char *folder, const physics_report *report) {
  FILE *out = begin(folder, "physics-energy", 640, 420);
  if (!out) return 0;
  for (int m = 0; m < MODELS; m++) {
    fprintf(out, "$energy%d << END\n", m);
    for (int k = 0; k < ENERGY_SAMPLES; k++)
      fprintf(out, "%.4f %.6f\n", 2.0 * k / ENERGY_SAMPLES, report->energy[m].sample[k]);
    fprintf(out, "END\n");
  }
  fprintf(out, "set xlabel 'time, s'\nset ylabel 'energy of the heap, fraction of the first'\n"
               "set key top right\nplot ");
  for (int m = 0; m < MODELS; m++)
    fprintf(out, "%s$energy%d with lines lw 1.8 lc rgb '%s' title '%s'", m ? ", " : "", m, color[m],
            physics_model_name(m));
  fprintf(out, "\n");
  return gnuplot_end(out);
}

/* ---- the relaxation gap ------------------------------------------------------------------------ */

static void write_heights(FILE *out, const physics_report *report) {
  static const physics_model shown[] = {CONE, COULOMB};
  for (int i = 0; i < 2; i++) {
    const slide_result *r = &report->slide[shown[i]][9]; /* 45 degrees */
    fprintf(out, "$height%d << END\n", shown[i]);
    for (int k = 0; k < SLIDE_PATH; k++)
      fprintf(out, "%.4f %.5f\n", hypot(r->path[k][0], r->path[k][1]), 100 * r->path[k][2]);
    fprintf(out, "END\n");
  }
}

static int plot_gap(const char *folder, const physics_report *report) {
  enum { HOPS = sizeof report->hop[0] / sizeof *report->hop[0] };
  FILE *out = begin(folder, "friction-gap", 900, 400);
  if (!out) return 0;
  write_heights(out, report);
  fprintf(out, "$hops << END\n");
  for (int i = 0; i < HOPS; i++)
    fprintf(out, "%g %.4f %.4f\n", report_hop_speed(i), report->hop[0][i], report->hop[1][i]);
  fprintf(out,
          "END\nset multiplot layout 1,2\nset key top right\n"
          "set title 'a box thrown at 3 m/s, its way through the air'\n"
          "set xlabel 'way, m'\nset ylabel 'height above the ground, cm'\nset yrange [-0.5:9]\n"
          "plot $height%d with lines lw 2.5 lc rgb '%s' title 'cone', "
          "$height%d with lines lw 2.5 lc rgb '%s' title 'coulomb'\n"
          "set title 'how fast cone lifts it off'\nset key top left\n"
          "set xlabel 'sliding speed, m/s'\nset ylabel 'm/s'\nset yrange [0:*]\nset xrange [0:*]\n"
          "mu = %g\nplot mu*x/(1+mu*mu) lc rgb '#b0b0b0' dt 2 title 'mu v / (1 + mu^2)', "
          "$hops using 1:2 with points pt 6 ps 1.2 lw 2 lc rgb '%s' title 'gap reported, times step', "
          "$hops using 1:3 with points pt 7 ps 0.5 lc rgb '#333333' title 'seen in the motion'\n"
          "unset multiplot\n",
          CONE, color[CONE], COULOMB, color[COULOMB], PHYSICS_MU, color[CONE]);
  return gnuplot_end(out);
}

int report_plot(const char *folder, const physics_report *report) {
  return plot_directions(folder, report) && plot_slope(folder, report) &&
         plot_energy(folder, report) && plot_gap(folder, report);
}
