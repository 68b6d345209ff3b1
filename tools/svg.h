/* svg.h - charts as SVG: lines, steps or points over linear or logarithmic axes, in one file
 * without scripts, fonts or links, so that it opens anywhere and can stand inside an HTML page.
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

/* An axis with its range settled: values between from and to, as logarithms where the axis has
 * them, and the pixels where it begins and ends. */
typedef struct svg_scale {
  bool logarithmic;
  double from, to;
  double begin, end;
} svg_scale;

/* The pixel of a value; one outside of the range is put at its end. */
double svg_place(const svg_scale *scale, double value);

/* The round values in the range; returns how many. */
enum { SVG_MOST_TICKS = 40 };
int svg_ticks(const svg_scale *scale, double ticks[SVG_MOST_TICKS]);

/* Text with the characters that mean something in XML and HTML escaped. */
void svg_text(FILE *file, const char *text);

#endif
