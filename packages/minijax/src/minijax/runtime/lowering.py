"""The text of programs, of which listeners hear how long it took to write."""

from typing import Any

from minijax.settings.monitoring import LOWERED, recorded
from minijax_stage3 import Jaxpr
from minijax_stage3.lowering import lower_to_module


def recorded_lower(jaxpr: Jaxpr, name: str, *args: Any, **options: Any) -> str:
    """The StableHLO module of a program, as `lower_to_module` writes it."""
    with recorded(LOWERED, f"jit({name.removeprefix('jit_')})"):
        return lower_to_module(jaxpr, name, *args, **options)
