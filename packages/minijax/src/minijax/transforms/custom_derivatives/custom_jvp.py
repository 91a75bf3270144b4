"""`custom_jvp`: functions with a custom derivative, from which all modes follow."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from minijax.errors.classes import TreeMismatchError
from minijax.transforms.custom_derivatives.call import Call, CustomFunction, P, R
from minijax.transforms.custom_derivatives.rules import JvpRule
from minijax.transforms.custom_derivatives.symbolic_zero import (
    SymbolicZero,
    shown_to_rule,
    zero_from_primal,
)
from minijax_stage2 import Zero, add, explain_mismatch, typeof
from minijax_stage2.arguments import flatten_result
from minijax_stage2.errors import shown
from minijax_stage2.jvp import check_tangent
from minijax_stage2.source import name_of
from minijax_stage2.tangent import tangent_type
from minijax_stage2.tree import keystr, tree_flatten_with_path, tree_map, tree_unflatten

Function = TypeVar("Function", bound=Callable[..., Any])


class custom_jvp(CustomFunction[P, R]):
    """Decorator: a function with a custom derivative, from which all modes follow.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        nondiff_argnums: positions of arguments that are not differentiated, and may be any values.
            The rule gets them first.
        nondiff_argnames: the same, by name.

    Raises:
        AttributeError: when called, no rule is defined.

    >>> import minijax
    >>> import minijax.numpy as jnp
    >>> @custom_jvp
    ... def f(x):
    ...     return jnp.sin(x)
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return f(x), 100.0 * t
    >>> minijax.grad(f)(1.0)
    Array(100., dtype=float32, weak_type=True)
    """

    decorator = "custom_jvp"
    how_defined = "use its method defjvp"
    jvp: Callable[..., Any] | None = None
    jvp_symbolic_zeros = False

    def _is_defined(self) -> bool:
        return self.jvp is not None

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """Define the derivative.

        Arguments:
            jvp: function of the primals and the tangents, two tuples, after the arguments that
                are not differentiated. It returns the result and its tangent, linear in the
                tangents.
            symbolic_zeros: whether to pass zero tangents as `SymbolicZero`.

        Returns:
            `jvp`, so that this is a decorator.
        """
        self.jvp = jvp
        self.jvp_symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Define the derivative by one formula for each argument; their terms are added.

        Arguments:
            jvps: for each argument a function `(t, out, *primals)` of its tangent, the result and
                the arguments, or None if nothing depends on it.
        """
        if self.nondiff_argnums:
            raise TypeError("defjvps: nondiff_argnums asks for one rule, by defjvp")

        function: Callable[..., Any] = self

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            out: Any = function(*primals)
            pairs = zip(jvps, tangents, strict=True)
            parts = [formula(t, out, *primals) for formula, t in pairs if formula is not None]
            if not parts:
                return out, zero_from_primal(out)
            return out, functools.reduce(functools.partial(tree_map, add), parts)

        self.defjvp(jvp)

    def _rule(self, call: Call) -> JvpRule:
        return jvp_rule_of(self, call)


def jvp_rule_of(function: Any, call: Call) -> JvpRule:
    """The rule that was given by `defjvp`, for one call."""
    rule, symbolic_zeros = function.jvp, function.jvp_symbolic_zeros

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        passed = [shown_to_rule(t, symbolic_zeros) for t in tangents]
        trees = [tree_unflatten(call.in_tree, leaves) for leaves in (primals, passed)]
        pair = rule(*call.nondiff, *trees)
        role = f"{function.decorator}: the rule `{name_of(rule)}`"
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"{role} of `{name_of(call.fun)}` must return a pair of result and tangent, "
                f"found {shown(pair)}"
            )
        outs, out_tree = flatten_result(rule, pair[0])
        call.check_out_tree(role, out_tree)
        paths, tangents_tree = tree_flatten_with_path(pair[1])
        if tangents_tree != out_tree:
            raise TreeMismatchError(
                f"{role} of `{name_of(call.fun)}` must return result and tangent of one "
                f"structure: {explain_mismatch(out_tree, tangents_tree)}"
            )
        found = [Zero(t.aval) if isinstance(t, SymbolicZero) else t for _, t in paths]
        return outs, [
            check_tangent(
                f"{role}: the tangent of the result{keystr(path)}", t, tangent_type(typeof(x))
            )
            for x, (path, _), t in zip(outs, paths, found, strict=True)
        ]

    names = {"name": name_of(call.fun), "jvp": name_of(rule), "symbolic_zeros": symbolic_zeros}
    return JvpRule(jvp, ("custom_jvp_call", names))
