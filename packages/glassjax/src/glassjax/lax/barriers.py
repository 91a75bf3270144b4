"""Barriers for the compiler, derivatives and pruning; tokens; composites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import glassjax_stage2 as stage2
import glassjax_stage4 as stage4
from glassjax.errors.tracebacks import hiding_frames
from glassjax.primitives import reduction_rules, sparsity_rules
from glassjax.primitives.declare import declare
from glassjax.primitives.sharding_rules import as_operands, whole
from glassjax.runtime.array import Array, ArrayLike, to_array, tree_to_arrays
from glassjax.runtime.effects import Token, abstract_token, new_token, takes_tokens
from glassjax.runtime.evaluation import evaluated_by_library, evaluators
from glassjax.runtime.named_scope import named_scope
from glassjax.runtime.operation import operation
from glassjax_stage2 import Primitive, ShapedArray, Zero, bind
from glassjax_stage2.arguments import require_function
from glassjax_stage2.shaped_array import typeof_named
from glassjax_stage2.tree import tree_flatten, tree_unflatten
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type
from glassjax_stage4.partial_eval import merge, partition

# The optimization barrier: XLA moves no operation across it.


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


def _optimization_barrier_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *operands: Value
) -> list[Value]:
    if not operands:
        return []
    names = ", ".join(x.name for x in operands)
    types = ", ".join(map(mlir_type, out_avals))
    return b.emit(f"stablehlo.optimization_barrier {names} : {types}", *out_avals)


def _optimization_barrier_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim]
) -> tuple[list[Any], Sequence[BatchDim]]:
    return bind(optimization_barrier_p, *values), dims


def _bind_nonzero(tangents: Sequence[Any]) -> list[Any]:
    """A barrier for the nonzero tangents or cotangents."""
    nonzero = [type(t) is not Zero for t in tangents]
    zeros, given = partition(nonzero, tangents)
    return merge(nonzero, zeros, bind(optimization_barrier_p, *given) if given else [])


def _optimization_barrier_jvp(
    primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    return bind(optimization_barrier_p, *primals), _bind_nonzero(tangents)


declare(
    optimization_barrier_p,
    abstract_eval=lambda *avals: list(avals),
    lower=_optimization_barrier_lower,
    vmap=_optimization_barrier_vmap,
    sharding=as_operands,
    reduction=reduction_rules.as_operands,
    sparsity=sparsity_rules.as_operands,
    jvp=_optimization_barrier_jvp,
    transpose=lambda cts, *operands: _bind_nonzero(cts),
)

takes_tokens.add(optimization_barrier_p)


# Tokens order effects: XLA runs an operation that takes a token after the one that returned it.


create_token_p = Primitive("create_token")
after_all_p = Primitive("after_all")


@evaluated_by_library
def create_token(_: Any = None) -> Token:
    """A new token, with no effects before it.

    Arguments:
        _: ignored.

    >>> glassjax.typeof(lax.create_token())
    AbstractToken()
    """
    token: Token = bind(create_token_p)[0]
    return token


@evaluated_by_library
def after_all(*operands: Token) -> Token:
    """A token that follows all of the given ones.

    Raises:
        TypeError: an operand is not a token.

    >>> glassjax.make_jaxpr(lambda a: lax.after_all(a, a))(lax.create_token())
    { lambda ; a:Tok. let b:Tok = after_all a a in (b,) }
    """
    token: Token = bind(after_all_p, *operands)[0]
    return token


def _type_after_all(*avals: ShapedArray) -> list[ShapedArray]:
    for number, aval in enumerate(avals):
        if aval is not abstract_token:
            raise TypeError(
                f"after_all: arguments must be tokens, as create_token() returns; found {aval} as "
                f"number {number}"
            )
    return [abstract_token]


def _after_all_impl(*tokens: Any) -> list[Token]:
    _type_after_all(*map(stage2.typeof, tokens))
    for token in tokens:
        token.block_until_ready()
    return [new_token()]


def _create_lower(b: FunctionBuilder, out_avals: Sequence[ShapedArray]) -> list[Value]:
    return b.emit("stablehlo.create_token : !stablehlo.token", *out_avals)


def _after_all_text(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *operands: Value
) -> list[Value]:
    names = "".join(f" {x.name}," for x in operands).removesuffix(",")
    return b.emit(f"stablehlo.after_all{names} : !stablehlo.token", *out_avals)


def _after_all_vmap(primitive: Primitive) -> Any:
    def tokens_vmap(
        axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim]
    ) -> tuple[list[Any], list[BatchDim]]:
        return bind(primitive, *values), [None]

    return tokens_vmap


for _primitive, _type, _after_all_lower, _evaluate in (
    (create_token_p, lambda: [abstract_token], _create_lower, lambda: [new_token()]),
    (after_all_p, _type_after_all, _after_all_text, _after_all_impl),
):
    declare(
        _primitive,
        abstract_eval=_type,
        lower=_after_all_lower,
        vmap=_after_all_vmap(_primitive),
        sharding=whole,
    )
    evaluators[_primitive] = _evaluate
    takes_tokens.add(_primitive)


# `stop_gradient`: a barrier to derivatives.


@operation
def stop_gradient(x: Tree) -> Tree:
    """`x`, a pytree of arrays, as a constant: no derivative passes through it.

    >>> f = lambda x: x * lax.stop_gradient(x)
    >>> f(3.0), glassjax.grad(f)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))
    """
    return stage2.tree_map(stage4.stop_gradient, x)


# Functions about tracing, not about numbers.


@operation
def stage(x: ArrayLike, /) -> Array:
    """`x` as an array: a tracer while a function is traced.

    Raises:
        TypeError: `x` is not an array or a number.

    >>> glassjax.make_jaxpr(lambda: lax.stage(1.0) * 2)().jaxpr.outvars[0].aval.shape
    ()
    """
    typeof_named("stage: x", x)
    return to_array(x)


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Ignore a value: programs are pruned as they would be without this call.

    >>> lax.dce_sink(jnp.ones(3))
    """


# `composite`: named functions that a compiler can recognize.


@hiding_frames
def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A named function that computes what `decomposition` does.

    XLA for CPUs does not recognize any name, so it compiles the decomposition. That can be
    differentiated and mapped, too, which JAX rejects.

    Arguments:
        decomposition: a function whose positional arguments are arrays, and pytrees of these; its
            keyword arguments are its attributes.
        name: its name, which marks the operations in the program.
        version: a number that changes with what it computes.

    Raises:
        TypeError: `decomposition` is not a function, `name` not a string, or `version` not an int.

    >>> import glassjax.numpy as jnp
    >>> from glassjax import lax
    >>> tangent = composite(lambda x: lax.sin(x) / lax.cos(x), name="my.tangent")
    >>> print(tangent(0.0))
    0.0
    """
    for role, given, kind in (("name", name, str), ("version", version, int)):
        if not isinstance(given, kind):
            raise TypeError(f"composite: {role} must be of type {kind.__name__}, found {given!r}")
    require_function("composite", decomposition)

    @evaluated_by_library
    def composed(*args: Any, **attributes: Any) -> Any:
        with named_scope(name):
            return tree_to_arrays(decomposition(*tree_to_arrays(args), **attributes))

    return wraps(decomposition)(composed)
