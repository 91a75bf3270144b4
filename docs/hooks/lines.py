"""mkdocs hook: the lines of the programs on the pages, which error messages show.

A program that runs while the site is built is in no file. Here it is given to where Python looks
for lines, under the name that markdown-exec gives it. The page calls the third program `<cell 3>`.
"""

import linecache
import re
from collections import Counter
from typing import Any

PROGRAM = re.compile(r'^```python exec=[^\n]*session="([\w-]+)"[^\n]*\n(.*?)^```', re.M | re.S)
FILE = re.compile(r"&lt;code\s+block:\s+session\s+[\w-]+;\s+n(\d+)&gt;")  # lines may be wrapped
numbers: Counter[str] = Counter()


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    for session, program in PROGRAM.findall(markdown):
        numbers[session] += 1
        name = f"<code block: session {session}; n{numbers[session]}>"
        linecache.cache[name] = len(program), None, program.splitlines(True), name
    return markdown


def on_page_content(html: str, **kwargs: Any) -> str:
    return FILE.sub(r"&lt;cell \1&gt;", html)
