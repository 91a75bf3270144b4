"""JAX's experimental names, such as `io_callback`; and `plan` and a `while_loop` with a bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from glassjax import numpy as jnp
from glassjax.callbacks import io_callback
from glassjax.lax.control_flow.conditionals import cond
from glassjax.lax.control_flow.scan import scan
from glassjax.lax.control_flow.while_loop import while_loop as plain_while_loop
from glassjax.plan import plan
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.facades import make_module
from glassjax.transforms.autodiff import jvp
from glassjax.transforms.checkpoint import checkpoint
from glassjax.transforms.custom_derivatives import closure_convert, custom_jvp
from glassjax.transforms.custom_vmap import custom_vmap
from glassjax_stage2.arguments import require_function
from glassjax_stage2.functions import one_int

compilation_cache = make_module(
    "glassjax.experimental.compilation_cache",
    "The directory of compiled programs, under the names of `jax.experimental.compilation_cache`.",
    {"glassjax.runtime.compilation_cache": "reset_cache set_cache_dir"},
)
make_module(
    "glassjax.experimental.compilation_cache.compilation_cache",
    "The same as `glassjax.experimental.compilation_cache`.",
    {"glassjax.runtime.compilation_cache": "reset_cache set_cache_dir"},
)
profiler = make_module(
    "glassjax.experimental.profiler",
    "Costs of instructions, from profiles (`jax.experimental.profiler`).",
    {"glassjax.profiler": "get_profiled_instructions_proto"},
)

# `while_loop` with reverse mode: any number of iterations up to a bound.
#
# To be differentiated, it becomes nested loops: the outermost one has one iteration for each saved
# carry, and each iteration runs a loop of the next level under `checkpoint`. So a level keeps only
# the carries at the start of its iterations, and no other value outlives a step.

Carry = TypeVar("Carry")


@evaluated_by_library
def while_loop(
    cond_fun: Callable[[Carry], Any],
    body_fun: Callable[[Carry], Carry],
    init_val: Carry,
    *,
    max_steps: int,
    checkpoints: int = 16,
) -> Carry:
    """`lax.while_loop` of at most `max_steps` steps, differentiable in reverse mode.

    With `n` checkpoints there are log `max_steps` to base `n` levels. Reverse mode keeps `n`
    carries for each level, and computes each step once per level: two levels need the square root
    of the memory. Its time grows with the number of steps taken, not with `max_steps`. Under `vmap`
    the loop continues while any example does.

    Arguments:
        cond_fun: function of the carry that returns a boolean scalar.
        body_fun: function of the carry that returns the next one, of the same structure and types.
        init_val: the initial carry, a pytree of arrays.
        max_steps: the number of steps after which the loop ends in any case.
        checkpoints: the number of carries to keep per level, 2 or more.

    Returns:
        The first carry for which `cond_fun` is false, or the carry after `max_steps` steps.

    Raises:
        TypeError: `max_steps` or `checkpoints` is not an int, `cond_fun` does not return a boolean
            scalar, or the carry changes its type.
        ValueError: `max_steps` is negative, or `checkpoints` less than 2.

    >>> from glassjax.experimental import while_loop
    >>> def power(x):  # the first one that is at least 10
    ...     return while_loop(lambda y: y < 10, lambda y: x * y, x, max_steps=100)
    >>> glassjax.value_and_grad(power)(jnp.float32(2))
    (Array(16., dtype=float32), Array(32., dtype=float32))
    """
    require_function("while_loop", cond_fun)
    require_function("while_loop", body_fun)
    most = one_int("while_loop: max_steps", max_steps)
    width = one_int("while_loop: checkpoints", checkpoints)
    if most < 0 or width < 2:
        raise ValueError(
            "while_loop: max_steps must be at least 0 and checkpoints at least 2, found "
            f"{most} and {width}"
        )
    init_val = tree_to_arrays(init_val)
    condition, cond_consts = closure_convert(cond_fun, init_val)
    body, body_consts = closure_convert(body_fun, init_val)

    def is_running(state: Any, cond_consts: Any) -> Any:
        steps, carry = state
        return (steps < most) & condition(carry, *cond_consts)

    def iterate(state: Any, body_consts: Any) -> Any:
        steps, carry = state
        return steps + 1, body(carry, *body_consts)

    @custom_jvp
    def repeated(state: Any, cond_consts: Any, body_consts: Any) -> Any:
        return plain_while_loop(
            lambda state: is_running(state, cond_consts),
            lambda state: iterate(state, body_consts),
            state,
        )

    def nested(state: Any, cond_consts: Any, body_consts: Any) -> Any:
        def up_to(count: int, state: Any) -> Any:
            running = is_running(state, cond_consts)
            if count <= 1:
                return cond(
                    running, lambda state: iterate(state, body_consts), lambda state: state, state
                )
            part = -(-count // width)

            def level(state: Any, _: None) -> tuple[Any, None]:
                return up_to(part, state), None

            def whole(state: Any) -> Any:
                return scan(checkpoint(level), state, length=width)[0]

            return cond(anywhere(running), whole, lambda state: state, state)

        return up_to(most, state)

    repeated.defjvp(lambda primals, tangents: jvp(nested, primals, tangents))
    _, carry = repeated((jnp.int32(0), init_val), cond_consts, body_consts)
    return carry


@custom_vmap
def anywhere(active: Any) -> Any:
    """A boolean; for a batch of them, True if any is."""
    return active


@anywhere.def_vmap
def _in_the_batch(axis_size: int, in_batched: Any, active: Any) -> tuple[Any, bool]:
    return anywhere(jnp.any(active, axis=0) if in_batched[0] else active), False


__all__ = ["io_callback", "plan", "while_loop"]
