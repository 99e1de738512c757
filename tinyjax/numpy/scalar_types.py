"""float32, int8 ...: dtypes that can be called to make scalars, and the constants."""

import numpy as np

from tinyjax import dtypes
from tinyjax.numpy.creation import asarray
from tinyjax.primitives import narrow


class _ScalarMeta(type):
    """The type of jnp.float32: it makes arrays when called, and stands for its dtype elsewhere."""

    def __hash__(cls):
        return hash(cls.dtype.type)

    def __eq__(cls, other):
        return cls is other or cls.dtype.type == other

    def __ne__(cls, other):
        return not cls == other

    def __call__(cls, x):
        return asarray(x, dtype=cls.dtype)

    def __instancecheck__(cls, instance):
        return isinstance(instance, cls.dtype.type)

    @property
    def __numpy_dtype__(cls):
        return cls.dtype


def scalar_type(numpy_type):
    """The scalar type of a NumPy type."""
    name = numpy_type.__name__
    doc = f"The dtype {name}; called with a number or array, it converts it to that dtype."
    return _ScalarMeta(
        name,
        (object,),
        {"dtype": np.dtype(numpy_type), "__doc__": doc, "__module__": "tinyjax.numpy"},
    )


bool_ = scalar_type(np.bool_)
int8, int16 = scalar_type(np.int8), scalar_type(np.int16)
int32, int64 = scalar_type(np.int32), scalar_type(np.int64)
uint8, uint16 = scalar_type(np.uint8), scalar_type(np.uint16)
uint32, uint64 = scalar_type(np.uint32), scalar_type(np.uint64)
float16, float32, float64 = map(scalar_type, (np.float16, np.float32, np.float64))
bfloat16 = scalar_type(dtypes.bfloat16)
complex64, complex128 = scalar_type(np.complex64), scalar_type(np.complex128)
# dtypes of one byte or less, for storage
SHORT = [scalar_type(d.type) for d in narrow.FLOATS]
float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz = SHORT[:5]
float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu = SHORT[5:8]
float4_e2m1fn, float6_e2m3fn, float6_e3m2fn = SHORT[8:]
int1, int2, int4 = [scalar_type(d.type) for d in narrow.SIGNED]
uint1, uint2, uint4 = [scalar_type(d.type) for d in narrow.UNSIGNED]

single, double, csingle, cdouble = float32, float64, complex64, complex128
int_, uint, float_, complex_ = int64, uint64, float64, complex128

#: NumPy's classes of scalars, for issubdtype.
generic, number, inexact = np.generic, np.number, np.inexact
integer, signedinteger, unsignedinteger = np.integer, np.signedinteger, np.unsignedinteger
floating, complexfloating = np.floating, np.complexfloating
flexible, character, object_ = np.flexible, np.character, np.object_

e, pi, inf, nan, euler_gamma = np.e, np.pi, np.inf, np.nan, np.euler_gamma
newaxis = None
