"""scipy.spatial.transform and scipy.optimize against the oracle."""

import jax
import jax.scipy.optimize
import jax.scipy.spatial.transform
import numpy as np
import pytest
from worlds import compare, same, same_error

import tinyjax

RNG = np.random.default_rng(9)
QUATS = RNG.normal(size=(5, 4)).astype(np.float32)
VECTORS = RNG.normal(size=(5, 3)).astype(np.float32)
LOCKED = np.float32([[0, 0, 0, 1], [0.5, 0.5, 0.5, 0.5], [0, np.sqrt(0.5), 0, np.sqrt(0.5)]])


def rotation(world, quats=QUATS):
    """Rotations of a world."""
    return world.scipy.spatial.transform.Rotation.from_quat(world.numpy.asarray(quats))


# ---- rotations ----------------------------------------------------------------------------------

FORMS = {
    "as_matrix": lambda r: r.as_matrix(),
    "as_mrp": lambda r: r.as_mrp(),
    "as_rotvec": lambda r: r.as_rotvec(),
    "as_rotvec in degrees": lambda r: r.as_rotvec(degrees=True),
    "as_quat": lambda r: r.as_quat(),
    "as_quat canonical": lambda r: r.as_quat(canonical=True),
    "as_quat scalar first": lambda r: r.as_quat(scalar_first=True),
    "inv": lambda r: r.inv().quat,
    "magnitude": lambda r: r.magnitude(),
    "product": lambda r: (r * r[::-1]).quat,
    "apply": lambda r: r.apply(VECTORS),
    "apply inverse": lambda r: r.apply(VECTORS, inverse=True),
    "one": lambda r: r[2].as_matrix(),
    "concatenate": lambda r: type(r).concatenate([r, r[:2]]).quat,
    "through a matrix": lambda r: type(r).from_matrix(r.as_matrix()).as_matrix(),
    "through a rotvec": lambda r: type(r).from_rotvec(r.as_rotvec()).as_matrix(),
    "through an mrp": lambda r: type(r).from_mrp(r.as_mrp()).as_matrix(),
    "identity": lambda r: type(r).identity().quat,
    "mean": lambda r: r.mean().as_matrix(),
    "weighted mean": lambda r: r.mean([1.0, 2.0, 0.5, 1.0, 3.0]).as_matrix(),
    "length": lambda r: len(r),
    "single": lambda r: (r.single, r[0].single),
}


@pytest.mark.parametrize("form", FORMS)
def test_rotation(form):
    got, want = (FORMS[form](rotation(w)) for w in (tinyjax, jax))
    compare(got, want)


@pytest.mark.parametrize("seq", ["xyz", "ZXZ", "yxz", "YZX"])
def test_euler_angles(seq):
    for quats in (QUATS, LOCKED):
        for degrees in (False, True):
            same(lambda w, q=quats, d=degrees: rotation(w, q).as_euler(seq, d), atol=1e-3)
    angles = np.float32([[0.3, -0.5, 1.0], [2.0, 0.1, -0.2]])
    for n in (1, 2, 3):
        same(
            lambda w, n=n: (
                type(rotation(w)).from_euler(seq[:n], w.numpy.asarray(angles[:, :n])).quat
            )
        )


def test_rotations_in_programs():
    def run(world):
        r = world.scipy.spatial.transform.Rotation
        f = lambda v: r.from_rotvec(v).apply(np.float32([1, 2, 3])).sum()
        return world.jit(f)(VECTORS[0]), world.grad(f)(VECTORS[0]), world.vmap(f)(VECTORS)

    same(run)


def test_slerp():
    def run(world):
        slerp = world.scipy.spatial.transform.Slerp.init(np.arange(5.0), rotation(world))
        return slerp(2.3).quat, slerp(np.float32([0.0, 0.5, 3.7])).as_matrix()

    same(run)


def test_errors_of_rotations():
    same_error(lambda w: rotation(w)[0][0], "subscriptable")
    same_error(lambda w: len(rotation(w)[0]), "len")
    same_error(lambda w: rotation(w).as_euler("xy"), "3 axes")
    same_error(lambda w: rotation(w).as_euler("xyX"), "seq")
    same_error(lambda w: rotation(w).as_euler("xxy"), "consecutive")
    same_error(lambda w: type(rotation(w)).from_euler("xyzx", 0.3), "3 characters")
    same_error(lambda w: rotation(w).mean([1.0]), "weights")
    slerp = lambda w, *args: w.scipy.spatial.transform.Slerp.init(*args)
    same_error(lambda w: slerp(w, [0.0], 3), "rotations")
    same_error(lambda w: slerp(w, [0.0], rotation(w)[:1]), "at least 2")
    same_error(lambda w: slerp(w, [0.0, 1.0], rotation(w)), "timestamps")
    same_error(lambda w: slerp(w, np.arange(5.0), rotation(w))(np.zeros((2, 2))), "times")


# ---- minimize -----------------------------------------------------------------------------------


def rosenbrock(jnp):
    """A narrow curved valley."""
    return lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(jnp):
    """Four minima."""
    return lambda p: (p[0] ** 2 + p[1] - 11.0) ** 2 + (p[0] + p[1] ** 2 - 7.0) ** 2


def bowl(jnp):
    """A flat bowl."""
    return lambda x: 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1]


CASES = [(rosenbrock, [0.0, 0.0]), (rosenbrock, [-1.2, 1.0, 0.5]), (himmelblau, [1.0, 1.0])]


@pytest.mark.parametrize("function, start", [*CASES, (bowl, [1.0, 1.0]), (bowl, [3.0, -2.0])])
def test_minimize(function, start):
    def run(world):
        f = function(world.numpy)
        minimize = world.scipy.optimize.minimize
        return world.jit(lambda x: minimize(f, x, method="BFGS"))(np.array(start))

    with jax.enable_x64(True), tinyjax.enable_x64(True):
        same(run)


def test_minimize_with_options():
    def run(world):
        f = lambda x, a: ((x - a) ** 4).sum()
        options = {"gtol": 1e-2, "maxiter": 3, "norm": 2, "line_search_maxiter": 5}
        x = world.numpy.zeros(2)
        return world.scipy.optimize.minimize(f, x, (2.0,), method="bfgs", options=options)

    same(run)


def test_errors_of_minimize():
    x = np.zeros(2, np.float32)
    run = lambda *args, **settings: lambda w: w.scipy.optimize.minimize(*args, **settings)
    same_error(run(lambda x: x.sum(), x, [1.0], method="BFGS"), "tuple")
    same_error(run(lambda x: x.sum(), x, method="other"), "method")
