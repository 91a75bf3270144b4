"""`while_loop`: a body that runs while a condition holds, decided at run time."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

import minijax.lax.control_flow.while_rules as _rules  # noqa: F401
from minijax.lax.control_flow.disabled_jit import while_in_python
from minijax.lax.control_flow.program_cache import keeps_programs
from minijax.lax.control_flow.while_primitive import while_p
from minijax.primitives.loops import cut, hoist_invariant, stage_body, stage_with_carry
from minijax.primitives.varying import plain_type
from minijax.pytrees.operations import treedef_tuple
from minijax.runtime.conversion import to_array, tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.refs import Ref, passing, values_of, with_outer_refs, write_all
from minijax.settings.debugging import jit_is_disabled
from minijax_stage2 import ShapedArray, bind, typeof
from minijax_stage2.arguments import FlatFunction, argument_names, require_function
from minijax_stage2.source import name_of
from minijax_stage2.tree import tree_flatten, tree_unflatten
from minijax_stage3.jaxpr import Jaxpr, consts_as_invars
from minijax_stage3.staging import abstractify
from minijax_stage4.partial_eval import merge, partition

Carry = TypeVar("Carry")


@evaluated_by_library
@keeps_programs("cond_fun", "body_fun")
def while_loop(
    cond_fun: Callable[[Carry], Any], body_fun: Callable[[Carry], Carry], init_val: Carry
) -> Carry:
    """Call `body_fun` on its own result again and again, while `cond_fun` of it is true.

    Arguments:
        cond_fun: function of the carry that returns a boolean scalar.
        body_fun: function of the carry that returns the next one, of the same structure and
            types.
        init_val: the initial carry, a pytree of arrays.

    Returns:
        The first carry for which `cond_fun` is false.

    Raises:
        TypeError: `cond_fun` does not return a boolean scalar, or the carry changes its type.
        ValueError: it is differentiated in reverse mode, which requires the number of iterations in
            advance: use `scan`, or `fori_loop` with bounds that are not tracers.

    >>> import minijax.numpy as jnp
    >>> while_loop(lambda x: x < 100, lambda x: x * 3, jnp.int32(1))
    Array(243, dtype=int32)
    """
    return repeat_while(cond_fun, body_fun, init_val)


def repeat_while(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any, counts: bool = False
) -> Any:
    """`while_loop`, or with `counts` a `fori_loop`, whose users see only its last carry entry."""
    for function in (cond_fun, body_fun):
        require_function("while_loop", function)

    def stage(refs: Sequence[Ref]) -> Any:
        if not refs:
            return _repeat_alone(cond_fun, body_fun, init_val, counts)
        body = passing(refs, body_fun)
        state = _repeat_alone(
            lambda state: passing(refs, cond_fun)(*state)[1],
            lambda state: body(*state),
            (values_of(refs), init_val),
            counts,
        )
        write_all(refs, state[0])
        return state[1]

    return with_outer_refs(stage)


def _repeat_alone(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any, counts: bool
) -> Any:
    """`repeat_while` of functions that use no references of the code around them."""
    if jit_is_disabled():
        done = while_in_python(cond_fun, body_fun, tree_to_arrays(init_val))
        if done:
            return tree_to_arrays(done[0])

    def names() -> list[str]:
        return argument_names(body_fun, (init_val,), {})

    init, tree = tree_flatten(init_val)
    abstractify(f"while_loop of `{name_of(body_fun)}`", names, init)
    in_tree = treedef_tuple([tree])
    body = FlatFunction(body_fun, in_tree)
    closed, init = stage_with_carry(
        "while_loop",
        body_fun,
        lambda avals: stage_body(body, avals, "while_loop", body_fun, names),
        lambda: body.out_tree,
        tree,
        init,
        counts,
    )
    condition = FlatFunction(cond_fun, in_tree)
    closed_cond = stage_body(condition, [typeof(x) for x in init], "while_loop", cond_fun, names)
    if len(condition.out_tree.nodes) != 1 or [
        plain_type(a).strip_weak_type() for a in closed_cond.out_avals
    ] != [ShapedArray((), np.bool_)]:
        is_leaf = len(condition.out_tree.nodes) == 1 and closed_cond.out_avals
        found = closed_cond.out_avals[0] if is_leaf else condition.out_tree
        raise TypeError(
            f"while_loop: `{name_of(cond_fun)}` must return one boolean scalar, found {found}. "
            "Compare numbers; make one boolean of several by all or any."
        )
    cond_jaxpr, cond_consts = consts_as_invars(closed_cond.jaxpr), closed_cond.consts
    of_cond, seen = cut(cond_jaxpr.invars, len(cond_consts))
    in_use = {x for eqn in cond_jaxpr.eqns for x in eqn.invars}.union(cond_jaxpr.outvars)
    body_jaxpr, is_const = hoist_invariant(
        consts_as_invars(closed.jaxpr), len(closed.consts), tuple(var in in_use for var in seen)
    )
    seen, _ = partition(is_const, seen)
    changing, invariant = partition(is_const, init)
    outs = bind(
        while_p,
        *cond_consts,
        *invariant,
        *closed.consts,
        *changing,
        cond_jaxpr=Jaxpr([], [*of_cond, *seen], cond_jaxpr.eqns, cond_jaxpr.outvars),
        body_jaxpr=body_jaxpr,
        cond_consts=len(cond_consts),
        body_consts=len(invariant) + len(closed.consts),
    )
    return tree_unflatten(tree, map(to_array, merge(is_const, outs, invariant)))


__all__ = ["while_loop"]
