"""The one extension module, compiled by Cython; and the version, which the repository has."""

from email import message_from_string
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

HERE = Path(__file__).parent


def version() -> str:
    """The version of all packages; where an sdist has left the repository, its own."""
    everywhere = HERE.parents[1] / "VERSION"
    if everywhere.exists():
        return everywhere.read_text(encoding="utf-8").strip()
    return message_from_string((HERE / "PKG-INFO").read_text(encoding="utf-8"))["Version"]


setup(
    version=version(),
    ext_modules=cythonize(
        [Extension("minijax_compiled.calls", ["src/minijax_compiled/calls.pyx"])],
        compiler_directives={"language_level": "3", "boundscheck": False, "wraparound": False},
    ),
)
