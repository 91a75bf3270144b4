"""The primitive of `scan`: its operands, its type, and its dependence analysis."""

from collections.abc import Sequence
from typing import Any

from minijax.primitives.dependence import Depends
from minijax.primitives.loops import Flags, until_stable
from minijax.settings.counted import counted
from minijax_stage2 import Primitive, ShapedArray
from minijax_stage3.jaxpr import require_accepted

scan_p = Primitive("scan", higher_order=True)


def split_operands(items: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Constants, carry, elements."""
    first, last = params["num_consts"], params["num_consts"] + params["num_carry"]
    return items[:first], items[first:last], items[last:]


def carry_through(depends: Depends, ins: Flags, params: dict[str, Any]) -> Flags:
    """Return the parts of the carry that depend on the chosen operands after any iteration."""
    of_consts, of_carry, of_xs = split_operands(ins, params)

    def after_a_round(flags: Flags) -> Flags:
        return depends(params["jaxpr"], (*of_consts, *flags, *of_xs))[: len(flags)]

    return until_stable(of_carry, after_a_round)


def dependence_of_scan(depends: Depends, ins: Flags, params: dict[str, Any]) -> Flags:
    of_consts, _, of_xs = split_operands(ins, params)
    of_carry = carry_through(depends, ins, params)
    outs = depends(params["jaxpr"], (*of_consts, *of_carry, *of_xs))
    return (*of_carry, *outs[len(of_carry) :])


def scan_type(*in_avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    jaxpr, length, num_carry = params["jaxpr"], params["length"], params["num_carry"]
    consts, carry, xs = split_operands(in_avals, params)
    for x in xs:
        if x.shape[:1] != (length,):
            raise TypeError(f"scan: expected {counted(length, 'element')}, found {x}")
    elements = [x.without_axis(0) for x in xs]
    require_accepted("scan: the body", jaxpr.in_avals, [*consts, *carry, *elements])
    results = jaxpr.out_avals[num_carry:]
    return [
        *jaxpr.out_avals[:num_carry],
        *(y.with_axis(0, length) for y in results),
    ]
