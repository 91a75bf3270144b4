"""The order of operations in a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import glassjax_stage2 as stage2
from glassjax.lax.barriers import optimization_barrier_p
from glassjax.primitives import higher_order
from glassjax.primitives.declare import calls, declare
from glassjax.primitives.sharding_rules import as_operands
from glassjax.runtime.evaluation import evaluated_by_library, evaluators
from glassjax.runtime.signature import resolve_arguments
from glassjax.settings.names import wraps
from glassjax_stage2 import Primitive, ShapedArray, bind, bind1
from glassjax_stage2.arguments import require_function
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3 import Jaxpr, JaxprEqn, Var
from glassjax_stage3.jaxpr import Atom
from glassjax_stage3.lowering import FunctionBuilder, Value

program_order_p = Primitive("program_order", higher_order=True)
calls.add(program_order_p)
not_ordered_p = Primitive("not_ordered")  # the identity, on arguments that need not be waited for


def program_order(
    f: Callable[..., Any] | None = None,
    *,
    enforce: bool,
    strict_in_out: bool | tuple[bool, bool] = False,
    exclude_argnames: str | Iterable[str] | None = None,
) -> Any:
    """`f` with its operations in the order in which it calls them.

    A barrier before each operation makes its operands wait for the results of the previous one. XLA
    for CPUs drops barriers, and keeps its own order.

    Arguments:
        f: function of arrays and pytrees of arrays; without it, this makes a decorator.
        enforce: whether its operations are kept in order; if not, it counts as one operation of an
            ordered function around it, and its own operations are free.
        strict_in_out: whether its first operation waits for all arguments, and whether its results
            wait for each other.
        exclude_argnames: names of arguments that do not wait, if it counts as one operation.

    Returns:
        A function of the same arguments.

    Raises:
        ValueError: `exclude_argnames` is given with `enforce`, or `strict_in_out` without it.

    >>> from glassjax.experimental.overlap import program_order
    >>> f = glassjax.jit(program_order(lambda x, y: (jnp.sin(x), jnp.cos(y)), enforce=True))
    >>> f.lower(1.0, 2.0).as_text().count("optimization_barrier")
    1
    """
    if f is None:
        return lambda g: program_order(
            g, enforce=enforce, strict_in_out=strict_in_out, exclude_argnames=exclude_argnames
        )
    require_function("program_order", f)
    strict = (strict_in_out,) * 2 if isinstance(strict_in_out, bool) else tuple(strict_in_out)
    if enforce and exclude_argnames is not None:
        raise ValueError("program_order: exclude_argnames is for enforce=False")
    if not enforce and any(strict):
        raise ValueError("program_order: strict_in_out is for enforce=True")
    numbers, names = resolve_arguments(
        f, "exclude_argnums", None, "exclude_argnames", exclude_argnames
    )

    @evaluated_by_library
    @wraps(f)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        args = tuple([_free(x) if i in numbers else x for i, x in enumerate(args)])
        kwargs = {name: _free(x) if name in names else x for name, x in kwargs.items()}
        jaxpr, operands, finish = higher_order.staged_call("program_order", f, args, kwargs)
        return finish(bind(program_order_p, *operands, jaxpr=jaxpr, enforce=enforce, strict=strict))

    return ordered


def _free(tree: Any) -> Any:
    return stage2.tree_map(lambda x: bind1(not_ordered_p, x), tree)


def with_barriers(jaxpr: Jaxpr, strict_in: bool, strict_out: bool) -> Jaxpr:
    """The program with barriers between its equations."""
    eqns: list[JaxprEqn] = []
    now: dict[Atom, Var] = {}  # variables renamed by the barriers so far
    free: set[Atom] = set()
    before: list[Var] = []  # the results of the last equation

    def barrier(atoms: Sequence[Atom], source: Any = None) -> None:
        variables = [x for x in dict.fromkeys(atoms) if isinstance(x, Var)]
        if variables:
            outs = [Var(x.aval) for x in variables]
            ins = [now.get(x, x) for x in variables]
            eqns.append(JaxprEqn(optimization_barrier_p, ins, outs, {}, source))
            now.update(zip(variables, outs, strict=True))

    if strict_in:
        barrier(jaxpr.invars)
    for eqn in jaxpr.eqns:
        if eqn.primitive is not_ordered_p:
            free.update(eqn.outvars)
        elif eqn.invars:
            is_one = eqn.primitive is program_order_p and not eqn.params["enforce"]
            delayed = [x for x in eqn.invars if not (is_one and x in free)]
            if before:
                barrier([*before, *delayed], eqn.source)
            before = []
        invars: list[Atom] = [now.get(x, x) if isinstance(x, Var) else x for x in eqn.invars]
        eqns.append(JaxprEqn(eqn.primitive, invars, eqn.outvars, eqn.params, eqn.source))
        if eqn.primitive is not not_ordered_p:
            before += eqn.outvars
    if strict_out:
        barrier(jaxpr.outvars)
    outs = [now.get(x, x) if isinstance(x, Var) else x for x in jaxpr.outvars]
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, outs)


def _program_order_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    jaxpr: Jaxpr,
    enforce: bool,
    strict: tuple[bool, bool],
) -> list[Value]:
    return b.lower_jaxpr(with_barriers(jaxpr, *strict) if enforce else jaxpr, args)


higher_order.declare_call(program_order_p, lower=_program_order_lower)


def _program_order_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim]
) -> tuple[list[Any], Sequence[BatchDim]]:
    return bind(not_ordered_p, *values), dims


declare(
    not_ordered_p,
    abstract_eval=lambda x: [x],
    lower=lambda b, out_avals, x: [x],
    vmap=_program_order_vmap,
    sharding=as_operands,
    jvp=[lambda t, out, x: bind1(not_ordered_p, t)],
    transpose=[lambda ct, x: ct],
)
evaluators[not_ordered_p] = lambda x: [x]

__all__ = ["program_order"]
