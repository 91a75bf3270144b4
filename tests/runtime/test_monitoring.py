"""Monitoring events, beside JAX."""

import jax
import jax.monitoring
import numpy as np
import pytest

import glassjax
import glassjax.monitoring

pytestmark = pytest.mark.compiled_anew

LIBRARIES = {"jax": jax, "glassjax": glassjax}
KINDS = {
    "event": "unregister_event_listener",
    "event_duration_secs": "unregister_event_duration_listener",
    "event_time_span": "unregister_event_time_span_listener",
    "scalar": "unregister_scalar_listener",
}


class Heard(list):
    """What listeners of all kinds hear of a library, in a `with` block."""

    def __init__(self, library):
        self.monitoring = library.monitoring
        self.listeners = {}

    def __enter__(self):
        for kind in KINDS:

            def listener(*args, kind=kind, **kwargs):
                self.append((kind, args, kwargs))

            self.listeners[kind] = listener
            getattr(self.monitoring, f"register_{kind}_listener")(listener)
        return self

    def __exit__(self, *_):
        for kind, listener in self.listeners.items():
            getattr(self.monitoring, KINDS[kind])(listener)


def heard(library, program):
    with Heard(LIBRARIES[library]) as found:
        program(LIBRARIES[library])
    return list(found)


def test_what_is_recorded_is_heard():
    def program(library):
        m = library.monitoring
        m.record_event("/a/b", which="x", number=3)
        m.record_event_duration_secs("/a/c", 0.5)
        m.record_event_time_span("/a/d", 1.0, 2.0, of="it")
        m.record_scalar("/a/e", 7)

    assert heard("glassjax", program) == heard("jax", program) != []


def test_compiling_is_heard():
    """The same steps in the same order; times are those of a clock."""

    def program(library):
        def scaled(x):
            return 3 * x

        jitted = library.jit(scaled)
        jitted(np.ones(5, np.float32))
        jitted(np.ones(5, np.float32))

    ours, theirs = heard("glassjax", program), heard("jax", program)
    steps = [[(kind, args[0], kwargs) for kind, args, kwargs in found if kind != "event"]
             for found in (ours, theirs)]  # fmt: skip
    assert steps[0] == steps[1]
    assert len(steps[0]) == 9
    durations = [args[1] for kind, args, _ in ours if kind == "event_duration_secs"]
    spans = [args[1:] for kind, args, _ in ours if kind == "event_time_span"]
    assert all(d > 0 for d in durations)
    assert [end - start for start, end in spans] == pytest.approx(durations)


def test_nobody_hears_after_it_is_taken_back():
    with Heard(glassjax) as found:
        pass
    glassjax.monitoring.record_event("/a")
    assert found == []
    with pytest.raises(ValueError, match="no such listener"):
        glassjax.monitoring.unregister_scalar_listener(print)


def test_the_compile_cache_is_heard(tmp_path):
    def program(library):
        with glassjax.config.override(
            enable_compilation_cache=True, compilation_cache_dir=str(tmp_path)
        ):
            for _ in range(2):
                library.jit(lambda x: x * 5.5)(np.ones(3, np.float32))

    events = [args[0].rpartition("/")[2] for kind, args, _ in heard("glassjax", program)
              if kind == "event"]  # fmt: skip
    assert events == ["compile_requests_use_cache", "cache_misses"] * 1 + [
        "compile_requests_use_cache", "cache_hits",
    ]  # fmt: skip


def test_an_error_of_a_listener_is_the_caller_s():
    def refuse(event, **kwargs):
        raise RuntimeError("no")

    glassjax.monitoring.register_event_listener(refuse)
    with pytest.raises(RuntimeError, match="no"):
        glassjax.monitoring.record_event("/a")
    glassjax.monitoring.clear_event_listeners()
    glassjax.monitoring.record_event("/a")
