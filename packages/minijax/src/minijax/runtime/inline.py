"""`Inline`: where the calls of a jitted function become part of the program around them."""

from enum import Enum
from typing import Any

from minijax_stage2.errors import shown


class Inline(Enum):
    """The moment when a call of a jitted function in another program becomes its operations.

    Attributes:
        JAX_EARLY: as the program around it is traced, so that its jaxpr has no call.
        JAX_LATE: the jaxpr has a call. This and the others are the same here, for XLA puts all
            functions of a module together.
        XLA_EARLY: as JAX_LATE.
        XLA_LATE: as JAX_LATE.
        AUTO: as JAX_LATE.

    >>> double = minijax.jit(lambda x: 2.0 * x, inline=minijax.Inline.JAX_EARLY)
    >>> minijax.make_jaxpr(lambda x: double(x))(1.0)
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
