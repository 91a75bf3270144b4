"""Runs the code cells of documentation written for JAX on JAX and on glassjax.

`python -m compat.documentation FOLDER [PAGE ...]` takes an environment with JAX and a folder of
pages in MyST Markdown, such as `docs/` of a checkout of JAX; it fetches nothing. A page is a
process on eight CPU devices, its cells run in order, and a cell that fails does not end the page.
What JAX printed is kept beside the page.
"""

import argparse
import ast
import contextlib
import doctest
import io
import json
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
SHIM = ROOT / "packages" / "glassjax-as-jax" / "src"
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1``` *$", re.MULTILINE | re.DOTALL)
LANGUAGES = "", "py", "python", "pycon"
OPTIONS = re.compile(r"\A(:[\w-]+:[^\n]*\n|---\n.*?^---\n)+", re.MULTILINE | re.DOTALL)
MAGIC = re.compile(r"^(\s*)(?:%(?:timeit(?: -[nr]\d+)*|time) +(.*)|[%!].*)$", re.MULTILINE)
VARIES = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)? ?(ns|µs|us|ms|seconds|s)\b")
SECONDS = 120  # for one cell
PAGE_SECONDS = 900


def cells(page):
    """The sources of a page's code cells; or, if it has none, of its blocks of Python."""
    fences = [(info.strip(), body) for _, info, body in FENCE.findall(page)]
    marked = [OPTIONS.sub("", body) for info, body in fences if info.startswith("{code-cell}")]
    if marked:
        return [MAGIC.sub(r"\1\2", each) for each in marked]
    blocks = [body for info, body in fences if info in LANGUAGES]
    prompted = [each for each in blocks if each.lstrip().startswith(">>>")]
    return prompted or [body for info, body in fences if info in LANGUAGES[1:]]


def statements(source):
    """The programs of a cell, one after another, each with whether its value is shown."""
    if source.lstrip().startswith(">>>"):
        for example in doctest.DocTestParser().get_examples(source):
            yield compile(example.source, "<cell>", "single")
        return
    body = ast.parse(source).body
    if body and isinstance(body[-1], ast.Expr):
        yield compile(ast.Module(body[:-1], []), "<cell>", "exec")
        yield compile(ast.Interactive(body[-1:]), "<cell>", "single")
    else:
        yield compile(source, "<cell>", "exec")


def run_cell(source, namespace):
    """Run a cell: what it printed, and the error that ended it, or None."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            signal.alarm(SECONDS)
            for program in statements(source):
                exec(program, namespace)
            sys.modules["jax"].effects_barrier() if "jax" in sys.modules else None
    except Exception as error:
        return {"printed": printed.getvalue(), "error": f"{type(error).__name__}: {error}"}
    finally:
        signal.alarm(0)
    return {"printed": printed.getvalue(), "error": None}


def run_page(path, into):
    """Run a page in this process; the outcomes so far are kept should a cell end the process."""

    def too_long(*_):
        raise TimeoutError(f"more than {SECONDS} seconds")

    signal.signal(signal.SIGALRM, too_long)
    warnings.simplefilter("ignore")
    namespace, outcomes = {"__name__": "__main__"}, []
    if ">>>" in (text := path.read_text(encoding="utf-8")):  # as its doctest would
        exec("import jax, jax.numpy as jnp, numpy as np; from jax import lax", namespace)
    for source in cells(text):
        outcomes.append(run_cell(source, namespace))
        into.write_text(json.dumps(outcomes), encoding="utf-8")
    os._exit(0)  # threads of a cell do not matter


def outcomes(path, paths=()):
    """What the cells of a page did in a process of their own, with `paths` in front."""
    devices = {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "MPLBACKEND": "agg",
    }
    python_path = [*map(str, paths), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | devices | {"PYTHONPATH": os.pathsep.join(python_path)}
    with TemporaryDirectory() as folder:
        found = Path(folder) / "outcomes.json"
        command = [sys.executable, "-m", "compat.documentation", "--one", str(found), str(path)]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command, cwd=folder, env=environment, timeout=PAGE_SECONDS, capture_output=True
            )
        return json.loads(found.read_text(encoding="utf-8")) if found.exists() else []


def outcomes_on_jax(path):
    """Those of a run on JAX, which is made once."""
    kept = path.with_suffix(".on_jax.json")
    if not kept.exists():
        kept.write_text(json.dumps(outcomes(path)), encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def compare(path):
    """Count the cells of a page that run on JAX, those of them that run here, and print as there.

    Text is compared up to addresses, times and white space.
    """

    def settled(outcome):
        return " ".join(VARIES.sub("...", outcome["printed"]).split())

    expected = outcomes_on_jax(path)
    found = outcomes(path, [SHIM]) if expected else []
    missing = {"printed": "", "error": "the process ended"}
    found += [missing] * (len(expected) - len(found))
    counts = {"on_jax": 0, "run": 0, "equal": 0, "refused": 0, "also_refused": 0}
    notes = []
    for index, (there, here) in enumerate(zip(expected, found, strict=True)):
        if there["error"]:
            counts["refused"] += 1
            counts["also_refused"] += here["error"] is not None
            continue
        counts["on_jax"] += 1
        counts["run"] += here["error"] is None
        if here["error"]:
            notes.append(f"  cell {index}: {here['error'].splitlines()[0][:160]}")
        elif settled(there) == settled(here):
            counts["equal"] += 1
        else:
            notes.append(f"  cell {index}: prints otherwise")
    return counts, notes


def main():
    """Compare pages, and print a line for each, its failures and differences, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*", help="parts of the names of pages")
    options = parser.parse_args()
    if options.one:
        run_page(options.folder, options.one)
    total = {}
    for path in sorted(options.folder.resolve().rglob("*.md")):
        name = str(path.relative_to(options.folder.resolve()))
        wanted = not options.pages or any(part in name for part in options.pages)
        if not wanted or not cells(path.read_text(encoding="utf-8")):
            continue
        counts, notes = compare(path)
        if not counts["on_jax"]:
            continue
        total = {key: total.get(key, 0) + value for key, value in counts.items()}
        print(f"{counts['run']:4} of {counts['on_jax']:3} cells, {name}", *notes, sep="\n")
        sys.stdout.flush()
    print(total)


if __name__ == "__main__":
    main()
