"""Shares of many cases: a few at every change, and all of them at night."""

from collections.abc import Iterable
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
