"""Operations on arrays with symbolic sizes: one program gives what the function itself gives.

Each is traced once with symbolic sizes. At several sizes its text with numbers put in (`jit` with
`symbolic`) and its portable, dynamic form (`export`) are compared with the function.
"""

import functools
import pickle

import jax
import numpy as np
import pytest

import glassjax
import glassjax.numpy as jnp
from glassjax import export, lax, nn, random, vmap
from glassjax.experimental.xla_metadata import set_xla_metadata
from glassjax.ops import segment_max, segment_sum
from glassjax.scipy.linalg import toeplitz

SIZES = {"a": 4, "b": 3}, {"a": 5, "b": 2}, {"a": 1, "b": 1}


def conv(x, kernel, padding, stride=2):
    return lax.conv_general_dilated(x, kernel, (stride, stride), padding)


def pool(x, init, reduce, padding):
    return lax.reduce_window(x, init, reduce, (1, 2, 2, 1), (1, 2, 2, 1), padding)


IMAGE, KERNEL, NHWC = "a, 3, b + 2, b + 2", "4, 3, 2, 2", "a, b + 3, b + 3, 3"
INDEX = "int32"

# name: function, shapes of its arguments, and their dtypes where they are not float32
OPERATIONS = {
    # elementwise
    "sin": (lambda x: jnp.sin(x) * 2.0 + x, ["a, 3"]),
    "special": (lambda x: lax.erf(x) + lax.lgamma(x) + lax.digamma(x), ["a"]),
    "where": (lambda x: jnp.where(x > 0, x, 0), ["a, b"]),
    "clip": (lambda x: jnp.clip(x, -1, 1), ["a, b"]),
    "outer": (lambda x: jnp.outer(x, x) + jnp.full((x.shape[0],) * 2, 2.0), ["a"]),
    "value of a size": (lambda x: x * x.shape[0] + jnp.array(x.shape[1] + 1), ["a, b"]),
    "softmax": (nn.softmax, ["a, b"]),
    "one_hot": (lambda i, x: nn.one_hot(i, x.shape[0]), ["a", "b"], [INDEX, "float32"]),
    # reductions
    "sum": (lambda x: x.sum(0), ["a, 3"]),
    "mean": (jnp.mean, ["a, 3"]),
    "var": (lambda x: jnp.var(x, axis=0), ["a, b"]),
    "norm": (lambda x: jnp.linalg.norm(x, axis=0), ["a, b"]),
    "argmax": (lambda x: jnp.argmax(x, 0), ["a, 3"]),
    "cumsum": (lambda x: jnp.cumsum(x, 0), ["a, 3"]),
    "cummax": (lambda x: lax.cummax(x, 0), ["a, 3"]),
    "associative_scan": (lambda x: lax.associative_scan(jnp.multiply, x, axis=1), ["a, b"]),
    "reverse scan": (lambda x: lax.associative_scan(jnp.add, x, reverse=True), ["a"]),
    "segments": (lambda x: segment_sum(x, jnp.arange(x.shape[0]) // 2, 2), ["a, 3"]),
    "buckets": (
        lambda x: segment_max(x, jnp.arange(x.shape[0]) // 2, x.shape[1], bucket_size=2),
        ["a, b"],
    ),
    "reduce_window": (
        lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 1), (1, 1), ((x.shape[0] - 1, 0), (0, 0))),
        ["a, 3"],
    ),
    "max pooling": (lambda x: pool(x, -np.inf, lax.max, "SAME"), [NHWC]),
    "average pooling": (lambda x: pool(x, 0.0, lax.add, "VALID"), [NHWC]),
    # sorting
    "sort": (lambda x: jnp.sort(x, 0), ["a, 3"]),
    "argsort": (lambda x: jnp.argsort(x, 0), ["a, 3"]),
    "top_k": (lambda x: lax.top_k(x, 2), ["a, 3"]),
    "top_k of a size": (lambda x: lax.top_k(x, x.shape[1]), ["a, b"]),
    "median": (lambda x: jnp.median(x, axis=0), ["a, b"]),
    "searchsorted": (lambda x: jnp.searchsorted(jnp.arange(4.0), x), ["a"]),
    # shapes
    "reshape": (lambda x: jnp.reshape(x, -1) * 2, ["a, 3"]),
    "reshape to columns": (lambda x: jnp.reshape(x, (3, -1)), ["a, 3"]),
    "concatenate": (
        lambda x, y: jnp.concatenate([x + jnp.arange(x.shape[0]), y])[1:],
        ["a", "2*b"],
    ),
    "stack": (lambda x: jnp.stack([x, 2 * x], 1), ["a, b"]),
    "transpose": (lambda x: x.T, ["a, b"]),
    "flip": (jnp.flip, ["a, b"]),
    "roll": (lambda x: jnp.roll(x, 1, axis=0), ["a, b"]),
    "tile": (lambda x: jnp.tile(x, (2, x.shape[1])), ["a, b"]),
    "repeat": (lambda x: jnp.repeat(x, 2, axis=0), ["a, b"]),
    "repeat to a length": (lambda x: jnp.repeat(x, 2, 1, total_repeat_length=5), ["a, b"]),
    "repeat to a symbolic length": (
        lambda x: jnp.repeat(x, np.array([3]), total_repeat_length=4 * x.shape[0]),
        ["a"],
    ),
    "repeat as often as an axis is long": (
        lambda x: jnp.repeat(x, x.shape[1], 0, total_repeat_length=7),
        ["a, b"],
    ),
    "ragged_dot": (lax.ragged_dot, ["b, 2", "a, 2, 3", "a"], ["float32", "float32", INDEX]),
    "split": (lambda x: jnp.split(x, 3, axis=1), ["a, 3"]),
    "broadcast_to": (lambda x: jnp.broadcast_to(x, (2, *x.shape)), ["a, b"]),
    "pad": (lambda x: jnp.pad(x, ((1, 2), (x.shape[1], x.shape[0]))), ["a, b"]),
    "edge": (lambda x: jnp.pad(x, ((1, 2), (x.shape[0], 3)), "edge"), ["a, b"]),
    "wrap": (lambda x: jnp.pad(x, ((1, 2), (x.shape[0], 3)), "wrap"), ["a, b"]),
    "reflect": (lambda x: jnp.pad(x, (7, x.shape[0]), "reflect"), ["a"]),
    "symmetric": (lambda x: jnp.pad(x, (x.shape[0] + 2, 8), "symmetric"), ["a"]),
    "split at a size": (lambda x: jnp.split(x, [2, x.shape[0]]), ["a"]),
    "linspace": (lambda x: jnp.linspace(0, 1, x.shape[0] + 1)[1:] + x, ["a"]),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, 0), ["a, 3"]),
    "unrolled scan": (
        lambda x: lax.scan(lambda c, y: (c + y, c * y), jnp.zeros(3), x, unroll=2),
        ["2*a, 3"],
    ),
    "interp": (lambda x: jnp.interp(x, jnp.arange(4.0), jnp.arange(4.0)), ["a"]),
    "resize": (lambda x: glassjax.image.resize(x, (x.shape[0], 6), "linear"), ["a, 3"]),
    "nearest": (lambda x: glassjax.image.resize(x, (6, 2 * x.shape[1]), "nearest"), ["a, b"]),
    "insert": (lambda x: jnp.insert(x, 1, 9.0, axis=0), ["a, 3"]),
    "a size": (lambda x: x.shape[0] + 1, ["a"]),
    "eye": (lambda x: jnp.eye(x.shape[0]) + x, ["a, a"]),
    "tril": (jnp.tril, ["a, a"]),
    "arange": (lambda x: jnp.arange(x.shape[0]) + x, ["a"]),
    # indexing
    "last": (lambda x: x[-1] + x[0], ["a, 3"]),
    "steps": (
        lambda x: [x[::2], x[1::2], x[2::3], x[1:5:2], x[1:-1:2], x[::-2], x.at[1::2].set(0.0)],
        ["b, a"],
    ),
    "slice of a size": (lambda x: x[: x.shape[0] - 1, 1:], ["a, b"]),
    "dynamic_slice": (
        lambda x, i: lax.dynamic_slice(x, (i, jnp.zeros_like(i)), (x.shape[0] - 1, 2)),
        ["a, 3", ""],
        ["float32", INDEX],
    ),
    "dynamic_update_slice": (
        lambda x, y: lax.dynamic_update_slice(x, y, (1, 0)),
        ["a + 1, 3", "2, 3"],
    ),
    "gather": (lambda x, i: x[i], ["a, 3", "b"], ["float32", INDEX]),
    "gather of the last": (
        lambda x, i: [x[i, -1], x.at[i, -1].set(0.0)],
        ["a, b", "2"],
        ["float32", INDEX],
    ),
    "gather columns": (
        lambda x, i: jnp.take(x, i, axis=1),
        ["a, 3", "b"],
        ["float32", INDEX],
    ),
    "scatter": (lambda x, i: x.at[i].add(1.0), ["a, 3", "b"], ["float32", INDEX]),
    "set": (lambda x: x.at[0].set(1.0), ["a, 3"]),
    # products
    "matmul": (jnp.matmul, ["a, b", "b, a"]),
    "einsum": (functools.partial(jnp.einsum, "ijk,ikl->ijl"), ["a, 3, b", "a, b, 2"]),
    "convolution": (lambda x, k: conv(x, k, "VALID", 1), [IMAGE, KERNEL]),
    "padded convolution": (lambda x, k: conv(x, k, "SAME"), [IMAGE, KERNEL]),
    "fft": (jnp.fft.fft, ["a, 8"], ["complex64"]),
    "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.mT + jnp.eye(3)), ["a, 3, 3"]),
    "qr": (lambda x: jnp.abs(jnp.linalg.qr(x)[1]), ["a, 3, 3"]),
    "qr of a size": (lambda x: tuple(jnp.linalg.qr(x)), ["a, b"]),
    "complete qr": (lambda x: tuple(jnp.linalg.qr(x, mode="complete")), ["a, b"]),
    "lu": (lax.linalg.lu, ["a, b"]),
    "det": (jnp.linalg.det, ["a, a"]),
    "lstsq": (lambda x: jnp.linalg.lstsq(x, x[:, 0])[0], ["a, 3"]),
    "pinv": (jnp.linalg.pinv, ["a, b"]),
    "matrix_rank": (jnp.linalg.matrix_rank, ["a, b"]),
    "toeplitz": (toeplitz, ["a"]),
    "vander": (jnp.vander, ["a"]),
    "convolve": (lambda x: jnp.convolve(x[0], x[:, 0]), ["a, b"]),
    "eigvalsh": (lambda x: jnp.linalg.eigvalsh(x @ x.mT), ["a, 3, 3"]),
    "singular values": (lambda x: jnp.linalg.svd(x, compute_uv=False), ["a, 3, 2"]),
    "solve": (lambda x: jnp.linalg.solve(x @ x.mT + jnp.eye(3), x), ["a, 3, 3"]),
    "inv": (lambda x: jnp.linalg.inv(x @ x.mT + jnp.eye(3)), ["a, 3, 3"]),
    # control flow
    "fori_loop": (
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + jnp.ones_like(c) * i, x),
        ["a, 3"],
    ),
    "while_loop": (
        lambda x: lax.while_loop(lambda c: jnp.sum(c) < 100, lambda c: c + jnp.ones_like(c), x),
        ["a, 3"],
    ),
    "scan": (
        lambda x: lax.scan(lambda c, y: (c + y, c * y), jnp.zeros(3), x),
        ["a, 3"],
    ),
    "scan of the rest": (lambda x: lax.scan(lambda c, y: (c * y, c), x[0], x[1:]), ["a, 3"]),
    "map": (lambda x: lax.map(lambda y: y * 2, x), ["a, 3"]),
    "cond": (
        lambda x: lax.cond(x[0, 0] > 0, lambda x: x * 2, jnp.zeros_like, x),
        ["a, 3"],
    ),
    # random numbers
    "normal": (lambda x: random.normal(random.key(0), x.shape) + x, ["a, 3"]),
    "uniform": (lambda x: random.uniform(random.key(0), x.shape) + x, ["a, b"]),
    "gamma": (lambda x: random.gamma(random.key(0), jnp.abs(x) + 1), ["a"]),
    "keys": (lambda x: vmap(random.uniform)(random.split(random.key(0), x.shape[0])), ["a"]),
    "permutation": (lambda x: random.permutation(random.key(0), x), ["a, 3"]),
    "sample": (lambda x: random.choice(random.key(0), x, (1,), replace=False), ["a"]),
    "bits of XLA": (
        lambda x: random.bits(random.key(0, impl="rbg"), x.shape),
        ["a, b"],
    ),
    # bits and metadata
    "parts of numbers": (lambda x: lax.bitcast_convert_type(x, "uint8"), ["a"]),
    "numbers of parts": (lambda x: lax.bitcast_convert_type(x, "float32"), ["a, 2"], ["uint16"]),
    "metadata": (lambda x: jnp.cos(set_xla_metadata(jnp.sin(x), stage="1")), ["a"]),
    # transformations
    "grad": (glassjax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2)), ["a, b"]),
    "jacfwd": (glassjax.jacfwd(lambda x: jnp.sin(x) * x.sum()), ["a"]),
    "jacrev": (glassjax.jacrev(lambda x: jnp.sin(x) * x.sum()), ["a, 3"]),
    "hessian": (glassjax.hessian(lambda x: jnp.sin(x).sum() ** 2), ["a, b"]),
    "vmap": (vmap(lambda y: jnp.sum(y) * y), ["a, b"]),
    "grad of scan": (
        glassjax.grad(
            lambda x: lax.scan(lambda c, y: (jnp.sin(c * y), c * y), jnp.ones(3), x)[1].sum()
        ),
        ["a, 3"],
    ),
    "grad of convolution": (
        glassjax.grad(lambda x, k: conv(x, k, "SAME").sum(), argnums=(0, 1)),
        [IMAGE, KERNEL],
    ),
    "grad of pooling": (glassjax.grad(lambda x: pool(x, -np.inf, lax.max, "VALID").sum()), [NHWC]),
}


def array_of(shape, dtype):
    rng = np.random.default_rng(sum(shape))
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 2, shape).astype(dtype)
    return (3 * rng.normal(size=shape)).astype(dtype)


@pytest.mark.parametrize("name", OPERATIONS)
def test_one_program_serves_all_sizes(name):
    f, shapes, *dtypes = OPERATIONS[name]
    dtypes = dtypes[0] if dtypes else ["float32"] * len(shapes)
    scope = export.SymbolicScope()
    types = [
        glassjax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), dtype)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]
    general = glassjax.jit(lambda *args: f(*args), symbolic=tuple(shapes))
    exported = export.deserialize(export.export(glassjax.jit(f))(*types).serialize())
    for sizes in SIZES:
        args = [
            array_of([eval(size, dict(sizes)) for size in shape.split(",") if size], dtype)
            for shape, dtype in zip(shapes, dtypes, strict=True)
        ]
        expected = glassjax.tree.leaves(glassjax.jit(f)(*args))
        for program in (general, exported.call):
            found = glassjax.tree.leaves(program(*args))
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=2e-4, atol=1e-5)


def test_a_transform_along_a_symbolic_axis_is_not_exported():
    """JAX refuses the same."""
    x = glassjax.ShapeDtypeStruct(export.symbolic_shape("a, b"), "float32")
    with pytest.raises(NotImplementedError, match="fft needs a number where the size is b"):
        export.export(glassjax.jit(jnp.fft.fft))(x)


def test_a_transform_along_a_symbolic_axis_is_compiled_for_each_size():
    transform = glassjax.jit(jnp.fft.fft, symbolic="a, b")
    for shape in ((2, 3), (4, 8)):
        x = array_of(shape, "float32")
        np.testing.assert_allclose(transform(x), np.fft.fft(x), rtol=1e-4, atol=1e-4)


def test_a_permutation_is_sorted_as_often_as_its_size_asks_for():
    types = glassjax.ShapeDtypeStruct(export.symbolic_shape("a"), "float32")
    shuffled = export.export(glassjax.jit(lambda x: random.permutation(random.key(3), x.shape[0])))(
        types
    )
    for size in (1, 2, 1625, 1626, 3000):
        expected = jax.random.permutation(jax.random.key(3), size)
        np.testing.assert_array_equal(shuffled.call(np.zeros(size, np.float32)), expected)


def test_the_number_of_results_must_be_an_int():
    """JAX refuses the same."""
    x = glassjax.ShapeDtypeStruct(export.symbolic_shape("a"), "float32")
    with pytest.raises(ValueError, match="must not depend on symbolic sizes, found a"):
        glassjax.eval_shape(lambda x: jnp.split(x, x.shape[0]), x)


def halves(x):
    return x.reshape(2, -1) if x.shape[0] >= 4 else x


def test_constraints_of_jit_decide_and_are_checked():
    constraints = ["a >= 4", "mod(a, 2) == 0"]
    f = glassjax.jit(halves, symbolic="a", symbolic_constraints=constraints)
    for g in (f, pickle.loads(pickle.dumps(f))):
        assert g(jnp.zeros(8)).shape == (2, 4)
        with pytest.raises(ValueError, match=r"constraint 'a >= 4' does not hold"):
            g(jnp.zeros(2))
    with pytest.raises(ValueError, match="unsatisfiable"):
        glassjax.jit(halves, symbolic="a", symbolic_constraints=["a >= 4", "a <= 3"])
    with pytest.raises(ValueError, match="give both"):
        glassjax.jit(halves, symbolic_constraints=["a >= 4"])
