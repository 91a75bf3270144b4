"""The version of the library, that of the installed distribution."""


def installed_version() -> str | None:
    """The version; None if the library runs from its sources, without being installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes milliseconds

    try:
        return version("minijax")
    except PackageNotFoundError:
        return None
