/* pile.c - thousands of spheres settle in a box.
 *
 * Contacts with exact Coulomb friction, solved by sequential impulses from the impulses of the step
 * before.  Prints as it goes, and at the end what it has checked: nothing went through anything,
 * the pile came to rest, no energy came from nowhere, and the floor carries the weight.
 *
 * While the spheres fall into place the guess is poor, and most steps use up their sweeps before
 * they meet the tolerance: how many is printed.  At rest only a sphere that slips is worth as much:
 * in the last quarter of the steps at most one in five may.
 *
 *     pile [SPHERES [STEPS [THREADS]]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "spheres.h"

/* Height of the centre of mass times weight, with all masses 1. */
static double potential_energy(const spheres *s) {
  double sum = 0.0;
  for (int k = 0; k < s->count; k++) sum += 9.81 * s->pose[k].position[2];
  return sum;
}

/* The force that the floor and the walls exert upwards, of the last solve. */
static double carried(const spheres *s) {
  double sum = 0.0;
  for (int row = 0; row < 3 * s->contacts; row++)
    if (s->body[2 * row + 1] < 0) sum += s->jacobian[12 * (size_t)row + 2] * s->x[row] / s->h;
  return sum;
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 2000, steps = argc > 2 ? atoi(argv[2]) : 100;
  int threads = argc > 3 ? atoi(argv[3]) : 1;
  spheres *s = count > 0 ? spheres_create(count, 1) : NULL;
  lcplug_team *team = threads > 1 ? lcplug_team_create(threads) : NULL;
  lcplug_settings settings = lcplug_settings_default();
  settings.solver = LCPLUG_PGS, settings.friction = LCPLUG_FRICTION_COULOMB;
  settings.tol = 1e-3, settings.max_iter = 400;
  if (!s || (threads > 1 && !team)) return fprintf(stderr, "pile: bad arguments or no memory\n"), 2;

  double first = potential_energy(s), highest = first, deepest = 0.0;
  long sweeps = 0;
  int used_up = 0, used_up_at_rest = 0, steps_at_rest = 0;
  for (int step = 0; step < steps; step++) {
    lcplug_info info;
    lcplug_error error = spheres_step(s, &settings, team, 1, &info);
    if (error) return fprintf(stderr, "pile: %s\n", lcplug_error_text(error)), 2;
    double energy = potential_energy(s) + spheres_kinetic_energy(s);
    sweeps += info.iterations;
    int missed = info.residual > settings.tol, at_rest = 4 * (step + 1) > 3 * steps;
    used_up += missed, used_up_at_rest += at_rest && missed, steps_at_rest += at_rest;
    if (step) deepest = fmax(deepest, spheres_penetration(s)); /* the first one was built in */
    highest = fmax(highest, energy);
    if (step % (steps / 6 + 1) == 0)
      printf("step %4d: %d contacts, %3d sweeps, residual %.1e, kinetic energy %.3e J\n", step,
             s->contacts, info.iterations, info.residual, spheres_kinetic_energy(s));
  }
  printf("%.0f sweeps per step; %d of %d steps used up their %d before the tolerance was met\n",
         (double)sweeps / steps, used_up, steps, settings.max_iter);
  check_at_most("share of these in the last quarter of the steps",
                (double)used_up_at_rest / steps_at_rest, 0.2);
  check_at_most("deepest penetration, in radii", deepest / s->radius, 0.01);
  check_at_most("energy gained, of what there was", (highest - first) / first, 0.01);
  check_at_most("kinetic energy per sphere, in J", spheres_kinetic_energy(s) / count, 1e-4);
  check_near("weight carried by the box, of the weight", carried(s) / (9.81 * count), 1.0, 0.02);
  spheres_free(s);
  lcplug_team_free(team);
  return check_result();
}
