"""Line search: the step length along a descent direction.

The strong Wolfe conditions define a sufficient step: the function falls about as fast as its slope
promises, and the slope becomes flat. Such a step is first bracketed, then found by interpolation
(J. Nocedal and S. Wright, Numerical Optimization, algorithms 3.5 and 3.6).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.transforms.transformations import value_and_grad
from minijax_stage2 import tree_map, typeof

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
    """One of two trees of arrays."""
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
    """The next step to try between two: from the best polynomial that is safe, or the middle."""
    width = jnp.abs(high.step - low.step)
    left, right = jnp.minimum(low.step, high.step), jnp.maximum(low.step, high.step)
    cubic, quadratic = _cubic_minimum(low, high, before), _quadratic_minimum(low, high)
    takes_cubic = ~is_first & (cubic > left + 0.2 * width) & (cubic < right - 0.2 * width)
    takes_quadratic = (quadratic > left + 0.1 * width) & (quadratic < right - 0.1 * width)
    middle = (low.step + high.step) / 2
    return jnp.where(takes_cubic, cubic, jnp.where(takes_quadratic, quadratic, middle))


class _Zoom(NamedTuple):
    low: Point  # the lowest known point that falls enough
    high: Point  # the other end, so that what is looked for lies between
    before: Point  # the end before this one
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

    def step(state: _Zoom) -> _Zoom:
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
    return lax.while_loop(lambda state: ~state.done & ~state.failed, step, first)


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

    def at(step: Any) -> Found:
        out, slope = value_and_grad(function)(place + step * direction)
        along = jnp.dot(slope, direction, precision=HIGHEST).real
        dtype = typeof(value).dtype
        point = Point(step, out.astype(dtype), along.astype(dtype))
        return Found(point, slope.astype(typeof(gradient).dtype))

    def advance(state: _Bracket) -> _Bracket:
        new = at(jnp.where(state.count == 1, first_step, state.last.step * 2))
        point, last = new.point, state.last
        is_too_far = _is_too_high(start, point)
        is_too_far = is_too_far | ((point.value >= last.value) & (state.count > 1))
        is_found = _is_flat(start, point) & ~is_too_far
        rises = (point.slope >= 0) & ~is_too_far & ~is_found
        # Either the last point is the lower end, or this one is.
        low, high = chosen(is_too_far, last, point), chosen(is_too_far, point, last)
        # Where nothing is found, the start of the search stands for it, of step 1.
        nothing = Found(low._replace(step=jnp.ones_like(low.step)), gradient)
        zoom = _zoom(at, start, low, high, nothing, is_too_far | rises)
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
    if typeof(step).dtype != np.float64:  # no step is shorter than makes a difference
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
