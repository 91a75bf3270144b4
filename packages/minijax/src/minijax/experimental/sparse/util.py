"""Warnings, and the properties of sparse arrays."""

from typing import NamedTuple

from minijax.experimental.sparse.base import (
    CuSparseEfficiencyWarning,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
)
from minijax.experimental.sparse.conversion import nfold_vmap


class SparseInfo(NamedTuple):
    """The properties of a sparse array other than its arrays."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


__all__ = [
    "CuSparseEfficiencyWarning", "SparseEfficiencyError", "SparseEfficiencyWarning", "SparseInfo",
    "nfold_vmap",
]  # fmt: skip
