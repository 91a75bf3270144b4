"""What JAX cannot do: the programs of the page, run on both libraries."""

import contextlib
import io
import re
from pathlib import Path

import jax
import pytest

pytestmark = pytest.mark.newest_jax

PAGE = Path(__file__).parents[2] / "docs/use/beyond.md"
SECTION = re.compile(r"^## (.*?)\n.*?^```python[^\n]*\n(.*?)^```\n\n(JAX [^\n]*)", re.M | re.S)
SECTIONS = SECTION.findall(PAGE.read_text(encoding="utf-8"))


def printed(program):
    """What a program prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "program", "exec"), {"__name__": "program"})
    return out.getvalue()


def test_every_section_has_a_program_and_what_jax_does():
    titles = re.findall(r"^## (.*)", PAGE.read_text(encoding="utf-8"), re.M)
    assert [title for title, _, _ in SECTIONS] == titles


@pytest.mark.parametrize(
    ("program", "verdict"),
    [section[1:] for section in SECTIONS],
    ids=[section[0] for section in SECTIONS],
)
def test_a_program_runs_here_and_not_in_jax(program, verdict):
    version, does, what = re.match(
        r"JAX (\S+) (raises|prints nothing of) `(.*?)`", verdict
    ).groups()
    assert jax.__version__.startswith(version)
    ours = printed(program)
    theirs = program.replace("glassjax", "jax")
    assert theirs != program
    if does == "raises":
        assert ours
        with pytest.raises(Exception) as raised:  # noqa: PT011  # the page names its class
            printed(theirs)
        assert type(raised.value).__name__ == what
    else:
        assert what in ours
        assert what not in printed(theirs)
