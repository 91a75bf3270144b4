"""Shared parts of loops: staging a body, checking its carry, evaluation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.errors import CarryTypeError
from glassjax.runtime.inspection import as_typed
from glassjax.runtime.lowering import lower
from glassjax.runtime.partitioning import PartitionedProgram, has_shardings, program_at
from glassjax.runtime.places import Places, Shardings, argument_places, is_elsewhere
from glassjax.runtime.program import compile_text, run_program
from glassjax.runtime.templates import TemplateTrace
from glassjax.settings.number_types import result_type, types_here
from glassjax.settings.tracers import library_interpreter
from glassjax.shardings.types import convert
from glassjax.xla import trees
from glassjax_stage2 import Primitive, ShapedArray, astype, typeof
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import PyTreeDef, keystr, tree_flatten_with_path, tree_unflatten
from glassjax_stage3 import Jaxpr, JaxprEqn, Var
from glassjax_stage3.abstract_eval import abstract_eval
from glassjax_stage3.executable import CompiledJaxpr
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage3.jit import jit_p
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature
from glassjax_stage3.staging import JaxprTrace
from glassjax_stage4.partial_eval import partition

# Primitives that apply the only jaxpr among their parameters to all operands.
calls: set[Primitive] = {jit_p}

Avals = Sequence[ShapedArray]
Flags = tuple[bool, ...]  # one for each value


class BodyTrace(library_interpreter(JaxprTrace)):  # type: ignore[misc]
    """Stages a function that is part of another program.

    Arrays that it closes over are constants, not literals, even scalars: a call with other values
    has the same program.
    """

    is_literal = TemplateTrace.is_literal


def stage_body(
    f: Callable[..., Sequence[Any]],
    in_avals: Avals,
    caller: str,
    fun: Any,
    argument_names: Callable[[], Sequence[str]] = lambda: (),
) -> Jaxpr:
    """The program of `f`, a function of arrays that returns a list, on behalf of `caller`."""
    trace = types_here().interpreter(BodyTrace)(caller, fun)
    trace.argument_names = argument_names
    with trace.run():
        outs = f(*trace.new_args(in_avals))
    return trace.to_jaxpr(outs)


def stage_to_jaxpr(
    f: Callable[..., Sequence[Any]], in_avals: Avals, caller: str
) -> tuple[Jaxpr, list[Any]]:
    """`stage_body` for internal functions: the program, constants first, and the constants."""
    closed = stage_body(f, in_avals, caller, None)
    return consts_as_invars(closed), closed.consts


def stage_with_carry(
    caller: str,
    fun: Any,
    stage: Callable[[list[ShapedArray]], Jaxpr],
    carry_tree_of: Callable[[], PyTreeDef],
    in_tree: PyTreeDef,
    init: Sequence[Any],
    counts: bool = False,
) -> tuple[Jaxpr, list[Any]]:
    """The program of a body, and the initial carry.

    The output of one iteration is the input of the next, so types must agree. A Python number in
    the initial carry takes the dtype that the body returns for it, and a part of the carry that
    varies over devices in the body's result varies from the beginning.

    Arguments:
        caller: the name of the loop.
        fun: the user's body.
        stage: stages the body for types of the carry; the first results are the carry.
        carry_tree_of: function from the result's structure to the carry's.
        in_tree: the structure of its input carry.
        init: the leaves of the initial carry.
        counts: whether this is a `fori_loop`, whose user sees only the last entry of the carry.

    Raises:
        CarryTypeError: structure or types of the two differ.
    """
    init = list(init)
    while True:
        in_avals = [typeof(x) for x in init]
        closed = stage(in_avals)
        out_tree = carry_tree_of()
        if out_tree != in_tree:
            if counts:
                caller = "fori_loop"
                # the counter and the bound are not the user's
                in_tree, out_tree = (trees.children(tree)[-1] for tree in (in_tree, out_tree))
            raise CarryTypeError(
                f"{caller}: `{name_of(fun)}` must return a carry of the structure that it is "
                f"given: {stage2.explain_mismatch(in_tree, out_tree, name='carry')}. Return the "
                "tree that "
                "the loop starts with, or start with the tree that is returned."
            )
        out_avals = closed.out_avals[: len(init)]
        promoted = [
            astype(x, result_type(i, o).dtype) if i.weak_type and i.dtype != o.dtype else x
            for x, i, o in zip(init, in_avals, out_avals, strict=True)
        ]
        promoted = list(map(convert, promoted, out_avals))
        if all(typeof(x) == aval for x, aval in zip(promoted, in_avals, strict=True)):
            break
        init = promoted
    _check_carry(caller, fun, in_tree, in_avals, out_avals, counts)
    return closed, init


def hoist_invariant(jaxpr: Jaxpr, num_consts: int, used: Flags) -> tuple[Jaxpr, Flags]:
    """A body that takes unchanged parts of the carry as its first constants.

    Arguments:
        jaxpr: the body, a program of constants, carry and elements.
        num_consts: the number of constants.
        used: for each part of the carry, whether it must stay in the carry.

    Returns:
        The body, and for each part of the carry, whether it is now a constant.
    """
    consts, carry, elements = split_by_sizes(jaxpr.invars, num_consts, len(used))
    is_const = tuple(
        out is var and not stays
        for out, var, stays in zip(jaxpr.outvars, carry, used, strict=False)
    )
    if not any(is_const):
        return jaxpr, is_const
    varying, invariant = partition(is_const, carry)
    outvars, _ = partition(is_const, jaxpr.outvars[: len(used)])
    return Jaxpr(
        [],
        [*invariant, *consts, *varying, *elements],
        jaxpr.eqns,
        [*outvars, *jaxpr.outvars[len(used) :]],
    ), is_const


def _check_carry(
    caller: str, fun: Any, tree: PyTreeDef, in_avals: Avals, out_avals: Avals, counts: bool
) -> None:
    differing = [
        i for i, (x, y) in enumerate(zip(in_avals, out_avals, strict=True)) if not x.accepts(y)
    ]
    if differing:
        paths = [path for path, _ in tree_flatten_with_path(tree_unflatten(tree, in_avals))[0]]
        if counts:
            caller, paths = "fori_loop", [path[1:] for path in paths]
        rows = [("", "in", "out")]
        rows += [
            (f"carry{keystr(paths[i])}", str(in_avals[i]), str(out_avals[i])) for i in differing
        ]
        table = "\n".join(f"    {name:<24} {x:<16} {y}" for name, x, y in rows)
        raise CarryTypeError(
            f"{caller}: `{name_of(fun)}` must return a carry of the types that it is given\n"
            f"{table}\n"
            "Convert what differs, by astype or reshape, before the loop or in what is returned."
        )


def evaluate_compiled(
    primitive: Primitive, out_shardings: Callable[..., Shardings] = lambda **params: ()
) -> Callable[..., list[Any]]:
    """The evaluation of a higher-order primitive: XLA compiles it as a whole.

    Equal texts are compiled once, whatever function they come from.

    Arguments:
        primitive: the primitive.
        out_shardings: function from its parameters to the shardings of its results; by default
            XLA chooses.
    """

    def loop_impl(*args: Any, **params: Any) -> list[Any]:
        in_avals = tuple(map(typeof, args))
        invars = [Var(aval) for aval in in_avals]
        outvars = [Var(aval) for aval in abstract_eval(primitive, in_avals, params)]
        jaxpr = Jaxpr([], invars, [JaxprEqn(primitive, invars, outvars, params)], outvars)
        text = lower(jaxpr, primitive.name)
        program = LoweredProgram(text, jaxpr, primitive.name, out_shardings(**params))
        return program.evaluate(args)

    return loop_impl


@dataclass(frozen=True)
class LoweredProgram:
    """A program of an eager loop. Equal texts are one program, whatever function they come from.

    Attributes:
        text: its StableHLO module, for one device.
        jaxpr: the program.
        name: its name.
        out_shardings: the shardings of its results, if fixed.
    """

    text: str
    jaxpr: Jaxpr = field(compare=False)
    name: str = field(compare=False)
    out_shardings: Shardings = ()

    def compile(self) -> CompiledJaxpr:
        """The program for the default device, compiled once."""
        return compile_once(self.text, tuple(self.jaxpr.in_avals), tuple(self.jaxpr.out_avals))

    def compile_at(self, where: Places) -> PartitionedProgram | None:
        """The program for operands at these places; None if it runs on the default device."""
        if is_elsewhere(where) or has_shardings(self.jaxpr):
            return compile_at_once(self, where)
        return None

    def evaluate(self, args: Sequence[Any]) -> list[Any]:
        """The results, on the devices of the operands."""
        program = self.compile_at(argument_places(args))
        return list(run_program(self.compile(), args) if program is None else program(args))


@lru_cache(maxsize=512)
def compile_once(
    text: str, in_avals: tuple[ShapedArray, ...], out_avals: tuple[ShapedArray, ...]
) -> CompiledJaxpr:
    """Compile a text, unless it is cached."""
    return compile_text(Jaxpr([], list(map(Var, in_avals)), [], list(map(Var, out_avals))), text)


@lru_cache(maxsize=512)
def compile_at_once(program: LoweredProgram, where: Places) -> PartitionedProgram:
    """Compile a program for several devices, unless it is cached."""
    return program_at(program.jaxpr, program.name, where, program.out_shardings)


def clear_loops() -> None:
    """Clear the cache of programs of eager loops."""
    compile_once.cache_clear()
    compile_at_once.cache_clear()


def region(
    b: FunctionBuilder,
    in_avals: Avals,
    body: Callable[[list[Value]], Sequence[Value]],
) -> str:
    """The text of a region, from its parameters to its results, written by `body`."""
    params = [Value(b.fresh_name(), aval) for aval in in_avals]
    lines, b.lines = b.lines, []
    outs = body(params)
    inner, b.lines = b.lines, lines
    declared = ", ".join(f"{x.name}: {mlir_type(x.aval)}" for x in params)
    names = ", ".join(x.name for x in outs)
    types = ", ".join(mlir_type(x.aval) for x in outs)
    returned = f"stablehlo.return {names} : {types}" if outs else "stablehlo.return"
    return "\n".join(["{", f"    ^bb0({declared}):", *inner, f"    {returned}", "    }"])


def while_text(
    b: FunctionBuilder,
    init: Sequence[Value],
    condition: Callable[[list[Value]], Value],
    body: Callable[[list[Value]], Sequence[Value]],
) -> list[Value]:
    """Write a loop, whose body can read all outer values.

    XLA drops empty arrays from the carry, and crashes the process if nothing remains. In that case
    we add a boolean that every iteration negates.
    """
    if all(x.aval.size == 0 for x in init):
        flag = ShapedArray((), np.bool_)

        def body_with_flag(xs: list[Value]) -> list[Value]:
            outs = body(xs[:-1])
            return [*outs, *b.emit(f"stablehlo.not {xs[-1].name} : {mlir_type(flag)}", flag)]

        with_flag = [*init, b.constant(False, flag)]
        return while_text(b, with_flag, lambda xs: condition(xs[:-1]), body_with_flag)[:-1]
    avals = [x.aval for x in init]
    names = ", ".join(x.name for x in init)

    def typed(xs: Sequence[Value]) -> list[Value]:
        return [as_typed(b, x, aval) for x, aval in zip(xs, avals, strict=True)]

    regions = [
        region(b, avals, lambda xs: [condition(typed(xs))]),
        region(b, avals, lambda xs: typed(body(typed(xs)))),
    ]
    loop = f'"stablehlo.while"({names}) ({", ".join(regions)}) : {signature(init, avals)}'
    return typed(b.emit(loop, *avals))


def call_text(b: FunctionBuilder, jaxpr: Jaxpr, name: str, args: Sequence[Value]) -> list[Value]:
    """Write a call of a program as a function."""
    function = b.module.private_function(jaxpr, name)
    names, avals = ", ".join(x.name for x in args), jaxpr.out_avals
    outs = b.emit(f"func.call @{function}({names}) : {signature(args, avals)}", *avals)
    return [as_typed(b, out, aval) for out, aval in zip(outs, avals, strict=True)]


def split_by_sizes(items: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """Parts of these sizes, and the rest."""
    parts, begin = [], 0
    for size in sizes:
        parts.append(list(items[begin : begin + size]))
        begin += size
    return [*parts, list(items[begin:])]


def until_stable(flags: Flags, grow: Callable[[Flags], Sequence[bool]]) -> Flags:
    """The least fixed point of `grow` above these flags.

    Whether a part of the carry has a tangent, or a batch axis, or is unknown, may depend on an
    earlier iteration. So rules start with the flags of the initial carry, and add the flags that
    the body propagates.
    """
    while True:
        grown = tuple([a or b for a, b in zip(flags, grow(flags), strict=True)])
        if grown == flags:
            return flags
        flags = grown
