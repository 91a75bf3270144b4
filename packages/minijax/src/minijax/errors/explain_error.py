"""The documentation pages of errors, printed on request."""

import re
import sys
from pathlib import Path

from minijax_stage1.errors import ExplainedError

PAGES = Path(__file__).with_name("pages")
PRINTED_BY = ", which minijax.explain_error() prints"

ExplainedError.printed_by = PRINTED_BY  # in the messages of stages, too, once this is imported


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
        names = [error]
    else:
        cls = error if isinstance(error, type) else type(error)
        names = [
            (issubclass(each, ExplainedError) and each.page) or each.__name__
            for each in cls.__mro__
        ]
    for name in names:
        page = PAGES / f"{name}.md"
        if name.isidentifier() and page.is_file():
            return page
    known = ", ".join(sorted(page.stem for page in PAGES.glob("[A-Z]*.md")))
    raise ValueError(f"explain_error: {names[0]!r} has no page; these have one: {known}")


__all__ = ["explain_error"]
