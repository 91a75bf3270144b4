"""The transformations of stages 2 and 4, made to take and return Arrays.

A stage leaves to numpy what is given to it by numpy. Here arguments that are differentiated or
mapped are brought to the device first, and what comes out is an Array, as in JAX.
"""

import functools
import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

import minijax_stage2 as stage2
import minijax_stage4 as stage4
from minijax.errors.argument_errors import require_flags, require_hashable
from minijax.errors.classes import ComplexGradientError
from minijax.pytrees.tree_util import Partial
from minijax.runtime.conversion import to_array, tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.transforms.axis_names import named_axes
from minijax_stage1.interpreter import set_interpreter
from minijax_stage1.source import name_of
from minijax_stage2 import current_trace, tree_leaves, tree_map
from minijax_stage2.flat_function import require_function, wraps
from minijax_stage2.functions import ints
from minijax_stage2.shaped_array import typeof_named
from minijax_stage2.tree import broadcast_prefix
from minijax_stage2.vmap import BatchTrace
from minijax_stage4.has_aux import WithAux

Function = Callable[..., Any]
Argnums = int | Sequence[int]


def _documented_as(original: Function, more: str = "") -> Callable[[Function], Function]:
    """Decorator: puts the docstring of the stage's function before that of the one it stands for.

    The examples stay behind: they show what the stage returns.
    """

    def document(function: Function) -> Function:
        paragraphs = (original.__doc__ or "").partition(">>>")[0], more, function.__doc__ or ""
        function.__doc__ = "\n\n".join(inspect.cleandoc(text) for text in paragraphs if text)
        return function

    return document


_HAS_AUX = """
    With `has_aux`, `fun` returns a pair of which only the first is differentiated; the second
    comes last in what is returned."""
_RESIDUALS = """

    The linear function that is returned is a pytree of the residuals that it holds, so that it can
    be a result, or an argument, of other functions that are transformed."""
_HOLOMORPHIC = """

    Complex arguments need `holomorphic=True`, which says that `fun` has a complex derivative."""


# --8<-- [start:grad]
@_documented_as(stage4.value_and_grad)
def value_and_grad(
    fun: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Function:
    """The arguments and errors are those of `grad`.

    Returns:
        A function of the same arguments. It returns the pair of the value and the gradient. With
        `has_aux`, the value is the pair that `fun` returns.

    >>> def loss(w, x):
    ...     prediction = w * x
    ...     return prediction**2, {"prediction": prediction}
    >>> x = jnp.float32(3)
    >>> (value, aux), gradient = minijax.value_and_grad(loss, has_aux=True)(2.0, x)
    >>> value, aux
    (Array(36., dtype=float32), {'prediction': Array(6., dtype=float32)})
    """
    _require_no_axes("value_and_grad", reduce_axes)
    require_flags("value_and_grad", has_aux=has_aux, holomorphic=holomorphic, allow_int=allow_int)
    on_arrays = stage4.value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @evaluated_by_library
    @wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradient = on_arrays(*_chosen_to_arrays(argnums, args), **kwargs)
        if has_aux:
            out, aux = value
            return (tree_to_arrays(out), aux), tree_to_arrays(gradient)
        return tree_to_arrays((value, gradient))

    return value_and_gradient


@_documented_as(stage4.grad)
def grad(
    fun: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Function:
    """
    >>> def loss(params, x, y):
    ...     return jnp.mean((params["w"] * x + params["b"] - y) ** 2)
    >>> params = {"w": 2.0, "b": 0.0}
    >>> x, y = jnp.array([1.0, 2.0]), jnp.array([3.0, 5.0])
    >>> minijax.grad(loss)(params, x, y)
    {'b': Array(-2., dtype=float32, weak_type=True), 'w': Array(-3., dtype=float32, weak_type=True)}
    """
    _require_no_axes("grad", reduce_axes)
    require_flags("grad", has_aux=has_aux, holomorphic=holomorphic, allow_int=allow_int)
    on_arrays = stage4.grad(fun, argnums, has_aux, holomorphic, allow_int)

    @evaluated_by_library
    @wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        result = on_arrays(*_chosen_to_arrays(argnums, args), **kwargs)
        if has_aux:
            gradient, aux = result
            return tree_to_arrays(gradient), aux
        return tree_to_arrays(result)

    return gradient


# --8<-- [end:grad]


def _require_no_axes(caller: str, reduce_axes: Sequence[Hashable]) -> None:
    if not isinstance(reduce_axes, Sequence) or reduce_axes:
        raise NotImplementedError(
            f"{caller}: reduce_axes must be empty, found {reduce_axes!r}: what examples share gets "
            "the sum of their cotangents anyway"
        )


def _chosen_to_arrays(argnums: Argnums, args: tuple[Any, ...]) -> list[Any]:
    """The arguments, those to differentiate on the device. The others are the user's affair."""
    chosen = ints("argnums", argnums)
    count = len(args)
    return [
        tree_to_arrays(arg) if i in chosen or i - count in chosen else arg
        for i, arg in enumerate(args)
    ]


@_documented_as(stage4.vjp, _RESIDUALS)
@evaluated_by_library
def vjp(
    fun: Function, *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Hashable] = ()
) -> Any:
    """
    >>> def to_polar(x, y):
    ...     return jnp.hypot(x, y), jnp.arctan2(y, x)
    >>> out, pull_back = minijax.vjp(to_polar, 0.0, 2.0)
    >>> pull_back((1.0, 0.0))
    (Array(0., dtype=float32, weak_type=True), Array(1., dtype=float32, weak_type=True))
    >>> pull_back((0.0, 1.0))
    (Array(-0.5, dtype=float32, weak_type=True), Array(0., dtype=float32, weak_type=True))
    """
    _require_no_axes("vjp", reduce_axes)
    out, f_vjp, *aux = stage4.vjp(fun, *tree_to_arrays(primals), has_aux=has_aux)
    return tree_to_arrays(out), _on_arrays(f_vjp), *aux


@_documented_as(stage2.jvp, _HAS_AUX)
@evaluated_by_library
def jvp(fun: Function, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """
    >>> f = lambda x, y: x * jnp.exp(y)
    >>> minijax.jvp(f, (3.0, 0.0), (1.0, 10.0))
    (Array(3., dtype=float32, weak_type=True), Array(31., dtype=float32, weak_type=True))
    """
    with_aux = _with_aux("jvp", fun, has_aux)
    out = stage2.jvp(with_aux or fun, tree_to_arrays(primals), tree_to_arrays(tangents))
    return (*tree_to_arrays(out), with_aux.aux()) if with_aux else tree_to_arrays(out)


@_documented_as(stage4.linearize, _HAS_AUX + _RESIDUALS)
@evaluated_by_library
def linearize(fun: Function, *primals: Any, has_aux: bool = False) -> Any:
    """
    >>> out, push_forward = minijax.linearize(lambda x: x**3, jnp.float32(2))
    >>> out, push_forward(jnp.float32(1)), push_forward(jnp.float32(0.5))
    (Array(8., dtype=float32), Array(12., dtype=float32), Array(6., dtype=float32))
    """
    with_aux = _with_aux("linearize", fun, has_aux)
    out, f_jvp = stage4.linearize(with_aux or fun, *tree_to_arrays(primals))
    pair = tree_to_arrays(out), _on_arrays(f_jvp)
    return (*pair, with_aux.aux()) if with_aux else pair


@_documented_as(stage4.linear_transpose, _RESIDUALS)
@evaluated_by_library
def linear_transpose(
    fun: Function, *primals: Any, reduce_axes: Sequence[Hashable] = ()
) -> Function:
    """
    >>> moving_sums = lambda x: x[:-1] + x[1:]
    >>> transposed = minijax.linear_transpose(moving_sums, jnp.zeros(4))
    >>> transposed(jnp.array([1.0, 10.0, 100.0]))
    (Array([  1.,  11., 110., 100.], dtype=float32),)
    """
    _require_no_axes("linear_transpose", reduce_axes)
    return _on_arrays(stage4.linear_transpose(fun, *primals))


def _on_arrays(linear: functools.partial[Any]) -> Partial:
    """A linear function, which holds residuals, as a pytree of them: a program may return it."""
    function, (residuals,) = linear.func, linear.args

    @evaluated_by_library
    @wraps(function)
    def on_arrays(residuals: Sequence[Any], *args: Any) -> Any:
        return tree_to_arrays(function(residuals, *tree_to_arrays(args)))

    return Partial(on_arrays, tree_to_arrays(residuals))


# --8<-- [start:vmap]
@_documented_as(stage2.vmap)
def vmap(
    fun: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Function:
    """With `axis_name`, the function that is mapped can ask for the axis by that name: collectives
    such as `lax.psum` combine the examples. `spmd_axis_name` says how to place them on several
    devices; here there is one. With `sum_match`, a result that differs between examples is summed
    over them where `out_axes` is None.

    >>> distance = lambda x, y: jnp.sqrt(jnp.sum((x - y) ** 2))
    >>> xs, y = jnp.array([[3.0, 4.0], [6.0, 8.0]]), jnp.zeros(2)
    >>> minijax.vmap(distance, in_axes=(0, None))(xs, y)
    Array([ 5., 10.], dtype=float32)
    >>> minijax.vmap(lambda x: x / lax.psum(x, "batch"), axis_name="batch")(jnp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    require_function("vmap", fun)
    require_hashable("vmap", axis_name=axis_name, spmd_axis_name=spmd_axis_name)
    require_flags("vmap", sum_match=sum_match)

    @wraps(fun)
    def with_axis(*args: Any, **kwargs: Any) -> Any:
        trace: Any = current_trace()
        names = {} if axis_name is None else {axis_name: trace.axis_size}
        with named_axes(names):
            result = fun(*args, **kwargs)
        return _summed(trace, out_axes, result) if sum_match else result

    plain = axis_name is None and not sum_match
    mapped = stage2.vmap(fun if plain else with_axis, in_axes, out_axes, axis_size)

    @evaluated_by_library
    @wraps(fun)
    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(_numpy_to_array, (args, kwargs))
        return tree_to_arrays(mapped(*args, **kwargs))

    return on_arrays


# --8<-- [end:vmap]


def _summed(trace: BatchTrace, out_axes: Any, result: Any) -> Any:
    """The result with the sum over all examples in place of what must not differ between them."""

    def summed(axis: int | None, leaf: Any) -> Any:
        value, dim = trace.unbox(leaf)
        if axis is not None or dim is None:
            return leaf
        with set_interpreter(trace.parent):
            return stage2.reduce_sum(value, dim)

    leaves, tree = stage2.tree_flatten(result)
    axes = broadcast_prefix(out_axes, result, is_leaf=lambda x: x is None, name="result")
    return stage2.tree_unflatten(tree, list(map(summed, axes, leaves)))


def _numpy_to_array(x: Any) -> Any:
    """Numbers stay: they are never mapped, and may be meant for Python."""
    return to_array(x) if isinstance(x, np.ndarray) else x


# --8<-- [start:jacobian]
@_documented_as(stage2.jacfwd, _HAS_AUX + _HOLOMORPHIC)
def jacfwd(
    fun: Function, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """
    >>> f = lambda x: jnp.array([x[0] * x[1], x[1], x[0] ** 2])
    >>> minijax.jacfwd(f)(jnp.array([2.0, 3.0]))
    Array([[3., 2.],
           [0., 1.],
           [4., 0.]], dtype=float32)
    """
    return _jacobian("jacfwd", stage2.jacfwd, fun, argnums, has_aux, holomorphic)


@_documented_as(stage4.jacrev, _HAS_AUX)
def jacrev(
    fun: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function:
    """
    >>> f = lambda p: p["a"] * p["b"]
    >>> minijax.jacrev(f)({"a": jnp.array([1.0, 2.0]), "b": 3.0})
    {'a': Array([[3., 0.],
           [0., 3.]], dtype=float32), 'b': Array([1., 2.], dtype=float32, weak_type=True)}
    """
    require_flags("jacrev", allow_int=allow_int)
    transformation = functools.partial(stage4.jacrev, holomorphic=holomorphic, allow_int=allow_int)
    return _jacobian("jacrev", transformation, fun, argnums, has_aux, holomorphic)


jacobian = jacrev


@_documented_as(stage4.hessian, _HAS_AUX + _HOLOMORPHIC)
def hessian(
    fun: Function, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """The arguments and errors are those of `jacfwd`. In the result the structure and shape of the
    argument stand twice: the gradient of a function of `n` numbers has an `n` by `n` Jacobian.

    >>> minijax.hessian(lambda x: x[0] ** 2 * x[1])(jnp.array([1.0, 3.0]))
    Array([[6., 2.],
           [2., 0.]], dtype=float32)
    """
    transformation = functools.partial(stage4.hessian, holomorphic=holomorphic)
    return _jacobian("hessian", transformation, fun, argnums, has_aux, holomorphic)


# --8<-- [end:jacobian]


def _jacobian(
    caller: str,
    transformation: Function,
    fun: Function,
    argnums: Argnums,
    has_aux: bool,
    holomorphic: bool,
) -> Function:
    require_flags(caller, has_aux=has_aux, holomorphic=holomorphic)
    transformation(fun, argnums)  # which says what is wrong with them before any call

    @evaluated_by_library
    @wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        with_aux = _with_aux(caller, fun, has_aux)
        args = tuple(_chosen_to_arrays(argnums, args))
        if caller != "jacrev":
            _require_kind(caller, fun, argnums, args, holomorphic)
        result = tree_to_arrays(transformation(with_aux or fun, argnums)(*args, **kwargs))
        return (result, with_aux.aux()) if with_aux else result

    return jacobian


def _with_aux(caller: str, fun: Function, has_aux: bool) -> WithAux | None:
    require_function(caller, fun)
    return WithAux(fun) if has_aux else None


def _require_kind(
    caller: str, fun: Function, argnums: Argnums, args: Sequence[Any], holomorphic: bool
) -> None:
    """Forward mode asks whether complex arguments have a complex derivative."""
    for i in ints("argnums", argnums):
        for x in tree_leaves(args[i]) if -len(args) <= i < len(args) else ():
            what = f"{caller}: argument {i} of `{name_of(fun)}`"
            aval = typeof_named(what, x)
            if holomorphic and aval.dtype.kind != "c":
                raise ComplexGradientError(
                    f"{what} must be complex where holomorphic=True, found {aval}. Convert it, or "
                    "leave out holomorphic."
                )
            if aval.dtype.kind == "c" and not holomorphic:
                raise ComplexGradientError(
                    f"{what} is complex, {aval}. Give holomorphic=True where the function has a "
                    "complex derivative, or differentiate with respect to real and imaginary parts."
                )


typeof = evaluated_by_library(stage2.typeof)
