"""Importing the library does not change what the stages compute."""

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parents[3]

# Prints what each example of a stage gives: those of its README, and of its docstrings.
EXAMPLES = """
import contextlib, doctest, importlib, io, pkgutil, re, sys

def show(source, names, mode):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(source, "<example>", mode), names)
        except Exception as error:
            print(type(error).__name__, error)
    print(re.sub("0x[0-9a-f]+", "0x", out.getvalue()), end="")

def show_examples(readme, package):
    names = {"__name__": "example"}
    for block in re.findall("```python\\n(.*?)```", open(readme, encoding="utf-8").read(), re.S):
        show(block, names, "exec")
    stage = importlib.import_module(package)
    modules = [module.name for module in pkgutil.walk_packages(stage.__path__, package + ".")]
    for module in [stage, *map(importlib.import_module, modules)]:
        for test in doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__):
            print(test.name)
            for example in test.examples:
                show(example.source, test.globs, "single")
"""

# Prints what random programs give: values, dtypes, classes, and errors.
PROGRAMS = """
import random, re
import numpy as np
import glassjax_stage2 as s2, glassjax_stage3 as s3, glassjax_stage4 as s4

OF_ONE = [
    abs, round, len, list, bool, float, int, complex, s2.sin, s2.exp, s2.reduce_sum, repr,
    lambda x: x[0], lambda x: x[..., None], lambda x: x.sum(), lambda x: x.mean(axis=0),
    lambda x: x.T, lambda x: x.at[0].set(1.0), lambda x: x.astype(np.float32), lambda x: -x,
    lambda x: +x, lambda x: ~x, lambda x: f"{x:.1f}", lambda x: x.ravel(), lambda x: x.copy(),
    lambda x: x.reshape(-1), lambda x: x.reshape(-1, order="F"), lambda x: x.item(),
    lambda x: x.dtype, lambda x: x.weak_type, lambda x: x.max(), lambda x: 0.5 in x,
    lambda x: hasattr(x, "clip"), lambda x: x > 0, lambda x: s2.transpose(x), lambda x: x**2,
    lambda x: x.block_until_ready(), lambda x: np.sum(x), lambda x: np.asarray(x).dtype,
]
OF_TWO = [
    lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y, lambda x, y: x / y,
    lambda x, y: x // y, lambda x, y: x % y, lambda x, y: divmod(x, y), lambda x, y: x @ y,
    lambda x, y: x & y, lambda x, y: x == y, lambda x, y: x < y, lambda x, y: x**y,
    lambda x, y: s2.where(x > y, x, y), lambda x, y: s2.mul(x, y), lambda x, y: x << y,
    lambda x, y: s2.matmul(x, y), lambda x, y: s2.power(x, y), lambda x, y: np.add(x, y),
]
VALUES = [
    0.5, 2, True, 1j, np.float32(0.25), np.int8(3), np.array([0.1, 0.2]), np.array([1, -2]),
    np.array([0.5, 2.0], np.float32), np.array([True, False]), np.array([1j, 2.0]),
    np.arange(4.0).reshape(2, 2), np.zeros((0, 2)), np.array([3, 250], np.uint8),
]
TRANSFORMED = {
    "plain": lambda f, x: f(x),
    "jvp": lambda f, x: s2.jvp(f, (x,), (x,)),
    "vmap": lambda f, x: s2.vmap(f)(x),
    "jacfwd": lambda f, x: s2.jacfwd(f)(x),
    "jit": lambda f, x: s3.jit(f)(x),
    "device": lambda f, x: f(s3.array(x)),
    "jit of vmap": lambda f, x: s3.jit(s2.vmap(f))(s3.array(x)),
    "jaxpr": lambda f, x: str(s3.make_jaxpr(f)(x)),
    "grad": lambda f, x: s4.grad(lambda x: s2.reduce_sum(f(x)))(x),
    "linearize": lambda f, x: s4.linearize(f, x)[1](x),
}

def show(x):
    if isinstance(x, tuple | list):
        return [show(item) for item in x]
    return type(x).__module__, type(x).__name__, repr(x), str(getattr(x, "aval", ""))

draw = random.Random(SEED)
for number in range(COUNT):
    one, more, two = draw.choice(OF_ONE), draw.choice(OF_ONE), draw.choice(OF_TWO)
    x, y = draw.choice(VALUES), draw.choice(VALUES)
    y = s3.array(y) if draw.random() < 0.3 else y
    how = draw.choice(list(TRANSFORMED))
    programs = one, lambda x: one(two(x, y)), lambda x: more(one(two(y, x)))
    program = draw.choice(programs)
    try:
        with np.errstate(all="ignore"):
            result = show(TRANSFORMED[how](program, x))
    except Exception as error:
        result = type(error).__name__, str(error)
    print(number, how, re.sub("0x[0-9a-f]+", "0x", repr(result)))
"""


def run(program):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_unchanged(program, least):
    alone, after = (
        run(program),
        run("import glassjax; " + program),
    )  # whose lines keep their numbers
    after = after.replace(", which glassjax.explain_error() prints", "")  # where it can be called
    assert len(alone.splitlines()) > least
    differences = [
        (x, y) for x, y in zip(alone.splitlines(), after.splitlines(), strict=True) if x != y
    ]
    assert differences == []
    return alone


def test_examples_of_the_stages_give_the_same():
    readmes = [str(PACKAGES / f"stage{number}" / "README.md") for number in (1, 2, 3, 4)]
    calls = (
        f"show_examples({readme!r}, 'glassjax_stage{number}')\nprint('end of a stage')\n"
        for number, readme in enumerate(readmes, 1)
    )
    shown = assert_unchanged(EXAMPLES + "".join(calls), least=80)
    assert all(part.count("\n") > 20 for part in shown.split("end of a stage\n")[:4])


@pytest.mark.parametrize(
    ("seed", "count"), [(0, 200), *(pytest.param(n, 600, marks=pytest.mark.nightly) for n in "12")]
)
def test_random_programs_of_the_stages_give_the_same(seed, count):
    """`array(np.array([.1, .2])).sum()` once became float32, `vmap(lambda x: x[0])` an Array."""
    assert_unchanged(f"SEED, COUNT = {seed}, {count}" + PROGRAMS, least=count - 1)


def test_what_programs_hold_on_to_stays_theirs():
    """Arrays and functions that were made before the import, used after it."""
    run("""
import numpy as np
import glassjax_stage2 as s2, glassjax_stage3 as s3
x, f = s3.array(np.array([0.1, 0.2])), s3.jit(lambda x: x * 2)
before = repr(f(x)), hasattr(x, "sum"), type(x + 1)
import glassjax, glassjax.numpy as jnp
assert (repr(f(x)), hasattr(x, "sum"), type(x + 1)) == before
jnp.ones(3).sum()
glassjax.jit(lambda y: y.sum() + jnp.take(x, 0))(jnp.ones(3))
assert (repr(f(x)), hasattr(x, "sum"), type(x + 1)) == before
try:
    s2.vmap(lambda x: x[0])(np.ones((2, 3)))
except TypeError as error:
    assert "is not subscriptable" in str(error)
else:
    raise SystemExit("tracers of stage 2 have what only glassjax has")
""")


def test_rules_of_the_stages_are_not_replaced():
    """Every table keeps the rules that it had, and gains some."""
    count = """
from glassjax_stage4 import transpose_rules
from glassjax_stage3 import abstract_eval_rules, lowering_rules
from glassjax_stage2 import impl_rules, jvp_rules, vmap_rules
tables = impl_rules, jvp_rules, vmap_rules, abstract_eval_rules, lowering_rules, transpose_rules
before = [dict(table) for table in tables]
from glassjax.lax.primitive_names import all_primitives
all_primitives()
for table, rules in zip(tables, before):
    assert len(table) > len(rules)
    assert all(table[primitive] is rule for primitive, rule in rules.items())
"""
    run(count)


def test_the_jit_of_a_stage_compiles_functions_of_the_library():
    """It has its own lowering and compiler, which lack what only the library's know."""
    run("""
import numpy as np
import glassjax, glassjax.numpy as jnp
from glassjax_stage3 import array, jit
symmetric = np.array([[2.0, 1.0], [1.0, 2.0]])
assert np.allclose(jit(lambda x: jnp.linalg.eigh(x)[0])(symmetric), [1, 3])  # by LAPACK
key = glassjax.random.key(0, impl="rbg")
expected = glassjax.random.bits(key, (2,)).tolist()
assert jit(lambda key: glassjax.random.bits(key, (2,)))(key).tolist() == expected
of_platform = lambda x: glassjax.lax.platform_dependent(x, cpu=jnp.negative, default=jnp.sin)
assert jit(of_platform)(2.0).item() == -2.0
assert type(array(1.0) + jnp.ones(2)) is type(jnp.ones(2))
try:
    jit(lambda x: glassjax.debug.print("{}", x))(1.0)
except TypeError as error:
    assert "use glassjax.jit" in str(error)
else:
    raise SystemExit("a stage knows no callbacks")
""")
