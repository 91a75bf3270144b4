"""Functions by which XLA's partitioner learns what each device does of a custom call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn
from weakref import WeakValueDictionary

from minijax.xla.importing import import_module
from minijax.xla.plugins import CUDA, load_plugin

TARGET = "minijax_partitioned"  # of the calls

Shardings = Sequence[Any]  # as jaxlib has them


class Partitioner:
    """A function that divides a call.

    Arguments:
        partition: function from the shardings of operands and results to a module, as text, and
            the shardings of the operands that it takes and of the results that it returns.

    Attributes:
        key: its name in the text of a program. It is known as long as the object lives.
    """

    def __init__(
        self, partition: Callable[[Shardings, Shardings], tuple[str, Shardings, Shardings]]
    ):
        self.partition = partition
        self.raised: BaseException | None = None
        self.key = str(id(self))
        _partitioners[self.key.encode()] = self


_partitioners: WeakValueDictionary[bytes, Partitioner] = WeakValueDictionary()


def _partition(
    arg_shapes: Any, arg_shardings: Any, result_shape: Any, result_sharding: Any, key: bytes
) -> tuple[bytes, Shardings, Any]:
    is_tuple = result_shape.is_tuple()
    results = result_sharding.tuple_elements() if is_tuple else [result_sharding]
    partitioner = _partitioners[key]
    try:
        text, operands, outs = partitioner.partition(arg_shardings, results)
    except BaseException as error:
        partitioner.raised = error
        raise
    whole = import_module("jaxlib.xla_client").HloSharding
    out = whole.tuple_sharding(result_shape, outs) if is_tuple else outs[0]
    return text.encode(), operands, out


def _refuse(*args: Any) -> NoReturn:
    raise RuntimeError("shardings are propagated by rules")


@cache
def register_partitioners(platform: str) -> None:
    """Let XLA for a platform ask `Partitioner`s about calls of `TARGET`."""
    register = import_module("jaxlib.xla_client").register_custom_call_partitioner
    given = {"c_api": load_plugin(CUDA).api} if platform == CUDA else {}
    register(
        TARGET,
        prop_user_sharding=_refuse,
        partition=_partition,
        infer_sharding_from_operands=_refuse,
        can_side_effecting_have_replicated_sharding=True,
        **given,
    )


__all__ = ["TARGET", "Partitioner", "register_partitioners"]
