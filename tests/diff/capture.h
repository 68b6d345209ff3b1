/* capture.h - problems as ODE poses them, taken in the middle of a step.
 *
 * This program defines dxSolveLCP itself, so that libode calls it here; the problem is copied and
 * handed on to upstream, and the scene goes its usual way. */
#ifndef LCPLUG_TESTS_CAPTURE_H
#define LCPLUG_TESTS_CAPTURE_H

#include "diff_common.h"
#include "scenes/scenes.h"

/* What was met: `p` is the callee's own copy to keep or free; errors: upstream's messages. */
typedef void capture_taker(void *data, diff_problem *p, int errors);

/* From here on each problem is handed to `take`; NULL ends it. */
void capture_to(capture_taker *take, void *data);

/* The largest problem with at most `most` rows that a scene poses in the steps from number
 * `step` (0: the first) to `step` + `window`; with `failing`, the largest that upstream answers
 * with an error. NULL: none there. */
diff_problem *capture_from_scene(const scene_config *config, int step, int window, int most,
                                 int failing);

#endif
