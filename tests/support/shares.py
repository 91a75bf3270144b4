"""Shares of many cases: a few at every change, and all of them at night."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import settings

IS_NIGHT = os.environ.get("TESTS_SESSION") == "nightly"


def one_in(count: int, cases: Iterable[Any]) -> list[Any]:
    """The cases as parameters of a test, of which all but every `count`-th are run at night."""
    return [
        pytest.param(
            *(case if type(case) is tuple else (case,)),
            marks=[pytest.mark.nightly] if number % count else [],
        )
        for number, case in enumerate(cases)
    ]


def a_few(cases: Iterable[Any], count: int = 2) -> list[Any]:
    """The cases at night, every `count`-th of them at every change."""
    return list(cases)[:: 1 if IS_NIGHT else count]


def examples(at_every_change: int, at_night: int) -> Callable[[Any], Any]:
    """How many examples hypothesis draws for a test."""
    return settings(deadline=None, max_examples=at_night if IS_NIGHT else at_every_change)


def one_part_in(count: int, families: Mapping[str, Sequence[Any]]) -> list[Any]:
    """The families as parameters of a test, each in parts: its name, and the slice of its cases.

    The first part of each is run at every change.
    """
    return one_in(count, [(f, slice(i, None, count)) for f in families for i in range(count)])
