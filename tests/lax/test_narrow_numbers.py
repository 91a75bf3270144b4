"""Arrays of numbers narrower than a byte: the same numbers in 32 bits are the law, JAX the oracle.

XLA's compiler for CPUs is wrong about some programs of such numbers, and so is JAX there; the law
covers these, too.
"""

import pickle

import jax
import jax.numpy
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

import glassjax
import glassjax.numpy as gnp
from glassjax import export, lax

INTEGERS = ["int2", "uint2", "int4", "uint4"]
NARROW = [*INTEGERS, "float4_e2m1fn"]
HALVES = [0, 0.5, 1, 1.5, 2, 3, 4, 6]  # the numbers of float4_e2m1fn, and their negatives

for_integers = pytest.mark.parametrize("name", INTEGERS)
for_each = pytest.mark.parametrize("name", NARROW)


def numbers_of(name):
    """All numbers of a dtype."""
    if name not in INTEGERS:
        return [*HALVES, *(-x for x in HALVES[1:])]
    limits = ml_dtypes.iinfo(name)
    return range(limits.min, limits.max + 1)


def wide(name):
    return np.dtype("float32") if name not in INTEGERS else np.dtype("int32")


def drawn(name, shape, seed=0):
    """Numbers in 32 bits that a dtype holds."""
    return np.random.default_rng(seed).choice(numbers_of(name), shape).astype(wide(name))


def as_wide(x, name):
    """Results as numpy arrays, those of the narrow dtype in 32 bits."""
    x = np.asarray(x)
    return x.astype(name).astype(wide(name)) if x.dtype in (np.dtype(name), wide(name)) else x


def assert_same(ours, expected, name):
    for x, y in zip(*map(glassjax.tree.leaves, (ours, expected)), strict=True):
        np.testing.assert_array_equal(as_wide(x, name), as_wide(y, name))


def nonzero(x):
    return gnp.where(x == 0, gnp.ones_like(x), x)


CONTRACTING_LAST = (((1,), (1,)), ((), ()))
PLACES = np.array([2, 0, 1, 7, -1])

ARITHMETIC = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: -x,
    lambda x, y: x * x * y + x,
    lambda x, y: x**3,
    lambda x, y: lax.dot_general(x, y, CONTRACTING_LAST),
    lambda x, y: lax.fori_loop(0, 3, lambda i, total: total + y, x),
    lambda x, y: lax.scan(lambda total, row: (total + row, total), x[0], y),
    lambda x, y: lax.associative_scan(lax.add, x),
    lambda x, y: gnp.cumsum(x, 0, dtype=x.dtype),
    lambda x, y: lax.cumprod(x),
    lambda x, y: gnp.sum(x, 0, dtype=x.dtype),
    lambda x, y: gnp.prod(x, 1, dtype=x.dtype),
    lambda x, y: x.at[PLACES].add(y[PLACES]),
    lambda x, y: lax.reduce_window(x, x.dtype.type(0), lax.add, (2, 2), (1, 1), "VALID"),
    lambda x, y: glassjax.ops.segment_sum(x, np.arange(9) % 2, 2),
    lambda x, y: lax.conv(x.reshape(1, 1, 72, 1), y[:1, :3].reshape(1, 1, 3, 1), (1, 1), "SAME"),
]

BITS = [
    lambda x, y: (x & y, x | y, x ^ y, ~x),
    lambda x, y: (x // nonzero(y), x % nonzero(y), lax.rem(x, nonzero(y))),
    lambda x, y: x << (y & gnp.ones_like(y)),
    lambda x, y: x >> (y & gnp.ones_like(y)),
    lambda x, y: (lax.reduce_and(x, (0,)), lax.reduce_or(x, (1,)), lax.reduce_xor(x, (0,))),
]

# Results are numbers that the operands hold.
ORDER = [
    lambda x, y: (x < y, x == y, x >= y),
    lambda x, y: (gnp.maximum(x, y), gnp.minimum(x, y), gnp.where(x > y, x, y)),
    lambda x, y: gnp.sign(x),
    lambda x, y: (x.max(0), y.min(1), gnp.maximum(x.max(0), y[0])),
    lambda x, y: (gnp.argmax(x, 1), gnp.argmin(y), gnp.any(x, 0)),
    lambda x, y: (lax.cummax(x), gnp.nonzero(x, size=5)),
    lambda x, y: (gnp.sort(x), gnp.sort(y, 0), gnp.argsort(x)),
    lambda x, y: lax.sort((x, y), num_keys=2),
    lambda x, y: lax.sort((y.astype("int32"), x), num_keys=1),
    lambda x, y: lax.top_k(x, 3),
    lambda x, y: gnp.unique(x, size=4),
    lambda x, y: gnp.isin(x, y[0]),
    lambda x, y: gnp.searchsorted(gnp.sort(x.ravel()), y[0]),
]

MOVING = [
    lambda x, y: (gnp.concatenate([x, y]), gnp.concatenate([x, y], 1), gnp.stack([x, y], -1)),
    lambda x, y: (gnp.pad(x, 1), x[::-1], x[1:4, ::2], x.T, x.reshape(-1), gnp.roll(x, 1, 0)),
    lambda x, y: (x[PLACES], gnp.take(x, PLACES, 1)),
    lambda x, y: (x.at[1].set(y[0]), x.at[PLACES].max(y[PLACES]), x.at[0].min(y[1])),
    lambda x, y: lax.dynamic_update_slice(x, lax.dynamic_slice(y, (1, 2), (3, 4)), (2, 0)),
    lambda x, y: (gnp.repeat(x, 2, 0), gnp.tile(y, 2), gnp.split(x, [2])),
    lambda x, y: lax.cond(x[0, 0] > 0, lambda: x, lambda: y),
    lambda x, y: lax.optimization_barrier(x),
    lambda x, y: lax.map(lambda row: row[::-1], x),
]

WIDENING = [
    lambda x, y: x.astype("float32") @ y.astype("float32").T,
    lambda x, y: lax.dot_general(x, y, CONTRACTING_LAST, preferred_element_type=np.float32),
    lambda x, y: gnp.einsum("ij,ij->i", x, y, preferred_element_type=np.float32),
    lambda x, y: (x.astype("bool"), x.astype("int8"), x.astype("bfloat16"), x.astype("complex64")),
]


def check(f, name):
    """`f` of narrow numbers is `f` of wide ones, narrowed: alone, and in a larger program."""
    x, y = drawn(name, (9, 8)), drawn(name, (9, 8), 1)
    expected = f(gnp.asarray(x), gnp.asarray(y))
    narrow = gnp.asarray(x.astype(name)), gnp.asarray(y.astype(name))
    assert_same(f(*narrow), expected, name)
    fused = glassjax.jit(lambda x, y: f(lax.neg(-x), y + gnp.zeros_like(y)))
    assert_same(fused(*narrow), expected, name)


@for_each
@pytest.mark.parametrize("number", range(len(ORDER)))
def test_order(name, number):
    check(ORDER[number], name)


@for_each
@pytest.mark.parametrize("number", range(len(MOVING)))
def test_moving(name, number):
    check(MOVING[number], name)


@for_each
@pytest.mark.parametrize("number", range(len(WIDENING)))
def test_widening(name, number):
    check(WIDENING[number], name)


@for_integers
@pytest.mark.parametrize("number", range(len(ARITHMETIC)))
def test_arithmetic_wraps_around(name, number):
    check(ARITHMETIC[number], name)


@for_integers
@pytest.mark.parametrize("number", range(len(BITS)))
def test_bits(name, number):
    check(BITS[number], name)


@for_integers
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "float32"])
def test_arithmetic_wraps_around_before_it_is_widened(name, dtype):
    """XLA's compiler would multiply in 8 bits: 3 * 7 would be 21, not 5."""
    x = gnp.arange(16).astype(name)
    for f in (lambda x: -x, lambda x: x * x, lambda x: (x + x) * x):
        fused = glassjax.jit(lambda x, f=f: f(x).astype(dtype))(x)
        np.testing.assert_array_equal(fused, f(x).astype(dtype))


@for_each
def test_extremes_of_nothing(name):
    x = gnp.zeros((0, 2), name)
    for f in (lax.reduce_max, lax.reduce_min, lax.reduce_sum, lax.reduce_prod):
        theirs = getattr(jax.lax, f.__name__)
        np.testing.assert_array_equal(f(x, (0,)), theirs(jax.numpy.zeros((0, 2), name), (0,)))


# Beside JAX.


def texts(lib, name, values):
    """What an array of these values is like, in words."""
    jnp = lib.numpy
    x = jnp.asarray(values).astype(name)
    small = jnp.arange(3).astype(name)
    half = x.reshape(-1)[:8].view("uint8")
    return [
        *(repr(x), str(x), repr(x.tolist()), repr(np.asarray(x)), x.nbytes, x.itemsize),
        *(f"{x[0]}", repr(x[1:3]), repr(half), repr(half.view(name)), repr(x + 1)),
        *(str(lib.make_jaxpr(lambda x: x * x)(x)), repr(lib.device_put(np.asarray(x)))),
        *(repr(lib.vmap(lambda x: x + x)(x)), repr(lib.jit(lambda x: x.at[0].set(1))(x))),
        *(repr(x.astype(to)) for to in ("bool", "bfloat16", "float32")),
        *(repr(x.astype(to)) for to in ("int8", "int32", *INTEGERS) if name in INTEGERS),
        repr(lib.grad(lambda v: (v.astype(name).astype("float32") * v).sum())(small.astype(float))),
        repr(jnp.issubdtype(x.dtype, jnp.signedinteger)),
    ]


@for_each
@settings(max_examples=3, deadline=None)
@given(values=arrays(np.int32, 8))
def test_arrays_are_jaxs(name, values):
    assert texts(glassjax, name, values % 7) == texts(jax, name, values % 7)


@for_each
def test_arrays_are_kept(name):
    x = gnp.arange(6).astype(name)
    numbers = np.asarray(x)
    assert_same(pickle.loads(pickle.dumps(x)), numbers, name)
    exported = export.export(glassjax.jit(lambda x: x * x))(x)
    if "int2" in name:  # for which JAX's format has no name
        with pytest.raises(ValueError, match="the format has no name for the dtype of"):
            exported.serialize()
    else:
        assert_same(export.deserialize(exported.serialize()).call(x), x * x, name)
    mesh = glassjax.make_mesh((1,), ("i",))
    sharded = glassjax.device_put(x, glassjax.NamedSharding(mesh, glassjax.P("i")))
    assert_same(glassjax.jit(lambda x: x[::-1])(sharded), numbers[::-1], name)


@for_each
def test_derivatives_go_through_floats(name):
    x = gnp.arange(3).astype(name)

    def f(v):
        return ((v * x.astype("float32")) ** 2).sum()

    np.testing.assert_array_equal(glassjax.grad(f)(gnp.ones(3)), 2.0 * np.arange(3) ** 2)


@for_integers
def test_random_integers(name):
    limits = ml_dtypes.iinfo(name)
    x = glassjax.random.randint(glassjax.random.key(0), (400,), limits.min, limits.max + 1, name)
    theirs = jax.random.randint(jax.random.key(0), (400,), limits.min, limits.max + 1, name)
    np.testing.assert_array_equal(x, theirs)
    assert set(np.asarray(x).tolist()) == set(numbers_of(name))


REFUSED = [
    lambda lib, x: x + lib.numpy.float32(1),
    lambda lib, x: x + lib.numpy.bfloat16(1),
    lambda lib, x: np.from_dlpack(x) if x.dtype != "float4_e2m1fn" else memoryview(x),
    lambda lib, x: lib.numpy.array([100.5j]).astype(x.dtype).view("complex64"),
    lambda lib, x: (
        lib.random.uniform(lib.random.key(0), (2,), x.dtype)
        if "int" in str(x.dtype)
        else lib.random.randint(lib.random.key(0), (2,), 0, 2, x.dtype)
    ),
    lambda lib, x: x[:1].view("uint8"),
]


@for_each
@pytest.mark.parametrize("number", range(len(REFUSED)))
@pytest.mark.filterwarnings("ignore")
def test_refusals(name, number):
    for lib in (glassjax, jax):
        with pytest.raises((TypeError, ValueError, BufferError, RuntimeError)):
            REFUSED[number](lib, lib.numpy.arange(3).astype(name))


@pytest.mark.parametrize("name", ["int1", "uint1", "float6_e2m3fn"])
def test_there_are_no_arrays_of_other_widths(name):
    if hasattr(ml_dtypes, name):
        with pytest.raises(TypeError, match=f"no arrays of dtype {name}"):
            gnp.zeros(3, getattr(ml_dtypes, name))
