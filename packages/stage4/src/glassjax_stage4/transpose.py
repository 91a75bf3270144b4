"""Transposition: running a linear program backwards, from cotangents of results to inputs.

A linear function f has a transpose fT with <y, f(x)> = <fT(y), x> for all x and y. The
transpose of a composition is the composition of transposes in reverse order, so a rule for
each linear primitive is enough.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from glassjax_stage2 import Primitive, ShapedArray, Zero, bind, functions, typeof
from glassjax_stage2.arguments import FlatFunction, require_function
from glassjax_stage2.jvp import check_tangents
from glassjax_stage2.shaped_array import dialect
from glassjax_stage2.source import name_of, on_behalf_of
from glassjax_stage2.tangent import add_tangents, instantiate, tangent_type
from glassjax_stage2.trace import Rules
from glassjax_stage2.tree import tree_flatten, tree_unflatten
from glassjax_stage3 import Jaxpr, JaxprEqn, Literal, Var
from glassjax_stage3.jaxpr import Atom, consts_as_invars
from glassjax_stage4.errors import NonlinearError
from glassjax_stage4.partial_eval import PartialVal, partial_eval


class UndefPrimal:
    """A placeholder for a linear argument; a transpose rule knows only its type.

    >>> aval = ShapedArray((), "float32")
    >>> x = UndefPrimal(aval)
    >>> x, x.aval is aval
    (UndefPrimal(f32[]), True)
    """

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefPrimal({self.aval})"


class TransposeRules(Rules):
    def __missing__(self, primitive: Primitive) -> Callable[..., Any]:
        raise NonlinearError(
            f"the primitive `{primitive}` has no rule for transposition, so it is taken not to "
            f"be linear. If it is, say how it is transposed: deftranspose({primitive}_p, formula)"
        )


transpose_rules = TransposeRules("transposition", "transpose_rules")


def deftranspose(
    primitive: Primitive, *formulas: Callable[..., Any] | None, jointly: bool = False
) -> None:
    """Define the transpose rule of a primitive with one result by one formula per operand.

    Arguments:
        primitive: the primitive.
        formulas: for each operand, a function `(ct, *operands, **params)` that returns the
            contribution of the result's cotangent `ct` to the operand's, or None if the primitive
            is not linear in it. Linear operands are `UndefPrimal`.
        jointly: whether the primitive is linear in several operands that vary together, as a sum
            is. A product is not: it is linear in each operand while the others are constant.

    >>> scale_p = Primitive("scale")
    >>> impl_rules[scale_p] = lambda x, factor: [factor * x]
    >>> deftranspose(scale_p, lambda ct, x, factor: bind(scale_p, ct, factor)[0], None)
    >>> transpose_rules[scale_p]([5.0], UndefPrimal(ShapedArray((), "float32")), 3.0)
    [15.0, None]
    """

    def formula_transpose(cts: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
        (ct,) = cts
        linear = [i for i, x in enumerate(operands) if isinstance(x, UndefPrimal)]
        if None in [formulas[i] for i in linear] or (len(linear) > 1 and not jointly):
            raise nonlinear_in(primitive, linear)
        in_cts: list[Any] = [None] * len(operands)
        for i in linear:
            formula: Any = formulas[i]
            in_cts[i] = unbroadcast(formula(ct, *operands, **params), operands[i].aval)
        return in_cts

    transpose_rules[primitive] = formula_transpose


def unbroadcast(ct: Any, aval: ShapedArray) -> Any:
    """The cotangent of an operand that was broadcast: the sum over the axes it lacks."""
    summed = [i for i, n in enumerate(typeof(ct).shape) if not aval.shape or n != aval.shape[i]]
    return functions.reshape(functions.reduce_sum(ct, summed), aval.shape) if summed else ct


def nonlinear_in(primitive: Primitive, operands: Sequence[int]) -> NonlinearError:
    """The error for a primitive that is not linear in its linear operands."""
    numbered = " and ".join(f"operand {i}" for i in operands)
    return NonlinearError(
        f"the program to be transposed is not linear: it depends on its arguments through "
        f"`{primitive}`, which is not linear in {numbered}. To differentiate a program use vjp or "
        "linearize, which transpose its derivative."
    )


class BackwardPass:
    """Transposes a program: known values are computed forwards, then cotangents flow backwards."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.values: dict[Atom, Any] = {}
        self.linear: set[Atom] = set()
        self.cotangents: dict[Atom, Any] = {}

    def run(self, args: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """The cotangents of the undefined arguments, as `backward_pass` returns them."""
        for var, arg in zip(self.jaxpr.invars, args, strict=True):
            if isinstance(arg, UndefPrimal):
                self.linear.add(var)
            else:
                self.values[var] = arg

        # Forwards: compute values that do not depend on the linear arguments.
        linear_eqns = []
        for eqn in self.jaxpr.eqns:
            if not self.linear.isdisjoint(eqn.invars):
                self.linear.update(eqn.outvars)
                linear_eqns.append(eqn)
            else:
                with on_behalf_of(eqn.source):
                    outs = bind(eqn.primitive, *map(self.read, eqn.invars), **eqn.params)
                self.values.update(zip(eqn.outvars, outs, strict=True))

        # Backwards: from cotangents of results to cotangents of operands.
        cotangents = self.cotangents
        for atom, ct in zip(self.jaxpr.outvars, cts, strict=True):
            self.accumulate(atom, ct)
        for eqn in reversed(linear_eqns):
            if not cotangents.keys().isdisjoint(eqn.outvars):
                self.pull_back(eqn)
        return [
            cotangents.get(var, self.zero_of(var)) if var in self.linear else None
            for var in self.jaxpr.invars
        ]

    def zero_of(self, var: Var) -> Zero:
        """The zero cotangent of a variable."""
        return Zero(tangent_type(var.aval))

    def read(self, atom: Atom) -> Any:
        """The value of a variable; a placeholder if it depends on the linear arguments."""
        if isinstance(atom, Literal):
            return atom.val
        return UndefPrimal(atom.aval) if atom in self.linear else self.values[atom]

    def pull_back(self, eqn: JaxprEqn) -> None:
        """Send the cotangents of the results of an equation on to its operands."""
        with on_behalf_of(eqn.source):
            cts, operands = self.read_both(eqn)
            in_cts = transpose_rules[eqn.primitive](cts, *operands, **eqn.params)
            for atom, ct in zip(eqn.invars, in_cts, strict=True):
                self.accumulate(atom, ct)

    def read_both(self, eqn: JaxprEqn) -> tuple[list[Any], list[Any]]:
        """The cotangents of the results of an equation, which are removed, and its operands."""
        cts = [
            self.cotangents.pop(var) if var in self.cotangents else self.zero_of(var)
            for var in eqn.outvars
        ]
        return cts, [self.read(atom) for atom in eqn.invars]

    def accumulate(self, atom: Atom, ct: Any) -> None:
        """Add a cotangent to those that arrived at `atom`."""
        if atom in self.linear and ct is not None and type(ct) is not Zero:
            total = self.cotangents.get(atom)
            self.cotangents[atom] = ct if total is None else add_tangents(total, ct)


def backward_pass(jaxpr: Jaxpr, args: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """Transpose a program with respect to its undefined arguments.

    Arguments:
        jaxpr: a program without constants, linear in its undefined arguments.
        args: for each argument its value, or an `UndefPrimal`.
        cts: for each result its cotangent, or `Zero`.

    Returns:
        For each argument its cotangent or `Zero`; None for those that are defined.
    """
    return dialect().interpreter(BackwardPass)(jaxpr).run(args, cts)  # type: ignore[no-any-return]


def transpose_linear(jaxpr: Jaxpr, consts: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """The cotangents of the arguments of `jaxpr`, all linear; `consts` are known."""
    undefined = [UndefPrimal(var.aval) for var in jaxpr.invars]
    return backward_pass(consts_as_invars(jaxpr), [*consts, *undefined], cts)[len(consts) :]


def linear_transpose(fun: Callable[..., Any], *primals: Any) -> partial[Any]:
    """Transpose a function that is known to be linear.

    Arguments:
        fun: linear function of arrays and pytrees of arrays.
        primals: arguments, whose values are ignored.

    Returns:
        A function from a cotangent of the result to the tuple of cotangents of the arguments.

    Raises:
        NonlinearError: when the result is called, `fun` proves not to be linear.
        TypeError: a cotangent does not match the result.

    >>> import numpy as np
    >>> from glassjax_stage2 import reduce_sum
    >>> linear_transpose(reduce_sum, np.zeros(3))(2.0)
    (array([2., 2., 2.]),)
    """
    require_function("linear_transpose", fun)
    leaves, in_tree = tree_flatten(primals)
    in_avals = list(map(typeof, leaves))
    flat_fun = FlatFunction(fun, in_tree)
    jaxpr, outs, consts = partial_eval(flat_fun, list(map(PartialVal.unknown, in_avals)), fun)
    out_avals = [out.aval for out in outs]

    def transposed_fun(consts: Sequence[Any], ct: Any) -> Any:
        caller = f"transpose of `{name_of(fun)}`"
        cts = check_tangents(f"{caller}: cotangent", flat_fun.out_tree, out_avals, ct)
        given = [ct for ct, out in zip(cts, outs, strict=True) if not out.is_known]
        in_cts = transpose_linear(jaxpr, consts, given)
        return tree_unflatten(in_tree, list(map(instantiate, in_cts)))

    return partial(transposed_fun, consts)
