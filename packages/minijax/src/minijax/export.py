"""Export of compiled functions, to be called in another process without their Python source.

The names are those of `jax.export`. An exported function is a StableHLO module in a portable
format, which other versions of XLA can read, with the names, types and structures of arguments and
results.
"""

# ruff: noqa: F403
from minijax.exporting.export import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
