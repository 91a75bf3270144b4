"""mkdocs hook: the pages of errors, which stand in the package that shows them to its users."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGES = Path(__file__).parents[2] / "packages/glassjax/src/glassjax/errors/pages"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for page in sorted(PAGES.glob("*.md")):
        files.append(File.generated(config, f"errors/{page.name}", abs_src_path=str(page)))
    return files
