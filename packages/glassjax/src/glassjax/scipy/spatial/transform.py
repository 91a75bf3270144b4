"""Rotations in space, under the names of `jax.scipy.spatial.transform`."""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from glassjax import numpy as jnp
from glassjax.numpy.transcendental import inexact_arrays
from glassjax.random.continuous import normal
from glassjax.settings.names import list_public_names

# Rotations in space, as unit quaternions with the real part last.
#
# Sources: K. Shoemake, "Animating rotation with quaternion curves", 1985; E. Bernardes and S.
# Viollet, "Quaternion to Euler angles conversion", PLOS ONE 17, 2022.


def _floats(caller: str, x: Any, *sizes: int) -> Any:
    """An array of floats whose last axes have these sizes."""
    (x,) = inexact_arrays(jnp.asarray(x))
    if x.shape[-len(sizes) :] != sizes:
        expected = ", ".join(map(str, sizes))
        raise ValueError(f"{caller}: expected an array of shape (..., {expected}), found {x.shape}")
    return x


def _normalized(quat: Any) -> Any:
    return quat / jnp.linalg.norm(quat, axis=-1, keepdims=True)


def _quaternion_product(p: Any, q: Any) -> Any:
    v, w = p[..., :3], p[..., 3:]
    other_v, other_w = q[..., :3], q[..., 3:]
    vector = w * other_v + other_w * v + jnp.cross(v, other_v)
    return jnp.concatenate([vector, w * other_w - jnp.sum(v * other_v, -1, keepdims=True)], -1)


def _euler_axes(caller: str, seq: str) -> tuple[list[int], bool]:
    """The numbers of the axes of a sequence such as "xyz", and whether they turn with the body."""
    lower = seq.lower()
    is_one_case = seq in (lower, seq.upper())
    if not 1 <= len(seq) <= 3 or not is_one_case or not set(lower) <= set("xyz"):
        raise ValueError(
            f"{caller}: seq must be one to three letters of 'xyz', for fixed axes, or of 'XYZ', "
            f"for axes that turn, found {seq!r}"
        )
    if any(first == second for first, second in itertools.pairwise(lower)):
        raise ValueError(f"{caller}: the axes in seq must differ from the next, found {seq!r}")
    return ["xyz".index(letter) for letter in lower], seq != lower


class Rotation(NamedTuple):
    """Rotations in three dimensions, one or an array of them.

    A pytree of one leaf: unit quaternions of shape `(4,)` or `(..., 4)`, the real part last.

    >>> quarter = Rotation.from_euler("z", 90.0, degrees=True)
    >>> print(quarter.apply(jnp.array([1.0, 0.0, 0.0])).round(3) + 0.0)
    [0. 1. 0.]
    >>> print((quarter * quarter).magnitude())
    3.1415927
    """

    quat: Any

    @classmethod
    def from_quat(cls, quat: Any) -> "Rotation":
        """Rotations from quaternions, which need not have length 1.

        Raises:
            ValueError: the last axis has not four numbers.
        """
        return cls(_normalized(_floats("from_quat", quat, 4)))

    @classmethod
    def from_matrix(cls, matrix: Any) -> "Rotation":
        """Rotations from orthogonal matrices of determinant 1.

        Raises:
            ValueError: these are not matrices of shape (3, 3).
        """
        m = _floats("from_matrix", matrix, 3, 3)
        diagonal = jnp.diagonal(m, axis1=-2, axis2=-1)
        trace = jnp.sum(diagonal, -1, keepdims=True)
        # Each column of the matrix of products of the components, times 4, is the quaternion times
        # one component: the largest gives it without cancellation.
        candidates = []
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            parts = {
                i: 1 - trace[..., 0] + 2 * m[..., i, i],
                j: m[..., j, i] + m[..., i, j],
                k: m[..., k, i] + m[..., i, k],
                3: m[..., k, j] - m[..., j, k],
            }
            candidates.append(jnp.stack([parts[n] for n in range(4)], -1))
        vector = [
            m[..., (i + 2) % 3, (i + 1) % 3] - m[..., (i + 1) % 3, (i + 2) % 3] for i in range(3)
        ]
        candidates.append(jnp.stack([*vector, 1 + trace[..., 0]], -1))
        which = jnp.argmax(jnp.concatenate([diagonal, trace], -1), -1)
        chosen = jnp.take_along_axis(jnp.stack(candidates, -2), which[..., None, None], -2)
        return cls(_normalized(chosen[..., 0, :]))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> "Rotation":
        """Rotations from vectors along their axes, whose lengths are the angles.

        Raises:
            ValueError: the last axis has not three numbers.
        """
        rotvec = _floats("from_rotvec", rotvec, 3)
        if degrees:
            rotvec = jnp.deg2rad(rotvec)
        square = jnp.sum(rotvec**2, -1, keepdims=True)
        is_small = square < 1e-6
        angle = jnp.sqrt(jnp.where(is_small, 1, square))
        series = 0.5 - square / 48 + square**2 / 3840
        scale = jnp.where(is_small, series, jnp.sin(angle / 2) / angle)
        cosine = jnp.where(is_small, 1 - square / 8 + square**2 / 384, jnp.cos(angle / 2))
        return cls(_normalized(jnp.concatenate([scale * rotvec, cosine], -1)))

    @classmethod
    def from_mrp(cls, mrp: Any) -> "Rotation":
        """Rotations from vectors along their axes, whose lengths are tangents of angle / 4.

        Raises:
            ValueError: the last axis has not three numbers.
        """
        mrp = _floats("from_mrp", mrp, 3)
        square = jnp.sum(mrp**2, -1, keepdims=True)
        return cls(jnp.concatenate([2 * mrp, 1 - square], -1) / (1 + square))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> "Rotation":
        """Rotations about one to three axes, one after another.

        Arguments:
            seq: the axes, "xyz" for instance; in capitals, axes that turn with the body.
            angles: the angles, of shape `(..., len(seq))`; a number if `seq` is one axis.
            degrees: whether they are in degrees.

        Raises:
            ValueError: there are no such axes, or not one angle for each.
        """
        axes, turn = _euler_axes("from_euler", seq)
        angles = jnp.asarray(angles)
        is_vector = angles.ndim > 0 and (len(axes) > 1 or angles.ndim > 1 or angles.shape == (1,))
        angles = angles if is_vector else angles[..., None]
        angles = _floats("from_euler: angles", angles, len(axes))
        half = (jnp.deg2rad(angles) if degrees else angles) / 2
        sine, cosine = jnp.sin(half), jnp.cos(half)
        quat: Any = None
        for i, axis in enumerate(axes):
            parts = [sine[..., i] if n == axis else jnp.zeros_like(sine[..., i]) for n in range(3)]
            step = jnp.stack([*parts, cosine[..., i]], -1)
            quat = (
                step
                if quat is None
                else _quaternion_product(*((quat, step) if turn else (step, quat)))
            )
        return cls(quat)

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> "Rotation":
        """The rotation that leaves everything where it is, or `num` of them."""
        one = jnp.array([0, 0, 0, 1], dtype)
        return cls(one if num is None else jnp.broadcast_to(one, (num, 4)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> "Rotation":
        """A rotation drawn uniformly from all, or `num` of them."""
        return cls(_normalized(normal(random_key, (4,) if num is None else (num, 4))))

    @classmethod
    def concatenate(cls, rotations: Sequence["Rotation"]) -> "Rotation":
        """The rotations of several Rotations, one after another."""
        return cls(jnp.concatenate([jnp.reshape(r.quat, (-1, 4)) for r in rotations]))

    @property
    def single(self) -> bool:
        """True if this is one rotation, not an array."""
        return bool(self.quat.ndim == 1)

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Rotation: a single rotation has no len()")
        return int(self.quat.shape[0])

    def __getitem__(self, indexer: Any) -> "Rotation":
        if self.single:
            raise TypeError("Rotation: a single rotation has no elements")
        return Rotation(self.quat[indexer])

    def __mul__(self, other: Any) -> "Rotation":
        """The rotation `other`, followed by this one."""
        return Rotation(_normalized(_quaternion_product(self.quat, other.quat)))

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Vectors of shape `(..., 3)`, turned; or turned back."""
        vectors = _floats("apply", vectors, 3)
        matrix = self.as_matrix()
        return jnp.einsum("...ji,...j->...i" if inverse else "...ij,...j->...i", matrix, vectors)

    def inv(self) -> "Rotation":
        """The inverse rotations."""
        return Rotation(self.quat * jnp.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Any:
        """The angles of the rotations, from 0 to pi."""
        length = jnp.linalg.norm(self.quat[..., :3], axis=-1)
        return 2 * jnp.arctan2(length, jnp.abs(self.quat[..., 3]))

    def mean(self, weights: Any = None) -> "Rotation":
        """The rotation whose matrix is nearest to the weighted mean of the matrices.

        Raises:
            ValueError: there is not one weight for each rotation, or this is a single rotation.
        """
        if self.single:
            raise ValueError("Rotation.mean: a single rotation is its own mean; expected several")
        weights = jnp.ones(len(self), self.quat.dtype) if weights is None else jnp.asarray(weights)
        if weights.shape != (len(self),):
            raise ValueError(
                f"Rotation.mean: weights must be of shape {(len(self),)}, found {weights.shape}"
            )
        _, vectors = jnp.linalg.eigh(jnp.einsum("n,ni,nj->ij", weights, self.quat, self.quat))
        return Rotation(vectors[:, -1])

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """The unit quaternions.

        Arguments:
            canonical: whether to choose, of the two of a rotation, that whose real part is not
                negative.
            scalar_first: whether the real part goes first.
        """
        quat = self.quat
        if canonical:
            quat = jnp.where(quat[..., 3:] < 0, -quat, quat)
        return jnp.roll(quat, 1, -1) if scalar_first else quat

    def as_matrix(self) -> Any:
        """The matrices that turn vectors, of shape `(..., 3, 3)`."""
        x, y, z, w = (self.quat[..., i] for i in range(4))
        rows = [
            [w * w + x * x - y * y - z * z, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), w * w - x * x + y * y - z * z, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), w * w - x * x - y * y + z * z],
        ]
        return jnp.stack([jnp.stack(row, -1) for row in rows], -2)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Vectors along the axes, whose lengths are the angles, at most pi."""
        quat = self.as_quat(canonical=True)
        vector, w = quat[..., :3], quat[..., 3:]
        square = jnp.sum(vector**2, -1, keepdims=True)
        is_small = square < 1e-6
        length = jnp.sqrt(jnp.where(is_small, 1, square))
        scale = jnp.where(is_small, 2 + square / 3, 2 * jnp.arctan2(length, w) / length)
        out = scale * vector
        return jnp.rad2deg(out) if degrees else out

    def as_mrp(self) -> Any:
        """Vectors along the axes, whose lengths are tangents of angle / 4."""
        quat = self.as_quat(canonical=True)
        return quat[..., :3] / (1 + quat[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """The angles about three axes, of shape `(..., 3)`, that `from_euler` takes.

        If the first and the last axis come to be one line, the last angle is 0.

        Raises:
            ValueError: `seq` has not three axes.
        """
        axes, turn = _euler_axes("as_euler", seq)
        if len(axes) != 3:
            raise ValueError(f"as_euler: seq must be three axes, found {seq!r}")
        i, j, k = axes[::-1] if turn else axes
        is_symmetric = i == k
        k = 3 - i - j if is_symmetric else k
        sign = (i - j) * (j - k) * (k - i) // 2
        q = self.quat
        a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
        if not is_symmetric:
            a, b, c, d = a - c, b + d, c + a, d - b
        middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
        half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
        tolerance = 1e-7
        at_start, at_end = middle <= tolerance, middle >= math.pi - tolerance
        first, last = half_sum - half_difference, half_sum + half_difference
        first, last = (last, first) if turn else (first, last)
        lone = jnp.where(at_start, 2 * half_sum, (2 if turn else -2) * half_difference)
        first = jnp.where(at_start | at_end, lone, first)
        last = jnp.where(at_start | at_end, 0, last)
        if not is_symmetric:
            first, last = (first * sign, last) if turn else (first, last * sign)
            middle = middle - math.pi / 2
        angles = jnp.stack([first, middle, last], -1)
        angles = angles - 2 * math.pi * jnp.round(angles / (2 * math.pi))
        return jnp.rad2deg(angles) if degrees else angles


# Interpolation between rotations.


class Slerp(NamedTuple):
    """Spherical linear interpolation: a turn of constant speed from each rotation to the next.

    `Slerp.init` makes it; calling it with times gives rotations.

    >>> ends = Rotation.from_euler("z", jnp.array([[0.0], [90.0]]), degrees=True)
    >>> print(Slerp.init(jnp.array([0.0, 1.0]), ends)(0.5).as_euler("xyz", degrees=True).round())
    [ 0.  0. 45.]
    """

    times: Any
    timedelta: Any
    rotations: Any
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> "Slerp":
        """The interpolation between rotations at increasing times.

        Raises:
            ValueError: `rotations` is a single one, or there is not one for each time.
        """
        times = jnp.asarray(times)
        if not isinstance(rotations, Rotation) or rotations.single or len(rotations) < 2:
            raise ValueError("Slerp: rotations must be a Rotation of at least two")
        if times.shape != (len(rotations),):
            raise ValueError(
                f"Slerp: times must hold one number for each of {len(rotations)} rotations, found "
                f"shape {times.shape}"
            )
        before = Rotation(rotations.quat[:-1])
        turns = before.inv() * Rotation(rotations.quat[1:])
        return cls(times, jnp.diff(times), before, turns.as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """The rotations at these times; beyond the ends, the nearest turn goes on."""
        times = jnp.asarray(times)
        last = self.timedelta.shape[0] - 1
        which = jnp.clip(jnp.searchsorted(self.times, times, side="left") - 1, 0, last)
        share = (times - self.times[which]) / self.timedelta[which]
        return self.rotations[which] * Rotation.from_rotvec(share[..., None] * self.rotvecs[which])


__all__ = ["Rotation", "Slerp"]
list_public_names(globals())
