"""The text of jaxprs: parameters, defaults, shared programs and line breaks, beside JAX."""

import pickle
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from tables import for_each

import glassjax
from fuzzing.text_differences import PROGRAMS_THAT_DIFFER

pytestmark = pytest.mark.newest_jax

X = np.ones(3, np.float32)
M = np.ones((3, 3), np.float32)
S = np.float32(1)
INDICES = np.array([0, 2], np.int32)
IMAGE = np.ones((1, 1, 3, 3), np.float32)
INTEGERS = np.arange(6, dtype=np.int32)
OLD_KEY = np.zeros(2, np.uint32)
KEY = "a key, of either library"


def library(jax_like):
    return SimpleNamespace(
        jax=jax_like, np=jax_like.numpy, lax=jax_like.lax, random=jax_like.random, nn=jax_like.nn
    )


def twice(x):
    return x * 2


def long(j):
    def many(x):
        for _ in range(6):
            x = j.np.sin(x) * 2
        return x

    return lambda x: j.jax.jit(many)(x)


def shared(j):
    inner = j.jax.jit(twice)
    return lambda x: inner(x) + inner(x)


def shared_within(j):
    inner = j.jax.jit(twice)
    outer = j.jax.jit(lambda x: inner(x) - j.np.sin(x))
    return lambda x: outer(x) * inner(x)


def same_names(j):
    def two(f):
        inner = j.jax.jit(f)
        return lambda x: inner(inner(x))

    def first(x):
        return x + 1

    def second(x):
        return x - 1

    second.__name__ = "first"
    return lambda x: two(first)(x) * two(second)(x)


def scan(j):
    return lambda x: j.lax.scan(lambda c, a: (c + a, c * a), S * 0, x)


def mesh(j):
    return j.jax.make_mesh((1,), ("x",), axis_types=(j.jax.sharding.AxisType.Auto,))


def smap(j, f, out="x", **options):
    P = j.jax.P
    specs = {"in_specs": P("x"), "out_specs": P(out) if out else P()}
    return j.jax.shard_map(f, mesh=mesh(j), **specs, **options)


def cjvp(j):
    sine = j.jax.custom_jvp(j.np.sin)
    sine.defjvp(lambda primals, tangents: (sine(*primals), tangents[0] * 2))
    return sine


def cvjp(j):
    sine = j.jax.custom_vjp(j.np.sin)
    sine.defvjp(lambda x: (sine(x), x), lambda x, ct: (ct * x,))
    return sine


def named(j):
    @j.jax.jit
    def inner(x):
        return j.np.sin(x)

    return j.jax.jit(lambda x: inner(x) * 2)


def loss(j):
    return lambda w: j.np.mean((M @ w) * 0.5)


PROGRAMS = {
    "sin": (lambda j: j.np.sin, X),
    "literals": (lambda j: lambda x: (x + 1) * 0.1, X),
    "weak": (lambda j: lambda x: x * 2, 1.0),
    "decompositions": (lambda j: j.lax.linalg.cholesky, M),
    "two results": (lambda j: lambda x, y: (x * y, x - y), X, X),
    "no equation": (lambda j: lambda x: x, X),
    "unused": (lambda j: lambda x: (j.np.sin(x), x)[1], X),
    "dict": (lambda j: lambda d: d["a"] + d["b"], {"a": X, "b": X}),
    "constant": (lambda j: lambda x: x + j.np.array([1.0, 2.0, 3.0]), X),
    "zeros": (lambda j: lambda: j.np.zeros((2, 3)),),
    "eye": (lambda j: lambda: j.np.eye(3),),
    "astype": (lambda j: lambda x: x.astype(int), X),
    "divide": (lambda j: lambda x: x / 3, X),
    "power": (lambda j: lambda x: x**0.5, X),
    "sum": (lambda j: lambda x: x.sum(0), M),
    "mean": (lambda j: j.np.mean, M),
    "extrema": (lambda j: lambda x: (x.max(), x.min(), x.prod()), X),
    "argmax": (lambda j: lambda x: (j.np.argmax(x), j.np.argmin(x)), X),
    "reshape": (lambda j: lambda x: x.reshape(9), M),
    "transpose": (lambda j: lambda x: x.T, M),
    "broadcast": (lambda j: lambda x: j.np.broadcast_to(x, (3, 3)), X),
    "concatenate": (lambda j: lambda x: j.np.concatenate([x, x]), X),
    "slice": (lambda j: lambda x: x[1:], X),
    "strides": (lambda j: lambda x: j.lax.slice(x, (0,), (3,), (2,)), X),
    "gather": (lambda j: lambda x, i: x[i], M, INDICES),
    "dynamic_slice": (lambda j: lambda x, i: j.lax.dynamic_slice(x, (i,), (2,)), X, np.int32(1)),
    "select": (lambda j: lambda x: j.lax.select(x > 0, x, -x), X),
    "pad": (lambda j: lambda x: j.lax.pad(x, S, ((1, 1, 0),)), X),
    "reverse": (lambda j: lambda x: j.lax.rev(x, (0,)), X),
    "sort": (lambda j: j.lax.sort, X),
    "cumsum": (lambda j: j.lax.cumsum, X),
    "iota": (lambda j: lambda: j.lax.iota(np.int32, 3),),
    "round": (lambda j: lambda x: j.lax.reduce_precision(j.lax.round(x), 5, 2), X),
    "bits": (lambda j: lambda x: j.lax.bitcast_convert_type(x, np.int32), X),
    "matmul": (lambda j: j.np.matmul, M, M),
    "dot": (lambda j: j.np.dot, M, X),
    "einsum": (lambda j: lambda a, b: j.np.einsum("ij,kj->ik", a, b), M, M),
    "conv": (lambda j: lambda x: j.lax.conv(x, x, (1, 1), "SAME"), IMAGE),
    "sigmoid": (lambda j: j.nn.sigmoid, X),
    "gelu": (lambda j: j.nn.gelu, X),
    "stop_gradient": (lambda j: lambda x: j.lax.stop_gradient(x) * x, X),
    "barrier": (lambda j: j.lax.optimization_barrier, X),
    "jit": (lambda j: j.jax.jit(lambda x: j.np.sin(x) * 2), X),
    "jit of unused": (lambda j: lambda x: j.jax.jit(lambda a: (a, a * 2))(x)[1], X),
    "jit shared": (shared, X),
    "jit shared within": (shared_within, X),
    "jit of one name": (same_names, X),
    "jit of many equations": (long, X),
    "scan": (scan, X),
    "fori": (lambda j: lambda x: j.lax.fori_loop(0, 5, lambda i, c: c * i, x), S),
    "while": (lambda j: lambda x: j.lax.while_loop(lambda c: c < 10, lambda c: c * 2, x), S),
    "map": (lambda j: lambda x: j.lax.map(j.np.sin, x), X),
    "checkpoint": (lambda j: j.jax.checkpoint(j.np.sin), X),
    "vmap": (lambda j: j.jax.vmap(j.np.dot), M, M),
    "jvp": (lambda j: lambda x: j.jax.jvp(j.np.sin, (x,), (x,)), X),
    "grad": (lambda j: j.jax.grad(lambda x: j.np.sin(x).sum()), X),
    "value_and_grad": (lambda j: j.jax.value_and_grad(loss(j)), M),
    "split": (lambda j: lambda: j.random.split(j.random.key(0)),),
    "bits of keys": (lambda j: lambda: j.random.bits(j.random.key(0), (3,)),),
    "scatter-add": (lambda j: lambda x, i: x.at[i].add(1.0), X, INDICES),
    "scatter-mul": (lambda j: lambda x, i: x.at[i].mul(2.0), X, INDICES),
    "fill": (lambda j: lambda x, i: x.at[i].get(mode="fill"), X, INDICES),
    "reverse index": (lambda j: lambda x: x[::-1], X),
    "top_k": (lambda j: lambda x: j.lax.top_k(x, 2), X),
    "psum in shard_map": (lambda j: smap(j, lambda x: j.lax.psum(x, "x"), None), X),
    "all_gather": (lambda j: smap(j, lambda x: j.lax.all_gather(x, "x")), X),
    "ppermute": (lambda j: smap(j, lambda x: j.lax.ppermute(x, "x", [(0, 0)])), X),
    "axis_index": (lambda j: smap(j, lambda x: x + j.lax.axis_index("x")), X),
    "shard_map of cos": (lambda j: smap(j, lambda x: j.np.cos(j.np.sin(x))), X),
    "psum_scatter of rows": (lambda j: smap(j, lambda x: j.lax.psum_scatter(x, "x")), M[:1]),
    "all_to_all of rows": (lambda j: smap(j, lambda x: j.lax.all_to_all(x, "x", 0, 0)), X[:1]),
    "pmax": (lambda j: smap(j, lambda x: j.lax.pmax(x, "x"), None), X),
    "psum unchecked": (lambda j: smap(j, lambda x: j.lax.psum(x, "x"), None, check_vma=False), X),
    "two collectives": (
        lambda j: smap(j, lambda x: (j.lax.psum(x, "x"), j.lax.pmin(x, "x")), None),
        X,
    ),
    "pcast": (lambda j: smap(j, lambda x: j.lax.pcast(j.lax.psum(x, "x"), "x", to="varying")), X),
    "psum of axis_index": (
        lambda j: smap(j, lambda x: j.lax.psum(j.lax.axis_index("x"), "x"), None),
        X,
    ),
    "shard_map in jit": (lambda j: j.jax.jit(smap(j, j.np.sin)), X),
    "fill of ints": (lambda j: lambda x, i: x.at[i].get(mode="fill"), INTEGERS, INDICES),
    "scatter that drops": (lambda j: lambda x, i: x.at[i].set(0.0, mode="drop"), X, INDICES),
    "scatter-min": (lambda j: lambda x, i: x.at[i].min(0.0), X, INDICES),
    "vmap of custom_jvp": (lambda j: j.jax.vmap(cjvp(j)), X),
    "jit of custom_vjp": (lambda j: j.jax.jit(cvjp(j)), X),
    "vjp of custom_vjp": (lambda j: lambda x: j.jax.vjp(cvjp(j), x)[1](x), X),
    "scan of jit": (
        lambda j: lambda x: j.lax.scan(lambda c, a: (j.jax.jit(j.np.sin)(c) + a, None), S, x),
        X,
    ),
    "while of jit": (
        lambda j: lambda x: j.lax.while_loop(lambda c: c < 5, j.jax.jit(lambda c: c * 2), x),
        S,
    ),
    "custom_jvp": (cjvp, X),
    "custom_vjp": (cvjp, X),
    "grad of custom_jvp": (lambda j: j.jax.grad(lambda x: cjvp(j)(x).sum()), X),
    "grad of custom_vjp": (lambda j: j.jax.grad(lambda x: cvjp(j)(x).sum()), X),
    "jvp of custom_jvp": (lambda j: lambda x: j.jax.jvp(cjvp(j), (x,), (x,)), X),
    "grad of matmul": (lambda j: j.jax.grad(lambda w: (M @ w).sum()), M),
    "while over a pair": (
        lambda j: (
            lambda x: j.lax.while_loop(
                lambda c: c[1].sum() < 10, lambda c: (c[0] + 1, c[1] * 2), (0, x)
            )
        ),
        X,
    ),
    "while with a constant": (
        lambda j: lambda x, y: j.lax.while_loop(lambda c: c < y, lambda c: c + y, x),
        S,
        S,
    ),
    "fori of unknown length": (
        lambda j: lambda n, x: j.lax.fori_loop(0, n, lambda i, c: c * 2, x),
        np.int32(3),
        S,
    ),
    "fori that passes on": (
        lambda j: (
            lambda n, x: j.lax.fori_loop(0, n, lambda i, c: (c[0] + c[1], c[1], c[2]), (x, x, n))
        ),
        np.int32(3),
        S,
    ),
    "while that passes on": (
        lambda j: (
            lambda x, y, z: j.lax.while_loop(
                lambda c: c[0] < c[2], lambda c: (c[0] + c[1] * z, c[1], c[2], c[3]), (x, y, y, x)
            )
        ),
        S,
        S,
        S,
    ),
    "scan that passes on": (
        lambda j: (
            lambda w, x: j.lax.scan(
                lambda c, a: ((c[0] * w + a, c[1], c[2]), (c[0], c[2])), (w, x, w), x
            )
        ),
        S,
        X,
    ),
    "scan consts": (lambda j: lambda w, x: j.lax.scan(lambda c, a: (c * w + a, c), w, x), S, X),
    "scan reverse": (
        lambda j: lambda x: j.lax.scan(lambda c, a: (c + a, None), S, x, reverse=True),
        X,
    ),
    "scan unroll": (lambda j: lambda x: j.lax.scan(lambda c, a: (c + a, c), S, x, unroll=2), X),
    "scan length": (lambda j: lambda x: j.lax.scan(lambda c, _: (c * 2, c), x, None, length=4), S),
    "vmap of scan": (lambda j: j.jax.vmap(lambda x: j.lax.scan(lambda c, a: (c + a, c), S, x)), M),
    "jit in jit": (named, X),
    "jit with static argument": (
        lambda j: lambda x: j.jax.jit(lambda x, n: x * n, static_argnums=1)(x, 3),
        X,
    ),
    "jit over a tracer": (lambda j: lambda x: j.jax.jit(lambda y: y + x)(x), X),
    "literals: complex": (lambda j: lambda x: x * (1 + 2j), np.ones(2, np.complex64)),
    "literals: bool": (lambda j: lambda x: x & True, np.array([True])),
    "literals: inf": (
        lambda j: lambda x: (x + np.inf, x + np.nan, x * -0.0, x * 1e-20, x * 1e20),
        X,
    ),
    "literals: bf16": (lambda j: lambda x: x * 0.1, np.ones(2, glassjax.numpy.bfloat16.dtype)),
    "literals: f16": (lambda j: lambda x: x * 0.1, np.ones(2, np.float16)),
    "literals: u8": (lambda j: lambda x: x + 200, np.ones(2, np.uint8)),
    "compare": (lambda j: lambda x: (x > 0, x == x, x != 1, ~(x >= 1), x <= 2), X),
    "exp": (
        lambda j: lambda x: (j.np.exp(x), j.np.log(x), j.np.log1p(x), j.np.expm1(x), j.np.exp2(x)),
        X,
    ),
    "trig": (lambda j: lambda x: (j.np.cos(x), j.np.tan(x), j.np.arcsin(x), j.np.arctan2(x, x)), X),
    "erf": (
        lambda j: lambda x: (j.lax.erf(x), j.lax.erf_inv(x), j.lax.lgamma(x), j.lax.digamma(x)),
        X,
    ),
    "logical": (lambda j: lambda x: (j.np.logical_and(x > 0, x < 1), j.np.logical_not(x)), X),
    "any all": (lambda j: lambda x: ((x > 0).any(), (x > 0).all()), X),
    "sort keys": (lambda j: lambda x, i: j.lax.sort((x, i), num_keys=1), X, np.arange(3)),
    "lax.split": (lambda j: lambda x: j.lax.split(x, (1, 2)), X),
    "ravel": (lambda j: lambda x: x.ravel(), M),
    "repeat": (lambda j: lambda x: j.np.repeat(x, 2), X),
    "full_like": (lambda j: lambda x: (j.np.ones_like(x), j.np.zeros_like(x)), X),
    "int cast": (
        lambda j: lambda x: (x.astype(np.int8), x.astype(bool), x.astype(np.complex64)),
        X,
    ),
    "bit ops": (lambda j: lambda x: (x & 1, x | 2, x ^ 3, x << 1, x >> 1), INTEGERS),
    "popcount": (lambda j: lambda x: (j.lax.population_count(x), j.lax.clz(x)), INTEGERS),
    "isfinite": (lambda j: lambda x: (j.np.isfinite(x), j.np.isnan(x)), X),
    "triangular_solve": (
        lambda j: lambda a, b: j.lax.linalg.triangular_solve(a, b, lower=True, left_side=True),
        M,
        M,
    ),
    "maxima of windows": (
        lambda j: lambda x: j.lax.reduce_window(x, -np.inf, j.lax.max, (2,), (1,), "VALID"),
        X,
    ),
    "reduce": (lambda j: lambda x: j.lax.reduce(x, np.float32(0), j.lax.add, (0,)), X),
    "sums of windows": (
        lambda j: lambda x: j.lax.reduce_window(x, 0.0, j.lax.add, (2,), (1,), "SAME"),
        X,
    ),
    "grad of conv": (
        lambda j: j.jax.grad(lambda x: j.lax.conv(x, IMAGE, (1, 1), "SAME").sum()),
        IMAGE,
    ),
    "conv general": (
        lambda j: (
            lambda x: j.lax.conv_general_dilated(
                x, x, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
        ),
        np.ones((1, 3, 3, 3), np.float32),
    ),
    "dynamic_update": (
        lambda j: lambda x, i: j.lax.dynamic_update_slice(x, x[:1], (i,)),
        X,
        np.int32(1),
    ),
    "fold_in": (lambda j: lambda k: j.random.fold_in(k, 1), KEY),
    "split of an old key": (lambda j: lambda k: j.random.split(k), OLD_KEY),
    "key_data": (lambda j: lambda k: j.random.key_data(k), KEY),
    "checkpoint with a policy": (
        lambda j: j.jax.checkpoint(j.np.sin, policy=j.jax.checkpoint_policies.dots_saveable),
        X,
    ),
    "linearize": (lambda j: lambda x: j.jax.linearize(j.np.sin, x)[1](x), X),
    "vjp": (lambda j: lambda x: j.jax.vjp(j.np.sin, x)[1](x), X),
    "vmap of matmul": (
        lambda j: j.jax.vmap(j.np.matmul),
        np.ones((2, 3, 3), np.float32),
        np.ones((2, 3, 3), np.float32),
    ),
    "linear_solve": (
        lambda j: lambda x: j.lax.custom_linear_solve(lambda v: v * 2, x, lambda f, b: b / 2),
        X,
    ),
    "dot precision": (lambda j: lambda x: j.np.dot(x, x, precision="highest"), M),
    "dot in another dtype": (
        lambda j: lambda x: j.lax.dot(x, x, preferred_element_type=np.float64),
        M,
    ),
    "dot of ints": (lambda j: lambda x: x @ x, np.ones((2, 2), np.int8)),
    "tensordot": (lambda j: lambda a: j.np.tensordot(a, a, 1), M),
    "batched matmul": (lambda j: lambda a: a @ a, np.ones((2, 3, 3), np.float32)),
    "power of ints": (lambda j: lambda x: x**2, INTEGERS),
    "remainders": (lambda j: lambda x: j.lax.rem(x, x), X),
    "logsumexp": (lambda j: j.nn.logsumexp, X),
    "cond": (
        lambda j: lambda p, x: j.lax.cond(p, j.np.sin, j.np.cos, x),
        np.bool_(True),
        X,
    ),
}

# Programs that differ from JAX's, by the names that their reasons have.
DIFFERENT = {
    "`x.at[0].set(y)` and slices": (lambda j: lambda x: x.at[0].set(2.0), X),
    "functions that JAX jits": (lambda j: j.np.sort, X),
    "`vmap` of `while_loop`": (
        lambda j: j.jax.vmap(lambda x: j.lax.while_loop(lambda c: c < 9, lambda c: c * 2, x)),
        X,
    ),
    "`grad` of `scan`": (lambda j: j.jax.grad(lambda w: scan(j)(w)[0]), X),
    "`grad` of `jit`": (lambda j: j.jax.grad(j.jax.jit(lambda x: j.np.sin(x))), S),
    "`grad` of `checkpoint`": (lambda j: j.jax.grad(j.jax.checkpoint(j.np.sin)), S),
    "references": (lambda j: lambda x: j.jax.new_ref(x)[...], X),
    "`debug.print`": (lambda j: lambda x: j.jax.debug.print("{}", x), X),
    "callbacks": (lambda j: lambda x: j.jax.pure_callback(np.sin, x, x), X),
    "options of `jit` in `jit`": (lambda j: j.jax.jit(lambda x: x * 2, donate_argnums=0), X),
    "`jit(f, inline=True)`": (lambda j: j.jax.jit(lambda x: x * 2, inline=True), X),
    "`device_put`, `copy`": (lambda j: lambda x: x.copy(), X),
    "`with_sharding_constraint`": (
        lambda j: (
            lambda x: j.lax.with_sharding_constraint(x, j.jax.NamedSharding(mesh(j), j.jax.P("x")))
        ),
        X,
    ),
    "collectives under `vmap`": (
        lambda j: j.jax.vmap(lambda x: j.lax.psum(x, "i"), axis_name="i"),
        M,
    ),
    "numbers in `shard_map`": (lambda j: smap(j, lambda x: x * 2), X),
    "`pmap`": (lambda j: j.jax.pmap(lambda x: x * 2), M[:1]),
    "random numbers": (lambda j: lambda k: j.random.normal(k, (3,)), KEY),
}


def text_by(lib, make, *args):
    args = [lib.random.key(0) if x is KEY else x for x in args]
    return str(lib.make_jaxpr(make(library(lib)))(*args))


@for_each("program", PROGRAMS)
def test_the_text_is_that_of_jax(program):
    assert text_by(glassjax, *PROGRAMS[program]) == text_by(jax, *PROGRAMS[program])


@for_each("program", PROGRAMS_THAT_DIFFER)
def test_the_programs_that_are_listed_differ(program):
    assert text_by(glassjax, *DIFFERENT[program]) != text_by(jax, *DIFFERENT[program])


def test_all_texts_of_a_program_are_the_same():
    jitted = glassjax.jit(twice)
    closed = glassjax.make_jaxpr(jitted)(X)
    assert repr(closed) == str(closed.jaxpr) == closed.pretty_print(use_color=False)
    traced = glassjax.jit(lambda x: jitted(x)).trace(X).jaxpr
    assert str(traced) == str(jax.jit(lambda x: jax.jit(twice)(x)).trace(X).jaxpr)


def test_partials_name_the_public_module():
    partial = glassjax.tree_util.Partial(max, 1)
    theirs = jax.tree_util.Partial(max, 1)
    # Before Python 3.13, no module is named.
    assert repr(partial) == repr(theirs).replace("jax.", "glassjax.")
    assert repr(pickle.loads(pickle.dumps(partial))) == repr(partial)


def test_programs_are_compiled_for_the_devices_of_their_shardings():
    lowered = glassjax.jit(twice).lower(X)
    assert lowered.compile(device_assignment=None)(X).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match=r"expected no device_assignment.*shardings"):
        lowered.compile(device_assignment=tuple(glassjax.devices()))


def test_a_program_of_named_programs_can_be_evaluated():
    def solve(a, b):
        return glassjax.scipy.sparse.linalg.cg(a, b)[0]

    a, b = np.diag([2.0, 4.0]).astype("float32"), np.ones(2, "float32")
    closed = glassjax.make_jaxpr(glassjax.jit(solve))(a, b)
    (found,) = glassjax.core.eval_jaxpr(closed.jaxpr, closed.consts, a, b)
    np.testing.assert_allclose(found, [0.5, 0.25])
