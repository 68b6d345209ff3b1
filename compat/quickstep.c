/* quickstep.c - dWorldQuickStep, which never asks the solver, made dWorldStep, which does.
 *
 * Only if the setting is quickstep=step; else the call goes on as it came.  The step size is a
 * float or a double, as libode was built.  Both travel in the same register (or place on the
 * stack), a float in its lower half, so a double that is only handed on carries either unchanged.
 */
#include "engine.h"
#include "symbols.h"

typedef int step_function(void *world, double step);

int ENTRY(dWorldQuickStep)(void *world, double step) __attribute__((visibility("default")));
int ENTRY(dWorldQuickStep)(void *world, double step) {
  static void *world_step, *quick_step;
  if (environment_settings()->quickstep == LCPLUG_QUICKSTEP_STEP) {
    step_function *take = (step_function *)upstream_kept("dWorldStep", &world_step);
    thread_context *context = thread_context_get();
    if (take && context) statistics_count(&context->statistics, COUNT_STEPS);
    if (take) return take(world, step);
    environment_warn("quickstep=step: no dWorldStep was found, dWorldQuickStep stays");
  }
  step_function *take = (step_function *)upstream_kept("dWorldQuickStep", &quick_step);
  return take ? take(world, step) : 0;
}
