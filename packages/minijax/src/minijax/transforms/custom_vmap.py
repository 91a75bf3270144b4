"""Functions that bring their own rule for `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

from minijax.errors.classes import TreeMismatchError
from minijax.primitives.calls import (
    evaluate_program,
    keys_of_program,
    lower_program,
    order_program,
    run_program,
    transpose_program,
    type_of_program,
)
from minijax.primitives.declare_program import declare_program
from minijax.primitives.loops import cut, stage_body
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.transforms.custom_derivatives.call import by_position
from minijax_stage2 import (
    Primitive,
    ShapedArray,
    Zero,
    bind,
    current_trace,
    explain_mismatch,
    typeof,
)
from minijax_stage2.arguments import FlatFunction, require_function
from minijax_stage2.errors import shown
from minijax_stage2.jvp import jvp_flat
from minijax_stage2.source import name_of
from minijax_stage2.tangent import instantiate, tangent_type
from minijax_stage2.trace import EvalTrace
from minijax_stage2.tree import PyTreeDef, tree_flatten, tree_unflatten
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from minijax_stage3 import JaxprEqn, Var
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.jit_rules import jvp_jaxpr
from minijax_stage4.partial_eval import PartialEqns, merge, partition

Values = Sequence[Any]
Flags = Sequence[bool]
# From the batch axis, which operands are batches, along their first axis, and all of them: the
# results, and which of these are batches.
BatchRule = Callable[[BatchAxis, Flags, Values], tuple[list[Any], list[bool]]]

# A program, and its rule as a `BatchRule`; where the program is the derivative of another one,
# also that call.
custom_vmap_p = Primitive("custom_vmap_call", higher_order=True)


P = ParamSpec("P")
R = TypeVar("R")
Rule = TypeVar("Rule", bound=Callable[..., Any])


class custom_vmap(Generic[P, R]):
    """Decorator: a function with its own rule for `vmap`.

    All other transformations use the function. The derivative of its `vmap` is that of the rule;
    the `vmap` of its gradient uses the gradient of the function.

    Arguments:
        fun: function of arrays and pytrees of arrays.

    Raises:
        AttributeError: when called, no rule is defined.

    >>> import minijax
    >>> import minijax.numpy as jnp
    >>> @custom_vmap
    ... def f(x, y):
    ...     return x + y
    >>> @f.def_vmap
    ... def f_vmap(axis_size, in_batched, xs, ys):
    ...     return xs * ys, True
    >>> minijax.vmap(f)(jnp.arange(3), jnp.arange(1, 4))
    Array([0, 2, 6], dtype=int32)
    """

    vmap_rule: Callable[..., Any] | None = None

    def __init__(self, fun: Callable[P, R]):
        require_function("custom_vmap", fun)
        functools.update_wrapper(self, fun)
        self.fun = fun

    def def_vmap(self, vmap_rule: Rule) -> Rule:
        """Define the rule.

        Arguments:
            vmap_rule: function of the axis size, a list of flags that say for each argument, or
                each array of its pytree, whether it is batched, and the arguments. Batch axes come
                first. It returns the result and, in a pytree of the same structure, flags of its
                batched parts.

        Returns:
            `vmap_rule`, so that this is a decorator.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    @evaluated_by_library
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.vmap_rule is None:
            raise AttributeError(
                f"no rule is defined for the custom_vmap function `{name_of(self.fun)}`: use its "
                "method def_vmap"
            )
        given = by_position(self.fun, args, kwargs)
        leaves, in_tree = tree_flatten(tree_to_arrays(given))
        flat = FlatFunction(self.fun, in_tree)
        if isinstance(current_trace(), EvalTrace):
            outs = flat(*leaves)
            return tree_to_arrays(tree_unflatten(flat.out_tree, outs))
        closed = stage_body(flat, list(map(typeof, leaves)), "custom_vmap", self.fun)
        rule = partial(
            _apply_rule,
            self.vmap_rule,
            len(closed.consts),
            in_tree,
            flat.out_tree,
            closed.out_avals,
        )
        outs = bind(
            custom_vmap_p,
            *closed.consts,
            *leaves,
            jaxpr=consts_as_invars(closed.jaxpr),
            rule=rule,
            primal_call=None,
        )
        return tree_unflatten(flat.out_tree, outs)


def _apply_rule(
    rule: Callable[..., Any],
    num_consts: int,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    out_avals: Sequence[ShapedArray],
    axis: BatchAxis,
    batched: Flags,
    values: Values,
) -> tuple[list[Any], list[bool]]:
    """The user's rule as a `BatchRule`, with its results checked."""
    what = f"custom_vmap: the rule `{name_of(rule)}`"
    if any(batched[:num_consts]):
        raise TypeError(
            f"{what} knows of arguments only, but the function closes over a value of which there "
            "is one for each example. Make the value an argument."
        )
    args = tree_unflatten(in_tree, values[num_consts:])
    pair = rule(axis.size, list(tree_unflatten(in_tree, batched[num_consts:])), *args)
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(
            f"{what} must return a pair, the result and which parts of it are batches; "
            f"found {shown(pair)}"
        )
    outs, tree = tree_flatten(tree_to_arrays(pair[0]))
    out_batched, batched_tree = tree_flatten(pair[1])
    if tree != batched_tree:
        raise TreeMismatchError(
            f"{what} must say in the structure of its result which parts of it are batches: "
            + explain_mismatch(tree, batched_tree)
        )
    if tree != out_tree:
        raise TreeMismatchError(
            f"{what} must return a result of the structure of the function's: "
            + explain_mismatch(out_tree, tree, name="result")
        )
    for out, is_batch, aval in zip(outs, out_batched, out_avals, strict=True):
        expected = (axis.size, *aval.shape) if is_batch else aval.shape
        if typeof(out).shape != expected:
            raise ValueError(
                f"{what} returned {typeof(out)} and said that it is {'a' if is_batch else 'no'} "
                f"batch of {axis.size} examples of {aval}"
            )
    return outs, list(map(bool, out_batched))


def _vmap(
    axis: BatchAxis, values: Values, dims: Sequence[BatchDim], *, rule: BatchRule, **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    values = [
        x if dim is None else move_batch_dim(x, axis, dim, 0)
        for x, dim in zip(values, dims, strict=True)
    ]
    outs, batched = rule(axis, [dim is not None for dim in dims], values)
    return outs, [0 if is_batch else None for is_batch in batched]


def _jvp(primals: Values, tangents: Values, **params: Any) -> tuple[list[Any], list[Any]]:
    jaxpr = params["jaxpr"]
    nonzero = tuple(type(t) is not Zero for t in tangents)
    program, consts, out_nonzero = jvp_jaxpr(jaxpr, nonzero)
    given = [t for t in tangents if type(t) is not Zero]
    results = bind(
        custom_vmap_p,
        *consts,
        *primals,
        *given,
        jaxpr=program,
        rule=partial(_jvp_of_rule, params["rule"], len(consts), nonzero, out_nonzero),
        primal_call=(len(consts), len(primals), params),
    )
    count = len(out_nonzero)
    zero_avals, _ = partition(out_nonzero, jaxpr.out_avals)
    zeros = [Zero(tangent_type(aval)) for aval in zero_avals]
    return results[:count], merge(out_nonzero, zeros, results[count:])


def _jvp_of_rule(
    rule: BatchRule,
    num_consts: int,
    nonzero: Flags,
    out_nonzero: Flags,
    axis: BatchAxis,
    batched: Flags,
    values: Values,
) -> tuple[list[Any], list[bool]]:
    """The rule of the derivative: the derivative of the rule."""
    _, primals, tangents = cut(values, num_consts, len(nonzero))
    _, primal_batched, given_batched = cut(batched, num_consts, len(nonzero))
    # A primal and its tangent are a batch together.
    tangent_batched = merge(nonzero, [False] * nonzero.count(False), given_batched)
    both = [a or b for a, b in zip(primal_batched, tangent_batched, strict=True)]

    def as_batches(xs: Values, flags: Flags, wanted: Flags) -> list[Any]:
        return [
            move_batch_dim(x, axis, None, 0) if want and not flag else x
            for x, flag, want in zip(xs, flags, wanted, strict=True)
        ]

    primals = as_batches(primals, primal_batched, both)
    given = as_batches(tangents, given_batched, partition(nonzero, both)[1])
    zeros = [Zero.like(x) for x in partition(nonzero, primals)[0]]
    out_batched: list[bool] = []

    def apply(*primals: Any) -> list[Any]:
        outs, out_batched[:] = rule(axis, both, primals)
        return outs

    outs, dots = jvp_flat(apply, primals, merge(nonzero, zeros, given), rule)
    _, dots = partition(out_nonzero, dots)
    _, dots_batched = partition(out_nonzero, out_batched)
    return [*outs, *map(instantiate, dots)], [*out_batched, *dots_batched]


def _known_call(unknown_ins: Flags, params: dict[str, Any]) -> tuple[slice, dict[str, Any]] | None:
    """The operands and parameters of the call differentiated here, if they are known."""
    if params["primal_call"] is None:
        return None
    num_consts, num_primals, primal_params = params["primal_call"]
    end = num_consts + num_primals
    return None if any(unknown_ins[:end]) else (slice(num_consts, end), primal_params)


def _partial_eval(unknown_ins: Flags, eqn: JaxprEqn) -> PartialEqns:
    """Call at once; the derivative is deferred, and recomputes what it needs."""
    known = _known_call(unknown_ins, eqn.params)
    if known is None:
        return PartialEqns([], eqn)
    operands, primal_params = known
    count = len(primal_params["jaxpr"].outvars)
    outs = eqn.outvars[:count]
    again = [*(Var(out.aval) for out in outs), *eqn.outvars[count:]]
    return PartialEqns(
        [JaxprEqn(custom_vmap_p, eqn.invars[operands], outs, primal_params, eqn.source)],
        JaxprEqn(custom_vmap_p, eqn.invars, again, eqn.params, eqn.source),
    )


declare_program(
    custom_vmap_p,
    evaluate=evaluate_program,
    abstract_eval=type_of_program,
    lower=lower_program("custom_vmap"),
    vmap=_vmap,
    jvp=_jvp,
    transpose=transpose_program,
    partial_eval=_partial_eval,
    dce=None,
    dependence=None,  # as its rule may say, which is the user's
    order=order_program,
    keys=keys_of_program,
    steps=run_program,
)


__all__ = ["custom_vmap"]
