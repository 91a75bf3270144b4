"""Which dtype operands meet in: JAX's lattice, with Python numbers weak."""

import itertools

import numpy as np
import pytest

from glassjax_stage2 import (
    ShapedArray,
    add,
    astype,
    broadcast_to,
    div,
    eq,
    jvp,
    matmul,
    mul,
    power,
    promote,
    result_type,
    sub,
    typeof,
    vmap,
    where,
)

# Each dtype and what stands right above it. A Python number is `int`, `float` or `complex`.
LATTICE = {
    "bool": ["int"],
    "int": ["uint8", "int8"],
    "uint8": ["uint16", "int16"],
    "uint16": ["uint32", "int32"],
    "uint32": ["uint64", "int64"],
    "uint64": ["float"],
    "int8": ["int16"],
    "int16": ["int32"],
    "int32": ["int64"],
    "int64": ["float"],
    "float": ["float16", "complex"],
    "float16": ["float32"],
    "float32": ["float64", "complex64"],
    "float64": ["complex128"],
    "complex": ["complex64"],
    "complex64": ["complex128"],
    "complex128": [],
}
PYTHON = {"int": 3, "float": 2.5, "complex": 1 + 2j}
DEFAULT = {"int": "int64", "float": "float64", "complex": "complex128"}
PAIRS = list(itertools.product(LATTICE, repeat=2))


def above(name):
    """All that stands above a dtype, itself included."""
    return {name}.union(*map(above, LATTICE[name]))


def join(*names):
    """The lowest dtype that stands above all of these."""
    common = set.intersection(*map(above, names))
    (lowest,) = [name for name in common if above(name) == common]
    return lowest


def value(name, shape=()):
    if name in PYTHON:
        return PYTHON[name]
    return np.full(shape, 1, name)[()]


def dtype_of(name):
    return np.dtype(DEFAULT.get(name, name))


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_two_operands_meet_where_the_lattice_says(names):
    met = result_type(*(typeof(value(name)) for name in names))
    assert met.dtype == dtype_of(join(*names))
    assert met.weak_type == all(name in PYTHON for name in names)


def test_three_operands_meet_where_the_lattice_says_in_whatever_order():
    for names in itertools.combinations(LATTICE, 3):
        expected = dtype_of(join(*names))
        for order in itertools.permutations(names):
            assert result_type(*(typeof(value(name)) for name in order)).dtype == expected, order


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_operators_evaluated_and_traced_give_the_same_dtype(names):
    expected = dtype_of(join(*names))
    x, y = (value(name) for name in names)
    x3, y3 = (value(name, (3,)) for name in names)
    for f in (add, mul, eq, lambda x, y: where(True, x, y)):
        dtype = np.dtype(bool) if f is eq else expected
        assert np.result_type(f(x, y)) == dtype
        assert np.result_type(f(x3, y3)) == dtype
        assert traced_by_jvp(f, x, y).dtype == dtype
        in_axes = tuple(0 if np.ndim(z) else None for z in (x3, y3))
        if any(axis == 0 for axis in in_axes):
            assert vmap(f, in_axes)(x3, y3).dtype == dtype


def traced_by_jvp(f, x, y):
    """The type that a tracer of the result has, where what can be differentiated is."""
    seen = []

    def look(x, y):
        seen.append(typeof(f(x, y)))
        return ()

    jvp(look, (x, y), tuple(0 * z if is_inexact(z) else no_tangent(z) for z in (x, y)))
    return seen[0]


def is_inexact(x):
    return np.result_type(x).kind in "fc"


def no_tangent(x):
    return np.zeros(np.shape(x), [("float0", np.void, 0)])


def test_python_numbers_stay_python_numbers_until_they_meet_an_array():
    assert type(add(1, 2)) is int
    assert type(mul(2, 1.5)) is float
    assert type(eq(1, 1.0)) is bool
    assert promote(np.float32(1), 2.0)[1].dtype == np.float32


def test_a_dtype_that_is_asked_for_stays():
    """The seedling of a bug: a Python number that is converted is no Python number any more."""
    assert typeof(astype(2.0, np.float32)) == ShapedArray((), np.float32)
    assert typeof(astype(2.0, np.float64)) == ShapedArray((), np.float64)
    (out,), (tangent,) = jvp(lambda x: [astype(x, np.float32)], (2.0,), (1.0,))
    assert (out.dtype, tangent.dtype) == (np.float32, np.float32)


def test_a_condition_that_is_no_boolean_holds_where_it_is_not_zero():
    np.testing.assert_array_equal(where(np.array([0, 2]), 1.0, -1.0), [-1.0, 1.0])
    np.testing.assert_array_equal(vmap(lambda c: where(c, 1, 2))(np.array([0.0, 0.5])), [2, 1])


def test_conversion_to_the_dtype_that_it_has_changes_nothing():
    x = np.ones(2, np.float32)
    assert astype(x, np.float32) is x


def test_subtraction_and_division_promote_first():
    """Minus an unsigned 3 is 253: taken before the promotion, 5 - 3 would be 258."""
    assert sub(np.int32(5), np.uint8(3)) == 2
    assert sub(1.0, np.uint8(3)) == -2.0
    assert sub(np.uint8(3), np.uint8(5)) == np.uint8(254)
    assert sub(1.5, True) == 0.5
    assert div(np.ones(2, np.float32), np.array([1, 2])).dtype == np.float32
    assert power(np.array([1, 4]), np.float32(0.5)).dtype == np.float32
    assert div(np.int32(1), np.int32(4)) == 0.25


def test_matmul_promotes_dtypes_and_not_shapes():
    out = matmul(np.ones((2, 3), np.int32), np.ones(3, np.float32))
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, [3, 3])


def test_promotion_gives_arrays_one_rank_and_leaves_scalars():
    x, y, z = promote(np.ones((2, 1)), np.ones(3), 2.0)
    assert np.shape(x) == (2, 1)
    assert np.shape(y) == (1, 3)
    assert z == 2.0
    assert broadcast_to(np.ones(3), (3,)).shape == (3,)


def test_foreign_byte_order_is_a_matter_of_storage():
    x = np.arange(3.0).astype(">f8")
    assert typeof(x) == typeof(np.arange(3.0))
    np.testing.assert_array_equal(add(x, x), [0, 2, 4])
