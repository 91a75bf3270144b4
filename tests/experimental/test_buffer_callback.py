"""`experimental.buffer_callback`, beside JAX."""

import jax
import jax.experimental.buffer_callback as theirs
import numpy as np
import pytest
from libraries import assert_close

import glassjax
import glassjax.experimental.buffer_callback as ours

X = np.arange(3, dtype=np.float32)
BOTH = pytest.mark.parametrize(("lib", "module"), [(jax, theirs), (glassjax, ours)])


def scale(ctx, out, x, factor):
    np.asarray(out)[...] = np.asarray(x) * np.asarray(factor)[..., None]


def scaled(lib, module, **options):
    return module.buffer_callback(scale, lib.ShapeDtypeStruct((3,), np.float32), **options)


@BOTH
@pytest.mark.parametrize("has_side_effect", [False, True])
def test_values(lib, module, has_side_effect):
    f = scaled(lib, module, has_side_effect=has_side_effect)
    for each in (f, lib.jit(f)):
        np.testing.assert_array_equal(each(X, np.float32(2)), 2 * X)


@BOTH
@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_mapped_calls(lib, module, method):
    f = scaled(lib, module, vmap_method=method)
    rows, factors = np.stack([X, X + 1]), np.array([2, 3], np.float32)
    np.testing.assert_array_equal(lib.vmap(f)(rows, factors), rows * factors[:, None])
    np.testing.assert_array_equal(lib.vmap(f, (0, None))(rows, factors[0]), 2 * rows)
    twice = lib.vmap(lib.vmap(f, (None, 0)), (0, None))(rows, factors)
    np.testing.assert_array_equal(twice, rows[:, None] * factors[:, None])
    with pytest.raises(NotImplementedError, match="vmap_method"):
        lib.vmap(scaled(lib, module))(rows, factors)


def seen_by(lib, module):
    seen = []

    def look(ctx, out, tree, *, y):
        seen.append((ctx.stage.name, out["a"].shape, out["a"].dtype, out["a"].writeable))
        seen.append((tree["u"].shape, tree["u"].ndim, y.dtype, y.writeable))
        for buffer in (out["a"], tree["u"]):
            assert np.from_dlpack(buffer).shape == buffer.shape
        with pytest.raises(RuntimeError):
            _ = ctx.stream
        np.asarray(out["a"]).fill(7)
        np.asarray(out["b"])[...] = np.asarray(y)

    types = {
        "a": lib.ShapeDtypeStruct((2, 2), np.int32), "b": lib.ShapeDtypeStruct((), np.float32)
    }  # fmt: skip
    out = module.buffer_callback(look, types)({"u": X}, y=np.float32(4))
    return seen, lib.tree.map(np.asarray, out)


def test_buffers_are_those_of_jax():
    (mine, found), (other, expected) = seen_by(glassjax, ours), seen_by(jax, theirs)
    assert mine == other
    assert_close(found, expected, 0, weak_types=False)
    assert [s.name for s in ours.ExecutionStage] == [
        "INSTANTIATE",
        "PREPARE",
        "INITIALIZE",
        "EXECUTE",
    ]
    assert repr(ours.Buffer(X)) == "Buffer(float32[3])"


@BOTH
def test_aliases(lib, module):
    def increase(ctx, out, x, y):
        np.asarray(out)[1:] += np.asarray(y)[1:]

    out = lib.ShapeDtypeStruct((3,), np.float32)
    f = module.buffer_callback(increase, out, input_output_aliases={0: 0})
    np.testing.assert_array_equal(lib.jit(f)(X, X), [0, 2, 4])
    for aliases in ({2: 0}, {0: 1}):
        with pytest.raises(ValueError, match="input_output_aliases"):
            module.buffer_callback(increase, out, input_output_aliases=aliases)(X, X)
    with pytest.raises(ValueError, match="input_output_aliases"):
        module.buffer_callback(increase, out, input_output_aliases={0: 0})(X[1:], X)


@BOTH
def test_what_is_refused(lib, module):
    with pytest.raises(ValueError, match="custom_jvp"):
        lib.grad(lambda x: scaled(lib, module)(x, np.float32(2)).sum())(X)
    out = lib.ShapeDtypeStruct((), np.float32)
    for wrong in (lambda ctx, out: 3, lambda ctx, out: 1 / 0):
        with pytest.raises(RuntimeError):
            lib.block_until_ready(module.buffer_callback(wrong, out)())


def test_only_functions_are_called():
    with pytest.raises(TypeError, match="buffer_callback"):
        ours.buffer_callback(3, ())
