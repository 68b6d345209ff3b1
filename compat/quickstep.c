/* quickstep.c - dWorldQuickStep, which never asks the solver, made dWorldStep, which does.
 *
 * Only if the setting is quickstep=step; else the call goes on as it came.  The step size is a float
 * or a double, as libode was built.  Both travel in the same register (or place on the stack), a
 * float in its lower half, so a double that is only handed on carries either unchanged. */
#include "engine.h"
#include "symbols.h"

typedef int step_function(void *world, double step);

/* As every upstream address: found once, looked for again while it is missing. */
static step_function *find(const char *symbol, void **kept) {
  void *found = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
  if (!found && (found = upstream_find(symbol))) __atomic_store_n(kept, found, __ATOMIC_RELEASE);
  return (step_function *)found;
}

int ENTRY(dWorldQuickStep)(void *world, double step) __attribute__((visibility("default")));
int ENTRY(dWorldQuickStep)(void *world, double step) {
  static void *world_step, *quick_step;
  if (environment_settings()->quickstep == LCPLUG_QUICKSTEP_STEP) {
    step_function *take = find("dWorldStep", &world_step);
    thread_context *context = thread_context_get();
    if (take && context) statistics_count(&context->statistics, COUNT_STEPS);
    if (take) return take(world, step);
    environment_warn("quickstep=step: no dWorldStep was found, dWorldQuickStep stays");
  }
  step_function *take = find("dWorldQuickStep", &quick_step);
  return take ? take(world, step) : 0;
}
