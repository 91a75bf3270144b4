"""Schedules: functions from the step number to the step size."""

from collections.abc import Callable
from typing import Any

import minijax.numpy as jnp
from minijax.errors.argument_errors import checking_arguments
from minijax.errors.tracebacks import hiding_frames

Schedule = Callable[[Any], Any]


def _of_step(size: Schedule) -> Schedule:
    """A schedule that rejects anything but the number of a step."""

    @hiding_frames
    def schedule(step: float) -> Any:
        return size(step)

    return schedule


@checking_arguments
def constant(step_size: float) -> Schedule:
    """The same step size always.

    >>> constant(0.1)(1000)
    0.1
    """
    return _of_step(lambda i: step_size)


@checking_arguments
def exponential_decay(step_size: float, decay_steps: float, decay_rate: float) -> Schedule:
    """Exponential decay by `decay_rate` per `decay_steps` steps.

    >>> schedule = exponential_decay(0.8, decay_steps=10, decay_rate=0.5)
    >>> schedule(0), schedule(10), schedule(20)
    (0.8, 0.4, 0.2)
    """
    return _of_step(lambda i: step_size * decay_rate ** (i / decay_steps))


@checking_arguments
def inverse_time_decay(
    step_size: float, decay_steps: float, decay_rate: float, staircase: bool = False
) -> Schedule:
    """Division by `1 + decay_rate * i / decay_steps`; with `staircase`, in whole `decay_steps`.

    >>> schedule = inverse_time_decay(0.8, decay_steps=10, decay_rate=1.0)
    >>> schedule(0), schedule(10), schedule(30)
    (0.8, 0.4, 0.2)
    """
    if staircase:
        return _of_step(lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps)))
    return _of_step(lambda i: step_size / (1 + decay_rate * i / decay_steps))


@checking_arguments
def polynomial_decay(
    step_size: float, decay_steps: float, final_step_size: float, power: float = 1.0
) -> Schedule:
    """Polynomial decay to `final_step_size` in `decay_steps` steps; then constant.

    >>> schedule = polynomial_decay(0.5, decay_steps=10, final_step_size=0.1)
    >>> print(*[f"{schedule(i):.2f}" for i in (0, 5, 10, 20)])
    0.50 0.30 0.10 0.10
    """

    def schedule(step_num: Any) -> Any:
        left = (1 - jnp.minimum(step_num, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size

    return _of_step(schedule)


@checking_arguments
def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """`values[0]` up to step `boundaries[0]`, then `values[1]` up to `boundaries[1]`, and so on.

    Raises:
        ValueError: one of them is not a sequence of numbers, or `values` is not one element longer
            than `boundaries`.

    >>> schedule = piecewise_constant([10, 20], [0.5, 0.2, 0.1])
    >>> print(*[schedule(i) for i in (10, 11, 21)])
    0.5 0.2 0.1
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if boundaries.ndim != 1 or values.ndim != 1 or len(values) != len(boundaries) + 1:
        raise ValueError(
            "piecewise_constant: values must be a sequence of numbers, one longer than boundaries; "
            f"found shapes {values.shape} and {boundaries.shape}"
        )
    return _of_step(lambda i: values[jnp.sum(i > boundaries)])


@checking_arguments
def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A schedule; a number becomes the constant schedule.

    Raises:
        TypeError: it is neither.

    >>> make_schedule(0.1)(1000), make_schedule(lambda i: 1 / i)(1000)
    (0.1, 0.001)
    """
    if callable(scalar_or_schedule):
        schedule: Schedule = scalar_or_schedule
        return schedule
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(
        "make_schedule: a step size is a number or a function of the step's number; "
        f"found {type(scalar_or_schedule).__name__}"
    )


__all__ = [
    "constant", "exponential_decay", "inverse_time_decay", "make_schedule", "piecewise_constant",
    "polynomial_decay",
]  # fmt: skip
