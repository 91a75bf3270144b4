"""mkdocs hook: the hundred lines of `JAX in 100 lines`, and the chapters that grow them.

The lines are the cells of docs/learn/zero.md that print nothing; their titles count them. A later
chapter quotes those that it grows, by the names that `source.py` knows, and says what becomes of
them:

    ```grows run, Interpreter.__call__
    The current interpreter becomes a context variable, so that threads do not interfere.
    ```
"""

import functools
import posixpath
import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from blocks import Block, blocks, with_blocks
from mkdocs.structure.pages import Page
from source import Source

DOCS = Path(__file__).parents[1]
PAGE = "learn/zero.md"
FENCE = re.compile(r"^```grows ([^\n]+)\n(.*?)^```[ \t]*$", re.M | re.S)


def on_page_markdown(markdown: str, page: Page, **kwargs: Any) -> str:
    if page.file.src_uri == PAGE:
        return with_counts(markdown)
    return with_quotes(markdown, posixpath.relpath(PAGE, posixpath.dirname(page.file.src_uri)))


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
        return block.fence[0].replace(" exec=", f' title="{span(first, last)}" exec=', 1)

    return with_blocks(markdown, counted)


def span(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


# Quotations


@functools.cache
def program() -> Source:
    """The hundred lines, with the blank ones between them."""
    page = (DOCS / PAGE).read_text("utf-8")
    return Source(PAGE, "\n\n".join(block.code for block in blocks(page) if is_part(block)))


def with_quotes(markdown: str, link: str = PAGE) -> str:
    """A chapter, with the lines that its fences name."""
    return FENCE.sub(lambda fence: quote(fence, link), markdown)


def quote(fence: re.Match[str], link: str) -> str:
    items, remark = fence[1].split(", "), fence[2]
    which = " and ".join(span(first, last) for first, last in runs(counts_of(items)))
    title = f"Grows {which} of [JAX in 100 lines]({link})"
    inside = f"```python\n{excerpt(items)}\n```\n\n{remark}"
    return f'!!! grows "{title}"\n\n{textwrap.indent(inside, "    ")}'


def counts_of(items: list[str]) -> list[int]:
    """The numbers of the lines that the items name, blank lines not counted."""
    named = {number for item in items for number in program().numbers(item)}
    filled = [n for n, line in enumerate(program().lines, 1) if line.strip()]
    return [count for count, number in enumerate(filled, 1) if number in named]


def runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each run of consecutive numbers."""
    gaps = [(a, b) for a, b in pairwise(numbers) if b > a + 1]
    firsts = [numbers[0], *(b for _, b in gaps)]
    lasts = [*(a for a, _ in gaps), numbers[-1]]
    return zip(firsts, lasts, strict=True)


def excerpt(items: list[str]) -> str:
    """Definitions, and methods below the first line of their class."""
    pieces, inside = [], ""
    for item in items:
        lines = [program().lines[number - 1] for number in program().numbers(item)]
        owner = item.rpartition(".")[0]
        if owner and owner != inside:
            lines.insert(0, program().lines[program().numbers(owner)[0] - 1])
        inside = owner
        pieces.append("\n".join(lines))
    return "\n\n".join(pieces)
