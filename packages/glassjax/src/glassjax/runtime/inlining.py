"""When the call of a jitted function becomes part of the surrounding program."""

from enum import Enum
from typing import Any

from glassjax_stage2.errors import shown


class Inline(Enum):
    """When a call of a jitted function in another program is replaced by its operations.

    Attributes:
        JAX_EARLY: while the surrounding program is traced, so that its jaxpr has no call.
        JAX_LATE: the jaxpr has a call. This and the others are the same here, since XLA inlines
            all functions of a module.
        XLA_EARLY: as JAX_LATE.
        XLA_LATE: as JAX_LATE.
        AUTO: as JAX_LATE.

    >>> double = glassjax.jit(lambda x: 2.0 * x, inline=glassjax.Inline.JAX_EARLY)
    >>> glassjax.make_jaxpr(lambda x: double(x))(1.0)
    { lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


def is_early(inline: Any) -> bool:
    """Return True if there is to be no call in jaxprs.

    Raises:
        TypeError: `inline` is neither a bool nor an `Inline`.
    """
    if type(inline) is bool:
        return inline
    if not isinstance(inline, Inline):
        raise TypeError(f"jit: inline must be a bool or an Inline, found {shown(inline)}")
    return inline is Inline.JAX_EARLY
