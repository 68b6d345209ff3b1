/* session.h - a program under the eyes of the witness: the folder that both sides share, the start,
 * the end.  The layout of the shared files is in lcplug/witness_log.h. */
#ifndef LCPLUG_SESSION_H
#define LCPLUG_SESSION_H

#include <lcplug/witness_log.h>

#include "launch.h"

typedef struct session {
  char *folder;             /* temporary, ours alone */
  witness_control *control; /* the order, and what was counted; shared with the program */
  int kept_folder;          /* descriptor of the folder for problems, locked; -1: there is none */
  bool made_folder;
  launch_end end;
} session;

/* Makes the shared folder with an empty order.  0 with the reason said if that cannot be. */
bool session_open(session *s, witness_mode mode);

/* Problems are to be kept in this folder, which is made if it is missing.  Only one session
 * at a time may write there. */
bool session_keep_in(session *s, const char *folder);

/* Starts the program under the witness and waits for its end; its settings are `items`. */
int session_run(session *s, char **argv, const char *items);

/* What a command does with its session: opens it, runs the program and tells about it; the status
 * to exit with, TOOL_OK if the program's own is to be passed on. */
typedef int session_work(session *s, void *order, char **program, const char *items);

/* The whole of a command: options (see launch_read), work, and an end like the program's. */
int session_main(const tool_command *command, int argc, char **argv, launch_option *take,
                 void *order, session_work *work);

/* Removes what is temporary, and the folder for problems if we made it and it stayed empty. */
void session_close(session *s);

#endif
