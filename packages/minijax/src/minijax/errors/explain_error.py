"""The documentation pages of errors, printed on request."""

import re
import sys
from pathlib import Path
from traceback import walk_tb

from minijax.errors.argument_errors import is_ours
from minijax_stage2.source import Source, is_machinery, user_source

PAGES = Path(__file__).with_name("pages")

_WITH_JAXS_NAME = {"XLAError": "JaxRuntimeError"}


def page_of(cls: type[BaseException]) -> str | None:
    """The name of the page of a class of errors, its own or that of a base class; None: no page."""
    for each in cls.__mro__:
        name = _WITH_JAXS_NAME.get(each.__name__, each.__name__)
        is_minijax = each.__module__.partition(".")[0].startswith("minijax")
        if is_minijax and (PAGES / f"{name}.md").is_file():
            return name
    return None


def name_page(error: Exception) -> None:
    """Add to the message of an error with a page: the user's line, and the name of the page."""
    page = page_of(type(error))
    if page is None or not error.args or not isinstance(error.args[0], str):
        return
    message, *more = error.args
    see = f"\nSee errors/{page} in the documentation, which minijax.explain_error() prints"
    if see in message:  # it was raised again, or read by pickle
        return
    place = _place_of(error)
    if place is not None and str(place) not in message:
        message += f"\n  at {place}: {place.text}".removesuffix(": ")
    error.args = (message + see, *more)


def _place_of(error: Exception) -> Source | None:
    """The user's line in the traceback, the innermost; or else the one that called this library."""
    frames = [*walk_tb(error.__traceback__)]
    for frame, _ in reversed(frames):
        file = frame.f_code.co_filename
        if not is_machinery[file] and not is_ours(file):
            return Source(frame.f_code, frame.f_lasti)
    return user_source()


def explain_error(error: BaseException | type[BaseException] | str | None = None) -> None:
    """Print the page of an error: its cause, a program that raises it, and what to do.

    Arguments:
        error: an error, its class, or the name of the class. By default the error being handled, or
            else the last one in an interactive session.

    Raises:
        ValueError: there is no such error, or it has no page.

    >>> try:
    ...     minijax.jit(lambda x: 1.0 if x > 0 else 2.0)(3.0)
    ... except TypeError:
    ...     minijax.explain_error()  # doctest: +ELLIPSIS
    # TracerBoolConversionError
    ...
    """
    if error is None:
        error = sys.exception() or getattr(sys, "last_value", None)
        if error is None:
            raise ValueError("explain_error: no error was raised; name the one that is meant")
    text = _page(error).read_text(encoding="utf-8")
    print(re.sub(r"^```(\w+) .*$", r"```\1", text, flags=re.MULTILINE))


def _page(error: BaseException | type[BaseException] | str) -> Path:
    if isinstance(error, str):
        name = error
    else:
        cls = error if isinstance(error, type) else type(error)
        name = page_of(cls) or cls.__name__
    page = PAGES / f"{name}.md"
    if name.isidentifier() and page.is_file():
        return page
    known = ", ".join(sorted(page.stem for page in PAGES.glob("[A-Z]*.md")))
    raise ValueError(f"explain_error: {name!r} has no page; these have one: {known}")


__all__ = ["explain_error"]
