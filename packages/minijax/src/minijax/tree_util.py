"""Pytrees, under the names of `jax.tree_util`."""

# ruff: noqa: F403
import minijax.pytrees.treedef_methods as _treedef_methods  # noqa: F401
from minijax.pytrees.default_registry import default_registry as default_registry
from minijax.pytrees.tree_util import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
