"""Types, traces and jaxprs."""

from typing import Any

import numpy as np

from minijax.core import ShapedArray, Trace, Tracer, eval_jaxpr, typeof
from minijax.extend.core import *  # noqa: F403
from minijax.extend.core import trace_state_clean
from minijax.settings.number_types import implementation_of, is_key_type
from minijax.settings.tracers import printed_type

get_aval = typeof
AbstractValue = ShapedArray


def full_lower(val: Any) -> Any:
    """The value: tracers here hold nothing that could be known without them."""
    return val


def physical_aval(aval: Any) -> Any:
    """The type of arrays in memory: of keys, that of their words."""
    if not is_key_type(aval.dtype):
        return aval
    words = implementation_of(aval.dtype).key_shape
    return printed_type(ShapedArray((*aval.shape, *words), np.dtype(np.uint32)))


__all__ = [
    "AbstractValue", "ShapedArray", "Trace", "Tracer", "eval_jaxpr", "full_lower", "get_aval",
    "physical_aval", "trace_state_clean", "typeof",
]  # fmt: skip
