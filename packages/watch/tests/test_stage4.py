"""Recordings of reverse mode, by both roads."""

from glassjax_stage2 import sin
from glassjax_stage3 import jit
from glassjax_stage4 import grad, tape
from glassjax_watch import record


def f(x):
    return sin(x) * 2.0


def test_partial_evaluation_computes_the_known_and_stages_the_rest():
    with record() as recording:
        grad(f)(1.0)
    sin_of_pair, sin_of_primal, *_ = recording.steps
    names = [level.name for level in sin_of_pair.stack]
    assert names == ["evaluation of `numpy`", "partial evaluation of `f`", "jvp of `f`"]
    assert str(sin_of_pair.args[0]) == "JVPTracer(1.0, a:f64[])"
    assert (sin_of_primal.rule, sin_of_primal.interpreter) == (None, "partial evaluation of `f`")
    staged = [step for step in recording.steps if step.interpreter == names[1] and step.rule]
    assert [str(step) for step in staged] == [
        "mul(a:f64[], 0.5403023058681398)",
        "mul(b:f64[], 2.0)",
    ]


def test_a_tape_boxes_a_value_with_its_node():
    with record() as recording:
        tape.grad(f)(1.0)
    (step, *_) = recording.steps
    assert str(step) == "sin(TapeTracer(1.0, 0))"
    assert step.rule.name == "vjp_rules[sin_p]"
    assert "sin_p" in step.rule.text


def test_partial_evaluation_cuts_a_jitted_function_by_a_rule_of_its_own():
    with record() as recording:
        grad(jit(sin))(0.5)
    (step,) = (
        step
        for step in recording.steps
        if step.interpreter == "partial evaluation of `sin`" and step.primitive == "jit"
    )
    assert step.rule.name == "partial_eval_rules[jit_p]"
    assert "split_jaxpr" in step.rule.text
