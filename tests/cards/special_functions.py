"""Cases: incomplete integrals, and the functions whose values are SciPy's."""

import numpy as np

from cards import Case

A = np.array([0.3, 1.0, 2.5, 7.0], np.float32)
X = np.array([0.2, 1.5, 3.0, 5.0], np.float32)
UNIT = np.array([0.1, 0.4, 0.7, 0.95], np.float32)
REAL = np.array([-2.5, -0.3, 0.4, 1.7], np.float32)
COMPLEX = np.array([0.3 + 0.5j, -0.7 + 1.2j, 2.0 - 0.4j], np.complex64)
K, Z = np.array([1, 2, -3], np.int32), np.complex64(0.3 + 0.4j)
ORDER = np.array([1.0, 2.0, 3.0, 2.0], np.float32)


def lax_case(prim, name, fun, *args, **options):
    """A case of lax."""
    return Case(f"{prim} {name}", prim, fun, args, **options)


def special(prim, fun, *args, diff=(0,), **options):
    """A case of scipy.special, which prints otherwise in the oracle."""
    options = {"tol": 1e-4, **options, "printed": False, "ns": "special"}
    return Case(f"{prim} {len(args)}", prim, fun, args, diff=diff, **options)


def world(prim, fun, *args):
    """A case of a derivative's card."""
    options = {"tol": 1e-3, "printed": False, "ns": "world"}
    return Case(f"{prim} slope", prim, fun, args, **options)


def slope(name, operand, *args):
    """The gradient of a function by one of its operands."""

    def fun(w, *xs):
        def total(x):
            moved = [*xs[:operand], x, *xs[operand + 1 :]]
            return getattr(w.scipy.special, name)(*moved).sum()

        return w.grad(total)(xs[operand])

    return world(f"{name}_slope", fun, *args)


def digammas(w, z):
    """gamma'(z), which has the digamma function in it."""
    return w.vmap(w.grad(w.scipy.special.gamma, holomorphic=True))(z)


def loggamma_slopes(w, k):
    """The forward derivative of loggamma; the oracle has no other."""
    return w.jvp(w.scipy.special.loggamma, (k * Z,), (k * 0 + Z,))[1]


CASES = [
    *[
        lax_case(name, str(a.shape), lambda lax, a, x, name=name: getattr(lax, name)(a, x), a, x,
                 diff=(0, 1), order2=False, tol=1e-4)
        for name in ("igamma", "igammac")
        for a, x in ((A, X), (np.float32(2.5), np.float32(3.0)))
    ],
    lax_case("igamma", "scalar a", lambda lax, x: lax.igamma(2.0, x), X, diff=(0,), tol=1e-4,
             printed=False),
    lax_case("igamma", "half", lambda lax, a, x: lax.igamma(a, x), A.astype(np.float16),
             X.astype(np.float16)),
    lax_case("igamma", "empty", lambda lax, x: lax.igamma(x, x), np.zeros((0, 3), np.float32)),
    lax_case("igamma_grad_a", "", lambda lax, a, x: lax.igamma_grad_a(a, x), A, X, tol=1e-4),
    lax_case("random_gamma_grad", "", lambda lax, a, x: lax.random_gamma_grad(a, x), A, X,
             tol=1e-4, printed=False),
    lax_case("regularized_incomplete_beta", "", lambda lax, a, b, x: lax.betainc(a, b, x), A, X,
             UNIT, diff=(2,), tol=1e-4),
    lax_case("regularized_incomplete_beta", "scalars", lambda lax, x: lax.betainc(2.0, 0.5, x),
             UNIT, diff=(0,), tol=1e-4, printed=False),
    special("expi", lambda s, x: s.expi(x), REAL),
    special("expn", lambda s, x: s.exp1(x), X, order2=False),
    special("expn", lambda s, n, x: s.expn(n, x), ORDER, X, diff=(1,), batch=False, order2=False),
    special("sine_integral", lambda s, x: s.sici(x)[0], REAL),
    special("cosine_integral", lambda s, x: s.sici(x)[1], X),
    special("fresnel_s", lambda s, x: s.fresnel(x)[0], REAL),
    special("fresnel_c", lambda s, x: s.fresnel(x)[1], REAL),
    special("spence", lambda s, x: s.spence(x), UNIT),
    special("dawsn", lambda s, x: s.dawsn(x), REAL),
    special("erfcx", lambda s, x: s.erfcx(x), REAL),
    special("wofz", lambda s, z: s.wofz(z), COMPLEX, order2=False),
    special("owens_t", lambda s, h, a: s.owens_t(h, a), REAL, X, diff=(0, 1)),
    special("complex_gamma", lambda s, z: s.gamma(z), COMPLEX, order2=False),
    special("complex_loggamma", lambda s, z: s.loggamma(z), COMPLEX, diff=()),
    special("hyp1f1", lambda s, a, b, x: s.hyp1f1(a, b, x), A, X, REAL, diff=(0, 1, 2),
            order2=False),
    special("hyp2f1", lambda s, a, b, c, x: s.hyp2f1(a, b, c, x), A, X, X + 1, UNIT * 0.5,
            diff=(0, 1, 2, 3), order2=False),
    slope("hyp1f1", 0, A, X, REAL),
    slope("hyp2f1", 2, A, X, X + 1, UNIT * 0.5),
    world("complex_digamma", lambda w, k: digammas(w, k * Z), K),
    world("complex_loggamma", loggamma_slopes, K),
]  # fmt: skip
