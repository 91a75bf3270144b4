"""Recordings of staging, and of evaluation on the device."""

import numpy as np
import pytest

from glassjax_stage2 import sin, vmap
from glassjax_stage3 import array, jit, make_jaxpr
from glassjax_watch import record


@pytest.mark.parametrize("f", [sin, lambda x: sin(x) * x + 2.0, vmap(lambda x: x * 2.0)])
def test_staged_values_have_the_names_of_the_printed_program(f):
    with record() as recording:
        closed = make_jaxpr(f)(np.ones(3, np.float32))
    staged = [step for step in recording.steps if step.interpreter.startswith("make_jaxpr")]
    assert len(staged) == len(closed.eqns)
    for step in staged:
        assert f"{step.outcome} = {step.primitive}" in str(closed)
        for x in step.args:
            assert str(x).partition(":")[0] in str(closed)


def test_the_arguments_of_a_program_have_the_first_names():
    with record() as recording:
        make_jaxpr(lambda x, y: sin(y) * x)(1.0, 2.0)
    assert str(recording.steps[0]) == "sin(b:f64[])"


def test_staging_applies_the_rule_for_types():
    with record() as recording:
        make_jaxpr(sin)(1.0)
    assert recording.steps[0].rule.name == "abstract_eval_rules[sin_p]"


def test_arrays_are_evaluated_by_what_their_lowering_rule_writes():
    x = array([1.0, 2.0])
    with record() as recording:
        sin(x)
        sin(np.array([1.0, 2.0]))
    assert [step.rule.name for step in recording.steps] == [
        "lowering_rules[sin_p]",
        "impl_rules[sin_p]",
    ]
    assert [str(step) for step in recording.steps] == ["sin([1. 2.])"] * 2


def test_a_jitted_function_is_an_operation():
    x = np.arange(3.0)
    with record() as recording:
        vmap(jit(sin))(x)
    step = recording.steps[0]
    assert (step.primitive, step.interpreter) == ("sin", "jit of `sin`")
    (step,) = [
        step for step in recording.steps if step.interpreter == "vmap of `sin`" and not step.depth
    ]
    assert step.primitive == "jit"
    assert step.params["name"] == "'sin'"
