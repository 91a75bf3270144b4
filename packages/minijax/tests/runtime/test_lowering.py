"""Lowering by templates: which equations have one, and what their text says."""

import re

import pytest

import minijax.numpy as jnp
from minijax import grad, jit, nn
from minijax.core import Primitive, bind, declare
from minijax.runtime.lowering import Function

X = jnp.ones((4, 4))


@pytest.fixture
def by_rules(monkeypatch):
    """The primitives of the equations that have no template."""
    found = []

    def lower_eqn(b, eqn, operands, original=Function.lower_eqn):
        found.append(eqn.primitive.name)
        return original(b, eqn, operands)

    monkeypatch.setattr(Function, "lower_eqn", lower_eqn)
    return found


def loss(w, x):
    x = nn.softmax(jnp.tanh(x @ w + 1.0)) @ w.T
    return jnp.mean(jnp.sort(jnp.where(x > 0, x, -x).ravel())[:3] ** 2)


def test_common_operations_have_templates(by_rules):
    step = jit(lambda w, x: w - 0.1 * grad(loss)(w, x))
    first, second = (jit(lambda w, x: step(w, x)).lower(X, X).as_text() for _ in range(2))
    assert first == second
    assert not {*by_rules} - {"jit", "sort", "scatter_add"}


def test_a_new_rule_is_used_at_once():
    p = Primitive("renewed")
    for operation in ("negate", "sine"):
        declare(
            p,
            abstract_eval=lambda x: [x],
            lower=lambda b, out_avals, x, operation=operation: b.emit(
                f"stablehlo.{operation} {x.name} : tensor<f32>", *out_avals
            ),
        )
        assert operation in jit(lambda x: bind(p, x)[0]).lower(jnp.float32(1)).as_text()


def test_literals_that_are_equal_but_not_the_same_have_their_own_text():
    text = jit(lambda x: [x * 0.0, x * -0.0, x * 1, x * True]).lower(jnp.float32(1)).as_text()
    assert re.findall(r"dense<(.*?)>", text) == ["0.0", "-0.0", "1.0", "1.0"]


def test_what_a_primitive_decomposes_into_has_the_line_of_the_primitive():
    def f(x):
        return jnp.sin(x)

    text = jit(f).lower(jnp.complex64(1)).as_text(debug_info=True)
    assert "stablehlo.select" in text
    lines = {int(line) for line in re.findall(r'loc\(".*?":(\d+):1\)', text)}
    assert lines == {f.__code__.co_firstlineno + 1}
