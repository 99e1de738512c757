"""Flags: what they are called, where their values come from, and how to change them.

A flag has one value for the whole process, and a thread may override it for a while:

    config.update("jax_enable_x64", True)      # everywhere, from now on
    with enable_x64(True): ...                 # in this thread, inside the block
    TINYJAX_ENABLE_X64=1 python program.py     # from the start (or JAX_ENABLE_X64)

Machinery reads `current_flags().enable_x64`; that is one context variable and one attribute.
Inside the package, import names from this file (`from tinyjax.config import config`), because the
package's own attribute `tinyjax.config` is the `config` object, as in JAX.
"""

import contextlib
import functools
import operator
import os
import sys
from contextvars import ContextVar
from typing import Any, NamedTuple

# ---- flags --------------------------------------------------------------------------------------

WORDS = {"1": True, "true": True, "yes": True, "on": True, "t": True, "y": True}
WORDS |= {"0": False, "false": False, "no": False, "off": False, "f": False, "n": False}


class Flag(NamedTuple):
    """One flag: its default, what it means, and which values it takes."""

    name: str
    default: Any  # all values have its type, but None stands for an optional str
    doc: str
    choices: tuple = ()  # nothing else is accepted, if given
    aliases: tuple[str, ...] = ()  # what JAX calls it, where that differs
    synonyms: dict[str, str] = {}  # JAX's words for our values

    def check(self, value, source):
        """Return `value` in its canonical type, or raise a ValueError that names `source`."""
        kind, none = (str, " or None") if self.default is None else (type(self.default), "")
        if value is None and none:
            return None
        if kind is bool and value in (0, 1) and not isinstance(value, (str, float)):
            value = bool(value)  # 0, 1 and NumPy's booleans count, strings never do
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            got = f"{value!r} of type {type(value).__name__}"
            raise ValueError(f"{source} must be of type {kind.__name__}{none}, got {got}.")
        if kind is int and value < 1:
            raise ValueError(f"{source} must be at least 1, got {value}.")
        value = self.synonyms.get(value, value)
        if self.choices and value not in self.choices:
            allowed = ", ".join(map(repr, self.choices))
            raise ValueError(f"{source} must be one of {allowed}{none}, got {value!r}.")
        return value

    def parse(self, text, source):
        """Read a value from an environment variable's text."""
        value = text.strip()
        if self.default is None and value.lower() in ("", "none"):
            return None
        if isinstance(self.default, bool):
            if value.lower() not in WORDS:
                raise ValueError(f"{source} must be a boolean ({'/'.join(WORDS)}), got {text!r}.")
            value = WORDS[value.lower()]
        elif isinstance(self.default, int):
            if not value.removeprefix("-").isdecimal():
                raise ValueError(f"{source} must be an integer, got {text!r}.")
            value = int(value)
        return self.check(value, source)


# The levels of jax.lax.Precision with their older names; operand, product and accumulator types.
PRECISIONS = """default high highest bfloat16 tensorfloat32 float32 F16_F16_F16 F16_F16_F32
    BF16_BF16_BF16 BF16_BF16_F32 BF16_BF16_F32_X3 BF16_BF16_F32_X6 BF16_BF16_F32_X9
    TF32_TF32_F32 TF32_TF32_F32_X3 F32_F32_F32 F64_F64_F64"""
# JAX's five ways of filtering come down to two here.
TRACEBACK_WORDS = {"off": "full", "auto": "filtered", "tracebackhide": "filtered"}
TRACEBACK_WORDS |= {"remove_frames": "filtered", "quiet_remove_frames": "filtered"}

FLAGS = {flag.name: flag for flag in [
    Flag("enable_x64", False, "Keep 64-bit dtypes instead of narrowing them to 32."),
    Flag("disable_jit", False, "Run jitted functions eagerly, op by op."),
    Flag("debug_nans", False, "Raise FloatingPointError where a computation makes a NaN."),
    Flag("debug_infs", False, "Raise FloatingPointError where a computation makes an infinity."),
    Flag("debug_key_reuse", False, "Raise when a PRNG key is consumed twice."),
    Flag("warn_key_reuse", True, "Warn when numbers are drawn twice from one PRNG key."),
    Flag("explain_retraces", False, "Log why a function that was traced is traced again.",
         aliases=("explain_cache_misses",)),
    Flag("check_purity", False, "Check that a function is pure when jit first traces it."),
    Flag("warn_index_bounds", True, "Warn about constant indices out of bounds."),
    Flag("check_tracer_leaks", False, "Raise when a tracer outlives its transformation."),
    Flag("enable_checks", False, "Type-check every jaxpr that the machinery makes."),
    Flag("numpy_dtype_promotion", "standard", "Which dtypes mix.", ("standard", "strict")),
    Flag("numpy_rank_promotion", "allow", "May ranks differ?", ("allow", "warn", "raise")),
    Flag("explicit_x64_dtypes", "warn", "64-bit dtypes without x64?", ("warn", "error", "allow")),
    Flag("default_matmul_precision", None, "Precision of dot products.", tuple(PRECISIONS.split())),
    Flag("default_prng_impl", "threefry2x32", "Generator of new PRNG keys.", ("threefry2x32",)),
    Flag("legacy_prng_key", "allow", "Old-style keys?", ("allow", "warn", "error")),
    Flag("enable_custom_prng", False, "PRNGKey makes typed keys."),
    Flag("threefry_partitionable", True, "Random bits do not depend on how arrays lie.", (True,)),
    Flag("num_devices", 8, "How many devices pmap finds.", aliases=("num_cpu_devices",)),
    Flag("pmap_timeout", 3600, "Seconds after which a device that does not answer is given up."),
    Flag("pmap_start", "fork" if sys.platform == "linux" else "spawn",
         "How devices' processes start: copied from one that is ready, or anew.",
         ("fork", "spawn")),
    Flag("cpu_enable_async_dispatch", True, "Calls of long programs return at once."),
    Flag("platforms", "cpu", "Where arrays live.", ("cpu",), ("platform_name",)),
    Flag("cache_dir", None, "Folder of compiled kernels.", (), ("compilation_cache_dir",)),
    Flag("cache_megabytes", 512, "How much disk compiled kernels may take."),
    Flag("dump", None, "Folder to write every compiler stage to; None writes nothing."),
    Flag("traceback", "filtered", "Show errors with or without the frames of the machinery.",
         ("filtered", "full"), ("traceback_filtering",), TRACEBACK_WORDS),
]}  # fmt: skip

# Different values of these make different traces or checks: they are part of jit's cache key.
TRACED = ["enable_x64", "disable_jit", "debug_key_reuse", "numpy_dtype_promotion"]
TRACED += ["check_purity", "legacy_prng_key", "enable_custom_prng"]
TRACED += ["debug_nans", "debug_infs", "enable_checks", "check_tracer_leaks"]
TRACED += ["numpy_rank_promotion", "explicit_x64_dtypes", "default_matmul_precision"]
_CANONICAL: dict[str, str] = {}  # every name of a flag -> ours
_PREFIXES = ("tinyjax_", "jax_")


def flag_from_environment(flag, environ):
    """Return a flag's starting value: TINYJAX_<NAME>, else JAX_<NAME>, else its default."""
    # JAX_PLATFORMS=cuda is for JAX, not a mistake.
    names = () if flag.name == "platforms" else (flag.name, *flag.aliases)
    for variable in [f"TINYJAX_{flag.name}".upper(), *[f"JAX_{name}".upper() for name in names]]:
        if variable in environ:
            return flag.parse(environ[variable], f"environment variable {variable}")
    return flag.default


def _unknown_flag(name, prefix=""):
    """The error for a flag that does not exist; flags with similar names get this prefix."""
    import difflib  # slow to load, and only this needs it

    bare = name.removeprefix("tinyjax_").removeprefix("jax_")
    near = [repr(prefix + match) for match in difflib.get_close_matches(bare, _CANONICAL)]
    hint = f"Did you mean {' or '.join(near)}?" if near else f"The options are: {', '.join(FLAGS)}."
    return AttributeError(f"Unrecognized config option: {name}. {hint}")


# ---- values -------------------------------------------------------------------------------------

_traced_values = operator.attrgetter(*TRACED)


class FlagValues:
    """The values of all flags as attributes: those of the process are attributes of the class."""

    scopes: tuple = ()  # the scopes that this thread is in, innermost first
    trace_key: tuple  # the values that change a trace, in a fixed order

    def __getattr__(self, name):
        raise _unknown_flag(name)


class ScopedValues(FlagValues):
    """What scopes override: attributes of an instance, which hide those of the class."""

    trace_key = property(_traced_values)

    def __init__(self, scopes):
        self.__dict__.update({s.name: s.value for s in reversed(scopes)}, scopes=scopes)


_process_values = FlagValues()
_current = ContextVar("tinyjax_flags", default=_process_values)

#: `current_flags().enable_x64` is the fastest way to read a flag.
current_flags = _current.get

# ---- the config object --------------------------------------------------------------------------


class Config:
    """The flags, for reading and for changing.

    Every flag can be read under JAX's name, under ours and bare.

    >>> config.jax_numpy_rank_promotion
    'allow'
    >>> config.tinyjax_numpy_rank_promotion
    'allow'
    """

    _values = property(lambda self: current_flags())
    x64_enabled = property(operator.attrgetter("_values.enable_x64"), doc="An older name of JAX's.")
    __getattr__ = FlagValues.__getattr__  # for what is no flag

    def update(self, name, value):
        """Set a flag for the whole process.

        A thread inside a context manager for the same flag keeps its value until it leaves.

        Args:
          name: the flag's name with the prefix `jax_` or `tinyjax_`.
          value: a bool, int, str or None, as the flag wants it.

        Raises:
          AttributeError: no flag has this name; near matches are named.
          ValueError: the flag does not take this value.

        >>> config.update("jax_numpy_rank_promotion", "warn")
        >>> config.jax_numpy_rank_promotion
        'warn'
        >>> config.update("jax_numpy_rank_promotion", "allow")
        """
        flag = FLAGS.get(_CANONICAL.get(name.removeprefix("tinyjax_").removeprefix("jax_")))
        if flag is None or not name.startswith(_PREFIXES):
            raise _unknown_flag(name, prefix="jax_")
        value = flag.check(value, f"config option {name}")
        setattr(FlagValues, flag.name, value)
        while FlagValues.trace_key != _traced_values(FlagValues):  # threads may race
            FlagValues.trace_key = _traced_values(FlagValues)

    def trace_key(self):
        """Return the values of all flags that change what tracing a function produces.

        >>> config.trace_key() == config.trace_key()
        True
        """
        return current_flags().trace_key

    def __setattr__(self, name, value):
        raise AttributeError(f"A flag is not assigned to: use config.update({name!r}, {value!r}).")

    def __repr__(self):
        """One line per flag: its value here and now, and what it is for."""
        return "\n".join([f"{f'{n}={getattr(self, n)!r}':<36} {FLAGS[n].doc}" for n in FLAGS])


def define(flag):
    """Make a flag known under all its names, at the value that the environment gives it."""
    FLAGS[flag.name] = flag
    setattr(FlagValues, flag.name, flag_from_environment(flag, os.environ))
    for alias in (flag.name, *flag.aliases):
        _CANONICAL[alias] = flag.name
        for prefix in ("", *_PREFIXES):
            setattr(Config, prefix + alias, property(operator.attrgetter(f"_values.{flag.name}")))


for _flag in list(FLAGS.values()):
    define(_flag)
FlagValues.trace_key = _traced_values(FlagValues)
config = Config()

# ---- context managers ---------------------------------------------------------------------------


class FlagScope(contextlib.ContextDecorator):
    """Gives one flag another value in this thread: a `with` block, or a decorator.

    The same scope may be entered again while it is active, and by several threads.
    """

    def __init__(self, name, new_val=True):
        flag = FLAGS[name]
        if new_val is True and not isinstance(flag.default, bool):
            raise TypeError(f"{name}() needs the flag's new value, like {flag.choices[-1]!r}.")
        self.name, self.value = name, flag.check(new_val, f"argument of {name}()")

    def __enter__(self):
        _current.set(ScopedValues((self, *current_flags().scopes)))

    def __exit__(self, *exception):
        scopes = list(current_flags().scopes)
        scopes.remove(self)  # mostly the first, but scopes of generators may overlap
        _current.set(ScopedValues(tuple(scopes)) if scopes else _process_values)


enable_x64 = functools.partial(FlagScope, "enable_x64")
debug_nans = functools.partial(FlagScope, "debug_nans")
debug_infs = functools.partial(FlagScope, "debug_infs")
debug_key_reuse = functools.partial(FlagScope, "debug_key_reuse")
warn_key_reuse = functools.partial(FlagScope, "warn_key_reuse")
check_purity = functools.partial(FlagScope, "check_purity")
check_tracer_leaks = checking_leaks = functools.partial(FlagScope, "check_tracer_leaks")
explain_retraces = explain_cache_misses = functools.partial(FlagScope, "explain_retraces")
enable_checks = functools.partial(FlagScope, "enable_checks")
threefry_partitionable = functools.partial(FlagScope, "threefry_partitionable")
numpy_dtype_promotion = functools.partial(FlagScope, "numpy_dtype_promotion")
numpy_rank_promotion = functools.partial(FlagScope, "numpy_rank_promotion")
explicit_x64_dtypes = functools.partial(FlagScope, "explicit_x64_dtypes")
default_matmul_precision = functools.partial(FlagScope, "default_matmul_precision")
default_prng_impl = functools.partial(FlagScope, "default_prng_impl")
legacy_prng_key = functools.partial(FlagScope, "legacy_prng_key")
enable_custom_prng = functools.partial(FlagScope, "enable_custom_prng")


def disable_jit(disable=True):
    """Context manager for this thread: run jitted functions eagerly, op by op.

    >>> with disable_jit():
    ...     config.jax_disable_jit
    True
    """
    return FlagScope("disable_jit", disable)
