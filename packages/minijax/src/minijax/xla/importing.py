"""Imports of jaxlib that Ctrl-C does not break.

An exception in the middle of its first import would pass through C++ code, and end the process.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minijax_stage3 import backend


def import_module(name: str) -> Any:
    """The module of jaxlib called `name`."""
    with interrupts_deferred():
        return backend.import_module(name)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Defer SIGINT to the end of a block.

    Only the main thread is interrupted, and only if the signal handler is a Python function;
    otherwise there is nothing to do.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[Any] = []  # the frames in which the signal arrived
    signal.signal(signal.SIGINT, lambda _, frame: received.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(signal.SIGINT, received[0])
