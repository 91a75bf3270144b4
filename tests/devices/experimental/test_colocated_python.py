"""Python functions and objects on the hosts of eight devices, beside JAX."""

import threading

import jax
import numpy as np
import pytest
from jax.experimental import colocated_python as theirs
from tables import for_each

import glassjax
from glassjax.experimental import colocated_python as ours

pytest.importorskip("cloudpickle", reason="JAX's needs it")


def array(j, spec="x"):
    mesh = j.make_mesh((8,), ("x",), axis_types=(j.sharding.AxisType.Auto,))
    sharding = j.sharding.NamedSharding(mesh, j.sharding.PartitionSpec(spec))
    return j.device_put(j.numpy.arange(8.0), sharding)


def scaled_shards(j):
    def each(x):
        shards = [shard.data * shard.device.id for shard in x.addressable_shards]
        return j.make_array_from_single_device_arrays(x.shape, x.sharding, shards)

    return each


class Counter:
    def __init__(self, step):
        self.count = 0
        self.step = step

    def add(self, x):
        self.count += self.step
        return x + self.count

    def reset(self):
        self.count = 0


def as_object(j, cp, x):
    counter = cp.colocated_python_class(Counter)(2)
    first, second = counter.add(x), counter.add(x)
    counter.reset.specialize(devices=j.devices())()
    return first, second, counter.add(x)


def typed(j, cp, x):
    type_of = lambda x: j.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)  # noqa: E731
    f = cp.colocated_python(lambda x, *, by: {"x": x * by})
    f = f.specialize(in_specs=((type_of(x),), {"by": type_of(x)}))
    return f.specialize(out_specs_fn=lambda x, by: {"x": x})(x, by=x)


USES = {
    "branches": lambda j, cp, x: cp.colocated_python(lambda x: -x if x.sum() > 10 else x)(x),
    "numpy": lambda j, cp, x: cp.colocated_python(
        lambda x: j.device_put(np.sort(-np.asarray(x)), x.sharding)
    )(x),
    "shards": lambda j, cp, x: cp.colocated_python(scaled_shards(j))(x),
    "specialized": typed,
    "no arguments": lambda j, cp, x: cp.colocated_python(lambda: j.numpy.arange(8.0)).specialize(
        devices=j.devices()
    )(),
    "object": as_object,
    "devices": lambda j, cp, x: x + len(cp.colocated_cpu_devices(j.devices())),
}


@for_each("use", USES)
def test_results_are_jaxs(use):
    found, expected = [
        j.tree.leaves(USES[use](j, cp, array(j))) for j, cp in ((glassjax, ours), (jax, theirs))
    ]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)
        specs = [str(getattr(each.sharding, "spec", None)) for each in (x, y)]
        assert specs[0] == specs[1]


def test_it_runs_while_a_function_is_traced():
    x = array(glassjax)
    f = ours.colocated_python(lambda x: float(x.sum()) * x)
    np.testing.assert_array_equal(glassjax.jit(lambda y: y + f(x))(1.0), 1 + 28 * np.arange(8))


def test_a_mesh_of_cpus_is_itself():
    mesh = glassjax.make_mesh((4, 2), ("x", "y"))
    assert ours.colocated_cpu_devices(mesh) == mesh


def test_an_object_lives_from_its_first_call_until_its_wrapper_ends():
    log = []

    class Logged:
        def __init__(self):
            log.append("made")

        def __del__(self):
            log.append("gone")

        def add(self, x):
            return x + 1

    wrapper = ours.colocated_python_class(Logged)()
    assert log == []
    threads = [threading.Thread(target=wrapper.add, args=(array(glassjax),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log == ["made"]
    del wrapper, threads, thread
    assert log == ["made", "gone"]


def errors():
    x = array(glassjax)
    f = ours.colocated_python(lambda *args: args[0])
    as_ints = f.specialize(out_specs_fn=lambda x: glassjax.ShapeDtypeStruct(x.shape, int))
    elsewhere = glassjax.device_put(x, glassjax.devices()[0])
    return [
        (lambda: f(3.0), TypeError, "expected Arrays, found the argument 3.0"),
        (lambda: ours.colocated_python(lambda x: 3)(x), TypeError, "found the result 3"),
        (lambda: glassjax.jit(f)(x), TypeError, "is traced.*io_callback"),
        (lambda: f(), ValueError, "its devices are unknown"),
        (lambda: f(x, elsewhere), ValueError, "on different devices"),
        (lambda: as_ints(x), TypeError, "its specialization has results"),
        (lambda: as_ints.specialize(out_specs_fn=len), ValueError, "specified already"),
    ]


@pytest.mark.parametrize("number", range(7))
def test_errors(number):
    call, cls, message = errors()[number]
    with pytest.raises(cls, match=message):
        call()
