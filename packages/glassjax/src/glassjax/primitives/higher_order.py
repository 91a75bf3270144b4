"""Declaration of a primitive that holds programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import glassjax_stage2 as stage2
import glassjax_stage3 as stage3
from glassjax.primitives.declare import calls, piecewise_constant
from glassjax.primitives.loops import Flags, call_text, evaluate_compiled, stage_body
from glassjax.primitives.regions import host_calls
from glassjax.primitives.sharding_rules import whole
from glassjax.primitives.sparsity_rules import SparsityRule, sparsity_rules
from glassjax.runtime.array import to_array
from glassjax.runtime.effects import ProgramRules, declare_effects, define_dce, order_rules
from glassjax.runtime.lowering import Attributes, Module
from glassjax.runtime.templates import note_declaration
from glassjax.shardings.types import sharding_rules
from glassjax_stage2 import Primitive, ShapedArray, Zero, bind
from glassjax_stage2.arguments import FlatFunction, argument_names
from glassjax_stage2.primitives import reshape_p
from glassjax_stage2.shaped_array import is_inexact
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import tangent_type
from glassjax_stage2.tree import PyTreeDef, tree_flatten
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3 import Jaxpr, JaxprEqn, Literal, Var
from glassjax_stage3.dce import dce_rules
from glassjax_stage3.executable import cached_by_jaxpr
from glassjax_stage3.jaxpr import Atom, consts_as_invars
from glassjax_stage3.jit_rules import jvp_jaxpr, vmap_jaxpr
from glassjax_stage3.lowering import FunctionBuilder, Value
from glassjax_stage3.staging import abstractify
from glassjax_stage4.jit_rules import split_jaxpr, transpose_jaxpr
from glassjax_stage4.partial_eval import (
    PartialEqns,
    merge,
    partial_eval_rules,
    partition,
    split_call,
)
from glassjax_stage4.transpose import UndefPrimal, transpose_rules

# Dependence analysis: which outputs of a jaxpr depend on which inputs.
#
# The results of one iteration of a loop are the operands of the next. So the rules of loops
# iterate to a fixed point, and transforming the body each time, just to find dependences, would
# cost more than everything else.


# From flags of a program's arguments to flags of the results that depend on them.
Depends = Callable[[Jaxpr, Flags], Flags]

# `rule(depends, ins, params)`: flags of the results that depend on the flagged operands, where
# `depends` analyzes programs. None: any result may depend on any operand.
dependence_rules = ProgramRules("dependence analysis", "dependence_rules")


@cached_by_jaxpr
def unknown_outs(jaxpr: Jaxpr, unknown_ins: Flags) -> Flags:
    """Flags of the results that partial evaluation leaves unknown."""
    unknown = _chosen_atoms(jaxpr.invars, unknown_ins)
    for eqn in jaxpr.eqns:
        if unknown.isdisjoint(eqn.invars):
            continue
        ins = _flags(eqn.invars, unknown)
        if rule := dependence_rules.of(eqn.primitive):
            unknown |= _chosen_atoms(eqn.outvars, rule(unknown_outs, ins, eqn.params))
        elif split := partial_eval_rules.get(eqn.primitive):
            parts: PartialEqns = split(ins, eqn)
            unknown.update(parts.unknown.outvars if parts.unknown else ())
        else:
            unknown.update(eqn.outvars)
    return _flags(jaxpr.outvars, unknown)


@cached_by_jaxpr
def tangent_outs(jaxpr: Jaxpr, tangent_ins: Flags) -> Flags:
    """Flags of the results with a nonzero tangent."""
    varying = _chosen_atoms(jaxpr.invars, tangent_ins)
    for eqn in jaxpr.eqns:
        if varying.isdisjoint(eqn.invars) or eqn.primitive in piecewise_constant:
            continue
        ins = _flags(eqn.invars, varying)
        if rule := dependence_rules.of(eqn.primitive):
            varying |= _chosen_atoms(eqn.outvars, rule(tangent_outs, ins, eqn.params))
        elif eqn.primitive.higher_order:
            operands = list({x: None for x in eqn.invars if type(x) is Var})
            alone = Jaxpr([], operands, [eqn], eqn.outvars)
            _, _, outs = jvp_jaxpr(alone, _flags(operands, varying))
            varying |= _chosen_atoms(eqn.outvars, outs)
        else:
            # integers and booleans have no tangents
            varying.update(x for x in eqn.outvars if is_inexact(x.aval.dtype))
    return _flags(jaxpr.outvars, varying)


def cotangent_ins(jaxpr: Jaxpr, linear: Flags, cotangent_outs: Flags) -> Flags:
    """Flags of the arguments to which transposition may give a cotangent."""
    depending = _chosen_atoms(jaxpr.invars, linear)
    linear_eqns = []
    for eqn in jaxpr.eqns:
        if not depending.isdisjoint(eqn.invars):
            depending.update(eqn.outvars)
            linear_eqns.append(eqn)
    reached = depending & _chosen_atoms(jaxpr.outvars, cotangent_outs)
    for eqn in reversed(linear_eqns):
        if not reached.isdisjoint(eqn.outvars):
            reached |= depending.intersection(eqn.invars)
    return _flags(jaxpr.invars, reached)


def _chosen_atoms(atoms: Sequence[Atom], flags: Sequence[bool]) -> set[Atom]:
    return {x for x, flag in zip(atoms, flags, strict=True) if flag}


def _flags(atoms: Sequence[Atom], chosen: set[Atom]) -> Flags:
    return tuple([x in chosen for x in atoms])


# Declaration of a higher-order primitive, with all its rules at once.
#
# Each interpreter of the stages has a table, and so does dependence analysis. The tables of rooms
# above, for ordering effects, following random keys and running a program step by step, are here,
# so that a primitive can be declared in all of them at once.


Rule = Callable[..., Any]

# `rule(keys_of, count, **params)`: the uses of keys among `count` operands, as `keys_of` finds them
# in a program. None: its programs use no keys.
key_rules = ProgramRules("the uses of keys", "key_rules")

# `rule(args, **params)`: runs the programs, primitive by primitive. None: it is one step.
step_rules = ProgramRules("running step by step", "step_rules")


def declare_program(
    primitive: Primitive,
    *,
    abstract_eval: Rule,
    lower: Rule,
    vmap: Rule,
    sharding: Rule | None = None,
    sparsity: SparsityRule | None = None,
    jvp: Rule | None,
    transpose: Rule | None,
    partial_eval: Rule | None,
    dce: Rule | None,
    dependence: Rule | None,
    order: Rule | None,
    keys: Rule | None,
    steps: Rule | None,
    evaluate: Rule | None = None,
    effects: bool = False,
    calls_host: bool = False,
) -> None:
    """Enter a higher-order primitive in the table of every interpreter.

    Arguments:
        primitive: the primitive.
        abstract_eval: function from the types of operands to the list of types of results.
        lower: the lowering rule.
        vmap: function `(axis, values, dims, **params)` from a `BatchAxis`, operands and the numbers
            of their batch axes to results and theirs.
        sharding: function from types to the shardings of results, as for `declare`. None: the
            programs determine them, through `abstract_eval`.
        sparsity: as for `declare`. None: every element of the results depends on every element of
            the operands, unless the primitive only calls its program.
        jvp: function from operands and tangents, possibly `Zero`, to results and tangents. None:
            the results are piecewise constant.
        transpose: function from cotangents of the results to cotangents of the `UndefPrimal`
            operands. None: it is not linear in any operand.
        partial_eval: function from flags of the unknown operands, and an equation, to the two
            equations that it is split into. None: if an operand is unknown, so is every result.
        dce: function from flags of the used results, and an equation, to the operands that it
            needs, and the equation without the others. None: the equation does not change.
        dependence: function from a dependence analysis of programs, and flags of operands, to the
            results that depend on them. None: any may.
        order: adds tokens to an equation whose programs have effects. None: they may not have any.
        keys: the operands that its programs use as random keys. None: none.
        steps: runs its programs, primitive by primitive. None: it is one step.
        evaluate: function from operands to results. By default XLA compiles the primitive.
        effects: whether it has side effects.
        calls_host: whether it calls Python.

    This module has the rules of a primitive that calls one program on all of its operands. Here is
    one that calls it twice:

    >>> from functools import partial
    >>> from glassjax import core
    >>> twice_p = core.Primitive("twice", higher_order=True)
    >>> def twice(x, *, jaxpr):
    ...     return core.eval_jaxpr(jaxpr, [], *core.eval_jaxpr(jaxpr, [], x))
    >>> def vmap_twice(axis, values, dims, *, jaxpr):
    ...     return core.vmap_flat(partial(twice, jaxpr=jaxpr), values, dims, axis, "twice")
    >>> def jvp_twice(primals, tangents, *, jaxpr):
    ...     return core.jvp_flat(partial(twice, jaxpr=jaxpr), primals, tangents, "twice")
    >>> core.declare_program(
    ...     twice_p,
    ...     abstract_eval=lambda x, *, jaxpr: [x],
    ...     lower=core.lower_by(twice),
    ...     vmap=vmap_twice,
    ...     jvp=jvp_twice,
    ...     transpose=None,
    ...     partial_eval=None,
    ...     dce=None,
    ...     dependence=None,
    ...     order=None,
    ...     keys=None,
    ...     steps=None,
    ... )
    >>> def f(x):
    ...     jaxpr = core.trace_to_jaxpr(lambda x: [x * x], [core.typeof(x)], "twice", None)
    ...     return core.bind(twice_p, x, jaxpr=jaxpr)[0]
    >>> glassjax.jit(f)(3.0), glassjax.grad(f)(3.0)
    (Array(81., dtype=float32, weak_type=True), Array(108., dtype=float32, weak_type=True))
    """
    stage2.impl_rules[primitive] = evaluate or evaluate_compiled(primitive)
    note_declaration(primitive)
    stage3.abstract_eval_rules[primitive] = abstract_eval
    stage3.lowering_rules[primitive] = lower
    stage2.vmap_rules[primitive] = vmap
    if sharding is not None:
        sharding_rules[primitive] = sharding
    if sparsity is not None:
        sparsity_rules[primitive] = sparsity
    if jvp is None:
        stage2.defzero(primitive)
        piecewise_constant.add(primitive)
    else:
        stage2.jvp_rules[primitive] = jvp
    if transpose is not None:
        transpose_rules[primitive] = transpose
    partial_eval_rules[primitive] = partial_eval
    define_dce(primitive, dce)
    complete(primitive, dependence=dependence, order=order, keys=keys, steps=steps)
    if effects:
        declare_effects(primitive)
    if calls_host:
        host_calls.add(primitive)


def complete(
    primitive: Primitive,
    *,
    dependence: Rule | None,
    order: Rule | None,
    keys: Rule | None,
    steps: Rule | None,
) -> None:
    """Enter a primitive in the tables that only the library has; see `declare_program`."""
    dependence_rules[primitive] = dependence
    order_rules[primitive] = order
    key_rules[primitive] = keys
    step_rules[primitive] = steps


# Rules of primitives that call their only program, `jaxpr`, on all of their operands.


WithToken = Callable[[Jaxpr], Jaxpr]


def program_impl(*args: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return stage3.eval_jaxpr(jaxpr, [], *args)


def program_type(*in_avals: ShapedArray, jaxpr: Jaxpr, **params: Any) -> list[ShapedArray]:
    return jaxpr.out_avals


def program_lower(name: str) -> Callable[..., list[Value]]:
    """The lowering rule that calls the program as a function of that name."""

    def call_lower(
        b: FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *args: Value,
        jaxpr: Jaxpr,
        **params: Any,
    ) -> list[Value]:
        return call_text(b, jaxpr, name, args)

    return call_lower


def program_jvp(bind_program: Callable[..., list[Any]]) -> Callable[..., Any]:
    """The jvp rule that calls the program's jvp, by `bind_program(*args, jaxpr=, **params)`."""

    def call_jvp(
        primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Jaxpr, **params: Any
    ) -> tuple[list[Any], list[Any]]:
        nonzero = tuple(type(t) is not Zero for t in tangents)
        program, consts, out_nonzero = jvp_jaxpr(jaxpr, nonzero)
        given = [t for t in tangents if type(t) is not Zero]
        results = bind_program(*consts, *primals, *given, jaxpr=program, **params)
        outs, dots = results[: len(jaxpr.outvars)], results[len(jaxpr.outvars) :]
        zeros = [Zero(tangent_type(aval)) for aval in partition(out_nonzero, jaxpr.out_avals)[0]]
        return outs, merge(out_nonzero, zeros, dots)

    return call_jvp


def program_vmap(bind_program: Callable[..., list[Any]]) -> Callable[..., Any]:
    """The vmap rule that calls the program of whole batches, by `bind_program`."""

    def call_vmap(
        axis: BatchAxis,
        values: Sequence[Any],
        dims: Sequence[BatchDim],
        /,
        *,
        jaxpr: Jaxpr,
        **params: Any,
    ) -> tuple[list[Any], list[BatchDim]]:
        program, consts, out_dims = vmap_jaxpr(jaxpr, axis, tuple(dims))
        return bind_program(*consts, *values, jaxpr=program, **params), out_dims

    return call_vmap


def call_transpose(bind_program: Callable[..., list[Any]]) -> Callable[..., Any]:
    """The transposition rule that calls the transposed program, by `bind_program`."""

    def transpose_rule(cts: Sequence[Any], *args: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
        linear = tuple(isinstance(x, UndefPrimal) for x in args)
        nonzero = tuple(type(ct) is not Zero for ct in cts)
        program, consts, nonzero_ins = transpose_jaxpr(jaxpr, linear, nonzero)
        known = [x for x in args if not isinstance(x, UndefPrimal)]
        given = [ct for ct in cts if type(ct) is not Zero]
        outs = iter(bind_program(*consts, *known, *given, jaxpr=program, **params))
        return [next(outs) if keep else None for keep in nonzero_ins]

    return transpose_rule


def call_partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    """The calls of the known and the unknown half of a call's program, by the same primitive."""
    parts = split_jaxpr(eqn.params["jaxpr"], tuple(unknown_ins))
    halves = ({**eqn.params, "jaxpr": half} for half in (parts.known, parts.unknown))
    return split_call(eqn, unknown_ins, parts.unknown_outs, parts.residuals, *halves)


transpose_program = call_transpose(program_impl)
dce_program = dce_rules[stage3.jit_p]  # works for any primitive


def program_dependence(depends: Depends, ins: Flags, params: dict[str, Any]) -> Flags:
    return depends(params["jaxpr"], ins)


def pass_token(eqn: JaxprEqn, token: Var | Literal, following: Var) -> JaxprEqn:
    """The equation that passes a token on, past an unordered one."""
    return JaxprEqn(reshape_p, [token], [following], {"new_sizes": ()}, eqn.source)


def program_effects(
    with_token: WithToken, eqn: JaxprEqn, token: Var | Literal, following: Var
) -> list[JaxprEqn]:
    params = {**eqn.params, "jaxpr": with_token(eqn.params["jaxpr"])}
    invars, outvars = [*eqn.invars, token], [*eqn.outvars, following]
    return [JaxprEqn(eqn.primitive, invars, outvars, params, eqn.source)]


def program_keys(
    keys_of: Callable[[Jaxpr], Any], count: int, *, jaxpr: Jaxpr, **params: Any
) -> Any:
    return keys_of(jaxpr)


def run_program(args: Sequence[Any], *, jaxpr: Jaxpr, **params: Any) -> None:
    stage3.eval_jaxpr(jaxpr, [], *args)


complete(
    stage3.jit_p,
    dependence=program_dependence,
    order=program_effects,
    keys=program_keys,
    steps=run_program,
)


def declare_call(
    primitive: Primitive,
    *,
    lower: Rule,
    vmap: Rule | None = None,
    transpose: Rule | None = None,
    partial_eval: Rule = call_partial_eval,
    evaluate: Rule | None = None,
) -> None:
    """Declare a primitive that calls its only program, `jaxpr`, on all of its operands.

    Arguments:
        primitive: the primitive.
        lower, partial_eval, evaluate: as for `declare_program`.
        vmap, transpose: as for `declare_program`; by default the primitive calls the transformed
            program.
    """
    bind_program = partial(bind, primitive)
    declare_program(
        primitive,
        abstract_eval=program_type,
        lower=lower,
        vmap=vmap or program_vmap(bind_program),
        jvp=program_jvp(bind_program),
        transpose=transpose or call_transpose(bind_program),
        partial_eval=partial_eval,
        dce=dce_program,
        dependence=program_dependence,
        order=program_effects,
        keys=program_keys,
        steps=run_program,
        evaluate=evaluate,
    )


def pass_token_on(
    with_token: WithToken, eqn: JaxprEqn, token: Var | Literal, following: Var
) -> list[JaxprEqn]:
    """The equation as it is, and one that passes the token on: data alone orders the first."""
    return [eqn, pass_token(eqn, token, following)]


def declare_opaque(
    primitive: Primitive,
    *,
    abstract_eval: Rule,
    lower: Rule,
    vmap: Rule,
    sharding: Rule | None = whole,
    jvp: Rule | None = None,
    order: Rule | None,
    evaluate: Rule | None = None,
    effects: bool,
    calls_host: bool = False,
) -> None:
    """Declare a primitive that calls what is not a jaxpr, such as a Python function.

    Arguments:
        primitive: the primitive.
        abstract_eval, lower, vmap, order, evaluate, effects, calls_host: as for `declare_program`.
        sharding: as for `declare_program`; by default operands and results are replicated.
        jvp: as for `declare_program`; by default a primitive without results, bound to the primals.
    """

    def jvp_of_no_result(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return bind(primitive, *primals, **params), []

    declare_program(
        primitive,
        abstract_eval=abstract_eval,
        lower=lower,
        vmap=vmap,
        sharding=sharding,
        jvp=jvp or jvp_of_no_result,
        transpose=None,
        partial_eval=None,
        dce=None,
        dependence=None,
        order=order,
        keys=None,
        steps=None,
        evaluate=evaluate,
        effects=effects,
        calls_host=calls_host,
    )


# Calls of programs as functions, with frontend attributes on the call.


Finish = Callable[[FunctionBuilder, Sequence[Value]], list[Value]]


def attributed_call(name: str, finish: Finish | None = None) -> Primitive:
    """Declare a primitive that calls its program with attributes.

    `finish` writes operations on its results.

    Parameters: the program, its attributes, and the attributes of linear calls, which come from
    differentiation.
    """
    primitive = Primitive(name, higher_order=True)
    calls.add(primitive)

    def attributed_call_lower(
        b: FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *args: Value,
        jaxpr: Jaxpr,
        attributes: Attributes,
        linear_attributes: Attributes,
    ) -> list[Value]:
        outs = call_text(b, jaxpr, name, args)
        # a stage's module writes no attributes
        if isinstance(b.module, Module):
            b.module.attribute(b, outs, attributes)
        return outs if finish is None else finish(b, outs)

    def attributed_call_partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
        known, unknown = call_partial_eval(unknown_ins, eqn)
        assert unknown is not None
        params = {**unknown.params, "attributes": eqn.params["linear_attributes"]}
        linear = JaxprEqn(primitive, unknown.invars, unknown.outvars, params, eqn.source)
        return PartialEqns(known, linear)

    def bind_linear(
        *args: Any, jaxpr: Jaxpr, attributes: Attributes, linear_attributes: Attributes
    ) -> Any:
        return bind(
            primitive,
            *args,
            jaxpr=jaxpr,
            attributes=linear_attributes,
            linear_attributes=linear_attributes,
        )

    declare_call(
        primitive,
        lower=attributed_call_lower,
        transpose=call_transpose(bind_linear),
        partial_eval=attributed_call_partial_eval,
    )
    return primitive


def staged_call(
    caller: str, fun: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[Jaxpr, list[Any], Callable[[Sequence[Any]], Any]]:
    """A function staged for a call: program, operands, and a function to rebuild the result."""
    leaves, in_tree = tree_flatten((args, kwargs))

    def argument_labels() -> list[str]:
        return argument_names(fun, args, kwargs)

    in_avals = abstractify(f"{caller} of `{name_of(fun)}`", argument_labels, leaves)
    flat = FlatFunction(fun, in_tree, has_kwargs=True)
    closed = stage_body(flat, in_avals, caller, fun, argument_labels)
    out_tree: PyTreeDef = flat.out_tree

    def finish_call(outs: Sequence[Any]) -> Any:
        return out_tree.unflatten(map(to_array, outs))

    return consts_as_invars(closed), [*closed.consts, *leaves], finish_call
