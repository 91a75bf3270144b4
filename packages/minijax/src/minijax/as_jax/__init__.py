"""Programs written for JAX, run by minijax without a change.

`install_as_jax()` in a program, `python -m minijax.as_jax train.py` for a whole program,
`pytest -p minijax.as_jax` for a suite of tests.
"""

from minijax.as_jax.alias import (
    import_as_jax,
    install_as_jax,
    is_installed_as_jax,
    remove_as_jax,
)
from minijax.as_jax.names import coverage

__all__ = [
    "coverage", "import_as_jax", "install_as_jax", "is_installed_as_jax", "remove_as_jax",
]  # fmt: skip


def pytest_addoption() -> None:
    """Install the alias. It is the first that pytest calls, before anything else is imported."""
    install_as_jax()
