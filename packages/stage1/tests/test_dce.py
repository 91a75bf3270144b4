"""Dead-code elimination leaves what the result needs, and nothing else."""

from glassjax_stage1 import (
    add,
    build_jaxpr,
    derivative,
    eliminate_dead_code,
    eval_jaxpr,
    jvp,
    mul,
)


def wasteful(x, y):
    unused = mul(x, y)
    add(unused, 1.0)  # needs `unused`, but nothing needs this
    kept = add(x, 1.0)
    mul(kept, kept)
    return mul(kept, 2.0)


def test_equations_that_the_result_does_not_need_are_gone():
    assert str(eliminate_dead_code(build_jaxpr(wasteful, 2))) == (
        "v_1, v_2 ->\n"
        "  v_3 = Op.add(v_1, 1.0)\n"
        "  v_4 = Op.mul(v_3, 2.0)\n"
        "v_4"
    )  # fmt: skip


def test_parameters_stay_even_when_unused():
    before = build_jaxpr(wasteful, 2)
    after = eliminate_dead_code(before)
    assert after.parameters == before.parameters
    assert eval_jaxpr(after, (2.0, 5.0)) == 6.0


def test_the_program_given_stays_as_it_was():
    jaxpr = build_jaxpr(wasteful, 2)
    text = str(jaxpr)
    eliminate_dead_code(jaxpr)
    assert str(jaxpr) == text


def test_a_constant_or_a_parameter_needs_no_equation():
    def constant(x):
        mul(x, x)
        return 4.0

    def parameter(x):
        mul(x, x)
        return x

    assert str(eliminate_dead_code(build_jaxpr(constant, 1))) == "v_1 ->\n4.0"
    assert str(eliminate_dead_code(build_jaxpr(parameter, 1))) == "v_1 ->\nv_1"


def test_what_a_result_needs_twice_is_kept_once():
    def f(x):
        y = add(x, 1.0)
        return mul(y, y)

    jaxpr = build_jaxpr(f, 1)
    assert eliminate_dead_code(jaxpr) == jaxpr


def test_of_a_derivative_only_the_tangent_is_computed():
    def f(x):
        return mul(x, mul(x, x))

    jaxpr = build_jaxpr(lambda x: derivative(f, x), 1)
    lean = eliminate_dead_code(jaxpr)
    assert len(lean.equations) == len(jaxpr.equations) - 1  # the primal of the result is not needed
    assert eval_jaxpr(lean, (2.0,)) == eval_jaxpr(jaxpr, (2.0,)) == 12.0


def test_the_lean_program_can_be_transformed_again():
    lean = eliminate_dead_code(build_jaxpr(wasteful, 2))
    assert jvp(lambda x: eval_jaxpr(lean, (x, 7.0)), 2.0, 1.0) == (6.0, 2.0)
    assert str(build_jaxpr(lambda x, y: eval_jaxpr(lean, (x, y)), 2)) == str(lean)


def test_dead_code_around_a_constant_from_outside():
    def f(x):
        def g(y):
            mul(x, y)
            return add(x, y)

        lean = eliminate_dead_code(build_jaxpr(g, 1))
        assert len(lean.equations) == 1
        return eval_jaxpr(lean, (x,))

    assert jvp(f, 2.0, 1.0) == (4.0, 2.0)
