"""Writes into the pages the code that they show of the sources.

python -m tools.excerpts
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs/hooks"))

import changes  # noqa: E402
import hundred_lines  # noqa: E402
import source  # noqa: E402


def pages() -> list[Path]:
    return sorted((ROOT / "docs").rglob("*.md"))


def filled(markdown: str) -> str:
    return hundred_lines.filled(changes.filled(source.filled(markdown)))


def main() -> None:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        page.write_text(filled(text), encoding="utf-8")


if __name__ == "__main__":
    main()
