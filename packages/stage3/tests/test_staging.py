"""Staging: everything under the trace is written down, and nothing that is a tracer gets out."""

import asyncio
import threading

import numpy as np
import pytest

from glassjax_stage1 import add as stage1_add
from glassjax_stage2 import (
    UnexpectedTracerError,
    add,
    bind1,
    current_trace,
    jvp,
    mul,
    reduce_sum,
    sin,
    vmap,
)
from glassjax_stage2.primitives import sin_p
from glassjax_stage3 import array, eval_jaxpr, jaxpr_as_fun, jit, make_jaxpr, typecheck_jaxpr
from glassjax_stage3.staging import JaxprTracer

X = np.arange(3.0)


class TestOmnistaging:
    def test_operations_on_constants_are_staged(self):
        """Nothing is computed while tracing, though no argument is involved."""

        def f(x):
            return mul(x, reduce_sum(sin(X)))

        closed = make_jaxpr(f)(1.0)
        assert [eqn.primitive.name for eqn in closed.eqns] == ["sin", "reduce_sum", "mul"]

    def test_also_those_of_functions_without_arguments(self):
        assert len(make_jaxpr(lambda: add(1.0, 2.0))().eqns) == 1

    def test_also_operations_on_arrays_of_the_device(self):
        x = array(X)
        closed = make_jaxpr(lambda: x * x + x)()
        assert [eqn.primitive.name for eqn in closed.eqns] == ["mul", "add"]
        assert closed.consts == [x] or closed.consts[0] is x

    def test_numpy_itself_computes_at_once(self):
        closed = make_jaxpr(lambda x: x * np.sum(np.sin(X)))(1.0)
        assert [eqn.primitive.name for eqn in closed.eqns] == ["mul"]

    def test_stage_1_programs_are_staged_too(self):
        assert str(make_jaxpr(lambda x: stage1_add(x, 3.0))(1.0)) == (
            "{ lambda ; a:f64[]. let b:f64[] = add a 3.0:f64[] in (b,) }"
        )


class TestNesting:
    def test_staging_inside_staging_does_not_capture(self):
        """With names in place of variables this computes 9."""

        def times_three(x):
            inner = make_jaxpr(lambda y: mul(x, y))(1.0)
            return eval_jaxpr(inner, inner.consts, 3.0)[0]

        outer = make_jaxpr(times_three)(1.0)
        typecheck_jaxpr(outer)
        assert eval_jaxpr(outer, outer.consts, 10.0) == [30.0]

    def test_a_tracer_from_outside_is_a_constant_inside(self):
        seen = []

        def f(x):
            inner = make_jaxpr(lambda y: (x * y, x))(1.0)
            seen.append(inner)
            return eval_jaxpr(inner, inner.consts, x)[0]

        make_jaxpr(f)(2.0)
        assert len(seen[0].consts) == 1
        assert isinstance(seen[0].consts[0], JaxprTracer)

    def test_under_jvp_and_vmap(self):
        def staged_sin(x):
            inner = make_jaxpr(lambda y: sin(y) * x)(x)
            return jaxpr_as_fun(inner)(x)[0]

        expected = np.cos(X) * X + np.sin(X)
        np.testing.assert_allclose(jvp(staged_sin, (X,), (np.ones(3),))[1], expected)
        np.testing.assert_allclose(vmap(staged_sin)(X), np.sin(X) * X)
        np.testing.assert_allclose(jit(vmap(staged_sin))(X), np.sin(X) * X)

    def test_the_stack_shows_it(self):
        seen = []

        def f(x):
            seen.append([str(trace) for trace in current_trace().stack()])
            return x

        def g(x):
            return vmap(f)(x)

        make_jaxpr(g)(X)
        assert seen == [["vmap of `f`", "make_jaxpr of `g`"]]
        assert stack_under_jit() == ["jit of `f`"]

    def test_jvp_of_a_staged_program_is_staged(self):
        closed = make_jaxpr(lambda x, t: jvp(sin, (x,), (t,)))(1.0, 1.0)
        typecheck_jaxpr(closed)
        out, tangent = eval_jaxpr(closed, closed.consts, 2.0, 3.0)
        assert (out, tangent) == pytest.approx((np.sin(2.0), 3 * np.cos(2.0)))


def stack_under_jit():
    seen = []

    @jit
    def f(x):
        seen.append([str(trace) for trace in current_trace().stack()])
        return x

    f(1.0)
    return seen[0]


class TestLeaks:
    @pytest.mark.parametrize("transformation", [make_jaxpr, jit])
    def test_a_value_that_left_is_of_no_use(self, transformation):
        kept = []

        def leaky(x):
            kept.append(x * 2.0)
            return x

        transformation(leaky)(1.0)
        (leaked,) = kept
        name = transformation.__name__
        message = rf"made at .*test_staging.py:\d+ \(in leaky\).*the {name} of `leaky`.*has ended"
        uses = [
            lambda: leaked + 1.0,
            lambda: sin(leaked),
            lambda: array(X) * leaked,
            lambda: jit(sin)(leaked),
            lambda: jit(lambda: leaked)(),
            lambda: make_jaxpr(lambda: leaked * 1.0)(),
            lambda: make_jaxpr(lambda: leaked)(),
            lambda: jvp(sin, (leaked,), (1.0,)),
            lambda: vmap(lambda x: x * leaked)(X),
            lambda: bool(leaked),
            lambda: float(leaked),
            lambda: np.asarray(leaked),
            lambda: bind1(sin_p, leaked),
        ]
        for use in uses:
            with pytest.raises(UnexpectedTracerError, match=message):
                use()

    def test_a_leaked_value_can_still_be_looked_at(self):
        kept = []
        jit(lambda x: kept.append(x) or x)(1.0)
        assert repr(kept[0]) == "JaxprTracer<f64[]>"
        assert kept[0].shape == ()

    def test_a_value_of_another_thread(self):
        seen = []

        def f(x):
            def elsewhere():
                with pytest.raises(UnexpectedTracerError, match="is not running here"):
                    sin(x)
                seen.append(True)

            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            return x

        jit(f)(1.0)
        assert seen == [True]

    def test_a_value_of_a_sibling(self):
        kept = []

        def outer(x):
            jit(lambda y: kept.append(y) or y)(x)
            return jit(lambda z: z + kept[0])(x)

        with pytest.raises(UnexpectedTracerError, match="has ended"):
            make_jaxpr(outer)(1.0)


class TestTheInterpreterIsRestored:
    def test_after_an_exception(self):
        before = current_trace()

        def fails(x):
            raise KeyError("from the user")

        for transformation in (jit, make_jaxpr, lambda f: vmap(jit(f)), lambda f: jit(vmap(f))):
            with pytest.raises(KeyError, match="from the user"):
                transformation(fails)(X)
            assert current_trace() is before
        assert sin(0.0) == 0.0

    def test_in_a_thread_of_its_own(self):
        inside, go_on = threading.Event(), threading.Event()

        def slow(x):
            inside.set()
            assert go_on.wait(10)
            return x * 2.0

        thread = threading.Thread(target=lambda: jit(slow)(1.0))
        thread.start()
        assert inside.wait(10)
        assert add(1.0, 2.0) == 3.0  # is computed here, while the other thread is tracing
        go_on.set()
        thread.join()

    def test_between_tasks(self):
        async def main():
            def f(x):
                task = asyncio.get_running_loop().create_task(later())
                tasks.append(task)
                return x + 1.0

            async def later():
                return add(1.0, 2.0)

            tasks = []
            make_jaxpr(f)(1.0)
            return await tasks[0]

        assert asyncio.run(main()) == 3.0


def test_results_of_every_kind():
    def f(x):
        return {"a": x, "b": [1, 2.5, None, (), X], "c": (x, x)}

    out = jit(f)(1.0)
    assert out["b"][2:4] == [None, ()]
    assert [float(y) for y in (out["a"], *out["b"][:2], *out["c"])] == [1.0, 1.0, 2.5, 1.0, 1.0]
    np.testing.assert_array_equal(out["b"][4], X)


def test_python_control_flow_runs_while_tracing():
    def power(x, n):
        result = 1.0
        for _ in range(n):
            result = result * x
        return result

    jaxpr = make_jaxpr(lambda x: power(x, 3))(2.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"] * 3


def test_shapes_are_python_numbers_while_tracing():
    @jit
    def mean(x):
        assert x.ndim == len(x.shape) == 2
        return reduce_sum(x) / x.size

    assert mean(np.ones((2, 3))).item() == pytest.approx(1.0)
