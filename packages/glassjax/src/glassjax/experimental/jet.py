"""Taylor-mode differentiation: derivatives of any order along a curve, in one evaluation.

The curve is given by its derivatives at a point. The derivatives of a primitive along it follow
from its jvp rule: the first derivative of a result is the tangent from the rule, a function of the
operands and their first derivatives, and the higher ones are derivatives of that. So every
differentiable primitive has derivatives of any order here. Products and quotients have their own
formulas, which compute no derivative twice. (A. Griewank and A. Walther, "Evaluating derivatives",
2nd edition, 2008, chapter 13.)
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.errors import TreeMismatchError
from glassjax.lax.convolution import conv_general_dilated_p
from glassjax.primitives.custom_trace import Parts, Trace, called_program, transformation
from glassjax.primitives.declare import calls
from glassjax.runtime.array import to_array, tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import Primitive, Zero, bind1, typeof
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.jvp import check_tangent
from glassjax_stage2.primitives import div_p, dot_general_p, mul_p
from glassjax_stage2.source import name_of, on_behalf_of, user_source
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage2.trace import Rules
from glassjax_stage2.tree import tree_map

jet_rules = Rules("jet", "jet_rules")


class JetTrace(Trace):
    """Pairs every value with its first, second, ... derivative along a curve.

    A derivative known to be zero is a `Zero`.
    """

    transformation = "jet"
    rules = jet_rules

    def __init__(self, f: Any, order: int):
        super().__init__(f)
        self.order = order  # the number of derivatives

    def box(self, parts: Parts) -> Any:
        is_constant = all(type(term) is Zero for term in parts[1:])
        return parts[0] if is_constant else super().box(parts)

    def parts_of_constant(self, x: Any) -> Parts:
        return x, *[Zero.like(x)] * self.order

    def process_without_rule(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        """The derivatives of a result: its tangent along the first derivatives, differentiated."""
        if primitive in calls:
            return called_program(params)(*args)

        def tangents(primals: Sequence[Any], firsts: Sequence[Any]) -> list[Any]:
            out_tangents: list[Any] = stage2.jvp_rules[primitive](primals, firsts, **params)[1]
            return out_tangents

        operands = [self.unbox(x) for x in args]
        with on_behalf_of(user_source()), set_interpreter(self.parent):
            outs = stage2.bind(primitive, *(x[0] for x in operands), **params)
            terms = self._derivatives(
                tangents, [x[:-1] for x in operands], [x[1:] for x in operands]
            )
            return [self.box((out, *parts)) for out, parts in zip(outs, terms, strict=True)]

    def _derivatives(
        self,
        tangents: Callable[[Sequence[Any], Sequence[Any]], list[Any]],
        primals: Sequence[Parts],
        firsts: Sequence[Parts],
    ) -> list[Parts]:
        """Return the derivatives of a function of primals and tangents, one order lower."""
        inner = JetTrace(self.function_name, self.order - 1)

        def box_tangent(parts: Parts) -> Any:
            if all(type(term) is Zero for term in parts):
                return parts[0]
            return inner.box((instantiate(parts[0]), *parts[1:]))

        with inner.run():
            outs = tangents([inner.box(x) for x in primals], [box_tangent(x) for x in firsts])
        return [(t,) * self.order if type(t) is Zero else inner.unbox(t) for t in outs]


def _total(terms: Sequence[Any], like: Any) -> Any:
    """The sum of terms; `Zero` for no terms."""
    if not terms:
        return Zero(tangent_type(typeof(like)))
    total, *rest = terms
    for term in rest:
        total = total + term
    return total


def _products(
    multiply: Callable[[Any, Any], Any], xs: Parts, ys: Parts, order: int, first: int = 0
) -> list[Any]:
    """The terms of a derivative of a product, by Leibniz' formula, from the one of `first` on."""
    return [
        product * math.comb(order, i) if 0 < i < order else product
        for i in range(first, order + 1)
        if type(xs[i]) is not Zero and type(ys[order - i]) is not Zero
        for product in [multiply(xs[i], ys[order - i])]
    ]


def _linear_in_each(primitive: Primitive) -> Callable[..., list[Parts]]:
    """The rule of a primitive that is linear in each of its two operands."""

    def multilinear_jet(xs: Parts, ys: Parts, **params: Any) -> list[Parts]:
        def multiply(x: Any, y: Any) -> Any:
            return bind1(primitive, x, y, **params)

        out = multiply(xs[0], ys[0])
        return [(out, *(_total(_products(multiply, xs, ys, k), out) for k in range(1, len(xs))))]

    return multilinear_jet


def _quotient(xs: Parts, ys: Parts) -> list[Parts]:
    """z = x / y, from the derivatives of x = y z."""
    zs: Parts = (lax.div(xs[0], ys[0]),)
    for k in range(1, len(xs)):
        known = _total(_products(stage2.mul, ys, (*zs, None), k, first=1), zs[0])
        rest = xs[k]
        if type(known) is not Zero:
            rest = stage2.neg(known) if type(rest) is Zero else stage2.sub(rest, known)
        zs = *zs, rest if type(rest) is Zero else lax.div(rest, ys[0])
    return [zs]


jet_rules[mul_p] = _linear_in_each(mul_p)
jet_rules[div_p] = _quotient
jet_rules[dot_general_p] = _linear_in_each(dot_general_p)
jet_rules[conv_general_dilated_p] = _linear_in_each(conv_general_dilated_p)


def def_deriv(prim: Primitive, deriv: Callable[[Any], Any]) -> None:
    """Define the rule of a primitive of one operand by its derivative.

    Arguments:
        prim: the primitive; a rule that it has already is replaced.
        deriv: function from the operand to the derivative, both of one shape.

    Primitives with a jvp rule need none.

    >>> from glassjax.experimental import jet
    >>> from glassjax import core
    >>> cube_p, cube = core.Primitive("cube"), lambda x: [x**3]
    >>> core.declare(cube_p, abstract_eval=core.types_by(cube), lower=core.lower_by(cube))
    >>> jet.def_deriv(cube_p, lambda x: 3 * x**2)
    >>> value, derivatives = jet.jet(lambda x: core.bind(cube_p, x), (2.0,), ([1.0, 0.0, 0.0],))
    >>> print(*value, *derivatives[0])
    8.0 12.0 12.0 6.0
    """

    def tangents(primals: Sequence[Any], firsts: Sequence[Any]) -> list[Any]:
        (first,) = firsts
        return [first if type(first) is Zero else stage2.mul(deriv(primals[0]), first)]

    def derivative_jet(x: Parts, **params: Any) -> list[Parts]:
        out = bind1(prim, x[0], **params)
        trace = JetTrace(deriv, len(x) - 1)
        (terms,) = trace._derivatives(tangents, [x[:-1]], [x[1:]])
        return [(out, *terms)]

    jet_rules[prim] = derivative_jet


def def_comp(prim: Primitive, comp: Callable[..., Any], **kwargs: Any) -> None:
    """Define the rule of a primitive by a function of other primitives that computes it.

    Arguments:
        prim: the primitive; a rule that it has already is replaced.
        comp: function of the operands; parameters of the primitive are given by keyword.
        kwargs: further arguments of it, by keyword.

    >>> from glassjax.experimental import jet
    >>> from glassjax import core
    >>> double_p = core.Primitive("double")
    >>> jet.def_comp(double_p, lambda x: x + x)
    """

    def composition_jet(*operands: Parts, **params: Any) -> list[Parts]:
        inner = JetTrace(comp, len(operands[0]) - 1)
        with inner.run():
            out = comp(*map(inner.box, operands), **{**kwargs, **params})
            outs = out if isinstance(out, list | tuple) else [out]
            return [inner.unbox(x) for x in outs]

    jet_rules[prim] = composition_jet


def _checked_term(name: str, position: int, order: int, x: Any, term: Any) -> Any:
    """A derivative of the curve, checked to have the type of a tangent of `x`."""
    role = f"jet of `{name}`: the derivative of order {order} of argument {position}"
    return to_array(check_tangent(role, term, tangent_type(typeof(x))))


def _scaled_tree(tree: Any, number: float) -> Any:
    return tree_map(lambda x: stage2.mul(x, number), tree)


@evaluated_by_library
def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
) -> tuple[Any, Any]:
    """Evaluate `fun` and its derivatives along a curve, up to the order of `series`.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        primals: the arguments of `fun`, the curve at time 0.
        series: for each argument a list of the derivatives of the curve at time 0, starting with
            the first. Each has the structure and shapes of the argument; all lists have the same
            length.
        factorial_scaled: whether the series are derivatives; otherwise they are Taylor
            coefficients, the derivatives divided by factorials.

    Returns:
        The result of `fun`, and a pytree of its structure with a list of derivatives in time in
        place of each array.

    Raises:
        ValueError: `series` does not have one list for each argument, or the lists differ in
            length.
        TreeMismatchError: a derivative and its argument differ in structure.
        TangentTypeError: they differ in shape or dtype.

    The series of `f(x) = x ** 3` along `x(t) = 2 + t`:

    >>> from glassjax.experimental.jet import jet
    >>> value, derivatives = jet(lambda x: x**3, (2.0,), ([1.0, 0.0, 0.0],))
    >>> print(value, *derivatives)
    8.0 12.0 12.0 6.0
    """
    require_function("jet", fun)
    primals = tree_to_arrays(tuple(primals))
    curves = [list(terms) for terms in series]
    if len(curves) != len(primals):
        raise ValueError(
            f"jet of `{name_of(fun)}`: series must have a list for each of the {len(primals)} "
            f"arguments, found {len(curves)}"
        )
    lengths = {len(terms) for terms in curves}
    if len(lengths) > 1:
        raise ValueError(
            f"jet of `{name_of(fun)}`: the lists in series must have one length, found "
            f"{shown([len(terms) for terms in curves])}"
        )
    order = lengths.pop() if lengths else 0
    for position, (x, terms) in enumerate(zip(primals, curves, strict=True)):
        for k, term in enumerate(terms):
            if stage2.tree_structure(term) != stage2.tree_structure(x):
                raise TreeMismatchError(
                    f"jet of `{name_of(fun)}`: series[{position}][{k}] must have the structure of "
                    f"argument {position}, {stage2.tree_structure(x)}, found "
                    f"{stage2.tree_structure(term)}"
                )
            terms[k] = tree_map(partial(_checked_term, name_of(fun), position, k + 1), x, term)
    columns = [tuple(terms[k] for terms in curves) for k in range(order)]
    if not factorial_scaled:
        columns = [_scaled_tree(column, math.factorial(k)) for k, column in enumerate(columns, 1)]
    out, *terms = transformation(JetTrace, order=order)(fun, primals, *columns)
    terms = [
        tree_to_arrays(tree_map(instantiate, term, is_leaf=lambda x: type(x) is Zero))
        for term in terms
    ]
    if not factorial_scaled:
        terms = [_scaled_tree(term, 1 / math.factorial(k)) for k, term in enumerate(terms, 1)]
    return out, tree_map(lambda _, *leaves: list(leaves), out, *terms)


def fact(n: Any, /) -> Any:
    """The factorial of `n`, a number or an array of these, as a float.

    >>> from glassjax.experimental import jet
    >>> jet.fact(4.0).item()
    24.0
    """
    return lax.exp(lax.lgamma(tree_to_arrays(n) + 1.0))


__all__ = ["def_comp", "def_deriv", "fact", "jet"]
