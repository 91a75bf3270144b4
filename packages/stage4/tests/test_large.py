"""Long programs: nothing that walks one is recursive, and time grows in proportion."""

import sys
import time

import numpy as np
import pytest

from glassjax_stage2 import reduce_sum, sin
from glassjax_stage3 import dce_jaxpr, make_jaxpr, typecheck_jaxpr
from glassjax_stage3.lowering import lower_to_module
from glassjax_stage4 import (
    UndefPrimal,
    backward_pass,
    cond,
    grad,
    linear_transpose,
    linearize,
    partial_eval_jaxpr,
    typecheck_partial_eval,
    vjp,
)

LENGTH = 6_000  # a tenth of which is more than the limit below


@pytest.fixture(autouse=True)
def _little_room_for_recursion():
    """A walk that recursed once for each equation, or for a tenth of them, would fail."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(500)
    yield
    sys.setrecursionlimit(limit)


def chain(x, y=0.5, length=LENGTH):
    for _ in range(length // 2):
        x = sin(x) * y
    return x


def slope(x, y=0.5, length=LENGTH):
    total = 1.0
    for _ in range(length // 2):
        x, total = y * np.sin(x), total * y * np.cos(x)
    return total


def test_differentiated():
    def f(x):
        return chain(x, 1.0, length=20_000)

    x = 1e-3
    assert vjp(f, x)[1](1.0)[0] == pytest.approx(linearize(f, x)[1](1.0))
    assert grad(chain)(1.0, length=100) == pytest.approx(slope(1.0, length=100))


def test_as_a_program():
    jaxpr = make_jaxpr(chain)(1.0, 0.5)
    assert len(jaxpr.eqns) == LENGTH
    typecheck_jaxpr(jaxpr)
    for unknown_ins in ((True, False), (False, True)):
        parts = partial_eval_jaxpr(jaxpr, unknown_ins)
        typecheck_partial_eval(jaxpr, unknown_ins, parts)
        assert len(parts.known.eqns) + len(parts.unknown.eqns) >= LENGTH
    assert len(dce_jaxpr(jaxpr)[0].eqns) == LENGTH
    assert lower_to_module(jaxpr, "chain").count("stablehlo.multiply") == LENGTH // 2


def test_of_the_gradient():
    jaxpr = make_jaxpr(grad(chain))(1.0)
    assert len(jaxpr.eqns) >= 2 * LENGTH
    typecheck_jaxpr(jaxpr)
    assert lower_to_module(jaxpr, "gradient").count("stablehlo.cosine") == LENGTH // 2


def test_transposed():
    def linear(x):
        for _ in range(LENGTH // 2):
            x = -(x + x) * 0.5
        return x

    assert linear_transpose(linear, 1.0)(3.0) == (3.0 * (-1.0) ** (LENGTH // 2),)
    closed = make_jaxpr(linear)(1.0)
    assert backward_pass(closed, [UndefPrimal(closed.in_avals[0])], [1.0]) == [1.0]


def test_a_sum_of_many_uses():
    """One value that is used in every equation."""

    def many(x):
        total = 0.0
        for i in range(LENGTH // 2):
            total = total + x * float(i)
        return total

    assert grad(many)(1.0) == sum(range(LENGTH // 2))


def test_inside_a_branch():
    def f(x):
        return cond(x > 0.0, lambda x: chain(x, 1.0), lambda x: x, x)

    assert grad(f)(1e-3) == pytest.approx(slope(1e-3, 1.0))


def test_many_arguments_and_results():
    xs = [float(i) for i in range(2_000)]
    gradient = grad(lambda xs: reduce_sum(sum(x * x for x in xs)))(xs)
    assert gradient == [2 * x for x in xs]


def test_time_grows_in_proportion_to_the_length():
    """Four times as long takes about four times as long; sixteen times would be quadratic."""

    def seconds(length):
        best = np.inf
        for _ in range(3):
            start = time.process_time()
            vjp(lambda x: chain(x, 1.0, length), 1.0)[1](1.0)
            best = min(best, time.process_time() - start)
        return best

    seconds(100)
    assert seconds(4_000) < 10 * seconds(1_000)
