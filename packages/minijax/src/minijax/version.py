"""The version of the library, that of the installed distribution.

`__version__` is a string, and `__version_info__` its numbers. A library that runs from
its sources has none, and raises AttributeError.
"""

from typing import Any

from minijax.settings.version import version_to_show


def __getattr__(name: str) -> Any:
    if name not in ("__version__", "__version_info__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import re

    text = version_to_show()
    if text is None:
        raise AttributeError(
            f"minijax.{name} is that of the installed distribution, and minijax runs here "
            "from its sources: install it (pip install) to give it one"
        )
    release = re.match(r"[\d.]+", text)
    assert release
    return text if name == "__version__" else tuple(map(int, re.findall(r"\d+", release[0])))
