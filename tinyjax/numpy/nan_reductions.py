"""Reductions that leave nans out; nan_to_num."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import check_out, check_where, ensure_arraylike
from tinyjax.numpy.comparisons import isnan, isneginf, isposinf
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.promotion import const
from tinyjax.numpy.reductions import all, max, mean, min, prod, start_value, sum
from tinyjax.numpy.selection import _where
from tinyjax.numpy.statistics import squared_magnitude, variance_dtypes
from tinyjax.primitives.linear import convert
from tinyjax.transforms.subprogram import subprogram


def without_nans(name, reduction, init, a, axis, keepdims, where, nan_if_all=False, **kwargs):
    """Reduce with nans replaced by what changes nothing; nan where there was nothing else."""
    a = ensure_arraylike(name, a)
    where = check_where(name, where)
    settings = {"axis": axis, "keepdims": keepdims, "where": where, **kwargs}
    if not dtypes.issubdtype(a.dtype, np.inexact):
        return reduction(a, **settings)
    out = reduction(_where(lax.ne(a, a), start_value(a, init), a), **settings)
    if not nan_if_all:
        return out
    return _where(all(lax.ne(a, a), axis=axis, keepdims=keepdims), const(a, np.nan), out)


@subprogram(static_argnames=("axis", "keepdims"))
def nanmin(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """min of the elements that are not nan; nan if all are."""
    return without_nans("nanmin", min, np.inf, a, axis, keepdims, where, initial is None,
                        out=out, initial=initial)  # fmt: skip


@subprogram(static_argnames=("axis", "keepdims"))
def nanmax(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """max of the elements that are not nan; nan if all are."""
    return without_nans("nanmax", max, -np.inf, a, axis, keepdims, where, initial is None,
                        out=out, initial=initial)  # fmt: skip


@subprogram(static_argnames=("axis", "dtype", "keepdims"))
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """sum of the elements that are not nan."""
    return without_nans("nansum", sum, 0, a, axis, keepdims, where,
                        out=out, dtype=dtype, initial=initial)  # fmt: skip


@subprogram(static_argnames=("axis", "dtype", "keepdims"))
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """prod of the elements that are not nan."""
    return without_nans("nanprod", prod, 1, a, axis, keepdims, where,
                        out=out, dtype=dtype, initial=initial)  # fmt: skip


@subprogram(static_argnames=("axis", "dtype", "keepdims"))
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, where=None):
    """mean of the elements that are not nan; nan if all are."""
    a = ensure_arraylike("nanmean", a)
    where = check_where("nanmean", where)
    check_out("nanmean", out)
    if a.dtype.kind in "biu":
        return mean(a, axis, dtype, out, keepdims, where=where)
    if dtype is None:
        dtype = dtypes.to_inexact_dtype(a.dtype)
    else:
        dtype = dtypes.check_user_dtype_supported(dtype, "mean")
    valid = lax.bitwise_not(lax.ne(a, a))
    count = sum(valid, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return lax.div(nansum(a, axis, dtype=dtype, keepdims=keepdims, where=where), count)


@subprogram(static_argnames=("axis", "dtype", "keepdims"))
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None, mean=None):
    """var of the elements that are not nan; nan if all are."""
    a = ensure_arraylike("nanvar", a)
    where = check_where("nanvar", where)
    check_out("nanvar", out)
    if dtype is not None:
        dtype = dtypes.check_user_dtype_supported(dtype, "nanvar")
    computed, dtype = variance_dtypes(a.dtype, dtype)
    a = convert(a, computed)
    if mean is None:
        mean = nanmean(a, axis, dtype=computed, keepdims=True, where=where)
    else:
        mean = convert(ensure_arraylike("nanvar", mean), computed)
    squares = squared_magnitude(_where(lax.ne(a, a), 0, lax.sub(a, mean)))
    count = sum(lax.bitwise_not(lax.ne(a, a)), axis=axis, keepdims=keepdims, where=where)
    count = count - ddof
    empty = lax.le(count, const(count, 0))
    total = sum(squares, axis, keepdims=keepdims, where=where)
    total = _where(empty, np.nan, total)
    count = _where(empty, 1, count)
    result = lax.div(total, lax.convert_element_type(count, total.dtype))
    return lax.convert_element_type(result, dtype)


@subprogram(static_argnames=("axis", "dtype", "keepdims"))
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None, mean=None):
    """std of the elements that are not nan; nan if all are."""
    a = ensure_arraylike("nanstd", a)
    where = check_where("nanstd", where)
    check_out("nanstd", out)
    if dtype is not None:
        dtype = dtypes.check_user_dtype_supported(dtype, "nanstd")
    return lax.sqrt(nanvar(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where,
                           mean=mean))  # fmt: skip


@subprogram
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """Finite numbers instead of nans and infinities: by default 0, the largest, the smallest."""
    x = ensure_arraylike("nan_to_num", x)
    if not dtypes.issubdtype(x.dtype, np.inexact):
        return x
    if x.dtype.kind == "c":
        settings = {"nan": nan, "posinf": posinf, "neginf": neginf}
        re = nan_to_num(lax.real(x), **settings)
        return lax.complex(re, nan_to_num(lax.imag(x), **settings))
    info = dtypes.finfo(x.dtype)
    posinf = info.max if posinf is None else posinf
    neginf = info.min if neginf is None else neginf
    out = _where(isnan(x), asarray(nan, dtype=x.dtype), x)
    out = _where(isposinf(out), asarray(posinf, dtype=x.dtype), out)
    return _where(isneginf(out), asarray(neginf, dtype=x.dtype), out)
