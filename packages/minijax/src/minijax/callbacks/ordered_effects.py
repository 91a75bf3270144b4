"""Ordered effects: a pass over jaxprs that writes the order of calls of Python into them.

XLA orders operations by what they compute from each other. So each call of a Python function is
given a token, a boolean that comes out of the call before it, and gives one to the next. A program
inside of another takes a token and returns one; a loop carries it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minijax.callbacks.callback import TOKEN
from minijax.callbacks.io_callback import debug_callback_p, io_callback_p
from minijax.lax.control_flow.custom_linear_solve import linear_solve_p, split_operands
from minijax.lax.control_flow.scan import scan_p
from minijax.lax.control_flow.while_loop import while_p
from minijax.transforms.checkpoint import checkpoint_p
from minijax.transforms.custom_derivatives.linear_call import custom_linear_p
from minijax.transforms.custom_derivatives.rules import custom_call_p
from minijax.transforms.custom_vmap import custom_vmap_p
from minijax_stage2 import Primitive
from minijax_stage3 import Jaxpr, JaxprEqn, Literal, Var, jit_p, lowering
from minijax_stage3.dce import has_effects
from minijax_stage3.jaxpr import Atom
from minijax_stage3.jit_rules import cached_by_jaxpr
from minijax_stage4.cond import cond_p


# --8<-- [start:order]
def in_order(jaxpr: Jaxpr) -> Jaxpr:
    """Return `jaxpr` with tokens that order its effects."""
    if not has_effects(jaxpr):
        return jaxpr
    eqns, _ = _one_after_another(jaxpr.eqns, Literal(np.bool_(False)))
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, jaxpr.outvars)


@cached_by_jaxpr
def _with_token(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with a token as its last argument, and the next one as its last result."""
    token = Var(TOKEN)
    eqns, last = _one_after_another(jaxpr.eqns, token)
    return Jaxpr([], [*jaxpr.invars, token], eqns, [*jaxpr.outvars, last])


def _one_after_another(eqns: list[JaxprEqn], token: Atom) -> tuple[list[JaxprEqn], Atom]:
    ordered = []
    for eqn in eqns:
        if has_effects(eqn):
            following = Var(TOKEN)
            ordered += _rule_of(eqn.primitive)(eqn, token, following)
            token = following
        else:
            ordered.append(eqn)
    return ordered, token


# --8<-- [end:order]


def _changed(
    eqn: JaxprEqn, invars: list[Atom], outvars: list[Var], **params: Any
) -> list[JaxprEqn]:
    return [JaxprEqn(eqn.primitive, invars, outvars, {**eqn.params, **params}, eqn.source)]


def _call(eqn: JaxprEqn, token: Atom, following: Var) -> list[JaxprEqn]:
    return _changed(eqn, [token, *eqn.invars], [following, *eqn.outvars], has_token=True)


def _of_program(eqn: JaxprEqn, token: Atom, following: Var) -> list[JaxprEqn]:
    jaxpr = _with_token(eqn.params["jaxpr"])
    return _changed(eqn, [*eqn.invars, token], [*eqn.outvars, following], jaxpr=jaxpr)


def _called(
    eqn: JaxprEqn, name: str, jaxpr: Jaxpr, operands: list[Atom], token: Atom, following: Var
) -> list[JaxprEqn]:
    held = {"jaxpr": _with_token(jaxpr), "name": name}
    return [JaxprEqn(jit_p, [*operands, token], [*eqn.outvars, following], held, eqn.source)]


def _of_custom_linear(eqn: JaxprEqn, token: Atom, following: Var) -> list[JaxprEqn]:
    """A call of the function that is known to be linear."""
    name = "custom_linear"
    return _called(eqn, name, eqn.params["forward"], list(eqn.invars), token, following)


def _of_linear_solve(eqn: JaxprEqn, token: Atom, following: Var) -> list[JaxprEqn]:
    """A call of the solver, which calls the map that it is to invert."""
    programs, counts = eqn.params["programs"], eqn.params["counts"]
    consts, b = split_operands(eqn.invars, counts)
    return _called(eqn, "linear_solve", programs.solve, [*consts.solve, *b], token, following)


def _of_cond(eqn: JaxprEqn, token: Atom, following: Var) -> list[JaxprEqn]:
    branches = tuple(map(_with_token, eqn.params["branches"]))
    return _changed(eqn, [*eqn.invars, token], [*eqn.outvars, following], branches=branches)


def _of_scan(eqn: JaxprEqn, token: Atom, following: Var) -> list[JaxprEqn]:
    """The token is carried, last."""
    params = eqn.params
    num_carry = params["num_carry"]
    num_before = params["num_consts"] + num_carry
    jaxpr = _with_token(params["jaxpr"])
    *invars, given = jaxpr.invars
    *outvars, last = jaxpr.outvars
    body = Jaxpr([], _put(invars, num_before, given), jaxpr.eqns, _put(outvars, num_carry, last))
    return _changed(
        eqn,
        _put(eqn.invars, num_before, token),
        _put(eqn.outvars, num_carry, following),
        jaxpr=body,
        num_carry=num_carry + 1,
    )


def _put(items: Any, position: int, item: Any) -> list[Any]:
    return [*items[:position], item, *items[position:]]


def _of_while(eqn: JaxprEqn, token: Atom, following: Var) -> list[JaxprEqn]:
    """The token is carried, last. So is, before it, whether to go on, where that does something.

    Then the condition is found out before the loop, and at the end of each round.
    """
    params = eqn.params
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    if not has_effects(condition):
        condition = Jaxpr([], [*condition.invars, Var(TOKEN)], condition.eqns, condition.outvars)
        invars, outvars = [*eqn.invars, token], [*eqn.outvars, following]
        return _changed(eqn, invars, outvars, cond_jaxpr=condition, body_jaxpr=_with_token(body))
    cond_consts, body_consts = params["cond_consts"], params["body_consts"]
    of_cond = list(eqn.invars[:cond_consts])
    of_body = list(eqn.invars[cond_consts : cond_consts + body_consts])
    init = list(eqn.invars[cond_consts + body_consts :])

    def asks(operands: list[Any], goes_on: Var, after: Var) -> JaxprEqn:
        held = {"jaxpr": _with_token(condition), "name": "while_condition"}
        return JaxprEqn(jit_p, operands, [goes_on, after], held, eqn.source)

    def fresh(variables: Any) -> list[Var]:
        return [Var(x.aval) for x in variables]

    first, asked = Var(TOKEN), Var(TOKEN)
    before = asks([*of_cond, *init, token], first, asked)
    in_cond, in_body, carry, out_carry = map(fresh, (of_cond, of_body, init, body.outvars))
    was, given, done, goes_on, after = (Var(TOKEN) for _ in range(5))
    round_params = {"jaxpr": _with_token(body), "name": "while_body"}
    one_round = Jaxpr(
        [],
        [*in_body, *in_cond, *carry, was, given],
        [
            JaxprEqn(
                jit_p, [*in_body, *carry, given], [*out_carry, done], round_params, eqn.source
            ),
            asks([*in_cond, *out_carry, done], goes_on, after),
        ],
        [*out_carry, goes_on, after],
    )
    carried = [*fresh(init), Var(TOKEN), Var(TOKEN)]
    loop = _changed(
        eqn,
        [*of_body, *of_cond, *init, first, asked],
        [*eqn.outvars, Var(TOKEN), following],
        cond_jaxpr=Jaxpr([], carried, [], [carried[-2]]),
        body_jaxpr=one_round,
        cond_consts=0,
        body_consts=body_consts + cond_consts,
    )
    return [before, *loop]


_rules: dict[Primitive, Callable[[JaxprEqn, Atom, Var], list[JaxprEqn]]] = {
    io_callback_p: _call,
    debug_callback_p: _call,
    jit_p: _of_program,
    checkpoint_p: _of_program,
    custom_call_p: _of_program,
    custom_linear_p: _of_custom_linear,
    linear_solve_p: _of_linear_solve,
    custom_vmap_p: _of_program,
    cond_p: _of_cond,
    scan_p: _of_scan,
    while_p: _of_while,
}


def _rule_of(primitive: Primitive) -> Callable[[JaxprEqn, Atom, Var], list[JaxprEqn]]:
    if primitive not in _rules:
        raise NotImplementedError(
            f"{primitive}: a function inside of it calls Python, as debug.print does, "
            "and nothing says in which order. Call Python before or after it"
        )
    return _rules[primitive]


lowering.passes.append(in_order)
