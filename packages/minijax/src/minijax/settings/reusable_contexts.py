"""Context managers that can be entered more than once, one block after another or nested."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from threading import get_ident
from types import TracebackType
from typing import ParamSpec

P = ParamSpec("P")


class ReusableContext(AbstractContextManager[None], ContextDecorator):
    """A context manager and decorator that opens a new block each time."""

    def __init__(self, open_block: Callable[[], AbstractContextManager[None]]):
        self._open_block = open_block
        self._open: list[tuple[int, AbstractContextManager[None]]] = []  # and the thread of each

    def __enter__(self) -> None:
        block = self._open_block()
        block.__enter__()
        self._open.append((get_ident(), block))

    def __exit__(
        self,
        cls: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        here = get_ident()
        # One of this thread; of another only where a generator is ended by that.
        last = max(self._open, key=lambda entry: (entry[0] == here, self._open.index(entry)))
        self._open.remove(last)
        return last[1].__exit__(cls, error, traceback)


def reusable_context(function: Callable[P, Iterator[None]]) -> Callable[P, ReusableContext]:
    """Decorator: as `contextlib.contextmanager`, for context managers that can be entered again.

    >>> @reusable_context
    ... def greeting():
    ...     print("hello")
    ...     yield
    >>> greet = greeting()
    >>> with greet, greet:
    ...     pass
    hello
    hello
    """
    open_block = contextmanager(function)

    @functools.wraps(function)
    def make(*args: P.args, **kwargs: P.kwargs) -> ReusableContext:
        return ReusableContext(functools.partial(open_block, *args, **kwargs))

    return make
