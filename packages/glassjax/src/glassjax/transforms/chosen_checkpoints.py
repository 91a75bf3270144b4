"""Checkpoints at chosen places of a program, to see what they would save."""

from collections.abc import Callable, Sequence, Set
from contextlib import AbstractContextManager
from types import CodeType
from typing import Any

from glassjax.primitives.loops import stage_body
from glassjax.runtime.effects import has_effects
from glassjax.settings.config import set_in_context
from glassjax.settings.names import wraps
from glassjax.transforms.autodiff import recomputed_code
from glassjax.transforms.checkpoint import checkpoint_p, saving_rules
from glassjax_stage2 import typeof
from glassjax_stage2.arguments import FlatFunction
from glassjax_stage2.tree import tree_flatten, tree_unflatten
from glassjax_stage3 import Jaxpr, JaxprEqn, eval_jaxpr, jit_p
from glassjax_stage3.jaxpr import Atom, Var


def checkpoints_in(code: CodeType) -> AbstractContextManager[None]:
    """Let reverse mode compute again what runs in a function of the user.

    In this context, what `grad` and `vjp` differentiate is traced first. There, operations that
    follow one another in one run of the function's lines, or in one iteration of a loop in it, are
    put under a `checkpoint`.
    """
    return set_in_context(recomputed_code, code)


def with_checkpoints(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun`, a function of pytrees of arrays, with the checkpoints of the context."""
    code = recomputed_code.get()
    assert code is not None

    @wraps(fun)
    def checkpointed(*args: Any) -> Any:
        leaves, in_tree = tree_flatten(args)
        flat = FlatFunction(fun, in_tree)
        closed = stage_body(flat, [typeof(x) for x in leaves], "explain_memory", fun)
        program = checkpoint_runs(closed, code)
        return tree_unflatten(flat.out_tree, eval_jaxpr(program, closed.consts, *leaves))

    return checkpointed


def checkpoint_runs(jaxpr: Jaxpr, code: CodeType, in_loop: bool = False) -> Jaxpr:
    """A program with a checkpoint around each run of a function's lines, in inner programs too."""
    runs = _runs(jaxpr, code)
    needed: set[Atom] = set(jaxpr.outvars)  # by what follows
    eqns: list[JaxprEqn] = []
    for run in reversed(runs):
        if _is_in(run[0], code):
            eqns.append(_checkpointed(run, needed, in_loop))
        else:
            eqns.extend(_checkpointed_inside(eqn, code) for eqn in reversed(run))
        needed.update(x for eqn in run for x in eqn.invars)
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns[::-1], jaxpr.outvars)


def _is_in(eqn: JaxprEqn, code: CodeType) -> bool:
    return eqn.source is not None and eqn.source.code is code and not has_effects(eqn)


def _runs(jaxpr: Jaxpr, code: CodeType) -> list[list[JaxprEqn]]:
    """The equations, cut where a run of the function's lines begins or ends."""
    runs: list[list[JaxprEqn]] = []
    last = -1  # the place of the previous equation in the function; -1 outside of it
    for eqn in jaxpr.eqns:
        here = eqn.source.offset if eqn.source and _is_in(eqn, code) else -1
        # Python goes back for another iteration, or another call.
        continues = bool(runs) and (last <= here if last >= 0 else here < 0)
        if continues:
            runs[-1].append(eqn)
        else:
            runs.append([eqn])
        last = here
    return runs


def _checkpointed(run: Sequence[JaxprEqn], needed: Set[Atom], in_loop: bool) -> JaxprEqn:
    """One equation for a run, with the results that are needed afterwards."""
    computed = [var for eqn in run for var in eqn.outvars]
    local = set(computed)
    used = dict.fromkeys(x for eqn in run for x in eqn.invars)
    invars = [x for x in used if type(x) is Var and x not in local]
    outvars = [var for var in computed if var in needed]
    params = {
        "jaxpr": Jaxpr([], invars, list(run), outvars),
        "policy": None,
        "prevent_cse": not in_loop,
        "again": False,
    }
    return JaxprEqn(checkpoint_p, invars, outvars, params, run[0].source)


def _checkpointed_inside(eqn: JaxprEqn, code: CodeType) -> JaxprEqn:
    """An equation whose inner program has the checkpoints."""
    program = eqn.params.get("jaxpr")
    may_hold = eqn.primitive in saving_rules and eqn.primitive is not checkpoint_p
    if not may_hold or not isinstance(program, Jaxpr):
        return eqn
    inner = checkpoint_runs(program, code, in_loop=eqn.primitive is not jit_p)
    return JaxprEqn(
        eqn.primitive, eqn.invars, eqn.outvars, {**eqn.params, "jaxpr": inner}, eqn.source
    )
