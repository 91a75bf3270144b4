"""mkdocs hook: what changed in a file from one stage to another.

    ```changes
    stage1/jvp.py stage2/jvp.py
    ```

becomes a list of the definitions that stayed, changed, came and went, and a closed block with the
difference, line by line.
"""

import ast
import difflib
import re
import textwrap
from typing import Any

from source import FUNCTION, Source, is_import, lines_of, names_of

FENCE = re.compile(r"^```changes\n(.*?)^```[ \t]*$", re.M | re.S)


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    return FENCE.sub(render, markdown)


def render(fence: re.Match[str]) -> str:
    """The changes between each pair of files."""
    return "\n\n".join(changes(*line.split()) for line in lines_of(fence[1]))


def changes(before: str, after: str) -> str:
    """The changes from one file to the other as Markdown."""
    old, new = definitions(before), definitions(after)
    both = [name for name in new if name in old]
    kinds = {
        "Kept as they were": [name for name in both if old[name] == new[name]],
        "Changed": [name for name in both if old[name] != new[name]],
        "New": [name for name in new if name not in old],
        "Gone": [name for name in old if name not in new],
    }
    text = f"From `{before}` to `{after}`:\n\n" + "\n".join(
        f"- {kind}: {', '.join(f'`{name}`' for name in names)}."
        for kind, names in kinds.items()
        if names
    )
    difference = "\n".join(
        difflib.unified_diff(
            Source.wrapped(before).lines, Source.wrapped(after).lines, before, after, lineterm=""
        )
    )
    block = textwrap.indent(f"```diff\n{difference}\n```", "    ")
    return f'{text}\n\n??? quote "Line by line"\n\n{block}'


def definitions(file: str) -> dict[str, str]:
    """The text of each definition of a file, methods on their own."""
    source, found = Source.wrapped(file), {}
    for node in source.tree.body:
        if is_import(node):
            continue
        for name in names_of(node):
            if isinstance(node, ast.ClassDef):
                found[name] = text_of(source, source.head(name))
                for each in node.body:
                    if isinstance(each, FUNCTION):
                        found[f"{name}.{each.name}"] = text_of(source, source.span(each))
            else:
                found[name] = text_of(source, source.span(node))
    return found


def text_of(source: Source, numbers: Any) -> str:
    return "\n".join(source.lines[number - 1] for number in numbers)
