"""The names of LAPACK's routines, and of BLAS's, for programs on a CPU."""

from collections.abc import Sequence

import numpy as np

from minijax.primitives.routines import Letter, Routine
from minijax_stage3.lowering import Value

_PREFIX = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def has_routines(dtype: "np.dtype[np.generic]") -> bool:
    """Return True if LAPACK computes with numbers of this dtype."""
    return dtype.name in _PREFIX


def routine(names: str | Sequence[str], x: Value, **attributes: str | bool | int) -> Routine:
    """The routine for numbers of the dtype of `x`.

    Arguments:
        names: its name without the letter of the dtype, or a pair: for real and complex numbers.
        x: the first operand.
        attributes: LAPACK's letters, flags, or numbers.
    """
    of_real, of_complex = (names, names) if isinstance(names, str) else names
    name = of_complex if x.aval.dtype.kind == "c" else of_real
    letters = {
        key: Letter(value) if isinstance(value, str) else value for key, value in attributes.items()
    }
    return Routine(f"lapack_{_PREFIX[x.aval.dtype.name]}{name}_ffi", letters)
