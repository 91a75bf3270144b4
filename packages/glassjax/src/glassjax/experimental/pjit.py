"""`pjit`, the old name of `jit` (`jax.experimental.pjit`)."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from glassjax.runtime.jit import jit


def _pjit(
    fun: Callable[..., Any],
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """`jit`, by its old name, with arguments that need not be named.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DeprecationWarning)
    ...     from glassjax.experimental.pjit import pjit
    >>> pjit(lambda x: 2 * x)(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    return jit(
        fun,
        in_shardings=in_shardings,
        out_shardings=out_shardings,
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        donate_argnums=donate_argnums,
        donate_argnames=donate_argnames,
        keep_unused=keep_unused,
        device=device,
        backend=backend,
        inline=inline,
        compiler_options=compiler_options,
    )


def __getattr__(name: str) -> Any:
    if name == "pjit":
        warnings.warn(
            "glassjax.experimental.pjit.pjit is the old name of glassjax.jit",
            DeprecationWarning,
            stacklevel=2,
        )
        return _pjit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
