"""How collectives are declared.

Each takes, besides its operand, the index of the example along the axis. The trace that finds this
to be one of a batch is the one whose axis is meant; every other trace takes it as a constant.
"""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.lax.loops import Avals
from minijax_stage2 import (
    Primitive,
    ShapedArray,
    bind1,
    defjvp,
    vmap_rules,
)
from minijax_stage2.vmap import BatchDim, move_batch_dim
from minijax_stage3 import abstract_eval_rules
from minijax_stage4 import deftranspose

# What a collective makes of a batch whose first axis holds the examples: a value, and the axis
# that holds the examples of it, or None where they all share it.
Combine = Callable[..., tuple[Any, BatchDim]]


# --8<-- [start:declare]
def collective(
    name: str,
    type_of_result: Callable[..., ShapedArray],
    combine: Combine,
    shift: Callable[[dict[str, Any], int], dict[str, Any]] = lambda params, axis: params,
) -> Primitive:
    """Declares the primitive of a collective.

    Arguments:
        name: of the primitive.
        type_of_result: from the type of one operand, and the parameters, to that of the result.
        combine: what it makes of a batch.
        shift: the parameters for an operand that has one more axis in front.
    """
    primitive = Primitive(name)

    def abstract_eval(x: ShapedArray, index: ShapedArray, **params: Any) -> Avals:
        return [type_of_result(x, **params)]

    def vmap(
        axis_size: int, values: Sequence[Any], dims: Sequence[BatchDim], **params: Any
    ) -> tuple[list[Any], list[BatchDim]]:
        (x, index), (dim, index_dim) = values, dims
        x = move_batch_dim(x, axis_size, dim, 0)
        if index_dim is None:  # the axis of somebody else
            return [bind1(primitive, x, index, **shift(params, 1))], [0]
        out, out_dim = combine(x, **params)
        return [out], [out_dim]

    abstract_eval_rules[primitive] = abstract_eval
    vmap_rules[primitive] = vmap
    return primitive


def same_type(x: ShapedArray, **params: Any) -> ShapedArray:
    return x.strip_weak_type()


def define_linear(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """A collective that is linear: its derivative is itself, its transpose `transpose`."""
    defjvp(primitive, lambda t, out, x, index, **params: bind1(primitive, t, index, **params), None)
    deftranspose(primitive, transpose, None)


# --8<-- [end:declare]
