"""jax.scipy.spatial.transform: rotations of space, as unit quaternions (x, y, z, w).

Sources: Shuster: "A survey of attitude representations" (1993); Bernardes, Viollet: "Quaternion to
Euler angles conversion" (2022).
"""

import functools
import re
from typing import Any, NamedTuple

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.config import numpy_rank_promotion
from tinyjax.numpy.vectorizing import vectorize

__all__ = ["Rotation", "Slerp"]

# ---- quaternions --------------------------------------------------------------------------------


def per_rotation(signature):
    """A function of one rotation, for arrays of them."""
    return functools.partial(vectorize, signature=signature)


@per_rotation("(n)->()")
def length(v):
    """The length of a vector."""
    return jnp.sqrt(jnp.dot(v, v))


@per_rotation("(n)->(n)")
def normalized(quat):
    """The unit quaternion."""
    return quat / length(quat)


@per_rotation("(n),(n)->(n)")
def product(p, q):
    """Rotate by q, then by p."""
    cross = jnp.cross(p[:3], q[:3])
    vector = p[3] * q[:3] + q[3] * p[:3] + cross
    return jnp.append(vector, p[3] * q[3] - p[0] * q[0] - p[1] * q[1] - p[2] * q[2])


@per_rotation("(n)->(n)")
def inverted(quat):
    """The quaternion of the inverse rotation."""
    return quat * jnp.array([-1, -1, -1, 1], dtype=quat.dtype)


@per_rotation("(n)->(n)")
def positive(quat):
    """Of the two quaternions of a rotation, the one whose last nonzero number of w, x, y, z is
    positive: w decides, then x, y, z."""
    x, y, z, w = quat
    negative = (w < 0) | ((w == 0) & ((x < 0) | ((x == 0) & ((y < 0) | ((y == 0) & (z < 0))))))
    return jnp.where(negative, -quat, quat)


@per_rotation("(n)->()")
def angle_of(quat):
    """The angle of a rotation, in [0, pi]."""
    return 2.0 * jnp.arctan2(length(quat[:3]), jnp.abs(quat[3]))


@per_rotation("(m,m),(m),()->(m)")
def apply(matrix, vector, inverse):
    """A matrix, or its transpose, times a vector."""
    return jnp.where(inverse, matrix.T, matrix) @ vector


# ---- other forms --------------------------------------------------------------------------------


@per_rotation("(m)->(n,n)")
def to_matrix(quat):
    """The matrix of a rotation."""
    x, y, z, w = quat
    xx, yy, zz, ww = x * x, y * y, z * z, w * w
    return jnp.array(
        [
            [xx - yy - zz + ww, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), -xx + yy - zz + ww, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), -xx - yy + zz + ww],
        ]
    )


@per_rotation("(m,m)->(n)")
def of_matrix(m):
    """The quaternion of a matrix; its largest number is computed first."""
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    decision = jnp.array([m[0, 0], m[1, 1], m[2, 2], trace], dtype=m.dtype)
    i = jnp.argmax(decision)
    j, k = (i + 1) % 3, (i + 2) % 3
    quat = jnp.zeros(4, dtype=m.dtype)
    quat = quat.at[i].set(1 - trace + 2 * m[i, i])
    quat = quat.at[j].set(m[j, i] + m[i, j])
    quat = quat.at[k].set(m[k, i] + m[i, k])
    quat = quat.at[3].set(m[k, j] - m[j, k])
    parts = [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1 + trace]
    return normalized(jnp.where(i != 3, quat, jnp.array(parts, dtype=m.dtype)))


@per_rotation("(m),()->(n)")
def to_rotvec(quat, degrees):
    """The axis of a rotation, as long as its angle."""
    quat = jnp.where(quat[3] < 0, -quat, quat)
    angle = 2.0 * jnp.arctan2(length(quat[:3]), quat[3])
    square = angle * angle
    series = 2 + square / 12 + 7 * square * square / 2880
    scale = jnp.where(angle <= 1e-3, series, angle / jnp.sin(angle / 2))
    return jnp.where(degrees, jnp.rad2deg(scale), scale) * quat[:3]


@per_rotation("(m),()->(n)")
def of_rotvec(rotvec, degrees):
    """The quaternion of an axis as long as the angle."""
    rotvec = jnp.where(degrees, jnp.deg2rad(rotvec), rotvec)
    angle = length(rotvec)
    square = angle * angle
    series = 0.5 - square / 48 + square * square / 3840
    scale = jnp.where(angle <= 1e-3, series, jnp.sin(angle / 2) / angle)
    return jnp.hstack([scale * rotvec, jnp.cos(angle / 2)])


@per_rotation("(m)->(n)")
def to_mrp(quat):
    """Modified Rodrigues parameters: the axis, as long as tan(angle / 4)."""
    sign = jnp.where(quat[3] < 0, -1.0, 1.0)
    return sign * quat[:3] / (1.0 + sign * quat[3])


@per_rotation("(m)->(n)")
def of_mrp(mrp):
    """The quaternion of modified Rodrigues parameters."""
    more = jnp.dot(mrp, mrp) + 1
    return jnp.hstack([2 * mrp[:3], 2 - more]) / more


# ---- Euler angles -------------------------------------------------------------------------------


def euler_axes(seq):
    """The axes 'xyz' (fixed) or 'XYZ' (moving) -> their numbers, whether they are fixed."""
    fixed = re.fullmatch("[xyz]{1,3}", seq) is not None
    if not fixed and re.fullmatch("[XYZ]{1,3}", seq) is None:
        raise ValueError(
            f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}"
        )
    if any(a == b for a, b in zip(seq, seq[1:])):
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    return jnp.array(["xyz".index(c) for c in seq.lower()]), fixed


@per_rotation("(),()->(n)")
def about_axis(axis, angle):
    """The quaternion of a rotation about a coordinate axis."""
    quat = jnp.zeros(4, dtype=angle.dtype).at[3].set(jnp.cos(angle / 2.0))
    return quat.at[axis].set(jnp.sin(angle / 2.0))


@per_rotation("(m),(m),(),()->(n)")
def of_euler(angles, axes, moving, degrees):
    """The quaternion of rotations about axes, one after the other."""
    angles = jnp.where(degrees, jnp.deg2rad(angles), angles)
    quat = about_axis(axes[0], angles[0])
    for axis, angle in zip(axes[1:], angles[1:]):
        step = about_axis(axis, angle)
        quat = jnp.where(moving, product(quat, step), product(step, quat))
    return quat


@per_rotation("(m),(l),(),()->(n)")
def to_euler(quat, axes, fixed, degrees):
    """Angles about three axes; where they are not unique, one of the outer two is 0."""
    axes = jnp.where(fixed, axes, axes[::-1])
    i, j, k = axes
    symmetric = i == k
    k = jnp.where(symmetric, 3 - i - j, k)
    sign = jnp.array((i - j) * (j - k) * (k - i) // 2, dtype=quat.dtype)
    a = jnp.where(symmetric, quat[3], quat[3] - quat[j])
    b = jnp.where(symmetric, quat[i], quat[i] + quat[k] * sign)
    c = jnp.where(symmetric, quat[j], quat[j] + quat[3])
    d = jnp.where(symmetric, quat[k] * sign, quat[k] * sign - quat[i])
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    locked = (jnp.abs(middle) <= 1e-7) | (jnp.abs(middle - np.pi) <= 1e-7)
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    only = jnp.where(
        jnp.abs(middle) <= 1e-7, 2 * half_sum, 2 * half_difference * jnp.where(fixed, -1, 1)
    )
    low, high = half_sum - half_difference, half_sum + half_difference
    # with moving axes the order is reversed; when locked, the first angle takes everything
    first = jnp.where(locked, only, jnp.where(fixed, low, high))
    third = jnp.where(locked, 0.0, jnp.where(fixed, high, low))
    last = jnp.where(symmetric, 1.0, sign)
    first, third = first * jnp.where(fixed, 1.0, last), third * jnp.where(fixed, last, 1.0)
    middle = jnp.where(symmetric, middle, middle - np.pi / 2)
    angles = jnp.array([first, middle, third], dtype=quat.dtype)
    angles = (angles + np.pi) % (2 * np.pi) - np.pi
    return jnp.where(degrees, jnp.rad2deg(angles), angles)


# ---- classes ------------------------------------------------------------------------------------


class Rotation(NamedTuple):
    """Rotations of space: one, or a vector of them.

    quat: unit quaternions (x, y, z, w), [4] or [n, 4]. Better made by a method from_...

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy.spatial.transform import Rotation
    >>> turn = Rotation.from_euler("z", 90.0, degrees=True)
    >>> jnp.round(turn.apply(jnp.array([1.0, 0.0, 0.0])), 3)
    Array([0., 1., 0.], dtype=float32)
    """

    quat: Any

    @classmethod
    def concatenate(cls, rotations):
        """A vector of several vectors of rotations."""
        return cls(jnp.concatenate([r.quat for r in rotations]))

    @classmethod
    def from_euler(cls, seq, angles, degrees=False):
        """Rotations about one to three axes: 'xyz' are fixed, 'XYZ' move along."""
        if not 1 <= len(seq) <= 3:
            raise ValueError(
                "Expected axis specification to be a non-empty string of upto 3 characters, got "
                f"{seq}"
            )
        axes, fixed = euler_axes(seq)
        return cls(of_euler(jnp.atleast_1d(angles), axes, not fixed, degrees))

    @classmethod
    def from_matrix(cls, matrix):
        """From orthogonal matrices [..., 3, 3]."""
        return cls(of_matrix(matrix))

    @classmethod
    def from_mrp(cls, mrp):
        """From modified Rodrigues parameters [..., 3]."""
        return cls(of_mrp(mrp))

    @classmethod
    def from_quat(cls, quat):
        """From quaternions [..., 4], which need not have length 1."""
        return cls(normalized(quat))

    @classmethod
    def from_rotvec(cls, rotvec, degrees=False):
        """From axes [..., 3] that are as long as the angle."""
        return cls(of_rotvec(rotvec, degrees))

    @classmethod
    def identity(cls, num=None, dtype=float):
        """The rotation that changes nothing. num: only None."""
        if num is not None:
            raise NotImplementedError("Rotation.identity is implemented for num=None only.")
        return cls(jnp.array([0.0, 0.0, 0.0, 1.0], dtype=dtype))

    @classmethod
    def random(cls, random_key, num=None):
        """Not implemented, as in JAX."""
        raise NotImplementedError

    def __getitem__(self, indexer):
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __len__(self):
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]

    def __mul__(self, other):
        """Rotate by other, then by self."""
        return Rotation.from_quat(product(self.quat, other.quat))

    def apply(self, vectors, inverse=False):
        """The vectors [..., 3], rotated (or rotated back)."""
        return apply(self.as_matrix(), vectors, inverse)

    def as_euler(self, seq, degrees=False):
        """Angles [..., 3] about three axes, as of from_euler."""
        if len(seq) != 3:
            raise ValueError(f"Expected 3 axes, got {seq}.")
        axes, fixed = euler_axes(seq)
        with numpy_rank_promotion("allow"):
            return to_euler(self.quat, axes, fixed, degrees)

    def as_matrix(self):
        """Matrices [..., 3, 3]."""
        return to_matrix(self.quat)

    def as_mrp(self):
        """Modified Rodrigues parameters [..., 3]."""
        return to_mrp(self.quat)

    def as_rotvec(self, degrees=False):
        """Axes [..., 3] that are as long as the angle."""
        return to_rotvec(self.quat, degrees)

    def as_quat(self, canonical=False, scalar_first=False):
        """Quaternions [..., 4]; canonical: of two the one with w > 0; or (w, x, y, z)."""
        quat = positive(self.quat) if canonical else self.quat
        return jnp.roll(quat, shift=1, axis=-1) if scalar_first else quat

    def inv(self):
        """The inverse rotations."""
        return Rotation(inverted(self.quat))

    def magnitude(self):
        """The angles of the rotations."""
        return angle_of(self.quat)

    def mean(self, weights=None):
        """The rotation nearest to all of them, by weight."""
        n, dtype = self.quat.shape[0], self.quat.dtype
        w = jnp.ones(n, dtype) if weights is None else jnp.asarray(weights, dtype=dtype)
        if w.ndim != 1:
            raise ValueError(f"Expected `weights` to be 1 dimensional, got shape {w.shape}.")
        if w.shape[0] != len(self):
            raise ValueError(
                "Expected `weights` to have number of values equal to number of rotations, got "
                f"{w.shape[0]} values and {len(self)} rotations."
            )
        return Rotation(jnp.linalg.eigh(jnp.dot(w[None, :] * self.quat.T, self.quat))[1][:, -1])

    @property
    def single(self):
        """Whether it is one rotation and no vector of them."""
        return self.quat.ndim == 1


class Slerp(NamedTuple):
    """Rotations over time, by turning from each to the next at constant speed.

    Made by Slerp.init(times, rotations); called with times.
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times, rotations):
        """From ascending times [n] and as many rotations, at least two."""
        if not isinstance(rotations, Rotation):
            raise TypeError("`rotations` must be a `Rotation` instance.")
        if rotations.single or len(rotations) == 1:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        times = jnp.asarray(times, dtype=rotations.quat.dtype)
        if times.ndim != 1:
            raise ValueError(
                "Expected times to be specified in a 1 dimensional array, got "
                f"{times.ndim} dimensions."
            )
        if times.shape[0] != len(rotations):
            raise ValueError(
                "Expected number of rotations to be equal to number of timestamps given, got "
                f"{len(rotations)} rotations and {times.shape[0]} timestamps."
            )
        start, end = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(times, jnp.diff(times), start, (start.inv() * end).as_rotvec())

    def __call__(self, times):
        """The rotations at times, a number or a vector."""
        at = jnp.asarray(times, dtype=self.times.dtype)
        if at.ndim > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        single, at = at.ndim == 0, jnp.atleast_1d(at)
        i = jnp.maximum(jnp.searchsorted(self.times, at) - 1, 0)
        part = (at - self.times[i]) / self.timedelta[i]
        turn = Rotation.from_rotvec(self.rotvecs[i] * part[:, None])
        out = self.rotations[i] * turn
        return out[0] if single else out
