"""Arrays of the library: what is of that class, and what they can besides computing."""

import copy
import gc
import pickle

import ml_dtypes
import numpy as np
import pytest

import minijax.numpy as jnp
import minijax_stage3 as stage3
import minijax_stage4 as stage4
from minijax import Array, grad, hessian, jit, jvp, tree, value_and_grad, vmap
from minijax_stage3 import backend

DTYPES = [
    *("bool", "int8", "int32", "int64", "uint8", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn),
]
VALUES = np.array([[0, 1, 2], [3, 0, 5]])
X = np.arange(3.0)

array = jnp.array


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

    @pytest.mark.parametrize("max_version", [None, (0, 8), (1, 0), (1, 1)])
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
        assert x.device == (x + 1).device == backend.default_device()
        assert "cpu" in str(x.device).lower()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_copies_and_pickles(dtype):
    x = array(VALUES.astype(dtype))
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y is not x
        assert y.aval == x.aval
        assert y.tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(array(1.0))).weak_type


def f(x):
    return jnp.sin(x) * x + 1.0


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


@pytest.mark.parametrize("made", RESULTS.values(), ids=RESULTS)
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
        plain.lower(X).compile()(X),
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
