"""The language of tinyjax: primitives, the traces that interpret them, and jaxprs.

`prim.bind(*args, **params)` hands an operation to the current trace. A trace that finds none of
its own tracers among the operands hands it on to its parent; at the bottom EvalTrace computes.
StageTrace records instead: what it records is a jaxpr.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from tinyjax import messages
from tinyjax.array import Array, lift
from tinyjax.avals import Value
from tinyjax.config import current_flags
from tinyjax.quiet import restore, silence
from tinyjax.source import place, replays, shared

# ---- primitives ---------------------------------------------------------------------------------


class Primitive:
    """One operation of the language: this card holds all its rules.

    What it is:
      multi: it has several results.
      high: it holds programs and works on Values.
      collective: it looks at named axes.
      callables: it holds Python functions; `stage` makes them jaxprs when the call is recorded.
      bilinear: linear in each operand, not in both at once.
      reverse_only: only its transpose is known.
      effectful: never dropped as dead code.
      on_host: it runs where the user is, even inside of pmap.
      large: from so many elements on, an eager operation runs as a compiled program.

    impl(*arrays, **params)                             the value, with NumPy (Values if high)
    eager(*values, **params)                            optional, if high: a faster way to the value
    type(*avals, **params) -> aval | [aval]             shape, dtype and weak type of the result
    linearize(nonzero, *primals, **params) -> out, push value and linear map of tangents; or
    jvp(primals, tangents, **params) -> out, tangents   the joint rule: each follows from the other
    transpose(ct, *args, **params) -> [ct | Zero | None]  iff linear; Undef at linear operands
    batch(axis, vals, dims, /, **params) -> out, dims   the operation on a whole batch
    dce(eqn, used) -> eqn                               optional: drop unused parts of inner jaxprs
    lower(args, **params) -> args, params               optional: a simpler form, for the compiler
    """

    type: Callable[..., Any]  # the rules; jvp and linearize are completed in transforms/ad.py
    linearize: Callable[..., Any]
    jvp: Callable[..., Any]
    linear_part: Callable[..., Any]

    multi = high = collective = callables = bilinear = reverse_only = effectful = on_host = False
    dce = eager = lower = None
    large = float("inf")
    hidden: tuple = ()  # parameters that jaxprs do not print
    printed: dict = {}  # constant parameters that JAX prints and tinyjax does not need

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name

    def bind(self, *args, **params):
        """Hand the operation to the current trace."""
        return _current.get().process(self, args, params)

    def weak_result(self, args, params):
        """Whether an eager result is weakly typed: all operands are, and the type rule agrees."""
        for a in args:
            if not a.weak_type:
                return False
        out = args and self.type(*[a.aval for a in args], **params)
        return bool(args) and bool((out[0] if self.multi and out else out).weak_type)

    def shown_params(self, params):
        """(name, value) pairs in the order in which a jaxpr prints them."""
        shown = {k: v for k, v in params.items() if k not in self.hidden} | self.printed
        return sorted(shown.items())


class Zero:
    """A tangent or cotangent known to be zero. (None means: not a linear operand.)"""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval

    def __repr__(self):
        return f"Zero({self.aval})"


class Undef:
    """Stands for a linear operand, whose value is unknown, during transposition."""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))


def nonzero(tangent):
    """Whether a tangent is there."""
    return not isinstance(tangent, Zero)


# ---- traces -------------------------------------------------------------------------------------


class Tracer(Value):
    """Stands for an array while a trace interprets a function."""

    __slots__ = ("aval", "trace")
    weak_type = property(lambda self: self.aval.weak_type)

    def __bool__(self):
        return bool(self._concrete(messages.concrete_bool))

    def __int__(self):
        return int(self._concrete(messages.concrete_scalar, "int"))

    def __float__(self):
        self._concrete(messages.concrete_scalar, "float")
        raise messages.concrete_scalar(self, "float")  # a plain number would lose the derivative

    def __complex__(self):
        self._concrete(messages.concrete_scalar, "complex")
        raise messages.concrete_scalar(self, "complex")

    def __index__(self):
        return self._concrete(messages.concrete_index).__index__()

    def __array__(self, dtype=None, copy=None):
        raise messages.concrete_array(self)

    def item(self, *args):
        """The only element: not known while tracing, unless a derivative is taken eagerly."""
        return self._concrete(messages.concrete_scalar, "item").item(*args)

    def _concrete(self, error, *args):
        """The Array behind this tracer, if the trace works on concrete values."""
        if not self.trace.alive:
            raise messages.leaked(self)
        value = self.concrete()
        if value is None:
            raise error(self, *args)
        return value

    def concrete(self):
        """The Array that this tracer carries, or None."""
        return

    def origin(self):
        """Where the tracer came from, for error messages."""
        return f"It is a {type(self).__name__}."

    def tolist(self):
        """The elements as Python numbers: not known while tracing, and without a derivative."""
        self._concrete(messages.concrete_scalar, "tolist")
        raise messages.concrete_scalar(self, "tolist")

    def __hash__(self):
        raise messages.unhashable(self)

    def block_until_ready(self):
        """Nothing to wait for while tracing."""
        return self

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self  # a copy of the whole trace with it would be another trace's

    def __repr__(self):
        return f"{type(self).__name__}({self.aval.str_short()})"


class Trace:
    """An interpreter of primitives."""

    alive = True
    parent = None

    def mine(self, x):
        """Whether x is a tracer of this trace."""
        return isinstance(x, Tracer) and x.trace is self

    def end(self, failed=False):
        """Nobody may use the tracers any more."""
        self.alive = False

    def process(self, prim, args, params):
        """Interpret one operation."""
        raise NotImplementedError


class active:
    """`with active(trace):` makes it the current one; final=True ends the life of its tracers."""

    __slots__ = ("final", "token", "trace")

    def __init__(self, trace, final=False):
        self.trace, self.final = trace, final

    def __enter__(self):
        self.token = _current.set(self.trace)

    def __exit__(self, kind, *exc):
        _current.reset(self.token)
        if self.final:
            self.trace.end(failed=kind is not None)


class EvalTrace(Trace):
    """The bottom: computes with NumPy. `run_large` compiles an operation (transforms/eager.py),
    `look_at` raises for what debug_nans and debug_infs look for (nans/flagged.py)."""

    run_large: Callable[..., Any]
    look_at: Callable[..., Any]
    run_again: Callable[..., Any]
    watch: Callable[..., Any]  # what debug_key_reuse looks at (transforms/key_reuse.py)
    watched_high: Callable[..., Any]

    def process(self, prim, args, params):
        if prim.high:
            return self.process_high(prim, args, params)
        try:
            arrays = [a.npy for a in args]
        except AttributeError:  # a number, a NumPy array or a leaked tracer
            args = [self.check(lift(a)) for a in args]
            arrays = [a.npy for a in args]
        large = prim.large
        for x in arrays:
            if x.size >= large:
                return self.run_large(prim, args, params)
        before = silence()
        try:
            out = prim.impl(*arrays, **params)
        finally:
            restore(before)
        weak = prim.weak_result(args, params)
        outs = [Array(o, weak) for o in out] if prim.multi else Array(out, weak)
        flags = current_flags()
        if flags.debug_nans or flags.debug_infs:
            check_floats(prim, outs if prim.multi else [outs], args, params)
        if flags.debug_key_reuse:
            self.watch(prim, args, params, outs if prim.multi else [outs])
        return outs

    def process_high(self, prim, args, params):
        """A primitive that holds programs works on Arrays, with this trace current."""
        args = [self.check(lift(a)) for a in args]
        if current_flags().debug_key_reuse and not prim.callables:
            return self.watched_high(prim, args, params)
        for jaxpr in inner_jaxprs(params):
            check_runnable(jaxpr)
        with active(self):
            outs = (prim.eager or prim.impl)(*args, **params)
        check_floats(prim, outs, args, params)
        return outs

    def check(self, x):
        """x, which must not be a tracer: at the bottom those are leaks."""
        if isinstance(x, Tracer):
            raise messages.leaked(x)
        return x


def check_floats(name, arrays, args=(), params=None):
    """Raise FloatingPointError for what the flags debug_nans and debug_infs look for."""
    flags = current_flags()
    if flags.debug_nans or flags.debug_infs:
        EvalTrace.look_at(name, arrays, args, params)


EVAL = EvalTrace()
_current = ContextVar("trace", default=EVAL)  # a new thread starts with EVAL
current_trace = _current.get


# ---- jaxprs -------------------------------------------------------------------------------------


class Var:
    """A variable of a jaxpr."""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval


class Literal:
    """A number inside a jaxpr."""

    __slots__ = ("aval", "array")

    def __init__(self, array):
        self.array, self.aval = array, array.aval

    val = property(lambda self: self.array.npy)


class JaxprEqn:
    """outvars = primitive[params] invars."""

    __slots__ = ("invars", "outvars", "params", "primitive", "source")

    def __init__(self, primitive, invars, params, outvars, source=None):
        self.primitive, self.invars, self.params = primitive, invars, params
        self.outvars, self.source = outvars, source

    @property
    def effectful(self):
        """Whether it does something beside its results: itself, or a program that it holds."""
        return self.primitive.effectful or any(effects(j) for j in inner_jaxprs(self.params))

    def replace(self, **changes):
        """A copy with some parts replaced."""
        return JaxprEqn(**{n: getattr(self, n) for n in self.__slots__} | changes)


class Jaxpr:
    """A program: inputs, equations, outputs, and the arrays it captured (consts for constvars).

    It is closed, so it plays both of JAX's parts, Jaxpr and ClosedJaxpr.
    """

    __slots__ = ("__weakref__", "constvars", "consts", "eqns", "invars", "memo", "outvars")

    def __init__(self, invars, eqns, outvars, constvars=(), consts=()):
        self.invars, self.eqns, self.outvars = list(invars), list(eqns), list(outvars)
        self.constvars, self.consts, self.memo = list(constvars), list(consts), {}

    in_avals = property(lambda self: [v.aval for v in self.invars])
    out_avals = property(lambda self: [v.aval for v in self.outvars])
    jaxpr = property(lambda self: self)
    literals = property(lambda self: self.consts)

    def replace(self, **changes):
        """A copy with some parts replaced."""
        names = ("invars", "eqns", "outvars", "constvars", "consts")
        return Jaxpr(**{n: getattr(self, n) for n in names} | changes)


ClosedJaxpr = Jaxpr


def memo(transform):
    """Cache transform(jaxpr, *hashable) on the jaxpr itself, so that it dies with the jaxpr."""

    @shared
    def cached(jaxpr, *static):
        key = (transform, *static)
        if key not in jaxpr.memo:
            jaxpr.memo[key] = transform(jaxpr, *static)
        return jaxpr.memo[key]

    cached.__doc__, cached.__name__ = transform.__doc__, transform.__name__
    return cached


@replays()
def eval_jaxpr(jaxpr, consts, *args):
    """Run a jaxpr on values, through whatever trace is current. consts: for its constvars."""
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"the jaxpr takes {len(jaxpr.invars)} arguments, got {len(args)}")
    env = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom):
        return atom.array if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        env.update(zip(eqn.outvars, out if eqn.primitive.multi else [out], strict=True))
    return [read(v) for v in jaxpr.outvars]


def run(jaxpr, *args):
    """eval_jaxpr with the jaxpr's own consts."""
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)


def inner_jaxprs(params):
    """The jaxprs among the parameters of an equation."""
    for value in params.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Jaxpr):
                yield item


def all_eqns(jaxpr):
    """Every equation, those of inner jaxprs included."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in inner_jaxprs(eqn.params):
            yield from all_eqns(inner)


@memo
def effects(jaxpr):
    """The primitives in a program, however deep, that do something beside their results."""
    return frozenset(eqn.primitive for eqn in all_eqns(jaxpr) if eqn.primitive.effectful)


@memo
def check_runnable(jaxpr):
    """Raise if the program holds an equation of which only the transpose is known."""
    for eqn in all_eqns(jaxpr):
        if eqn.primitive.reverse_only:
            eqn.primitive.impl()


# ---- staging ------------------------------------------------------------------------------------


class StageTracer(Tracer):
    """Stands for a variable of the jaxpr that is being recorded."""

    __slots__ = ("atom", "name")

    def __init__(self, trace, atom, name=None):
        self.trace, self.atom, self.aval, self.name = trace, atom, atom.aval, name

    def origin(self):
        return messages.origin(self)

    def __repr__(self):
        return f"JitTracer({self.aval})"


StageTracer.__name__ = StageTracer.__qualname__ = "JitTracer"  # for users, as in JAX


class StageTrace(Trace):
    """Records equations. Values of other traces that it meets are captured.

    known: the trace that computes what does not depend on inputs (None: it is recorded, too).
    function: what is traced, on flat arguments, where somebody may ask for their names.
    """

    function: Any = None

    def __init__(self, name="a function", known=None):
        self.name, self.known, self.invars, self.eqns = name, known, [], []
        self.captured = {}  # id(value) -> (var, value)
        self.names = {}  # input -> its name, for messages
        self.parent = current_trace()  # only to look up axis names

    def new_input(self, aval, name=None):
        """A tracer for a new argument."""
        self.invars.append(Var(aval))
        self.names[self.invars[-1]] = name
        return StageTracer(self, self.invars[-1], name)

    def atom(self, x):
        """The variable or literal that stands for a value."""
        x = lift(x)
        if self.mine(x):
            return x.atom
        if x.literal:
            return Literal(x)
        if id(x) not in self.captured:
            if isinstance(x, Tracer) and not x.trace.alive:
                raise messages.leaked(x)
            self.captured[id(x)] = Var(x.aval), x
        return self.captured[id(x)][0]

    def process(self, prim, args, params):
        if self.known and not prim.callables and not any(map(self.mine, args)):
            return self.known.process(prim, args, params)
        if prim.callables:
            with active(self):
                args, params = prim.stage(*map(lift, args), **params)
        atoms = [self.atom(a) for a in args]
        out = prim.type(*[a.aval for a in atoms], **params)
        outvars = [Var(a) for a in (out if prim.multi else [out])]
        self.eqns.append(JaxprEqn(prim, atoms, params, outvars, place()))
        tracers = [StageTracer(self, v) for v in outvars]
        return tracers if prim.multi else tracers[0]

    def finish(self, outs, hoist=False):
        """-> the jaxpr, whose first inputs are the captured tracers, and these tracers.

        Captured Arrays stay inside as consts; with hoist they become first inputs too.
        """
        outvars = [self.atom(o) for o in outs]
        self.alive = False
        free = [(v, x) for v, x in self.captured.values() if hoist or isinstance(x, Tracer)]
        kept = [(v, x) for v, x in self.captured.values() if not (hoist or isinstance(x, Tracer))]
        invars = [v for v, _ in free] + self.invars
        jaxpr = Jaxpr(invars, self.eqns, outvars, [v for v, _ in kept], [x for _, x in kept])
        return jaxpr, [x for _, x in free]
