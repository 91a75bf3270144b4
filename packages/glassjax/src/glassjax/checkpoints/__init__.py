"""Checkpoints: pytrees of arrays on disk, complete or absent, for any number of devices.

`glassjax.checkpoint`, without an s, is `remat`, as in JAX.
"""

from glassjax.checkpoints.restoring import restore
from glassjax.checkpoints.saving import PendingSave, save
from glassjax.checkpoints.storage import all_steps, latest_step, remove

__all__ = ["PendingSave", "all_steps", "latest_step", "remove", "restore", "save"]
