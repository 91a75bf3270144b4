"""References to arrays that functions may replace (`jax.ref`)."""

from minijax.numpy.references import addupdate, empty_ref, free_ref, freeze, get, new_ref, set, swap
from minijax.runtime.refs import AbstractRef, Ref

__all__ = [
    "AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set",
    "swap",
]  # fmt: skip
