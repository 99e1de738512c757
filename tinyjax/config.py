"""Flags: what they are called, where their values come from, and how to change them.

A flag has one value for the whole process, and a thread may override it for a while:

    config.update("jax_enable_x64", True)      # everywhere, from now on
    with enable_x64(True): ...                 # in this thread, inside the block
    TINYJAX_ENABLE_X64=1 python program.py     # from the start (or JAX_ENABLE_X64)

Machinery reads `current_flags().enable_x64`; that is one context variable and one attribute.
Inside the package, import names from this file (`from tinyjax.config import config`), because the
package's own attribute `tinyjax.config` is the `config` object, as in JAX.
"""

from __future__ import annotations

import difflib
import functools
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

# ---------------------------------------------------------------- flags

TRUE_WORDS = ("1", "true", "yes", "on", "t", "y")
FALSE_WORDS = ("0", "false", "no", "off", "f", "n")


@dataclass(frozen=True)
class Flag:
    """One flag: its default, what it means, and which values it takes."""

    name: str
    default: Any
    doc: str
    kind: type = bool  # bool, int or str
    choices: tuple = ()  # nothing else is accepted, if given
    optional: bool = False  # None is accepted too
    traced: bool = False  # a different value makes a different trace: part of jit's cache key
    aliases: tuple[str, ...] = ()  # what JAX calls it, where that differs
    synonyms: Mapping[str, str] = field(default_factory=dict)  # JAX's words for our values
    reads_jax_env: bool = True  # JAX's environment variable means the same here

    def check(self, value: Any, source: str) -> Any:
        """Return `value` in its canonical type, or raise a ValueError that names `source`."""
        if value is None and self.optional:
            return None
        value = self._convert(value, source)
        if self.choices and value not in self.choices:
            allowed = ", ".join(map(repr, self.choices))
            none = " or None" if self.optional else ""
            raise ValueError(f"{source} must be one of {allowed}{none}, got {value!r}.")
        return value

    def parse(self, text: str, source: str) -> Any:
        """Read a value from an environment variable's text."""
        word = text.strip()
        if self.optional and word.lower() in ("", "none"):
            return None
        if self.kind is bool:
            return self.check(_parse_bool(word, source), source)
        if self.kind is int:
            try:
                return self.check(int(word), source)
            except ValueError as error:
                if str(error).startswith(source):
                    raise
                raise ValueError(f"{source} must be an integer, got {text!r}.") from None
        return self.check(word, source)

    def _convert(self, value: Any, source: str) -> Any:
        """Check the Python type of a value; 0 and 1 count as booleans, strings never do."""
        if self.kind is bool and value in (0, 1) and not isinstance(value, (str, float)):
            return bool(value)
        if self.kind is int and isinstance(value, int) and not isinstance(value, bool):
            if value < 1:
                raise ValueError(f"{source} must be at least 1, got {value}.")
            return int(value)
        if self.kind is str and isinstance(value, str):
            return self.synonyms.get(value, str(value))
        none = " or None" if self.optional else ""
        got = f"{value!r} of type {type(value).__name__}"
        raise ValueError(f"{source} must be of type {self.kind.__name__}{none}, got {got}.")


def _parse_bool(word: str, source: str) -> bool:
    """Read one of the usual words for true and false."""
    if word.lower() in TRUE_WORDS:
        return True
    if word.lower() in FALSE_WORDS:
        return False
    raise ValueError(
        f"{source} must be a boolean ({'/'.join(TRUE_WORDS)} or {'/'.join(FALSE_WORDS)}), "
        f"got {word!r}."
    )


MATMUL_PRECISIONS = (
    # the levels of jax.lax.Precision and their older names
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
    # algorithms by operand, product and accumulator type
    "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6", "BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32",
    "F64_F64_F64",
)  # fmt: skip

# JAX's five ways of filtering come down to two here.
TRACEBACK_WORDS = {
    "off": "full",
    "auto": "filtered",
    "tracebackhide": "filtered",
    "remove_frames": "filtered",
    "quiet_remove_frames": "filtered",
}

_FLAGS = [
    Flag("enable_x64", False, "Keep 64-bit dtypes instead of narrowing them to 32.", traced=True),
    Flag("disable_jit", False, "Run jitted functions eagerly, op by op.", traced=True),
    Flag("debug_nans", False, "Raise FloatingPointError where a computation makes a NaN."),
    Flag("debug_infs", False, "Raise FloatingPointError where a computation makes an infinity."),
    Flag("debug_key_reuse", False, "Raise when a PRNG key is consumed twice.", traced=True),
    Flag("check_tracer_leaks", False, "Raise when a tracer outlives its transformation."),
    Flag("enable_checks", False, "Type-check every jaxpr that the machinery makes."),
    Flag("numpy_dtype_promotion", "standard", "Which dtypes may meet in one operation.", str,
         ("standard", "strict"), traced=True),
    Flag("numpy_rank_promotion", "allow", "What to do when operands differ in rank.", str,
         ("allow", "warn", "raise"), traced=True),
    Flag("explicit_x64_dtypes", "warn", "A 64-bit dtype is asked for, and x64 is off: what now?",
         str, ("warn", "error", "allow"), traced=True),
    Flag("default_matmul_precision", None, "Precision of dot products that do not name one.", str,
         MATMUL_PRECISIONS, optional=True, traced=True),
    Flag("default_prng_impl", "threefry2x32", "Generator behind new PRNG keys.", str,
         ("threefry2x32",)),
    Flag("threefry_partitionable", True, "Random bits do not depend on how an array is split up.",
         choices=(True,)),
    Flag("num_devices", 8, "How many devices pmap finds.", int, aliases=("num_cpu_devices",)),
    Flag("platforms", "cpu", "Where arrays live.", str, ("cpu",), aliases=("platform_name",),
         reads_jax_env=False),  # JAX_PLATFORMS=cuda is for JAX, not a mistake
    Flag("cache_dir", None, "Folder of compiled kernels; None means the user's cache folder.", str,
         optional=True, aliases=("compilation_cache_dir",)),
    Flag("dump", None, "Folder to write every compiler stage to; None writes nothing.", str,
         optional=True),
    Flag("traceback", "filtered", "Show errors with or without the frames of the machinery.", str,
         ("filtered", "full"), aliases=("traceback_filtering",), synonyms=TRACEBACK_WORDS),
]  # fmt: skip

FLAGS: dict[str, Flag] = {flag.name: flag for flag in _FLAGS}
_CANONICAL = {alias: flag.name for flag in _FLAGS for alias in (flag.name, *flag.aliases)}
_TRACED = tuple(flag.name for flag in _FLAGS if flag.traced)
_PREFIXES = ("tinyjax_", "jax_")


def flag_from_environment(flag: Flag, environ: Mapping[str, str]) -> Any:
    """Return a flag's starting value: TINYJAX_<NAME>, else JAX_<NAME>, else its default."""
    names = [(flag.name, "TINYJAX_")]
    if flag.reads_jax_env:
        names += [(name, "JAX_") for name in (flag.name, *flag.aliases)]
    for name, prefix in names:
        variable = prefix + name.upper()
        if variable in environ:
            return flag.parse(environ[variable], f"environment variable {variable}")
    return flag.default


# ---------------------------------------------------------------- values


class FlagValues:
    """The value of every flag as attributes: one object for the process, one more per override."""

    trace_key: tuple  # the values that change a trace, in a fixed order

    def __init__(self, values: Mapping[str, Any], overrides: Mapping[str, Any]):
        self.__dict__.update({**values, **overrides})
        self.overrides = overrides
        self.refresh_trace_key()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_unknown_flag(name))

    def refresh_trace_key(self) -> None:
        """Compute the trace key afresh; whoever changes a value calls this afterwards."""
        self.trace_key = tuple(self.__dict__[name] for name in _TRACED)

    def change(self, name: str, value: Any) -> None:
        """Take over a new process-wide value, unless it is overridden here."""
        if name not in self.overrides:
            self.__dict__[name] = value
            self.refresh_trace_key()


# Weak references: an override that no thread is inside of any more needs no updates.
_overriding: weakref.WeakValueDictionary[int, FlagValues] = weakref.WeakValueDictionary()
_process_values = FlagValues({f.name: flag_from_environment(f, os.environ) for f in _FLAGS}, {})
# Held while an override copies the process's values and while those change, so that none is missed.
_lock = threading.Lock()
if hasattr(os, "register_at_fork"):  # a forked child must find the lock open
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )
_current: ContextVar[FlagValues] = ContextVar("tinyjax_flags", default=_process_values)

#: `current_flags().enable_x64` is the fastest way to read a flag.
current_flags: Callable[[], FlagValues] = _current.get


def _unknown_flag(name: str, prefix: str = "") -> str:
    """Write the message for a flag that does not exist."""
    bare = _strip_prefix(name)
    near = difflib.get_close_matches(bare, _CANONICAL, n=3, cutoff=0.6)
    if not near:
        return f"Unrecognized config option: {name}. The options are: {', '.join(FLAGS)}."
    options = " or ".join(repr(prefix + match) for match in near)
    return f"Unrecognized config option: {name}. Did you mean {options}?"


def _strip_prefix(name: str) -> str:
    """Remove `tinyjax_` or `jax_`."""
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


# ---------------------------------------------------------------- the config object


class Config:
    """The flags, for reading and for changing.

    Every flag can be read under JAX's name, under ours and bare.

    >>> config.jax_numpy_rank_promotion
    'allow'
    >>> config.tinyjax_numpy_rank_promotion
    'allow'
    """

    def update(self, name: str, value: Any) -> None:
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
        plain = _CANONICAL.get(_strip_prefix(name))
        if plain is None or not name.startswith(_PREFIXES):
            raise AttributeError(_unknown_flag(name, prefix="jax_"))
        value = FLAGS[plain].check(value, f"config option {name}")
        with _lock:
            for values in (_process_values, *_overriding.values()):
                values.change(plain, value)

    def trace_key(self) -> tuple:
        """Return the values of all flags that change what tracing a function produces.

        >>> config.trace_key() == config.trace_key()
        True
        """
        return _current.get().trace_key

    @property
    def x64_enabled(self) -> bool:
        """The flag enable_x64 under an older name of JAX's."""
        return _current.get().enable_x64

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_unknown_flag(name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"config.{name} cannot be assigned to: use config.update({name!r}, {value!r})."
        )

    def __repr__(self) -> str:
        """One line per flag: its value here and now, and what it is for."""
        lines = [f"{f'{n}={getattr(self, n)!r}':<36} {FLAGS[n].doc}" for n in FLAGS]
        return "\n".join(lines)


def _flag_property(name: str) -> property:
    """Make the attribute that reads one flag."""
    return property(lambda self: getattr(_current.get(), name), doc=FLAGS[name].doc)


for _alias, _name in _CANONICAL.items():
    for _prefix in ("", *_PREFIXES):
        setattr(Config, _prefix + _alias, _flag_property(_name))

config = Config()

# ---------------------------------------------------------------- context managers

_UNSET = object()


class FlagScope:
    """Gives one flag another value in this thread: a `with` block, or a decorator.

    The same scope may be entered again while it is active, and by several threads.
    """

    def __init__(self, name: str, value: Any):
        self.name = name
        self.value = FLAGS[name].check(value, f"argument of {name}()")
        self._saved: dict[int, list] = {}  # per thread, the overrides to go back to

    def __enter__(self) -> None:
        saved = self._saved.setdefault(threading.get_ident(), [])
        saved.append(_current.get().overrides.get(self.name, _UNSET))
        _override(self.name, self.value)

    def __exit__(self, *exception: object) -> None:
        thread = threading.get_ident()
        _override(self.name, self._saved[thread].pop())
        if not self._saved[thread]:
            del self._saved[thread]

    def __call__(self, fun: Callable) -> Callable:
        """Return `fun` with its whole body inside this scope."""

        @functools.wraps(fun)
        def scoped(*args, **kwargs):
            with self:
                return fun(*args, **kwargs)

        return scoped


def _override(name: str, value: Any) -> None:
    """Set or (with _UNSET) remove this thread's own value of one flag, leaving the others alone."""
    overrides = {**_current.get().overrides, name: value}
    if value is _UNSET:
        del overrides[name]
    if not overrides:
        _current.set(_process_values)
        return
    with _lock:
        values = FlagValues(_process_values.__dict__, overrides)
        _overriding[id(values)] = values
    _current.set(values)


def _scope_function(name: str, default: Any = _UNSET) -> Callable[..., FlagScope]:
    """Make the context manager function of one flag."""

    def scope(new_val=default):
        if new_val is _UNSET:
            raise TypeError(f"{name}() needs the flag's new value, for example one of "
                            f"{FLAGS[name].choices[:3]}.")  # fmt: skip
        return FlagScope(name, new_val)

    scope.__name__ = scope.__qualname__ = name
    scope.__doc__ = f"Context manager for this thread: {FLAGS[name].doc}"
    return scope


enable_x64 = _scope_function("enable_x64", True)
debug_nans = _scope_function("debug_nans", True)
debug_infs = _scope_function("debug_infs", True)
debug_key_reuse = _scope_function("debug_key_reuse", True)
check_tracer_leaks = _scope_function("check_tracer_leaks", True)
checking_leaks = check_tracer_leaks
enable_checks = _scope_function("enable_checks", True)
threefry_partitionable = _scope_function("threefry_partitionable", True)
numpy_dtype_promotion = _scope_function("numpy_dtype_promotion")
numpy_rank_promotion = _scope_function("numpy_rank_promotion")
explicit_x64_dtypes = _scope_function("explicit_x64_dtypes")
default_matmul_precision = _scope_function("default_matmul_precision")
default_prng_impl = _scope_function("default_prng_impl")


def disable_jit(disable: bool = True) -> FlagScope:
    """Context manager for this thread: run jitted functions eagerly, op by op.

    >>> with disable_jit():
    ...     config.jax_disable_jit
    True
    """
    return FlagScope("disable_jit", disable)
