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
        step: function of the number of the step, a float from 0 on, and of the arrays of the state,
            real or complex; it returns the next state.
        start: the initial state, arrays of one shape and dtype.
        is_active: mask of the elements to iterate. The others do not change, and may be such that
            no step makes sense.
        is_unconverged: function of two successive states that returns a mask of the elements that
            need more steps.
        limit: the maximum number of steps.

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
