"""Dtypes and promotion: everything is compared with jax, over all pairs, with x64 on and off."""

import itertools
import warnings

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax._src import dtypes as theirs  # the oracle's private names

from tinyjax import dtypes
from tinyjax.config import enable_x64, explicit_x64_dtypes, numpy_dtype_promotion

NAMES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "bfloat16", "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
ALL = [np.dtype(getattr(ml_dtypes, name, name)) for name in NAMES]
WEAK = [int, float, complex]
KEY = jax.random.key(0).dtype

# Every dtype, what else can name one, and the kinds of the hierarchy.
SPECS = [*ALL, *NAMES, bool, int, float, complex, np.float32, np.int8, ml_dtypes.bfloat16, None]
SPECS += [np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact]
SPECS += [np.floating, np.complexfloating, "S3", "O", dtypes.float0]


class Operand:
    """The least that promotion asks of an array."""

    def __init__(self, dtype, weak_type=False):
        self.dtype, self.weak_type = np.dtype(dtype), weak_type
        self.aval = self  # where jax looks


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def x64(request):
    """Both libraries with x64 off, then on."""
    with jax.enable_x64(request.param), enable_x64(request.param):
        yield request.param


@pytest.fixture(params=["standard", "strict"])
def promotion(request):
    """Both libraries in both promotion modes."""
    name = request.param
    with jax.numpy_dtype_promotion(name), numpy_dtype_promotion(name):
        yield name


def outcome(fun, *args, **kwargs):
    """The value and the number of warnings, or the class name of the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = fun(*args, **kwargs)
        except Exception as error:
            return type(error).__name__
        narrowed = [w for w in caught if "Explicitly requested" in str(w.message)]
        return value, len(narrowed)


# ---------------------------------------------------------------- the lattice


OPERANDS = [(d, False) for d in ALL] + [(d, True) for d in ALL[1:]]


def test_promote_types_all_pairs(x64, promotion):
    for a, b in itertools.product([*ALL, *WEAK], repeat=2):
        assert outcome(dtypes.promote_types, a, b) == outcome(jnp.promote_types, a, b), (a, b)


def test_lattice_result_type_all_pairs_of_arrays(x64, promotion):
    operands = OPERANDS if x64 else [(d, w) for d, w in OPERANDS if d.itemsize < 8 or d == "c8"]
    for a, b in itertools.product(operands, repeat=2):
        ours = outcome(dtypes.lattice_result_type, Operand(*a), Operand(*b))
        wanted = outcome(theirs.lattice_result_type, Operand(*a), Operand(*b))
        assert ours == wanted, (a, b)


def test_real_arrays_promote_alike(x64, promotion):
    values = [jnp.zeros(2, d) for d in ALL if x64 or d.itemsize < 8 or d == "c8"]
    values += [jnp.asarray(1), jnp.asarray(1.0), jnp.asarray(1j), jnp.asarray(True)]
    values += [True, 1, 2.0, 3j, np.float64(1), np.int8(1), np.ones(2), np.arange(3), np.bool_(1)]
    for a, b in itertools.product(values, repeat=2):
        for flag in (False, True):
            ours = outcome(dtypes.result_type, a, b, return_weak_type_flag=flag)
            wanted = outcome(jax.dtypes.result_type, a, b, return_weak_type_flag=flag)
            assert ours == wanted, (a, b)


def test_wide_arrays_stay_wide_when_x64_goes_off():
    with jax.enable_x64(True):
        values = [jnp.zeros(2, d) for d in ALL] + [jnp.asarray(1), jnp.asarray(1.0)]
    for a, b in itertools.product([*values, 1, 2.0], repeat=2):
        ours = outcome(dtypes.lattice_result_type, a, b)
        assert ours == outcome(theirs.lattice_result_type, a, b), (a, b)


def test_result_type_of_mixtures(x64, promotion):
    scalars = [True, 1, 2.0, 3j, int, float, complex, bool, None]
    scalars += [np.int8(1), np.float64(2), np.ones(2), "int16", np.uint32, np.dtype("float64")]
    for n in (1, 2, 3):
        for args in itertools.combinations(scalars, n):
            assert outcome(dtypes.result_type, *args) == outcome(jnp.result_type, *args), args
    assert outcome(dtypes.result_type) == outcome(jnp.result_type) == "ValueError"


def test_three_operands_do_not_depend_on_order(x64):
    for args in itertools.combinations([Operand(*o) for o in OPERANDS[::2]], 3):
        found = {outcome(dtypes.lattice_result_type, *p)[0] for p in itertools.permutations(args)}
        assert len(found) == 1


def test_safe_to_cast(x64):
    for a, b in itertools.product([*ALL, 1, 2.0, 3j, True], ALL):
        assert outcome(dtypes.safe_to_cast, a, b) == outcome(theirs.safe_to_cast, a, b), (a, b)


def test_a_narrowing_result_warns_every_time():
    wide, narrow = Operand("float64"), Operand("int32")
    for _ in range(2):
        with pytest.warns(UserWarning, match="float64 .*truncated to dtype float32"):
            assert dtypes.lattice_result_type(wide, narrow) == (np.dtype("float32"), False)


def test_memo_follows_the_flags():
    a, b = Operand("uint32"), Operand("int32")
    assert dtypes.lattice_result_type(a, b)[0] == np.dtype("int32")
    with enable_x64(True):
        assert dtypes.lattice_result_type(a, b)[0] == np.dtype("int64")
    with numpy_dtype_promotion("strict"), pytest.raises(dtypes.TypePromotionError):
        dtypes.lattice_result_type(a, b)
    assert dtypes.lattice_result_type(a, b)[0] == np.dtype("int32")


def test_strict_error_names_the_dtypes_and_the_way_out():
    with numpy_dtype_promotion("strict"):
        with pytest.raises(dtypes.TypePromotionError, match=r"\(int32, float32\).*astype") as info:
            dtypes.promote_types("int32", "float32")
        assert "jax_numpy_dtype_promotion=standard" in str(info.value)
        with pytest.raises(dtypes.TypePromotionError, match=r"\(int8, weak float\)"):
            dtypes.result_type(np.int8(1), 2.0)


def test_float0_and_keys_mix_only_with_themselves():
    for special in (np.zeros(2, dtypes.float0), KeyArray()):
        alone = dtypes.lattice_result_type(special, special)
        assert alone == (special.dtype, False)
        with pytest.raises(ValueError, match="is not a valid dtype for JAX type promotion"):
            dtypes.lattice_result_type(special, 1)


class KeyArray:
    """Something with a key dtype."""

    dtype, weak_type = dtypes.key_fry, False


# ---------------------------------------------------------------- kinds


def test_issubdtype_all_pairs():
    for a, b in itertools.product(SPECS, repeat=2):
        assert outcome(dtypes.issubdtype, a, b) == outcome(jnp.issubdtype, a, b), (a, b)


def test_issubdtype_of_key_dtypes():
    pairs = [(dtypes.prng_key, jax.dtypes.prng_key), (dtypes.extended, jax.dtypes.extended)]
    pairs += [(dtypes.key_fry, KEY), *((s, s) for s in SPECS)]
    for (our_a, a), (our_b, b) in itertools.product(pairs, repeat=2):
        assert outcome(dtypes.issubdtype, our_a, our_b) == outcome(jnp.issubdtype, a, b), (a, b)


def test_isdtype():
    kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating"]
    kinds += ["complex floating", "numeric", *ALL, ("bool", "integral"), ("int8", "float32")]
    kinds += ["nonsense", (), 3]
    for dtype, kind in itertools.product(ALL, kinds):
        ours, wanted = outcome(dtypes.isdtype, dtype, kind), outcome(jnp.isdtype, dtype, kind)
        assert ours == wanted, (dtype, kind)
    with pytest.raises(ValueError, match="Unrecognized kind='nonsense'.*real floating"):
        dtypes.isdtype("int8", "nonsense")


@pytest.mark.parametrize("name", NAMES)
def test_finfo_and_iinfo(name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    for ours, oracle in ((dtypes.finfo, jnp.finfo), (dtypes.iinfo, jnp.iinfo)):
        found, wanted = outcome(ours, dtype), outcome(oracle, dtype)
        assert isinstance(found, str) == isinstance(wanted, str)
        if isinstance(found, str):
            assert found == wanted
            continue
        for key in ("bits", "min", "max", "eps", "tiny", "smallest_subnormal", "dtype", "nmant"):
            assert getattr(found[0], key, None) == getattr(wanted[0], key, None)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_names_and_conversions(dtype):
    assert dtypes.short_name(dtype) == theirs.short_dtype_name(dtype)
    assert dtypes.scalar_type_of(np.zeros(1, dtype)) is theirs.scalar_type_of(np.zeros(1, dtype))
    assert dtypes.itemsize_bits(dtype) == theirs.itemsize_bits(dtype)
    for name in ("to_numeric_dtype", "to_inexact_dtype", "to_complex_dtype", "to_floating_dtype"):
        assert outcome(getattr(dtypes, name), dtype) == outcome(getattr(theirs, name), dtype), name


def test_key_dtype_looks_like_jax():
    ours = dtypes.KeyType()
    assert (repr(ours), str(ours), ours.name) == (repr(KEY), str(KEY), KEY.name)
    assert dtypes.short_name(ours) == dtypes.dtype_name(ours) == "key<fry>"
    assert ours.itemsize == KEY.itemsize
    assert ours == dtypes.key_fry and hash(ours) == hash(dtypes.key_fry)
    assert ours != "key<fry>" and ours != dtypes.KeyType("rbg", (4,))


def test_float0_is_jax_float0():
    assert dtypes.float0 == jax.dtypes.float0
    assert dtypes.short_name(dtypes.float0) == dtypes.dtype_name(dtypes.float0) == "float0"
    shown = jax.core.ShapedArray((3,), dtypes.float0).str_short(short_dtypes=True)
    assert shown == f"{dtypes.short_name(dtypes.float0)}[3]"


# ---------------------------------------------------------------- dtypes of values


def test_dtype_of_anything(x64):
    values = [True, 1, 2.0, 3j, bool, int, float, complex, np.float64(1), np.ones(3), "int64"]
    values += [*ALL, *(np.zeros(2, d) for d in ALL), *(d.type for d in ALL), None, object(), "a"]
    values += [[1, 2], np.array(["text"]), "S3", np.zeros(2, dtypes.float0), jnp.ones(2)]
    values += [jnp.float32(1), jnp.float32, jnp.bfloat16]
    for value in values:
        assert outcome(dtypes.dtype, value) == outcome(theirs.dtype, value), value


def test_defaults_and_canonical(x64):
    for kind in ("int", "uint", "float", "complex"):
        name = f"default_{kind}_dtype"
        assert getattr(dtypes, name)() == getattr(theirs, name)()
    for spec in SPECS:
        ours, wanted = (outcome(m.canonicalize_dtype, spec) for m in (dtypes, theirs))
        assert ours == wanted, spec
    for name in ("int_", "uint", "float_", "complex_", "bool_", "bfloat16"):
        assert getattr(dtypes, name) is getattr(theirs, name)


def test_canonicalize_extended():
    assert dtypes.canonicalize_dtype(dtypes.key_fry, allow_extended_dtype=True) == dtypes.key_fry
    with pytest.raises(ValueError, match="called on the extended dtype key<fry>"):
        dtypes.canonicalize_dtype(dtypes.key_fry)
    with pytest.raises(TypeError, match="dtype 'nonsense' not understood"):
        dtypes.canonicalize_dtype("nonsense")


def test_user_dtypes(x64):
    oracle = theirs.check_and_canonicalize_user_dtype
    for spec in [*SPECS, jnp.ones(2), jnp.float32, "nonsense"]:
        assert outcome(dtypes.check_user_dtype_supported, spec) == outcome(oracle, spec), spec


def test_user_dtype_messages():
    with pytest.warns(UserWarning) as caught:
        assert dtypes.check_user_dtype_supported("float64", "zeros") == np.dtype("float32")
    message = str(caught[0].message)
    wanted = "Explicitly requested dtype float64 requested in zeros is not available, and will be "
    assert message.startswith(wanted + "truncated to dtype float32.")
    assert caught[0].filename == __file__  # the line at fault is the user's
    with explicit_x64_dtypes("error"), pytest.raises(ValueError, match="jax_enable_x64"):
        dtypes.check_user_dtype_supported(np.int64)
    with explicit_x64_dtypes("allow"):
        assert dtypes.check_user_dtype_supported(np.int64) == np.dtype("int64")
    with pytest.raises(TypeError, match=r"got dtype \|S3 in zeros"):
        dtypes.check_user_dtype_supported("S3", "zeros")
    with pytest.raises(ValueError, match="use dtype=arr.dtype"):
        dtypes.check_user_dtype_supported(Operand("int32").dtype.type(3))


# ---------------------------------------------------------------- Python scalars


def test_integers_that_do_not_fit(x64):
    for value in (0, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, 10**30):
        ours, wanted = outcome(dtypes.coerce_to_array, value), outcome(jnp.array, value)
        assert isinstance(ours, str) == isinstance(wanted, str), value
        if isinstance(ours, str):
            assert ours == wanted == "OverflowError"
        else:
            assert (ours[0].dtype, int(ours[0])) == (wanted[0].dtype, int(wanted[0]))


def test_overflow_message_is_jax_message():
    for fun in (dtypes.coerce_to_array, jnp.array):
        with pytest.raises(
            OverflowError, match="^Python int 2147483648 too large to convert to int32$"
        ):
            fun(2**31)


def test_coerced_scalars(x64):
    for value in (True, 3, 2.5, 1 + 2j, np.float64(2), np.arange(3)):
        ours, wanted = dtypes.coerce_to_array(value), theirs.coerce_to_array(value)
        assert ours.dtype == wanted.dtype and np.array_equal(ours, wanted)
    assert dtypes.coerce_to_array(3, np.uint8).dtype == np.uint8
