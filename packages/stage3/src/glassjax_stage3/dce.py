"""Dead-code elimination: removing equations that no result depends on."""

from collections.abc import Sequence

from glassjax_stage2.trace import Rules
from glassjax_stage3.jaxpr import Atom, Jaxpr, JaxprEqn

# `rule(used_outs, eqn) -> (used_ins, eqn or None)`, for primitives whose programs may shrink, or
# that must run even if their results are unused.
dce_rules = Rules("dead-code elimination", "dce_rules")


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool] | None = None) -> tuple[Jaxpr, list[bool]]:
    """Keep the chosen results of `jaxpr` (all by default) and the equations that they need.

    Returns:
        The smaller jaxpr, and for each argument whether it is kept.

    >>> import numpy as np
    >>> from glassjax_stage3 import make_jaxpr
    >>> program = make_jaxpr(lambda x, y: (x + x, y * y))(np.float32(1), np.float32(2))
    >>> dce_jaxpr(program, [False, True])
    ({ lambda ; a:f32[]. let b:f32[] = mul a a in (b,) }, [False, True])
    """
    if used_outputs is None:
        used_outputs = [True] * len(jaxpr.outvars)
    outvars = [out for out, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    needed: set[Atom] = set(outvars)
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        kept = None if needed.isdisjoint(eqn.outvars) else eqn
        if eqn.primitive in dce_rules:
            used_outs = [var in needed for var in eqn.outvars]
            _, kept = dce_rules[eqn.primitive](used_outs, eqn)
        if kept is not None:
            needed.update(kept.invars)
            eqns.append(kept)
    used_inputs = [var in needed for var in jaxpr.invars]
    invars = [var for var, used in zip(jaxpr.invars, used_inputs, strict=True) if used]
    eqns.reverse()
    if eqns == jaxpr.eqns and len(outvars) == len(jaxpr.outvars) and all(used_inputs):
        return jaxpr, used_inputs  # the same object, so that its cached programs remain valid
    return Jaxpr(jaxpr.constvars, invars, eqns, outvars), used_inputs
