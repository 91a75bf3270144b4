"""Recordings: what they say of a program, and that they leave the program alone."""

import asyncio
import html
import json
import re
import threading
from functools import partial

import pytest

from glassjax_stage1 import (
    Interpreter,
    add,
    build_jaxpr,
    derivative,
    jvp,
    mul,
    nth_order_derivative,
    set_interpreter,
)
from glassjax_watch import record


def foo(x):
    return mul(x, add(x, 3.0))


def slope(x):
    return derivative(foo, x)


def recorded(f, *args, **options):
    with record(**options) as recording:
        f(*args)
    return recording


def names(step):
    return [level.name for level in step.stack]


def test_evaluation_is_one_step_for_each_operation():
    recording = recorded(foo, 2.0)
    assert [str(step) for step in recording.steps] == ["add(2.0, 3.0)", "mul(2.0, 5.0)"]
    assert [step.outcome for step in recording.steps] == ["5.0", "10.0"]
    assert [names(step) for step in recording.steps] == [["evaluation"]] * 2


def test_a_rule_applies_operations_of_its_own():
    recording = recorded(slope, 2.0)
    assert str(recording).splitlines()[1:] == [
        "   1  jvp of `foo`  add(DualNumber(2.0, 1.0), 3.0)",
        "   2  evaluation      add(2.0, 3.0) = 5.0",
        "   3  evaluation      add(1.0, 0.0) = 1.0",
        "                    = DualNumber(5.0, 1.0)",
        "   4  jvp of `foo`  mul(DualNumber(2.0, 1.0), DualNumber(5.0, 1.0))",
        "   5  evaluation      mul(2.0, 5.0) = 10.0",
        "   6  evaluation      mul(1.0, 5.0) = 5.0",
        "   7  evaluation      mul(2.0, 1.0) = 2.0",
        "   8  evaluation      add(5.0, 2.0) = 7.0",
        "                    = DualNumber(10.0, 7.0)",
    ]


def test_a_step_has_the_line_of_the_user():
    for step in recorded(slope, 2.0).steps:
        assert step.line == "return mul(x, add(x, 3.0))"
        assert re.fullmatch(r"test_stage1\.py:\d+", step.place)
    assert str(recorded(slope, 2.0)).startswith("test_stage1.py:")


def test_the_stack_has_those_that_wait_above_the_one_that_handles_the_operation():
    steps = recorded(partial(derivative, slope), 2.0).steps
    for step in steps:
        assert names(step) == ["evaluation", "jvp of `slope`", "jvp of `foo`"]
        assert [level.color for level in step.stack] == [0, 1, 2]
        assert step.depth == 2 - step.level
    assert {step.level for step in steps} == {0, 1, 2}


def test_a_boxed_value_has_the_color_of_the_interpreter_that_boxed_it():
    x, three = recorded(partial(derivative, slope), 2.0).steps[0].args
    (_, primal), (_, tangent) = x.parts
    assert (x.kind, x.color, primal.color, tangent.color) == ("DualNumber", 2, 1, None)
    assert (str(three), three.color) == ("3.0", None)


def test_the_rule_is_the_case_of_the_operation():
    steps = recorded(slope, 2.0).steps
    assert steps[0].rule.name == "JVPInterpreter.interpret_op"
    assert steps[0].rule.text.splitlines()[0] == "case Op.add:"
    assert steps[3].rule.text.splitlines()[0] == "case Op.mul:"
    assert "tangent, y.primal" in steps[3].rule.text
    assert steps[1].rule.text == "case Op.add:\n    return x + y"


def test_an_interpreter_without_cases_shows_all_of_its_method():
    (first, *_) = recorded(build_jaxpr, foo, 1).steps
    assert first.rule.name == "StagingInterpreter.interpret_op"
    assert "self.equations.append(" in first.rule.text


@pytest.mark.parametrize("f", [foo, slope, lambda x: derivative(slope, x)])
def test_staged_values_have_the_names_of_the_printed_program(f):
    with record() as recording:
        jaxpr = build_jaxpr(f, 1)
    staged = [step for step in recording.steps if step.interpreter.startswith("staging")]
    printed = [f"  {step.outcome} = Op.{step}" for step in staged]
    assert printed == str(jaxpr).splitlines()[1:-1]


def test_an_interpreter_of_ones_own_is_recorded():
    class Spelling(Interpreter):
        transformation = "spelling"

        def interpret_op(self, op, args):
            return f"{op.name}({', '.join(map(str, args))})"

    with record() as recording, set_interpreter(Spelling()):
        foo("x")
    assert [step.interpreter for step in recording.steps] == ["spelling"] * 2
    assert recording.steps[1].outcome == "'mul(x, add(x, 3.0))'"
    assert 'return f"{op.name}' in recording.steps[0].rule.text


def test_an_interpreter_that_leaves_an_operation_to_its_parent_applied_no_rule():
    class Idle(Interpreter):
        def interpret_op(self, op, args):
            with set_interpreter(self.parent):
                return add(*args)

    with record() as recording, Idle().run():
        add(1.0, 2.0)
    assert [step.rule is None for step in recording.steps] == [True, False]
    assert recording.steps[0].interpreter == "Idle"


def test_a_line_that_is_in_no_file_has_only_a_number():
    namespace = {"add": add}
    exec(compile("def f(x):\n    return add(x, x)", "<input>", "exec"), namespace)
    (step,) = recorded(namespace["f"], 1.0).steps
    assert (step.place, step.line) == ("line 2", "")


# The program is left alone.


@pytest.mark.parametrize(
    "call",
    [lambda: foo(2.0), lambda: slope(2.0), lambda: str(build_jaxpr(slope, 1))],
    ids=["evaluate", "differentiate", "stage"],
)
def test_a_recorded_program_returns_the_same(call):
    with record():
        result = call()
    assert result == call()


def test_outside_of_recordings_nothing_differs():
    before = dict(vars(Interpreter))
    with record(), record():
        assert dict(vars(Interpreter)) != before
        slope(2.0)
    assert dict(vars(Interpreter)) == before
    assert Interpreter.__getattribute__ is object.__getattribute__


def test_an_exception_is_recorded_and_passes():
    with pytest.raises(TypeError, match="expected a float"), record() as recording:
        jvp(lambda x: mul(x, "three"), 1.0, 1.0)
    outer, inner = recording.steps
    assert outer.error == inner.error
    assert outer.error.startswith("TypeError: argument 1 of mul: expected a float or an int")
    assert inner.error in str(recording)
    assert Interpreter.__getattribute__ is object.__getattribute__
    assert slope(2.0) == 7.0


def test_a_recording_ends_after_its_number_of_steps_and_says_so():
    recording = recorded(nth_order_derivative, 3, foo, 2.0, max_steps=5)
    assert len(recording.steps) == 5
    everything = recorded(nth_order_derivative, 3, foo, 2.0)
    assert recording.left_out == len(everything.steps) - 5
    assert f"and {recording.left_out} more: " in str(recording)
    assert data_of(recording)["left_out"] == recording.left_out


def test_the_number_of_steps_has_to_be_an_int():
    with pytest.raises(TypeError, match="record: max_steps must be an int, found 'all'"):
        record("all").__enter__()


def test_nothing_recorded_says_so():
    assert str(recorded(lambda: None)) == "no steps"


def test_recordings_nest():
    with record() as outer:
        foo(1.0)
        with record() as inner:
            foo(2.0)
        foo(3.0)
    assert len(outer.steps) == 6
    assert [str(step) for step in inner.steps] == [str(step) for step in outer.steps[2:4]]


def test_a_recording_within_a_function_has_the_stack_that_it_runs_on():
    recordings = []

    def f(x):
        with record() as recording:
            y = add(x, 1.0)
        recordings.append(recording)
        return y

    derivative(f, 2.0)
    (recording,) = recordings
    assert names(recording.steps[0]) == ["evaluation", "jvp of `f`"]


def test_a_recording_is_of_its_own_thread():
    inside, done = threading.Event(), threading.Event()

    def work():
        inside.wait(10)
        slope(5.0)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    with record() as recording:
        foo(2.0)
        inside.set()
        done.wait(10)
    thread.join()
    assert [step.outcome for step in recording.steps] == ["5.0", "10.0"]


def test_tasks_that_alternate_have_their_own_depth():
    async def part(x):
        y = add(x, 1.0)
        await asyncio.sleep(0)
        return mul(x, y)

    async def both():
        await asyncio.gather(part(1.0), part(2.0))

    recording = recorded(lambda: asyncio.run(both()))
    assert [step.primitive for step in recording.steps] == ["add", "add", "mul", "mul"]
    assert {step.depth for step in recording.steps} == {0}


def test_a_task_that_outlives_a_recording_is_not_recorded():
    async def main():
        async def late():
            return foo(2.0)

        with record() as recording:
            task = asyncio.ensure_future(late())
        with record():
            assert await task == 10.0
        return recording

    assert asyncio.run(main()).steps == []


def test_a_value_that_cannot_be_shown_is_shown_by_its_class():
    class Shy(Interpreter):
        def interpret_op(self, op, args):
            return 1.0

    class Broken:
        def __repr__(self):
            raise ValueError

    with record() as recording, set_interpreter(Shy()):
        add(Broken(), 2.0)
    assert str(recording.steps[0]) == "add(<Broken>, 2.0)"


# Pages.


def data_of(recording):
    (data,) = re.findall(r"data-recorded='([^']*)'", recording.to_html())
    return json.loads(html.unescape(data))


def test_a_stepper_has_all_that_was_recorded():
    recording = recorded(partial(derivative, slope), 2.0)
    data = data_of(recording)
    assert len(data["steps"]) == len(recording.steps)
    for drawn, step in zip(data["steps"], recording.steps, strict=True):
        assert drawn["primitive"] == step.primitive
        assert drawn["depth"] == step.depth
        assert data["rules"][drawn["rule"]] == list(step.rule)
        assert data["lines"][drawn["line"]] == [step.place, step.line]
        assert data["stacks"][drawn["stack"]] == [list(level) for level in step.stack]
    assert data["steps"][0]["args"][1] == "3.0"
    box = ["DualNumber", 1, [["primal", "2.0"], ["tangent", "1.0"]]]
    assert data["steps"][0]["args"][0] == ["DualNumber", 2, [["primal", box], ["tangent", "1.0"]]]


def test_a_stepper_makes_no_request_and_can_be_read_without_scripts():
    text = recorded(slope, 2.0).to_html()
    assert not re.search(r"https?:|src=|@import|url\(|fetch\(", text)
    (fallback,) = re.findall("<pre>(.*?)</pre></glassjax-stepper>", text, re.DOTALL)
    assert html.unescape(fallback) == str(recorded(slope, 2.0))


def test_text_of_the_user_cannot_end_the_stepper():
    class Spelling(Interpreter):
        def interpret_op(self, op, args):
            return "'</glassjax-stepper><script>alert(1)</script>&amp;"

    with record() as recording, set_interpreter(Spelling()):
        add("'><b>", 1.0)
    assert data_of(recording)["steps"][0]["args"][0] == repr("'><b>")
    assert "alert(1)</script>" in data_of(recording)["steps"][0]["results"][0]
    assert recording.to_html().count("</glassjax-stepper>") == 1
    assert "<b>" not in recording.to_html()


def test_a_page_is_written(tmp_path):
    recording = recorded(slope, 2.0)
    recording.save(tmp_path / "recording.html")
    page = (tmp_path / "recording.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert recording.to_html() in page
    assert recording._repr_html_() == recording.to_html()
