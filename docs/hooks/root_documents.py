"""mkdocs hook: documents at the root of the repository, as pages.

A page that is one link, [CONTRIBUTING.md](../../CONTRIBUTING.md), shows that document. Its links
lead from the root: those into `docs/` are made to lead from the page, all others to the repository,
if `GLASSJAX_REPOSITORY_URL` gives its address, and are plain text if not.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
INCLUDE = re.compile(r"\[(\w+\.md)\]\(\.\./\.\./\1\)")
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:\s]+)(#[^)]*)?\)")  # to a file: an address has a colon


def on_page_markdown(markdown: str, page: Any, config: Any, **kwargs: Any) -> str:
    include = INCLUDE.fullmatch(markdown.strip())
    if include is None:
        return markdown
    text = (ROOT / include[1]).read_text(encoding="utf-8")
    return with_links(text, page.file.src_uri, config.repo_url)


def with_links(text: str, page: str, repository: str | None) -> str:
    """The text of a document, for a page."""

    def moved(link: re.Match[str]) -> str:
        shown, target, anchor = link.groups(default="")
        if target.startswith("docs/"):
            there = posixpath.relpath(target.removeprefix("docs/"), posixpath.dirname(page))
            return f"[{shown}]({there}{anchor})"
        return f"[{shown}]({repository}/blob/main/{target}{anchor})" if repository else shown

    return LINK.sub(moved, text)
