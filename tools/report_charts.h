/* report_charts.h - the charts of an audit's page: SVG elements whose colours are the page's, so
 * that they follow its light or dark scheme.  However long the run was, a chart has some hundred
 * marks, and the least and the largest of what stands behind a mark are kept. */
#ifndef LCPLUG_REPORT_CHARTS_H
#define LCPLUG_REPORT_CHARTS_H

#include <stdio.h>

#include "audit.h"

void chart_times(FILE *page, const audit *a);       /* seconds per call over the run */
void chart_rows(FILE *page, const audit *a);        /* seconds over rows */
void chart_sizes(FILE *page, const audit *a);       /* how many calls of which size */
void chart_residuals(FILE *page, const audit *a);   /* how many answers of which residual */
void chart_differences(FILE *page, const audit *a); /* between both answers, over the run */

#endif
