/* gnuplot.c - see gnuplot.h. */
#define _GNU_SOURCE
#include "gnuplot.h"

#include <stdlib.h>

FILE *gnuplot_begin(const char *path, int width, int height) {
  if (system("command -v gnuplot >/dev/null 2>&1")) return NULL;
  FILE *gnuplot = popen("gnuplot", "w");
  if (!gnuplot) return NULL;
  fprintf(gnuplot, "set terminal svg size %d,%d font 'sans,13' background rgb 'white'\n"
                   "set output '%s'\n"
                   "set grid lc rgb '#e4e4e4' lt 1\n"
                   "set border 3 lc rgb '#707070'\nset tics nomirror\n",
          width, height, path);
  return gnuplot;
}

int gnuplot_end(FILE *gnuplot) { return pclose(gnuplot) == 0; }
