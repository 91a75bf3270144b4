"""Laws that hold for every program of `add` and `mul`, tried on programs drawn at random.

Programs and arguments are small integers, so that everything is exact and compared with `==`.
"""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from glassjax_stage1 import (
    Op,
    Var,
    add,
    build_jaxpr,
    derivative,
    eliminate_dead_code,
    eval_jaxpr,
    jvp,
    mul,
    nth_order_derivative,
)

settings.register_profile("stage1", deadline=None)
settings.load_profile("stage1")

FUNCTIONS = {Op.add: add, Op.mul: mul}


@dataclass(frozen=True)
class Program:
    """A straight-line program: steps work on arguments, constants and earlier results."""

    num_args: int
    constants: tuple[int, ...]
    steps: tuple[tuple[Op, int, int], ...]
    result: int

    def run(self, args, functions):
        values = [*args, *self.constants]
        for op, i, j in self.steps:
            values.append(functions[op](values[i], values[j]))
        return values[self.result]

    def __call__(self, *args):
        return self.run(args, FUNCTIONS)

    def polynomial(self):
        """What a program of one argument computes, as integer coefficients (lowest first)."""
        as_is = Program(self.num_args, tuple((c,) for c in self.constants), self.steps, self.result)
        return as_is.run([(0, 1)], {Op.add: add_polynomials, Op.mul: mul_polynomials})


def add_polynomials(p, q):
    size = max(len(p), len(q))
    padded = [(*r, *[0] * (size - len(r))) for r in (p, q)]
    return tuple(a + b for a, b in zip(*padded, strict=True))


def mul_polynomials(p, q):
    product = [0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            product[i + j] += a * b
    return tuple(product)


def differentiate(p):
    return tuple(i * a for i, a in enumerate(p))[1:] or (0,)


def value_at(p, x):
    return sum(a * x**i for i, a in enumerate(p))


@st.composite
def programs(draw, num_args=1, max_steps=5):
    constants = tuple(draw(st.lists(st.integers(-2, 2), max_size=2)))
    size = num_args + len(constants)
    steps = []
    for _ in range(draw(st.integers(0, max_steps))):
        operand = st.integers(0, size - 1)
        steps.append((draw(st.sampled_from(Op)), draw(operand), draw(operand)))
        size += 1
    # Mostly the last value, so that most programs are not trivial; sometimes any, for dead code.
    result = draw(st.one_of(st.just(size - 1), st.integers(0, size - 1)))
    return Program(num_args, constants, tuple(steps), result)


numbers = st.integers(-2, 2)
pairs = st.tuples(numbers, numbers)


def staged(f):
    return lambda *args: eval_jaxpr(build_jaxpr(f, len(args)), args)


def slope(f):
    return lambda x: derivative(f, x)


# Differentiation


@given(programs(), numbers, numbers)
def test_jvp_is_the_derivative_of_the_polynomial(f, x, x_dot):
    p = f.polynomial()
    assert jvp(f, x, x_dot) == (value_at(p, x), value_at(differentiate(p), x) * x_dot)


@given(programs(max_steps=4), numbers, st.integers(0, 3))
def test_derivatives_of_every_order(f, x, n):
    p = f.polynomial()
    for _ in range(n):
        p = differentiate(p)
    assert nth_order_derivative(n, f, x) == value_at(p, x)


@given(programs(), numbers, numbers, numbers, numbers)
def test_the_tangent_is_linear(f, x, u, v, factor):
    def tangent(x_dot):
        return jvp(f, x, x_dot)[1]

    assert tangent(u + factor * v) == tangent(u) + factor * tangent(v)


@given(programs(max_steps=3), programs(max_steps=2), numbers, numbers)
def test_the_chain_rule(f, g, x, x_dot):
    assert jvp(lambda x: f(g(x)), x, x_dot) == jvp(f, *jvp(g, x, x_dot))


@given(programs(num_args=2, max_steps=4), pairs)
def test_mixed_derivatives_agree_in_both_orders(f, at):
    x, y = at
    by_y_then_x = derivative(lambda x: derivative(lambda y: f(x, y), y), x)
    by_x_then_y = derivative(lambda y: derivative(lambda x: f(x, y), x), y)
    assert by_y_then_x == by_x_then_y


@given(programs(num_args=2), pairs)
def test_the_directional_derivative_is_the_sum_of_the_partial_ones(f, at):
    x, y = at
    along_both = derivative(lambda t: f(add(x, t), add(y, t)), 0)
    assert along_both == derivative(lambda x: f(x, y), x) + derivative(lambda y: f(x, y), y)


# Staging


def assert_well_formed(jaxpr):
    """Every variable is bound once, and before it is used."""
    bound = list(jaxpr.parameters)
    for equation in jaxpr.equations:
        assert all(arg in bound for arg in equation.args if isinstance(arg, Var))
        bound.append(equation.var)
    assert len(set(bound)) == len(bound)
    assert not isinstance(jaxpr.return_val, Var) or jaxpr.return_val in bound


@given(programs(num_args=2), pairs)
def test_staging_then_evaluating_is_evaluating(f, args):
    jaxpr = build_jaxpr(f, 2)
    assert_well_formed(jaxpr)
    assert [equation.op for equation in jaxpr.equations] == [op for op, _, _ in f.steps]
    assert eval_jaxpr(jaxpr, args) == f(*args)
    assert type(eval_jaxpr(jaxpr, args)) is type(f(*args))


@given(programs(num_args=2), pairs)
def test_a_jaxpr_staged_again_is_the_same_program(f, args):
    jaxpr = build_jaxpr(f, 2)
    again = build_jaxpr(lambda x, y: eval_jaxpr(jaxpr, (x, y)), 2)
    assert_well_formed(again)
    assert str(again) == str(jaxpr)
    assert staged(staged(f))(*args) == f(*args)


@given(programs(), numbers, numbers)
def test_differentiating_a_staged_program_is_differentiating_it(f, x, x_dot):
    assert jvp(staged(f), x, x_dot) == jvp(f, x, x_dot)


@given(programs(), numbers)
def test_staging_a_derivative_is_differentiating(f, x):
    assert staged(slope(f))(x) == derivative(f, x)


@given(programs(max_steps=3), numbers, st.lists(st.sampled_from([staged, slope]), max_size=4))
def test_stagings_and_derivatives_nest_in_any_order(f, x, transformations):
    transformed = f
    for transformation in transformations:
        transformed = transformation(transformed)
    assert transformed(x) == nth_order_derivative(transformations.count(slope), f, x)


@given(programs(num_args=2, max_steps=3), programs(num_args=2, max_steps=2), numbers)
def test_closing_over_outer_values_captures_nothing(f, g, x):
    def plain(x):
        return f(x, g(x, 2))

    def nested(x):
        return staged(lambda y: f(x, staged(lambda z: g(x, z))(y)))(2)

    assert staged(nested)(x) == plain(x)
    assert jvp(nested, x, 1) == jvp(plain, x, 1)
    assert derivative(staged(slope(nested)), x) == nth_order_derivative(2, plain, x)


# Dead-code elimination


def needed_vars(jaxpr):
    """All that the result is made of, found by walking from it."""
    equations = {equation.var: equation for equation in jaxpr.equations}
    found, to_visit = set(), [jaxpr.return_val]
    while to_visit:
        atom = to_visit.pop()
        if atom in equations and atom not in found:
            found.add(atom)
            to_visit.extend(equations[atom].args)
    return found


@given(programs(num_args=2), pairs)
def test_dead_code_elimination_keeps_the_meaning(f, args):
    lean = eliminate_dead_code(build_jaxpr(f, 2))
    assert_well_formed(lean)
    assert eval_jaxpr(lean, args) == f(*args)


@given(programs(num_args=2))
def test_dead_code_elimination_keeps_what_is_needed_in_order_and_nothing_else(f):
    jaxpr = build_jaxpr(f, 2)
    needed = needed_vars(jaxpr)
    lean = eliminate_dead_code(jaxpr)
    assert lean.equations == tuple(e for e in jaxpr.equations if e.var in needed)
    assert eliminate_dead_code(lean) == lean


@given(programs(), numbers, numbers)
def test_dead_code_elimination_keeps_the_derivative(f, x, x_dot):
    lean = eliminate_dead_code(build_jaxpr(f, 1))
    assert jvp(lambda x: eval_jaxpr(lean, (x,)), x, x_dot) == jvp(f, x, x_dot)
    lean_slope = eliminate_dead_code(build_jaxpr(slope(f), 1))
    assert eval_jaxpr(lean_slope, (x,)) == derivative(f, x)
