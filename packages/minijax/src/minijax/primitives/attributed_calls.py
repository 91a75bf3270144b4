"""Calls of programs as functions, with frontend attributes on the call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minijax.primitives.calls import (
    dce_program,
    dependence_of_program,
    jvp_program,
    keys_of_program,
    order_program,
    partial_eval_call,
    run_program,
    transpose_call,
    type_of_program,
    vmap_program,
)
from minijax.primitives.declare_program import declare_program
from minijax.primitives.decomposition import calls
from minijax.primitives.loops import call_text, stage_body
from minijax.runtime.conversion import to_array
from minijax.runtime.frontend_attributes import Attributes
from minijax.runtime.lowering import Module
from minijax_stage2 import Primitive, ShapedArray, bind
from minijax_stage2.arguments import FlatFunction, argument_names
from minijax_stage2.source import name_of
from minijax_stage2.tree import PyTreeDef, tree_flatten
from minijax_stage3 import Jaxpr, JaxprEqn
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.lowering import FunctionBuilder, Value
from minijax_stage3.staging import abstractify
from minijax_stage4.partial_eval import PartialEqns

Finish = Callable[[FunctionBuilder, Sequence[Value]], list[Value]]


def attributed_call(name: str, finish: Finish | None = None) -> Primitive:
    """Declare a primitive that calls its program with attributes.

    `finish` writes what is done with its results.

    Parameters: the program; the attributes; and those of calls that are linear, and so come from
    differentiation.
    """
    primitive = Primitive(name, higher_order=True)
    calls.add(primitive)

    def lower(
        b: FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *args: Value,
        jaxpr: Jaxpr,
        attributes: Attributes,
        of_linear: Attributes,
    ) -> list[Value]:
        outs = call_text(b, jaxpr, name, args)
        if isinstance(b.module, Module):
            b.module.attribute(b, outs, attributes)
        return outs if finish is None else finish(b, outs)

    def partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
        known, unknown = partial_eval_call(unknown_ins, eqn)
        assert unknown is not None
        params = {**unknown.params, "attributes": eqn.params["of_linear"]}
        linear = JaxprEqn(primitive, unknown.invars, unknown.outvars, params, eqn.source)
        return PartialEqns(known, linear)

    def bind_linear(*args: Any, jaxpr: Jaxpr, attributes: Attributes, of_linear: Attributes) -> Any:
        return bind(primitive, *args, jaxpr=jaxpr, attributes=of_linear, of_linear=of_linear)

    declare_program(
        primitive,
        abstract_eval=type_of_program,
        lower=lower,
        vmap=vmap_program(primitive),
        jvp=jvp_program(primitive),
        transpose=transpose_call(bind_linear),
        partial_eval=partial_eval,
        dce=dce_program,
        dependence=dependence_of_program,
        order=order_program,
        keys=keys_of_program,
        steps=run_program,
    )
    return primitive


def staged_call(
    caller: str, fun: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[Jaxpr, list[Any], Callable[[Sequence[Any]], Any]]:
    """A call of a function as a program, its operands, and what makes the result of its results."""
    leaves, in_tree = tree_flatten((args, kwargs))

    def names() -> list[str]:
        return argument_names(fun, args, kwargs)

    in_avals = abstractify(f"{caller} of `{name_of(fun)}`", names, leaves)
    flat = FlatFunction(fun, in_tree, has_kwargs=True)
    closed = stage_body(flat, in_avals, caller, fun, names)
    out_tree: PyTreeDef = flat.out_tree

    def finish(outs: Sequence[Any]) -> Any:
        return out_tree.unflatten(map(to_array, outs))

    return consts_as_invars(closed.jaxpr), [*closed.consts, *leaves], finish
