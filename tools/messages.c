/* messages.c - error messages, and memory that is there or ends the program. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools.h"

void tool_error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("lcplug: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

static void out_of_memory(void) {
  tool_error("out of memory");
  exit(TOOL_USAGE);
}

char *tool_format(const char *format, ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&text, format, arguments) < 0) out_of_memory();
  va_end(arguments);
  return text;
}

void *tool_resize(void *array, size_t count, size_t size) {
  void *resized = count <= SIZE_MAX / size ? realloc(array, count * size) : NULL;
  if (!resized) out_of_memory();
  return resized;
}
