"""Settings, each as an object that has its value and sets it for a block."""

import functools
from contextlib import AbstractContextManager
from typing import Any

from minijax import config
from minijax.xla.placement import explicit_transfers

explicit_device_put_scope = functools.partial(explicit_transfers, "explicit_device_put")
explicit_device_get_scope = functools.partial(explicit_transfers, "explicit_device_get")


class State:
    """A setting: `value`, and a context manager for a block when it is called."""

    def __init__(self, name: str):
        self._option = config.option(name)

    @property
    def value(self) -> Any:
        return self._option.value

    def __call__(self, new_val: Any) -> AbstractContextManager[None]:
        return self._option.override(new_val)


def update(name: str, val: Any) -> None:
    """The same as `config.update`."""
    config.update(name, val)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return State(name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


__all__ = ["State", "config", "explicit_device_get_scope", "explicit_device_put_scope", "update"]
