"""Importing the full library leaves what the stages compute as it was."""

import subprocess
import sys

PROGRAM = """
import numpy as np
from minijax_stage1 import add as add1, build_jaxpr, derivative, mul as mul1
from minijax_stage2 import abs, div, jvp, power, reduce_sum, sin, sub, vmap
from minijax_stage3 import array, jit, make_jaxpr
from minijax_stage4 import grad

x = np.array([0.5, -2.0])


def f(x):
    return reduce_sum(sub(sin(x), div(x, abs(x) + 1)) ** 3 @ x)


print(derivative(lambda x: mul1(x, add1(x, 3.0)), 2.0))
print(build_jaxpr(lambda x: mul1(x, x), 1))
print(repr(f(x)), repr(jvp(f, (x,), (x,))), repr(vmap(sin)(x)), repr(power(2, 3)))
print(repr(array(x) / 3), repr(jit(f)(x)), make_jaxpr(lambda x: x / abs(x) - x)(x))
print(repr(grad(f)(x)), repr(grad(lambda x: x * x)(3.0)), make_jaxpr(grad(f))(x))
"""


def run(program):
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return result.stdout


def test_the_stages_compute_the_same_with_and_without_minijax():
    assert run("import minijax\n" + PROGRAM) == run(PROGRAM)


def test_rules_of_the_stages_are_not_replaced():
    """Every table keeps the rules that it had, and gains some."""
    count = """
from minijax_stage4 import transpose_rules
from minijax_stage3 import abstract_eval_rules, lowering_rules
from minijax_stage2 import impl_rules, jvp_rules, vmap_rules
tables = impl_rules, jvp_rules, vmap_rules, abstract_eval_rules, lowering_rules, transpose_rules
before = [dict(table) for table in tables]
import minijax
for table, rules in zip(tables, before):
    assert len(table) > len(rules)
    assert all(table[primitive] is rule for primitive, rule in rules.items())
"""
    run(count)
