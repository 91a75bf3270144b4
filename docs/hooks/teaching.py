"""mkdocs hook: what a teacher plans with, made from the chapters, and their figures as slides.

    ```syllabus
    Derivatives: stage1/interpreters stage1/dual_numbers
    Programs: stage1/jaxprs stage1/staging
    ```

is a table of sessions, with the time that their chapters take to read. A syllabus that leaves out a
chapter on which another one builds is an error. The fence `chapters` is a table of all chapters;
`slides` shows every figure of the tutorial once, each on a screen or a page of its own.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chapters
import figures
from chapters import Chapter
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from study.steps import STAGES, steps_of  # noqa: E402

FENCE = re.compile(r"^```(syllabus|chapters|slides)\n(.*?)^```$", re.M | re.S)


by_page: dict[str, Chapter] = {}


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **kwargs: Any) -> str:
    # The module that mkdocs calls, which is not the one imported above.
    by_page.update(config.hooks["docs/hooks/chapters.py"].by_page)
    makers = {"syllabus": syllabus, "chapters": all_chapters, "slides": slides}
    return FENCE.sub(lambda fence: "\n".join(makers[fence[1]](fence[2], page.file)), markdown)


def syllabus(body: str, file: File) -> Iterator[str]:
    """A row for each session, and their sum."""
    yield "| session | chapters | to read | questions | exercises |"
    yield "|---|---|---|---|---|"
    taken: list[Chapter] = []
    for line in body.splitlines():
        title, _, names = line.partition(":")
        session = [named(name) for name in names.split()]
        taken += session
        links = ", ".join(chapters.link(chapter, file) for chapter in session)
        yield f"| {title} | {links} | {sums(session)} |"
    yield f"| **together** | {len(taken)} chapters | {sums(taken)} |"
    for number, chapter in enumerate(taken):
        before = {each.file.src_uri for each in taken[:number]}
        if missing := set(chapter.needs) - before:
            raise PluginError(f"{file.src_uri}: {chapter.title} builds on {', '.join(missing)}")


def named(name: str) -> Chapter:
    try:
        return by_page[f"learn/{name}.md"]
    except KeyError:
        raise PluginError(f"```syllabus: there is no chapter {name}") from None


def sums(session: list[Chapter]) -> str:
    minutes, questions, exercises = (
        sum(getattr(chapter, of) for chapter in session)
        for of in ("minutes", "questions", "exercises")
    )
    time = chapters.duration(minutes).replace(" ", "&nbsp;")
    return f"{time} | {questions} | {exercises}"


def all_chapters(body: str, file: File) -> Iterator[str]:
    """A row for each chapter. What it takes to understand one is measured by those before it."""
    yield "| chapter | to read | stands on | questions | exercises | marks | first reading |"
    yield "|---|---|---|---|---|---|---|"
    marks = marks_by_chapter()
    for page, chapter in by_page.items():
        skip = "can wait" if chapter.skip == ("all",) else ""
        yield (
            f"| {chapters.link(chapter, file)} | {chapter.minutes}&nbsp;min | {len(ground(page))} "
            f"| {chapter.questions} | {chapter.exercises} | {marks.get(page, '')} | {skip} |"
        )


def ground(page: str) -> set[str]:
    """All chapters that one builds on, directly or not."""
    needs = by_page[page].needs
    return set(needs).union(*map(ground, needs))


def marks_by_chapter() -> dict[str, int]:
    """The marks of the steps of the study that a chapter explains."""
    marks: dict[str, int] = {}
    for step in (step for stage in STAGES for step in steps_of(stage)):
        page = f"learn/{step.chapter}"
        marks[page] = marks.get(page, 0) + step.marks
    return marks


def slides(body: str, file: File) -> Iterator[str]:
    """The figures in the order of the chapters, each where it is first shown."""
    seen: set[str] = set()
    for chapter in by_page.values():
        for fence in figures.FENCE.finditer(chapter.file.content_string):
            name = fence[1]
            if name not in seen:
                seen.add(name)
                link = chapters.link(chapter, file)
                yield f'<section class="slide" markdown="1">\n\n{fence[0]}\n\n{link}\n'
                yield "</section>\n"


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    if '<section class="slide"' not in output:
        return output
    style = get_relative_url("assets/slides.css", page.url)
    return output.replace("</head>", f'<link rel="stylesheet" href="{style}"></head>', 1)
