"""Checkpoints: pytrees of arrays on disk, complete or absent, for any number of devices.

`minijax.checkpoint`, without an s, is `remat`, as in JAX.
"""

from minijax.checkpoints.restoring import restore
from minijax.checkpoints.saving import PendingSave, save
from minijax.checkpoints.storage import all_steps, latest_step, remove

__all__ = ["PendingSave", "all_steps", "latest_step", "remove", "restore", "save"]
