"""Compiled programs that may delete their arguments."""

from collections.abc import Sequence

from minijax.settings.counted import counted
from minijax_stage3 import backend
from minijax_stage3.backend import Buffer
from minijax_stage3.errors import ExecutionError


class Executable(backend.Executable):
    """A compiled program; the argument that a failed call misses is named.

    A donated argument is deleted, unless something still views its memory: then XLA copies.
    """

    def failure(self, buffers: Sequence[Buffer], error: RuntimeError) -> ExecutionError:
        """The error to raise when XLA raised `error`."""
        deleted = [bool(buffer.is_deleted()) for buffer in buffers]
        if any(deleted):
            error = RuntimeError(
                f"of its {counted(len(deleted), 'argument')}, constants first, number "
                f"{deleted.index(True)} is gone: deleted, or donated to another call. Keep a copy "
                "of what is needed later"
            )
        return super().failure(buffers, error)


__all__ = ["Executable"]
