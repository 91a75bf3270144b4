"""Names for parts of a program, as those who read it see them."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minijax.jit import jit
from minijax_stage1.source import name_of
from minijax_stage2.flat_function import require_function


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """`fun` as a part of its own, by this name, in the programs that it is staged into.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        name: what to call it; the name of `fun` if not given.

    Returns:
        A function of the same arguments.
    """
    require_function("named_call", fun)

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    named.__name__ = name or name_of(fun)
    return jit(named)  # type: ignore[no-any-return]


@contextmanager
def named_scope(name: str) -> Iterator[None]:
    """A block of a `with`, or a decorated function, that has a name for profilers.

    Here locations in programs are lines of source, which say more; so it changes nothing.

    Raises:
        TypeError: `name` is no string.
    """
    if not isinstance(name, str):
        raise TypeError(f"named_scope: name must be a string, found {name!r:.60}")
    yield
