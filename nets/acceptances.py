"""Bad arguments that minijax takes on purpose, where JAX raises an error: each with its reason."""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Acceptance:
    """A class of calls that give a result here and an error in JAX.

    `calls` are regular expressions, one of which all of `function(parameter=value)` matches;
    `error` is found in the class and the message of JAX's error.
    """

    reason: str
    calls: tuple[str, ...]
    error: str = ""


ACCEPTED: list[Acceptance] = []


@cache
def _compiled(call: str) -> re.Pattern[str]:
    return re.compile(call)


def is_meant(call: str, error: str) -> bool:
    """Return True if one of the acceptances explains a result where JAX raised `error`."""
    return any(
        re.search(each.error, error) and any(_compiled(c).fullmatch(call) for c in each.calls)
        for each in ACCEPTED
    )
