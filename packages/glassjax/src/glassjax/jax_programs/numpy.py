"""JAX's programs of functions of `glassjax.numpy`."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.settings.number_types import promote


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The choice at the place of the first true condition, counted from the default at 0."""
    shape = np.broadcast_shapes(*map(np.shape, [*condlist, *choicelist, default]))
    conditions = jnp.stack([jnp.broadcast_to(each, shape) for each in [False, *condlist]])
    number = jnp.argmax(conditions, axis=0)
    choices = [jnp.broadcast_to(each, shape) for each in promote(default, *choicelist)]
    return lax.select_n(number, *choices)


def _share(x: Any, other: Any, out: Any, base: float = math.e) -> Any:
    """The power of the base that is by how much `x` is larger than `out`; infinities are 0."""
    finite = [
        lax.select(jnp.equal(each, math.inf), lax.full_like(each, 0), each) for each in (x, out)
    ]
    return (lax.exp if base == math.e else lax.exp2)(lax.sub(*finite))
