"""Polynomials: values, derivatives and program sizes, beside JAX."""

import numpy as np
import pytest
from libraries import assert_all_same_results, refused
from numpy_operands import b, i, nothing, row, u, x, z

import glassjax
import glassjax.numpy as gnp


@pytest.mark.newest_jax
def test_polynomials_begin_with_their_first_coefficient():
    """The first one was added to 0 times infinity."""
    x = np.array([0.0, 2.0, np.inf, np.nan], np.float32)
    assert_all_same_results(
        lambda n, lib, p=p: n.polyval(n.array(p), x)
        for p in ([], [1], [2.0, 1.0], [1, 0, 3], list(range(20)))
    )


m = np.arange(12, dtype=np.int32).reshape(3, 4)


c = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


p = np.array([1.0, -6.0, 11.0, -6.0], np.float32)


points = np.linspace(-1, 1, 6, dtype=np.float32)


values = np.array([1.0, 0.0, 2.0, 3.0, 1.0, -1.0], np.float32)


weights = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 3.0], np.float32)


def in_order(numbers):
    return sorted(np.asarray(numbers).tolist(), key=lambda z: (round(z.real, 3), z.imag))


def of_numpy(n, lib):
    """Ours, and numpy itself in JAX's place, which has one program for each operation here."""
    return n if lib is glassjax else np


long = np.cos(np.arange(40.0, dtype=np.float32))


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "polynomials": [
        lambda n, lib: in_order(of_numpy(n, lib).roots(p)),
        lambda n, lib: in_order(of_numpy(n, lib).roots(np.array([0, 0, 2, -4, 10, 0]))),
        lambda n, lib: in_order(lib.jit(lambda p: n.roots(p, strip_zeros=False))(p)),
        lambda n, lib: n.roots(np.array([0.0, 1.0, 2.0]), strip_zeros=False),
        lambda n, lib: n.roots(np.zeros(3), strip_zeros=False),
        lambda n, lib: n.roots(np.zeros(3)),
        lambda n, lib: n.roots(3.0),
        refused(lambda n, lib: n.roots(m)),
        refused(lambda n, lib: lib.jit(n.roots)(p)),
        lambda n, lib: n.polyfit(points, values, 2),
        lambda n, lib: n.polyfit(points, np.stack([values, points], 1), 3, w=weights),
        lambda n, lib: n.polyfit(points, values, 2, full=True),
        lambda n, lib: n.polyfit(points, values, 1, rcond=1e-4, cov=True, w=weights),
        lambda n, lib: n.polyfit(points, np.stack([values, points], 1), 1, cov="unscaled"),
        lambda n, lib: n.polyfit(points, np.stack([values, points], 1), 1, cov=True),
        lambda n, lib: lib.jit(n.polyfit, static_argnums=2)(points, values, 1),
        lambda n, lib: lib.jacrev(lambda y: n.polyfit(points, y, 1))(values),
        refused(lambda n, lib: n.polyfit(points, values, -1)),
        refused(lambda n, lib: n.polyfit(points, values[:2], 1)),
        refused(lambda n, lib: n.polyfit(points, c, 1)),
        refused(lambda n, lib: n.polyfit(points[:2], values[:2], 1, cov=True)),
        refused(lambda n, lib: n.polyfit(points, values, 1, w=c)),
        lambda n, lib: n.polymul(np.array([0, 0, 1, 2]), p, trim_leading_zeros=True),
        lambda n, lib: n.polymul(np.array([0, 1, 2]), p),
        lambda n, lib: n.polydiv(p, np.array([1.0, -1.0], np.float32), trim_leading_zeros=True),
        lambda n, lib: n.polydiv(p, np.array([2, 1]), trim_leading_zeros=True),
        lambda n, lib: n.polydiv(p, np.array([2, 1])),
    ],
    "values of polynomials": [
        lambda n, lib: n.polyval(row, x),
        lambda n, lib: n.polyval(row, 2),
        lambda n, lib: n.polyval(i[0], 2.5),
        lambda n, lib: n.polyval(i[0], 2),
        lambda n, lib: n.polyval(i[0], u),
        lambda n, lib: n.polyval(row, z),
        lambda n, lib: n.polyval(z[0], row, unroll=2),
        lambda n, lib: n.polyval(nothing[0], row),
        lambda n, lib: n.polyval(long, row / 4),
        lambda n, lib: n.polyval(long, 0.5, unroll=1),
        lambda n, lib: n.polyval(b, row),
        lambda n, lib: n.polyval(x, row),
        refused(lambda n, lib: n.polyval([1, 2], 3)),
        lambda n, lib: n.poly(row),
        lambda n, lib: n.poly(i[0]),
        lambda n, lib: n.poly(z[0]),
        lambda n, lib: n.poly(nothing[0]),
        lambda n, lib: n.poly(2.0),
        lambda n, lib: n.poly(long[:24]),
        lambda n, lib: n.poly(row.astype(np.float16)),
        refused(lambda n, lib: n.poly(np.zeros((2, 2, 2)))),
        refused(lambda n, lib: n.poly([1, 2])),
    ],
    "sums and products of polynomials": [
        lambda n, lib: n.polyadd(row, i[0]),
        lambda n, lib: n.polyadd(u, b),
        lambda n, lib: n.polyadd(z[0], row[:1]),
        refused(lambda n, lib: n.polyadd(x, row)),
        refused(lambda n, lib: n.polyadd([1], [2])),
        lambda n, lib: n.polysub(row, i[0]),
        lambda n, lib: n.polysub(u, u[:2]),
        lambda n, lib: n.polysub(i[0], z[0]),
        refused(lambda n, lib: n.polysub([1], [2])),
        lambda n, lib: n.polymul(row, i[0]),
        lambda n, lib: n.polymul(i[0], i[1]),
        lambda n, lib: n.polymul(z[0], row),
        refused(lambda n, lib: n.polymul([1], [2])),
        lambda n, lib: n.polydiv(row, row[:2]),
        lambda n, lib: n.polydiv(i[0], i[1, 1:]),
        lambda n, lib: n.polydiv(row[:2], row),
        lambda n, lib: n.polydiv(z[0], z[1, :2]),
        lambda n, lib: n.polydiv(long, long[:3]),
        lambda n, lib: n.polydiv(long, long[:38]),
        lambda n, lib: n.polydiv(row, row[:1]),
        refused(lambda n, lib: n.polydiv([1], [2])),
    ],
    "derivatives of polynomials": [
        lambda n, lib: n.polyder(row),
        lambda n, lib: n.polyder(row, 2),
        lambda n, lib: n.polyder(row, 0),
        lambda n, lib: n.polyder(row, m=7),
        lambda n, lib: n.polyder(i[0]),
        lambda n, lib: n.polyder(z[0], 1),
        lambda n, lib: n.polyder(row.astype(np.float16)),
        lambda n, lib: n.polyder(nothing[0]),
        refused(lambda n, lib: n.polyder(row, -1)),
        refused(lambda n, lib: n.polyder([1, 2])),
        lambda n, lib: n.polyint(row),
        lambda n, lib: n.polyint(row, 2),
        lambda n, lib: n.polyint(row, 0),
        lambda n, lib: n.polyint(row, 3, k=np.array([1.0, 2.0, 3.0])),
        lambda n, lib: n.polyint(row, 2, k=5),
        lambda n, lib: n.polyint(row, 2, k=np.array([5.0])),
        lambda n, lib: n.polyint(i[0], k=1),
        lambda n, lib: n.polyint(i[0], k=1.5),
        lambda n, lib: n.polyint(z[0], 2),
        lambda n, lib: n.polyint(nothing[0]),
        refused(lambda n, lib: n.polyint(row, -1)),
        refused(lambda n, lib: n.polyint(row, 3, k=np.ones(2))),
        refused(lambda n, lib: n.polyint([1, 2])),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


def test_programs_of_long_polynomials_are_short():
    p = np.ones(100)
    for function in (
        lambda p: gnp.polyval(p, 0.5),
        lambda p: gnp.poly(p),
        lambda p: gnp.polydiv(p, p[:3]),
    ):
        assert len(glassjax.make_jaxpr(function)(p).eqns) < 30
