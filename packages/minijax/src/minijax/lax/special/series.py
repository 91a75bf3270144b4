"""Series and continued fractions, computed for each element until convergence."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.lax.control_flow.while_loop import while_loop
from minijax.lax.elementwise.arithmetic import add
from minijax.lax.elementwise.bits import bitwise_and
from minijax.lax.elementwise.comparisons import lt
from minijax.lax.elementwise.selection import where
from minijax.lax.reductions.standard import reduce_or
from minijax_stage2 import typeof

State = Sequence[Any]


def converge(
    step: Callable[..., State],
    start: State,
    is_active: Any,
    is_unconverged: Callable[[State, State], Any],
    limit: int,
) -> list[Any]:
    """Apply a step to every element until none changes.

    Arguments:
        step: function of how many steps were made, from 0, a float, and of the arrays that are
            the state, real or complex; it returns the next state.
        start: the state at first, arrays of one shape and dtype.
        is_active: for which elements a step is made at all. The others stay as they are, and may
            be such that no step makes sense.
        is_unconverged: says of two states, one after the other, which elements need more steps.
        limit: how many steps are made at most.

    Returns:
        The last state.
    """
    n = np.zeros((), np.finfo(typeof(start[0]).dtype).dtype)[()]

    def goes_on(carry: Any) -> Any:
        n, is_active, _ = carry
        axes = range(typeof(is_active).ndim)
        return bitwise_and(lt(n, limit), reduce_or(is_active, tuple(axes)))

    def body(carry: Any) -> Any:
        n, is_active, state = carry
        new = step(n, *state)
        unfinished = bitwise_and(is_active, is_unconverged(state, new))
        kept = [where(is_active, x, y) for x, y in zip(new, state, strict=True)]
        return add(n, 1.0), unfinished, kept

    _, _, state = while_loop(goes_on, body, (n, is_active, list(start)))
    return list(state)
