/* bends.h - the path of the smoothed conditions (path.h), followed by its length.
 *
 * As eps goes to 0 the path of exact Coulomb friction may turn back: there is no x for the next
 * smaller eps nearby, and eps must grow for a while.  With x and log eps both unknown there are no
 * such bends (Keller's pseudo-arclength continuation): a step along the tangent, then Newton's
 * method across it.  At each bend the determinant of A + E changes its sign, which tells the way
 * on.
 *
 * Which bodies jam first matters less here than to any other method: the path has an end, and most
 * are followed to it.  Those that are not have lost their way between branches that run close to
 * one another.  With a soft smoothing (a small stiffness) there are fewer bends, as forces move
 * little while eps is large. */
#ifndef LCPLUG_BENDS_H
#define LCPLUG_BENDS_H

#include "path.h"

/* In at most so many steps, from no force and the largest eps.  1 when it is time to stop: the
 * answer is good enough, or the time is up.  Scratch comes from the path's workspace and goes back
 * there. */
int lcplug_path_follow_bends(path *p, int steps);

#endif
