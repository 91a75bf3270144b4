"""Cumulative reductions and associative scans: values and derivatives, beside JAX."""

import itertools

import numpy as np
import pytest
from lax_operands import F32, b, h, i, refusing, u, v, x, z
from libraries import assert_all_same_results, assert_same_program, refused

import glassjax
import glassjax.numpy

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
    out = glassjax.lax.associative_scan(glassjax.numpy.add, np.ones(1, "float32"), reverse)
    assert isinstance(out, glassjax.Array)


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
        weights = glassjax.numpy.cos(glassjax.numpy.arange(x.shape[1]))
        scan = getattr(glassjax.lax, name)
        return glassjax.grad(lambda x: (scan(x, axis=1, reverse=reverse) * weights).sum())(x)

    x = 1 + 0.1 * np.random.default_rng(0).normal(size=(2, 300)).astype(np.float32)
    weights, exact = np.cos(np.arange(300)), x.astype(float)
    if reverse:
        weights, exact = weights[::-1], exact[:, ::-1]
    outs = np.cumprod(exact, 1) if name == "cumprod" else np.logaddexp.accumulate(exact, axis=1)
    slopes = np.asarray(glassjax.jit(slope)(x))
    for row in range(2):
        by, out = exact[row][None, :], outs[row][:, None]
        parts = out / by if name == "cumprod" else np.exp(by - out)
        expected = weights @ np.tril(parts)
        found = slopes[row, ::-1] if reverse else slopes[row]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    lengths = [str(glassjax.make_jaxpr(slope)(np.ones((2, n), np.float32))) for n in (300, 9000)]
    assert lengths[0].count("\n") == lengths[1].count("\n")


SCANS = {
    "cumsum": (x, i, z, u, h),
    "cumprod": (x, i, z, u),
    "cummax": (x, i, u, v, h),
    "cummin": (x, i, u, v),
    "cumlogsumexp": (x, v),
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("name", SCANS)
def test_cumulative_functions_of_32_bits(name):
    def of(axis, reverse, array):
        return lambda n, lib: getattr(lib.lax, name)(array, axis=axis, reverse=reverse)

    def derivatives(n, lib):
        def f(x):
            scan = getattr(lib.lax, name)
            return scan(x, 0), scan(x, 1, reverse=True)

        out, tangent = lib.jvp(f, (x,), (x * 0.5 + 1,))
        pull = lambda x: lib.vjp(f, x)[1](tuple(map(n.cos, out)))  # noqa: E731
        moved = lib.vmap(f, 1)(np.stack([x, 2 * x], 1))
        return lib.tree.leaves([out, tangent, lib.jvp(pull, (x,), (x + 1,)), moved])

    programs = [
        of(axis, reverse, array)
        for array, reverse in itertools.product(SCANS[name], (False, True))
        for axis in range(array.ndim)
    ]
    programs += [refused(of(axis, False, x)) for axis in (2, -3)]
    if name in ("cumsum", "cumprod"):
        programs.append(refused(of(0, False, b)))
    assert_all_same_results(programs)
    assert_all_same_results([derivatives], rtol=2e-5)


@pytest.mark.bits(32)
def test_associative_scans():
    def pairs(n):
        def combine(a, b):
            return a[0] * b[0], a[1] * b[0] + b[1]

        return combine

    def program(n, lib):
        scan = lib.lax.associative_scan
        affine = (x, x - 1)
        out = [
            scan(n.add, x),
            scan(n.maximum, i, reverse=True, axis=1),
            scan(n.add, n.asarray(x[:1])),
        ]
        out += [scan(pairs(n), affine, reverse=r, axis=1) for r in (False, True)]
        strings = scan(lambda a, b: n.matmul(a, b), np.stack([x[:2, :2]] * 5))
        slopes = lib.grad(lambda y: (scan(pairs(n), (y, y - 1))[1] ** 2).sum())(x)
        return lib.tree.leaves([out, strings, slopes])

    wrong = [
        lambda lax: lax.associative_scan(3, x),
        lambda lax: lax.associative_scan(lax.add, {"a": x, "b": x[:2]}),
        lambda lax: lax.associative_scan(lax.add, x, axis=2),
        lambda lax: lax.associative_scan(lax.add, F32(1)),
    ]
    assert_all_same_results([program, *refusing(wrong)])
