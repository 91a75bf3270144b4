"""What transformations are made of: primitives, traces, types, jaxprs, and the tables of rules."""

# ruff: noqa: F403
from minijax.primitives.extending import *
