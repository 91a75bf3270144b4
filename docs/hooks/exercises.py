"""mkdocs hook: exercises, with their checks and solutions folded.

`blocks.py` tells how a page has them. Those of the first stage are live cells, which check what
the reader wrote.
"""

import textwrap
from typing import Any

from blocks import Block, with_blocks
from live_cells import is_live

TITLES = {"check": "The check", "solution": "A solution"}


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    return with_blocks(markdown, render)


def render(block: Block) -> str | None:
    if block.kind == "exec":
        return None
    text = f"```python\n{block.code}```"
    kind = block.kind
    if title := TITLES.get(kind):
        fold = f'<details class="{kind}" markdown="1"><summary>{title}</summary>'
        text = f"{fold}\n\n{text}\n\n</details>"
    elif is_live(block):
        kind = "exercise cell"
    element = f'<div class="{kind}" data-exercise="{block.exercise}" markdown="1">'
    return textwrap.indent(f"{element}\n\n{text}\n\n</div>", block.indent)
