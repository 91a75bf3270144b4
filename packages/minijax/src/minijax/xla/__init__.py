"""The library's part of jaxlib, besides stage 3's: callbacks, routines, other formats."""

# ruff: noqa: F403
from minijax.xla.buffers import *
from minijax.xla.callbacks import *
from minijax.xla.client import *
from minijax.xla.coordination import *
from minijax.xla.executables import *
from minijax.xla.foreign_functions import *
from minijax.xla.guards import *
from minijax.xla.importing import *
from minijax.xla.module_transformations import *
from minijax.xla.partitioners import *
from minijax.xla.placement import *
from minijax.xla.platforms import *
from minijax.xla.programs import *
from minijax.xla.routines import *
from minijax.xla.topologies import *
