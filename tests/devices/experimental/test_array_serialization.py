"""TensorStore arrays written from eight devices."""

import numpy as np
import pytest
from eight_devices import CAN_READ

import glassjax
from glassjax.experimental.array_serialization import serialization
from glassjax.sharding import Mesh, NamedSharding
from glassjax.sharding import PartitionSpec as P

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")


X = np.arange(16.0, dtype=np.float32).reshape(8, 2)


def test_divided_arrays_are_written_in_parts(tmp_path):
    pytest.importorskip("tensorstore")
    mesh = Mesh(np.array(glassjax.devices()).reshape(4, 2), ("a", "b"))
    manager = serialization.GlobalAsyncCheckpointManager()
    specs = [P("a", "b"), P(("a", "b")), P(None, "b"), P()]
    shardings = [NamedSharding(mesh, spec) for spec in specs]
    arrays = [glassjax.device_put(X, each) for each in shardings]
    paths = [str(tmp_path / str(number)) for number in range(len(specs))]
    manager.serialize_with_paths(arrays, paths)
    for read in (shardings, shardings[::-1]):
        for x, sharding in zip(manager.deserialize_with_paths(read, paths), read, strict=True):
            np.testing.assert_array_equal(x, X)
            assert x.sharding == sharding
