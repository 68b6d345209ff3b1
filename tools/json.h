/* json.h - writes JSON, indented, to a stream.  Inside an object every value has a key;
 * inside a list the key is NULL. */
#ifndef LCPLUG_JSON_H
#define LCPLUG_JSON_H

#include <stdbool.h>
#include <stdio.h>

typedef struct json {
  FILE *file;
  int depth;
  bool filled; /* the innermost list or object has something in it */
} json;

/* bracket: '{' or '['; json_close takes the same one. */
void json_open(json *j, const char *key, char bracket);
void json_close(json *j, char bracket);

/* A number that is not finite becomes null. */
void json_number(json *j, const char *key, double number);
void json_whole(json *j, const char *key, long long number);
void json_flag(json *j, const char *key, bool flag);
/* What is no UTF-8 becomes U+FFFD. */
void json_string(json *j, const char *key, const char *text);
/* A list of numbers in one line. */
void json_numbers(json *j, const char *key, const double *numbers, int count);

#endif
