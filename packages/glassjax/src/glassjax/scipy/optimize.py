"""`minimize`: BFGS, L-BFGS and their line search."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.errors.arguments import require_fit
from glassjax.numpy.transcendental import inexact_arrays
from glassjax.runtime.array import ArrayLike
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import counted, list_public_names
from glassjax.transforms.autodiff import value_and_grad
from glassjax_stage2 import tree_map, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.source import name_of

# Line search: the step length along a descent direction.
#
# The strong Wolfe conditions define a sufficient step: the function falls about as fast as its
# slope promises, and the slope becomes flat. Such a step is first bracketed, then found by
# interpolation (J. Nocedal and S. Wright, Numerical Optimization, algorithms 3.5 and 3.6).


HIGHEST = lax.Precision.HIGHEST
ENOUGH_DECREASE, ENOUGH_FLATNESS = 1e-4, 0.9
MOST_INTERPOLATIONS = 30


class Point(NamedTuple):
    """A step, the function there, and its slope along the direction."""

    step: Any
    value: Any
    slope: Any


class Found(NamedTuple):
    """The result of a line search."""

    point: Point
    gradient: Any


class Search(NamedTuple):
    """The result of a line search."""

    failed: Any
    evaluations: Any
    step: Any
    value: Any
    gradient: Any
    status: Any


def chosen(condition: Any, yes: Any, no: Any) -> Any:
    """`where` for trees of arrays."""
    return tree_map(lambda x, y: jnp.where(condition, x, y), yes, no)


def _cubic_minimum(a: Point, b: Point, c: Point) -> Any:
    """The minimum of the cubic polynomial through three points, with the slope of the first."""
    to_b, to_c = b.step - a.step, c.step - a.step
    below = (to_b * to_c) ** 2 * (to_b - to_c)
    rest_b, rest_c = b.value - a.value - a.slope * to_b, c.value - a.value - a.slope * to_c
    cubic = (to_c**2 * rest_b - to_b**2 * rest_c) / below
    square = (to_b**3 * rest_c - to_c**3 * rest_b) / below
    return a.step + (-square + jnp.sqrt(square**2 - 3 * cubic * a.slope)) / (3 * cubic)


def _quadratic_minimum(a: Point, b: Point) -> Any:
    """The minimum of the parabola through two points, with the slope of the first."""
    to_b = b.step - a.step
    square = (b.value - a.value - a.slope * to_b) / to_b**2
    return a.step - a.slope / (2 * square)


def _inside(low: Point, high: Point, before: Point, is_first: Any) -> Any:
    """The next step to try between two: the minimum of a safe polynomial, or the middle."""
    width = jnp.abs(high.step - low.step)
    left, right = jnp.minimum(low.step, high.step), jnp.maximum(low.step, high.step)
    cubic, quadratic = _cubic_minimum(low, high, before), _quadratic_minimum(low, high)
    takes_cubic = ~is_first & (cubic > left + 0.2 * width) & (cubic < right - 0.2 * width)
    takes_quadratic = (quadratic > left + 0.1 * width) & (quadratic < right - 0.1 * width)
    middle = (low.step + high.step) / 2
    return jnp.where(takes_cubic, cubic, jnp.where(takes_quadratic, quadratic, middle))


class _Zoom(NamedTuple):
    low: Point  # the lowest known point of sufficient decrease
    high: Point  # the other end of the interval that holds a sufficient step
    before: Point  # the end replaced last
    found: Found
    done: Any
    failed: Any
    count: Any


def _zoom(
    at: Callable[[Any], Found], start: Point, low: Point, high: Point, found: Found, is_needed: Any
) -> _Zoom:
    """Search for a point between two ends, if needed."""
    middle = Point(*((x + y) / 2 for x, y in zip(low, high, strict=True)))
    epsilon = 1e-10 if typeof(start.value).dtype == np.float64 else 1e-5

    def zoom_step(state: _Zoom) -> _Zoom:
        low, high = state.low, state.high
        is_narrow = jnp.abs(high.step - low.step) <= epsilon
        new = at(_inside(low, high, state.before, state.count == 0))
        point = new.point
        is_high = _is_too_high(start, point) | (point.value >= low.value)
        is_found = _is_flat(start, point) & ~is_high
        is_low = ~is_high & ~is_found
        turns = is_low & (point.slope * (high.step - low.step) >= 0)
        return _Zoom(
            low=chosen(is_low, point, low),
            high=chosen(is_high, point, chosen(turns, low, high)),
            before=chosen(is_high | turns, high, chosen(is_low, low, state.before)),
            found=chosen(is_found, new, state.found),
            done=state.done | is_found,
            failed=state.failed | is_narrow | (state.count + 1 >= MOST_INTERPOLATIONS),
            count=state.count + 1,
        )

    first = _Zoom(low, high, middle, found, ~is_needed, jnp.array(False), 0)
    return lax.while_loop(lambda state: ~state.done & ~state.failed, zoom_step, first)


def _is_too_high(start: Point, point: Point) -> Any:
    return point.value > start.value + ENOUGH_DECREASE * point.step * start.slope


def _is_flat(start: Point, point: Point) -> Any:
    return jnp.abs(point.slope) <= -ENOUGH_FLATNESS * start.slope


class _Bracket(NamedTuple):
    last: Point
    found: Found
    done: Any
    failed: Any
    count: Any
    evaluations: Any


def line_search(
    function: Callable[[Any], Any],
    place: Any,
    direction: Any,
    value: Any,
    value_before: Any,
    gradient: Any,
    maxiter: int,
) -> Search:
    """Search along a direction, in steps that double until they are too long.

    Arguments:
        function: function of a vector that returns a number.
        place: the vector to start from.
        direction: a vector along which the function falls.
        value: the function there.
        value_before: its value before the last search, which determines the length of the first
            step; None for a first step of 1.
        gradient: its gradient there.
        maxiter: the maximum number of steps to try.
    """
    start = Point(
        jnp.zeros_like(value), value, jnp.dot(gradient, direction, precision=HIGHEST).real
    )
    first_step = jnp.ones_like(value)
    if value_before is not None:
        expected = 1.01 * 2 * (value - value_before) / start.slope
        first_step = jnp.where(expected > 1, 1, expected)

    def evaluate_at(step: Any) -> Found:
        out, slope = value_and_grad(function)(place + step * direction)
        along = jnp.dot(slope, direction, precision=HIGHEST).real
        dtype = typeof(value).dtype
        point = Point(step, out.astype(dtype), along.astype(dtype))
        return Found(point, slope.astype(typeof(gradient).dtype))

    def advance(state: _Bracket) -> _Bracket:
        new = evaluate_at(jnp.where(state.count == 1, first_step, state.last.step * 2))
        point, last = new.point, state.last
        is_too_far = _is_too_high(start, point)
        is_too_far = is_too_far | ((point.value >= last.value) & (state.count > 1))
        is_found = _is_flat(start, point) & ~is_too_far
        rises = (point.slope >= 0) & ~is_too_far & ~is_found
        # Either the last point is the lower end, or this one is.
        low, high = chosen(is_too_far, last, point), chosen(is_too_far, point, last)
        # If nothing is found, the result is the start of the search with step 1.
        nothing = Found(low._replace(step=jnp.ones_like(low.step)), gradient)
        zoom = _zoom(evaluate_at, start, low, high, nothing, is_too_far | rises)
        is_between = is_too_far | rises
        return _Bracket(
            last=point,
            found=chosen(is_between, zoom.found, chosen(is_found, new, state.found)),
            done=state.done | is_between | is_found,
            failed=state.failed | (is_between & zoom.failed),
            count=state.count + 1,
            evaluations=state.evaluations + 1 + zoom.count,
        )

    no = jnp.array(False)
    state = lax.while_loop(
        lambda state: ~state.done & ~state.failed & (state.count <= maxiter),
        advance,
        _Bracket(start, Found(start, gradient), no, no, 1, 0),
    )
    step = state.found.point.step
    if typeof(step).dtype != np.float64:  # float32 resolves no shorter steps
        step = jnp.where(jnp.abs(step) < 1e-8, jnp.sign(step) * 1e-8, step)
    status = jnp.where(state.failed, 1, jnp.where(state.count > maxiter, 3, 0))
    return Search(
        failed=state.failed | ~state.done,
        evaluations=state.evaluations,
        step=step,
        value=state.found.point.value,
        gradient=state.found.gradient,
        status=status,
    )


# Minimization by the L-BFGS method.
#
# Source: Nocedal and Wright, "Numerical Optimization", second edition, algorithms 7.4 and 7.5.


# The states of a minimization.
(_NOMINAL, _ITERATIONS, _EVALUATIONS, _GRADIENTS, _NO_PROGRESS, _SEARCH_FAILED) = range(6)


class LBFGSState(NamedTuple):
    """The state of a minimization.

    `moves` and `changes` are the last moves and the changes of the gradient, newest last,
    `inverses` the inverses of their products; `scale` is the scale of the initial inverse Hessian.
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
    value_dtype = typeof(value).dtype

    def lbfgs_step(state: LBFGSState) -> LBFGSState:
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
            value=jnp.astype(found.value, value_dtype),
            gradient=jnp.astype(found.gradient, dtype),
            moves=jnp.concatenate([state.moves[1:], move[None]]),
            changes=jnp.concatenate([state.changes[1:], change[None]]),
            inverses=jnp.concatenate([state.inverses[1:], 1 / product[None]]),
            scale=jnp.astype(product / _dot(change.conj(), change).real, value_dtype),
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
        inverses=jnp.zeros(maxcor, value_dtype),
        scale=jnp.ones((), value_dtype),
        converged=jnp.array(False),
        status=jnp.array(_NOMINAL),
        count=0,
        evaluations=1,
    )
    return lax.while_loop(lambda state: ~state.converged & (state.status == 0), lbfgs_step, start)


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


# Minimization, under the names of `jax.scipy.optimize`.


LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


class OptimizeResults(NamedTuple):
    """The results of a minimization.

    `x` is the minimum, `fun` and `jac` are the function and its gradient there, `hess_inv`
    approximates the inverse of its Hessian. `success` says whether the gradient is small enough;
    `status` is then 0, 1 after too many iterations, and larger if a line search failed. `nfev`,
    `njev` and `nit` count evaluations, gradients and iterations.

    >>> f = lambda x: jnp.sum((x - 1) ** 2)
    >>> found = glassjax.scipy.optimize.minimize(f, jnp.zeros(2), method="BFGS")
    >>> isinstance(found, glassjax.scipy.optimize.OptimizeResults), found.nit > 0
    (True, Array(True, dtype=bool, weak_type=True))
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

    def bfgs_step(state: _State) -> _State:
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
        # The secant equation: the new inverse maps the change of the gradient to the move.
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
        lambda state: ~state.converged & ~state.failed & (state.count < maxiter), bfgs_step, start
    )
    failure_status = jnp.where(end.failed, 2 + end.search_status, -1)
    status = jnp.where(end.converged, 0, jnp.where(end.count == maxiter, 1, failure_status))
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
        tol: ignored; the option `gtol` is the tolerance.
        options: `maxiter`, the maximum number of iterations; `gtol`, the tolerance of the gradient,
            measured by the `norm`; `line_search_maxiter`. Of L-BFGS `maxiter`, `norm`, `gtol`;
            `ftol`, the least progress of an iteration; `maxcor`, the number of moves; `maxfun` and
            `maxgrad`, the maximum numbers of evaluations and gradients; `maxls`, the maximum number
            of steps of a line search.

    Raises:
        ValueError: there is no such method.
        TypeError: `args` is not a tuple of arguments of `fun`, `x0` is boolean, or there is no such
            option.

    >>> import glassjax.numpy as jnp
    >>> found = minimize(lambda x: jnp.sum((x - 1) ** 2), jnp.zeros(2), method="BFGS")
    >>> found.x, found.success
    (Array([1., 1.], dtype=float32), Array(True, dtype=bool))
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args must be a tuple, found {shown(args)}")
    methods: dict[str, Callable[..., OptimizeResults]] = {"bfgs": _bfgs, LBFGS: _lbfgs}
    if method.lower() not in methods:
        raise ValueError(f"minimize: method {method!r} is not recognized; 'BFGS' and {LBFGS!r} are")
    by_method, minimizer = methods[method.lower()], lbfgs if method.lower() == LBFGS else _bfgs
    if options is not None:
        require_fit("minimize", "options", options, Mapping[str, Any])
        known = [
            name
            for name in inspect.signature(minimizer).parameters
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
    with suppress(ValueError):  # some C functions have no signature
        try:
            inspect.signature(fun).bind(x, *args)
        except TypeError as error:
            raise TypeError(
                f"minimize: `{name_of(fun)}` cannot be called with x and "
                f"{counted(len(args), 'argument')} of args: {error}"
            ) from None
    return by_method(lambda x: fun(x, *args), x, **(options or {}))


__all__ = ["OptimizeResults", "minimize"]
list_public_names(globals())
