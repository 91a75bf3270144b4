"""Looking into programs: settings and blocks that make them show what they do."""

import logging
import re
import sys

import jax
import numpy as np
import pytest
from shares import one_in

import minijax
from minijax import config, lax
from minijax import numpy as jnp

X = np.linspace(-1.0, 1.0, 3)
LIBRARIES = [jax, minijax]


def both(program):
    """What a program returns under either library, which has to be the same."""
    theirs, ours = (program(library, library.numpy) for library in LIBRARIES)
    jax.tree.map(np.testing.assert_allclose, theirs, ours)
    return ours


def python_loops(library, jnp):
    """Programs that decide by values, which no tracer has."""
    lax = library.lax

    @library.jit
    def chosen(x):
        return x * 2 if x.sum() > 0 else x - 1

    @library.jit(static_argnums=1)
    def powers(x, n):
        return [x**i for i in range(n)]

    x = jnp.asarray(X)
    return [
        chosen(x + 1),
        powers(x, 3),
        lax.scan(lambda c, x: (c + x if x > 0 else c, {"c": c}), jnp.float64(1), x),
        lax.scan(lambda c, x: (c + x, c if c > 0 else x), jnp.float64(1), x, reverse=True),
        lax.scan(lambda c, _: (c * 2, None), 1.0, None, length=3),
        lax.while_loop(lambda c: bool(c < 100), lambda c: c * 3 if c > 10 else c + 4, 1),
        lax.fori_loop(0, 4, lambda i, c: c + X[int(i) % 3], jnp.float64(0)),
        lax.cond(x[0] < 0, lambda y: y + int(y[0]), lambda y: y, x),
        lax.switch(1, [lambda: 1, lambda: "no array and so" and 2, lambda: 3]),
        lax.switch(7, [lambda y: y, lambda y: y + float(y[1])], x),
        lax.map(lambda y: y * 2 if y > 0 else -y, x),
        library.grad(lambda y: chosen(y).sum())(x),
        library.vmap(lambda y: lax.while_loop(lambda c: c < 3, lambda c: c + 1, y))(x),
        library.vmap(lambda y: lax.cond(y > 0, lambda v: v, lambda v: -v, y))(x),
        library.jit(lambda y: lax.while_loop(lambda c: c < 3, lambda c: c + 1, y))(0),
    ]


def test_without_jit_programs_are_python():
    def program(library, jnp):
        with library.disable_jit():
            return python_loops(library, jnp)

    both(program)


def test_without_jit_loops_give_arrays():
    with minijax.disable_jit():
        n = minijax.lax.while_loop(lambda n: n < 3, lambda n: n + 1, 0)
    assert (type(n), n.dtype, n.weak_type) == (minijax.Array, "int64", True)


def test_without_jit_nothing_is_traced_and_with_it_all_is_as_before():
    seen = []
    f = minijax.jit(lambda x: seen.append(isinstance(x, minijax.core.Tracer)) or x + 1)
    with minijax.disable_jit():
        f(1.0)
        with minijax.disable_jit(False):
            f(1.0)
        f(1.0)
    f(1.0)
    assert seen == [False, True, False]
    config.update("jax_disable_jit", True)
    try:
        f(2.0)
    finally:
        config.update("jax_disable_jit", False)
    assert seen == [False, True, False, False]
    assert not config.disable_jit


def test_what_is_known_can_be_computed_while_tracing():
    def program(library, jnp):
        @library.custom_jvp
        def twice(x):
            return 2 * x

        twice.defjvp(lambda primals, tangents: (twice(*primals), 2 * tangents[0]))

        def f(x):
            with library.ensure_compile_time_eval():
                table = jnp.arange(5.0)
                jitted = library.jit(lambda y: jnp.sum(y * y))(table)
                looped = library.lax.fori_loop(0, 3, lambda i, c: c + i, 0)
                # JAX leaves custom derivatives to what is around
                custom = twice(table[1]) if library is minijax else 2.0
                slope = library.grad(lambda y: y**3)(2.0)
                chosen = library.lax.cond(table[0] > 0, lambda: 1, lambda: 2)
                numbers = [float(y) for y in (jitted, looped, custom, slope, chosen)]
                assert numbers == [30.0, 3.0, 2.0, 12.0, 2.0]
                x = x * float(jitted)  # of what is known and what is not
            return x + table

        return [library.jit(f)(2.0), library.jacfwd(f)(2.0), library.vmap(f)(jnp.ones(2)), f(2.0)]

    both(program)


def line_of(text):
    """The number of the line of this file that has the text in a comment."""
    with open(__file__, encoding="utf-8") as file:
        return next(n for n, line in enumerate(file, 1) if f"# {text}" in line)


def bad_step(x):
    y = jnp.sin(x)
    y = jnp.log(y - 2)  # the culprit
    return y + 1


NANS = {
    "eager": lambda: bad_step(0.0),
    "jit": lambda: minijax.jit(bad_step)(0.0),
    "jit in jit": lambda: minijax.jit(lambda x: minijax.jit(bad_step)(x) * 2)(0.0),
    "jit in jit, again": lambda: minijax.jit(minijax.jit(bad_step))(0.0),
    "scan": lambda: lax.scan(lambda c, x: (bad_step(c), x), 0.0, X),
    "while": lambda: minijax.jit(
        lambda x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, bad_step(c[1])), (0, x))
    )(0.0),
    "cond": lambda: minijax.jit(lambda x: lax.cond(x < 1, bad_step, lambda x: x, x))(0.0),
    "vmap": lambda: minijax.vmap(bad_step)(jnp.asarray(X)),
    "grad": lambda: minijax.grad(bad_step)(0.0),
    "checkpoint": lambda: minijax.jit(minijax.checkpoint(bad_step))(0.0),
    "method": lambda: minijax.jit(lambda: jnp.asarray([0.0]).sum() + bad_step(0.0))(),
    "donated": lambda: minijax.jit(bad_step, donate_argnums=0)(jnp.asarray(0.0)),
}


@pytest.mark.parametrize("program", NANS.values(), ids=NANS)
def test_the_step_that_computed_no_number_is_named(program):
    program()  # as usual
    with minijax.debug_nans(True), pytest.raises(FloatingPointError) as info:
        program()
    where = f"test_checks.py:{line_of('the culprit')}"
    assert re.search(rf"invalid value \(nan\) encountered in log at .*{where} ", str(info.value))
    assert "y = jnp.log(y - 2)" in str(info.value)


def test_what_no_example_takes_is_no_invalid_number():
    mapped = minijax.vmap(lambda c, x: lax.cond(c, jnp.log, lambda x: x, x))
    c, x = jnp.array([True, False]), jnp.array([1.0, -1.0])
    with minijax.debug_nans(True):
        for of_all in (mapped, minijax.jit(mapped)):
            assert of_all(c, x).tolist() == [0, -1]
            with pytest.raises(FloatingPointError, match="in log at"):
                of_all(c, -x)
        assert minijax.vmap(mapped)(c[None], x[None]).tolist() == [[0, -1]]


def test_infinite_numbers_are_found_where_they_are_asked_for():
    def f(x):
        return 1 / jnp.sum(x) + 1

    jitted = minijax.jit(f)
    assert np.isinf(jitted(0.0))
    with minijax.debug_nans(True):
        assert np.isinf(jitted(0.0))
    with minijax.debug_infs(True):
        assert np.isnan(jnp.log(-1.0))
        assert jitted(1.0) == 2.0
        for function in (f, jitted):
            with pytest.raises(FloatingPointError, match=r"invalid value \(inf\) .* in div"):
                function(0.0)
    config.update("debug_nans", True)
    try:
        with pytest.raises(FloatingPointError):
            minijax.jit(lambda x: jnp.sqrt(x))(-1.0)
    finally:
        config.update("debug_nans", False)


def test_numbers_of_all_kinds_can_be_looked_at():
    with minijax.debug_nans(True), minijax.debug_infs(True):
        values = [
            jnp.arange(3),
            jnp.ones(2, "bfloat16"),
            jnp.ones((), "complex64"),
            jnp.ones(1) > 0,
        ]
        for x in values:
            assert minijax.jit(lambda x: x + x)(x).shape == x.shape
        minijax.random.normal(minijax.random.key(0), (3,))
        minijax.grad(lambda x: jnp.sum(minijax.nn.softmax(x) ** 2))(jnp.arange(3.0))


kept = []


def leaky(x):
    kept.append(x)
    return x * 2


LEAKS = {
    "jit": lambda f: minijax.jit(f)(1.0),
    "jit in jit": lambda f: minijax.jit(lambda x: minijax.jit(f)(x))(1.0),
    "grad": lambda f: minijax.grad(f)(1.0),
    "vmap": lambda f: minijax.vmap(f)(X),
    "scan": lambda f: lax.scan(lambda c, x: (f(c), x), 1.0, X),
    "cond": lambda f: minijax.jit(lambda x: lax.cond(x > 0, f, lambda x: x, x))(1.0),
    "make_jaxpr": lambda f: minijax.make_jaxpr(f)(1.0),
}


@pytest.mark.parametrize("name", one_in(3, LEAKS))
def test_tracers_that_outlive_their_call_are_found(name):
    program = LEAKS[name]
    try:
        program(leaky)  # as usual
        kept.clear()
        minijax.clear_caches()  # it is where functions are traced that tracers leak
        with minijax.checking_leaks():
            program(lambda x: x * 2)
            with pytest.raises(
                minijax.errors.UnexpectedTracerError, match="kept in a list"
            ) as info:
                program(leaky)
        assert "leaked tracers" in str(info.value)
        assert "test_checks.py" in str(info.value)
    finally:
        kept.clear()


def test_looking_for_leaks_by_the_name_of_the_setting():
    def leaks():
        minijax.clear_caches()
        try:
            minijax.jit(leaky)(1.0)
        except minijax.errors.UnexpectedTracerError:
            return True
        finally:
            kept.clear()
        return False

    assert not leaks()
    with minijax.check_tracer_leaks():
        assert leaks()
        with minijax.check_tracer_leaks(False):
            assert not leaks()
    assert not leaks()


def test_what_is_compiled_is_logged(caplog):
    def f(x):
        return x + 1

    with minijax.log_compiles(), caplog.at_level(logging.WARNING):
        g = minijax.jit(f)
        g(X)
        g(X)
    messages = [record.getMessage() for record in caplog.records]
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        caplog.clear()
        jax.jit(f)(X)
    ours, theirs = (
        [
            re.sub(r"[\d.]+ sec", "_ sec", message)
            for message in found
            if message.startswith("Finished")
        ]
        for found in (messages, [record.getMessage() for record in caplog.records])
    )
    assert ours == theirs
    assert len(ours) == 3
    caplog.clear()
    minijax.jit(lambda x: x + 2)(X)
    assert not caplog.records


def test_caches_can_be_cleared():
    traced = []

    def f(x):
        traced.append(1)
        return lax.fori_loop(0, 3, lambda i, c: c * 2, x)

    jitted, donating = minijax.jit(f), minijax.jit(f, donate_argnums=0)
    for _ in range(2):
        for _ in range(2):
            np.testing.assert_array_equal(jitted(X), X * 8)
            np.testing.assert_array_equal(donating(X), X * 8)
            np.testing.assert_array_equal(f(jnp.asarray(X)), X * 8)
        minijax.clear_caches()
        assert jitted._cache_size() == 0
        np.testing.assert_array_equal(jnp.sin(X), np.sin(X))
    assert len(traced) == 2 * (1 + 2)  # both jitted functions share what is traced


def names_in_hlo(library, function, *args):
    text = library.jit(function).lower(*args).compile().as_text()
    return set(re.findall(r'op_name="([^"]*)"', text))


def test_names_of_scopes_are_in_the_metadata_of_the_compiled_program():
    def scoped(library):
        @library.named_scope("decorated")
        def decorated(x):
            return library.numpy.tan(x)

        @library.jit
        def inner(x):
            with library.named_scope("within"):
                return library.numpy.exp(x)

        def f(x):
            with library.named_scope("outer"):
                x = library.numpy.sin(x)
                with library.named_scope("inner"):
                    x = library.numpy.cos(x)
                x = inner(x)
            x = library.named_call(library.numpy.tanh, name="called")(x)
            return decorated(inner(x))

        return f

    for library in LIBRARIES:
        names = names_in_hlo(library, scoped(library), X)
        for path in (
            "outer/sin",
            "outer/inner/cos",
            r"outer/jit(\(inner\))?/within/exp",
            "called/(jit.tanh./)?tanh",
            r"^(jit\(f\)/jit\(inner\)/)?within/exp",
            "decorated/(jit.tan./)?tan",
        ):
            assert any(re.search(f"{path}$", name) for name in names), (path, names)
    gradient = minijax.grad(lambda x: jnp.sum(scoped(minijax)(x)))
    assert {"outer/inner/cos", "decorated/tan"} <= names_in_hlo(minijax, gradient, X)
    program = str(minijax.make_jaxpr(scoped(minijax))(X))
    assert program == str(minijax.make_jaxpr(scoped(minijax))(X))
    assert "outer" not in program  # a scope is no step of the program
    lowered = minijax.jit(scoped(minijax)).lower(X)
    assert "outer" not in lowered.as_text()
    assert 'loc("outer/inner/cos"(' in lowered.as_text(debug_info=True)


def test_a_name_may_hold_any_character():
    def f(x):
        with minijax.named_scope('a "b" \\ \n(c)'):
            return jnp.sin(x)

    np.testing.assert_allclose(minijax.jit(f)(X), np.sin(X))
    assert "loc(" not in minijax.jit(f).lower(X).as_text()
    with pytest.raises(TypeError, match="named_scope: name must be a string, found 3"):
        minijax.named_scope(3).__enter__()


def test_the_environment_can_be_printed(capsys):
    assert minijax.print_environment_info() is None
    printed = capsys.readouterr().out
    assert printed == minijax.print_environment_info(return_string=True) + "\n"
    for version in (np.__version__, sys.version, "cpu:0"):
        assert version in printed


def test_precision_of_products_is_a_setting():
    with minijax.default_matmul_precision("highest"):
        assert "HIGHEST" in minijax.jit(jnp.dot).lower(X, X).as_text()
    assert "HIGHEST" not in minijax.jit(jnp.dot).lower(X, X).as_text()
