"""mkdocs hook: the reference, pages made from the docstrings of what the packages export."""

from collections.abc import Iterator

from families import GROUPS, PAGES, Page
from listing import about, listing
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

# A name that is looked for is more often wanted here than where it is mentioned.
HEAD = "---\nsearch:\n  boost: 2\n---\n\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists the pages in the navigation, after the first of the tab."""
    (tab,) = [entry["Reference"] for entry in config.nav if "Reference" in entry]
    tab[1:1] = [{title: list(navigation(group))} for group, title in GROUPS.items()]
    return config


def navigation(group: str) -> Iterator[str | dict[str, str]]:
    yield f"reference/{group}/index.md"
    for page in pages_of(group):
        yield {page.title: f"reference/{page.path}.md"}


def pages_of(group: str) -> list[Page]:
    return [page for page in PAGES if page.path.startswith(f"{group}/")]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for group, title in GROUPS.items():
        content = f"# {title}\n\n{''.join(contents(group))}"
        files.append(File.generated(config, f"reference/{group}/index.md", content=content))
    for page in PAGES:
        content = HEAD + "".join(text_of(page))
        files.append(File.generated(config, f"reference/{page.path}.md", content=content))
    return files


def contents(group: str) -> Iterator[str]:
    """The names of each page of a group, as links."""
    for page in pages_of(group):
        file = f"{page.path.partition('/')[2]}.md"
        yield f"## [{page.title}]({file})\n\n"
        for module in page.modules:
            if names := page.names(module):
                prefix = f"`{module}`: " if len(page.modules) > 1 else ""
                yield prefix + ", ".join(f"`{name}`" for name in names) + "\n\n"


def text_of(page: Page) -> Iterator[str]:
    yield f"# {page.title}\n\n"
    for number, module in enumerate(page.modules):
        is_family = page.rooms is not None and number == 0
        alone = len(page.modules) == 1
        if not (is_family or alone):
            yield f"## {module}\n\n"
        yield f"Of `{module}`.\n\n" if is_family else about(module)
        yield from listing(module, page.names(module), 2 if is_family or alone else 3)
        yield "\n"
