"""Operands that `lax` rejects: mixed dtypes, negative axes, ranks and sizes, beside JAX.

A table has one call of each function. Dtypes and Python numbers take the places of its operands in
all pairs; axes, sizes and shapes that do not fit those of its other arguments. Where JAX raises, so
must we; where it does not, dtypes, weak types and shapes must agree.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import glassjax

pytestmark = [
    pytest.mark.bits(32),
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),
]

DTYPES = ("bool", "int32", "uint8", "float32", "bfloat16", "complex64")
NUMBERS = (True, 1, 1.0, 1j)
OPERANDS = {**{name: name for name in DTYPES}, **{repr(x): x for x in NUMBERS}}


def outcomes(lib, calls):
    """Of each call the types of the results, or that it is refused, which counts as one error."""
    found = []

    def trace():
        for call, *args in calls:
            try:
                out = call(lib.lax, *args)
            except (TypeError, ValueError, NotImplementedError, IndexError, OverflowError):
                found.append("refused")
            except (AttributeError, AssertionError, KeyError, ZeroDivisionError):
                if lib is glassjax:  # no message of ours
                    raise
                found.append("refused")
            else:
                found.append([type_of(x) for x in lib.tree.leaves(out)])

    lib.eval_shape(trace)
    return found


# Of Python's numbers, which either library may hand through.
NUMBERS_TYPES = {bool: "bool", int: "int32", float: "float32", complex: "complex64"}


def type_of(x):
    return (str(x.dtype), x.shape) if hasattr(x, "dtype") else (NUMBERS_TYPES[type(x)], ())


def compare(calls, but_for=()):
    """But for such arguments, of which JAX makes something although it means to take none."""
    calls = list(calls)
    wrong = [
        (args, "ours", ours, "JAX's", theirs)
        for (_, *args), ours, theirs in zip(
            calls, outcomes(glassjax, calls), outcomes(jax, calls), strict=True
        )
        if ours != theirs and not (ours == "refused" and any(repr(arg) in but_for for arg in args))
    ]
    assert not wrong, "\n".join(map(str, wrong))


def each(names):
    """Runs a check of a name for each, and lists those for which it fails."""

    def check_all(check):
        def test():
            wrong = []
            for name in names:
                try:
                    check(name)
                except AssertionError as error:
                    wrong.append(f"{name}: {error}")
            assert not wrong, "\n".join(wrong)

        return test

    return check_all


def assert_refused(calls):
    calls = list(calls)
    found = zip(calls, outcomes(glassjax, calls), strict=True)
    assert not [(call, out) for call, out in found if out != "refused"]


UNARY = """
    abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e bitwise_not cbrt ceil clz conj cos
    cosh digamma erf erf_inv erfc exp exp2 expm1 floor imag is_finite lgamma log log1p logistic neg
    population_count real reciprocal round rsqrt sign sin sinh sqrt square tan tanh
"""
BINARY = """
    add atan2 bitwise_and bitwise_or bitwise_xor complex div eq ge gt igamma igamma_grad_a igammac
    le lt max min mul ne nextafter polygamma pow random_gamma_grad rem shift_left
    shift_right_arithmetic shift_right_logical sub zeta
"""


def vector(which):
    return np.ones(4, jnp.dtype(which)) if isinstance(which, str) else which


OTHERS_OF_ONE = {
    "integer_pow": lambda lax, x: lax.integer_pow(x, 3),
    "integer_pow of 0": lambda lax, x: lax.integer_pow(x, 0),
    "integer_pow of 1": lambda lax, x: lax.integer_pow(x, 1),
    "integer_pow of -1": lambda lax, x: lax.integer_pow(x, -1),
    "reduce_precision": lambda lax, x: lax.reduce_precision(x, 5, 5),
    "argmax": lambda lax, x: lax.argmax(x, 0, np.int32),
    "argmin": lambda lax, x: lax.argmin(x, 0, np.uint8),
    "reduce_sum": lambda lax, x: lax.reduce_sum(x, (0,)),
    "reduce_prod": lambda lax, x: lax.reduce_prod(x, (0,)),
    "reduce_max": lambda lax, x: lax.reduce_max(x, (0,)),
    "reduce_min": lambda lax, x: lax.reduce_min(x, (0,)),
    "reduce_and": lambda lax, x: lax.reduce_and(x, (0,)),
    "reduce_or": lambda lax, x: lax.reduce_or(x, (0,)),
    "reduce_xor": lambda lax, x: lax.reduce_xor(x, (0,)),
    "cumsum": lambda lax, x: lax.cumsum(x),
    "cumprod": lambda lax, x: lax.cumprod(x),
    "cummax": lambda lax, x: lax.cummax(x),
    "cummin": lambda lax, x: lax.cummin(x),
    "cumlogsumexp": lambda lax, x: lax.cumlogsumexp(x),
    "sort": lambda lax, x: lax.sort(x),
    "top_k": lambda lax, x: lax.top_k(x, 2),
    "approx_max_k": lambda lax, x: lax.approx_max_k(x, 2),
    "rev": lambda lax, x: lax.rev(x, (0,)),
    "reshape": lambda lax, x: lax.reshape(x, (2, 2)),
    "transpose": lambda lax, x: lax.transpose(x, (0,)),
    "fft": lambda lax, x: lax.fft(x, "FFT", (4,)),
    "rfft": lambda lax, x: lax.fft(x, "RFFT", (4,)),
    "irfft": lambda lax, x: lax.fft(x, "IRFFT", (4,)),
    "select by it": lambda lax, x: lax.select(x, np.ones(4), np.ones(4)),
    "select_n by it": lambda lax, x: lax.select_n(x, np.ones(4), np.ones(4)),
    "cond": lambda lax, x: lax.cond(x, lambda: 1, lambda: 2),
    "switch": lambda lax, x: lax.switch(x, [lambda: 1, lambda: 2]),
    "iota": lambda lax, x: lax.iota(x, 3),
    "iota of that size": lambda lax, x: lax.iota(np.int32, x),
    "full": lambda lax, x: lax.full((2,), x),
    "full_like": lambda lax, x: lax.full_like(np.ones(2, np.int32), x),
    "convert_element_type": lambda lax, x: lax.convert_element_type(x, np.float32),
    "bitcast_convert_type": lambda lax, x: lax.bitcast_convert_type(x, np.int32),
    "dynamic_slice by it": lambda lax, x: lax.dynamic_slice(np.ones(4), [x], (2,)),
    "dynamic_index_in_dim by it": lambda lax, x: lax.dynamic_index_in_dim(np.ones(4), x),
    "fori_loop to it": lambda lax, x: lax.fori_loop(0, x, lambda i, c: c, 0),
    "fori_loop from it": lambda lax, x: lax.fori_loop(x, 3, lambda i, c: c, 0),
    "while_loop": lambda lax, x: lax.while_loop(lambda c: x, lambda c: c, 0) if x is False else x,
    "scan of that length": lambda lax, x: lax.scan(lambda c, y: (c, c), 0, None, length=x),
    "stop_gradient": lambda lax, x: lax.stop_gradient(x),
    "expand_dims": lambda lax, x: lax.expand_dims(x, (0,)),
    "squeeze": lambda lax, x: lax.squeeze(x, ()),
    "broadcast": lambda lax, x: lax.broadcast(x, (2,)),
    "tile": lambda lax, x: lax.tile(x, (2,)),
    "slice": lambda lax, x: lax.slice(x, (1,), (3,)),
    "split": lambda lax, x: lax.split(x, (1, 3)),
}
OTHERS_OF_TWO = {
    "clamp": lambda lax, x, y: lax.clamp(x, y, x),
    "clamp from below": lambda lax, x, y: lax.clamp(x, y, y),
    "betainc": lambda lax, x, y: lax.betainc(x, y, y),
    "select": lambda lax, x, y: lax.select(np.ones(4, bool), x, y),
    "select_n": lambda lax, x, y: lax.select_n(np.ones(4, np.int32), x, y, x),
    "concatenate": lambda lax, x, y: lax.concatenate([x, y], 0),
    "stack": lambda lax, x, y: lax.stack([x, y]),
    "pad": lambda lax, x, y: lax.pad(x, vector0(y), [(1, 1, 0)]),
    "dot": lambda lax, x, y: lax.dot(x, y),
    "dot_general": lambda lax, x, y: lax.dot_general(x, y, (((0,), (0,)), ((), ()))),
    "dynamic_update_slice": lambda lax, x, y: lax.dynamic_update_slice(x, y, (0,)),
    "dynamic_slice": lambda lax, x, y: lax.dynamic_slice(
        np.ones((4, 4)), (vector0(x), vector0(y)), (1, 1)
    ),
    "dynamic_update_index_in_dim": lambda lax, x, y: lax.dynamic_update_index_in_dim(x, y, 0, 0),
    "reduce": lambda lax, x, y: lax.reduce(x, vector0(y), lax.add, (0,)),
    "reduce_window": lambda lax, x, y: lax.reduce_window(
        x, vector0(y), lax.add, (2,), (1,), "VALID"
    ),
    "sort of two": lambda lax, x, y: lax.sort([x, y], num_keys=2),
    "sort_key_val": lambda lax, x, y: lax.sort_key_val(x, y),
    "scan": lambda lax, x, y: lax.scan(lambda c, e: (c, e), x, y),
    "rng_uniform": lambda lax, x, y: lax.rng_uniform(vector0(x), vector0(y), (2,)),
}


def vector0(x):
    return x[0] if isinstance(x, np.ndarray) else x


ONE = {name: lambda lax, x, name=name: getattr(lax, name)(x) for name in UNARY.split()}
TWO = {name: lambda lax, x, y, name=name: getattr(lax, name)(x, y) for name in BINARY.split()}
ONE |= OTHERS_OF_ONE
TWO |= OTHERS_OF_TWO


# What JAX takes only where it traces, or fails at later, or only for numpy's scalars; and whole
# numbers that only its `numpy` transforms here.
UNLIKE = {
    "argmax": ["complex64"],
    "argmin": ["complex64"],
    "cumlogsumexp": ["int32", "uint8"],
    "reshape": ["True", "1", "1.0", "1j"],
    "irfft": OPERANDS,
    "scan of that length": ["1.0", "bool", "float32", "bfloat16", "complex64"],
}


@each(ONE)
def test_dtypes_of_one_operand(name):
    calls = []
    for which, operand in OPERANDS.items():
        if which in UNLIKE.get(name, ()):
            assert_refused([(ONE[name], vector(operand))])
        elif not (name == "convert_element_type" and which == "1j"):
            calls.append((ONE[name], vector(operand)))
            if isinstance(operand, str) and operand != "bfloat16" and name not in UNLIKE:
                calls.append((ONE[name], vector(operand)[0]))
    compare(calls)


@each(TWO)
def test_dtypes_of_two_operands(name):
    compare(
        (TWO[name], vector(x), vector(y))
        for x, y in itertools.product(OPERANDS.values(), repeat=2)
        if name != "random_gamma_grad" or x == y == "float32"  # of others JAX says nothing
    )


SHAPES = [
    *(((4,), ()), ((4,), (1,)), ((4,), (1, 4)), ((2, 4), (1, 4)), ((4,), (3,))),
    *(((2, 1), (1, 2)), ((1,), ())),
]
OTHERS = ("clamp", "clamp from below", "betainc", "select", "select_n", "dot", "concatenate")


@each([*BINARY.split(), *OTHERS])
def test_shapes_of_two_operands(name):
    calls = []
    for dtype, (one, other) in itertools.product(("int32", "float32"), SHAPES):
        x, y = np.ones(one, dtype), np.ones(other, dtype)
        calls += [(TWO[name], x, y), (TWO[name], y, x)]
    compare(calls)


X = np.ones((2, 3), np.float32)
AXES = {
    "argmax": lambda lax, axis: lax.argmax(X, axis, np.int32),
    "argmin": lambda lax, axis: lax.argmin(X, axis, np.int32),
    **{
        name: lambda lax, axis, name=name: getattr(lax, name)(X, axis)
        for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
    },
    **{
        name: lambda lax, axis, name=name: getattr(lax, name)(X, (axis,))
        for name in [
            "reduce_sum",
            "reduce_prod",
            "reduce_max",
            "reduce_min",
            "rev",
            "squeeze",
            "expand_dims",
        ]
    },
    **{
        name: lambda lax, axis, name=name: getattr(lax, name)(X > 0, (axis,))
        for name in ("reduce_and", "reduce_or", "reduce_xor")
    },
    "reduce": lambda lax, axis: lax.reduce(X, np.float32(0), lax.add, (axis,)),
    "sort": lambda lax, axis: lax.sort(X, dimension=axis),
    "sort_key_val": lambda lax, axis: lax.sort_key_val(X, X, dimension=axis),
    "top_k": lambda lax, axis: lax.top_k(X, 1, axis=axis),
    "approx_max_k": lambda lax, axis: lax.approx_max_k(X, 1, reduction_dimension=axis),
    "concatenate": lambda lax, axis: lax.concatenate([X, X], axis),
    "stack": lambda lax, axis: lax.stack([X, X], axis),
    "unstack": lambda lax, axis: lax.unstack(X, axis),
    "split": lambda lax, axis: lax.split(X, (1, X.shape[axis] - 1 if -2 <= axis < 2 else 1), axis),
    "transpose": lambda lax, axis: lax.transpose(X, (axis, 0)),
    "slice_in_dim": lambda lax, axis: lax.slice_in_dim(X, 0, 1, axis=axis),
    "index_in_dim": lambda lax, axis: lax.index_in_dim(X, 0, axis),
    "dynamic_slice_in_dim": lambda lax, axis: lax.dynamic_slice_in_dim(X, 0, 1, axis),
    "dynamic_index_in_dim": lambda lax, axis: lax.dynamic_index_in_dim(X, 0, axis),
    "dynamic_update_slice_in_dim": lambda lax, axis: lax.dynamic_update_slice_in_dim(
        X, X[:1, :1], 0, axis
    ),
    "dynamic_update_index_in_dim": lambda lax, axis: lax.dynamic_update_index_in_dim(
        X, X[0, :1], 0, axis
    ),
    "index_take": lambda lax, axis: lax.index_take(X, (np.array([0]),), (axis,)),
    "broadcast_in_dim": lambda lax, axis: lax.broadcast_in_dim(X[0], (3, 3), (axis,)),
    "broadcasted_iota": lambda lax, axis: lax.broadcasted_iota(np.int32, (2, 3), axis),
    "collapse": lambda lax, axis: lax.collapse(X, axis),
    "dot_general": lambda lax, axis: lax.dot_general(X, X, (((axis,), (axis,)), ((), ()))),
    "dot_general batch": lambda lax, axis: lax.dot_general(X, X, (((), ()), ((axis,), (axis,)))),
    "associative_scan": lambda lax, axis: lax.associative_scan(lax.add, X, axis=axis),
}


@each(AXES)
def test_axes(name):
    axes = (0, 1, -1, -2, -3, 2, 3, True, np.int64(1))
    by_bits = name in ("reduce_and", "reduce_or", "reduce_xor")  # which count from the end
    compare([(AXES[name], axis) for axis in axes], but_for=("-1", "-2") if by_bits else ())
    wrong = (0.0, 1.5, "0", np.float32(1))  # which JAX takes here and there
    assert_refused((AXES[name], axis) for axis in wrong)


SIZES = {
    "iota": lambda lax, n: lax.iota(np.int32, n),
    "full": lambda lax, n: lax.full((2, n), 1.0),
    "full of one": lambda lax, n: lax.full(n, 1.0),
    "full_like": lambda lax, n: lax.full_like(X, 1.0, shape=(n,)),
    "empty": lambda lax, n: lax.empty((n,), np.float32),
    "broadcast": lambda lax, n: lax.broadcast(X, (n,)),
    "broadcast_in_dim": lambda lax, n: lax.broadcast_in_dim(X[0], (n, 3), (1,)),
    "broadcast_to_rank": lambda lax, n: lax.broadcast_to_rank(X, n),
    "broadcast_shapes": lambda lax, n: lax.broadcast_shapes((2, n), (1, 1)),
    "broadcasted_iota": lambda lax, n: lax.broadcasted_iota(np.int32, (n, 2), 0),
    "reshape": lambda lax, n: lax.reshape(X, (n if n == 3 else -1, 2)),
    "tile": lambda lax, n: lax.tile(X, (n, 1)),
    "slice": lambda lax, n: lax.slice(X, (0, 0), (n, 1)),
    "slice start": lambda lax, n: lax.slice(X, (0, n), (1, 3)),
    "slice stride": lambda lax, n: lax.slice(X, (0, 0), (1, 3), (1, n)),
    "slice_in_dim": lambda lax, n: lax.slice_in_dim(X, n, None, axis=1),
    "slice_in_dim to": lambda lax, n: lax.slice_in_dim(X, 0, n, axis=1),
    "slice_in_dim stride": lambda lax, n: lax.slice_in_dim(X, 0, 2, n),
    "index_in_dim": lambda lax, n: lax.index_in_dim(X, n),
    "dynamic_slice": lambda lax, n: lax.dynamic_slice(X, (0, 0), (1, n)),
    "dynamic_slice_in_dim": lambda lax, n: lax.dynamic_slice_in_dim(X, 0, n),
    "split": lambda lax, n: lax.split(X, (n, 2 - n) if isinstance(n, int) else (n, 1)),
    "pad": lambda lax, n: lax.pad(X, np.float32(0), [(n, 0, 0), (0, 0, 0)]),
    "pad between": lambda lax, n: lax.pad(X, np.float32(0), [(0, 0, n), (0, 0, 0)]),
    "top_k": lambda lax, n: lax.top_k(X, n),
    "approx_max_k": lambda lax, n: lax.approx_max_k(X, n),
    "sort": lambda lax, n: lax.sort([X, X], num_keys=n),
    "reduce_window": lambda lax, n: lax.reduce_window(
        X, np.float32(0), lax.add, (n, 1), (1, 1), "VALID"
    ),
    "reduce_window strides": lambda lax, n: lax.reduce_window(
        X, np.float32(0), lax.add, (1, 1), (n, 1), "VALID"
    ),
    "reduce_precision": lambda lax, n: lax.reduce_precision(X, n, 5),
    "reduce_precision mantissa": lambda lax, n: lax.reduce_precision(X, 5, n),
    "fft": lambda lax, n: lax.fft(X, "FFT", (n,)),
    "rng_uniform": lambda lax, n: lax.rng_uniform(0.0, 1.0, (n,)),
    "scan length": lambda lax, n: lax.scan(lambda c, _: (c, c), 0, None, length=n),
    "scan unroll": lambda lax, n: lax.scan(lambda c, x: (c, x), 0, X, unroll=n),
    "map batch_size": lambda lax, n: lax.map(lambda x: x, X, batch_size=n),
    "fori_loop unroll": lambda lax, n: lax.fori_loop(0, 3, lambda i, c: c, 0, unroll=n),
    "fori_loop to": lambda lax, n: lax.fori_loop(0, n, lambda i, c: c, 0),
    "integer_pow": lambda lax, n: lax.integer_pow(X, n),
    "collapse": lambda lax, n: lax.collapse(X, 0, n),
}


MORE_THAN_JAX = dict.fromkeys(
    ("empty", "tile", "rng_uniform", "scan length", "slice stride", "slice_in_dim stride"),
    ("0", "-1", "-2", "-5"),
)
OF_ANY_NUMBER = ("reshape", "fori_loop to", "integer_pow", "fori_loop unroll")


@each(SIZES)
def test_sizes(name):
    sizes = (0, 1, 2, 3, 6, -1, -2, -5)
    compare([(SIZES[name], size) for size in sizes], but_for=MORE_THAN_JAX.get(name, ()))
    if name not in OF_ANY_NUMBER:
        wrong = (1.0, 2.5, "1", np.float32(2))  # which JAX takes here and there
        assert_refused((SIZES[name], size) for size in wrong)
