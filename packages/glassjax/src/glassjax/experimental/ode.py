"""Initial value problems, solved by steps whose size adapts to their error.

The method is of order 5, with an error estimate of order 4 and a continuous solution between steps
(J. R. Dormand and P. J. Prince, 1980; E. Hairer, S. P. Nørsett and G. Wanner, "Solving Ordinary
Differential Equations I", 2nd edition, 1993, sections II.4 to II.6). Gradients solve the adjoint
problem backwards, with the solution itself, and keep no steps.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import glassjax.numpy as jnp
import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dtypes import issubdtype
from glassjax.flatten_util import ravel_pytree
from glassjax.primitives.axes import NONE, mesh_axes_of, pvary, vma_of
from glassjax.runtime.array import Array, tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jit import jit
from glassjax.transforms.autodiff import vjp
from glassjax.transforms.custom_derivatives import closure_convert, custom_vjp
from glassjax.transforms.vmap import vmap
from glassjax_stage2 import tree_flatten, tree_leaves, tree_map, typeof
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.tree import keystr

# The stages of the method: their nodes, and the weights of the earlier stages.
_NODES = np.array([1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
_STAGES = np.array(
    [
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
_ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
_BETWEEN = np.array(
    [
        -12715105075 / 11282082432, 0, 87487479700 / 32700410799, -10690763975 / 1880347072,
        701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
    ]
)  # fmt: skip


class _State(NamedTuple):
    """A step that has been taken, and the size of the next."""

    y: Any
    f: Any  # the derivative at (y, t)
    t: Any
    dt: Any
    last_t: Any
    pieces: Any  # the solution between last_t and t, see `_interpolated`
    count: Any  # steps since the last requested time


def _norm(x: Any) -> Any:
    """The root of the mean of squares."""
    return jnp.sqrt(jnp.mean(jnp.square(jnp.abs(x))))


def optimal_step_size(
    last_step: Any,
    mean_error_ratio: Any,
    safety: float = 0.9,
    ifactor: float = 10.0,
    dfactor: float = 0.2,
    order: float = 5.0,
) -> Array:
    """The size of the next step, from the error of the last one.

    Arguments:
        last_step: its size.
        mean_error_ratio: its error, divided by the tolerance.
        safety: the safety factor, which makes a step smaller than the estimate, so that its error
            is small enough.
        ifactor: the largest factor by which a step may grow.
        dfactor: the smallest factor by which it may shrink.
        order: the order of the method.

    >>> from glassjax.experimental import ode
    >>> [f"{ode.optimal_step_size(1.0, error):.3f}" for error in (32.0, 0.0)]
    ['0.450', '10.000']
    """
    is_exact = mean_error_ratio == 0
    ratio = jnp.where(is_exact, 1.0, mean_error_ratio)
    factor = jnp.maximum(safety * ratio ** (-1.0 / order), jnp.where(ratio < 1, 1.0, dfactor))
    factor = jnp.where(is_exact, ifactor, jnp.minimum(factor, ifactor))
    return last_step * factor


def _first_step(fun: Any, t: Any, y: Any, f: Any, rtol: float, atol: float) -> Any:
    """A size for the first step (section II.4 of the book)."""
    scale = atol + jnp.abs(y) * rtol
    y_norm, f_norm = _norm(y / scale), _norm(f / scale)
    is_tiny = (y_norm < 1e-5) | (f_norm < 1e-5)
    h0 = jnp.where(is_tiny, 1e-6, 0.01 * y_norm / jnp.where(f_norm == 0, 1.0, f_norm))
    change = _norm((fun(y + h0 * f, t + h0) - f) / scale) / h0
    largest = jnp.maximum(f_norm, change)
    small = jnp.maximum(1e-6, h0 * 1e-3)
    h1 = (0.01 / jnp.where(largest <= 1e-15, 1.0, largest)) ** (1.0 / 5.0)
    return jnp.minimum(100.0 * h0, jnp.where(largest <= 1e-15, small, h1))


def _step(fun: Any, y: Any, f: Any, t: Any, dt: Any) -> tuple[Any, Any, Any, Any]:
    """One step: the value and the derivative at its end, its error, and the pieces between."""
    ks = [f]
    for node, weights in zip(_NODES, _STAGES, strict=True):
        end = y + dt * _weighted(weights, ks)
        ks.append(fun(end, t + node.item() * dt))
    change = end - y
    begin = dt * f - change
    bend = dt * _weighted(_BETWEEN, ks)
    pieces = jnp.stack([y, change, begin, change - dt * ks[-1] - begin, bend])
    return end, ks[-1], dt * _weighted(_ERROR, ks), pieces


def _weighted(weights: np.ndarray[Any, Any], ks: Sequence[Any]) -> Any:
    """The sum of the first values with these weights."""
    terms = [w * k for w, k in zip(weights.tolist(), ks, strict=False) if w]
    return functools.reduce(operator.add, terms)


def _interpolated(pieces: Any, part: Any) -> Any:
    """The solution within a step, at a part of it between 0 and 1."""
    rest = 1 - part
    y, change, begin, end, bend = pieces
    return y + part * (change + rest * (begin + part * (end + rest * bend)))


@evaluated_by_library
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """Solve `dy/dt = func(y, t, *args)` with the value `y0` at the time `t[0]`.

    Gradients with respect to `y0`, `t`, `args` and values that `func` closes over solve the adjoint
    problem, so their memory does not grow with the number of steps; the tolerances bound their
    error too. Only reverse mode is supported.

    Arguments:
        func: function of the value, the time, and `args`. It returns the derivative, of the
            structure, shapes and dtypes of the value.
        y0: the value at the first time, a pytree of floating-point arrays.
        t: the times to solve for, increasing, of shape (n,).
        *args: pytrees of arrays for `func`.
        rtol: the error allowed in a step, relative to the value.
        atol: the absolute error allowed in addition.
        mxstep: the largest number of steps between two times.
        hmax: the largest size of a step.

    Returns:
        The values at the times, like `y0`, with a first axis of `n`. They are NaN from the first
        time that `mxstep` steps, or steps of small enough error, do not reach; and at times that do
        not increase.

    Raises:
        TypeError: `func` is not a function, or does not return a derivative of the value; `args`
            holds something other than arrays; or `y0` or `t` are not of a floating-point dtype.
        ValueError: `t` is not of rank 1, or empty.

    >>> from glassjax.experimental.ode import odeint
    >>> times = jnp.linspace(0.0, 1.0, 3)
    >>> print(odeint(lambda y, t, rate: -rate * y, jnp.array(1.0), times, 2.0).round(2))
    [1.   0.37 0.14]
    >>> def last(rate):
    ...     return odeint(lambda y, t: -rate * y, 1.0, times)[-1]
    >>> f"{glassjax.grad(last)(2.0):.3f}"
    '-0.135'
    """
    require_function("odeint", func)
    for leaf in tree_leaves(args):
        if not hasattr(leaf, "dtype") and not isinstance(leaf, bool | int | float | complex):
            raise TypeError(
                f"odeint: args are pytrees of arrays, found {shown(leaf)} of type "
                f"{type(leaf).__name__}; close over it instead"
            )
    y0, t, args = tree_to_arrays((y0, t, args))
    for name, value in (("y0", y0), ("t", t)):
        for leaf in tree_leaves(value):
            if not issubdtype(leaf.dtype, np.inexact):
                raise TypeError(
                    f"odeint: {name} must be of a floating-point dtype, found {leaf.dtype}"
                )
    if t.ndim != 1 or not t.size:
        raise ValueError(f"odeint: t must be a row of times, found an array of shape {t.shape}")
    flat, unravel = ravel_pytree(y0)

    leaves, structure = tree_flatten(args)

    def flat_func(y: Any, t: Any, *leaves: Any) -> Any:
        slope = func(unravel(y), t, *stage2.tree_unflatten(structure, leaves))
        _require_like(y0, slope)
        return ravel_pytree(slope)[0]

    converted, consts = closure_convert(flat_func, flat, t[0], *leaves)
    axes = NONE.union(*[vma_of(typeof(x)) for x in (flat, t, *leaves, *consts)])
    if axes:  # the solution varies along the mesh axes that any operand varies along
        flat, t = (pvary(x, mesh_axes_of(axes)) for x in (flat, t))
        converted, consts = closure_convert(flat_func, flat, t[0], *leaves)
    options = _Options(float(rtol), float(atol), float(mxstep), float(hmax))
    return vmap(unravel)(_odeint(converted, options, flat, t, *leaves, *consts))


def _require_like(y0: Any, slope: Any) -> None:
    expected, found = (
        [(keystr(path), np.shape(leaf)) for path, leaf in stage2.tree_flatten_with_path(tree)[0]]
        for tree in (y0, slope)
    )
    if found != expected:
        raise TypeError(
            "odeint: func must return the derivative of the value, with its structure and shapes: "
            f"y0 has {_leaf_types(expected)}, and func returned {_leaf_types(found)}"
        )


def _leaf_types(leaves: Sequence[tuple[str, tuple[int, ...]]]) -> str:
    parts = [f"shape {shape}{f' at {path}' if path else ''}" for path, shape in leaves]
    return ", ".join(parts) or "no arrays"


class _Options(NamedTuple):
    rtol: float
    atol: float
    mxstep: float
    hmax: float


@jit(static_argnums=(0, 1))
def _solve(func: Any, options: _Options, y0: Any, ts: Any, *args: Any) -> Any:
    def fun(y: Any, t: Any) -> Any:
        return func(y, t, *args)

    rtol, atol, mxstep, hmax = options

    def advance(state: _State) -> _State:
        y, f, t, dt, *_ = state
        end, f_end, error, pieces = _step(fun, y, f, t, dt)
        scale = atol + rtol * jnp.maximum(jnp.abs(y), jnp.abs(end))
        ratio = _norm(error / scale)
        dt_next = jnp.clip(optimal_step_size(dt, ratio), 0.0, hmax).astype(dt.dtype)
        taken = _State(end, f_end, t + dt, dt_next, t, pieces, state.count + 1)
        again = state._replace(dt=dt_next, count=state.count + 1)
        return tree_map(lambda x, y: jnp.where(ratio <= 1, x, y), taken, again)

    def up_to(state: _State, target: Any) -> tuple[_State, Any]:
        def before_target(state: _State) -> Any:
            moves = state.t + state.dt > state.t  # False if the step is NaN or too small
            return (state.t < target) & (state.count < mxstep) & moves

        state = lax.while_loop(
            before_target, advance, state._replace(count=jnp.zeros_like(state.count))
        )
        length = state.t - state.last_t
        part = jnp.where(length > 0, (target - state.last_t) / jnp.where(length > 0, length, 1), 1)
        # The solution is known only within the last step.
        is_known = (state.last_t <= target) & (target <= state.t)
        return state, jnp.where(
            is_known, _interpolated(state.pieces, part.astype(ts.dtype)), jnp.nan
        )

    f0 = fun(y0, ts[0])
    dt = jnp.clip(_first_step(fun, ts[0], y0, f0, rtol, atol), 0.0, hmax).astype(ts.dtype)
    none = jnp.zeros_like(y0)
    pieces = jnp.stack([y0, none, none, none, none])
    start = _State(y0, f0, ts[0], dt, ts[0], pieces, jnp.zeros((), ts.dtype))
    _, ys = lax.scan(up_to, start, ts[1:])
    return jnp.concatenate([y0[None], ys])


def _forward(
    func: Any, options: _Options, y0: Any, ts: Any, *args: Any
) -> tuple[Any, tuple[Any, Any, Any]]:
    ys = _odeint(func, options, y0, ts, *args)  # can be differentiated again
    return ys, (ys, ts, args)


def _backward(
    func: Any, options: _Options, residuals: tuple[Any, Any, Any], cts: Any
) -> Sequence[Any]:
    """The adjoint problem, from each time back to the previous one.

    Its value is the solution, its cotangent, and the cotangents of `args` so far.
    """
    ys, ts, args = residuals
    varies = [issubdtype(x.dtype, np.inexact) for x in args]

    def with_args(given: Sequence[Any]) -> list[Any]:
        moving_args = iter(given)
        return [next(moving_args) if moves else x for x, moves in zip(args, varies, strict=True)]

    moving = [x for x, moves in zip(args, varies, strict=True) if moves]

    def adjoint(value: Any, backwards: Any, *moving: Any) -> Any:
        y, ct, *_ = value
        f, pull_back = vjp(lambda y, *given: func(y, -backwards, *with_args(given)), y, *moving)
        return (-f, *pull_back(ct))

    def back(carry: Any, at: Any) -> Any:
        ct, arg_cts = carry
        y, earlier_ct, pair = at
        _, ct, *arg_cts = tree_map(
            lambda x: x[1],
            odeint(adjoint, (y, ct, *arg_cts), -pair, *moving, **options._asdict()),
        )
        return (ct + earlier_ct, arg_cts), None

    fs = lax.map(lambda at: func(at[0], at[1], *args), (ys, ts))
    ts_bar = jnp.real(jnp.sum(cts * fs, axis=1)).astype(ts.dtype)
    pairs = jnp.stack([ts[1:], ts[:-1]], axis=1)
    start = cts[-1], [jnp.zeros_like(x) for x in moving]
    (ct, moving_cts), _ = lax.scan(back, start, (ys[1:], cts[:-1], pairs), reverse=True)
    # Moving the first time moves the whole solution.
    first = -jnp.real(jnp.sum(ct * fs[0])).astype(ts.dtype) + ts_bar[0]
    ts_bar = jnp.concatenate([first[None], ts_bar[1:]])
    given = iter(moving_cts)
    return ct, ts_bar, *(next(given) if moves else None for moves in varies)


_odeint = custom_vjp(_solve, nondiff_argnums=(0, 1))
_odeint.defvjp(_forward, _backward)

__all__ = ["odeint", "optimal_step_size"]
