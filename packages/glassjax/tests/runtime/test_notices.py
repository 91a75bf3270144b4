"""Notices of retracing and of slow compilations."""

import functools
import logging
import re
import threading
import time
import warnings

import numpy as np
import pytest
from rows import for_each

import glassjax.numpy as jnp
from glassjax import config, enable_x64, jit, lax, make_jaxpr, xla
from glassjax.runtime import notices as logged_notices
from glassjax.runtime.program import noticed_when_slow

X = np.ones(3)


@pytest.fixture
def said(caplog):
    """What was logged since the last time of asking."""

    def messages():
        found = [record.getMessage() for record in caplog.records]
        assert all(record.levelno == logging.WARNING for record in caplog.records)
        assert all(record.name == "glassjax.retracing" for record in caplog.records)
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


@pytest.fixture
def notices(monkeypatch):
    """The messages that were logged, each with an event that is set as it comes."""

    class Messages(logging.Handler):
        def __init__(self):
            super().__init__()
            self.found = []
            self.arrived = threading.Semaphore(0)

        def emit(self, record):
            self.found.append(record.getMessage())
            self.arrived.release()

    handler = Messages()
    logger = logging.getLogger("glassjax.slow_compiles")
    logger.addHandler(handler)
    monkeypatch.setattr(logger, "propagate", False)
    yield handler
    logger.removeHandler(handler)


@pytest.fixture
def slow_xla(monkeypatch, notices):
    """Compiling keeps the process busy, and ends when so many notices have come."""

    def slowly(awaited):
        compile_ = xla.compile

        def compile(*args):
            until = time.monotonic() + 30
            for _ in range(awaited):
                while not notices.arrived.acquire(blocking=False):
                    assert time.monotonic() < until
            return compile_(*args)

        monkeypatch.setattr(xla, "compile", compile)

    with config.override(enable_compilation_cache=False):  # what is kept is not compiled
        yield slowly


def test_a_notice_comes_while_xla_compiles(slow_xla, notices):
    """A program that never ends compiling was silent: nobody knew which it is, or what helps."""
    slow_xla(awaited=2)
    with config.override(slow_compile_notice_secs=0.05), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jit(lambda x: x + 1.0, inline=True)(2.0) == 3.0
    first, second, *_ = notices.found
    assert "`_lambda_`, called at" in first
    assert "test_notices.py" in first
    assert "for 0.05 s" in first
    assert "for 0.1 s" in second
    assert "compiler_options" in first
    assert "GLASSJAX_SLOW_COMPILE_NOTICE_SECS=0" in first


def test_a_large_program_is_told_of_loops(slow_xla, notices):
    slow_xla(awaited=1)

    def unrolled(x):
        for _ in range(logged_notices._MANY_LINES):
            x = x + 1.0
        return x

    with config.override(slow_compile_notice_secs=0.05):
        jit(unrolled).lower(2.0).compile()
    assert "lax.fori_loop" in notices.found[0]


def test_on_a_gpu_the_notice_is_of_the_kernels_that_xla_tries(notices, monkeypatch):
    monkeypatch.setattr(xla, "platform_of", lambda: "cuda")
    logged_notices._Compilation("module @step {", None, 5.0).notice()
    assert "`step` for 5 s" in notices.found[0]
    assert 'compiler_options={"xla_gpu_autotune_level": 0}' in notices.found[0]


def test_the_notice_of_one_program_does_not_wait_for_another(slow_xla, notices):
    slow_xla(awaited=1)
    patient = config.override(slow_compile_notice_secs=1000.0)
    usual = config.override(slow_compile_notice_secs=0.05)
    with patient, noticed_when_slow("module @patient {"), usual:
        jit(lambda x: x + 3.0)(2.0)
    assert not any("patient" in message for message in notices.found)


def test_what_others_compute_is_not_counted(monkeypatch):
    times = {"monotonic": 0.0, "process_time": 0.0}
    for name in times:
        monkeypatch.setattr(time, name, lambda name=name: times[name])
    compilation = logged_notices._Compilation("module @waiting {", None, 5.0)
    for passed, spent, due in (
        (4, 4, 5),
        (6, 6, 5),
        (6, 2, 9),
        (6, 20, 5),
        (40, 0, 41),
        (60, 0, 59),
    ):
        times.update(monotonic=float(passed), process_time=float(spent))
        assert compilation.due == pytest.approx(due)


def test_fast_programs_and_none_at_all(notices):
    with config.override(slow_compile_notice_secs=1.0):
        for _ in range(1000):
            with noticed_when_slow("module @fast {"):
                pass
    assert not notices.found
    watchers = [x for x in threading.enumerate() if x.name == "glassjax-slow-compiles"]
    assert len(watchers) <= 1
    for watcher in watchers:
        watcher.join(60)
        assert not watcher.is_alive()
    off = config.override(slow_compile_notice_secs=0.0)
    with off, noticed_when_slow("module @unwatched {"):
        assert not logged_notices._running


def unrolled(x):
    for i in range(600):
        x = jnp.sin(x) + i
    return x


def rolled(x):
    return lax.fori_loop(0, 600, lambda i, x: jnp.sin(x) + i, x)


def logged_by(fun, caplog, **settings):
    """The notices of repeated blocks when a function is compiled and not found in the cache."""
    caplog.clear()
    with config.override(enable_compilation_cache=False, **settings):
        jit(lambda x: fun(x)).lower(1.0).compile()
    return [r.getMessage() for r in caplog.records if r.name == "glassjax.repeated_blocks"]


def test_an_unrolled_loop_is_told_of_with_the_time_it_took(caplog):
    (message,) = logged_by(unrolled, caplog)
    assert "repeats a block of 2 equations (sin, add) 600 times, at " in message
    line = unrolled.__code__.co_firstlineno + 2
    assert f"test_notices.py:{line}: a loop of Python, unrolled." in message
    assert re.search(r"XLA compiled the program in \d+\.\d s\.", message)
    (message,) = logged_by(lambda x: jit(unrolled)(x) * 2.0, caplog)
    assert "600 times" in message


def test_other_programs_are_not_told_of(caplog):
    assert logged_by(rolled, caplog) == []
    assert logged_by(unrolled, caplog, repeated_block_notice=0) == []
    assert logged_by(unrolled, caplog, repeated_block_notice=600) == []
    assert logged_by(unrolled, caplog, repeated_block_notice=599) != []
