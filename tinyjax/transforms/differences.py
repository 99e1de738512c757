"""How two calls of a jitted function differ, and what to write so that they do not."""

import functools
import inspect
import reprlib
from typing import NamedTuple

from tinyjax.array import is_arraylike
from tinyjax.avals import ShapedArray
from tinyjax.config import TRACED
from tinyjax.dtypes import TypePromotionError, lattice_result_type
from tinyjax.tree_util import equality_errors, keystr, tree_leaves_with_path
from tinyjax.treedef import PyTreeDef

SHOWN = 3  # differences that a message lists

# ---- arrays and trees ----------------------------------------------------------------------------


class Difference(NamedTuple):
    """One thing that is not as it was, and what to write."""

    what: str
    fix: str
    size: int = 1  # how many things are not the same: shape, dtype, weak type


def distance(found):
    """How far two calls are apart."""
    return sum([d.size for d in found])


def differences(fun, names, key, old, log=()):
    """The differences of a call from an earlier one. log: all earlier ones, for a type that suits
    all of them."""
    found = [*of_leaves(fun, names, key, old, log), *of_static(fun, key.static, old.key.static)]
    if key.axes != old.key.axes:
        fix = "the named axes around a call are part of its program; a trace for each is needed."
        found.append(Difference(f"named axes: {axes(old.key)} -> {axes(key)}", fix))
    for flag, was, now in zip(TRACED, old.key.flags, key.flags):
        if was != now:
            fix = f'jax.config.update("jax_{flag}", ...) once, before the first call.'
            found.append(Difference(f"flag {flag}: {was} -> {now}", fix))
    if key.devices != old.key.devices:
        fix = "choose num_devices once, before the first call."
        found.append(Difference(f"num_devices: {old.key.devices} -> {key.devices}", fix))
    return found


def axes(key):
    """The named axes of a key."""
    return ", ".join(f"{a.name!r} of size {a.size}" for a in key.axes) or "none"


def show(kind):
    """A type in words: float32[3] weak."""
    shape, dtype, weak = kind
    return f"{dtype.name}[{','.join(map(str, shape))}]{' weak' * weak}"


def of_leaves(fun, names, key, old, log=()):
    """What differs between the arrays of two calls."""
    now, was = leaf_types(names, key), leaf_types(old.names, old.key)
    types = [leaf_types(miss.names, miss.key) for miss in log]
    found = [
        Difference(
            f"{name}: {show(was[name])} -> {show(kind)}",
            leaf_fix(name, kind, was[name], [t[name] for t in types if name in t]),
            sum([a != b for a, b in zip(kind, was[name])]),
        )
        for name, kind in now.items()
        if name in was and kind != was[name]
    ]
    fix = "give arguments one structure: the same keys and lengths, an array instead of None."
    nones, old_nones = none_leaves(fun, key), none_leaves(fun, old.key)
    after = {n: show(kind) for n, kind in now.items()} | dict.fromkeys(nones, "None")
    before = {n: show(kind) for n, kind in was.items()} | dict.fromkeys(old_nones, "None")
    changed = [
        Difference(f"{n}: {before.get(n, 'absent')} -> {after.get(n, 'absent')}", fix)
        for n in dict.fromkeys([*before, *after])
        if (n not in now or n not in was) and before.get(n) != after.get(n)
    ]
    found += changed
    if key.in_tree != old.key.in_tree and not changed:
        found += list(of_structure(traced_parameters(fun, key), key.in_tree, old.key.in_tree))
    return found


def leaf_types(names, key):
    """Types by names."""
    if len(names) != len(key.types):
        names = [f"leaf {i}" for i in range(len(key.types))]
    return dict(zip(names, key.types))


def none_leaves(fun, key):
    """The names of the arguments, or of the places in them, that are None: not arrays."""
    nodes = [node for node in key.in_tree if node is None or is_none(node)]
    if len(nodes) == key.in_tree.num_leaves:
        return []
    full = PyTreeDef([None if node and is_none(node) else node for node in key.in_tree])
    params, names = traced_parameters(fun, key), []
    try:
        args, kwargs = full.unflatten(map(is_none, nodes))
    except Exception:  # a class of the user that takes no booleans
        return []
    for path, none in tree_leaves_with_path(args):
        first = path[0].idx
        top = params[first] if first < len(params) else f"args[{first}]"
        names += [top + keystr(path[1:])] * none
    for path, none in tree_leaves_with_path(kwargs):
        names += [path[0].key + keystr(path[1:])] * none
    return names


def is_none(node):
    """Whether a node of a treedef is that of None."""
    return node is not None and node[0].cls is type(None)


def common_dtype(kinds):
    """The dtype that all calls can have without loss, or None if there is none."""
    avals = [ShapedArray((), dtype, weak) for _, dtype, weak in kinds]
    try:
        return functools.reduce(
            lambda a, b: ShapedArray((), *lattice_result_type(a, b)), avals
        ).dtype
    except (TypePromotionError, ValueError):
        return None


def leaf_fix(name, now, was, others=()):
    """What keeps the type of an argument the same. others: those of all earlier calls."""
    (shape, dtype, weak), (old_shape, _, old_weak) = now, was
    if shape == old_shape and dtype.name.isidentifier():
        wanted = common_dtype([now, was, *[kind for kind in others if kind[0] == shape]])
        if wanted is None:
            return f"give {name} the same type in all calls, with astype."
        reason = " (a Python number has a weak type)" if weak or old_weak else ""
        new = f"jnp.asarray({name}, jnp.{wanted.name})"
        return f"give {name} the same type in all calls{reason}: {new}."
    if shape == old_shape:
        return f"make all {name} by the same function: jax.random.key or jax.random.PRNGKey."
    if shape[1:] == old_shape:
        return f"to map over the first axis of {name}: jax.vmap(f), which is traced once."
    return f"each shape is a program: pad {name} to one size (jnp.pad) and mask the rest."


def traced_parameters(fun, key):
    """The names of parameters that are not static."""
    fixed = {i for i, _ in key.static[0][0]} if key.static else ()
    return [name for i, name in enumerate(parameters(fun)) if i not in fixed]


def of_structure(params, now, was):
    """What differs between trees whose leaves have the same names."""
    (args, kwargs), (old_args, old_kwargs) = now.children(), was.children()
    if len(args.children()) != len(old_args.children()):
        fix = "give each argument the same way in all calls, by position or by keyword."
        for name in sorted({*keywords(kwargs)} ^ {*keywords(old_kwargs)}):
            ways = ["by position", "by keyword"]
            one, two = ways if name in keywords(kwargs) else ways[::-1]
            yield Difference(f"{name}: {one} -> {two}", fix)
        return
    for path, one, other, why in equality_errors(was, now):
        first = getattr(path[1], "idx", len(params)) if len(path) > 1 else len(params)
        place = params[first] + keystr(path[2:]) if first < len(params) else keystr(path)
        what = why if one == other else f"{plain(one)} -> {plain(other)}"
        yield Difference(f"{place}: {what}", "give arguments one structure, of the same classes.")


def keywords(kwargs):
    """The names of keyword arguments, from their treedef."""
    return kwargs.node_data()[1] if kwargs.num_leaves else []


def plain(text):
    """<class 'list'> -> list."""
    return text.replace("<class '", "").replace("'>", "")


def listed(found):
    """The differences as lines."""
    lines = [f"  {d.what}" for d in found[:SHOWN]]
    more = len(found) - SHOWN
    return [*lines, f"  and {more} more"] if more > 0 else lines


# ---- static values ------------------------------------------------------------------------------


def static_values(fun, static):
    """Static arguments by name."""
    if not static:
        return {}
    (by_position, by_name), _ = static
    params = parameters(fun)
    named = {params[i] if i < len(params) else f"args[{i}]": v for i, v in by_position}
    return named | dict(by_name)


def parameters(fun):
    """The names of parameters that may be given by position."""
    try:
        params = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def of_static(fun, static, old_static):
    """What differs between the static arguments of two calls."""
    now, was = static_values(fun, static), static_values(fun, old_static)
    found = []
    for name in [*now, *[n for n in was if n not in now]]:
        if name not in now or name not in was:
            one, two = brief_in(was, name), brief_in(now, name)
            fix = "give it in all calls or in none."
            found.append(Difference(f"{name} (static): {one} -> {two}", fix))
        elif type(now[name]) is not type(was[name]) or not same(now[name], was[name]):
            texts = [brief(was[name]), brief(now[name])]
            if type(now[name]) is not type(was[name]):
                texts = [f"{t} ({type(v[name]).__name__})" for t, v in zip(texts, (was, now))]
            elif texts[0] == texts[1]:
                texts[1] = f"another {texts[1]}"
            fix = static_fix(name, now[name])
            found.append(Difference(f"{name} (static): {texts[0]} -> {texts[1]}", fix))
    if not found and not same(static, old_static):
        fix = "give each argument the same way in all calls, by position or by keyword."
        found.append(Difference("static arguments by position and by keyword", fix))
    return found


def same(a, b):
    """Whether two static values are equal; not if nobody can tell."""
    try:
        return bool(a == b)
    except Exception:
        return False


def brief_in(values, name):
    """A value in words, or that there is none."""
    return brief(values[name]) if name in values else "absent"


def brief(value):
    """A value in a few words."""
    if is_arraylike(value) and hasattr(value, "shape"):
        return show((value.shape, value.dtype, False))
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    if " object at 0x" in repr(value):
        return f"{type(value).__name__} object"
    return reprlib.repr(value)


def static_fix(name, value):
    """What to do about a static value that is new."""
    kind = type(value)
    if not same(value, value):
        return f"{name} is not equal to itself, so it is never found: do not make it static."
    if inspect.isfunction(value):
        return f"a function is equal to itself only: make {name} once, outside of the loop."
    if kind.__eq__ is object.__eq__:
        return (
            f"{kind.__name__} is compared by identity: reuse one object, or give it __eq__ and "
            "__hash__ (@dataclass(frozen=True))."
        )
    return f"each static value is a program: let {name} be traced (no static_argnames) if it can."
