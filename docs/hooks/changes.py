"""mkdocs hook: what changed in a file from one stage to another.

    ```changes stage1/jvp.py stage2/jvp.py
    ```

becomes a list of the definitions that stayed, changed, came and went, and a closed block with the
difference, line by line. `python -m tools.excerpts` writes the list into the fence.
"""

import ast
import difflib
import re
from collections.abc import Iterator
from typing import Any

from source import FUNCTION, Source, is_import, names_of

FENCE = re.compile(r"^```changes (\S+) (\S+)\n(.*?)^```[ \t]*$", re.M | re.S)
FOLD = '<details class="quote" markdown="1">'


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    return FENCE.sub(render, markdown)


def filled(markdown: str) -> str:
    """A page whose fences have their lists."""

    def fill(fence: re.Match[str]) -> str:
        before, after, _ = fence.groups()
        names = "".join(f"{kind}: {', '.join(names)}\n" for kind, names in kinds(before, after))
        return f"```changes {before} {after}\n{names}```"

    return FENCE.sub(fill, markdown)


def render(fence: re.Match[str]) -> str:
    """The changes from one file to the other as Markdown."""
    before, after, _ = fence.groups()
    text = f"From `{before}` to `{after}`:\n\n" + "\n".join(
        f"- {kind}: {', '.join(f'`{name}`' for name in names)}."
        for kind, names in kinds(before, after)
    )
    difference = "\n".join(
        difflib.unified_diff(
            Source.wrapped(before).lines, Source.wrapped(after).lines, before, after, lineterm=""
        )
    )
    block = f"```diff\n{difference}\n```"
    return f"{text}\n\n{FOLD}<summary>Line by line</summary>\n\n{block}\n\n</details>"


def kinds(before: str, after: str) -> Iterator[tuple[str, list[str]]]:
    """The definitions by what became of them."""
    old, new = definitions(before), definitions(after)
    both = [name for name in new if name in old]
    found = {
        "Kept as they were": [name for name in both if old[name] == new[name]],
        "Changed": [name for name in both if old[name] != new[name]],
        "New": [name for name in new if name not in old],
        "Gone": [name for name in old if name not in new],
    }
    return ((kind, names) for kind, names in found.items() if names)


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
