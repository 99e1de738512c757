"""Prefix trees, mismatches and their messages against the oracle."""

import collections

import jax.tree_util as jax_tree_util
import pytest
from hypothesis import given, settings
from jax._src import api_util as jax_api_util
from jax._src import tree_util as jax_internal
from tree_cases import (
    RANDOM_TREES,
    Box,
    Layer,
    Mode,
    OtherPoint,
    Point,
    Tagged,
    agree,
    both_raise,
    outcome,
)

from tinyjax import tree_util
from tinyjax.transforms import flat

# ----------------------------------------------------------------------------- mismatches

MISMATCHES = [
    ((1, 2), (1,), ["lengths of tuple", "tree_map tree\n", "length 2", "length 1"]),
    ((1, (2, 3)), (1, (2,)), ["different lengths of tuple at key path\n    tree_map tree[1]\n"]),
    ({"c": [1, (2, 3)]}, {"c": [1, (2,)]}, ["tree_map tree['c'][1]\n"]),
    ((1, None), (1, 2), ["different types at key path\n    tree_map tree[1]", "NoneType", "int"]),
    ([1, 2], 3, ["different types at key path\n    tree_map tree\n", "'list'", "'int'"]),
    ([1], (1,), ["different types", "'list'", "'tuple'"]),
    (Point(1, 2), (1, 2), ["different types", "Point", "'tuple'"]),
    ((1, 2), Point(1, 2), ["different types", "Point", "'tuple'"]),
    (Point(1, 2), OtherPoint(1, 2), ["different types", "OtherPoint"]),
    ({"a": 1}, collections.OrderedDict(a=1), ["different types", "'dict'", "OrderedDict"]),
    ({"a": 1}, {"a": 1, "b": 2}, ["numbers of pytree children", "symmetric difference", "a", "b"]),
    ({"a": 1}, {"b": 2}, ["different pytree metadata at key path", "('a',)", "('b',)"]),
    ({"a": {3: 1}}, {"a": {4: 1}}, ["different pytree metadata", "tree_map tree['a']\n"]),
    (Mode("q"), Mode("r"), ["different pytree metadata", "Mode", "q", "r"]),
    (Box(1), Box(1, 2), ["different numbers of pytree children", "Box", "symmetric difference"]),
    (Layer(1, [2]), Layer(1, [2, 3]), ["different lengths of list", "tree_map tree.bias\n"]),
    (Layer(1, 2), Layer(1, 2, "z"), ["different pytree metadata", "('q',)", "('z',)"]),
    (Tagged(1, 2), Tagged(2, 2), ["different pytree metadata", "Tagged"]),
    (
        collections.OrderedDict(a=1, b=2),
        collections.OrderedDict(b=1, a=2),
        ["different pytree metadata", "('a', 'b')", "('b', 'a')"],
    ),
]


@pytest.mark.parametrize("first, second, words", MISMATCHES, ids=lambda x: str(x)[:40])
def test_mismatches_name_the_key_path_and_both_sides(first, second, words):
    both_raise(lambda lib: lib.tree_map(lambda x, y: x, first, second), "error", *words)
    both_raise(lambda lib: lib.tree_map(lambda x, y, z: x, first, first, second), *words)
    with_path = [w.replace("tree_map", "tree_map_with_path") for w in words]
    both_raise(lambda lib: lib.tree_map_with_path(lambda p, x, y: x, first, second), *with_path)
    broadcast = [w.replace("tree_map tree", "broadcast_prefix prefix_tree") for w in words]
    both_raise(lambda lib: lib.tree_broadcast(first, second), *broadcast)
    with pytest.raises(ValueError, match="different"):
        tree_util.broadcast_prefix(first, tree_util.tree_structure(second))
    assert outcome(lambda lib: lib.tree_structure(first).flatten_up_to(second), tree_util)[1]


def test_flatten_up_to():
    def up_to(first, second):
        return lambda lib: lib.tree_structure(first).flatten_up_to(second)

    agree(up_to((1, 2), (1, [2])))
    agree(up_to(1, None))
    agree(up_to({"a": 1, "b": 2}, {"b": 1, "a": 2}))
    both_raise(up_to((1, 2), (1,)), "Tuple arity mismatch: 1 != 2")
    both_raise(up_to([1, 2], [1]), "List arity mismatch: 1 != 2")
    both_raise(up_to((1, 2), [1, 2]), "Expected tuple, got [1, 2].")
    both_raise(up_to([1, 2], 5), "Expected list, got 5.")
    both_raise(up_to({"a": 1}, {"b": 2}), "Dict key mismatch; expected keys: ['a']", "['b']")
    both_raise(up_to({"a": 1}, 3), "Expected dict, got 3.")
    both_raise(up_to({"a": 1}, collections.OrderedDict(a=1)), "Expected dict, got OrderedDict")
    both_raise(up_to(Point(1, 2), (1, 2)), "Expected named tuple", "got (1, 2)")
    both_raise(up_to(Point(1, 2), OtherPoint(1, 2)), "Named tuple type mismatch", "OtherPoint")
    both_raise(up_to((1, None), (1, 2)), "Expected None, got 2", "is_leaf=lambda x: x is None")
    both_raise(up_to(Box(1), 1), "Custom node type mismatch: expected type", "Box", "value: 1.")
    both_raise(up_to(Box(1), Box(1, 2)), "Custom type arity mismatch: 2 != 1")
    both_raise(up_to(Mode("a"), Mode("b")), "Mismatch custom node data: ", "a", "b")
    both_raise(up_to(Layer(1, 2), Layer(1, 2, "z")), "node data: ('q',) != ('z',)")


# ------------------------------------------------------------------------------- prefixes


def test_broadcast():
    agree(lambda lib: lib.tree_broadcast((1, 2), ([1, 2], {"a": 3})))
    agree(lambda lib: lib.tree_broadcast(0, {"a": (1, None), "b": 2}))
    agree(lambda lib: lib.tree_broadcast((1, None), ([1, 2], 3), is_leaf=lambda x: x is None))
    both_raise(lambda lib: lib.tree_broadcast((1, None), ([1, 2], 3)), "prefix_tree[1]", "NoneType")


def test_broadcast_prefix_takes_trees_and_treedefs():
    cases = [
        ((1, None), ([1, 2], 3), lambda x: x is None),
        ((1, None), (1, None), None),
        (7, {"a": 1, "b": (2, 3)}, None),
        (Box(1, 2), Box([3, 4], 5), None),
        (Layer(0, None), Layer((1, 2), {"a": 3}), lambda x: x is None),
        ([], [], None),
    ]
    for prefix, full, is_leaf in cases:
        expected = jax_internal.broadcast_prefix(prefix, full, is_leaf=is_leaf)
        assert tree_util.broadcast_prefix(prefix, full, is_leaf) == expected
        treedef = tree_util.tree_structure(full)
        assert tree_util.broadcast_prefix(prefix, treedef, is_leaf) == expected
    with pytest.raises(
        ValueError, match=r"different lengths of tuple[\s\S]*prefix_tree\['c'\]\[1\]"
    ):
        tree_util.broadcast_prefix({"c": (1, (2, 3))}, {"c": (1, (2,))})
    with pytest.raises(ValueError, match=r"prefix_tree\[1\][\s\S]*'tuple'[\s\S]*pytree leaf"):
        tree_util.broadcast_prefix((1, (2, 3)), tree_util.tree_structure((1, 2)))


def test_flatten_axes():
    def run(api, lib, full, axes, **options):
        return api.flatten_axes("vmap in_axes", lib.tree_structure(full), axes, **options)

    for full, axes in (
        ((1, [2, 3]), (0, None)),
        ((1, [2, 3]), None),
        ((1, None), (0, 0)),
        ((1, None), (0, None)),
        (({"w": 1, "b": 2}, 3), ({"w": 0, "b": None}, -1)),
        ([1, (2, 3)], [0, (None, 1)]),
    ):
        expected = run(jax_api_util, jax_tree_util, full, axes)
        assert run(flat, tree_util, full, axes) == list(expected)
    for full, axes, words in (
        ((1, [2, 3]), (0, [1]), ["in_axes[1]", "lengths of list", "length 1", "length 2"]),
        ((1, [2, 3]), [0, None], ["different types", "'list'", "'tuple'", "argument list"]),
        (([2, 3],), [0, None], ["singleton tuple", "different types"]),
        (({"a": 2},), ({"b": 0},), ["different pytree metadata", "('a',)", "('b',)"]),
        ((1, 2), ((0,), None), ["vmap in_axes[0]", "'tuple'"]),
    ):
        with pytest.raises(ValueError) as expected:
            run(jax_api_util, jax_tree_util, full, axes, tupled_args=True)
        with pytest.raises(ValueError) as error:
            run(flat, tree_util, full, axes, tupled_args=True)
        for word in ["vmap in_axes specification must be a tree prefix", "found", *words]:
            assert word in str(expected.value) and word in str(error.value), (word, error.value)
    # None as an axis is a value, never the cause of a mismatch.
    with pytest.raises(ValueError, match=r"1 found"):
        run(flat, tree_util, (1, 2), ((0,), None))


def test_equality_errors():
    cases = [
        ([1, {"a": 1}], [1, {"b": (1,)}]),
        ([1, 2], [1]),
        ([1, 2], [1, (2,)]),
        (1, (1, 2)),
        (Layer(1, 2), Layer(1, 2, "z")),
        ({"a": [1, (2,)], "b": [3]}, {"a": [(1,), 2], "b": [3, 4]}),
        ((1, None), (1, 2)),
    ]
    for a, b in cases:
        expected = jax_internal.equality_errors_pytreedef(
            jax_tree_util.tree_structure(a), jax_tree_util.tree_structure(b)
        )
        errors = tree_util.equality_errors(tree_util.tree_structure(a), tree_util.tree_structure(b))
        assert repr(list(errors)) == repr(list(expected))
    [(path, left, right, why)] = tree_util.equality_errors({"a": 1}, {"a": 1, "b": 2})
    assert path == () and "1 child" in left and "2 children" in right
    assert "numbers of children do not match" in why and "{b}" in why
    assert list(tree_util.equality_errors({"a": [1, None]}, {"a": [2, None]})) == []


# ------------------------------------------------------------------------- random programs


@settings(max_examples=150, deadline=None)
@given(RANDOM_TREES, RANDOM_TREES)
def test_random_pairs_agree_on_prefixes_and_mismatches(first, second):
    agree(lambda lib: lib.tree_structure(first) == lib.tree_structure(second))
    agree(lambda lib: lib.treedef_tuple([lib.tree_structure(first), lib.tree_structure(second)]))
    for other in (second, tree_util.tree_map(lambda x: second, first)):
        expected, error = outcome(lambda lib, o=other: lib.tree_broadcast(first, o), jax_tree_util)
        ours, our_error = outcome(lambda lib, o=other: lib.tree_broadcast(first, o), tree_util)
        assert ours == expected and type(our_error) is type(error)
        if error is not None:
            assert str(our_error).splitlines()[0] == str(error).splitlines()[0]
            if "Point" not in repr(first):  # whose fields the oracle's key paths mix up
                assert str(our_error).splitlines()[1] == str(error).splitlines()[1]
