"""Key objects, registration of classes and Partial against the oracle."""

import dataclasses

import pytest
from tree_cases import LIBRARIES, BadChildren, BadResult, Dropping, Layer, Plain, agree, both_raise

from tinyjax import tree, tree_util

# ------------------------------------------------------------------------------ key objects


def test_keys_compare_hash_and_print_as_the_oracles():
    for name, argument in (
        ("SequenceKey", 1),
        ("DictKey", "a"),
        ("DictKey", 3),
        ("GetAttrKey", "a"),
        ("FlattenedIndexKey", 2),
    ):
        agree(lambda lib, n=name, a=argument: getattr(lib, n)(a))
        agree(lambda lib, n=name, a=argument: str(getattr(lib, n)(a)))
        key = getattr(tree_util, name)
        assert key(argument) == key(argument) and hash(key(argument)) == hash(key(argument))
    agree(lambda lib: lib.DictKey(1) == lib.SequenceKey(1))
    agree(lambda lib: (lib.SequenceKey(3).idx, lib.DictKey(3).key))
    agree(lambda lib: (lib.GetAttrKey("w").name, lib.FlattenedIndexKey(3).key))
    agree(lambda lib: lib.keystr((lib.DictKey("a"), "b", 3), simple=True, separator="."))
    agree(lambda lib: lib.keystr(()))


# ---------------------------------------------------------------------------- registration


def test_registration_errors():
    class Once:
        pass

    def register(nodetype):
        return lambda lib: lib.register_pytree_node(nodetype, lambda x: ((), None), lambda *_: 0)

    agree(register(Once))
    for nodetype in (Once, list, type(None), dict):
        both_raise(register(nodetype), "Duplicate custom PyTreeDef type registration", "class")
    both_raise(lambda lib: lib.register_static(Once), "Duplicate")
    both_raise(lambda lib: lib.register_pytree_node(set, 1, 2))
    both_raise(lambda lib: lib.register_pytree_node_class(Once), "tree_unflatten")
    with pytest.raises(TypeError, match="flatten_func must be a function, got 1"):
        tree_util.register_pytree_node(set, 1, 2)
    with pytest.raises(TypeError, match="nodetype must be a class, got 3"):
        tree_util.register_pytree_node(3, len, len)


def test_bad_flatten_functions():
    both_raise(lambda lib: lib.tree_leaves(BadResult()), "(children, aux_data) tuple, got 5")
    both_raise(lambda lib: lib.tree_leaves(BadChildren()), "'children' is iterable, got (3, 1)")


def test_register_dataclass():
    agree(lambda lib: lib.tree_flatten_with_path(Layer(1, [2])))
    agree(lambda lib: lib.tree_map(lambda x: x + 1, Plain(1, 2)))
    agree(lambda lib: lib.tree_map(lambda x: x + 1, Dropping(1, 9)))
    both_raise(lambda lib: lib.tree_structure(Layer(1, 2)).flatten_up_to(1), "Layer", "value: 1.")

    class Keywords:
        def __init__(self, *, a, b):
            self.a, self.b = a, b

        def __repr__(self):
            return f"Keywords({self.a}, {self.b})"

    for lib in LIBRARIES:
        lib.register_dataclass(Keywords, data_fields=["a"], meta_fields=["b"])
    agree(lambda lib: lib.tree_map(lambda x: x + 1, Keywords(a=1, b=2)))
    agree(lambda lib: lib.tree_structure(Keywords(a=1, b=[2])))

    @dataclasses.dataclass
    class Fresh:
        a: int
        b: int
        c: int = dataclasses.field(init=False, default=0)

    def register(*args):
        return lambda lib: lib.register_dataclass(*args)

    both_raise(register(int), "required when", "not a dataclass", "int")
    both_raise(register(Fresh, ["a"]), "data_fields and meta_fields must both be specified")
    both_raise(register(Fresh, ["a"], []), "Missing fields", "'b'", "drop_fields")
    both_raise(register(Fresh, ["a", "b", "z"], []), "Unexpected fields", "'z'")
    both_raise(register(Fresh, ["a", "b"], ["a"]), "must not overlap", "'a'")
    both_raise(register(Fresh), "Unexpected fields", "'c'")


def test_static_field_helper():
    assert tree.static(default=1).metadata["static"] is True
    assert dict(tree.static(metadata={"a": 1}).metadata) == {"a": 1, "static": True}


def test_register_pytree_with_keys_class():
    for lib in LIBRARIES:

        @lib.register_pytree_with_keys_class
        class Special:
            def __init__(self, x, y):
                self.x, self.y = x, y

            def tree_flatten_with_keys(self, lib=lib):
                return ((lib.GetAttrKey("x"), self.x), (lib.GetAttrKey("y"), self.y)), "m"

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children)

        [first, second] = lib.tree_leaves_with_path(Special(1, [2]))
        assert lib.keystr(first[0]) == ".x" and lib.keystr(second[0]) == ".y[0]"
        assert repr(lib.tree_structure(Special(1, [2]))).startswith("PyTreeDef(CustomNode(Spec")
        assert lib.tree_map(lambda x: x + 1, Special(1, [2])).y == [3]


# --------------------------------------------------------------------------------- Partial


def test_partial():
    def subtract(a, b, c=0):
        return a - b - c

    agree(lambda lib: lib.Partial(max, 1, 2)())
    agree(lambda lib: lib.Partial(subtract, 5)(2, c=1))
    agree(lambda lib: lib.Partial(max, 1, key=abs))
    agree(lambda lib: lib.Partial(lib.Partial(max, 1), 2, k=3))
    agree(lambda lib: lib.Partial(lib.Partial(max, 1), 2)(0))
    agree(lambda lib: lib.tree_flatten(lib.Partial(max, 1, k=[2, None])))
    agree(lambda lib: lib.tree_flatten_with_path(lib.Partial(max, 1, k=2)))
    agree(lambda lib: lib.tree_leaves(lib.Partial(lib.Partial(max, 1), 2)))
    agree(lambda lib: lib.tree_map(lambda x: 10 * x, lib.Partial(max, 1, k=2)))
    agree(lambda lib: lib.tree_map(lambda x: 10 * x, lib.Partial(lib.Partial(subtract, 7), 2))(1))
    both_raise(lambda lib: lib.Partial(3), "callable")

    def equal(lib, make):
        return lib.tree_structure(make(lib)) == lib.tree_structure(make(lib))

    agree(lambda lib: equal(lib, lambda lib: lib.Partial(max, 1)))
    agree(lambda lib: equal(lib, lambda lib: lib.Partial(lib.Partial(max, 1), 2)))
    assert type(tree_util.tree_map(lambda x: x, tree_util.Partial(max, 1))) is tree_util.Partial
