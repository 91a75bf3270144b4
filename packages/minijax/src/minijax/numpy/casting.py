"""Values that are put into an array of another dtype, and warnings of what they lose."""

from typing import Any

import numpy as np

from minijax.settings.number_types import set_number_types, types_here, warn
from minijax.settings.promotion import result_type
from minijax_stage2 import ShapedArray, typeof
from minijax_stage2.promotion import cast


def cast_into(caller: str, x: Any, target: ShapedArray) -> Any:
    """`x` with the dtype of `target`; warns if that drops imaginary parts."""
    _warn_if_complex(caller, x, target)
    return cast(x, target)


def warn_if_lossy(x: Any, values: Any) -> None:
    """Warn if the dtype of `x` does not hold `values`, which are put into it, exactly."""
    with set_number_types(types_here()):  # a Python number is as wide as the library's
        target, found = typeof(x), typeof(values)
        if result_type(target, found).dtype == target.dtype:
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
