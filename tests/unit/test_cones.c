/* test_cones.c - friction cones by the exact solver: answers known on paper, conditions on random
 * problems, degenerate ones, and those that have no answer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


#include "../../src/cone_pair.h"
#include "../../src/layout.h"
#include "../../src/lu.h"
#include "../../src/scan.h"
#include "../../src/smooth.h"
#include "support.h"

static const lcplug_friction cones[] = {LCPLUG_FRICTION_CONE, LCPLUG_FRICTION_COULOMB};

/* ... and what the method for cones takes over where boxes do not settle. */
static const lcplug_friction models[] = {LCPLUG_FRICTION_CONE, LCPLUG_FRICTION_COULOMB,
                                         LCPLUG_FRICTION_PYRAMID};

static lcplug_info solve(instance *p, lcplug_friction friction) {
  lcplug_settings s = settings_for(LCPLUG_EXACT, friction);
  lcplug_info info = instance_solve(p, &s);
  ck_assert_int_eq(info.solver, LCPLUG_EXACT);
  return info;
}

static void solve_well(instance *p, lcplug_friction friction) {
  lcplug_info info = solve(p, friction);
  ck_assert_msg(info.status == LCPLUG_SOLVED && info.residual <= 1e-8, "n %d, friction %d: %s, %g",
                p->n, friction, lcplug_status_text(info.status), info.residual);
  ck_assert_double_le(instance_conditions(p, friction), 1e-7);
}

/* A normal and `tangents` friction rows on a diagonal A, all with the same mu. */
static instance *one_contact(int tangents, double normal_mass, double tangent_mass, double mu) {
  instance *p = instance_create(1 + tangents);
  instance_set(p, 0, 0, normal_mass);
  p->lo[0] = 0.0;
  for (int i = 1; i <= tangents; i++) {
    instance_set(p, i, i, tangent_mass);
    p->findex[i] = 0;
    p->lo[i] = -mu, p->hi[i] = mu;
  }
  return p;
}

/* a x_n = b_n and c x_t = b_t if that is less than mu x_n; else x_t = mu x_n along b_t.  Any
 * heading. */
START_TEST(coulomb_on_one_contact) {
  const double a = 2.0, c = 3.0, mu = 0.6, normals[] = {-1.0, 1.0, 4.0},
               tangents[] = {0.0, 0.5, 2.0, 50.0};
  for (int heading = 0; heading < 24; heading++)
    for (int n = 0; n < 3; n++)
      for (int t = 0; t < 4; t++) {
        double angle = heading * M_PI / 12.0 + 0.01, pressed = fmax(normals[n], 0.0) / a;
        double force = fmin(tangents[t] / c, mu * pressed);
        instance *p = one_contact(2, a, c, mu);
        p->b[0] = normals[n];
        p->b[1] = tangents[t] * cos(angle), p->b[2] = tangents[t] * sin(angle);
        solve_well(p, LCPLUG_FRICTION_COULOMB);
        ck_assert_double_le(fabs(p->x[0] - pressed), 1e-8);
        ck_assert_double_le(fabs(p->x[1] - force * cos(angle)), 1e-8 * (1.0 + tangents[t]));
        ck_assert_double_le(fabs(p->x[2] - force * sin(angle)), 1e-8 * (1.0 + tangents[t]));
        instance_free(p);
      }
}
END_TEST

/* The convex model: a contact that slides sits on the cone's ray r (1, mu d), where the energy is
 * least at r = (b_n + mu |b_t|) / (a + mu^2 c), and lifts off at the gap mu |w_t|. */
START_TEST(cone_on_one_contact) {
  const double a = 2.0, c = 3.0, mu = 0.6;
  for (int heading = 0; heading < 24; heading++) {
    double angle = heading * M_PI / 12.0 + 0.01, ray = (1.0 + mu * 10.0) / (a + mu * mu * c);
    instance *p = one_contact(2, a, c, mu);
    p->b[0] = 1.0, p->b[1] = 10.0 * cos(angle), p->b[2] = 10.0 * sin(angle);
    lcplug_info info = solve(p, LCPLUG_FRICTION_CONE);
    ck_assert_double_le(fabs(p->x[0] - ray), 1e-8);
    ck_assert_double_le(fabs(p->x[1] - mu * ray * cos(angle)), 1e-8);
    ck_assert_double_le(fabs(info.gap - mu * hypot(p->w[1], p->w[2])), 1e-9);
    ck_assert_double_le(fabs(p->w[0] - info.gap), 1e-7);
    ck_assert_double_ge(info.gap, 1.0);
    ck_assert(solve(p, LCPLUG_FRICTION_COULOMB).gap == 0.0);
    instance_free(p);
  }
}
END_TEST

/* One friction row is a cone of two dimensions; its Coulomb friction is |x_t| <= mu x_n. */
START_TEST(cone_of_two_dimensions) {
  for (int sign = -1; sign <= 1; sign += 2) {
    instance *p = one_contact(1, 2.0, 3.0, 0.5);
    p->b[0] = 4.0, p->b[1] = sign * 30.0;
    solve_well(p, LCPLUG_FRICTION_COULOMB);
    ck_assert_double_le(fabs(p->x[1] - sign * 1.0), 1e-8);
    solve_well(p, LCPLUG_FRICTION_CONE);
    instance_free(p);
  }
}
END_TEST

/* mu_1 != mu_2: the force lies on the ellipse and opposes the slip in its own measure.  The
 * conditions of support.c are the judge. */
START_TEST(elliptic_cones) {
  rng r = {7};
  for (int k = 0; k < 200; k++) {
    double mu1 = rng_magnitude(&r, -2, 1), mu2 = rng_magnitude(&r, -2, 1);
    instance *p = instance_contacts(&r, 1 + k % 6, 3, 1e-6, mu1, mu2);
    for (int f = 0; f < 2; f++) solve_well(p, cones[f]);
    instance_free(p);
  }
}
END_TEST

/* mu 0 is no friction at all.  mu infinite sticks while the contact presses, and is nothing when it
 * is open. */
START_TEST(no_friction_and_endless_friction) {
  for (int f = 0; f < 2; f++)
    for (int pressed = 0; pressed < 2; pressed++) {
      instance *p = one_contact(2, 2.0, 3.0, 0.0);
      p->hi[2] = INFINITY, p->lo[2] = -INFINITY;
      p->b[0] = pressed ? 4.0 : -4.0, p->b[1] = 6.0, p->b[2] = 600.0;
      solve_well(p, cones[f]);
      ck_assert(p->x[1] == 0.0);
      ck_assert_double_le(fabs(p->x[0] - (pressed ? 2.0 : 0.0)), 1e-8);
      ck_assert_double_le(fabs(p->x[2] - (pressed ? 200.0 : 0.0)), 1e-5);
      instance_free(p);
    }
}
END_TEST

/* Rolling and spinning rows: bounded one by one by the normal of the cone that they stand
 * beside. */
START_TEST(rolling_rows) {
  const double mu[] = {0.0, 0.5, 0.5, 0.1, 0.02}, b[] = {6.0, 0.3, 0.1, 9.0, -9.0};
  instance *p = one_contact(4, 2.0, 3.0, 0.5);
  for (int i = 0; i < 5; i++) {
    p->b[i] = b[i];
    if (i) p->hi[i] = mu[i], p->lo[i] = -mu[i];
  }
  solve_well(p, LCPLUG_FRICTION_COULOMB);
  const double x[] = {3.0, 0.1, 0.1 / 3.0, 0.3, -0.06};
  ck_assert_double_le(distance_max(p->x, x, 5), 1e-8);
  solve_well(p, LCPLUG_FRICTION_CONE);
  instance_free(p);
}
END_TEST

/* Contacts of every kind among joints (free rows), motors and limits (intervals), on one random
 * A. */
static instance *mixture(rng *r, int n, int columns, double cfm) {
  instance *p = instance_random(r, n, columns, cfm);
  for (int i = 0; i < n;) {
    int kind = rng_below(r, 5), rows = kind == 4 ? 5 : kind == 3 ? 3 : kind == 2 ? 2 : 1;
    if (i + rows > n) rows = 1, kind = 0;
    if (kind == 1) p->lo[i] = -rng_between(r, 0, 1), p->hi[i] = rng_between(r, 0, 1);
    if (kind >= 2) p->lo[i] = 0.0;
    for (int t = 1; t < rows; t++) {
      p->findex[i + t] = i;
      p->hi[i + t] = rng_below(r, 8) ? rng_between(r, 0.05, 0.8) : 0.0;
      p->lo[i + t] = -p->hi[i + t];
    }
    i += rows;
  }
  return p;
}

static void make_cones_circular(instance *p) {
  for (int i = 0; i < p->n; i++)
    if (p->findex[i] >= 0) p->hi[i] = 0.4, p->lo[i] = -0.4;
}

/* In any order of rows; small problems whose cones are circular have a way of their own. */
START_TEST(cones_among_joints) {
  rng r = {(uint64_t)_i + 11};
  for (int k = 0; k < 60; k++) {
    int n = 3 + rng_below(&r, 60);
    instance *p = mixture(&r, n, n + 5, 1e-5);
    if (k % 2) make_cones_circular(p);
    instance *q = instance_permuted(p, &r, NULL);
    solve_well(p, cones[_i]);
    solve_well(q, cones[_i]);
    instance_free(p);
    instance_free(q);
  }
}
END_TEST

/* Piles at all sizes: exact meets the conditions; and where w is unique, as the cone's is, it is
 * what apgd finds. */
START_TEST(piles) {
  rng r = {(uint64_t)_i + 3};
  const int contacts[] = {1, 2, 4, 9, 20, 45, 100, 250};
  for (int k = 0; k < 8; k++) {
    double mu = rng_between(&r, 0.1, 1.0), cfm = rng_magnitude(&r, -8, -3);
    instance *p = instance_contacts(&r, contacts[k], 2 + contacts[k] / 3, cfm, mu, mu);
    solve_well(p, cones[_i % 2]);
    instance_free(p);
  }
}
END_TEST

START_TEST(w_is_what_apgd_finds) {
  rng r = {5};
  for (int k = 0; k < 12; k++) {
    instance *p = instance_contacts(&r, 4 + 3 * k, 3 + k, 1e-2, 0.5, k % 2 ? 0.5 : 0.2);
    instance *q = instance_copy(p);
    lcplug_settings s = settings_for(LCPLUG_APGD, LCPLUG_FRICTION_CONE);
    s.tol = 1e-11, s.max_iter = 200000;
    double largest = 0.0;
    for (int i = 0; i < p->n; i++) largest = fmax(largest, fabs(p->b[i]));
    ck_assert_int_eq(instance_solve(q, &s).status, LCPLUG_SOLVED);
    solve_well(p, LCPLUG_FRICTION_CONE);
    ck_assert_double_le(distance_max(p->w, q->w, p->n), 1e-7 * largest);
    instance_free(p);
    instance_free(q);
  }
}
END_TEST

/* A problem stored as sparse takes the general way: the short one finds the same w. */
START_TEST(short_and_general_way_agree) {
  rng r = {(uint64_t)_i + 71};
  for (int k = 0; k < 40; k++) {
    int contacts = 1 + rng_below(&r, 20);
    instance *p = instance_contacts(&r, contacts, 2 + contacts / 3, 1e-2, 0.5, 0.5),
             *q = instance_copy(p);
    lcplug_settings s = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_CONE);
    double largest = 0.0;
    for (int i = 0; i < p->n; i++) largest = fmax(largest, fabs(p->b[i]));
    s.matrix = LCPLUG_MATRIX_SPARSE;
    ck_assert_int_eq(instance_solve(q, &s).matrix, LCPLUG_MATRIX_SPARSE);
    solve_well(p, LCPLUG_FRICTION_CONE);
    ck_assert_double_le(distance_max(p->w, q->w, p->n), 1e-7 * largest);
    s.friction = LCPLUG_FRICTION_COULOMB;
    ck_assert_int_eq(instance_solve(q, &s).status, LCPLUG_SOLVED);
    ck_assert_double_le(instance_conditions(q, LCPLUG_FRICTION_COULOMB), 1e-7);
    solve_well(p, LCPLUG_FRICTION_COULOMB);
    instance_free(p);
    instance_free(q);
  }
}
END_TEST

/* All w are 0 with forces well inside the cones. */
static void make_it_stick(instance *p) {
  for (int i = 0; i < p->n; i++) {
    p->b[i] = 0.0;
    for (int j = 0; j < p->n; j++)
      p->b[i] += instance_at(p, i, j) * (p->findex[j] < 0 ? 1.0 : 0.01);
  }
}

/* Where nothing slides the answer to friction=ode is the one for cones, and no step is taken. */
START_TEST(what_sticks_is_solved_as_boxes) {
  const int contacts[] = {1, 4, 20, 60};
  for (int k = 0; k < 4; k++) {
    rng r = {(uint64_t)contacts[k]};
    instance *p = instance_contacts(&r, contacts[k], 4 * contacts[k], 1e-2, 0.5, 0.5);
    make_it_stick(p);
    lcplug_settings s = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_ODE);
    int factorizations = instance_solve(p, &s).factorizations;
    ck_assert_double_le(instance_conditions(p, LCPLUG_FRICTION_COULOMB), 1e-9);
    lcplug_info info = solve(p, cones[_i]);
    ck_assert_int_eq(info.status, LCPLUG_SOLVED);
    ck_assert_int_eq(info.factorizations, factorizations);
    instance_free(p);
  }
}
END_TEST

/* Where one contact of many slides, and only just, that answer is the start, and a few steps end
 * it. */
START_TEST(what_barely_slides_starts_from_boxes) {
  rng r = {5};
  instance *p = instance_contacts(&r, 120, 480, 1e-2, 0.5, 0.5);
  for (int i = 0; i < p->n; i++) {
    p->b[i] = 0.0;
    for (int j = 0; j < p->n; j++)
      p->b[i] += instance_at(p, i, j) * (p->findex[j] < 0 ? 1.0 : j == 1 ? 0.53 : 0.01);
  }
  solve_well(p, cones[_i]);
  lcplug_info info = solve(p, cones[_i]);
  ck_assert_int_gt(info.factorizations, 2); /* it does slide */
  ck_assert_int_le(info.factorizations, 8);
  instance_free(p);
}
END_TEST

/* In large piles a few contacts jam.  They are mended by themselves (src/mend.h), else the whole
 * path has to go around each of them: 280 steps on average, instead of 170. */
START_TEST(piles_that_jam_take_few_steps) {
  rng r = {7};
  int steps = 0;
  for (int k = 0; k < 8; k++) {
    instance *p = instance_contacts(&r, 250, 70, 1e-5, 1.0, 1.0);
    lcplug_settings s = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_COULOMB);
    s.tol = 1e-8;
    lcplug_info info = instance_solve(p, &s);
    ck_assert_int_eq(info.status, LCPLUG_SOLVED);
    steps += info.factorizations;
    instance_free(p);
  }
  ck_assert_int_le(steps, 8 * 200);
}
END_TEST

/* With 300 contacts and more the interior point (src/cone_interior.h) comes first, and passes
 * bodies that jam: 57 steps on average, 103 without it; with pyramids, whose bounds follow their
 * normals, 92 and 191. */
static const struct {
  lcplug_friction friction;
  uint64_t seed;
  int steps;
} jams[] = {{LCPLUG_FRICTION_COULOMB, 11, 80}, {LCPLUG_FRICTION_PYRAMID, 13, 130}};

START_TEST(large_piles_pass_what_jams) {
  enum { PILES = 4 };
  rng r = {jams[_i].seed};
  int steps = 0;
  for (int k = 0; k < PILES; k++) {
    instance *p = instance_contacts(&r, 400, 120, 1e-3, 0.8, 0.8);
    lcplug_info info = solve(p, jams[_i].friction);
    ck_assert_int_eq(info.status, LCPLUG_SOLVED);
    ck_assert_double_le(instance_residual(p, jams[_i].friction), 1e-8);
    if (jams[_i].friction == LCPLUG_FRICTION_COULOMB) solve_well(p, jams[_i].friction);
    steps += info.factorizations;
    instance_free(p);
  }
  ck_assert_int_le(steps, PILES * jams[_i].steps);
}
END_TEST

/* Friction without limit is a matter of boxes: no more steps than these take. */
START_TEST(endless_friction_takes_few_steps) {
  rng r = {(uint64_t)_i + 3};
  int steps = 0;
  for (int k = 0; k < 10; k++) {
    instance *p = instance_contacts(&r, 150, 60, rng_magnitude(&r, -8, -3), INFINITY, INFINITY);
    solve_well(p, cones[_i]);
    steps += solve(p, cones[_i]).factorizations;
    instance_free(p);
  }
  ck_assert_int_le(steps, 10 * 30);
}
END_TEST

/* Small ones are dense boxes all the way, with friction of none beside it, and joints; and the
 * answer is as good as that of the general way. */
START_TEST(small_endless_friction_is_boxes) {
  rng r = {(uint64_t)_i + 181};
  lcplug_friction friction = _i ? LCPLUG_FRICTION_COULOMB : LCPLUG_FRICTION_CONE;
  int held = 0, strict = 0;
  for (int k = 0; k < 60; k++) {
    int contacts = 2 + rng_below(&r, 30);
    instance *p = instance_contacts(&r, contacts, 1 + contacts / 3, rng_magnitude(&r, -8, -3),
                                    INFINITY, INFINITY);
    for (int i = 0; i < p->n && k % 3 == 0; i += 9) { /* slippery ones, and some rows free */
      if (i + 2 < p->n) p->hi[i + 1] = p->hi[i + 2] = 0.0, p->lo[i + 1] = p->lo[i + 2] = 0.0;
      if (k % 2 && i + 5 < p->n) p->findex[i + 4] = p->findex[i + 5] = -1;
    }
    instance *q = instance_copy(p);
    lcplug_settings s = settings_for(LCPLUG_EXACT, friction);
    lcplug_info info = instance_solve(p, &s);
    ck_assert_int_eq(info.status, LCPLUG_SOLVED);
    ck_assert_int_eq(info.matrix, LCPLUG_MATRIX_DENSE);
    ck_assert_int_le(info.factorizations, 80);
    ck_assert_double_le(instance_residual(p, friction), 1e-9);
    if (info.gap > 1e-9) held++;
    else strict++;
    s.matrix = LCPLUG_MATRIX_SPARSE;
    ck_assert_int_eq(instance_solve(q, &s).status, LCPLUG_SOLVED);
    instance_free(p);
    instance_free(q);
  }
  ck_assert_int_gt(held, 5);
  ck_assert_int_gt(strict, 5);
}
END_TEST

/* The same contact again and again, without CFM: A has rank 3, forces are not unique, w is. */
START_TEST(redundant_contacts) {
  for (int f = 0; f < 2; f++) {
    rng r = {17};
    instance *base = instance_contacts(&r, 1, 2, 0.0, 0.5, 0.5), *p = instance_create(12);
    for (int i = 0; i < 12; i++) {
      p->b[i] = base->b[i % 3], p->lo[i] = base->lo[i % 3], p->hi[i] = base->hi[i % 3];
      p->findex[i] = base->findex[i % 3] < 0 ? -1 : i - i % 3;
      for (int j = 0; j <= i; j++) instance_set(p, i, j, instance_at(base, i % 3, j % 3));
    }
    solve_well(p, cones[f]);
    instance_free(p);
    instance_free(base);
  }
}
END_TEST

/* A of low rank, b in its range. */
START_TEST(singular_matrices) {
  rng r = {(uint64_t)_i + 23};
  for (int k = 0; k < 20; k++) {
    int contacts = 4 + rng_below(&r, 12);
    instance *p = instance_random(&r, 3 * contacts, contacts, 0.0);
    for (int i = 0; i < p->n; i++) {
      p->findex[i] = i % 3 ? i - i % 3 : -1;
      p->hi[i] = i % 3 ? 0.4 : INFINITY, p->lo[i] = i % 3 ? -0.4 : 0.0;
    }
    solve_well(p, LCPLUG_FRICTION_CONE);
    instance_free(p);
  }
}
END_TEST

/* One workspace for problems that grow and shrink gives the bits of a fresh one, and a size that it
 * has seen costs no memory. */
START_TEST(one_workspace_for_all_sizes) {
  const int contacts[] = {1, 30, 5, 80, 2, 80, 30};
  lcplug_workspace *kept = lcplug_workspace_create();
  size_t bytes = 0;
  for (int k = 0; k < 7; k++) {
    rng r = {(uint64_t)contacts[k]};
    instance *p = instance_contacts(&r, contacts[k], 2 + contacts[k] / 3, 1e-6, 0.5, 0.5);
    lcplug_settings s = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_COULOMB);
    lcplug_problem problem = instance_problem(p);
    double *x = calloc((size_t)p->n, sizeof *x);
    lcplug_solution solution = {.x = x};
    ck_assert_int_eq(lcplug_solve(kept, &problem, &s, &solution, NULL), LCPLUG_OK);
    solve_well(p, LCPLUG_FRICTION_COULOMB);
    ck_assert_mem_eq(x, p->x, (size_t)p->n * sizeof *x);
    if (k > 3) ck_assert_uint_eq(lcplug_workspace_bytes(kept), bytes);
    bytes = lcplug_workspace_bytes(kept);
    free(x);
    instance_free(p);
  }
  lcplug_workspace_free(kept);
}
END_TEST

/* Nor does the same problem again, be it a look, a step or many that solve it. */
START_TEST(solving_again_takes_no_memory) {
  rng r = {2};
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_settings s = settings_for(LCPLUG_EXACT, cones[_i]);
  for (int sticks = 0; sticks < 2; sticks++) {
    instance *p = instance_contacts(&r, 8, 24, 1e-2, 0.5, 0.5);
    if (sticks) make_it_stick(p);
    lcplug_problem problem = instance_problem(p);
    lcplug_solution solution = {.x = p->x};
    ck_assert_int_eq(lcplug_solve(workspace, &problem, &s, &solution, NULL), LCPLUG_OK);
    size_t bytes = lcplug_workspace_bytes(workspace);
    for (int k = 0; k < 1000; k++) lcplug_solve(workspace, &problem, &s, &solution, NULL);
    ck_assert_uint_eq(lcplug_workspace_bytes(workspace), bytes);
    instance_free(p);
  }
  lcplug_workspace_free(workspace);
}
END_TEST

/* Endless friction and a push that the normal cannot hold: pressed, x_n would have to pull; without
 * force, the bodies would meet.  So the contact opens, at w_n = 0.9 x_t - 0.1, and friction holds
 * it, x_t = 1, with a normal force of rounding size.  The gap tells. */
START_TEST(endless_friction_holds_what_opens) {
  for (int f = 0; f < 3; f++)
    for (int automatic = 0; automatic < 2; automatic++) {
      instance *p = one_contact(1, 1.0, 1.0, INFINITY);
      instance_set(p, 1, 0, 0.9);
      p->b[0] = 0.1, p->b[1] = 1.0;
      lcplug_settings s = settings_for(automatic ? LCPLUG_AUTO : LCPLUG_EXACT, models[f]);
      lcplug_info info = instance_solve(p, &s);
      ck_assert_int_eq(info.status, LCPLUG_SOLVED);
      ck_assert_double_le(instance_conditions(p, models[f]), 1e-8);
      ck_assert_double_le(fabs(p->x[1] - 1.0), 1e-8);
      ck_assert(p->x[0] > 0.0 && p->x[0] < 1e-15);
      ck_assert_double_le(fabs(info.gap - 0.8), 1e-8);
      instance_free(p);
    }
}
END_TEST

/* Where the contact can be open, or pressed, that is the answer and nothing is relaxed. */
START_TEST(endless_friction_holds_no_more_than_it_must) {
  for (int f = 0; f < 3; f++)
    for (int pressed = 0; pressed < 2; pressed++) {
      instance *p = one_contact(2, 1.0, 1.0, INFINITY);
      instance_set(p, 1, 0, 0.3);
      p->b[0] = pressed ? 1.0 : -1.0, p->b[1] = 1.0, p->b[2] = -2.0;
      ck_assert(solve(p, models[f]).gap == 0.0);
      for (int i = 0; i < 3; i++)
        ck_assert_double_le(pressed ? fabs(p->w[i]) : fabs(p->x[i]), 1e-10);
      instance_free(p);
    }
}
END_TEST

/* Piles with endless friction, alone and beside contacts with little and none, are solved whatever
 * they hold. */
START_TEST(piles_with_endless_friction) {
  rng r = {(uint64_t)_i + 91};
  for (int k = 0; k < 30; k++) {
    int contacts = 1 + rng_below(&r, 80);
    instance *p =
        instance_contacts(&r, contacts, 2 + contacts / 3, rng_magnitude(&r, -8, -3), 0.5, 0.5);
    for (int i = 0; i < p->n; i += 3) {
      double mu =
          _i % 2 && rng_below(&r, 3) ? rng_below(&r, 2) * rng_between(&r, 0.1, 1.0) : INFINITY;
      for (int t = 1; t < 3; t++) p->hi[i + t] = mu, p->lo[i + t] = -mu;
    }
    solve_well(p, models[_i / 2]);
    instance_free(p);
  }
}
END_TEST

/* Two walls closer than the body between them is thick, and nothing gives (CFM 0): whatever the
 * forces, one of w_1 = x_1 - x_2 - 1 and w_2 = x_2 - x_1 - 1 is negative.  No answer exists, and
 * none is claimed. */
START_TEST(no_solution_is_said) {
  for (int f = 0; f < 3; f++)
    for (int k = 0; k < 6; k++) {
      const double mus[] = {0.0, 0.5, INFINITY};
      instance *p = instance_create(6);
      for (int i = 0; i < 6; i++) instance_set(p, i, i, 1.0);
      instance_set(p, 3, 0, -1.0);
      for (int i = 0; i < 6; i++) {
        p->b[i] = i % 3 ? 0.2 * i : 1.0, p->findex[i] = i % 3 ? i - i % 3 : -1;
        p->hi[i] = i % 3 ? mus[k / 2] : INFINITY, p->lo[i] = i % 3 ? -mus[k / 2] : 0.0;
      }
      lcplug_settings s = settings_for(k % 2 ? LCPLUG_AUTO : LCPLUG_EXACT, models[f]);
      lcplug_info info = instance_solve(p, &s);
      ck_assert_int_eq(info.status, LCPLUG_STALLED);
      ck_assert_double_ge(info.residual, 0.1);
      ck_assert_double_le(info.residual, 1.0);
      for (int i = 0; i < 6; i++) ck_assert(isfinite(p->x[i]) && isfinite(p->w[i]));
      instance_free(p);
    }
}
END_TEST

/* Problems of ODE scenes (tests/data/hard) that once were not solved: paths that turn back, a
 * pyramid's and Coulomb's; redundant contacts without CFM; and endless friction that no open or
 * sticking contacts satisfy. */
START_TEST(captured_problems_are_solved) {
  const char *const names[] = {"hard/bends-24", "hard/bends-33", "hard/bends-90",
                               "hard/redundant-150", "hard/held-24"};
  lcplug_record *record = captured_record(names[_i]);
  lcplug_workspace *workspace = lcplug_workspace_create();
  double *x = calloc((size_t)record->problem.n, sizeof *x);
  for (int f = 0; f < 3; f++) {
    lcplug_settings s = settings_for(LCPLUG_EXACT, models[f]);
    lcplug_solution solution = {.x = x};
    lcplug_info info;
    double judged;
    s.tol = 1e-8;
    ck_assert(!lcplug_solve(workspace, &record->problem, &s, &solution, &info));
    ck_assert(
        !lcplug_residual(workspace, &record->problem, models[f], x, 1, NULL, NULL, 0, &judged));
    ck_assert_msg(info.status == LCPLUG_SOLVED && judged <= 1e-8,
                  "%s, friction %d: %s, residual %g", names[_i], models[f],
                  lcplug_status_text(info.status), judged);
    ck_assert((info.gap > 0.0) == (models[f] == LCPLUG_FRICTION_CONE || _i == 4));
  }
  free(x);
  lcplug_workspace_free(workspace);
  lcplug_record_free(record);
}
END_TEST

/* Redundant contacts at CFM 1e-10, and how many steps are too many.  The forces of the first heap
 * go on moving long after what they have left to do is less than anybody asks for: 33 steps, 55
 * without soundings (src/cone_interior.c).  The second one's path bends again and again: 31 steps,
 * 119 without soundings.  Where soundings leave too much of the third, their pull fades piece by
 * piece (src/pieces.h): 88 steps, 216 without that.  Last, a wall of bricks inside each other, as
 * QuickStep leaves it: 790 steps, 3015 when everything else had its turn before its path around
 * bends. */
static const struct {
  const char *name;
  int most;
} redundant[] = {{"hard/creeps-1854", 200},
               {"hard/sounded-504", 80},
               {"hard/fades-672", 150},
               {"hard/bricks-312", 1200}};
enum { REDUNDANT = sizeof redundant / sizeof *redundant };

START_TEST(redundant_contacts_take_few_steps) {
  lcplug_record *record = captured_record(redundant[_i].name);
  lcplug_workspace *workspace = lcplug_workspace_create();
  lcplug_settings s = settings_for(LCPLUG_AUTO, LCPLUG_FRICTION_COULOMB);
  double *x = calloc((size_t)record->problem.n, sizeof *x), judged;
  lcplug_solution solution = {.x = x};
  lcplug_info info;
  ck_assert(!lcplug_solve(workspace, &record->problem, &s, &solution, &info));
  ck_assert_int_eq(info.status, LCPLUG_SOLVED);
  ck_assert(!lcplug_residual(workspace, &record->problem, LCPLUG_FRICTION_COULOMB, x, 1, NULL, NULL,
                             0, &judged));
  ck_assert_double_le(judged, 1e-8);
  ck_assert_int_le(info.factorizations, redundant[_i].most);
  free(x);
  lcplug_workspace_free(workspace);
  lcplug_record_free(record);
}
END_TEST

/* Numbers at the ends of the range: no trap, no NaN, never worse than no force. */
START_TEST(wild_numbers_stay_finite) {
  const double sizes[] = {1e-300, 1e-150, 1e150, 1e300}, mus[] = {1e-300, 1e-9, 1e9, 1e300};
  for (int f = 0; f < 2; f++)
    for (int k = 0; k < 16; k++) {
      instance *p = one_contact(2, 2.0, 3.0, mus[k / 4]);
      p->b[0] = sizes[k % 4], p->b[1] = 0.3 * sizes[k % 4], p->b[2] = -sizes[k % 4];
      ck_assert_double_le(solve(p, cones[f]).residual, 1.0);
      instance_free(p);
    }
}
END_TEST

START_TEST(time_limit_is_kept) {
  rng r = {1};
  instance *p = instance_contacts(&r, 200, 60, 1e-9, 0.5, 0.5);
  lcplug_settings s = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_COULOMB);
  s.time_limit = 1e-9;
  lcplug_info info = instance_solve(p, &s);
  ck_assert_int_eq(info.status, LCPLUG_TIME_LIMIT);
  ck_assert_int_le(info.factorizations, 1);
  instance_free(p);
}
END_TEST

/* A that is symmetric to three digits only: the answer of its symmetric part is good to three
 * digits, that of lcplug_solve_asymmetric to all. */
START_TEST(asymmetric_matrices) {
  rng r = {29};
  for (int k = 0; k < 6; k++) {
    instance *p = instance_contacts(&r, 6 + 17 * k, 4 + 3 * k, 1e-3, 0.5, 0.5);
    size_t n = (size_t)p->n;
    double *A = malloc(n * n * sizeof *A), residual;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j <= i; j++) {
        double value = instance_at(p, (int)i, (int)j), off = rng_between(&r, -1e-3, 1e-3);
        A[i * n + j] = value * (1.0 + (i == j ? 0.0 : off));
        A[j * n + i] = value * (1.0 - (i == j ? 0.0 : off));
      }
    solve_well(p, LCPLUG_FRICTION_COULOMB);
    lcplug_workspace *workspace = lcplug_workspace_create();
    lcplug_problem problem = instance_problem(p);
    problem.A = A, problem.stride = n, problem.full = 1;
    ck_assert_int_eq(lcplug_residual_asymmetric(workspace, &problem, LCPLUG_FRICTION_COULOMB, p->x,
                                                1, NULL, NULL, 0, &residual),
                     LCPLUG_OK);
    ck_assert_double_ge(residual, 1e-6);
    lcplug_settings s = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_COULOMB);
    lcplug_solution solution = {.x = p->x, .w = p->w};
    lcplug_info info;
    ck_assert_int_eq(lcplug_solve(workspace, &problem, &s, &solution, &info),
                     LCPLUG_ERROR_ASYMMETRIC);
    ck_assert_int_eq(lcplug_solve_asymmetric(workspace, &problem, &s, &solution, &info), LCPLUG_OK);
    ck_assert_int_eq(info.status, LCPLUG_SOLVED);
    ck_assert_double_le(info.residual, 1e-10);
    lcplug_residual_asymmetric(workspace, &problem, LCPLUG_FRICTION_COULOMB, p->x, 1, NULL, NULL, 0,
                               &residual);
    ck_assert_double_le(residual, 1e-10);
    A[1] = NAN;
    ck_assert_int_eq(lcplug_solve_asymmetric(workspace, &problem, &s, &solution, &info),
                     LCPLUG_ERROR_NOT_FINITE);
    lcplug_workspace_free(workspace);
    free(A);
    instance_free(p);
  }
}
END_TEST

/* (A + E) x = r with random blocks E on the groups, by the factorization and by a product. */
static void check_lu(lu *f, const instance *p, int symmetric, rng *r) {
  double *x = calloc((size_t)p->n, sizeof *x), *right = calloc((size_t)p->n, sizeof *x);
  double *blocks = calloc(3 * (size_t)p->n, sizeof *x);
  for (int i = 0; i < p->n; i++) x[i] = right[i] = rng_between(r, -1, 1);
  lcplug_lu_load(f, symmetric);
  for (int i = 0; i < p->n; i += 3) {
    double *own = blocks + 3 * i;
    for (int k = 0; k < 9; k++) own[k] = rng_between(r, -1, 1) + (k % 4 == 0 ? 3.0 : 0.0);
    for (int k = 0; symmetric && k < 9; k++) own[k] = own[3 * (k % 3) + k / 3];
    lcplug_lu_add_block(f, i, 3, own);
    lcplug_lu_add(f, i + 2, i, 0.25), own[6] += 0.25;
    lcplug_lu_add(f, i, i + 2, symmetric ? 0.25 : -0.5), own[2] += symmetric ? 0.25 : -0.5;
  }
  lcplug_lu_add_diagonal(f, 0.5, right);
  for (int i = 0; i < p->n; i++) blocks[3 * i + i % 3] += 0.5 * right[i];
  lcplug_lu_factor(f);
  lcplug_lu_solve(f, x);
  for (int i = 0; i < p->n; i++) {
    double sum = instance_row_product(p, i, x);
    for (int k = 0; k < 3; k++) sum += blocks[3 * i + k] * x[i - i % 3 + k];
    ck_assert_double_le(fabs(sum - right[i]), 1e-9);
  }
  free(x), free(right), free(blocks);
}

/* What an lu is made of. */
typedef struct lu_bench {
  instance *p;
  lcplug_workspace *workspace;
  layout l;
  lower_triangle lower;
  cholesky c;
  lu f;
} lu_bench;

static void open_lu(lu_bench *t, instance *p) {
  lcplug_problem problem = instance_problem(p);
  *t = (lu_bench){.p = p, .workspace = lcplug_workspace_create()};
  ck_assert_int_eq(lcplug_layout_build(&t->l, &problem, t->workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_scan(&t->lower, &problem, &t->l, t->workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_cholesky_analyze(&t->c, &t->lower, t->l.groups, t->l.group_first,
                                           t->workspace),
                   LCPLUG_OK);
  ck_assert_int_eq(lcplug_lu_begin(&t->f, &t->c, NULL, &t->lower, t->workspace), LCPLUG_OK);
}

static void close_lu(lu_bench *t) {
  lcplug_workspace_free(t->workspace);
  instance_free(t->p);
}

START_TEST(lu_solves_what_it_was_given) {
  rng r = {(uint64_t)_i + 41};
  lu_bench t;
  open_lu(&t, instance_contacts(&r, 1 + 25 * _i, 2 + 7 * _i, 1e-3, 0.5, 0.5));
  for (int pass = 0; pass < 4; pass++) check_lu(&t.f, t.p, pass % 2, &r);
  close_lu(&t);
}
END_TEST

/* By elimination with exchanges of rows; a is lost. */
static int has_negative_determinant(double *a, int n) {
  int negative = 0;
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
    negative ^= (best != k) ^ (a[best * n + k] < 0.0);
    for (int j = 0; j < n; j++) {
      double was = a[k * n + j];
      a[k * n + j] = a[best * n + j], a[best * n + j] = was;
    }
    for (int i = k + 1; i < n; i++)
      for (int j = n - 1; j >= k; j--) a[i * n + j] -= a[i * n + k] / a[k * n + k] * a[k * n + j];
  }
  return negative;
}

/* Blocks that are neither symmetric nor positive, on contacts of a heap: both signs come up. */
START_TEST(lu_tells_the_sign_of_the_determinant) {
  rng r = {73};
  lu_bench t;
  open_lu(&t, instance_contacts(&r, 8, 5, 1e-3, 0.5, 0.5));
  int n = t.p->n, seen[2] = {0, 0};
  double *dense = calloc((size_t)(n * n), sizeof *dense);
  for (int trial = 0; trial < 40; trial++) {
    for (int i = 0; i < n * n; i++) dense[i] = instance_at(t.p, i / n, i % n);
    lcplug_lu_load(&t.f, 0);
    for (int i = 0; i < n; i += 3) {
      double own[9];
      for (int k = 0; k < 9; k++) own[k] = rng_between(&r, -4, 4);
      for (int k = 0; k < 9; k++) dense[(i + k / 3) * n + i + k % 3] += own[k];
      lcplug_lu_add_block(&t.f, i, 3, own);
    }
    lcplug_lu_factor(&t.f);
    int negative = has_negative_determinant(dense, n);
    ck_assert_int_eq(lcplug_lu_is_negative(&t.f), negative);
    seen[negative]++;
  }
  ck_assert_int_gt(seen[0], 5);
  ck_assert_int_gt(seen[1], 5);
  free(dense);
  close_lu(&t);
}
END_TEST

/* Contacts of every kind: circles, ellipses, wedges of two rows, endless friction, and rolling
 * rows. */
static instance *mixed_contacts(rng *r, int contacts) {
  instance *p = instance_contacts(r, contacts, 3 + contacts / 2, 1e-2, 0.5, 0.5);
  for (int i = 0; i + 2 < p->n; i += 3) {
    int kind = rng_below(r, 8);
    if (kind == 0) p->hi[i + 1] = 0.3;                         /* an ellipse */
    if (kind == 1) p->findex[i + 2] = -1, p->lo[i + 2] = -1.0; /* a wedge beside an interval */
    if (kind == 2) p->hi[i + 1] = p->hi[i + 2] = INFINITY;
    if (kind == 3 && i) p->findex[i] = p->findex[i + 1] = p->findex[i + 2] = i - 3; /* rolls */
  }
  return p;
}

/* Along Newton's step |f|^2 falls with twice its own value, for any set, cones four at a time or
 * one by one; on every processor with the same bits. */
START_TEST(newton_steps_lead_downhill) {
  rng r = {(uint64_t)_i + 47};
  instance *p = mixed_contacts(&r, 1 + 3 * _i);
  size_t n = (size_t)p->n;
  double *x = calloc(4 * (n + PANEL_PAD), sizeof *x), *Ax = x + n + PANEL_PAD;
  double *dx = Ax + n + PANEL_PAD, *Adx = dx + n + PANEL_PAD;
  lcplug_problem problem = instance_problem(p);
  lcplug_workspace *workspace = lcplug_workspace_create();
  layout l;
  lower_triangle lower;
  linop op;
  cholesky c;
  lu f;
  model m;
  smoothing s;
  ck_assert_int_eq(lcplug_layout_build(&l, &problem, workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_scan(&lower, &problem, &l, workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_operator_sparse(&op, &lower, &l, workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_cholesky_analyze(&c, &lower, l.groups, l.group_first, workspace),
                   LCPLUG_OK);
  ck_assert_int_eq(lcplug_lu_begin(&f, &c, NULL, &lower, workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_model_build(&m, &l, &op, STAGE_COULOMB, NULL, workspace), LCPLUG_OK);
  ck_assert_int_eq(lcplug_smoothing_begin(&s, &m, workspace), LCPLUG_OK);
  for (int trial = 0; trial < 40; trial++) {
    double eps = s.unit * pow(10.0, rng_between(&r, -1.5, 0.0)), step = 1e-6;
    s.exact = trial % 2;
    s.stiffness = trial % 4 < 2 ? 1.0 : 0.1;
    for (int k = 0; k < m.blocks; k++) s.slip[k] = rng_between(&r, 0.0, 0.1) * s.unit;
    for (size_t i = 0; i < n; i++) x[i] = rng_between(&r, -1, 1);
    op.table->apply(&op, x, Ax);
    double before = lcplug_smoothing_merit(&s, eps, x, Ax);
    lcplug_lu_load(&f, 0);
    lcplug_smoothing_linearize(&s, eps, x, Ax, &f, dx);
    lcplug_lu_factor(&f);
    lcplug_lu_solve(&f, dx);
    op.table->apply(&op, dx, Adx);
    s.kernels = lcplug_cone_kernels_portable();
    ck_assert(lcplug_smoothing_merit(&s, eps, x, Ax) == before);
    s.kernels = lcplug_cone_kernels();
    for (size_t i = 0; i < n; i++) x[i] += step * dx[i], Ax[i] += step * Adx[i];
    double slope = (lcplug_smoothing_merit(&s, eps, x, Ax) - before) / step;
    ck_assert_msg(fabs(slope + 2.0 * before) <= 1e-2 * before, "%d: slope %g of %g", trial, slope,
                  before);
  }
  free(x);
  lcplug_workspace_free(workspace);
  instance_free(p);
}
END_TEST

/* The short ways judge by themselves: what they say of an answer is what the model says of it. */
START_TEST(small_answers_are_judged_as_the_model_does) {
  const double mus[] = {0.1, 0.5, 1.0, INFINITY};
  rng r = {4711};
  for (int k = 0; k < 400; k++) {
    int contacts = 1 + k % 12;
    instance *p = instance_contacts(&r, contacts, 1 + contacts / 2, k % 2 ? 1e-5 : 1e-2, mus[k % 4],
                                    mus[k % 4]);
    for (size_t m = 0; m < 2; m++) {
      lcplug_settings s = settings_for(LCPLUG_AUTO, cones[m]);
      lcplug_info info = instance_solve(p, &s);
      ck_assert_int_eq(info.status, LCPLUG_SOLVED);
      double residual = instance_residual(p, cones[m]);
      ck_assert_msg(fabs(info.residual - residual) <= 1e-6 * residual + 1e-12,
                    "%d, friction %d: %g and %g", k, cones[m], info.residual, residual);
    }
    instance_free(p);
  }
}
END_TEST

/* A body that slides straight ahead on one contact, whatever the coupling of its rows: force on the
 * edge of the cone and against the slip, and no step more than one beyond friction=ode. */
START_TEST(one_contact_slides_in_one_step) {
  rng r = {99};
  int slid = 0;
  for (int k = 0; k < 500; k++) {
    instance *p = instance_contacts(&r, 1, 1, 1e-6, 0.4, 0.4);
    lcplug_settings ode = settings_for(LCPLUG_EXACT, LCPLUG_FRICTION_ODE);
    lcplug_settings s = settings_for(LCPLUG_AUTO, LCPLUG_FRICTION_COULOMB);
    int before = instance_solve(p, &ode).factorizations;
    lcplug_info info = instance_solve(p, &s);
    ck_assert_int_eq(info.status, LCPLUG_SOLVED);
    ck_assert_double_le(info.residual, 1e-12);
    ck_assert_double_le(instance_conditions(p, LCPLUG_FRICTION_COULOMB), 1e-7);
    slid += info.factorizations == before + 1;
    ck_assert_int_le(info.factorizations, before + 20);
    instance_free(p);
  }
  ck_assert_int_ge(slid, 50);
}
END_TEST

/* Four pairs with y and z at random inside their cones, as near to the edge as a part says:
 * contacts of three rows and of two in turn, one right behind the other. */
enum { FOUR_ROWS = 10 };
static void random_pairs(rng *r, cone_pairs *p, double part, int exact,
                         lcplug_workspace *workspace) {
  double x[FOUR_ROWS + 1] = {0};
  ck_assert(lcplug_pairs_begin(p, 4, exact, workspace));
  for (int k = 0, first = 0; k < 4; k++) {
    int rows = 3 - k % 2;
    force_set set = {.kind = SET_ELLIPSE, .first = first, .rows = rows, .mu = {0.4, 0.7}};
    x[first] = 1.0;
    lcplug_pairs_add_cone(p, &set, x, 1.0);
    first += rows;
    inside *both[] = {&p->quad->y, &p->quad->z};
    for (int i = 0; i < 2; i++) {
      double a = rng_between(r, 0.0, 2.0 * M_PI), size = rng_magnitude(r, -2, 2);
      double t[] = {size * cos(a), rows > 2 ? size * sin(a) : 0.0};
      both[i]->v[1][k] = t[0], both[i]->v[2][k] = t[1];
      both[i]->gap[k] = part * size;
      both[i]->v[0][k] = part * size + hypot(t[0], t[1]);
    }
  }
}

/* x of a pair that was made so. */
static void forces_of(const pair_quad *q, double *x) {
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < q->rows[k]; i++) x[q->row[i][k]] = q->y.v[i][k] / q->g[i][k];
}

/* H takes y to z, and w follows dx as the block says: exact friction, elliptic cones and wedges. */
START_TEST(pairs_are_scaled) {
  rng r = {(uint64_t)_i + 5};
  lcplug_workspace *workspace = lcplug_workspace_create();
  for (int trial = 0; trial < 100; trial++) {
    cone_pairs p;
    random_pairs(&r, &p, pow(10.0, rng_between(&r, -4.0, 1.0)), _i, workspace);
    pair_quad *q = p.quad;
    double E[9], x[FOUR_ROWS], w[FOUR_ROWS] = {0}, none[FOUR_ROWS] = {0};
    forces_of(q, x);
    p.kernels->take_velocities(q, 1, _i, w);
    p.kernels->scale(q, 1, _i);
    for (int k = 0; k < 4; k++) {
      pair_rows at = lcplug_pair_rows(&p, k);
      lcplug_pair_block(&p, k, E);
      for (int i = 0; i < at.rows; i++) {
        double sum = w[at.first + i], size = fabs(q->z.v[0][k] / (i ? 0.4 : 1.0));
        for (int j = 0; j < at.rows; j++) {
          double part = E[i * at.rows + j] * x[at.first + j];
          sum += part, size += fabs(part);
        }
        ck_assert_double_le(fabs(sum), 1e-10 * size);
      }
    }
    /* towards where they are: dz = -H dy, which is -z for dy = y */
    q->t_slip = q->t[0] = q->t[1] = q->t[2] = four_of(0.0);
    p.kernels->spread(q, 1, 0, x);
    for (int k = 0; k < 4; k++)
      for (int i = 0; i < 3; i++)
        ck_assert_double_le(fabs(q->dz[i][k] + q->z.v[i][k]), 1e-8 * q->z.v[0][k]);
    /* in the middle already, there is nothing to wish for */
    for (int i = 0; i < 3; i++) q->z.v[i] = i ? -q->y.v[i] : q->y.v[i];
    q->z.gap = q->y.gap;
    for (int k = 0; k < 4; k++) {
      double product = q->y.gap[k] * (2.0 * q->y.v[0][k] - q->y.gap[k]);
      p.kernels->wish(q, 1, product, 0, none);
      for (int i = 0; i < 3; i++) ck_assert_double_le(fabs(q->t[i][k]), 1e-10 * q->z.v[0][k]);
    }
  }
  lcplug_workspace_free(workspace);
}
END_TEST

/* A bound that follows its normal: y is what is left of mu x_n, and H takes it to z as its element
 * and that in the normal's column say. */
START_TEST(coupled_pairs_follow_their_normal) {
  rng r = {23};
  force_set set = {.kind = SET_COUPLED, .first = 2, .rows = 1, .normal = 0, .mu = {0.6}};
  lcplug_workspace *workspace = lcplug_workspace_create();
  for (int trial = 0; trial < 100; trial++) {
    double normal = rng_between(&r, 0.5, 2.0), E, right[3] = {0}, z[2];
    double x[3] = {normal, 7.0, rng_between(&r, -0.59, 0.59) * normal}, dx[3] = {-1.0, 5.0, 0.3};
    const double signs[] = {-1.0, 1.0};
    cone_pairs p;
    ck_assert(lcplug_pairs_begin(&p, 2, 1, workspace));
    for (int k = 0; k < 2; k++)
      lcplug_pairs_add_coupled(&p, &set, signs[k], x, z[k] = rng_magnitude(&r, -2, 2));
    pair_quad *q = p.quad;
    p.kernels->scale(q, p.quads, 1);
    p.kernels->wish(q, p.quads, 1.0, 0, right);
    p.kernels->spread(q, p.quads, 0, dx);
    for (int k = 0; k < 2; k++) {
      ck_assert_double_eq_tol(q->y.v[0][k], 0.6 * x[0] + signs[k] * x[2], 1e-14);
      lcplug_pair_block(&p, k, &E);
      double w = E * x[2] + lcplug_pair_coupling(&p, k) * x[0];
      ck_assert_double_le(fabs(w - signs[k] * z[k]), 1e-12 * (fabs(w) + E));
      ck_assert_double_eq_tol(q->dy[0][k], 0.6 * dx[0] + signs[k] * dx[2], 1e-14);
    }
    ck_assert(q->dy[0][2] == 0.0 && q->dz[0][2] == 0.0 && q->t[0][3] == 0.0); /* nobody */
  }
  lcplug_workspace_free(workspace);
}
END_TEST

/* The root of the product of the determinants: y . z in the middle, 0 on an edge. */
static double middle_of(const pair_quad *q, int k) {
  double y = q->y.gap[k] * (2.0 * q->y.v[0][k] - q->y.gap[k]);
  double z = q->z.gap[k] * (2.0 * q->z.v[0][k] - q->z.gap[k]);
  return sqrt(y) * sqrt(z);
}

static double product_of(const pair_quad *q, int k) {
  double sum = 0.0;
  for (int i = 0; i < 3; i++) sum += q->y.v[i][k] * q->z.v[i][k];
  return sum;
}

/* A step as long as allowed has one of four pairs on its edge, and 0.99 of it has all inside. */
START_TEST(pairs_stay_inside) {
  rng r = {19};
  lcplug_workspace *workspace = lcplug_workspace_create();
  for (int trial = 0; trial < 300; trial++) {
    cone_pairs p;
    double dx[FOUR_ROWS], right[FOUR_ROWS] = {0}, nearest = INFINITY;
    random_pairs(&r, &p, pow(10.0, rng_between(&r, -6.0, 1.0)), 1, workspace);
    for (int i = 0; i < FOUR_ROWS; i++) dx[i] = rng_between(&r, -3, 3);
    p.kernels->scale(p.quad, 1, 1);
    p.kernels->wish(p.quad, 1, 0.025 * p.kernels->product(p.quad, 1, 0.0), 0, right);
    double most = p.kernels->spread(p.quad, 1, 0, dx);
    ck_assert_double_gt(most, 0.0);
    if (!(most < 1e6)) continue;
    pair_quad before = *p.quad, edge = before, *q = p.quad;
    p.kernels->move(&edge, 1, 0, most);
    p.kernels->move(q, 1, 0, 0.99 * most);
    for (int k = 0; k < 4; k++) {
      ck_assert(q->y.gap[k] > 0.0 && q->z.gap[k] > 0.0);
      double length = hypot(q->y.v[1][k], q->y.v[2][k]);
      ck_assert_double_le(fabs(q->y.v[0][k] - length - q->y.gap[k]), 1e-12 * q->y.v[0][k]);
      nearest = fmin(nearest, middle_of(&edge, k) / (middle_of(&before, k) + product_of(&edge, k)));
    }
    ck_assert_double_le(nearest, 1e-3);
  }
  lcplug_workspace_free(workspace);
}
END_TEST

/* A natural step takes w along a straight line, however much the slip turns on the way, and may go
 * until the normal part of some w is 0 or some force is on its edge. */
START_TEST(natural_steps_are_straight) {
  rng r = {37};
  lcplug_workspace *workspace = lcplug_workspace_create();
  for (int trial = 0; trial < 300; trial++) {
    cone_pairs p;
    double dx[FOUR_ROWS], right[FOUR_ROWS] = {0}, w[3][FOUR_ROWS] = {{0}};
    random_pairs(&r, &p, pow(10.0, rng_between(&r, -6.0, 1.0)), 1, workspace);
    for (int i = 0; i < FOUR_ROWS; i++) dx[i] = rng_between(&r, -3, 3);
    p.kernels->scale(p.quad, 1, 1);
    p.kernels->wish(p.quad, 1, 0.025 * p.kernels->product(p.quad, 1, 0.0), 0, right);
    double most = fmin(p.kernels->spread(p.quad, 1, 1, dx), 1e3);
    ck_assert_double_gt(most, 0.0);
    for (int k = 0; k < 3; k++) {
      pair_quad q = *p.quad;
      p.kernels->move(&q, 1, 1, 0.495 * k * most);
      p.kernels->take_velocities(&q, 1, 1, w[k]);
      for (int l = 0; l < 4; l++) ck_assert(q.y.gap[l] > 0.0 && q.z.gap[l] > 0.0);
    }
    for (int i = 0; i < FOUR_ROWS; i++) {
      double size = fabs(w[0][i]) + fabs(w[2][i]);
      ck_assert_double_le(fabs(w[0][i] - 2.0 * w[1][i] + w[2][i]), 1e-12 * size);
    }
  }
  lcplug_workspace_free(workspace);
}
END_TEST

/* Gondzio's corrector leaves alone what is in balance, and pulls a product that a longer step would
 * lose, or drive too high, towards the others: here z alone moves, so y o z follows t. */
START_TEST(correctors_bring_products_back) {
  rng r = {29};
  lcplug_workspace *workspace = lcplug_workspace_create();
  for (int trial = 0; trial < 100; trial++) {
    cone_pairs p;
    double target = rng_magnitude(&r, -3, 3);
    random_pairs(&r, &p, 1.0, 1, workspace);
    pair_quad *q = p.quad;
    for (int k = 0; k < 4; k++) { /* y o z = 1, 0.2, 200 and 0.01 targets */
      const double times[] = {1.0, 0.2, 200.0, 0.01};
      double det = q->y.gap[k] * (2.0 * q->y.v[0][k] - q->y.gap[k]);
      double size = times[k] * target / det;
      for (int i = 0; i < 3; i++) q->z.v[i][k] = (i ? -size : size) * q->y.v[i][k];
      q->z.gap[k] = size * q->y.gap[k];
    }
    memset(q->dy, 0, sizeof q->dy);
    memset(q->dz, 0, sizeof q->dz);
    memset(q->second, 0, sizeof q->second);
    p.kernels->scale(q, 1, 0);
    p.kernels->balance(q, 1, target, 0.5);
    for (int i = 0; i < 3; i++) q->z.v[i] += q->second[i];
    const double wanted[] = {1.0, 0.2, 190.0, 0.1}; /* down by no more than ten targets */
    for (int k = 0; k < 4; k++)
      ck_assert_double_eq_tol(product_of(q, k) / target, wanted[k], 1e-9 * wanted[k]);
  }
  lcplug_workspace_free(workspace);
}
END_TEST

/* Both instruction sets give the same bits. */
START_TEST(pairs_are_the_same_on_any_processor) {
  rng r = {31};
  lcplug_workspace *workspace = lcplug_workspace_create();
  const pair_kernels *kernels[] = {lcplug_pair_kernels(), lcplug_pair_kernels_portable()};
  for (int trial = 0; trial < 100; trial++) {
    cone_pairs p;
    pair_quad after[2];
    double dx[FOUR_ROWS], right[2][FOUR_ROWS] = {{0}}, reach[2];
    random_pairs(&r, &p, pow(10.0, rng_between(&r, -6.0, 1.0)), trial % 2, workspace);
    for (int i = 0; i < FOUR_ROWS; i++) dx[i] = rng_between(&r, -3, 3);
    for (int set = 0; set < 2; set++) {
      const pair_kernels *k = kernels[set];
      pair_quad *q = &after[set];
      *q = *p.quad;
      k->scale(q, 1, trial % 2);
      k->wish(q, 1, 0.1, 0, right[set]);
      k->spread(q, 1, trial / 2 % 2, dx);
      k->set_second_order(q, 1);
      k->balance(q, 1, 0.1, 0.5);
      k->wish(q, 1, 0.1, 1, right[set]);
      reach[set] = k->spread(q, 1, trial / 2 % 2, dx);
      k->move(q, 1, trial / 2 % 2, 0.5 * fmin(reach[set], 1.0));
    }
    ck_assert_double_eq(reach[0], reach[1]);
    ck_assert_mem_eq(right[0], right[1], sizeof right[0]);
    ck_assert_mem_eq(&after[0], &after[1], sizeof after[0]);
  }
  lcplug_workspace_free(workspace);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("cones");
  TCase *paper = support_case(suite, "on paper"), *random = support_case(suite, "random");
  TCase *odd = support_case(suite, "odd");
  tcase_add_test(paper, coulomb_on_one_contact);
  tcase_add_test(paper, cone_on_one_contact);
  tcase_add_test(paper, cone_of_two_dimensions);
  tcase_add_test(paper, no_friction_and_endless_friction);
  tcase_add_test(paper, rolling_rows);
  tcase_add_test(random, elliptic_cones);
  tcase_add_loop_test(random, cones_among_joints, 0, 2);
  tcase_add_loop_test(random, piles, 0, 4);
  tcase_add_test(random, w_is_what_apgd_finds);
  tcase_add_loop_test(random, short_and_general_way_agree, 0, 2);
  tcase_add_loop_test(random, what_sticks_is_solved_as_boxes, 0, 2);
  tcase_add_loop_test(random, what_barely_slides_starts_from_boxes, 0, 2);
  tcase_add_test(random, piles_that_jam_take_few_steps);
  tcase_add_loop_test(random, large_piles_pass_what_jams, 0, 2);
  tcase_add_test(odd, redundant_contacts);
  tcase_add_loop_test(odd, singular_matrices, 0, 2);
  tcase_add_test(odd, one_workspace_for_all_sizes);
  tcase_add_loop_test(odd, solving_again_takes_no_memory, 0, 2);
  tcase_add_test(odd, endless_friction_holds_what_opens);
  tcase_add_test(odd, endless_friction_holds_no_more_than_it_must);
  tcase_add_loop_test(odd, piles_with_endless_friction, 0, 6);
  tcase_add_loop_test(odd, endless_friction_takes_few_steps, 0, 2);
  tcase_add_loop_test(odd, small_endless_friction_is_boxes, 0, 2);
  tcase_add_test(odd, no_solution_is_said);
  tcase_add_loop_test(odd, captured_problems_are_solved, 0, 5);
  tcase_add_loop_test(odd, redundant_contacts_take_few_steps, 0, REDUNDANT);
  tcase_add_test(odd, wild_numbers_stay_finite);
  tcase_add_test(odd, time_limit_is_kept);
  tcase_add_test(odd, asymmetric_matrices);
  tcase_add_loop_test(odd, lu_solves_what_it_was_given, 0, 5);
  tcase_add_test(odd, lu_tells_the_sign_of_the_determinant);
  tcase_add_loop_test(odd, newton_steps_lead_downhill, 0, 8);
  tcase_add_test(random, small_answers_are_judged_as_the_model_does);
  tcase_add_test(random, one_contact_slides_in_one_step);
  tcase_add_loop_test(odd, pairs_are_scaled, 0, 2);
  tcase_add_test(odd, coupled_pairs_follow_their_normal);
  tcase_add_test(odd, pairs_stay_inside);
  tcase_add_test(odd, natural_steps_are_straight);
  tcase_add_test(odd, correctors_bring_products_back);
  tcase_add_test(odd, pairs_are_the_same_on_any_processor);
  return support_run(suite);
}
