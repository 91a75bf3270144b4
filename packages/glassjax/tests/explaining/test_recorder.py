"""Recordings of the library's transformations."""

import pytest

import glassjax
import glassjax.numpy as jnp
from glassjax import core, grad, jit, lax, record


def test_evaluation_is_by_xla():
    x = jnp.ones(2)
    with record() as recording:
        jnp.sin(x)
    (step,) = recording.steps
    assert (step.interpreter, step.rule.name) == ("evaluation of `XLA`", "lowering_rules[sin_p]")


with_donation_or_not = pytest.mark.parametrize("options", [{}, {"donate_argnums": 0}])


@with_donation_or_not
def test_a_jitted_function_is_one_operation_each_time(options):
    f = jit(lambda x: jnp.sin(x) * 2.0, **options)
    expected = f(3.0)
    for _ in range(2):
        with record() as recording:
            result = f(3.0)
        assert result == expected
        (step,) = recording.steps
        assert (step.primitive, step.interpreter) == ("jit", "evaluation of `XLA`")
    assert f(3.0) == expected


def test_operators_of_arrays_are_recorded():
    x = jnp.arange(3.0)
    x + x
    with record() as recording:
        y = x + x
    (step,) = recording.steps
    assert str(step) == "add([0. 1. 2.], [0. 1. 2.])"
    assert step.outcome == "[0. 2. 4.]"
    assert y.tolist() == [0.0, 2.0, 4.0]


@with_donation_or_not
def test_the_calls_of_jitted_functions_are_as_they_were(options):
    cls = type(jit(jnp.sin, **options))
    before = dict(vars(cls))
    with record():
        assert dict(vars(cls)) != before
    assert dict(vars(cls)) == before


def test_a_tracer_is_shown_by_its_parts():
    with record() as recording:
        glassjax.jvp(jnp.sin, (2.0,), (1.0,))
    (step, *_) = recording.steps
    assert str(step) == "sin(JVPTracer(2., 1.))"


def test_a_rule_is_part_of_the_declaration_of_its_primitive():
    with record() as recording:
        grad(jnp.tanh)(1.0)
    assert recording.steps[0].rule.text.startswith("tanh = elementary(")
    assert recording.steps[0].line == "grad(jnp.tanh)(1.0)"


def test_a_transformation_of_ones_own_has_its_rules():
    class Magnitude(core.Trace):
        transformation = "magnitude"
        rules = core.Rules("magnitude", "Magnitude.rules")

        def parts_of_constant(self, x):
            return (jnp.abs(x),)

    Magnitude.rules[lax.mul_p] = lambda x, y: [(x[0] * y[0],)]
    with record() as recording:
        core.transformation(Magnitude)(lambda x: lax.mul(-2.0, x), (3.0,))
    (step, *_) = [each for each in recording.steps if each.interpreter.startswith("magnitude")]
    assert step.rule.name == "Magnitude.rules[mul_p]"
    assert step.rule.text.endswith("lambda x, y: [(x[0] * y[0],)]")


def test_keys_and_what_else_has_no_numbers_is_shown_by_its_type():
    key = glassjax.random.key(0)
    with record() as recording:
        glassjax.random.normal(key, (3,))
    assert recording.steps
    assert "<Array>" not in str(recording)
