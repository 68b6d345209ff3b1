/* run.c - `lcplug run`: starts a program with the preload object ahead of its libraries.
 *
 * The program takes this process's place, so that the exit status is its own. */
#include "launch.h"
#include "tools.h"

#include <stdlib.h>

static const launch_command run = {
    .name = "run",
    .about = "Starts PROGRAM with lcplug in the place of its contact solver.",
    .settings = true,
    .end = "The exit status is PROGRAM's.",
};

void tool_run_help(void) { launch_help(&run); }

int tool_run(int argc, char **argv) {
  int at;
  char *items = NULL;
  int status = launch_read(&run, NULL, argc, argv, &at, &items);
  if (status == TOOL_OK && at) {
    char *preload = launch_preload(PRELOAD_NAME);
    status = preload ? launch_become(argv + at, items, preload) : TOOL_USAGE;
    free(preload);
  }
  free(items);
  return status;
}
