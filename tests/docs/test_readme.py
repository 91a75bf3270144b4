"""Programs in the READMEs run, and print what is shown below them."""

import json
import re
import subprocess
import sys
from html import unescape
from itertools import islice
from pathlib import Path

import pytest
from tables import for_each

from benchmarks import lines

ROOT = Path(__file__).parents[2]
READMES = [ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md"))]
every_readme = for_each("readme", READMES, ids=map(str, READMES))

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "text", "bash"}
NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")

# Runs the programs of each one after the other, as a reader would, and tells what each printed.
RUNNER = """
import contextlib, io, json, sys
printed = []
for readme, programs in json.load(sys.stdin):
    namespace = {"__name__": "__main__"}
    for program in programs:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(program, readme, "exec"), namespace)
        printed.append((readme, out.getvalue()))
print(json.dumps(printed))
"""


def text_of(readme):
    return readme.read_text(encoding="utf-8")


def blocks(readme):
    return BLOCK.findall(text_of(readme))


def test_every_package_has_a_readme():
    assert len(READMES) == 1 + len(list(ROOT.glob("packages/*/pyproject.toml")))
    assert all(readme.is_file() for readme in READMES)


@every_readme
def test_every_block_is_of_a_kind_that_is_tested(readme):
    languages = [language for language, _ in blocks(readme)]
    assert set(languages) <= LANGUAGES
    for before, language in zip([None, *languages], languages, strict=False):
        assert language != "text" or before == "python", "an output without its program"


def by_stage(readme):
    """Programs of a stage run before a later one is imported, and the alias of JAX comes last."""
    folder = readme.parent.name
    return "jax" in folder.split("-"), not folder.startswith("stage"), folder


def test_the_programs_print_what_is_shown():
    """All run in one process; those of a stage do in one of their own in its own tests."""
    programs, shown = [], []
    for readme in sorted(READMES, key=by_stage):
        found = blocks(readme)
        programs.append((str(readme), [text for language, text in found if language == "python"]))
        assert programs[-1][1], readme
        shown += [
            following[1] if following[0] == "text" else None
            for (language, _), following in zip(found, [*found[1:], ("", "")], strict=True)
            if language == "python"
        ]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUNNER],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    for (readme, printed), expected in zip(json.loads(done.stdout), shown, strict=True):
        is_right = not printed if expected is None else same_output(printed, expected)
        assert is_right, f"{readme}: {printed}"


def same_output(printed, expected):
    """Whether texts are equal, and the numbers in them equal up to rounding."""
    if NUMBER.sub("#", printed).split() != NUMBER.sub("#", expected).split():
        return False
    numbers = [list(map(float, NUMBER.findall(text))) for text in (printed, expected)]
    return numbers[0] == pytest.approx(numbers[1], rel=1e-6, abs=1e-12)


def sessions():
    """The names of the nox sessions: those of functions, and those made for each stage."""
    source = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    stages = re.findall(r'Stage\("(\w+)"', source)
    families = re.findall(r'name = f"([\w-]+)\{stage\.name\}"', source)
    named = re.findall(r'@nox\.session\(.*name="([\w-]+)"', source)
    functions = re.findall(r"@nox\.session[^@]*?\ndef (\w+)", source)
    return {*named, *functions, *(family + stage for family in families for stage in stages)}


def test_sessions_are_found():
    assert {"tests-stage1", "tests-glassjax", "tests", "lint", "docs", "demo"} <= sessions()


@every_readme
def test_the_commands_exist(readme):
    """Not run here: they take minutes, and are what runs these tests."""
    text = text_of(readme)
    assert set(re.findall(r"\./noxw -s ([\w-]+)", text)) <= sessions()
    assert (ROOT / "noxw").stat().st_mode & 0o100
    for language, commands in blocks(readme):
        for command in commands.splitlines() if language == "bash" else ():
            program, *args = command.split()
            assert program in ("./noxw", "pip", "pytest", "git", "cd"), command
            for arg in args:
                if "packages/" in arg:
                    path = re.sub(r"\[\w+\]$", "", arg.removeprefix("./"))  # without extras
                    assert list(ROOT.glob(path)), arg


@every_readme
def test_the_links_lead_somewhere(readme):
    for target in re.findall(r"\]\(([^)#]+)", text_of(readme)):
        if "://" not in target:
            assert (readme.parent / target).exists(), target


def test_the_picture_shows_lines_of_the_demo():
    """Where it differs, `python -m tools.demo_picture` draws it anew."""
    demo = (ROOT / "examples/digits.py").read_text(encoding="utf-8").splitlines()
    picture = unescape((ROOT / "docs/assets/demo.svg").read_text(encoding="utf-8"))
    shown = re.findall(r">  line (\d+): (.*)</tspan>", picture)
    assert len(shown) > 2
    assert [(number, demo[int(number) - 1].strip()) for number, _ in shown] == shown
    assert not re.search(r"(href|url\(|@import)", picture), "a request to another site"


def test_the_table_of_stages_counts_their_lines():
    text = text_of(READMES[0])
    assert lines.readme(text, dict(islice(lines.table(), 5))) == text
