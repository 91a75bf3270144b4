"""Transposition of programs with shardings, or with varying axes, in their types."""

from typing import Any

import glassjax_stage2 as stage2
from glassjax.primitives.axes import VaryingArray, with_reduction
from glassjax.runtime import templates
from glassjax.runtime.named_scope import marked, marks_backward_passes
from glassjax.settings.names import later
from glassjax.shardings import memories
from glassjax.shardings import types as resharding
from glassjax.shardings.types import ShardedArray
from glassjax_stage2 import Tracer, Zero, typeof
from glassjax_stage2.primitives import broadcast_in_dim_p
from glassjax_stage2.source import on_behalf_of
from glassjax_stage2.tangent import tangent_type
from glassjax_stage3 import Jaxpr, JaxprEqn, Literal, Var
from glassjax_stage3.jaxpr import Atom
from glassjax_stage4 import transpose as stage4

_add = templates.copied(later("glassjax.lax.elementwise", "add_any"))
_cast_varying = later("glassjax.lax.collectives", "cast_cotangent")


class BackwardPass(stage4.BackwardPass):
    """Gives each cotangent the type of the value that it belongs to.

    Operands of sharded and varying types may be converted implicitly; this transposes that. But the
    cotangent of a broadcast array is summed first, so that less data travels between devices.
    """

    def __init__(self, jaxpr: Jaxpr) -> None:
        super().__init__(jaxpr)
        self.broadcast = {
            eqn.outvars[0] for eqn in jaxpr.eqns if eqn.primitive is broadcast_in_dim_p
        }
        self.apply = templates.apply_in(stage2.current_trace())
        if marks_backward_passes():
            self.run = marked(self.run)  # type: ignore[method-assign]

    def zero_of(self, var: Var) -> Zero:
        return zero_cotangent(var.aval)

    def pull_back(self, eqn: JaxprEqn) -> None:
        if eqn.primitive is not templates.template_p or not self.copy_transpose(eqn):
            super().pull_back(eqn)

    def copy_transpose(self, eqn: JaxprEqn) -> bool:
        """Pull cotangents back through a template by its transpose, if that is a template, too."""
        linear, cotangents = self.linear, self.cotangents
        known: list[Any] = []
        key: list[Any] = []
        for atom in eqn.invars:
            is_linear = atom in linear
            if not is_linear:
                known.append(atom.val if isinstance(atom, Literal) else self.values[atom])
            key.append(is_linear)
        for var in eqn.outvars:
            ct = cotangents.get(var)
            if ct is None:
                key.append(None)
            else:
                known.append(ct)
                key.append(ct.aval if isinstance(ct, Tracer) else typeof(ct))
        back: templates.Transposed | None = eqn.params["template"].once(
            tuple(key), templates.transposed_template
        )
        if back is None:
            return False
        for place, ct in enumerate(self.apply(back.template, known, eqn.source)):
            atom = eqn.invars[back.places[place]]
            total = cotangents.get(atom)
            if total is not None:
                with on_behalf_of(eqn.source):
                    ct = _add(total, ct)
            cotangents[atom] = ct
        return True

    def read_both(self, eqn: JaxprEqn) -> tuple[list[Any], list[Any]]:
        cts, operands = super().read_both(eqn)
        # Programs of higher-order primitives convert values themselves.
        if not eqn.primitive.higher_order and not _TYPED.isdisjoint(
            [type(getattr(x, "aval", None)) for x in (*cts, *operands)]
        ):
            return list(map(_unsharded, cts)), list(map(_unsharded, operands))
        return cts, operands

    def accumulate(self, atom: Atom, ct: Any) -> None:
        if atom in self.linear and ct is not None and type(ct) is not Zero:
            classes = type(getattr(ct, "aval", None)), type(atom.aval)
            if memories.HostArray in classes or VaryingArray in classes:
                ct = memories.moved(ct, memories.space_of(atom.aval))
            if not _TYPED.isdisjoint(classes):
                ct = resharding.cast_cotangent(ct, atom.aval)
            if VaryingArray in classes and atom not in self.broadcast:
                ct = _cast_varying(ct, atom.aval)
            super().accumulate(atom, ct)


_TYPED = {ShardedArray, memories.HostArray}  # the latter may contain the former


def zero_cotangent(aval: stage2.ShapedArray) -> Zero:
    """The zero cotangent of a value of type `aval`, in the dual state of reduction."""
    zero = tangent_type(aval)
    if isinstance(zero, ShardedArray):
        zero = ShardedArray(zero.plain, zero.mesh, zero.spec, zero.reduction.dual)
    elif isinstance(zero, VaryingArray):
        zero = with_reduction(zero, zero.reduction.dual)
    return Zero(zero)


def _unsharded(x: Any) -> Any:
    """A value without its sharding: a sum over a sharded axis need not be in a transpose.

    How a cotangent is sharded is determined by the type of the operand that it belongs to.
    """
    return x if isinstance(x, stage4.UndefPrimal | Zero) else resharding.leave_to_compiler(x)
