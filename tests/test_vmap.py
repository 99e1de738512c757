"""vmap: every form of in_axes and out_axes, and what it says when they do not fit."""

import numpy as np
import pytest
from programs import MAT, XS
from worlds import OURS, same, same_error

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

# ---- axes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("out_axis", [0, 1, -1, 2, -3])
@pytest.mark.parametrize("in_axis", [0, 1, 2, -1, -2])
def test_one_axis_in_and_out(in_axis, out_axis):
    """Every axis of an array of rank 3."""
    same(lambda jax: jax.vmap(lambda x: x * 2.0, in_axis, out_axis)(CUBE))
    same(lambda jax: jax.vmap(lambda x: x.T @ x, in_axis, out_axis)(CUBE))


IN_AXES = {
    "tuple": (lambda x, y: x + y, (0, 1), (MAT, MAT)),
    "list": (lambda x, y: x + y, [0, None], (MAT, XS)),
    "None": (lambda x, y: x + y, (None, 0), (2.0, XS)),
    "dict": (lambda d: d["a"] * d["b"], ({"a": 0, "b": None},), ({"a": XS, "b": 2.0},)),
    "prefix": (lambda d, y: d["a"] * d["b"] + y, (0, None), ({"a": XS, "b": XS}, 1.0)),
    "nested": (lambda t: t[0] * t[1][0], ((0, (1, None)),), ((XS, (MAT, 2.0)),)),
    "None in a tree": (lambda t: t[0], (0,), ((XS, None),)),
    "int for all": (lambda x, y, z: x * y + z, 0, (XS, XS, XS)),
    "negative": (lambda x, y: x[0] * y, (-1, -2), (MAT, CUBE[0])),
}


@pytest.mark.parametrize("name", IN_AXES)
def test_in_axes(name):
    """Ints, tuples, lists, dicts, prefixes of trees."""
    f, in_axes, args = IN_AXES[name]
    same(lambda jax: jax.vmap(f, in_axes)(*args))
    same(lambda jax: jax.jit(jax.vmap(f, in_axes))(*args))


def test_out_axes_of_trees():
    """A tree of axes, a prefix, None for what does not vary."""

    def f(x, y):
        return {"a": x * y, "b": (y, 2.0)}

    axes = {"a": 1, "b": (None, None)}
    same(lambda jax: jax.vmap(f, (0, None), axes)(MAT, 3.0))
    same(lambda jax: jax.vmap(f, (0, 0), {"a": -1, "b": 0})(MAT, MAT))
    same(lambda jax: jax.vmap(lambda x: (x, 1.0, jax.numpy.ones(2)), out_axes=(1, 0, -1))(MAT))
    same(lambda jax: jax.vmap(lambda x: None)(XS))


def test_keyword_arguments_are_mapped():
    """Over their first axis, whatever in_axes says."""
    same(lambda jax: jax.vmap(lambda x, y: x * y)(XS, y=XS))
    same(lambda jax: jax.vmap(lambda x, y: x * y, in_axes=(None,))(2.0, y=XS))
    same(lambda jax: jax.vmap(lambda *, x: x["a"] + 1)(x={"a": XS}))
    same(lambda jax: jax.vmap(lambda x, y=2.0: x * y)(XS))


def test_axis_size():
    """Needed where nothing is mapped."""
    same(lambda jax: jax.vmap(lambda x: x * 2.0, in_axes=None, axis_size=3)(2.0))
    same(lambda jax: jax.vmap(lambda: 1.5, axis_size=2)())
    same(lambda jax: jax.vmap(lambda x: x, axis_size=3)(XS))
    same_error(lambda jax: jax.vmap(lambda x: x, axis_size=4)(XS), "axis_size", "4", "3")


def test_nested_and_decorated():
    """Outer products, partial application, methods."""

    class Scale:
        factor = 2.0

        def __call__(self, x):
            return x * self.factor

        def method(self, x, y):
            return x * self.factor + y

    def outer(jax):
        return jax.vmap(jax.vmap(lambda x, y: x * y, (None, 0)), (0, None))(XS, MAT[0])

    same(outer)
    same(lambda jax: jax.vmap(Scale())(XS))
    same(lambda jax: jax.vmap(Scale().method, (0, None))(XS, 1.0))
    same(lambda jax: jax.vmap(jax.jit(jax.grad(lambda x: x**3)))(XS))


def test_empty_batches():
    """A batch of size 0 has results of size 0."""
    same(lambda jax: jax.vmap(lambda x: x * 2.0)(np.zeros((0, 3), np.float32)))
    same(lambda jax: jax.vmap(lambda x: jax.numpy.sum(x))(np.zeros((0, 3), np.float32)))


# ---- errors -------------------------------------------------------------------------------------


def pair(x, y):
    return x, y


def test_sizes_differ():
    """A table of arguments, axes and sizes, and what to do."""
    text = same_error(lambda jax: jax.vmap(pair)(XS, MAT[:2]), "inconsistent sizes")
    assert "x" in text and "y" in text and "size 3" in text and "size 2" in text
    assert "float32[2,3]" in text and "None in in_axes" in text
    same_error(lambda jax: jax.vmap(pair, (0, 1))(MAT[:2], CUBE), "inconsistent")
    text = same_error(lambda jax: jax.vmap(lambda d: d)({"a": XS, "b": MAT[:2]}), "inconsistent")
    assert "d['a']" in text and "d['b']" in text
    same_error(lambda jax: jax.vmap(lambda *xs: xs)(XS, MAT[:2], XS), "inconsistent")
    same_error(lambda jax: jax.vmap(pair)(XS, y=MAT[:2]), "inconsistent")


def test_the_axis_does_not_exist():
    """Scalars have no axis to map over."""
    text = same_error(lambda jax: jax.vmap(lambda x: x)(2.0), "rank", "at least 1")
    assert "axis 0" in text
    same_error(lambda jax: jax.vmap(lambda x: x, 2)(MAT), "rank", "at least 3")
    same_error(lambda jax: jax.vmap(lambda x: x, -3)(MAT), "rank")
    same_error(lambda jax: jax.vmap(pair)(XS, 2.0), "rank")


def test_nothing_is_mapped():
    """At least one axis, or axis_size."""
    same_error(lambda jax: jax.vmap(lambda x: x, None)(XS), "at least one non-None")
    same_error(lambda jax: jax.vmap(pair, (None, None))(XS, XS), "at least one non-None")


def test_in_axes_do_not_fit():
    """Their number, their types, their structure."""
    same_error(lambda jax: jax.vmap(pair, (0,))(XS, XS), "len(in_axes)=1", "len(args)=2")
    same_error(lambda jax: jax.vmap(pair, (0, 0, 0))(XS, XS), "len(in_axes)=3")
    same_error(lambda jax: jax.vmap(pair, "x")(XS, XS), "in_axes", "int")
    same_error(lambda jax: jax.vmap(pair, (0, 1.0))(XS, XS), "in_axes", "int")
    same_error(lambda jax: jax.vmap(lambda d: d, ({"a": 0},))({"b": XS}), "in_axes")
    same_error(lambda jax: jax.vmap(lambda t: t, ((0, 0),))((XS, XS, XS)), "in_axes")


def test_out_axes_do_not_fit():
    """None for an output that varies; a structure of its own; an axis that does not exist."""
    same_error(lambda jax: jax.vmap(lambda x: x, out_axes=None)(XS), "out_axes", "None")
    same_error(lambda jax: jax.vmap(pair, out_axes=(0, 0, 0))(XS, XS), "out_axes")
    same_error(lambda jax: jax.vmap(lambda x: x, out_axes="y")(XS), "out_axes")
    same_error(lambda jax: jax.vmap(lambda x: x, out_axes=1)(XS), "axis 1", "out of bounds")
    same_error(lambda jax: jax.vmap(lambda x: x, out_axes=-2)(XS), "axis -2", "out of bounds")


def test_functions_and_arrays_are_expected():
    """vmap(f(x)) and vmap(f)("text")."""
    same_error(lambda jax: jax.vmap(2.0), "callable")
    same_error(lambda jax: jax.vmap(lambda x: x)("text"), "text")
    same_error(lambda jax: jax.vmap(lambda x: "text")(XS), "text")


# ---- names --------------------------------------------------------------------------------------


def test_collectives_of_every_kind():
    """Sums, extremes, the index and the size of a named axis."""

    def run(name):
        def f(jax):
            reduce = getattr(jax.lax, name)
            return jax.vmap(lambda x: reduce(x, "i"), axis_name="i")(MAT)

        same(f)

    for name in ("psum", "pmax", "pmin", "pmean"):
        run(name)
    same(lambda jax: jax.vmap(lambda x: x + jax.lax.axis_index("i"), axis_name="i")(XS))
    same(lambda jax: jax.vmap(lambda x: x * jax.lax.axis_size("i"), axis_name="i")(XS))


def test_axis_names_are_scoped():
    """An inner axis hides an outer one of the same name; outside there is none."""

    def hidden(jax):
        row = jax.vmap(lambda y: jax.lax.psum(y, "i"), axis_name="i")
        return jax.vmap(row, axis_name="i")(MAT)

    same(hidden)
    same_error(lambda jax: jax.vmap(lambda x: jax.lax.psum(x, "j"), axis_name="i")(XS), "j")
    same_error(lambda jax: jax.lax.axis_index("i"), "unbound axis name: i")
    with pytest.raises(NameError, match="axis_name"):
        OURS.lax.axis_index("i")
