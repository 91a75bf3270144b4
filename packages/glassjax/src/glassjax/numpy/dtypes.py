"""The dtypes of results, and what a cast loses."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassjax import dtypes
from glassjax.dtypes import DTypeLike
from glassjax.errors.tracebacks import hiding_frames
from glassjax.runtime.array import Array
from glassjax.runtime.devices import devices
from glassjax.settings import number_types
from glassjax.settings.config import config
from glassjax.settings.number_types import parse_dtype, set_number_types, types_here, warn
from glassjax_stage2 import ShapedArray, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.promotion import cast
from glassjax_stage2.shaped_array import dialect, inexact_dtype, is_inexact, python_scalars

# Dtypes, their promotion, and the dtypes of sums and means.


dtype = np.dtype


@hiding_frames
def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Return True if dtype `arg1` is dtype `arg2`, or of the kind `arg2`.

    Arguments:
        arg1: a dtype, in any way that numpy understands.
        arg2: a dtype, or a kind: `jnp.floating`, `jnp.integer`, `jnp.inexact`, `jnp.number`, ... .

    >>> import glassjax.numpy as jnp
    >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
    True
    """
    return dtypes.issubdtype(arg1, arg2)


def default_int() -> np.dtype[Any]:
    """The dtype of Python's ints."""
    return dialect().weak[1].dtype


def default_float() -> np.dtype[Any]:
    """The dtype of Python's floats."""
    return dialect().weak[2].dtype


def dtype_of_sum(x: Any) -> np.dtype[Any]:
    """The dtype of sums: the dtype of `x`, or for integers the widest of the same kind."""
    x_dtype = typeof(x).dtype
    if number_types.letter_of(x_dtype) in "bi":
        return default_int()
    return np.dtype(f"u{default_int()}") if number_types.letter_of(x_dtype) == "u" else x_dtype


def dtype_of_mean(x: Any) -> np.dtype[Any]:
    """The dtype of means: the dtype of `x` if inexact, else a float."""
    return inexact_dtype(typeof(x).dtype)


def to_common_dtype(*operands: Any, inexact: bool = False) -> list[Array]:
    """The operands in their common dtype, whatever their shapes; see `promote`."""
    common = number_types.result_type(*map(typeof, operands))
    if inexact:
        common = common.update(dtype=inexact_dtype(common.dtype))
    return [cast(x, common) for x in operands]


def computation_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype in which sums of this dtype are computed: narrow floats lose too much."""
    dtype = parse_dtype("sum", dtype)
    return np.dtype(np.float32) if is_inexact(dtype) and dtype.itemsize < 4 else dtype


# Casts into the dtype of another array, with warnings if they lose information.


def cast_into(caller: str, x: Any, target: ShapedArray) -> Any:
    """`x` with the dtype of `target`; warns if that drops imaginary parts."""
    _warn_if_complex(caller, x, target)
    if isinstance(x, python_scalars) and not target.weak_type:
        return dialect().scalar(x, target.dtype)
    return cast(x, target)


def warn_if_lossy(x: Any, values: Any) -> None:
    """Warn if the dtype of `x` does not hold `values`, which are put into it, exactly."""
    with set_number_types(types_here()):  # Python numbers have the library's default width
        target, found = typeof(x), typeof(values)
        if number_types.result_type(target, found).dtype == target.dtype:
            return
    dtype, given = target.dtype, found.dtype
    warn(
        f"values of dtype {given} are put into an array of dtype {dtype}, which does not hold "
        f"them exactly; convert them by astype({str(dtype)!r}), or the array",
        FutureWarning,
    )
    _warn_if_complex("an update", values, typeof(x))


def _warn_if_complex(caller: str, x: Any, target: ShapedArray) -> None:
    if typeof(x).dtype.kind == "c" and target.dtype.kind not in "cV":
        warn(
            f"{caller} drops the imaginary part of complex numbers; take x.real",
            np.exceptions.ComplexWarning,
        )


# `__array_namespace_info__`: what libraries for the array API ask of `jnp`.
#
# https://data-apis.org/array-api/latest/API_specification/inspection.html


_SIGNED, _UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
_REAL, _COMPLEX = ("float32", "float64"), ("complex64", "complex128")
_IN_32_BITS = ("int32", "float32", "complex64")
_KINDS = {
    "bool": ("bool",),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
}


class NamespaceInfo:
    """Capabilities, devices and dtypes, as the array API asks for them.

    >>> import glassjax.numpy as jnp
    >>> jnp.__array_namespace_info__().dtypes(kind="real floating")
    {'float32': dtype('float32')}
    """

    def capabilities(self) -> dict[str, Any]:
        """No data-dependent shapes: the shapes of a compiled program are static."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """None: where no device is named, arrays are not committed to any."""

    def devices(self) -> tuple[Any, ...]:
        """The devices that can be named; None is one of them."""
        return (None, *devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of Python's numbers, and of indices."""
        names = ("int64", "float64", "complex128") if config.x64_enabled else _IN_32_BITS
        whole, real, pair = map(np.dtype, names)
        return {
            "real floating": real,
            "complex floating": pair,
            "integral": whole,
            "indexing": whole,
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """The dtypes of a kind, or of several; by default all. 64 bits are there with `enable_x64`.

        Raises:
            KeyError: there is no such kind.
        """
        kinds = (
            ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        )
        unknown = [each for each in kinds if each not in _KINDS]
        if unknown:
            raise KeyError(f"dtypes: kind is one of {', '.join(_KINDS)}, found {shown(unknown[0])}")
        widest = 8 if config.x64_enabled else 4
        found = [np.dtype(name) for each in kinds for name in _KINDS[each]]
        fitting = [x for x in found if x.itemsize <= widest * (2 if x.kind == "c" else 1)]
        return {dtype.name: dtype for dtype in fitting}


def __array_namespace_info__() -> NamespaceInfo:
    """Capabilities, devices and dtypes, for libraries written for the array API."""
    return NamespaceInfo()
