/* newton.c - friction cones: an interior point (cone_interior.h), then Newton's method along a path
 * of smoothed conditions; see path.h.
 *
 * Every step costs one factorization.  Where the answer to a box is known whole steps from there
 * are tried first: structures that stand end so.  The interior point comes next unless there is a
 * good guess, and asks the path to finish what it has begun; its best answer is pulled upon and let
 * go piece by piece (pieces.h).  What follows is for problems that it does not solve, or that are
 * not for it.  For friction=cone, whose problem is convex, the path
 * leads to the answer.  Exact Coulomb friction and pyramids are not convex, and their path may turn
 * back.  Where that happens at a few contacts these are mended by themselves (mend.h), and most
 * problems are solved by a hasty try.  For the others, in this order,
 *
 *     the first part of the way is gone with the cone, De Saxce's term taken from the step before,
 *     and from there on exactly; where that fails the cone is followed further before the next try;
 *     the path is followed by its length, around its bends (bends.h): right after the interior
 *     point where A is nearly singular, as nothing else passes all that jams there;
 *     the best answer is pulled upon, less and less; where A is singular that comes first, and
 *     once more at the end with another stiffness, whose path has other bends.  A singular
 *     problem whose fainter and fainter pulls leave as much as ever has no answer, and is left at
 *     that. */
#include "newton.h"

#include <math.h>
#include <string.h>

#include "bends.h"
#include "cone_interior.h"
#include "mend.h"
#include "path.h"
#include "pieces.h"

/* Leaps from the answer to a box: how many at most, and in a row without halving what is left.  The
 * first one's eps, beside the root of that; what the next one multiplies it by, unless the
 * tolerance does not ask for as much: with sharper corners than needed redundant contacts run off
 * once more.  Where they have run off for good. */
enum { LEAPS = 16, IDLE_LEAPS = 5 };
static const double LEAP_STIFFNESS = 0.5, LEAP_EPS = 3e-4, NEXT_LEAP = 0.1, ENOUGH = 0.7;
static const double RUN_OFF = 20.0;
enum { HASTY_STEPS = 30, MENDED_STEPS = 60, SOFT_STEPS = 150, BRANCH_STEPS = 80 };
enum { FEW_BEND_STEPS = 300, SHORT_BENDS = 400 };
/* What eps is multiplied by at best, in haste and where care is taken. */
static const double FASTEST = 1e-3, BRISK = 0.2;
/* From a guess that leaves less than this the path begins at so much of its residual. */
static const double GOOD_GUESS = 0.5, WARM_EPS = 0.01;
/* A guess that leaves less than this is worth a hasty try, and the answer to a box is no start for
 * other ways if it leaves more; an interior point that leaves less than that is worth more
 * pains. */
static const double NEARBY = 0.1, NEARLY_INSIDE = 1e-4;
/* The stiffness of the first, hasty try, of the next one, and of more that large problems get. */
static const double STIFF = 1.0, SOFT = 0.1, other_softness[] = {0.3, 0.03};
/* So many sets have other stiffnesses tried, and their steps damped: that pays where some body
 * always jams, but with few of them damped steps have ended at answers in which structures
 * creep. */
enum { MANY_SETS = 100 };
/* The least pivot of A, beside its diagonal element: where A is singular (CFM 0), and where
 * redundant contacts have next to no CFM. */
static const double SINGULAR = 1e-10, LOOSE = 1e-6;
/* Gondzio's correctors there, and what is tried next in problems whose other ways are long. */
enum { INSIDE_WAYS = 3 };
static const int correctors[INSIDE_WAYS] = {3, 0, 2};
/* Paths around bends, one after the other: each stiffness has other bends, the softest the fewest.
 * The first may be long, as every body that can jam has bends of its own. */
static const struct {
  double stiffness;
  int steps;
} bends[] = {{0.01, 4000}, {0.1, 1500}, {1.0, 500}};
enum { BENDS = sizeof bends / sizeof *bends };
/* Of A's diagonal: the faintest pull towards the best answer that fades piece by piece.  The work
 * of one, in factorizations, and where going around bends is the better way. */
static const double FAINT_PULL = 1e-5, FADING_WORK = 100.0, LOOSE_WORK = 40.0;
/* Of the first eps: where the exact conditions are tried first, and how much later the next
 * time; they start with this many times the cone's eps. */
static const double FIRST_TRY = 1e-2, NEXT_TRY = 0.5, BRANCH_EPS = 3.0;

/* Of A's diagonal: the first pull, also where A is singular, and what follows when it has helped
 * and when it has not.  It begins at so much of the residual, and ends at this eps, beside the
 * right side. */
static const double PULL = 1e-6, STRONG_PULL = 1e-2, LESS = 0.1, MORE = 5.0;
static const double PULLED_EPS = 100.0, PULLED_GOAL = 1e-10;
/* Where a strong pull has faded; what it has left of the first residual by then if there is an
 * answer, unless that was small. */
static const double FAINT = 2e-7, IMPROVED = 0.5, NEARLY_RIGHT = 1e-6;
enum { PULLS = 20, PULL_STEPS = 60, PULLED_BEND_STEPS = 1000, MOST_PULLED_STEPS = 4000 };

/* What is known of a problem once some ways are gone. */
typedef struct tried {
  int singular;   /* A is */
  int bends_gone; /* paths around bends that have led nowhere */
  int hopeless;   /* pulls have shown that there is no answer */
} tried;

static mend_solver solve_few;

static int mend(path *p) { return lcplug_mend(p, solve_few, p->workspace); }

/* Stiff steps are all that most problems need. */
static int solve_hastily(path *p, point *start) {
  manner how = {.steps = HASTY_STEPS, .fastest = FASTEST, .gives_up = 1};
  if (lcplug_may_mend(p)) how.mend = mend, how.steps = MENDED_STEPS;
  lcplug_point_copy(start, &p->now, p->m->n);
  p->smooth.stiffness = STIFF;
  p->smooth.exact = p->m->coulomb;
  if (lcplug_path_follow(p, how)) return 1;
  lcplug_point_copy(&p->now, start, p->m->n);
  return 0;
}

/* What rounded corners leave goes with the square of eps. */
static double next_leap(const iteration *it) {
  return fmax(NEXT_LEAP, fmin(ENOUGH * sqrt(it->tol / it->last), ENOUGH));
}

/* Where a structure stands the answer to a box is wrong at few contacts, those that slide.  Whole
 * steps put them right, a few at a time: what is left may grow before it falls, and nobody minds
 * that. */
static int leap_from_box(path *p, point *start) {
  if (p->smooth.rough || !(p->it->residual < 1.0)) return 0; /* no better than no force */
  double eps = LEAP_EPS * sqrt(p->it->residual) * p->smooth.unit, best = INFINITY;
  lcplug_point_copy(start, &p->now, p->m->n);
  p->smooth.stiffness = LEAP_STIFFNESS;
  p->smooth.exact = p->m->coulomb;
  for (int k = 0, idle = 0; k < LEAPS && idle < IDLE_LEAPS; k++, eps *= next_leap(p->it)) {
    if (lcplug_path_leap(p, eps)) return 1;
    if (!(p->it->last < RUN_OFF)) break;
    if (p->it->last < 0.5 * best) best = p->it->last, idle = 0;
    else idle++;
  }
  lcplug_point_copy(&p->now, start, p->m->n);
  return 0;
}

/* Without a limit to friction there may be no answer: what opens would have to be held, and what
 * is held would open.  One that exists is found soon.  If not, friction holds open contacts,
 * too. */
static int solve_strictly(path *p, point *start) {
  if (!p->smooth.rough) return 0;
  if (solve_hastily(p, start)) return 1;
  p->smooth.held = 1;
  return 0;
}

/* The cone's path, and from time to time an exact branch off it, which starts a little rounder. */
static int solve_by_branches(path *p, point *start) {
  int last = p->steps + SOFT_STEPS, n = p->m->n;
  manner branch = {.steps = BRANCH_STEPS, .fastest = BRISK};
  if (lcplug_may_mend(p)) branch.mend = mend;
  double first = p->now.eps;
  for (double goal = FIRST_TRY * first; p->steps < last; goal *= NEXT_TRY) {
    manner relaxed = {.goal = goal, .steps = last - p->steps, .fastest = BRISK, .lagging = 1};
    p->smooth.exact = 0;
    if (lcplug_path_follow(p, relaxed)) return 1;
    lcplug_point_copy(start, &p->now, n);
    p->smooth.exact = 1;
    p->now.eps = fmin(first, BRANCH_EPS * p->now.eps);
    if (lcplug_path_follow(p, branch)) return 1;
    lcplug_point_copy(&p->now, start, n);
  }
  return 0;
}

static int solve_softly(path *p, point *start) {
  p->smooth.stiffness = SOFT;
  if (p->m->coulomb) return solve_by_branches(p, start);
  return lcplug_path_follow(p, (manner){.steps = SOFT_STEPS, .fastest = FASTEST});
}

/* In a large problem many bodies have bends.  Where these are not soon behind, what mends them is
 * worth more tries. */
static int solve_softly_again(path *p, point *start, int bends_too) {
  if (!p->m->coulomb || !lcplug_may_mend(p) || p->m->blocks < MANY_SETS) return 0;
  p->smooth.exact = 1;
  if (bends_too && lcplug_path_follow_bends(p, SHORT_BENDS)) return 1;
  for (size_t k = 0; k < sizeof other_softness / sizeof *other_softness; k++) {
    lcplug_path_restart(p);
    p->smooth.stiffness = other_softness[k];
    if (solve_by_branches(p, start)) return 1;
  }
  return 0;
}

/* From the center, and if need be around bends; 1 when it is time to stop. */
static int follow_pulled(path *p, int bend_steps) {
  double unit = p->smooth.unit, goal = PULLED_GOAL * unit;
  p->now.eps = unit * fmin(1.0, PULLED_EPS * lcplug_residual_natural(p->m, p->now.x, p->now.Ax));
  if (lcplug_path_follow(p, (manner){.goal = goal, .steps = PULL_STEPS, .fastest = FASTEST}))
    return 1;
  return bend_steps && p->now.eps > goal && lcplug_path_follow_bends(p, bend_steps);
}

/* Pulls have changed nothing that is worth the name. */
static int is_unmoved(const path *p, double first_residual) {
  return p->it->residual > fmax(IMPROVED * first_residual, NEARLY_RIGHT);
}

/* The center is the best answer, or the last one that a pull has led to. */
static int solve_by_pulls(path *p, double stiffness, double first, int bend_steps, tried *t) {
  const double *center = p->it->x;
  int last = p->steps + MOST_PULLED_STEPS;
  double part = first, first_residual = p->it->residual;
  p->smooth.exact = p->m->coulomb;
  p->smooth.stiffness = stiffness;
  for (int k = 0; k < PULLS && p->steps < last; k++) {
    lcplug_path_pull(p, center, part);
    if (follow_pulled(p, bend_steps)) return 1;
    int helped = p->now.eps <= PULLED_GOAL * p->smooth.unit;
    /* Each fainter pull has an answer, and none of them is one without it: as it fades the
     * forces grow without bound, and there is no answer. */
    t->hopeless = helped && first == STRONG_PULL && part < FAINT && is_unmoved(p, first_residual);
    if (t->hopeless) break;
    part *= helped ? LESS : MORE;
    center = helped ? p->kept.x : p->it->x;
  }
  p->pull = 0.0;
  return 0;
}

/* From a point inside: softly, and mending what jams, or not. */
static int finish_in(path *p, manner how) {
  how.steps = MENDED_STEPS, how.fastest = FASTEST, how.gives_up = 1;
  p->smooth.stiffness = SOFT;
  p->smooth.exact = p->m->coulomb;
  return lcplug_path_follow(p, how);
}

static int finish_plainly(path *p) { return finish_in(p, (manner){0}); }

static int finish(path *p) {
  return finish_in(p, (manner){.mend = lcplug_may_mend(p) ? mend : NULL});
}

static int go_around_bends(path *p, int k) {
  p->smooth.exact = p->m->coulomb;
  p->smooth.stiffness = bends[k].stiffness;
  return lcplug_path_follow_bends(p, bends[k].steps);
}

static int solve_around_bends(path *p, int first) {
  for (int k = first; k < BENDS; k++)
    if (go_around_bends(p, k)) return 1;
  return 0;
}

static int go_inside(path *p, inside_manner how) {
  p->smooth.stiffness = STIFF;
  p->smooth.exact = p->m->coulomb;
  workspace_mark mark = lcplug_mark(p->workspace);
  int over = lcplug_cone_interior(p, how, p->workspace);
  lcplug_release(p->workspace, mark);
  return over;
}

/* A faint pull is not far from an answer nearby, a strong one leads away from what jams. */
static int fade_pull(path *p, double pull, double work) {
  if (!lcplug_may_go_by_pieces(p)) return 0;
  lcplug_path_pull(p, p->it->x, pull);
  return lcplug_fade_by_pieces(p, work);
}

static int fade_pulls(path *p) {
  return fade_pull(p, FAINT_PULL, FADING_WORK) || fade_pull(p, STRONG_PULL, FADING_WORK);
}

/* Which bodies jam is a matter of chance: where they do not let go pulls towards the best answer
 * may, piece by piece, and another way is tried.  Where A is nearly singular the path around its
 * bends is long, but mostly comes to its end, so it has its turn before patience has.  The best
 * answer is pulled upon if not much is left. */
static int solve_inside(path *p, point *start, int loose, tried *t) {
  inside_manner how = {.loose = loose, .correctors = correctors[0]};
  int turns = loose && p->m->coulomb, many = p->m->coulomb && lcplug_takes_long_inside(p->m);
  lcplug_point_copy(start, &p->now, p->m->n);
  how.patient = !turns;
  how.finish = turns ? finish_plainly : finish;
  if (go_inside(p, how)) return 1;
  if (turns ? fade_pull(p, FAINT_PULL, LOOSE_WORK) : fade_pulls(p)) return 1;
  if (turns && go_around_bends(p, t->bends_gone++)) return 1;
  how.patient = 1;
  how.finish = finish;
  for (int k = turns ? 0 : 1; many && k < INSIDE_WAYS; k++) {
    how.correctors = correctors[k];
    if (go_inside(p, how)) return 1;
  }
  if (p->it->residual < NEARLY_INSIDE && solve_by_pulls(p, SOFT, PULL, 0, t)) return 1;
  lcplug_point_copy(&p->now, start, p->m->n);
  return 0;
}

/* Where A is singular what is inside has no middle: forces without bound do nothing. */
static int solve_quickly(path *p, point *start, int nearby, tried *t) {
  int inside = lcplug_may_go_inside(p);
  int in_haste = !inside || nearby;
  if (solve_strictly(p, start)) return 1;
  if (in_haste && solve_hastily(p, start)) return 1;
  double least = lcplug_path_least_pivot(p);
  t->singular = least < SINGULAR;
  if (inside && !t->singular) return solve_inside(p, start, least < LOOSE, t);
  return !in_haste && solve_hastily(p, start);
}

static void solve(path *p, point *start, int frozen) {
  tried t = {0};
  int nearby = p->it->residual < NEARBY;
  if (frozen && p->m->blocks >= MANY_SETS && leap_from_box(p, start)) return;
  if (frozen && !nearby) lcplug_path_restart(p);
  if (solve_quickly(p, start, nearby, &t) || solve_softly(p, start)) return;
  if (solve_softly_again(p, start, !t.singular && !t.bends_gone)) return;
  if (t.singular && solve_by_pulls(p, SOFT, STRONG_PULL, PULLED_BEND_STEPS, &t)) return;
  if (t.hopeless) return;
  if (solve_around_bends(p, t.bends_gone) || solve_by_pulls(p, SOFT, PULL, 0, &t)) return;
  if (t.singular && p->it->residual <= NEARLY_RIGHT)
    solve_by_pulls(p, STIFF, STRONG_PULL, PULLED_BEND_STEPS, &t);
}

/* Near the answer a step or two more leave rounding error only, and small structures have use for
 * each. */
static void polish(path *p, iteration *it) {
  if (it->status != LCPLUG_SOLVED) return;
  for (int k = 0; !lcplug_iteration_is_clean(it, k); k++) {
    lcplug_path_polish(p);
    it->status = LCPLUG_SOLVED;
  }
}

static lcplug_error begin(path *p, const model *m, const lower_triangle *A, cholesky *factor,
                          condensed *q, iteration *it, lcplug_workspace *workspace) {
  lcplug_error error = lcplug_path_begin(p, m, A, factor, q, it, workspace);
  if (error) return error;
  p->damps = m->blocks >= MANY_SETS;
  if (it->residual < GOOD_GUESS) p->now.eps *= WARM_EPS * it->residual;
  it->status = LCPLUG_ITERATION_LIMIT;
  return LCPLUG_OK;
}

/* A problem that mends a few contacts: its steps are cheap, but there are many of them to come. */
static lcplug_error solve_few(const model *m, const lower_triangle *A, cholesky *factor,
                              iteration *it, lcplug_workspace *workspace) {
  path p;
  point start;
  if (!lcplug_point_take(&start, m->n, workspace)) return LCPLUG_ERROR_MEMORY;
  if (lcplug_iteration_begin(it, m, start.Ax, workspace)) return LCPLUG_OK;
  lcplug_error error = begin(&p, m, A, factor, NULL, it, workspace);
  if (error) return error;
  p.few = 1;
  if (solve_hastily(&p, &start) || p.steps + SOFT_STEPS > it->max_iter) return LCPLUG_OK;
  lcplug_path_restart(&p);
  if (solve_softly(&p, &start) || p.steps > it->max_iter) return LCPLUG_OK;
  int left = it->max_iter - p.steps;
  lcplug_path_follow_bends(&p, left < FEW_BEND_STEPS ? left : FEW_BEND_STEPS);
  return LCPLUG_OK;
}

lcplug_error lcplug_newton_solve(const model *m, const lower_triangle *A, cholesky *factor,
                                 condensed *q, int frozen, iteration *it,
                                 lcplug_workspace *workspace) {
  path p;
  point start;
  if (!lcplug_point_take(&start, m->n, workspace)) return LCPLUG_ERROR_MEMORY;
  if (lcplug_iteration_begin(it, m, start.Ax, workspace)) return LCPLUG_OK;
  lcplug_error error = begin(&p, m, A, factor, q, it, workspace);
  if (error) return error;
  int before = it->iterations;
  solve(&p, &start, frozen);
  polish(&p, it);
  it->iterations = before + p.steps; /* not only those that were looked at */
  if (it->status == LCPLUG_ITERATION_LIMIT) it->status = LCPLUG_STALLED;
  return LCPLUG_OK;
}
