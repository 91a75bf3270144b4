"""A notice says which program XLA is compiling when that takes long, while it still does."""

import logging
import threading
import time
import warnings

import pytest

from minijax import config, jit, xla
from minijax.runtime import notices as logged_notices
from minijax.runtime.program import noticed_when_slow


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
    logger = logging.getLogger("minijax.slow_compiles")
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
    assert "test_slow_compiles.py" in first
    assert "for 0.05 s" in first
    assert "for 0.1 s" in second
    assert "compiler_options" in first
    assert "MINIJAX_SLOW_COMPILE_NOTICE_SECS=0" in first


def test_a_large_program_is_told_of_loops(slow_xla, notices):
    slow_xla(awaited=1)

    def unrolled(x):
        for _ in range(logged_notices._MANY_LINES):
            x = x + 1.0
        return x

    with config.override(slow_compile_notice_secs=0.05):
        jit(unrolled).lower(2.0).compile()
    assert "lax.fori_loop" in notices.found[0]


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
    watchers = [x for x in threading.enumerate() if x.name == "minijax-slow-compiles"]
    assert len(watchers) <= 1
    for watcher in watchers:
        watcher.join(60)
        assert not watcher.is_alive()
    off = config.override(slow_compile_notice_secs=0.0)
    with off, noticed_when_slow("module @unwatched {"):
        assert not logged_notices._running
