/* capture.c - see capture.h. */
#include "capture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static capture_taker *taker;
static void *taker_data;
static int messages;

void capture_to(capture_taker *take, void *data) {
  taker = take;
  taker_data = data;
}

static void count_message(int number, const char *format, va_list arguments) {
  (void)number, (void)format, (void)arguments;
  messages++;
}

static diff_problem *copy_problem(unsigned n, const double *A, const double *bx, unsigned nub,
                                  const double *lh, const int *findex) {
  diff_problem *p = diff_problem_create((int)n, findex != NULL);
  p->nub = (int)(nub < n ? nub : n);
  for (unsigned i = 0; i < n; i++) {
    memcpy(p->A + i * p->stride, A + i * p->stride, (i + 1) * sizeof *A);
    p->b[i] = bx[2 * i];
    p->lo[i] = lh[2 * i];
    p->hi[i] = lh[2 * i + 1];
    if (findex) p->findex[i] = findex[i];
  }
  return p;
}

/* The symbol that ODE calls.  Hidden symbols of a program do not reach its libraries. */
void _Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi(void *arena, unsigned n, double *A,
                                                            double *bx, double *w, unsigned nub,
                                                            double *lh, int *findex)
    __attribute__((visibility("default")));
void _Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi(void *arena, unsigned n, double *A,
                                                            double *bx, double *w, unsigned nub,
                                                            double *lh, int *findex) {
  typedef void function(void *, unsigned, double *, double *, double *, unsigned, double *, int *);
  static function *upstream;
  if (!upstream) upstream = (function *)diff_libode(DIFF_SYMBOL);
  diff_problem *p = taker ? copy_problem(n, A, bx, nub, lh, findex) : NULL;
  messages = 0;
  upstream(arena, n, A, bx, w, nub, lh, findex);
  if (p) taker(taker_data, p, messages);
}

/* ---- from scenes ----------------------------------------------------------------------------- */

typedef struct wanted {
  int most, failing;
  diff_problem *best;
} wanted;

static void keep_best(void *data, diff_problem *p, int errors) {
  wanted *w = data;
  int fits = p->n <= w->most && (!w->failing || errors) && (!w->best || p->n > w->best->n);
  if (fits) {
    diff_problem_free(w->best);
    w->best = p;
  } else {
    diff_problem_free(p);
  }
}

diff_problem *capture_from_scene(const scene_config *config, int step, int window, int most,
                                 int failing) {
  wanted w = {.most = most, .failing = failing};
  scene *s = scene_create(config);
  if (!s) return NULL;
  dSetMessageHandler(count_message);
  for (int k = 0; k <= step + window; k++) {
    capture_to(k >= step ? keep_best : NULL, &w);
    scene_step(s);
  }
  capture_to(NULL, NULL);
  dSetMessageHandler(NULL);
  scene_free(s);
  if (w.best)
    snprintf(w.best->name, sizeof w.best->name, "%s%d mu %g cfm %g step %d to %d", config->kind,
             config->size, config->mu, config->cfm, step, step + window);
  return w.best;
}
