"""The columns that the library adds for `jit` and `cond`, which the stages declare."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from minijax.primitives.calls import (
    WithToken,
    dependence_of_program,
    keys_of_program,
    order_program,
    run_program,
)
from minijax.primitives.declare_program import complete
from minijax.primitives.dependence import Depends
from minijax.primitives.loops import Flags
from minijax.primitives.varying import varying_program_rules, vma_of
from minijax_stage2 import ShapedArray
from minijax_stage3 import Jaxpr, JaxprEqn, Literal, Var, jit_p
from minijax_stage4.cond import cond_p

Branches = Sequence[Jaxpr]

complete(
    jit_p,
    dependence=dependence_of_program,
    order=order_program,
    keys=keys_of_program,
    steps=run_program,
)


def _dependence_of_cond(depends: Depends, ins: Flags, params: dict[str, Any]) -> Flags:
    of_choice, *of_operands = ins
    outs = [depends(branch, tuple(of_operands)) for branch in params["branches"]]
    return tuple([of_choice or any(flags) for flags in zip(*outs, strict=True)])


def _order_cond(
    with_token: WithToken, eqn: JaxprEqn, token: Var | Literal, following: Var
) -> list[JaxprEqn]:
    params = {"branches": tuple(map(with_token, eqn.params["branches"]))}
    invars, outvars = [*eqn.invars, token], [*eqn.outvars, following]
    return [JaxprEqn(cond_p, invars, outvars, params, eqn.source)]


def _keys_of_cond(keys_of: Callable[[Jaxpr], Any], count: int, *, branches: Branches) -> Any:
    """After a choice a key is used if a branch uses it."""
    first, *others = map(keys_of, branches)
    return first.either(others).at(range(1, count), count)


def _axes_of_choice(
    in_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[frozenset[Hashable]]:
    """The axes of the result of any branch, and of the choice of a branch."""
    columns = zip(*[branch.out_avals for branch in params["branches"]], strict=True)
    return [vma_of(in_avals[0]).union(*map(vma_of, column)) for column in columns]


varying_program_rules[cond_p] = _axes_of_choice
complete(
    cond_p,
    dependence=_dependence_of_cond,
    order=_order_cond,
    keys=_keys_of_cond,
    steps=None,  # evaluation takes them one by one
)
