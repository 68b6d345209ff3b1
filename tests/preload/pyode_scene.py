"""A pyode program: boxes and balls fall on a floor and on one another; prints where they lie.

Python opens the ode module with RTLD_LOCAL, so libode is not in the process's global symbols.
usage: pyode_scene.py [STEPS [quick]]
"""
import sys

import ode


def build(world, space):
    bodies = []
    for i in range(12):
        body, mass = ode.Body(world), ode.Mass()
        if i % 3 == 2:
            mass.setSphereTotal(1.0, 0.3)
            geom = ode.GeomSphere(space, 0.3)
        else:
            mass.setBoxTotal(1.0, 0.5, 0.5, 0.5)
            geom = ode.GeomBox(space, (0.5, 0.5, 0.5))
        body.setMass(mass)
        body.setPosition((0.04 * (i % 4), 0.03 * (i % 5), 0.35 + 0.62 * i))
        geom.setBody(body)
        bodies.append((body, geom))
    return bodies


def near(arguments, first, second):
    world, group = arguments
    for contact in ode.collide(first, second):
        contact.setMu(0.5)
        contact.setMode(ode.ContactApprox1)
        ode.ContactJoint(world, group, contact).attach(first.getBody(), second.getBody())


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    world, space, group = ode.World(), ode.HashSpace(), ode.JointGroup()
    step = world.quickStep if "quick" in sys.argv else world.step
    world.setGravity((0, 0, -9.81))
    world.setCFM(1e-5)
    floor = ode.GeomPlane(space, (0, 0, 1), 0)
    bodies = build(world, space)
    for _ in range(steps):
        space.collide((world, group), near)
        step(0.01)
        group.empty()
    for i, (body, _) in enumerate(bodies):
        numbers = tuple(body.getPosition()) + tuple(body.getQuaternion())
        print("body", i, *("%.17g" % number for number in numbers))
    del floor


main()
