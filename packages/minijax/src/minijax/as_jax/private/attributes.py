"""Private attributes that libraries read of JAX's objects, as views of ours."""

from typing import Any

from minijax.sharding import Sharding
from minijax.xla import process_index
from minijax_stage2 import Trace, Tracer


def _addressable_device_assignment(sharding: Sharding) -> tuple[Any, ...]:
    here = process_index()
    return tuple(device for device in sharding.device_tuple if device.process_index == here)


def set_attributes() -> None:
    """Give our classes these attributes."""
    sharding, trace, tracer = Sharding, Trace, Tracer  # type: tuple[Any, Any, Any]
    sharding._device_assignment = property(lambda sharding: sharding.device_tuple)
    sharding._addressable_device_assignment = property(_addressable_device_assignment)
    tracer._trace = property(lambda tracer: tracer.interpreter)
    trace.main = property(lambda trace: trace)  # by which traces are told apart
