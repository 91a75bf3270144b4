"""mkdocs hook: the instruments of the pages, such as steppers, are defined in files of the site.

What draws a stepper, a jaxpr or an explanation comes with each of them, so that it works in any
page. Here a page names the files that define its instruments, and the pages share them.
"""

import re
from pathlib import Path
from typing import Any

from heads import loading
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
SOURCES = (
    "packages/watch/src/glassjax_watch/stepper.html",
    "packages/watch/src/glassjax_watch/jaxpr.html",
    "packages/glassjax/src/glassjax/explaining/explanation.html",
)
DEFINITIONS = {Path(source).stem: (ROOT / source).read_text("utf-8").strip() for source in SOURCES}
PARTS = re.compile(r"<style>\n(.*)</style>\n<script>\n(.*)</script>", re.S)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, definition in DEFINITIONS.items():
        parts = PARTS.fullmatch(definition)
        assert parts, f"{name}.html is not a style and a script"
        for kind, content in zip(("css", "js"), parts.groups(), strict=True):
            path = f"assets/instruments/{name}.{kind}"
            files.append(File.generated(config, path, content=content))
    return files


def on_post_page(output: str, page: Page, **kwargs: Any) -> str:
    for name, definition in DEFINITIONS.items():
        if definition in output:
            output = output.replace(definition, "")
            output = loading(
                output, page, *(f"instruments/{name}.{kind}" for kind in ("css", "js"))
            )
    assert "customElements" not in output, f"{page.url} defines an instrument itself"
    return output
