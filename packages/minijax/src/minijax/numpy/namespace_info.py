"""`__array_namespace_info__`: what libraries for the array API ask of `jnp`.

https://data-apis.org/array-api/latest/API_specification/inspection.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax.runtime.devices import devices
from minijax.settings.config import config
from minijax_stage2.errors import shown

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

    >>> import minijax.numpy as jnp
    >>> jnp.__array_namespace_info__().dtypes(kind="real floating")
    {'float32': dtype('float32')}
    """

    def capabilities(self) -> dict[str, Any]:
        """Shapes that depend on data are those of no program."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """None: where no device is named, arrays are not committed to any."""

    def devices(self) -> list[Any]:
        """The devices that can be named; None is one of them."""
        return [None, *devices()]

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
