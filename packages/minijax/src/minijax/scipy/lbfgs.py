"""Minimization by the L-BFGS method.

Source: Nocedal and Wright, "Numerical Optimization", second edition, algorithms 7.4 and 7.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.scipy.line_search import line_search
from minijax.transforms.transformations import value_and_grad
from minijax_stage2 import typeof

HIGHEST = lax.Precision.HIGHEST

# The states of a minimization.
(_NOMINAL, _ITERATIONS, _EVALUATIONS, _GRADIENTS, _NO_PROGRESS, _SEARCH_FAILED) = range(6)


class LBFGSState(NamedTuple):
    """A minimization that is going on.

    `moves` and `changes` are the last moves and the changes of the gradient, newest last,
    `inverses` those of their products; `scale` is that of the Hessian's inverse before them.
    """

    x: Any
    value: Any
    gradient: Any
    moves: Any
    changes: Any
    inverses: Any
    scale: Any
    converged: Any
    status: Any
    count: Any
    evaluations: Any


def _dot(x: Any, y: Any) -> Any:
    return jnp.dot(x, y, precision=HIGHEST)


def lbfgs(
    function: Callable[[Any], Any],
    x0: Any,
    maxiter: float | None = None,
    norm: Any = np.inf,
    maxcor: int = 10,
    ftol: float = 2.220446049250313e-09,
    gtol: float = 1e-05,
    maxfun: float | None = None,
    maxgrad: float | None = None,
    maxls: int = 20,
) -> LBFGSState:
    """Minimize a function of a vector.

    Arguments:
        function: the function, which returns a real number.
        x0: the vector to start from.
        maxiter, maxfun, maxgrad: the maximum numbers of iterations, evaluations and gradients;
            without any of them, 200 iterations for each element.
        norm: the norm of the gradient, which `gtol` limits at the end.
        maxcor: how many of the last moves approximate the Hessian.
        ftol: the least progress of an iteration.
        gtol: the tolerance of the gradient.
        maxls: the maximum number of steps of a line search.

    Raises:
        ValueError: `x0` is not a vector.
    """
    if typeof(x0).ndim != 1:
        raise ValueError(f"minimize: x0 must be a vector, found {typeof(x0)}")
    (n,), dtype = typeof(x0).shape, typeof(x0).dtype
    if maxiter is None and maxfun is None and maxgrad is None:
        maxiter = 200 * n
    limits = [np.inf if limit is None else limit for limit in (maxiter, maxfun, maxgrad)]
    value, gradient = value_and_grad(function)(x0)
    of_value = typeof(value).dtype

    def step(state: LBFGSState) -> LBFGSState:
        direction = _direction(state)
        found = line_search(function, state.x, direction, state.value, None, state.gradient, maxls)
        move = jnp.astype(found.step * direction, dtype)
        change = found.gradient - state.gradient
        product = _dot(change, move).real
        status = jnp.where(state.value - found.value < ftol, _NO_PROGRESS, _NOMINAL)
        status = jnp.where(state.evaluations >= limits[2], _GRADIENTS, status)
        status = jnp.where(state.evaluations >= limits[1], _EVALUATIONS, status)
        status = jnp.where(state.count >= limits[0], _ITERATIONS, status)
        status = jnp.where(found.failed, _SEARCH_FAILED, status)
        converged = jnp.linalg.norm(found.gradient, ord=norm) < gtol
        return LBFGSState(
            x=state.x + move,
            value=jnp.astype(found.value, of_value),
            gradient=jnp.astype(found.gradient, dtype),
            moves=jnp.concatenate([state.moves[1:], move[None]]),
            changes=jnp.concatenate([state.changes[1:], change[None]]),
            inverses=jnp.concatenate([state.inverses[1:], 1 / product[None]]),
            scale=jnp.astype(product / _dot(change.conj(), change).real, of_value),
            converged=converged,
            status=jnp.where(converged, _NOMINAL, status),
            count=state.count + 1,
            evaluations=state.evaluations + found.evaluations,
        )

    start = LBFGSState(
        x=x0,
        value=value,
        gradient=gradient,
        moves=jnp.zeros((maxcor, n), dtype),
        changes=jnp.zeros((maxcor, n), dtype),
        inverses=jnp.zeros(maxcor, of_value),
        scale=jnp.ones((), of_value),
        converged=jnp.array(False),
        status=jnp.array(_NOMINAL),
        count=0,
        evaluations=1,
    )
    return lax.while_loop(lambda state: ~state.converged & (state.status == 0), step, start)


def _direction(state: LBFGSState) -> Any:
    """The inverse of the approximate Hessian, times the gradient downhill, by two loops.

    Places of the history that are not filled yet hold zeros, which add nothing.
    """
    history = (state.moves, state.changes, state.inverses)

    def backwards(rest: Any, past: Any) -> tuple[Any, Any]:
        move, change, inverse = past
        share = inverse * _dot(move.conj(), rest).real
        return rest - share * change.conj(), share

    def forwards(direction: Any, past: Any) -> tuple[Any, Any]:
        move, change, inverse, share = past
        return direction + (share - inverse * _dot(change, direction).real) * move, None

    rest, shares = lax.scan(backwards, -state.gradient.conj(), history, reverse=True)
    return lax.scan(forwards, state.scale * rest, (*history, shares))[0]
