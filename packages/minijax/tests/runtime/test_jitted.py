"""Jitted functions: static arguments, threads, recursion, and compilation ahead of time."""

import functools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from rows import for_each
from static_argument_laws import StaticArgumentLaws, counted

import minijax
from minijax import jit, jvp, make_jaxpr, vmap
from minijax import numpy as jnp
from minijax.numpy import array, sin
from minijax_stage2 import ShapedArray
from minijax_stage3 import backend

reduce_sum = jnp.sum
X = np.arange(3.0)
f32 = np.float32


def deriv(f):
    return minijax.grad(f)


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
                "so calls cannot be told apart by it. Use a tuple",
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
