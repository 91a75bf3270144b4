"""Types as JAX prints them: full names of dtypes, and a mark before weak types.

The stages print `f32[3]`, as jaxprs do. There is one object for each type, theirs and ours, so
where a user asks for a type, the answer is the same type under another text.
"""

from functools import cache
from typing import Any

import numpy as np

from minijax_stage2 import ShapedArray


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype, one of keys, too."""
    return dtype.names[0] if dtype.names else dtype.name


def type_text(aval: ShapedArray) -> str:
    """The text of a type.

    >>> type_text(ShapedArray((2, 3), "bfloat16")), type_text(ShapedArray((), "int32", True))
    ('bfloat16[2,3]', '~int32[]')
    """
    return f"{'~' * aval.weak_type}{dtype_name(aval.dtype)}[{str(aval).partition('[')[2]}"


class PrintedType:
    """A type whose text is JAX's, and which is that type in everything else."""

    __slots__ = ("_aval",)

    _aval: ShapedArray

    def __init__(self, aval: ShapedArray):
        self._aval = aval

    @property  # type: ignore[misc]
    def __class__(self) -> type[Any]:  # for isinstance
        return type(self._aval)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._aval, name)

    def to_aval(self) -> ShapedArray:
        """The type itself."""
        return self._aval

    def update(self, **changes: Any) -> Any:
        """The type with other values of some fields."""
        return printed_type(self._aval.update(**changes))

    def __eq__(self, other: object) -> bool:
        return plain(other) is self._aval

    def __hash__(self) -> int:
        return hash(self._aval)

    def __reduce__(self) -> Any:
        return printed_type, (self._aval,)

    def __str__(self) -> str:
        return type_text(self._aval)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self._aval.weak_type else ""
        return f"ShapedArray({type_text(self._aval).removeprefix('~')}{weak})"


PrintedType.__name__ = "ShapedArray"


def plain(aval: Any) -> Any:
    """The type itself."""
    return aval._aval if type(aval) is PrintedType else aval


@cache
def printed_type(aval: ShapedArray) -> Any:
    """The type whose text is JAX's: one object for each type.

    >>> printed_type(ShapedArray((3,), "float32"))
    ShapedArray(float32[3])
    """
    return aval if getattr(aval, "is_opaque", False) else PrintedType(aval)
