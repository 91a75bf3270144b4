"""`custom_gradient` and `closure_convert`: staged functions and their closed-over values."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from minijax.errors.classes import TreeMismatchError
from minijax.primitives.loops import stage_body
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.wrapping import wraps
from minijax.transforms.custom_derivatives.custom_vjp import custom_vjp
from minijax_stage2 import ShapedArray, Tracer, explain_mismatch, typeof
from minijax_stage2.arguments import FlatFunction, require_function
from minijax_stage2.errors import shown
from minijax_stage2.shaped_array import is_inexact
from minijax_stage2.source import name_of
from minijax_stage2.tree import (
    PyTreeDef,
    register_pytree_node,
    tree_flatten,
    tree_map,
    tree_unflatten,
)
from minijax_stage3 import Jaxpr, eval_jaxpr
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage4.partial_eval import merge, partition


class _Closure:
    """A staged function: its program, and the values that it closes over, which are a pytree."""

    def __init__(self, consts: Sequence[Any], jaxpr: Jaxpr, in_tree: PyTreeDef, out_tree: Any):
        self.consts = consts
        self.jaxpr = jaxpr
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __call__(self, *args: Any) -> Any:
        leaves, tree = tree_flatten(args)
        if tree != self.in_tree:
            raise TreeMismatchError(
                "a converted closure takes arguments of the structure of its examples: "
                + explain_mismatch(self.in_tree, tree, name="args")
            )
        return tree_unflatten(self.out_tree, eval_jaxpr(self.jaxpr, [], *self.consts, *leaves))


register_pytree_node(
    _Closure,
    lambda f: (tuple(f.consts), (f.jaxpr, f.in_tree, f.out_tree)),
    lambda aux, consts: _Closure(consts, *aux),
)


def _stage_closure(caller: str, fun: Callable[..., Any], examples: Sequence[Any]) -> _Closure:
    leaves, in_tree = tree_flatten(tuple(examples))
    flat = FlatFunction(fun, in_tree)
    avals = [x if isinstance(x, ShapedArray) else typeof(x) for x in leaves]
    closed = stage_body(flat, avals, caller, fun)
    return _Closure(closed.consts, consts_as_invars(closed.jaxpr), in_tree, flat.out_tree)


def custom_gradient(
    fun: Callable[..., Any] | None = None,
    *,
    with_logs: bool = False,
    remat: bool = False,
    with_accums: Any = None,
) -> Callable[..., Any]:
    """Decorator: define a function that returns its result together with its derivative.

    Arguments:
        fun: function of arrays and pytrees of arrays that returns a pair: the result, and a
            function from the cotangent of the result to the cotangents of the arguments, a tuple
            unless there is one.
        with_logs: whether that function returns a pair: the tuple of cotangents, and None or a dict
            of pytrees of arrays to log, as for `custom_vjp.defvjp_with_logs`.
        remat: must be False.
        with_accums: must be None.

    Returns:
        The function of the same arguments that returns the result alone; without `fun`, the
        decorator itself.

    Raises:
        NotImplementedError: `remat` or `with_accums` is given.

    >>> import minijax
    >>> f = custom_gradient(lambda x: (x * x, lambda ct: ct * x))
    >>> minijax.grad(f)(3.0)
    Array(3., dtype=float32, weak_type=True)
    """

    if remat or with_accums is not None:
        raise NotImplementedError(
            "custom_gradient: remat must be False and with_accums None here: under checkpoint the "
            "function is computed anew, and derivatives are returned"
        )
    if fun is None:
        return partial(custom_gradient, with_logs=with_logs)

    def of_both(*args: Any, **kwargs: Any) -> tuple[Any, Callable[..., Any]]:
        pair = fun(*args, **kwargs)
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(
                f"custom_gradient: `{name_of(fun)}` must return a pair of its result and the "
                f"function that pulls cotangents back, found {shown(pair)}"
            )
        return pair[0], pair[1]

    @wraps(fun)
    def value(*args: Any, **kwargs: Any) -> Any:
        return of_both(*args, **kwargs)[0]

    def fwd(*args: Any) -> tuple[Any, Any]:
        out, pull_back = of_both(*args)
        return out, _stage_closure("custom_gradient", pull_back, (tree_map(typeof, out),))

    def bwd(pull_back: _Closure, ct: Any) -> Any:
        in_cts = pull_back(ct)
        if with_logs:
            return in_cts
        return in_cts if isinstance(in_cts, tuple | list) else (in_cts,)

    with_gradient = custom_vjp(value)
    define = with_gradient.defvjp_with_logs if with_logs else with_gradient.defvjp
    define(fwd, bwd)
    return with_gradient


@evaluated_by_library
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Any, list[Any]]:
    """Turn the differentiable values that a function closes over into arguments.

    A custom derivative covers only the arguments of a function. A function that takes another
    function as an argument can take these two results instead.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        example_args: arguments, of which only the types matter.

    Returns:
        A function of the same arguments and then those values, and the list of the values.

    >>> closure_convert(lambda x: 2.0 * x, 1.0)[1]
    []
    """
    require_function("closure_convert", fun)
    closure = _stage_closure("closure_convert", fun, example_args)
    hoisted = [isinstance(x, Tracer) and is_inexact(x.dtype) for x in closure.consts]
    kept, _ = partition(hoisted, closure.consts)

    @evaluated_by_library
    @wraps(fun)
    def converted(*args_and_consts: Any) -> Any:
        count = len(args_and_consts) - sum(hoisted)
        consts = merge(hoisted, kept, args_and_consts[count:])
        whole = _Closure(consts, closure.jaxpr, closure.in_tree, closure.out_tree)
        return whole(*args_and_consts[:count])

    return converted, [
        x for x, is_hoisted in zip(closure.consts, hoisted, strict=True) if is_hoisted
    ]
