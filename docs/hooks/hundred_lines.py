"""mkdocs hook: the hundred lines of `JAX in 100 lines`, and the chapters that grow them.

The lines are the cells of docs/learn/zero.md that print nothing; their titles count them. A later
chapter shows those that it grows, by the names that `source.py` knows:

    ```python grows="run; Interpreter.__call__"
    ```

`python -m tools.excerpts` writes the lines into it; a page whose lines differ ends a strict build.
"""

import functools
import logging
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from blocks import Block, blocks, with_blocks
from mkdocs.structure.pages import Page
from source import Source

DOCS = Path(__file__).parents[1]
PAGE = "learn/zero.md"
FENCE = re.compile(r'^```python grows="([^"\n]+)"\n(.*?)^```[ \t]*$', re.M | re.S)

log = logging.getLogger("mkdocs.hooks.hundred_lines")


def on_page_markdown(markdown: str, page: Page, **kwargs: Any) -> str:
    if markdown != filled(markdown):
        log.warning(f"{page.file.src_uri}: not what {PAGE} has; run python -m tools.excerpts")
    return with_counts(markdown) if page.file.src_uri == PAGE else with_titles(markdown)


def is_part(block: Block) -> bool:
    """Return True for a cell of the hundred lines."""
    return block.kind == "exec" and "result" not in block.options


def lines_of(code: str) -> list[str]:
    """The lines that are not blank."""
    return [line for line in code.splitlines() if line.strip()]


def with_counts(markdown: str) -> str:
    """The page, with the count of lines above each cell of the hundred."""
    last = 0

    def counted(block: Block) -> str | None:
        nonlocal last
        if not is_part(block):
            return None
        first, last = last + 1, last + len(lines_of(block.code))
        return block.fence[0].replace(" exec=", f' title="lines {first} to {last}" exec=', 1)

    return with_blocks(markdown, counted)


# Quotations


@functools.cache
def program() -> Source:
    """The hundred lines, with the blank ones between them."""
    page = (DOCS / PAGE).read_text("utf-8")
    return Source(PAGE, "\n\n".join(block.code for block in blocks(page) if is_part(block)))


def filled(markdown: str) -> str:
    """A chapter whose fences have the lines that they name, below a comment that counts them."""

    def fill(fence: re.Match[str]) -> str:
        items = fence[1].split("; ")
        head = fence[0].partition("\n")[0]
        counts = ", ".join(spans(items))
        return f"{head}\n# JAX in 100 lines · {counts}\n{excerpt(items)}\n```"

    return FENCE.sub(fill, markdown)


def with_titles(markdown: str) -> str:
    """A chapter whose quotations have their comments as titles."""

    def render(fence: re.Match[str]) -> str:
        comment, _, code = fence[2].partition("\n")
        return f'```python title="{comment.removeprefix("# ")}"\n{code}```'

    return FENCE.sub(render, markdown)


def spans(items: list[str]) -> Iterator[str]:
    """The numbers of the lines that the items name, blank lines not counted."""
    named = {number for item in items for number in program().numbers(item)}
    filled = [n for n, line in enumerate(program().lines, 1) if line.strip()]
    counts = [count for count, number in enumerate(filled, 1) if number in named]
    gaps = [(a, b) for a, b in pairwise(counts) if b > a + 1]
    firsts = [counts[0], *(b for _, b in gaps)]
    lasts = [*(a for a, _ in gaps), counts[-1]]
    for first, last in zip(firsts, lasts, strict=True):
        yield f"{first}-{last}" if first < last else f"{first}"


def excerpt(items: list[str]) -> str:
    """Definitions, and methods below the first line of their class."""
    return "\n\n".join(pieces(items))


def pieces(items: list[str]) -> Iterator[str]:
    inside = ""  # the class whose first line was shown last
    for item in items:
        lines = [program().lines[number - 1] for number in program().numbers(item)]
        owner = item.rpartition(".")[0]
        if owner and owner != inside:
            lines.insert(0, program().lines[program().numbers(owner)[0] - 1])
        inside = owner
        yield "\n".join(lines)
