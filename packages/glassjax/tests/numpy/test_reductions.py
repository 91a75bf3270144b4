"""Reductions and statistics: values, dtypes, axes and edges, against numpy."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from beside_numpy import are_same, is_same, numbers, of_each
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import for_each

import glassjax.numpy as jnp
from glassjax import grad, jit, jvp, vmap

few = settings(max_examples=15, deadline=None)  # each new shape is compiled


shapes = st.lists(st.integers(1, 3), min_size=0, max_size=3).map(tuple)


dtypes = st.sampled_from(["float64", "float32", "int32", "uint8", "bool"])


@st.composite
def arrays_and_axes(draw):
    shape = draw(shapes)
    axis = st.integers(-len(shape), len(shape) - 1)
    axes = st.none()
    if shape:
        several = st.lists(axis, unique_by=lambda a: a % len(shape), max_size=3).map(tuple)
        axes = st.one_of(axes, axis, several)
    return numbers(shape, draw(dtypes), draw(st.integers(0, 9))), draw(axes)


REDUCTIONS = ["sum", "mean", "var", "std", "max", "min", "all", "any"]


@given(case=arrays_and_axes(), keepdims=st.booleans())
@few
def test_reductions(case, keepdims):
    x, axis = case
    places = ["argmax", "argmin"] if not isinstance(axis, tuple) else []
    options = {"axis": axis, "keepdims": keepdims}
    expected = of_each([*REDUCTIONS, *places], np, x, **options)
    # Of integers of fewer bits the mean has 32 bits, as JAX has it.
    wide = x.astype(np.int64) if x.dtype.kind in "biu" else x
    averages = ["mean", "var", "std"]
    names = [name for name in expected if name not in averages]

    @jit
    def found(x, wide):
        return of_each(names, jnp, x, **options) | of_each(averages, jnp, wide, **options)

    are_same(found(x, wide), expected, 1e-5)


@for_each("name", [*REDUCTIONS, "argmax", "argmin"])
def test_a_reduction_that_nothing_is_around(name):
    x = numbers((2, 3), "float64")
    is_same(getattr(jnp, name)(x, 1), getattr(np, name)(x, 1))


NARROW_FLOATS = [
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
]  # fmt: skip


def test_extremes_of_narrow_floats_also_without_infinities():
    names = "max", "min", "argmax", "argmin"
    arrays = {
        (dtype, sign): sign * np.array([2, 1, 4, 1]).astype(getattr(ml_dtypes, dtype))
        for dtype in ["float8_e8m0fnu", *NARROW_FLOATS]
        for sign in ((1, -1) if dtype != "float8_e8m0fnu" else (1,))
    }
    arrays = {case: np.asarray(x, case[0]) for case, x in arrays.items()}
    found = jit(lambda arrays: [of_each(names, jnp, x) for x in arrays])(list(arrays.values()))
    for (case, x), results in zip(arrays.items(), found, strict=True):
        for name, expected in of_each(names, np, x.astype(np.float32)).items():
            assert results[name].numpy().astype(np.float32) == expected, (*case, name)


@for_each("dtype", ["float16", "bfloat16", "float8_e5m2"])
def test_sums_of_narrow_floats_are_exact_as_far_as_the_result_can_be(dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.ones(5000, dtype)
    assert jnp.sum(x).numpy() == np.asarray(5000).astype(dtype)
    assert (jnp.mean(x).numpy(), jnp.var(x).numpy()) == (1, 0)
    assert jnp.mean(np.full(70_000, 3).astype(dtype)).numpy() == 3  # more than a float16 counts
    assert {f(x).dtype for f in (jnp.sum, jnp.mean, jnp.var)} == {dtype}


@for_each("dtype", ["complex64", "complex128"])
def test_the_variance_of_complex_numbers_is_real(dtype):
    x = np.array([1 + 2j, 3 - 1j, 0.5j], dtype)
    is_same(jnp.var(x), np.var(x))
    is_same(jit(jnp.std)(x), np.std(x))
    is_same(jnp.var(x, ddof=1), np.var(x, ddof=1))


WHERE = np.array([[True, False, True, True], [True, True, False, True]])


def test_reductions_of_some_elements():
    cases = list(itertools.product([None, 0, 1, (0, 1)], [False, True]))

    def reductions(library, x):
        for axis, keepdims in cases:
            options = {"axis": axis, "where": WHERE, "keepdims": keepdims}
            extremes = of_each(["max", "min"], library, x, initial=2.0, **options)
            others = set(REDUCTIONS) - {*extremes}
            yield extremes | of_each(sorted(others), library, x, **options)
        yield of_each(["all", "any"], library, x, where=False)

    x = numbers((2, 4), "float64")
    found = jit(lambda x: list(reductions(jnp, x)))(x)
    for results, expected in zip(found, reductions(np, x), strict=True):
        are_same(results, expected)


def test_reductions_from_an_initial_number():
    x = numbers((2, 3), "int32")
    is_same(jnp.sum(x, 0, initial=10), np.sum(x, 0, initial=10))
    is_same(jnp.max(x, 0, initial=3), np.max(x, 0, initial=3))
    is_same(jnp.min(np.ones((0, 2)), 0, initial=3), np.full(2, 3.0))


def test_reductions_take_numpys_arguments_by_position():
    x = numbers((2, 3), "float64")
    is_same(jnp.sum(x, 0, None, None, True), np.sum(x, 0, None, None, True))
    is_same(jnp.max(x, 0, None, True), np.max(x, 0, None, True))
    is_same(jnp.var(x, 0, None, None, 1, True), np.var(x, 0, None, None, 1, True))
    is_same(jnp.argmax(x, 0, None, keepdims=True), np.argmax(x, 0, None, keepdims=True))


def test_a_variance_about_a_known_mean_and_with_a_correction():
    x = numbers((2, 3), "float64")
    is_same(jnp.var(x, 1, mean=np.ones((2, 1))), np.var(x, 1, mean=np.ones((2, 1))))
    is_same(jnp.std(x, correction=1), np.std(x, ddof=1))
    assert np.isnan(jnp.var(x, ddof=6).numpy())
    assert np.isnan(jnp.var(x, ddof=5, where=WHERE[:, :3]).numpy())


def test_mean_and_var_under_transformations():
    x = numbers((4, 3), "float64")
    of_each_row, by_var, by_std = jit(
        lambda x: (vmap(jnp.var)(x), grad(jnp.var)(x), grad(jnp.std)(x))
    )(x)
    is_same(of_each_row, np.var(x, axis=1))
    is_same(by_var, 2 * (x - x.mean()) / x.size)
    is_same(by_std, (x - x.mean()) / (x.size * x.std()))
    is_same(jnp.var(x, 0, ddof=1), np.var(x, 0, ddof=1))


def test_the_largest_of_no_elements_along_other_axes_is_no_elements():
    is_same(jnp.max(np.ones((0, 2)), axis=1), np.ones(0))


def test_an_out_argument_and_a_where_of_numbers_are_refused():
    with pytest.raises(NotImplementedError, match="sum: out must be None"):
        jnp.sum(np.ones(2), out=np.ones(()))
    with pytest.raises(ValueError, match=r"sum: where must be boolean, found i64\[2\]"):
        jnp.sum(np.ones(2), where=np.array([1, 0]))


def test_derivatives_of_correlations_that_are_not_numbers_are_not_numbers():
    x = np.array([[1.0, np.nan, 3.0], [0.0, 7.0, 2.0]])
    tangent = jit(lambda x, t: jvp(jnp.corrcoef, (x,), (t,))[1])(x, np.ones_like(x))
    assert np.isnan(np.asarray(tangent)[0]).all()
    assert abs(np.asarray(tangent)[1, 1]) < 1e-6
