"""Metadata that all distributions share: one version, siblings pinned to it, one set of links.

The version stands in the file `VERSION` at the root of the repository. A distribution lists its
dependencies, and its extras, under `[tool.hatch.metadata.hooks.custom]`, where `{version}` stands
for that version.

Two environment variables are addresses for links: GLASSJAX_REPOSITORY_URL and GLASSJAX_SITE_URL. A
README links to files of the repository by relative paths; in the metadata these are absolute, or
plain text if there is no address.

An sdist has left the repository: its PKG-INFO already says what this hook computes, and
`hatch_sdist.toml`, which travels in it as `hatch.toml`, turns the hook off.
"""

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.version import Version

ROOT = Path(__file__).parents[1]
AUTHORS = [{"name": "The glassjax authors"}]
KEYWORDS = ["autodiff", "compiler", "education", "gradient", "jax", "numpy", "vmap", "xla"]
CLASSIFIERS = [
    "Development Status :: 3 - Alpha",
    "Intended Audience :: Developers",
    "Intended Audience :: Education",
    "Intended Audience :: Science/Research",
    "Operating System :: OS Independent",
    "Programming Language :: Python :: 3",
    "Programming Language :: Python :: 3 :: Only",
    "Programming Language :: Python :: 3.11",
    "Programming Language :: Python :: 3.12",
    "Programming Language :: Python :: 3.13",
    "Programming Language :: Python :: 3.14",
    "Topic :: Education",
    "Topic :: Scientific/Engineering :: Mathematics",
    "Topic :: Software Development :: Compilers",
    "Typing :: Typed",
]
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:]+)(#[^)]*)?\)")  # to a file: an address has a colon


class SharedMetadata(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
        files = address_of_files(version)
        readme = Path(self.root, "README.md")
        metadata.update(
            version=version,
            authors=AUTHORS,
            keywords=KEYWORDS,
            classifiers=CLASSIFIERS,
            urls=links(files, version),
            readme={"content-type": "text/markdown", "text": readable_anywhere(readme, files)},
        )
        metadata["dependencies"] = pinned(self.config.get("dependencies", []), version)
        if extras := self.config.get("optional-dependencies"):
            metadata["optional-dependencies"] = {
                extra: pinned(requirements, version) for extra, requirements in extras.items()
            }


def pinned(requirements: list[str], version: str) -> list[str]:
    return [requirement.format(version=version) for requirement in requirements]


def address_of_files(version: str) -> str | None:
    """Where the repository's files of this version are read: at its tag, if it is released."""
    repository = os.environ.get("GLASSJAX_REPOSITORY_URL", "").rstrip("/")
    tag = "main" if Version(version).is_devrelease else f"v{version}"
    return f"{repository}/blob/{tag}" if repository else None


def links(files: str | None, version: str) -> dict[str, str]:
    found = {}
    if site := os.environ.get("GLASSJAX_SITE_URL"):  # which has a folder for each version
        folder = "dev" if Version(version).is_devrelease else version
        found["Documentation"] = f"{site.rstrip('/')}/{folder}/"
    if files is not None:
        repository = files.partition("/blob/")[0]
        found["Source"] = repository
        found["Issues"] = f"{repository}/issues"
        found["Changelog"] = f"{files}/CHANGELOG.md"
    return found


def readable_anywhere(readme: Path, files: str | None) -> str:
    """The text of a README, whose links to files of the repository work, or are left out."""

    def replace(link: re.Match[str]) -> str:
        text, target, anchor = link.groups(default="")
        if not (readme.parent / target).exists():
            return link[0]  # of a program: f[x](y)
        if files is None:
            return text
        folder = readme.parent.relative_to(ROOT).as_posix()
        return f"[{text}]({files}/{posixpath.normpath(f'{folder}/{target}')}{anchor})"

    return LINK.sub(replace, readme.read_text(encoding="utf-8"))
