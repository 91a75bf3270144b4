"""The functions of `lax` that refuse operands which JAX's refuse, and which others here accept.

Operands have one dtype, and one shape where they are not scalars; integers are not floats; axes
count from 0.
"""

import builtins
import functools
import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

import minijax.lax.promoting as promoting
from minijax.errors.tracebacks import hiding_frames
from minijax.primitives.declare import require_kind
from minijax.runtime.conversion import to_array
from minijax.runtime.operation import Operation
from minijax.settings.number_types import warn
from minijax_stage1.source import name_of
from minijax_stage2 import ShapedArray, typeof
from minijax_stage2.functions import ints
from minijax_stage2.shaped_array import parse_dtype

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
    return result  # type: ignore[no-any-return]


def _of_operands(function: Function, kinds: str = "", one_dtype: bool = True) -> Function:
    """`function` of arrays that must have dtypes of these kinds, as `unary` has them, and agree."""
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


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """`operand` with another dtype. Of complex numbers that become real only the real part stays.

    Raises:
        TypeError: `operand` is a complex number of Python's, and `new_dtype` real.
        ValueError: `new_dtype` is None.

    Warns:
        numpy.exceptions.ComplexWarning: `operand` is a complex array, and `new_dtype` real.

    >>> lax.convert_element_type(jnp.array([1.9, -1.9]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    kind = getattr(getattr(operand, "dtype", None), "kind", "c")
    if new_dtype is not None and kind != "c":
        return promoting.convert_element_type(operand, new_dtype)
    return to_array(_convert_complex(operand, new_dtype))


@hiding_frames
def _convert_complex(operand: Any, new_dtype: Any) -> Any:
    if new_dtype is None:
        raise ValueError("convert_element_type: new_dtype must not be None")
    dtype = parse_dtype("convert_element_type", new_dtype)
    is_number = isinstance(operand, builtins.complex)
    if typeof(operand).dtype.kind != "c" or dtype.kind in ("bcV" if is_number else "cV"):
        return promoting.convert_element_type(operand, new_dtype)
    if is_number:
        raise TypeError(
            f"convert_element_type: {operand} is complex, and {dtype} is not. Take operand.real"
        )
    warn(
        "convert_element_type drops the imaginary part of complex numbers; take lax.real(x) first",
        np.exceptions.ComplexWarning,
    )
    return promoting.convert_element_type(promoting.real(operand), new_dtype)


def _counted_from_0(function: Function, *parameters: str, kinds: str = "") -> Function:
    """`function` of an array, whose arguments of these names, ints or several, are not negative.

    The dtype of the array is of these kinds, where they are given.
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
    """`function` of a fill value that is a scalar. Its own scalars are Arrays: inside, numpy's
    stand for what is a literal.
    """
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

    result: Any = Operation(of_scalar, operation.static_names, operation.takes_types)
    return result  # type: ignore[no-any-return]


full = _of_scalar(promoting.full)
full_like = _of_scalar(promoting.full_like)
add = _of_operands(promoting.add, "iufc")
sub = _of_operands(promoting.sub, "iufc")
mul = _of_operands(promoting.mul, "iufc")
div = _of_operands(promoting.div, "iufc")
rem = _of_operands(promoting.rem, "iuf")
max = _of_operands(promoting.max)
min = _of_operands(promoting.min)
eq = _of_operands(promoting.eq)
ne = _of_operands(promoting.ne)
lt = _of_operands(promoting.lt)
le = _of_operands(promoting.le)
gt = _of_operands(promoting.gt)
ge = _of_operands(promoting.ge)
bitwise_and = _of_operands(promoting.bitwise_and)
bitwise_or = _of_operands(promoting.bitwise_or)
bitwise_xor = _of_operands(promoting.bitwise_xor)
shift_left = _of_operands(promoting.shift_left)
shift_right_arithmetic = _of_operands(promoting.shift_right_arithmetic)
shift_right_logical = _of_operands(promoting.shift_right_logical)
atan2 = _of_operands(promoting.atan2, "fc")
nextafter = _of_operands(promoting.nextafter, "f")
complex = _of_operands(promoting.complex, "f")
igamma = _of_operands(promoting.igamma, "f")
igammac = _of_operands(promoting.igammac, "f")
igamma_grad_a = _of_operands(promoting.igamma_grad_a, "f")
random_gamma_grad = _of_operands(promoting.random_gamma_grad, "f")
polygamma = _of_operands(promoting.polygamma, "f")
zeta = _of_operands(promoting.zeta, "f")
betainc = _of_operands(promoting.betainc, "f")
pow = checked(promoting.pow, _check_pow)
clamp = checked(promoting.clamp, _check_clamp)
select = checked(
    promoting.select,
    lambda pred, on_true, on_false: _check_cases(pred, on_false, on_true),
)
select_n = checked(promoting.select_n, _check_cases)
concatenate = checked(
    promoting.concatenate,
    lambda operands, dimension: require_one_dtype("concatenate", *operands),
)
dynamic_slice = checked(promoting.dynamic_slice, _check_dynamic_slice)
dynamic_update_slice = checked(
    promoting.dynamic_update_slice, _check_update("dynamic_update_slice")
)
dynamic_update_slice_in_dim = checked(
    promoting.dynamic_update_slice_in_dim, _check_update("dynamic_update_slice_in_dim")
)
dynamic_update_index_in_dim = checked(
    promoting.dynamic_update_index_in_dim, _check_update("dynamic_update_index_in_dim")
)

scatter = checked(promoting.scatter, _check_scatter)
scatter_add = checked(promoting.scatter_add, _check_scatter)
scatter_max = checked(promoting.scatter_max, _check_scatter)
scatter_min = checked(promoting.scatter_min, _check_scatter)
scatter_mul = checked(promoting.scatter_mul, _check_scatter)
scatter_sub = checked(promoting.scatter_sub, _check_scatter)

acos = _of_operands(promoting.acos, "fc")
acosh = _of_operands(promoting.acosh, "fc")
asin = _of_operands(promoting.asin, "fc")
asinh = _of_operands(promoting.asinh, "fc")
atan = _of_operands(promoting.atan, "fc")
atanh = _of_operands(promoting.atanh, "fc")
bessel_i0e = _of_operands(promoting.bessel_i0e, "f")
bessel_i1e = _of_operands(promoting.bessel_i1e, "f")
cbrt = _of_operands(promoting.cbrt, "f")
ceil = _of_operands(promoting.ceil, "f")
cos = _of_operands(promoting.cos, "fc")
cosh = _of_operands(promoting.cosh, "fc")
digamma = _of_operands(promoting.digamma, "f")
erf = _of_operands(promoting.erf, "f")
erf_inv = _of_operands(promoting.erf_inv, "f")
erfc = _of_operands(promoting.erfc, "f")
exp = _of_operands(promoting.exp, "fc")
exp2 = _of_operands(promoting.exp2, "fc")
expm1 = _of_operands(promoting.expm1, "fc")
floor = _of_operands(promoting.floor, "f")
is_finite = _of_operands(promoting.is_finite, "f")
lgamma = _of_operands(promoting.lgamma, "f")
log = _of_operands(promoting.log, "fc")
log1p = _of_operands(promoting.log1p, "fc")
logistic = _of_operands(promoting.logistic, "fc")
reciprocal = _of_operands(promoting.reciprocal, "fc")
rsqrt = _of_operands(promoting.rsqrt, "fc")
sin = _of_operands(promoting.sin, "fc")
sinh = _of_operands(promoting.sinh, "fc")
sqrt = _of_operands(promoting.sqrt, "fc")
tan = _of_operands(promoting.tan, "fc")
tanh = _of_operands(promoting.tanh, "fc")

index_take = _counted_from_0(promoting.index_take, "axes")
argmax = _counted_from_0(promoting.argmax, "axis")
argmin = _counted_from_0(promoting.argmin, "axis")
cumlogsumexp = _counted_from_0(promoting.cumlogsumexp, "axis")
cummax = _counted_from_0(promoting.cummax, "axis", kinds="iufc")
cummin = _counted_from_0(promoting.cummin, "axis", kinds="iufc")
cumprod = _counted_from_0(promoting.cumprod, "axis")
cumsum = _counted_from_0(promoting.cumsum, "axis")
reduce_sum = _counted_from_0(promoting.reduce_sum, "axes", kinds="iufc")
reshape = _counted_from_0(promoting.reshape, "new_sizes", "dimensions")
transpose = _counted_from_0(promoting.transpose, "permutation")

__all__ = [
    "acos",
    "acosh",
    "add",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clamp",
    "complex",
    "concatenate",
    "convert_element_type",
    "cos",
    "cosh",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "digamma",
    "div",
    "dynamic_slice",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "eq",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "full",
    "full_like",
    "ge",
    "gt",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "index_take",
    "is_finite",
    "le",
    "lgamma",
    "log",
    "log1p",
    "logistic",
    "lt",
    "max",
    "min",
    "mul",
    "ne",
    "nextafter",
    "polygamma",
    "pow",
    "random_gamma_grad",
    "reciprocal",
    "reduce_sum",
    "rem",
    "reshape",
    "rsqrt",
    "scatter",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
    "select",
    "select_n",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sin",
    "sinh",
    "sqrt",
    "sub",
    "tan",
    "tanh",
    "transpose",
    "zeta",
]
