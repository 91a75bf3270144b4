"""Primitives of sparse arrays, bound directly and printed in jaxprs, beside JAX."""

from functools import partial

import jax
import numpy as np
import pytest
from jax.experimental import sparse as theirs
from jax.experimental.sparse.coo import COOInfo
from jax.experimental.sparse.util import SparseInfo
from libraries import results_at_once

import glassjax
from glassjax.experimental import sparse as ours
from glassjax.experimental.sparse.base import SparseInfo as OurInfo
from glassjax.experimental.sparse.coo import COOInfo as OurCOOInfo

SHAPE = (3, 4)
ROW, COL = np.array([0, 0, 2, 2], np.int32), np.array([1, 3, 0, 2], np.int32)
PLACES, STARTS = np.stack([ROW, COL], 1), np.array([0, 2, 2, 4], np.int32)
DATA = np.array([2.0, -1.0, 3.0, 0.5], np.float32)
DENSE = np.zeros(SHAPE, np.float32)
DENSE[ROW, COL] = DATA
VECTOR, MATRIX = np.arange(1.0, 5, dtype=np.float32), np.arange(8.0, dtype=np.float32).reshape(4, 2)
NUMBERS = (((1,), (0,)), ((), ()))
NSE = {"nse": 4, "index_dtype": np.dtype("int32")}
LAYOUT = {**NSE, "n_batch": 0, "n_dense": 0}
OTHERS = np.array([[1, 0], [3, 1]], np.int32)

# By the name of the primitive: a function of `bind`, the class of properties, that of COO, and the
# array by which it is differentiated, or that it is only mapped over.
PROGRAMS = {
    "bcoo_todense": (lambda p, info, _, x: p(x, PLACES, spinfo=info(SHAPE)), DATA),
    "bcoo_fromdense": (lambda p, info, _, x: p(x, **LAYOUT), DENSE),
    "bcoo_extract": (lambda p, info, _, x: p(PLACES, x, assume_unique=True), DENSE),
    "bcoo_transpose": (
        lambda p, info, _, x: p(x, PLACES, permutation=(1, 0), spinfo=info(SHAPE)),
        DATA,
    ),
    "bcoo_dot_general": (
        lambda p, info, _, x: p(
            x, PLACES, MATRIX,
            dimension_numbers=NUMBERS, preferred_element_type=None, lhs_spinfo=info(SHAPE),
        ),
        DATA,
    ),
    "bcoo_dot_general, dense": (
        lambda p, info, _, x: p(
            DATA, PLACES, x,
            dimension_numbers=NUMBERS, preferred_element_type=None, lhs_spinfo=info(SHAPE),
        ),
        VECTOR,
    ),
    "bcoo_dot_general_sampled": (
        lambda p, info, _, x: p(x, MATRIX, OTHERS[:, ::-1], dimension_numbers=NUMBERS),
        DENSE[:2],
    ),
    "bcoo_sort_indices": (lambda p, info, _, x: p(x, PLACES[::-1], spinfo=info(SHAPE)), DATA),
    "bcoo_sum_duplicates": (
        lambda p, info, _, x: p(x, PLACES[[0, 2, 0, 1]], spinfo=info(SHAPE), nse=3),
        DATA,
    ),
    "bcsr_fromdense": (lambda p, info, _, x: p(x, **LAYOUT), DENSE),
    "bcsr_todense": (lambda p, info, _, x: p(x, COL, STARTS, spinfo=info(SHAPE)), DATA),
    "bcsr_extract": (lambda p, info, _, x: p(COL, STARTS, x), DENSE),
    "bcsr_dot_general": (
        lambda p, info, _, x: p(
            x, COL, STARTS, VECTOR,
            dimension_numbers=NUMBERS, preferred_element_type=None, lhs_spinfo=info(SHAPE),
        ),
        DATA,
    ),
    "coo_fromdense": (lambda p, info, _, x: p(x, **NSE), DENSE),
    "coo_todense": (lambda p, _, info, x: p(x, ROW, COL, spinfo=info(SHAPE)), DATA),
    "coo_matvec": (
        lambda p, _, info, x: p(x, ROW, COL, VECTOR, spinfo=info(SHAPE), transpose=False),
        DATA,
    ),
    "coo_matvec, transposed": (
        lambda p, _, info, x: p(x, ROW, COL, VECTOR[:3], spinfo=info(SHAPE), transpose=True),
        DATA,
    ),
    "coo_matmat": (
        lambda p, _, info, x: p(x, ROW, COL, MATRIX, spinfo=info(SHAPE), transpose=False),
        DATA,
    ),
    "csr_fromdense": (lambda p, info, _, x: p(x, **NSE), DENSE),
    "csr_todense": (lambda p, info, _, x: p(x, COL, STARTS, shape=SHAPE), DATA),
    "csr_matvec": (
        lambda p, info, _, x: p(x, COL, STARTS, VECTOR, shape=SHAPE, transpose=False),
        DATA,
    ),
    "csr_matmat": (
        lambda p, info, _, x: p(x, COL, STARTS, MATRIX[:3], shape=SHAPE, transpose=True),
        DATA,
    ),
}  # fmt: skip


def loop(f):
    """In place of `vmap`, where JAX has no rule."""

    def mapped(batch):
        return jax.tree.map(lambda *xs: jax.numpy.stack(xs), *map(f, batch))

    return mapped


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def bound(library, name):
    """A function of an array, which binds the primitive, in a library."""
    program, _ = PROGRAMS[name]
    is_ours = library is glassjax
    lib, info, coo = (ours, OurInfo, OurCOOInfo) if is_ours else (theirs, SparseInfo, COOInfo)
    bind = getattr(lib, f"{name.partition(',')[0]}_p").bind

    def given(*arrays, **params):
        return bind(*map(library.numpy.asarray, arrays), **params)

    return lambda x: library.tree.leaves(program(given, info, coo, x))


@pytest.fixture(scope="module")
def results():
    """What each gives, its batches and slopes, or the error; each library compiles one program."""

    def of_one(library, name, x):
        f = bound(library, name)
        square = lambda x: sum((out**2).sum() for out in f(x) if out.dtype == np.float32)  # noqa: E731
        mapped = loop if library is jax and name[:3] in ("coo", "csr") else library.vmap
        return f(x), mapped(f)(library.numpy.stack([x, 2 * x])), library.grad(square)(x)

    programs = [lambda _, lib, *xs, i=i, n=n: of_one(lib, n, xs[i]) for i, n in enumerate(PROGRAMS)]
    arrays = [x for _, x in PROGRAMS.values()]
    found = [results_at_once(programs, lib.numpy, lib, *arrays) for lib in (glassjax, jax)]
    return dict(zip(PROGRAMS, zip(*found, strict=True), strict=True))


@pytest.mark.newest_jax("coo_matvec, transposed", "csr_matmat")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_bound_primitive_is_one_equation(name, results):
    x, alone = PROGRAMS[name][1], bound(glassjax, name)
    for library in (glassjax, jax):
        program = library.make_jaxpr(bound(library, name))(x)
        assert names(program.jaxpr)[-1] == name.partition(",")[0]
    for found in results[name]:
        if isinstance(found, Exception):
            raise found
    mine, other = map(jax.tree.leaves, results[name])
    for found, expected in zip([*mine, *alone(x)], [*other, *results[name][1][0]], strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_methods_and_functions_bind_them():
    def programs(lib):
        mat = lib.BCOO((DATA, PLACES), shape=SHAPE, indices_sorted=True, unique_indices=True)
        coo = lib.COO((DATA, ROW, COL), shape=SHAPE)
        csr = lib.CSR((DATA, COL, STARTS), shape=SHAPE)
        bcsr = lib.BCSR((DATA, COL, STARTS), shape=SHAPE)
        return [
            (lambda m: m.todense(), mat),
            (lambda m: m.T, mat),
            (lambda m: m @ VECTOR, mat),
            (lambda m: lib.BCOO.fromdense(m, nse=4), DENSE),
            (lambda m: m.todense(), coo),
            (lambda m: m @ VECTOR, coo),
            (lambda m: m @ MATRIX, coo),
            (lambda m: m.todense(), csr),
            (lambda m: m @ VECTOR, csr),
            (lambda m: m.todense(), bcsr),
            (partial(lib.bcsr_dot_general, rhs=VECTOR, dimension_numbers=NUMBERS), bcsr),
        ]

    for (f, x), (g, y) in zip(programs(ours), programs(theirs), strict=True):
        found = names(glassjax.make_jaxpr(f)(x).jaxpr)
        expected = [n for n in names(jax.make_jaxpr(g)(y).jaxpr) if n[:4] in ("bcoo", "bcsr")]
        expected = expected or [n for n in names(jax.make_jaxpr(g)(y).jaxpr) if "_" in n]
        assert found[-1] == expected[-1]


def test_the_number_of_elements_is_known_in_jaxprs():
    params = {"spinfo": OurInfo(SHAPE), "nse": None}
    with pytest.raises(ValueError, match="nse must be given"):
        glassjax.make_jaxpr(lambda x: ours.bcoo_sum_duplicates_p.bind(x, PLACES, **params))(DATA)
