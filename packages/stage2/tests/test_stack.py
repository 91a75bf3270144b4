"""The tracer stack: traces nest in every order, tell their values apart, and clean up."""

import asyncio
import itertools
import threading

import numpy as np
import pytest

from glassjax_stage2 import (
    Tracer,
    UnexpectedTracerError,
    current_trace,
    deriv,
    jvp,
    reduce_sum,
    sin,
    vmap,
)


def names():
    return [str(trace) for trace in current_trace().stack()]


def test_the_stack_lists_who_is_asked_from_the_top_down():
    seen = []

    def inner(y):
        seen.append(names())
        return y

    def middle(x):
        seen.append(names())
        out = vmap(inner)(np.ones(2))
        seen.append(names())
        return x * reduce_sum(out)

    assert jvp(middle, (1.0,), (1.0,)) == (2.0, 2.0)
    bottom, jvp_of_middle = "evaluation of `numpy`", "jvp of `middle`"
    assert seen == [
        [jvp_of_middle],
        ["vmap of `inner`", jvp_of_middle],
        [jvp_of_middle],
    ]
    assert names() == [bottom]


def test_the_parents_are_the_stack():
    def f(x):
        inner, outer = current_trace().stack()
        assert inner is current_trace() is x.interpreter
        assert inner.parent is outer
        assert outer.parent is None
        return x

    jvp(lambda x: vmap(f)(np.ones(2)) * x, (1.0,), (1.0,))


def test_rules_run_one_step_down_the_stack():
    """The primal of a tracer of the inner trace is a tracer of the outer one."""

    def inner(x):
        inner, outer = current_trace().stack()
        assert x.interpreter is inner
        assert x.primal.interpreter is outer
        return x * x

    assert deriv(lambda x: deriv(inner)(x))(3.0) == 2.0


@pytest.mark.parametrize("d", [deriv, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]])
def test_perturbations_are_not_confused(d):
    """d/dx (x * d/dy (x + y)) is 1, and 2 where the two tangents are taken for one."""
    assert d(lambda x: x * d(lambda y: x + y)(1.0))(1.0) == 1.0
    assert d(lambda x: x * d(lambda y: x)(0.0))(0.0) == 0.0
    assert d(lambda x: d(lambda y: x * y)(2.0) * x)(3.0) == 6.0
    assert d(lambda x: x * d(lambda y: d(lambda z: x * y * z)(2.0) * y)(3.0))(5.0) == 60.0


def test_examples_of_two_maps_are_not_confused():
    x, y = np.arange(3.0), np.arange(3.0) * 10
    out = vmap(lambda x: vmap(lambda y: x + y)(y))(x)
    np.testing.assert_array_equal(out, x[:, None] + y)
    captured = vmap(lambda x: vmap(lambda y: x)(y))(x)
    np.testing.assert_array_equal(captured, np.stack([x] * 3, axis=1))


LAYERS = {
    "jvp": lambda f: lambda x: jvp(f, (x,), (1.0,))[1],
    "jvp of a product": lambda f: lambda x: jvp(lambda z: z * f(z), (x,), (1.0,))[1],
    "vmap": lambda f: lambda x: reduce_sum(vmap(lambda k: f(k * x))(np.array([1.0, 2.0]))),
    "unused vmap": lambda f: lambda x: reduce_sum(vmap(lambda k: f(x))(np.ones(3))),
}


def polynomial_after(layers):
    """What the layers do to x^3, on coefficients of powers of x."""
    c = {3: 1.0}
    for layer in layers:
        if layer == "jvp":
            c = {n - 1: n * a for n, a in c.items() if n}
        elif layer == "jvp of a product":
            c = {n: (n + 1) * a for n, a in c.items()}
        elif layer == "vmap":
            c = {n: (1 + 2**n) * a for n, a in c.items()}
        else:
            c = {n: 3 * a for n, a in c.items()}
    return lambda x: sum(a * x**n for n, a in c.items())


@pytest.mark.parametrize("layers", list(itertools.product(LAYERS, repeat=3)), ids="-".join)
def test_nesting_in_every_order(layers):
    def f(x):
        return x * x * x

    for layer in layers:
        f = LAYERS[layer](f)
    assert f(1.5) == pytest.approx(polynomial_after(layers)(1.5))


@pytest.mark.parametrize("transform", [deriv, lambda f: lambda x: vmap(f)(np.ones(2))])
def test_an_exception_leaves_the_stack_as_it_was(transform):
    def fail(x):
        raise KeyError("mine")

    def survive(x):
        before = current_trace().stack()
        with pytest.raises(KeyError, match="mine"):
            transform(fail)(1.0)
        assert current_trace().stack() == before
        return x * x

    assert deriv(survive)(3.0) == 6.0
    with pytest.raises(KeyError, match="mine"):
        transform(fail)(1.0)
    assert names() == ["evaluation of `numpy`"]


def test_an_exception_in_a_rule_leaves_the_stack_as_it_was():
    def f(x):
        before = current_trace().stack()
        with pytest.raises(ValueError, match="broadcast"):
            x + np.ones(5)
        assert current_trace().stack() == before
        return x

    jvp(f, (np.ones(3),), (np.ones(3),))
    vmap(f)(np.ones((2, 3)))


def test_a_new_thread_begins_at_the_bottom():
    seen = []

    def work():
        seen.append(names())
        seen.append(deriv(sin)(0.0))

    def f(x):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x

    assert deriv(f)(2.0) == 1.0
    assert seen == [["evaluation of `numpy`"], 1.0]


def test_threads_differentiate_side_by_side():
    barrier = threading.Barrier(4)
    results = {}

    def work(n):
        def f(x):
            barrier.wait(timeout=10)
            out = x**n
            barrier.wait(timeout=10)
            return out

        results[n] = deriv(f)(1.0)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}


def test_coroutines_interleave_without_seeing_each_other():
    async def cube(x):
        await asyncio.sleep(0)
        return x * x * x

    async def derivative(x):
        def f(x):
            assert len(current_trace().stack()) == 1
            return x * x

        await asyncio.sleep(0)
        slope = deriv(f)(x)
        await asyncio.sleep(0)
        assert names() == ["evaluation of `numpy`"]
        return slope + await cube(0.0)

    async def main():
        return await asyncio.gather(*map(derivative, (1.0, 2.0, 3.0)))

    assert asyncio.run(main()) == [2.0, 4.0, 6.0]


def test_generators_compute_where_they_are_advanced():
    """A generator has no context of its own: each step asks the trace that is current then."""

    def powers(x):
        value = x
        while True:
            yield value
            value = value * x

    def third(x):
        stream = powers(x)
        return [next(stream) for _ in range(3)][-1]

    assert deriv(third)(2.0) == 12.0
    constants = powers(2.0)

    def mixed(x):
        return x * next(constants)

    assert [deriv(mixed)(1.0) for _ in range(3)] == [2.0, 4.0, 8.0]
    np.testing.assert_array_equal(vmap(third)(np.arange(3.0)), [0.0, 1.0, 8.0])


def test_a_generator_that_outlives_its_trace_holds_a_leaked_tracer():
    streams = []

    def f(x):
        streams.append(x * y for y in (1.0, 2.0))
        return x

    deriv(f)(1.0)
    with pytest.raises(UnexpectedTracerError, match="has ended"):
        next(streams[0])


def leak(transform, value):
    kept = []

    def leaky(x):
        kept.append(x * 2.0)
        return x

    transform(leaky)(value)
    return kept[0]


KINDS = {
    "JVPTracer.*the jvp of `leaky`": (deriv, 2.0),
    "BatchTracer.*the vmap of `leaky`": (vmap, np.ones(2)),
}
USES = {
    "in evaluation": lambda x: x + 1.0,
    "function": sin,
    "in jvp": lambda x: deriv(lambda y: x * y)(1.0),
    "in vmap": lambda x: vmap(lambda y: x * y)(np.ones(2)),
    "returned from jvp": lambda x: jvp(lambda y: x, (1.0,), (1.0,)),
    "returned from vmap": lambda x: vmap(lambda y: [x])(np.ones(2)),
    "truth": bool,
    "comparison": lambda x: x > 0,
    "float": float,
    "numpy": np.asarray,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_leaked_tracer_says_what_it_was_for_and_where_it_was_made(kind, use):
    tracer = leak(*KINDS[kind])
    assert isinstance(tracer, Tracer)
    line = leak.__code__.co_firstlineno + 4
    where = rf"(?s){kind.replace('.*', f' made at .*test_stack.py:{line} .in leaky. belongs to ')}"
    with pytest.raises(UnexpectedTracerError, match=where + r", which has ended.*Return it from"):
        use(tracer)


def test_a_tracer_of_an_inner_trace_has_leaked_once_that_ended():
    def outer(x):
        kept = []
        deriv(lambda y: kept.append(x * y) or y)(1.0)
        with pytest.raises(UnexpectedTracerError, match="has ended"):
            kept[0] * x
        return x

    deriv(outer)(2.0)


def test_a_tracer_in_another_thread_is_not_running_there():
    errors = []

    def f(x):
        def work():
            with pytest.raises(UnexpectedTracerError, match="not running here") as info:
                x * 2.0
            errors.append(str(info.value))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x

    deriv(f)(1.0)
    assert "passed to another thread" in errors[0]
