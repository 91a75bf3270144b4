"""Puzzles of one line each: which axes, which transpose, which tangent? A law says yes or no.

`./noxw -s study -- puzzles` writes study/workbooks/puzzles.py, which has a line to change for each
of them, and shows what is wanted beside what the line gives.
"""

import runpy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

HEAD = '''\
"""Puzzles. Change the line under each question, and run ./noxw -s study -- puzzles again."""

import numpy as np

from glassjax_stage2 import vmap

times = lambda x, y: x * y
minus = lambda x, y: x - y
'''

Picture = list[str]


@dataclass(frozen=True)
class Puzzle:
    name: str
    asks: str
    start: str  # what the reader changes
    solution: str

    def wanted(self) -> Picture:
        raise NotImplementedError

    def found(self, answer: Callable[..., Any]) -> Picture:
        """What an answer gives. It is right if that is what is wanted."""
        raise NotImplementedError


@dataclass(frozen=True)
class Axes(Puzzle):
    """A call of `vmap`, which has to give what numpy gives."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]

    def wanted(self):
        return self.found(self.function)

    def found(self, answer):
        return drawn(answer(*(np.arange(1.0, np.prod(n) + 1).reshape(n) for n in self.shapes)))


@dataclass(frozen=True)
class Transpose(Puzzle):
    """A linear function the other way: <y, f(x)> = <answer(y), x> for all unit vectors."""

    function: Callable[[Any], Any]
    size: int

    def wanted(self):
        return marked(self.matrix().T)

    def found(self, answer):
        return marked(np.stack([answer(y) for y in np.eye(len(self.matrix()))], axis=1))

    def matrix(self) -> np.ndarray:
        return np.stack([self.function(x) for x in np.eye(self.size)], axis=1)


@dataclass(frozen=True)
class Tangent(Puzzle):
    """A formula of a table of tangents, which has to be the slope that differences show."""

    function: Callable[[Any], Any]
    points: tuple[float, ...]

    def wanted(self):
        x, h = np.array(self.points), 1e-6
        slopes = (self.function(x + h) - self.function(x - h)) / (2 * h)
        return bars(x, slopes, slopes)

    def found(self, answer):
        """The slopes by two tangents, since a formula has to be linear in the tangent."""
        x = np.array(self.points)
        out = self.function(x)
        return bars(x, *(answer(np.full_like(x, t), out, x) / t for t in (1.0, -2.0)))


def drawn(array: Any) -> Picture:
    array = np.asarray(array)
    rows = array if array.ndim > 1 else array[None]
    return ["".join(f"{number:4g}" for number in np.ravel(row)) for row in rows]


def marked(matrix: np.ndarray) -> Picture:
    """A matrix, with a mark for each number that is not zero."""
    marks = {0.0: " .", 1.0: " #", -1.0: " -"}
    return ["".join(marks.get(float(x), f" {x:g}") for x in row) for row in matrix]


def bars(x: np.ndarray, slopes: np.ndarray, again: np.ndarray) -> Picture:
    """The slope at each point, as a bar; two, if the second tangent gives another one."""
    return [
        f"{at:5.1f} {slope:8.3f} {'=' * round(4 * abs(slope))}".rstrip()
        + (f" and {other:.3f}" if abs(other - slope) > 1e-4 else "")
        for at, slope, other in zip(x, slopes, again, strict=True)
    ]


PUZZLES = (
    Axes(
        "outer",
        "Every element of `a` times every element of `b`.",
        "vmap(times)(a, b)",
        "vmap(vmap(times, (None, 0)), (0, None))(a, b)",
        lambda a, b: np.outer(a, b),
        ((3,), (4,)),
    ),
    Axes(
        "gaps",
        "Row i, column j: a[j] - b[i].",
        "vmap(vmap(minus, (None, 0)), (0, None))(a, b)",
        "vmap(vmap(minus, (0, None)), (None, 0))(a, b)",
        lambda a, b: a[None, :] - b[:, None],
        ((3,), (4,)),
    ),
    Axes(
        "scaled",
        "Each column of the matrix `a` times its own factor in `b`; columns stay columns.",
        "vmap(times)(a, b)",
        "vmap(times, (1, 0), 1)(a, b)",
        lambda a, b: a * b,
        ((2, 4), (4,)),
    ),
    Axes(
        "turned",
        "The matrix `a`, transposed by vmap alone.",
        "vmap(lambda row: row)(a)",
        "vmap(lambda row: row, 0, 1)(a)",
        lambda a: a.T,
        ((2, 3),),
    ),
    Axes(
        "layers",
        "Three matrices, stacked along the last axis of `a`, times the vector `b`.",
        "vmap(lambda m, v: m @ v)(a, b)",
        "vmap(lambda m, v: m @ v, (2, None))(a, b)",
        lambda a, b: np.einsum("ijk,j->ki", a, b),
        ((2, 4, 3), (4,)),
    ),
    Transpose(
        "reverse",
        "The transpose of x[::-1].",
        "y",
        "y[::-1]",
        lambda x: x[::-1],
        4,
    ),
    Transpose(
        "shift",
        "The transpose of a shift to the right, np.append(0, x[:-1]).",
        "np.append(0, y[:-1])",
        "np.append(y[1:], 0)",
        lambda x: np.append(0, x[:-1]),
        4,
    ),
    Transpose(
        "twice",
        "The transpose of np.tile(x, 2), for three elements.",
        "y[:3]",
        "y[:3] + y[3:]",
        lambda x: np.tile(x, 2),
        3,
    ),
    Transpose(
        "running",
        "The transpose of the running sum, np.cumsum(x).",
        "np.cumsum(y)",
        "np.cumsum(y[::-1])[::-1]",
        np.cumsum,
        4,
    ),
    Transpose(
        "steps",
        "The transpose of the differences, x[1:] - x[:-1].",
        "y[1:] - y[:-1]",
        "np.append(0, y) - np.append(y, 0)",
        lambda x: x[1:] - x[:-1],
        4,
    ),
    Tangent(
        "square",
        "The tangent of x * x.",
        "t * x",
        "2 * t * x",
        lambda x: x * x,
        (-1.0, 0.5, 2.0),
    ),
    Tangent(
        "reciprocal",
        "The tangent of 1 / x, without a division: `out` is 1 / x.",
        "t * out",
        "-t * out * out",
        lambda x: 1 / x,
        (0.5, 1.0, 2.0),
    ),
    Tangent(
        "root",
        "The tangent of the square root.",
        "t / out",
        "t / (2 * out)",
        np.sqrt,
        (0.1, 1.0, 4.0),
    ),
    Tangent(
        "tanh",
        "The tangent of tanh, without another tanh.",
        "t * out",
        "t * (1 - out * out)",
        np.tanh,
        (-1.0, 0.0, 2.0),
    ),
    Tangent(
        "clip",
        "The tangent of the smaller of x and 1.",
        "t",
        "t * (x < 1)",
        lambda x: np.minimum(x, 1.0),
        (-1.0, 0.5, 2.0),
    ),
)

PARAMETERS = {Axes: "a, b", Transpose: "y", Tangent: "t, out, x"}


def written(puzzle: Puzzle, line: str) -> str:
    """A puzzle in the reader's file."""
    parameters = PARAMETERS[type(puzzle)]
    if isinstance(puzzle, Axes):
        parameters = parameters[: 3 * len(puzzle.shapes) - 2]
    return f"# {puzzle.asks}\n{puzzle.name} = lambda {parameters}: {line}\n"


def make(file: Path) -> None:
    """Writes the reader's file."""
    file.parent.mkdir(exist_ok=True)
    lines = (written(puzzle, puzzle.start) for puzzle in PUZZLES)
    file.write_text("\n".join([HEAD, *lines]), encoding="utf-8")


def report(file: Path) -> Iterator[str]:
    """Which puzzles are solved, and the pictures of the first one that is not."""
    answers = runpy.run_path(str(file))
    outcomes = [
        (puzzle, puzzle.wanted(), tried(puzzle, answers.get(puzzle.name))) for puzzle in PUZZLES
    ]
    yield f"{sum(wanted == found for _, wanted, found in outcomes)} of {len(PUZZLES)} puzzles hold."
    for number, (puzzle, wanted, found) in enumerate(outcomes, 1):
        yield f"  {'yes' if wanted == found else '-':4} {number:2}. {puzzle.name}: {puzzle.asks}"
    for puzzle, wanted, found in outcomes:
        if wanted != found:
            width = max(map(len, ["wanted", *wanted])) + 4
            yield f"\n{puzzle.name}, in {file}:"
            for left, right in zip_longest(["wanted", *wanted], ["found", *found], fillvalue=""):
                yield f"  {left:{width}}{right}".rstrip()
            return


def tried(puzzle: Puzzle, answer: Any) -> Picture:
    """What an answer gives, or its error."""
    try:
        return puzzle.found(answer)
    except Exception as error:
        return [type(error).__name__, *str(error).splitlines()[:4]]
