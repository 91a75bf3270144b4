"""Scans, maps in batches, selections and vmapped branches, at their edges, are JAX's."""

import jax
import numpy as np
import pytest
from libraries import assert_same_program
from shares import IS_NIGHT

import minijax
import minijax.numpy

LIBRARIES = [(minijax, minijax.numpy), (jax, jax.numpy)]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 3))


def test_associative_scans_of_pytrees():
    def of(lib, jnp, size, reverse):
        def steps(earlier, later):
            (a, b), (c, d) = (x["f"] for x in (earlier, later))
            return {"f": (a * c, b * c + d)}

        def scan(x, axis):
            return lib.lax.associative_scan(steps, {"f": (x, jnp.cos(x))}, reverse, axis)

        def loss(x):
            return sum(jnp.sum(jnp.sin(y)) for y in lib.tree.leaves(scan(x, 0)))

        x = jnp.asarray(X[:size])
        return scan(x, 0), scan(x.T, 1), lib.grad(loss)(x), lib.jvp(loss, (x,), (2 * x,))

    def everything(lib, jnp):
        return [of(lib, jnp, size, r) for size in (0, 1, 2, 5) for r in (False, True)]

    assert_same_program(lambda lib: lambda: everything(lib, lib.numpy))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_of_one_number_of_numpy_is_an_array(reverse):
    out = minijax.lax.associative_scan(minijax.numpy.add, np.ones(1, "float32"), reverse)
    assert isinstance(out, minijax.Array)


NAMES = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")


@pytest.mark.parametrize("name", NAMES)
def test_cumulative_functions(name):
    def everything(lib, jnp):
        def scan(x, **how):
            return getattr(lib.lax, name)(x, **how)

        outs = []
        for size, reverse in ((0, False), (1, True), (6, False), (6, True)):
            x = jnp.asarray(X[:size])
            outs += [scan(x, reverse=reverse), scan(x, axis=1, reverse=reverse)]
            outs.append(lib.grad(lambda x, r=reverse: jnp.sum(jnp.sin(scan(x, reverse=r))))(x))
        special = jnp.array([0.0, 1.0, jnp.inf, 1.0, jnp.nan, 2.0])
        ties = jnp.array([0.0, 1.0, 1.0, 0.0, 1.0])
        outs += [scan(special), scan(-special), lib.grad(lambda x: scan(x) @ jnp.arange(5.0))(ties)]
        long = jnp.sin(jnp.arange(140.0)).reshape(2, 70)  # 70 = 8 blocks of 9 but for two elements
        outs += [scan(long, axis=1), scan(long, axis=1, reverse=True), scan(long[:, :64], axis=1)]
        if name in ("cumprod", "cumsum"):  # before an infinite first element there is nothing
            first = jnp.array([jnp.inf, 0.0, 2.0])
            outs += [lib.jacfwd(scan)(first), lib.jacfwd(scan)(-first[::-1])]
        if name in ("cummax", "cummin"):
            outs.append(scan(jnp.array([1 + 2j, 1 + 1j, 2 - 1j, 0j])))
        if name != "cumlogsumexp":
            outs.append(scan(jnp.array([100, 200, 3], jnp.uint8)))
        return outs

    assert_same_program(lambda lib: lambda: everything(lib, lib.numpy))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["cumprod", "cumlogsumexp"])
def test_derivatives_of_long_scans_are_loops(name, reverse):
    # Written out, the rounds of 2,000 elements took XLA 20 s to compile.
    def slope(x):
        weights = minijax.numpy.cos(minijax.numpy.arange(x.shape[1]))
        scan = getattr(minijax.lax, name)
        return minijax.grad(lambda x: (scan(x, axis=1, reverse=reverse) * weights).sum())(x)

    x = 1 + 0.1 * np.random.default_rng(0).normal(size=(2, 300)).astype(np.float32)
    weights, exact = np.cos(np.arange(300)), x.astype(float)
    if reverse:
        weights, exact = weights[::-1], exact[:, ::-1]
    outs = np.cumprod(exact, 1) if name == "cumprod" else np.logaddexp.accumulate(exact, axis=1)
    slopes = np.asarray(minijax.jit(slope)(x))
    for row in range(2):
        by, out = exact[row][None, :], outs[row][:, None]
        parts = out / by if name == "cumprod" else np.exp(by - out)
        expected = weights @ np.tril(parts)
        found = slopes[row, ::-1] if reverse else slopes[row]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    lengths = [str(minijax.make_jaxpr(slope)(np.ones((2, n), np.float32))) for n in (300, 9000)]
    assert lengths[0].count("\n") == lengths[1].count("\n")


def test_arguments_of_the_largest_at_limits_of_dtypes():
    # Indices are floats on the way, for as long as those hold them.
    x = np.zeros((3, 300), np.float32)
    x[0, 299], x[1, 7], x[1, 9], x[2, 5] = 1.0, np.nan, 2.0, -1.0

    def everything(lib, jnp):
        y = jnp.asarray(x)
        found = [f(y, 1, t) for f in (lib.lax.argmax, lib.lax.argmin) for t in (np.int32, np.int16)]
        return [*found, lib.vmap(jnp.argmax)(y), jnp.argmax(y, 0), jnp.argmin(y)]

    assert_same_program(lambda lib: lambda: everything(lib, lib.numpy))


def test_selections_by_number():
    cases = [X[0], X[1], X[2]]

    def everything(lib, jnp):
        def select(which, *cases):
            return lib.lax.select_n(which, *cases)

        on_device = list(map(jnp.asarray, cases))
        which = jnp.array([2, 0, 1])
        outs = [select(which.astype(t), *on_device) for t in (np.int8, np.uint32, np.int64)]
        return [
            *outs,
            select(jnp.int32(1), *on_device),
            select(which > 0, *on_device[:2]),
            select(jnp.array([-1, 5, 1]), *on_device),
            lib.vmap(select, (0, None, None, 0))(jnp.arange(3), *on_device[:2], jnp.asarray(X[:3])),
            lib.grad(lambda *cases: jnp.sum(jnp.sin(select(which, *cases))), (0, 1, 2))(*on_device),
        ]

    assert_same_program(lambda lib: lambda: everything(lib, lib.numpy))
    for which, count in ((np.ones(3), 3), (np.array([True] * 3), 3)):
        for lib, _ in LIBRARIES:
            with pytest.raises(TypeError):
                lib.lax.select_n(which, *cases[:count])


# Of batches, and of rows: none, fewer than a batch, whole batches, and some that are left.
BATCHES = [(None, 0), (None, 5), (1, 4), (2, 0), (2, 1), (2, 4), (2, 5), (7, 5)]


def test_maps_in_batches():
    def of(lib, jnp, batch_size, size):
        def f(row):
            return jnp.sin(row["x"]) * row["n"], {"n": row["n"] + 1, "one": 1}

        def mapped(x):
            rows = {"x": x, "n": jnp.arange(x.shape[0])}
            return lib.lax.map(f, rows, batch_size=batch_size)

        x = jnp.asarray(X[:size])
        return mapped(x), lib.grad(lambda x: jnp.sum(mapped(x)[0]))(x)

    assert_same_program(lambda lib: lambda: [of(lib, lib.numpy, *sizes) for sizes in BATCHES])


# Functions of a library, its numpy, and a scalar, whose branches are not finite everywhere.
CHOICES = {
    "log": lambda lib, jnp, x: lib.lax.cond(x > 0, jnp.log, lambda x: x, x),
    "sqrt": lambda lib, jnp, x: lib.lax.cond(x > 0, jnp.sqrt, lambda x: 0 * x, x),
    "quotient": lambda lib, jnp, x: lib.lax.cond(
        x == 0, lambda x: 1.0, lambda x: jnp.sin(x) / x, x
    ),
    "of three": lambda lib, jnp, x: lib.lax.switch(
        (x > 0).astype(int) + (x >= 0), [lambda x: -x, lambda x: 3 * x, jnp.log], x
    ),
    "in a loop": lambda lib, jnp, x: lib.lax.scan(
        lambda c, _: (lib.lax.cond(c > 0, jnp.log, lambda y: 2 * y, c), c), x, None, length=3
    )[0],
    "of what is shared": lambda lib, jnp, x: lib.lax.cond(
        x > 0, lambda: jnp.log(x), lambda: jnp.cos(x)
    ),
}


@pytest.mark.parametrize("name", CHOICES)
def test_derivatives_of_vmapped_choices(name):
    """What a branch that is not taken gives is no number, and must not spoil the others."""

    def everything(lib, jnp):
        def f(x):
            return CHOICES[name](lib, jnp, x)

        def scaled(x, w):
            return CHOICES[name](lib, jnp, x * w)

        xs = jnp.array([-1.0, 0.0, 2.0])
        return [
            lib.vmap(f)(xs),
            lib.grad(lambda xs: jnp.sum(lib.vmap(f)(xs)))(xs),
            lib.grad(lambda w: jnp.sum(lib.vmap(scaled, (0, None))(xs, w)))(3.0),
            lib.vmap(lib.grad(f))(xs),
            lib.jacrev(lib.vmap(f))(xs),
            lib.jvp(lib.vmap(f), (xs,), (xs + 2,)),
            *([lib.vmap(lib.hessian(f))(xs)] if IS_NIGHT else []),
        ]

    assert_same_program(lambda lib: lambda: everything(lib, lib.numpy))
