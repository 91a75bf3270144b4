"""Sharding never changes a result: any program, any sharding, any transformation."""

from contextlib import nullcontext

import numpy as np
import pytest
from eight_devices import CAN_READ
from hypothesis import assume, given
from hypothesis import strategies as st
from shares import examples

import glassjax
from glassjax import lax, nn, random
from glassjax import numpy as jnp
from glassjax.errors import ShardingTypeError
from glassjax.sharding import AxisType

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")

MESHES = {(8,): "x", (4, 2): "xy", (2, 2): "xy", (2, 2, 2): "xyz", (1, 8): "xy"}
RNG = np.random.default_rng(0)
ARGUMENTS = tuple(RNG.normal(size=(8, 8)).astype(np.float32) for _ in range(2))
INDICES = np.array([3, 1, 7, 0, 3], np.int32)


def solved(x, y):
    return jnp.linalg.solve(x @ x.T + 20 * jnp.eye(8), y)


PROGRAMS = {
    "elementwise": lambda x, y: jnp.sin(x) * jnp.where(y > 0, y, 2 * x),
    "broadcast": lambda x, y: x[:, None, :] + y[None, :, :1],
    "matmul": lambda x, y: jnp.tanh(x @ y) @ x.T,
    "einsum": lambda x, y: jnp.einsum("ij,kj,ki->ik", x, y, x),
    "reductions": lambda x, y: x.sum(0) + y.max(1) - jnp.prod(y, 0) + x.argmax(1),
    "mean and var": lambda x, y: (x - y.mean(1, keepdims=True)) / (1 + y.var(0)),
    "softmax": lambda x, y: nn.softmax(x @ y, axis=0) + nn.logsumexp(y, axis=1),
    "cumulative": lambda x, y: jnp.cumsum(x, 0) * jnp.cumsum(y, 1)[::-1],
    "sort": lambda x, y: jnp.sort(x, 0) + jnp.argsort(y, 1),
    "top": lambda x, y: lax.top_k(x, 3)[0] + y[:, :3],
    "reshape": lambda x, y: x.reshape(2, 4, 8).swapaxes(0, 1).reshape(4, 16) + y.reshape(4, 16),
    "concatenate": lambda x, y: jnp.concatenate([x[:3], y[2:5], x], 0)[1::2],
    "pad": lambda x, y: jnp.pad(x, ((1, 2), (0, 3))).sum(0) + jnp.roll(y, 3, 1)[0, 0],
    "gather": lambda x, y: x[INDICES] * y[:5, INDICES[::-1]].sum(),
    "take along": lambda x, y: jnp.take_along_axis(x, jnp.argsort(y, 0), 0),
    "scatter": lambda x, y: x.at[INDICES].add(y[:5]).at[:, 2].set(1.0),
    "scatter of maxima": lambda x, y: x.at[INDICES, INDICES].max(y[0, :5]),
    "slice": lambda x, y: lax.dynamic_slice(x, (3, 1), (4, 5)) + y[2:6, 3:8],
    "update": lambda x, y: lax.dynamic_update_slice(x, y[:3, :2], (5, 6)),
    "triangle": lambda x, y: jnp.tril(x) + jnp.triu(y, 1) + jnp.diag(x.diagonal()),
    "convolution": lambda x, y: lax.conv(x[None, None], y[None, None, :3, :3], (1, 1), "SAME"),
    "fft": lambda x, y: (
        jnp.abs(jnp.fft.fft(x, axis=1)) + jnp.fft.irfft(jnp.fft.rfft(y, axis=0), axis=0)
    ),
    "solve": solved,
    "cholesky": lambda x, y: jnp.linalg.cholesky(x @ x.T + 20 * jnp.eye(8)) * y,
    "eigenvalues": lambda x, y: jnp.linalg.eigvalsh(x + x.T) + y,
    "scan": lambda x, y: lax.scan(lambda c, a: (jnp.tanh(c @ x + a), c.sum()), x[0], y)[0],
    "scan of results": lambda x, y: lax.scan(lambda c, a: (c + a, c * a), y[0], x)[1],
    "fori": lambda x, y: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + y[i], x),
    "while": lambda x, y: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * y), (0, x)
    )[1],
    "cond": lambda x, y: lax.cond(x.sum() > 0, lambda a, b: a @ b, lambda a, b: a - b, x, y),
    "map": lambda x, y: lax.map(lambda row: jnp.outer(row, row).sum(0), x + y),
    "checkpoint": lambda x, y: glassjax.checkpoint(lambda a: jnp.sin(a @ y))(x),
    "associative": lambda x, y: lax.associative_scan(jnp.maximum, x) + y,
    "random": lambda x, y: (
        x * random.normal(random.key(0), (8, 8)) + random.permutation(random.key(1), y)
    ),
    "dropout": lambda x, y: jnp.where(random.bernoulli(random.key(3), 0.5, x.shape), x, y),
    "integers": lambda x, y: (x * 8).astype(jnp.int8) // 3 + jnp.clip(y, -1, 1).astype(jnp.int8),
    "a number": lambda x, y: x[0, 0] * y.sum() + jnp.linalg.norm(x),
    "median": lambda x, y: jnp.median(x, 0) + jnp.quantile(y, 0.3, axis=1),
    "histogram": lambda x, y: jnp.histogram(x, 5, (-2, 2))[0] + jnp.bincount(INDICES, length=5),
    "searchsorted": lambda x, y: jnp.searchsorted(jnp.sort(x[0]), y),
    "unique": lambda x, y: jnp.unique(jnp.round(x), size=9, fill_value=0.0)[:8] + y,
    "norm": lambda x, y: nn.standardize(x) @ nn.relu(y) + nn.one_hot(INDICES, 8).sum(0),
    "attention": lambda x, y: nn.dot_product_attention(
        x.reshape(1, 8, 2, 4), y.reshape(1, 8, 2, 4), x.reshape(1, 8, 2, 4)
    ),
}
# Those whose slopes are not finite everywhere, or which have none.
WITHOUT_SLOPE = {"while", "histogram", "unique", "searchsorted", "integers", "eigenvalues"}


def loss(f):
    return lambda x, y: sum((leaf**2).sum() for leaf in glassjax.tree.leaves(f(x, y)))


TRANSFORMED = {
    "itself": lambda f: f,
    "jit": glassjax.jit,
    "grad": lambda f: glassjax.grad(loss(f), (0, 1)),
    "jit of grad": lambda f: glassjax.jit(glassjax.grad(loss(f), (0, 1))),
    "grad of jit": lambda f: glassjax.grad(loss(glassjax.jit(f)), (0, 1)),
    "jvp": lambda f: lambda x, y: glassjax.jvp(f, (x, y), (y, x)),
    "vmap": lambda f: lambda x, y: glassjax.vmap(f, (None, 0))(x, jnp.stack([y, 2 * y])),
    "jit of vmap": lambda f: glassjax.jit(
        glassjax.vmap(lambda a, b: f(a * b, b), (None, None), axis_size=2)
    ),
    "checkpoint": lambda f: glassjax.jit(glassjax.grad(loss(glassjax.checkpoint(f)), (0, 1))),
}


@st.composite
def divisions(draw, axis_type):
    """Shardings of both arguments, None for one that lies anywhere."""
    shape = draw(st.sampled_from(sorted(MESHES)))
    count = int(np.prod(shape))
    devices = glassjax.devices()[8 - count :]
    mesh = glassjax.make_mesh(
        shape, tuple(MESHES[shape]), (axis_type,) * len(shape), devices=devices
    )
    found = []
    for _ in ARGUMENTS:
        axes = draw(st.permutations(mesh.axis_names))
        cut, end = sorted(draw(st.tuples(*[st.integers(0, len(axes))] * 2)))
        spec = glassjax.P(tuple(axes[:cut]), tuple(axes[cut:end]))
        is_free = draw(st.integers(0, 4)) == 0
        found.append(None if is_free else glassjax.NamedSharding(mesh, spec))
    return found


_whole = {}


def programs_on(axis_type):
    """Decorate a test: draw divisions along axes of this type, a program and a transformation."""
    names = (st.sampled_from(sorted(table)) for table in (PROGRAMS, TRANSFORMED))
    return given(divisions(axis_type), *names)


@examples(8, at_night=80)
@programs_on(AxisType.Auto)
def test_any_program_gives_the_same_numbers(shardings, name, transformation):
    assert_same_numbers(shardings, name, transformation)


@examples(8, at_night=80)
@programs_on(AxisType.Explicit)
def test_types_say_how_results_lie(shardings, name, transformation):
    """A program whose types say how arrays are divided is refused, or gives the same numbers."""
    assume(name != "fft")  # XLA's for CPUs rejects some layouts that its partitioner makes
    meshes = [sharding.mesh for sharding in shardings if sharding is not None]
    with glassjax.set_mesh(meshes[0]) if meshes else nullcontext():
        try:
            found = assert_same_numbers(shardings, name, transformation)
        except ShardingTypeError:
            return
    for x in [x for x in found if isinstance(x.sharding, glassjax.NamedSharding)]:
        mesh = x.sharding.mesh
        said = glassjax.NamedSharding(mesh, glassjax.typeof(x).sharding.spec)
        assert mesh.auto_axes or said.is_equivalent_to(x.sharding, x.ndim)


def assert_same_numbers(shardings, name, transformation):
    """The results of a program of divided arrays, which are those of whole arrays."""
    if name in WITHOUT_SLOPE and (
        "grad" in transformation or transformation in ("jvp", "checkpoint")
    ):
        transformation = "jit"
    f = TRANSFORMED[transformation](PROGRAMS[name])
    if (name, transformation) not in _whole:
        _whole[name, transformation] = glassjax.tree.leaves(f(*map(jnp.asarray, ARGUMENTS)))
    args = [
        jnp.asarray(x) if sharding is None else glassjax.device_put(x, sharding)
        for x, sharding in zip(ARGUMENTS, shardings, strict=True)
    ]
    found = glassjax.tree.leaves(f(*args))
    for a, b in zip(found, _whole[name, transformation], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)
    return found
