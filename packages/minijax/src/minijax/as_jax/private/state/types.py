"""Types of references to arrays."""

from minijax.runtime.refs import AbstractRef

__all__ = ["AbstractRef"]
