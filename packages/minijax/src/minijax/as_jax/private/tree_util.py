"""Pytrees."""

from minijax.tree_util import *  # noqa: F403
from minijax_stage2.tree import registry as _registry

__all__ = ["_registry"]
