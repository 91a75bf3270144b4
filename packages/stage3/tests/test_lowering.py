"""Lowering: the text that XLA gets says exactly what the jaxpr says, and where it comes from."""

import itertools
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from glassjax_stage2 import ShapedArray, bind1, cos, float0, jvp, sin, vmap
from glassjax_stage2.primitives import add_p, mul_p, reduce_sum_p
from glassjax_stage3 import array, jit, make_jaxpr
from glassjax_stage3.lowering import (
    FunctionBuilder,
    ModuleBuilder,
    Value,
    element_type,
    lower_to_module,
    lowering_rules,
    mlir_type,
    scalar_text,
    symbol,
)

X = np.arange(3.0)
BF16 = ml_dtypes.bfloat16
FLOATS = [
    *(np.float64, np.float32, np.float16, BF16),
    *(ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3b11fnuz),
]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def test_the_text_of_a_module():
    def f(x):
        return 2.0 * sin(x)

    at = f'loc("{__file__}":{f.__code__.co_firstlineno + 1}:1)'
    assert (
        jit(f).lower(X).as_text()
        == f"""\
module @jit_f {{
  func.func public @main(%arg0: tensor<3xf64>) -> (tensor<3xf64>) {{
    %0 = stablehlo.sine %arg0 : tensor<3xf64> {at}
    %1 = stablehlo.constant dense<2.0> : tensor<f64> {at}
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f64>) -> tensor<3xf64> {at}
    %3 = stablehlo.multiply %2, %0 : tensor<3xf64> {at}
    return %3 : tensor<3xf64>
  }}
}}
"""
    )


def extremes(dtype):
    info = ml_dtypes.finfo(dtype)
    finite = [0.0, -0.0, 1.0, -1.5, info.max, info.min, info.tiny, info.smallest_subnormal]
    finite += [info.eps, 1 / 3, 3 * info.smallest_subnormal, 1e-5, 1e5 % float(info.max)]
    odd = [x for x in (np.inf, -np.inf, np.nan) if is_kept(x, dtype)]
    return [np.asarray(x).astype(dtype)[()] for x in (*finite, *odd)]


def is_kept(x, dtype):
    y = float(np.asarray(x).astype(dtype))
    return np.isnan(y) if np.isnan(x) else x == y


def constants():
    for dtype in FLOATS:
        yield from extremes(dtype)
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        yield from (dtype(x) for x in (info.min, info.max, 0, 1))
    yield from (np.True_, np.False_, True, False, 3, -(2**63), 2**63 - 1, 0.1, 1e300, -0.0)
    for dtype in (np.complex64, np.complex128):
        part = dtype(0).real.dtype.type
        yield from (dtype(complex(a, b)) for a, b in itertools.pairwise(extremes(part)))
    yield from (1j, complex("nan"), complex(-0.0, float("-inf")))


def test_a_rule_writes_a_line():
    vector, scalar = ShapedArray((3,), np.dtype(float)), ShapedArray((), np.dtype(float))
    x, y = Value("%x", vector), Value("%y", scalar)
    b = FunctionBuilder(ModuleBuilder())
    (product,) = lowering_rules[mul_p](b, [vector], x, y)
    (total,) = lowering_rules[reduce_sum_p](b, [scalar], product, axes=(0,))
    assert [line.partition(" : ")[0].strip() for line in b.lines] == [
        "%0 = stablehlo.broadcast_in_dim %y, dims = []",
        "%1 = stablehlo.multiply %x, %0",
        "%2 = stablehlo.constant dense<0.0>",
        "%3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [0]",
    ]
    assert (product.name, product.aval, total.name, total.aval) == ("%1", vector, "%3", scalar)


def test_scalar_constants_arrive_bit_by_bit():
    """One program returns them all: not a number, zeros of both signs, subnormals, extremes."""
    expected = list(constants())
    assert len(expected) > 150
    for found, value in zip(jit(lambda: expected)(), expected, strict=True):
        value = np.asarray(value)
        assert found.dtype == value.dtype
        assert np.asarray(found).tobytes() == value.tobytes(), (value, found)


def test_a_nan_keeps_its_payload():
    value = np.array([0x7FF80000DEADBEEF], np.uint64).view(np.float64)[0]
    assert np.asarray(jit(lambda: value)()).view(np.uint64) == 0x7FF80000DEADBEEF


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        ("bool", "i1"),
        ("int8", "i8"),
        ("uint64", "ui64"),
        ("float16", "f16"),
        (BF16, "bf16"),
        ("float64", "f64"),
        ("complex64", "complex<f32>"),
        ("complex128", "complex<f64>"),
        (ml_dtypes.float8_e4m3fn, "f8E4M3FN"),
        (ml_dtypes.float8_e4m3b11fnuz, "f8E4M3B11FNUZ"),
        (float0, "i1"),
    ],
)
def test_types(dtype, text):
    assert element_type(np.dtype(dtype)) == text
    assert mlir_type(ShapedArray((2, 3), dtype)) == f"tensor<2x3x{text}>"
    assert mlir_type(ShapedArray((), dtype)) == f"tensor<{text}>"


def test_numbers_have_a_point():
    """MLIR takes 1e5 for an integer and stops at the e."""
    assert scalar_text(1e22, np.dtype("f8")) == "1.0e+22"
    assert scalar_text(5e-324, np.dtype("f8")) == "5.0e-324"
    assert scalar_text(np.float32("inf"), np.dtype("f4")) == "0x7f800000"


class TestLocations:
    def test_every_operation_names_the_users_line(self):
        def helper(x):
            return cos(x)

        def f(x):
            y = sin(x)
            y = y + 1.0
            return helper(y)

        text = jit(f).lower(X).as_text()
        first = f.__code__.co_firstlineno
        assert location_of("stablehlo.constant", text) == (__file__, first + 2)
        assert location_of("stablehlo.sine", text) == (__file__, first + 1)
        assert location_of("stablehlo.cosine", text) == (
            __file__,
            helper.__code__.co_firstlineno + 1,
        )

    def test_also_under_other_transformations(self):
        def f(x):
            return sin(x)

        line = f.__code__.co_firstlineno + 1
        text = jit(vmap(lambda x: jvp(f, (x,), (x,)))).lower(X).as_text()
        for operation in ("sine", "cosine", "multiply"):
            assert location_of(f"stablehlo.{operation}", text) == (__file__, line)

    @pytest.mark.parametrize(
        "file", ['a "quoted" name.py', "back\\slash.py", "ünïcode ☃.py", "a\nb"]
    )
    def test_odd_file_names(self, file):
        namespace = {"sin": sin}
        exec(compile("\ndef f(x):\n    return sin(x)", file, "exec"), namespace)
        f = jit(namespace["f"])
        np.testing.assert_allclose(f(X), np.sin(X))
        assert ":3:1)" in f.lower(X).as_text()

    def test_a_program_without_sources_has_unknown_locations(self):
        closed = make_jaxpr(sin)(1.0)
        for eqn in closed.eqns:
            eqn.source = None
        assert "loc(unknown)" in lower_to_module(closed, "f")


def location_of(operation, text):
    (found,) = {
        re.search(r'loc\("(.*)":(\d+):1\)', line).groups()
        for line in text.splitlines()
        if operation in line
    }
    return found[0], int(found[1])


class TestFunctions:
    def test_a_program_is_one_function_however_often_it_is_called(self):
        inner = jit(lambda x: sin(x) * 2.0)

        def f(x):
            return inner(inner(inner(x)))

        text = jit(f).lower(X).as_text()
        assert text.count("func.func private") == 1
        assert text.count("func.call") == 3
        np.testing.assert_allclose(jit(f)(X), 2 * np.sin(2 * np.sin(2 * np.sin(X))), rtol=1e-12)

    def test_programs_for_two_types_are_two_functions(self):
        inner = jit(sin)
        text = jit(lambda x, y: (inner(x), inner(y))).lower(X, 1.0).as_text()
        assert text.count("func.func private") == 2

    def test_two_functions_of_one_name_are_two(self):
        def make(n):
            def f(x):
                return x * n

            return jit(f)

        one, two = make(2.0), make(3.0)
        np.testing.assert_array_equal(jit(lambda x: two(one(x)))(X), 6 * X)

    @pytest.mark.parametrize(
        "name", ["main", "2x", "", "a b", "é", "<lambda>", "f.g", "@", "main_0", "_", "f" * 500]
    )
    def test_odd_names(self, name):
        def f(x):
            return x + 1.0

        f.__name__ = name
        np.testing.assert_array_equal(jit(lambda x: jit(f)(x) * 2.0)(X), 2 * (X + 1))
        assert re.fullmatch(r"[A-Za-z_]\w*", symbol(name), re.ASCII)

    def test_calls_without_arguments_and_without_results(self):
        none, one = jit(lambda: None), jit(lambda: sin(1.0))
        assert jit(lambda: (none(), one()))()[1].item() == pytest.approx(np.sin(1.0))

    def test_calls_with_several_results_of_which_some_are_arguments(self):
        inner = jit(lambda x, y: (y, x, 1, x))
        out = jit(lambda x: inner(x, sin(x)))(0.5)
        assert [float(y) for y in out] == pytest.approx([np.sin(0.5), 0.5, 1, 0.5])


def test_constants_are_arguments_not_text():
    """A large array closed over is no part of the program."""
    big = np.arange(1000.0)
    text = jit(lambda x: x * big).lower(1.0).as_text()
    assert "func public @main(%arg0: tensor<1000xf64>, %arg1: tensor<f64>)" in text
    assert len(text) < 1000


def test_parameters_that_nobody_uses_stay():
    assert jit(lambda x, y: y)(X, 2.0).item() == 2.0


def test_20_000_equations_lower_without_recursion():
    def f(x):
        for _ in range(10_000):
            x = sin(x) * 2.0
        return x

    closed = make_jaxpr(f)(1.0)
    assert len(closed.eqns) == 20_000
    text = lower_to_module(closed, "long")
    assert text.count("stablehlo.") == 30_000


def test_deep_calls_lower():
    def f(x):
        return x + 1.0

    for _ in range(50):
        f = jit(f)
    assert f(0.0).item() == 1.0


def test_a_spread_scalar_may_stand_on_either_side():
    f = jit(lambda s, x: (bind1(add_p, s, x), bind1(add_p, x, s)))
    for out in f(2.0, X):
        np.testing.assert_array_equal(out, X + 2)


def test_the_text_does_not_depend_on_when_it_is_made():
    """Nothing of the process is in it, so it can serve as a key."""

    def make():
        return jit(lambda x: sin(x) @ X).lower(X).as_text()

    first, second = make(), make()
    assert first == second
    assert Path(__file__).name in first


def test_an_array_of_the_device_may_be_lowered_for():
    assert jit(sin).lower(array(X)).as_text() == jit(sin).lower(X).as_text()
