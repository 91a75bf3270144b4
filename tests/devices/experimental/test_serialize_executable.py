"""Serialized executables keep their devices and shardings."""

import numpy as np
import pytest
from eight_devices import CAN_READ

import glassjax
from glassjax.experimental import serialize_executable
from glassjax.sharding import Mesh, NamedSharding
from glassjax.sharding import PartitionSpec as P

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")


X = np.arange(16.0, dtype=np.float32).reshape(8, 2)


def loaded(compiled):
    serialized = serialize_executable.serialize(compiled)
    return serialize_executable.deserialize_and_load(*serialized)


def test_serialized_executables_keep_their_devices_and_shardings():
    mesh = Mesh(np.array(glassjax.devices()).reshape(4, 2), ("a", "b"))
    x = glassjax.device_put(X, NamedSharding(mesh, P("a", "b")))
    compiled = glassjax.jit(lambda x, y: (x @ x.T + y, y + 1)).lower(x, 1.0).compile()
    closing = glassjax.jit(lambda y: x * y).lower(2.0).compile()
    for program, arguments in [(compiled, (x, 1.0)), (closing, (2.0,))]:
        again = loaded(program)
        assert again.output_shardings == program.output_shardings
        assert again.input_shardings == program.input_shardings
        for ours, theirs in zip(again(*arguments), program(*arguments), strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.sharding == theirs.sharding
    with pytest.raises(ValueError, match="compiled for argument"):
        loaded(compiled)(glassjax.device_put(X, NamedSharding(mesh, P("b"))), 1.0)


def test_serialized_executables_run_on_the_device_that_they_were_compiled_for():
    devices = glassjax.devices()
    compiled = glassjax.jit(lambda y: y + 1).lower(glassjax.device_put(3.0, devices[3])).compile()
    assert loaded(compiled)(3.0).devices() == {devices[3]}
    serialized = serialize_executable.serialize(compiled)
    with pytest.raises(ValueError, match=r"on the devices \[3\], found \[0, 1\]"):
        serialize_executable.deserialize_and_load(*serialized, execution_devices=devices[:2])
