"""Pytrees against the oracle: every case runs in jax.tree_util and in tinyjax.tree_util."""

import collections
import copy
import gc
import pickle
import weakref

import jax.tree
import jax.tree_util as jax_tree_util
import numpy as np
import pytest
from hypothesis import given, settings
from tree_cases import (
    LIBRARIES,
    RANDOM_TREES,
    TREES,
    Keyed,
    Mode,
    OtherPoint,
    Point,
    Tagged,
    agree,
    both_raise,
    make_trees,
)

from tinyjax import tree, tree_util

# ------------------------------------------------------------------ structure and flattening


@TREES
def test_flatten_and_everything_that_describes_a_treedef(example):
    agree(lambda lib: lib.tree_flatten(example))
    agree(lambda lib: lib.tree_leaves(example))
    agree(lambda lib: lib.tree_structure(example))
    agree(lambda lib: str(lib.tree_structure(example)))
    agree(lambda lib: lib.tree_structure(example).node_data())
    agree(lambda lib: lib.tree_structure(example).children())
    agree(lambda lib: lib.treedef_children(lib.tree_structure(example)))
    agree(lambda lib: lib.tree_structure(example).num_leaves)
    agree(lambda lib: lib.tree_structure(example).num_nodes)
    agree(lambda lib: lib.treedef_is_leaf(lib.tree_structure(example)))
    agree(lambda lib: lib.all_leaves([example, 1]))
    agree(lambda lib: lib.is_tree_node(type(example)))


@TREES
def test_round_trip_keeps_classes(example):
    agree(lambda lib: lib.tree_map(lambda x: [x, 0], example))
    leaves, treedef = tree_util.tree_flatten(example)
    again = tree_util.tree_unflatten(treedef, leaves)
    assert repr(tree_util.tree_structure(again)) == repr(treedef)
    assert type(again) is type(example)
    assert treedef == tree_util.tree_structure(again)
    assert hash(treedef) == hash(tree_util.tree_structure(again))


@TREES
def test_key_paths(example):
    agree(lambda lib: lib.tree_flatten_with_path(example))
    agree(lambda lib: lib.tree_leaves_with_path(example))

    def strings(lib, **options):
        return [lib.keystr(path, **options) for path, _ in lib.tree_leaves_with_path(example)]

    agree(strings)
    agree(lambda lib: strings(lib, simple=True, separator="/"))
    agree(lambda lib: strings(lib, separator="|"))
    agree(lambda lib: lib.tree_map_with_path(lambda p, x: (lib.keystr(p), x), example))


@TREES
def test_paths_and_plain_flattening_have_equal_treedefs(example):
    treedef = tree_util.tree_structure(example)
    with_path = tree_util.tree_flatten_with_path(example)[1]
    assert with_path == treedef and hash(with_path) == hash(treedef)


@TREES
def test_treedefs_pickle_and_copy(example):
    treedef = tree_util.tree_structure(example)
    for other in (pickle.loads(pickle.dumps(treedef)), copy.deepcopy(treedef)):
        assert other == treedef and hash(other) == hash(treedef)


@TREES
def test_flatten_one_level(example):
    def one_level(lib, function):
        children, meta = function(example)
        return list(children), meta

    if tree_util.is_tree_node(type(example)):
        agree(lambda lib: one_level(lib, lib.flatten_one_level))
        # The oracle gives all children of a namedtuple the name of the first.
        if not isinstance(example, Point):
            agree(lambda lib: one_level(lib, lib.flatten_one_level_with_keys))
    else:
        both_raise(lambda lib: lib.flatten_one_level(example), "can't tree-flatten type", "class")


def test_equality_and_hash_of_treedefs_match_the_oracle():
    examples = [*make_trees(), [1, 2], (5, 6), {"a": 0, "b": [1, None]}, {1: 2}, {1.0: 2}]
    examples += [
        OtherPoint(1, (2, None)),
        collections.OrderedDict(a=1, b=2),
        Tagged(1),
        Tagged(1.0),
    ]
    for a in examples:
        for b in examples:
            agree(lambda lib, a=a, b=b: lib.tree_structure(a) == lib.tree_structure(b))
            if tree_util.tree_structure(a) == tree_util.tree_structure(b):
                assert hash(tree_util.tree_structure(a)) == hash(tree_util.tree_structure(b))
    assert tree_util.tree_structure(1) != "*"


def test_subclasses_of_containers_are_leaves_but_namedtuples_are_nodes():
    class MyList(list):
        pass

    class MyDict(dict):
        pass

    class MyTuple(tuple):
        pass

    class MyPoint(collections.namedtuple("Base", "x y")):
        pass

    class Fields(tuple):
        _fields = ("a", "b")

    agree(lambda lib: lib.tree_flatten([MyList([1]), MyDict(a=1), MyTuple((1,))]))
    agree(lambda lib: lib.tree_flatten_with_path([MyPoint(1, 2), Fields((3, 4))]))


def test_a_registered_namedtuple_follows_its_registration():
    late = collections.namedtuple("Late", "x y")
    agree(lambda lib: lib.tree_flatten(late(1, 2)))
    for lib in LIBRARIES:
        lib.register_pytree_node(
            late, lambda v: ((v.x,), v.y), lambda y, children: late(children[0], y)
        )
    agree(lambda lib: lib.tree_flatten(late(1, 2)))
    agree(lambda lib: lib.tree_map(lambda x: x + 1, late(1, 2)))


def test_is_leaf():
    for example in (None, [1, None, (2, None)], {"a": (1, 2), "b": [3]}):
        agree(lambda lib, e=example: lib.tree_flatten(e, is_leaf=lambda x: x is None))
        agree(lambda lib, e=example: lib.tree_flatten(e, is_leaf=lambda x: isinstance(x, tuple)))
        agree(lambda lib, e=example: lib.tree_flatten(e, lambda x: True))
        agree(lambda lib, e=example: lib.tree_flatten(e, lambda x: None))
        agree(lambda lib, e=example: lib.tree_structure(e, is_leaf=lambda x: x is None))
        agree(
            lambda lib, e=example: lib.tree_flatten_with_path(
                e, is_leaf=lambda x: isinstance(x, (tuple, list))
            )
        )
        agree(
            lambda lib, e=example: lib.tree_flatten_with_path(
                e, is_leaf=lambda p, x: len(p) == 1, is_leaf_takes_path=True
            )
        )

    def asked(lib):
        seen = []
        lib.tree_leaves([1, (2, None)], is_leaf=lambda x: seen.append(x))
        return seen

    agree(asked)
    for answer in (0, 3, np.bool_(True)):
        both_raise(
            lambda lib, a=answer: lib.tree_leaves([1], is_leaf=lambda x: a),
            "is_leaf predicate returned a non-boolean value",
        )
    agree(lambda lib: lib.all_leaves([1, [2]], is_leaf=lambda x: isinstance(x, list)))
    agree(lambda lib: lib.all_leaves([1, None], is_leaf=lambda x: x is None))
    agree(lambda lib: lib.all_leaves([1, 2, None]))


def test_keys_that_do_not_sort_are_named():
    message = both_raise(lambda lib: lib.tree_leaves({"x": {1: 7, "y": 42}}), "sorting", "keys")
    assert "[1, 'y']" in message and "one type" in message
    both_raise(lambda lib: lib.tree_flatten_with_path({1: 7, "y": 42}), "sorting pytree dict")
    default = collections.defaultdict(list, {1: 7, "y": 42})
    assert "[1, 'y']" in both_raise(lambda lib: lib.tree_leaves(default))


def test_unflatten_counts_leaves():
    def unflatten(example, leaves):
        return lambda lib: lib.tree_structure(example).unflatten(leaves)

    agree(lambda lib: lib.tree_structure((1, [2])).unflatten(x for x in "ab"))
    agree(lambda lib: lib.tree_unflatten(lib.tree_structure({"b": 1, "a": 2}), [1, (2,)]))
    both_raise(unflatten((1, 2), [1]), "Too few leaves for PyTreeDef; expected 2, got 1")
    both_raise(unflatten((1, 2), [1, 2, 3]), "Too many leaves for PyTreeDef; expected 2")
    both_raise(unflatten(None, [1]), "Too many leaves for PyTreeDef; expected 0")
    both_raise(unflatten((1, 2), 5))
    both_raise(lambda lib: lib.tree_unflatten([1, 2], lib.tree_structure((1, 2))))


def test_treedef_tuple_and_compose():
    agree(lambda lib: lib.treedef_tuple([lib.tree_structure(1), lib.tree_structure((1, [2]))]))
    agree(lambda lib: lib.treedef_tuple([]))
    assert tree_util.treedef_tuple([]) == tree_util.tree_structure(())
    pair = tree_util.treedef_tuple([tree_util.tree_structure({"a": 1})] * 2)
    assert pair == tree_util.tree_structure(({"a": 1}, {"a": 2}))
    assert hash(pair) == hash(tree_util.tree_structure(({"a": 1}, {"a": 2})))
    with pytest.raises(TypeError, match="treedef_tuple needs PyTreeDefs, got 1"):
        tree_util.treedef_tuple([1])
    for outer in make_trees():
        agree(lambda lib, o=outer: lib.tree_structure(o).compose(lib.tree_structure([1, None])))


# ------------------------------------------------------------------- metadata of treedefs


def test_keys_that_are_merely_equal_are_not_confused():
    for keys in ([1, True, 1.0], [(1, "a"), (True, "a")], [0.0, -0.0], [Mode("a"), "a"]):
        for key in keys:
            agree(lambda lib, k=key: lib.tree_map(lambda x: x, {k: 0}))
            agree(lambda lib, k=key: lib.tree_map(lambda x: x, Tagged(k, 0)))
            agree(lambda lib, k=key: lib.tree_structure({k: 0}))
    for key in (Mode("b"), "b"):
        result = tree_util.tree_map(lambda x: x, {"a": 1, key: 2})
        assert [type(k) for k in result] == [str, type(key)]


def test_flattening_keeps_no_metadata_alive():
    class Captured:
        pass

    def flatten_a_closure():
        captured = Captured()
        tree_util.tree_structure([tree_util.Partial(lambda x: (captured, x), 1)])
        return weakref.ref(captured)

    reference = flatten_a_closure()
    gc.collect()
    assert reference() is None


def test_treedefs_of_large_trees():
    big = list(range(10_000))
    assert tree_util.tree_structure(big) == tree_util.tree_structure(big)


# ----------------------------------------------------------------------------------- maps


def test_tree_map_over_several_trees():
    def pairs(*trees, **options):
        agree(lambda lib: lib.tree_map(lambda *xs: xs, *trees, **options))

    pairs((1, 2), (3, [4, 5]))
    pairs((1, None), (2, None))
    pairs({"a": 1}, {"a": [2]}, {"a": {"z": 1}})
    pairs([None, 1], [2, 3], is_leaf=lambda x: x is None)
    pairs(Keyed(1, 2), Keyed(3, (4, 5)))
    pairs(5, {"any": "thing"})
    pairs({"b": 1, "a": 2}, {"a": 3, "b": 4})
    agree(
        lambda lib: lib.tree_map_with_path(
            lambda p, x, y: (lib.keystr(p), x, y), [1, {"a": 2}], [3, {"a": 4}]
        )
    )
    agree(
        lambda lib: lib.tree_map_with_path(
            lambda p, x: (lib.keystr(p), x), [1, None], is_leaf=lambda x: x is None
        )
    )
    both_raise(lambda lib: lib.tree_map(lambda x, y: x / y, [1], [0]))


def test_transpose():
    def transpose(lib, outer, inner, example):
        inner = None if inner is None else lib.tree_structure(inner)
        return lib.tree_transpose(lib.tree_structure(outer), inner, example)

    pairs = [(1, 2, 3), (4, 5, 6)]
    agree(lambda lib: transpose(lib, [0, 0], (0, 0, 0), pairs))
    agree(lambda lib: transpose(lib, [0, 0], None, pairs))
    agree(lambda lib: transpose(lib, {"a": 0, "b": 0}, None, {"a": {"k": 1}, "b": {"k": 2}}))
    both_raise(lambda lib: transpose(lib, [0, 0], (0, 0), pairs), "Mismatch", "[(*, *), (*, *)]")
    both_raise(lambda lib: transpose(lib, [0, 0], None, [(1, 2, 3), (4, 5)]), "Mismatch")
    both_raise(lambda lib: transpose(lib, [], None, []))


def test_reductions():
    def add(a, b):
        return a + b

    def join(a, b):
        return f"({a}+{b})"

    agree(lambda lib: lib.tree_reduce(add, [1, (2, 3)]))
    agree(lambda lib: lib.tree_reduce(join, list("abcd"), "i"))
    agree(lambda lib: lib.tree_reduce(add, [], 0))
    agree(lambda lib: lib.tree_reduce(lambda a, b: [a, b], [1, 2], None))
    agree(lambda lib: lib.tree_reduce(add, [(1,), (2,)], is_leaf=lambda x: isinstance(x, tuple)))
    both_raise(lambda lib: lib.tree_reduce(add, []), "empty iterable with no initial value")
    for n in range(1, 12):
        agree(lambda lib, n=n: lib.tree_reduce_associative(join, list(range(n))))
    agree(lambda lib: lib.tree_reduce_associative(join, [], identity="i"))
    agree(lambda lib: lib.tree_reduce_associative(join, [], identity=None))
    agree(lambda lib: lib.tree_reduce_associative(join, ["a"], identity="i"))
    both_raise(lambda lib: lib.tree_reduce_associative(join, []), "specify identity", "empty")
    for example in ([True, 0], [], [True, (1, "x")], None):
        agree(lambda lib, e=example: lib.tree_all(e))
    agree(lambda lib: lib.tree_all([True, None], is_leaf=lambda x: x is None))


# ----------------------------------------------------------------------------- short names


def test_tree_has_the_short_names():
    names = [n for n in dir(jax.tree) if not n.startswith("_")]
    assert sorted(tree.__all__) == names
    for name in sorted(set(names) - {"static"}):
        assert getattr(tree, name) is getattr(tree_util, f"tree_{name}")
    missing = {n for n in dir(jax_tree_util) if n[0] != "_"} - {"default_registry"}
    assert missing - set(dir(tree_util)) == set()


# ------------------------------------------------------------------------- random programs


@settings(max_examples=150, deadline=None)
@given(RANDOM_TREES)
def test_random_trees_agree_with_the_oracle(example):
    agree(lambda lib: lib.tree_flatten(example))
    agree(lambda lib: lib.tree_flatten(example, is_leaf=lambda x: x is None))
    agree(lambda lib: lib.tree_flatten_with_path(example))
    agree(lambda lib: lib.tree_map(lambda x: (x, x), example))
    leaves, treedef = tree_util.tree_flatten(example)
    rebuilt = tree_util.tree_unflatten(treedef, leaves)
    assert tree_util.tree_structure(rebuilt) == treedef
    assert all(x is y for x, y in zip(tree_util.tree_leaves(rebuilt), leaves, strict=True))
    assert tree_util.broadcast_prefix(0, example) == [0] * treedef.num_leaves
