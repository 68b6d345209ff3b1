/* run.c - `lcplug run`: starts a program with the preload object ahead of its libraries.
 *
 * The program takes this process's place, so that no other process sees the preload and the exit
 * status is the program's own. */
#include <stdlib.h>

#include "launch.h"
#include "tools.h"

static int run_main(const tool_command *command, int argc, char **argv) {
  int at;
  char *items;
  int status = launch_read(command, argc, argv, NULL, NULL, &at, &items);
  if (status == TOOL_OK && at) {
    char *preload = launch_preload(PRELOAD_NAME);
    status = preload ? launch_become(argv + at, items, preload) : TOOL_USAGE;
    free(preload);
  }
  free(items);
  return status;
}

static const tool_note examples[] = {
    {"lcplug run --stats ./app --its-own options",
     "Run a program with the default settings, and see what was solved:"},
    {"lcplug run --friction coulomb --tol 1e-8 -- ./app",
     "With exact Coulomb friction to a residual of 1e-8:"},
    {"lcplug run --stats python3 scene.py", "A Python program that loads ODE:"},
    {0}};
const tool_command tool_run_command = {
    .name = "run",
    .arguments = "[OPTION...] [--] PROGRAM [ARGUMENT...]",
    .meaning = "start PROGRAM with its contact solver swapped",
    .text =
        "Starts PROGRAM with lcplug in the place of its contact solver.  The options are checked, "
        "then added to the environment variable LCPLUG, where a later item wins over an earlier "
        "one, and PROGRAM takes the place of this process.  Programs that it starts get the swap "
        "too.\n\n"
        "--help without a value shows this text.",
    .settings = SETTINGS_OF_PROGRAMS,
    .starts_program = true,
    .statuses = launch_statuses,
    .examples = examples,
    .main = run_main};
