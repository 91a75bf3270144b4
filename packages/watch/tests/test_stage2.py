"""Recordings of traces: their rules, their values, their stack."""

import re

import numpy as np
import pytest

from glassjax_stage2 import (
    Primitive,
    deriv,
    impl_rules,
    jvp,
    jvp_rules,
    mul,
    primitives,
    reduce_sum,
    sin,
    vmap,
    vmap_rules,
)
from glassjax_watch import record
from glassjax_watch.stage2 import statement_of

PRIMITIVES = [x for x in vars(primitives).values() if isinstance(x, Primitive)]


def recorded(f, *args):
    with record() as recording:
        f(*args)
    return recording


def test_a_rule_is_the_statement_that_declares_it():
    outer, *inner = recorded(deriv(sin), 1.0).steps
    assert outer.rule.name == "jvp_rules[sin_p]"
    assert outer.rule.text == "defjvp(p.sin_p, lambda t, out, x: mul(t, cos(x)))"
    assert inner[0].rule.name == "impl_rules[sin_p]"
    assert inner[0].rule.text == "impl_rules[sin_p] = _by(np.sin)"


@pytest.mark.parametrize("table", [impl_rules, jvp_rules, vmap_rules], ids=lambda x: x.table)
@pytest.mark.parametrize("primitive", PRIMITIVES, ids=str)
def test_every_rule_has_a_text(table, primitive):
    text = statement_of(table[primitive], str(primitive))
    assert re.search(rf"\b{primitive}_p\b|^def (\w+_jvp|\w+_vmap|_\w+)\(", text)


def test_evaluation_is_at_the_bottom():
    (step, *_) = recorded(vmap(deriv(sin)), np.arange(3.0)).steps
    names = [level.name for level in step.stack]
    assert names == ["evaluation of `numpy`", "vmap of `derivative`", "jvp of `sin`"]


def test_tracers_are_boxes_with_their_parts():
    x = np.array([1.0, 2.0])
    (step, *_) = recorded(lambda: jvp(lambda x: mul(x, 2.0), (x,), (x,))).steps
    assert str(step) == "mul(JVPTracer([1. 2.], [1. 2.]), 2.0)"
    (step, *_) = recorded(vmap(sin), x).steps
    assert str(step) == "sin(BatchTracer([1. 2.], 0))"


def test_large_arrays_are_shown_by_their_types():
    (step,) = recorded(lambda: sin(np.ones((3, 4), np.float32))).steps
    assert str(step) == "sin(f32[3,4])"
    assert step.outcome == "f32[3,4]"


def test_parameters_are_shown_by_name():
    (step,) = recorded(lambda: reduce_sum(np.ones((2, 3)), 1)).steps
    assert step.params == {"axes": "(1,)"}
    assert str(step) == "reduce_sum([[1. 1. 1.] [1. 1. 1.]], axes=(1,))"


def test_a_trace_that_an_operation_does_not_concern_applies_no_rule():
    steps = recorded(vmap(lambda x: mul(2.0, 3.0) * x), np.arange(2.0)).steps
    assert [step.rule is None for step in steps[:3]] == [True, False, False]


def test_a_program_of_stage_1_is_recorded_as_that_stage_and_this_one_see_it():
    from glassjax_stage1 import derivative, mul

    with record() as recording:
        assert derivative(lambda x: mul(x, x), 3.0) == 6.0
        assert deriv(lambda x: mul(x, x))(3.0) == 6.0
    first = recording.steps[0]
    assert (first.interpreter, first.args[0].kind) == ("jvp of `<lambda>`", "DualNumber")
    of_stage_2 = [step for step in recording.steps if step.depth == 0][1:]
    assert [step.primitive for step in of_stage_2] == ["mul"]
    assert of_stage_2[0].args[0].kind == "JVPTracer"


def test_the_line_is_that_of_the_user():
    for step in recorded(vmap(deriv(lambda x: sin(x) * 2.0)), np.arange(2.0)).steps:
        assert step.place.startswith("test_stage2.py:")
        assert "sin(x) * 2.0" in step.line
