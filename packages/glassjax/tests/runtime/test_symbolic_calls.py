"""`jit(symbolic=...)`: one trace and one lowering for all sizes."""

import pickle

import numpy as np
import pytest

import glassjax
import glassjax.numpy as jnp
from glassjax import ShapeDtypeStruct, debug, export, grad, jit, pure_callback, vmap


def counted(f):
    """`f`, and the list of the shapes of its first argument at each trace."""
    traced = []

    def counting(x, *args, **kwargs):
        traced.append(jnp.shape(x))
        return f(x, *args, **kwargs)

    return counting, traced


def ones(*shape):
    return np.ones(shape, np.float32)


def test_one_trace_for_all_sizes():
    f, traced = counted(lambda x: {"sum": x.sum(), "cosines": jnp.cos(x)})
    general = jit(f, symbolic="b, ...")
    for size in (1, 2, 7):
        found = general(ones(size, 3))
        assert found["sum"] == 3 * size
        np.testing.assert_allclose(found["cosines"], np.cos(ones(size, 3)), rtol=1e-6)
    assert list(map(str, traced)) == ["(b, 3)"]
    general(ones(2, 4))  # the other axis is part of the signature
    assert len(traced) == 2


def test_one_text_for_each_argument():
    f, traced = counted(lambda w, batch, scale=1.0: batch["x"] @ w * scale)
    general = jit(f, symbolic=(None, {"x": "b, _"}))
    for size in (1, 5):
        assert general(ones(3, 2), {"x": ones(size, 3)}, scale=2.0).shape == (size, 2)
    assert len(traced) == 1


def test_static_and_donated_arguments_and_constants():
    big = np.arange(9, dtype=np.float32).reshape(3, 3)
    f, traced = counted(lambda x, power: (x**power) @ big)
    general = jit(f, static_argnums=1, donate_argnums=0, symbolic=("b, 3", None))
    for size in (2, 4):
        for power in (2, 3):
            x = jnp.full((size, 3), 2.0, jnp.float32)
            np.testing.assert_allclose(general(x, power), np.full((size, 3), 2.0**power) @ big)
            assert x.is_deleted()
    assert len(traced) == 2


def test_transformations_trace_with_numbers():
    f, traced = counted(lambda x: (x**3).sum())
    general = jit(f, symbolic="b")
    np.testing.assert_allclose(grad(general)(ones(4)), 3 * ones(4))
    np.testing.assert_allclose(vmap(general)(ones(2, 4)), [4, 4])
    assert set(traced) == {(4,)}


def test_lower_and_trace_use_the_program_for_all_sizes():
    f, traced = counted(lambda x: x + 1)
    general = jit(f, symbolic="b")
    for size in (2, 3):
        lowered = general.trace(ShapeDtypeStruct((size,), "float32")).lower()
        assert f"tensor<{size}xf32>" in lowered.as_text()
        np.testing.assert_allclose(lowered.compile()(ones(size)), 2 * ones(size))
    assert len(traced) == 1


def test_an_exported_program_inside():
    (b,) = export.symbolic_shape("b")
    exported = export.export(jit(lambda x: x @ x.T))(ShapeDtypeStruct((b, 3), "float32"))
    f, traced = counted(lambda x: exported.call(x).sum(1))
    general = jit(f, symbolic="n, 3")
    for size in (2, 5):
        np.testing.assert_allclose(general(ones(size, 3)), np.full(size, 3.0 * size))
    assert len(traced) == 1


def test_functions_that_call_python_are_traced_for_each_size():
    f, traced = counted(lambda x: pure_callback(np.sin, ShapeDtypeStruct(x.shape, x.dtype), x) + x)
    general = jit(f, symbolic="b")
    for size in (2, 3):
        np.testing.assert_allclose(general(ones(size)), np.sin(1.0) + ones(size), rtol=1e-6)
    assert {(2,), (3,)} < {*traced}


def test_arguments_placed_by_the_user():
    general = jit(lambda x: 2 * x, symbolic="b")
    x = glassjax.device_put(ones(2), glassjax.devices()[0])
    np.testing.assert_allclose(general(x), [2, 2])


def test_it_is_pickled_with_its_sizes():
    again = pickle.loads(pickle.dumps(jit(jnp.sin, symbolic=("b",))))
    assert [again(ones(size)).shape for size in (2, 3)] == [(2,), (3,)]


@pytest.mark.parametrize(
    ("symbolic", "args", "message"),
    [
        ("b, b", [(2, 3)], r"expected the size b for axis 1 of x, found 3"),
        ("2*b", [(3,)], r"no integer 'b' gives the size 2\*b: dividing leaves 1"),
        ("b", [(0,)], r"'b' must be at least 1, found 0"),
        ("b", [(2, 3)], r"symbolic='b' has 1 sizes, and the argument is f32\[2,3\]"),
        ("b +", [(2,)], r"syntax error in symbolic shape 'b \+'"),
        ("b + n", [(2,)], r"dimension variables b, n do not follow from"),
        (("b", "b"), [(2,)], "symbolic"),
    ],
)
def test_sizes_that_do_not_fit_are_errors(symbolic, args, message):
    with pytest.raises(ValueError, match=message):
        jit(lambda x: x, symbolic=symbolic)(*[ones(*shape) for shape in args])


def test_symbolic_is_a_text_or_a_sequence():
    with pytest.raises(TypeError, match=r"jit of `sin`: symbolic must be the text of a shape"):
        jit(jnp.sin, symbolic=3)


def test_effects_stay_in_order(capfd):
    def f(x):
        debug.print("first {}", x[0], ordered=True)
        return x

    glassjax.block_until_ready(jit(f, symbolic="b")(ones(2)))
    assert "first" in capfd.readouterr().out
