"""mkdocs hook: the reference, pages made from the docstrings of what the packages export."""

from collections.abc import Iterator
from importlib import import_module

from families import GROUPS, PAGES, Page
from listing import about, is_documented, listing
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"  # whose names are on other pages


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
        content = f"{UNSEARCHED}# {title}\n\n{''.join(contents(group))}"
        files.append(File.generated(config, f"reference/{group}/index.md", content=content))
    for page in PAGES:
        content = "".join(text_of(page))
        files.append(File.generated(config, f"reference/{page.path}.md", content=content))
    return files


def contents(group: str) -> Iterator[str]:
    """The names of each page of a group, as links."""
    for page in pages_of(group):
        file = f"{page.path.partition('/')[2]}.md"
        yield f"## [{page.title}]({file})\n\n"
        places: dict[int, str] = {}
        for module in page.modules:
            if names := page.names(module):
                prefix = f"`{module}`: " if len(page.modules) > 1 else ""
                yield prefix + ", ".join(links(module, names, file, places)) + "\n\n"


def links(module: str, names: list[str], file: str, places: dict[int, str]) -> Iterator[str]:
    """Names with links to where a page documents them; `places` has those of earlier modules."""
    values = {name: getattr(import_module(module), name) for name in names}
    for name, value in values.items():
        place = places.get(id(value), f"{module}.{name}" if is_documented(value) else "")
        yield f"[`{name}`]({file}#{place})" if place else f"`{name}`"
    for name, value in values.items():
        if is_documented(value):
            places.setdefault(id(value), f"{module}.{name}")


def text_of(page: Page) -> Iterator[str]:
    listed: set[int] = set()
    for number, module in enumerate(page.modules):
        is_family = page.rooms is not None and number == 0
        alone = len(page.modules) == 1
        if number == 0:
            yield f"# {page.title}\n\n"
        if not (is_family or alone):
            yield f"## {module}\n\n"
        yield f"Of `{module}`.\n\n" if is_family else about(module)
        values = {name: id(getattr(import_module(module), name)) for name in page.names(module)}
        new = [name for name, value in values.items() if value not in listed]
        if old := [name for name, value in values.items() if value in listed]:
            yield f"It also has {', '.join(f'`{name}`' for name in old)}, as above.\n\n"
        yield from listing(module, new, 2 if is_family or alone else 3)
        yield "\n"
        listed.update(values.values())
