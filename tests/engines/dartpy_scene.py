"""A dartpy program that knows nothing of lcplug; prints what tests/engines/physics.h describes.

usage: dartpy_scene.py tower|slope
"""
import math
import sys

import dartpy as dart

GRAVITY = 9.81
STEP = 0.002


def add_box(world, size, at, friction, free=True):
    skeleton = dart.dynamics.Skeleton("body%d" % world.getNumSkeletons())
    create = (skeleton.createFreeJointAndBodyNodePair if free
              else skeleton.createWeldJointAndBodyNodePair)
    joint, body = create()
    shape = dart.dynamics.BoxShape(size)
    node = body.createShapeNode(shape)
    node.createCollisionAspect()
    node.createDynamicsAspect().setFrictionCoeff(friction)
    a, b, c = (side * side / 12 for side in size)
    body.setMomentOfInertia(b + c, a + c, a + b)
    pose = dart.math.Isometry3()
    pose.set_translation(at)
    joint.setTransformFromParentBodyNode(pose)
    world.addSkeleton(skeleton)
    return body


def measured(what, value, expected, margin):
    right = abs(value - expected) <= margin
    print("right" if right else "wrong", what, value, "expected", expected)
    return right


def place(body):
    return body.getWorldTransform().translation()


def tower(world):
    bodies = [add_box(world, [1, 1, 1], [0.02 * i, 0, 0.5 + i], 0.5) for i in range(4)]
    for _ in range(200):
        world.step()
    right = [measured("height of the box", place(body)[2], 0.5 + i, 0.02)
             for i, body in enumerate(bodies)]
    return bodies, all(right)


def slope(world):
    mus, angle, steps = (0.2, 0.4, 0.55, 0.7), math.radians(30), 300
    bodies = [add_box(world, [1, 1, 0.2], [0, 3 * i, 0.1], mu) for i, mu in enumerate(mus)]
    world.setGravity([GRAVITY * math.sin(angle), 0, -GRAVITY * math.cos(angle)])
    for _ in range(steps):
        world.step()
    right = []
    for mu, body in zip(mus, bodies):
        along = max(0, math.sin(angle) - mu * math.cos(angle))
        far = 0.5 * GRAVITY * along * (steps * STEP) ** 2
        right.append(measured("way down the slope", place(body)[0], far, 0.01 + 0.03 * far))
    return bodies, all(right)


def main():
    scenes = {"tower": tower, "slope": slope}
    if len(sys.argv) != 2 or sys.argv[1] not in scenes:
        sys.exit("usage: dartpy_scene.py tower|slope")
    world = dart.simulation.World()
    world.setTimeStep(STEP)
    world.setGravity([0, 0, -GRAVITY])
    world.getConstraintSolver().setCollisionDetector(dart.collision.DARTCollisionDetector())
    add_box(world, [100, 100, 1], [0, 0, -0.5], 1.0, free=False)
    bodies, right = scenes[sys.argv[1]](world)
    for i, body in enumerate(bodies):
        quaternion = body.getWorldTransform().quaternion().wxyz()
        print("body", i, *("%.17g" % number for number in (*place(body), *quaternion)))
    sys.exit(0 if right else 1)


main()
