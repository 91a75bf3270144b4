"""Shares of many cases: a few at every change, and all of them at night."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest


def one_in(count: int, cases: Iterable[Any]) -> list[Any]:
    """The cases as parameters of a test, of which all but every `count`-th are run at night."""
    return [
        pytest.param(
            *(case if type(case) is tuple else (case,)),
            marks=[pytest.mark.nightly] if number % count else [],
        )
        for number, case in enumerate(cases)
    ]


def one_part_in(count: int, families: Mapping[str, Sequence[Any]]) -> list[Any]:
    """The families as parameters of a test, each in parts: its name, and the slice of its cases.

    The first part of each is run at every change.
    """
    return one_in(count, [(f, slice(i, None, count)) for f in families for i in range(count)])
