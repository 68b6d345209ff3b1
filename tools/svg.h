/* svg.h - charts as SVG: lines, steps or points over linear or logarithmic axes, in one file without
 * scripts, fonts or links, so that it opens anywhere and can stand inside an HTML page.
 *
 *     svg_chart chart = {.title = "time over n", .x = {"rows n", .logarithmic = true}, ...};
 *     chart.curves = curves, chart.count = 2;
 *     svg_write(file, &chart, 1);
 *
 * A point that is not finite, or not positive on a logarithmic axis, is left out. */
#ifndef LCPLUG_SVG_H
#define LCPLUG_SVG_H

#include <stdbool.h>
#include <stdio.h>

typedef struct svg_axis {
  const char *name;
  bool logarithmic;
  double least, most; /* both 0: from the points */
} svg_axis;

typedef enum svg_style { SVG_LINE, SVG_STEPS, SVG_POINTS } svg_style;

typedef struct svg_curve {
  const char *name;
  svg_style style;
  const char *colour; /* NULL: by its place in the chart */
  const double *x, *y;
  int count;
} svg_curve;

typedef struct svg_chart {
  const char *title;
  svg_axis x, y;
  const svg_curve *curves;
  int count;
} svg_chart;

/* Writes the charts side by side as one <svg> element. */
void svg_write(FILE *file, const svg_chart *charts, int count);

/* Text with the characters that mean something in XML and HTML escaped. */
void svg_text(FILE *file, const char *text);

#endif
