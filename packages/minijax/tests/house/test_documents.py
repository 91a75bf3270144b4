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

import minijax
from minijax import lax, nn, random
from minijax import numpy as jnp
from minijax.export import format

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
MODULES = [m.name for m in pkgutil.walk_packages(minijax.__path__, "minijax.")]

# What an example takes for granted, besides the names of its module.
GIVEN = {
    "__name__": "__main__",
    "jnp": jnp,
    "lax": lax,
    "minijax": minijax,
    "nn": nn,
    "np": np,
    "random": random,
}
# The modules that have an example for each function and class. The list only grows.
WITH_EXAMPLES = [
    "minijax",
    "minijax.ad_checkpoint",
    "minijax.checkpoints",
    "minijax.core",
    "minijax.custom_batching",
    "minijax.custom_derivatives",
    "minijax.debug",
    "minijax.distributed",
    "minijax.experimental",
    "minijax.experimental.multihost_utils",
    "minijax.export",
    "minijax.flatten_util",
    "minijax.image",
    "minijax.lax",
    "minijax.lax.linalg",
    "minijax.nn",
    "minijax.nn.initializers",
    "minijax.numpy",
    "minijax.numpy.fft",
    "minijax.numpy.linalg",
    "minijax.ops",
    "minijax.random",
    "minijax.scipy.fft",
    "minijax.scipy.integrate",
    "minijax.scipy.linalg",
    "minijax.scipy.ndimage",
    "minijax.scipy.optimize",
    "minijax.scipy.signal",
    "minijax.scipy.sparse.linalg",
    "minijax.scipy.special",
    "minijax.scipy.stats",
    "minijax.scipy.stats.bernoulli",
    "minijax.scipy.stats.beta",
    "minijax.scipy.stats.betabinom",
    "minijax.scipy.stats.binom",
    "minijax.scipy.stats.cauchy",
    "minijax.scipy.stats.chi2",
    "minijax.scipy.stats.dirichlet",
    "minijax.scipy.stats.expon",
    "minijax.scipy.stats.gamma",
    "minijax.scipy.stats.gennorm",
    "minijax.scipy.stats.geom",
    "minijax.scipy.stats.gumbel_l",
    "minijax.scipy.stats.gumbel_r",
    "minijax.scipy.stats.laplace",
    "minijax.scipy.stats.logistic",
    "minijax.scipy.stats.multinomial",
    "minijax.scipy.stats.multivariate_normal",
    "minijax.scipy.stats.nbinom",
    "minijax.scipy.stats.norm",
    "minijax.scipy.stats.pareto",
    "minijax.scipy.stats.poisson",
    "minijax.scipy.stats.t",
    "minijax.scipy.stats.truncnorm",
    "minijax.scipy.stats.uniform",
    "minijax.scipy.stats.vonmises",
    "minijax.scipy.stats.wrapcauchy",
    "minijax.sharding",
    "minijax.stages",
    "minijax.test_util",
    "minijax.tree_util",
]


def lacks_what_it_needs(module):
    """A module may need an extra, or a newer jaxlib."""
    if module.startswith(("minijax.checkpoints", "minijax.experimental.array_serialization")):
        return importlib.util.find_spec("tensorstore") is None
    return module == "minijax.extend.backend" and importlib.util.find_spec("jaxlib._xla") is None


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
REGISTERED = {name: getattr(format, name).copy() for name in ("_by_class", "_by_name")}


@pytest.mark.nightly
@pytest.mark.parametrize("room", ROOMS)
def test_examples_in_docstrings_one_by_one(room, monkeypatch):
    for name, classes in REGISTERED.items():
        monkeypatch.setattr(format, name, classes.copy())
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
            if not value.__module__.startswith("minijax"):  # jnp.save is numpy's, Device jaxlib's
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
    listed = re.findall(r"\(src/minijax/([\w/]+)/__init__.py\)", README)
    source = Path(minijax.__file__).parent
    rooms = [f.parent.relative_to(source).as_posix() for f in source.rglob("*/__init__.py")]
    assert sorted(listed) == sorted(rooms)
