"""Kernel density estimation: a smooth density around the points of a sample."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax import random
from tinyjax.mapping import vmap
from tinyjax.numpy.checks import check_arraylike
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.scipy import linalg, special
from tinyjax.tree_util import register_pytree_node_class

FIELDS = ("neff", "dataset", "weights", "covariance", "inv_cov")


@register_pytree_node_class
@dataclass(frozen=True, init=False, slots=True)
class gaussian_kde:
    """The density of a sample, as the mean of normal densities around its points.

    Args:
      dataset: points [d, n], or numbers [n].
      bw_method: the width of the kernels: "scott" (the default), "silverman", a number that the
        sample's covariance is scaled by the square of, or a function of this object.
      weights: of the points [n]; equal by default.

    Raises ValueError for fewer than two points, weights that do not fit, or another method.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy.stats import gaussian_kde
    >>> kde = gaussian_kde(jnp.array([0.0, 1.0, 3.0]))
    >>> bool(kde(1.0)[0] > kde(5.0)[0])
    True
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset, bw_method=None, weights=None):
        check_arraylike("gaussian_kde", dataset)
        dataset = jnp.atleast_2d(dataset)
        if dataset.dtype.kind == "c":
            raise NotImplementedError("gaussian_kde does not support complex data")
        if dataset.size <= 1:
            raise ValueError("`dataset` input should have multiple elements.")
        d, n = dataset.shape
        dataset, weights = normalized(dataset, weights, n)
        self._set(dataset=dataset, weights=weights, neff=1 / jnp.sum(weights**2))

        factor = self._factor("scott" if bw_method is None else bw_method)
        covariance = jnp.cov(dataset, rowvar=1, bias=False, aweights=weights)
        covariance = jnp.atleast_2d(covariance)
        inverse = jnp.linalg.inv(covariance)
        self._set(covariance=covariance * factor**2, inv_cov=inverse / factor**2)

    def _set(self, **fields):
        """Give fields their values, for once."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _factor(self, bw_method):
        """The width of the kernels, relative to that of the sample."""
        if isinstance(bw_method, str) and bw_method in ("scott", "silverman"):
            scale = 1.0 if bw_method == "scott" else (self.d + 2) / 4.0
            return jnp.power(self.neff * scale, -1.0 / (self.d + 4))
        if jnp.isscalar(bw_method) and not isinstance(bw_method, str):
            return bw_method
        if callable(bw_method):
            return bw_method(self)
        raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar, or a callable.")

    def tree_flatten(self):
        """-> arrays, nothing else."""
        return tuple(getattr(self, name) for name in FIELDS), None

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        """The inverse of tree_flatten."""
        kde = cls.__new__(cls)
        kde._set(**dict(zip(FIELDS, children)))
        return kde

    @property
    def d(self):
        """The dimension."""
        return self.dataset.shape[0]

    @property
    def n(self):
        """The number of points."""
        return self.dataset.shape[1]

    # ---- densities ------------------------------------------------------------------------------

    def evaluate(self, points):
        """The density at points [d, m], or at numbers [m] if d is 1 -> [m]."""
        logs = self._log_kernels("evaluate", points)
        return jnp.sum(self.weights * jnp.exp(logs), axis=1)

    def __call__(self, points):
        """The density at points."""
        return self.evaluate(points)

    def pdf(self, x):
        """The density at points."""
        return self.evaluate(x)

    def logpdf(self, x):
        """The logarithm of the density at points."""
        logs = self._log_kernels("logpdf", x)
        return special.logsumexp(jnp.log(self.weights) + logs, axis=1)

    def _log_kernels(self, name, points):
        """The logarithms of the kernels' densities [m, n]."""
        check_arraylike(name, points)
        points, data = promote_dtypes_inexact(self._as_points(points), self.dataset)
        root = jnp.linalg.cholesky(self.inv_cov)
        whitened = root.T @ points, root.T @ data
        gaps = whitened[0][:, :, None] - whitened[1][:, None, :]
        norm = jnp.sum(jnp.log(jnp.diag(root))) - 0.5 * self.d * np.log(2 * np.pi)
        return norm - 0.5 * jnp.sum(jnp.square(gaps), axis=0)

    def _as_points(self, points):
        """Points [d, m]. Raises ValueError when their dimension is another."""
        points = jnp.atleast_2d(points)
        if points.dtype.kind == "c":
            raise NotImplementedError("gaussian_kde does not support complex coordinates")
        d, m = points.shape
        if d == self.d:
            return points
        if d == 1 and m == self.d:
            return jnp.reshape(points, (self.d, 1))
        raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")

    # ---- integrals ------------------------------------------------------------------------------

    def integrate_gaussian(self, mean, cov):
        """The integral of the density times a normal one with this mean [d] and covariance."""
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        return convolved(self.covariance + cov, self.dataset, self.weights, mean)

    def integrate_box_1d(self, low, high):
        """The probability of [low, high], for d = 1."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if np.ndim(low) != 0 or np.ndim(high) != 0:
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        sigma = jnp.squeeze(jnp.sqrt(self.covariance))
        low, high = (jnp.squeeze((end - self.dataset) / sigma) for end in (low, high))
        return jnp.sum(self.weights * (special.ndtr(high) - special.ndtr(low)))

    def integrate_kde(self, other):
        """The integral of the product of two such densities."""
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        few, many = (self, other) if self.n < other.n else (other, self)
        cov = self.covariance + other.covariance
        parts = vmap(lambda mean: convolved(cov, many.dataset, many.weights, mean), in_axes=1)
        return jnp.sum(parts(few.dataset) * few.weights)

    def integrate_box(self, low_bounds, high_bounds, maxpts=None):
        """Not supported for several dimensions."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    # ---- others ---------------------------------------------------------------------------------

    def resample(self, key, shape=()):
        """Draw points of the density -> [d, *shape]."""
        point_key, noise_key = random.split(key)
        chosen = random.choice(point_key, self.n, shape=shape, p=self.weights)
        centre = jnp.zeros(self.d, self.covariance.dtype)
        noise = random.multivariate_normal(
            noise_key, centre, self.covariance, shape=shape, dtype=self.dataset.dtype
        )
        return self.dataset[:, chosen] + jnp.moveaxis(noise, -1, 0)

    def set_bandwidth(self, bw_method=None):
        """Not supported: make a new object."""
        raise NotImplementedError("dynamically changing the bandwidth method is not supported")


def normalized(dataset, weights, n):
    """The points as floats, and weights that sum to 1."""
    if weights is None:
        (dataset,) = promote_dtypes_inexact(dataset)
        return dataset, jnp.full(n, 1.0 / n, dtype=dataset.dtype)
    check_arraylike("gaussian_kde", weights)
    dataset, weights = promote_dtypes_inexact(dataset, weights)
    weights = jnp.atleast_1d(weights)
    if weights.ndim != 1:
        raise ValueError("`weights` input should be one-dimensional.")
    if len(weights) != n:
        raise ValueError("`weights` input should be of length n")
    return dataset, weights / jnp.sum(weights)


def convolved(cov, points, weights, mean):
    """The weighted sum of normal densities of this covariance around points [d, n], at mean."""
    root = jnp.linalg.cholesky(cov)
    gaps = points - mean[:, None]
    energy = 0.5 * jnp.sum(gaps * linalg.cho_solve((root, True), gaps), axis=0)
    norm = jnp.sqrt(2 * np.pi) ** len(mean) * jnp.prod(jnp.diag(root))
    return jnp.sum(jnp.exp(-energy) * weights) / norm
