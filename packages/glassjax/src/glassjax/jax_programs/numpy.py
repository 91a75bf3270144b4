"""JAX's programs of functions of `glassjax.numpy`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.settings.number_types import promote


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The choice at the place of the first true condition, counted from the default at 0."""
    shape = np.broadcast_shapes(*map(np.shape, [*condlist, *choicelist, default]))
    conditions = [jnp.broadcast_to(each, shape) for each in [False, *condlist]]
    choices = [jnp.broadcast_to(each, shape) for each in promote(default, *choicelist)]
    return lax.select_n(jnp.argmax(jnp.stack(conditions), axis=0), *choices)
