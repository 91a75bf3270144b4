"""Describe the environment of this process, for a bug report."""

import platform
import sys

import numpy as np

from minijax import xla
from minijax.runtime import compiled_calls
from minijax.runtime.devices import devices
from minijax.settings.version import installed_version


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions of this library and its dependencies, and the devices.

    The line of compiled calls says whether they are used, and if not, why.

    Arguments:
        return_string: whether to return the text instead of printing it.

    >>> text = minijax.print_environment_info(return_string=True)
    >>> [line.partition(":")[0] for line in text.splitlines()]
    ['minijax', 'jaxlib', 'numpy', 'python', 'compiled calls', 'devices', 'platform']
    """
    lines = [
        f"minijax: {installed_version() or 'not installed'}",
        f"jaxlib:  {xla.jaxlib_version()}",
        f"numpy:   {np.__version__}",
        f"python:  {sys.version}",
        f"compiled calls: {compiled_calls.state}",
        f"devices: {', '.join(map(str, devices()))}",
        f"platform: {platform.uname()}",
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None
