"""Repetition in programs: a block of equations that follows itself many times, as of a Python loop.

Equations are alike if they apply one primitive, with equal parameters, to the same types. A block
of p equations is repeated where each equation is like the one p places earlier.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassjax_stage3 import Jaxpr, JaxprEqn, jit_p
from glassjax_stage3.jaxpr import Literal

_CANDIDATES = 4  # periods that are tried for each length of substrings


@dataclass(frozen=True)
class Repetition:
    """A block of equations that follows itself.

    Attributes:
        start: the number of the first equation.
        period: the number of equations in the block.
        length: the number of all equations; they may end with a part of a block.
    """

    start: int
    period: int
    length: int

    @property
    def count(self) -> int:
        """The number of whole blocks."""
        return self.length // self.period


def signature(eqn: JaxprEqn) -> Hashable:
    """The key of an equation; equal ones may be iterations of a loop.

    The values of literals, and where a slice begins, may differ between iterations.
    """
    params: dict[str, Any] = eqn.params
    if is_plain_slice(eqn):
        starts, limits = params["start_indices"], params["limit_indices"]
        params = {"sizes": tuple(end - start for start, end in zip(starts, limits, strict=True))}
    operands = [(type(x) is Literal, x.aval) for x in eqn.invars]
    results = [var.aval for var in eqn.outvars]
    return (eqn.primitive, *params.items(), *operands, None, *results)


def is_plain_slice(eqn: JaxprEqn) -> bool:
    """Return True for a slice without steps, which may begin elsewhere in each iteration."""
    return eqn.primitive.name == "slice" and set(eqn.params["strides"] or ()) <= {1}


def find_repetition(eqns: Sequence[JaxprEqn], at_least: int) -> Repetition | None:
    """The repetition that covers most equations, of the shortest block.

    Arguments:
        eqns: the equations, n of them.
        at_least: how often a block must be repeated.

    Returns:
        The repetition, or None. It takes a time of n log(n / at_least).
    """
    if len(eqns) < at_least:
        return None
    names: dict[Hashable, int] = {}
    symbols = np.empty(len(eqns), np.int64)
    for i, eqn in enumerate(eqns):
        try:
            symbols[i] = names.setdefault(signature(eqn), len(names))
        except TypeError:  # a parameter is not hashable
            symbols[i] = names.setdefault(object(), len(names))
    return _find_in(symbols, at_least)


def _find_in(symbols: Any, at_least: int) -> Repetition | None:
    """`find_repetition` in numbers.

    Within a repetition of period p, a substring of p or more numbers occurs next p places later,
    and not before. Substrings of lengths 1, 2, 4, ... are named by pairs of shorter ones.
    """
    best: Repetition | None = None
    longest = len(symbols) // at_least  # period
    tried: set[int] = set()
    substrings, length = symbols, 1
    while True:
        order = np.argsort(substrings, kind="stable")
        equal = substrings[order[1:]] == substrings[order[:-1]]
        distances = np.diff(order)[equal]
        counts = np.bincount(distances[distances <= longest], minlength=longest + 1)
        for period in map(int, np.argsort(-counts, kind="stable")[:_CANDIDATES]):
            if counts[period] == 0 or period in tried:
                continue
            tried.add(period)
            start, run = _longest_run(symbols[period:] == symbols[:-period])
            found = Repetition(start, period, run + period)
            if found.count < at_least:
                continue
            if best is None or (found.length, -period) > (best.length, -best.period):
                best = found
        if length >= longest:
            return best
        # a pair of numbers as one: the second follows the first by the length
        pairs = substrings[:-length] * (int(substrings.max()) + 1) + substrings[length:]
        substrings = np.unique(pairs, return_inverse=True)[1]
        length *= 2


def _longest_run(flags: Any) -> tuple[int, int]:
    """The start and the length of the longest run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    begins, ends = edges[::2], edges[1::2]
    if not len(begins):
        return 0, 0
    longest = int(np.argmax(ends - begins))
    return int(begins[longest]), int(ends[longest] - begins[longest])


def largest_repetition(jaxpr: Jaxpr, at_least: int) -> tuple[Jaxpr, Repetition] | None:
    """The largest repetition in a program, or in one that it calls; and that program."""
    programs, seen = [jaxpr], {jaxpr}
    best: tuple[Jaxpr, Repetition] | None = None
    while programs:
        program = programs.pop()
        found = find_repetition(program.eqns, at_least)
        if found and (best is None or found.length > best[1].length):
            best = program, found
        for eqn in program.eqns:
            if eqn.primitive is jit_p and (inner := eqn.params["jaxpr"]) not in seen:
                seen.add(inner)
                programs.append(inner)
    return best
