"""The dtypes of results, and what a cast loses."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax import dtypes
from minijax.dtypes import DTypeLike
from minijax.errors.tracebacks import hiding_frames
from minijax.runtime.array import Array
from minijax.settings import number_types
from minijax.settings import number_types as promotion
from minijax.settings.number_types import parse_dtype, set_number_types, types_here, warn
from minijax_stage2 import ShapedArray, typeof
from minijax_stage2.promotion import cast
from minijax_stage2.shaped_array import dialect, inexact_dtype, is_inexact

# Dtypes, their promotion, and the dtypes of sums and means.


dtype = np.dtype


@hiding_frames
def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Return True if dtype `arg1` is dtype `arg2`, or of the kind `arg2`.

    Arguments:
        arg1: a dtype, in any way that numpy understands.
        arg2: a dtype, or a kind: `jnp.floating`, `jnp.integer`, `jnp.inexact`, `jnp.number`, ... .

    >>> import minijax.numpy as jnp
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
    """The dtype in which elements are summed: that of `x`, or the widest integer of its kind."""
    of_x = typeof(x).dtype
    if of_x.kind in "bi":
        return default_int()
    return np.dtype(f"u{default_int()}") if of_x.kind == "u" else of_x


def dtype_of_mean(x: Any) -> np.dtype[Any]:
    """The dtype in which a mean is taken: that of `x`, or a float."""
    return inexact_dtype(typeof(x).dtype)


def of_one_dtype(*operands: Any, inexact: bool = False) -> list[Array]:
    """The operands in their common dtype, whatever their shapes; see `promote`."""
    meeting = promotion.result_type(*map(typeof, operands))
    if inexact:
        meeting = meeting.update(dtype=inexact_dtype(meeting.dtype))
    return [cast(x, meeting) for x in operands]


def computation_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype in which sums of this dtype are computed: narrow floats lose too much."""
    dtype = parse_dtype("sum", dtype)
    return np.dtype(np.float32) if is_inexact(dtype) and dtype.itemsize < 4 else dtype


# Values that are put into an array of another dtype, and warnings of what they lose.


def cast_into(caller: str, x: Any, target: ShapedArray) -> Any:
    """`x` with the dtype of `target`; warns if that drops imaginary parts."""
    _warn_if_complex(caller, x, target)
    return cast(x, target)


def warn_if_lossy(x: Any, values: Any) -> None:
    """Warn if the dtype of `x` does not hold `values`, which are put into it, exactly."""
    with set_number_types(types_here()):  # a Python number is as wide as the library's
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
