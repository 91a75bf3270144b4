"""Copies and references own their memory: donating the original leaves them intact."""

import copy

import numpy as np
import pytest

import glassjax
import glassjax.numpy as jnp
from glassjax import lax
from glassjax.sharding import AxisType, NamedSharding, PartitionSpec, SingleDeviceSharding

COPIES = {
    "array": jnp.array,
    "array(copy=True)": lambda x: jnp.array(x, copy=True),
    "array(dtype)": lambda x: jnp.array(x, dtype=x.dtype),
    "array(ndmin)": lambda x: jnp.array(x, ndmin=2)[0],
    "asarray(copy=True)": lambda x: jnp.asarray(x, copy=True),
    "copy": jnp.copy,
    "x.copy": lambda x: x.copy(),
    "copy.copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "a constraint": lambda x: lax.with_sharding_constraint(x, x.sharding),
    "astype(copy=True)": lambda x: jnp.astype(x, x.dtype, copy=True),
}


def on_one_device():
    return jnp.arange(3.0)


def on_a_mesh():
    mesh = glassjax.make_mesh((1,), ("x",), axis_types=(AxisType.Auto,))
    return glassjax.device_put(np.arange(3.0), NamedSharding(mesh, PartitionSpec("x")))


def placed():
    return glassjax.device_put(np.arange(3.0), SingleDeviceSharding(glassjax.devices()[0]))


@glassjax.jit
def plus_one(x):
    return x + 1


donating = glassjax.jit(lambda x: x + 1, donate_argnums=0)


@pytest.mark.parametrize("make", [on_one_device, on_a_mesh, placed])
def test_a_copy_outlives_a_donation(make):
    wrong = []
    for name, copied in COPIES.items():
        x = make()
        backup = copied(x)
        donating(x)
        try:
            np.testing.assert_array_equal(backup, np.arange(3.0))
        except RuntimeError as error:
            wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)


def test_keys_are_copied():
    key = glassjax.random.key(3)
    backup = jnp.array(key)
    glassjax.jit(lambda key: glassjax.random.split(key)[0], donate_argnums=0)(key)
    expected = glassjax.random.key_data(glassjax.random.key(3))
    np.testing.assert_array_equal(glassjax.random.key_data(backup), expected)


def test_without_a_copy_an_array_is_taken_as_it_is():
    x = on_one_device()
    assert jnp.asarray(x) is x
    assert jnp.array(x, copy=False) is x
    assert jnp.asarray(x, copy=False) is x


def test_in_a_program_nothing_is_copied():
    jaxpr = glassjax.make_jaxpr(lambda x: jnp.array(x, copy=True))(1.0).jaxpr
    assert not jaxpr.eqns


class TestReferences:
    def test_what_they_were_made_from(self):
        x = on_one_device()
        ref = glassjax.new_ref(x)
        donating(x)
        np.testing.assert_array_equal(ref[...], np.arange(3.0))
        ref[0] = 1.0

    def test_what_was_read(self):
        ref = glassjax.new_ref(np.arange(3.0))
        for read in (ref[...], glassjax.ref.get(ref), ref[:]):
            donating(read)
        np.testing.assert_array_equal(ref[...], np.arange(3.0))

    def test_what_was_written(self):
        ref, x = glassjax.new_ref(np.zeros(3)), on_one_device()
        ref[...] = x
        donating(x)
        np.testing.assert_array_equal(ref[...], np.arange(3.0))

    def test_what_was_swapped_out(self):
        ref = glassjax.new_ref(np.zeros(3))
        before = glassjax.ref.swap(ref, ..., on_one_device())
        donating(before)
        np.testing.assert_array_equal(ref[...], np.arange(3.0))
