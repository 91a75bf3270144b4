"""Warnings, and the properties of sparse arrays."""

from minijax.experimental.sparse.base import (
    CuSparseEfficiencyWarning,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
)
from minijax.experimental.sparse.bcoo_array import SparseInfo
from minijax.experimental.sparse.conversion import nfold_vmap

__all__ = [
    "CuSparseEfficiencyWarning", "SparseEfficiencyError", "SparseEfficiencyWarning", "SparseInfo",
    "nfold_vmap",
]  # fmt: skip
