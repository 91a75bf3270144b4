"""`composite`: named functions that a compiler can recognize."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from minijax.errors.tracebacks import hiding_frames
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.named_scope import named_scope
from minijax_stage2.arguments import require_function


@hiding_frames
def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A named function that computes what `decomposition` does.

    XLA for CPUs does not recognize any name, so it compiles the decomposition. That can be
    differentiated and mapped, too, which JAX rejects.

    Arguments:
        decomposition: a function whose positional arguments are arrays, and pytrees of these; its
            keyword arguments are its attributes.
        name: its name, which marks the operations in the program.
        version: a number that changes with what it computes.

    Raises:
        TypeError: `decomposition` is not a function, `name` not a string, or `version` not an int.

    >>> import minijax.numpy as jnp
    >>> from minijax import lax
    >>> tangent = composite(lambda x: lax.sin(x) / lax.cos(x), name="my.tangent")
    >>> print(tangent(0.0))
    0.0
    """
    for role, given, kind in (("name", name, str), ("version", version, int)):
        if not isinstance(given, kind):
            raise TypeError(f"composite: {role} must be of type {kind.__name__}, found {given!r}")
    require_function("composite", decomposition)

    @evaluated_by_library
    def composed(*args: Any, **attributes: Any) -> Any:
        with named_scope(name):
            return tree_to_arrays(decomposition(*tree_to_arrays(args), **attributes))

    return wraps(decomposition)(composed)


__all__ = ["composite"]
