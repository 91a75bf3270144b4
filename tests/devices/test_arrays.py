"""Arrays on eight devices, made of parts and used as arrays are: as in JAX."""

import warnings

import jax
import numpy as np
import pytest
from beside_jax import CAN_READ, X, assert_same, put, sharding

import minijax

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read divided arrays")


def from_callback(lib, *spec, shape=(8, 8), function=X.__getitem__, **options):
    return lib.make_array_from_callback(shape, sharding(lib, *spec), function, **options)


def parts_of(lib, *spec, x=X):
    indices = sharding(lib, *spec).addressable_devices_indices_map(x.shape)
    return [lib.device_put(x[index], device) for device, index in indices.items()]


def from_parts(lib, parts, *spec, shape=(8, 8), **options):
    return lib.make_array_from_single_device_arrays(shape, sharding(lib, *spec), parts, **options)


def calls_of(lib, *spec):
    calls = []
    from_callback(lib, *spec, function=lambda index: (calls.append(str(index)), X[index])[1])
    return calls


def device_mesh(lib, *args, hybrid=False, **options):
    if lib is jax:
        from jax.experimental import mesh_utils
    else:
        from minijax.experimental import mesh_utils
    name = "create_hybrid_device_mesh" if hybrid else "create_device_mesh"
    return [str(device) for device in getattr(mesh_utils, name)(*args, **options).flat]


def pjit(lib, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        if lib is jax:
            from jax.experimental.pjit import pjit
        else:
            from minijax.experimental.pjit import pjit
        return pjit(*args, **options)


MADE = {
    "of a callback": lambda lib: from_callback(lib, "x"),
    "of a callback, crosswise": lambda lib: from_callback(lib, "y", "x"),
    "of a callback, whole": lambda lib: from_callback(lib),
    "calls": lambda lib: calls_of(lib, "x"),
    "calls of both axes": lambda lib: calls_of(lib, ("y", "x")),
    "one call": lambda lib: calls_of(lib),
    "of numbers": lambda lib: from_callback(lib, shape=(), function=lambda index: 3),
    "of Arrays": lambda lib: from_callback(lib, "x", function=lambda i: lib.numpy.ones((2, 8))),
    "of nothing": lambda lib: from_callback(
        lib, "x", shape=(0, 8), function=lambda index: np.ones((0, 8))
    ),
    "of 64 bits": lambda lib: from_callback(lib, "x", function=lambda i: X[i].astype(np.float64)),
    "on one device": lambda lib: lib.make_array_from_callback(
        (8, 8), lib.sharding.SingleDeviceSharding(lib.devices()[3]), X.__getitem__
    ),
    "of keys": lambda lib: lib.random.bits(
        from_callback(
            lib,
            "x",
            shape=(8,),
            function=lambda index: lib.random.split(lib.random.key(index[0].start or 0), 2),
        )[3]
    ),
    "of a dtype": lambda lib: from_callback(lib, "x", dtype=np.float32),
    "of another dtype": lambda lib: from_callback(lib, "x", dtype=np.int32),
    "of several dtypes": lambda lib: from_callback(
        lib, "x", function=lambda i: X[i].astype(np.int32 if i[0].start else np.float32)
    ),
    "of wrong shapes": lambda lib: from_callback(lib, "x", function=lambda i: X[:1]),
    "uneven": lambda lib: from_callback(lib, "x", shape=(7, 8)),
    "on a device": lambda lib: lib.make_array_from_callback(
        (8, 8), lib.devices()[0], X.__getitem__
    ),
    "of no function": lambda lib: from_callback(lib, "x", function=3),
    "of parts": lambda lib: from_parts(lib, parts_of(lib, "x"), "x"),
    "of parts in any order": lambda lib: from_parts(lib, parts_of(lib, "x")[::-1], "x"),
    "of parts by both axes": lambda lib: from_parts(lib, parts_of(lib, None, "y"), None, "y"),
    "of parts in a tuple": lambda lib: from_parts(lib, tuple(parts_of(lib, "x")), "x") + 1,
    "of parts of a dtype": lambda lib: from_parts(lib, parts_of(lib, "x"), "x", dtype=np.int32),
    "of too few parts": lambda lib: from_parts(lib, parts_of(lib, "x")[:3], "x"),
    "of no parts": lambda lib: from_parts(lib, [], "x"),
    "of one part twice": lambda lib: from_parts(lib, [*parts_of(lib, "x")[:7]] * 2, "x"),
    "of a divided part": lambda lib: from_parts(lib, [put(lib, "x")], "x"),
    "of numpy's": lambda lib: from_parts(lib, [X[:2]] * 8, "x"),
    "of an array": lambda lib: from_parts(lib, put(lib, "x"), "x"),
    "of smaller parts": lambda lib: from_parts(lib, parts_of(lib, "x"), "x", shape=(4, 8)),
    "a mesh of devices": lambda lib: device_mesh(lib, (4, 2)),
    "a mesh of some devices": lambda lib: device_mesh(lib, (2, 2), lib.devices()[3:7]),
    "a mesh of too few devices": lambda lib: device_mesh(lib, (4, 4)),
    "a mesh of too many devices": lambda lib: device_mesh(lib, (2, 2)),
    "a mesh of processes": lambda lib: device_mesh(
        lib, (4, 2), (1, 1), hybrid=True, process_is_granule=True
    ),
    "a mesh of too few processes": lambda lib: device_mesh(
        lib, (2, 2), (2, 1), hybrid=True, process_is_granule=True
    ),
    "a mesh of slices": lambda lib: device_mesh(lib, (4, 2), (1, 1), hybrid=True),
    "pjit": lambda lib: pjit(lib, lambda x: x + 1, sharding(lib, "x"), sharding(lib, "y"))(X),
}


@pytest.mark.parametrize("name", MADE)
def test_arrays_are_made_as_in_jax(name):
    assert_same(MADE[name])


class Granule:
    """A device of a machine that is not here."""

    def __init__(self, number, slice_index):
        self.id, self.slice_index, self.process_index = number, slice_index, slice_index
        self.device_kind, self.platform = "imagined", "imagined"


@pytest.mark.parametrize(("inner", "outer"), [((2, 3), (1, 2)), ((3, 2), (4, 1)), ((6,), (2,))])
@pytest.mark.parametrize("by_key", [True, False])
def test_granules_are_arranged_as_in_jax(inner, outer, by_key):
    from jax.experimental import mesh_utils as theirs

    from minijax.experimental import mesh_utils as ours

    per = int(np.prod(inner))
    order = np.random.default_rng(0).permutation(per * int(np.prod(outer)))
    devices = [Granule(int(number), int(number) // per) for number in order]
    found, expected = (
        lib.create_hybrid_device_mesh(inner, outer, devices, should_sort_granules_by_key=by_key)
        for lib in (ours, theirs)
    )
    assert found.shape == expected.shape
    assert [each.id for each in found.flat] == [each.id for each in expected.flat]


def test_the_part_that_does_not_fit_is_named():
    parts = parts_of(minijax, "x")
    with pytest.raises(ValueError, match=r"arrays\[7\] must have shape \(2, 8\).*found \(1, 8\)"):
        from_parts(minijax, [*parts[:7], minijax.device_put(X[:1], minijax.devices()[7])], "x")
    with pytest.raises(ValueError, match=r"arrays lacks those on \[.*id=7"):
        from_parts(minijax, parts[:7], "x")
    with pytest.raises(ValueError, match=r"data_callback.* must have shape \(2, 8\)"):
        from_callback(minijax, "x", function=lambda index: X)
