"""Loops under every transformation, beside JAX."""

from functools import partial

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import LIBRARIES, assert_same, assert_same_program
from shares import IS_NIGHT
from tables import for_each

import glassjax
import glassjax.numpy

RNG = np.random.default_rng(0)


X = RNG.standard_normal(3)


W = RNG.standard_normal((3, 3)) * 0.5


XS = RNG.standard_normal((4, 3))


def part(lib, x, i):
    """`x[i]`."""
    whole = lib.lax.slice(x, (i, *[0] * (x.ndim - 1)), (i + 1, *x.shape[1:]))
    return lib.lax.squeeze(whole, [0])


# Each is a function of a library, its numpy, and two arrays: of shapes (3,) and (3, 3).
def recurrent(lib, jnp, x, w):
    def step(h, u):
        h = jnp.tanh(jnp.dot(jnp.sin(w), h) + u * x)
        return h, (h, u)

    h, (hs, _) = lib.lax.scan(step, x, jnp.asarray(XS))
    return h + jnp.sum(hs * hs, 0)


def backwards(lib, jnp, x, w):
    def step(carry, row):
        total, product = carry
        return (total + row * product, product * jnp.cos(row)), {"sum": total, "none": None}

    (total, _), ys = lib.lax.scan(step, (x, jnp.ones(3)), w, reverse=True)
    return total * part(lib, ys["sum"], 0) + part(lib, ys["sum"], 2)


def unrolled(lib, jnp, x, w):
    def step(c, u):
        return jnp.sin(c) * u + x, c * c

    c, ys = lib.lax.scan(step, x, jnp.asarray(np.tile(XS, (2, 1))[:7]), unroll=3)
    c2, _ = lib.lax.scan(step, c, w, unroll=True)
    return c2 + part(lib, ys, 0) + part(lib, ys, 6)


def counted(lib, jnp, x, w):
    return lib.lax.fori_loop(1, 4, lambda i, c: jnp.sin(c) * i + jnp.dot(w, x), x)


def constant_carry(lib, jnp, x, w):
    """A part of the carry has a tangent, or a batch axis, from the second or third round on."""

    def step(carry, _):
        a, b, _, n = carry
        return (x * n, a + 1.0, b * jnp.sum(w), n + 1), n

    init = (jnp.zeros(3), jnp.ones(3), jnp.ones(3), 0)
    (a, b, c, _), ns = lib.lax.scan(step, init, None, length=5)
    return a + b * c + jnp.sum(ns)


def nested(lib, jnp, x, w):
    def inner(c, u):
        return c * jnp.cos(u), c

    def outer(c, row):
        c, ys = lib.lax.scan(inner, c, row * x)
        return c + jnp.sum(ys), c

    c, ys = lib.lax.scan(outer, 0.5 + 0.0 * part(lib, x, 0), w)
    return x * c + ys


def branching(lib, jnp, x, w):
    def step(c, row):
        c = lib.lax.cond(
            jnp.sum(row) > 0, lambda c: jnp.sin(c) * row, lambda c: c - part(lib, w, 0), c
        )
        return c, c * 2.0

    c, ys = lib.lax.scan(step, x, w)
    return c * part(lib, ys, 1)


def mapped(lib, jnp, x, w):
    return jnp.sum(lib.lax.map(lambda row: jnp.sin(row) * x, w), 1) + jnp.sum(
        lib.lax.map(lambda row: row * x, w, batch_size=2), 0
    )


def jitted(lib, jnp, x, w):
    @lib.jit
    def loss(x):
        c, ys = lib.lax.scan(lambda c, row: (c * jnp.sin(row), c), x, w)
        return c + jnp.sum(ys, 0)

    return loss(jnp.cos(x))


REVERSIBLE = [
    recurrent, backwards, unrolled, counted, constant_carry, nested, branching, mapped, jitted,
]  # fmt: skip


def until_large(lib, jnp, x, w):
    """How often it runs depends on the operands, which differ between examples."""

    def goes_on(carry):
        n, c = carry
        return (jnp.sum(c * c) < 30.0) & (n < 10)

    def body(carry):
        n, c = carry
        return n + 1, c * 1.5 + jnp.dot(w, x)

    n, c = lib.lax.while_loop(goes_on, body, (0, x))
    return c * n


def traced_bounds(lib, jnp, x, w):
    n = jnp.argmax(jnp.abs(x)) + 1
    return lib.lax.fori_loop(0, n, lambda i, c: c + jnp.sin(c) * x, part(lib, w, 0))


def known_condition(lib, jnp, x, w):
    def body(carry):
        n, a, b = carry
        return n + 1, a * 2.0, b * x + a

    _, a, b = lib.lax.while_loop(lambda c: c[0] < 4, body, (0, jnp.ones(3), part(lib, w, 0)))
    return a + b


def passing_on(lib, jnp, x, w):
    """Parts of what is carried stay as they are, of which the condition sees one."""

    def goes_on(carry):
        i, end, c, *_ = carry
        return (jnp.sum(c) < 20.0) & (i < end)

    def body(carry):
        i, end, c, same, rows = carry
        rows, _, other = lib.lax.cond(
            jnp.sum(c) > 2.0,
            lambda rows, x, y: (rows, x, y * 2.0),
            lambda rows, x, y: (rows, x, x + y),
            rows, x, same,
        )  # fmt: skip
        return i + 1, end, c * c + other, same, rows

    _, _, c, same, rows = lib.lax.while_loop(goes_on, body, (0, 5, x, x * 2.0, w))
    (d, kept, _), ys = lib.lax.scan(
        lambda c, row: ((c[0] * row + c[1], c[1], c[2]), c[2]), (x, same, w), rows
    )
    chosen = lib.lax.switch(
        jnp.argmax(x), [lambda c, d: (c, d), lambda c, d: (c, c * d), lambda c, d: (c, d * 3)], c, d
    )
    return chosen[0] * chosen[1] + kept + jnp.sum(ys, (0, 1))


FORWARD = [until_large, traced_bounds, known_condition, passing_on]


THOROUGHLY = [constant_carry, until_large]  # which take long to compile


every_program = pytest.mark.parametrize("program", REVERSIBLE + FORWARD, ids=lambda f: f.__name__)


def transformed(program, lib, jnp):
    def f(x, w):
        return program(lib, jnp, x, w)

    def loss(x, w):
        return jnp.sum(jnp.sin(f(x, w)))

    x, w, xs = jnp.asarray(X), jnp.asarray(W), jnp.asarray(XS)
    dx, dw = jnp.asarray(XS[0]), jnp.asarray(W.T)

    def everything(x, w):
        outs = {
            "jvp": lib.jvp(f, (x, w), (dx, dw)),
            "vmap last": lib.vmap(f, (1, 2), 1)(xs.T, jnp.stack([w, w.T, -w, 2 * w], 2)),
        }
        if program in FORWARD + THOROUGHLY:  # of the others, the gradient is linearized
            outs["linearize"] = lib.linearize(f, x, w)[1](dx, dw)
        if program in THOROUGHLY:
            outs |= {
                "jvp of one": lib.jvp(lambda x: f(x, w), (x,), (dx,)),
                "vmap of one": lib.vmap(f, (0, None))(xs, w),
                "vmap of jvp": lib.vmap(lambda x: lib.jvp(f, (x, w), (dx, dw)))(xs),
                "jvp of vmap": lib.jvp(lib.vmap(f, (0, None)), (xs, w), (xs * 2, dw)),
            }
        if program in THOROUGHLY and IS_NIGHT:
            outs["jvp of jvp"] = lib.jvp(lambda x: lib.jvp(f, (x, w), (dx, dw))[1], (x,), (dx,))
        if program not in REVERSIBLE:
            return outs
        gradient = lib.grad(loss, (0, 1))
        outs |= {
            "grad": gradient(x, w),
            "grad of vmap": lib.grad(lambda w: jnp.sum(lib.vmap(loss, (0, None))(xs, w)))(w),
        }
        if program in THOROUGHLY:
            outs |= {
                "grad of one": lib.grad(loss)(x, w),
                "vmap of grad": lib.vmap(gradient, (0, None))(xs, w),
                "vjp of linearized": lib.linear_transpose(lib.linearize(f, x, w)[1], x, w)(dx),
                "grad of jit": lib.grad(lib.jit(loss))(x, w),
            }
        if program in THOROUGHLY and IS_NIGHT:
            outs |= {
                "jvp of grad": lib.jvp(gradient, (x, w), (dx, dw)),
                "grad of jvp": lib.grad(lambda x: jnp.sum(lib.jvp(f, (x, w), (dx, dw))[1]))(x),
                "hessian": lib.hessian(loss)(x, w),
            }
        return outs

    return everything, (x, w)


def leaves(lib, outs):
    return [np.asarray(x) for x in lib.tree.leaves(outs)]


@every_program
def test_every_transformation_agrees_with_jax(program):
    ours, args = transformed(program, *LIBRARIES[0])
    theirs, jax_args = transformed(program, *LIBRARIES[1])
    expected = leaves(jax, jax.jit(lambda: theirs(*jax_args))())
    assert_same(leaves(glassjax, glassjax.jit(ours)(*args)), expected, 1e-9)


def test_evaluation_agrees_with_compilation():
    lib, jnp = LIBRARIES[0]

    def several(x, w, xs):
        f = partial(counted, lib, jnp)
        return [
            lib.jvp(f, (x, w), (xs[0], w)),
            lib.vmap(f, (0, None))(xs, w),
            lib.grad(lambda x: jnp.sum(f(x, w)))(x),
        ]

    args = [jnp.asarray(each) for each in (X, W, XS)]
    assert_same(leaves(lib, several(*args)), leaves(lib, lib.jit(several)(*args)), 1e-9)


@pytest.mark.parametrize("x64", [False, True])
def test_types_of_what_is_carried(x64):
    def types(lib, jnp):
        def struct(x):
            return x.shape, str(x.dtype), bool(x.weak_type)

        lax, x = lib.lax, jnp.arange(3.0)
        make = lambda: [  # noqa: E731
            lax.scan(lambda c, u: (c + u, c), 0, x),
            lax.scan(lambda c, u: (c + 1, c), 0, x),
            lax.scan(lambda c, u: (c, u), 1.5, None, length=2),
            lax.scan(lambda c, u: (c * u, 1), jnp.float32(1), jnp.ones(2, jnp.float16)),
            lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0),
            lax.while_loop(lambda c: c < 3, lambda c: c + jnp.float32(1), 0),
            lax.fori_loop(0, 3, lambda i, c: (i, c[1] + i), (0, 1.0)),
            lax.fori_loop(jnp.int8(0), 3, lambda i, c: i + 0, jnp.sum(jnp.arange(1))),
            lax.fori_loop(jnp.int16(0), jnp.int16(0), lambda i, c: c, 0),
        ]
        # JAX hands back what was put in where nothing changes it.
        outs = lib.tree.map(jnp.asarray, make()) if lib is jax else lib.eval_shape(make)
        return [struct(x) for x in lib.tree.leaves(outs)]

    with glassjax.enable_x64(x64), jax.enable_x64(x64):
        ours, theirs = (types(*library) for library in LIBRARIES)
    assert ours == theirs


# Each is a call that JAX refuses, too.
FAULTS = {
    "carry of another type": lambda lib, jnp: lib.lax.scan(
        lambda c, u: (jnp.ones(2), u), jnp.ones(3), None, 2
    ),
    "carry of another structure": lambda lib, jnp: lib.lax.scan(
        lambda c, u: ((c, c), u), jnp.ones(3), None, 2
    ),
    "no pair": lambda lib, jnp: lib.lax.scan(lambda c, u: c, jnp.ones(3), None, 2),
    "a loop of another type": lambda lib, jnp: lib.lax.while_loop(
        lambda c: True, lambda c: {"a": c["a"] > 0}, {"a": jnp.ones(3)}
    ),
    "no boolean": lambda lib, jnp: lib.lax.while_loop(lambda c: c, lambda c: c, 1.0),
    "no scalar": lambda lib, jnp: lib.lax.while_loop(lambda c: c > 0, lambda c: c, jnp.ones(2)),
    "no length": lambda lib, jnp: lib.lax.scan(lambda c, u: (c, u), 0, None),
    "two lengths": lambda lib, jnp: lib.lax.scan(
        lambda c, u: (c, u), 0, (jnp.ones(2), jnp.ones(3))
    ),
    "another length": lambda lib, jnp: lib.lax.scan(lambda c, u: (c, u), 0, jnp.ones(2), 3),
    "a scalar": lambda lib, jnp: lib.lax.scan(lambda c, u: (c, u), 0, 1.0),
    "bounds of no integer": lambda lib, jnp: lib.lax.fori_loop(0, 2.5, lambda i, c: c, 0),
    "bounds of two dtypes": lambda lib, jnp: lib.lax.fori_loop(
        jnp.int8(0), jnp.int16(2), lambda i, c: c, 0
    ),
    "unrolling what is not known": lambda lib, jnp: lib.jit(
        lambda n: lib.lax.fori_loop(0, n, lambda i, c: c, 0, unroll=2)
    )(3),
    "reverse mode": lambda lib, jnp: lib.grad(
        lambda x: lib.lax.while_loop(lambda c: c < 3, lambda c: c * x, x)
    )(1.5),
    "no branches": lambda lib, jnp: lib.lax.switch(0, []),
    "no index": lambda lib, jnp: lib.lax.switch(0.5, [jnp.sin, jnp.cos], 1.0),
    "an index of many": lambda lib, jnp: lib.lax.switch(jnp.arange(2), [jnp.sin, jnp.cos], 1.0),
    "branches that differ": lambda lib, jnp: lib.lax.switch(
        0, [lambda x: x, lambda x: (x, x)], 1.0
    ),
    "types that differ": lambda lib, jnp: lib.lax.switch(
        0, [lambda x: x, lambda x: jnp.stack([x, x])], 1.0
    ),
    "predicates": lambda lib, jnp: lib.lax.cond(jnp.ones(2) > 0, lambda: 1, lambda: 2),
}


@for_each("name", FAULTS)
def test_what_jax_refuses_is_refused(name):
    kinds = []
    for library in LIBRARIES:
        with pytest.raises((TypeError, ValueError)) as info:
            FAULTS[name](*library)
        kinds.append(info.type)
    assert issubclass(kinds[0], kinds[1])


@pytest.mark.parametrize("lengths", [(10, 100_000)])
def test_a_program_does_not_grow_with_its_length(lengths):
    def text(length):
        def loss(x, xs):
            c, ys = glassjax.lax.scan(lambda c, u: (glassjax.numpy.sin(c) * u, c), x, xs)
            return c + glassjax.numpy.sum(ys)

        xs = glassjax.ShapeDtypeStruct((length,), np.float64)
        x = glassjax.ShapeDtypeStruct((), np.float64)
        return glassjax.jit(glassjax.grad(loss, (0, 1))).lower(x, xs).as_text()

    short, long = (text(n).replace(str(n - 1), "N-1").replace(str(n), "N") for n in lengths)
    assert abs(len(short) - len(long)) < 0.01 * len(short)
    assert short.count("\n") == long.count("\n")


def test_a_body_is_traced_once():
    calls = []

    def step(c, u):
        calls.append(None)
        return c * u, c

    glassjax.jit(lambda xs: glassjax.lax.scan(step, 1.0, xs))(np.ones(1000))
    assert len(calls) == 1


def test_only_what_differs_is_kept_of_every_round():
    """The weights are in no stack of residuals, nor what is computed from them alone."""
    w = np.ones((50, 50))

    def loss(w, x):
        jnp = glassjax.numpy
        return jnp.sum(glassjax.lax.scan(lambda h, _: (jnp.sin(w) @ h, None), x, None, 100)[0])

    step = glassjax.jit(glassjax.grad(loss)).lower(w, np.ones(50)).compile()
    assert step.memory_analysis().temp_size_in_bytes < 100 * w.nbytes / 4


BODIES = {
    "sin": lambda lib, jnp, f: lambda x: jnp.sin(f(x)),
    "scan": lambda lib, jnp, f: (
        lambda x: lib.lax.scan(lambda c, u: (f(c) * u, c), x, jnp.arange(1.0, 3.0))[0]
    ),
    "ys": lambda lib, jnp, f: (
        lambda x: jnp.sum(lib.lax.scan(lambda c, u: (c * 0.5, f(u)), 1.0, jnp.stack([x, 2 * x]))[1])
    ),
    "while": lambda lib, jnp, f: (
        lambda x: lib.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, f(c[1]) + x), (0, x))[
            1
        ]
    ),
    "cond": lambda lib, jnp, f: lambda x: lib.lax.cond(x > 0.3, f, lambda x: x * x, x),
    "switch": lambda lib, jnp, f: (
        lambda x: lib.lax.switch((x * 3).astype(int), [f, jnp.cos, lambda y: y * x], x)
    ),
    "jit": lambda lib, jnp, f: lib.jit(f),
    "vmap": lambda lib, jnp, f: lambda x: jnp.sum(lib.vmap(f)(jnp.stack([x, -x, x + 1.0]))),
    "jvp": lambda lib, jnp, f: lambda x: lib.jvp(f, (x,), (x * 0 + 1.0,))[1],
}


@settings(max_examples=5)
@given(
    st.lists(st.sampled_from(sorted(BODIES)), min_size=2, max_size=4),
    st.floats(-1, 1),
)
def test_nested_at_random(names, x):
    def program(lib, jnp):
        f, at = jnp.tanh, jnp.asarray(x)
        for name in names:
            f = BODIES[name](lib, jnp, f)
        if "while" in names:
            return lib.jvp(f, (at,), (at,))
        return f(at), lib.grad(f)(at), lib.vmap(lib.grad(f))(jnp.asarray([x, 0.5, -2.0]))

    ours, theirs = (leaves(lib, lib.jit(partial(program, lib, jnp))()) for lib, jnp in LIBRARIES)
    assert_same(ours, theirs, 1e-9)


ROWS = RNG.standard_normal((6, 3))


# Of batches, and of rows: none, fewer than a batch, whole batches, and some that are left.
BATCHES = [(None, 0), (None, 5), (1, 4), (2, 0), (2, 1), (2, 4), (2, 5), (7, 5)]


def test_maps_in_batches():
    def of(lib, jnp, batch_size, size):
        def f(row):
            return jnp.sin(row["x"]) * row["n"], {"n": row["n"] + 1, "one": 1}

        def mapped(x):
            rows = {"x": x, "n": jnp.arange(x.shape[0])}
            return lib.lax.map(f, rows, batch_size=batch_size)

        x = jnp.asarray(ROWS[:size])
        return mapped(x), lib.grad(lambda x: jnp.sum(mapped(x)[0]))(x)

    assert_same_program(lambda lib: lambda: [of(lib, lib.numpy, *sizes) for sizes in BATCHES])
