"""Arrays on the device behave like numpy's, work beside them, and own their memory."""

import gc
import mmap
import operator
import weakref
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from glassjax_stage2 import ShapedArray, float0, jvp, tree_map, vmap
from glassjax_stage3 import Array, array, jit

BF16 = ml_dtypes.bfloat16
DTYPES = [
    *("bool", "int8", "int32", "int64", "uint8", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    *(BF16, ml_dtypes.float8_e4m3fn),
]
VALUES = np.array([[0, 1, 2], [3, 0, 5]])
X = np.arange(3.0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0, 3)], ids=str)
def test_there_and_back(shape, dtype):
    x = np.resize(VALUES, shape).astype(dtype)
    y = array(x)
    assert isinstance(y, Array)
    assert (y.shape, y.dtype, y.ndim, y.size) == (x.shape, x.dtype, x.ndim, x.size)
    back = np.asarray(y)
    assert back.dtype == x.dtype
    assert back.tobytes() == x.tobytes()
    assert y.tolist() == x.tolist()


class TestMaking:
    def test_from_what(self):
        for x in (X, [0, 1, 2.0], (0.0, 1, 2), array(X), [np.float64(0), 1, array(2)]):
            np.testing.assert_array_equal(array(x), X)
        assert array([]).shape == (0,)
        assert array([[1, 2]]).dtype == np.int64

    @pytest.mark.parametrize(
        ("x", "text"),
        [
            (True, "ShapedArray(bool[])"),
            (1, "ShapedArray(i64[], weak_type=True)"),
            (1.0, "ShapedArray(f64[], weak_type=True)"),
            (1j, "ShapedArray(c128[], weak_type=True)"),
            (np.float64(1), "ShapedArray(f64[])"),
        ],
    )
    def test_python_numbers_stay_weak(self, x, text):
        assert repr(array(x).aval) == text

    def test_a_dtype_may_be_asked_for(self):
        for x in (1, X, array(X), [1, 2]):
            assert array(x, np.float32).dtype == np.float32
            assert not array(x, np.float32).aval.weak_type
        assert array(array(1.0), "int8").dtype == np.int8

    def test_an_array_is_not_made_twice(self):
        x = array(X)
        assert array(x) is x
        assert array(x, x.dtype) is x

    def test_any_strides_and_byte_order(self):
        base = np.arange(24.0).reshape(2, 3, 4)
        for x in (base.T, base[:, ::-2, 1:], base.astype(">f8"), np.asfortranarray(base)):
            np.testing.assert_array_equal(array(x), x)
            assert array(x).dtype.isnative

    def test_a_tracer_stays_one(self):
        np.testing.assert_array_equal(jit(lambda x: array(x) * array(X))(X), X * X)
        assert jit(lambda x: array(x, np.float32))(X).dtype == np.float32

    def test_changing_the_source_changes_nothing(self):
        for n in (3, 10_000):
            x = np.zeros(n)
            y = array(x)
            z = jit(lambda x: x)(x)
            x[:] = 1
            assert not np.any(np.asarray(y))
            assert not np.any(np.asarray(z))


class TestNumpyBeside:
    """numpy on the left, on the right, and in the middle."""

    OPERATORS = (
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow),
        *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    )

    @pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
    def test_operators(self, op):
        x = np.array([1.0, 2.0, 3.0])
        d = array(x)
        for other in (2.0, 2, x[::-1], np.float64(2), np.array(2.0), array(x[::-1])):
            plain = np.asarray(other) if isinstance(other, Array) else other
            for found, expected in ((op(d, other), op(x, plain)), (op(other, d), op(plain, x))):
                assert isinstance(found, Array)
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found, expected, rtol=1e-14)

    def test_matrix_product(self):
        x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
        for found in (array(x) @ y, x @ array(y), array(x) @ array(y)):
            assert isinstance(found, Array)
            np.testing.assert_array_equal(found, x @ y)

    def test_unary_operators_and_methods(self):
        x = np.array([[1.5, -2.0, 0.0]])
        d = array(x)
        for found, expected in (
            (-d, -x),
            (abs(d), abs(x)),
            (d.T, x.T),
            (d.transpose(), x.T),
            (d.transpose(1, 0), x.T),
            (d.transpose((0, 1)), x),
            (d.reshape(3), x.reshape(3)),
            (d.reshape(-1, 1), x.reshape(-1, 1)),
            (d.reshape((3, 1)), x.reshape(3, 1)),
            (d.astype(np.int32), x.astype(np.int32)),
            (d.astype(bool), x.astype(bool)),
        ):
            assert isinstance(found, Array)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)

    def test_dtypes_are_promoted_as_everywhere(self):
        x = array(np.float32([1, 2]))
        assert (x + 1).dtype == (x + 1.0).dtype == (1.0 + x).dtype == np.float32
        assert (x + np.arange(2)).dtype == np.float32
        assert (x + np.float64(1)).dtype == np.float64
        assert (x.astype(BF16) * 2.5).dtype == BF16

    def test_the_functions_of_numpy_take_the_numbers(self):
        x = array(X)
        np.testing.assert_array_equal(np.sin(x), np.sin(X))
        assert np.sum(x) == 3.0
        assert type(np.concatenate([x, x])) is np.ndarray
        assert np.stack([x, X]).shape == (2, 3)
        assert np.array([array(1.0), array(2.0)]).tolist() == [1.0, 2.0]
        filled = np.zeros(3)
        filled[:] = x
        assert filled.tolist() == [0.0, 1.0, 2.0]

    def test_as_numpy(self):
        x = array(X)
        assert np.asarray(x).flags.writeable is False  # a view: the array never changes
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(x)[0] = 1
        made = np.array(x)
        made[0] = 7
        assert x.tolist() == [0.0, 1.0, 2.0]
        assert np.asarray(x, np.float32).dtype == np.float32
        assert np.asarray(x) is x.numpy() is x.numpy()
        assert np.array(x, copy=False) is x.numpy()
        with pytest.raises(ValueError, match="copy"):
            np.array(x, np.float32, copy=False)

    def test_the_view_outlives_the_array(self):
        view = np.asarray(array(np.arange(1000.0)))
        gc.collect()
        assert view.sum() == 499_500.0


class TestPythonNumbers:
    def test_of_scalars(self):
        assert (int(array(3)), float(array(3)), complex(array(3))) == (3, 3.0, 3 + 0j)
        assert (bool(array(0.0)), bool(array(True)), bool(array([2]))) == (False, True, True)
        assert [10, 20, 30][array(1)] == 20
        assert list(range(array(3))) == [0, 1, 2]
        assert (array(2.5).item(), array([[7]]).item()) == (2.5, 7)
        assert type(array(1.5).item()) is float
        assert type(array(BF16(1.5)).item()) is float
        assert type(array(1.5).tolist()) is float
        assert float(array(BF16(1.5))) == 1.5
        assert round(float(array(0.5)), 1) == 0.5

    @pytest.mark.parametrize(
        ("use", "error", "message"),
        [
            (lambda: bool(array(X)), ValueError, "more than one element is ambiguous"),
            (lambda: bool(array([])), ValueError, "truth value of an empty array is ambiguous"),
            (lambda: int(array(X)), TypeError, "f64[3] is not a scalar"),
            (lambda: float(array([1.0])), TypeError, "take one element, or reduce"),
            (lambda: complex(array(X)), TypeError, "f64[3] is not a scalar"),
            (lambda: array(X).item(), ValueError, "array of size 1"),
            (lambda: float(array(1j)), TypeError, "complex"),
            (lambda: operator.index(array(1.0)), TypeError, "only integer scalar arrays"),
            (lambda: operator.index(array([1, 2])), TypeError, "only integer scalar arrays"),
            (lambda: len(array(1.0)), TypeError, "len: f64[] is a scalar and has no length"),
            (lambda: list(array(X)), TypeError, "'Array' object is not iterable"),
            (lambda: array(X)[0], TypeError, "'Array' object is not subscriptable"),
            (lambda: hash(array(1.0)), TypeError, "unhashable"),
            (lambda: array(X) + "a", TypeError, "unsupported operand"),
            (lambda: array(X) / [1, 2, 3], TypeError, "unsupported operand"),
            (lambda: array("a"), TypeError, "expected an array or a number, found 'a'"),
            (lambda: array(["a"]), TypeError, "expected an array of numbers, found dtype <U1"),
            (lambda: array(None), TypeError, "expected an array or a number, found None"),
            (lambda: array(X).reshape(2), ValueError, "does not fit shape 2. The sizes"),
            (
                lambda: array(X) + np.zeros(4),
                ValueError,
                "Incompatible shapes for broadcasting: (3,) and (4,)",
            ),
        ],
    )
    def test_what_cannot_be(self, use, error, message):
        with pytest.raises(error) as raised:
            use()
        assert message in str(raised.value)


class TestText:
    @pytest.mark.parametrize(
        ("x", "text"),
        [
            (1, "Array(1, dtype=int64, weak_type=True)"),
            (2.5, "Array(2.5, dtype=float64, weak_type=True)"),
            (np.float32(2.5), "Array(2.5, dtype=float32)"),
            (X, "Array([0., 1., 2.], dtype=float64)"),
            (np.eye(2), "Array([[1., 0.],\n       [0., 1.]], dtype=float64)"),
            (np.zeros((2, 0)), "Array([], shape=(2, 0), dtype=float64)"),
            (X > 1, "Array([False, False,  True], dtype=bool)"),
            (np.array([1.5], BF16), "Array([1.5], dtype=bfloat16)"),
        ],
    )
    def test_repr(self, x, text):
        assert repr(array(x)) == text

    def test_many_numbers_are_left_out(self):
        assert "..." in repr(array(np.zeros(10_000)))

    def test_str_is_that_of_numpy(self):
        for x in (X, np.eye(2), np.float32(0.1)):
            assert str(array(x)) == str(x)

    def test_format(self):
        x = array(3.14159)
        assert f"{x:.2f} {x:>8.1e} {x}" == "3.14  3.1e+00 3.14159"
        assert f"{array(7):03d}" == "007"
        assert f"{array(X)}" == "[0. 1. 2.]"
        with pytest.raises(TypeError, match="unsupported format string"):
            f"{array(X):.2f}"


class TestTheDevice:
    def test_results_stay_there(self):
        """A result goes into the next program as it is."""
        x = array(X)
        y = jit(lambda x: x * 2.0)(x)
        assert isinstance(y, Array)
        assert isinstance(y + x, Array)
        assert not hasattr(y, "_host")

    def test_an_array_that_is_dropped_is_freed(self):
        x = array(np.zeros(1000))
        seen = weakref.ref(x)
        del x
        assert seen() is None

    @pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
    def test_its_memory_is_freed_with_it(self):
        def megabytes():
            return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE / 2**20

        ones = np.ones(2**20)
        double = jit(lambda x: x * 2.0)
        double(ones)
        before = megabytes()
        for _ in range(40):  # 640 MB, if nothing were freed
            double(array(ones))
        assert megabytes() - before < 200


def test_empty_arrays_compute():
    x = array(np.zeros((0, 3)))
    assert (x + 1.0).shape == (0, 3)
    assert (x @ np.ones((3, 2))).shape == (0, 2)
    assert (x.T @ x).tolist() == np.zeros((3, 3)).tolist()


def test_eager_transformations_of_arrays():
    x = array(X)
    out, tangent = jvp(lambda x: x * x, (x,), (x,))
    assert isinstance(out, Array)
    assert isinstance(tangent, Array)
    np.testing.assert_array_equal(tangent, 2 * X * X)
    mapped = vmap(lambda x: x * 2.0 + X)(x)
    assert isinstance(mapped, Array)
    np.testing.assert_array_equal(mapped, 2 * X[:, None] + X)


def test_arrays_are_leaves_of_trees():
    tree = {"a": array(X), "b": [array(1.0)]}
    doubled = tree_map(lambda x: x * 2, tree)
    np.testing.assert_array_equal(doubled["a"], 2 * X)


def test_float0_holds_no_bits():
    x = array(np.zeros(3, float0))
    assert x.aval == ShapedArray((3,), float0)
    assert np.asarray(x).dtype == float0
    assert jit(lambda t: t)(x).dtype == float0


def test_a_scalar_of_float0_is_a_literal_like_any_other():
    x = np.zeros(1, float0)[0]
    assert jit(lambda: x)().dtype == float0
    assert jit(lambda: (x, 1.0))()[0].shape == ()
