"""The verifier: a good jaxpr passes, and every way of spoiling it is caught."""

import numpy as np
import pytest

from glassjax_stage2 import ShapedArray, sin
from glassjax_stage2.primitives import add_p, convert_element_type_p, sin_p
from glassjax_stage3 import (
    Jaxpr,
    JaxprEqn,
    JaxprTypeError,
    Literal,
    Var,
    jit,
    jit_p,
    make_jaxpr,
    typecheck_jaxpr,
)

SCALAR, VECTOR = ShapedArray((), np.float64), ShapedArray((3,), np.float64)
INTEGERS = ShapedArray((3,), np.int64)


def new(aval=VECTOR):
    return Var(aval)


def sin_of(x, out):
    return JaxprEqn(sin_p, [x], [out], {})


def add_of(x, y, out):
    return JaxprEqn(add_p, [x, y], [out], {})


def unbound_operand():
    x, y = new(), new()
    return Jaxpr([], [x], [sin_of(new(), y)], [y])


def use_before_binding():
    x, y, z = new(), new(), new()
    return Jaxpr([], [x], [sin_of(y, z), sin_of(x, y)], [z])


def unbound_result():
    return Jaxpr([], [new()], [], [new()])


def parameter_twice():
    x = new()
    return Jaxpr([], [x, x], [], [x])


def constant_that_is_a_parameter():
    x = new()
    return Jaxpr([x], [x], [], [x])


def equation_binds_a_parameter():
    x = new()
    return Jaxpr([], [x], [sin_of(x, x)], [x])


def variable_bound_by_two_equations():
    x, y = new(), new()
    return Jaxpr([], [x], [sin_of(x, y), sin_of(x, y)], [y])


def variable_bound_twice_by_one_equation():
    inner = make_jaxpr(lambda x: (x, x))(VECTOR)
    x, y = new(), new()
    eqn = JaxprEqn(jit_p, [x], [y, y], {"jaxpr": inner, "name": "f"})
    return Jaxpr([], [x], [eqn], [y])


def wrong_shape_of_a_result():
    x, y = new(), new(SCALAR)
    return Jaxpr([], [x], [sin_of(x, y)], [y])


def wrong_dtype_of_a_result():
    x, y = new(), new(INTEGERS)
    return Jaxpr([], [x], [sin_of(x, y)], [y])


def wrong_weakness_of_a_result():
    x, y = new(SCALAR), new(ShapedArray((), np.float64, weak_type=True))
    return Jaxpr([], [x], [sin_of(x, y)], [y])


def too_many_results():
    x, y, z = new(), new(), new()
    return Jaxpr([], [x], [JaxprEqn(sin_p, [x], [y, z], {})], [y])


def too_few_results():
    x = new()
    return Jaxpr([], [x], [JaxprEqn(sin_p, [x], [], {})], [x])


def too_many_operands():
    x, y = new(), new()
    return Jaxpr([], [x], [JaxprEqn(sin_p, [x, x], [y], {})], [y])


def operands_of_two_dtypes():
    x, i, y = new(), new(INTEGERS), new()
    return Jaxpr([], [x, i], [add_of(x, i, y)], [y])


def operands_of_two_shapes():
    x, i, y = new(), new(ShapedArray((4,), np.float64)), new()
    return Jaxpr([], [x, i], [add_of(x, i, y)], [y])


def integers_in_sin():
    x, y = new(INTEGERS), new(INTEGERS)
    return Jaxpr([], [x], [sin_of(x, y)], [y])


def missing_parameter():
    x, y = new(), new()
    return Jaxpr([], [x], [JaxprEqn(convert_element_type_p, [x], [y], {})], [y])


def literal_that_is_not_of_its_type():
    x, y, literal = new(), new(), Literal(1.0, VECTOR)
    return Jaxpr([], [x], [add_of(x, literal, y)], [y])


def malformed_program_inside():
    x, y = new(), new()
    inner = Jaxpr([], [new()], [], [new()])
    return Jaxpr([], [x], [JaxprEqn(jit_p, [x], [y], {"jaxpr": inner, "name": "f"})], [y])


def program_inside_that_uses_what_is_outside():
    x, y, z = new(), new(), new()
    inner = Jaxpr([], [z], [], [x])
    return Jaxpr([], [x], [JaxprEqn(jit_p, [x], [y], {"jaxpr": inner, "name": "f"})], [y])


def program_inside_called_with_another_type():
    x, y = new(INTEGERS), new()
    inner = make_jaxpr(sin)(VECTOR)
    return Jaxpr([], [x], [JaxprEqn(jit_p, [x], [y], {"jaxpr": inner, "name": "f"})], [y])


MALFORMED = {
    unbound_operand: "equation `b:f64[3] = sin a`: a variable of type f64[3] is used before",
    use_before_binding: "is used before it is bound",
    unbound_result: "the results: a variable of type f64[3] is used before it is bound",
    parameter_twice: "the parameters: a variable of type f64[3] is bound twice",
    constant_that_is_a_parameter: "the parameters: a variable of type f64[3] is bound twice",
    equation_binds_a_parameter: "equation `a:f64[3] = sin a`: a variable of type f64[3] is bound",
    variable_bound_by_two_equations: "is bound twice",
    variable_bound_twice_by_one_equation: "is bound twice",
    wrong_shape_of_a_result: "its results have types [ShapedArray(f64[3])], bound as",
    wrong_dtype_of_a_result: "its results have types [ShapedArray(f64[3])], bound as",
    wrong_weakness_of_a_result: "its results have types",
    too_many_results: "its results have types",
    too_few_results: "its results have types",
    too_many_operands: "positional argument",
    operands_of_two_dtypes: "add: operands must have one dtype, found f64[3] and i64[3]",
    operands_of_two_shapes: "add: operands must have one shape, sizes of 1 aside",
    integers_in_sin: "sin: expected a real or complex operand, found i64[3]",
    missing_parameter: "missing 1 required keyword-only argument",
    literal_that_is_not_of_its_type: "the literal 1.0 is not of type f64[3]",
    malformed_program_inside: "is used before it is bound",
    program_inside_that_uses_what_is_outside: "is used before it is bound",
    program_inside_called_with_another_type: "jit of `f` takes f64[3], found i64[3]",
}


def name_of(x):
    return getattr(x, "__name__", "")


@pytest.mark.parametrize(("make", "message"), MALFORMED.items(), ids=name_of)
def test_a_malformed_jaxpr_is_caught(make, message):
    jaxpr = make()
    with pytest.raises(JaxprTypeError) as error:
        typecheck_jaxpr(jaxpr)
    assert message in str(error.value)


def test_every_equation_is_checked_not_only_the_first():
    """The code of one document returned from inside the loop over the equations."""
    x, y, z = new(), new(), new(SCALAR)
    with pytest.raises(JaxprTypeError, match="its results have types"):
        typecheck_jaxpr(Jaxpr([], [x], [sin_of(x, y), sin_of(y, z)], [z]))


def test_a_good_jaxpr_passes_and_its_types_are_returned():
    y = np.arange(3)

    def f(x, n):
        return jit(lambda x: sin(x) * y)(x), n + 1

    assert typecheck_jaxpr(make_jaxpr(f)(np.ones(3, np.float32), np.int8(1))) == (
        [ShapedArray((3,), np.float32), ShapedArray((), np.int8)],
        [ShapedArray((3,), np.float32), ShapedArray((), np.int8)],
    )


def test_an_empty_jaxpr_passes():
    assert typecheck_jaxpr(Jaxpr([], [], [], [])) == ([], [])
