"""The text of programs, of which listeners hear how long it took to write."""

from collections.abc import Mapping
from types import MappingProxyType

from minijax.runtime.frontend_attributes import AttributedModule
from minijax.settings.debugging import logging_time
from minijax.settings.monitoring import LOWERED
from minijax_stage3 import Jaxpr
from minijax_stage3.lowering import lower_to_module


def recorded_lower(
    jaxpr: Jaxpr,
    name: str,
    attributes: Mapping[int, str] = MappingProxyType({}),
    out_attributes: Mapping[int, str] = MappingProxyType({}),
    module: AttributedModule | None = None,
    platform: str = "cpu",
) -> str:
    """The StableHLO module of a program, as `lower_to_module` writes it."""
    module = module or AttributedModule(platform)
    with logging_time(LOWERED, f"jit({name.removeprefix('jit_')})"):
        text = lower_to_module(jaxpr, name, attributes, out_attributes, module)
        return module.with_attributes(text)
