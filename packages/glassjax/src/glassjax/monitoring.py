"""Listeners for events of the library, under the names of `jax.monitoring`."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Listeners for events, such as tracing, lowering and compilation, and their durations.
#
# The names of events are JAX's.


Listener = Callable[..., None]

TRACED = "/jax/core/compile/jaxpr_trace_duration"
LOWERED = "/jax/core/compile/jaxpr_to_mlir_module_duration"
COMPILED = "/jax/core/compile/backend_compile_duration"
CACHE_USED = "/jax/compilation_cache/compile_requests_use_cache"
CACHE_HIT = "/jax/compilation_cache/cache_hits"
CACHE_MISS = "/jax/compilation_cache/cache_misses"

_event_listeners: list[Listener] = []
_duration_listeners: list[Listener] = []
_time_span_listeners: list[Listener] = []
_scalar_listeners: list[Listener] = []
_ALL = (_event_listeners, _duration_listeners, _time_span_listeners, _scalar_listeners)


def record_event(event: str, **kwargs: Any) -> None:
    """Tell listeners that something happened.

    Arguments:
        event: its name, such as "/my_library/restarted".
        **kwargs: further information.

    >>> heard = []
    >>> listener = lambda event, **kwargs: heard.append((event, kwargs))
    >>> register_event_listener(listener)
    >>> record_event("/my_library/restarted", times=2)
    >>> heard
    [('/my_library/restarted', {'times': 2})]
    >>> unregister_event_listener(listener)
    """
    for listener in tuple(_event_listeners):
        listener(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: Any) -> None:
    """Tell listeners how many seconds something took."""
    for listener in tuple(_duration_listeners):
        listener(event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float, **kwargs: Any) -> None:
    """Tell listeners when something began and ended, in seconds since 1970."""
    for listener in tuple(_time_span_listeners):
        listener(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: Any) -> None:
    """Tell listeners a number."""
    for listener in tuple(_scalar_listeners):
        listener(event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Call `callback(event, **kwargs)` at each event, in the event's thread."""
    _event_listeners.append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Call `callback(event, duration, **kwargs)` after each timed event.

    Tracing, lowering and compiling a function are such events; `fun_name` says which function.

    >>> import glassjax
    >>> heard = []
    >>> listener = lambda event, duration, **kwargs: heard.append(event.split("/")[-1])
    >>> register_event_duration_secs_listener(listener)
    >>> out = glassjax.jit(lambda x: x + 1)(1.0)
    >>> unregister_event_duration_listener(listener)
    >>> heard
    ['jaxpr_trace_duration', 'jaxpr_to_mlir_module_duration', 'backend_compile_duration']
    """
    _duration_listeners.append(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Call `callback(event, start_time, end_time, **kwargs)` after each timed event."""
    _time_span_listeners.append(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Call `callback(event, value, **kwargs)` with each recorded number."""
    _scalar_listeners.append(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Remove a listener for events.

    Raises:
        ValueError: there is no such listener.
    """
    _remove(_event_listeners, callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Remove a listener for durations.

    Raises:
        ValueError: there is no such listener.
    """
    _remove(_duration_listeners, callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Remove a listener for time spans.

    Raises:
        ValueError: there is no such listener.
    """
    _remove(_time_span_listeners, callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Remove a listener for numbers.

    Raises:
        ValueError: there is no such listener.
    """
    _remove(_scalar_listeners, callback)


def clear_event_listeners() -> None:
    """Remove all listeners, including other libraries'."""
    for listeners in _ALL:
        listeners.clear()


def _remove(listeners: list[Listener], callback: Listener) -> None:
    if callback not in listeners:
        raise ValueError(f"no such listener is registered: {callback!r}")
    listeners.remove(callback)


def has_listeners() -> bool:
    return any(_ALL)


@contextmanager
def recorded(event: str, fun_name: str) -> Iterator[None]:
    """Record the start of a compilation step and, if it succeeds, its duration."""
    start = time.time()
    record_scalar(event, start, fun_name=fun_name)
    yield
    end = time.time()
    record_event_duration_secs(event, end - start, fun_name=fun_name)
    record_event_time_span(event, start, end, fun_name=fun_name)


__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]
