/* report_charts.c - see report_charts.h.
 *
 * A run is cut into at most COLUMNS parts of equally many calls.  A part of one call is a point; of
 * a longer one the least, median and largest value are drawn. */
#include "report_charts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "svg.h"
#include "tools.h"

enum { WIDTH = 720, HEIGHT = 270, LEFT = 62, RIGHT = 12, TOP = 18, BOTTOM = 40, COLUMNS = 240 };

static const double LEAST_SECONDS = 1e-8, LEAST_RESIDUAL = 1e-17;

/* ---- frames ---------------------------------------------------------------------------------- */

typedef struct frame {
  FILE *page;
  svg_scale x, y;
} frame;

typedef const char *tick_text(double value, char text[NUMBER_TEXT]);

static const char *tick_plain(double value, char text[NUMBER_TEXT]) {
  if (value >= 1.0) return group_digits((uint64_t)(value + 0.5), text);
  snprintf(text, NUMBER_TEXT, "%g", value);
  return text;
}

static const char *tick_power(double value, char text[NUMBER_TEXT]) {
  snprintf(text, NUMBER_TEXT, "1e%d", (int)lround(log10(value)));
  return text;
}

static const char *tick_time(double value, char text[NUMBER_TEXT]) {
  static const char *const units[] = {"s", "ms", "us", "ns"};
  int unit = 0;
  while (unit < 3 && value < 0.999) value *= 1e3, unit++;
  snprintf(text, NUMBER_TEXT, "%.3g %s", value, units[unit]);
  return text;
}

static svg_scale scale_x(double from, double to, bool logarithmic) {
  return (svg_scale){logarithmic, logarithmic ? log10(from) : from, logarithmic ? log10(to) : to,
                     LEFT, WIDTH - RIGHT};
}

/* A logarithmic range in whole decades. */
static svg_scale scale_y(double least, double most) {
  double from = floor(log10(least) + 1e-9), to = ceil(log10(most) - 1e-9);
  return (svg_scale){true, from, fmax(to, from + 1), HEIGHT - BOTTOM, TOP};
}

static void text_at(FILE *page, double x, double y, const char *anchor, const char *text) {
  fprintf(page, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  svg_text(page, text);
  fputs("</text>\n", page);
}

static void begin(const frame *f, const char *id, const char *says) {
  fprintf(f->page,
          "<svg id=\"%s\" class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n",
          id, WIDTH, HEIGHT, says);
}

static void axes(const frame *f, const char *x_name, tick_text *x_text, tick_text *y_text) {
  double ticks[SVG_MOST_TICKS];
  char text[NUMBER_TEXT];
  int count = svg_ticks(&f->y, ticks);
  for (int i = 0; i < count; i++) {
    double at = svg_place(&f->y, ticks[i]);
    fprintf(f->page, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, at, WIDTH - RIGHT);
    text_at(f->page, LEFT - 7, at + 4, "end", y_text(ticks[i], text));
  }
  count = x_text ? svg_ticks(&f->x, ticks) : 0;
  for (int i = 0; i < count; i++)
    text_at(f->page, svg_place(&f->x, ticks[i]), HEIGHT - BOTTOM + 16, "middle",
            x_text(ticks[i], text));
  fprintf(f->page, "<path class=\"axis\" d=\"M%d %dH%d\"/>\n", LEFT, HEIGHT - BOTTOM,
          WIDTH - RIGHT);
  text_at(f->page, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6, "middle", x_name);
}

static void point(const frame *f, double x, double y, double radius, const char *title) {
  fprintf(f->page, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", svg_place(&f->x, x),
          svg_place(&f->y, y), radius);
  if (!title) {
    fputs("/>\n", f->page);
    return;
  }
  fputs("><title>", f->page);
  svg_text(f->page, title);
  fputs("</title></circle>\n", f->page);
}

/* ---- over the run ---------------------------------------------------------------------------- */

typedef double call_value(const witness_entry *e);

static double upstream_seconds(const witness_entry *e) {
  return fmax(call_seconds(e, UPSTREAM), LEAST_SECONDS);
}
static double lcplug_seconds(const witness_entry *e) {
  return fmax(call_seconds(e, LCPLUG), LEAST_SECONDS);
}
static call_value *const seconds_of[SIDES] = {upstream_seconds, lcplug_seconds};

static double difference_of(const witness_entry *e) {
  double difference = (double)e->difference;
  return difference > LEAST_RESIDUAL ? fmin(difference, 1e6)
         : difference >= 0.0         ? LEAST_RESIDUAL
                                     : 1e6;
}

/* A part of the run, and the values in it. */
typedef struct column {
  size_t first, end; /* calls */
  double least, median, most;
  size_t most_at; /* the call with the largest value */
} column;

static int columns_of(const audit *a) { return a->count < COLUMNS ? (int)a->count : COLUMNS; }

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static column make_column(const audit *a, int index, call_value *value) {
  size_t count = (size_t)columns_of(a);
  column c = {.first = a->count * (size_t)index / count,
              .end = a->count * ((size_t)index + 1) / count};
  double *values = tool_resize(NULL, c.end - c.first, sizeof *values);
  c.most_at = c.first;
  for (size_t i = c.first; i < c.end; i++) {
    values[i - c.first] = value(&a->calls[i].entry);
    if (values[i - c.first] > value(&a->calls[c.most_at].entry)) c.most_at = i;
  }
  qsort(values, c.end - c.first, sizeof *values, compare_doubles);
  c.least = values[0];
  c.median = values[(c.end - c.first) / 2];
  c.most = values[c.end - c.first - 1];
  free(values);
  return c;
}

/* The middle of the column's calls, by number. */
static double column_at(const audit *a, const column *c) {
  return 0.5 * ((double)a->calls[c->first].number + (double)a->calls[c->end - 1].number);
}

static svg_scale scale_run(const audit *a) {
  double last = (double)a->calls[a->count - 1].number;
  return scale_x(1.0, fmax(last, 2.0), false);
}

static svg_scale scale_values(const audit *a, call_value *const *values, int count) {
  double least = INFINITY, most = 0.0;
  for (int k = 0; k < count; k++)
    for (size_t i = 0; i < a->count; i++) {
      double value = values[k](&a->calls[i].entry);
      least = fmin(least, value);
      most = fmax(most, value);
    }
  return scale_y(least, most);
}

static void write_times(const frame *f, const audit *a, side which) {
  int count = columns_of(a);
  fprintf(f->page, "<g class=\"%s\" data-marks=\"%d\">\n", side_names[which], count);
  for (int i = 0; i < count; i++) {
    column c = make_column(a, i, seconds_of[which]);
    double x = svg_place(&f->x, column_at(a, &c));
    char title[160], least[NUMBER_TEXT], most[NUMBER_TEXT];
    time_text(c.most, most);
    if (c.end - c.first == 1)
      snprintf(title, sizeof title, "call %lu, %u rows: %s %s",
               (unsigned long)a->calls[c.first].number, a->calls[c.first].entry.n,
               side_names[which], most);
    else
      snprintf(title, sizeof title, "calls %lu to %lu: %s %s to %s",
               (unsigned long)a->calls[c.first].number, (unsigned long)a->calls[c.end - 1].number,
               side_names[which], time_text(c.least, least), most);
    if (c.end - c.first > 1)
      fprintf(f->page, "<path class=\"range\" d=\"M%.1f %.1fV%.1f\"/>\n", x,
              svg_place(&f->y, c.least), svg_place(&f->y, c.most));
    point(f, column_at(a, &c), c.median, 1.8, title);
  }
  fputs("</g>\n", f->page);
}

/* A mark above the chart for each part of the run in which this side failed. */
static void write_failures(const frame *f, const audit *a, side which) {
  int count = columns_of(a);
  fprintf(f->page, "<g class=\"failed\" data-side=\"%s\">\n", side_names[which]);
  for (int i = 0; i < count && a->side[which].failed; i++) {
    column c = make_column(a, i, seconds_of[which]);
    int failed = 0;
    for (size_t k = c.first; k < c.end; k++) failed += call_failed(&a->calls[k].entry, which);
    if (!failed) continue;
    double x = svg_place(&f->x, column_at(a, &c)), y = which == UPSTREAM ? 3 : 11;
    fprintf(
        f->page,
        "<path d=\"M%.1f %.1fv6\"><title>%s failed on %d of the calls %lu to %lu</title></path>\n",
        x, y, side_names[which], failed, (unsigned long)a->calls[c.first].number,
        (unsigned long)a->calls[c.end - 1].number);
  }
  fputs("</g>\n", f->page);
}

void chart_times(FILE *page, const audit *a) {
  frame f = {page, scale_run(a), scale_values(a, seconds_of, SIDES)};
  begin(&f, "times", "time per call over the run");
  axes(&f, "call", tick_plain, tick_time);
  for (int which = 0; which < SIDES; which++) write_times(&f, a, (side)which);
  for (int which = 0; which < SIDES; which++) write_failures(&f, a, (side)which);
  fputs("</svg>\n", page);
}

void chart_differences(FILE *page, const audit *a) {
  call_value *const values[] = {difference_of};
  frame f = {page, scale_run(a), scale_values(a, values, 1)};
  int count = columns_of(a);
  begin(&f, "differences", "largest difference of the answers over the run");
  axes(&f, "call", tick_plain, tick_power);
  fprintf(page, "<g class=\"difference\" data-marks=\"%d\">\n", count);
  for (int i = 0; i < count; i++) {
    column c = make_column(a, i, difference_of);
    const audited_call *worst = &a->calls[c.most_at];
    bool failed = call_failed(&worst->entry, UPSTREAM) || call_failed(&worst->entry, LCPLUG);
    char title[120], text[NUMBER_TEXT];
    snprintf(title, sizeof title, "call %lu, %u rows: %s%s", (unsigned long)worst->number,
             worst->entry.n, residual_text((double)worst->entry.difference, text),
             failed ? ", not solved by both" : "");
    if (failed) fputs("<g class=\"failed\">", page);
    point(&f, (double)worst->number, c.most, 2.2, title);
    if (failed) fputs("</g>", page);
  }
  fputs("</g>\n</svg>\n", page);
}

/* ---- over rows ------------------------------------------------------------------------------- */

/* One mark per cell of three pixels: thousands of points in one place tell no more than one. */
static void write_cells(const frame *f, const audit *a, side which) {
  enum { CELL = 3, ACROSS = WIDTH / CELL + 1, DOWN = HEIGHT / CELL + 1 };
  bool taken[DOWN][ACROSS] = {{false}};
  int marks = 0;
  fprintf(f->page, "<g class=\"%s cells\">\n", side_names[which]);
  for (size_t i = 0; i < a->count; i++) {
    const witness_entry *e = &a->calls[i].entry;
    double seconds = seconds_of[which](e);
    bool *cell = &taken[(int)svg_place(&f->y, seconds) / CELL][(int)svg_place(&f->x, e->n) / CELL];
    if (*cell) continue;
    *cell = true;
    marks++;
    point(f, e->n, seconds, 2.2, NULL);
  }
  fprintf(f->page, "<metadata>%d</metadata></g>\n", marks);
}

void chart_rows(FILE *page, const audit *a) {
  double most = fmax((double)a->most_rows, 1.2 * (double)a->fewest_rows);
  frame f = {page, scale_x((double)a->fewest_rows, most, true), scale_values(a, seconds_of, SIDES)};
  begin(&f, "rows", "time per call over rows");
  axes(&f, "rows", NULL, tick_time);
  static const double round_rows[] = {1,   2,    5,    10,   20,    50,    100,  200,
                                      500, 1000, 2000, 5000, 10000, 20000, 50000};
  for (size_t i = 0; i < sizeof round_rows / sizeof *round_rows; i++) {
    char text[NUMBER_TEXT];
    if (round_rows[i] < (double)a->fewest_rows || round_rows[i] > most) continue;
    text_at(page, svg_place(&f.x, round_rows[i]), HEIGHT - BOTTOM + 16, "middle",
            tick_plain(round_rows[i], text));
  }
  for (int which = 0; which < SIDES; which++) write_cells(&f, a, (side)which);
  fputs("</svg>\n", page);
}

/* ---- histograms ------------------------------------------------------------------------------ */

enum { MOST_BINS = 24 };

/* Bars in groups of `series`; counts are drawn by their logarithm, so that one failure in a million
 * calls is seen. */
typedef struct histogram {
  int bins, series;
  uint64_t count[MOST_BINS][SIDES];
  char label[MOST_BINS][NUMBER_TEXT];
  const char *class[SIDES];
} histogram;

static void write_bars(const frame *f, const histogram *h) {
  double group = (double)(WIDTH - RIGHT - LEFT) / h->bins, bar = 0.8 * group / h->series;
  for (int k = 0; k < h->series; k++) {
    fprintf(f->page, "<g class=\"%s bars\">\n", h->class[k]);
    for (int i = 0; i < h->bins; i++) {
      char text[NUMBER_TEXT];
      if (!h->count[i][k]) continue;
      double top = svg_place(&f->y, (double)h->count[i][k]);
      fprintf(
          f->page,
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"1.5\">"
              "<title>%s: %s</title></rect>\n",
          LEFT + group * (i + 0.1) + bar * k, top, bar - 0.8, HEIGHT - BOTTOM - top, h->label[i],
          group_digits(h->count[i][k], text));
    }
    fputs("</g>\n", f->page);
  }
  for (int i = 0; i < h->bins; i++)
    if (h->bins <= 12 || i % 2 == 0)
      text_at(f->page, LEFT + group * (i + 0.5), HEIGHT - BOTTOM + 16, "middle", h->label[i]);
}

/* Bins from `zone` on are marked as bad; h->bins: none. */
static void write_histogram(FILE *page, const char *id, const char *says, const char *x_name,
                            const histogram *h, int zone) {
  uint64_t most = 1;
  for (int i = 0; i < h->bins; i++)
    for (int k = 0; k < h->series; k++)
      if (h->count[i][k] > most) most = h->count[i][k];
  frame f = {page, scale_x(0, 1, false), scale_y(1.0, (double)most)};
  f.y.from = -0.15; /* a bar of one call is seen, too */
  begin(&f, id, says);
  double edge = LEFT + (double)(WIDTH - RIGHT - LEFT) * zone / h->bins;
  fprintf(page, "<rect class=\"zone\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n", edge,
          TOP, WIDTH - RIGHT - edge, HEIGHT - BOTTOM - TOP);
  axes(&f, x_name, NULL, tick_plain);
  write_bars(&f, h);
  fputs("</svg>\n", page);
}

void chart_residuals(FILE *page, const audit *a) {
  enum { LOWEST = -17, HIGHEST = 2 };
  histogram h = {.bins = HIGHEST - LOWEST + 1,
                 .series = SIDES,
                 .class = {side_names[UPSTREAM], side_names[LCPLUG]}};
  for (int i = 0; i < h.bins; i++) snprintf(h.label[i], NUMBER_TEXT, "1e%d", LOWEST + i);
  for (size_t i = 0; i < a->count; i++)
    for (int which = 0; which < SIDES; which++) {
      double residual = call_residual(&a->calls[i].entry, (side)which);
      double power = residual > 0.0 ? floor(log10(residual)) : residual == 0.0 ? LOWEST : HIGHEST;
      h.count[(int)fmin(fmax(power, LOWEST), HIGHEST) - LOWEST][which]++;
    }
  write_histogram(page, "residuals", "calls by residual",
                  "residual of the answer, by powers of ten", &h,
                  (int)lround(log10(WITNESS_FAILED)) - LOWEST);
}

void chart_sizes(FILE *page, const audit *a) {
  histogram h = {.series = 1, .class = {"calls"}};
  double low = log2((double)a->fewest_rows), high = log2((double)a->most_rows + 1.0);
  h.bins = (int)fmin(fmax(ceil(2.0 * (high - low)), 1.0), MOST_BINS);
  double step = (high - low) / h.bins;
  for (int i = 0; i < h.bins; i++)
    snprintf(h.label[i], NUMBER_TEXT, "%.0f", ceil(exp2(low + step * i) - 1e-9));
  for (size_t i = 0; i < a->count; i++) {
    int bin = (int)((log2((double)a->calls[i].entry.n) - low) / step + 1e-9);
    h.count[bin < h.bins ? bin : h.bins - 1][0]++;
  }
  write_histogram(page, "sizes", "calls by rows", "rows, from the number below each bar on", &h,
                  h.bins);
}
