"""Choices made at random and kept, so that what was made of them can be made again, and smaller.

A program is a function of the sequence of its choices: to shrink it, leave some out and make
others smaller, and look whether what it makes is still of interest. This is the idea of the
shrinker of Hypothesis (MacIver and Donaldson, ECOOP 2020). Hypothesis itself is made for cheap
tests: it changes small parts of what it drew before, where programs that take a second each had
better differ in all.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """A sequence of choices: at random, or as they are given, and the first option after these."""

    def __init__(self, source: random.Random | Sequence[int]):
        self._source = source
        self.made: list[int] = []

    def below(self, n: int) -> int:
        """A number from 0 to `n - 1`; shrinks to 0."""
        if isinstance(self._source, random.Random):
            choice = self._source.randrange(n)
        else:
            at = len(self.made)
            choice = min(self._source[at], n - 1) if at < len(self._source) else 0
        self.made.append(choice)
        return choice

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]


def shrunk(
    choices: Sequence[int], is_smaller: Callable[[list[int]], list[int] | None]
) -> list[int]:
    """The smallest sequence that a search finds.

    Arguments:
        choices: the sequence to begin with.
        is_smaller: gives the choices that were made if what a sequence makes is still of interest,
            else None.
    """
    best = list(choices)
    improved = True
    while improved:
        improved = False
        for candidate in _simpler(best):
            made = is_smaller(candidate)
            if made is not None and (len(made), made) < (len(best), best):
                best, improved = made, True
                break
    return best


def _simpler(choices: list[int]) -> Iterator[list[int]]:
    """Sequences with a part left out, or made smaller; the greatest steps first."""
    size = len(choices)
    while size:
        for start in range(0, len(choices) - size + 1, max(1, size // 2)):
            yield choices[:start] + choices[start + size :]
        size //= 2
    size = len(choices)
    while size:
        for start in range(0, len(choices) - size + 1, size):
            if any(choices[start : start + size]):
                yield choices[:start] + [0] * size + choices[start + size :]
        size //= 2
    for i, choice in enumerate(choices):
        for smaller in sorted({choice // 2, choice - 1}):
            if 0 < smaller < choice:
                yield [*choices[:i], smaller, *choices[i + 1 :]]
