/* record_fcp.c - FCP text: nc contacts in d = 2 or 3 dimensions, W by blocks, mu and q.
 *
 *     u = W r + q,   r_i in the cone |r_t| <= mu_i r_n,   (normal, tangents) in that order
 *
 * which is our problem with A = W, b = -q, w = u: the normals bounded by 0 from below, the tangents
 * friction rows of their normal.  W may be slightly asymmetric and is kept as it is given. */
#include "record.h"

#include <math.h>
#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

static text_input fcp_text(record_input *in) { return (text_input){.in = in, .comment = '#'}; }

static int take_word(text_input *t, const char *word) {
  size_t length = strlen(word);
  lcplug_text_next(t);
  if (strncmp(t->in->bytes + t->in->at, word, length)) return 0;
  t->in->at += length;
  return 1;
}

int lcplug_is_fcp(const record_input *in) {
  record_input scan = *in; /* looks ahead without moving */
  text_input t = fcp_text(&scan);
  return take_word(&t, "FCP") && strchr(" \t\r\n", scan.bytes[scan.at]);
}

typedef struct fcp_counts {
  size_t d, contacts, blocks;
} fcp_counts;

static lcplug_error read_counts(text_input *t, fcp_counts *c) {
  size_t version;
  lcplug_error error = lcplug_text_count(t, "the version", 1000, &version);
  if (error) return error;
  if (version != 1)
    return lcplug_input_damaged(t->in, "version %zu; this library reads version 1", version);
  if ((error = lcplug_text_count(t, "the dimension", 1000, &c->d))) return error;
  if (c->d != 2 && c->d != 3)
    return lcplug_input_damaged(t->in, "dimension %zu is neither 2 nor 3", c->d);
  error = lcplug_text_count(t, "the number of contacts", RECORD_MOST_ROWS / c->d, &c->contacts);
  if (error) return error;
  error = lcplug_text_count(t, "the number of blocks", c->contacts * c->contacts, &c->blocks);
  if (error) return error;
  /* A number and the blank behind it take two bytes at least. */
  size_t numbers = c->contacts * (1 + c->d) + c->blocks * (2 + c->d * c->d);
  if (2 * numbers > t->in->size - t->in->at + 1)
    return lcplug_input_damaged(
        t->in, "%zu contacts and %zu blocks cannot be in the %zu bytes that follow", c->contacts,
        c->blocks, t->in->size - t->in->at);
  return LCPLUG_OK;
}

static lcplug_error read_friction(text_input *t, const fcp_counts *c, owned_record *o) {
  for (size_t i = 0; i < c->contacts; i++) {
    size_t normal = i * c->d;
    double mu;
    lcplug_error error = lcplug_text_real(t, "a friction coefficient", 0, &mu);
    if (error) return error;
    if (mu < 0.0) return lcplug_input_damaged(t->in, "a negative friction coefficient");
    o->lo[normal] = 0.0;
    o->hi[normal] = INFINITY;
    o->findex[normal] = -1;
    for (size_t row = normal + 1; row < normal + c->d; row++) {
      o->lo[row] = -mu;
      o->hi[row] = mu;
      o->findex[row] = (int32_t)normal;
    }
  }
  return LCPLUG_OK;
}

static lcplug_error read_right_side(text_input *t, owned_record *o) {
  for (int32_t row = 0; row < o->record.problem.n; row++) {
    double q;
    lcplug_error error = lcplug_text_real(t, "q", 0, &q);
    if (error) return error;
    o->b[row] = q != 0.0 ? -q : 0.0;
  }
  return LCPLUG_OK;
}

static lcplug_error read_block(text_input *t, const fcp_counts *c, size_t i, size_t j, double *W) {
  size_t n = c->d * c->contacts;
  for (size_t row = i * c->d; row < (i + 1) * c->d; row++)
    for (size_t column = j * c->d; column < (j + 1) * c->d; column++) {
      lcplug_error error = lcplug_text_real(t, "an element of W", 0, &W[row * n + column]);
      if (error) return error;
    }
  return LCPLUG_OK;
}

/* Blocks ascend by row, then column; every diagonal block is there. */
static lcplug_error read_blocks(text_input *t, const fcp_counts *c, double *W) {
  size_t next = 0, diagonals = 0;
  for (size_t k = 0; k < c->blocks; k++) {
    size_t i, j;
    lcplug_error error = lcplug_text_count(t, "a block row", c->contacts - 1, &i);
    if (!error) error = lcplug_text_count(t, "a block column", c->contacts - 1, &j);
    if (error) return error;
    if (i * c->contacts + j < next)
      return lcplug_input_damaged(t->in, "block %zu %zu does not come behind the last one", i, j);
    next = i * c->contacts + j + 1;
    diagonals += i == j;
    if ((error = read_block(t, c, i, j, W))) return error;
  }
  if (diagonals != c->contacts)
    return lcplug_input_damaged(t->in, "a diagonal block of W is missing");
  return LCPLUG_OK;
}

lcplug_error lcplug_read_fcp(record_input *in, owned_record *o) {
  text_input t = fcp_text(in);
  fcp_counts c;
  in->line = 1;
  take_word(&t, "FCP");
  lcplug_error error = read_counts(&t, &c);
  if (!error) error = lcplug_owned_make(o, c.d * c.contacts);
  if (!error) error = read_friction(&t, &c, o);
  if (!error) error = read_right_side(&t, o);
  if (!error) error = read_blocks(&t, &c, o->full);
  if (!error) error = lcplug_text_end(&t);
  return error ? error : lcplug_owned_symmetrise(o);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Rows of the contact that begins with this row: itself and the friction rows behind it. */
static int rows_of_contact(const lcplug_record *record, int normal) {
  int rows = 1;
  while (normal + rows < record->problem.n && lcplug_record_findex(record, normal + rows) == normal)
    rows++;
  return rows;
}

/* FCP knows nothing but contacts, all of one dimension, each with one finite mu. */
static lcplug_error check_contacts(record_output *out, const lcplug_record *record, int *d) {
  int n = record->problem.n;
  *d = n ? rows_of_contact(record, 0) : 3;
  if (*d != 2 && *d != 3)
    return lcplug_output_unfit(
        out, "FCP holds contacts alone, of 2 or 3 rows; the first of this problem has %d", *d);
  for (int i = 0; i < n; i += *d) {
    double mu = fabs(lcplug_record_hi(record, i + *d - 1));
    if (i < record->problem.nub || lcplug_record_findex(record, i) >= 0 ||
        rows_of_contact(record, i) != *d || lcplug_record_lo(record, i) != 0.0 ||
        lcplug_record_hi(record, i) != INFINITY)
      return lcplug_output_unfit(
          out, "FCP holds contacts alone, and row %d does not begin one of %d rows", i, *d);
    if (fabs(lcplug_record_hi(record, i + 1)) != mu || !isfinite(mu))
      return lcplug_output_unfit(
          out, "FCP has one finite friction coefficient for each contact; see row %d", i + 1);
  }
  return LCPLUG_OK;
}

static int is_block_stored(const lcplug_record *record, int d, int i, int j) {
  int stored = i == j;
  for (int row = i * d; row < (i + 1) * d; row++)
    for (int column = j * d; column < (j + 1) * d; column++)
      stored |= lcplug_record_element(record, row, column) != 0.0;
  return stored;
}

static void write_block(FILE *file, const lcplug_record *record, int d, int i, int j) {
  fprintf(file, "%d %d", i, j);
  for (int row = i * d; row < (i + 1) * d; row++)
    for (int column = j * d; column < (j + 1) * d; column++)
      fprintf(file, " %.17g", lcplug_record_element(record, row, column));
  fputc('\n', file);
}

/* A tag is free text: its line ends must not become ours. */
static void write_tag(FILE *file, const char *tag) {
  if (!*tag) return;
  fputs("# ", file);
  for (const char *c = tag; *c; c++) fputc(*c == '\n' || *c == '\r' ? ' ' : *c, file);
  fputc('\n', file);
}

lcplug_error lcplug_write_fcp(record_output *out, const lcplug_record *record) {
  int d, blocks = 0;
  lcplug_error error = check_contacts(out, record, &d);
  if (error) return error;
  int n = record->problem.n, contacts = n / d;
  for (int i = 0; i < contacts; i++)
    for (int j = 0; j < contacts; j++) blocks += is_block_stored(record, d, i, j);
  fprintf(out->file, "FCP 1\n");
  write_tag(out->file, record->tag);
  fprintf(out->file, "%d %d %d\n# mu\n", d, contacts, blocks);
  for (int i = 0; i < contacts; i++)
    fprintf(out->file, "%.17g\n", fabs(lcplug_record_hi(record, i * d + 1)));
  fprintf(out->file, "# q\n");
  for (int row = 0; row < n; row++) {
    double b = lcplug_record_b(record, row);
    fprintf(out->file, "%.17g%c", b != 0.0 ? -b : 0.0, row % d == d - 1 ? '\n' : ' ');
  }
  fprintf(out->file, "# W: block row, block column, %d values by rows\n", d * d);
  for (int i = 0; i < contacts; i++)
    for (int j = 0; j < contacts; j++)
      if (is_block_stored(record, d, i, j)) write_block(out->file, record, d, i, j);
  return LCPLUG_OK;
}
