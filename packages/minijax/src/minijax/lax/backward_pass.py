"""Transposition of programs whose types say how values are sharded, or vary between devices."""

from typing import Any

from minijax.primitives.varying import VaryingArray
from minijax.runtime.templates import template_p, transposed
from minijax.settings.later import later
from minijax.shardings import resharding
from minijax.shardings.types import ShardedArray
from minijax_stage2 import Zero
from minijax_stage2.primitives import broadcast_in_dim_p
from minijax_stage3 import Jaxpr, JaxprEqn
from minijax_stage3.jaxpr import Atom
from minijax_stage4 import transpose as stage4

_cast_varying = later("minijax.lax.collectives", "cast_cotangent")


class BackwardPass(stage4.BackwardPass):
    """Gives each cotangent the type of the value that it belongs to.

    Operands of sharded and varying types may be converted implicitly; this transposes that. But the
    cotangent of a broadcast array is summed first, so that devices exchange the smaller array.
    """

    def __init__(self, jaxpr: Jaxpr) -> None:
        super().__init__(jaxpr)
        self.broadcast = {
            eqn.outvars[0] for eqn in jaxpr.eqns if eqn.primitive is broadcast_in_dim_p
        }

    def transpose(self, eqn: JaxprEqn, cts: list[Any], operands: list[Any]) -> list[Any]:
        if eqn.primitive is template_p:
            return transposed(eqn.params["template"], operands, cts)
        # Programs of higher-order primitives convert values themselves.
        if not eqn.primitive.higher_order and ShardedArray in [
            type(getattr(x, "aval", None)) for x in (*cts, *operands)
        ]:
            cts, operands = list(map(_unsharded, cts)), list(map(_unsharded, operands))
        return super().transpose(eqn, cts, operands)

    def accumulate(self, atom: Atom, ct: Any) -> None:
        if atom in self.linear and ct is not None and type(ct) is not Zero:
            classes = type(getattr(ct, "aval", None)), type(atom.aval)
            if ShardedArray in classes:
                ct = resharding.cast_cotangent(ct, atom.aval)
            if VaryingArray in classes and atom not in self.broadcast:
                ct = _cast_varying(ct, atom.aval)
            super().accumulate(atom, ct)


def _unsharded(x: Any) -> Any:
    """A value without its sharding: a sum over a sharded axis need not be in a transpose.

    How a cotangent is sharded is determined by the type of the operand that it belongs to.
    """
    return x if isinstance(x, stage4.UndefPrimal | Zero) else resharding.leave_to_compiler(x)
