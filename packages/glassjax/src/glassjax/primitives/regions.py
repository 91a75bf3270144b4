"""Programs inside primitives: reduction computations and decompositions.

Reductions, windows and sorts take a *computation*, a Python function of scalars. It is staged once
and written as a region of the operation of StableHLO.
"""

import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.primitives.declare import decompositions, results_of, type_on_device
from glassjax.primitives.loops import region
from glassjax.settings.options import key_reuse_option
from glassjax_stage2 import ShapedArray, Tracer, tree_flatten, typeof
from glassjax_stage2.shaped_array import Dialect, Shape, dialect
from glassjax_stage2.trace import Primitive
from glassjax_stage3 import Jaxpr, Literal
from glassjax_stage3.jaxpr import JaxprEqn, inner_jaxprs
from glassjax_stage3.lowering import FunctionBuilder, Value, signature
from glassjax_stage3.staging import trace_to_jaxpr

Avals = Sequence[ShapedArray]

# Primitives that call Python; XLA ends the process if one is applied to elements.
host_calls: set[Primitive] = set()

# The programs of computations, which live as long as their functions.
_staged: weakref.WeakKeyDictionary[Any, dict[Any, Jaxpr]] = weakref.WeakKeyDictionary()


def stage_computation(
    caller: str, computation: Callable[..., Any], avals: Avals, tree: Any
) -> Jaxpr:
    """The program of a function that combines two elements.

    Arguments:
        caller: the function that errors name.
        computation: function of two elements that returns one.
        avals: the types of the arrays whose elements are combined.
        tree: the structure of scalars that `computation` takes and returns.

    Raises:
        TypeError: it returns something of another structure or type.
        NotImplementedError: it closes over an array, or calls Python.
    """
    scalars = tuple(ShapedArray((), aval.dtype) for aval in avals)
    key = scalars, tree, dialect()
    try:
        staged = _staged.setdefault(computation, {})
    except TypeError:  # not weak-referenceable
        staged = {}
    if key_reuse_option.value:  # programs mark the keys that they use
        staged = {}
    if key not in staged:
        staged[key] = _stage(caller, computation, scalars, tree)
    return staged[key]


def _stage(caller: str, computation: Callable[..., Any], scalars: Avals, tree: Any) -> Jaxpr:
    count = len(scalars)

    def flat(*elements: Any) -> list[Any]:
        x, y = (stage2.tree_unflatten(tree, part) for part in (elements[:count], elements[count:]))
        leaves, out_tree = tree_flatten(computation(x, y))
        found = ", ".join(str(typeof(leaf)) for leaf in leaves)
        if out_tree != tree or [typeof(leaf).shape for leaf in leaves] != [()] * count:
            expected = ", ".join(map(str, scalars))
            raise TypeError(
                f"{caller}: the computation must return what it takes two of, {expected}; "
                f"found {found}"
            )
        if any(typeof(x).dtype != aval.dtype for x, aval in zip(leaves, scalars, strict=True)):
            expected = ", ".join(map(str, scalars))
            raise TypeError(f"{caller}: the computation takes {expected} but returned {found}")
        return leaves

    jaxpr = trace_to_jaxpr(flat, [*scalars, *scalars], caller, computation)
    if calls_host(jaxpr):
        raise host_call_error(caller, "computation")
    if any(isinstance(x, Tracer) or typeof(x).shape for x in jaxpr.consts):
        raise NotImplementedError(
            f"{caller}: the computation uses an array from outside, which a computation on "
            "elements cannot; only numbers can be closed over"
        )
    # Numbers become literals: the region's only arguments are the elements.
    numbers: dict[Any, Any] = {
        var: Literal(np.asarray(x)[()], var.aval)
        for var, x in zip(jaxpr.constvars, jaxpr.consts, strict=True)
    }
    eqns = [
        JaxprEqn(
            eqn.primitive,
            [numbers.get(atom, atom) for atom in eqn.invars],
            eqn.outvars,
            eqn.params,
            eqn.source,
        )
        for eqn in jaxpr.eqns
    ]
    return Jaxpr([], jaxpr.invars, eqns, [numbers.get(atom, atom) for atom in jaxpr.outvars])


def calls_host(jaxpr: Jaxpr) -> bool:
    """Return True if a program, or an inner one, calls Python."""
    return any(
        eqn.primitive in host_calls or any(map(calls_host, inner_jaxprs(eqn))) for eqn in jaxpr.eqns
    )


def host_call_error(caller: str, role: str) -> NotImplementedError:
    return NotImplementedError(
        f"{caller}: the {role} calls Python, as debug.print and pure_callback do, which cannot be "
        "done for the elements of an array. Call Python on the whole array"
    )


def operation_of(jaxpr: Jaxpr) -> Primitive | None:
    """The primitive of a computation that applies just one primitive to two operands."""
    if len(jaxpr.eqns) != 1 or len(jaxpr.invars) != 2:
        return None
    (eqn,) = jaxpr.eqns
    x, y = jaxpr.invars
    is_plain = list(eqn.invars) in ([x, y], [y, x]) and list(eqn.outvars) == list(jaxpr.outvars)
    return eqn.primitive if is_plain else None


def program_region(b: FunctionBuilder, jaxpr: Jaxpr) -> str:
    """A computation as a region of the operation that is written next."""
    avals = [var.aval for var in jaxpr.invars]
    return region(b, avals, lambda operands: b.lower_jaxpr(jaxpr, operands))


def reduce_text(
    b: FunctionBuilder, out_avals: Avals, operands: Sequence[Value], jaxpr: Jaxpr, axes: Shape
) -> list[Value]:
    """A reduction of operands, followed by their initial values, with a computation."""
    names = ", ".join(x.name for x in operands)
    dims = f"array<i64{': ' if axes else ''}{', '.join(map(str, axes))}>"
    return b.emit(
        f'"stablehlo.reduce"({names}) <{{dimensions = {dims}}}> ({program_region(b, jaxpr)}) '
        f": {signature(operands, out_avals)}",
        *out_avals,
    )


def lower_as(function: Callable[..., Any]) -> Callable[..., list[Value]]:
    """The lowering rule that writes a primitive as a function of arrays.

    It becomes a function of the module, called for each equation of the primitive.
    """

    def region_lower(
        b: FunctionBuilder, out_avals: Avals, *operands: Value, **params: Any
    ) -> list[Value]:
        in_avals = tuple(type_on_device(x.aval).strip_weak_type() for x in operands)
        jaxpr = _program(function, dialect(), in_avals, tuple(params.items()))
        name = b.module.private_function(jaxpr, function.__name__.strip("_"))
        names = ", ".join(x.name for x in operands)
        return b.emit(f"func.call @{name}({names}) : {signature(operands, out_avals)}", *out_avals)

    decompositions[region_lower] = results_of(function)
    return region_lower


@lru_cache(maxsize=4096)
def _program(
    function: Callable[..., Any],
    numbers: Dialect,
    in_avals: tuple[ShapedArray, ...],
    params: tuple[tuple[str, Any], ...],
) -> Jaxpr:
    def flat(*operands: Any) -> list[Any]:
        return results_of(function)(*operands, **dict(params))

    return trace_to_jaxpr(flat, in_avals, "lowering", function)
