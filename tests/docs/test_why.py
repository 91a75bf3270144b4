"""The programs of Why JAX do the same with JAX."""

import contextlib
import io
import re
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs/hooks"))

from blocks import blocks  # noqa: E402

PAGE = (ROOT / "docs/learn/why.md").read_text("utf-8")


def numbers_printed_by(library):
    names = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for block in blocks(PAGE):
            exec(block.code.replace("glassjax", library), names)
    return [float(number) for number in re.findall(r"-?\d+\.\d*", printed.getvalue())]


def test_programs_print_the_same_with_jax():
    ours = numbers_printed_by("glassjax")
    np.testing.assert_allclose(ours, numbers_printed_by("jax"), rtol=1e-6)
    assert len(ours) > 5


def test_programs_are_three_lines():
    """The first has the imports, and the function that the others transform."""
    assert all(len(block.code.splitlines()) <= 5 for block in list(blocks(PAGE))[1:])
