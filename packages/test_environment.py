"""A stage stands alone: its environment holds the stage, what it needs, and nothing else.

Nox knows what belongs into an environment and passes the names; without them the test is
skipped. Where pytest is not installed, with the wheels, the file runs as a script.
"""

import os
import re
from importlib.metadata import distributions

EXPECTED = os.environ.get("EXPECTED_DISTRIBUTIONS")
INSTALLERS = {"pip", "setuptools"}  # what `venv` and `virtualenv` put into an empty environment
TOOLS = {"pytest", "pytest-xdist", "hypothesis"}
EXTRAS = {"tensorstore", "glassjax-compiled"}  # which tests use where they are


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def with_requirements(names: set[str], requirements: dict[str, list[str]]) -> set[str]:
    """The installed ones of `names` and of all they require; extras are not followed."""
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in requirements and name not in found:
            found.add(name)
            pending += [
                canonical(re.match(r"[\w.-]+", requirement).group())
                for requirement in requirements[name]
                if "extra ==" not in requirement
            ]
    return found


def test_the_environment_holds_the_stage_and_nothing_else():
    if EXPECTED is None:
        import pytest

        pytest.skip("only in the environment that nox makes for one stage")
    requirements = {canonical(each.name): each.requires or [] for each in distributions()}
    expected = set(EXPECTED.split())
    tools = with_requirements(TOOLS | EXTRAS, requirements) - expected
    installed = set(requirements) - INSTALLERS - tools
    print("installed:", *sorted(installed))
    assert installed == expected, (
        f"not needed: {sorted(installed - expected)}; missing: {sorted(expected - installed)}"
    )


if __name__ == "__main__":
    test_the_environment_holds_the_stage_and_nothing_else()
