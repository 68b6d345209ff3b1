/* small_contest_body.h - the last wrong rows of a guess, settled among themselves; a part of
 * small.c.
 *
 * The dense sister of contested.c.  When a guess has few rows wrong the next one may have others
 * wrong, and each costs a factorization.  With the factor of this one the wrong rows are a small
 * problem of their own, which principal pivoting solves; rows that its answer pushes out of
 * their places join them.
 *
 * F being the rows inside and N those at a bound, with A_FF = L L' and
 *
 *     y_r = L^-1 e_r  for a row of F,     y_r = L^-1 A_Fr  for one of N,
 *
 * the table of pivoting.c has the elements  -y_r y_s,  y_r y_s  and  A_rs - y_r y_s : half of a
 * solve for each row.  It always starts from the first guess again. */

enum { MOST_SETTLED = 24, MOST_ROUNDS = 8 };
/* In units of w: what does not count as wrong. */
static const double WRONG = 1e-12;

typedef struct contest {
  int count, row[MOST_SETTLED]; /* the contested rows */
  double *y[MOST_SETTLED];
  double *elements; /* of their table, lower triangle; columns of MOST_SETTLED numbers */
  pivoting table;
  double *lo, *hi; /* its bounds */
  /* the guess */
  double *x, *w;
  unsigned char *place;
  unsigned char *is_contested; /* row -> 1 or 0 */
} contest;

INLINE int begin_contest(small *s, contest *c, double unit) {
  enum { LD = MOST_SETTLED };
  size_t ld = (size_t)s->ld, ld_y = (size_t)(lcplug_panel_pad(s->kept_rows) + PANEL_PAD);
  double *memory =
      TAKE(s->workspace, double, LD * ld_y + 2 * ld + 2 * LD * LD + 5 * LD + PIVOTING_SCRATCH(LD));
  unsigned char *flags = TAKE(s->workspace, unsigned char, 2 * ld + LD);
  if (!memory || !flags) return 0;
  c->count = 0;
  for (int k = 0; k < LD; k++, memory += ld_y) c->y[k] = memory;
  c->x = memory, c->w = c->x + ld;
  c->elements = c->w + ld;
  double *table = c->elements + LD * LD, *lines = table + LD * LD;
  c->lo = lines + 2 * LD, c->hi = lines + 3 * LD;
  c->place = flags, c->is_contested = flags + ld;
  c->table = (pivoting){.kernels = s->kernels,
                        .table = table,
                        .x = lines,
                        .w = lines + LD,
                        .lo = c->lo,
                        .hi = c->hi,
                        .diagonal = lines + 4 * LD,
                        .scratch = lines + 5 * LD,
                        .place = flags + 2 * ld,
                        .unit = unit};
  memcpy(c->x, s->x, ld * sizeof *c->x);
  memcpy(c->w, s->w, ld * sizeof *c->w);
  memcpy(c->place, s->place, (size_t)s->n);
  memset(c->is_contested, 0, (size_t)s->n);
  return 1;
}

/* Of vectors whose length is a multiple of four. */
INLINE double product(const double *a, const double *b, int length) {
  four even = four_of(0.0), odd = even;
  int i = 0;
  for (; i + 8 <= length; i += 8) {
    even += four_at(a + i) * four_at(b + i);
    odd += four_at(a + i + 4) * four_at(b + i + 4);
  }
  if (i < length) even += four_at(a + i) * four_at(b + i);
  return four_sum(even + odd);
}

/* y of a row; the rest of the panel's length is scratch. */
INLINE void set_y(const small *s, const contest *c, int row, double *y) {
  const double *column = s->A + (size_t)row * (size_t)s->ld;
  int k = s->kept_rows, padded = lcplug_panel_pad(k), inside = c->place[row] == INSIDE;
  for (int i = 0; i < k; i++) y[i] = !inside ? column[s->kept[i]] : s->kept[i] == row ? 1.0 : 0.0;
  for (int i = k; i < padded; i++) y[i] = 0.0;
  s->kernels->forward(s->panel, padded + PANEL_PAD, k, s->inverse, y);
}

INLINE void add_contested(const small *s, contest *c, int row) {
  const double *column = s->A + (size_t)row * (size_t)s->ld;
  int own = c->count++, length = lcplug_panel_pad(s->kept_rows);
  c->row[own] = row;
  c->is_contested[row] = 1;
  set_y(s, c, row, c->y[own]);
  for (int k = 0; k <= own; k++) {
    int inside = (c->place[row] == INSIDE) + (c->place[c->row[k]] == INSIDE);
    double yy = product(c->y[own], c->y[k], length);
    c->elements[k * MOST_SETTLED + own] = inside == 2   ? -yy
                                          : inside == 1 ? yy
                                                        : column[c->row[k]] - yy;
  }
}

INLINE int is_clearly_wrong(const small *s, int i, double unit) {
  double little = WRONG * unit, d = s->scale[i];
  if (s->place[i] == AT_LO) return s->w[i] < -little;
  if (s->place[i] == AT_HI) return s->w[i] > little;
  return d * (s->lo[i] - s->x[i]) > little || d * (s->x[i] - s->hi[i]) > little;
}

/* Rows that are not where they should be join the contested ones.  Returns how many did, -1: too
 * many. */
INLINE int add_misplaced(const small *s, contest *c) {
  int joined = 0;
  for (int k = 0; k < s->rows; k++) {
    int i = s->row[k];
    if (c->is_contested[i] || !is_clearly_wrong(s, i, c->table.unit)) continue;
    if (c->count == MOST_SETTLED) return -1;
    add_contested(s, c, i);
    joined++;
  }
  return joined;
}

INLINE int solve_table(const small *s, contest *c) {
  pivoting *t = &c->table;
  t->rows = c->count;
  t->ld = lcplug_panel_pad(c->count);
  for (int k = 0; k < c->count; k++)
    memcpy(t->table + k * t->ld, c->elements + k * MOST_SETTLED,
           (size_t)c->count * sizeof *t->table);
  for (int k = 0; k < c->count; k++) {
    int i = c->row[k];
    t->x[k] = c->x[i], t->w[k] = c->place[i] == INSIDE ? 0.0 : c->w[i];
    c->lo[k] = s->lo[i], c->hi[k] = s->hi[i];
    t->diagonal[k] = s->scale[i];
    t->place[k] = c->place[i];
  }
  return lcplug_pivoting_mend(t);
}

/* x and w at the table's answer: A_FF x_F changes by w of the rows that have left F and by what
 * the rows of N push. */
INLINE void take_answer(small *s, const contest *c) {
  const pivoting *t = &c->table;
  int count = s->kept_rows, length = lcplug_panel_pad(count), ld = length + PANEL_PAD;
  double *change = s->vector;
  for (int i = 0; i < ld; i += 4) four_put(change + i, four_of(0.0));
  for (int k = 0; k < c->count; k++) {
    int row = c->row[k];
    four part = four_of(c->place[row] == INSIDE ? t->w[k] : c->x[row] - t->x[k]);
    for (int i = 0; i < length; i += 4)
      four_put(change + i, four_at(change + i) + part * four_at(c->y[k] + i));
  }
  s->kernels->backward(s->panel, ld, count, s->inverse, change);
  for (int i = 0; i < count; i++) s->x[s->kept[i]] = c->x[s->kept[i]] + change[i];
  for (int k = 0; k < c->count; k++) {
    s->x[c->row[k]] = t->x[k];
    s->place[c->row[k]] = t->place[k];
  }
  set_w(s);
}

INLINE void put_back(small *s, const contest *c) {
  memcpy(s->x, c->x, (size_t)s->ld * sizeof *c->x);
  memcpy(s->w, c->w, (size_t)s->ld * sizeof *c->w);
  memcpy(s->place, c->place, (size_t)s->n);
}

INLINE int settle_rounds(small *s, contest *c) {
  if (add_misplaced(s, c) < 0) return 0;
  for (int round = 0; round < MOST_ROUNDS; round++) {
    if (!solve_table(s, c)) return 0;
    take_answer(s, c);
    int joined = add_misplaced(s, c);
    if (joined <= 0) return joined == 0;
  }
  return 0;
}

/* On entry the factor, x and w belong to the places.  1: every row is where its place says, as
 * far as this x and w can tell.  0: x, w and the places are what they were. */
INLINE int settle(small *s, double unit) {
  workspace_mark mark = lcplug_mark(s->workspace);
  contest c;
  int begun = begin_contest(s, &c, unit), settled = begun && settle_rounds(s, &c);
  if (begun && !settled) put_back(s, &c);
  lcplug_release(s->workspace, mark);
  return settled;
}
