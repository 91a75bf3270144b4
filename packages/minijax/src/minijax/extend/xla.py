"""Functions that change programs while XLA compiles them, as `jax.extend.xla` has them."""

import enum
from collections.abc import Callable, Sequence

from minijax.xla.extensions import clear_transformation, register_transformation


class PipelineStage(enum.Enum):
    """When XLA calls a function: before or after it puts operations in order."""

    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


def register_hlo_module_transformation(
    callback: Callable[[bytes], bytes | None],
    *,
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> None:
    """Let XLA call a function of each program that it compiles from now on.

    Functions of one stage are called in the order in which they were registered. Programs that are
    compiled already stay as they are; the compile cache keeps the others apart.

    Arguments:
        callback: a function from the bytes of an `HloModuleProto` to the bytes of another, or to
            None for no change.
        name: a name, by which to remove it.
        stage: when it is called.
        platforms: the platforms of the programs; None: the CPU and the platform of the default
            device.

    Raises:
        NotImplementedError: jaxlib is older than 0.11.

    >>> from minijax.extend import xla
    >>> seen = []
    >>> xla.register_hlo_module_transformation(seen.append, name="look")
    >>> minijax.jit(lambda x: 3 * x + 5)(1.0), len(seen) > 0
    (Array(8., dtype=float32, weak_type=True), True)
    >>> xla.clear_hlo_module_transformation("look")
    True
    """
    register_transformation(callback, name, stage.value, platforms)


def clear_hlo_module_transformation(
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> bool:
    """Remove a function that `register_hlo_module_transformation` has registered.

    Arguments:
        name, stage, platforms: as in `register_hlo_module_transformation`.

    Returns:
        Whether there was such a function.

    >>> from minijax.extend import xla
    >>> xla.clear_hlo_module_transformation("nobody")
    False
    """
    return clear_transformation(name, stage.value, platforms)


__all__ = [
    "PipelineStage", "clear_hlo_module_transformation", "register_hlo_module_transformation",
]  # fmt: skip
