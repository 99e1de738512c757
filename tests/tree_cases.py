"""Pytrees known to jax.tree_util and to tinyjax.tree_util, and how to compare the two."""

import collections
import dataclasses

import jax.tree_util as jax_tree_util
import pytest
from hypothesis import strategies as st

from tinyjax import tree_util

LIBRARIES = (jax_tree_util, tree_util)
Point = collections.namedtuple("Point", "x y")
OtherPoint = collections.namedtuple("OtherPoint", "x y")


# ------------------------------------------------------------------- classes known to both


class Box:
    """A node without key names whose metadata are fixed."""

    def __init__(self, *items):
        self.items = items

    def __repr__(self):
        return f"Box{self.items}"

    def tree_flatten(self):
        return self.items, ("aux", 1)

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


class Keyed:
    """A node that names its children, one of them by a key class of its own."""

    def __init__(self, a, b, tag=None):
        self.a, self.b, self.tag = a, b, tag

    def __repr__(self):
        return f"Keyed({self.a}, {self.b}, {self.tag})"


class Tagged:
    """A node whose metadata are whatever the test gives."""

    def __init__(self, tag, *items):
        self.tag, self.items = tag, items

    def __repr__(self):
        return f"Tagged({self.tag!r}, {self.items})"

    def tree_flatten(self):
        return iter(self.items), self.tag

    @classmethod
    def tree_unflatten(cls, aux, children):
        assert type(children) is tuple
        return cls(aux, *children)


class Mode(str):
    """A static value."""


@dataclasses.dataclass
class Layer:
    """A dataclass with a static field."""

    weight: object
    bias: object
    name: str = dataclasses.field(metadata={"static": True}, default="q")


@dataclasses.dataclass
class Plain:
    """A dataclass without static fields."""

    a: object
    b: object


@dataclasses.dataclass
class Dropping:
    """A dataclass with a field that is not carried over."""

    a: object
    b: int = 4


class BadResult:
    """Flattens to nonsense."""

    def tree_flatten(self):
        return 5

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls()


class BadChildren(BadResult):
    """Flattens to children that cannot be iterated."""

    def tree_flatten(self):
        return 3, 1


for lib in LIBRARIES:
    for cls in (Box, Tagged, BadResult, BadChildren):
        assert lib.register_pytree_node_class(cls) is cls
    lib.register_pytree_with_keys(
        Keyed,
        lambda k, lib=lib: (((lib.GetAttrKey("a"), k.a), ("b!", k.b)), k.tag),
        lambda tag, children: Keyed(*children, tag),
    )
    assert lib.register_static(Mode) is Mode
    assert lib.register_dataclass(Layer) is Layer
    lib.register_dataclass(Plain, data_fields=["b", "a"], meta_fields=[])
    lib.register_dataclass(Dropping, ["a"], [], drop_fields=["b"])


# -------------------------------------------------------------------------------- harness


def outcome(case, lib):
    """What a case does with a library: its printed result or its exception."""
    try:
        return repr(case(lib)), None
    except Exception as error:
        return None, error


def agree(case):
    """Both libraries return, and print the same."""
    expected, error = outcome(case, jax_tree_util)
    assert error is None, error
    assert outcome(case, tree_util) == (expected, None)


def both_raise(case, *words):
    """Both libraries raise the same class and say the same key words; ours is returned."""
    _, expected = outcome(case, jax_tree_util)
    _, error = outcome(case, tree_util)
    assert expected is not None and type(error) is type(expected), (expected, error)
    for word in words:
        assert word in str(expected), (word, str(expected))
        assert word in str(error), (word, str(error))
    return str(error)


def make_trees():
    """One of every kind of tree; leaves are ints and strings."""
    ordered = collections.OrderedDict(b=1, a=2)
    default = collections.defaultdict(list, b=1, a=2)
    return [
        1,
        "leaf",
        None,
        (),
        [],
        {},
        (1,),
        [None],
        (1, 2, [3]),
        {"b": [2, None], "a": 1},
        {1: 2, 1.5: 3},
        {(1, 2): 3},
        {True: 1},
        {"a'b": 1, 'x"\n': 2, "é": 3},
        {b"x": 1},
        {None: 1},
        Point(1, (2, None)),
        ordered,
        collections.OrderedDict(),
        default,
        collections.defaultdict(None, z=1),
        collections.defaultdict(list),
        Box(1, [2]),
        Box(),
        Keyed(1, (2, 3), "t"),
        Tagged("s", 1, 2),
        Tagged(("q", 1.0, b"x", True), 1),
        Tagged([1], 2),
        Layer(1, {"k": 2}, "name"),
        Plain(1, 2),
        Mode("fast"),
        (1, {"n": [Point(Layer(1, None), Box(ordered, default)), Mode("m")]}),
        collections.deque([1]),
        {1, 2},
    ]


TREES = pytest.mark.parametrize("example", make_trees(), ids=repr)


# ------------------------------------------------------------------------- random programs

KEYS = st.one_of(st.text("abc_'", max_size=3), st.just("w"))
LEAVES = st.one_of(st.integers(0, 9), st.just(None), st.floats(0, 1), st.text("xy", max_size=2))


def containers(children):
    """Containers of every class around children."""
    mappings = st.dictionaries(KEYS, children, max_size=3)
    return st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        mappings,
        st.dictionaries(st.integers(-2, 2), children, max_size=3),
        mappings.map(collections.OrderedDict),
        mappings.map(lambda d: collections.defaultdict(list, d)),
        st.builds(Point, children, children),
        st.builds(Box, children, children),
        st.builds(Keyed, children, children, st.sampled_from([None, 1, True, 1.0])),
        st.builds(Layer, children, children, st.sampled_from(["q", "r"])),
        st.builds(Tagged, st.sampled_from(["s", 1, True, (1.0, "x")]), children),
    )


RANDOM_TREES = st.recursive(LEAVES, containers, max_leaves=12)
