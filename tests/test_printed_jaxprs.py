"""Programs are printed as JAX prints them: parameters, defaults, shared programs, line breaks."""

import pickle
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import minijax

X = np.ones(3, np.float32)
M = np.ones((3, 3), np.float32)
S = np.float32(1)
INDICES = np.array([0, 2], np.int32)
IMAGE = np.ones((1, 1, 3, 3), np.float32)


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


def loss(j):
    return lambda w: j.np.mean((M @ w) * 0.5)


PROGRAMS = {
    "sin": (lambda j: j.np.sin, X),
    "literals": (lambda j: lambda x: (x + 1) * 0.1, X),
    "weak": (lambda j: lambda x: x * 2, 1.0),
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
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_text_is_that_of_jax(program):
    make, *args = PROGRAMS[program]
    ours = minijax.make_jaxpr(make(library(minijax)))(*args)
    theirs = jax.make_jaxpr(make(library(jax)))(*args)
    assert str(ours) == str(theirs)


def test_all_texts_of_a_program_are_the_same():
    jitted = minijax.jit(twice)
    closed = minijax.make_jaxpr(jitted)(X)
    assert repr(closed) == str(closed.jaxpr) == closed.pretty_print(use_color=False)
    traced = minijax.jit(lambda x: jitted(x)).trace(X).jaxpr
    assert str(traced) == str(jax.jit(lambda x: jax.jit(twice)(x)).trace(X).jaxpr)


def test_partials_name_the_public_module():
    partial = minijax.tree_util.Partial(max, 1)
    theirs = jax.tree_util.Partial(max, 1)
    assert repr(partial) == f"mini{theirs!r}"
    assert repr(pickle.loads(pickle.dumps(partial))) == repr(partial)


def test_programs_are_compiled_for_the_devices_of_their_shardings():
    lowered = minijax.jit(twice).lower(X)
    assert lowered.compile(device_assignment=None)(X).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match=r"expected no device_assignment.*shardings"):
        lowered.compile(device_assignment=tuple(minijax.devices()))
