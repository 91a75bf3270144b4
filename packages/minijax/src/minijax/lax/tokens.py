"""Tokens in programs: XLA does what takes a token after what returned it."""

from collections.abc import Sequence
from typing import Any

from minijax.primitives.declare import declare
from minijax.primitives.sharding_rules import whole
from minijax.runtime.evaluation import evaluated_by_library, evaluators
from minijax.runtime.tokens import Token, abstract_token, new_token, takes_tokens
from minijax_stage2 import Primitive, ShapedArray, bind, typeof
from minijax_stage2.vmap import BatchAxis, BatchDim
from minijax_stage3.lowering import FunctionBuilder, Value

create_token_p = Primitive("create_token")
after_all_p = Primitive("after_all")


@evaluated_by_library
def create_token(_: Any = None) -> Token:
    """A new token, which follows nothing.

    Arguments:
        _: of no effect.

    >>> minijax.typeof(lax.create_token())
    AbstractToken()
    """
    token: Token = bind(create_token_p)[0]
    return token


@evaluated_by_library
def after_all(*operands: Token) -> Token:
    """A token that follows all of the given ones.

    Raises:
        TypeError: an operand is not a token.

    >>> minijax.make_jaxpr(lambda a: lax.after_all(a, a))(lax.create_token())
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


def _evaluate_after_all(*tokens: Any) -> list[Token]:
    _type_after_all(*map(typeof, tokens))
    for token in tokens:
        token.block_until_ready()
    return [new_token()]


def _lower_create(b: FunctionBuilder, out_avals: Sequence[ShapedArray]) -> list[Value]:
    return b.emit("stablehlo.create_token : !stablehlo.token", *out_avals)


def _lower_after_all(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *operands: Value
) -> list[Value]:
    names = "".join(f" {x.name}," for x in operands).removesuffix(",")
    return b.emit(f"stablehlo.after_all{names} : !stablehlo.token", *out_avals)


def _vmap(primitive: Primitive) -> Any:
    def rule(
        axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim]
    ) -> tuple[list[Any], list[BatchDim]]:
        return bind(primitive, *values), [None]

    return rule


for _primitive, _type, _lower, _evaluate in (
    (create_token_p, lambda: [abstract_token], _lower_create, lambda: [new_token()]),
    (after_all_p, _type_after_all, _lower_after_all, _evaluate_after_all),
):
    declare(_primitive, abstract_eval=_type, lower=_lower, vmap=_vmap(_primitive), sharding=whole)
    evaluators[_primitive] = _evaluate
    takes_tokens.add(_primitive)

__all__ = ["after_all", "create_token"]
