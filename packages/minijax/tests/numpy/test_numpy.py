"""`minijax.numpy` against numpy: values, shapes and dtypes, eager and under transformations."""

import array
import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from beside_numpy import are_same, is_same, numbers, of_each
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import for_each

import minijax.numpy as jnp
from minijax import Array, grad, jit, jvp, lax, nn, vmap
from minijax.errors import TracerIntegerConversionError

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


UNARY = "sin cos tan tanh exp expm1 log1p sqrt square negative abs sign isnan isfinite isinf"


def test_unary_functions():
    names = UNARY.split()
    arrays = [numbers((2, 3), dtype) for dtype in ("float64", "float32")]
    found, of_numbers = jit(
        lambda arrays: (
            [of_each(names, jnp, x) for x in arrays],
            [of_each(names, jnp, number) for number in (2.0, 2)],
        )
    )(arrays)
    for results, x in zip(found, arrays, strict=True):
        are_same(results, of_each(names, np, x))
    for results in of_numbers:
        for name, expected in of_each(names, np, 2.0).items():
            np.testing.assert_allclose(results[name], expected, err_msg=name)
    for name in names:
        assert isinstance(getattr(jnp, name)(2.0), Array)


BINARY = """add subtract multiply divide maximum minimum power equal not_equal less less_equal
greater greater_equal logical_and logical_or"""


@given(shape=shapes, dtype=st.sampled_from(["float64", "float32", "int64"]))
@settings(max_examples=8, deadline=None)
def test_binary_functions(shape, dtype):
    names = BINARY.split()
    x, y = numbers(shape, dtype, 1) + 1, numbers(shape[1:], dtype, 2) + 1
    found, of_number = jit(lambda x, y: [of_each(names, jnp, each, y) for each in (x, 2)])(x, y)
    are_same(found, of_each(names, np, x, y))
    are_same(of_number, of_each(names, np, np.asarray(2, dtype), y))


@for_each("name", BINARY.split())
def test_a_binary_function_that_nothing_is_around(name):
    x, y = numbers((2, 3), "float64", 1) + 1, numbers((3,), "float64", 2) + 1
    for _ in range(2):
        is_same(getattr(jnp, name)(x, y), getattr(np, name)(x, y))
    is_same(getattr(jnp, name)(2, y), getattr(np, name)(2, y))


def test_special_values():
    x = np.array([0.0, -1.5, np.inf, -np.inf, np.nan])
    for name in ("isnan", "isfinite", "isinf", "floor", "ceil", "abs", "sign"):
        is_same(getattr(jnp, name)(x), getattr(np, name)(x))
    is_same(jnp.clip(x, -1.0, 1.0), np.clip(x, -1.0, 1.0))
    is_same(jnp.isclose(x, x), np.isclose(x, x))
    is_same(jnp.isclose(x, x + 1e-9), np.isclose(x, x + 1e-9))
    assert not jnp.allclose(x, x)
    assert jnp.allclose(x[:4], x[:4])
    assert jnp.allclose(x, x, equal_nan=True)


def test_closeness_of_integers():
    x, y = np.array([1, 2], np.uint8), np.array([2, 1], np.uint8)
    is_same(jnp.isclose(x, y), np.isclose(x, y))
    is_same(jnp.isclose(x, y, atol=1), np.array([True, True]))
    is_same(jnp.isclose(x > 1, y > 1), np.array([False, False]))


ROUNDING_AND_TESTS = ["abs", "isnan", "isfinite", "isinf", "floor", "ceil", "logical_not"]


def test_functions_of_floats_take_integers():
    arrays = [numbers((3,), dtype) for dtype in ("uint8", "int32", "bool")]
    found = jit(lambda arrays: [of_each(ROUNDING_AND_TESTS, jnp, x) for x in arrays])(arrays)
    for results, x in zip(found, arrays, strict=True):
        are_same(results, of_each(ROUNDING_AND_TESTS, np, x) | {"floor": x, "ceil": x})


def test_whole_powers_are_exact():
    assert jnp.power(2, 10).item() == 1024
    assert jnp.power(-2.0, 3) == -8.0
    assert jnp.power(np.array([3, -3]), 3).tolist() == [27, -27]
    assert jnp.power(2.0, -1) == 0.5
    with pytest.raises(TypeError, match=r"integer i64\[\] to the negative power -1"):
        jnp.power(2, -1)


def test_creation():
    is_same(jnp.zeros((2, 3)), np.zeros((2, 3)))
    is_same(jnp.zeros(3, "int32"), np.zeros(3, "int32"))
    is_same(jnp.ones((), jnp.float32), np.ones((), np.float32))
    is_same(jnp.full((2,), 7), np.full((2,), 7))
    is_same(jnp.full((2, 2), np.arange(2)), np.full((2, 2), np.arange(2)))
    is_same(jnp.full_like(np.ones(2, np.float32), 3), np.full_like(np.ones(2, np.float32), 3))
    is_same(jnp.zeros_like(np.ones((2, 1)), dtype=bool), np.zeros((2, 1), bool))
    is_same(jnp.ones_like(3), np.ones_like(3))
    is_same(jnp.eye(3), np.eye(3))
    is_same(jnp.eye(2, 4, k=1, dtype=int), np.eye(2, 4, k=1, dtype=int))
    is_same(jnp.zeros_like(np.ones(2), shape=(3,)), np.zeros(3))
    is_same(jnp.full_like(np.ones(2), 2, np.int32, (1, 2)), np.full((1, 2), 2, np.int32))


@for_each("args", [(4,), (0,), (-1,), (1, 5), (1, 8, 2), (5, 1, -1), (0.0, 1.0, 0.1)])
def test_arange(args):
    is_same(jnp.arange(*args), np.arange(*args))
    is_same(jit(lambda: jnp.arange(*args))(), np.arange(*args))
    is_same(jnp.arange(*args, dtype=np.float32), np.arange(*args, dtype=np.float32))
    start, stop, step = (*args, None, None)[:3]
    is_same(jnp.arange(start, stop, step, np.float32), np.arange(*args, dtype=np.float32))


def test_array_takes_nested_lists_of_anything():
    is_same(jnp.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    is_same(jnp.array(3.0, dtype=jnp.float32), np.float32(3))
    is_same(jnp.array([1.0, jnp.sin(2.0)]), np.array([1.0, np.sin(2.0)]))

    def f(x):
        return jnp.array([[x, 2 * x], (1, 0.0)])

    is_same(jit(f)(3.0), np.array([[3.0, 6.0], [1.0, 0.0]]))
    is_same(grad(lambda x: jnp.sum(f(x)))(3.0), 3.0)
    is_same(jit(lambda x: jnp.asarray(x, jnp.int32))(3.7), np.int32(3))


class OfNumpy:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


class OfJax:
    def __jax_array__(self):
        return jnp.arange(3.0)


def test_array_takes_what_says_how_it_becomes_one():
    for x in (OfNumpy(), OfJax(), memoryview(np.arange(3.0)), array.array("d", range(3))):
        is_same(jnp.asarray(x), np.arange(3.0))
        is_same(jit(lambda x=x: jnp.array(x, jnp.float32))(), np.arange(3, dtype=np.float32))
        is_same(jnp.array([x, jnp.ones(3)]), np.array([np.arange(3.0), np.ones(3)]))
    is_same(jnp.array(range(3)), np.arange(3))
    is_same(jnp.array(3.0, ndmin=2), np.array(3.0, ndmin=2))
    is_same(jnp.array(2**63, dtype=jnp.uint64), np.uint64(2**63))
    with pytest.raises(TypeError, match="'a' of type str"):
        jnp.asarray("a")
    with pytest.raises(TypeError, match="masked array"):
        jnp.asarray(np.ma.masked_array([1.0], [1]))
    with pytest.raises(OverflowError):
        jnp.array(2**63)


LINSPACES = [
    ((0, 1, 5), {}),
    ((0, 1, 5), {"endpoint": False}),
    ((0, 1, 1), {}),
    ((0, 1, 0), {}),
    ((1, 1j, 3), {}),
    ((-5, 5, 4), {"dtype": np.int32}),
    ((np.zeros(2), np.array([1.0, 2.0]), 3), {"axis": -1}),
    ((np.zeros((2, 1)), np.ones(3), 4), {}),
]


@for_each(("args", "options"), LINSPACES)
def test_linspace(args, options):
    expected = np.linspace(*args, **options)
    is_same(jnp.linspace(*args, **options), expected)
    start, stop, *rest = args
    is_same(jit(lambda x, y: jnp.linspace(x, y, *rest, **options))(start, stop), expected)
    if args[2] > 1:
        found, step = jnp.linspace(*args, **options, retstep=True)
        is_same(found, expected)
        np.testing.assert_allclose(step, np.linspace(*args, **options, retstep=True)[1])


@for_each("count", [5, 8, 11, 50, 101])
@for_each(("start", "stop"), [(-3, 7), (-12, -7), (-12, 2), (0, 10)])
def test_linspace_is_exact_where_its_numbers_are(start, stop, count):
    """-1.9999998 in the place of -2 counts in another bin, and is another integer below."""
    expected = [start + Fraction(stop - start, count - 1) * i for i in range(count)]
    found = jnp.linspace(start, stop, count)
    for x, exact in zip(found.tolist(), expected, strict=True):
        assert x == exact or exact.denominator > 1
    floors = jnp.linspace(start, stop, count, dtype=int)
    assert floors.tolist() == [math.floor(exact) for exact in expected]


def test_linspace_of_large_numbers_is_finite():
    x = jnp.linspace(jnp.float32(-3e38), jnp.float32(3e38), 1001)
    np.testing.assert_allclose(x, np.linspace(-3e38, 3e38, 1001), atol=1e32)


def test_linspace_is_differentiable():
    assert grad(lambda x: jnp.sum(jnp.linspace(0.0, x, 5)))(2.0) == 2.5


SHAPES = {
    "zeros: shape": jnp.zeros,
    "ones: shape": jnp.ones,
    "full: shape": lambda n: jnp.full(n, 1.0),
    "eye: N": jnp.eye,
    "broadcast_to: shape": lambda n: jnp.broadcast_to(1.0, n),
    "linspace: num": lambda n: jnp.linspace(0, 1, n),
    "broadcasted_iota: shape": lambda n: lax.iota(jnp.int32, n),
}


@for_each("role", SHAPES)
def test_what_decides_a_shape_is_an_int(role):
    f = SHAPES[role]
    for n in (np.int64(3), np.array(3), jnp.array(3)):
        is_same(f(n), f(3))
    for n in (2.0, "a", None):
        words = rf"({role}|iota: size) must be an int( or a sequence of ints)?, found"
        with pytest.raises(TypeError, match=words):
            f(n)
    with pytest.raises(TracerIntegerConversionError, match=f"(?s){role} must be known.*static_arg"):
        jit(f)(3)
    with pytest.raises((TypeError, ValueError), match=f"{role.partition(':')[0]}: "):
        f(-1)


@for_each("name", ["start", "stop", "step"])
def test_the_bounds_of_arange_are_known(name):
    bounds = {"start": 0, "stop": 5, "step": 1}
    with pytest.raises(TracerIntegerConversionError, match=f"arange: {name} must be known"):
        jit(lambda x: jnp.arange(**{**bounds, name: x}))(2)
    with pytest.raises(TypeError, match=f"arange: {name}: expected an array or a number"):
        jnp.arange(**{**bounds, name: "a"})
    with pytest.raises(TypeError, match=rf"arange: {name} must be a number, found f64\[2\]"):
        jnp.arange(**{**bounds, name: np.ones(2)})


def test_an_array_is_a_copy():
    x = np.ones(3)
    y = jnp.array(x)
    x[0] = 5
    is_same(y, np.ones(3))


def test_manipulation():
    x = np.arange(6.0).reshape(1, 2, 3)
    is_same(jnp.reshape(x, (3, -1)), np.reshape(x, (3, -1)))
    is_same(jnp.ravel(x), np.ravel(x))
    is_same(jnp.ravel(x, "F"), np.ravel(x, "F"))
    is_same(jnp.reshape(x, (3, -1), "F"), np.reshape(x, (3, -1), order="F"))
    is_same(jnp.concatenate([x, x], 1, np.int32), np.concatenate([x, x], 1).astype(np.int32))
    is_same(jnp.stack([x, x], 1, dtype=np.int32), np.stack([x, x], 1).astype(np.int32))
    is_same(jnp.transpose(x), np.transpose(x))
    is_same(jnp.transpose(x, (1, 2, 0)), np.transpose(x, (1, 2, 0)))
    is_same(jnp.moveaxis(x, 0, -1), np.moveaxis(x, 0, -1))
    is_same(jnp.swapaxes(x, 0, -1), np.swapaxes(x, 0, -1))
    is_same(jnp.broadcast_to(x, (4, 1, 2, 3)), np.broadcast_to(x, (4, 1, 2, 3)))
    is_same(jnp.expand_dims(x, (0, -1)), np.expand_dims(x, (0, -1)))
    is_same(jnp.squeeze(x), np.squeeze(x))
    is_same(jnp.squeeze(x, 0), np.squeeze(x, 0))
    is_same(jnp.astype(x, int), x.astype(int))
    assert (jnp.shape(x), jnp.ndim(x)) == ((1, 2, 3), 3)


@given(st.integers(1, 3), st.integers(-3, 2), shapes.filter(lambda shape: len(shape) == 3))
@few
def test_concatenate_and_stack(count, axis, shape):
    arrays = [numbers(shape, "float64", seed) for seed in range(count)]

    def joined(library, arrays):
        join = library.concatenate, library.stack
        return [f(arrays, axis) for f in join] + [join[0](arrays, None), join[1](arrays)]

    found = jit(lambda arrays: joined(jnp, arrays))(arrays)
    for result, expected in zip(found, joined(np, arrays), strict=True):
        is_same(result, expected)


PRODUCTS = [((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4))]


def test_products():
    shapes = [*PRODUCTS, ((4, 2, 3), (3, 2)), ((2, 3), (4, 3, 2))]
    pairs = [[numbers(shape, "float64", n) for n, shape in enumerate(both)] for both in shapes]

    def products(library, x, y):
        functions = library.dot, library.outer, *([library.matmul] if x.ndim else [])
        return [f(x, y) for f in functions]

    found = jit(lambda pairs: [products(jnp, *pair) for pair in pairs])(pairs)
    for shape, pair, results in zip(shapes, pairs, found, strict=True):
        for result, expected in zip(results, products(np, *pair), strict=True):
            assert result.shape == expected.shape, shape
            is_same(result, expected)
    x, y = pairs[-1]
    is_same(jnp.dot(x, y), np.dot(x, y))
    is_same(jnp.matmul(x, y), np.matmul(x, y))


def test_where_and_its_derivative():
    x = np.array([-1.0, 2.0])
    is_same(jnp.where(x > 0, x, 0), np.where(x > 0, x, 0))
    is_same(grad(lambda x: jnp.sum(jnp.where(x > 0, x * x, 3 * x)))(x), np.array([3.0, 4.0]))


def test_mean_and_var_under_transformations():
    x = numbers((4, 3), "float64")
    of_each_row, by_var, by_std = jit(
        lambda x: (vmap(jnp.var)(x), grad(jnp.var)(x), grad(jnp.std)(x))
    )(x)
    is_same(of_each_row, np.var(x, axis=1))
    is_same(by_var, 2 * (x - x.mean()) / x.size)
    is_same(by_std, (x - x.mean()) / (x.size * x.std()))
    is_same(jnp.var(x, 0, ddof=1), np.var(x, 0, ddof=1))


@for_each(
    ("call", "message"),
    [
        (lambda: jnp.max(np.ones((0, 2))), r"max: an array of shape \(0, 2\) has no elements"),
        (lambda: jnp.argmin(np.ones((2, 0)), 1), "argmin: .* no elements to choose from"),
        (lambda: jnp.max(np.ones(2), where=True), "max: where may leave no elements .* initial"),
        (lambda: jnp.min(np.ones(2), initial=np.ones(1)), r"min: initial must be a scalar, found"),
        (lambda: jnp.var(np.ones(2), ddof=1, correction=1), "var: found ddof 1 and correction 1"),
        (lambda: jnp.var(1j, dtype=float), r"var: the array is complex, c128\[\], but dtype is"),
        (lambda: jnp.sum(np.ones(2), 1), "sum: axis 1 is out of range"),
        (
            lambda: jnp.mean(np.ones(2), (0, -1)),
            r"mean: axis \(0, -1\) is out of range for ndim 1, or given twice",
        ),
        (lambda: jnp.stack([]), "stack: needs at least one array"),
        (lambda: jnp.concatenate([]), "concatenate: needs at least one array"),
        (lambda: jnp.stack([np.ones(2), np.ones(3)]), r"one shape, found \[\(2,\), \(3,\)\]"),
        (lambda: jnp.array([[1.0], [1.0, 2.0]]), "inhomogeneous"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_largest_of_no_elements_along_other_axes_is_no_elements():
    is_same(jnp.max(np.ones((0, 2)), axis=1), np.ones(0))


def test_an_out_argument_and_a_where_of_numbers_are_refused():
    with pytest.raises(NotImplementedError, match="sum: out must be None"):
        jnp.sum(np.ones(2), out=np.ones(()))
    with pytest.raises(ValueError, match=r"sum: where must be boolean, found i64\[2\]"):
        jnp.sum(np.ones(2), where=np.array([1, 0]))


def test_lexsort_is_numpys_however_many_keys_are_compared_at_once():
    keys = [numbers((3, 20), "int32", seed) // 3 for seed in range(7)]
    mixed = [*keys[1:], keys[0].astype("float32")]
    cases = list(itertools.product([0, 1], [1, 2, 3, 7, 16]))

    @jit
    def found(*both):
        return [[jnp.lexsort(keys, axis, batch_size=size) for keys in both] for axis, size in cases]

    for (axis, size), results in zip(cases, found(keys, mixed), strict=True):
        for result, expected in zip(results, (keys, mixed), strict=True):
            np.testing.assert_array_equal(
                result, np.lexsort(expected, axis), err_msg=f"axis {axis}, {size} at once"
            )


def test_lexsort_refuses_batches_of_no_keys():
    with pytest.raises(ValueError, match="lexsort: batch_size must be positive, found 0"):
        jnp.lexsort([np.arange(3)], batch_size=0)


def test_negative_indices_are_out_of_bounds_if_they_are_not_to_wrap():
    x, indices = jnp.array([1.0, 2.0, 3.0]), jnp.array([-1, 1])
    is_same(jnp.take_along_axis(x, indices, 0), np.array([3.0, 2.0]))
    found = jnp.take_along_axis(x, indices, 0, wrap_negative_indices=False)
    is_same(found, np.array([np.nan, 2.0]))
    found = jnp.take_along_axis(x, indices, 0, "clip", wrap_negative_indices=False)
    is_same(found, np.array([1.0, 2.0]))


@for_each(
    "call",
    [
        lambda out_sharding: jnp.full(3, 1, out_sharding=out_sharding),
        lambda out_sharding: jnp.full_like(np.ones(3), 1, out_sharding=out_sharding),
        lambda out_sharding: jnp.bincount(np.arange(3), out_sharding=out_sharding),
        lambda out_sharding: jnp.histogram(np.ones(3), out_sharding=out_sharding),
        lambda out_sharding: jnp.percentile(np.ones(3), 5, out_sharding=out_sharding),
        lambda out_sharding: nn.one_hot(np.arange(3), 3, out_sharding=out_sharding),
    ],
)
def test_out_sharding_is_a_sharding(call):
    call(None)
    with pytest.raises(TypeError, match="out_sharding must be a NamedSharding or a PartitionSpec"):
        call("elsewhere")


@for_each("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_at_equal_distances_are_rounded_once(dtype):
    """Products with a rounded third made 7 / 3 the second nearest bfloat16."""
    for stop, num in [(7, 4), (3, 8), (1, 600)]:
        found = jnp.linspace(dtype(0), dtype(stop), num)
        np.testing.assert_array_equal(found, np.linspace(0, stop, num).astype(dtype))


def test_derivatives_of_correlations_that_are_not_numbers_are_not_numbers():
    x = np.array([[1.0, np.nan, 3.0], [0.0, 7.0, 2.0]])
    tangent = jit(lambda x, t: jvp(jnp.corrcoef, (x,), (t,))[1])(x, np.ones_like(x))
    assert np.isnan(np.asarray(tangent)[0]).all()
    assert abs(np.asarray(tangent)[1, 1]) < 1e-6
