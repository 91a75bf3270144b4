"""mkdocs hook: exercises, with their checks and solutions folded.

`blocks.py` tells how a page has them. Those of the first stage are live cells, which check what
the reader wrote. `GLASSJAX_SOLUTIONS=apart` leaves the solutions out.
"""

import os
import textwrap
from typing import Any

from blocks import Block, with_blocks
from live_cells import is_live

TITLES = {"check": "The check", "solution": "A solution"}


def solutions_are_apart() -> bool:
    """Return True if pages and notebooks have no solutions, as for a course."""
    return os.environ.get("GLASSJAX_SOLUTIONS") == "apart"


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    return with_blocks(markdown, render)


def render(block: Block) -> str | None:
    if block.kind == "exec":
        return None
    if block.kind == "solution" and solutions_are_apart():
        return ""
    text = f"```python\n{block.code}```"
    kind = block.kind
    if title := TITLES.get(kind):
        fold = f'<details class="{kind}" markdown="1"><summary>{title}</summary>'
        text = f"{fold}\n\n{text}\n\n</details>"
    elif is_live(block):
        kind = "exercise cell"
    element = f'<div class="{kind}" data-exercise="{block.exercise}" markdown="1">'
    return textwrap.indent(f"{element}\n\n{text}\n\n</div>", block.indent)
