"""Elementwise functions and operators, for all dtypes: values and derivatives, beside JAX."""

import contextlib
import functools
import itertools
import math

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest
from libraries import assert_all_same_results, refused, results_at_once

import glassjax
import glassjax.numpy as jnp

SPECIAL = np.array([-np.inf, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0, np.inf, np.nan])


OTHER = np.array([2.0, -0.5, 1.5, np.inf, 0.0, -0.0, 3.0, 0.5, -1.0, 1.5, 2.0, np.inf, 1.0])


WHOLE = np.array([-7, -3, -1, 0, 1, 2, 5, 7, 100, -100])


DIVISORS = np.array([2, -2, 3, 5, -4, 0, 2, -7, 7, 13])


COMPLEX = np.array([0.5 + 1j, -1.5 + 0.25j, 2 - 0.75j, -0.5 - 2j, 0.3 + 0j])


ARRAYS = {
    "float32": SPECIAL.astype(np.float32),
    "bfloat16": SPECIAL.astype(jnp.bfloat16.dtype),
    "int32": WHOLE.astype(np.int32),
    "uint8": np.abs(WHOLE).astype(np.uint8),
    "bool": np.array([True, False]),
    "complex64": COMPLEX.astype(np.complex64),
}


SECOND = {
    "float32": OTHER.astype(np.float32),
    "bfloat16": OTHER.astype(jnp.bfloat16.dtype),
    "int32": DIVISORS.astype(np.int32),
    "uint8": np.abs(DIVISORS).astype(np.uint8),
    "bool": np.array([True, True]),
    "complex64": COMPLEX[::-1].astype(np.complex64),
}


UNARY = """
    abs angle arccos arccosh arcsin arcsinh arctan arctanh bitwise_count cbrt ceil conjugate
    cos cosh deg2rad exp exp2 expm1 fabs floor frexp i0 imag invert iscomplex isfinite isinf
    isnan isneginf isposinf isreal log log10 log1p log2 logical_not modf nan_to_num negative
    positive rad2deg real reciprocal rint round sign signbit sin sinc sinh spacing sqrt
    square tan tanh trunc
"""


BINARY = """
    add arctan2 bitwise_and bitwise_or bitwise_xor copysign divide divmod equal float_power
    floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot lcm ldexp
    left_shift less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor
    maximum minimum multiply nextafter not_equal power remainder right_shift subtract
"""


if jax.__version_info__ < (0, 11):  # which has other numbers at the edges of these
    UNARY, BINARY = UNARY.replace(" sinc", ""), BINARY.replace("floor_divide", "")


# Where constants of JAX's make what would be weak strong.
STRONG = (
    "angle",
    "divmod",
    "floor_divide",
    "heaviside",
    "hypot",
    "log10",
    "log2",
    "logaddexp2",
    "spacing",
)


def assert_same(found, expected, what):
    if isinstance(expected, Exception):
        assert isinstance(found, type(expected)), (what, found, expected)
        return
    assert not isinstance(found, Exception), (what, found)
    found, expected = jax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(found) == len(expected), what
    for x, y in zip(found, expected, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape), (what, x.dtype, y.dtype)
        if x.dtype != bool and what[0] not in STRONG:
            assert x.weak_type == y.weak_type, what
        eps = float(jnp.finfo(x.dtype).eps) if x.dtype.kind not in "biu" else 0.0
        x, y = (np.asarray(v) for v in (x, y))
        if x.dtype == jnp.bfloat16:
            x, y = x.astype(np.float32), y.astype(np.float32)
        np.testing.assert_allclose(x, y, rtol=16 * eps, atol=4 * eps, err_msg=str(what))


def assert_all_same(programs, *args, compare=assert_same):
    """Each program of both numpys, both libraries and the arguments gives the same, by its key."""
    found = results_at_once(programs.values(), jnp, glassjax, *args)
    expected = results_at_once(programs.values(), jax_numpy, jax, *args)
    wrong = []
    for what, ours, theirs in zip(programs, found, expected, strict=True):
        try:
            compare(ours, theirs, what)
        except AssertionError as error:
            wrong.append(f"{what}: {error}")
    assert not wrong, "\n".join(wrong)


ALIASES = {
    "absolute": "abs",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
    "around": "round",
    "bitwise_invert": "invert",
    "bitwise_not": "invert",
    "conj": "conjugate",
    "radians": "deg2rad",
    "degrees": "rad2deg",
    "atan2": "arctan2",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "mod": "remainder",
    "pow": "power",
    "true_divide": "divide",
}


def test_functions_of_two_names():
    for alias, name in ALIASES.items():
        assert getattr(jnp, alias) is getattr(jnp, name), alias
        assert hasattr(jax_numpy, alias), alias


# Values of these take the roads of another dtype; their types are asked for at every change.
NIGHTLY = "bfloat16", "uint8"


every_dtype = [
    pytest.param(dtype, marks=[pytest.mark.nightly] if dtype in NIGHTLY else []) for dtype in ARRAYS
]


def test_types_of_functions():
    def types(library, numpy):
        found = {}

        def trace():
            for dtype, name in itertools.product(NIGHTLY, (UNARY + BINARY).split()):
                x = ARRAYS[dtype]
                y = np.arange(len(x), dtype=np.int32) if name == "ldexp" else SECOND[dtype]
                function = getattr(numpy, name)
                with contextlib.suppress(TypeError, ValueError, NotImplementedError):
                    outs = function(x) if name in UNARY.split() else function(x, y)
                    outs = outs if isinstance(outs, tuple) else (outs,)
                    found[dtype, name] = [(out.dtype, out.shape) for out in outs]

        library.eval_shape(trace)
        return found

    assert types(glassjax, jnp) == types(jax, jax_numpy)


@pytest.mark.parametrize("dtype", [*every_dtype, "numbers"])
def test_functions_of_one(dtype):
    programs = {}
    for name in UNARY.split():
        if dtype == "numbers":
            for number in (2, 0.5):
                programs[name, number] = lambda n, lib, f=name, y=number: getattr(n, f)(y)
        elif (name, dtype) != ("round", "bool"):
            programs[name, dtype] = lambda n, lib, x, f=name: getattr(n, f)(x)
    assert_all_same(programs, *(ARRAYS[dtype],) if dtype != "numbers" else ())


@pytest.mark.parametrize("dtype", every_dtype)
def test_functions_of_two(dtype):
    x, y = ARRAYS[dtype], SECOND[dtype]
    programs = {}
    for name in BINARY.split():

        def program(n, lib, x, y, name=name):
            if (name == "power" or "_shift" in name) and dtype in ("int32", "uint8"):
                y = abs(y)  # nobody says what it is elsewhere
            if name == "ldexp":
                y = np.arange(len(x), dtype=np.int32) - 3
            return getattr(n, name)(x, y)

        programs[name, dtype] = program
        for number in (2, 0.5) if dtype in ("float32", "int32") else ():
            programs[name, dtype, number] = lambda n, lib, x, y, f=name, z=number: getattr(n, f)(
                x, z
            )
            if name not in ("power", "left_shift"):
                programs[name, number, dtype] = lambda n, lib, x, y, f=name, z=number: getattr(
                    n, f
                )(z, x)
    assert_all_same(programs, x, y)


POINTS = {
    "arccosh": np.array([1.25, 2.0]),
    "acosh": np.array([1.25, 2.0]),
    "abs": np.array([0.0, -0.5, 1.5]),
    "sinc": np.array([0.0, 0.3, 1.0, -2.2]),
    "i0": np.array([0.3, -2.2]),
}


SMOOTH = """
    abs arccos arccosh arcsin arcsinh arctan arctanh cbrt cos cosh deg2rad exp exp2 expm1
    fabs i0 log log10 log1p log2 modf frexp reciprocal sin sinc sinh sqrt square tan tanh
    floor sign round nan_to_num
"""


SMOOTH_OF_TWO = """
    add arctan2 copysign divide float_power floor_divide fmax fmin fmod heaviside hypot
    logaddexp logaddexp2 maximum minimum mod multiply power remainder subtract
"""


def assert_near(found, expected, what):
    assert not isinstance(found, Exception), (what, found)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


def test_derivatives_of_functions_of_one():
    def program(n, lib, name):
        x = POINTS.get(name, np.array([0.25, 0.5, 0.9]))

        def first(x):
            return jax.tree.leaves(getattr(n, name)(x))[0]

        out, tangent = lib.jvp(first, (x,), (np.ones_like(x),))
        (cotangent,) = lib.vjp(first, x)[1](np.ones_like(x))
        slopes = lib.vmap(lib.grad(first))(x)
        second = lib.vmap(lib.grad(lib.grad(first)))(x)
        return out, tangent, cotangent, slopes, second

    programs = {name: functools.partial(program, name=name) for name in SMOOTH.split()}
    assert_all_same(programs, compare=assert_near)


def test_derivatives_of_functions_of_two():
    def program(n, lib, name):
        x = np.array([0.25, 0.5, 0.9, 2.0, 3.5])
        y = np.array([2.0, 0.5, 1.5, 2.0, -1.5])
        if name in ("power", "float_power"):
            y = np.array([2.0, 0.0, 1.5, 3.0, -1.5])
        function = getattr(n, name)
        _, tangent = lib.jvp(function, (x, y), (np.ones_like(x), 2 * np.ones_like(x)))
        cotangents = lib.jit(lambda x, y: lib.vjp(function, x, y)[1](np.ones(5)))(x, y)
        return tangent, *cotangents

    programs = {name: functools.partial(program, name=name) for name in SMOOTH_OF_TWO.split()}
    assert_all_same(programs, compare=assert_near)


def test_the_gradient_of_logaddexp_at_infinity():
    cases = [(-np.inf, -np.inf), (np.inf, 1.0), (1.0, -np.inf), (np.inf, np.inf)]

    def gradients(lib, n):
        return [lib.grad(n.logaddexp, (0, 1))(x, y) for x, y in cases]

    found = glassjax.jit(lambda: gradients(glassjax, jnp))()
    expected = jax.jit(lambda: gradients(jax, jax_numpy))()
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), err_msg=str(cases))


OPTIONS = {
    "round to 2": lambda np_: np_.round(np.array([1.234, -5.678, 0.125]), 2),
    "round to -1": lambda np_: np_.round(np.array([12.3, -56.7]), decimals=-1),
    "round complex": lambda np_: np_.round(COMPLEX, 1),
    "nan_to_num": lambda np_: np_.nan_to_num(SPECIAL, nan=1.5, posinf=10, neginf=-10.0),
    "angle": lambda np_: np_.angle(COMPLEX, deg=True),
    "clip": lambda np_: np_.clip(OTHER, -0.5, 1.0),
    "clip min": lambda np_: np_.clip(OTHER, min=0),
    "clip max": lambda np_: np_.clip(OTHER, max=np.ones(13, np.float32)),
    "clip ints": lambda np_: np_.clip(WHOLE, -2, 2),
    "clip floats of ints": lambda np_: np_.clip(WHOLE.astype(np.int8), -2.5, 2),
    "isclose": lambda np_: np_.isclose(SPECIAL, OTHER, rtol=0.5, atol=0.1, equal_nan=True),
    "allclose": lambda np_: np_.allclose(SPECIAL, SPECIAL, equal_nan=True),
    "array_equal": lambda np_: np_.array_equal([1, 2], np.array([1.0, 2.0])),
    "array_equal shapes": lambda np_: np_.array_equal([1, 2], [1]),
    "array_equal nan": lambda np_: np_.array_equal(SPECIAL, SPECIAL, equal_nan=True),
    "array_equal of nan": lambda np_: np_.array_equal(SPECIAL, SPECIAL),
    "array_equiv": lambda np_: np_.array_equiv([1, 1], 1),
    "select": lambda np_: np_.select([WHOLE < 0, WHOLE > 5], [WHOLE, WHOLE * 2.0], 7),
    "select default": lambda np_: np_.select([WHOLE < 0], [WHOLE]),
    "unwrap": lambda np_: np_.unwrap(np.array([0.0, 3.0, 7.0, 12.0, 3.0])),
    "unwrap period": lambda np_: np_.unwrap(np.array([[0.0, 3, 1], [5, 2, 9]]), axis=0, period=4.0),
    "power of an int": lambda np_: np_.power(OTHER, 3),
    "power of ints": lambda np_: np_.power(WHOLE, 4),
    "power below": lambda np_: np_.power(OTHER, -2),
    "power of a bool": lambda np_: np_.power(np.array([True, False]), 2),
    "integer to a negative power": lambda np_: np_.power(WHOLE, -1),
    "interp": lambda np_: np_.interp(OTHER[:3], np.array([0.0, 1.0, 2.0]), np.array([3.0, 5, 4])),
}


def test_options():
    assert_all_same({name: lambda n, lib, f=f: f(n) for name, f in OPTIONS.items()})


OPERATORS = {
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "divmod": divmod,
    "**": lambda x, y: x**y,
    "<<": lambda x, y: x << y,
    ">>": lambda x, y: x >> y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "~": lambda x, y: ~x,
    "+": lambda x, y: +x,
    "abs": lambda x, y: abs(x),
}


def test_operators():
    x, y = np.array([1, 5, 7, -9], np.int32), np.array([2, 3, 4, 1], np.int32)
    programs = {}
    for operator, f in OPERATORS.items():
        programs[operator, "of arrays"] = lambda n, lib, f=f: f(n.asarray(x), y)
        programs[operator, "and a number"] = lambda n, lib, f=f: f(n.asarray(x), 3)
        if operator not in ("~", "+", "abs"):
            programs[operator, "reflected"] = lambda n, lib, f=f: f(20, n.asarray(y))
        programs[operator, "of tracers"] = lambda n, lib, f=f: lib.jit(f)(x, y)
    assert_all_same(programs)


METHODS = [
    lambda x: round(x),
    lambda x: round(x, 1),
    lambda x: x.round(1),
    lambda x: x.real,
    lambda x: x.imag,
    lambda x: x.conj(),
    lambda x: x.conjugate(),
    lambda x: x.astype("complex64"),
]


def test_methods_and_properties():
    programs = {}
    for number, f in enumerate(METHODS):
        for kind, value in (("real", np.array([1.25, -0.5, 2.75])), ("complex", COMPLEX)):
            programs[number, kind] = lambda n, lib, f=f, x=value: f(n.asarray(x))
            programs[number, kind, "traced"] = lambda n, lib, f=f, x=value: lib.jit(f)(x)
    assert_all_same(programs)


def test_questions_about_values():
    for value in (1, 1.0, 1j, True, np.float32(1), np.ones(()), np.ones(1), [1]):
        assert jnp.isscalar(value) == jax_numpy.isscalar(value), value
    for value in (1, 1j, COMPLEX, OTHER, [1, 2j], None):
        assert jnp.iscomplexobj(value) == jax_numpy.iscomplexobj(value), value
        assert jnp.isrealobj(value) == jax_numpy.isrealobj(value), value


PARTS = (0.0, -0.0, 1.0, math.inf, -math.inf, math.nan)


COMPLEX_EDGES = np.array([complex(a, b) for a, b in itertools.product(PARTS, PARTS)], np.complex64)


@pytest.mark.bits(32)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_logarithms_and_sizes_of_complex_numbers(dtype):
    functions = ["log2", "log10", "abs", "log", "log1p", "sqrt", "square"]
    z = COMPLEX_EDGES.astype(dtype)
    assert_all_same_results([lambda n, lib, f=f: getattr(n, f)(z) for f in functions])


@pytest.mark.bits(32)
def test_waves_on_the_axes():
    """In the quadrants XLA's own values stay, which are NaN where the limit has no direction."""
    imaginary = np.array([complex(0, b) for b in PARTS], np.complex64)
    assert_all_same_results([lambda n, lib: n.sin(imaginary), lambda n, lib: n.cos(imaginary)])
    real = np.array([complex(a, b) for a in (math.inf, -math.inf) for b in (0, 1)], np.complex64)
    assert_all_same_results([lambda n, lib: n.sinc(real)])


c = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


bits = np.array([[1, 0, 3, 0, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 1, 1]])


octets = np.array([[1, 200, 3], [0, 255, 16]], np.uint8)


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "window functions": [
        *(
            lambda n, lib, name=name, size=size: getattr(n, name)(size)
            for name in ("bartlett", "blackman", "hamming", "hanning")
            for size in (0, 1, 2, 7)
        ),
        lambda n, lib: n.kaiser(8, 3.5),
        lambda n, lib: n.kaiser(1, 3.5),
        lambda n, lib: n.kaiser(5, np.float32(2)),
        lambda n, lib: lib.grad(lambda beta: n.kaiser(5, beta).sum())(np.float32(2)),
        refused(lambda n, lib: lib.jit(n.hamming)(4)),
    ],
    "bits": [
        lambda n, lib: n.packbits(bits),
        lambda n, lib: n.packbits(bits, axis=-1),
        lambda n, lib: n.packbits(bits > 0, axis=0, bitorder="little"),
        refused(lambda n, lib: n.packbits(c)),
        refused(lambda n, lib: n.packbits(bits, bitorder="middle")),
        lambda n, lib: n.unpackbits(octets),
        lambda n, lib: n.unpackbits(octets, axis=1, count=10),
        lambda n, lib: n.unpackbits(octets, 0, 20, "little"),
        lambda n, lib: n.unpackbits(octets, 1, -3),
        refused(lambda n, lib: n.unpackbits(bits)),
        lambda n, lib: lib.vmap(n.packbits)(bits),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])
