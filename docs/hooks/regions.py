"""mkdocs hook: regions of the full library's sources, in 80 columns.

    ```python
    --8<-- "packages/glassjax/src/glassjax/primitives/declare.py:declare"
    ```

shows the lines between `# --8<-- [start:declare]` and `# --8<-- [end:declare]`, as `source.py`
shows the stages.
"""

import re
import textwrap
from pathlib import Path
from typing import Any

from source import wrap

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r'^( *)```python\n *--8<-- "([^":\n]+\.py):(\w+)"\n *```$', re.M)


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    def shown(fence: re.Match[str]) -> str:
        indent, file, name = fence.groups()
        return textwrap.indent(f"```python\n{region(file, name)}```", indent)

    return FENCE.sub(shown, markdown)


def region(file: str, name: str) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    marks = rf"# --8<-- \[start:{name}\]\n(.*?)^ *# --8<-- \[end:{name}\]"
    found = re.search(marks, text, re.M | re.S)
    if found is None:
        raise LookupError(f"{file} has no region {name}")
    return wrap(textwrap.dedent(found[1]))
