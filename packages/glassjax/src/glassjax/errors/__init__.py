"""The library's error classes, under the names of `jax.errors` where JAX has them.

A message says what was wrong and how to fix it. Where the error leaves this library, its message
gets the line of the user's program and its page in `errors/pages/`, which `explain_error` prints:
the page's address on the site, if the installed distribution has a link to its documentation.
"""

import functools
import os
import re
import sys
from typing import Any

from glassjax.errors.arguments import is_ours
from glassjax.settings.names import list_public_names
from glassjax.settings.number_types import TypePromotionError
from glassjax_stage1 import JAXTypeError, UnexpectedTracerError
from glassjax_stage2.errors import (
    ConcretizationTypeError,
    IntegerGradientError,
    MappedAxisError,
    MissingRuleError,
    ShapeMismatchError,
    TangentTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    TreeMismatchError,
)
from glassjax_stage2.source import Source, is_machinery, user_source
from glassjax_stage3 import JaxprTypeError
from glassjax_stage3.errors import CompileError, ExecutionError
from glassjax_stage3.errors import XLAError as JaxRuntimeError
from glassjax_stage4.errors import (
    BranchTypeError,
    ComplexGradientError,
    NonlinearError,
    NonScalarGradientError,
)

# The statuses that XLA's messages begin with, in the order of their numbers.
_STATUSES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
    "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
    "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip
_STATUS = re.compile(rf"\b({'|'.join(_STATUSES[1:])}): ")


def _error_code(error: JaxRuntimeError) -> int:
    """The number of the status in XLA's message; 2, UNKNOWN, for other messages.

    A program that fails without a status, for instance in a callback, has 13, INTERNAL.
    """
    status = _STATUS.search(error.error_message)  # type: ignore[attr-defined]
    otherwise = "INTERNAL" if isinstance(error, ExecutionError) else "UNKNOWN"
    return _STATUSES.index(status[1] if status else otherwise)


def _error_message(error: JaxRuntimeError) -> str:
    """The message."""
    return str(error.args[0]) if error.args else ""


_runtime_error: Any = JaxRuntimeError
_runtime_error.error_code = property(lambda error: _error_code(error))  # without a docstring
_runtime_error.error_message = property(lambda error: _error_message(error))


class JAXIndexError(IndexError):
    """The base class, with JAX's name, of errors about unknown indices."""


class InconclusiveDimensionOperation(Exception):
    """An int or a comparison of symbolic sizes was needed that depends on their variables."""


class NonConcreteBooleanIndexError(ConcretizationTypeError, JAXIndexError):
    """An array was indexed with traced booleans."""


class NonConcreteSliceError(ConcretizationTypeError, JAXIndexError):
    """An array was sliced with traced bounds."""


class LeakedTracerError(UnexpectedTracerError):
    """A tracer outlived its call; found by `checking_leaks`."""


class UnboundAxisError(NameError):
    """A collective used an axis name that no enclosing `vmap` binds."""


class CarryTypeError(TypeError):
    """The body of a loop returns a carry whose types or structure differ from its input."""


class PlatformError(RuntimeError):
    """There are no devices of the requested kind: no plugin, no driver, or no such name."""


class KeyReuseError(JAXTypeError):
    """A random key was used twice; found by `debug_key_reuse`."""


class ShardingTypeError(TypeError):
    """The shardings in the types of operands conflict."""


# The documentation pages of errors, printed on request.


PAGES = os.path.join(os.path.dirname(__file__), "pages")

_WITH_JAXS_NAME = {"XLAError": "JaxRuntimeError"}


def page_of(cls: type[BaseException]) -> str | None:
    """The name of an error class's page, its own or a base class's; None: no page."""
    for each in cls.__mro__:
        name = _WITH_JAXS_NAME.get(each.__name__, each.__name__)
        is_glassjax = each.__module__.partition(".")[0].startswith("glassjax")
        if is_glassjax and os.path.isfile(os.path.join(PAGES, f"{name}.md")):
            return name
    return None


def name_page(error: Exception) -> None:
    """Add to the message of an error with a page: the user's line, and the name of the page."""
    page = page_of(type(error))
    if page is None or not error.args or not isinstance(error.args[0], str):
        return
    message, *more = error.args
    site = _site()
    where = f"{site}errors/{page}/" if site else f"errors/{page} in the documentation"
    see = f"\nSee {where}, which glassjax.explain_error() prints"
    if see in message:  # raised again, or unpickled
        return
    place = _place_of(error)
    if place is not None and str(place) not in message:
        message += f"\n  at {place}: {place.text}".removesuffix(": ")
    error.args = (message + see, *more)


@functools.cache
def _site() -> str | None:
    """The address of the documentation, with a slash at its end, if the distribution has one."""
    from importlib.metadata import PackageNotFoundError, metadata  # takes milliseconds

    try:
        links = metadata("glassjax").get_all("Project-URL", [])
    except PackageNotFoundError:
        return None
    address = dict(link.split(", ", 1) for link in links).get("Documentation")
    return address and f"{address.rstrip('/')}/"


def _place_of(error: Exception) -> Source | None:
    """The user's innermost line in the traceback, or else the line that called this library."""
    innermost = None
    place = error.__traceback__
    while place is not None:
        frame = place.tb_frame
        file = frame.f_code.co_filename
        if not is_machinery[file] and not is_ours(file):
            innermost = Source(frame.f_code, frame.f_lasti)
        place = place.tb_next
    return user_source() if innermost is None else innermost


def explain_error(error: BaseException | type[BaseException] | str | None = None) -> None:
    """Print the page of an error: its cause, a program that raises it, and what to do.

    Arguments:
        error: an error, its class, or the name of the class. By default the error being handled, or
            else the last one in an interactive session.

    Raises:
        ValueError: there is no such error, or it has no page.

    >>> try:
    ...     glassjax.jit(lambda x: 1.0 if x > 0 else 2.0)(3.0)
    ... except TypeError:
    ...     glassjax.explain_error()  # doctest: +ELLIPSIS
    # TracerBoolConversionError
    ...
    """
    if error is None:
        error = sys.exception() or getattr(sys, "last_value", None)
        if error is None:
            raise ValueError("explain_error: no error was raised; pass an error, or its name")
    with open(_page(error), encoding="utf-8") as page:
        text = page.read()
    print(re.sub(r"^```(\w+) .*$", r"```\1", text, flags=re.MULTILINE))


def _page(error: BaseException | type[BaseException] | str) -> str:
    if isinstance(error, str):
        name = error
    else:
        cls = error if isinstance(error, type) else type(error)
        name = page_of(cls) or cls.__name__
    page = os.path.join(PAGES, f"{name}.md")
    if name.isidentifier() and os.path.isfile(page):
        return page
    files = sorted(file for file in os.listdir(PAGES) if file[0].isupper())
    known = ", ".join(file.removesuffix(".md") for file in files)
    raise ValueError(f"explain_error: {name!r} has no page; these have one: {known}")


__all__ = [
    "BranchTypeError",
    "CarryTypeError",
    "CompileError",
    "ComplexGradientError",
    "ConcretizationTypeError",
    "ExecutionError",
    "InconclusiveDimensionOperation",
    "IntegerGradientError",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "LeakedTracerError",
    "MappedAxisError",
    "MissingRuleError",
    "NonConcreteBooleanIndexError",
    "NonConcreteSliceError",
    "NonScalarGradientError",
    "NonlinearError",
    "PlatformError",
    "ShapeMismatchError",
    "ShardingTypeError",
    "TangentTypeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TreeMismatchError",
    "TypePromotionError",
    "UnboundAxisError",
    "UnexpectedTracerError",
]
list_public_names(globals())
