"""Costs of instructions, from profiles (`jax.experimental.profiler`)."""

import os

from minijax.xla.coordination import recorder


def get_profiled_instructions_proto(tensorboard_dir: str | os.PathLike[str]) -> bytes:
    """The costs of instructions in a profile, for the latency-hiding scheduler of XLA.

    Arguments:
        tensorboard_dir: the directory of one profile, `DIR/plugins/profile/TIME`, where DIR was
            given to `minijax.profiler.start_trace`.

    Returns:
        A serialized message `ProfiledInstructionsProto` of XLA. It is empty if the profile has no
        devices other than a CPU.

    Raises:
        RuntimeError: there is no profile in the directory.

    >>> import tempfile, pathlib
    >>> from minijax.experimental import profiler
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with minijax.profiler.trace(directory):
    ...         _ = jnp.ones(3) + 1
    ...     (run,) = pathlib.Path(directory, "plugins", "profile").iterdir()
    ...     profiler.get_profiled_instructions_proto(run)
    b''
    """
    found: bytes = recorder().get_profiled_instructions_proto(os.fspath(tensorboard_dir))
    return found


__all__ = ["get_profiled_instructions_proto"]
