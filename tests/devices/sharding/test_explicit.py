"""Sharding in types: meshes with `Explicit` axes, beside JAX.

Where JAX gives a result, ours has the same numbers and the same type. Where JAX refuses, since the
division of the result is open to it, we refuse, too, or the numbers are those of whole arrays.
"""

import functools
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from eight_devices import CAN_READ, at_once, attempt
from shares import IS_NIGHT

import glassjax
from glassjax.errors import ShardingTypeError

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")

NUMBERS = np.random.default_rng(0).normal(size=(8, 8, 8, 8)).astype(np.float32)


@functools.cache
def names(lib, divides=True):
    """What the programs are written in; the arrays are whole if they are not to be divided."""
    mesh = lib.make_mesh((2, 2, 2), ("x", "y", "z"))
    spec_of = lib.sharding.PartitionSpec

    def put(numbers, *spec):
        if not divides:
            return lib.numpy.asarray(numbers)
        return lib.device_put(numbers, lib.sharding.NamedSharding(mesh, spec_of(*spec)))

    def array(shape, *spec):
        return put(NUMBERS.ravel()[: np.prod(shape, dtype=int)].reshape(shape), *spec)

    return SimpleNamespace(
        lib=lib,
        jnp=lib.numpy,
        lax=lib.lax,
        nn=lib.nn,
        random=lib.random,
        sharding=lib.sharding,
        P=spec_of,
        mesh=mesh,
        put=put,
        A=array,
        x=array((8, 8), "x"),
        y=array((8, 8), "y"),
        xy=array((8, 8), "x", "y"),
        w=array((8, 8), None, "y"),
        c=array((8, 8), None, "x"),
        r=array((8, 8)),
        n=lib.numpy.ones((8, 8)),
        indices=put(np.array([3, 1, 2, 0], np.int32), "z"),
        np=np,
    )


PROGRAMS = """
xy
n
jnp.sin(xy)
xy + x
xy + c
x + r
x + n
x + 1.0
x + np.ones((8, 8), np.float32)
x + x[:, :1]
jnp.where(x > 0, x, 0.0)
jnp.clip(xy, 0, 1)
lax.clamp(np.float32(0), xy, x)
lax.select_n(x > 0, x, -x)
x.astype(int)
lax.bitcast_convert_type(x, jnp.int32)
lax.reduce_precision(x, 5, 10)
xy.sum(0)
xy.sum()
xy.max(1)
jnp.argmax(xy, 0)
xy.var(0), x.std(1), x.mean(0)
jnp.linalg.norm(xy), jnp.linalg.norm(x, axis=1)
xy.T
jnp.swapaxes(x, 0, 1)
jnp.cumsum(x, 1)
jnp.cumsum(x, 0)
lax.cumlogsumexp(x, axis=1)
jnp.sort(x, 1)
jnp.sort(x, 0)
jnp.argsort(x, axis=1)
jnp.median(x, axis=1)
lax.top_k(x, 2)[0]
lax.top_k(c, 2)[0]
lax.associative_scan(jnp.add, x, axis=1)
lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 2), "VALID")
lax.reduce_window(x, -np.inf, lax.max, (2, 1), (1, 1), "SAME")
jnp.tril(x)
jnp.diff(x, axis=1)
jnp.roll(x, 1, axis=1)
jnp.kron(x, jnp.ones((1, 2)))
jnp.repeat(x, 2, axis=1)
jnp.tile(x, (1, 2))
jnp.tile(x, (2, 1))
nn.softmax(xy)
nn.one_hot(jnp.argmax(x, 1), 3)
# Shapes.
x.reshape(64)
c.reshape(64)
xy.reshape(64)
xy.reshape(4, 2, 8)
xy.reshape(1, 8, 8)
xy.reshape(8, 1, 8)
A((16, 4), "x").reshape(1, 4, 4, 4)
A((16, 4), ("x", "y")).reshape(4, 4, 4)
A((16, 4), ("x", "y")).reshape(2, 8, 4)
A((8,), ("x", "y")).reshape(2, 2, 2)
A((4, 4, 4), "x", "y").reshape(64)
A((4, 4, 4), "x", "y").reshape(16, 4)
A((4, 4, 4), "x", None, "z").reshape(16, 4)
A((4, 4, 4), "x", None, "z").reshape(64)
A((4, 4, 4), None, "y").reshape(4, 16)
A((4, 4, 4), None, "y").reshape(16, 4)
A((4, 4, 4), "x", "y", "z").reshape(4, 16)
A((12,), "x").reshape(3, 4)
A((12,), "x").reshape(4, 3)
A((4, 6), "x").reshape(6, 4)
A((1, 16), None, "x").reshape(16)
A((16, 1), "x").reshape(16)
x[:, None]
x[:, None].squeeze(1)
jnp.broadcast_to(xy, (3, 8, 8))
jnp.concatenate([x, x])
jnp.concatenate([x, x], 1)
jnp.stack([x, x])
jnp.stack([x, xy])
jnp.split(x, 2, axis=1)
jnp.split(x, 2)
jnp.pad(x, ((0, 0), (1, 1)))
jnp.pad(x, ((1, 2), (0, 0)))
x[::-1]
jnp.zeros_like(xy), jnp.full_like(x, 3), jnp.ones_like(n)
# Products.
x @ r
r @ x
r @ w
x @ w
x @ c
x @ x.T
x.T @ x
xy @ y.T
x @ jnp.ones(8)
jnp.outer(jnp.ones(3), A((8,), "x"))
jnp.vdot(A((8,), "x"), jnp.ones(8))
jnp.tensordot(x, w, 1)
jnp.einsum("ij,jk->ki", x, w)
lax.dot_general(A((4, 4, 4), "x"), A((4, 4, 4), "x"), (((2,), (1,)), ((0,), (0,))))
lax.dot_general(A((4, 4, 4), "x"), A((4, 4, 4)), (((2,), (1,)), ((0,), (0,))))
lax.dot_general(A((4, 4, 4), "x", "y"), A((4, 4, 4), "x", None, "z"), (((2,), (1,)), ((0,), (0,))))
lax.conv(A((4, 2, 4, 4), "x"), A((2, 2, 2, 2)), (1, 1), "SAME")
lax.conv(A((4, 2, 4, 4), "x", None, "y"), A((4, 2, 2, 2)), (1, 1), "SAME")
lax.conv(A((4, 2, 4, 4), "x", "y"), A((4, 2, 2, 2)), (1, 1), "SAME")
nn.dot_product_attention(*[A((4, 3, 2, 8), "x")] * 3)
# Indexing.
x[:, :3]
x[:, 0]
x[0]
x[:4]
x[:, jnp.array([0, 1])]
x[jnp.array([0, 1])]
c[jnp.arange(4)]
r[indices]
jnp.take(x, jnp.array([1]), axis=1)
jnp.take_along_axis(x, jnp.zeros((8, 2), int), 1)
lax.dynamic_slice(x, (0, 1), (8, 2))
lax.dynamic_slice(x, (0, 1), (4, 2))
lax.dynamic_slice(x, (0, 1), (3, 2))
lax.dynamic_update_slice(x, x[:, :2], (0, 1))
c.at[jnp.arange(4)].add(A((4, 8), None, "x"))
c.at[jnp.arange(4)].set(1.0)
c.at[indices].add(A((4, 8), "z", "x"))
x.at[:, 0].add(1.0)
lib.ops.segment_sum(w, jnp.zeros(8, int), 3)
# Matrices.
jnp.linalg.svd(A((4, 4, 4), "x"))[1]
jnp.linalg.eigvalsh(A((4, 4, 4), "x"))
jnp.linalg.cholesky(jnp.eye(8) + 0 * x)
jnp.linalg.solve(x, r)
jnp.linalg.qr(x)[1]
abs(jnp.fft.fft(x))
# Control flow.
lax.scan(lambda c, a: (c + a, c * a), jnp.zeros(8), r)
lax.scan(lambda c, a: (c + a, c * a), c[0], c)
lax.while_loop(lambda c: c.sum() < 100, lambda c: c + 1, x)
lax.fori_loop(0, 3, lambda i, c: c * 2, x)
lax.cond(True, lambda x: x, lambda x: x + 1, x)
lax.cond(True, lambda x, y: x, lambda x, y: y, x, y)
lax.switch(1, [jnp.sin, jnp.cos], x)
lax.map(lambda row: row * 2, w)
lax.stop_gradient(x), lax.optimization_barrier(x)
# Transformations.
lib.jit(lambda a: jnp.sin(a) * 2)(xy)
lib.jvp(jnp.sin, (x,), (x,))
lib.jvp(jnp.sin, (x,), (r,))
lib.grad(lambda a: (a**2).sum())(xy)
lib.grad(lambda w: ((x @ w) ** 2).sum())(r)
lib.jit(lib.grad(lambda w: ((x @ w) ** 2).sum()))(w)
lib.vjp(lambda a: a @ w, x)[1](xy)
lib.linearize(lambda a: a @ w, x)[1](x)
lib.grad(lib.checkpoint(lambda w: jnp.sin(x @ w).sum()))(w)
lib.jacrev(lambda a: a @ w)(jnp.ones(8))
lib.hessian(lambda a: ((a @ w) ** 2).sum())(jnp.ones(8))
lib.grad(lambda a: nn.relu(a).sum())(x)
lib.grad(lambda a: nn.logsumexp(a, 1).sum())(x)
lib.grad(lambda a: nn.log_softmax(a)[:, 0].sum())(x)
lib.grad(lambda a: nn.standardize(a).sum())(x)
lib.grad(lambda a: a.max(1).sum())(x)
lib.grad(lambda a: jnp.sort(a, 1)[:, 0].sum())(x)
lib.grad(lambda a: jnp.cumprod(a, 1).sum())(x)
lib.grad(lambda a: lax.cummax(a, axis=1).sum())(x)
lib.grad(lambda a: jnp.prod(a, 1).sum())(x)
lib.grad(lambda a: (a.reshape(64) ** 2).sum())(x)
lib.grad(lambda a: (jnp.concatenate([a, a], 1) ** 2).sum())(x)
lib.grad(lambda a: (jnp.pad(a, ((0, 0), (1, 1))) ** 2).sum())(x)
lib.grad(lambda a: (lax.dynamic_slice(a, (0, 1), (8, 2)) ** 2).sum())(x)
lib.grad(lambda b: (x + b).sum())(jnp.ones(8))
lib.grad(lambda b: (w + b).sum())(A((8,), "y"))
lib.grad(lambda k: lax.conv(A((4, 2, 4, 4), "x"), k, (1, 1), "SAME").sum())(A((2, 2, 2, 2)))
lib.grad(lambda i: lax.conv(i, A((2, 2, 2, 2)), (1, 1), "SAME").sum())(A((4, 2, 4, 4), "x"))
lib.grad(lambda m: lax.scan(lambda c, _: (jnp.tanh(c @ m), None), x, None, length=3)[0].sum())(r)
lib.grad(lambda m: jnp.einsum("bi,ij->bj", x, m).sum())(w)
lib.vmap(lambda a: a * 2)(x)
lib.vmap(lambda a: a.sum())(xy)
lib.vmap(lambda a: a * 2, in_axes=1, out_axes=1)(x)
lib.vmap(lambda a, b: a @ b, (0, None))(x, r)
lib.vmap(lambda a, b: a @ b)(x, r)
lib.vmap(lib.jit(lambda a: a @ w))(x)
lib.jit(lib.vmap(lambda a: a * 2))(x)
lib.vmap(lambda a: lax.scan(lambda c, e: (c + e, c), a[0] * 0, a))(x)
lib.vmap(lambda a: lax.cond(a.sum() > 0, jnp.sin, jnp.cos, a))(x)
lib.vmap(lambda a: lax.while_loop(lambda c: c.sum() < 10, lambda c: c + 1, a))(x)
lib.vmap(lib.checkpoint(jnp.sin))(x)
lib.vmap(lib.grad(lambda a: (a @ w).sum()))(x)
lib.vmap(lambda a: jnp.ones(3))(x)
lib.vmap(lambda a: jnp.ones(3), out_axes=1)(x)
lib.grad(lambda a: lib.vmap(lambda r: r.sum() ** 2)(a).sum())(x)
lib.vmap(lambda a: sharding.reshard(a, P("y")))(x)
lib.vmap(lambda k: random.normal(k, (3,)))(put(random.split(random.key(0), 4), "x"))
# Divisions that are said.
sharding.reshard(xy, P("y", "x"))
sharding.reshard([x, y], P("z"))
lib.jit(lambda a: sharding.reshard(a, P(None, "z")))(xy)
lib.grad(lambda a: (sharding.reshard(a, P("z")) ** 2).sum())(x)
lax.with_sharding_constraint(xy, P("x", "y"))
lax.with_sharding_constraint(xy, P("y", "x"))
lib.jit(lambda a: lib.device_put(a, P("z")))(x)
jnp.zeros((8, 4), out_sharding=P("x"))
lib.jit(lambda: jnp.zeros((8, 4), out_sharding=P("x")))()
jnp.arange(8, out_sharding=P("x"))
lax.reshape(xy, (64,), out_sharding=P("x"))
jnp.reshape(c, 64, out_sharding=P(("y", "x")))
jnp.dot(x.T, x, out_sharding=P(None, "y"))
jnp.matmul(xy, y, out_sharding=P("x"))
jnp.einsum("ij,kj->ik", xy, xy, out_sharding=P("x", None))
lib.grad(lambda m: jnp.matmul(xy, m, out_sharding=P("x")).sum())(y)
xy.at[jnp.array([0, 1])].get(out_sharding=P(None, "y"))
r.at[indices].get(out_sharding=P("x"))
lib.grad(lambda e: (e.at[indices].get(out_sharding=P("x")) ** 2).sum())(w)
c.at[indices].add(A((4, 8), "z", "x"), out_sharding=P(None, "x"))
jnp.repeat(x, 2, axis=0, total_repeat_length=16, out_sharding=P("x"))
random.normal(random.key(0), (8, 8), out_sharding=P("x"))
lib.jit(lambda k: random.uniform(k, (8, 8), out_sharding=P(None, "y")))(random.key(0))
random.randint(random.key(1), (8,), 0, 9, out_sharding=P("z"))
lax.reduce_max(xy, (0,), out_sharding=P("z"))
lax.reduce_min(xy, (1,), out_sharding=P(None))
lib.jit(lambda a: lax.reduce_max(a, (0,), out_sharding=P("x")))(xy)
lib.grad(lambda a: lax.reduce_max(a, (0,), out_sharding=P("z")).sum())(xy)
lax.reduce(xy, np.float32(0), lax.add, (0,), P("z"))
lax.reduce((xy, xy), (np.float32(0),) * 2, lambda a, b: (a[0] + b[0], b[1] + a[1]), (0,), P("y"))
lib.ops.segment_sum(x, np.array([0, 1, 0, 1, 2, 3, 4, 5]), 8, out_sharding=P("x"))
lib.ops.segment_min(xy, np.array([0, 1, 0, 1, 2, 3, 4, 5]), 8, out_sharding=P(None, "z"))
lib.ops.segment_max(xy, np.array([0, 1, 0, 1, 2, 3, 4, 5]), 8, out_sharding=P("x", "z"))
sharding.auto_axes(lambda a: a @ a.T, out_sharding=P("x", None))(xy)
sharding.auto_axes(lambda a: a @ a, axes="x", out_sharding=P("x", None))(x)
sharding.auto_axes(lambda a: a @ a)(x, out_sharding=P("y"))
lib.jit(sharding.auto_axes(lambda a: a @ a, out_sharding=P("x")))(x)
lib.grad(lambda a: sharding.auto_axes(lambda a: a @ a, out_sharding=P("x"))(a).sum())(xy)
sharding.auto_axes(lambda a: a, axes="v", out_sharding=P())(x)
sharding.auto_axes(lambda a: a)(x)
sharding.explicit_axes(lambda a: a * 2, in_sharding=P("x"))(x)
lib.jit(lambda a: a * 2, in_shardings=P("x"))(np.ones((8, 8), np.float32))
lib.jit(lambda a: a * 2, out_shardings=P("y"))(x)
lib.make_array_from_callback((8, 8), x.sharding, lambda i: NUMBERS[0, 0][i])
# Parts of arrays.
lib.shard_map(lambda a: a * 2, in_specs=P("x"), out_specs=P("x"))(x)
lib.shard_map(lambda a: lax.psum(a, "x"), in_specs=P("x"), out_specs=P())(x)
lib.jit(lib.shard_map(lambda a: a * 2, in_specs=P("x"), out_specs=P("x")))(x)
lib.shard_map(lambda a: a * 2, out_specs=P("x", "y"))(xy)
lib.shard_map(lambda a: a * 2, in_specs=P("y"), out_specs=P("y"))(x)
lib.jit(lib.shard_map(jnp.sin, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}))(xy)
lib.grad(lambda a: lib.shard_map(jnp.sin, in_specs=P("x"), out_specs=P("x"))(a).sum())(x)
""".strip().splitlines()


def types_of(lib, result):
    """For each array its shape, its dtype, and what its type says about its axes."""
    found = []
    for x in lib.tree.leaves(result):
        spec = [*lib.typeof(x).sharding.spec]
        found.append((x.shape, str(x.dtype), spec + [None] * (x.ndim - len(spec))))
    return found


# Of these JAX gives something else where they are compiled as one.
AS_THEY_STAND = {
    "jnp.zeros_like(xy), jnp.full_like(x, 3), jnp.ones_like(n)",
    "lib.grad(lambda a: lax.cummax(a, axis=1).sum())(x)",
    'lib.jit(lambda a: a * 2, in_shardings=P("x"))(np.ones((8, 8), np.float32))',
    'lib.jit(lambda a: a * 2, out_shardings=P("y"))(x)',
}


def results(lib, programs, divides=True, compiled=True):
    """What each program gives, or its error."""
    scope = vars(names(lib, divides)) | {"NUMBERS": NUMBERS}
    programs = {text: lambda lib, text=text: eval(text, scope) for text in programs}
    with lib.set_mesh(scope["mesh"]):
        if compiled:
            return at_once(lib, programs)
        return {
            text: attempt(lib, jitted(program) if is_long(text) else program)
            for text, program in programs.items()
        }


def is_long(program):
    """Derivatives take many operations, each of which would be compiled by itself."""
    return program.startswith(("lib.grad", "lib.jac", "lib.hessian"))


def jitted(program):
    return lambda lib: program(lib) if lib is jax else lib.jit(lambda: program(lib))()


def assert_close(lib, found, other, expected):
    for a, b in zip(lib.tree.leaves(found), other.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)


def assert_as_jax(programs, ours_compiled, theirs_compiled):
    ours = results(glassjax, programs, compiled=ours_compiled)
    theirs = results(jax, programs, compiled=theirs_compiled)
    of_whole = [p for p, x in theirs.items() if isinstance(x, Exception)]
    whole = results(glassjax, of_whole, divides=False)
    wrong = []
    for program in programs:
        try:
            compare(program, ours[program], theirs[program], whole.get(program))
        except AssertionError as error:
            wrong.append(f"{program}: {error}")
    assert not wrong, "\n".join(wrong)


def compare(program, found, expected, whole):
    if not isinstance(expected, Exception):
        assert not isinstance(found, Exception), found
        assert types_of(glassjax, found) == types_of(jax, expected)
        assert_close(glassjax, found, jax, expected)
    elif not isinstance(found, Exception):
        assert_close(glassjax, found, glassjax, whole)
    else:
        assert isinstance(found, ValueError | TypeError), found
        assert program.startswith(("sharding.auto", "lib.shard_map", "lib.vmap")) or isinstance(
            found, ShardingTypeError
        ), found


def seen_inside(lib, entered, at, **options):
    """What a function that is called on an array sees of it and its mesh, and its result."""
    seen = []

    def look(x):
        twice = x + x
        for each in (x, twice):
            seen.append((str(lib.typeof(each)), each.sharding.is_equivalent_to(at, 2)))
        return twice

    axis_type = lib.sharding.AxisType.Explicit if entered == "auto" else lib.sharding.AxisType.Auto
    with lib.set_mesh(lib.make_mesh((4, 2), ("x", "y"), axis_types=(axis_type,) * 2)):
        x = lib.device_put(NUMBERS[0, 0], lib.P(*at))
        at = x.sharding
        out = getattr(lib.sharding, f"{entered}_axes")(look, **options)(x)
    return [*seen, str(lib.typeof(out)), out.sharding.is_equivalent_to(at, 2)], np.asarray(out)


@pytest.mark.parametrize(
    ("entered", "role"), [("auto", "out_sharding"), ("explicit", "in_sharding")]
)
def test_functions_that_change_the_types_of_axes_are_evaluated(entered, role):
    for at, to in ((("x", "y"), ("x", "y")), (("x", None), ("x", "y")), (("x", "y"), ("y", "x"))):
        found, numbers = seen_inside(glassjax, entered, at, **{role: glassjax.P(*to)})
        expected, theirs = seen_inside(jax, entered, at, **{role: jax.P(*to)})
        assert found == expected
        np.testing.assert_array_equal(numbers, theirs)


PARTS = 5  # of which ours is compiled, as JAX's are, but for the first by day


@pytest.mark.parametrize("part", range(PARTS))
def test_as_jax(part):
    programs = [p for p in PROGRAMS if p[0] != "#" and p not in AS_THEY_STAND][part::PARTS]
    assert_as_jax(programs, ours_compiled=part > 0 and not IS_NIGHT, theirs_compiled=True)


def test_as_jax_as_they_stand():
    assert_as_jax(AS_THEY_STAND, ours_compiled=False, theirs_compiled=False)


RESHAPED = [
    ((4, 8), ("d", "t"), (1, 4, 8)),
    ((1, 64), ("d", "t"), (1, 8, 8)),
    ((1, 8, 8), ("d", "t"), (1, 64)),
    ((4, 16), ("d", "t"), (1, 4, 16)),
    ((8, 16), ("t", "d"), (8, 1, 16, 1)),
    ((1, 1, 8), ("d", None, "t"), (1, 8)),
    ((64,), (("t", "d"),), (8, 8)),
    ((64,), (("d", "t"),), (8, 8)),
    ((8, 8), (("d", "t"), None), (64,)),
    ((2, 3, 8), ("d", None, "t"), (6, 8)),
    ((6, 8), ("d", "t"), (3, 2, 8)),
    ((6, 8), ("d", "t"), (6, 2, 4)),
]


def test_axes_of_one_device_go_on_dividing_what_they_divided():
    def types(lib):
        with lib.set_mesh(lib.make_mesh((1, 8), ("d", "t"))):
            for shape, spec, new in RESHAPED:
                x = lib.device_put(np.ones(shape), lib.sharding.PartitionSpec(*spec))
                try:
                    yield new, str(lib.typeof(x.reshape(new)).sharding.spec)
                except Exception as error:
                    yield new, type(error).__name__

    assert [*types(glassjax)] == [*types(jax)]


def test_types_say_nothing_where_only_in_shardings_do():
    def results(lib):
        sharding = lib.sharding.NamedSharding(
            lib.make_mesh((8,), ("x",)), lib.sharding.PartitionSpec("x")
        )
        for function in (lambda x: 2 * x, lambda x: x.sum(0), lambda x: x.T):
            y = lib.jit(function, in_shardings=sharding)(np.ones((16, 4), np.float32))
            yield y.addressable_shards[0].data.shape

    assert [*results(glassjax)] == [*results(jax)] == [(2, 4), (4,), (4, 2)]


def test_tangents_of_divided_integers_have_no_division():
    with glassjax.set_mesh(glassjax.make_mesh((8,), ("x",))):
        x = glassjax.device_put(np.arange(8), glassjax.P("x"))
        none = np.zeros(8, glassjax.dtypes.float0)
        out, tangent = glassjax.jvp(lambda x: 2 * x, (x,), (none,))
    assert glassjax.typeof(out).sharding.spec == glassjax.P("x")
    assert tangent.dtype == glassjax.dtypes.float0


def test_arrays_on_different_meshes_do_not_meet():
    xs = []
    for sizes in ((4, 2), (2, 4)):
        mesh = glassjax.make_mesh(sizes, ("x", "y"))
        xs.append(
            glassjax.device_put(np.ones((8, 8)), glassjax.NamedSharding(mesh, glassjax.P("x")))
        )
    with pytest.raises(ShardingTypeError, match=r"different meshes.*device_put"):
        xs[0] + xs[1]


def test_a_program_reshards_over_another_mesh_of_its_devices():
    def result(lib):
        P = lib.sharding.PartitionSpec
        other = lib.sharding.AbstractMesh((8,), ("a",), (lib.sharding.AxisType.Explicit,))

        @lib.jit
        def f(x):
            with lib.sharding.use_abstract_mesh(other):
                return 2 * lib.sharding.reshard(x, P("a", None))

        with lib.set_mesh(lib.make_mesh((4, 2), ("x", "y"))):
            out = f(lib.device_put(np.arange(32.0).reshape(8, 4), P("x", "y")))
            shards = [np.asarray(shard.data).tolist() for shard in out.addressable_shards]
            return str(lib.typeof(out)), dict(out.sharding.mesh.shape), shards

    assert result(glassjax) == result(jax)


def test_a_primitive_without_a_rule_says_how_to_get_one():
    same_p = glassjax.core.Primitive("same")
    glassjax.core.declare(same_p, abstract_eval=lambda x: [x], lower=lambda b, outs, x: [x])
    with glassjax.set_mesh(glassjax.make_mesh((8,), ("x",))):
        x = glassjax.device_put(np.ones(8, np.float32), glassjax.P("x"))
        with pytest.raises(ShardingTypeError, match=r"same of f32\[8@x\].*`declare`"):
            glassjax.core.bind(same_p, x)
    glassjax.core.declare(
        halve_p := glassjax.core.Primitive("halve"),
        abstract_eval=lambda x: [x],
        lower=lambda b, outs, x: [x],
        sharding=glassjax.core.by_elements(halve_p),
    )
    assert glassjax.typeof(glassjax.core.bind(halve_p, x)[0]).sharding.spec == glassjax.P("x")


# Axes along which nothing may be exchanged.
ALLOWED_OR_NOT = """
A.sum(0) | A.sum(1) | A + A | jnp.sin(A) | A.T | lib.jit(lambda a: a.sum(0))(A)
lib.reshard(A, P(None, "y")) | lib.reshard(A, P("y", "x")) | lib.reshard(A, P(("x", "y"), None))
lib.grad(lambda a: jnp.sin(a).sum())(A) | jnp.dot(A, W, out_sharding=P("x", None))
mapped(lambda a: lax.psum(a, "x"), P(None, "y")) | mapped(lambda a: a + lax.axis_index("x"))
mapped(lambda a: lax.all_gather(a, "y", axis=1, tiled=True)) | mapped(lambda a: lax.pmax(a, "y"))
mapped(lambda a: lax.ppermute(a, "x", [(0, 1)]))
"""


def exchanges(lib, axis):
    """The errors of those of these programs that exchange something along an axis."""
    mesh = lib.make_mesh((4, 2), ("x", "y"))
    spec_of = lib.sharding.PartitionSpec
    spec = spec_of("x", "y")
    found = {}
    with lib.set_mesh(mesh):
        scope = {
            "lib": lib, "lax": lib.lax, "jnp": lib.numpy, "P": spec_of,
            "A": (array := lib.reshard(lib.numpy.ones((8, 4)), spec)),
            "W": lib.reshard(lib.numpy.ones((4, 8)), spec_of("y", None)),
            "mapped": lambda f, out=None: lib.shard_map(
                f, in_specs=spec, out_specs=out or spec, check_vma=False
            )(array),
        }  # fmt: skip
        with lib.sharding.no_collectives({axis}):
            assert lib.sharding.no_collectives.value == {axis}
            for program in ALLOWED_OR_NOT.replace("\n", " | ").split(" | ")[1:-1]:
                found[program] = None
                try:
                    eval(program, scope)
                except Exception as error:
                    found[program] = type(error).__name__
        array.sum()  # is not forbidden any more
    return found


@pytest.mark.parametrize("axis", ["x", "y"])
def test_collectives_are_forbidden_along_axes(axis):
    found = exchanges(glassjax, axis)
    assert found == exchanges(jax, axis)
    assert {*found.values()} == {None, "ForbiddenCollectiveError"}
    with pytest.raises(TypeError, match="set"):
        glassjax.sharding.no_collectives(axis)
