/* physics_report.h - what the physics report measures, and who writes it down. */
#ifndef LCPLUG_BENCH_PHYSICS_REPORT_H
#define LCPLUG_BENCH_PHYSICS_REPORT_H

#include <stdio.h>

#include "physics/physics.h"

enum { ALL_ROUND = 72, QUARTER = 19 }; /* directions in steps of 5 degrees; 0 to 90 of them */

/* One line of the table: a quantity, what theory says, and what each model gives. */
typedef struct report_line {
  const char *scene, *quantity;
  int digits;            /* after the point */
  double theory;
  double allowed;        /* how far off theory coulomb may be; NAN: theory is a least value */
  double value[MODELS];
} report_line;

enum { SCENES = 7, MOST_LINES = 40 };

/* Everything that is measured, in one run. */
typedef struct physics_report {
  report_line line[MOST_LINES];
  int lines;
  const char *scene[SCENES];
  physics_tally tally[SCENES][MODELS];
  int scenes;
  slide_result slide[MODELS][ALL_ROUND];
  double steepest[MODELS][QUARTER];
  energy_result energy[MODELS];
  /* of CONE by sliding speed: reported lift-off speed, and the one that was seen */
  double hop[2][8];
} physics_report;

/* The speeds of `hop`, m/s. */
double report_hop_speed(int index);

/* Coulomb meets theory. */
int report_holds(const report_line *line);

/* Markdown; the terminal gets the same. */
void report_write(FILE *out, const physics_report *report);

/* physics-directions.svg, -slope.svg, -energy.svg and friction-gap.svg in `folder`; 0 and a message
 * if one could not be written. */
int report_plot(const char *folder, const physics_report *report);

#endif
