"""mkdocs hook: figures, drawn while the site is built.

    ```figure stack
    The stack while `deriv(deriv(f))` runs.
    ```

shows what `svg()` of docs/figures/stack.py draws, with a caption in Markdown below it. A figure may
import the programs of `examples/`; a page with a figure that moves loads the script that moves it.
"""

import re
import runpy
import sys
from pathlib import Path
from typing import Any

from heads import loading
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

FIGURES = Path(__file__).parents[1] / "figures"
EXAMPLES = FIGURES.parents[1] / "examples"

FENCE = re.compile(r"^```figure[ \n]+(\w+)\n(.*?)^```$", re.M | re.S)
SVG = re.compile(r"(<svg .*?<title>(.*?)</title>.*?</svg>)", re.S)  # of a figure, and its title
PLACE = re.compile(r"<!-- figure (\w+) -->")


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    # A drawing is no Markdown: it is put in its place when the rest of the page is HTML.
    def figure(fence: re.Match[str]) -> str:
        name, caption = fence.groups()
        shown = f'<figcaption markdown="1">\n\n{caption}\n</figcaption>\n' if caption else ""
        return f'<figure class="drawing" markdown="1">\n<!-- figure {name} -->\n{shown}</figure>\n'

    return FENCE.sub(figure, markdown)


def on_page_content(html: str, **kwargs: Any) -> str:
    return PLACE.sub(lambda place: drawn(place[1]), html)


def on_post_page(output: str, page: Page, **kwargs: Any) -> str:
    return loading(output, page, "figures.js") if "<glassjax-figure>" in output else output


def drawn(name: str) -> str:
    """The figure as SVG."""
    file = FIGURES / f"{name}.py"
    if not file.is_file():
        names = ", ".join(sorted(f.stem for f in FIGURES.glob("*.py") if f.stem != "drawing"))
        raise PluginError(f"```figure {name}: there is no {file}; the figures are: {names}")
    path = sys.path
    sys.path = [str(EXAMPLES), str(FIGURES), *path]
    try:
        return runpy.run_path(str(file))["svg"]()
    finally:
        sys.path = path
