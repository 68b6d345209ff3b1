/* relink_app.c - a small ODE program for the recipes of doc/relink.md: boxes fall on a floor. */
#include <ode/ode.h>
#include <stdio.h>

static dWorldID world;
static dJointGroupID contacts;

static void add_contacts(void *data, dGeomID first, dGeomID second) {
  dContact contact[4];
  (void)data;
  int count = dCollide(first, second, 4, &contact[0].geom, sizeof *contact);
  for (int i = 0; i < count; i++) {
    contact[i].surface = (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5};
    dJointAttach(dJointCreateContact(world, contacts, &contact[i]), dGeomGetBody(first),
                 dGeomGetBody(second));
  }
}

int main(void) {
  enum { BODIES = 5 };
  dBodyID body[BODIES];
  dInitODE2(0);
  world = dWorldCreate();
  contacts = dJointGroupCreate(0);
  dSpaceID space = dHashSpaceCreate(0);
  dWorldSetGravity(world, 0, 0, -9.81);
  dWorldSetCFM(world, 1e-5);
  dCreatePlane(space, 0, 0, 1, 0);
  for (int i = 0; i < BODIES; i++) {
    dMass mass;
    dMassSetBoxTotal(&mass, 1, 0.5, 0.5, 0.5);
    body[i] = dBodyCreate(world);
    dBodySetMass(body[i], &mass);
    dBodySetPosition(body[i], 0.03 * i, 0.02 * (i % 3), 0.3 + 0.6 * i);
    dGeomSetBody(dCreateBox(space, 0.5, 0.5, 0.5), body[i]);
  }
  for (int step = 0; step < 60; step++) {
    dSpaceCollide(space, NULL, add_contacts);
    dWorldStep(world, 0.01);
    dJointGroupEmpty(contacts);
  }
  for (int i = 0; i < BODIES; i++) {
    const dReal *at = dBodyGetPosition(body[i]), *q = dBodyGetQuaternion(body[i]);
    printf("body %d %.17g %.17g %.17g  %.17g %.17g %.17g %.17g\n", i, at[0], at[1], at[2], q[0],
           q[1], q[2], q[3]);
  }
  dJointGroupDestroy(contacts);
  dSpaceDestroy(space);
  dWorldDestroy(world);
  dCloseODE();
  return 0;
}
