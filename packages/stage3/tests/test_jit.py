"""`jit`: traced once for each kind of call, compiled once, transparent to everything else."""

import functools
import gc
import threading
import weakref
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from static_argument_laws import StaticArgumentLaws, counted

from glassjax_stage2 import (
    ShapedArray,
    current_trace,
    deriv,
    float0,
    jacfwd,
    jvp,
    reduce_sum,
    register_pytree_node,
    sin,
    vmap,
    where,
)
from glassjax_stage3 import Array, array, backend, executable, jit, make_jaxpr

X = np.arange(3.0)
f32 = np.float32


@pytest.fixture
def compilations(monkeypatch):
    """The programs that XLA has been given, in order."""
    texts = []
    compile_text = backend.compile

    def counting(text, *args):
        texts.append(text)
        return compile_text(text, *args)

    monkeypatch.setattr(backend, "compile", counting)
    return texts


def identity(x):
    return x


def live_programs():
    return sum(isinstance(x, executable.CompiledJaxpr) for x in gc.get_objects())


class TestTheCache:
    def test_a_function_is_traced_once_for_each_kind_of_call(self):
        f = counted(identity)
        g = jit(f)
        kinds = [
            [X, 2 * X, array(X), X[::-1], X.astype(">f8")],
            [X.astype(f32)],
            [np.zeros(4), np.ones(4)],
            [X.reshape(3, 1)],
            [1.0, 2.0, float("nan")],
            [np.float64(1), np.array(1.0), array(np.float64(2))],
            [1, 2, -(2**63)],
            [True, np.True_, False],
            [np.int64(1)],
            [(X,), (2 * X,)],
            [[X]],
            [{"a": X}],
            [{"b": X}],
            [None],
        ]
        for count, calls in enumerate(kinds, start=1):
            for x in calls:
                g(x)
                assert f.traces == count, x

    def test_it_compiles_as_often_as_it_traces(self, compilations):
        g = jit(lambda x: x + 1.0)
        for x in (X, 2 * X, X.astype(f32), 3 * X, X.astype(f32)):
            g(x)
        assert len(compilations) == 2

    def test_transforming_it_does_not_trace_it_again(self, compilations):
        f = counted(lambda x: sin(x) * x)
        g = jit(f)
        for _ in range(3):
            vmap(g)(X)
            jvp(g, (X,), (X,))
            jvp(g, (2.0,), (1.0,))
            vmap(deriv(g))(X)
        assert f.traces == 3  # for a vector, a strong number, a weak number
        assert len(compilations) <= 8  # what the results are made of is compiled too, once

    def test_the_order_of_keyword_arguments_does_not_matter(self):
        f = counted(lambda **kwargs: kwargs["a"] - kwargs["b"])
        g = jit(f)
        assert g(a=1.0, b=2.0).item() == g(b=2.0, a=1.0).item() == -1.0
        assert f.traces == 1

    def test_an_exception_is_not_remembered(self):
        fail = True

        def f(x):
            if fail:
                raise KeyError
            return x

        g = jit(f)
        with pytest.raises(KeyError):
            g(1.0)
        fail = False
        assert g(1.0).item() == 1.0


class TestWhatIsFreed:
    def test_nothing_is_kept_alive_by_having_been_called(self):
        big = np.arange(1000.0)

        def f(x):
            return x * big

        g = jit(f)
        g(1.0)
        jvp(g, (1.0,), (1.0,))
        vmap(g)(np.ones(2))
        jit(g)(1.0)
        compiled = executable.compile_jaxpr(*program_of(g))
        seen = [weakref.ref(f), weakref.ref(g), weakref.ref(program_of(g)[0])]
        watched = weakref.finalize(f, lambda: None)
        del f, g, compiled
        gc.collect()
        assert not watched.alive
        assert [reference() for reference in seen] == [None, None, None]

    def test_compiled_programs_are_freed(self):
        size = live_programs()
        for n in range(5):
            jit(lambda x, n=n: x + float(n))(1.0)
        gc.collect()
        assert live_programs() <= size

    def test_also_those_of_transformed_programs(self):
        gc.collect()
        size = live_programs()
        g = jit(lambda x: sin(x))
        jvp(g, (1.0,), (1.0,))
        vmap(g)(X)
        assert live_programs() > size
        del g
        gc.collect()
        assert live_programs() <= size

    def test_a_tracer_closed_over_is_not_kept(self):
        kept = []

        def outer(x):
            inner = jit(lambda y: x * y)
            kept.append(inner)
            return inner(2.0)

        assert jvp(outer, (3.0,), (1.0,))[1].item() == 2.0
        assert kept[0]._traced == {}


def program_of(g):
    (traced,) = list(g._traced.values())[:1]
    return traced.jaxpr, "f"


class TestStaticArguments(StaticArgumentLaws):
    lib = SimpleNamespace(jit=jit, deriv=deriv, vmap=vmap, sin=sin, reduce_sum=reduce_sum)

    @pytest.mark.parametrize(
        ("make", "error", "message"),
        [
            (
                lambda: jit(identity, static_argnums=0)([1, 2]),
                ValueError,
                "jit of `identity`: the static argument 0 is of type list, which is not hashable. "
                "Use a tuple",
            ),
            (
                lambda: jit(identity, static_argnums=0)(X),
                ValueError,
                "the static argument 0 is of type ndarray, which is not hashable",
            ),
            (lambda: jit(3), TypeError, "jit: expected a function, found 3"),
            (lambda: jit(jit)(1.0), TypeError, "expected a function"),
        ],
    )
    def test_what_cannot_be(self, make, error, message):
        with pytest.raises(error) as raised:
            make()
        assert message in str(raised.value)


class TestUses:
    def test_as_a_decorator(self):
        @jit
        def f(x):
            """Doubles."""
            return 2 * x

        @partial(jit, static_argnums=1)
        def g(x, n):
            return x * n

        @functools.partial(jit, static_argnums=(1,))
        def h(x, n):
            return x * n

        assert (f(2.0).item(), g(2.0, 3).item(), h(2.0, 3).item()) == (4, 6, 6)
        assert (f.__name__, f.__doc__, f.__wrapped__(1)) == ("f", "Doubles.", 2)
        assert "jit of <function" in repr(f)

    def test_of_methods(self):
        class Model:
            def __init__(self, scale):
                self.scale = scale

            @partial(jit, static_argnums=0)
            def __call__(self, x):
                return x * self.scale

            @staticmethod
            @jit
            def double(x):
                return 2 * x

            def plain(self, x):
                return x + self.scale

        two, three = Model(2.0), Model(3.0)
        assert (two(5.0).item(), three(5.0).item(), two(6.0).item()) == (10, 15, 12)
        assert two.double(4.0).item() == 8
        assert jit(two.plain)(1.0).item() + jit(three.plain)(1.0).item() == 7
        np.testing.assert_array_equal(vmap(two)(X), 2 * X)

    def test_of_methods_of_trees(self):
        class Linear:
            def __init__(self, w):
                self.w = w

            @jit
            def __call__(self, x):
                return self.w * x

            @jit
            def scaled(self, by):
                return Linear(self.w * by)

        register_pytree_node(Linear, lambda x: ((x.w,), None), lambda _, xs: Linear(*xs))
        assert Linear(2.0)(3.0).item() == 6
        assert Linear(2.0).scaled(4.0)(1.0).item() == 8

    def test_of_what_can_be_called(self):
        class Callable:
            def __call__(self, x):
                return x + 1

        assert jit(Callable())(1.0).item() == 2
        assert jit(functools.partial(lambda a, b: a - b, 5.0))(2.0).item() == 3
        assert jit(functools.partial(lambda a, b: a - b, b=5.0))(2.0).item() == -3
        assert jit(sin)(0.0).item() == 0
        unhashable = type("Unhashable", (Callable,), {"__hash__": None})()
        assert jit(unhashable)(1.0).item() == 2

    def test_with_trees_in_and_out(self):
        def f(params, *rest, scale, **others):
            w, b = params["w"], params["b"]
            return {"y": [w * scale + b, others["extra"]], "rest": rest, "none": None}

        params = {"w": X, "b": 1.0}
        out = jit(f)(params, 1, (2.0,), scale=3.0, extra=X)
        np.testing.assert_array_equal(out["y"][0], 3 * X + 1)
        assert (out["rest"][0].item(), out["rest"][1][0].item(), out["none"]) == (1, 2.0, None)
        assert all(isinstance(x, Array) for x in (*out["y"], out["rest"][0]))

    def test_without_arguments_and_results(self):
        assert jit(lambda: None)() is None
        assert jit(lambda: ())() == ()
        assert jit(lambda: (1, X))()[0].item() == 1
        assert jit(lambda x: None)(X) is None

    def test_weak_results_stay_weak(self):
        assert (jit(lambda x: x * 2)(3) * f32(1)).dtype == f32
        assert (jit(lambda x: x * 2.0)(X)).aval.weak_type is False


class TestComposition:
    @staticmethod
    def f(x):
        return where(x > 1.0, sin(x) * x, x * x)

    def expected(self):
        return np.where(X > 1, np.sin(X) * X, X * X)

    def slope(self):
        return np.where(X > 1, np.cos(X) * X + np.sin(X), 2 * X)

    def test_in_every_order(self):
        f = self.f
        for g in (jit(f), jit(jit(f)), vmap(jit(f)), jit(vmap(f)), jit(vmap(jit(f)))):
            np.testing.assert_allclose(g(X), self.expected())
        d = deriv
        for g in (jit(vmap(d(f))), vmap(jit(d(f))), vmap(d(jit(f))), jit(vmap(jit(d(jit(f)))))):
            np.testing.assert_allclose(g(X), self.slope())
        for g in (jit(jacfwd(f)), jacfwd(jit(f))):
            np.testing.assert_allclose(g(X), np.diag(self.slope()))

    def test_second_derivatives(self):
        cube = jit(lambda x: x * x * x)
        assert deriv(deriv(cube))(2.0).item() == 12.0
        assert jit(deriv(jit(deriv(cube))))(2.0).item() == 12.0

    def test_closing_over_values_of_every_outer_transformation(self):
        def outer(x):
            return jit(lambda y: x * y * x)(x)

        for x in (2.0, 3.0):
            assert deriv(outer)(x).item() == pytest.approx(3 * x * x)
        np.testing.assert_allclose(vmap(outer)(X), X**3)
        np.testing.assert_allclose(vmap(deriv(outer))(X), 3 * X**2)
        np.testing.assert_allclose(jit(vmap(deriv(outer)))(X), 3 * X**2)
        assert "name=<lambda>" in str(make_jaxpr(outer)(1.0))

    def test_no_confusion_of_perturbations(self):
        inner = jit(lambda x: x * deriv(jit(lambda y: x + y))(1.0))
        assert deriv(inner)(1.0).item() == 1.0

    def test_symbolic_zeros_stay_symbolic(self):
        """An argument that does not vary costs nothing, and a result that does not neither."""
        seen = []

        def f(x, y):
            return sin(x), sin(y), y > 1.0

        def g(x):
            out = jit(f)(x, 2.0)
            seen.append([type(o).__name__ for o in out])
            return out[0]

        jaxpr = make_jaxpr(lambda x: jvp(g, (x,), (1.0,)))(1.0)
        assert seen == [["JVPTracer", "JaxprTracer", "JaxprTracer"]]
        assert str(jaxpr).count("cos") == 1

    def test_unmapped_arguments_and_results_stay_unmapped(self):
        @jit
        def f(x, y):
            return x + y, sin(y)

        def g(x):
            out, alone = f(x, 2.0)
            assert not hasattr(alone, "batch_dim")
            return out

        np.testing.assert_array_equal(vmap(g)(X), X + 2)

    def test_integers_have_no_tangents(self):
        out, tangent = jvp(jit(lambda x, n: (x * n, n)), (2.0, 3), (1.0, np.zeros((), float0)))
        assert (out[0].item(), out[1].item(), float(tangent[0])) == (6, 3, 3)
        assert tangent[1].dtype == float0
        slope = jit(lambda n, t: jvp(lambda n: n * 2, (n,), (t,))[1])(3, np.zeros((), float0))
        assert slope.dtype == float0

    def test_the_same_program_in_a_program_that_is_traced(self):
        f = counted(lambda x: x + 1.0)
        g = jit(f)
        text = str(make_jaxpr(lambda x: g(g(x)))(1.0))
        assert f.traces == 1
        assert text.count("jit[") == 2


class TestThreads:
    def test_eight_threads_call_one_function(self):
        g = jit(lambda x, y: sin(x) * y)
        barrier = threading.Barrier(8)
        results, errors = {}, []

        def work(n):
            try:
                barrier.wait(10)
                for i in range(10):
                    x = np.full(1 + i % 3, float(n))
                    results[n, i] = np.asarray(g(x, float(i))), np.sin(x) * i
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(results) == 80
        for found, expected in results.values():
            np.testing.assert_allclose(found, expected, rtol=1e-14)


class TestExceptions:
    def test_the_interpreter_is_as_it_was(self):
        before = current_trace()

        @jit
        def fails(x):
            return [1, 2][5]

        for f in (fails, vmap(fails), lambda x: jvp(fails, (x,), (x,)), jit(fails)):
            with pytest.raises(IndexError):
                f(X)
            assert current_trace() is before
        assert sin(0.0) == 0.0

    def test_errors_of_primitives_show_the_users_line(self):
        def f(x):
            return x + np.zeros(4)

        with pytest.raises(ValueError, match="Incompatible shapes") as raised:
            jit(f)(X)
        assert any(entry.name == "f" for entry in raised.traceback)


class TestAheadOfTime:
    def test_lower_and_compile(self):
        constant = np.arange(3.0)
        f = counted(lambda x, y: {"out": x * y + constant})
        lowered = jit(f).lower(ShapedArray((3,), np.float64), ShapedArray((), np.float64))
        assert "stablehlo.multiply" in lowered.as_text()
        assert "HloModule" in lowered.compile().as_text()
        np.testing.assert_array_equal(jit(f)(X, 2.0)["out"], 3 * X)
