"""The library's part of jaxlib, besides stage 3's: callbacks, routines, other formats."""

# ruff: noqa: F403
from minijax.xla.clients import *
from minijax.xla.coordination import *
from minijax.xla.executables import *
from minijax.xla.extensions import *
from minijax.xla.importing import *
from minijax.xla.placement import *
