"""mkdocs hook: programs that run in a process of their own.

    ```python command="GLASSJAX_NUM_CPU_DEVICES=8 python program.py"

shows the program below the command that runs it as `program.py`, and what it prints.
"""

import re
from typing import Any

FENCE = re.compile(r'^```python command="([^"\n]*)"\n(.*?)^```$', re.M | re.S)
# In a temporary folder; without the lines by which XLA's collectives introduce themselves.
RUN = """\
```bash exec="1" result="text"
set -eo pipefail
cd $(mktemp -d)
cat > program.py <<'END'
{program}END
{command} | sed '/Gloo\\|peer/d'
```"""


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    return FENCE.sub(render, markdown)


def render(fence: re.Match[str]) -> str:
    command, program = fence.groups()
    shown = f'```python title="{command}"\n{program}```'
    return f"{shown}\n\n{RUN.format(program=program, command=command)}"
