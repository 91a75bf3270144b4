"""Accumulators of cotangents, which a rule of reverse mode may add to instead of returning them."""

from typing import Any

from minijax.settings.printed_types import plain
from minijax_stage2 import ShapedArray, Zero, add, typeof


class GradAccum:
    """The base class of what sums the cotangents of one value.

    Arguments:
        aval: the type of the cotangents.
    """

    def __init__(self, aval: ShapedArray):
        self.aval = plain(aval)

    def accum(self, x: Any) -> None:
        """Add a cotangent, which may be `Zero`, or None for that."""
        raise NotImplementedError(f"{type(self).__name__}: accum is not defined; use a ValAccum")

    def freeze(self) -> Any:
        """The sum of the cotangents; `Zero` if there were none."""
        raise NotImplementedError(f"{type(self).__name__}: freeze is not defined; use a ValAccum")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"


class ValAccum(GradAccum):
    """Holds the sum of cotangents.

    Arguments:
        aval: the type of the cotangents.
        val: the first of them.

    Raises:
        ValueError: a cotangent has another shape.

    >>> from minijax.experimental import hijax
    >>> total = hijax.ValAccum(minijax.typeof(jnp.zeros(2)))
    >>> total.accum(jnp.ones(2))
    >>> total.accum(None)
    >>> total.accum(jnp.ones(2))
    >>> total.freeze()
    Array([2., 2.], dtype=float32)
    """

    def __init__(self, aval: ShapedArray, val: Any = None):
        super().__init__(aval)
        self.val: Any = Zero(self.aval)
        self.accum(val)

    def accum(self, x: Any) -> None:
        """Add a cotangent, which may be `Zero`, or None for that."""
        if x is None:
            return
        found = x.aval if type(x) is Zero else typeof(x)
        if found.shape != self.aval.shape:
            raise ValueError(f"ValAccum: expected a cotangent of type {self.aval}, found {found}")
        if type(x) is not Zero:
            self.val = x if type(self.val) is Zero else add(self.val, x)

    def freeze(self) -> Any:
        """The sum of the cotangents; `Zero` if there were none."""
        return self.val


class NullAccum(GradAccum):
    """Ignores cotangents, for a value whose cotangent nothing needs."""

    def accum(self, x: Any) -> None:
        """Do nothing."""


__all__ = ["GradAccum", "NullAccum", "ValAccum"]
