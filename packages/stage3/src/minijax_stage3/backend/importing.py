"""The import of jaxlib's modules, which Ctrl-C does not interrupt."""

import importlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def import_module(name: str) -> Any:
    """The module of jaxlib called `name`.

    An exception in the middle of its first import would end the process.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # read once, as jaxlib is imported
    with interrupts_deferred():
        return importlib.import_module(name)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Defer SIGINT to the end of a block.

    Only the main thread is interrupted, and only where the handler of the signal is a Python
    function; elsewhere there is nothing to do.
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
