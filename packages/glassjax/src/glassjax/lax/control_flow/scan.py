"""Loops over arrays: `scan` and `map`, under every transformation."""

import builtins
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

import glassjax_stage2 as stage2
import glassjax_stage3 as stage3
from glassjax.dimensions.expressions import is_symbolic_dim, max_size, surely_at_least
from glassjax.errors import ConcretizationTypeError, ShardingTypeError
from glassjax.errors.arguments import require_fit
from glassjax.lax.control_flow.program_cache import keeps_programs, scan_in_python
from glassjax.lax.slicing import concatenate, slice
from glassjax.primitives import higher_order, loops, sparsity_analysis, sparsity_rules
from glassjax.primitives.higher_order import unknown_outs
from glassjax.runtime import refs as references
from glassjax.runtime import scan_trees
from glassjax.runtime.array import to_array, tree_to_arrays
from glassjax.runtime.effects import has_effects
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.inspection import as_typed
from glassjax.runtime.nesting import nests_calls
from glassjax.settings.names import counted
from glassjax.settings.options import jit_is_disabled
from glassjax.shardings.types import reduction_of
from glassjax.transforms import checkpoint
from glassjax.transforms.backward_logs import log_from_program
from glassjax.transforms.vmap import vmap
from glassjax.tree_util import treedef_tuple
from glassjax.xla import trees
from glassjax_stage2 import ShapedArray, Zero, bind, typeof
from glassjax_stage2.arguments import FlatFunction, argument_names, require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import ints
from glassjax_stage2.primitives import add_p
from glassjax_stage2.shaped_array import dialect
from glassjax_stage2.source import Source, name_of
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3 import Jaxpr, JaxprEqn, Var, dce_jaxpr
from glassjax_stage3.jaxpr import Atom, consts_as_invars, require_accepted
from glassjax_stage3.jit_rules import jvp_jaxpr, vmap_jaxpr
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature
from glassjax_stage3.staging import abstractify
from glassjax_stage4.jit_rules import split_jaxpr, transpose_jaxpr
from glassjax_stage4.partial_eval import (
    PartialEqns,
    PartialJaxprs,
    merge,
    partition,
    without_dead_code,
)
from glassjax_stage4.transpose import UndefPrimal

# The primitive of `scan`: its operands, its type, and its dependence analysis.


scan_p = stage2.Primitive("scan", higher_order=True)


def split_operands(items: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Constants, carry, elements."""
    first, last = params["num_consts"], params["num_consts"] + params["num_carry"]
    return items[:first], items[first:last], items[last:]


def carry_through(
    depends: higher_order.Depends, ins: loops.Flags, params: dict[str, Any]
) -> loops.Flags:
    """Return flags of the carry parts that depend on the flagged operands after any iteration."""
    const_flags, carry_flags, xs_flags = split_operands(ins, params)

    def after_iteration(flags: loops.Flags) -> loops.Flags:
        return depends(params["jaxpr"], (*const_flags, *flags, *xs_flags))[: len(flags)]

    return loops.until_stable(carry_flags, after_iteration)


def scan_dependence(
    depends: higher_order.Depends, ins: loops.Flags, params: dict[str, Any]
) -> loops.Flags:
    const_flags, _, xs_flags = split_operands(ins, params)
    carry_flags = carry_through(depends, ins, params)
    outs = depends(params["jaxpr"], (*const_flags, *carry_flags, *xs_flags))
    return (*carry_flags, *outs[len(carry_flags) :])


_MOST_EQUATIONS = 5_000


def _scan_sparsity(
    analysis: sparsity_rules.Analysis,
    operands: Sequence[sparsity_rules.Operand],
    out_avals: Sequence[ShapedArray],
    params: dict[str, Any],
) -> list[Any]:
    """Follow a short loop step by step; a long one by the sparsity of its body."""
    jaxpr, length = params["jaxpr"], params["length"]
    consts, carry, xs = split_operands(operands, params)
    if length * len(jaxpr.eqns) > _MOST_EQUATIONS:
        return _long_scan_sparsity(analysis, operands, params)
    ys = [np.zeros(aval.shape, np.int64) for aval in out_avals[len(carry) :]]
    for i in reversed(range(length)) if params["reverse"] else range(length):
        outs = analysis.run(jaxpr, [*consts, *carry, *(x.element(i) for x in xs)])
        carry = outs[: len(carry)]
        for y, out in zip(ys, outs[len(carry) :], strict=True):
            y[i] = out.ids
    return [*(x.ids for x in carry), *ys]


def _long_scan_sparsity(
    analysis: sparsity_rules.Analysis,
    operands: Sequence[sparsity_rules.Operand],
    params: dict[str, Any],
) -> list[Any]:
    """The carry of any iteration, by a fixed point; results of each by its own elements."""
    jaxpr, length = params["jaxpr"], params["length"]
    consts, carry, xs = split_operands(operands, params)
    body = sparsity_analysis.Relation(analysis, jaxpr)
    any_element = [analysis.sets.union_along(x.ids, (0,))[0] for x in xs]

    def after_iteration(carry: Sequence[sparsity_rules.Operand]) -> list[Any]:
        ids = [*(x.ids for x in (*consts, *carry)), *any_element]
        return [out[0] for out in body.of([x[None] for x in ids])[: len(carry)]]

    carry = analysis.until_stable(carry, after_iteration)
    same = [np.broadcast_to(x.ids, (length, *x.aval.shape)) for x in (*consts, *carry)]
    outs = body.of([*same, *(x.ids for x in xs)])
    return [*(x.ids for x in carry), *outs[len(carry) :]]


def scan_type(*in_avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    jaxpr, length, num_carry = params["jaxpr"], params["length"], params["num_carry"]
    consts, carry, xs = split_operands(in_avals, params)
    for x in xs:
        if x.shape[:1] != (length,):
            raise TypeError(f"scan: expected {counted(length, 'element')}, found {x}")
    elements = [x.without_axis(0) for x in xs]
    for x in xs:
        if reduction_of(x).unreduced:  # the partitioner would make wrong sums
            raise ShardingTypeError(
                f"scan over elements of {x}, which is unreduced: combine the parts first, by "
                "sharding.reshard"
            )
    require_accepted("scan: the body", jaxpr.in_avals, [*consts, *carry, *elements])
    results = jaxpr.out_avals[num_carry:]
    return [
        *jaxpr.out_avals[:num_carry],
        *(y.with_axis(0, length) for y in results),
    ]


# Reverse mode of `scan`: partial evaluation, and transposition to a scan in reverse.


class _BodyParts(NamedTuple):
    """A scan split into its known and unknown halves.

    `known` takes the known operands, and returns the known results, then the residuals. The scan of
    the unknown half has the parameters `unknown`.
    """

    known: Jaxpr
    unknown: dict[str, Any]
    unknown_ins: loops.Flags
    unknown_outs: loops.Flags
    sources: list[tuple[str, int]]  # for each residual, its place among "ins" or "outs" of `known`
    constant: list[bool]  # for each residual, whether it is loop-invariant

    def operands(
        self, known_ins: Sequence[Any], known_outs: Sequence[Any], unknown_ins: Sequence[Any]
    ) -> list[Any]:
        """The operands of the unknown scan."""
        residuals = [
            known_ins[number] if where == "ins" else known_outs[number]
            for where, number in self.sources
        ]
        stacked, constant = partition(self.constant, residuals)
        num_carry = self.unknown["num_carry"]
        num_consts = self.unknown["num_consts"] - len(constant)
        consts, carry, xs = loops.split_by_sizes(unknown_ins, num_consts, num_carry)
        return [*constant, *consts, *carry, *stacked, *xs]


def _split_body(unknown_ins: loops.Flags, params: dict[str, Any]) -> _BodyParts:
    jaxpr, num_carry = params["jaxpr"], params["num_carry"]
    const_flags, _, xs_flags = split_operands(unknown_ins, params)
    num_results = len(jaxpr.outvars) - num_carry

    carry_flags = carry_through(unknown_outs, unknown_ins, params)
    # A part of the carry that becomes unknown in some iteration is unknown in all of them.
    forced = (*carry_flags, *[False] * num_results)
    parts: PartialJaxprs = split_jaxpr(jaxpr, (*const_flags, *carry_flags, *xs_flags), forced)
    all_outs = parts.known.outvars
    outs, residuals = loops.split_by_sizes(all_outs, len(all_outs) - parts.num_residuals)
    consts, carry, elements = loops.split_by_sizes(
        parts.known.invars, const_flags.count(False), carry_flags.count(False)
    )
    results = outs[len(carry) :]

    # Only values that change between iterations are stacked. The others are computed once, before
    # the loop.
    same: set[Any] = set(consts)
    before_loop = []
    for eqn in parts.known.eqns:
        is_same = all(type(x) is not Var or x in same for x in eqn.invars)
        # An effect happens in every iteration, even with the same operands.
        if is_same and not has_effects(eqn):
            same.update(eqn.outvars)
            before_loop.append(eqn)
    constant = [x in same for x in residuals]
    there_already = {*same, *elements, *results}
    stacked = [x for x in residuals if x not in there_already]
    hoisted = [x for x in residuals if x in same and x not in consts]
    body = without_dead_code(Jaxpr([], parts.known.invars, parts.known.eqns, [*outs, *stacked]))
    if nests_calls():
        scan_trees.note_residuals(body, len(consts), len(carry), len(stacked))
    known_params = {**params, "jaxpr": body, "num_consts": len(consts), "num_carry": len(carry)}
    known = _known_program(known_params, consts, before_loop, hoisted)

    places: dict[Any, tuple[str, int]] = {}
    for number, var in enumerate([*results, *stacked, *hoisted], len(carry)):
        places[var] = "outs", number
    for number, var in enumerate(parts.known.invars):
        if var in same or var in elements:
            places[var] = "ins", number
    in_residuals, in_consts, in_carry, in_xs = loops.split_by_sizes(
        parts.unknown.invars, len(residuals), sum(const_flags), sum(carry_flags)
    )
    in_stacked, in_constant = partition(constant, in_residuals)
    invars = [*in_constant, *in_consts, *in_carry, *in_stacked, *in_xs]
    eqns = parts.unknown.eqns
    # Otherwise the iterations are written out without a loop, and XLA could merge what is computed
    # again with the known half.
    if not surely_at_least(params["unroll"], params["length"]):
        eqns = list(builtins.map(_in_a_loop_of_its_own, eqns))
    unknown = {
        **params,
        "jaxpr": Jaxpr([], invars, eqns, parts.unknown.outvars),
        "num_consts": len(in_constant) + len(in_consts),
        "num_carry": len(in_carry),
    }
    return _BodyParts(
        known,
        unknown,
        (*const_flags, *carry_flags, *xs_flags),
        tuple(parts.unknown_outs),
        [places[x] for x in residuals],
        constant,
    )


def _in_a_loop_of_its_own(eqn: JaxprEqn) -> JaxprEqn:
    """A deferred equation, which XLA must not merge with equations of the other loop."""
    if "prevent_cse" not in eqn.params:
        return eqn
    params = {**eqn.params, "prevent_cse": False}
    return JaxprEqn(eqn.primitive, eqn.invars, eqn.outvars, params, eqn.source)


def _known_program(
    params: dict[str, Any],
    consts: Sequence[Var],
    before_loop: Sequence[JaxprEqn],
    hoisted: Sequence[Var],
) -> Jaxpr:
    """Run the known scan, and compute its loop-invariant values outside the loop."""
    _, carry, elements = split_operands(params["jaxpr"].in_avals, params)
    length = params["length"]
    rest = [*builtins.map(Var, carry)]
    rest += [Var(x.with_axis(0, length).strip_weak_type()) for x in elements]
    in_avals = [var.aval for var in (*consts, *rest)]
    outvars = list(builtins.map(Var, scan_type(*in_avals, **params)))
    eqns = list(before_loop)
    if outvars or has_effects(params["jaxpr"]):
        eqns.append(JaxprEqn(scan_p, [*consts, *rest], outvars, params))
    return without_dead_code(Jaxpr([], [*consts, *rest], eqns, [*outvars, *hoisted]))


def scan_partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    halves = _split_body(tuple(unknown_ins), eqn.params)
    known_ins, unknown_ins = partition(halves.unknown_ins, eqn.invars)
    known_outs, outs_unknown = partition(halves.unknown_outs, eqn.outvars)
    known_outs += [Var(aval) for aval in halves.known.out_avals[len(known_outs) :]]
    operands = halves.operands(known_ins, known_outs, unknown_ins)
    return PartialEqns(
        _equations(halves.known, known_ins, known_outs, eqn.source),
        JaxprEqn(scan_p, operands, outs_unknown, halves.unknown, eqn.source),
    )


def _equations(
    program: Jaxpr, invars: Sequence[Atom], outvars: Sequence[Var], source: Source | None
) -> list[JaxprEqn]:
    """The equations of a program, inlined between outer variables."""
    outside: dict[Any, Any] = dict(zip(program.invars, invars, strict=True))
    outside.update(zip(program.outvars, outvars, strict=True))
    eqns = []
    for eqn in program.eqns:
        outside.update((x, Var(x.aval)) for x in eqn.outvars if x not in outside)
        ins, outs = ([outside.get(x, x) for x in xs] for xs in (eqn.invars, eqn.outvars))
        eqns.append(JaxprEqn(eqn.primitive, ins, outs, eqn.params, eqn.source or source))
    return eqns


def scan_transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
    """A scan in the other direction, over the cotangents."""
    linear = tuple(isinstance(x, UndefPrimal) for x in args)
    if all(carry_through(unknown_outs, linear, params)):
        return _linear_scan_transpose(cts, args, params)
    # Part of the carry is not linear, such as a counter. It is computed first, in a loop of its
    # own.
    halves = _split_body(linear, params)
    known_ins, unknown_ins = partition(halves.unknown_ins, args)
    known_outs = stage3.eval_jaxpr(halves.known, [], *known_ins)
    operands = halves.operands(known_ins, known_outs, unknown_ins)
    _, out_cts = partition(halves.unknown_outs, cts)
    in_cts = _linear_scan_transpose(out_cts, operands, halves.unknown)
    num_stacked = halves.constant.count(False)
    consts, carry, xs = split_operands(in_cts, halves.unknown)
    unknown_cts = [*consts[halves.constant.count(True) :], *carry, *xs[num_stacked:]]
    return merge(halves.unknown_ins, [None] * len(known_ins), unknown_cts)


def _linear_scan_transpose(
    cts: Sequence[Any], args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """The transpose of a scan that is linear in its whole carry."""
    jaxpr, num_carry = params["jaxpr"], params["num_carry"]
    consts, _, xs = split_operands(args, params)
    const_flags, xs_flags = (
        tuple(isinstance(x, UndefPrimal) for x in operands) for operands in (consts, xs)
    )
    linear = (*const_flags, *[True] * num_carry, *xs_flags)
    carry_cts, ys_cts = loops.split_by_sizes(cts, num_carry)
    ys_flags = tuple(type(ct) is not Zero for ct in ys_cts)
    carry_flags = loops.until_stable(
        tuple(type(ct) is not Zero for ct in carry_cts),
        lambda flags: split_operands(
            higher_order.cotangent_ins(jaxpr, linear, (*flags, *ys_flags)), params
        )[1],
    )
    forced = (*[False] * len(consts), *carry_flags, *[False] * len(xs))
    program, more, nonzero_ins = transpose_jaxpr(jaxpr, linear, (*carry_flags, *ys_flags), forced)
    known_consts, known_xs = (
        [x for x in operands if not isinstance(x, UndefPrimal)] for operands in (consts, xs)
    )
    # Zeros for cotangents that only other iterations give: a carry has one type for the whole loop.
    carry_cts = [instantiate(ct) for ct, keep in zip(carry_cts, carry_flags, strict=True) if keep]
    ys_cts = [ct for ct in ys_cts if type(ct) is not Zero]

    # The program takes constants, elements, cotangents. The cotangents of constants are summed over
    # iterations.
    in_consts, in_xs, in_carry, in_ys = loops.split_by_sizes(
        program.invars, len(more) + len(known_consts), len(known_xs), len(carry_cts)
    )
    sizes = [sum(part) for part in split_operands(nonzero_ins, params)]
    to_consts, to_carry, to_xs = loops.split_by_sizes(program.outvars, *sizes[:2])
    in_sums, out_sums = ([Var(x.aval) for x in to_consts] for _ in range(2))
    additions = [
        JaxprEqn(add_p, [total, x], [out], {})
        for total, x, out in zip(in_sums, to_consts, out_sums, strict=True)
    ]
    body = Jaxpr(
        [],
        [*in_consts, *in_sums, *in_carry, *in_ys, *in_xs],
        [*program.eqns, *additions],
        [*out_sums, *to_carry, *to_xs],
    )
    if nests_calls():
        groups = in_consts, in_sums, in_carry, in_ys, in_xs
        scan_trees.note_cotangents(body, *[len(group) for group in groups])
    sums = [instantiate(Zero(x.aval)) for x in in_sums]
    outs = bind(
        scan_p,
        *(*more, *known_consts, *sums, *carry_cts, *ys_cts, *known_xs),
        **{
            **params,
            "jaxpr": body,
            "num_consts": len(in_consts),
            "num_carry": len(sums) + len(carry_cts),
            "reverse": not params["reverse"],
        },
    )
    found = iter(outs)
    return [next(found) if nonzero else None for nonzero in nonzero_ins]


# The rules of `scan`: each interpreter transforms the program of the body.


def _scan_lower(
    b: FunctionBuilder, out_avals: loops.Avals, *args: Value, **params: Any
) -> list[Value]:
    """A loop over a counter, the carry, and the results; each iteration writes one element."""
    jaxpr, length, unroll = params["jaxpr"], params["length"], params["unroll"]
    consts, init, xs = split_operands(args, params)
    num_carry = len(init)
    counter = ShapedArray((), np.int32)
    # An iteration reads and writes one element, so arrays have one even if none takes place.
    rows = length if isinstance(length, int) else max_size(length, 1)
    xs = [_resized(b, x, rows) for x in xs]

    def number(value: int) -> Value:
        return b.constant(value, counter)

    def binary(operation: str, x: Value, y: Value) -> Value:
        return b.emit(f"stablehlo.{operation} {x.name}, {y.name} : tensor<i32>", counter)[0]

    def iteration(i: Value, state: Sequence[Value]) -> list[Value]:
        position = binary("subtract", number(length - 1), i) if params["reverse"] else i
        zero = number(0)
        elements = [_iteration_element(b, x, position, zero) for x in xs]
        outs = loops.call_text(b, jaxpr, "scan_body", [*consts, *state[:num_carry], *elements])
        ys = [
            _with_element(b, ys, y, position, zero)
            for ys, y in zip(state[num_carry:], outs[num_carry:], strict=True)
        ]
        return [*outs[:num_carry], *ys]

    def iteration_text(state: list[Value]) -> list[Value]:
        i, *rest = state
        for _ in range(unroll):
            rest = iteration(i, rest)
            i = binary("add", i, number(1))
        return [i, *rest]

    def condition(state: list[Value]) -> Value:
        compared = f"stablehlo.compare LT, {state[0].name}, {number(in_loop).name}"
        types = f"(tensor<i32>, tensor<i32>) -> {mlir_type(ShapedArray((), np.bool_))}"
        return b.emit(f"{compared} : {types}", ShapedArray((), np.bool_))[0]

    # The remaining length % unroll iterations are written out behind the loop.
    in_loop = length - length % unroll
    # Results start as zeros, and every element is overwritten.
    stacked = [aval.update(shape=(rows, *aval.shape[1:])) for aval in out_avals[num_carry:]]
    zeros = [as_typed(b, b.constant(0, aval), aval) for aval in stacked]
    state = [number(0), *init, *zeros]
    if in_loop == unroll:
        state = iteration_text(state)
    elif in_loop != 0:
        state = loops.while_text(b, state, condition, iteration_text)
    i, *rest = state
    for _ in range(length % unroll):
        rest = iteration(i, rest)
        i = binary("add", i, number(1))
    return [*rest[:num_carry], *[_resized(b, y, length) for y in rest[num_carry:]]]


def _resized(b: FunctionBuilder, x: Value, size: int) -> Value:
    """`x` with a row more or less, if it differs in size."""
    found, *rest = x.aval.shape
    if found == size:
        return x
    out = x.aval.update(shape=(size, *rest))
    if surely_at_least(found, size):
        cuts = ", ".join(f"0:{n}" for n in out.shape)
        return b.emit(f"stablehlo.slice {x.name} [{cuts}] : {signature([x], [out])}", out)[0]
    zero = as_typed(b, b.constant(0, scalar := x.aval.update(shape=())), scalar)
    none = [0] * len(rest)
    return b.emit(
        f"stablehlo.pad {x.name}, {zero.name}, low = {[0, *none]}, high = {[size - found, *none]}, "
        f"interior = {[0, *none]} : {signature([x, zero], [out])}",
        out,
    )[0]


def _iteration_element(b: FunctionBuilder, x: Value, position: Value, zero: Value) -> Value:
    """The element of `x` at a position along its first axis."""
    shape = x.aval.shape
    starts = [position, *[zero] * (len(shape) - 1)]
    names = ", ".join(start.name for start in starts)
    part = ShapedArray((1, *shape[1:]), x.aval.dtype)
    sizes = list(part.shape)
    (piece,) = b.emit(
        f"stablehlo.dynamic_slice {x.name}, {names}, sizes = {sizes} : "
        f"{signature([x, *starts], [part])}",
        part,
    )
    return b.reshape(piece, shape[1:])


def _with_element(b: FunctionBuilder, ys: Value, y: Value, position: Value, zero: Value) -> Value:
    """`ys` with `y` at a position along its first axis."""
    piece = as_typed(b, b.reshape(y, (1, *y.aval.shape)), ys.aval)
    operands = [ys, piece, position, *[zero] * y.aval.ndim]
    names = ", ".join(x.name for x in operands)
    (out,) = b.emit(
        f"stablehlo.dynamic_update_slice {names} : {signature(operands, [ys.aval])}", ys.aval
    )
    return as_typed(b, out, ys.aval)


def _scan_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    jaxpr, num_carry = params["jaxpr"], params["num_carry"]
    nonzero = tuple(type(t) is not Zero for t in tangents)
    const_flags, _, xs_flags = split_operands(nonzero, params)
    num_results = len(jaxpr.outvars) - num_carry

    carry_flags = carry_through(higher_order.tangent_outs, nonzero, params)
    # The types of the carry are the same in all iterations, so a part has a tangent in all or in
    # none.
    forced = (*carry_flags, *[False] * num_results)
    program, more, out_nonzero = jvp_jaxpr(jaxpr, (*const_flags, *carry_flags, *xs_flags), forced)
    consts, init, xs = split_operands(primals, params)
    const_dots, carry_dots, xs_dots = split_operands(tangents, params)
    const_dots = [t for t in const_dots if type(t) is not Zero]
    xs_dots = [t for t in xs_dots if type(t) is not Zero]
    carry_dots = [instantiate(t) for t, keep in zip(carry_dots, carry_flags, strict=True) if keep]

    # The program takes constants, primals, tangents. Each tangent is placed beside its primal.
    num_dots = len(carry_dots)
    in_more, in_consts, in_carry, in_xs, dot_consts, dot_carry, dot_xs = loops.split_by_sizes(
        program.invars, len(more), len(consts), len(init), len(xs), len(const_dots), num_dots
    )
    out_carry, out_ys, out_dots, out_ys_dots = loops.split_by_sizes(
        program.outvars, num_carry, num_results, num_dots
    )
    ordered = Jaxpr(
        [],
        [*in_more, *in_consts, *dot_consts, *in_carry, *dot_carry, *in_xs, *dot_xs],
        program.eqns,
        [*out_carry, *out_dots, *out_ys, *out_ys_dots],
    )
    if nests_calls() and not more:
        trees = scan_trees.trees_of(jaxpr, len(consts), num_carry)
        given = const_flags, carry_flags, xs_flags, carry_flags, out_nonzero[num_carry:]
        scan_trees.note_tangents(ordered, trees, *given)
    outs = bind(
        scan_p,
        *(*more, *consts, *const_dots, *init, *carry_dots, *xs, *xs_dots),
        **{
            **params,
            "jaxpr": ordered,
            "num_consts": len(more) + len(consts) + len(const_dots),
            "num_carry": num_carry + num_dots,
        },
    )
    out_carry, out_dots, out_ys, out_ys_dots = loops.split_by_sizes(
        outs, num_carry, num_dots, num_results
    )
    results = [*out_carry, *out_ys]
    zero_outs, _ = partition(out_nonzero, results)
    zeros = [Zero(tangent_type(typeof(x))) for x in zero_outs]
    return results, merge(out_nonzero, zeros, [*out_dots, *out_ys_dots])


def _scan_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    jaxpr, num_carry = params["jaxpr"], params["num_carry"]
    consts, init, xs = split_operands(values, params)
    const_dims, init_dims, xs_dims = split_operands(tuple(dims), params)
    num_results = len(jaxpr.outvars) - num_carry
    element_dims = tuple(None if dim is None else 0 for dim in xs_dims)

    def program_for(batched: loops.Flags) -> tuple[Jaxpr, list[Any], list[BatchDim]]:
        carry_dims = tuple(0 if b else None for b in batched)
        forced = (*batched, *[False] * num_results)
        in_dims = (*const_dims, *carry_dims, *element_dims)
        return vmap_jaxpr(jaxpr, axis, in_dims, forced)

    batched = loops.until_stable(
        tuple(dim is not None for dim in init_dims),
        lambda flags: [dim is not None for dim in program_for(flags)[2][:num_carry]],
    )
    program, more, out_dims = program_for(batched)
    if not more:
        scan_trees.note_same(program, jaxpr)
    init = [
        move_batch_dim(x, axis, dim, 0) if b else x
        for x, dim, b in zip(init, init_dims, batched, strict=True)
    ]
    xs = [
        x if dim is None else move_batch_dim(x, axis, dim, 1)
        for x, dim in zip(xs, xs_dims, strict=True)
    ]
    num_consts = len(more) + len(consts)
    outs = bind(
        scan_p, *more, *consts, *init, *xs, **{**params, "jaxpr": program, "num_consts": num_consts}
    )
    # stacking puts the iterations first
    ys_dims = [None if dim is None else dim + 1 for dim in out_dims[num_carry:]]
    return outs, [*out_dims[:num_carry], *ys_dims]


def _scan_dce(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    """Drop unused results, and parts of the carry that only they use."""
    params = eqn.params
    jaxpr, num_carry = params["jaxpr"], params["num_carry"]
    used_carry, used_results = tuple(used_outs[:num_carry]), tuple(used_outs[num_carry:])
    used_carry = loops.until_stable(
        used_carry,
        lambda flags: split_operands(dce_jaxpr(jaxpr, [*flags, *used_results])[1], params)[1],
    )
    program, used = dce_jaxpr(jaxpr, [*used_carry, *used_results])
    const_flags, _, xs_flags = split_operands(used, params)
    used_ins = [*const_flags, *used_carry, *xs_flags]
    if all(used_ins) and all(used_outs) and program is jaxpr:
        return used_ins, eqn
    smaller = {
        **params,
        "jaxpr": Jaxpr([], partition(used_ins, jaxpr.invars)[1], program.eqns, program.outvars),
        "num_consts": sum(const_flags),
        "num_carry": sum(used_carry),
    }
    _, invars = partition(used_ins, eqn.invars)
    _, outvars = partition([*used_carry, *used_results], eqn.outvars)
    return used_ins, JaxprEqn(scan_p, invars, outvars, smaller, eqn.source)


def _scan_effects(
    with_token: higher_order.WithToken, eqn: JaxprEqn, token: Var | stage3.Literal, following: Var
) -> list[JaxprEqn]:
    """The token is the last part of the carry."""

    def put_at(items: Sequence[Any], position: int, item: Any) -> list[Any]:
        return [*items[:position], item, *items[position:]]

    num_carry = eqn.params["num_carry"]
    num_before = eqn.params["num_consts"] + num_carry
    jaxpr = with_token(eqn.params["jaxpr"])
    *invars, given = jaxpr.invars
    *outvars, last = jaxpr.outvars
    body = Jaxpr(
        [], put_at(invars, num_before, given), jaxpr.eqns, put_at(outvars, num_carry, last)
    )
    return [
        JaxprEqn(
            scan_p,
            put_at(eqn.invars, num_before, token),
            put_at(eqn.outvars, num_carry, following),
            {**eqn.params, "jaxpr": body, "num_carry": num_carry + 1},
            eqn.source,
        )
    ]


def _scan_keys(
    keys_of: Callable[[Jaxpr], Any],
    count: int,
    *,
    jaxpr: Jaxpr,
    length: int,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    found = keys_of(jaxpr)
    if surely_at_least(1, length):
        return found
    return found.each_iteration("scan", num_consts, num_carry)


def _save(eqn: JaxprEqn, may_save: checkpoint.MaySave) -> checkpoint.SavedEqns | None:
    """Save values of each iteration as stacked results, which are elements of the second scan."""
    parts = checkpoint.save_in_program(eqn.params["jaxpr"], may_save)
    if parts is None:
        return None
    kept, invars = loops.split_by_sizes(parts.unknown.invars, parts.num_residuals)
    saved = [Var(x.aval.with_axis(0, eqn.params["length"])) for x in kept]
    body = Jaxpr([], [*invars, *kept], parts.unknown.eqns, parts.unknown.outvars)
    return checkpoint.split_eqn(
        eqn,
        saved,
        ({**eqn.params, "jaxpr": parts.known}, eqn.invars),
        ({**eqn.params, "jaxpr": body}, [*eqn.invars, *saved]),
    )


checkpoint.saving_rules[scan_p] = _save


def _scan_steps(args: Sequence[Any], **params: Any) -> None:
    consts, carry, xs = split_operands(args, params)
    xs = list(builtins.map(np.asarray, xs))
    indices = range(params["length"])
    for i in reversed(indices) if params["reverse"] else indices:
        outs = stage3.eval_jaxpr(params["jaxpr"], [], *consts, *carry, *(x[i] for x in xs))
        carry = outs[: params["num_carry"]]


higher_order.declare_program(
    scan_p,
    abstract_eval=scan_type,
    lower=_scan_lower,
    vmap=_scan_vmap,
    sparsity=_scan_sparsity,
    jvp=_scan_jvp,
    transpose=scan_transpose,
    partial_eval=scan_partial_eval,
    dce=_scan_dce,
    dependence=scan_dependence,
    order=_scan_effects,
    keys=_scan_keys,
    steps=_scan_steps,
)
log_from_program(scan_p)


# `scan`: a loop over the elements of arrays, and the loops built on it.


Carry = TypeVar("Carry")
Y = TypeVar("Y")

# Operands: constants, carry, arrays to take elements of. The program takes constants, carry and
# elements, and returns the next carry and elements of results.


@evaluated_by_library
@keeps_programs("f", "length", "reverse", "unroll", "_split_transpose")
def scan(
    f: Callable[[Carry, Any], tuple[Carry, Y]],
    init: Carry,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Carry, Y]:
    """Call `f` with a carry and each element of `xs` in turn.

    `f` is traced once, and the program does not grow with the length.

    Arguments:
        f: function of a carry and an element that returns the next carry, of the same structure
            and types, and an element of the results.
        init: the initial carry, a pytree of arrays.
        xs: a pytree of arrays whose elements lie along the first axis; None for a loop without
            elements.
        length: the number of iterations, required if `xs` holds no arrays.
        reverse: whether to begin with the last element; results keep the positions of their
            elements.
        unroll: the number of iterations to unroll; True: all of them.

    Returns:
        The last carry, and the results of all iterations, stacked along a new first axis.

    Raises:
        TypeError: `f` does not return a pair, or the carry changes its structure or types.
        ValueError: the first axes of `xs` differ in size, or `length` does, or is not given.

    >>> import glassjax.numpy as jnp
    >>> scan(lambda total, x: (total + x, total), jnp.float32(0), jnp.arange(4.0))
    (Array(6., dtype=float32), Array([0., 0., 1., 3.], dtype=float32))
    """
    return repeat_scan(f, init, xs, length, reverse, unroll)


def repeat_scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
    unroll: int | bool,
    counts: bool = False,
) -> Any:
    """`scan`, or with `counts` a `fori_loop`, whose users see only the last entry of the carry."""
    require_function("scan", f)

    def stage_scan(refs: Sequence[references.Ref]) -> Any:
        if not refs:
            return _scan_alone(f, init, xs, length, reverse, unroll, counts)

        def scan_body(state: Any, x: Any) -> Any:
            values, (carry, y) = references.passing(refs, f)(state[0], state[1], x)
            return (values, carry), y

        scan_body.__name__ = name_of(f)
        state = references.values_of(refs), init
        (values, last), ys = _scan_alone(scan_body, state, xs, length, reverse, unroll, counts)
        references.write_all(refs, values)
        return last, ys

    return references.with_outer_refs(stage_scan)


def _scan_alone(
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
    unroll: int | bool,
    counts: bool,
) -> Any:
    """`_scan` of a function that uses no references of the surrounding code."""
    if type(reverse) is not bool:
        require_fit("scan", "reverse", reverse, bool)
    carry, carry_tree = stage2.tree.tree_flatten(init)
    elements, xs_tree = stage2.tree.tree_flatten(xs)
    length = _length(f, xs, length)
    # Without iterations, only staging tells the types of the results.
    if jit_is_disabled() and length:
        init, xs = tree_to_arrays((init, xs))
        return scan_in_python(f, init, xs, length, bool(reverse))
    unroll_count = _unroll_factor(length, unroll)
    element_avals = [aval.without_axis(0) for aval in [typeof(x) for x in elements]]
    body = FlatFunction(f, treedef_tuple([carry_tree, xs_tree]))

    def operand_names() -> list[str]:
        return argument_names(f, (init, xs), {})

    # for its error, which names an argument that is not an array
    abstractify(f"scan of `{name_of(f)}`", operand_names, [*carry, *elements])
    closed, carry = loops.stage_with_carry(
        "scan",
        f,
        lambda avals: loops.stage_body(body, [*avals, *element_avals], "scan", f, operand_names),
        lambda: _carry_and_result(f, body.out_tree)[0],
        carry_tree,
        carry,
        counts,
    )
    jaxpr, is_const = loops.hoist_invariant(
        consts_as_invars(closed), len(closed.consts), (False,) * len(carry)
    )
    changing, invariant = partition(is_const, carry)
    consts = [*invariant, *closed.consts]
    outs = bind(
        scan_p,
        *consts,
        *changing,
        *elements,
        jaxpr=jaxpr,
        num_consts=len(consts),
        num_carry=len(changing),
        length=length,
        reverse=bool(reverse),
        unroll=unroll_count,
    )
    _, result_tree = _carry_and_result(f, body.out_tree)
    last = merge(is_const, outs[: len(changing)], invariant)
    return (
        stage2.tree.tree_unflatten(carry_tree, [to_array(x) for x in last]),
        stage2.tree.tree_unflatten(result_tree, [to_array(x) for x in outs[len(changing) :]]),
    )


def _carry_and_result(f: Any, out_tree: stage2.tree.PyTreeDef) -> list[stage2.tree.PyTreeDef]:
    """The structures of the two results of the body."""
    node, parts = trees.node_data(out_tree), trees.children(out_tree)
    if node is None or node[0] not in (tuple, list) or len(parts) != 2:
        raise TypeError(
            f"scan: `{name_of(f)}` must return a pair, the next carry and an element of the "
            f"results (or None); found {out_tree}"
        )
    return parts


def _length(f: Any, xs: Any, length: Any) -> int:
    """Return the number of iterations."""
    rows = []
    for path, x in stage2.tree.tree_flatten_with_path(xs)[0]:
        shape = typeof(x).shape
        if not shape:
            raise ValueError(
                f"scan of `{name_of(f)}`: xs{stage2.tree.keystr(path)} is a scalar, and has no "
                "elements to "
                "take; close over a loop-invariant value"
            )
        rows.append((f"xs{stage2.tree.keystr(path)}", str(shape), shape[0]))
    if length is not None:
        try:
            length = dialect().index(length)
        except ConcretizationTypeError as error:
            raise type(error)(
                "scan: length must be known, for it decides the shape of the results; fori_loop "
                f"and while_loop accept a traced trip count. Here {error}"
            ) from None
        except TypeError:
            raise TypeError(f"scan: length must be an int, found {shown(length)}") from None
    sizes = {size for _, _, size in rows} | ({length} if length is not None else set())
    if not sizes:
        raise ValueError(f"scan of `{name_of(f)}`: xs holds no arrays, so length must be given")
    if len(sizes) > 1:
        if length is not None:
            rows.insert(0, ("length", "", length))
        table = [("argument", "shape", "size"), *rows]
        lines = [f"    {name:<20} {shape:<14} {size}" for name, shape, size in table]
        raise ValueError(f"scan of `{name_of(f)}`: first axes differ in size\n" + "\n".join(lines))
    return sizes.pop()


def _unroll_factor(length: int, unroll: int | bool) -> int:
    if unroll is True:
        return max(operator.index(length), 1)
    if unroll is False:
        return 1
    try:
        factor = operator.index(unroll)
    except TypeError as error:
        raise TypeError(f"scan: unroll must be an int or a bool, found {shown(unroll)}") from error
    if factor < 0:
        raise ValueError(f"scan: unroll must not be negative, found {factor}")
    return factor if is_symbolic_dim(length) else min(max(factor, 1), max(length, 1))


@evaluated_by_library
@keeps_programs("f", "batch_size")
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Call `f` with each element of `xs` in turn, and stack the results.

    Arguments:
        f: function of an element, a pytree of arrays.
        xs: a pytree of arrays whose elements lie along the first axis.
        batch_size: the number of elements to compute at once with `vmap`; one by one if None or 0.

    Returns:
        The results, stacked along a new first axis.

    Raises:
        ValueError: `batch_size` is negative, or the first axes of `xs` differ in size.

    >>> import glassjax.numpy as jnp
    >>> map(lambda x: x * x, jnp.arange(3.0))
    Array([0., 1., 4.], dtype=float32)
    """
    require_function("map", f)
    (batch_size,) = (0,) if batch_size is None else ints("map: batch_size", batch_size)
    if batch_size == 0:
        return scan(_one_by_one(f), None, xs)[1]
    if batch_size < 0:
        raise ValueError(f"map: batch_size must not be negative, found {batch_size}")
    xs = tree_to_arrays(xs)
    length = _length(f, xs, None)
    return in_chunks(vmap(f), xs, length, batch_size)


def in_chunks(f: Callable[[Any], Any], xs: Any, length: int, size: int) -> Any:
    """Call `f` with `size` elements of `xs` at a time, and join the results along their first axes.

    All chunks run one after the other, in a loop. The remainder, if there is one, is a chunk of its
    own.

    Arguments:
        f: function of any number of elements, a pytree of arrays, along their first axes.
        xs: a pytree of arrays whose elements lie along the first axis.
        length: their number.
        size: the number of elements in a chunk.
    """
    chunks, rest = divmod(length, size)
    parts = []
    if chunks:

        def split_chunks(x: Any) -> Any:
            whole = _slice_elements(x, 0, length - rest)
            return stage2.reshape(whole, (chunks, size, *typeof(x).shape[1:]))

        def join_chunks(x: Any) -> Any:
            first, second, *others = typeof(x).shape
            return stage2.reshape(x, (first * second, *others))

        out = scan(_one_by_one(f), None, stage2.tree_map(split_chunks, xs))[1]
        parts.append(stage2.tree_map(join_chunks, out))
    # An empty `xs` needs one call, too, for the types of the results.
    if rest or not chunks:
        last = stage2.tree_map(lambda x: _slice_elements(x, length - rest, length), xs)
        parts.append(f(last))
    if len(parts) == 1:
        return parts[0]
    return stage2.tree_map(lambda *pieces: concatenate(pieces, 0), *parts)


def _slice_elements(x: Any, start: int, limit: int) -> Any:
    """Some of the elements of `x` along its first axis."""
    rest = typeof(x).shape[1:]
    return slice(x, (start, *[0] * len(rest)), (limit, *rest))


def _one_by_one(f: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def map_step(_: None, x: Any) -> Any:
        return None, f(x)

    map_step.__name__ = name_of(f)
    return map_step
