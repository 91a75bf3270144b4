"""Reverse-mode differentiation: linearize, then transpose. `vjp`, and `grad` on top of it."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from glassjax_stage2 import Zero, full_like, typeof
from glassjax_stage2.arguments import FlatFunction, check_inexact, require_function, split_arguments
from glassjax_stage2.errors import IntegerGradientError
from glassjax_stage2.jvp import check_tangents
from glassjax_stage2.shaped_array import ShapedArray, is_inexact
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage2.tree import tree_flatten, tree_unflatten
from glassjax_stage4.errors import ComplexGradientError, NonScalarGradientError
from glassjax_stage4.linearize import LinearProgram, linearize_flat
from glassjax_stage4.transpose import transpose_linear


def pull_back(linear: LinearProgram, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """The cotangents of the arguments from cotangents of the results, by transposition."""
    given = [ct for ct, t in zip(cts, linear.constant_outs, strict=True) if t is None]
    computed = iter(transpose_linear(linear.jaxpr, residuals, given))
    return [
        next(computed) if varies else Zero(tangent_type(aval))
        for varies, aval in zip(linear.varies_in, linear.in_avals, strict=True)
    ]


def vjp(fun: Callable[..., Any], *primals: Any) -> tuple[Any, functools.partial[Any]]:
    """Evaluate `fun` and return the function that pulls cotangents back through it.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        primals: the arguments at which to evaluate.

    Returns:
        The result of `fun`, and a function from a cotangent of the result to the tuple of
        cotangents of the arguments, with dtype float0 for integers.

    Raises:
        TypeError: a cotangent does not have the structure, shapes and dtypes of the result.

    >>> from glassjax_stage2 import sin
    >>> y, f_vjp = vjp(lambda x, y: x * sin(y), 3.0, 0.0)
    >>> f_vjp(1.0)
    (0.0, 3.0)
    """
    require_function("vjp", fun)
    leaves, in_tree = tree_flatten(primals)
    flat_fun = FlatFunction(fun, in_tree)
    outs, linear, residuals = linearize_flat(flat_fun, leaves, fun)
    out_tree = flat_fun.out_tree

    def f_vjp(residuals: Sequence[Any], ct: Any) -> Any:
        role = f"vjp of `{name_of(fun)}`: cotangent"
        cts = check_tangents(role, out_tree, linear.out_avals, ct)
        in_cts = pull_back(linear, residuals, cts)
        return tree_unflatten(in_tree, [instantiate(ct) for ct in in_cts])

    f_vjp.linear = linear  # type: ignore[attr-defined]
    return tree_unflatten(out_tree, outs), functools.partial(f_vjp, residuals)


def value_and_grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Like `grad`, but returns the value of `fun` with the gradient.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    require_function("grad", fun)

    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        inputs, f = split_arguments("grad", fun, argnums, args, kwargs)
        check_inexact("grad", f"argument {argnums}", fun, inputs)
        out, f_vjp = vjp(f, inputs)
        return out, f_vjp(one_like("grad", fun, out))[0]

    return value_and_gradient


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The gradient of a function whose result is a real scalar.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        argnums: the positional arguments to differentiate with respect to.

    Returns:
        A function of the same arguments. It returns the gradient, with the structure, shapes
        and dtypes of the argument; a tuple of gradients if `argnums` is a sequence.

    Raises:
        NonScalarGradientError: the result of `fun` is not a scalar.
        IntegerGradientError: the result, or a leaf of an argument to differentiate, is an integer.
        ComplexGradientError: the result is complex.

    The gradient with respect to a complex argument x + iy of a real function f is, as in JAX,
    df/dx - i df/dy, the conjugate of the direction in which f grows.

    >>> grad(lambda p, x: p["w"] * x + p["b"])({"w": 2.0, "b": 1.0}, 3.0)
    {'b': 1.0, 'w': 3.0}
    """
    value_and_gradient = value_and_grad(fun, argnums)

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return value_and_gradient(*args, **kwargs)[1]

    return gradient


def one_like(caller: str, fun: Any, out: Any) -> Any:
    """The cotangent 1 of a real scalar result."""
    expected = f"{caller}: the result of `{name_of(fun)}` must be one real number"
    aval = require_scalar(expected, out, "Return one of them, or use vjp.")
    if aval.dtype.kind == "c":
        raise ComplexGradientError(f"{expected}, found {aval}. Return its real part, or use vjp.")
    if not is_inexact(aval.dtype):
        raise IntegerGradientError(f"{expected}, found {aval}. Convert it, or use vjp.")
    return full_like(out, 1)


def require_scalar(expected: str, out: Any, remedy: str) -> ShapedArray:
    """The type of a scalar result, described by `expected`; others are an error with `remedy`."""
    _, tree = tree_flatten(out)
    if out is None:
        raise NonScalarGradientError(f"{expected}, found None. Is a return missing?")
    if tree.nodes != (None,):
        raise NonScalarGradientError(f"{expected}, found {tree}. {remedy}")
    aval = typeof(out)
    if aval.shape:
        raise NonScalarGradientError(
            f"{expected}, found {aval}. Sum over it, or use vjp or jacrev."
        )
    return aval
