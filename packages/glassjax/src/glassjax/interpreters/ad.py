"""Differentiation rules in JAX's conventions, as views of our tables."""

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

import glassjax_stage2 as stage2
import glassjax_stage4 as stage4
from glassjax.core import Jaxpr
from glassjax.lax.elementwise import add_any_p as add_jaxvals_p
from glassjax.primitives.methods import as_list, as_result, is_undefined_primal
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jax_params import read, read_jaxpr
from glassjax.settings.names import list_public_names
from glassjax_stage2 import Primitive, ShapedArray, Zero, jvp_rules
from glassjax_stage2.functions import add as add_jaxvals
from glassjax_stage2.jvp import JVPTrace, JVPTracer
from glassjax_stage2.tangent import instantiate as instantiate_zeros
from glassjax_stage2.trace import Rules
from glassjax_stage3 import jit_rules
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage4 import transpose_rules
from glassjax_stage4.transpose import UndefPrimal as UndefinedPrimal
from glassjax_stage4.transpose import backward_pass as _backward_pass

# Tables of rules in JAX's conventions: views of ours.


Rule = Callable[..., Any]


class RulesByJAX(MutableMapping[Primitive, Rule]):
    """A table of rules in JAX's convention, stored in and read from one of ours.

    Arguments:
        table: our table.
        to_ours: function from a primitive and a rule in JAX's convention to a rule of `table`.
        to_jax: function from a primitive and a rule of `table` to a rule in JAX's convention.
    """

    def __init__(
        self,
        table: Rules,
        to_ours: Callable[[Primitive, Rule], Rule],
        to_jax: Callable[[Primitive, Rule], Rule],
    ):
        self._table = table
        self._to_ours = to_ours
        self._to_jax = to_jax
        self._given: dict[Rule, Rule] = {}  # rules by JAX's convention, by those made of them

    def __getitem__(self, primitive: Primitive) -> Rule:
        if primitive not in self._table:
            raise KeyError(primitive)
        ours = self._table[primitive]
        if ours in self._given:
            return self._given[ours]
        rule = self._to_jax(primitive, ours)
        return evaluated_by_library(lambda *args, **params: rule(*args, **read(primitive, params)))

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        ours = self._to_ours(primitive, rule)
        self._given[ours] = rule
        self._table[primitive] = ours

    def __delitem__(self, primitive: Primitive) -> None:
        del self._table[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


# Rules of differentiation, under the names of `jax.interpreters.ad`.
#
# A jvp rule takes the primals and the tangents, `Zero` among them, and the parameters by keyword;
# it returns results and their tangents. A transpose rule takes the cotangent of the result, the
# operands, `UndefinedPrimal` where the primitive is linear, and the parameters; it returns a
# cotangent or None for each operand. Both have lists of results if `primitive.multiple_results`.


def _adapt_jvp(primitive: Primitive, rule: Rule) -> Rule:
    def adapted_jvp(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        outs, out_tangents = rule(tuple(primals), tuple(tangents), **params)
        return as_list(primitive, outs), as_list(primitive, out_tangents)

    return adapted_jvp


def _jvp_to_jax(primitive: Primitive, rule: Rule) -> Rule:
    def by_jax(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        outs, out_tangents = rule(primals, tangents, **params)
        return as_result(primitive, outs), as_result(primitive, out_tangents)

    return by_jax


primitive_jvps = RulesByJAX(jvp_rules, _adapt_jvp, _jvp_to_jax)


def _adapt_transpose(primitive: Primitive, rule: Rule) -> Rule:
    def adapted_transpose(cts: Sequence[Any], *operands: Any, **params: Any) -> Sequence[Any]:
        in_cts = rule(as_result(primitive, list(cts)), *operands, **params)
        return [None] * len(operands) if in_cts is Zero else list(in_cts)

    return adapted_transpose


def _transpose_to_jax(primitive: Primitive, rule: Rule) -> Rule:
    def by_jax(cts: Any, *operands: Any, **params: Any) -> Any:
        return rule(as_list(primitive, cts), *operands, **params)

    return by_jax


primitive_transposes = RulesByJAX(transpose_rules, _adapt_transpose, _transpose_to_jax)


def get_primitive_transpose(p: Primitive) -> Rule:
    """The transpose rule of a primitive.

    Raises:
        NotImplementedError: it has none.
    """
    if p not in primitive_transposes:
        raise NotImplementedError(f"the primitive `{p}` has no rule for transposition")
    return primitive_transposes[p]


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Define the jvp rule of a primitive with one result by one formula per operand.

    Arguments:
        primitive: the primitive.
        jvprules: for each operand None, or a function `(t, *primals, **params)` from its tangent to
            its contribution to the tangent of the result.
    """

    def without_result(formula: Callable[..., Any] | None) -> Callable[..., Any] | None:
        if formula is None:
            return None
        return lambda t, out, *primals, **params: formula(t, *primals, **params)

    stage2.defjvp(primitive, *map(without_result, jvprules))


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """As `defjvp`, for formulas `(t, result, *primals, **params)`."""
    stage2.defjvp(primitive, *jvprules)


def deflinear2(primitive: Primitive, transpose_rule: Rule) -> None:
    """Declare a primitive to be linear in all operands together, with its transpose rule."""
    stage2.deflinear(primitive)
    primitive_transposes[primitive] = transpose_rule


def deflinear(primitive: Primitive, transpose_rule: Rule) -> None:
    """As `deflinear2`, for a rule `(ct, **params)` that does not see the operands."""
    deflinear2(primitive, lambda ct, *operands, **params: transpose_rule(ct, **params))


def defbilinear(prim: Primitive, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """Declare a primitive to be linear in each of two operands.

    Arguments:
        prim: the primitive.
        lhs_rule: function `(ct, lhs, rhs, **params)` that returns the cotangent of `lhs`.
        rhs_rule: function `(ct, lhs, rhs, **params)` that returns the cotangent of `rhs`.
    """
    stage2.defjvp(
        prim,
        lambda t, out, lhs, rhs, **params: stage2.bind(prim, t, rhs, **params)[0],
        lambda t, out, lhs, rhs, **params: stage2.bind(prim, lhs, t, **params)[0],
    )
    stage4.deftranspose(prim, lhs_rule, rhs_rule)


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents; either may be `Zero`."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_jaxvals(x, y)


def zeros_like_aval(aval: ShapedArray) -> Any:
    """An array of zeros of a type."""
    return instantiate_zeros(Zero(aval))


def backward_pass(
    jaxpr: Any,
    transform_stack: bool,
    consts: Sequence[Any],
    primals_in: Sequence[Any],
    cts_in: Sequence[Any],
    *,
    return_logs: bool = False,
) -> list[Any]:
    """Transpose a program: cotangents of its linear arguments, given cotangents of its results.

    Arguments:
        jaxpr: the program, linear in the arguments that are `UndefinedPrimal`.
        transform_stack: ignored.
        consts: the values of its constants.
        primals_in: its arguments.
        cts_in: the cotangents of its results; `Zero` is one.
        return_logs: ignored.

    Returns:
        The cotangent of each argument, or `Zero`; None for nonlinear arguments.
    """
    in_cts = _backward_pass(consts_as_invars(read_jaxpr(jaxpr)), [*consts, *primals_in], cts_in)
    return in_cts[len(consts) :]


@evaluated_by_library
def jvp_jaxpr(
    jaxpr: Jaxpr, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool]
) -> tuple[Jaxpr, list[bool]]:
    """The program of forward-mode differentiation of a program.

    Arguments:
        jaxpr: the program.
        nonzeros: whether each argument has a nonzero tangent.
        instantiate: whether to return a tangent even if it is zero: a bool for each result, or one
            for all.

    Returns:
        A program from the arguments and the nonzero tangents to the results and their tangents; and
        for each result, whether its tangent is among these.
    """
    count = len(jaxpr.out_avals)
    forced = [instantiate] * count if isinstance(instantiate, bool) else list(instantiate)
    flags = (*[False] * len(jaxpr.consts), *nonzeros)
    whole = consts_as_invars(read_jaxpr(jaxpr))
    program, consts, found = jit_rules.jvp_jaxpr(whole, flags, tuple(forced))
    consts = [*consts, *jaxpr.consts]
    constvars, invars = program.invars[: len(consts)], program.invars[len(consts) :]
    return Jaxpr(constvars, invars, program.eqns, program.outvars, consts), found


__all__ = [
    "JVPTrace",
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_jaxvals_p",
    "add_tangents",
    "backward_pass",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "jvp_jaxpr",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]
list_public_names(globals())
