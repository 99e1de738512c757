"""Jacobians and Hessians: jvp or vjp, mapped over a basis."""

import functools

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.autodiff import check_argnums, check_callable, jvp, resolve_argnum, vjp
from tinyjax.mapping import vmap
from tinyjax.primitives.arithmetic import add, const, eq
from tinyjax.primitives.creation import broadcasted_iota
from tinyjax.primitives.linear import convert, convert_element_type_p, reshape
from tinyjax.primitives.shaping import split
from tinyjax.transforms.ad import is_inexact
from tinyjax.transforms.flat import wraps
from tinyjax.tree_util import tree_flatten, tree_map, tree_structure, tree_unflatten


def jacfwd(fun, argnums=0, has_aux=False, holomorphic=False):
    """The Jacobian, column by column with forward mode; best for tall Jacobians.

    Args: as grad; the output may be any pytree of arrays.

    Returns a function that gives, for outputs of shape s and an argument of shape t, arrays of
    shape s + t.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.jacfwd(lambda x: jnp.array([x[0] * x[1], x[0]]))(jnp.array([2.0, 3.0]))
    Array([[3., 2.],
           [1., 0.]], dtype=float32)
    """
    check_callable(fun, "jacfwd")
    argnums = check_argnums(argnums)

    def jacfwd_f(*args, **kwargs):
        of_chosen, chosen = choose(fun, args, kwargs, argnums)

        def push(tangent):
            _, t, *aux = jvp(of_chosen, (chosen,), (tangent,), has_aux=has_aux)
            return t, aux

        check_jacobian_input(chosen, holomorphic, "jacfwd")
        tangents, aux = vmap(push, out_axes=(-1, None))(standard_basis(chosen))
        jac = tree_map(lambda t: split_axis(chosen, t, -1), tangents)
        return (jac, *aux) if has_aux else jac

    options = {"argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic}
    return wraps(fun, jacfwd_f, "jacfwd", **options)


def jacrev(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    """The Jacobian, row by row with reverse mode; best for wide Jacobians.

    Args and result: as jacfwd.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.jacrev(lambda x: jnp.array([x[0] * x[1], x[0]]))(jnp.array([2.0, 3.0]))
    Array([[3., 2.],
           [1., 0.]], dtype=float32)
    """
    check_callable(fun, "jacrev")
    argnums = check_argnums(argnums)

    def jacrev_f(*args, **kwargs):
        of_chosen, chosen = choose(fun, args, kwargs, argnums)
        check_jacobian_input(chosen, holomorphic, "jacrev")
        out, pull, *aux = vjp(of_chosen, chosen, has_aux=has_aux)
        for leaf in tree_flatten(out)[0]:
            check_jacobian_output(leaf, holomorphic)
        cts = vmap(lambda ct: pull(ct)[0])(standard_basis(out))
        tree = tree_structure(chosen)
        inputs = [lift(x) for x in tree_flatten(chosen)[0]]
        cts = [convert(c, x.dtype, x.weak_type) for c, x in zip(tree_flatten(cts)[0], inputs)]
        rows = [split_axis(out, c, 0) for c in cts]
        # rows is (inputs of outputs); users see outputs of inputs
        out_tree = tree_structure(out)
        columns = zip(*[tree_flatten(r)[0] for r in rows])
        jac = tree_unflatten(out_tree, [tree_unflatten(tree, list(c)) for c in columns])
        return (jac, aux[0]) if has_aux else jac

    options = {"argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic}
    return wraps(fun, jacrev_f, "jacrev", **options, allow_int=allow_int)


jacobian = jacrev


def hessian(fun, argnums=0, has_aux=False, holomorphic=False):
    """The matrix of second derivatives: jacfwd(jacrev(fun)).

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.hessian(lambda x: x[0] ** 2 * x[1])(jnp.array([2.0, 3.0]))
    Array([[6., 4.],
           [4., 0.]], dtype=float32)
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def choose(fun, args, kwargs, argnums):
    """-> fun of the chosen argument (a tuple of them for a tuple of argnums), and that argument."""
    nums = argnums if isinstance(argnums, tuple) else (argnums,)
    nums = [resolve_argnum(n, len(args), argnums) for n in nums]

    @functools.wraps(fun, updated=())
    def of_chosen(chosen):
        full = list(args)
        for n, x in zip(nums, chosen if isinstance(argnums, tuple) else (chosen,)):
            full[n] = x
        return fun(*full, **kwargs)

    del of_chosen.__wrapped__  # its signature is its own
    chosen = tuple(args[n] for n in nums)
    return of_chosen, chosen if isinstance(argnums, tuple) else chosen[0]


def check_jacobian_input(chosen, holomorphic, name):
    """Jacobians need float inputs."""
    for x in tree_flatten(chosen)[0]:
        dtype = lift(x).dtype
        if holomorphic and dtype.kind != "c":
            raise TypeError(
                f"{name} with holomorphic=True requires inputs with complex dtype, but got "
                f"{dtype.name}."
            )
        if not holomorphic and (not is_inexact(lift(x).aval) or dtype.kind == "c"):
            raise TypeError(
                f"{name} requires real-valued inputs (input dtype that is a sub-dtype of "
                f"np.floating), but got {dtype.name}. For holomorphic differentiation, pass "
                "holomorphic=True. For other complex or integer inputs, use jax.jvp or jax.vjp "
                "directly."
            )


def check_jacobian_output(leaf, holomorphic):
    """jacrev needs float outputs."""
    dtype = lift(leaf).dtype
    if holomorphic != (dtype.kind == "c") or not is_inexact(lift(leaf).aval):
        raise TypeError(
            "jacrev requires real-valued outputs (complex ones with holomorphic=True), but got "
            f"{dtype.name}."
        )


def standard_basis(tree):
    """Unit vectors of a pytree, stacked along a new first axis of each leaf."""
    leaves = list(map(lift, tree_flatten(tree)[0]))
    total = sum(x.size for x in leaves)
    rows, columns = [broadcasted_iota(np.int32, (total, total), i) for i in (0, 1)]
    identity = eq(add(rows, const(rows, 0)), columns)
    identity = convert(identity, dtypes.result_type(*leaves) if leaves else np.float32)
    return split_axis(tree, identity, 1, cast)


def cast(x, like):
    """x at the dtype and weak type of another value; recorded even without a change, as in JAX."""
    return convert_element_type_p.bind(x, new_dtype=like.dtype, weak_type=like.weak_type)


def split_axis(tree, arr, axis, finish=lambda part, leaf: part):
    """Cut the axis that standard_basis made into pieces shaped as the leaves of tree."""
    leaves, treedef = tree_flatten(tree)
    leaves, axis = list(map(lift, leaves)), axis % arr.ndim
    before, after = arr.shape[:axis], arr.shape[axis + 1 :]
    parts = split(arr, [np.prod(x.shape, dtype=np.int64) for x in leaves], axis) if leaves else []
    pieces = [finish(reshape(p, (*before, *x.shape, *after)), x) for p, x in zip(parts, leaves)]
    return tree_unflatten(treedef, pieces)
