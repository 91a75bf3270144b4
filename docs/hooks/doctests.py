"""Griffe extension: shows the `>>>` examples of a docstring as code, wherever they stand.

Without it they are examples only under a heading `Examples:`, and elsewhere Markdown text.
"""

import re
from typing import Any

from griffe import Docstring, Extension, Object

# From a line that begins with `>>>` to the next empty line.
EXAMPLE = re.compile(r"^>>> .*(?:\n.*\S.*)*", re.MULTILINE)


class Doctests(Extension):
    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        docstring: Docstring | None = obj.docstring
        if docstring:
            docstring.value = EXAMPLE.sub(r"```pycon\n\g<0>\n```", docstring.value)
