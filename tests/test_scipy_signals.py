"""scipy.signal, fft, ndimage, interpolate, integrate, cluster against the oracle."""

import warnings
from functools import partial

import jax
import jax.scipy.cluster
import jax.scipy.fft
import jax.scipy.integrate
import jax.scipy.interpolate
import jax.scipy.ndimage
import jax.scipy.signal
import numpy as np
import pytest
from worlds import compare, same, same_error

import tinyjax

RNG = np.random.default_rng(6)


def x(*shape, dtype=np.float32):
    """Random numbers."""
    a = RNG.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * RNG.normal(size=shape)
    return (a * (4 if np.dtype(dtype).kind == "i" else 1)).astype(dtype)


def check(f, *args, gradient=True, compiled=False):
    """f(world, *args): values, compiled values and gradients are the oracle's."""

    def total(world, *args):
        leaves = world.tree_util.tree_leaves(f(world, *args))
        return sum((abs(v) ** 2).sum() for v in leaves)

    def run(world):
        jit = world.jit if world is jax or compiled else lambda g: g  # jax is slow eagerly
        out = jit(partial(f, world))(*map(world.numpy.asarray, args))
        return (out, jit(world.grad(partial(total, world)))(*args)) if gradient else out

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(run, rtol=2e-3, atol=2e-4)


# ---- convolutions -------------------------------------------------------------------------------

PAIRS = [(x(7), x(3)), (x(3), x(7)), (x(4, 5), x(2, 3)), (x(2, 3), x(4, 5)), (x(3, 3), x(3, 3))]
COMPLEX = [(x(5, dtype=np.complex64), x(3, dtype=np.complex64)), (x(5, dtype=np.int32), x(3))]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("method", ["auto", "fft"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolve(name, method, mode):
    for a, b in PAIRS + COMPLEX:
        check(lambda w, a, b: getattr(w.scipy.signal, name)(a, b, mode, method), a, b,
              gradient=a.ndim == 2 and method == "fft", compiled=a is PAIRS[0][0])  # fmt: skip


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_convolve_matrices(name, mode):
    for a, b in [*PAIRS[2:], (x(3, 4, dtype=np.complex64), x(2, 2, dtype=np.complex64))]:
        check(lambda w, a, b: getattr(w.scipy.signal, name)(a, b, mode), a, b, gradient=False)


def test_fftconvolve_along_some_axes():
    a, b = x(3, 4, 5), x(3, 2, 5)
    for axes in (1, (1,), (0, 1), None):
        check(lambda w, a, b, d=axes: w.scipy.signal.fftconvolve(a, b, "full", d), a, b)


def test_errors_of_convolutions():
    same_error(lambda w: w.scipy.signal.convolve(x(3), x(3), "no"), "mode")
    same_error(lambda w: w.scipy.signal.convolve(x(3), x(3), "full", "no"), "method")
    same_error(lambda w: w.scipy.signal.convolve(x(3), x(3, 3)), "dimensions")
    same_error(lambda w: w.scipy.signal.convolve(x(3, 2), x(2, 3)), "smaller")
    same_error(lambda w: w.scipy.signal.convolve(x(0), x(2)), "zero-size")
    same_error(lambda w: w.scipy.signal.convolve2d(x(3), x(2)), "2-dimensional")
    same_error(lambda w: w.scipy.signal.convolve2d(x(3, 3), x(2, 2), boundary="wrap"), "boundary")
    same_error(lambda w: w.scipy.signal.fftconvolve(x(3, 3), x(2, 2), "valid", [0]), "mapped axes")


# ---- spectra ------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, -1])
def test_detrend(axis):
    for settings in ({"type": "constant"}, {}, {"bp": [3]}, {"bp": [0, 2, 4]}):
        check(
            lambda w, a, s=settings: w.scipy.signal.detrend(a, axis, **s),
            x(6, 6),
            gradient=not settings,
        )
    check(lambda w, a: w.scipy.signal.detrend(a), x(6, dtype=np.int32), gradient=False)


STFT = [
    {"nperseg": 8},
    {"nperseg": 6, "noverlap": 2, "fs": 3.0, "detrend": "constant"},
    {"nperseg": 8, "boundary": None, "padded": False, "detrend": "linear"},
    {"nperseg": 8, "boundary": "even", "nfft": 10},
    {"nperseg": 7, "boundary": "odd", "return_onesided": False},
    {"nperseg": 8, "boundary": "constant", "window": "hamming"},
    {"nperseg": None, "window": np.linspace(0.5, 1, 8).astype(np.float32)},
]


@pytest.mark.parametrize("settings", STFT, ids=str)
def test_stft(settings):
    full = settings == STFT[1]
    check(lambda w, a: w.scipy.signal.stft(a, **settings), x(2, 30), gradient=full, compiled=full)
    check(lambda w, a: w.scipy.signal.stft(a, axis=0, **settings), x(30, 2), gradient=False)


def test_stft_of_complex_numbers():
    check(lambda w, a: w.scipy.signal.stft(a, nperseg=8), x(30, dtype=np.complex64), gradient=False)


DENSITIES = [
    {},
    {"nperseg": 8, "average": "median"},
    {"nperseg": 7, "scaling": "spectrum", "nfft": 9},
]


@pytest.mark.parametrize("settings", DENSITIES)
def test_spectral_densities(settings):
    f = lambda w, a, b: w.scipy.signal.csd(a, b, **settings)
    check(f, x(2, 30), x(2, 26), gradient=False)
    check(lambda w, a: w.scipy.signal.welch(a, axis=0, **settings), x(30, 2), gradient=not settings)
    check(lambda w, a: w.scipy.signal.csd(a, None, **settings), x(30), gradient=False)


@pytest.mark.parametrize("settings", [{}, {"nperseg": 8}, {"input_onesided": False},
                                      {"boundary": False, "noverlap": 3},
                                      {"window": "boxcar", "fs": 2.0}])  # fmt: skip
def test_istft(settings):
    z = x(2, 5, 6, dtype=np.complex64)
    check(lambda w, a: w.scipy.signal.istft(a, **settings), z, gradient=False)
    check(lambda w, a: w.scipy.signal.istft(a, time_axis=0, freq_axis=1, **settings),
          x(6, 5, 2, dtype=np.complex64), gradient=False)  # fmt: skip


def test_istft_is_the_inverse():
    signal, a = tinyjax.scipy.signal, x(64)
    _, _, z = signal.stft(a, nperseg=16)
    np.testing.assert_allclose(signal.istft(z, nperseg=16)[1][:64], a, atol=1e-5)


def test_errors_of_spectra():
    a = x(30)
    same_error(lambda w: w.scipy.signal.stft(a, nperseg=0), "positive")
    same_error(lambda w: w.scipy.signal.stft(a, nperseg=8, noverlap=8), "noverlap")
    same_error(lambda w: w.scipy.signal.stft(a, nperseg=8, nfft=4), "nfft")
    same_error(lambda w: w.scipy.signal.stft(a, nperseg=8, boundary="no"), "boundary")
    same_error(lambda w: w.scipy.signal.csd(a, x(3, 30)), "rank")
    same_error(lambda w: w.scipy.signal.welch(a, scaling="no"), "scaling")
    same_error(lambda w: w.scipy.signal.welch(a, nperseg=8, window=np.ones(5)), "nperseg")
    same_error(lambda w: w.scipy.signal.istft(a), "2d")
    same_error(lambda w: w.scipy.signal.detrend(a, type="no"), "type")
    same_error(lambda w: w.scipy.signal.detrend(a, bp=[40]), "breakpoints")


# ---- cosine transforms --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dct", "idct"])
@pytest.mark.parametrize("norm", [None, "backward", "ortho"])
def test_cosine_transform(name, norm):
    for n in (None, 3, 7):
        for axis in (0, -1):
            f = lambda w, a, n=n, d=axis: getattr(w.scipy.fft, name)(a, 2, n, d, norm)
            check(f, x(4, 5), gradient=n is None, compiled=n is None and axis == 0)
    check(lambda w, a: getattr(w.scipy.fft, name)(a), x(4, dtype=np.complex64), gradient=False)
    check(lambda w, a: getattr(w.scipy.fft, name)(a), x(4, dtype=np.int32), gradient=False)


@pytest.mark.parametrize("name", ["dctn", "idctn"])
@pytest.mark.parametrize("norm", [None, "ortho"])
def test_cosine_transforms(name, norm):
    for s, axes in ((None, None), ((3, 6), None), (None, (1,)), ((2, 7), (2, 0)), (4, None)):
        f = lambda w, a, s=s, d=axes: getattr(w.scipy.fft, name)(a, 2, s, d, norm)
        check(f, x(3, 4, 5), gradient=s is None)


def test_errors_of_cosine_transforms():
    same_error(lambda w: w.scipy.fft.dct(x(3), 1), "type 2")
    same_error(lambda w: w.scipy.fft.dct(x(3), norm="forward"), "norm")
    same_error(lambda w: w.scipy.fft.dctn(x(3), s=(1, 2)), "elements")


# ---- between elements ---------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates(mode, order):
    places = np.stack([RNG.uniform(-3, 7, 20), RNG.uniform(-3, 8, 20)]).astype(np.float32)
    f = lambda w, a, p: w.scipy.ndimage.map_coordinates(a, list(p), order, mode, 2.5)
    check(f, x(4, 5), places, compiled=True)
    check(f, x(4, 5, dtype=np.int32), places, gradient=False)
    printed = [str(w.make_jaxpr(partial(f, w))(x(4, 5), places)) for w in (tinyjax, jax)]
    assert printed[0] == printed[1]


def test_errors_of_map_coordinates():
    f = lambda *args: lambda w: w.scipy.ndimage.map_coordinates(x(3, 3), *args)
    same_error(f([x(2)], 1), "sequence")
    same_error(f([x(2), x(2)], 2), "order")
    same_error(f([x(2), x(2)], 1, "no"), "mode")


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [None, np.nan, 3.0])
def test_grids(method, fill):
    grid = (np.array([0.0, 1.0, 3.0], np.float32), np.array([-1.0, 0.5, 1.0, 2.0], np.float32))
    points = RNG.uniform(-2, 4, (3, 5, 2)).astype(np.float32)

    def f(world, values, points):
        interpolator = world.scipy.interpolate.RegularGridInterpolator
        return interpolator(grid, values, method, fill_value=fill)(points)

    check(f, x(3, 4), points, gradient=fill is None or fill == 3.0, compiled=fill is None)
    check(f, x(3, 4, 2), points, gradient=False)
    pairs = lambda w, v, p: f(w, v, (p[..., 0], p[..., 1]))
    check(pairs, x(3, 4), points, gradient=False)


def test_errors_of_grids():
    grid = (np.arange(3.0, dtype=np.float32),)
    make = lambda *args, **settings: (
        lambda w: w.scipy.interpolate.RegularGridInterpolator(*args, **settings)
    )
    same_error(make(grid, x(3), "cubic"), "method")
    same_error(make(grid * 2, x(3)), "dimensions")
    same_error(make(grid, x(3), bounds_error=True), "bounds_error")
    same_error(lambda w: make(grid, x(3))(w)(x(2, 2)), "dimension")


# ---- the rest -----------------------------------------------------------------------------------


def test_trapezoid():
    check(lambda w, y: w.scipy.integrate.trapezoid(y, dx=0.5), x(5))
    check(lambda w, y, p: w.scipy.integrate.trapezoid(y, p, axis=0), x(5, 3), x(5))


def test_vector_quantization():
    check(lambda w, o, c: w.scipy.cluster.vq.vq(o, c), x(6, 3), x(4, 3), gradient=False)
    check(lambda w, o, c: w.scipy.cluster.vq.vq(o, c), x(6), x(4), gradient=False)
    same_error(lambda w: w.scipy.cluster.vq.vq(x(3), x(3, 3)), "rank")
    same_error(lambda w: w.scipy.cluster.vq.vq(x(3, 1, 1), x(3, 1, 1)), "ndim")


def test_comparison_is_strict():
    with pytest.raises(AssertionError):
        compare(np.float32([1.0]), np.float32([2.0]))
