"""`linearize`: the jvp of a function, partially evaluated with primals known, tangents unknown."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from glassjax_stage2 import ShapedArray, Zero, typeof
from glassjax_stage2.arguments import FlatFunction, require_function
from glassjax_stage2.jvp import check_tangents, jvp_flat
from glassjax_stage2.shaped_array import is_inexact
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage2.tree import tree_flatten, tree_unflatten
from glassjax_stage3 import Jaxpr, eval_jaxpr
from glassjax_stage4.partial_eval import PartialVal, partial_eval


class LinearProgram(NamedTuple):
    """The derivative of a function at a point: a linear program from tangents to tangents.

    Attributes:
        jaxpr: takes the tangents of the real and complex inputs, and returns the tangents of the
            results that depend on them. Its constants are the residuals, whose values are passed
            when it is applied.
        in_avals: the types of the function's arguments.
        out_avals: the types of its results.
        constant_outs: for each result its tangent if that is known (to be zero), else None.
    """

    jaxpr: Jaxpr
    in_avals: Sequence[ShapedArray]
    out_avals: Sequence[ShapedArray]
    constant_outs: Sequence[Any]

    @property
    def varies_in(self) -> list[bool]:
        """For each argument, whether it is real or complex."""
        return [is_inexact(aval.dtype) for aval in self.in_avals]

    def __call__(self, residuals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """Apply the program to one tangent, or `Zero`, for each argument."""
        given = [instantiate(t) for t, v in zip(tangents, self.varies_in, strict=True) if v]
        outs = iter(eval_jaxpr(self.jaxpr, residuals, *given))
        return [next(outs) if t is None else instantiate(t) for t in self.constant_outs]


def linearize_flat(
    f: Callable[..., Sequence[Any]], primals: Sequence[Any], name: Any
) -> tuple[list[Any], LinearProgram, list[Any]]:
    """Evaluate `f`, a function of arrays that returns a list.

    Returns:
        Its results, its derivative at that point, and the residuals of the derivative.
    """
    in_avals = [typeof(x) for x in primals]
    outs: list[Any] = []
    out_tangents: list[Any] = []

    def tangent_fun(*given: Any) -> list[Any]:
        rest = iter(given)
        tangents = [
            next(rest) if is_inexact(aval.dtype) else Zero(tangent_type(aval)) for aval in in_avals
        ]
        outs[:], out_tangents[:] = jvp_flat(f, primals, tangents, name)
        return [t for t in out_tangents if type(t) is not Zero]

    pvals = [PartialVal.unknown(aval) for aval in in_avals if is_inexact(aval.dtype)]
    jaxpr, out_pvals, residuals = partial_eval(tangent_fun, pvals, name)
    computed = iter(out_pvals)
    constant_outs = [t if type(t) is Zero else next(computed).const for t in out_tangents]
    out_avals = [typeof(out) for out in outs]
    return outs, LinearProgram(jaxpr, in_avals, out_avals, constant_outs), residuals


def linearize(fun: Callable[..., Any], *primals: Any) -> tuple[Any, partial[Any]]:
    """Evaluate `fun` once and return its derivative at that point as a linear function.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        primals: the arguments at which to evaluate.

    Returns:
        The result of `fun`, and a function from tangents of the arguments to the tangent of
        the result, which does not evaluate `fun` again.

    >>> from glassjax_stage2 import sin
    >>> y, f_jvp = linearize(lambda x: 2.0 * sin(x), 0.0)
    >>> f_jvp(3.0)
    6.0
    """
    leaves, in_tree = tree_flatten(primals)
    require_function("linearize", fun)
    flat_fun = FlatFunction(fun, in_tree)
    outs, linear, residuals = linearize_flat(flat_fun, leaves, fun)

    def f_jvp(residuals: Sequence[Any], *tangents: Any) -> Any:
        role = f"linearized `{name_of(fun)}`: tangents"
        given = check_tangents(role, in_tree, linear.in_avals, tangents)
        return tree_unflatten(flat_fun.out_tree, linear(residuals, given))

    return tree_unflatten(flat_fun.out_tree, outs), partial(f_jvp, residuals)
