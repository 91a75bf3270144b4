"""Errors in primitives that hold programs: each returns the first error of its program."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import minijax.lax.promoting as lax
import minijax_stage4 as stage4
from minijax.experimental.checkify.error import Error, Site, first_of, first_of_mapped, no_code
from minijax.experimental.checkify.interpreter import (
    CheckTrace,
    check_rules,
    checked_program,
    error_from,
    without_checks,
)
from minijax.lax.control_flow.cond_rules import cond_p
from minijax.lax.control_flow.scan_primitive import scan_p
from minijax.lax.control_flow.while_primitive import while_p
from minijax.lax.control_flow.while_rules import OF_SOME_EXAMPLES
from minijax.lax.shapes.creation import full
from minijax.parallel.shard_map_primitive import apply, shard_map_p
from minijax.shardings.partition_spec import PartitionSpec
from minijax.transforms.checkpoint import checkpoint_p
from minijax.transforms.checkpoint_policies import name_p
from minijax.transforms.custom_derivatives.rules import custom_call_p
from minijax_stage2 import Primitive, ShapedArray, bind, typeof
from minijax_stage3 import Jaxpr, eval_jaxpr, jit_p
from minijax_stage3.staging import trace_to_jaxpr
from minijax_stage4.stop_gradient import stop_gradient

Args = Sequence[Any]
Params = dict[str, Any]


def _call(primitive: Primitive, trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    """A primitive that calls one program on all of its operands."""
    program, sites = checked_program(params["jaxpr"], trace.categories)
    outs = bind(primitive, *args, **{**params, "jaxpr": program})
    return _kept(trace, outs, sites)


def _kept(trace: CheckTrace, outs: list[Any], sites: tuple[Site, ...]) -> list[Any]:
    """The results of a checked program, whose error is noted."""
    error, outs = error_from(outs, sites)
    if sites:
        trace.found.append(error)
    return outs


def _custom_call(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    """A function with a derivative of its own keeps that; its error has none."""
    jaxpr = params["jaxpr"]
    program, sites = checked_program(jaxpr, trace.categories)
    if sites:
        error, _ = error_from(eval_jaxpr(program, [], *map(stop_gradient, args)), sites)
        trace.found.append(error)
    return bind(custom_call_p, *args, **{**params, "jaxpr": without_checks(jaxpr)})


def _zeros(avals: Sequence[ShapedArray]) -> list[Any]:
    """Numbers that no message shows."""
    return [full(aval.shape, 0, aval.dtype) for aval in avals]


def _numbers(program: Jaxpr, sites: tuple[Site, ...]) -> list[ShapedArray]:
    """The types of what the messages of a checked program show."""
    count = sum(site.num_numbers for site in sites)
    return program.out_avals[1 : 1 + count] if sites else []


def _cond(primitive: Primitive, trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    branches = params["branches"]
    checked = [checked_program(branch, trace.categories) for branch in branches]
    if not any(sites for _, sites in checked):
        return bind(primitive, *args, **params)
    types = [_numbers(*each) for each in checked]

    def of_branch(number: int, *operands: Any) -> list[Any]:
        """The branch with the numbers of all branches, and codes that count the sites of all."""
        program, sites = checked[number]
        error, outs = error_from(eval_jaxpr(program, [], *operands), sites)
        earlier = sum(len(sites) for _, sites in checked[:number])
        is_one = lax.gt(error._code, 0)
        code = lax.select(is_one, lax.add(error._code, np.int32(earlier)), no_code())
        numbers = [
            x
            for other, avals in enumerate(types)
            for x in (error._numbers if other == number else _zeros(avals))
        ]
        return [code, *numbers, *outs]

    in_avals = branches[0].in_avals
    programs = tuple(
        _staged(partial(of_branch, number), in_avals) for number in range(len(branches))
    )
    outs = bind(primitive, *args, **{**params, "branches": programs})
    return _kept(trace, outs, tuple(site for _, sites in checked for site in sites))


def _first(error: Error, later: Error) -> list[Any]:
    """The code and numbers of the first of two errors at the same sites, flat."""
    is_first = lax.gt(error._code, 0)
    pairs = zip([error._code, *error._numbers], [later._code, *later._numbers], strict=True)
    return [lax.select(lax.broadcast(is_first, typeof(x).shape), x, y) for x, y in pairs]


def _no_error(avals: Sequence[ShapedArray]) -> list[Any]:
    return [no_code(), *_zeros(avals)]


def _scan(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    body, sites = checked_program(params["jaxpr"], trace.categories)
    if not sites:
        return bind(scan_p, *args, **params)
    start = _no_error(_numbers(body, sites))
    num_consts, size = params["num_consts"], len(start)

    def checked_body(*operands: Any) -> list[Any]:
        consts, rest = operands[:num_consts], operands[num_consts:]
        found, rest = rest[:size], rest[size:]
        error, outs = error_from(eval_jaxpr(body, [], *consts, *rest), sites)
        return [*_first(Error(found[0], found[1:]), error), *outs]

    in_avals = params["jaxpr"].in_avals
    types = [*in_avals[:num_consts], *map(typeof, start), *in_avals[num_consts:]]
    changed = {"jaxpr": _staged(checked_body, types), "num_carry": params["num_carry"] + size}
    outs = bind(scan_p, *args[:num_consts], *start, *args[num_consts:], **{**params, **changed})
    return _kept(trace, outs, sites)


def _while(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    cond_consts, body_consts = params["cond_consts"], params["body_consts"]
    cond, of_cond = checked_program(params["cond_jaxpr"], trace.categories)
    body, of_body = checked_program(params["body_jaxpr"], trace.categories)
    sites = of_cond + of_body
    if not sites:
        return bind(while_p, *args, **params)
    consts = args[:cond_consts]
    start = _no_error([*_numbers(cond, of_cond), *_numbers(body, of_body)])
    size = len(start)

    def in_cond(consts: Args, carry: Args) -> Error:
        return error_from(eval_jaxpr(cond, [], *consts, *carry), of_cond)[0]

    def checked_cond(*operands: Any) -> Sequence[Any]:
        consts, carry = operands[:cond_consts], operands[cond_consts + size :]
        return eval_jaxpr(without_checks(params["cond_jaxpr"]), [], *consts, *carry)

    def checked_body(*operands: Any) -> list[Any]:
        """One step; the condition that led here is looked at once more, for its errors."""
        consts, operands = operands[:cond_consts], operands[cond_consts:]
        steps, operands = operands[:body_consts], operands[body_consts:]
        (code, *numbers), carry = operands[:size], operands[size:]
        error, outs = error_from(eval_jaxpr(body, [], *steps, *carry), of_body)
        here = first_of([in_cond(consts, carry), error])
        return [*_first(Error(code, numbers), here), *outs]

    steps, carry = args[cond_consts:][:body_consts], args[cond_consts + body_consts :]
    of_carry = [*map(typeof, start), *params["body_jaxpr"].in_avals[body_consts:]]
    of_consts, of_steps = list(map(typeof, consts)), list(map(typeof, steps))
    outs = bind(
        while_p,
        *consts,
        *consts,
        *steps,
        *start,
        *carry,
        cond_jaxpr=_staged(checked_cond, [*of_consts, *of_carry]),
        body_jaxpr=_staged(checked_body, [*of_consts, *of_steps, *of_carry]),
        cond_consts=cond_consts,
        body_consts=cond_consts + body_consts,
    )
    outs = _kept(trace, outs, sites)
    if of_cond:  # which has been evaluated once more than the body
        trace.found.append(in_cond(consts, outs))
    return outs


def _name(trace: CheckTrace, args: Args, params: Params) -> Sequence[Any]:
    if params["name"] == OF_SOME_EXAMPLES and trace.found:
        raise ValueError(
            "checkify of vmap of a while_loop whose examples end after different numbers of "
            "iterations: those that have ended would be checked, too. Map what is checked instead, "
            "vmap(checkify(f)), which returns the error of each example"
        )
    return bind(name_p, *args, **params)


def _shard_map(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    """Every device returns its error, as one row; the first that is one is kept."""
    manual = params["manual"]
    with manual.running():
        program, sites = checked_program(params["jaxpr"], trace.categories)
        if not sites:
            return bind(shard_map_p, *args, **params)
        count = 1 + len(_numbers(program, sites))

        def with_rows(*operands: Any) -> list[Any]:
            outs = eval_jaxpr(program, [], *operands)
            return [*(lax.expand_dims(x, (0,)) for x in outs[:count]), *outs[count:]]

        inside = _staged(with_rows, program.in_avals)
    rows = [PartitionSpec(manual.names)] * count
    outs = apply(args, inside, manual, params["in_specs"], [*rows, *params["out_specs"]])
    return _kept(trace, [*first_of_mapped(outs[:count]), *outs[count:]], sites)


def _staged(program: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray]) -> Jaxpr:
    return trace_to_jaxpr(program, avals, "checkify", None).jaxpr


check_rules[jit_p] = partial(_call, jit_p)
check_rules[checkpoint_p] = partial(_call, checkpoint_p)
check_rules[custom_call_p] = _custom_call
for _primitive in (cond_p, stage4.cond_p):
    check_rules[_primitive] = partial(_cond, _primitive)
check_rules[name_p] = _name
check_rules[scan_p] = _scan
check_rules[while_p] = _while
check_rules[shard_map_p] = _shard_map
