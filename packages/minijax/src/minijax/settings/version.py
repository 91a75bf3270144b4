"""The version of the library, that of the installed distribution."""

_stand_in: str | None = None


def stand_in_for(version: str | None) -> None:
    """Make `__version__` that of JAX while minijax is imported as JAX; None takes it back."""
    global _stand_in
    _stand_in = version


def installed_version() -> str | None:
    """The version; None if the library runs from its sources, without being installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes milliseconds

    try:
        return version("minijax")
    except PackageNotFoundError:
        return None


def version_to_show() -> str | None:
    """The version that programs see: of JAX, where the library stands in for it."""
    return _stand_in or installed_version()
