"""Reverse-mode differentiation: linearize, then transpose. `vjp`, and `grad` on top of it."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from minijax_stage1.source import name_of
from minijax_stage2 import Zero, full_like, typeof
from minijax_stage2.errors import IntegerGradientError
from minijax_stage2.flat_function import FlatFunction, require_function, wraps
from minijax_stage2.jvp import check_argnums, chosen_argnums, function_of, is_one
from minijax_stage2.promotion import as_weak_as, is_inexact
from minijax_stage2.shaped_array import ShapedArray, typeof_named
from minijax_stage2.shown import counted
from minijax_stage2.tangent import instantiate, tangent_type
from minijax_stage2.tree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage4.errors import ComplexGradientError, NonScalarGradientError
from minijax_stage4.has_aux import WithAux
from minijax_stage4.linearize import LinearProgram, linearize_flat
from minijax_stage4.transpose import UndefPrimal, backward_pass, flat_cotangents


# --8<-- [start:pull_back]
def pull_back(linear: LinearProgram, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """The cotangents of the arguments from those of the results, by transposing the program."""
    given = [ct for ct, t in zip(cts, linear.constant_outs, strict=True) if t is None]
    undefined = [UndefPrimal(var.aval) for var in linear.jaxpr.invars]
    program = consts_as_invars(linear.jaxpr)
    in_cts = backward_pass(program, [*residuals, *undefined], given)
    computed = iter(in_cts[len(residuals) :])
    return [
        _of_type(aval, next(computed)) if varies else Zero(tangent_type(aval))
        for varies, aval in zip(linear.varies_in, linear.in_avals, strict=True)
    ]


def _of_type(aval: ShapedArray, ct: Any) -> Any:
    """A cotangent, weak where the argument is, whatever the argument has met on its way."""
    return ct if type(ct) is Zero else as_weak_as(aval, ct)


# --8<-- [end:pull_back]


# --8<-- [start:vjp]
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Evaluates `fun` and returns the function that pulls cotangents back through it.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        primals: the arguments at which to evaluate.
        has_aux: whether `fun` returns a pair of which only the first is differentiated.

    Returns:
        The result of `fun`, and a function from a cotangent of the result to the tuple of
        cotangents of the arguments, those of integers of dtype float0. With `has_aux`, the
        second part of what `fun` returns comes third.

    Raises:
        TypeError: a cotangent does not have the structure, shapes and dtypes of the result.

    >>> from minijax_stage2 import sin
    >>> y, f_vjp = vjp(lambda x, y: x * sin(y), 3.0, 0.0)
    >>> f_vjp(1.0)
    (0.0, 3.0)
    """
    require_function("vjp", fun)
    with_aux = WithAux(fun) if has_aux else None
    leaves, in_tree = tree_flatten(primals)
    flat_fun = FlatFunction(with_aux or fun, in_tree)
    outs, linear, residuals = linearize_flat(flat_fun, leaves, fun)
    out_tree = flat_fun.out_tree

    def f_vjp(residuals: Sequence[Any], ct: Any) -> Any:
        cts = flat_cotangents(f"vjp of `{name_of(fun)}`", out_tree, linear.out_avals, ct)
        in_cts = pull_back(linear, residuals, cts)
        return tree_unflatten(in_tree, [instantiate(ct) for ct in in_cts])

    pair = tree_unflatten(out_tree, outs), functools.partial(f_vjp, residuals)
    return (*pair, with_aux.aux()) if with_aux else pair


# --8<-- [end:vjp]


# --8<-- [start:grad]
def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Like `grad`, but returns the value of `fun` with the gradient.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    chosen = chosen_argnums("grad", fun, argnums)

    @wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        check_argnums("grad", fun, chosen, len(args))
        inputs = tuple(args[i] for i in chosen)
        for argnum, arg in zip(chosen, inputs, strict=True):
            require_differentiable("grad", fun, argnum, arg, holomorphic, allow_int)

        of_inputs = function_of(chosen, fun, args, kwargs)
        out, f_vjp, *aux = vjp(of_inputs, *inputs, has_aux=has_aux)
        gradient = f_vjp(one_like("grad", fun, out, holomorphic))
        value = (out, *aux) if has_aux else out
        return value, gradient[0] if is_one(argnums) else gradient

    return value_and_gradient


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The gradient of a function whose result is one real number.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        argnums: the positional arguments to differentiate with respect to.
        has_aux: whether `fun` returns a pair of which only the first is differentiated.
        holomorphic: whether `fun` is a complex function of complex arguments that has a complex
            derivative; that is what is returned.
        allow_int: whether arguments may be integers, whose gradients are zeros of dtype float0.

    Returns:
        A function of the same arguments. It returns the gradient, with the structure, shapes
        and dtypes of the argument; a tuple of gradients where `argnums` is a sequence. With
        `has_aux`, a pair of that and the second part of what `fun` returns.

    Raises:
        NonScalarGradientError: the result of `fun` is not one number.
        IntegerGradientError: the result, or a leaf of an argument to differentiate, is an
            integer, unless the options say otherwise.
        ComplexGradientError: the result is complex and the options do not say so, or they do
            and something is not complex.

    The gradient with respect to a complex argument x + iy of a real function f is, as in JAX,
    df/dx - i df/dy, the conjugate of the direction in which f grows.

    >>> grad(lambda p, x: p["w"] * x + p["b"])({"w": 2.0, "b": 1.0}, 3.0)
    {'b': 1.0, 'w': 3.0}
    """
    of_both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradient = of_both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return gradient


# --8<-- [end:grad]


def require_differentiable(
    caller: str,
    fun: Any,
    argnum: int,
    arg: Any,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> None:
    """Raise an error if there is no differentiating with respect to an argument."""
    for path, leaf in tree_flatten_with_path(arg)[0]:
        what = f"{caller}: argument {argnum}{keystr(path)} of `{name_of(fun)}`"
        aval = typeof_named(what, leaf)
        if holomorphic and aval.dtype.kind != "c":
            raise ComplexGradientError(
                f"{what} must be complex where holomorphic=True, found {aval}. Convert it, or "
                "leave out holomorphic."
            )
        if not allow_int and not is_inexact(aval.dtype):
            raise IntegerGradientError(
                f"{what} has type {aval}, and integers have no gradient. Convert it to a float, "
                "or choose other arguments by argnums."
            )


def one_like(caller: str, fun: Any, out: Any, holomorphic: bool = False) -> Any:
    """The cotangent 1 of a scalar result."""
    kind = "complex number, where holomorphic=True" if holomorphic else "real number"
    expected = f"{caller}: the result of `{name_of(fun)}` must be one {kind}"
    leaves, tree = tree_flatten(out)
    if out is None:
        raise NonScalarGradientError(f"{expected}, found None. Is a return missing?")
    if len(leaves) != 1 or tree.num_nodes != 1:
        raise NonScalarGradientError(
            f"{expected}, found a pytree of {counted(len(leaves), 'leaf')}, {tree.described}. To "
            "return more "
            "than what is differentiated return (out, aux) and give has_aux=True."
        )
    aval = typeof(out)
    if aval.shape:
        raise NonScalarGradientError(
            f"{expected}, found {aval}. Sum over it, or use vjp or jacrev."
        )
    if holomorphic != (aval.dtype.kind == "c") or not is_inexact(aval.dtype):
        remedy = "Convert it, or use vjp."
        if aval.dtype.kind == "c":
            remedy = "Return its real part; for a complex derivative give holomorphic=True to grad."
        error = ComplexGradientError if is_inexact(aval.dtype) else IntegerGradientError
        raise error(f"{expected}, found {aval}. {remedy}")
    return full_like(out, 1)
