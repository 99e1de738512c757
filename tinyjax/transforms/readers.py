"""Readers: small generated functions that take the arguments of a call apart.

A jitted function is mostly called with arguments of one structure, over and over. A reader knows
that structure: where `tree_flatten` looks at each container and asks what it is, a reader expects
the containers and leaf types that were there the last time, and says None if they are not. For
`f([w, b], 0.1)` the lines are, in essence:

    def read(args, kwargs):
        [v0, v1] = args
        if type(v0) is not list: return None
        [v2, v3] = v0
        if type(v1) is not float: return None
        if type(v2) is not Array: return None
        if type(v3) is not Array: return None
        if kwargs: return None
        v1 = lift(v1)
        x1, x2, x3 = v1.npy, v2.npy, v3.npy
        return [v2, v3, v1], (flags().trace_key, x2.dtype, x2.shape, v2.weak_type, ...)
"""

import functools
import itertools

import numpy as np

from tinyjax.array import Array, KeyArray, lift
from tinyjax.config import current_flags

ARRAYS = {Array, KeyArray}
LIFTED = {bool, int, float, complex, np.ndarray, np.float32, np.float64, np.int32, np.int64}


class Fixed:
    """In the place of a static argument: the reader wants an equal one, of the same type."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        same_type = type(other) is Fixed and type(self.value) is type(other.value)
        return same_type and self.value == other.value

    def __hash__(self):
        return hash(self.value)


def reader(in_tree, leaves):
    """The reader for calls like this one; None if a leaf is neither a plain array nor a number.

    in_tree: the structure of (args, kwargs). leaves: what stands at the leaves; static arguments
    are leaves, too, wrapped in Fixed.

    A reader takes args and kwargs. It returns None if they are of another kind, and otherwise the
    leaves as Arrays, and what tells programs for arguments of this structure apart.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.tree_util import tree_flatten
    >>> leaves, tree = tree_flatten((({"w": jnp.ones(3)}, 0.5), {}))
    >>> read = reader(tree, leaves)
    >>> read(({"w": jnp.zeros(2)}, 1.0), {})[0]
    [Array([0., 0.], dtype=float32), Array(1., dtype=float32, weak_type=True)]
    >>> read(([jnp.zeros(2)], 1.0), {}) is None
    True
    """
    kinds = tuple([x if type(x) is Fixed else type(x) for x in leaves])
    if all(type(k) is Fixed or k in ARRAYS | LIFTED for k in kinds):
        return make_reader(in_tree, kinds)
    return None


@functools.lru_cache(1024)
def make_reader(in_tree, kinds):
    """The reader for a structure with leaves of these kinds: types, or fixed values."""
    writer = Writer(kinds)
    args, kwargs = in_tree.children()
    writer.take_apart("args", args)
    if kwargs.num_leaves:
        writer.take_apart("kwargs", kwargs)
    elif len(kwargs) == 1:
        writer.tests.append("kwargs")
    else:
        return None
    return writer.finish()


class Writer:
    """Writes the lines of a reader."""

    def __init__(self, kinds):
        self.kinds, self.lines, self.tests = iter(kinds), [], []
        self.leaves = []  # (name, type) of the leaves that are not fixed, from left to right
        self.space = {"lift": lift, "flags": current_flags}
        self.space |= {t.__name__: t for t in ARRAYS | LIFTED}
        self.numbers = itertools.count()

    def constant(self, value):
        """A name for an object that the reader compares with or calls."""
        name = f"k{len(self.space)}"
        self.space[name] = value
        return name

    def take_apart(self, name, treedef):
        """Lines that give the children of a container names, and theirs."""
        data = treedef[-1]
        if data is None:
            return self.leaf(name, next(self.kinds))
        kind, aux, arity = data
        children = [f"v{next(self.numbers)}" for _ in range(arity)]
        names = ", ".join(children)
        cls = self.constant(kind.cls)
        self.lines.append(f"if type({name}) is not {cls}: return None")
        if kind.cls is dict:
            self.lines.append(f"if len({name}) != {arity}: return None")
            for child, key in zip(children, aux):
                self.lines.append(f"{child} = {name}[{self.constant(key)}]")
        elif kind.cls in (tuple, list):
            self.lines.append(f"[{names}] = {name}")
        else:
            flatten, same = self.constant(kind.flatten), self.constant(aux)
            self.lines.append(f"[{names}], aux = {flatten}({name})")
            self.lines.append(f"if aux != {same}: return None")
        for child, inner in zip(children, treedef.children()):
            self.take_apart(child, inner)
        return None

    def leaf(self, name, kind):
        """The test of what a leaf must be."""
        if type(kind) is Fixed:
            cls, same = self.constant(type(kind.value)), self.constant(kind.value)
            self.tests.append(f"type({name}) is not {cls} or {name} != {same}")
        else:
            self.leaves.append((name, kind))
            self.tests.append(f"type({name}) is not {kind.__name__}")

    def finish(self):
        """The function."""
        lines = [*self.lines, *[f"if {test}: return None" for test in self.tests]]
        names, key = [], ["flags().trace_key"]
        for k, (name, cls) in enumerate(self.leaves):
            if cls in LIFTED:
                lines.append(f"{name} = lift({name})")
            lines.append(f"x{k} = {name}.npy")
            names.append(name)
            key.append(f"x{k}.dtype, x{k}.shape, {name}.weak_type")
        lines.append(f"return [{', '.join(names)}], ({', '.join(key)},)")
        body = "\n".join("        " + line for line in lines)
        caught = "    except (KeyError, TypeError, ValueError):\n        return None"
        text = f"def read(args, kwargs):\n    try:\n{body}\n{caught}\n"
        exec(compile(text, "<reader of arguments>", "exec"), self.space)
        return self.space["read"]


@functools.lru_cache(1024)
def builder(out_tree):
    """A function from the leaves of a result to the result, faster than tree_unflatten.

    >>> from tinyjax.tree_util import tree_flatten
    >>> _, tree = tree_flatten({"a": 1, "b": [2, None]})
    >>> builder(tree)([3, 4])
    {'a': 3, 'b': [4, None]}
    """
    space: dict = {}
    names = [f"v{k}" for k in range(out_tree.num_leaves)]
    unpack = f"[{', '.join(names)}] = leaves" if names else "pass"
    text = f"def build(leaves):\n    {unpack}\n    return {rebuilt(out_tree, iter(names), space)}\n"
    exec(compile(text, "<builder of results>", "exec"), space)
    return space["build"]


def rebuilt(treedef, names, space):
    """The text of an expression with this structure."""
    data = treedef[-1]
    if data is None:
        return next(names)
    kind, aux, _ = data
    children = [rebuilt(child, names, space) for child in treedef.children()]
    if kind.cls is tuple:
        return f"({''.join(c + ', ' for c in children)})"
    if kind.cls is list:
        return f"[{', '.join(children)}]"
    if kind.cls is dict:
        pairs = []
        for key, child in zip(aux, children):
            pairs.append(f"k{len(space)}: {child}")
            space[f"k{len(space)}"] = key
        return f"{{{', '.join(pairs)}}}"
    for value in (kind.unflatten, aux):
        space[f"k{len(space)}"] = value
    return f"k{len(space) - 2}(k{len(space) - 1}, ({''.join(c + ', ' for c in children)}))"
