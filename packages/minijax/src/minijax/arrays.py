"""Bringing values to the device, where the full library computes.

The stages let numpy evaluate numpy's arrays. The full library answers in Arrays, as JAX does:
what enters it is put on the device first.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax_stage1 import Interpreter
from minijax_stage2 import Tracer, current_trace, float0, tree_map
from minijax_stage2.shaped_array import is_value, python_scalars
from minijax_stage3 import Array, array
from minijax_stage3.staging import JaxprTrace
from minijax_stage4.partial_eval import PartialEvalTrace


def to_array(x: Any) -> Any:
    """A number or a numpy array as an Array; whatever else it is, `x` itself."""
    if not isinstance(x, (*python_scalars, np.ndarray, np.generic)) or not is_value(x):
        return x
    return x if getattr(x, "dtype", None) == float0 else array(x)


# --8<-- [start:on_device]
def on_device(x: Any) -> Any:
    """`x` on the device, so that XLA evaluates what uses it.

    While a function is staged nothing is evaluated, and numbers stay literals of its program.
    """
    return x if _is_staging() else to_array(x)


def all_on_device(*operands: Any) -> Sequence[Any]:
    """The operands, at least one of them on the device, which is enough for XLA to evaluate."""
    if any(isinstance(x, Array | Tracer) for x in operands):
        return operands
    return [on_device(operands[0]), *operands[1:]]


def tree_on_device(tree: Any) -> Any:
    """The tree with each leaf that is a number or a numpy array on the device."""
    return tree if _is_staging() else tree_map(to_array, tree)


# --8<-- [end:on_device]


def require_no_out(name: str, out: None) -> None:
    """Raises the error due when numpy's argument `out` is used."""
    if out is not None:
        raise NotImplementedError(f"{name}: out must be None: an Array is never written to")


def _is_staging() -> bool:
    """Whether what is computed here is written down, at the bottom of the traces that run.

    Partial evaluation does not count: what it knows is computed by its parent.
    """
    trace: Interpreter | None = current_trace()
    while trace is not None:
        if isinstance(trace, JaxprTrace) and type(trace) is not PartialEvalTrace:
            return True
        trace = trace.parent
    return False
