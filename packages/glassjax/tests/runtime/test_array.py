"""The class `Array`: which values have it, DLPack, deletion and donation."""

import copy
import gc
import pickle
import sys
import threading
from contextvars import copy_context

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import for_each

import glassjax.numpy as jnp
import glassjax_stage3 as stage3
import glassjax_stage4 as stage4
from glassjax import (
    Array,
    core,
    device_put,
    dlpack,
    grad,
    hessian,
    jit,
    jvp,
    tree,
    value_and_grad,
    vmap,
    xla,
)
from glassjax_stage2 import Tracer, float0
from glassjax_stage2 import jvp as jvp2
from glassjax_stage2 import vmap as vmap2

DTYPES = [
    *("bool", "int8", "int32", "int64", "uint8", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn),
]


VALUES = np.array([[0, 1, 2], [3, 0, 5]])


X = np.arange(3.0)


array = jnp.array


@pytest.mark.cpu_only  # numpy reads no other memory
class TestDlpack:
    def test_to_numpy_without_a_copy(self):
        x = array(X)
        view = np.from_dlpack(x)
        assert view.tolist() == [0.0, 1.0, 2.0]
        assert np.shares_memory(view, np.from_dlpack(x))
        assert np.shares_memory(np.from_dlpack(x, copy=False), view)
        assert not view.flags.writeable

    def test_to_numpy_as_a_copy(self):
        x = array(X)
        for made in (np.from_dlpack(x, copy=True), np.from_dlpack(x, device="cpu", copy=True)):
            assert made.tolist() == [0.0, 1.0, 2.0]
            assert not np.shares_memory(made, np.from_dlpack(x))

    def test_from_numpy(self):
        np.testing.assert_array_equal(array(np.from_dlpack(X)), X)

    @for_each("max_version", [None, (0, 8), (1, 0), (1, 1)])
    def test_the_protocol(self, max_version):
        x = array(X)
        assert x.__dlpack_device__() == (1, 0)
        for copy_ in (None, True, False):
            capsule = x.__dlpack__(
                stream=None, max_version=max_version, dl_device=(1, 0), copy=copy_
            )
            assert type(capsule).__name__ == "PyCapsule"

    def test_another_device_is_refused(self):
        with pytest.raises(BufferError, match=r"cannot go to DLPack device \(2, 0\)"):
            array(X).__dlpack__(dl_device=(2, 0))

    def test_the_memory_outlives_the_array(self):
        view = np.from_dlpack(array(np.arange(1000.0)))
        gc.collect()
        assert view.sum() == 499_500.0


class TestTheDevice:
    def test_it_waits_and_returns_itself(self):
        x = jit(lambda x: x @ x)(np.ones((50, 50)))
        assert x.block_until_ready() is x
        assert x.is_ready()

    def test_the_device_is_where_it_is(self):
        x = array(X)
        assert x.device == (x + 1).device == xla.default_device()


@for_each("dtype", DTYPES)
def test_copies_and_pickles(dtype):
    x = array(VALUES.astype(dtype))
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y is not x
        assert y.aval == x.aval
        assert y.tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(array(1.0))).weak_type


def f(x):
    return jnp.sin(x) * x + 1.0


@jit
def double(x):
    return x * 2


@jit
def identity(x):
    return x


RESULTS = {
    "creation": lambda: [
        jnp.zeros(3),
        jnp.arange(3),
        jnp.eye(2),
        jnp.linspace(0, 1, 3),
        array([1]),
    ],
    "eager": lambda: [
        array(X) + X,
        X * array(X),
        array(X) ** 2,
        jnp.sum(X),
        jnp.where(X > 1, X, 0),
    ],
    "jit": lambda: [jit(f)(X), jit(lambda: 1.0)(), jit(lambda x: {"a": [x, f(x)]})(2.0)],
    "ahead of time": lambda: jit(f).lower(X).compile()(X),
    "static": lambda: jit(lambda x, n: x * n, static_argnums=1)(X, 3),
    "grad": lambda: [value_and_grad(f)(2.0), grad(jit(f))(2.0), jit(grad(f))(2.0)],
    "jit inside grad": lambda: grad(lambda x: f(x) * jit(f)(2.0) * jit(lambda: 3.0)())(1.0),
    "auxiliary": lambda: grad(lambda x: (f(x), jit(f)(2.0)), has_aux=True)(1.0),
    "vmap": lambda: [vmap(f)(X), vmap(jit(f))(X), vmap(lambda x: 1.0)(X), jit(vmap(f))(X)],
    "jvp": lambda: [jvp(f, (X,), (X,)), jvp(jit(f), (1.0,), (1.0,))],
    "hessian": lambda: hessian(f)(1.0),
    "of stage 3": lambda: [
        jnp.sin(stage3.array(X)),
        array(stage3.array(X)),
        jit(f)(stage3.array(X)),
    ],
    "mixed": lambda: [stage3.array(X) + array(X), array(X) + stage3.array(X)],
}


@for_each("made", RESULTS.values())
def test_what_the_library_computes_is_of_its_class(made):
    for leaf in tree.leaves(made()):
        assert type(leaf) is Array


def test_the_stages_keep_their_own_class():
    """Also where both have jitted one function."""
    x = stage3.array(X)
    for result in (jit(f)(X), stage3.jit(f)(X), stage3.jit(f)(x)):
        assert isinstance(result, stage3.Array)
    plain = stage3.jit(lambda x: x * 2)
    for result in (
        plain(X),
        x + 1,
        stage4.grad(plain)(stage3.array(1.0)),
    ):
        assert type(result) is stage3.Array


def test_tracers_count_as_arrays():
    seen = []

    def look(x):
        seen.append((isinstance(x, Array), type(x) is Array, isinstance(x, stage3.Array)))
        return x * 1.0

    jit(look)(1.0), grad(look)(1.0), vmap(look)(X), jit(vmap(grad(look)))(X)
    assert set(seen) == {(True, False, False)}
    assert isinstance(array(X), Array)
    assert not isinstance(stage3.array(X), Array)
    assert not isinstance(X, Array)
    assert not issubclass(stage3.Array, Array)


def test_a_stages_tracer_has_the_methods_of_arrays_inside_a_function_of_the_library():
    """What such a function computes of it has them, too; outside neither has."""

    functions = jnp.cumsum, jnp.median, jnp.diff, jnp.unwrap, jnp.linalg.norm
    transformations = {
        "jit": lambda f, x: f(x),
        "jvp": lambda f, x: jvp2(f, (x,), (x,))[0],
        "vmap": lambda f, xs: vmap2(f)(xs),
    }

    def of_each(x, xs):
        return [
            [of(f, xs if name == "vmap" else x) for f in functions]
            for name, of in transformations.items()
        ]

    x, xs = np.asarray(X), np.stack([X])
    for found in stage3.jit(of_each)(x, xs):
        for function, result in zip(functions, found, strict=True):
            expected = np.asarray(function(X))
            np.testing.assert_allclose(np.reshape(result, expected.shape), expected, rtol=1e-6)
    np.testing.assert_allclose(transformations["jvp"](jnp.cumsum, x), np.cumsum(X))
    np.testing.assert_allclose(transformations["vmap"](jnp.cumsum, xs), [np.cumsum(X)])

    def outside(x):
        assert not hasattr(x, "sum")
        assert not hasattr(jnp.sin(x) + x, "at")
        return x

    jvp2(outside, (1.0,), (1.0,))


def test_tracers_of_each_class_have_the_methods_of_arrays():
    """All that Arrays have, but for what needs their memory. `jnp.isnan(x) | y` once did not."""
    names = {name for name in dir(Array) if not name.startswith("_") or name.endswith("__")}
    names -= {"addressable_data", "block_until_ready", "buffer", "committed", "delete", "device"}
    names -= {"copy_to_host_async", "delete_because", "devices", "is_deleted", "is_ready", "numpy"}
    names -= {"is_fully_addressable", "is_fully_replicated", "on_device_size_in_bytes", "platform"}
    names -= {"addressable_shards", "format", "global_shards", "sharding"}
    names -= {"call_key", "evaluate_primitive", "is_placed", "let_go_of_buffer"}
    names -= {"unsafe_buffer_pointer"}
    names -= {"__buffer__", "__dlpack__", "__dlpack_device__", "__weakref__"}

    def check(x):
        assert isinstance(x, Tracer)
        assert names <= set(dir(x)), names - set(dir(x))
        return x

    jit(check)(X), vmap(check)(X), jvp(check, (X,), (X,)), grad(check)(1.0)
    assert jit(lambda x: (x > 0) | (x == 0))(X).all()


@for_each("transformation", [jit, vmap, grad])
def test_what_needs_memory_says_so_of_tracers(transformation):
    x = jnp.ones(3) if transformation is vmap else jnp.float32(1)

    def check(t):
        lacking = {name for name in dir(x) if name[0] != "_"} - set(dir(t))
        assert "sharding" in lacking
        for name in lacking:
            with pytest.raises(AttributeError, match=rf"`{name}` is of arrays in memory, .* f\d\d"):
                getattr(t, name)
        with pytest.raises(AttributeError, match="no attribute 'summ'") as info:
            t.summ()
        assert (info.value.name, info.value.obj) == ("summ", t)
        return t

    transformation(check)(x)


def test_a_users_own_tracers_have_the_methods_of_arrays():
    class Noted(core.Tracer):
        def __init__(self, trace, value):
            self.interpreter, self.source, self.value = trace, None, value

        @property
        def aval(self):
            return core.typeof(self.value)

    class Counting(core.Trace):
        def process(self, primitive, args, params):
            values = [x.value if isinstance(x, Noted) else x for x in args]
            return [Noted(self, x) for x in self.leave_to_parent(primitive, values, params)]

    trace = Counting()
    with trace.run():
        out = Noted(trace, X)[1:].sum() // 2
        assert isinstance(out, Noted)
    assert out.value == X[1:].sum() // 2


USES = {
    "operator": lambda x: x + 1,
    "operand": lambda x: 1 + x,
    "jit": lambda x: jit(f)(x),
    "jit, known": lambda x: double(x),
    "jit in a tree": lambda x: jit(lambda tree: tree["a"] + 1)({"a": x}),
    "constant": lambda x: jit(lambda y: x + y)(1.0),
    "grad": lambda x: grad(lambda y: jnp.sum(y * x))(X),
    "numpy": np.asarray,
    "print": str,
    "item": lambda x: x.tolist(),
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "dlpack": np.from_dlpack,
    "wait": lambda x: x.block_until_ready(),
    "device": lambda x: x.device,
    "device_put": lambda x: device_put(x, may_alias=False),
}


class TestDeletion:
    @for_each("use", USES.values())
    def test_the_numbers_are_gone_and_the_error_says_why(self, use):
        double(array(X))
        x = array(X)
        str(x)  # what was read before is no longer given
        x.delete()
        with pytest.raises(RuntimeError, match=r"f64\[3\] was deleted by its method .*x\.copy\(\)"):
            use(x)

    def test_the_type_stays(self):
        x = array(X)
        assert not x.is_deleted()
        x.delete()
        x.delete()
        assert x.is_deleted()
        assert isinstance(x, Array)
        assert (x.shape, x.dtype, x.nbytes) == ((3,), np.float64, 24)
        assert repr(x) == "<Array f64[3], deleted by its method `delete`>"

    def test_others_keep_their_numbers(self):
        x = array(X)
        same_numbers, view, shared = x.copy(), np.asarray(x), np.from_dlpack(x)
        x.delete()
        for left in (same_numbers, view, shared):
            np.testing.assert_array_equal(left, X)

    def test_a_scalar_is_not_shared_with_others(self):
        """Numbers that programs use over and over are kept on the device."""
        one, two = array(1.0), array(1.0)
        one.delete()
        assert jit(lambda x: x + two)(1.0) == 2.0

    def test_donation_to_device_put(self):
        x = array(X)
        np.testing.assert_array_equal(device_put(x, donate=True), X)
        with pytest.raises(RuntimeError, match="was donated to `device_put`, so its numbers"):
            x + 1

    def test_memory_that_xla_deleted_is_an_error_that_names_the_program(self):
        x = array(X)
        x.buffer.delete()
        with pytest.raises(RuntimeError, match=r"`double` failed while .* number 0 is gone"):
            double(x)
        assert x.is_deleted()

    def test_threads_that_use_and_delete(self):
        """Each thread sees the numbers or the error, never anything else."""
        for _ in range(50):
            x, outcomes = array(X), []

            def work(i, x=x, outcomes=outcomes):
                try:
                    if i % 4 == 3:
                        x.delete()
                    outcomes.append((double(x) if i % 2 else np.asarray(x) * 2).tolist())
                except RuntimeError as error:
                    outcomes.append("deleted" if "was deleted by" in str(error) else error)

            threads = [
                threading.Thread(target=copy_context().run, args=(work, i)) for i in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(outcomes) == 8
            assert all(out in ("deleted", [0.0, 2.0, 4.0]) for out in outcomes), outcomes


class TestWhatOthersAsk:
    def test_sizes_and_devices(self):
        x = array(np.zeros((2, 3), np.float32))
        assert (x.nbytes, x.itemsize, x.on_device_size_in_bytes()) == (24, 4, 24)
        assert x.devices() == {x.device}
        assert x.addressable_data(0) is x
        assert x.copy_to_host_async() is None
        with pytest.raises(IndexError, match="has 1 part, numbered from 0; found 1"):
            x.addressable_data(1)

    def test_numpy_on_the_left(self):
        for result in (X * array(X), np.float64(2) - array(X), X[0] / array(X[1:])):
            assert type(result) is Array

    def test_copies_have_memory_of_their_own(self):
        x = array(X)
        for made in (x.copy(), copy.copy(x), copy.deepcopy([x])[0]):
            assert not np.shares_memory(made, np.asarray(x))

    @for_each("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    @for_each("shape", [(), (0,), (2, 0), (2, 3)])
    @for_each("dtype", [*DTYPES, float0])
    def test_pickles(self, dtype, shape, protocol):
        x = array(np.zeros(shape, dtype))
        y = pickle.loads(pickle.dumps(x, protocol))
        assert type(y) is Array
        assert y.aval is x.aval
        assert np.asarray(y).tobytes() == np.asarray(x).tobytes()

    def test_pickles_out_of_band_share_no_memory(self):
        memory = []
        data = pickle.dumps(array(np.zeros(1000)), 5, buffer_callback=memory.append)
        assert len(data) < 1000
        writable = [bytearray(b) for b in memory]
        x = pickle.loads(data, buffers=writable)
        for buffer in writable:
            buffer[:] = b"x" * len(buffer)
        assert not np.any(np.asarray(x))

    def test_weak_types_survive(self):
        for copied in (pickle.loads(pickle.dumps(array(1.0))), copy.copy(array(1.0))):
            assert copied.weak_type

    @pytest.mark.skipif(sys.version_info < (3, 12), reason="the buffer protocol came with 3.12")
    def test_the_buffer_protocol(self):
        view = memoryview(array(np.arange(6.0).reshape(2, 3)))
        assert view.readonly
        assert view.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        for dtype in (ml_dtypes.bfloat16, float0):
            with pytest.raises(BufferError, match="dtype"):
                memoryview(array(np.zeros(3, dtype)))
            assert np.asarray(array(np.zeros(3, dtype))).dtype == dtype

    def test_views_are_read_only_and_not_copied(self):
        x = array(X)
        assert not np.asarray(x).flags.writeable
        assert np.shares_memory(np.asarray(x), np.asarray(x))


@given(st.data())
def test_the_memory_of_the_caller_is_never_shared(data):
    """Wherever an array of numpy goes in, writing to it afterwards changes nothing."""
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))
    count = data.draw(st.integers(1, 300))
    offset = data.draw(st.integers(0, 64))  # bytes from an address that XLA would borrow
    step = data.draw(st.sampled_from([1, 1, 2, -1]))
    memory = np.zeros(count * dtype.itemsize + 192, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    x = memory[start : start + count * dtype.itemsize].view(dtype)[::step]
    enter = data.draw(st.sampled_from([array, jnp.asarray, device_put, identity, jnp.from_dlpack]))
    if enter is jnp.from_dlpack and (offset % dtype.itemsize or dtype.isbuiltin == 2):
        return  # numpy refuses to export it
    made = enter(x)
    before = np.asarray(made).tobytes()
    memory[:] = 1
    assert np.asarray(made).tobytes() == before == bytes(x.nbytes)


@pytest.mark.cpu_only  # numpy reads no other memory
class TestFromDlpack:
    class Foreign:
        """An array of a library that knows ours by the protocol alone."""

        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **options):
            return self.x.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    @for_each("shape", [(), (0,), (3, 0), (2, 3)])
    @for_each("dtype", DTYPES[:-1])
    def test_every_dtype(self, dtype, shape):
        x = np.resize(VALUES, shape).astype(dtype)
        y = dlpack.from_dlpack(self.Foreign(array(x)))
        assert type(y) is Array
        assert (y.dtype, y.shape) == (x.dtype, x.shape)
        assert np.asarray(y).tobytes() == x.tobytes()

    def test_a_dtype_that_numpy_lacks_is_an_error(self):
        with pytest.raises(BufferError, match="dtype"):
            jnp.from_dlpack(self.Foreign(array(VALUES.astype(ml_dtypes.float8_e4m3fn))))

    def test_what_is_refused(self):
        with pytest.raises(TypeError, match=r"__dlpack__ and __dlpack_device__, found \[1\]"):
            jnp.from_dlpack([1])
        with pytest.raises(ValueError, match="so it is a copy"):
            jnp.from_dlpack(X, copy=False)
        with pytest.raises(TypeError, match="device must be a device, a Sharding"):
            jnp.from_dlpack(X, device="cpu")

    class OnAGpu(Foreign):
        def __dlpack_device__(self):
            return (2, 0)

    class OfAnOlderProtocol(OnAGpu):
        def __dlpack__(self, stream=None):
            raise RuntimeError("a GPU's memory, which a CPU cannot read")

    @for_each("dtype", DTYPES[:-1])
    def test_another_devices_library_copies_to_the_cpu(self, dtype):
        x = VALUES.astype(dtype)
        y = jnp.from_dlpack(self.OnAGpu(array(x)))
        assert y.dtype == x.dtype
        assert np.asarray(y).tobytes() == x.tobytes()
        with pytest.raises(BufferError, match="type 2, and its library cannot copy it to the CPU"):
            jnp.from_dlpack(self.OfAnOlderProtocol(array(x)))

    def test_torch(self):
        torch = pytest.importorskip("torch")
        for dtype in (torch.float32, torch.bfloat16, torch.bool, torch.int64):
            theirs = torch.arange(6).reshape(2, 3).T.to(dtype)
            ours = jnp.from_dlpack(theirs)
            assert ours.tolist() == theirs.tolist()
            assert torch.from_dlpack(ours).tolist() == theirs.tolist()


class TestDonation:
    def test_of_threads_that_donate_one_array_one_succeeds(self):
        reuse = jit(lambda x: x * 2, donate_argnums=0)
        for _ in range(50):
            x, outcomes = array(X), []

            def work(x=x, outcomes=outcomes):
                try:
                    outcomes.append(reuse(x).tolist())
                except RuntimeError as error:
                    outcomes.append("donated" in str(error))

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert outcomes.count(True) == 7
            assert outcomes.count((X * 2).tolist()) == 1

    @pytest.mark.cpu_only
    @for_each("look", [np.asarray, np.from_dlpack])
    def test_memory_that_somebody_looks_at_stays(self, look):
        x = array(np.arange(1000.0))
        view = look(x)
        assert float(jnp.sum(jit(lambda x: x * 2, donate_argnums=0)(x))) == 999_000
        del x
        np.testing.assert_array_equal(view, np.arange(1000.0))
