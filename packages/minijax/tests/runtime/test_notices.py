"""What is said when a jitted function is traced again."""

import functools
import logging

import numpy as np
import pytest
from rows import for_each

import minijax.numpy as jnp
from minijax import config, enable_x64, jit, make_jaxpr

X = np.ones(3)


@pytest.fixture
def said(caplog):
    """What was logged since the last time of asking."""

    def messages():
        found = [record.getMessage() for record in caplog.records]
        assert all(record.levelno == logging.WARNING for record in caplog.records)
        assert all(record.name == "minijax.retracing" for record in caplog.records)
        caplog.clear()
        return found

    with config.override(explain_cache_misses=True), caplog.at_level(logging.WARNING):
        yield messages


def step(params, batch, *, rate=0.1):
    return params["w"] * batch - rate


CASES = [
    (lambda g: g({"w": X}, 1.0), lambda g: g({"w": X}, 2.0), []),
    (
        lambda g: g({"w": X}, 1.0),
        lambda g: g({"w": np.ones(4)}, 1.0),
        ["argument params['w']: f64[3] before, f64[4] now (shape)"],
    ),
    (
        lambda g: g({"w": X}, X),
        lambda g: g({"w": X}, X.astype("f4")),
        ["argument batch: f64[3] before, f32[3] now (dtype)"],
    ),
    (
        lambda g: g({"w": X}, 1.0),
        lambda g: g({"w": X}, np.float64(1)),
        [
            "argument batch: f64[] before, f64[] now (weak type: a Python number before, an array "
            "now)"
        ],
    ),
    (
        lambda g: g({"w": X}, 1.0),
        lambda g: g({"w": X, "b": 1}, X),
        [
            "argument batch: f64[] before, f64[3] now (shape; weak type: a Python number before, "
            "an array now)",
            "argument params['b']: missing before, i64[] now",
        ],
    ),
    (
        lambda g: g({"w": X, "b": 1}, 1.0),
        lambda g: g({"w": X}, 1.0),
        ["argument params['b']: i64[] before, missing now"],
    ),
    (
        lambda g: g({"w": X}, 1.0),
        lambda g: g({"w": X}, batch=1.0),
        ["argument batch: passed by position before, by name now"],
    ),
    (
        lambda g: g({"w": X}, 1.0),
        lambda g: g({"w": X, "b": None}, 1.0),
        [
            "structure of the arguments: PyTreeDef((({'w': *}, *), {})) before, "
            "PyTreeDef((({'b': None, 'w': *}, *), {})) now"
        ],
    ),
    (
        lambda g: g({"w": X}, 1.0, rate=0.1),
        lambda g: g({"w": X}, 1.0, rate=0.2),
        ["static argument rate: 0.1 before, 0.2 now"],
    ),
    (
        lambda g: g({"w": X}, 1.0, rate=1.0),
        lambda g: g({"w": X}, 1.0, rate=1),
        ["static argument rate: 1.0 before, 1 now, of type float and int"],
    ),
    (
        lambda g: g({"w": X}, 1.0),
        lambda g: g({"w": X}, 1.0, rate=1),
        ["static argument rate: not passed before, 1 now"],
    ),
]


@for_each(("first", "second", "expected"), CASES)
def test_each_difference(said, first, second, expected):
    g = jit(
        functools.wraps(step)(lambda *args, **kwargs: step(*args, **kwargs)), static_argnames="rate"
    )
    first(g)
    assert len(said()) == 1
    second(g)
    messages = said()
    assert len(messages) == bool(expected)
    for message in messages:
        head, *lines = message.splitlines()
        assert head.startswith(f"`step` is traced at {__file__}:")
        assert head.endswith(
            "again, for it is called in a new way. Different from the earlier one:"
        )
        assert sorted(line.strip() for line in lines) == expected


def test_values_that_only_look_alike(said):
    class Config:
        def __repr__(self):
            return "Config()"

    g = jit(lambda config, x: x, static_argnums=0)
    g(Config(), 1.0)
    said()
    g(Config(), 1.0)
    (message,) = said()
    assert "static argument config: Config() before, Config() now, which look alike" in message


def test_the_nearest_of_several(said):
    g = jit(lambda x, y: x)
    g(X, X)
    g(1.0, 1.0)
    g((X, X), X)
    said()
    g(X, X.astype("f4"))
    (message,) = said()
    assert (
        "Different from the nearest of 3 others:\n    argument y: f64[3] before, f32[3] now"
        in message
    )


def test_the_first_time_and_the_users_line(said):
    @jit
    def f(x):
        return x

    f(1.0)
    line = f.__wrapped__.__code__.co_firstlineno + 4
    assert said() == [f"`f` is traced at {__file__}:{line} (in {line_name()}) for the first time"]
    make_jaxpr(lambda x: f(x))(1.0)
    assert said() == []


def line_name():
    return "test_the_first_time_and_the_users_line"


def test_a_function_that_is_made_again_and_again(said):
    for _ in range(3):
        jit(lambda x: x + 1)(1.0)
    first, *others = said()
    assert first.endswith("for the first time")
    assert len(others) == 2
    for message in others:
        assert "a function of the same code was traced before" in message
        assert "define and jit it once" in message


def test_one_function_with_other_options(said):
    def f(x, n):
        return x

    jit(f)(1.0, 2)
    jit(f, static_argnums=1)(1.0, 2)
    assert said()[1].endswith("again, for it is jitted again with other options")


def test_nothing_is_said_unless_asked_for(caplog):
    jit(lambda x: x)(1.0)
    assert caplog.records == []


def test_what_numbers_become(said):
    g = jit(lambda x: x * 2)
    g(X.astype("f4"))
    said()
    with enable_x64(False):
        g(X.astype("f4"))
    (message,) = said()
    assert "numbers of no dtype: 64 bits before, 32 bits now" in message


def test_the_functions_of_the_library_are_not_reported(said):
    jnp.sin(jnp.ones(3)), jnp.sin(jnp.ones(4))
    assert said() == []
