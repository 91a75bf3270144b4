"""The blocks of Python on a page that are more than text: those that run, and exercises.

    ```python exec="1" session="stage1-dual" ...     runs when the site is built
    ```python exercise="sub"                         what the reader starts from
    ```python check="sub"                            what must run after a solution
    ```python solution="sub"                         one solution

An exercise continues the blocks above it. Its three parts bear its name.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

FENCE = re.compile(r"^( *)```python ([^\n]*)\n(.*?)^\1```[ \t]*$", re.M | re.S)
OPTION = re.compile(r'([\w-]+)="([^"]*)"')
KINDS = ("exec", "exercise", "check", "solution")


@dataclass(frozen=True)
class Block:
    kind: str  # one of KINDS
    code: str
    options: dict[str, str]
    session: str
    number: int  # of the last block of the session that runs, from 1
    fence: re.Match[str]

    @property
    def exercise(self) -> str:
        """The name of the exercise that the block is part of."""
        return self.options[self.kind]

    @property
    def indent(self) -> str:
        return self.fence[1]

    @property
    def is_shown(self) -> bool:
        return self.kind != "exec" or self.options.get("source", "none") != "none"

    @property
    def prints_html(self) -> bool:
        return "html" in self.options


def blocks(markdown: str) -> Iterator[Block]:
    """The blocks of a page, in order."""
    numbers: dict[str, int] = {}
    session = ""
    for fence in FENCE.finditer(markdown):
        indent, words, code = fence.groups()
        options = dict(OPTION.findall(words))
        kind = next((kind for kind in KINDS if kind in options), None)
        if kind is None:
            continue
        session = options.get("session", "" if kind == "exec" else session)
        if kind == "exec":
            numbers[session] = numbers.get(session, 0) + 1
        code = re.sub(f"^{indent}", "", code, flags=re.M)
        yield Block(kind, code, options, session, numbers.get(session, 0), fence)


def with_blocks(markdown: str, render: Callable[[Block], str | None]) -> str:
    """A page whose blocks are replaced by what `render` makes of them, unless that is None."""
    pieces, end = [], 0
    for block in blocks(markdown):
        text = render(block)
        if text is not None:
            pieces += [markdown[end : block.fence.start()], text]
            end = block.fence.end()
    return "".join([*pieces, markdown[end:]])
