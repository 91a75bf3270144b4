"""Optimizers and schedules of step sizes, under the names of `jax.example_libraries.optimizers`."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import glassjax.numpy as jnp
from glassjax import tree
from glassjax.errors.arguments import checking_arguments
from glassjax.errors.tracebacks import hiding_frames
from glassjax.settings.names import set_all
from glassjax.tree_util import register_pytree_node, tree_leaves
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.source import name_of

# Schedules: functions from the step number to the step size.


Schedule = Callable[[Any], Any]


def _checked_schedule(size: Schedule) -> Schedule:
    """A schedule that rejects anything but the number of a step."""

    @hiding_frames
    def schedule(step: float) -> Any:
        return size(step)

    return schedule


@checking_arguments
def constant(step_size: float) -> Schedule:
    """A constant step size.

    >>> constant(0.1)(1000)
    0.1
    """
    return _checked_schedule(lambda i: step_size)


@checking_arguments
def exponential_decay(step_size: float, decay_steps: float, decay_rate: float) -> Schedule:
    """Exponential decay by `decay_rate` per `decay_steps` steps.

    Arguments:
        step_size: the initial step size.
        decay_steps: the number of steps of one decay.
        decay_rate: the factor of one decay.

    >>> schedule = exponential_decay(0.8, decay_steps=10, decay_rate=0.5)
    >>> schedule(0), schedule(10), schedule(20)
    (0.8, 0.4, 0.2)
    """
    return _checked_schedule(lambda i: step_size * decay_rate ** (i / decay_steps))


@checking_arguments
def inverse_time_decay(
    step_size: float, decay_steps: float, decay_rate: float, staircase: bool = False
) -> Schedule:
    """Division by a number that grows linearly, `1 + decay_rate * i / decay_steps`.

    Arguments:
        step_size: the initial step size.
        decay_steps: the number of steps in which the divisor grows by `decay_rate`.
        decay_rate: the growth of the divisor.
        staircase: whether it grows in whole `decay_steps`.

    >>> schedule = inverse_time_decay(0.8, decay_steps=10, decay_rate=1.0)
    >>> schedule(0), schedule(10), schedule(30)
    (0.8, 0.4, 0.2)
    """
    if staircase:
        return _checked_schedule(
            lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
        )
    return _checked_schedule(lambda i: step_size / (1 + decay_rate * i / decay_steps))


@checking_arguments
def polynomial_decay(
    step_size: float, decay_steps: float, final_step_size: float, power: float = 1.0
) -> Schedule:
    """Polynomial decay to `final_step_size` in `decay_steps` steps; then constant.

    Arguments:
        step_size: the initial step size.
        decay_steps: the number of steps.
        final_step_size: the last step size.
        power: the exponent of the polynomial.

    >>> schedule = polynomial_decay(0.5, decay_steps=10, final_step_size=0.1)
    >>> print(*[f"{schedule(i):.2f}" for i in (0, 5, 10, 20)])
    0.50 0.30 0.10 0.10
    """

    def schedule(step_num: Any) -> Any:
        left = (1 - jnp.minimum(step_num, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size

    return _checked_schedule(schedule)


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
    return _checked_schedule(lambda i: values[jnp.sum(i > boundaries)])


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


# Optimizers and step-size schedules, under the names of `jax.example_libraries.optimizers`.
#
# An optimizer is three functions: `init_fn(params)` gives a state, `update_fn(step, grads,
# state)` the next one, and `params_fn(state)` the parameters in it. A state is a pytree of
# arrays, so that all three can be jitted, scanned over, and mapped.
#
# >>> init, update, get_params = sgd(0.1)
# >>> print(get_params(update(0, {"w": 1.0}, init({"w": 2.0})))["w"])
# 1.9


class OptimizerState(NamedTuple):
    """The state of an optimizer: for each parameter a pytree of arrays, kept flat."""

    packed_state: Any  # the leaves of the state of each parameter
    tree_def: Any  # the structure of the parameters
    subtree_defs: Any  # the structure of the state of each parameter


register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structures, children: OptimizerState(children[0], *structures),
)


class Optimizer(NamedTuple):
    """The three functions of an optimizer."""

    init_fn: Callable[..., Any]
    update_fn: Callable[..., Any]
    params_fn: Callable[..., Any]


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Decorator: turn an optimizer of one array into an optimizer of pytrees of arrays.

    Arguments:
        opt_maker: a function that returns `init(x)`, `update(i, g, state)` and `get_params(state)`
            for one array; the state may be any pytree.

    Returns:
        A function of the same arguments that returns an `Optimizer`.

    Raises:
        TypeError: in an update, gradients and parameters differ in structure, or `update` changes
            the structure of the state.

    >>> @optimizer
    ... def signs(step_size):
    ...     return (lambda x: x), (lambda i, g, x: x - step_size * jnp.sign(g)), (lambda x: x)
    >>> init, update, get_params = signs(0.5)
    >>> print(get_params(update(0, [3.0, -4.0], init([1.0, 1.0]))))
    [Array(0.5, dtype=float32, weak_type=True), Array(1.5, dtype=float32, weak_type=True)]
    """
    require_function("optimizer", opt_maker)

    @functools.wraps(opt_maker)
    def tree_opt_maker(*args: Any, **kwargs: Any) -> Optimizer:
        made = opt_maker(*args, **kwargs)
        if not isinstance(made, tuple | list) or len(made) != 3 or not all(map(callable, made)):
            raise TypeError(
                "optimizer: expected a function that returns three functions, init, update and "
                f"get_params, found {shown(made)} returned by `{name_of(opt_maker)}`"
            )
        init, update, get_params = made

        def init_tree(params: Any) -> OptimizerState:
            leaves, structure = tree.flatten(params)
            return _pack(structure, [init(x) for x in leaves])

        def update_tree(i: Any, grads: Any, opt_state: OptimizerState) -> OptimizerState:
            leaves, structure = tree.flatten(grads)
            if structure != opt_state.tree_def:
                raise TypeError(
                    "optimizer: the gradients must have the structure of the parameters\n"
                    f"  parameters: {opt_state.tree_def}\n  gradients:  {structure}"
                )
            states = _states(opt_state)
            new = _pack(structure, [update(i, *each) for each in zip(leaves, states, strict=True)])
            if new.subtree_defs != opt_state.subtree_defs:
                raise TypeError(
                    "optimizer: `update` must keep the structure of the state\n"
                    f"  given:    {opt_state.subtree_defs}\n  returned: {new.subtree_defs}"
                )
            return new

        def params_of(opt_state: OptimizerState) -> Any:
            return tree.unflatten(opt_state.tree_def, map(get_params, _states(opt_state)))

        return Optimizer(init_tree, update_tree, params_of)

    return tree_opt_maker


def _pack(structure: Any, states: list[Any]) -> OptimizerState:
    flat = [tree.flatten(state) for state in states]
    return OptimizerState(
        tuple(leaves for leaves, _ in flat), structure, tuple(subtree for _, subtree in flat)
    )


def _states(opt_state: OptimizerState) -> list[Any]:
    return list(map(tree.unflatten, opt_state.subtree_defs, opt_state.packed_state))


def _with_zeros(count: int, update: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """The functions for one array, whose state is the array and `count` arrays of zeros."""

    def init(x0: Any) -> Any:
        return (x0, *(jnp.zeros_like(x0) for _ in range(count)))

    return init, update, lambda state: state[0]


# The optimizers. In all of them, step_size is a positive number or a schedule.


@optimizer
def sgd(step_size: Any) -> Any:
    """Gradient descent: steps of `-step_size` times the gradient.

    >>> init, update, get_params = sgd(0.1)
    >>> print(get_params(update(0, 3.0, init(1.0))))
    0.7
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, x: Any) -> Any:
        return x - step_size(i) * g

    return (lambda x0: x0), update, (lambda x: x)


@optimizer
def momentum(step_size: Any, mass: Any) -> Any:
    """Gradient descent with a velocity, which each step multiplies by `mass`.

    >>> init, update, get_params = momentum(0.1, mass=0.5)
    >>> state = init(1.0)
    >>> for i in range(3):
    ...     state = update(i, 1.0, state)
    ...     print(f"{get_params(state):.3f}")
    0.900
    0.750
    0.575
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * velocity, velocity

    return _with_zeros(1, update)


@optimizer
def nesterov(step_size: Any, mass: Any) -> Any:
    """Nesterov's momentum: `momentum` with a step in the direction of the next velocity.

    >>> init, update, get_params = nesterov(0.1, mass=0.5)
    >>> state = init(1.0)
    >>> for i in range(3):
    ...     state = update(i, 1.0, state)
    ...     print(f"{get_params(state):.3f}")
    0.850
    0.675
    0.488
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * (mass * velocity + g), velocity

    return _with_zeros(1, update)


@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Any:
    """Steps divided elementwise by the root of the sum of all squared gradients so far.

    Arguments:
        step_size: positive number, or a schedule.
        momentum: the fraction of the last step that is kept.

    >>> init, update, get_params = adagrad(0.1)
    >>> print(*[f"{get_params(update(0, g, init(1.0))):.3f}" for g in (3.0, -0.3)])
    0.990 1.010
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, m = state
        squares = squares + jnp.square(g)
        scale = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        m = (1.0 - momentum) * (g * scale) + momentum * m
        return x - step_size(i) * m, squares, m

    return _with_zeros(2, update)


@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> Any:
    """Steps divided elementwise by the root of a running mean of squared gradients.

    Arguments:
        step_size: positive number, or a schedule.
        gamma: the decay rate of the mean.
        eps: a number added to the mean, to avoid division by zero.

    >>> init, update, get_params = rmsprop(0.1)
    >>> print(*[f"{get_params(update(0, g, init(1.0))):.3f}" for g in (3.0, -0.3)])
    0.684 1.316
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        return x - step_size(i) * g / jnp.sqrt(mean + eps), mean

    return _with_zeros(1, update)


@optimizer
def rmsprop_momentum(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9) -> Any:
    """As `rmsprop`, with momentum.

    Arguments:
        step_size, gamma, eps: as in `rmsprop`.
        momentum: the fraction of the last step to add.

    >>> init, update, get_params = rmsprop_momentum(0.1)
    >>> print(*[f"{get_params(update(0, g, init(1.0))):.3f}" for g in (3.0, -0.3)])
    0.684 1.316
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, m = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        m = momentum * m + step_size(i) * g / jnp.sqrt(mean + eps)
        return x - m, mean, m

    return _with_zeros(2, update)


@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """Steps along a running mean of gradients, divided by the root of a running mean of squares.

    Arguments:
        step_size: positive number, or a schedule.
        b1: the decay rate of the mean of gradients.
        b2: the decay rate of the mean of squares.
        eps: a number added to the root, to avoid division by zero.

    >>> init, update, get_params = adam(0.1)
    >>> print(*[f"{get_params(update(0, g, init(1.0))):.3f}" for g in (3.0, -0.3)])
    0.900 1.100
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        m_hat = m / _weight_so_far(b1, i, m)
        v_hat = v / _weight_so_far(b2, i, m)
        return x - step_size(i) * m_hat / (jnp.sqrt(v_hat) + eps), m, v

    return _with_zeros(2, update)


@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """As `adam`, but divided by the largest gradient so far, which decays at each step.

    Arguments:
        step_size, b1: as in `adam`.
        b2: the decay rate of the largest gradient.
        eps: a number added to it, to avoid division by zero.

    >>> init, update, get_params = adamax(0.1)
    >>> print(*[f"{get_params(update(0, g, init(1.0))):.3f}" for g in (3.0, -0.3)])
    0.900 1.100
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, largest = state
        m = (1 - b1) * g + b1 * m
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        step = step_size(i) / _weight_so_far(b1, i, m) * m / (largest + eps)
        return x - step, m, largest

    return _with_zeros(2, update)


@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Any:
    """As `adagrad`, with one accumulated number per row, column, ..., not one per element.

    The state of an array of shape `(m, n)` has `m + n` accumulators. The sum of an element's
    squared gradients is bounded by the smallest of its accumulators.

    Arguments:
        step_size: positive number, or a schedule.
        momentum: the fraction of the last step that is kept.

    Raises:
        TypeError: a parameter is a scalar, which has no axis to accumulate along.

    Source: R. Anil, V. Gupta, T. Koren and Y. Singer, "Memory-efficient adaptive optimization",
    2019.

    >>> init, update, get_params = sm3(0.1)
    >>> print(get_params(update(0, jnp.array([3.0, -0.3]), init(jnp.ones(2)))))
    [0.99 1.01]
    """
    step_size = make_schedule(step_size)

    def init(x0: Any) -> Any:
        if not jnp.ndim(x0):
            raise TypeError("sm3: expected parameters with at least one axis, found a scalar")
        return x0, jnp.zeros_like(x0), [jnp.zeros(size, x0.dtype) for size in jnp.shape(x0)]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, along_axes = state
        axes = range(jnp.ndim(x))
        others = [tuple(axis for axis in axes if axis != kept) for kept in axes]
        bounds = [jnp.expand_dims(v, rest) for v, rest in zip(along_axes, others, strict=True)]
        squares = functools.reduce(jnp.minimum, bounds) + jnp.square(g)
        scale = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        m = (1.0 - momentum) * (g * scale) + momentum * m
        return x - step_size(i) * m, m, [squares.max(rest) for rest in others]

    return init, update, lambda state: state[0]


def _weight_so_far(kept: Any, i: Any, like: Any) -> Any:
    """The sum of the weights in a running mean that starts at zero, after step i."""
    return 1 - jnp.asarray(kept, like.dtype) ** (i + 1)


# Gradients.


@hiding_frames
def l2_norm(tree: Any) -> Any:
    """The root of the sum of all squares in a pytree of arrays.

    >>> print(l2_norm({"a": jnp.array([2.0, 2.0]), "b": 1.0}))
    3.0
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


@hiding_frames
def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """The gradients, scaled down so that their `l2_norm` is at most `max_norm`.

    >>> clipped = clip_grads({"a": jnp.array([2.0, 2.0]), "b": 1.0}, max_norm=1.5)
    >>> print(clipped["a"], clipped["b"], l2_norm(clipped))
    [1. 1.] 0.5 1.5
    """
    norm = l2_norm(grad_tree)
    return tree.map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


# States as pytrees of arrays, for checkpoints.


class JoinPoint:
    """A leaf that replaces a parameter in a pytree of parameters, and holds its state.

    >>> [state for state in JoinPoint((1.0, 2.0))]
    [(1.0, 2.0)]
    """

    def __init__(self, subtree: Any):
        self.subtree = subtree

    def __iter__(self) -> Iterator[Any]:
        yield self.subtree


@hiding_frames
def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The state as a pytree like the parameters, with a `JoinPoint` for each of them.

    >>> state = momentum(0.1, 0.9).init_fn({"w": 2.0})
    >>> w, velocity = unpack_optimizer_state(state)["w"].subtree
    >>> print(w, velocity)
    2.0 0.0
    """
    return tree.unflatten(opt_state.tree_def, map(JoinPoint, _states(opt_state)))


@hiding_frames
def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state, from the pytree that `unpack_optimizer_state` made.

    Raises:
        TypeError: a leaf of the pytree is not a `JoinPoint`.

    >>> _, update, get_params = momentum(0.1, 0.9)
    >>> state = pack_optimizer_state({"w": JoinPoint((2.0, 0.0))})
    >>> print(get_params(update(0, {"w": 1.0}, state))["w"])
    1.9
    """
    marks, structure = tree.flatten(marked_pytree)
    for mark in marks:
        if not isinstance(mark, JoinPoint):
            raise TypeError(
                "pack_optimizer_state: every leaf must be a JoinPoint, as unpack_optimizer_state "
                f"makes them; found {type(mark).__name__}"
            )
    return _pack(structure, [mark.subtree for mark in marks])


set_all(globals())
