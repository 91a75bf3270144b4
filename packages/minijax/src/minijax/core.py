"""What transformations are made of: primitives, traces, types, jaxprs, and the tables of rules."""

# ruff: noqa: F401, F403
from minijax.primitives.extending import *
from minijax.primitives.extending import __all__
