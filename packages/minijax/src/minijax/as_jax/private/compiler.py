"""Compilation, which a library replaces to forbid it; here nothing calls what it replaces."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("backend_compile"):
        raise NotImplementedError(
            f"jax._src.compiler.{name} cannot be replaced in minijax, so programs cannot be kept "
            "from compiling by it"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
