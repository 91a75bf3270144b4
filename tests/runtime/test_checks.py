"""NaN checks and leak checks, beside JAX."""

import re

import numpy as np
import pytest
from shares import one_in

import glassjax
from glassjax import config, lax
from glassjax import numpy as jnp

X = np.linspace(-1.0, 1.0, 3)


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
    "jit": lambda: glassjax.jit(bad_step)(0.0),
    "jit in jit": lambda: glassjax.jit(lambda x: glassjax.jit(bad_step)(x) * 2)(0.0),
    "jit in jit, again": lambda: glassjax.jit(glassjax.jit(bad_step))(0.0),
    "scan": lambda: lax.scan(lambda c, x: (bad_step(c), x), 0.0, X),
    "while": lambda: glassjax.jit(
        lambda x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, bad_step(c[1])), (0, x))
    )(0.0),
    "cond": lambda: glassjax.jit(lambda x: lax.cond(x < 1, bad_step, lambda x: x, x))(0.0),
    "vmap": lambda: glassjax.vmap(bad_step)(jnp.asarray(X)),
    "grad": lambda: glassjax.grad(bad_step)(0.0),
    "checkpoint": lambda: glassjax.jit(glassjax.checkpoint(bad_step))(0.0),
    "method": lambda: glassjax.jit(lambda: jnp.asarray([0.0]).sum() + bad_step(0.0))(),
    "donated": lambda: glassjax.jit(bad_step, donate_argnums=0)(jnp.asarray(0.0)),
}


@pytest.mark.parametrize("program", NANS.values(), ids=NANS)
def test_the_step_that_computed_no_number_is_named(program):
    program()  # as usual
    with glassjax.debug_nans(True), pytest.raises(FloatingPointError) as info:
        program()
    where = f"test_checks.py:{line_of('the culprit')}"
    assert re.search(rf"invalid value \(nan\) encountered in log at .*{where} ", str(info.value))
    assert "y = jnp.log(y - 2)" in str(info.value)


def root(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0)  # the derivative


def bad_primal(x):
    return jnp.log(x - 1) * x  # the primal


IN_DERIVATIVES = {
    "eager": lambda f: glassjax.grad(f)(0.0),
    "jvp": lambda f: glassjax.jvp(f, (0.0,), (0.0,)),
    "jit of grad": lambda f: glassjax.jit(glassjax.grad(f))(0.0),
    "grad of jit": lambda f: glassjax.grad(glassjax.jit(f))(0.0),
    "jit of grad of jit": lambda f: glassjax.jit(glassjax.grad(glassjax.jit(f)))(0.0),
    "vmap": lambda f: glassjax.vmap(glassjax.grad(f))(jnp.zeros(2)),
    "jit of vmap": lambda f: glassjax.jit(glassjax.vmap(glassjax.grad(f)))(jnp.zeros(2)),
    "linearize": lambda f: glassjax.linearize(f, 0.0)[1](0.0),
    "checkpoint": lambda f: glassjax.jit(glassjax.grad(glassjax.checkpoint(f)))(0.0),
    "scan": lambda f: glassjax.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, length=2)[0])(
        0.0
    ),
    "while": lambda f: glassjax.grad(
        lambda x: lax.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + 1, f(c[1])), (0, x), max_steps=2
        )[1]
    )(0.0),
    "cond": lambda f: glassjax.grad(lambda x: lax.cond(x < 1, f, lambda x: x, x))(0.0),
    "hessian": lambda f: glassjax.hessian(f)(0.0),
    "named scope": lambda f: glassjax.jit(glassjax.named_call(glassjax.grad(f)))(0.0),
}


@pytest.mark.parametrize("program", IN_DERIVATIVES.values(), ids=IN_DERIVATIVES)
def test_the_derivative_that_is_no_number_is_named(program):
    program(root)  # as usual
    with glassjax.debug_nans(True), pytest.raises(FloatingPointError) as info:
        program(root)
    where = f"test_checks.py:{line_of('the derivative')}"
    said = rf"encountered in (div|mul), in the derivative of sqrt, at .*{where} "
    assert re.search(said, str(info.value))
    with glassjax.debug_nans(True), pytest.raises(FloatingPointError) as info:
        program(bad_primal)
    where = f"test_checks.py:{line_of('the primal')}"
    assert re.search(rf"encountered in log at .*{where} ", str(info.value))


def test_an_operation_is_not_taken_for_its_derivative():
    """The rule of a product computes it, and multiplies tangents as well."""
    with glassjax.debug_nans(True):
        for product in (lambda x: x * 0.0, glassjax.jit(lambda x: x * 0.0)):
            with pytest.raises(FloatingPointError, match="encountered in mul at"):
                glassjax.value_and_grad(product)(np.inf)
            with pytest.raises(FloatingPointError, match="in mul, in the derivative of mul, at"):
                glassjax.jvp(product, (1.0,), (np.inf,))


def test_what_no_example_takes_is_no_invalid_number():
    mapped = glassjax.vmap(lambda c, x: lax.cond(c, jnp.log, lambda x: x, x))
    c, x = jnp.array([True, False]), jnp.array([1.0, -1.0])
    with glassjax.debug_nans(True):
        for of_all in (mapped, glassjax.jit(mapped)):
            assert of_all(c, x).tolist() == [0, -1]
            with pytest.raises(FloatingPointError, match="in log at"):
                of_all(c, -x)
        assert glassjax.vmap(mapped)(c[None], x[None]).tolist() == [[0, -1]]


def test_infinite_numbers_are_found_where_they_are_asked_for():
    def f(x):
        return 1 / jnp.sum(x) + 1

    jitted = glassjax.jit(f)
    assert np.isinf(jitted(0.0))
    with glassjax.debug_nans(True):
        assert np.isinf(jitted(0.0))
    with glassjax.debug_infs(True):
        assert np.isnan(jnp.log(-1.0))
        assert jitted(1.0) == 2.0
        for function in (f, jitted):
            with pytest.raises(FloatingPointError, match=r"invalid value \(inf\) .* in div"):
                function(0.0)
    config.update("debug_nans", True)
    try:
        with pytest.raises(FloatingPointError):
            glassjax.jit(lambda x: jnp.sqrt(x))(-1.0)
    finally:
        config.update("debug_nans", False)


def test_numbers_of_all_kinds_can_be_looked_at():
    with glassjax.debug_nans(True), glassjax.debug_infs(True):
        values = [
            jnp.arange(3),
            jnp.ones(2, "bfloat16"),
            jnp.ones((), "complex64"),
            jnp.ones(1) > 0,
        ]
        for x in values:
            assert glassjax.jit(lambda x: x + x)(x).shape == x.shape
        glassjax.random.normal(glassjax.random.key(0), (3,))
        glassjax.grad(lambda x: jnp.sum(glassjax.nn.softmax(x) ** 2))(jnp.arange(3.0))


kept = []


def leaky(x):
    kept.append(x)
    return x * 2


LEAKS = {
    "jit": lambda f: glassjax.jit(f)(1.0),
    "jit in jit": lambda f: glassjax.jit(lambda x: glassjax.jit(f)(x))(1.0),
    "grad": lambda f: glassjax.grad(f)(1.0),
    "vmap": lambda f: glassjax.vmap(f)(X),
    "scan": lambda f: lax.scan(lambda c, x: (f(c), x), 1.0, X),
    "cond": lambda f: glassjax.jit(lambda x: lax.cond(x > 0, f, lambda x: x, x))(1.0),
    "make_jaxpr": lambda f: glassjax.make_jaxpr(f)(1.0),
}


@pytest.mark.parametrize("name", one_in(3, LEAKS))
def test_tracers_that_outlive_their_call_are_found(name):
    program = LEAKS[name]
    try:
        program(leaky)  # as usual
        kept.clear()
        glassjax.clear_caches()  # it is where functions are traced that tracers leak
        with glassjax.checking_leaks():
            program(lambda x: x * 2)
            with pytest.raises(
                glassjax.errors.UnexpectedTracerError, match="kept in a list"
            ) as info:
                program(leaky)
        assert "leaked tracers" in str(info.value)
        assert "test_checks.py" in str(info.value)
    finally:
        kept.clear()


def test_looking_for_leaks_by_the_name_of_the_setting():
    def leaks():
        glassjax.clear_caches()
        try:
            glassjax.jit(leaky)(1.0)
        except glassjax.errors.UnexpectedTracerError:
            return True
        finally:
            kept.clear()
        return False

    assert not leaks()
    with glassjax.check_tracer_leaks():
        assert leaks()
        with glassjax.check_tracer_leaks(False):
            assert not leaks()
    assert not leaks()
