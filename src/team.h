/* team.h - threads that share one task, for solvers whose answer does not depend on how many do. */
#ifndef LCPLUG_TEAM_H
#define LCPLUG_TEAM_H

#include <lcplug/native.h>

/* One member's part: `member` of `members` (0 is the caller). */
typedef void team_task(void *argument, int member, int members);

/* Runs the task on all members and returns when all are done.  NULL: on the caller alone. */
void lcplug_team_run(lcplug_team *team, team_task *task, void *argument);

/* Within a task: nobody goes on before all have come here. */
void lcplug_team_meet(lcplug_team *team);

int lcplug_team_size(const lcplug_team *team);

#endif
