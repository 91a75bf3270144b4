"""mkdocs hook: KaTeX, loaded by the pages that have formulas and by no others."""

from typing import Any

from heads import loading
from mkdocs.structure.pages import Page

KATEX = ("vendor/katex/dist/katex.min.css", "vendor/katex/dist/katex.min.js")


def on_post_page(output: str, page: Page, **kwargs: Any) -> str:
    has_formulas = 'class="arithmatex"' in output
    return loading(output, page, *KATEX, "formulas.js") if has_formulas else output
