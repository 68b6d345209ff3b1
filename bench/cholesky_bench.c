/* cholesky_bench.c - our sparse factorization against CHOLMOD's, on captured problems.
 *
 *     cholesky_bench [-r repeats] file.lcp ...
 *
 * For each file: A + 1e-10 diag(A) with all rows, and with the rows that have no findex alone (the
 * normals and joints of phase 1).  Prints n, nonzeros of L, thread CPU times in microseconds
 * (medians) of analysis, factorization and solve, CHOLMOD's best of simplicial and supernodal, the
 * ratio of the factorization times and the residual of a solve; then a summary by size.  Exits with
 * 1 if a residual is above 1e-9. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/cholmod.h>
#include <time.h>

#include "cholesky.h"

typedef struct matrix {
  lower_triangle lower;
  int *findex, groups, *group_first;
} matrix;

static void *need(void *p) {
  if (!p) fprintf(stderr, "out of memory\n"), exit(2);
  return p;
}

static void get(void *p, size_t size, size_t count, FILE *f, const char *name) {
  if (fread(p, size, count, f) != count) fprintf(stderr, "%s: too short\n", name), exit(2);
}

/* Contact groups: a normal and the rows that follow it and name it. */
static void find_groups(matrix *m) {
  int n = m->lower.n;
  m->group_first = need(malloc(sizeof(int) * (size_t)(n + 1)));
  m->groups = 0;
  for (int i = 0, normal = -1; i < n; i++) {
    if (m->findex[i] >= 0 && m->findex[i] == normal) continue;
    m->group_first[m->groups++] = normal = i;
  }
  m->group_first[m->groups] = n;
}

static void read_matrix(matrix *m, const char *name) {
  char magic[8], tag[64];
  uint32_t head[4], two[2];
  double seconds;
  FILE *f = fopen(name, "rb");
  if (!f) perror(name), exit(2);
  get(magic, 1, 8, f, name);
  get(head, 4, 4, f, name);
  if (memcmp(magic, "LCPCAP01", 8) || head[0] > 1u << 20)
    fprintf(stderr, "%s: no capture\n", name), exit(2);
  get(&seconds, 8, 1, f, name);
  get(two, 4, 2, f, name);
  get(tag, 1, 64, f, name);
  size_t n = head[0], nnz = head[3];
  uint32_t *begin = need(malloc(4 * (n + 1)));
  m->lower = (lower_triangle){.n = (int)n,
                              .begin = need(malloc(sizeof(size_t) * (n + 1))),
                              .column = need(malloc(4 * nnz + 4)),
                              .value = need(malloc(8 * nnz + 8))};
  m->findex = need(malloc(4 * n + 4));
  get(begin, 4, n + 1, f, name);
  for (size_t i = 0; i <= n; i++) m->lower.begin[i] = begin[i];
  free(begin);
  get(m->lower.column, 4, nnz, f, name);
  get(m->lower.value, 8, nnz, f, name);
  if (fseek(f, (long)(24 * n), SEEK_CUR)) perror(name), exit(2);
  get(m->findex, 4, n, f, name);
  fclose(f);
  find_groups(m);
}

static void free_matrix(matrix *m) {
  free(m->lower.begin), free(m->lower.column), free(m->lower.value);
  free(m->findex), free(m->group_first);
}

/* --- time --- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *t, int count) {
  qsort(t, (size_t)count, sizeof *t, by_value);
  return t[count / 2];
}

enum { MOST_REPEATS = 1001 };
static int repeats = 25;

/* Median microseconds of one statement, run often enough that the
 * clock's own cost does not show. */
#define MEASURE(result, statement)                                                    \
  do {                                                                                \
    double times_[MOST_REPEATS], start_ = now();                                      \
    statement;                                                                        \
    double first_ = now() - start_;                                                   \
    int inner_ = first_ > 100.0 ? 1 : (int)(100.0 / fmax(first_, 0.2)) + 1;           \
    for (int r_ = 0; r_ < repeats; r_++) {                                            \
      start_ = now();                                                                 \
      for (int q_ = 0; q_ < inner_; q_++) statement;                                  \
      times_[r_] = (now() - start_) / inner_;                                         \
    }                                                                                 \
    result = median(times_, repeats);                                                 \
  } while (0)

/* --- the two contestants --- */

typedef struct timing {
  double analyze, factor, solve, residual;
  double nonzeros, flops;
} timing;

static void analyze(cholesky *c, const matrix *m, lcplug_workspace *workspace) {
  lcplug_workspace_reset(workspace);
  if (lcplug_cholesky_analyze(c, &m->lower, m->groups, m->group_first, workspace))
    fprintf(stderr, "out of memory\n"), exit(2);
}

/* The largest |(A + diag) x - 1| over the kept rows, relative to the largest |A_ii x_i|. */
static double residual(const matrix *m, const unsigned char *keep, const double *extra,
                       const double *x) {
  int n = m->lower.n;
  double *r = need(calloc((size_t)n, sizeof *r)), worst = 0.0, size = 1.0;
  for (int i = 0; i < n; i++)
    for (size_t k = m->lower.begin[i]; k < m->lower.begin[i + 1]; k++) {
      int j = m->lower.column[k];
      if (!keep[i] || !keep[j]) continue;
      r[i] += m->lower.value[k] * x[j];
      if (i != j) r[j] += m->lower.value[k] * x[i];
    }
  for (int i = 0; i < n; i++) {
    if (!keep[i]) continue;
    worst = fmax(worst, fabs(r[i] + extra[i] * x[i] - 1.0));
    size = fmax(size, fabs(x[i] * m->lower.value[m->lower.begin[i + 1] - 1]));
  }
  free(r);
  return worst / size;
}

static timing time_ours(const matrix *m, const unsigned char *keep, const double *extra,
                        lcplug_workspace *workspace) {
  timing t = {0};
  cholesky c;
  size_t n = (size_t)m->lower.n;
  double *x = need(calloc(n, sizeof *x)), *y = need(malloc(n * sizeof *y));
  double *added = need(malloc(n * sizeof *added));
  unsigned char *chosen = need(malloc(n));
  analyze(&c, m, workspace);
  MEASURE(t.analyze, analyze(&c, m, workspace));
  for (size_t p = 0; p < n; p++) chosen[p] = keep[c.row_at[p]];
  lcplug_cholesky_select(&c, chosen);
  for (size_t p = 0; p < n; p++)
    if (chosen[p]) added[c.kept_before[p]] = extra[c.row_at[p]];
  MEASURE(t.factor, lcplug_cholesky_factor(&c, added));
  for (int p = 0; p < c.kept; p++) y[p] = 1.0;
  lcplug_cholesky_solve(&c, y);
  for (size_t p = 0; p < n; p++)
    if (chosen[p]) x[c.row_at[p]] = y[c.kept_before[p]];
  t.residual = residual(m, keep, extra, x);
  MEASURE(t.solve, lcplug_cholesky_solve(&c, y));
  t.nonzeros = (double)c.nonzeros, t.flops = c.flops;
  free(x), free(y), free(added), free(chosen);
  return t;
}

/* CHOLMOD wants columns of one triangle: our rows of the lower are columns of the upper. */
static cholmod_sparse *to_cholmod(const matrix *m, const unsigned char *keep, const double *extra,
                                  cholmod_common *common) {
  int n = m->lower.n, kept = 0, *number = need(malloc(sizeof(int) * (size_t)n)), at = 0;
  for (int i = 0; i < n; i++) number[i] = keep[i] ? kept++ : -1;
  size_t size = (size_t)kept;
  cholmod_sparse *s = need(
      cholmod_allocate_sparse(size, size, m->lower.begin[n], 1, 1, 1, CHOLMOD_REAL, common));
  int *begin = s->p, *row = s->i;
  double *value = s->x;
  for (int i = 0; i < n; i++) {
    if (!keep[i]) continue;
    begin[number[i]] = at;
    for (size_t k = m->lower.begin[i]; k < m->lower.begin[i + 1]; k++) {
      int j = m->lower.column[k];
      if (!keep[j]) continue;
      row[at] = number[j];
      value[at++] = m->lower.value[k] + (i == j ? extra[i] : 0.0);
    }
  }
  begin[kept] = at;
  free(number);
  return s;
}

static timing time_cholmod(const matrix *m, const unsigned char *keep, const double *extra,
                           int mode) {
  timing t = {0};
  cholmod_common common;
  cholmod_start(&common);
  common.supernodal = mode;
  common.nmethods = 1;
  common.method[0].ordering = CHOLMOD_AMD;
  common.postorder = 1;
  cholmod_sparse *a = to_cholmod(m, keep, extra, &common);
  cholmod_factor *l = need(cholmod_analyze(a, &common));
  cholmod_dense *b = need(cholmod_ones(a->nrow, 1, CHOLMOD_REAL, &common));
  cholmod_dense *x = NULL, *y = NULL, *e = NULL;
  MEASURE(t.analyze, (cholmod_free_factor(&l, &common), l = cholmod_analyze(a, &common)));
  MEASURE(t.factor, cholmod_factorize(a, l, &common));
  MEASURE(t.solve, cholmod_solve2(CHOLMOD_A, l, b, NULL, &x, NULL, &y, &e, &common));
  t.nonzeros = common.lnz, t.flops = common.fl;
  cholmod_free_dense(&x, &common), cholmod_free_dense(&y, &common), cholmod_free_dense(&e, &common);
  cholmod_free_dense(&b, &common);
  cholmod_free_factor(&l, &common);
  cholmod_free_sparse(&a, &common);
  cholmod_finish(&common);
  return t;
}

static timing time_best_cholmod(const matrix *m, const unsigned char *keep, const double *extra) {
  timing simplicial = time_cholmod(m, keep, extra, CHOLMOD_SIMPLICIAL);
  timing supernodal = time_cholmod(m, keep, extra, CHOLMOD_SUPERNODAL);
  return simplicial.factor < supernodal.factor ? simplicial : supernodal;
}

/* --- the report --- */

typedef struct summary {
  int upto, files;
  double log_ratio[2], worst[2], ours[2], theirs[2], analyze[2];
} summary;

static summary classes[] = {{.upto = 12},  {.upto = 60},   {.upto = 150},  {.upto = 420},
                            {.upto = 850}, {.upto = 1700}, {.upto = 3000}, {.upto = 1 << 30}};

static void add_to_class(int n, int kind, const timing *ours, const timing *theirs) {
  summary *s = classes;
  while (n > s->upto) s++;
  double ratio = theirs->factor / ours->factor;
  if (!kind) s->files++;
  if (!s->worst[kind] || ratio < s->worst[kind]) s->worst[kind] = ratio;
  s->log_ratio[kind] += log(ratio);
  s->ours[kind] += ours->factor;
  s->theirs[kind] += theirs->factor;
  s->analyze[kind] += ours->analyze;
}

static double run(const char *name, lcplug_workspace *workspace) {
  static const char *const kinds[] = {"all", "normals"};
  matrix m;
  double worst = 0.0;
  read_matrix(&m, name);
  size_t n = (size_t)m.lower.n;
  unsigned char *keep = need(malloc(n));
  double *extra = need(malloc(n * sizeof *extra));
  for (size_t i = 0; i < n; i++) extra[i] = 1e-10 * m.lower.value[m.lower.begin[i + 1] - 1];
  for (int kind = 0; kind < 2; kind++) {
    for (size_t i = 0; i < n; i++) keep[i] = !kind || m.findex[i] < 0;
    timing ours = time_ours(&m, keep, extra, workspace),
           theirs = time_best_cholmod(&m, keep, extra);
    const char *slash = strrchr(name, '/');
    printf("%-44.44s %5zu %-7s %8.0f %8.0f %8.2f %8.2f %8.2f %8.2f %8.2f %6.2f %8.1e %5.2f\n",
           slash ? slash + 1 : name, n, kinds[kind], ours.nonzeros, theirs.nonzeros, ours.analyze,
           ours.factor, ours.solve, theirs.factor, theirs.solve, theirs.factor / ours.factor,
           ours.residual, ours.flops / ours.factor * 1e-3);
    fflush(stdout);
    worst = fmax(worst, ours.residual);
    add_to_class((int)n, kind, &ours, &theirs);
  }
  free(keep), free(extra);
  free_matrix(&m);
  return worst;
}

static void print_summary(void) {
  printf("\n| n up to | files | analysis | factor, all | CHOLMOD | ratio (worst) | "
         "factor, normals | CHOLMOD | ratio (worst) |\n|---|---|---|---|---|---|---|---|---|\n");
  for (size_t k = 0; k < sizeof classes / sizeof *classes; k++) {
    const summary *s = &classes[k];
    if (!s->files) continue;
    if (s->upto < 1 << 30) printf("| %d", s->upto);
    else printf("| more");
    printf(" | %d | %.2f |", s->files, s->analyze[0] / s->files);
    for (int kind = 0; kind < 2; kind++)
      printf(" %.2f | %.2f | %.2f (%.2f) |", s->ours[kind] / s->files, s->theirs[kind] / s->files,
             exp(s->log_ratio[kind] / s->files), s->worst[kind]);
    printf("\n");
  }
}

int main(int argc, char **argv) {
  lcplug_workspace *workspace = need(lcplug_workspace_create());
  double worst = 0.0;
  int first = 1;
  if (argc > 2 && !strcmp(argv[1], "-r")) {
    repeats = atoi(argv[2]);
    repeats = repeats < 1 ? 1 : repeats > MOST_REPEATS ? MOST_REPEATS : repeats;
    first = 3;
  }
  printf("%-44s %5s %-7s %8s %8s %8s %8s %8s %8s %8s %6s %8s %5s\n", "file", "n", "rows", "nnz(L)",
         "CHOLMOD", "analyze", "factor", "solve", "C.factor", "C.solve", "ratio", "residual",
         "Gflop");
  for (int k = first; k < argc; k++) worst = fmax(worst, run(argv[k], workspace));
  print_summary();
  lcplug_workspace_free(workspace);
  return worst > 1e-9;
}
