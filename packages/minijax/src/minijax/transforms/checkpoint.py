"""`checkpoint`: reverse mode that keeps few residuals and recomputes the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from minijax.errors.argument_errors import checking_arguments, require_flags
from minijax.primitives.calls import (
    dce_program,
    dependence_of_program,
    evaluate_program,
    jvp_program,
    keys_of_program,
    order_program,
    run_program,
    transpose_call,
    type_of_program,
    vmap_program,
)
from minijax.primitives.declare_program import declare_program
from minijax.primitives.decomposition import calls
from minijax.primitives.loops import call_text, region, stage_body
from minijax.runtime.conversion import to_array, tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.refs import (
    Ref,
    lending,
    program_with_refs,
    split_refs,
    values_of,
    with_outer_refs,
    write_all,
)
from minijax.runtime.wrapping import wraps
from minijax.transforms.checkpoint_policies import Policy, checkpoint_policies, name_p
from minijax.transforms.custom_derivatives.logs import log_from_program
from minijax.transforms.saved_values import save_eqns, save_in_call, saving_rules
from minijax_stage2 import Primitive, ShapedArray, bind, bind1, tree_map
from minijax_stage2.arguments import FlatFunction, argument_names, require_function
from minijax_stage2.functions import ints
from minijax_stage2.source import name_of
from minijax_stage2.tree import tree_flatten, tree_unflatten
from minijax_stage3 import Jaxpr, JaxprEqn, Var
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.lowering import FunctionBuilder, Value, signature
from minijax_stage3.staging import abstractify
from minijax_stage4.jit_rules import split_jaxpr
from minijax_stage4.partial_eval import PartialEqns, partition, without_dead_code

# Parameters: the program; the policy; whether XLA must not notice that it computes something
# again; and whether it does, which the part of a split program that waited may do.
checkpoint_p = Primitive("checkpoint", higher_order=True)
calls.add(checkpoint_p)


P = ParamSpec("P")
R = TypeVar("R")


@checking_arguments
def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool | Sequence[Any] = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] | Set[str] = (),
) -> Callable[P, R]:
    """Make reverse mode keep the arguments of `fun` and recompute intermediate values.

    Gradients are the same. They take less memory, and more time, because `fun` runs again when its
    cotangents arrive.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        prevent_cse: whether to keep XLA from eliminating the recomputation as a common
            subexpression. It is not needed in a `scan` over layers. A tuple that marks only some
            arguments has the same effect as True.
        policy: selects the results of primitives to keep; none by default. One of
            `checkpoint_policies`, or a function of a primitive, the types of its operands, and its
            parameters.
        static_argnums: positions of arguments that are not arrays but Python values.
        static_argnames: names of such arguments, if they are passed by name.

    Returns:
        A function of the same arguments.

    >>> import minijax
    >>> import minijax.numpy as jnp
    >>> minijax.grad(checkpoint(lambda x: jnp.sin(jnp.sin(x))))(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    require_function("checkpoint", fun)
    static = ints("checkpoint: static_argnums", static_argnums)
    marks = [prevent_cse] if isinstance(prevent_cse, bool) else tree_flatten(prevent_cse)[0]
    for mark in marks:
        require_flags("checkpoint", prevent_cse=mark)
    names_of_static = {static_argnames} if isinstance(static_argnames, str) else {*static_argnames}

    @evaluated_by_library
    @wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        fixed = {i % len(args): args[i] for i in static if -len(args) <= i < len(args)}
        dynamic = tuple([None if i in fixed else arg for i, arg in enumerate(args)])
        named = {name: kwargs.pop(name) for name in names_of_static & {*kwargs}}

        @wraps(fun)
        def of_dynamic(*args: Any, **kwargs: Any) -> Any:
            return fun(*[fixed.get(i, arg) for i, arg in enumerate(args)], **kwargs, **named)

        given, rest, places = split_refs("checkpoint", (dynamic, kwargs))

        def stage(outer: Sequence[Ref]) -> Any:
            if not (given or outer):
                return again_in_reverse(of_dynamic, dynamic, kwargs)
            with_values = program_with_refs(of_dynamic, places, outer)
            with lending(given) as values:
                values, out = again_in_reverse(
                    with_values, ([*values, *values_of(outer)], rest), {}
                )
            write_all([*given, *outer], values)
            return out

        return with_outer_refs(stage)

    def again_in_reverse(inner: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        leaves, in_tree = tree_flatten((args, kwargs))

        def names() -> list[str]:
            return argument_names(inner, args, kwargs)

        in_avals = abstractify(f"checkpoint of `{name_of(inner)}`", names, leaves)
        flat = FlatFunction(inner, in_tree, has_kwargs=True)
        closed = stage_body(flat, in_avals, "checkpoint", inner, names)
        outs = bind(
            checkpoint_p,
            *closed.consts,
            *leaves,
            jaxpr=consts_as_invars(closed.jaxpr),
            policy=policy,
            prevent_cse=any(marks),
            again=False,
        )
        return tree_unflatten(flat.out_tree, map(to_array, outs))

    return checkpointed


@evaluated_by_library
def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, a pytree of arrays, under a name that `checkpoint` policies can refer to.

    Arguments:
        x: an array or a pytree of arrays.
        name: the name, for `checkpoint_policies.save_only_these_names` and the like.

    Returns:
        `x`. The name changes no value.

    >>> from minijax.ad_checkpoint import checkpoint_name
    >>> policy = minijax.checkpoint_policies.save_only_these_names("waves")
    >>> f = lambda x: jnp.exp(checkpoint_name(jnp.sin(x), "waves"))
    >>> minijax.grad(minijax.checkpoint(f, policy=policy))(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return tree_map(lambda leaf: bind1(name_p, leaf, name=name), tree_to_arrays(x))


def _lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    jaxpr: Jaxpr,
    prevent_cse: bool,
    again: bool,
    **params: Any,
) -> list[Value]:
    """Lower recomputation as a branch that XLA cannot predict.

    So it waits for all of its operands, including the cotangents, and is not merged with the
    earlier computation. A barrier would do the same, but XLA for CPUs drops barriers before it
    eliminates common subexpressions.
    """
    if not (again and prevent_cse and out_avals):
        return call_text(b, jaxpr, "checkpoint", args)

    def computed(_: list[Value]) -> list[Value]:
        return call_text(b, jaxpr, "checkpoint", args)

    def never(_: list[Value]) -> list[Value]:
        return [b.constant(0, aval) for aval in out_avals]

    branches = ", ".join(region(b, [], body) for body in (computed, never))
    always = _unforeseen_truth(b)
    return b.emit(
        f'"stablehlo.if"({always.name}) ({branches}) : {signature([always], out_avals)}', *out_avals
    )


def _unforeseen_truth(b: FunctionBuilder) -> Value:
    """Test that a random number between 0 and 1 is less than 2."""
    number, truth = ShapedArray((), np.float32), ShapedArray((), np.bool_)
    low, high, bound = (b.constant(x, number) for x in (0.0, 1.0, 2.0))
    (shape,) = b.emit("stablehlo.constant dense<> : tensor<0xi64>", ShapedArray((0,), np.int64))
    operands = [low, high, shape]
    names = ", ".join(x.name for x in operands)
    (drawn,) = b.emit(
        f"stablehlo.rng {names}, distribution = UNIFORM : {signature(operands, [number])}", number
    )
    operands = [drawn, bound]
    (out,) = b.emit(
        f"stablehlo.compare LT, {drawn.name}, {bound.name} : {signature(operands, [truth])}", truth
    )
    return out


class _Halves(NamedTuple):
    """The known half of a program, and the unknown half, which recomputes unsaved values.

    `known` returns the known results and then the saved values. `unknown`, a set of parameters,
    takes the saved values, then some of the known arguments, then the unknown ones.
    """

    known: Jaxpr
    unknown: dict[str, Any]
    unknown_outs: list[bool]
    from_arguments: list[int]  # which of the known arguments

    def operands(
        self, known_ins: Sequence[Any], kept: Sequence[Any], unknown_ins: Sequence[Any]
    ) -> list[Any]:
        return [*kept, *(known_ins[i] for i in self.from_arguments), *unknown_ins]


def _halves(unknown_ins: tuple[bool, ...], params: dict[str, Any]) -> _Halves:
    parts = split_jaxpr(params["jaxpr"], unknown_ins)
    known, unknown, count = parts.known, parts.unknown, parts.num_residuals
    outs = known.outvars[: len(known.outvars) - count]
    may_keep = params["policy"] or checkpoint_policies.nothing_saveable

    def may_save(eqn: JaxprEqn) -> bool:
        return may_keep(eqn.primitive, *(x.aval for x in eqn.invars), **eqn.params)

    first, saved, again = save_eqns(known.eqns, may_save)
    # The unknown half binds the residuals as arguments; in the whole they are computed.
    of_known = dict(zip(unknown.invars[:count], known.outvars[len(outs) :], strict=True))

    def renamed(atom: Any) -> Any:
        return of_known.get(atom, atom)

    eqns = [
        JaxprEqn(eqn.primitive, list(map(renamed, eqn.invars)), eqn.outvars, eqn.params, eqn.source)
        for eqn in unknown.eqns
    ]
    arguments = [*known.invars, *unknown.invars[count:]]
    whole = without_dead_code(
        Jaxpr([], arguments, [*again, *eqns], list(map(renamed, unknown.outvars)))
    )
    used = {*whole.outvars, *(x for eqn in whole.eqns for x in eqn.invars)}
    kept = [x for x in saved if x in used]
    from_arguments = [x for x in known.invars if x in used]
    at_once = without_dead_code(Jaxpr([], known.invars, first, [*outs, *kept]))
    invars = [*kept, *from_arguments, *unknown.invars[count:]]
    # Where all is kept, there is nothing to hide from XLA, which then works on the whole program.
    costly = {x for eqn in again if eqn.primitive is not name_p for x in eqn.outvars}
    is_costly = any(x in costly for eqn in whole.eqns for x in eqn.outvars)
    later = {
        **params,
        "jaxpr": Jaxpr([], invars, whole.eqns, whole.outvars),
        "again": params["again"] or is_costly,
    }
    positions = [known.invars.index(x) for x in from_arguments]
    return _Halves(at_once, later, parts.unknown_outs, positions)


def _partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    halves = _halves(tuple(unknown_ins), eqn.params)
    known_ins, ins_unknown = partition(unknown_ins, eqn.invars)
    known_outs, outs_unknown = partition(halves.unknown_outs, eqn.outvars)
    kept = [Var(aval) for aval in halves.known.out_avals[len(known_outs) :]]
    operands = halves.operands(known_ins, kept, ins_unknown)
    known = {**eqn.params, "jaxpr": halves.known}
    return PartialEqns(
        [JaxprEqn(checkpoint_p, known_ins, [*known_outs, *kept], known, eqn.source)],
        JaxprEqn(checkpoint_p, operands, outs_unknown, halves.unknown, eqn.source),
    )


declare_program(
    checkpoint_p,
    evaluate=evaluate_program,
    abstract_eval=type_of_program,
    lower=_lower,
    vmap=vmap_program(checkpoint_p),
    jvp=jvp_program(checkpoint_p),
    transpose=transpose_call(partial(bind, checkpoint_p)),
    partial_eval=_partial_eval,
    dce=dce_program,
    dependence=dependence_of_program,
    order=order_program,
    keys=keys_of_program,
    steps=run_program,
)
saving_rules[checkpoint_p] = save_in_call
log_from_program(checkpoint_p)

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies"]
