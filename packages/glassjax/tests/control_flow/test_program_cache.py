"""Loops and branches outside of `jit`: traced once, never stale."""

import functools
import gc
import threading
import types
import weakref
from typing import NamedTuple

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import lax
from glassjax.lax.control_flow.program_cache import KeptPrograms, kept_programs

X = jnp.arange(1.0, 4.0)
SCALE = 2.0


@pytest.fixture(autouse=True)
def nothing_kept():
    kept_programs.clear()


def total(f):
    """The sum of `f` of 1, 2 and 3, by `scan`."""
    return lax.scan(lambda carry, x: (carry + f(x), None), 0.0, X)[0].item()


def say(x):
    print("traced")
    return x


def times_traced(capsys, call, times=4):
    """How often functions print in some calls."""
    capsys.readouterr()
    for _ in range(times):
        call()
    return capsys.readouterr().out.count("traced")


class Pair(NamedTuple):
    first: object
    second: object


def step(carry, x):
    return carry + say(x), jnp.sin(x) * SCALE


def twice(x):
    return say(x) * 2


CALLS = {
    "scan": lambda: lax.scan(step, 0.0, X),
    "scan of trees": lambda: lax.scan(
        lambda c, x: (Pair(say(c.first) + x, c.second), {"x": x}), Pair(0.0, X), X, reverse=True
    ),
    "scan by names": lambda: lax.scan(f=step, init=0.0, xs=X, length=3),
    "map": lambda: lax.map(twice, X),
    "map in batches": lambda: lax.map(twice, X, batch_size=3),
    "while_loop": lambda: lax.while_loop(lambda x: x < 100, twice, 1.0),
    "fori_loop": lambda: lax.fori_loop(0, 5, lambda i, x: say(x) + i, X),
    "cond": lambda: lax.cond(True, twice, jnp.sin, X),
    "switch": lambda: lax.switch(1, [jnp.sin, twice, jnp.cos], X),
}


class TestEachFunction:
    @for_each("name", CALLS)
    def test_is_traced_once(self, name, capsys):
        kept_programs.clear()
        assert times_traced(capsys, CALLS[name]) == times_traced(capsys, CALLS[name], 0) + 1

    @for_each("name", CALLS)
    def test_gives_what_its_jitted_call_gives(self, name):
        kept_programs.clear()
        expected = glassjax.jit(CALLS[name])()
        for _ in range(2):
            found = CALLS[name]()
            assert glassjax.tree.structure(found) == glassjax.tree.structure(expected)
            for x, y in zip(
                glassjax.tree.leaves(found), glassjax.tree.leaves(expected), strict=True
            ):
                assert x.aval == y.aval
                np.testing.assert_allclose(x, y, rtol=1e-6)

    @for_each("name", CALLS)
    def test_is_as_python_has_it_where_jit_is_disabled(self, name, capsys):
        CALLS[name]()
        with glassjax.disable_jit():
            assert times_traced(capsys, CALLS[name], 2) >= 2
        assert times_traced(capsys, CALLS[name]) == 0


class TestWhatIsSeen:
    """Programs whose results were those of the first call, had only the function been looked at."""

    def test_a_variable_closed_over(self):
        scale = 2.0

        def f(x):
            return x * scale

        assert total(f) == 12
        scale = 3.0
        assert total(f) == 18

    def test_a_variable_of_a_function_inside(self):
        scale = 2.0

        def inner(x):
            return x * scale

        assert total(lambda x: inner(x)) == 12
        scale = 3.0
        assert total(lambda x: inner(x)) == 18

    def test_a_global_variable(self, monkeypatch):
        def f(x):
            return x * SCALE

        assert total(f) == 12
        monkeypatch.setitem(globals(), "SCALE", 3.0)
        assert total(f) == 18

    def test_a_global_variable_of_a_global_function(self, monkeypatch):
        def scaled():
            return lax.scan(step, 0.0, X)[1][0].item()

        before = scaled()
        monkeypatch.setitem(globals(), "SCALE", 3.0)
        assert scaled() == pytest.approx(1.5 * before)

    def test_defaults(self):
        def f(x, scale=2.0, *, shift=0.0):
            return x * scale + shift

        assert total(f) == 12
        f.__defaults__ = (3.0,)
        assert total(f) == 18
        f.__kwdefaults__["shift"] = 1.0
        assert total(f) == 21

    @for_each("make", [list, np.array, lambda xs: {"a": [xs[0]]}["a"]])
    def test_items_that_are_replaced(self, make):
        scales = make([2.0])
        assert total(lambda x: x * scales[0]) == 12
        scales[0] = 3.0
        assert total(lambda x: x * scales[0]) == 18

    def test_a_large_array_of_numpy_that_is_changed(self):
        scales = np.full(10_000, 2.0, np.float32)
        assert total(lambda x: x * jnp.asarray(scales)[0]) == 12
        scales[:] = 3
        assert total(lambda x: x * jnp.asarray(scales)[0]) == 18

    def test_an_attribute_of_an_instance_and_of_its_class(self):
        class Layer:
            shift = 0.0

            def __init__(self):
                self.scale = 2.0

            def __call__(self, x):
                return self.scaled(x)

            def scaled(self, x):
                return x * self.scale + self.shift

        layer = Layer()
        for f in (layer, layer.scaled, functools.partial(layer.scaled)):
            layer.scale, Layer.shift = 2.0, 0.0
            assert total(f) == lax.map(f, X).sum() == 12
            layer.scale = 3.0
            assert total(f) == lax.map(f, X).sum() == 18
            Layer.shift = 1.0
            assert total(f) == lax.map(f, X).sum() == 21

    def test_an_attribute_of_a_module(self):
        settings = types.ModuleType("settings_of_a_user")
        settings.scale = 2.0
        assert total(lambda x: x * settings.scale) == 12
        settings.scale = 3.0
        assert total(lambda x: x * settings.scale) == 18

    def test_an_array_that_nothing_shows(self):
        """The class passes for Python's own; the array that it has is part of the program."""

        class Store:
            pass

        Store.__module__ = "collections"
        Store.scale = jnp.float32(2)
        assert total(lambda x: x * Store.scale) == 12
        Store.scale = jnp.float32(3)
        assert total(lambda x: x * Store.scale) == 18

    @for_each("values", [(0.0, -0.0), (1, True), (1, 1.0), (2.0, np.float64(2))])
    def test_values_that_are_equal_but_differ(self, values):
        def divided(value):
            return lax.map(lambda x: jnp.divide(1, jnp.asarray(value)) + 0 * x, X)

        found = [str(divided(value)) for value in values]
        kept_programs.clear()
        assert found == [str(divided(value)) for value in reversed(values)][::-1]

    def test_settings(self):
        def made():
            return lax.map(lambda x: jnp.ones(2) + x, 1.0 * jnp.arange(2)).dtype

        def product():
            return lax.map(lambda x: x @ x.T, jnp.ones((1, 2, 2)))

        assert made() == np.float64
        with glassjax.enable_x64(False):
            assert made() == np.float32
        assert made() == np.float64
        product()
        count = len(kept_programs.young)
        with glassjax.default_matmul_precision("highest"):
            product()
        assert len(kept_programs.young) == count + 1

    def test_operands_of_other_types(self):
        for dtype in (np.float32, np.float64, np.int32):
            assert lax.map(twice, X.astype(dtype)).dtype == dtype
        assert lax.cond(True, twice, jnp.sin, 1.0).weak_type
        assert not lax.cond(True, twice, jnp.sin, jnp.float32(1)).weak_type

    def test_bounds_and_options(self):
        def count(upper, **options):
            return lax.fori_loop(0, upper, lambda i, n: n + 1, 0, **options).item()

        assert [count(3), count(5), count(0), count(5, unroll=2)] == [3, 5, 0, 5]
        first = [lax.scan(step, 0.0, X, reverse=r)[1][0].item() for r in (False, True)]
        assert first[0] == first[1]  # results stand where their elements do


class TestTracing:
    def test_new_functions_of_the_same_code_are_traced_once(self, capsys):
        scale = jnp.float32(2)
        assert times_traced(capsys, lambda: total(lambda x: say(x) * scale)) == 1

    def test_what_tracing_changes_itself_does_not_matter(self):
        traces = 0

        def f(x):
            nonlocal traces
            traces += 1
            return x * SCALE

        assert [total(f) for _ in range(3)] == [12.0] * 3
        assert traces == 1
        traces = 5
        assert total(f) == 12.0
        assert traces == 6

    def test_arrays_made_in_the_body_do_not_matter(self, capsys):
        def f(x):
            return say(x) * jnp.array([1.0, 2.0])[0]

        assert times_traced(capsys, lambda: total(f)) == 1

    def test_an_error_is_raised_each_time(self):
        def f(x):
            raise LookupError("of the body")

        for _ in range(3):
            with pytest.raises(LookupError, match="of the body"):
                total(f)
        assert not kept_programs.young

    def test_inside_of_a_transformation_nothing_is_kept(self):
        glassjax.jit(lambda: total_array())()
        glassjax.grad(lambda s: lax.scan(lambda c, x: (c * x, None), s, X)[0])(1.0)
        glassjax.vmap(lambda s: lax.map(lambda x: x * s, X))(X)
        assert not kept_programs.young

    def test_a_tracer_is_never_kept(self):
        def f(s):
            with glassjax.ensure_compile_time_eval():
                return lax.map(lambda x: x * s, X).sum()

        assert glassjax.jit(f)(1.0) == 6
        assert glassjax.jit(f)(jnp.float32(2)) == 12
        assert not kept_programs.young

    def test_key_reuse_is_found_each_time(self):
        key = glassjax.random.key(0)

        def drawn():
            return lax.map(lambda x: x + glassjax.random.normal(key), X)

        drawn()
        with glassjax.debug_key_reuse(), pytest.raises(glassjax.errors.KeyReuseError):
            drawn()

    def test_callbacks_run_at_each_call(self):
        seen = []
        note = seen.append

        def body(x):
            glassjax.debug.callback(lambda y: note(float(y)), x)
            return x

        for _ in range(2):
            lax.map(body, X)
            glassjax.effects_barrier()
        assert sorted(seen) == [1, 1, 2, 2, 3, 3]

    def test_a_deleted_array_is_an_error(self):
        scale = jnp.float32(2)

        def f(x):
            return x * scale

        assert total(f) == 12
        scale.delete()
        with pytest.raises(RuntimeError, match="deleted"):
            total(f)

    def test_threads(self):
        found = {}

        def run(number):
            def f(x):
                return x * number

            found[number] = {total(f) for _ in range(20)}

        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {number: {6.0 * number} for number in range(4)}


def total_array():
    return lax.scan(step, 0.0, X)


class TestMemory:
    def test_a_program_goes_with_the_array_that_it_was_made_for(self):
        def use(scale):
            lax.map(lambda x: x * scale, X)
            return weakref.ref(scale)

        scale = jnp.full(3, 2.0)
        gone = use(scale)
        assert kept_programs.young
        del scale
        gc.collect()
        assert gone() is None
        assert not kept_programs.young

    def test_a_program_goes_with_the_code_that_it_was_made_for(self):
        found = {}
        exec("def f(x):\n    return x * 2", found)
        lax.map(found["f"], X)
        assert kept_programs.young
        del found["f"]
        gc.collect()
        assert not kept_programs.young

    def test_clear_caches_forgets_all(self):
        lax.map(twice, X)
        glassjax.clear_caches()
        assert not kept_programs.young

    def test_those_that_are_used_are_kept_longest(self):
        kept = KeptPrograms(2)
        for number in range(20):
            kept.keep(number, [], str)
            assert kept.find(0) is str
        assert len(kept.young) + len(kept.old) <= 4
        assert kept.find(1) is None

    def test_what_dies_is_forgotten_in_both_generations(self):
        class Referent:
            pass

        first, kept = Referent(), KeptPrograms(1)
        kept.keep("first", [first], str)
        kept.keep("second", [], str)
        assert kept.find("first") is str
        del first
        gc.collect()
        assert kept.find("first") is None
