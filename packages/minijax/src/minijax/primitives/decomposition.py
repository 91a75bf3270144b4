"""Primitives that decompose into other primitives.

To differentiation, such a primitive is one step with its own derivative, better than that of the
steps of its program; XLA sees the program.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.primitives.array_constants import lower_array
from minijax.settings.number_types import set_number_types, types_in_function
from minijax.settings.printed_types import plain
from minijax_stage2 import Primitive, ShapedArray, bind
from minijax_stage2.errors import shown
from minijax_stage2.source import name_of
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from minijax_stage3 import ClosedJaxpr, jit_p
from minijax_stage3.lowering import FunctionBuilder, Value, lowering_rules
from minijax_stage3.staging import trace_to_jaxpr

Rule = Callable[..., Any]

# The functions of other primitives that lowering rules write, by the rule: each takes operands and
# parameters, and returns a list of results.
decompositions: dict[Rule, Callable[..., Sequence[Any]]] = {}


# Primitives that stand for the one jaxpr among their parameters, applied to all of their operands.
calls: set[Primitive] = {jit_p}


def decomposition_of(primitive: Primitive) -> Callable[..., Sequence[Any]] | None:
    """The decomposition of `primitive` into other primitives, or None."""
    rule = lowering_rules.get(primitive)
    return None if rule is None else decompositions.get(rule)


def results_of(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """`function`, with its result or tuple of results as a list."""

    def listed(*operands: Any, **params: Any) -> list[Any]:
        out = function(*operands, **params)
        return list(out) if isinstance(out, tuple | list) else [out]

    return listed


def _program(
    function: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray], params: dict[str, Any]
) -> ClosedJaxpr:
    def of_arrays(*operands: Any) -> Sequence[Any]:
        out = function(*operands, **params)
        if not isinstance(out, list | tuple):
            raise TypeError(
                f"a function that a primitive computes must return a list of results, found "
                f"{shown(out)} returned by `{name_of(function)}`"
            )
        return out

    avals = [plain(aval) for aval in avals]
    for aval in avals:
        if not isinstance(aval, ShapedArray):
            raise TypeError(
                f"the rule of a primitive takes types, such as typeof(x), found {shown(aval)} "
                f"for an operand of `{name_of(function)}`"
            )

    with set_number_types(types_in_function().in_function):  # where nothing is the user's
        return trace_to_jaxpr(of_arrays, avals, "staging", function)


def type_on_device(aval: ShapedArray) -> Any:
    """The type without the axes along which devices differ; in the program of one nothing varies.

    Only the index of the device keeps them, for collectives.
    """
    return aval if getattr(aval, "axis", None) is not None else getattr(aval, "plain", aval)


def types_by(function: Callable[..., Sequence[Any]]) -> Rule:
    """The abstract evaluation rule of a primitive that computes `function`.

    >>> types_by(lambda x, *, times: [x * times])(minijax.typeof(jnp.ones(3)), times=2)
    [ShapedArray(f32[3])]
    """

    def rule(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
        return _program(function, avals, params).jaxpr.out_avals

    return rule


def lower_by(function: Callable[..., Sequence[Any]]) -> Rule:
    """The lowering rule of a primitive that computes `function`, a function of arrays.

    Arguments:
        function: takes the operands and parameters, and returns a list of results.

    >>> from minijax import core
    >>> cube_p = core.Primitive("cube")
    >>> def cube(x):
    ...     return [x * x * x]
    >>> core.declare(cube_p, abstract_eval=core.types_by(cube), lower=core.lower_by(cube))
    >>> core.bind(cube_p, jnp.array([1.0, 2.0]))
    [Array([1., 8.], dtype=float32)]
    """

    def rule(
        b: FunctionBuilder, out_avals: Sequence[ShapedArray], *operands: Value, **params: Any
    ) -> list[Value]:
        closed = _program(function, [type_on_device(x.aval) for x in operands], params)
        location = b.location
        typed = zip(closed.consts, closed.jaxpr.constvars, strict=True)  # numpy's may have 64 bits
        consts = [lower_array(b, np.asarray(const, var.aval.dtype)) for const, var in typed]
        outs = b.lower_jaxpr(closed.jaxpr, [*consts, *operands])
        b.location = location
        return outs

    decompositions[rule] = function
    return rule


def leading_batch(primitive: Primitive) -> Rule:
    """The vmap rule of a primitive whose operands may share leading batch axes.

    >>> import numpy as np
    >>> from minijax import core
    >>> inverse_p = core.Primitive("inverse")
    >>> core.impl_rules[inverse_p] = lambda x: [np.linalg.inv(x)]
    >>> matrices = np.ones((3, 3, 5)) + np.eye(3)[:, :, None]
    >>> (out,), dims = core.leading_batch(inverse_p)(5, [matrices], [2])
    >>> out.shape, dims
    ((5, 3, 3), [0])
    """

    def rule(
        axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], /, **params: Any
    ) -> tuple[list[Any], list[BatchDim]]:
        moved = [move_batch_dim(x, axis, dim, 0) for x, dim in zip(values, dims, strict=True)]
        outs = bind(primitive, *moved, **params)
        return outs, [0] * len(outs)

    return rule
