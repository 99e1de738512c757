"""The classes of errors: JAX's names and bases. (messages.py has their words.)"""


class JAXTypeError(TypeError):
    """A TypeError that tinyjax raises itself."""


class JAXIndexError(IndexError):
    """An IndexError that tinyjax raises itself."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value was needed as a concrete one."""


class TracerBoolConversionError(ConcretizationTypeError):
    """`if`, `while`, `and`, `or`, `not` or `bool()` met a traced value."""


class TracerArrayConversionError(JAXTypeError):
    """NumPy met a traced value."""


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used where Python needs an integer."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask was used as an index."""


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after its transformation had ended."""


class KeyReuseError(JAXTypeError):
    """A random key was used twice."""


class ImpureFunctionError(Exception):
    """A function was to be pure (jit(f, check=True), the flag check_purity), and is not."""


class KeyReuseWarning(UserWarning):
    """Two draws were made from one random key."""


class IndexOutOfBoundsWarning(UserWarning):
    """A constant index lies outside of its axis. (JAX says nothing.)"""


class InconclusiveDimensionOperation(Exception):
    """An operation on symbolic dimensions without an answer (there are none here)."""


class JaxprTypeError(TypeError):
    """A jaxpr is not well formed."""


class JaxRuntimeError(RuntimeError):
    """A program failed while it ran, for example in a callback."""
