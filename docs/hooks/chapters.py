"""mkdocs hook: the path through the tutorial, chapter by chapter.

The sections of Learn in the navigation are numbered, and so are their pages, but for the first
page of each; pages of Learn itself are chapters of part 0. A chapter says in its front matter what
it needs, and what can wait when it is read for the first time: sections by their headings, or all.

    ---
    needs: [interpreters.md, ../stage1/staging.md]
    skip: [Whose dual number?]
    ---

That is shown under the title of the chapter, with the minutes that it takes. In a block of the
class `chapters`, a link to a chapter must have its title as text, and gets its number. The fence

    ```path
    ```

shows a table of all parts. The progress of the reader comes from docs/assets/progress.js, which
learns from `assets/chapters.js` what there is to read.
"""

import json
import posixpath
import re
from dataclasses import dataclass
from typing import Any

from blocks import blocks
from live_cells import is_live
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page
from mkdocs.utils import meta
from questions import questions
from site_map import anchor_of

# What a minute is enough for.
WORDS, LINES = 200, 10

TITLE = re.compile(r"^# (.+)$", re.M)
HEADING = re.compile(r"^## (.+?)(?: *\{.*\})?$", re.M)
PATH = re.compile(r"^```path\n```$", re.M)
FENCE = re.compile(r"^( *)```(\w*)([^\n]*)\n(.*?)^\1```[ \t]*$", re.M | re.S)
FOLDED = re.compile(r"<details.*?</details>|^\?\?\?.*\n(?:(?: {4}.*)?\n)*", re.M | re.S)
LIST = re.compile(r'<div class="chapters".*?^</div>', re.M | re.S)
LINK = re.compile(r"\[([^\]\n]+)\]\((\w+\.md)\)")


@dataclass(frozen=True)
class Chapter:
    file: File
    number: str
    title: str  # Markdown
    minutes: int
    exercises: int
    questions: int
    tasks: int  # questions, and exercises that the page checks
    needs: tuple[str, ...]  # pages
    skip: tuple[str, ...]  # headings, or "all"

    @property
    def plain_title(self) -> str:
        return f"{self.number} {self.title.replace('`', '')}"


@dataclass(frozen=True)
class Part:
    title: str
    first: Page
    chapters: tuple[Chapter, ...]


parts: list[Part] = []
by_page: dict[str, Chapter] = {}


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    number_chapters(nav)
    content = f"export const chapters = {json.dumps(list(map(told, by_page.values())))}\n"
    files.append(File.generated(config, "assets/chapters.js", content=content))


def number_chapters(nav: Navigation) -> None:
    """Number the chapters, and check what they say of each other."""
    (learn,) = (item for item in nav.items if item.title == "Learn")
    sections = [learn, *(child for child in learn.children if isinstance(child, Section))]
    parts.clear()
    by_page.clear()
    for number, section in enumerate(sections):
        pages = [child for child in section.children if isinstance(child, Page)]
        first, *others = pages if pages[0].file.name == "index" else [learn.children[0], *pages]
        chapters = [chapter(page, f"{number}.{n}") for n, page in enumerate(others, 1)]
        parts.append(Part(section.title, first, tuple(chapters)))
        if number:
            section.title = f"{number}. {section.title}"


def chapter(page: Page, number: str) -> Chapter:
    """The chapter that is a page, which comes after those that are known."""
    file = page.file
    markdown, about = meta.get_data(file.content_string)
    folder = posixpath.dirname(file.src_uri)
    needs = [posixpath.normpath(posixpath.join(folder, need)) for need in about.get("needs", [])]
    for need in needs:
        if need not in by_page:
            raise PluginError(f"{file.src_uri} needs {need}, which is not a chapter before it")
    skip = about.get("skip", [])
    for heading in skip if skip != "all" else []:
        if heading not in HEADING.findall(markdown):
            raise PluginError(f"{file.src_uri} has no section {heading!r} to skip")
    exercises = [block for block in blocks(markdown) if block.kind == "exercise"]
    asked = len(list(questions(markdown)))
    found = Chapter(
        file=file,
        number=number,
        title=TITLE.search(markdown)[1],
        minutes=minutes(markdown),
        exercises=len(exercises),
        questions=asked,
        tasks=asked + sum(map(is_live, exercises)),
        needs=tuple(needs),
        skip=("all",) if skip == "all" else tuple(skip),
    )
    page.title = found.plain_title
    by_page[file.src_uri] = found
    return found


def minutes(markdown: str) -> int:
    """How long a page takes, without what is folded, its questions and its exercises."""
    text = FOLDED.sub("", re.split("^## (?:Questions|Exercises)$", markdown, flags=re.M)[0])
    code = [body for _, language, _, body in FENCE.findall(text) if language == "python"]
    lines = sum(bool(line.strip()) for body in code for line in body.splitlines())
    words = len(FENCE.sub("", text).split())
    return max(1, round(words / WORDS + lines / LINES))


def told(chapter: Chapter) -> dict[str, Any]:
    """What the browser must know of a chapter."""
    return {
        "page": chapter.file.url,
        "title": chapter.plain_title,
        "minutes": chapter.minutes,
        "tasks": chapter.tasks,
    }


def on_page_markdown(markdown: str, page: Page, **kwargs: Any) -> str:
    if found := by_page.get(page.file.src_uri):
        title, _, rest = markdown.lstrip().partition("\n")
        return f"{title}\n\n{about(found)}\n{{ .about-chapter }}\n{rest}"
    markdown = LIST.sub(
        lambda shown: LINK.sub(lambda link: numbered(link, page), shown[0]), markdown
    )
    return PATH.sub(lambda fence: path(page), markdown)


def about(chapter: Chapter) -> str:
    """What a reader wants to know before a chapter."""
    of = {"minute": chapter.minutes, "question": chapter.questions, "exercise": chapter.exercises}
    counts = [f"{count} {noun}{'s' * (count > 1)}" for noun, count in of.items() if count]
    said = [" and ".join(", ".join(counts).rsplit(", ", 1)) + "."]
    if chapter.needs:
        links = [link(by_page[need], chapter.file) for need in chapter.needs]
        said.append(f"It builds on {', '.join(links)}.")
    if chapter.skip == ("all",):
        said.append("It can wait until you need it.")
    elif chapter.skip:
        names = ", ".join(f"[{name}](#{anchor_of(name)})" for name in chapter.skip)
        said.append(f"On a first reading, skip {names}.")
    return " ".join(said)


def numbered(found: re.Match[str], page: Page) -> str:
    """A link of a list of chapters, with the number of the chapter."""
    text, target = found.groups()
    there = by_page.get(posixpath.join(posixpath.dirname(page.file.src_uri), target))
    if there is None or there.title != text:
        raise PluginError(f"{page.file.src_uri}: {found[0]} does not have the title of a chapter")
    return link(there, page.file)


def link(chapter: Chapter, file: File) -> str:
    target = posixpath.relpath(chapter.file.src_uri, posixpath.dirname(file.src_uri))
    return f"[{chapter.number} {chapter.title}]({target})"


def path(page: Page) -> str:
    """The parts, with the hours that they take."""
    rows = ["| part | chapters | to read | questions | exercises |", "|---|---|---|---|---|"]
    for number, part in enumerate(parts):
        if not part.chapters:
            continue
        first = part.chapters[0].file if part.first is page else part.first.file
        target = posixpath.relpath(first.src_uri, posixpath.dirname(page.file.src_uri))
        name = f"[{number}. {part.title}]({target})" if number else f"[Before the stages]({target})"
        sums = [
            sum(getattr(each, of) for each in part.chapters) for of in ("questions", "exercises")
        ]
        time = duration(sum(each.minutes for each in part.chapters))
        rows.append(
            f"| {name} | {len(part.chapters)} | {time} | {sums[0] or ''} | {sums[1] or ''} |"
        )
    return "\n".join(['<div class="path" markdown="1">', "", *rows, "", "</div>"])


def duration(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"


def on_page_content(html: str, page: Page, **kwargs: Any) -> str:
    if found := by_page.get(page.file.src_uri):
        return re.sub(
            "<h1[^>]*>", rf'\g<0><span class="number">{found.number}</span> ', html, count=1
        )
    return html
