"""Interpolation between rotations."""

from typing import Any, NamedTuple

from minijax import numpy as jnp
from minijax.scipy.spatial.transform.rotation import Rotation


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


__all__ = ["Slerp"]
