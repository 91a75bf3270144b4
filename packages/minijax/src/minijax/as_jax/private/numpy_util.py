"""Promotion of the arguments of functions of arrays."""

from typing import Any

from minijax import Array
from minijax import numpy as jnp
from minijax.as_jax.private.dtypes import to_complex_dtype, to_inexact_dtype
from minijax.dtypes import result_type
from minijax.numpy.shapes import ndim as ndim
from minijax.numpy.shapes import shape as shape
from minijax.numpy.shapes import size as size
from minijax.runtime.array import to_array
from minijax.runtime.evaluation import evaluated_by_library
from minijax_stage2 import ShapedArray
from minijax_stage2.promotion import cast


@evaluated_by_library
def _promoted(args: tuple[Any, ...], of_dtype: Any = lambda dtype: dtype) -> list[Array]:
    dtype, weak_type = result_type(*args, return_weak_type_flag=True)
    chosen = of_dtype(dtype)
    if not weak_type:
        return [jnp.asarray(x, chosen) for x in args]
    return [cast(to_array(x), ShapedArray((), chosen, weak_type=True)) for x in args]


def promote_dtypes(*args: Any) -> list[Array]:
    """Arrays of one dtype, by promotion; their shapes stay."""
    return _promoted(args)


def promote_dtypes_inexact(*args: Any) -> list[Array]:
    """As `promote_dtypes`, of a real or complex dtype."""
    return _promoted(args, to_inexact_dtype)


def promote_dtypes_complex(*args: Any) -> list[Array]:
    """As `promote_dtypes`, of a complex dtype."""
    return _promoted(args, to_complex_dtype)


def promote_args(fun_name: str, *args: Any) -> list[Array]:
    """Arrays of one dtype and one number of axes, for a function that broadcasts them."""
    return _of_one_rank(promote_dtypes(*ensure_arraylike_tuple(fun_name, args)))


def promote_args_inexact(fun_name: str, *args: Any) -> list[Array]:
    """As `promote_args`, of a real or complex dtype."""
    return _of_one_rank(promote_dtypes_inexact(*ensure_arraylike_tuple(fun_name, args)))


def _of_one_rank(arrays: list[Array]) -> list[Array]:
    rank = max((x.ndim for x in arrays), default=0)
    return [
        x if x.ndim in (0, rank) else x.reshape((1,) * (rank - x.ndim) + x.shape) for x in arrays
    ]


def ensure_arraylike_tuple(fun_name: str, args: Any) -> tuple[Array, ...]:
    """The arguments as arrays.

    Raises:
        TypeError: one of them is not an array or a number.
    """
    check_arraylike(fun_name, *args)
    return tuple(map(jnp.asarray, args))


def ensure_arraylike(fun_name: str, *args: Any) -> Any:
    """As `ensure_arraylike_tuple`; a single argument is returned by itself."""
    arrays = ensure_arraylike_tuple(fun_name, args)
    return arrays[0] if len(arrays) == 1 else arrays


def check_arraylike(fun_name: str, *args: Any, **options: Any) -> None:
    """Raise TypeError unless all arguments are arrays or numbers."""
    for position, x in enumerate(args):
        if isinstance(x, list | tuple | str) or x is None:
            raise TypeError(
                f"{fun_name}: argument {position} must be an array or a number, found {x!r} of "
                f"type {type(x).__name__}"
            )


__all__ = [
    "check_arraylike", "ensure_arraylike", "ensure_arraylike_tuple", "ndim", "promote_args",
    "promote_args_inexact", "promote_dtypes", "promote_dtypes_complex", "promote_dtypes_inexact",
    "shape", "size",
]  # fmt: skip
