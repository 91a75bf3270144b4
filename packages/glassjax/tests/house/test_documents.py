"""Programs in documentation and docstrings run."""

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from doctests_at_once import assert_examples_run

import glassjax
from glassjax import lax, nn, random
from glassjax import numpy as jnp
from glassjax.export import nodes

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
MODULES = [m.name for m in pkgutil.walk_packages(glassjax.__path__, "glassjax.")]

# What an example takes for granted, besides the names of its module.
GIVEN = {
    "__name__": "__main__",
    "jnp": jnp,
    "lax": lax,
    "glassjax": glassjax,
    "nn": nn,
    "np": np,
    "random": random,
}
# The modules that have an example for each function and class. The list only grows.
WITH_EXAMPLES = [
    "glassjax",
    "glassjax.ad_checkpoint",
    "glassjax.checkpoints",
    "glassjax.core",
    "glassjax.custom_batching",
    "glassjax.custom_derivatives",
    "glassjax.debug",
    "glassjax.distributed",
    "glassjax.experimental",
    "glassjax.experimental.multihost_utils",
    "glassjax.export",
    "glassjax.flatten_util",
    "glassjax.image",
    "glassjax.lax",
    "glassjax.lax.linalg",
    "glassjax.nn",
    "glassjax.nn.initializers",
    "glassjax.numpy",
    "glassjax.numpy.fft",
    "glassjax.numpy.linalg",
    "glassjax.ops",
    "glassjax.random",
    "glassjax.scipy.fft",
    "glassjax.scipy.integrate",
    "glassjax.scipy.linalg",
    "glassjax.scipy.ndimage",
    "glassjax.scipy.optimize",
    "glassjax.scipy.signal",
    "glassjax.scipy.sparse.linalg",
    "glassjax.scipy.special",
    "glassjax.scipy.stats",
    "glassjax.scipy.stats.bernoulli",
    "glassjax.scipy.stats.beta",
    "glassjax.scipy.stats.betabinom",
    "glassjax.scipy.stats.binom",
    "glassjax.scipy.stats.cauchy",
    "glassjax.scipy.stats.chi2",
    "glassjax.scipy.stats.dirichlet",
    "glassjax.scipy.stats.expon",
    "glassjax.scipy.stats.gamma",
    "glassjax.scipy.stats.gennorm",
    "glassjax.scipy.stats.geom",
    "glassjax.scipy.stats.gumbel_l",
    "glassjax.scipy.stats.gumbel_r",
    "glassjax.scipy.stats.laplace",
    "glassjax.scipy.stats.logistic",
    "glassjax.scipy.stats.multinomial",
    "glassjax.scipy.stats.multivariate_normal",
    "glassjax.scipy.stats.nbinom",
    "glassjax.scipy.stats.norm",
    "glassjax.scipy.stats.pareto",
    "glassjax.scipy.stats.poisson",
    "glassjax.scipy.stats.t",
    "glassjax.scipy.stats.truncnorm",
    "glassjax.scipy.stats.uniform",
    "glassjax.scipy.stats.vonmises",
    "glassjax.scipy.stats.wrapcauchy",
    "glassjax.sharding",
    "glassjax.stages",
    "glassjax.test_util",
    "glassjax.tree_util",
]


def lacks_what_it_needs(module):
    """A module may need an extra, or a newer jaxlib."""
    if module.startswith(("glassjax.checkpoints", "glassjax.experimental.array_serialization")):
        return importlib.util.find_spec("tensorstore") is None
    return module == "glassjax.extend.backend" and importlib.util.find_spec("jaxlib._xla") is None


ROOMS = {}
for module in MODULES:
    if not lacks_what_it_needs(module):
        ROOMS.setdefault(module.split(".")[1], []).append(module)


def examples_of(room):
    finder = doctest.DocTestFinder()
    for module in ROOMS[room]:
        for test in finder.find(importlib.import_module(module), module, extraglobs=GIVEN):
            if test.examples:
                yield test


@pytest.mark.parametrize("room", ROOMS)
def test_examples_in_docstrings(room):
    assert_examples_run(list(examples_of(room)))


# Classes that programs may be exported with, before examples register theirs.
REGISTERED = {name: getattr(nodes, name).copy() for name in ("by_class", "by_name")}


@pytest.mark.nightly
@pytest.mark.parametrize("room", ROOMS)
def test_examples_in_docstrings_one_by_one(room, monkeypatch):
    for name, classes in REGISTERED.items():
        registered = getattr(nodes, name)
        for key in registered.keys() - classes.keys():
            del registered[key]
    runner = doctest.DocTestRunner()
    for test in examples_of(room):
        runner.run(test)
    assert runner.failures == 0


def test_every_function_of_a_module_has_an_example_that_runs():
    """Those that a factory made, or a stage, are found by no other test."""
    parser, bare, tests = doctest.DocTestParser(), [], []
    for module in WITH_EXAMPLES:
        if lacks_what_it_needs(module):
            continue
        namespace = importlib.import_module(module)
        for name in namespace.__all__:
            value = getattr(namespace, name)
            if not callable(value) or isinstance(value, types.GenericAlias):
                continue
            if not value.__module__.startswith("glassjax"):  # jnp.save is numpy's, Device jaxlib's
                continue
            its_module = importlib.import_module(value.__module__)
            names = {**vars(namespace), **vars(its_module), **GIVEN}
            where = f"{module}.{name}"
            test = parser.get_doctest(inspect.getdoc(value) or "", names, where, None, None)
            if not test.examples:
                bare.append(where)
            elif not stands_where_it_says(value):
                tests.append(test)
    assert bare == []
    assert_examples_run(tests)


def stands_where_it_says(value):
    home = vars(sys.modules[value.__module__])
    return value.__module__ in MODULES and home.get(value.__name__) is value


def test_the_program_in_the_readme_prints_what_the_readme_shows():
    program, output = re.search(
        r"```python\n(.*?)```.*?```text\n(.*?)```", README, re.DOTALL
    ).groups()
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout == output


def test_the_readme_lists_every_room_once():
    listed = re.findall(r"\(src/glassjax/([\w/]+)/__init__.py\)", README)
    source = Path(glassjax.__file__).parent
    rooms = [f.parent.relative_to(source).as_posix() for f in source.rglob("*/__init__.py")]
    assert sorted(listed) == sorted(rooms)
