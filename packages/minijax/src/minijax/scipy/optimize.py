"""Minimization, under the names of `jax.scipy.optimize`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from minijax import numpy as jnp
from minijax.errors.argument_errors import require_fit
from minijax.lax import promoting as lax
from minijax.numpy.math.operands import inexact_arrays
from minijax.runtime.array import ArrayLike
from minijax.runtime.evaluation import evaluated_by_library
from minijax.scipy.lbfgs import lbfgs
from minijax.scipy.line_search import line_search
from minijax.settings.counted import counted
from minijax.transforms.transformations import value_and_grad
from minijax_stage2 import typeof
from minijax_stage2.errors import shown
from minijax_stage2.source import name_of

HIGHEST = lax.Precision.HIGHEST
LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


class OptimizeResults(NamedTuple):
    """The results of a minimization.

    `x` is the minimum, `fun` and `jac` are the function and its gradient there, `hess_inv`
    approximates the inverse of its Hessian. `success` says whether the gradient is small enough;
    `status` is then 0, 1 after too many iterations, and larger if a line search failed. `nfev`,
    `njev` and `nit` count evaluations, gradients and iterations.

    >>> f = lambda x: jnp.sum((x - 1) ** 2)
    >>> found = minijax.scipy.optimize.minimize(f, jnp.zeros(2), method="BFGS")
    >>> isinstance(found, minijax.scipy.optimize.OptimizeResults), found.nit > 0
    (True, Array(True, dtype=bool))
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class _State(NamedTuple):
    x: Any
    value: Any
    value_before: Any
    gradient: Any
    inverse: Any
    converged: Any
    failed: Any
    count: Any
    evaluations: Any
    search_status: Any


def _bfgs(
    function: Callable[[Any], Any],
    x0: Any,
    maxiter: int | None = None,
    norm: Any = np.inf,
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    """The BFGS method."""
    if typeof(x0).ndim != 1:
        raise ValueError(f"minimize: x0 must be a vector, found {typeof(x0)}")
    (n,) = typeof(x0).shape
    maxiter = n * 200 if maxiter is None else maxiter
    value, gradient = value_and_grad(function)(x0)

    def is_flat(gradient: Any) -> Any:
        return jnp.linalg.norm(gradient, ord=norm) < gtol

    def step(state: _State) -> _State:
        direction = -jnp.dot(state.inverse, state.gradient, precision=HIGHEST)
        found = line_search(
            function,
            state.x,
            direction,
            state.value,
            state.value_before,
            state.gradient,
            line_search_maxiter,
        )
        moved = found.step * direction
        change = found.gradient - state.gradient
        # The inverse changes so that it takes the change of the gradient to that of the place.
        rho = 1 / jnp.dot(change, moved, precision=HIGHEST)
        turn = jnp.eye(n, dtype=typeof(x0).dtype) - rho * jnp.outer(moved, change)
        inverse = jnp.matmul(turn, state.inverse, precision=HIGHEST)
        inverse = jnp.matmul(inverse, turn.T, precision=HIGHEST) + rho * jnp.outer(moved, moved)
        return _State(
            x=state.x + moved,
            value=found.value,
            value_before=state.value,
            gradient=found.gradient,
            inverse=jnp.where(jnp.isfinite(rho), inverse, state.inverse),
            converged=is_flat(found.gradient),
            failed=found.failed,
            count=state.count + 1,
            evaluations=state.evaluations + found.evaluations,
            search_status=found.status,
        )

    start = _State(
        x=x0,
        value=value,
        value_before=value + jnp.linalg.norm(gradient) / 2,
        gradient=gradient,
        inverse=jnp.eye(n, dtype=typeof(x0).dtype),
        converged=is_flat(gradient),
        failed=jnp.array(False),
        count=0,
        evaluations=1,
        search_status=jnp.array(0),
    )
    end = lax.while_loop(
        lambda state: ~state.converged & ~state.failed & (state.count < maxiter), step, start
    )
    of_failure = jnp.where(end.failed, 2 + end.search_status, -1)
    status = jnp.where(end.converged, 0, jnp.where(end.count == maxiter, 1, of_failure))
    return OptimizeResults(
        x=end.x,
        success=end.converged & ~end.failed,
        status=status,
        fun=end.value,
        jac=end.gradient,
        hess_inv=end.inverse,
        nfev=end.evaluations,
        njev=end.evaluations,
        nit=end.count,
    )


def _lbfgs(function: Callable[[Any], Any], x0: Any, **options: Any) -> OptimizeResults:
    """The L-BFGS method, which has no inverse of the Hessian to return."""
    end = lbfgs(function, x0, **options)
    return OptimizeResults(
        x=end.x,
        success=end.converged,
        status=end.status,
        fun=end.value,
        jac=end.gradient,
        hess_inv=None,
        nfev=end.evaluations,
        njev=end.evaluations,
        nit=end.count,
    )


@evaluated_by_library
def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Find a local minimum of a function.

    Arguments:
        fun: function of a vector, and of `args`, that returns a number.
        x0: the vector to start from.
        args: further arguments of `fun`.
        method: "BFGS", or by its full name in JAX the L-BFGS method,
            "l-bfgs-experimental-do-not-rely-on-this", which remembers the last moves alone.
        tol: makes no difference; the option `gtol` does.
        options: `maxiter`, the maximum number of iterations; `gtol`, the tolerance of the gradient,
            measured by the `norm`; `line_search_maxiter`. Of L-BFGS `maxiter`, `norm`, `gtol`;
            `ftol`, the least progress of an iteration; `maxcor`, the number of moves; `maxfun` and
            `maxgrad`, the maximum numbers of evaluations and gradients; `maxls`, that of steps of a
            line search.

    Raises:
        ValueError: there is no such method.
        TypeError: `args` is not a tuple of arguments of `fun`, `x0` is boolean, or there is no such
            option.

    >>> import minijax.numpy as jnp
    >>> found = minimize(lambda x: jnp.sum((x - 1) ** 2), jnp.zeros(2), method="BFGS")
    >>> found.x, found.success
    (Array([1., 1.], dtype=float32), Array(True, dtype=bool))
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args must be a tuple, found {shown(args)}")
    methods: dict[str, Callable[..., OptimizeResults]] = {"bfgs": _bfgs, LBFGS: _lbfgs}
    if method.lower() not in methods:
        raise ValueError(f"minimize: method {method!r} is not recognized; 'BFGS' and {LBFGS!r} are")
    by_method, of_options = methods[method.lower()], lbfgs if method.lower() == LBFGS else _bfgs
    if options is not None:
        require_fit("minimize", "options", options, Mapping[str, Any])
        known = [
            name
            for name in inspect.signature(of_options).parameters
            if name not in ("function", "x0")
        ]
        for name in options:
            if name not in known:
                raise TypeError(
                    f"minimize: there is no option {shown(name)}; there are {', '.join(known)}"
                )
    if typeof(x0).dtype.kind == "b":
        raise TypeError(f"minimize: x0 must be numbers, found {typeof(x0)}")
    (x,) = inexact_arrays(x0)
    with suppress(ValueError):  # some functions of C have no signature
        try:
            inspect.signature(fun).bind(x, *args)
        except TypeError as error:
            raise TypeError(
                f"minimize: `{name_of(fun)}` cannot be called with x and "
                f"{counted(len(args), 'argument')} of args: {error}"
            ) from None
    return by_method(lambda x: fun(x, *args), x, **(options or {}))


__all__ = ["OptimizeResults", "minimize"]
