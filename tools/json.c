/* json.c - see json.h. */
#include "json.h"

#include <math.h>
#include <stddef.h>

/* The length of the UTF-8 character at `text`, 0 if there is none. */
static int utf8_length(const unsigned char *text) {
  int length = text[0] < 0x80       ? 1
               : text[0] >> 5 == 6  ? 2
               : text[0] >> 4 == 14 ? 3
               : text[0] >> 3 == 30 ? 4
                                    : 0;
  for (int i = 1; i < length; i++)
    if (text[i] >> 6 != 2) return 0;
  /* no longer than needed, no halves of pairs, nothing beyond the last code point */
  if (length == 2 && text[0] < 0xc2) return 0;
  if (length == 3 && ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f)))
    return 0;
  if (length == 4 && ((text[0] == 0xf0 && text[1] < 0x90) || text[0] > 0xf4 ||
                      (text[0] == 0xf4 && text[1] > 0x8f)))
    return 0;
  return length;
}

static void write_string(FILE *file, const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  fputc('"', file);
  while (*c) {
    int length = utf8_length(c);
    if (length == 0) fputs("\\ufffd", file);
    else if (*c == '"' || *c == '\\') fprintf(file, "\\%c", *c);
    else if (*c < 0x20) fprintf(file, "\\u%04x", *c);
    else fwrite(c, 1, (size_t)length, file);
    c += length ? length : 1;
  }
  fputc('"', file);
}

static void begin_line(json *j) {
  fputc('\n', j->file);
  for (int i = 0; i < j->depth; i++) fputs("  ", j->file);
}

static void begin_value(json *j, const char *key) {
  if (j->filled) fputc(',', j->file);
  if (j->depth) begin_line(j);
  j->filled = true;
  if (!key) return;
  write_string(j->file, key);
  fputs(": ", j->file);
}

void json_open(json *j, const char *key, char bracket) {
  begin_value(j, key);
  fputc(bracket, j->file);
  j->depth++;
  j->filled = false;
}

void json_close(json *j, char bracket) {
  j->depth--;
  if (j->filled) begin_line(j);
  fputc(bracket == '{' ? '}' : ']', j->file);
  j->filled = true;
  if (j->depth == 0) fputc('\n', j->file);
}

static void write_number(FILE *file, double number) {
  if (isfinite(number)) fprintf(file, "%.17g", number);
  else fputs("null", file);
}

void json_number(json *j, const char *key, double number) {
  begin_value(j, key);
  write_number(j->file, number);
}

void json_whole(json *j, const char *key, long long number) {
  begin_value(j, key);
  fprintf(j->file, "%lld", number);
}

void json_flag(json *j, const char *key, bool flag) {
  begin_value(j, key);
  fputs(flag ? "true" : "false", j->file);
}

void json_string(json *j, const char *key, const char *text) {
  begin_value(j, key);
  write_string(j->file, text);
}

void json_numbers(json *j, const char *key, const double *numbers, int count) {
  begin_value(j, key);
  fputc('[', j->file);
  for (int i = 0; i < count; i++) {
    if (i) fputs(", ", j->file);
    write_number(j->file, numbers[i]);
  }
  fputc(']', j->file);
}
