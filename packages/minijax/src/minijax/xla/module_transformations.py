"""Functions of the user that XLA calls while it compiles, and which may change programs."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from minijax.xla.importing import import_module
from minijax.xla.platforms import platform

# What tells each function that is registered from all others, by platform, name and stage.
_registered: dict[tuple[str, str, int], list[str]] = {}


def register_transformation(
    callback: Callable[[bytes], bytes | None],
    name: str,
    stage: int,
    platforms: Sequence[str] | str | None,
) -> None:
    for each in _listed(platforms):
        jaxlib, args = _jaxlib(), (name, stage, callback)
        if each == "cpu":
            jaxlib.register_xla_transform(*args)
        else:
            jaxlib.register_xla_transform_c_api(_api(each), *args)
        _registered.setdefault((each, name, stage), []).append(os.urandom(16).hex())


def clear_transformation(name: str, stage: int, platforms: Sequence[str] | str | None) -> bool:
    found = []
    for each in _listed(platforms):
        jaxlib = _jaxlib()
        if each == "cpu":
            found.append(jaxlib.clear_xla_transform(name, stage))
        else:
            found.append(jaxlib.clear_xla_transform_c_api(_api(each), name, stage))
        _registered.pop((each, name, stage), None)
    return any(found)


def transformations() -> tuple[str, ...]:
    """Unique names of these functions, for the compile cache."""
    return tuple(number for numbers in _registered.values() for number in numbers)


def _jaxlib() -> Any:
    try:
        return import_module("jaxlib._xla")
    except ModuleNotFoundError:
        raise NotImplementedError(
            "functions that change programs while XLA compiles them need jaxlib 0.11 or newer, and "
            f"this is jaxlib {import_module('jaxlib').__version__}"
        ) from None


def _listed(platforms: Sequence[str] | str | None) -> list[str]:
    default = platform()  # which opens a client
    if platforms is None:
        platforms = ["cpu", default]
    names = [platforms] if isinstance(platforms, str) else platforms
    return [*dict.fromkeys("cuda" if name == "gpu" else name for name in names)]


def _api(platform: str) -> Any:
    return import_module("jaxlib._jax").get_pjrt_plugin(platform)


__all__ = ["clear_transformation", "register_transformation", "transformations"]
