"""The primitive of `cond` and `switch`, which chooses between any number of programs.

The rules are those of stage 4's `cond_p`, whose programs are two. A boolean chooses between two
branches here as well; an int32 is the number of a branch.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from minijax.primitives.calls import WithToken
from minijax.primitives.declare_program import complete, declare_program
from minijax.primitives.dependence import Depends
from minijax.primitives.loops import Flags, call_text
from minijax.primitives.varying import varying_program_rules, vma_of
from minijax.runtime.effects import define_dce
from minijax.runtime.lowering import Function
from minijax.transforms.saved_values import (
    MaySave,
    SavedEqns,
    save_in_program,
    saving_rules,
    split_eqn,
)
from minijax_stage2 import Primitive, ShapedArray
from minijax_stage3 import Jaxpr, JaxprEqn, Literal, Var, dce_jaxpr
from minijax_stage3.lowering import FunctionBuilder, Value, signature
from minijax_stage4 import cond_rules as stage4
from minijax_stage4.cond import cond_p as cond_of_two
from minijax_stage4.cond_rules import Branches
from minijax_stage4.partial_eval import PartialJaxprs, partition

cond_p = Primitive("cond", higher_order=True)


def _abstract_eval(
    which: ShapedArray, *operands: ShapedArray, branches: Branches
) -> list[ShapedArray]:
    is_boolean = which.dtype == np.bool_ and len(branches) == 2
    if which.shape or not (which.dtype == np.int32 or is_boolean):
        raise TypeError(
            "cond: the first operand must be the number of a branch, an int32 scalar, or a boolean "
            f"where there are two; found {which} for {len(branches)} branches"
        )
    return stage4.types_of_branches(which, *operands, branches=branches)


def _lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    which: Value,
    *operands: Value,
    branches: Branches,
) -> list[Value]:
    """Lower to `if` or `case`; if the choice is known, to a call of that branch alone."""
    if isinstance(b, Function) and which.name in b.known:
        return call_text(b, branches[b.known[which.name]], "branch", operands)
    regions = [stage4.branch_region(b, branch, operands, out_avals) for branch in branches]
    operation = "case"
    if which.aval.dtype == np.bool_:
        operation, regions = "if", regions[::-1]
    types = signature([which], out_avals)
    text = f'"stablehlo.{operation}"({which.name}) ({", ".join(regions)}) : {types}'
    return b.emit(text, *out_avals)


def _dependence(depends: Depends, ins: Flags, params: dict[str, Any]) -> Flags:
    which, *operands = ins
    outs = [depends(branch, tuple(operands)) for branch in params["branches"]]
    return tuple([which or any(flags) for flags in zip(*outs, strict=True)])


def _order(
    with_token: WithToken, eqn: JaxprEqn, token: Var | Literal, following: Var
) -> list[JaxprEqn]:
    params = {"branches": tuple(map(with_token, eqn.params["branches"]))}
    invars, outvars = [*eqn.invars, token], [*eqn.outvars, following]
    return [JaxprEqn(eqn.primitive, invars, outvars, params, eqn.source)]


def _keys(keys_of: Callable[[Jaxpr], Any], count: int, *, branches: Branches) -> Any:
    """After a choice a key is used if a branch uses it."""
    first, *others = map(keys_of, branches)
    return first.either(others).at(range(1, count), count)


def _varying(in_avals: Sequence[ShapedArray], params: dict[str, Any]) -> list[frozenset[Hashable]]:
    """The axes of the result of any branch, and of the choice of a branch."""
    columns = zip(*[branch.out_avals for branch in params["branches"]], strict=True)
    return [vma_of(in_avals[0]).union(*map(vma_of, column)) for column in columns]


def _save(eqn: JaxprEqn, may_save: MaySave) -> SavedEqns | None:
    branches = eqn.params["branches"]
    parts = [save_in_program(branch, may_save) for branch in branches]
    if not any(parts):
        return None
    whole = [PartialJaxprs(b, b, [True] * len(b.outvars), 0) for b in branches]
    first, again, residuals = stage4.with_common_residuals(
        [part or unsplit for part, unsplit in zip(parts, whole, strict=True)]
    )
    saved = [Var(aval) for aval in residuals]
    which, *operands = eqn.invars
    return split_eqn(
        eqn,
        saved,
        ({"branches": first}, eqn.invars),
        ({"branches": again}, [which, *saved, *operands]),
    )


def _dce(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    smaller = [dce_jaxpr(branch, used_outs) for branch in eqn.params["branches"]]
    used = [True, *map(any, zip(*[used for _, used in smaller], strict=True))]
    branches = tuple(
        Jaxpr([], partition(used[1:], branch.invars)[1], small.eqns, small.outvars)
        for branch, (small, _) in zip(eqn.params["branches"], smaller, strict=True)
    )
    _, invars = partition(used, eqn.invars)
    _, outvars = partition(used_outs, eqn.outvars)
    return used, JaxprEqn(eqn.primitive, invars, outvars, {"branches": branches}, eqn.source)


COLUMNS: dict[str, Any] = {
    "dependence": _dependence,
    "order": _order,
    "keys": _keys,
    "steps": None,  # evaluation takes them one by one
}
declare_program(
    cond_p,
    evaluate=stage4.evaluate_branches,
    abstract_eval=_abstract_eval,
    lower=_lower,
    vmap=partial(stage4.vmap_branches, cond_p),
    jvp=partial(stage4.jvp_branches, cond_p),
    transpose=partial(stage4.transpose_branches, cond_p),
    partial_eval=stage4.partial_eval_branches,
    dce=_dce,
    **COLUMNS,
)
complete(cond_of_two, **COLUMNS)
define_dce(cond_of_two, None)
for _primitive in (cond_p, cond_of_two):  # a stage's `cond` may stand in a library's function
    varying_program_rules[_primitive] = _varying
    saving_rules[_primitive] = _save
