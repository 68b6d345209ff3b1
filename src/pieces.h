/* pieces.h - Newton's method with sharp edges, piece by piece.
 *
 * At a point the conditions of every contact are made linear, but for what is sharp about them: a
 * force is 0 or a velocity is (footing.h).  What is left is a linear complementarity problem.  From
 * the point to its answer leads a path of straight pieces, on which what the point lacks fades:
 *
 *     A x - b - w = t (A x0 - b - w0),     t from 1 to 0
 *
 * At the end of each piece one contact turns from one side to the other, a change of rank one
 * (patched.h).  Where t has to grow again the path is followed all the same (Josephy 1979; Ralph
 * 1994; Dirkse and Ferris 1995).  So it is no matter of luck which sides the contacts are on, and
 * from the answer to one problem that of another one nearby is found in few steps, however nearly
 * singular A is.  Here that is used for pulls that fade,
 *
 *     A x + pull D (x - center) = b + w,     D the diagonal of A
 *
 * tenfold at a time. */
#ifndef LCPLUG_PIECES_H
#define LCPLUG_PIECES_H

#include "path.h"

/* Not with friction that has no limit, nor with rows that follow a force. */
int lcplug_may_go_by_pieces(const path *p);

/* From p->now.x, nearly the answer to the present pull, to that without one, with about the work of
 * so many factorizations at most.  1 when it is time to stop: the answer is good enough, or the
 * time is up.  There is no pull behind it. */
int lcplug_fade_by_pieces(path *p, double most_work);

#endif
