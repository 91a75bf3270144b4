"""mkdocs hook: live cells, blocks of `JAX in 100 lines` and stage 1 that one can edit and run.

They run in the browser's own Python, Pyodide, which docs/assets/cells/ loads when it is first
needed, with the files that this hook puts beside it: the first stage, what watches it, and the
runner of cells.
Without JavaScript they are blocks like all others.
"""

import html
import json
import re
import textwrap
from pathlib import Path
from typing import Any

import vendor
from blocks import Block, with_blocks
from heads import loading, url_of
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT / f"packages/{name}/src/glassjax_{name}" for name in ("stage1", "watch")]
RUNNER = ROOT / "docs/assets/cells/cell_runner.py"


def is_live(block: Block) -> bool:
    return block.session.startswith(("stage1", "zero"))


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    return with_blocks(markdown, render)


def render(block: Block) -> str | None:
    if block.kind != "exec" or not is_live(block):
        return None
    name = html.escape(f"<code block: session {block.session}; n{block.number}>")
    prints = "html" if block.prints_html else "text"
    element = f'<div class="cell" data-name="{name}" data-prints="{prints}" markdown="1">'
    text = textwrap.dedent(block.fence[0])
    if not block.is_shown:  # but its code may be edited, like that of all cells
        text = text.replace('exec="1"', 'exec="1" source="above"', 1)
    return textwrap.indent(f"{element}\n\n{text}\n\n</div>", block.indent)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    content = json.dumps(python_files())
    files.append(File.generated(config, "assets/cells/python.json", content=content))
    return files


def python_files() -> dict[str, str]:
    """The files of the Python that runs live cells: path, text."""
    packages = {
        f"{package.name}/{path.relative_to(package).as_posix()}": path.read_text("utf-8")
        for package in PACKAGES
        for path in sorted(package.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    return {**packages, RUNNER.name: RUNNER.read_text("utf-8")}


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Let the pages with cells load what makes them live, and no others."""
    if 'class="cell"' not in output and 'class="exercise cell"' not in output:
        return output

    # The modules of the editor import each other by the names of their packages.
    imports = {
        name: url_of(f"vendor/{name}/{module}", page) for name, (_, module) in vendor.EDITOR.items()
    }
    names = f'<script type="importmap">{json.dumps({"imports": imports})}</script>'
    output = re.sub("<meta charset[^>]*>", rf"\g<0>{names}", output, count=1)  # before all modules
    return loading(output, page, "cells/cells.css", "cells/cells.js")
