/* gnuplot.h - a picture drawn by gnuplot, if there is one. */
#ifndef LCPLUG_BENCH_GNUPLOT_H
#define LCPLUG_BENCH_GNUPLOT_H

#include <stdio.h>

/* Starts gnuplot with an SVG of this size and the look of our plots; NULL if there is none.  Write the
 * script to what is returned. */
FILE *gnuplot_begin(const char *path, int width, int height);

/* 1 if the picture was drawn. */
int gnuplot_end(FILE *gnuplot);

#endif
