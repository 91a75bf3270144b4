"""mkdocs hook: the lines of the programs on the pages, which error messages show.

A program that runs while the site is built is in no file. Here it is given to where Python looks
for lines, under the name that markdown-exec gives it.
"""

import linecache
import re
from collections import Counter
from typing import Any

PROGRAM = re.compile(r'^```python exec=[^\n]*session="([\w-]+)"[^\n]*\n(.*?)^```', re.M | re.S)
numbers: Counter[str] = Counter()


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    for session, program in PROGRAM.findall(markdown):
        numbers[session] += 1
        name = f"<code block: session {session}; n{numbers[session]}>"
        linecache.cache[name] = len(program), None, program.splitlines(True), name
    return markdown
