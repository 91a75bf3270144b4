"""`checkpoint` and its policies: the residuals that are kept, and those that are recomputed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from types import SimpleNamespace
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

import glassjax_stage2 as stage2
from glassjax.errors.arguments import checking_arguments, require_flags
from glassjax.primitives import higher_order, sparsity_rules
from glassjax.primitives.declare import calls, declare
from glassjax.primitives.loops import call_text, region
from glassjax.primitives.sharding_rules import by_elements
from glassjax.runtime import refs
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.effects import has_effects
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import wraps
from glassjax.shardings import memories
from glassjax.transforms.backward_logs import log_from_program
from glassjax_stage2 import Primitive, ShapedArray, bind, bind1
from glassjax_stage2.arguments import require_function
from glassjax_stage2.functions import ints
from glassjax_stage2.primitives import dot_general_p
from glassjax_stage2.tree import tree_flatten
from glassjax_stage2.vmap_rules import elementwise
from glassjax_stage3 import Jaxpr, JaxprEqn, Var, jit_p
from glassjax_stage3.lowering import FunctionBuilder, Value, signature
from glassjax_stage4.jit_rules import split_jaxpr
from glassjax_stage4.partial_eval import PartialEqns, PartialJaxprs, partition, without_dead_code

# Policies of `checkpoint`: the results of primitives to keep instead of recomputing.


class _PolicyDecision:
    """A decision of a policy, in place of True or False."""

    def __init__(self, name: str, keeps: bool):
        self._name = name
        self._keeps = keeps

    def __bool__(self) -> bool:
        return self._keeps

    def __repr__(self) -> str:
        return self._name


Saveable = _PolicyDecision("Saveable", True)
Recompute = _PolicyDecision("Recompute", False)


class Offloadable(NamedTuple):
    """A decision of a policy, in place of True: keep the results in another memory.

    They are moved there, and back when cotangents arrive.

    Attributes:
        src, dst: the kinds of memory of the results and of the residuals.

    >>> policy = lambda prim, *avals, **params: Offloadable("device", "pinned_host")
    >>> glassjax.grad(glassjax.checkpoint(jnp.sin, policy=policy))(0.0)
    Array(1., dtype=float32, weak_type=True)
    """

    src: str
    dst: str


# `policy(primitive, *in_avals, **params)`: whether to keep the results.
Policy = Callable[..., bool | _PolicyDecision | Offloadable]

name_p = Primitive("name")
declare(
    name_p,
    abstract_eval=lambda x, *, name: [x],
    lower=lambda b, out_avals, x, *, name: [x],
    vmap=elementwise(name_p),
    sharding=by_elements(name_p),
    sparsity=sparsity_rules.by_elements,
    jvp=[lambda t, out, x, *, name: bind1(name_p, t, name=name)],
    transpose=[lambda ct, x, *, name: ct],
)


def everything_saveable(prim: Primitive, *in_avals: ShapedArray, **params: Any) -> bool:
    """Keep everything, as without `checkpoint`.

    The numbers of products and sines in the program of a gradient:

    >>> f = lambda w, x: jnp.sum(jnp.sin(w @ x) ** 2)
    >>> g = glassjax.checkpoint(f, policy=glassjax.checkpoint_policies.everything_saveable)
    >>> program = str(glassjax.make_jaxpr(glassjax.grad(g))(jnp.ones((2, 2)), jnp.ones(2)))
    >>> program.count("dot_general"), program.count("= sin ")
    (2, 1)
    """
    return True


def nothing_saveable(prim: Primitive, *in_avals: ShapedArray, **params: Any) -> bool:
    """Keep only the arguments, as without a policy.

    The numbers of products and sines in the program of a gradient:

    >>> f = lambda w, x: jnp.sum(jnp.sin(w @ x) ** 2)
    >>> g = glassjax.checkpoint(f, policy=glassjax.checkpoint_policies.nothing_saveable)
    >>> program = str(glassjax.make_jaxpr(glassjax.grad(g))(jnp.ones((2, 2)), jnp.ones(2)))
    >>> program.count("dot_general"), program.count("= sin ")
    (3, 2)
    """
    return False


def dots_saveable(prim: Primitive, *in_avals: ShapedArray, **params: Any) -> bool:
    """Keep matrix products, which take most of the time and little of the memory.

    The numbers of products and sines in the program of a gradient:

    >>> f = lambda w, x: jnp.sum(jnp.sin(w @ x) ** 2)
    >>> g = glassjax.checkpoint(f, policy=glassjax.checkpoint_policies.dots_saveable)
    >>> program = str(glassjax.make_jaxpr(glassjax.grad(g))(jnp.ones((2, 2)), jnp.ones(2)))
    >>> program.count("dot_general"), program.count("= sin ")
    (2, 2)
    """
    return prim is dot_general_p


def dots_with_no_batch_dims_saveable(
    prim: Primitive, *in_avals: ShapedArray, **params: Any
) -> bool:
    """Keep matrix products without batch axes.

    The numbers of products and sines in the program of a gradient:

    >>> f = lambda w, x: jnp.sum(jnp.sin(glassjax.vmap(jnp.dot)(w, x)) ** 2)
    >>> policy = glassjax.checkpoint_policies.dots_with_no_batch_dims_saveable
    >>> gradient = glassjax.grad(glassjax.checkpoint(f, policy=policy))
    >>> program = str(glassjax.make_jaxpr(gradient)(jnp.ones((5, 2, 2)), jnp.ones((5, 2))))
    >>> program.count("dot_general"), program.count("= sin ")
    (3, 2)
    """
    if prim is not dot_general_p:
        return False
    _, (x_batch, y_batch) = params["dimension_numbers"]
    return not x_batch and not y_batch


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Keep the values that `checkpoint_name` gave one of these names.

    The numbers of both logarithms in the program of a gradient:

    >>> from glassjax.ad_checkpoint import checkpoint_name
    >>> f = lambda x: jnp.exp(checkpoint_name(jnp.log1p(checkpoint_name(jnp.log(x), "a")), "b"))
    >>> policy = glassjax.checkpoint_policies.save_only_these_names("b")
    >>> df = glassjax.grad(glassjax.checkpoint(f, policy=policy))
    >>> program = str(glassjax.make_jaxpr(df)(3.0))
    >>> program.count("= log "), program.count("= log1p ")
    (2, 1)
    """
    names = frozenset(names_which_can_be_saved)
    return lambda prim, *in_avals, **params: prim is name_p and params["name"] in names


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Keep the values with a name other than these.

    The numbers of both logarithms in the program of a gradient:

    >>> from glassjax.ad_checkpoint import checkpoint_name
    >>> f = lambda x: jnp.exp(checkpoint_name(jnp.log1p(checkpoint_name(jnp.log(x), "a")), "b"))
    >>> policy = glassjax.checkpoint_policies.save_any_names_but_these("b")
    >>> df = glassjax.grad(glassjax.checkpoint(f, policy=policy))
    >>> program = str(glassjax.make_jaxpr(df)(3.0))
    >>> program.count("= log "), program.count("= log1p ")
    (1, 2)
    """
    names = frozenset(names_not_to_save)
    return lambda prim, *in_avals, **params: prim is name_p and params["name"] not in names


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Keep all values except those with one of these names.

    The numbers of both logarithms in the program of a gradient:

    >>> from glassjax.ad_checkpoint import checkpoint_name
    >>> f = lambda x: jnp.exp(checkpoint_name(jnp.log1p(checkpoint_name(jnp.log(x), "a")), "b"))
    >>> policy = glassjax.checkpoint_policies.save_anything_except_these_names("b")
    >>> df = glassjax.grad(glassjax.checkpoint(f, policy=policy))
    >>> program = str(glassjax.make_jaxpr(df)(3.0))
    >>> program.count("= log "), program.count("= log1p ")
    (1, 1)
    """
    names = frozenset(names_not_to_save)
    return lambda prim, *in_avals, **params: not (prim is name_p and params["name"] in names)


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keep the values that either policy keeps.

    The numbers of products and sines in the program of a gradient:

    >>> from glassjax.ad_checkpoint import checkpoint_name
    >>> policies = glassjax.checkpoint_policies
    >>> policy = policies.save_from_both_policies(
    ...     policies.dots_saveable, policies.save_only_these_names("waves")
    ... )
    >>> f = lambda w, x: jnp.sum(checkpoint_name(jnp.sin(w @ x), "waves") ** 2)
    >>> gradient = glassjax.grad(glassjax.checkpoint(f, policy=policy))
    >>> program = str(glassjax.make_jaxpr(gradient)(jnp.ones((2, 2)), jnp.ones(2)))
    >>> program.count("dot_general"), program.count("= sin ")
    (2, 1)
    """
    return lambda prim, *in_avals, **params: (
        policy_1(prim, *in_avals, **params) or policy_2(prim, *in_avals, **params)
    )


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """As `dots_with_no_batch_dims_saveable`, with the products kept in another memory.

    Arguments:
        offload_src, offload_dst: the kinds of memory of the products and of the residuals.

    >>> f = lambda w, x: jnp.sum(jnp.sin(jnp.sin(w @ x)))
    >>> policy = glassjax.checkpoint_policies.offload_dot_with_no_batch_dims(
    ...     "device", "pinned_host"
    ... )
    >>> _, pull_back = glassjax.vjp(glassjax.checkpoint(f, policy=policy), jnp.eye(2), jnp.ones(2))
    >>> [x.sharding.memory_kind for x in glassjax.tree.leaves(pull_back)].count("pinned_host")
    1
    """
    move = Offloadable(offload_src, offload_dst)
    return lambda prim, *in_avals, **params: (
        dots_with_no_batch_dims_saveable(prim, *in_avals, **params) and move
    )


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Iterable[str],
    names_which_can_be_offloaded: Iterable[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Keep the values with one of these names, some of them in another memory.

    Arguments:
        names_which_can_be_saved: the names of values that stay where they are.
        names_which_can_be_offloaded: the names of values that are moved.
        offload_src, offload_dst: the kinds of memory of the latter and of the residuals.

    Raises:
        ValueError: a name is in both.

    >>> from glassjax.ad_checkpoint import checkpoint_name
    >>> policy = glassjax.checkpoint_policies.save_and_offload_only_these_names(
    ...     names_which_can_be_saved=["a"],
    ...     names_which_can_be_offloaded=["b"],
    ...     offload_src="device",
    ...     offload_dst="pinned_host",
    ... )
    >>> f = lambda x: jnp.sin(checkpoint_name(jnp.sin(checkpoint_name(jnp.sin(x), "a")), "b"))
    >>> _, pull_back = glassjax.vjp(glassjax.checkpoint(f, policy=policy), 1.0)
    >>> sorted({x.sharding.memory_kind for x in glassjax.tree.leaves(pull_back)})
    ['device', 'pinned_host']
    """
    kept, moved = frozenset(names_which_can_be_saved), frozenset(names_which_can_be_offloaded)
    if both := kept & moved:
        raise ValueError(
            f"save_and_offload_only_these_names: {sorted(both)} can be in only one of "
            "names_which_can_be_saved and names_which_can_be_offloaded"
        )
    move = Offloadable(offload_src, offload_dst)

    def by_name(prim: Primitive, *in_avals: ShapedArray, **params: Any) -> bool | Offloadable:
        name = params["name"] if prim is name_p else None
        return move if name in moved else name in kept

    return by_name


checkpoint_policies = SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    save_only_these_names=save_only_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_anything_except_these_names=save_anything_except_these_names,
    save_from_both_policies=save_from_both_policies,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
)


# Saved values, in inner programs too.
#
# A policy decides about one equation at a time. An equation that holds programs (a branch, the
# body of a loop) is split into one that also returns what its programs save, and one that
# computes its results again from that.


MaySave = Callable[[JaxprEqn], bool | _PolicyDecision | Offloadable]


class SavedEqns(NamedTuple):
    """Equations that compute values and save some; and equations that recompute the others."""

    first: list[JaxprEqn]
    saved: list[Var]
    again: list[JaxprEqn]


Call = tuple[dict[str, Any], Sequence[Any]]  # parameters and operands


def split_eqn(eqn: JaxprEqn, saved: list[Var], first: Call, again: Call) -> SavedEqns:
    """One equation that also returns `saved`, and one that computes the results from that."""

    def call_eqn(
        params: dict[str, Any], operands: Sequence[Any], outvars: Sequence[Var]
    ) -> JaxprEqn:
        return JaxprEqn(eqn.primitive, operands, outvars, params, eqn.source)

    return SavedEqns(
        [call_eqn(*first, [*eqn.outvars, *saved])], saved, [call_eqn(*again, eqn.outvars)]
    )


# How a higher-order primitive saves values of its inner programs; None if nothing is saved.
saving_rules: dict[Primitive, Callable[[JaxprEqn, MaySave], SavedEqns | None]] = {}


def save_eqns(eqns: Iterable[JaxprEqn], may_save: MaySave) -> SavedEqns:
    """Save the results of those equations that `may_save` selects, in inner programs too.

    An equation with effects runs once: all of its results are saved.
    """
    found = SavedEqns([], [], [])
    for eqn in eqns:
        decision = has_effects(eqn) or may_save(eqn)
        if decision:
            found.first.append(eqn)
            saved = eqn.outvars
            if isinstance(decision, Offloadable):
                saved = [_offloaded(found, x, decision) for x in saved]
            found.saved.extend(saved)
            continue
        rule = saving_rules.get(eqn.primitive)
        inner = rule and rule(eqn, may_save)
        first, saved, again = inner or ([eqn], [], [eqn])
        found.first.extend(first)
        found.saved.extend(saved)
        found.again.extend(again)
    return found


def _offloaded(found: SavedEqns, x: Var, move: Offloadable) -> Var:
    """The variable of `x` in another memory; equations that move it there and back."""
    back, there = (
        memories.space_of_kind(memories.checked_kind("checkpoint", None, kind)) for kind in move
    )
    kept = Var(memories.in_space(x.aval, there))
    found.first.append(JaxprEqn(memories.device_put_p, [x], [kept], memories.put_params(there)))
    found.again.append(JaxprEqn(memories.device_put_p, [kept], [x], memories.put_params(back)))
    return kept


def save_in_program(jaxpr: Jaxpr, may_save: MaySave) -> PartialJaxprs | None:
    """Split a program: `known` returns its results, then what is saved; `unknown` takes that
    before its arguments, and returns the results."""
    first, saved, again = save_eqns(jaxpr.eqns, may_save)
    if not saved:
        return None
    return PartialJaxprs(
        Jaxpr([], jaxpr.invars, first, [*jaxpr.outvars, *saved]),
        Jaxpr([], [*saved, *jaxpr.invars], again, jaxpr.outvars),
        [True] * len(jaxpr.outvars),
        len(saved),
    )


def save_in_call(eqn: JaxprEqn, may_save: MaySave) -> SavedEqns | None:
    """The rule of a primitive that applies the program `jaxpr` to its operands."""
    parts = save_in_program(eqn.params["jaxpr"], may_save)
    if parts is None:
        return None
    saved = [Var(aval) for aval in parts.residuals]
    first, again = ({**eqn.params, "jaxpr": half} for half in (parts.known, parts.unknown))
    return split_eqn(eqn, saved, (first, eqn.invars), (again, [*saved, *eqn.invars]))


saving_rules[jit_p] = save_in_call


# `checkpoint`: reverse mode that keeps few residuals and recomputes the rest.


# Parameters: the program; the policy; `prevent_cse`, whether to hide recomputation from XLA; and
# `again`, whether the program recomputes, as the unknown half of a split program may do.
checkpoint_p = Primitive("remat2", higher_order=True)
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

    >>> import glassjax
    >>> import glassjax.numpy as jnp
    >>> glassjax.grad(checkpoint(lambda x: jnp.sin(jnp.sin(x))))(0.0)
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
        def dynamic_fun(*args: Any, **kwargs: Any) -> Any:
            return fun(*[fixed.get(i, arg) for i, arg in enumerate(args)], **kwargs, **named)

        given, rest, places = refs.split_refs("checkpoint", (dynamic, kwargs))

        def stage_checkpoint(outer: Sequence[refs.Ref]) -> Any:
            if not (given or outer):
                return again_in_reverse(dynamic_fun, dynamic, kwargs)
            with_values = refs.program_with_refs(dynamic_fun, places, outer)
            with refs.lending(given) as values:
                values, out = again_in_reverse(
                    with_values, ([*values, *refs.values_of(outer)], rest), {}
                )
            refs.write_all([*given, *outer], values)
            return out

        return refs.with_outer_refs(stage_checkpoint)

    def again_in_reverse(inner: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        jaxpr, operands, finish = higher_order.staged_call("checkpoint", inner, args, kwargs)
        params = {"policy": policy, "prevent_cse": any(marks), "again": False}
        return finish(bind(checkpoint_p, *operands, jaxpr=jaxpr, **params))

    return checkpointed


@evaluated_by_library
def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, a pytree of arrays, under a name that `checkpoint` policies can refer to.

    Arguments:
        x: an array or a pytree of arrays.
        name: the name, for `checkpoint_policies.save_only_these_names` and the like.

    Returns:
        `x`. The name changes no value.

    >>> from glassjax.ad_checkpoint import checkpoint_name
    >>> policy = glassjax.checkpoint_policies.save_only_these_names("waves")
    >>> f = lambda x: jnp.exp(checkpoint_name(jnp.sin(x), "waves"))
    >>> glassjax.grad(glassjax.checkpoint(f, policy=policy))(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return stage2.tree_map(lambda leaf: bind1(name_p, leaf, name=name), tree_to_arrays(x))


def _checkpoint_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    jaxpr: Jaxpr,
    prevent_cse: bool,
    again: bool,
    **params: Any,
) -> list[Value]:
    """Lower recomputation as a branch that XLA cannot predict.

    The branch waits for all of its operands, including the cotangents, and is not merged with the
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


class _CheckpointHalves(NamedTuple):
    """The known half of a program, and the unknown half, which recomputes unsaved values.

    `known` returns the known results and then the saved values. `unknown`, a set of parameters,
    takes the saved values, then some of the known arguments, then the unknown ones.
    """

    known: Jaxpr
    unknown: dict[str, Any]
    unknown_outs: list[bool]
    from_arguments: list[int]  # positions of known arguments that `unknown` takes

    def operands(
        self, known_ins: Sequence[Any], kept: Sequence[Any], unknown_ins: Sequence[Any]
    ) -> list[Any]:
        return [*kept, *(known_ins[i] for i in self.from_arguments), *unknown_ins]


def _checkpoint_halves(unknown_ins: tuple[bool, ...], params: dict[str, Any]) -> _CheckpointHalves:
    parts = split_jaxpr(params["jaxpr"], unknown_ins)
    known, unknown, count = parts.known, parts.unknown, parts.num_residuals
    outs = known.outvars[: len(known.outvars) - count]
    may_keep = params["policy"] or checkpoint_policies.nothing_saveable

    def may_save(eqn: JaxprEqn) -> bool:
        return may_keep(eqn.primitive, *(x.aval for x in eqn.invars), **eqn.params)

    first, saved, again = save_eqns(known.eqns, may_save)
    # The unknown half takes the residuals as arguments; the whole program computes them.
    known_outs = dict(zip(unknown.invars[:count], known.outvars[len(outs) :], strict=True))

    def renamed(atom: Any) -> Any:
        return known_outs.get(atom, atom)

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
    # If nothing costly is recomputed, nothing needs to be hidden from XLA.
    free = (name_p, memories.device_put_p)
    costly = {x for eqn in again if eqn.primitive not in free for x in eqn.outvars}
    is_costly = any(x in costly for eqn in whole.eqns for x in eqn.outvars)
    later = {
        **params,
        "jaxpr": Jaxpr([], invars, whole.eqns, whole.outvars),
        "again": params["again"] or is_costly,
    }
    positions = [known.invars.index(x) for x in from_arguments]
    return _CheckpointHalves(at_once, later, parts.unknown_outs, positions)


def _checkpoint_partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    halves = _checkpoint_halves(tuple(unknown_ins), eqn.params)
    known_ins, ins_unknown = partition(unknown_ins, eqn.invars)
    known_outs, outs_unknown = partition(halves.unknown_outs, eqn.outvars)
    kept = [Var(aval) for aval in halves.known.out_avals[len(known_outs) :]]
    operands = halves.operands(known_ins, kept, ins_unknown)
    known = {**eqn.params, "jaxpr": halves.known}
    return PartialEqns(
        [JaxprEqn(checkpoint_p, known_ins, [*known_outs, *kept], known, eqn.source)],
        JaxprEqn(checkpoint_p, operands, outs_unknown, halves.unknown, eqn.source),
    )


higher_order.declare_call(
    checkpoint_p,
    lower=_checkpoint_lower,
    partial_eval=_checkpoint_partial_eval,
    evaluate=higher_order.program_impl,
)
saving_rules[checkpoint_p] = save_in_call
log_from_program(checkpoint_p)
