/* kernels_body.h - the kernels, written once; kernels.c includes this once per instruction set.
 *
 * The includer defines
 *     NAME(x)        the name of a function in this set
 *     TARGET         its attribute
 *     VEC, WIDTH     a vector and its number of doubles (divides PANEL_PAD)
 *     TALL           rows of the largest register tile: TALL / WIDTH * 4 accumulators must fit
 *     LOAD STORE SPREAD ZERO MUL ADD   on vectors; LOAD_ and STORE_ANYWHERE need no alignment
 *     SUM            of a vector's elements
 *     FMA(a, b, c)   a b + c;  FNMA(a, b, c)   c - a b;  FNMA1 the same on doubles
 *
 * Everything is built from one register tile, rows x columns of  C - L_i L_j^T.  Tile sizes are
 * arguments of inlined functions, constant at every call, so that the loops over them unroll and
 * the tile lives in registers. */

#define INLINE static inline __attribute__((always_inline)) TARGET
#define UNROLL _Pragma("GCC unroll 8")

/* tile <- C (or 0) - sum over p of l_i[., p] l_j[., p]^T */
INLINE void NAME(tile_load)(VEC tile[TALL / WIDTH][4], const double *c, size_t ldc, int load,
                            const int rows, const int columns) {
  UNROLL for (int q = 0; q < columns; q++) {
    UNROLL for (int v = 0; v < rows / WIDTH; v++) tile[v][q] =
        load ? LOAD(c + (size_t)q * ldc + WIDTH * v) : ZERO;
  }
}

INLINE void NAME(tile_subtract)(VEC tile[TALL / WIDTH][4], const double *l_i, const double *l_j,
                                size_t ld, int depth, const int rows, const int columns) {
  for (int p = 0; p < depth; p++, l_i += ld, l_j += ld) {
    VEC x[TALL / WIDTH];
    UNROLL for (int v = 0; v < rows / WIDTH; v++) x[v] = LOAD(l_i + WIDTH * v);
    UNROLL for (int q = 0; q < columns; q++) {
      VEC y = SPREAD(l_j + q);
      UNROLL for (int v = 0; v < rows / WIDTH; v++) tile[v][q] = FNMA(x[v], y, tile[v][q]);
    }
  }
}

INLINE void NAME(tile_store)(VEC tile[TALL / WIDTH][4], double *c, size_t ldc, const int rows,
                             const int columns) {
  UNROLL for (int q = 0; q < columns; q++) {
    UNROLL for (int v = 0; v < rows / WIDTH; v++)
        STORE(c + (size_t)q * ldc + WIDTH * v, tile[v][q]);
  }
}

/* Calls act(row, rows) on tiles that cover first .. last; 16 rows are two tiles of 8, as a tile of
 * 4 has too few independent sums to keep the multipliers busy. */
#define FOR_TILES(first, last, act)                                                                \
  for (int i_ = (first); i_ < (last);) {                                                           \
    int left_ = (last)-i_;                                                                         \
    if (TALL >= 12 && (left_ >= 20 || left_ == 12)) {                                              \
      act(i_, TALL >= 12 ? 12 : 4);                                                                \
      i_ += 12;                                                                                    \
    } else if (TALL >= 8 && left_ >= 8) {                                                          \
      act(i_, TALL >= 8 ? 8 : 4);                                                                  \
      i_ += 8;                                                                                     \
    } else {                                                                                       \
      act(i_, 4);                                                                                  \
      i_ += 4;                                                                                     \
    }                                                                                              \
  }

/* --- the panel --- */

/* The triangle of up to four pivots.  From pivot to pivot there is one division and one product, as
 * the rest can be done while the division runs; the square roots come last, side by side. */
INLINE int NAME(triangle)(double *d, size_t ld, const double *floor, double *inverse,
                          const int columns) {
  double a[4][4], r[4];
  int bad = 0;
  UNROLL for (int q = 0; q < columns; q++) {
    UNROLL for (int i = q; i < columns; i++) a[i][q] = d[(size_t)i + (size_t)q * ld];
  }
  UNROLL for (int q = 0; q < columns; q++) {
    int good = a[q][q] > floor[q];
    r[q] = good ? 1.0 / a[q][q] : 0.0;
    bad += !good;
    UNROLL for (int i = q + 1; i < columns; i++) {
      UNROLL for (int j = q + 1; j <= i; j++) a[i][j] = FNMA1(a[i][q] * a[j][q], r[q], a[i][j]);
    }
  }
  UNROLL for (int q = 0; q < columns; q++) {
    double s = __builtin_sqrt(r[q]);
    inverse[q] = s;
    UNROLL for (int i = 0; i < columns; i++) d[(size_t)i + (size_t)q * ld] =
        i < q ? 0.0 : a[i][q] * s;
  }
  return bad;
}

/* Rows i of the columns of a block: what the columns before them contribute, then the triangle of
 * `other`, which is the panel itself, or the other factor's where these differ. */
INLINE void NAME(panel_tile)(double *panel, const double *other, size_t ld, int j, int i,
                             const double *inverse, const int rows, const int columns) {
  VEC tile[TALL / WIDTH][4];
  double *c = panel + i + (size_t)j * ld;
  const double *d = other + j + (size_t)j * ld;
  NAME(tile_load)(tile, c, ld, 1, rows, columns);
  NAME(tile_subtract)(tile, panel + i, other + j, ld, j, rows, columns);
  UNROLL for (int q = 0; q < columns; q++) {
    UNROLL for (int e = 0; e < q; e++) {
      VEC y = SPREAD(d + q + (size_t)e * ld);
      UNROLL for (int v = 0; v < rows / WIDTH; v++) tile[v][q] = FNMA(tile[v][e], y, tile[v][q]);
    }
    VEC y = SPREAD(inverse + j + q);
    UNROLL for (int v = 0; v < rows / WIDTH; v++) tile[v][q] = MUL(tile[v][q], y);
  }
  NAME(tile_store)(tile, c, ld, rows, columns);
}

INLINE int NAME(panel_block)(double *panel, int ld, int j, const double *floor, double *inverse,
                             const int columns) {
  VEC tile[TALL / WIDTH][4];
  double *d = panel + j + (size_t)j * (size_t)ld;
  if (j) {
    NAME(tile_load)(tile, d, (size_t)ld, 1, 4, columns);
    NAME(tile_subtract)(tile, panel + j, panel + j, (size_t)ld, j, 4, columns);
    NAME(tile_store)(tile, d, (size_t)ld, 4, columns);
  }
  int bad = NAME(triangle)(d, (size_t)ld, floor + j, inverse + j, columns);
#define ACT(i, rows) NAME(panel_tile)(panel, panel, (size_t)ld, j, (i), inverse, (rows), columns)
  FOR_TILES(j + 4, ld, ACT)
#undef ACT
  return bad;
}

TARGET static int NAME(panel)(double *panel, int ld, int pivots, const double *floor,
                              double *inverse) {
  int bad = 0, j = 0;
  for (; j + 4 <= pivots; j += 4) bad += NAME(panel_block)(panel, ld, j, floor, inverse, 4);
  switch (pivots - j) {
    case 3: return bad + NAME(panel_block)(panel, ld, j, floor, inverse, 3);
    case 2: return bad + NAME(panel_block)(panel, ld, j, floor, inverse, 2);
    case 1: return bad + NAME(panel_block)(panel, ld, j, floor, inverse, 1);
    default: return bad;
  }
}

/* --- the panels of a matrix that is not symmetric --- */

/* L U of up to four pivots, L with ones on its diagonal; U is stored as its transpose. */
INLINE int NAME(square)(double *l, double *u, size_t ld, const double *floor, double *inverse,
                        const int columns) {
  double a[4][4];
  int bad = 0;
  UNROLL for (int q = 0; q < columns; q++) {
    UNROLL for (int i = 0; i < columns; i++) a[i][q] =
        i < q ? u[(size_t)q + (size_t)i * ld] : l[(size_t)i + (size_t)q * ld];
  }
  UNROLL for (int q = 0; q < columns; q++) {
    int good = __builtin_fabs(a[q][q]) > floor[q];
    inverse[q] = good ? 1.0 / a[q][q] : 0.0;
    bad += !good;
    UNROLL for (int i = q + 1; i < columns; i++) {
      a[i][q] *= inverse[q];
      UNROLL for (int j = q + 1; j < columns; j++) a[i][j] = FNMA1(a[i][q], a[q][j], a[i][j]);
    }
  }
  UNROLL for (int q = 0; q < columns; q++) {
    UNROLL for (int i = 0; i < columns; i++) {
      l[(size_t)i + (size_t)q * ld] = i > q ? a[i][q] : 0.0;
      u[(size_t)i + (size_t)q * ld] = i > q ? a[q][i] : 0.0;
    }
  }
  return bad;
}

INLINE int NAME(panels_block)(double *l, double *u, int ld, int j, const double *floor,
                              double *inverse, const double *ones, const int columns) {
  VEC tile[TALL / WIDTH][4];
  size_t step = (size_t)ld, d = (size_t)j + (size_t)j * step;
  if (j) {
    NAME(tile_load)(tile, l + d, step, 1, 4, columns);
    NAME(tile_subtract)(tile, l + j, u + j, step, j, 4, columns);
    NAME(tile_store)(tile, l + d, step, 4, columns);
    NAME(tile_load)(tile, u + d, step, 1, 4, columns);
    NAME(tile_subtract)(tile, u + j, l + j, step, j, 4, columns);
    NAME(tile_store)(tile, u + d, step, 4, columns);
  }
  int bad = NAME(square)(l + d, u + d, step, floor + j, inverse + j, columns);
#define ACT(i, rows) NAME(panel_tile)(l, u, step, j, (i), inverse, (rows), columns)
  FOR_TILES(j + 4, ld, ACT)
#undef ACT
#define ACT(i, rows) NAME(panel_tile)(u, l, step, j, (i), ones, (rows), columns)
  FOR_TILES(j + 4, ld, ACT)
#undef ACT
  return bad;
}

TARGET static int NAME(panels)(double *l, double *u, int ld, int pivots, const double *floor,
                               double *inverse, const double *ones) {
  int bad = 0, j = 0;
  for (; j + 4 <= pivots; j += 4) bad += NAME(panels_block)(l, u, ld, j, floor, inverse, ones, 4);
  switch (pivots - j) {
    case 3: return bad + NAME(panels_block)(l, u, ld, j, floor, inverse, ones, 3);
    case 2: return bad + NAME(panels_block)(l, u, ld, j, floor, inverse, ones, 2);
    case 1: return bad + NAME(panels_block)(l, u, ld, j, floor, inverse, ones, 1);
    default: return bad;
  }
}

/* --- the update of the rows below --- */

INLINE void NAME(schur_columns)(const double *l, const double *u, size_t ld, int depth, int j,
                                int last, double *update, int add, const int columns) {
#define ACT(i, rows)                                                                               \
  do {                                                                                             \
    VEC tile[TALL / WIDTH][4];                                                                     \
    double *c = update + (i) + (size_t)j * (size_t)last;                                           \
    NAME(tile_load)(tile, c, (size_t)last, add, (rows), columns);                                  \
    NAME(tile_subtract)(tile, l + (i), u + j, ld, depth, (rows), columns);                         \
    NAME(tile_store)(tile, c, (size_t)last, (rows), columns);                                      \
  } while (0)
  FOR_TILES(j, last, ACT)
#undef ACT
}

TARGET static void NAME(schur_pair)(const double *l, const double *u, int ld, int pivots, int below,
                                    double *update, int add) {
  int j = 0, last = lcplug_panel_pad(below);
  for (; j + 4 <= below; j += 4)
    NAME(schur_columns)(l, u, (size_t)ld, pivots, j, last, update, add, 4);
  switch (below - j) {
    case 3: NAME(schur_columns)(l, u, (size_t)ld, pivots, j, last, update, add, 3); break;
    case 2: NAME(schur_columns)(l, u, (size_t)ld, pivots, j, last, update, add, 2); break;
    case 1: NAME(schur_columns)(l, u, (size_t)ld, pivots, j, last, update, add, 1); break;
    default: break;
  }
}

TARGET static void NAME(schur)(const double *l, int ld, int pivots, int below, double *update,
                               int add) {
  NAME(schur_pair)(l, l, ld, pivots, below, update, add);
}

TARGET static void NAME(add_runs)(double *to, const double *from, const panel_run *run, int runs) {
  for (; runs > 0; runs--, run++) {
    double *t = to + run->to;
    const double *f = from + run->from;
    int i = 0;
    for (; i + WIDTH <= run->count; i += WIDTH)
      STORE_ANYWHERE(t + i, ADD(LOAD_ANYWHERE(t + i), LOAD_ANYWHERE(f + i)));
    for (; i < run->count; i++) t[i] += f[i];
  }
}

/* --- solves ---
 *
 * A division by the diagonal is a product with its inverse, done beforehand to L and w: the one
 * chain in which every pivot waits for the one before then has a single operation per pivot. */

/* fresh: from which row on w counts as zero */
INLINE void NAME(forward_block)(const double *l, size_t ld, int rows, int fresh,
                                const double *inverse, double *w, const int columns) {
  VEC y[4];
  double x[4];
  UNROLL for (int q = 0; q < columns; q++) x[q] = w[q] * inverse[q];
  UNROLL for (int q = 0; q < columns; q++) UNROLL for (int i = q + 1; i < columns; i++) x[i] =
      FNMA1(l[(size_t)i + (size_t)q * ld] * inverse[i], x[q], x[i]);
  UNROLL for (int q = 0; q < columns; q++) w[q] = x[q], y[q] = SPREAD(x + q);
  for (int i = 4; i < rows; i += WIDTH) {
    VEC sum = i < fresh ? LOAD(w + i) : ZERO;
    UNROLL for (int q = 0; q < columns; q++) sum = FNMA(LOAD(l + i + (size_t)q * ld), y[q], sum);
    STORE(w + i, sum);
  }
}

TARGET static void NAME(forward)(const double *l, int ld, int pivots, const double *inverse,
                                 double *w) {
  int j = 0, fresh = lcplug_panel_pad(pivots);
  for (; j + 4 <= pivots; j += 4, fresh = ld)
    NAME(forward_block)
    (l + j + (size_t)j * (size_t)ld, (size_t)ld, ld - j, fresh - j, inverse + j, w + j, 4);
  l += j + (size_t)j * (size_t)ld;
  switch (pivots - j) {
    case 3: NAME(forward_block)(l, (size_t)ld, ld - j, fresh - j, inverse + j, w + j, 3); break;
    case 2: NAME(forward_block)(l, (size_t)ld, ld - j, fresh - j, inverse + j, w + j, 2); break;
    case 1: NAME(forward_block)(l, (size_t)ld, ld - j, fresh - j, inverse + j, w + j, 1); break;
    default: break;
  }
}

/* Whole vectors are written: what reads vectors would wait for parts to come together. */
TARGET static void NAME(gather)(const double *from, const int *index, int count, double *to) {
  int i = 0;
  for (; i + 4 <= count; i += 4) {
    double part[4] __attribute__((aligned(32))) = {from[index[i]], from[index[i + 1]],
                                                   from[index[i + 2]], from[index[i + 3]]};
    UNROLL for (int v = 0; v < 4; v += WIDTH) STORE(to + i + v, LOAD(part + v));
  }
  if (i == count) return;
  double rest[4]
      __attribute__((aligned(32))) = {from[index[i]], i + 1 < count ? from[index[i + 1]] : 0.0,
                                      i + 2 < count ? from[index[i + 2]] : 0.0, 0.0};
  UNROLL for (int v = 0; v < 4; v += WIDTH) STORE(to + i + v, LOAD(rest + v));
}

INLINE void NAME(backward_block)(const double *l, size_t ld, int rows, const double *inverse,
                                 double *w, const int columns) {
  VEC sum[4];
  UNROLL for (int q = 0; q < columns; q++) sum[q] = ZERO;
  for (int i = 4; i < rows; i += WIDTH) {
    VEC x = LOAD(w + i);
    UNROLL for (int q = 0; q < columns; q++) sum[q] = FMA(LOAD(l + i + (size_t)q * ld), x, sum[q]);
  }
  double x[4];
  UNROLL for (int q = 0; q < columns; q++) x[q] = (w[q] - SUM(sum[q])) * inverse[q];
  UNROLL for (int i = columns - 1; i > 0; i--) UNROLL for (int q = i - 1; q >= 0; q--) x[q] =
      FNMA1(l[(size_t)i + (size_t)q * ld] * inverse[q], x[i], x[q]);
  UNROLL for (int q = 0; q < columns; q++) w[q] = x[q];
}

TARGET static void NAME(backward)(const double *l, int ld, int pivots, const double *inverse,
                                  double *w) {
  int j = pivots & -4;
  const double *last = l + j + (size_t)j * (size_t)ld;
  switch (pivots - j) {
    case 3: NAME(backward_block)(last, (size_t)ld, ld - j, inverse + j, w + j, 3); break;
    case 2: NAME(backward_block)(last, (size_t)ld, ld - j, inverse + j, w + j, 2); break;
    case 1: NAME(backward_block)(last, (size_t)ld, ld - j, inverse + j, w + j, 1); break;
    default: break;
  }
  for (j -= 4; j >= 0; j -= 4)
    NAME(backward_block)(l + j + (size_t)j * (size_t)ld, (size_t)ld, ld - j, inverse + j, w + j, 4);
}

/* --- products --- */

INLINE void NAME(multiply_rows)(const double *a, size_t ld, int columns, const double *x, double *y,
                                const int vectors) {
  VEC sum[4];
  UNROLL for (int v = 0; v < vectors; v++) sum[v] = ZERO;
  for (int j = 0; j < columns; j++, a += ld) {
    VEC xj = SPREAD(x + j);
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = FMA(LOAD(a + WIDTH * v), xj, sum[v]);
  }
  UNROLL for (int v = 0; v < vectors; v++) STORE_ANYWHERE(y + WIDTH * v, sum[v]);
}

TARGET static void NAME(multiply)(const double *a, int ld, int columns, const double *x,
                                  double *y) {
  int i = 0;
  for (; i + 4 * WIDTH <= ld; i += 4 * WIDTH)
    NAME(multiply_rows)(a + i, (size_t)ld, columns, x, y + i, 4);
  for (; i < ld; i += WIDTH) NAME(multiply_rows)(a + i, (size_t)ld, columns, x, y + i, 1);
}

TARGET static void NAME(subtract)(double *lines, int ld, int count, int length, const double *part,
                                  int ld_part, int inner, const double *rows, int ld_rows) {
  for (; count > 0; count--, lines += ld, part += ld_part)
    for (int e = 0; e < length; e += WIDTH) {
      VEC sum = LOAD_ANYWHERE(lines + e);
      for (int l = 0; l < inner; l++)
        sum = FNMA(SPREAD(part + l), LOAD_ANYWHERE(rows + l * ld_rows + e), sum);
      STORE_ANYWHERE(lines + e, sum);
    }
}

INLINE void NAME(block_columns)(const double *a, size_t ld, const double *x, const double *gathered,
                                double *sum, double *dot, const int columns) {
  VEC xj[4], part[4];
  UNROLL for (int q = 0; q < columns; q++) xj[q] = SPREAD(x + q), part[q] = ZERO;
  for (size_t i = 0; i < ld; i += WIDTH) {
    VEC s = LOAD(sum + i), g = LOAD(gathered + i);
    UNROLL for (int q = 0; q < columns; q++) {
      VEC element = LOAD(a + (size_t)q * ld + i);
      s = FMA(element, xj[q], s);
      part[q] = FMA(element, g, part[q]);
    }
    STORE(sum + i, s);
  }
  UNROLL for (int q = 0; q < columns; q++) dot[q] += SUM(part[q]);
}

TARGET static void NAME(block)(const double *a, int rows, int columns, const double *x,
                               const double *gathered, double *sum, double *dot) {
  size_t ld = (size_t)rows;
  int j = 0;
  for (size_t i = 0; i < ld; i += WIDTH) STORE(sum + i, ZERO);
  for (; j + 4 <= columns; j += 4, a += 4 * ld)
    NAME(block_columns)(a, ld, x + j, gathered, sum, dot + j, 4);
  switch (columns - j) {
    case 3: NAME(block_columns)(a, ld, x + j, gathered, sum, dot + j, 3); break;
    case 2: NAME(block_columns)(a, ld, x + j, gathered, sum, dot + j, 2); break;
    case 1: NAME(block_columns)(a, ld, x + j, gathered, sum, dot + j, 1); break;
    default: break;
  }
}

#undef FOR_TILES
#undef UNROLL
#undef INLINE
