/* host_dlopen.c - a program that is not linked with libode: a plugin host, say.
 *
 * usage: host_dlopen LIBODE ROUNDS.  Each round opens the library with RTLD_LOCAL, runs a scene
 * through function pointers, prints the poses and closes the library. */
#include <dlfcn.h>
#include <math.h>
#include <ode/ode.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS(X)                                                                               \
  X(dInitODE2) X(dCloseODE) X(dWorldCreate) X(dWorldDestroy) X(dWorldSetGravity) X(dWorldSetCFM)   \
  X(dWorldStep) X(dHashSpaceCreate) X(dSpaceDestroy) X(dSpaceCollide) X(dCollide) X(dCreatePlane)  \
  X(dCreateBox) X(dCreateSphere) X(dGeomSetBody) X(dGeomGetBody) X(dBodyCreate) X(dBodySetMass)    \
  X(dBodySetPosition) X(dBodyGetPosition) X(dBodyGetQuaternion) X(dMassSetBoxTotal)                \
  X(dMassSetSphereTotal) X(dJointGroupCreate) X(dJointGroupEmpty) X(dJointGroupDestroy)            \
  X(dJointCreateContact) X(dJointAttach) X(dAllocateODEDataForThread)

/* Only the types of the declarations are used: no symbol of libode is referenced. */
#define POINTER(name) __typeof__(&name) name##_;
static struct { FUNCTIONS(POINTER) } ode;

static int load_functions(void *library) {
#define LOAD(name)                                                                                 \
  ode.name##_ = (__typeof__(&name))dlsym(library, #name);                                          \
  if (!ode.name##_) return 0;
  FUNCTIONS(LOAD)
  return 1;
}

enum { BODIES = 8 };
static dWorldID world;
static dJointGroupID contacts;

static void add_contacts(void *data, dGeomID first, dGeomID second) {
  dContact contact[4];
  (void)data;
  int count = ode.dCollide_(first, second, 4, &contact[0].geom, sizeof *contact);
  for (int i = 0; i < count; i++) {
    contact[i].surface = (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5};
    ode.dJointAttach_(ode.dJointCreateContact_(world, contacts, &contact[i]),
                      ode.dGeomGetBody_(first), ode.dGeomGetBody_(second));
  }
}

static dBodyID add_body(dSpaceID space, int i) {
  dMass mass;
  dBodyID body = ode.dBodyCreate_(world);
  if (i % 3 == 2) {
    ode.dMassSetSphereTotal_(&mass, 1, 0.3);
    ode.dGeomSetBody_(ode.dCreateSphere_(space, 0.3), body);
  } else {
    ode.dMassSetBoxTotal_(&mass, 1, 0.5, 0.5, 0.5);
    ode.dGeomSetBody_(ode.dCreateBox_(space, 0.5, 0.5, 0.5), body);
  }
  ode.dBodySetMass_(body, &mass);
  ode.dBodySetPosition_(body, 0.03 * (i % 4), 0.02 * (i % 5), 0.3 + 0.6 * i);
  return body;
}

static int run_scene(int round) {
  int finite = 1;
  dBodyID body[BODIES];
  if (!ode.dInitODE2_(0) || !ode.dAllocateODEDataForThread_(dAllocateMaskAll)) return 0;
  world = ode.dWorldCreate_();
  contacts = ode.dJointGroupCreate_(0);
  dSpaceID space = ode.dHashSpaceCreate_(0);
  ode.dWorldSetGravity_(world, 0, 0, -9.81);
  ode.dWorldSetCFM_(world, 1e-5);
  ode.dCreatePlane_(space, 0, 0, 1, 0);
  for (int i = 0; i < BODIES; i++) body[i] = add_body(space, i);
  for (int step = 0; step < 60; step++) {
    ode.dSpaceCollide_(space, NULL, add_contacts);
    ode.dWorldStep_(world, 0.01);
    ode.dJointGroupEmpty_(contacts);
  }
  for (int i = 0; i < BODIES; i++) {
    const dReal *at = ode.dBodyGetPosition_(body[i]), *q = ode.dBodyGetQuaternion_(body[i]);
    printf("body %d %.17g %.17g %.17g  %.17g %.17g %.17g %.17g\n", round * BODIES + i, at[0], at[1],
           at[2], q[0], q[1], q[2], q[3]);
    finite &= isfinite(at[0]) && isfinite(at[1]) && isfinite(at[2]);
  }
  ode.dJointGroupDestroy_(contacts);
  ode.dSpaceDestroy_(space);
  ode.dWorldDestroy_(world);
  ode.dCloseODE_();
  return finite;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: host_dlopen LIBODE ROUNDS\n");
    return 2;
  }
  for (int round = 0; round < atoi(arguments[2]); round++) {
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library || !load_functions(library)) {
      fprintf(stderr, "host_dlopen: %s\n", dlerror());
      return 1;
    }
    if (!run_scene(round)) return 3;
    dlclose(library);
  }
  return 0;
}
