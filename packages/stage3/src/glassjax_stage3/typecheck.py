"""The verifier of jaxprs: every variable bound once and before its use, every type right."""

from glassjax_stage2 import ShapedArray, typeof
from glassjax_stage2.shaped_array import kind_of
from glassjax_stage3.abstract_eval import abstract_eval
from glassjax_stage3.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, inner_jaxprs


class JaxprTypeError(TypeError):
    """A jaxpr is not well formed: an error of the code that made it."""


def typecheck_jaxpr(jaxpr: Jaxpr) -> tuple[list[ShapedArray], list[ShapedArray]]:
    """Verify `jaxpr` and the jaxprs inside it.

    Returns:
        The types of its arguments and of its results.

    Raises:
        JaxprTypeError: a variable is used before it is bound, or bound twice, or the type of an
            equation's result differs from abstract evaluation.

    >>> import numpy as np
    >>> from glassjax_stage3 import make_jaxpr
    >>> typecheck_jaxpr(make_jaxpr(lambda x: x > 0.0)(np.float32(1)))
    ([ShapedArray(f32[])], [ShapedArray(bool[])])
    """
    bound: set[Var] = set()
    for var in (*jaxpr.constvars, *jaxpr.invars):
        _bind_var(var, bound, "the parameters")
    for eqn in jaxpr.eqns:
        where = f"equation `{eqn}`"
        for atom in eqn.invars:
            _check_use(atom, bound, where)
        _check_types(eqn, where)
        for var in eqn.outvars:
            _bind_var(var, bound, where)
    for atom in jaxpr.outvars:
        _check_use(atom, bound, "the results")
    return jaxpr.in_avals, jaxpr.out_avals


def _check_types(eqn: JaxprEqn, where: str) -> None:
    for inner in inner_jaxprs(eqn):
        typecheck_jaxpr(inner)
    try:
        in_avals = tuple([x.aval for x in eqn.invars])
        expected = list(abstract_eval(eqn.primitive, in_avals, eqn.params))
    except TypeError as error:
        raise JaxprTypeError(f"{where}: {error}") from error
    found = [var.aval for var in eqn.outvars]
    if found != expected:
        raise JaxprTypeError(f"{where}: its results have types {expected}, bound as {found}")


def _bind_var(var: Var, bound: set[Var], where: str) -> None:
    if var in bound:
        raise JaxprTypeError(f"{where}: a variable of type {var.aval} is bound twice")
    bound.add(var)


def _check_use(atom: Atom, bound: set[Var], where: str) -> None:
    if isinstance(atom, Literal):
        found = typeof(atom.val)  # its width may differ from where the literal was made
        if found.shape != atom.aval.shape or kind_of(found.dtype) != kind_of(atom.aval.dtype):
            raise JaxprTypeError(f"{where}: the literal {atom.val} is not of type {atom.aval}")
    elif atom not in bound:
        raise JaxprTypeError(f"{where}: a variable of type {atom.aval} is used before it is bound")
