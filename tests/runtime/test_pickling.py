"""Functions and objects pickled by pickle and by cloudpickle, beside JAX."""

import importlib
import os
import pickle
import subprocess
import sys
from types import ModuleType

import cloudpickle
import pytest
from tables import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import nn, random

MODULES = [
    "", "numpy", "numpy.linalg", "numpy.fft", "lax", "nn", "nn.initializers", "random", "tree",
    "tree_util", "scipy.special", "scipy.linalg", "scipy.stats.norm", "sharding", "debug", "image",
    "errors", "ops",
]  # fmt: skip


def is_loaded_as(module, name):
    """Whether a pickle of a public object gives that object, or what looks the same."""
    value = getattr(module, name)
    try:
        loaded = pickle.loads(pickle.dumps(value))
    except Exception:
        return False
    return loaded is value or repr(loaded) == repr(value)


@for_each("path", MODULES)
def test_what_jax_pickles_is_pickled(path):
    ours, jaxs = (
        importlib.import_module(f"{package}.{path}".rstrip(".")) for package in ("glassjax", "jax")
    )
    names = [
        name
        for name in dir(jaxs)
        if not name.startswith("_")
        and hasattr(ours, name)
        and not isinstance(getattr(ours, name), ModuleType)
        and is_loaded_as(jaxs, name)
    ]
    assert names
    assert [name for name in names if not is_loaded_as(ours, name)] == []


@glassjax.jit
def doubled(x):
    return 2 * x


@glassjax.custom_jvp
def scaled(x):
    return x * x


@scaled.defjvp
def _(primals, tangents):
    return scaled(*primals), 100.0 * tangents[0]


def test_decorated_functions_are_found_by_name():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert pickle.loads(pickle.dumps(scaled)) is scaled


def policy():
    return glassjax.checkpoint_policies.save_only_these_names("a")


FUNCTIONS = {  # a function of no arguments from whose result a number follows, and how
    "jit": (lambda: glassjax.jit(lambda x: x + 1), "f(1.0)"),
    "static": (lambda: glassjax.jit(lambda x, n: x**n, static_argnums=1), "f(2.0, 3)"),
    "donating": (lambda: glassjax.jit(lambda x: x + 1, donate_argnums=0), "f(1.0)"),
    "sharded": (
        lambda: glassjax.jit(
            lambda x: x + 1,
            out_shardings=glassjax.sharding.SingleDeviceSharding(glassjax.devices()[0]),
        ),
        "f(1.0)",
    ),
    "jit of jit": (lambda: glassjax.jit(glassjax.jit(lambda x: x + 1)), "f(1.0)"),
    "grad": (lambda: glassjax.grad(lambda x: x**3), "f(2.0)"),
    "grad of jit": (lambda: glassjax.grad(glassjax.jit(lambda x: x**3)), "f(2.0)"),
    "hessian": (lambda: glassjax.hessian(lambda x: x**3), "f(2.0)"),
    "vmap of jit": (lambda: glassjax.vmap(glassjax.jit(jnp.sin)), "f(jnp.ones(3)).sum()"),
    "grad of checkpoint": (
        lambda: glassjax.grad(glassjax.checkpoint(lambda x: jnp.sin(x) ** 2, policy=policy())),
        "f(2.0)",
    ),
    "grad of custom_vjp": (lambda: glassjax.grad(custom()), "f(2.0)"),
    "closure_convert": (
        lambda: glassjax.closure_convert(lambda x: jnp.sin(x) + 1, 1.0)[0],
        "f(1.)",
    ),
    "vectorize": (lambda: jnp.vectorize(lambda x, y: x + y), "f(1.0, jnp.ones(2)).sum()"),
    "frompyfunc": (lambda: jnp.frompyfunc(lambda x, y: x + y, 2, 1), "f.outer(1.0, 2.0).sum()"),
    "initializer": (nn.initializers.glorot_uniform, "f(glassjax.random.key(0), (2, 2)).sum()"),
    "Partial": (lambda: glassjax.tree_util.Partial(jnp.add, 1.0), "f(2.0)"),
    "program": (lambda: lambda x: glassjax.core.eval_jaxpr(traced.jaxpr, (), x)[0], "f(1.0)"),
    "key": (lambda: random.key(3), "random.normal(f)"),
}

traced = glassjax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)


def custom():
    function = glassjax.custom_vjp(lambda x: x * x)
    function.defvjp(lambda x: (x * x, x), lambda x, ct: (7.0 * ct,))
    return function


def test_cloudpickle_takes_functions_to_another_process():
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        sent = {name: cloudpickle.dumps(make()) for name, (make, _) in FUNCTIONS.items()}
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    how = {name: how for name, (_, how) in FUNCTIONS.items()}
    program = (
        "import pickle, sys, glassjax, glassjax.numpy as jnp\n"
        "from glassjax import random\n"
        "sent, how = pickle.load(sys.stdin.buffer)\n"
        "for name, each in sent.items():\n"
        "    f = pickle.loads(each)\n"
        "    print(name, float(eval(how[name])))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps((sent, how)), capture_output=True,
        timeout=120, env={**os.environ, "GLASSJAX_ENABLE_X64": "1"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr.decode()
    names = {"glassjax": glassjax, "jnp": jnp, "random": random}
    here = [
        f"{name} {float(eval(expression, {'f': make(), **names}))}"
        for name, (make, expression) in FUNCTIONS.items()
    ]
    assert result.stdout.decode().splitlines() == here


def test_attributes_of_the_users_go_on():
    def f(x):
        return x

    f.mark = 1
    assert glassjax.vmap(glassjax.jit(f)).mark == glassjax.jit(f).mark == 1
    assert not [name for name in vars(glassjax.vmap(glassjax.jit(f))) if name.startswith("_exec")]


def test_what_cannot_be_pickled_says_what_can():
    compiled = glassjax.jit(lambda x: x + 1).lower(1.0).compile()
    for x, remedy in [(compiled, "Pickle the jitted function"), (glassjax.new_ref(1.0), "new_ref")]:
        for copy in (pickle.dumps, cloudpickle.dumps):
            with pytest.raises(TypeError, match=remedy):
                copy(x)
