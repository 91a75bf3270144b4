"""Warnings, and what is known of sparse arrays."""

from typing import NamedTuple

from minijax.experimental.sparse.base import (
    CuSparseEfficiencyWarning,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
)
from minijax.experimental.sparse.conversion import nfold_vmap


class SparseInfo(NamedTuple):
    """What is known of a sparse array besides its arrays."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


__all__ = [
    "CuSparseEfficiencyWarning", "SparseEfficiencyError", "SparseEfficiencyWarning", "SparseInfo",
    "nfold_vmap",
]  # fmt: skip
