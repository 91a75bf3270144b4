"""A program as data: what it looks like, and what it computes."""

import copy
import pickle

import pytest

from glassjax_stage1 import (
    Equation,
    Interpreter,
    Jaxpr,
    Op,
    UnexpectedTracerError,
    Var,
    build_jaxpr,
    current_interpreter,
    derivative,
    eval_jaxpr,
    jvp,
    set_interpreter,
)


def foo_jaxpr():
    """x -> x * (x + 3), written by hand."""
    x, y, z = Var(), Var(), Var()
    return Jaxpr((x,), (Equation(y, Op.add, (x, 3.0)), Equation(z, Op.mul, (x, y))), z)


FOO = """\
v_1 ->
  v_2 = Op.add(v_1, 3.0)
  v_3 = Op.mul(v_1, v_2)
v_3"""


def test_variables_have_identity_and_get_their_names_when_printed():
    assert Var() != Var()
    assert str(foo_jaxpr()) == str(foo_jaxpr()) == FOO
    assert foo_jaxpr() != foo_jaxpr()


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda jaxpr: pickle.loads(pickle.dumps(jaxpr))]
)
def test_a_copy_is_the_same_program_of_other_variables(duplicate):
    original = foo_jaxpr()
    copied = duplicate(original)
    assert str(copied) == FOO
    assert copied.return_val is copied.equations[-1].var
    assert copied.return_val is not original.return_val
    assert eval_jaxpr(copied, (2.0,)) == 10.0


def test_jaxprs_and_equations_do_not_change():
    jaxpr = foo_jaxpr()
    with pytest.raises(AttributeError):
        jaxpr.return_val = 1.0
    with pytest.raises(AttributeError):
        jaxpr.equations[0].op = Op.mul


x, y, z = Var(), Var(), Var()


@pytest.mark.parametrize(
    ("jaxpr", "text"),
    [
        (Jaxpr((), (), 4.0), " ->\n4.0"),
        (Jaxpr((x,), (), 4.0), "v_1 ->\n4.0"),  # autodidax2 cannot print a constant result
        (Jaxpr((x,), (), 4), "v_1 ->\n4"),
        (Jaxpr((x,), (), x), "v_1 ->\nv_1"),
        (Jaxpr((x, y), (), y), "v_1, v_2 ->\nv_2"),
        (
            Jaxpr((x, y), (Equation(z, Op.mul, (y, x)),), z),
            "v_1, v_2 ->\n  v_3 = Op.mul(v_2, v_1)\nv_3",
        ),
    ],
)
def test_printed_form(jaxpr, text):
    assert str(jaxpr) == text


@pytest.mark.parametrize(
    ("jaxpr", "args", "expected"),
    [
        (foo_jaxpr(), (2.0,), 10.0),
        (foo_jaxpr(), [2], 10.0),
        (Jaxpr((), (), 4.0), (), 4.0),
        (Jaxpr((x,), (), 4.0), (1.0,), 4.0),
        (Jaxpr((x, y), (), x), (1.0, 2.0), 1.0),
        (Jaxpr((x, y), (Equation(z, Op.mul, (y, x)),), z), (3, 4), 12),
    ],
)
def test_eval_jaxpr(jaxpr, args, expected):
    assert eval_jaxpr(jaxpr, args) == expected


def test_eval_jaxpr_runs_under_the_current_interpreter():
    class Counting(Interpreter):
        def __init__(self):
            super().__init__()
            self.counts = {Op.add: 0, Op.mul: 0}

        def interpret_op(self, op, args):
            self.counts[op] += 1
            with set_interpreter(self.parent):
                return current_interpreter().interpret_op(op, args)

    counting = Counting()
    with set_interpreter(counting):
        assert eval_jaxpr(foo_jaxpr(), (2.0,)) == 10.0
    assert counting.counts == {Op.add: 1, Op.mul: 1}
    assert jvp(lambda x: eval_jaxpr(foo_jaxpr(), (x,)), 2.0, 1.0) == (10.0, 7.0)


def test_a_long_program_needs_no_deep_stack():
    parameter = last = Var()
    equations = []
    for _ in range(20_000):
        equations.append(Equation(Var(), Op.add, (last, 1)))
        last = equations[-1].var
    long = Jaxpr((parameter,), tuple(equations), last)
    assert eval_jaxpr(long, (0,)) == 20_000
    assert str(long).count("\n") == 20_001


def test_a_constant_result_whose_interpreter_has_ended_is_an_error():
    kept = []

    def outer(x):
        kept.append(build_jaxpr(lambda y: x, 1))
        return x

    derivative(outer, 1.0)
    with pytest.raises(UnexpectedTracerError, match="has ended"):
        eval_jaxpr(kept[0], (2.0,))
