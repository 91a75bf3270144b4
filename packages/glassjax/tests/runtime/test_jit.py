"""`jit`: options, static arguments, caches, threads and garbage collection."""

import functools
import gc
import math
import threading
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rows import for_each
from static_argument_laws import StaticArgumentLaws, counted

import glassjax
import glassjax.numpy as jnp
from glassjax import Array, enable_x64, grad, jit, jvp, make_jaxpr, vmap, xla
from glassjax.errors import JaxRuntimeError
from glassjax.numpy import array, sin
from glassjax.runtime import program as compiled_programs
from glassjax.runtime.pipeline import Compilation
from glassjax_stage2 import ShapedArray
from glassjax_stage3 import backend

X = np.arange(3.0)


@pytest.fixture
def compilations(monkeypatch):
    """The programs that XLA has been given, in order, and the options."""
    seen = []
    compile_ = compiled_programs.compile_or_load

    def counting(text, out_avals, options, jaxpr):
        seen.append((text, dict(options)))
        return compile_(text, out_avals, options, jaxpr)

    monkeypatch.setattr(compiled_programs, "compile_or_load", counting)
    return seen


def address(x):
    """Where the numbers of an Array are, without keeping a view of them."""
    return backend.get(x.buffer).ctypes.data


class TestWarmCalls:
    """However a call is recognised, it is that of the first kind that was meant."""

    def test_arguments_of_every_sort_and_number(self):
        @jit
        def add(*args, **kwargs):
            return sum((*args, *kwargs.values()), 0.0)

        sorts = [lambda: jnp.asarray(X), lambda: X, lambda: 2.0, lambda: 3, lambda: np.float32(1)]
        for _ in range(2):
            for count in (0, 1, 3):
                for first in sorts:
                    for other in sorts:
                        args = [first(), other(), first(), other()][:count]
                        expected = sum(args, 0.0)
                        np.testing.assert_allclose(np.asarray(add(*args)), expected)
                        np.testing.assert_allclose(np.asarray(add(*args, a=1.0)), expected + 1)

    def test_numbers_keep_their_kinds_apart(self):
        f = counted(lambda x: x)
        g = jit(f)
        for _ in range(2):
            found = [g(x).dtype for x in (1, 1.0, True, np.float32(1), np.int64(1), 1j)]
            assert found == ["int64", "float64", "bool", "float32", "int64", "complex128"]
        assert f.traces == 6
        assert [g(1).weak_type, g(np.int64(1)).weak_type] == [True, False]

    def test_static_arguments_that_are_equal_are_told_apart(self):
        f = counted(lambda x, n: x * np.size(n) + (str(n) == "True"))
        g = jit(f, static_argnums=1)
        statics = [1, 1.0, True, (1, 2), (1.0, 2), (True, 2), 0.0, -0.0, frozenset({1}), "1", None]
        statics.append(frozenset({True}))
        for x in (1.0, jnp.asarray(X)):
            for _ in range(2):
                for static in statics:
                    g(x, static)
        assert f.traces == 2 * len(statics)

    def test_numbers_beside_arrays_are_those_of_the_call(self):
        copysign = jit(jnp.copysign)
        x = jnp.asarray(X)
        for _ in range(2):
            for number in (2.0, 2, 0.0, -0.0, 0, -3, math.inf, 2.5, True):
                np.testing.assert_array_equal(copysign(x, number), np.copysign(X, number))
                np.testing.assert_array_equal(copysign(number, x), np.copysign(number, X))

    def test_a_number_that_does_not_fit_is_refused_beside_arrays_too(self):
        with enable_x64(False):
            add, x = jit(lambda x, y: x + y), jnp.arange(3)
            for _ in range(2):
                assert add(x, 1).tolist() == [1, 2, 3]
                with pytest.raises(OverflowError, match="2147483648 does not fit in 32 bits"):
                    add(x, 2**31)

    def test_a_static_zero_has_its_sign(self):
        g = jit(lambda n: str(n) == "-0.0", static_argnums=0)
        assert [bool(g(0.0)), bool(g(-0.0)), bool(g(0.0))] == [False, True, False]

    def test_a_static_argument_by_position_and_by_name(self):
        f = counted(lambda x, *, n=2, m=3: x * n + m)
        g = jit(f, static_argnames=("n", "m"))
        for _ in range(2):
            assert g(1.0, n=5, m=7).item() == 12.0
            assert g(1.0, m=7, n=5).item() == 12.0
            assert g(1.0, m=7).item() == 9.0
            assert g(X, n=1).tolist() == [3.0, 4.0, 5.0]
        assert f.traces == 3

    def test_an_argument_that_was_an_array_and_is_a_tree(self):
        g = jit(lambda x: x if not isinstance(x, dict) else x["a"])
        for _ in range(2):
            assert g(1.0).item() == g({"a": 1.0}).item() == 1.0
            assert g((1.0, [2.0])) == (1.0, [2.0])

    def test_the_class_of_the_results(self):
        assert type(jit(lambda x: x)(1.0)) is Array
        assert {type(x) for x in jit(lambda x: (x, X))(X)} == {Array}
        assert type(jit(lambda: X)()) is Array

    @for_each("x", ["a", object(), [None, "b"]])
    def test_what_is_no_array(self, x):
        g = jit(lambda x, y: y)
        g(1.0, 2.0)
        with pytest.raises(TypeError, match=r"argument x"):
            g(x, 2.0)

    def test_an_unhashable_static_value(self):
        g = jit(lambda x, n: x, static_argnames="n")
        g(1.0, n=1)
        for call in (lambda: g(1.0, n=[1]), lambda: g(1.0, [1]), lambda: g(1.0, jnp.ones(2))):
            with pytest.raises(ValueError, match=r"static (argument 1|n) is .*not hashable"):
                call()


class TestInline:
    def test_its_operations_stand_in_the_program_around_it(self):
        f = jit(lambda x: jnp.sin(x) * 2, inline=True)
        text = str(make_jaxpr(lambda x: f(x) + 1)(1.0))
        assert "jit" not in text
        assert "sin" in text
        assert "jit" in str(make_jaxpr(lambda x: jit(lambda x: x * 2)(x))(1.0))

    def test_it_is_compiled_where_nothing_is_around_it(self, compilations):
        f = counted(lambda x: jnp.sin(x) * 2 + 1)
        g = jit(f, inline=True)
        for _ in range(3):
            np.testing.assert_allclose(g(X), np.sin(X) * 2 + 1)
        assert f.traces == len(compilations) == 1

    def test_under_every_transformation(self):
        f = jit(lambda x: jnp.sin(x) * x, inline=True)
        assert grad(f)(2.0).item() == pytest.approx(np.cos(2) * 2 + np.sin(2))
        np.testing.assert_allclose(vmap(f)(X), np.sin(X) * X)
        np.testing.assert_allclose(jit(vmap(grad(f)))(X), np.cos(X) * X + np.sin(X))


class TestDonation:
    def test_the_memory_is_reused_and_the_argument_deleted(self):
        step = jit(lambda params, x: {k: v - x for k, v in params.items()}, donate_argnums=0)
        for _ in range(2):
            params = {"w": jnp.ones(1000), "b": jnp.zeros((5, 7))}
            before = {name: address(value) for name, value in params.items()}
            out = step(params, 0.5)
            assert {name: address(value) for name, value in out.items()} == before
            assert [x.is_deleted() for x in params.values()] == [True, True]
            assert out["w"].tolist() == [0.5] * 1000

    def test_later_use_says_where_it_went(self):
        @jit(donate_argnames="x")
        def double(x):
            return 2 * x

        x = jnp.ones(3)
        double(x)
        for use in (lambda: x + 1, lambda: double(x), lambda: jit(jnp.sin)(x), lambda: x.tolist()):
            with pytest.raises(
                RuntimeError, match=r"f64\[3\] was donated to `double` at .*test_jit"
            ):
                use()
        assert Path(__file__).read_text().splitlines()[line_of(x) - 1] == " " * 8 + "double(x)"

    def test_by_name_and_by_position(self):
        for options in ({"donate_argnums": (1,)}, {"donate_argnames": "y"}, {"donate_argnums": -1}):
            f = jit(lambda x, y: x + y, **options)
            for call in (lambda x, y, f=f: f(x, y), lambda x, y, f=f: f(x, y=y)):
                x, y = jnp.ones(3), jnp.ones(3)
                assert call(x, y).tolist() == [2.0] * 3
                assert (x.is_deleted(), y.is_deleted()) == (False, True)

    def test_numpy_arrays_and_numbers_stay(self):
        f = jit(lambda x: x + 1, donate_argnums=0)
        for _ in range(3):
            assert f(1.0).item() == 2.0  # numbers on the device are shared, but not this one
            assert f(np.float32(1)).item() == 2.0
        x = np.ones(3)
        assert f(x).tolist() == f(x).tolist() == [2.0] * 3
        assert x.tolist() == [1.0] * 3

    def test_one_array_twice(self):
        f = jit(lambda x, y: x + y, donate_argnums=0)
        g = jit(lambda x, y: (x + 1, y + 2), donate_argnums=(0, 1))
        for function in (f, g):
            x = jnp.ones(3)
            with pytest.raises(ValueError, match=r"reuse the memory of argument x.* is argument y"):
                function(x, x)
            assert x.tolist() == [1.0] * 3

    def test_an_array_that_is_also_a_constant(self):
        constant = jnp.ones(3)
        f = jit(lambda x: x + constant, donate_argnums=0)
        with pytest.raises(ValueError, match=r"the same array is a constant of the function"):
            f(constant)
        assert f(jnp.ones(3)).tolist() == [2.0] * 3

    def test_a_constant_that_was_donated_elsewhere(self):
        constant = jnp.ones(3)
        f = jit(lambda x: x + constant)
        f(1.0)
        jit(lambda x: 2 * x, donate_argnums=0)(constant)
        with pytest.raises(RuntimeError, match=r"closes over an array that is no more: .* donated"):
            f(1.0)

    def test_the_same_result_for_two_arguments_of_one_type(self):
        f = jit(lambda x, y: (x + y, x - y), donate_argnums=(0, 1))
        out = f(jnp.full(4, 5.0), jnp.full(4, 3.0))
        assert [x.tolist() for x in out] == [[8.0] * 4, [2.0] * 4]
        swap = jit(lambda x, y: (y, x), donate_argnums=(0, 1))
        out = swap(jnp.full(4, 5.0), jnp.full(4, 3.0))
        assert [x.tolist() for x in out] == [[3.0] * 4, [5.0] * 4]
        (same,) = jit(lambda x: (x,), donate_argnums=0)(jnp.full(4, 5.0))
        assert same.tolist() == [5.0] * 4

    def test_a_view_of_the_numbers_keeps_them(self):
        x = jnp.arange(4.0)
        view = np.asarray(x)
        out = jit(lambda x: x * 2, donate_argnums=0)(x)
        assert view.tolist() == [0.0, 1.0, 2.0, 3.0]
        assert out.tolist() == [0.0, 2.0, 4.0, 6.0]

    def test_of_no_effect_inside_another_transformation(self):
        f = jit(lambda x: x + 1, donate_argnums=0)
        x = jnp.ones(3)
        jit(lambda x: f(x) + x)(x)
        vmap(f)(x)
        grad(lambda x: jnp.sum(f(x)))(x)
        assert not x.is_deleted()

    def test_memory_that_no_result_can_take_over(self):
        f = jit(lambda x, y: jnp.sum(x) + y, donate_argnums=(0, 1))
        x, y = jnp.ones(3), jnp.asarray(2.0)
        message = r"Some donated buffers were not usable: f64\[3\]\. `<lambda>` has no result"
        with pytest.warns(UserWarning, match=message):
            out = f(x, y)
        assert out.item() == 5.0
        assert (x.is_deleted(), y.is_deleted()) == (False, True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it is said once
            f(jnp.ones(3), jnp.asarray(2.0))

    def test_an_argument_that_nothing_needs_stays(self):
        x = jnp.ones(3)
        assert jit(lambda x, y: y, donate_argnums=0)(x, 1.0).item() == 1.0
        assert not x.is_deleted()

    def test_what_cannot_be(self):
        with pytest.raises(ValueError, match=r"argument 0 is static and to be donated"):
            jit(lambda x: x, static_argnums=0, donate_argnums=0)
        with pytest.raises(ValueError, match=r"donate_argnums names argument 1 of `<lambda>`"):
            jit(lambda x: x, donate_argnums=1)
        with pytest.raises(TypeError, match=r"donate_argnames must be strs"):
            jit(lambda x: x, donate_argnames=3)


def line_of(x):
    with pytest.raises(RuntimeError) as raised:
        x.tolist()
    return int(str(raised.value).partition("test_jit.py:")[2].partition(" ")[0])


class TestUnusedArguments:
    def test_they_are_not_in_the_program(self):
        f = jit(lambda x, y, z: x + z)
        assert f(X, np.ones((100, 100)), 1.0).tolist() == [1.0, 2.0, 3.0]
        assert "100x100" not in f.lower(X, np.ones((100, 100)), 1.0).as_text()
        kept = jit(lambda x, y, z: x + z, keep_unused=True)
        assert kept(X, np.ones((100, 100)), 1.0).tolist() == [1.0, 2.0, 3.0]
        assert "100x100" in kept.lower(X, np.ones((100, 100)), 1.0).as_text()

    def test_nor_is_what_only_dead_code_needs(self):
        constant = np.ones(7)

        def f(x, y):
            jnp.sin(y) + constant
            return x

        assert "7xf64" not in jit(f).lower(1.0, np.ones(7)).as_text()
        assert jit(f)(1.0, np.ones(7)).item() == 1.0

    def test_nor_is_what_only_a_part_ignores(self):
        inner = jit(lambda x, y: x + 1)
        lowered = jit(lambda x, y: inner(x, y * 2)).lower(1.0, np.ones(7))
        assert "7xf64" not in lowered.as_text()
        assert lowered.compile()(1.0, np.ones(7)).item() == 2.0

    def test_they_belong_to_the_kind_of_a_call(self):
        f = counted(lambda x, y: x)
        g = jit(f)
        for y in (1.0, 2.0, X, 2 * X):
            assert g(5.0, y).item() == 5.0
        assert f.traces == 2
        with pytest.raises(TypeError, match=r"argument y"):
            g(5.0, "no array")


class TestCompilerOptions:
    def test_they_reach_xla_and_are_part_of_the_key(self, compilations):
        options = {"xla_cpu_enable_fast_math": True}

        def f(x):
            return x * 5.0 + 1

        with glassjax.config.override(disable_most_optimizations=False):
            for _ in range(2):
                assert jit(f, compiler_options=options)(1.0).item() == 6.0
                assert jit(f)(1.0).item() == 6.0
        assert [given for _, given in compilations] == [options, {}]

    def test_what_xla_does_not_know(self):
        f = jit(lambda x: x + 1, compiler_options={"xla_no_such_option": 1})
        with pytest.raises(
            JaxRuntimeError, match=r"`<lambda>`: XLA does not accept .*xla_no_such_option"
        ):
            f(1.0)
        with pytest.raises(TypeError, match=r"compiler_options is a dict"):
            jit(lambda x: x, compiler_options=["xla_cpu_enable_fast_math"])
        with pytest.raises(TypeError, match=r"found 'a': None"):
            jit(lambda x: x, compiler_options={"a": None})


def test_the_device_of_a_jitted_function():
    device = xla.default_device()
    for options in ({"device": device}, {"backend": "cpu"}, {"device": "cpu"}):
        assert jit(lambda x: x, **options)(1.0).item() == 1.0
    for options, message in (
        ({"backend": "abacus"}, "Unknown backend 'abacus', there are no devices"),
        ({"device": "tpu"}, "Unknown backend 'tpu', there are no devices"),
        ({"device": 3}, "device must be None or"),
        ({"device": device, "backend": "cpu"}, "pass either backend or device"),
        ({"in_shardings": 1}, "in_shardings must be a device, a Sharding"),
        ({"out_shardings": {"a": "x"}}, "out_shardings must be a device, a Sharding"),
    ):
        with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
            jit(lambda x: x, **options)


class TestMethods:
    def test_trace_lower_and_eval_shape_take_the_instance(self):
        class Model:
            scale = 3.0

            @jit(static_argnums=0)
            def predict(self, x):
                return x * self.scale

        model = Model()
        assert model.predict(2.0).item() == 6.0
        assert model.predict.lower(2.0).compile()(2.0).item() == 6.0
        assert "3.0" in str(model.predict.trace(2.0).jaxpr)
        assert model.predict.eval_shape(X).shape == (3,)
        assert model.predict.__name__ == "predict"
        assert model.predict == model.predict
        assert model.predict != Model().predict


class TestCaches:
    def test_two_jits_of_one_function_share_what_was_traced_and_compiled(self, compilations):
        f = counted(lambda x: x * 7.0 + 1)
        jnp.ones(3)
        del compilations[:]  # that of `ones`
        for _ in range(3):
            jit(f)(1.0)
            jit(f, donate_argnums=0)(jnp.ones(3))
            jit(f, inline=True)(1.0)
        assert f.traces == len(compilations) == 2  # for a number and for a vector

    def test_a_function_that_is_gone_takes_its_programs_with_it(self):
        def program(**options):
            def f(x, y):
                return x * 11.0

            g = jit(f, **options)
            g(jnp.ones(3), 1.0)
            g.lower(jnp.ones(3), 1.0).compile()
            (traced,) = g._traced.values()
            compiled = Compilation(traced, g._options).compiled()
            return weakref.ref(f), weakref.ref(compiled.executable)

        for options in ({}, {"donate_argnums": 0}, {"keep_unused": True}, {"inline": True}):
            function, compiled = program(**options)
            gc.collect()
            assert (function(), compiled()) == (None, None), options

    def test_threads_that_call_first_trace_and_compile_once(self, compilations):
        for options in ({}, {"donate_argnums": 0}):
            f = counted(lambda x: (time.sleep(0.05), jnp.cos(x) * 3)[1])
            jitted = jit(f, **options)
            del compilations[:]
            arrays = [jnp.full(3, float(n)) for n in range(8)]
            with ThreadPoolExecutor(8) as pool:
                results = list(pool.map(jitted, arrays))
            for n, result in enumerate(results):
                np.testing.assert_allclose(result, 3 * np.cos(np.full(3, n)), rtol=1e-6)
            assert f.traces == 1
            assert sum("stablehlo.cosine" in text for text, _ in compilations) == 1

    def test_threads_that_all_call_and_trace(self, compilations):
        count, functions = 8, [counted(lambda x, n=n: x * (n + 2.0) + n) for n in range(4)]
        shared = [jit(f) for f in functions]
        own = [[jit(f) for f in functions] for _ in range(count)]
        kinds = [1.0, np.float32(2), np.ones(2), jnp.ones(3), np.ones((2, 2), np.float32)]
        del compilations[:]  # that of `ones`
        barrier, errors = threading.Barrier(count), []

        def work(number):
            try:
                barrier.wait(30)
                for turn in range(300):
                    n = (turn + number) % len(functions)
                    x = kinds[(turn // 4 + number) % len(kinds)]
                    f = shared[n] if turn % 2 else own[number][n]
                    np.testing.assert_array_equal(np.asarray(f(x)), np.asarray(x) * (n + 2.0) + n)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        of_jit = [text for text, _ in compilations if "module @jit_" in text]
        assert len(of_jit) == len(functions) * len(kinds)


class TestArraysClosedOver:
    """A large numpy array took as much memory again, and time, at each call."""

    SIZE = 2**19  # elements, of 4 bytes

    @pytest.fixture
    def copied(self, monkeypatch):
        """The sizes of the arrays that were put on the device."""
        seen = []
        put = backend.put
        monkeypatch.setattr(
            backend, "put", lambda x, aval: (seen.append(np.size(x)), put(x, aval))[1]
        )
        return seen

    def test_copied_once(self, copied):
        big = np.arange(self.SIZE, dtype=np.float32) % 8  # whose sum is exact
        f = jit(lambda x: jnp.sum(big * x))
        for _ in range(3):
            assert f(1.0) == vmap(f)(jnp.ones(1))[0] == grad(f)(1.0)
        assert jit(lambda x, y: f(x) + y, donate_argnums=0)(jnp.zeros(()), 1.0) == 1.0
        assert copied.count(self.SIZE) == 2  # by `f`, and by the function that calls it

    @for_each("number", [0.0, -0.0, 2.5, np.nan])
    @for_each("dtype", [np.float32, np.float64])
    def test_of_one_number_is_not_copied(self, copied, number, dtype):
        big = np.full((2, self.SIZE // 2), number, dtype, order="F")
        f = jit(lambda x: jnp.max((x * big)[1]))
        for _ in range(2):
            found = f(jnp.float32(1.0))
            np.testing.assert_array_equal(found, np.float32(number))
            assert np.signbit(found) == np.signbit(np.float32(number))
        assert self.SIZE not in copied
        assert f.trace(1.0).jaxpr.consts[0] is big

    def test_where_a_program_needs_it_in_memory(self, copied):
        big = np.ones((2**10, 2**9), np.float32)
        product = jit(lambda x: big.T @ x)
        returned = jit(lambda x: (x, jnp.reshape(big, -1)))
        for f in (product, returned):
            f(jnp.ones(2**10)), f(jnp.ones(2**10))
        assert copied.count(self.SIZE) == 2

    def test_numbers_that_differ(self, copied):
        for position in (0, self.SIZE // 2, self.SIZE - 1):
            big = np.zeros(self.SIZE, np.float32)
            big[position] = -0.0
            f = jit(lambda x, big=big: jnp.signbit(x + big).sum())
            assert f(-0.0) == 1
        assert copied.count(self.SIZE) == 3


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: grad(f)(1.0),
        lambda f: jit(grad(f))(1.0),
        lambda f: vmap(f)(jnp.ones(2))[0],
        lambda f: vmap(grad(f))(jnp.ones(2))[0],
        lambda f: grad(grad(f))(1.0),
        lambda f: jvp(f, (1.0,), (1.0,))[1],
    ],
    ids=["grad", "jit grad", "vmap", "vmap grad", "grad grad", "jvp"],
)
def test_a_hundred_functions_within_each_other(transformed):
    """RecursionError: a level took eleven frames of Python's stack, in JAX less than ten."""

    def within(f):
        return jit(lambda x: f(x) + x)

    nested = flat = lambda x: x * x
    for _ in range(100):
        nested = within(nested)
    assert transformed(nested) == transformed(lambda x: flat(x) + 100 * x)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float16"])
def test_narrow_floats_are_compared_as_floats(dtype):
    # As unsigned numbers, constants among them ended the process in LLVM.
    x = jnp.array([-1.0, 2.0, jnp.nan], dtype)
    text = jit(lambda x: (x != x, x < 0)).lower(x).as_text()
    assert text.count(", FLOAT") == 2
    assert jnp.isnan(x).tolist() == [False, False, True]
    assert (x < 0).tolist() == [True, False, False]


def test_constant_booleans_are_added():
    """XLA evaluates this while it compiles, by other rules than those of its machine code."""
    yes = jnp.full(2, True)
    assert jit(lambda: jnp.full(2, True) + jnp.full(2, True))().tolist() == (yes + yes).tolist()


reduce_sum = jnp.sum


f32 = np.float32


def deriv(f):
    return glassjax.grad(f)


def identity(x):
    return x


def test_what_is_jitted_twice_is_traced_once():
    f = counted(lambda **kwargs: kwargs["a"] - kwargs["b"])
    assert jit(f)(a=1.0, b=2.0).item() == jit(f)(b=2.0, a=1.0).item() == -1.0
    assert f.traces == 1


def test_constants_are_those_of_the_first_call():
    """They go to the device once; what happens to the numpy array later is not seen."""
    constant = np.ones(3)
    g = jit(lambda x: x + constant)
    assert g(0.0).tolist() == [1.0, 1.0, 1.0]
    constant[:] = 7
    assert g(0.0).tolist() == [1.0, 1.0, 1.0]


class TestStaticArguments(StaticArgumentLaws):
    lib = SimpleNamespace(jit=jit, deriv=deriv, vmap=vmap, sin=sin, reduce_sum=reduce_sum)

    @for_each(
        "static",
        [
            {"static_argnums": 1, "static_argnames": "flip"},
            {"static_argnums": (1,), "static_argnames": ("flip",)},
            {"static_argnums": [-1], "static_argnames": ["flip"]},
            {"static_argnames": ["flip", "n"]},
        ],
    )
    def test_by_position_and_by_name_however_they_are_passed(self, static):
        f = counted(self.power)
        g = jit(f, **static)
        assert g(2.0, 3).item() == g(3.0, 2).item() - 1 == 8.0
        assert g(2.0, n=3).item() == g(x=2.0, n=3).item() == 8.0
        assert g(2.0, 3, flip=True).item() == g(2.0, n=3, flip=True).item() == -8.0
        assert f.traces == 6

    def test_none_and_defaults(self):
        @functools.partial(jit, static_argnames="mode")
        def f(x, mode=None):
            return x if mode is None else x * len(mode)

        assert (f(2.0).item(), f(2.0, None).item(), f(2.0, "abc").item()) == (2, 2, 6)

    @for_each(
        ("make", "error", "message"),
        [
            (
                lambda: jit(identity, static_argnums=0)([1, 2]),
                ValueError,
                "jit of `identity`: the static argument 0 is of type list, which is not hashable, "
                "so it cannot choose a compiled program. Use a tuple",
            ),
            (
                lambda: jit(identity, static_argnames="x")(x={}),
                ValueError,
                "jit of `identity`: the static x is of type dict, which is not hashable",
            ),
            (
                lambda: jit(identity, static_argnums=0)(X),
                ValueError,
                "the static argument 0 is of type ndarray, which is not hashable",
            ),
            (
                lambda: jit(identity, static_argnums=1),
                ValueError,
                "jit: static_argnums names argument 1 of `identity`, which has 1 positional",
            ),
            (
                lambda: jit(identity, static_argnums=-2),
                ValueError,
                "jit: static_argnums names argument -2 of `identity`, which has 1 positional",
            ),
            (
                lambda: jit(identity, static_argnames="y"),
                ValueError,
                "jit: static_argnames names 'y', which is not a parameter of `identity`",
            ),
            (lambda: jit(3), TypeError, "jit: expected a function, found 3"),
            (lambda: jit(jit)(1.0), TypeError, "expected a function"),
        ],
    )
    def test_what_cannot_be(self, make, error, message):
        with pytest.raises(error) as raised:
            make()
        assert message in str(raised.value)


class TestThreads:
    def test_threads_that_call_first_trace_once(self):
        traces = []

        @jit
        def f(x):
            traces.append(threading.get_ident())
            time.sleep(0.05)  # long enough for all to arrive
            return x * 2.0

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(f, [float(n) for n in range(8)])) == [2.0 * n for n in range(8)]
        assert len(traces) == 1

    def test_a_first_call_that_fails_leaves_the_others_theirs(self):
        traces = []

        @jit
        def f(x):
            traces.append(x)
            time.sleep(0.05)
            if len(traces) == 1:
                raise ValueError("the first")
            return x

        with ThreadPoolExecutor(4) as pool:
            calls = [pool.submit(f, 1.0) for _ in range(4)]
        errors = [call.exception() for call in calls]
        assert sorted(map(str, errors)) == ["None"] * 3 + ["the first"]
        assert len(traces) == 2

    def test_a_trace_may_wait_for_threads_that_call_the_function(self):
        """With other types, else it would never end."""

        @jit
        def f(x):
            if x.shape == ():
                with ThreadPoolExecutor(1) as pool:
                    return x + np.asarray(pool.submit(f, np.ones(2)).result(10))
            return x

        assert f(1.0).tolist() == [2.0, 2.0]


class TestAheadOfTime:
    def test_lower_and_compile(self):
        constant = np.arange(3.0)
        f = counted(lambda x, y: {"out": x * y + constant})
        lowered = jit(f).lower(ShapedArray((3,), np.float64), ShapedArray((), np.float64))
        assert "stablehlo.multiply" in lowered.as_text()
        compiled = lowered.compile()
        assert f.traces == 1
        for y in (2.0, np.float64(2), array(2.0)):
            np.testing.assert_array_equal(compiled(X, y)["out"], 3 * X)
        assert f.traces == 1
        assert "HloModule" in compiled.as_text()
        assert compiled.cost_analysis()["flops"] >= 6
        assert compiled.memory_analysis().argument_size_in_bytes == 24 + 24 + 8

    def test_static_arguments_are_compiled_in(self):
        f = jit(lambda x, n, *, flip: -x * n if flip else x * n, static_argnames=("n", "flip"))
        compiled = f.lower(X, 3, flip=True).compile()
        np.testing.assert_array_equal(compiled(X), -3 * X)
        compiled = f.lower(X, n=2, flip=False).compile()
        np.testing.assert_array_equal(compiled(X), 2 * X)

    def test_keyword_arguments(self):
        compiled = jit(lambda a, b: a - b).lower(1.0, b=2.0).compile()
        assert compiled(5.0, b=3.0).item() == 2.0

    @for_each(
        ("call", "message"),
        [
            (lambda c: c(X.astype(f32)), "`f` was compiled for f64[3], called with f32[3]"),
            (lambda c: c(np.zeros(4)), "`f` was compiled for f64[3], called with f64[4]"),
            (lambda c: c(X, X), "was compiled for arguments of structure"),
            (lambda c: c(x=X), "was compiled for arguments of structure"),
            (lambda c: c((X,)), "was compiled for arguments of structure"),
            (lambda c: c("a"), "expected an array or a number, found 'a'"),
            (lambda c: jit(c)(X), "`f` is compiled, so it can no longer be transformed"),
            (lambda c: vmap(c)(np.ones((2, 3))), "transform the function itself, and compile"),
            (lambda c: jvp(c, (X,), (X,)), "is compiled, so it can no longer"),
        ],
    )
    def test_it_takes_no_other_arguments(self, call, message):
        def f(x):
            return x + 1.0

        compiled = jit(f).lower(X).compile()
        with pytest.raises(TypeError) as raised:
            call(compiled)
        assert message in str(raised.value)


def test_an_array_closed_over_is_copied_to_the_device_once(monkeypatch):
    """Each call of a batched or differentiated function copied it anew: 0.6 s for 256 MiB."""
    copied = []
    put = backend.put
    monkeypatch.setattr(
        backend, "put", lambda x, aval: (copied.append(np.shape(x)), put(x, aval))[1]
    )
    weights = np.arange(1000.0)
    f = jit(lambda x: reduce_sum(weights * x))
    expected = weights.sum()
    for _ in range(3):
        assert f(np.float64(2.0)).item() == 2 * expected
        assert vmap(f)(np.ones(2)).tolist() == [expected] * 2
        assert jvp(f, (np.float64(2.0),), (1.0,))[1].item() == expected
    assert copied.count((1000,)) == 1
    assert make_jaxpr(jit(lambda x: x * weights))(1.0).consts[0] is weights  # nothing is computed
    assert copied.count((1000,)) == 1
