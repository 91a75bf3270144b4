"""The functions of `lax` that reject operands as JAX's do; others here accept them.

Operands must have one dtype, and one shape unless they are scalars; integers are not floats; axes
count from 0.
"""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np

import minijax.lax.promoting as operations
from minijax.errors.tracebacks import hiding_frames
from minijax.lax.transcendental import with_accuracy
from minijax.primitives.declare import require_kind
from minijax.runtime.array import Array, ArrayLike, to_array
from minijax.runtime.operation import Operation
from minijax.settings.number_types import parse_dtype, warn_of_lost_part
from minijax_stage2 import ShapedArray, typeof
from minijax_stage2.functions import ints
from minijax_stage2.source import name_of

Function = TypeVar("Function", bound=Callable[..., Any])


def checked(function: Function, check: Callable[..., None]) -> Function:
    """`function`, an operation, after `check` of the same arguments."""
    operation: Any = function
    fun: Any = operation.__wrapped__

    @functools.wraps(fun)
    def checked(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return fun(*args, **kwargs)

    result: Any = Operation(checked, operation.static_names)
    return result


def _of_operands(function: Function, kinds: str = "", one_dtype: bool = True) -> Function:
    """`function` of arrays, after checking that their dtypes agree and are of these kinds."""
    name = name_of(function)

    def check(*args: Any, **kwargs: Any) -> None:
        _require_alike(name, kinds, one_dtype, *map(typeof, (*args, *kwargs.values())))

    return checked(function, check)


@lru_cache(maxsize=4096)
def _require_alike(name: str, kinds: str, one_dtype: bool, *avals: ShapedArray) -> None:
    if kinds:
        require_kind(name, kinds, *avals)
    if one_dtype:
        _require_dtypes_alike(name, *avals)
    shapes = [aval.shape for aval in avals if aval.shape]
    if len({len(shape) for shape in shapes}) > 1:
        raise TypeError(
            f"{name}: operands must have the same number of axes, scalars aside, found shapes "
            f"{', '.join(map(str, shapes))}. minijax.numpy adds those that lack"
        )


def require_one_dtype(name: str, *operands: Any) -> None:
    _require_dtypes_alike(name, *map(typeof, operands))


@lru_cache(maxsize=4096)
def _require_dtypes_alike(name: str, *avals: ShapedArray) -> None:
    if len({aval.dtype for aval in avals}) > 1:
        found = ", ".join(map(str, avals))
        raise TypeError(
            f"{name}: operands must have one dtype, found {found}. minijax.numpy promotes them, "
            "and lax.convert_element_type converts one"
        )


def _require_shapes_alike(name: str, *operands: Any) -> None:
    shapes = [typeof(x).shape for x in operands]
    if len(set(shapes)) > 1:
        raise TypeError(
            f"{name}: operands must have one shape, found {', '.join(map(str, shapes))}. "
            "minijax.numpy broadcasts them, and lax.full_like makes an array of a number"
        )


def _check_clamp(min: Any, x: Any, max: Any) -> None:
    require_one_dtype("clamp", min, x, max)
    for bound in (min, max):
        if typeof(bound).shape:
            _require_shapes_alike("clamp", bound, x)


def _check_pow(x: Any, y: Any) -> None:
    """The exponent may be an integer of any dtype."""
    require_kind("pow", "fc", typeof(x))
    if typeof(y).dtype.kind in "iu":
        require_kind("pow", "iu", typeof(y))
        _require_alike("pow", "", False, typeof(x), typeof(y))
    else:
        _require_alike("pow", "", True, typeof(x), typeof(y))


def _check_mul(x: Any, y: Any, *, out_dtype: Any = None) -> None:
    _require_alike("mul", "iufc", True, typeof(x), typeof(y))


def _check_cases(which: Any, *cases: Any) -> None:
    _require_shapes_alike("select_n", *([which] if typeof(which).shape else []), *cases)


def _check_dynamic_slice(operand: Any, start_indices: Any, *args: Any, **kwargs: Any) -> None:
    if isinstance(start_indices, list | tuple):
        require_one_dtype("dynamic_slice: start_indices", *start_indices)


def _check_update(name: str) -> Callable[..., None]:
    def check(operand: Any, update: Any, *args: Any, **kwargs: Any) -> None:
        require_one_dtype(name, operand, update)

    return check


def _check_scatter(operand: Any, indices: Any, updates: Any, *args: Any, **kwargs: Any) -> None:
    require_one_dtype("scatter", operand, updates)


def convert_element_type(operand: ArrayLike, new_dtype: Any) -> Array:
    """`operand` with another dtype. Conversion to a real dtype keeps only the real part.

    Raises:
        TypeError: `operand` is a Python complex number, and `new_dtype` real.
        ValueError: `new_dtype` is None.

    Warns:
        numpy.exceptions.ComplexWarning: `operand` is a complex array, and `new_dtype` real.

    >>> lax.convert_element_type(jnp.array([1.9, -1.9]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    kind = getattr(getattr(operand, "dtype", None), "kind", "c")
    if new_dtype is not None and kind != "c":
        return operations.convert_element_type(operand, new_dtype)
    return to_array(_convert_complex(operand, new_dtype))


@hiding_frames
def _convert_complex(operand: Any, new_dtype: Any) -> Any:
    if new_dtype is None:
        raise ValueError("convert_element_type: new_dtype must not be None")
    dtype = parse_dtype("convert_element_type", new_dtype)
    is_number = isinstance(operand, builtins.complex)
    if typeof(operand).dtype.kind != "c" or dtype.kind in ("bcV" if is_number else "cV"):
        return operations.convert_element_type(operand, new_dtype)
    if is_number:
        raise TypeError(
            f"convert_element_type: {operand} is complex, and {dtype} is not. Take operand.real"
        )
    warn_of_lost_part("convert_element_type", operand, dtype, np.exceptions.ComplexWarning)
    return operations.convert_element_type(operations.real(operand), new_dtype)


def _counted_from_0(function: Function, parameters: Sequence[str], kinds: str) -> Function:
    """`function` of an array, after checking that these arguments are nonnegative ints.

    If `kinds` are given, the dtype of the array must be of these.
    """
    name = name_of(function)
    signature = inspect.signature(function)

    def check(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments
        if kinds:
            require_kind(name, kinds, typeof(given["operand"]))
        for parameter in parameters:
            if given.get(parameter) is None:
                continue
            numbers = ints(f"{name}: {parameter}", given[parameter])
            if any(number < 0 for number in numbers):
                raise ValueError(
                    f"{name}: {parameter} must not be negative, found {given[parameter]}; the "
                    "function of minijax.numpy counts from the end, too"
                )

    return checked(function, check)


def _of_scalar(function: Function) -> Function:
    """`function` with a scalar fill value, whose scalar results are Arrays."""
    operation: Any = function
    fun: Any = operation.__wrapped__
    signature = inspect.signature(fun)

    @functools.wraps(fun)
    def of_scalar(*args: Any, **kwargs: Any) -> Any:
        value = signature.bind(*args, **kwargs).arguments["fill_value"]
        if type(value) not in (int, float) and typeof(value).shape:
            name = name_of(function)
            raise TypeError(f"{name}: fill_value must be a scalar, found {typeof(value)}")
        return to_array(fun(*args, **kwargs))

    result: Any = type(operation)(of_scalar, operation.static_names, operation.takes_types)
    return result


# Elementwise functions, by the kinds of dtypes that their operands must have and agree in; by ""
# those that take any.
_OF_KINDS = {
    "": (
        "bitwise_and bitwise_or bitwise_xor eq ge gt le lt max min ne shift_left "
        "shift_right_arithmetic shift_right_logical"
    ),
    "iu": "mulhi",
    "iufc": "add div sub",
    "iuf": "rem",
    "fc": (
        "acos acosh asin asinh atan atan2 atanh cos cosh exp exp2 expm1 log log1p log2 logistic "
        "reciprocal rsqrt sin sinh sqrt tan tanh"
    ),
    "f": (
        "bessel_i0e bessel_i1e betainc cbrt ceil complex digamma erf erf_inv erfc floor "
        "igamma igamma_grad_a igammac is_finite lgamma nextafter polygamma random_gamma_grad "
        "zeta"
    ),
}
_CHECKS: dict[str, Callable[..., None]] = {
    "clamp": _check_clamp,
    "concatenate": lambda operands, dimension: require_one_dtype("concatenate", *operands),
    "dynamic_slice": _check_dynamic_slice,
    "mul": _check_mul,
    "pow": _check_pow,
    "select": lambda pred, on_true, on_false: _check_cases(pred, on_false, on_true),
    "select_n": _check_cases,
}
_UPDATES = "dynamic_update_slice dynamic_update_slice_in_dim dynamic_update_index_in_dim"
_SCATTERS = "scatter scatter_add scatter_max scatter_min scatter_mul scatter_sub"
# The parameters that are axes or sizes, and the kinds of dtypes of the array, if not all.
_COUNTING = {
    "index_take": ("axes", ""),
    "argmax": ("axis", ""),
    "argmin": ("axis", ""),
    "cumlogsumexp": ("axis", ""),
    "cummax": ("axis", "iufc"),
    "cummin": ("axis", "iufc"),
    "cumprod": ("axis", ""),
    "cumsum": ("axis", ""),
    "reduce_sum": ("axes", "iufc"),
    "reshape": ("new_sizes dimensions", ""),
    "transpose": ("permutation", ""),
}


def _makers() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield the names of strict functions, and what makes each of the function that promotes."""
    for kinds, names in _OF_KINDS.items():
        for name in names.split():
            yield name, partial(_of_operands, kinds=kinds)
    for name, check in _CHECKS.items():
        yield name, partial(checked, check=check)
    for name in _UPDATES.split():
        yield name, partial(checked, check=_check_update(name))
    for name in _SCATTERS.split():
        yield name, partial(checked, check=_check_scatter)
    for name, (parameters, kinds) in _COUNTING.items():
        yield name, partial(_counted_from_0, parameters=parameters.split(), kinds=kinds)
    for name in ("full", "full_like"):
        yield name, _of_scalar
    yield "convert_element_type", lambda function: convert_element_type


_MAKERS = dict(_makers())
# The functions that have several implementations on some devices.
_WITH_ACCURACY = "cbrt cos erfc exp exp2 expm1 log log1p log2 logistic rsqrt sin sqrt tan tanh"


def strict_function(name: str, function: Any) -> Any:
    """The form of a function, called `name`, that users get: strict where JAX's is."""
    if name in _MAKERS:
        function = _MAKERS[name](function)
    return with_accuracy(function) if name in _WITH_ACCURACY.split() else function
