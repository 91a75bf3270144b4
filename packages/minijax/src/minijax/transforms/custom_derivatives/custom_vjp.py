"""`custom_vjp`: functions with a custom derivative in reverse mode."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from minijax.errors.classes import TreeMismatchError, UnexpectedTracerError
from minijax.pytrees import structures
from minijax.runtime.refs import split_refs
from minijax.transforms.custom_derivatives.call import Call, CustomFunction, P, R
from minijax.transforms.custom_derivatives.custom_jvp import jvp_rule_of
from minijax.transforms.custom_derivatives.logs import log
from minijax.transforms.custom_derivatives.rules import VjpRule
from minijax.transforms.custom_derivatives.symbolic_zero import (
    CustomVJPPrimal,
    SymbolicZero,
    shown_to_rule,
)
from minijax_stage2 import Zero, explain_mismatch, typeof
from minijax_stage2.arguments import flatten_result
from minijax_stage2.errors import shown
from minijax_stage2.jvp import check_tangent
from minijax_stage2.promotion import cast
from minijax_stage2.shaped_array import float0
from minijax_stage2.source import name_of
from minijax_stage2.tangent import tangent_type
from minijax_stage2.tree import (
    PyTreeDef,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    tree_unflatten,
)

Function = TypeVar("Function", bound=Callable[..., Any])


class custom_vjp(CustomFunction[P, R]):
    """Decorator: a function with a custom derivative in reverse mode.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        nondiff_argnums: positions of arguments that are not differentiated, and may be any values.
            The backward rule gets them first.
        nondiff_argnames: the same, by name.

    Raises:
        AttributeError: when called, no rules are defined.
        TypeError: it is differentiated in forward mode without a rule from `defjvp`.

    >>> import minijax
    >>> import minijax.numpy as jnp
    >>> @custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1, 1),))
    >>> minijax.grad(lambda x: 5.0 * clipped(x))(2.0)
    Array(1., dtype=float32, weak_type=True)
    """

    decorator = "custom_vjp"
    how_defined = "use its method defvjp"
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    symbolic_zeros = False
    logs = False
    jvp: Callable[..., Any] | None = None
    jvp_symbolic_zeros = False

    def _is_defined(self) -> bool:
        return self.fwd is not None

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Define the derivative.

        Arguments:
            fwd: function of the same arguments that returns the result, and a pytree of residuals
                for the backward rule.
            bwd: function of the residuals and the cotangent of the result, after the arguments that
                are not differentiated. It returns a tuple with the cotangent of each other
                argument, which is converted to the dtype of the argument; None means zero. One
                array, or None, can stand for a whole pytree.
            symbolic_zeros: whether to pass each leaf to `fwd` as a `CustomVJPPrimal`, and zero
                cotangents to `bwd` as `SymbolicZero`.
            optimize_remat: of no effect; under `checkpoint` nothing unused is computed anyway.
        """
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros = symbolic_zeros
        self.logs = False

    def defvjp_with_logs(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Define the derivative, by a backward rule that logs arrays.

        Arguments:
            fwd: as for `defvjp`.
            bwd: as for `defvjp`, but it returns a pair: the tuple of cotangents, and None or a dict
                of pytrees of arrays. The method `with_logs` of what `vjp` returns gives these;
                otherwise they are ignored.
            symbolic_zeros: as for `defvjp`.
            optimize_remat: as for `defvjp`.

        Raises:
            TypeError: when differentiated, `bwd` returns something else.
        """
        self.defvjp(fwd, bwd, symbolic_zeros, optimize_remat)
        self.logs = True

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """Define the derivative in forward mode as well, which JAX does not offer.

        Reverse mode uses the rules of `defvjp`, forward mode this one.

        Arguments:
            jvp: function of the primals and the tangents, as for `custom_jvp.defjvp`. It is staged,
                so its Python `if` cannot depend on values.
            symbolic_zeros: whether to pass zero tangents as `SymbolicZero`.

        Returns:
            `jvp`, so that this is a decorator.

        >>> @minijax.custom_vjp
        ... def sine(x):
        ...     return jnp.sin(x)
        >>> sine.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (jnp.cos(x) * ct,))
        >>> @sine.defjvp
        ... def sine_jvp(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return sine(x), jnp.cos(x) * t
        >>> minijax.jvp(sine, (0.0,), (2.0,))[1], minijax.hessian(sine)(0.0)
        (Array(2., dtype=float32, weak_type=True), Array(-0., dtype=float32, weak_type=True))
        """
        self.jvp, self.jvp_symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def _rule(self, call: Call) -> VjpRule:
        fwd_fun: Any = self.fwd
        bwd_fun: Any = self.bwd
        symbolic_zeros, logs = self.symbolic_zeros, self.logs

        def fwd(
            primals: Sequence[Any], nonzero: Sequence[bool]
        ) -> tuple[list[Any], list[Any], Any]:
            if symbolic_zeros:
                primals = list(map(CustomVJPPrimal, primals, nonzero))
            role = f"custom_vjp: the forward rule `{name_of(fwd_fun)}`"
            with _naming_what_varies(role, call):
                pair = fwd_fun(*call.all_args(tree_unflatten(call.in_tree, primals)))
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(
                    f"{role} of `{name_of(call.fun)}` must return a pair of the result and what "
                    f"the backward rule needs, found {shown(pair)}"
                )
            outs, out_tree = flatten_result(fwd_fun, pair[0])
            call.check_out_tree(role, out_tree)
            refs, residuals, places = split_refs(role, pair[1])
            return outs, residuals, (out_tree, places, refs)

        def bwd(knowledge: Any, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            out_tree, places, refs = knowledge
            shown = [shown_to_rule(ct, symbolic_zeros) for ct in cts]
            role = f"custom_vjp: the backward rule `{name_of(bwd_fun)}`"
            with _naming_what_varies(role, call):
                result = bwd_fun(
                    *call.nondiff, places.join(refs, residuals), tree_unflatten(out_tree, shown)
                )
                if logs:
                    result = _without_logs(f"{role} of `{name_of(call.fun)}`", result)
            return _check_cotangents(call, bwd_fun, result)

        names = {
            "name": name_of(call.fun),
            "fwd": name_of(fwd_fun),
            "bwd": name_of(bwd_fun),
            "symbolic_zeros": symbolic_zeros,
        }
        forward = None if self.jvp is None else jvp_rule_of(self, call)
        return VjpRule(fwd, bwd, forward, ("custom_vjp_call", names))


@contextmanager
def _naming_what_varies(role: str, call: Call) -> Iterator[None]:
    """Explain why a rule uses a value of another trace: it was not passed as an argument."""
    try:
        yield
    except UnexpectedTracerError as error:
        raise UnexpectedTracerError(
            f"{role} of `{name_of(call.fun)}` uses a traced value that it closes over, or gets by "
            "nondiff_argnums. Make it an argument that is differentiated, and None or zeros its "
            f"cotangent.\n{error}"
        ).with_traceback(error.__traceback__) from None


def _without_logs(role: str, result: Any) -> Any:
    """The cotangents that a backward rule returned; what it logs is logged."""
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise TypeError(
            f"{role} must return a pair of the cotangents and a dict of logs, found {shown(result)}"
        )
    cotangents, logs = result
    log(role, logs)
    return cotangents


def _check_cotangents(call: Call, bwd: Any, result: Any) -> list[Any]:
    """The cotangents that a backward rule returned, flat, with `Zero` for None."""
    role = f"custom_vjp: the backward rule `{name_of(bwd)}` of `{name_of(call.fun)}`"
    if isinstance(result, list):
        result = tuple(result)
    if not isinstance(result, tuple):
        raise TypeError(
            f"{role} must return a tuple with a cotangent for each argument, found "
            f"{shown(result)} of type {type(result).__name__}; for a single argument write (ct,)"
        )
    result = call.without_refs(result)
    found: list[Any] = []
    if not _fill(call.in_tree, result, found):
        raise TreeMismatchError(
            f"{role} must return a tuple of the structure of the arguments, None where a "
            "cotangent is zero: "
            + explain_mismatch(call.in_tree, tree_structure(result), name="cotangents")
        )
    numbered = tree_unflatten(call.in_tree, range(len(found)))
    in_cts = []
    for path, i in tree_flatten_with_path(numbered)[0]:
        ct, aval = found[i], tangent_type(call.in_avals[i])
        if ct is None or isinstance(ct, SymbolicZero) or aval.dtype == float0:
            in_cts.append(Zero(aval))
            continue
        given = typeof(ct)
        if given.shape == aval.shape and given.dtype != float0:
            ct = cast(ct, aval) if given.dtype != aval.dtype else ct
        else:
            ct = check_tangent(f"{role}: the cotangent of argument{keystr(path)}", ct, aval)
        in_cts.append(ct)
    return in_cts


def _fill(tree: PyTreeDef, result: Any, leaves: list[Any]) -> bool:
    """Append the leaves of a result of this structure.

    One leaf, or None, can stand for any subtree.
    """
    if structures.is_one_leaf(tree):
        leaves.append(result)
        return True
    parts, found = tree_flatten(result, is_leaf=lambda x: x is not result)
    if result is None or structures.is_one_leaf(found):
        leaves += [result] * tree.num_leaves
        return True
    return found.nodes[0] == tree.nodes[0] and all(
        _fill(child, part, leaves)
        for child, part in zip(structures.children(tree), parts, strict=True)
    )
