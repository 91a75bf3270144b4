"""The optimization barrier: XLA moves no operation across it."""

from collections.abc import Sequence
from typing import Any, TypeVar

from minijax.primitives.declare import declare
from minijax.primitives.sharding_rules import as_operands
from minijax.runtime.array import Array
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.tokens import Token, abstract_token, takes_tokens
from minijax_stage2 import Primitive, ShapedArray, Zero, bind
from minijax_stage2.tree import tree_flatten, tree_unflatten
from minijax_stage2.vmap import BatchAxis, BatchDim
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type
from minijax_stage4.partial_eval import merge, partition

optimization_barrier_p = Primitive("optimization_barrier")

Tree = TypeVar("Tree")


@evaluated_by_library
def optimization_barrier(operand: Tree, /) -> Tree:
    """`operand`, a pytree of arrays that are all computed before any of them is used.

    XLA does not move operations across this barrier, fuse across it, or eliminate common
    subexpressions across it. So it orders computations, and protects recomputation.

    >>> optimization_barrier((1.0, 2))
    (Array(1., dtype=float32, weak_type=True), Array(2, dtype=int32, weak_type=True))
    """
    leaves, tree = tree_flatten(tree_to_arrays(operand))
    outs = [
        Token(out.buffer) if type(out) is Array and out.aval is abstract_token else out
        for out in bind(optimization_barrier_p, *leaves)
    ]
    return tree_to_arrays(tree_unflatten(tree, outs))


def _lower(b: FunctionBuilder, out_avals: Sequence[ShapedArray], *operands: Value) -> list[Value]:
    if not operands:
        return []
    names = ", ".join(x.name for x in operands)
    types = ", ".join(map(mlir_type, out_avals))
    return b.emit(f"stablehlo.optimization_barrier {names} : {types}", *out_avals)


def _vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim]
) -> tuple[list[Any], Sequence[BatchDim]]:
    return bind(optimization_barrier_p, *values), dims


def _of_nonzero(tangents: Sequence[Any]) -> list[Any]:
    """A barrier for the nonzero tangents or cotangents."""
    nonzero = [type(t) is not Zero for t in tangents]
    zeros, given = partition(nonzero, tangents)
    return merge(nonzero, zeros, bind(optimization_barrier_p, *given) if given else [])


def _jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    return bind(optimization_barrier_p, *primals), _of_nonzero(tangents)


declare(
    optimization_barrier_p,
    abstract_eval=lambda *avals: list(avals),
    lower=_lower,
    vmap=_vmap,
    sharding=as_operands,
    jvp=_jvp,
    transpose=lambda cts, *operands: _of_nonzero(cts),
)

takes_tokens.add(optimization_barrier_p)

__all__ = ["optimization_barrier"]
