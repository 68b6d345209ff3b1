/* svg.c - see svg.h.  A chart is a frame with grid lines at round values, the curves, and a legend
 * below the title.  Points closer than half a pixel to the last one are left out: a curve of a
 * million calls must not make a page of a hundred megabytes. */
#include "svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 640, HEIGHT = 420, LEFT = 72, RIGHT = 16, TOP = 58, BOTTOM = 50 };

static const char *const palette[] = {"#1f7a8c", "#c8423f", "#e0a030", "#5b5ea6",
                                      "#6a994e", "#9d4edd", "#707070", "#b56576"};
enum { COLOURS = sizeof palette / sizeof *palette };

void svg_text(FILE *file, const char *text) {
  for (; *text; text++) {
    switch (*text) {
      case '&': fputs("&amp;", file); break;
      case '<': fputs("&lt;", file); break;
      case '>': fputs("&gt;", file); break;
      case '"': fputs("&quot;", file); break;
      default:
        /* control characters have no place in XML */
        fputc((unsigned char)*text < 0x20 ? ' ' : *text, file);
    }
  }
}

/* ---- axes ------------------------------------------------------------------------------------ */

static bool is_shown(const svg_axis *axis, double value) {
  return isfinite(value) && (!axis->logarithmic || value > 0);
}

static double measure(const svg_scale *s, double value) {
  return s->logarithmic ? log10(value) : value;
}

double svg_place(const svg_scale *s, double value) {
  double part = (measure(s, value) - s->from) / (s->to - s->from);
  return s->begin + fmin(fmax(part, 0), 1) * (s->end - s->begin);
}

static bool is_point(const svg_chart *c, const svg_curve *curve, int i) {
  return is_shown(&c->x, curve->x[i]) && is_shown(&c->y, curve->y[i]);
}

/* The range of the points, rounded outwards on a logarithmic axis and never empty. */
static svg_scale make_scale(const svg_chart *c, const svg_axis *axis, double begin, double end) {
  svg_scale s = {.logarithmic = axis->logarithmic,
                 .from = INFINITY,
                 .to = -INFINITY,
                 .begin = begin,
                 .end = end};
  for (int k = 0; k < c->count; k++)
    for (int i = 0; i < c->curves[k].count; i++) {
      if (!is_point(c, &c->curves[k], i)) continue;
      double value = measure(&s, axis == &c->x ? c->curves[k].x[i] : c->curves[k].y[i]);
      s.from = fmin(s.from, value);
      s.to = fmax(s.to, value);
    }
  if (axis->least != axis->most) s.from = measure(&s, axis->least), s.to = measure(&s, axis->most);
  if (!(s.from <= s.to)) s.from = 0, s.to = 1;
  if (s.logarithmic && axis->least == axis->most) s.from = floor(s.from), s.to = ceil(s.to);
  if (s.to - s.from < 1e-9 * fmax(fabs(s.from), 1)) s.to = s.from + 1;
  return s;
}

/* The step between grid lines: 1, 2 or 5 times a power of ten, some six of them. */
static double tick_step(const svg_scale *s) {
  double rough = (s->to - s->from) / 6, power = pow(10, floor(log10(rough))), step = power;
  if (rough / power > 5) step = 10 * power;
  else if (rough / power > 2) step = 5 * power;
  else if (rough / power > 1) step = 2 * power;
  return s->logarithmic ? fmax(round(step), 1) : step;
}

int svg_ticks(const svg_scale *s, double ticks[SVG_MOST_TICKS]) {
  double step = tick_step(s);
  int count = 0;
  for (double k = ceil(s->from / step - 1e-9);
       k * step <= s->to + 1e-9 * step && count < SVG_MOST_TICKS; k++)
    ticks[count++] = s->logarithmic ? pow(10, k * step) : k * step + 0.0; /* + 0: no "-0" */
  return count;
}

static void write_label(FILE *file, double x, double y, const char *anchor, const char *text) {
  fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  svg_text(file, text);
  fputs("</text>\n", file);
}

static void write_grid(FILE *file, const svg_scale *x, const svg_scale *y) {
  double ticks[SVG_MOST_TICKS];
  char text[32];
  int count = svg_ticks(x, ticks);
  for (int i = 0; i < count; i++) {
    double at = svg_place(x, ticks[i]);
    fprintf(file, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", at, y->begin, y->end);
    snprintf(text, sizeof text, "%g", ticks[i]);
    write_label(file, at, y->begin + 16, "middle", text);
  }
  count = svg_ticks(y, ticks);
  for (int i = 0; i < count; i++) {
    double at = svg_place(y, ticks[i]);
    fprintf(file, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", x->begin, at, x->end);
    snprintf(text, sizeof text, "%g", ticks[i]);
    write_label(file, x->begin - 6, at + 4, "end", text);
  }
  fprintf(file, "<path class=\"frame\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", x->begin, y->end, y->begin,
          x->end);
}

/* ---- curves ---------------------------------------------------------------------------------- */

static void write_path(FILE *file, const svg_chart *c, const svg_curve *curve, const char *colour,
                       const svg_scale *x, const svg_scale *y) {
  double last_x = 0, last_y = 0;
  bool drawn = false;
  fprintf(file, "<path class=\"curve\" stroke=\"%s\" d=\"", colour);
  for (int i = 0; i < curve->count; i++) {
    if (!is_point(c, curve, i)) continue;
    double px = svg_place(x, curve->x[i]), py = svg_place(y, curve->y[i]);
    if (drawn && hypot(px - last_x, py - last_y) < 0.5) continue;
    if (!drawn) fprintf(file, "M%.1f %.1f", px, py);
    else if (curve->style == SVG_STEPS) fprintf(file, "H%.1fV%.1f", px, py);
    else fprintf(file, "L%.1f %.1f", px, py);
    last_x = px, last_y = py, drawn = true;
  }
  fputs("\"/>\n", file);
}

static void write_points(FILE *file, const svg_chart *c, const svg_curve *curve, const char *colour,
                         const svg_scale *x, const svg_scale *y) {
  double last_x = -1, last_y = -1, radius = curve->count == 1 ? 5 : 2;
  fprintf(file, "<g fill=\"%s\">\n", colour);
  for (int i = 0; i < curve->count; i++) {
    if (!is_point(c, curve, i)) continue;
    double px = svg_place(x, curve->x[i]), py = svg_place(y, curve->y[i]);
    if (hypot(px - last_x, py - last_y) < 0.5) continue;
    fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.0f\"/>\n", px, py, radius);
    last_x = px, last_y = py;
  }
  fputs("</g>\n", file);
}

/* Names in their colours, in a row that is broken where it is full. */
static void write_legend(FILE *file, const svg_chart *c, double left) {
  double at = left, line = 36;
  for (int i = 0; i < c->count; i++) {
    const char *colour = c->curves[i].colour ? c->curves[i].colour : palette[i % COLOURS];
    double width = 28 + 7.0 * (double)strlen(c->curves[i].name);
    if (at > left && at + width > left + WIDTH - LEFT - RIGHT) at = left, line += 15;
    fprintf(file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"4\" fill=\"%s\"/>\n", at,
            line - 6, colour);
    write_label(file, at + 16, line, "start", c->curves[i].name);
    at += width;
  }
}

static void write_chart(FILE *file, const svg_chart *c, double left) {
  svg_scale x = make_scale(c, &c->x, left + LEFT, left + WIDTH - RIGHT);
  svg_scale y = make_scale(c, &c->y, HEIGHT - BOTTOM, TOP);
  fprintf(file, "<text class=\"title\" x=\"%.1f\" y=\"20\">", left + LEFT);
  svg_text(file, c->title);
  fputs("</text>\n", file);
  write_grid(file, &x, &y);
  write_label(file, (x.begin + x.end) / 2, HEIGHT - 12, "middle", c->x.name);
  fprintf(file, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">", left + 14,
          (y.begin + y.end) / 2);
  write_label(file, 0, 0, "middle", c->y.name);
  fputs("</g>\n", file);
  for (int i = 0; i < c->count; i++) {
    const svg_curve *curve = &c->curves[i];
    const char *colour = curve->colour ? curve->colour : palette[i % COLOURS];
    if (curve->style == SVG_POINTS) write_points(file, c, curve, colour, &x, &y);
    else write_path(file, c, curve, colour, &x, &y);
  }
  write_legend(file, c, left + LEFT);
}

void svg_write(FILE *file, const svg_chart *charts, int count) {
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
          "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#303030\">\n"
          "<style>.grid{stroke:#e4e4e4}.frame{stroke:#707070;fill:none}.curve{fill:none;stroke-"
          "width:1.8;stroke-linejoin:round}.title{font-size:14px;font-weight:bold}</style>\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
          count * WIDTH, HEIGHT, count * WIDTH, HEIGHT);
  for (int i = 0; i < count; i++) write_chart(file, &charts[i], i * WIDTH);
  fputs("</svg>\n", file);
}
