"""mkdocs hook: each chapter as a notebook, with a link to it at the chapter's head.

Blocks that run are its code cells. All else is text: the source that the chapter shows, figures,
asides, solutions. An exercise is a code cell, with its check in the next one.
"""

import ast
import base64
import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import changes
import exercises
import figures
import hundred_lines
import questions
import source
from blocks import Block, blocks
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import meta

CHAPTER = re.compile(r"learn/(?:(stage\d|watch)/)?(?!index)\w+\.md")


def is_chapter(file: File) -> bool:
    return bool(CHAPTER.fullmatch(file.src_uri)) and any(blocks(file.content_string))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for file in list(files.documentation_pages()):
        if is_chapter(file):
            content = json.dumps(notebook(file.src_uri, file.content_string), indent=1) + "\n"
            files.append(File.generated(config, notebook_of(file), content=content))
    return files


def notebook_of(file: File) -> str:
    return file.src_uri.removesuffix("md") + "ipynb"


def on_page_markdown(markdown: str, page: Page, **kwargs: Any) -> str:
    if not is_chapter(page.file):
        return markdown
    name = notebook_of(page.file).rpartition("/")[2]
    link = f"[This chapter as a notebook]({name}){{ .notebook download={name} }}"
    title, _, rest = markdown.partition("\n")
    return f"{title}\n\n{link}\n{rest}"


def notebook(page: str, markdown: str) -> dict[str, Any]:
    """A chapter in the format of Jupyter, without outputs."""
    title, _, rest = meta.get_data(markdown)[0].lstrip().partition("\n")
    cells = [("markdown", f"{title}\n\n{requirements(page)}"), *cells_of(rest)]
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"},
            "language_info": {"name": "python"},
        },
        "cells": [
            {
                "cell_type": kind,
                "id": f"cell-{number}",
                "metadata": {},
                "source": text.strip("\n").splitlines(keepends=True),
                **({"execution_count": None, "outputs": []} if kind == "code" else {}),
            }
            for number, (kind, text) in enumerate(cells, 1)
        ],
    }


def requirements(page: str) -> str:
    """What must be installed to run a chapter."""
    if page == hundred_lines.PAGE:
        return "A chapter of the tutorial of glassjax. It needs nothing but Python."
    stage = CHAPTER.fullmatch(page)[1]
    last = int(stage[-1]) if stage and stage != "watch" else 4
    packages = [f"./packages/stage{number}" for number in range(1, last + 1)]
    packages.append("./packages/watch")
    if stage is None:
        packages.append("./packages/glassjax")
    return (
        "A chapter of the tutorial of glassjax. To run it, install what it is about, from a clone "
        f"of the repository:\n\n```bash\npip install {' '.join(packages)}\n```"
    )


def cells_of(markdown: str) -> Iterator[tuple[str, str]]:
    """The cells of a page: kind, text."""
    end = 0
    for block in blocks(markdown):
        yield from text_cell(markdown[end : block.fence.start()])
        if block.kind != "solution" or not exercises.solutions_are_apart():
            yield code_cell(block)
        end = block.fence.end()
    yield from text_cell(markdown[end:])


def text_cell(markdown: str) -> Iterator[tuple[str, str]]:
    if markdown.strip():
        yield "markdown", plain(markdown)


def code_cell(block: Block) -> tuple[str, str]:
    match block.kind:
        case "exec":
            return "code", displayed(block.code) if block.prints_html else block.code
        case "exercise":
            return "code", block.code
        case "check":
            return "code", checked(block.code)
        case _:
            return "markdown", folded("A solution", f"```python\n{block.code}```")


def displayed(code: str) -> str:
    """A program that ends with `print(x.to_html())`, for a cell that displays its value, `x`."""
    match ast.parse(code).body[-1]:
        case ast.Expr(
            ast.Call(
                ast.Name("print"),
                [ast.Call(ast.Attribute(value, "to_html" | "_repr_html_"), [], [])],
            )
        ) as last:
            before = code.splitlines(keepends=True)[: last.lineno - 1]
            return "".join(before) + ast.get_source_segment(code, value)
    return code


def checked(code: str) -> str:
    """A check that reports a failure, and lets the cells below it run."""
    return (
        f"try:\n{textwrap.indent(code, '    ')}"
        "except Exception as error:\n"
        '    print("Not yet:", repr(error))\n'
        "else:\n"
        '    print("Passed.")\n'
    )


# Markdown without the extensions of the site

TITLE = re.compile(r'^( *)```(\w+) title="([^"]*)"$', re.M)
CODE_OR_LINK = re.compile(
    r"(^ *```.*?^ *```|`[^`\n]+`)|\[([^\]\n]+)\]\((?!https?:)[^)\s]+\)(?:\{[^}]*\})?", re.M | re.S
)


def plain(markdown: str) -> str:
    """What Jupyter shows as the site shows `markdown`."""
    text = questions.plain(figures.FENCE.sub(picture, markdown))
    text = changes.on_page_markdown(source.on_page_markdown(text))
    text = hundred_lines.with_titles(text)
    text = TITLE.sub(r"\1*\3*\n\n\1```\2", text)
    return CODE_OR_LINK.sub(lambda found: found[1] or found[2], text)


def folded(title: str, inside: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{inside}\n\n</details>"


def picture(fence: re.Match[str]) -> str:
    """A figure as an image with colours of its own, those of the light scheme."""
    name, caption = fence.groups()
    css = asset("assets/site.css")
    light = re.search(r'\[data-md-color-scheme="default"\] \{(.*?)\}', css, re.S)[1]
    style = f".drawing {{{light}background: var(--paper)}}\n{asset('assets/figures.css')}"
    images = []
    for svg, title in figures.SVG.findall(figures.drawn(name)):
        content = svg.replace("<svg ", '<svg class="drawing" ', 1)
        content = content.replace(">", f"><style>{style}</style>", 1)
        data = base64.b64encode(content.encode()).decode()
        images.append(f'<img alt="{title}" src="data:image/svg+xml;base64,{data}">')
    return "\n".join(images) + f"\n\n{caption}"


def asset(name: str) -> str:
    return (figures.FIGURES.parent / name).read_text("utf-8")
