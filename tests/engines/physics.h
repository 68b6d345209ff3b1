// physics.h - what the programs of every engine print and judge by.
//
// A program builds one scene, steps it, prints the poses as lines "body INDEX position quaternion",
// and measures something whose right value is known from mechanics, not from another solver.  Exit
// status 0: right; 1: wrong; 2: wrong usage.
#ifndef LCPLUG_TESTS_ENGINES_PHYSICS_H
#define LCPLUG_TESTS_ENGINES_PHYSICS_H

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// A named scene: builds itself in the engine's `Scene`, steps it (0: as often as it likes), and
// tells whether what it measured is right.
template <class Scene> struct named_scene {
  const char *name;
  bool (*run)(Scene &, int steps);
};

// What main does: PROGRAM SCENE [STEPS].
template <class Scene, std::size_t Count>
int run_named(const named_scene<Scene> (&scenes)[Count], int count, char **arguments) {
  for (const auto &entry : scenes)
    if (count > 1 && !std::strcmp(arguments[1], entry.name)) {
      Scene scene;
      bool right = entry.run(scene, count > 2 ? std::atoi(arguments[2]) : 0);
      scene.print();
      return right ? 0 : 1;
    }
  std::fprintf(stderr, "usage: %s SCENE [STEPS], SCENE one of", arguments[0]);
  for (const auto &entry : scenes) std::fprintf(stderr, " %s", entry.name);
  std::fprintf(stderr, "\n");
  return 2;
}

inline void print_body(int index, double x, double y, double z, double qw, double qx, double qy,
                       double qz) {
  std::printf("body %d %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", index, x, y, z, qw, qx, qy,
              qz);
}

// Whether `value` is within `margin` of what mechanics says.  A NaN is not.
inline bool measured(const char *what, double value, double expected, double margin) {
  bool right = std::fabs(value - expected) <= margin;
  std::printf("%s %s: %.9g, expected %.9g within %.1g\n", right ? "right" : "wrong", what, value,
              expected, margin);
  return right;
}

// How far a box gets in `time` seconds on a slope of this angle, from rest.
inline double slide(double gravity, double angle, double mu, double time) {
  double along = std::sin(angle) - mu * std::cos(angle);
  return along > 0.0 ? 0.5 * gravity * along * time * time : 0.0;
}

#endif
