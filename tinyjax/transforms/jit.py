"""jit: trace once per kind of argument, compile, call the compiled program from then on."""

import functools
import inspect
import weakref

from tinyjax import messages
from tinyjax.array import Array
from tinyjax.avals import ShapedArray
from tinyjax.check_jaxpr import check_jaxpr
from tinyjax.compiler import compile_jaxpr
from tinyjax.config import config, current_flags
from tinyjax.core import (
    EVAL,
    Tracer,
    check_floats,
    check_runnable,
    current_trace,
    run,
)
from tinyjax.tracebacks import boundary, shorten
from tinyjax.transforms import key_reuse
from tinyjax.transforms.axis_env import axis_env
from tinyjax.transforms.call import Call, fill
from tinyjax.transforms.flat import FlatFun, arg_names, fun_name, lift_args, wraps
from tinyjax.transforms.programs import linearize_jaxpr
from tinyjax.transforms.readers import Fixed, builder, reader
from tinyjax.transforms.retraces import Key, Traces, info, log_miss
from tinyjax.transforms.stage import stage
from tinyjax.transforms.staged import ShapeDtypeStruct as ShapeDtypeStruct
from tinyjax.transforms.staged import Traced as StagedTrace
from tinyjax.transforms.staged import as_aval
from tinyjax.tree_util import tree_flatten, tree_map, tree_structure, tree_unflatten
from tinyjax.util import take

# ---- the primitive ------------------------------------------------------------------------------


class Jit(Call):
    """jit[name jaxpr] *operands: run a program as compiled code."""

    def shown_params(self, params):
        return [("name", params["name"]), ("jaxpr", params["jaxpr"])]

    def impl(self, *xs, jaxpr, name):
        return run_compiled(compile_jaxpr(jaxpr, name), xs)

    def linearize(self, nz, *xs, jaxpr, name):
        parts = linearize_jaxpr(jaxpr, tuple(nz))
        everything = self.bind(*xs, jaxpr=parts.forward, name=name)
        pool, outs = [*xs, *everything], everything[: len(jaxpr.outvars)]

        def push(*ts):
            args = [pool[i] for i in parts.residuals] + take(ts, nz)
            return fill(self.bind(*args, jaxpr=parts.linear, name=name), parts.nz, outs)

        return outs, push


jit_p = Jit("jit")


def looks_at_floats():
    """Whether results are to be searched for NaNs or infinities."""
    flags = current_flags()
    return flags.debug_nans or flags.debug_infs


def is_watched():
    """Whether each call must be looked at."""
    flags = current_flags()
    return looks_at_floats() or flags.debug_key_reuse or flags.check_purity


def run_compiled(executable, args):
    """The results of a compiled program. Those that debug_nans or debug_infs object to are computed
    again, equation by equation: the error names the operation."""
    outs = executable(args)
    if looks_at_floats():
        try:
            check_floats(f"jit({executable.name})", outs)
        except FloatingPointError:
            EVAL.run_again(executable.jaxpr, args)
            raise
    return outs


# ---- the cached trace ---------------------------------------------------------------------------


LEAF = tree_structure(0)
READERS = 8  # structures of arguments that a jitted function knows how to read


class Traced:
    """A function traced for one kind of argument: its jaxpr and what the jaxpr captured."""

    __slots__ = ("build", "captured", "compiled", "hits", "jaxpr", "name", "names", "out_tree",
                 "single")  # fmt: skip

    def __init__(self, jaxpr, captured, out_tree, name, names):
        self.jaxpr, self.captured, self.out_tree, self.name = jaxpr, captured, out_tree, name
        self.names, self.hits = names, 0  # what arguments are called; calls that found this trace
        self.compiled, self.single, self.build = None, out_tree == LEAF, builder(out_tree)

    def executable(self):
        """The compiled program, for Arrays."""
        if self.compiled is None:
            check_runnable(self.jaxpr)
            self.compiled = compile_jaxpr(self.jaxpr, self.name)
        return self.compiled

    def call(self, leaves):
        """The outputs' leaves."""
        return jit_p.bind(*self.captured, *leaves, jaxpr=self.jaxpr, name=self.name)


def trace_to_jaxpr(f, args, kwargs, leaves, in_tree, name):
    """Stage f for arguments of the given types -> Traced."""
    flat = FlatFun(lambda args, kwargs: f(*args, **kwargs), in_tree, name)
    names = arg_names(f, args, kwargs)
    names = tuple(names) if len(names) == len(leaves) else ()
    avals = [x if isinstance(x, ShapedArray) else x.aval for x in leaves]
    jaxpr, captured = stage(flat, avals, name, names)
    if current_flags().enable_checks:
        check_jaxpr(jaxpr)
    if current_flags().debug_key_reuse:
        key_reuse.check_program(jaxpr)
    return Traced(jaxpr, captured, flat.out_tree, name, names)


class JitFunction:
    """What jit returns: call it like the function it wraps."""

    trace_program = staticmethod(trace_to_jaxpr)

    def __init__(self, fun, static_argnums, static_argnames, inline, check=False):
        options = {"static_argnums": static_argnums, "static_argnames": static_argnames}
        wraps(fun, self, "jit", **options, inline=inline)
        self.fun, self.inline, self.name, self.check = fun, inline, fun_name(fun), check
        self.static_argnums, self.static_argnames = static_args(
            fun, static_argnums, static_argnames
        )
        self.cache = shared_cache(fun, (self.static_argnums, self.static_argnames))
        self.readers = []  # (reader, traces by the types of leaves): found faster (readers.py)

    def __call__(self, /, *args, **kwargs):
        try:
            if current_trace() is EVAL:
                for read, programs in self.readers:
                    found = read(args, kwargs)
                    if found is not None:
                        leaves, types = found
                        known = programs.get(types)
                        if known is None:
                            break
                        known.hits += 1  # values of known types, and nothing transforms the call
                        outs = known.compiled.run(leaves)
                        return outs[0] if known.single else known.build(outs)
            if current_flags().disable_jit:
                return self.fun(*args, **kwargs)
            return self.call(args, kwargs)
        except Exception as error:
            shorten(error)
            raise

    def call(self, args, kwargs):
        """The general case: arguments of any kind, traced or not, seen before or not."""
        if self.check or current_flags().check_purity:
            self.check_purity(args, kwargs)  # purity/
        traced, leaves = self.lookup(args, kwargs)
        if current_trace() is EVAL and not traced.captured:
            for x in leaves:
                EVAL.check(x)
            outs = key_reuse.call(traced.jaxpr, leaves, run_compiled, traced.executable())
            if not self.check and not is_watched():
                self.remember(args, kwargs, traced)
        elif self.inline:
            outs = run(traced.jaxpr, *traced.captured, *leaves)
        else:
            outs = traced.call(leaves)
        return tree_unflatten(traced.out_tree, outs)

    def remember(self, args, kwargs, traced):
        """Make the next call with such arguments fast."""
        nums, names = self.static_positions(args), self.static_argnames
        fixed = tuple([Fixed(x) if i in nums else x for i, x in enumerate(args)])
        fixed_kw = {k: Fixed(x) if k in names else x for k, x in kwargs.items()}
        leaves, in_tree = tree_flatten((fixed, fixed_kw))
        read = reader(in_tree, leaves)
        if read is None:
            return
        found = read(args, kwargs)
        if found is None:  # a static value that is not even equal to itself, as NaN
            return
        programs = dict(self.readers).get(read, {})
        if not programs:
            self.readers = [(read, programs), *self.readers[: READERS - 1]]
        programs[found[1]] = traced

    def __repr__(self):
        return f"<PjitFunction of {self.fun!r}>"

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def lookup(self, args, kwargs):
        """-> the Traced for these arguments (from the cache if it can be), and their leaves."""
        fun, args, kwargs, key, leaves = self.prepare(args, kwargs)
        return self.program(fun, args, kwargs, key, leaves), leaves

    def prepare(self, args, kwargs):
        """-> function of the arguments that are not static, these, what the cache knows them by,
        and their leaves."""
        fun, static, args, kwargs = self.split_static(args, kwargs)
        leaves, in_tree = tree_flatten((args, kwargs))
        leaves = lift_args(leaves, self.name, names=lambda: arg_names(fun, args, kwargs))
        axes = axis_env() if current_trace() is not EVAL else ()
        return fun, args, kwargs, self.key(in_tree, leaves, static, axes), leaves

    def key(self, in_tree, leaves, static, axes):
        """What the cache knows leaves by: arrays or avals."""
        types = tuple([(x.shape, x.dtype, x.weak_type) for x in leaves])
        return Key(in_tree, types, static, axes, config.trace_key())

    def program(self, fun, args, kwargs, key, leaves):
        """The Traced for a key, from the cache if it can be."""
        hit = self.cache.get(key)
        if hit is not None:
            hit.hits += 1
            return hit
        if current_flags().explain_retraces:
            log_miss(self, self.cache, arg_names(fun, args, kwargs), key)
        traced = self.trace_program(fun, args, kwargs, leaves, key.in_tree, self.name)
        self.cache.add(key, traced, traced, self.fun)
        return traced

    def static_positions(self, args):
        """Which of these positional arguments are static."""
        return {n + len(args) if n < 0 else n for n in self.static_argnums}

    def split_static(self, args, kwargs):
        """-> function of the other arguments, hashable static values, other arguments."""
        nums, names = self.static_argnums, self.static_argnames
        if not nums and not names:
            return self.fun, (), args, kwargs
        fixed = {i: args[i] for i in self.static_positions(args) if i < len(args)}
        fixed_kw = {k: v for k, v in kwargs.items() if k in names}
        for where, value in (*fixed.items(), *fixed_kw.items()):
            check_hashable(value, where, self.name)
        rest = tuple(a for i, a in enumerate(args) if i not in fixed)
        rest_kw = {k: v for k, v in kwargs.items() if k not in fixed_kw}
        fun, total = self.fun, len(args)

        @functools.wraps(fun, updated=())
        def partial(*dynamic, **dynamic_kw):
            it = iter(dynamic)
            full = [fixed[i] if i in fixed else next(it) for i in range(total)]
            return fun(*full, **dynamic_kw, **fixed_kw)

        partial.__signature__ = remaining_signature(fun, fixed, fixed_kw)
        static = (tuple(sorted(fixed.items())), tuple(sorted(fixed_kw.items())))
        types = tuple(type(v) for v in (*fixed.values(), *fixed_kw.values()))
        return partial, Static(static, types), rest, rest_kw

    # ---- looking inside ------------------------------------------------------------------------

    @boundary
    def trace(self, *args, **kwargs):
        """Trace without running -> an object with .jaxpr, .out_info, .lower(). What was traced for
        arguments of these types, here or in a call, is not traced again."""
        fun, static, args, kwargs = self.split_static(args, kwargs)
        args, kwargs = tree_map(as_aval, (args, kwargs))
        leaves, in_tree = tree_flatten((args, kwargs))
        key = self.key(in_tree, leaves, static, axis_env())
        program = self.program(fun, args, kwargs, key, leaves)
        names = arg_names(fun, args, kwargs)
        return StagedTrace(program, in_tree, self.name, leaves, names)

    @boundary
    def lower(self, *args, **kwargs):
        """Trace and prepare for these arguments (arrays or ShapeDtypeStructs) without running.

        The result has `.as_text()` (the jaxpr), `.kernels()` (the source of its Numba kernels),
        `.compile()` (a callable) and `.out_info`.

        >>> import tinyjax as jax, tinyjax.numpy as jnp
        >>> print(jax.jit(jnp.sin).lower(1.0).as_text())
        { lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
        """
        return self.trace(*args, **kwargs).lower()

    @boundary
    def eval_shape(self, *args, **kwargs):
        """Shapes and dtypes of the result, without computing it."""
        return self.trace(*args, **kwargs).out_info

    def clear_cache(self):
        """Forget every trace."""
        self.cache.clear()
        self.readers = []

    def cache_info(self):
        """hits, misses and the number of traces kept; `.entries` tells of each, `.reasons` why
        calls after the first had to be traced. Print it to read it.

        >>> import tinyjax as jax, tinyjax.numpy as jnp
        >>> f = jax.jit(lambda x: x + 1)
        >>> y = f(1.0), f(2.0), f(jnp.float32(3.0))
        >>> f.cache_info()
        CacheInfo(hits=1, misses=2, maxsize=None, currsize=2)
        >>> [entry.arguments for entry in f.cache_info().entries]
        ['x: float32[] weak', 'x: float32[]']
        """
        return info(self.cache, self.fun)

    def _cache_size(self):
        return len(self.cache)


_caches: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def shared_cache(fun, options):
    """The traces of a function: jit(f) written twice traces f once, as in JAX."""
    try:
        return _caches.setdefault(fun, {}).setdefault(options, Traces())
    except TypeError:  # a callable without a hash or weak references
        return Traces()


class Static(tuple):
    """Static values and their types: 1, 1.0 and True are equal but not the same setting."""

    def __new__(cls, values, types):
        return super().__new__(cls, (values, types))


# ---- static arguments ---------------------------------------------------------------------------


def static_args(fun, nums, names):
    """Complete static_argnums by static_argnames and the other way round."""
    nums = (nums,) if isinstance(nums, int) else tuple(nums or ())
    names = (names,) if isinstance(names, str) else tuple(names or ())
    if not nums and not names:
        return (), ()
    try:
        params = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return nums, names
    positional = [p.name for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind == p.VAR_POSITIONAL for p in params)
    for n in nums:
        if not variadic and not -len(positional) <= n < len(positional):
            raise ValueError(
                f"jitted function has static_argnums={nums}, but only accepts {len(positional)} "
                "positional arguments."
            )
    known = {p.name for p in params}
    if not any(p.kind == p.VAR_KEYWORD for p in params):
        for name in names:
            if name not in known:
                raise ValueError(
                    f"jitted function has invalid argnames {{'{name}'}} in its static_argnames. "
                    f"Function does not take these args. Its arguments are {sorted(known)}."
                )
    all_names = {positional[n] for n in nums if -len(positional) <= n < len(positional)}
    all_nums = {positional.index(n) for n in names if n in positional}
    return tuple(sorted({*nums, *all_nums})), tuple(sorted({*names, *all_names}))


def check_hashable(value, where, name):
    """Static values are part of the cache's key."""
    if isinstance(value, (Tracer, Array)):
        raise ValueError(
            f"Non-hashable static arguments are used in a jit function: argument {where!r} of "
            f"{name} is an array ({value.aval.str_short()}), whose value may not select a "
            "compiled program. Give a Python number, or do not make the argument static."
        )
    try:
        hash(value)
    except TypeError:
        raise ValueError(
            f"Non-hashable static arguments are used in a jit function: argument {where!r} of "
            f"{name} has type {type(value)}. Give it __hash__ and __eq__ (a tuple for a list, "
            "@dataclass(frozen=True) for a class)."
        ) from None


def remaining_signature(fun, fixed, fixed_kw):
    """The signature without the static arguments, for the names in messages."""
    try:
        params = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return inspect.Signature()
    kept = [p for i, p in enumerate(params) if i not in fixed and p.name not in fixed_kw]
    return inspect.Signature(kept)


# ---- the decorator ------------------------------------------------------------------------------


class Unspecified:
    """The default of an argument that was not given."""

    def __repr__(self):
        return "<not-specified>"


UNSPECIFIED = Unspecified()


def jit(
    fun=UNSPECIFIED,
    /,
    *,
    in_shardings=None,
    out_shardings=None,
    static_argnums=None,
    static_argnames=None,
    donate_argnums=None,
    donate_argnames=None,
    keep_unused=False,
    device=None,
    backend=None,
    inline=False,
    compiler_options=None,
    check=False,
):
    """Compile a function: it is traced once per kind of argument, then runs as Numba kernels.

    Args:
      fun: a pure function of arrays, numbers and pytrees of them.
      static_argnums: positions of arguments that are Python values rather than arrays; each new
        value is traced anew. They must be hashable.
      static_argnames: the same, by name.
      donate_argnums, donate_argnames, keep_unused, in_shardings, out_shardings, device, backend,
        compiler_options: accepted as JAX's; without effect on a CPU.
      inline: put the equations into the program that calls it, instead of one jit equation.
      check: check that the function is pure (tinyjax.check_pure) before it is first traced, and in
        later calls that what it captured is as it was. Such calls are slow. (Not in JAX.)

    Returns a function of the same arguments. It has `.lower(...)`, `.trace(...)`,
    `.eval_shape(...)`, `.cache_info()` and `.clear_cache()`.

    Raises TypeError for an argument that is neither an array nor static, ValueError for a static
    argument that cannot be hashed, and with check=True ImpureFunctionError.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> @jax.jit
    ... def selu(x, alpha=1.67, lmbda=1.05):
    ...     return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)
    >>> selu(jnp.arange(3.0))
    Array([0.  , 1.05, 2.1 ], dtype=float32)
    """
    if fun is UNSPECIFIED:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            inline=inline,
            check=check,
        )
    if not callable(fun):
        raise messages.not_callable(fun, "jit")
    return JitFunction(fun, static_argnums, static_argnames, inline, check)
