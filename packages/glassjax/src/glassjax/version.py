"""The installed version."""

from typing import Any

_stand_in: str | None = None


def stand_in_for(version: str | None) -> None:
    """Set `__version__` to JAX's while glassjax is imported as JAX; None restores it."""
    global _stand_in
    _stand_in = version


def installed_version() -> str | None:
    """The version; None if the library runs from its sources, without being installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes milliseconds

    try:
        return version("glassjax")
    except PackageNotFoundError:
        return None


def version_to_show() -> str | None:
    """The version for programs: JAX's while the library stands in for it."""
    return _stand_in or installed_version()


# Attributes: `__version__`, a string, and `__version_info__`, its numbers. A library that runs from
# its sources has neither, and raises AttributeError.


def __getattr__(name: str) -> Any:
    if name not in ("__version__", "__version_info__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import re

    text = version_to_show()
    if text is None:
        raise AttributeError(
            f"glassjax.{name} is that of the installed distribution, and glassjax runs here "
            "from its sources: install it (pip install) to give it one"
        )
    release = re.match(r"[\d.]+", text)
    assert release
    return text if name == "__version__" else tuple(map(int, re.findall(r"\d+", release[0])))
