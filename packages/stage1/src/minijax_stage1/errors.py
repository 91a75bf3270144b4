"""The errors of interpreters."""

from typing import Any

from minijax_stage1.source import user_source


class ExplainedError(Exception):
    """An error in the user's program that has a page in the documentation, named after its class.

    The class adds the line of the user's program to the message, unless it is there already, and
    the name of the page.
    """

    page = ""  # the name of the page, if it is not that of the class
    printed_by = ""  # the library says what prints the page

    def __init__(self, message: str, *more: Any):
        name = self.page or type(self).__name__
        page = f"\nSee errors/{name} in the documentation"
        if page not in message:  # or this is an error made of another, or read by pickle
            source = user_source()
            if source is not None and str(source) not in message:
                message += f"\n  at {source}: {source.text}".removesuffix(": ")
            message += page + ExplainedError.printed_by
        super().__init__(message, *more)


class JAXTypeError(TypeError):
    """The base class, with JAX's name, of type errors about the values of interpreters."""


class UnexpectedTracerError(ExplainedError, JAXTypeError):
    """A value was used where its interpreter is not running.

    It was made inside a transformed function and leaked out of it (through a global, an attribute,
    a list that outlives the call), or was passed to another thread. Return it from the function
    instead.
    """
